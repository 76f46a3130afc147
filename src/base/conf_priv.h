/* SPDX-License-Identifier: MIT */
#ifndef SPATE_BASE_CONF_PRIV_H
#define SPATE_BASE_CONF_PRIV_H

#include "base/conf.h"

/*
 * What the parts of conf share: conf.c reads the file, conf_fill.c goes
 * through a group, conf_value.c reads one value.
 */
struct conf {
	config_t config;
	unsigned refs;
	char *name;		/* of the file, as faults show it */
	char *where;		/* what conf_where() returned last */
	struct conf_kept *kept; /* lists that were filled from it */
	struct conf_fallback *fallbacks;
};

struct conf_kept {
	struct conf_kept *next; /* conf::kept */
	void *data[];
};

/* A fallback is a configuration of its own, with one key. */
struct conf_fallback {
	struct conf_fallback *next; /* conf::fallbacks */
	config_t config;
};

/* One value on the way from a setting to its place. */
struct conf_value {
	struct conf *conf;
	const struct option *option;
	const config_setting_t *setting;
	bool fallback; /* not of the file: of the option itself */
	struct fault *fault;
};

/* 0, or -EINVAL or -ENOMEM with the fault. */
int conf_value_read(const struct conf_value *v, void *out);

#endif
