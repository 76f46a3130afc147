/* SPDX-License-Identifier: MIT */
/*
 * Facts that are not on the command line are asked of the daemon, or read from
 * its configuration.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/show/field.h"
#include "cli/show/site.h"

enum { PATTERNS = 256 };

int
site_socket(const struct cli *cli, char socket[CONFIGURED_SOCKET],
	    struct fault *fault)
{
	if (!cli->socket)
		return configured_socket(cli->conf, socket, fault);
	if (strlen(cli->socket) >= CONFIGURED_SOCKET)
		return fault_set(fault, -ENAMETOOLONG, "usage",
				 "the name of the socket is too long");
	strcpy(socket, cli->socket);
	return 0;
}

int
site_connect(const struct cli *cli, struct control **control,
	     struct fault *fault)
{
	char socket[CONFIGURED_SOCKET];
	int err;

	/* control_open() says more of a name that is too long */
	if (cli->socket)
		return control_open(control, cli->socket, fault);
	err = site_socket(cli, socket, fault);
	return err ? err : control_open(control, socket, fault);
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
	err = disks_matched(pattern, n, disks, fault);
	json_decref(result);
	return err;
}

/* Tells whether one disk is there, and then names missing ones on stderr. */
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

/*
 * Makes the fault for "neither daemon nor configuration"; on entry `fault` says
 * why there is no daemon.
 */
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
		err = disks_listed(cli->disks, disks, fault);
	} else {
		err = daemon_disks(cli, disks, &daemon);
		if (err)
			err = disks_configured(cli->conf, disks, &conf);
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
