/* SPDX-License-Identifier: MIT */
#ifndef SPATE_BASE_CONF_H
#define SPATE_BASE_CONF_H

#include <libconfig.h>
#include <stdbool.h>

#include "base/fault.h"
#include "contract/option.h"

/*
 * A conf is a configuration file, read once by libconfig and then turned into
 * structs by tables of options.  The text and lists in those structs point into
 * the conf, so a user of such a struct holds a reference to the conf.  One
 * thread opens, holds and closes all confs.
 */
struct conf;

/*
 * Opens a configuration from a file, or from a text; `name` stands for the file
 * in messages.  0, or -errno and a fault with file:line.  Refuses a number over
 * 2147483647 without the suffix L, since libconfig would silently cut it, and
 * @include.
 */
int conf_open(struct conf **conf, const char *path, struct fault *fault);
int conf_open_text(struct conf **conf, const char *text, const char *name,
		   struct fault *fault);
/* Reads the text of a file; the caller frees it.  0, or -errno with a fault. */
int conf_text(char **text, const char *path, struct fault *fault);
/* Adds a reference, to be dropped with conf_close(); returns conf. */
struct conf *conf_hold(struct conf *conf);
void conf_close(struct conf *conf); /* drops a reference; the last frees;
				     * NULL is allowed */

config_setting_t *conf_root(struct conf *conf);

/*
 * Returns "spate.conf:12", for faults; the text belongs to the conf, and each
 * call overwrites it.
 */
const char *conf_where(struct conf *conf, const config_setting_t *setting);

/*
 * Puts the setting's file:line in front of a fault that comes from elsewhere,
 * such as a plugin; returns err, so that a caller can return it at once.
 */
int conf_blame(struct conf *conf, const config_setting_t *setting, int err,
	       struct fault *fault);

/* The same for a key of a group, or the group where that is not set.  Returns
 * -EINVAL. */
int conf_blame_key(struct conf *conf, const config_setting_t *group,
		   const char *key, struct fault *fault);

/*
 * Tells whether two settings have the same value, however they are written.
 * NULL, a missing setting, equals only NULL.
 */
bool conf_same(const config_setting_t *a, const config_setting_t *b);

/* One struct to fill, and the options that belong in it. */
struct conf_part {
	const struct option_key
	    *options; /* ends with a NULL name; NULL: none */
	void *out;    /* zeroed by the caller, or preset */
};

/*
 * Fills the structs of all n parts from one group; if group is NULL, from the
 * fallbacks.  A key that no part knows, a wrong type, a number out of bounds or
 * an impossible value is -EINVAL, with a fault that names file:line, the key,
 * and the keys or values that would work.  `known` (ends with NULL, or NULL)
 * lists keys that the caller reads itself.
 */
int conf_fill(struct conf *conf, config_setting_t *group,
	      const struct conf_part *parts, unsigned n,
	      const char *const *known, struct fault *fault);

/*
 * Writes in words what an option accepts: "a size, as "64M" or 67108864, at
 * least 4.0 KiB".  Returns `text`.
 */
enum { CONF_FORM = 280 };
const char *conf_form(char text[CONF_FORM], const struct option_key *option);

#endif
