/* SPDX-License-Identifier: MIT */
/*
 * A configuration that was named must be readable; the usual one need not
 * even be there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/conf.h"
#include "cli/field.h"
#include "cli/site.h"

enum { PATTERNS = 256 };

static int
no_memory(struct fault *fault)
{
	return fault_set(fault, -ENOMEM, "no-memory", "no memory");
}

/* *conf stays NULL where none was named and the usual one is not there. */
static int
configuration(const struct cli *cli, struct conf **conf, struct fault *fault)
{
	*conf = NULL;
	if (!cli->conf && access(SPATE_CONF, R_OK) < 0)
		return 0;
	return conf_open(conf, cli->conf ? cli->conf : SPATE_CONF, fault);
}

int
site_connect(const struct cli *cli, struct control **control,
	     struct fault *fault)
{
	const char *socket = cli->socket;
	config_setting_t *group;
	struct conf *conf = NULL;
	int err;

	if (!socket) {
		err = configuration(cli, &conf, fault);
		if (err)
			return err;
	}
	if (conf) {
		group = config_setting_get_member(conf_root(conf), "control");
		if (group)
			config_setting_lookup_string(group, "socket", &socket);
	}
	err = control_open(control, socket ? socket : CONTROL_SOCKET, fault);
	if (conf)
		conf_close(conf);
	return err;
}

int
site_ask(const struct cli *cli, const char *verb, json_t *request,
	 json_t **result, struct fault *fault)
{
	struct control *control;
	int err = site_connect(cli, &control, fault);

	if (err) {
		json_decref(request);
		return err;
	}
	err = control_ask(control, verb, request, result, fault);
	control_close(control);
	return err;
}

static int
find(const char *const *pattern, unsigned n, struct disks *disks,
     struct fault *fault)
{
	const struct option_texts patterns = { pattern, n };
	int err = disks_find(disks, &patterns, fault);

	return err ? err : disks->n ? 0 : -ENOENT;
}

static int
named_disks(const char *list, struct disks *disks, struct fault *fault)
{
	const char *pattern[PATTERNS];
	char *text = strdup(list), *rest = text, *one;
	unsigned n = 0;
	int err;

	if (!text)
		return no_memory(fault);
	while (n < PATTERNS && (one = strsep(&rest, ":")))
		if (*one)
			pattern[n++] = one;
	err = find(pattern, n, disks, fault);
	free(text);
	return err;
}

static int
daemon_disks(const struct cli *cli, struct disks *disks, struct fault *fault)
{
	const char *pattern[PATTERNS];
	json_t *result, *disk;
	unsigned n = 0;
	size_t i;
	int err = site_ask(cli, "disks", NULL, &result, fault);

	if (err)
		return err;
	json_array_foreach(json_object_get(result, "disks"), i, disk)
		if (n < PATTERNS)
			pattern[n++] = field_text(disk, "path");
	err = find(pattern, n, disks, fault);
	json_decref(result);
	return err;
}

/* As spated reads them: a list of texts, or one alone. */
static unsigned
configured_patterns(const config_setting_t *list, const char **pattern)
{
	const char *text = list ? config_setting_get_string(list) : NULL;
	unsigned n = 0;

	if (text)
		pattern[n++] = text;
	for (int i = 0; list && i < config_setting_length(list); i++) {
		text = config_setting_get_string_elem(list, i);
		if (text && n < PATTERNS)
			pattern[n++] = text;
	}
	return n;
}

static int
configured_disks(const struct cli *cli, struct disks *disks,
		 struct fault *fault)
{
	const char *pattern[PATTERNS];
	struct conf *conf;
	unsigned n;
	int err = configuration(cli, &conf, fault);

	if (err || !conf)
		return err ? err : -ENOENT;
	n = configured_patterns(
	    config_setting_get_member(conf_root(conf), "disks"), pattern);
	err = find(pattern, n, disks, fault);
	conf_close(conf);
	return err;
}

/* Is one there?  Those that are not are told, once. */
static bool
is_any_there(const struct cli *cli, const struct disks *disks)
{
	bool any = false;

	for (unsigned i = 0; i < disks->n; i++)
		any = any || disks->disk[i].fd >= 0;
	for (unsigned i = 0; any && !cli->quiet && i < disks->n; i++)
		if (disks->disk[i].fd < 0)
			fprintf(stderr,
				"spate: %s is not there: what is on it looks "
				"missing\n",
				disks->disk[i].path);
	return any;
}

/* Neither daemon nor configuration: `fault` says why not the former. */
static int
nowhere(const struct cli *cli, struct fault *fault)
{
	char why[sizeof fault->why];

	snprintf(why, sizeof why, "%.150s: %.150s", fault->what, fault->why);
	fault_set(fault, -ENOENT, "no-disk", "no disks to look on");
	fault_why(fault, "%s, and there is no %s", why,
		  cli->conf ? cli->conf : SPATE_CONF);
	fault_hint(fault, "start spated, or name its --socket, or the disks "
			  "with --disks /mnt/disk0:/mnt/disk1, or a "
			  "configuration with -c");
	return -ENOENT;
}

int
site_disks(const struct cli *cli, struct disks *disks, struct fault *fault)
{
	struct fault daemon = { 0 }, conf = { 0 };
	int err;

	if (cli->disks) {
		err = named_disks(cli->disks, disks, fault);
	} else {
		err = daemon_disks(cli, disks, &daemon);
		if (err)
			err = configured_disks(cli, disks, &conf);
		*fault = conf.code ? conf : daemon;
		if (err && !conf.code)
			return nowhere(cli, fault);
	}
	if (err || is_any_there(cli, disks))
		return err;
	fault_set(fault, -ENOENT, "no-disk", "none of the disks is there");
	fault_why(fault, "%s%s", disks->disk[0].path,
		  disks->n > 1 ? " is the first of them" : "");
	fault_hint(fault, "name others with --disks");
	disks_clear(disks);
	return -ENOENT;
}
