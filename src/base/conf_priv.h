/* SPDX-License-Identifier: MIT */
#ifndef SPATE_BASE_CONF_PRIV_H
#define SPATE_BASE_CONF_PRIV_H

#include "base/conf.h"

/*
 * Structs that the files of conf share: conf.c reads the file, conf_fill.c goes
 * through a group, conf_value.c reads one value.
 */
struct conf {
	config_t config;
	unsigned refs;
	char *name;		/* file name, as faults show it */
	char *where;		/* buffer for conf_where() */
	struct conf_kept *kept; /* memory of the lists that were filled in */
	struct conf_fallback *fallbacks;
};

struct conf_kept {
	struct conf_kept *next; /* links conf::kept */
	void *data[];
};

/* The fallback of one option: a configuration of its own, with one key. */
struct conf_fallback {
	struct conf_fallback *next; /* links conf::fallbacks */
	config_t config;
};

/* One setting, and the option that it is read for. */
struct conf_value {
	struct conf *conf;
	const struct option_key *option;
	const config_setting_t *setting;
	bool fallback; /* the setting is the option's fallback, not from the
			* file */
	struct fault *fault;
};

/* Writes the value to `out`.  0, or -EINVAL or -ENOMEM with a fault. */
int conf_value_read(const struct conf_value *v, void *out);

#endif
