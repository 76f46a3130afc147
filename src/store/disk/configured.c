/* SPDX-License-Identifier: MIT */
/*
 * A configuration file that was named must be readable; the default one need
 * not exist.
 */
#include "store/disk/configured.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/conf.h"
#include "base/units.h"
#include "control/control.h"

enum { PATTERNS = 256 };

#define STATION_BYTES                                                          \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."

/* Opens the configuration.  *conf stays NULL if none was named and the default
 * one is not there.  0 or -errno with a fault. */
static int
configuration(const char *path, struct conf **conf, struct fault *fault)
{
	*conf = NULL;
	if (!path && access(SPATE_CONF, R_OK) < 0)
		return 0;
	return conf_open(conf, path ? path : SPATE_CONF, fault);
}

int
configured_socket(const char *path, char socket[CONFIGURED_SOCKET],
		  struct fault *fault)
{
	const char *text = CONTROL_SOCKET;
	config_setting_t *group;
	struct conf *conf;
	int err = configuration(path, &conf, fault);

	if (err)
		return err;
	if (conf) {
		group = config_setting_get_member(conf_root(conf), "control");
		if (group)
			config_setting_lookup_string(group, "socket", &text);
	}
	if (snprintf(socket, CONFIGURED_SOCKET, "%s", text) >=
	    CONFIGURED_SOCKET) {
		err = -ENAMETOOLONG;
		fault_set(fault, err, "conf",
			  "the control socket's path is "
			  "too long");
	}
	conf_close(conf);
	return err;
}

int
disks_matched(const char *const *pattern, unsigned n, struct disks *disks,
	      struct fault *fault)
{
	const struct option_texts patterns = { pattern, n };
	int err = disks_find(disks, &patterns, fault);

	return err ? err : disks->n ? 0 : -ENOENT;
}

static int
patterns_fit(unsigned n, struct fault *fault)
{
	return n <= PATTERNS ? 0
			     : fault_set(fault, -E2BIG, "bad-disk",
					 "%u disks are named, and %d at most "
					 "may be",
					 n, PATTERNS);
}

int
disks_listed(const char *list, struct disks *disks, struct fault *fault)
{
	const char *pattern[PATTERNS];
	char *text = strdup(list), *rest = text, *one;
	unsigned n = 0;
	int err;

	if (!text)
		return fault_set(fault, -ENOMEM, "no-memory",
				 "cannot look for disks: no memory");
	while ((one = disk_list_next(&rest))) {
		if (*one && n++ < PATTERNS)
			pattern[n - 1] = one;
	}
	err = patterns_fit(n, fault);
	if (!err)
		err = disks_matched(pattern, n, disks, fault);
	free(text);
	return err;
}

/* Collects the key `disks` as spated reads it: a list of texts, or one text.
 * Returns how many there are, of which the first PATTERNS are collected. */
static unsigned
configured_patterns(const config_setting_t *list, const char **pattern)
{
	const char *text = list ? config_setting_get_string(list) : NULL;
	unsigned n = 0;

	if (text)
		pattern[n++] = text;
	for (int i = 0; list && i < config_setting_length(list); i++) {
		text = config_setting_get_string_elem(list, i);
		if (text && n++ < PATTERNS)
			pattern[n - 1] = text;
	}
	return n;
}

static const char mark[] = "{station}";

/* Returns the station that may be part of a path; NULL with a fault: there is
 * none. */
static const char *
station_of(struct conf *conf, const config_setting_t *disk, struct fault *fault)
{
	const char *is = getenv("SPATE_STATION");

	if (!is || !*is) {
		is = NULL;
		config_setting_lookup_string(conf_root(conf), "station", &is);
	}
	if (is && *is && strspn(is, STATION_BYTES) == strlen(is) && *is != '.')
		return is;
	if (is && *is)
		fault_set(fault, -EINVAL, "conf",
			  "%s: the station '%.80s' cannot be part of a path",
			  conf_where(conf, disk), is);
	else
		fault_set(fault, -EINVAL, "conf",
			  "%s: `disks` have {station}, and this recorder has "
			  "no station",
			  conf_where(conf, disk));
	fault_hint(fault, "SPATE_STATION=Mh in the environment, or station = "
			  "\"Mh\"; letters, digits, '-', '_' and '.' may be "
			  "in it");
	return NULL;
}

/* Replaces all marks in one text of the configuration. */
static int
station_put(struct conf *conf, config_setting_t *disk, struct fault *fault)
{
	const char *text = config_setting_get_string(disk), *at, *station;
	char *put, *end;

	at = text ? strstr(text, mark) : NULL;
	if (!at)
		return 0;
	station = station_of(conf, disk, fault);
	if (!station)
		return -EINVAL;
	put = malloc(strlen(text) * (strlen(station) + 1) + 1);
	if (!put)
		return fault_no_memory(fault);
	for (end = put; at; at = strstr(text, mark)) {
		end = mempcpy(end, text, (size_t)(at - text));
		end = stpcpy(end, station);
		text = at + strlen(mark);
	}
	strcpy(end, text);
	config_setting_set_string(disk, put);
	free(put);
	return 0;
}

int
disks_station(struct conf *conf, struct fault *fault)
{
	config_setting_t *disks =
	    config_setting_get_member(conf_root(conf), "disks");
	int n = disks ? config_setting_length(disks) : 0, err = 0;

	if (disks && config_setting_get_string(disks))
		return station_put(conf, disks, fault);
	for (int i = 0; i < n && !err; i++)
		err = station_put(
		    conf, config_setting_get_elem(disks, (unsigned)i), fault);
	return err;
}

int
disks_configured(const char *path, struct disks *disks, struct fault *fault)
{
	const char *pattern[PATTERNS];
	struct conf *conf;
	unsigned n;
	int err = configuration(path, &conf, fault);

	if (err || !conf)
		return err ? err : -ENOENT;
	err = disks_station(conf, fault);
	n = configured_patterns(
	    config_setting_get_member(conf_root(conf), "disks"), pattern);
	if (!err)
		err = patterns_fit(n, fault);
	if (!err)
		err = disks_matched(pattern, n, disks, fault);
	conf_close(conf);
	return err;
}

void
disks_reserve(const char *path, struct disks *disks)
{
	const config_setting_t *key = NULL;
	struct conf *conf = NULL;
	struct fault fault;
	const char *text;
	uint64_t bytes = 0;

	if (!configuration(path, &conf, &fault) && conf)
		key = config_setting_get_member(conf_root(conf), "reserve");
	text = key ? config_setting_get_string(key) : NULL;
	if (text && units_bytes(text, &bytes))
		bytes = 0;
	if (key && !text && config_setting_get_int64(key) > 0)
		bytes = (uint64_t)config_setting_get_int64(key);
	for (unsigned i = 0; bytes && i < disks->n; i++) {
		disks->disk[i].reserve = bytes;
		disks->disk[i].reserve_asked = bytes;
	}
	if (conf)
		conf_close(conf);
}
