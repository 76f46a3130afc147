/* SPDX-License-Identifier: MIT */
/*
 * Fills structs from a group of the configuration, by tables of options.
 *
 * A fallback takes the same path as a value from the file: it becomes a setting
 * of a small configuration of its own.  So there is one reader for each type,
 * and a fallback that is itself invalid is found by the first test that uses
 * the table.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/conf_priv.h"

enum { KEY_MAX = 32, KEYS_MAX = 128 };

/* All keys that a group may have. */
struct keys {
	const char *key[KEYS_MAX];
	unsigned n;
};

static void
collect_keys(struct keys *keys, const struct conf_part *parts, unsigned n,
	     const char *const *known)
{
	const struct option_key *o;

	for (unsigned i = 0; i < n; i++)
		for (o = parts[i].options; o && o->name; o++)
			if (keys->n < KEYS_MAX)
				keys->key[keys->n++] = o->name;
	for (; known && *known; known++)
		if (keys->n < KEYS_MAX)
			keys->key[keys->n++] = *known;
}

static bool
has_key(const struct keys *keys, const char *key)
{
	for (unsigned i = 0; i < keys->n; i++)
		if (strcmp(keys->key[i], key) == 0)
			return true;
	return false;
}

static unsigned
least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/*
 * Returns how many letters to add, drop or change (Levenshtein distance),
 * computed row by row.
 */
static unsigned
distance(const char *a, const char *b)
{
	unsigned row[KEY_MAX + 1], left, above;
	size_t length = strlen(b);

	if (length > KEY_MAX)
		return KEY_MAX;
	for (unsigned j = 0; j <= length; j++)
		row[j] = j;
	for (; *a; a++) {
		left = row[0]++;
		for (unsigned j = 1; j <= length; j++) {
			above = row[j];
			row[j] = least(left + (*a != b[j - 1]),
				       least(above, row[j - 1]) + 1);
			left = above;
		}
	}
	return row[length];
}

/*
 * Returns the known key that the user most likely meant; NULL if none is
 * similar.
 */
static const char *
nearest_key(const struct keys *keys, const char *key)
{
	const char *best = NULL;
	unsigned least_far = least(3, strlen(key) / 2 + 1), far;

	for (unsigned i = 0; i < keys->n; i++) {
		far = distance(key, keys->key[i]);
		if (far < least_far) {
			least_far = far;
			best = keys->key[i];
		}
	}
	return best;
}

static int
unknown_key(struct conf *conf, const config_setting_t *setting,
	    const struct keys *keys, struct fault *fault)
{
	const char *key = config_setting_name(setting);
	const char *near = nearest_key(keys, key);
	char all[sizeof fault->hint] = "";
	size_t used = 0;

	for (unsigned i = 0; i < keys->n && used < sizeof all; i++)
		used += snprintf(all + used, sizeof all - used, "%s%s",
				 i ? ", " : "", keys->key[i]);
	fault_set(fault, -EINVAL, "conf", "%s: unknown key '%s'",
		  conf_where(conf, setting), key);
	if (near)
		fault_hint(fault, "did you mean '%s'? the keys here are %s",
			   near, all);
	else
		fault_hint(fault, "the keys here are %s", all);
	return -EINVAL;
}

static int
check_group(struct conf *conf, config_setting_t *group, const struct keys *keys,
	    struct fault *fault)
{
	config_setting_t *setting;
	int n;

	if (!config_setting_is_group(group)) {
		fault_set(fault, -EINVAL, "conf", "%s: '%s' is not a group",
			  conf_where(conf, group),
			  config_setting_name(group)
			      ? config_setting_name(group)
			      : "an element");
		fault_hint(fault, "write it as { key = value; ... }");
		return -EINVAL;
	}
	n = config_setting_length(group);
	for (int i = 0; i < n; i++) {
		setting = config_setting_get_elem(group, i);
		if (!has_key(keys, config_setting_name(setting)))
			return unknown_key(conf, setting, keys, fault);
	}
	return 0;
}

/*
 * Tells whether a fallback is plain text to be taken as a string.  Fallbacks
 * are written as in the file, except that text needs no quotes.  Anything else
 * is left to libconfig, which parses booleans, fractions and lists.
 */
static bool
is_plain(const struct option_key *o)
{
	return o->type != OPTION_FLAG && o->type != OPTION_SHARE &&
	       !strchr("\"[(", o->fallback[0]);
}

static const config_setting_t *
fallback_setting(struct conf *conf, const struct option_key *option)
{
	struct conf_fallback *f = calloc(1, sizeof *f);
	config_setting_t *setting;
	char *text;
	int good;

	if (!f)
		return NULL;
	f->next = conf->fallbacks;
	conf->fallbacks = f;
	config_init(&f->config);
	if (is_plain(option)) {
		setting = config_setting_add(config_root_setting(&f->config),
					     "v", CONFIG_TYPE_STRING);
		config_setting_set_string(setting, option->fallback);
		return setting;
	}
	if (asprintf(&text, "v = %s;", option->fallback) < 0)
		return NULL;
	good = config_read_string(&f->config, text);
	free(text);
	return good ? config_lookup(&f->config, "v") : NULL;
}

static int
fill_option(struct conf *conf, config_setting_t *group,
	    const struct option_key *option, void *out, struct fault *fault)
{
	struct conf_value value = { .conf = conf,
				    .option = option,
				    .fault = fault };

	if (group)
		value.setting = config_setting_get_member(group, option->name);
	if (!value.setting && option->fallback) {
		value.fallback = true;
		value.setting = fallback_setting(conf, option);
		if (!value.setting)
			return fault_set(fault, -EINVAL, "internal",
					 "the fallback of %s cannot be read",
					 option->name);
	}
	if (!value.setting)
		return 0;
	return conf_value_read(&value, (char *)out + option->offset);
}

int
conf_fill(struct conf *conf, config_setting_t *group,
	  const struct conf_part *parts, unsigned n, const char *const *known,
	  struct fault *fault)
{
	const struct option_key *o;
	struct keys keys = { .n = 0 };
	int err = 0;

	collect_keys(&keys, parts, n, known);
	if (group)
		err = check_group(conf, group, &keys, fault);
	for (unsigned i = 0; i < n && !err; i++)
		for (o = parts[i].options; o && o->name && !err; o++)
			err = fill_option(conf, group, o, parts[i].out, fault);
	return err;
}
