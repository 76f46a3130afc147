/* SPDX-License-Identifier: MIT */
#ifndef SPATE_BASE_CONF_H
#define SPATE_BASE_CONF_H

#include <libconfig.h>
#include <stdbool.h>

#include "base/fault.h"
#include "contract/option.h"

/*
 * A conf is a configuration file, read once by libconfig and then turned
 * into structs by tables of options.  Everything that was filled from it
 * points into it, so it is closed last: each who keeps some of that holds it.
 * One thread opens, holds and closes them all.
 */
struct conf;

/*
 * 0, or -errno and a fault with file:line.  A number over 2147483647 without
 * L is one, since libconfig would cut it; so is @include.
 */
int conf_open(struct conf **conf, const char *path, struct fault *fault);
int conf_open_text(struct conf **conf, const char *text, const char *name,
		   struct fault *fault);
/* The text of a file, which is the caller's to free.  0, or -errno with a
 * fault. */
int conf_text(char **text, const char *path, struct fault *fault);
/* One more who has to close it; returns it. */
struct conf *conf_hold(struct conf *conf);
void conf_close(struct conf *conf); /* NULL: nothing; the last one's frees it */

config_setting_t *conf_root(struct conf *conf);

/* "spate.conf:12", for faults; static per conf, overwritten by each call. */
const char *conf_where(struct conf *conf, const config_setting_t *setting);

/* Puts the setting's file:line before what a fault says that came from
 * elsewhere, as from a plugin; returns err, for return statements. */
int conf_blame(struct conf *conf, const config_setting_t *setting, int err,
	       struct fault *fault);

/* Do both say the same, wherever and however it is written?  NULL, a setting
 * that is not there, is the same as another one. */
bool conf_same(const config_setting_t *a, const config_setting_t *b);

/* One struct that a group fills a part of. */
struct conf_part {
	const struct option *options; /* NULL name ends it; NULL: none */
	void *out;		      /* zeroed by the caller, or preset */
};

/*
 * Fills the structs of all n parts from one group (NULL: all fallbacks).  A
 * key that no part knows, a wrong type, a number out of bounds or an
 * impossible value is -EINVAL with file:line, the key, and the keys or
 * values that would do.  `known` (NULL-ended, or NULL) lists keys that the
 * caller reads by itself.
 */
int conf_fill(struct conf *conf, config_setting_t *group,
	      const struct conf_part *parts, unsigned n,
	      const char *const *known, struct fault *fault);

/*
 * What an option takes, for people: "a size, as "64M" or 67108864, at least
 * 4.0 KiB".  Returns `text`.
 */
enum { CONF_FORM = 280 };
const char *conf_form(char text[CONF_FORM], const struct option *option);

#endif
