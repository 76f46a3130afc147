/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_SHOW_SITE_H
#define SPATE_CLI_SHOW_SITE_H

#include "control/control.h"
#include "cli/show/cli.h"
#include "store/disk/configured.h"
#include "store/disk/disk.h"

/*
 * Finds what a command works on: the daemon's socket and the disks.
 *
 *   socket   --socket; else as the configuration says; else the usual one
 *   disks    --disks; else as the daemon says, if it answers; else the
 *            configuration
 *
 * The configuration is -c FILE or the one that spated reads by default.  Only
 * these keys of it are read; the daemon checks the rest.
 */
int site_connect(const struct cli *cli, struct control **control,
		 struct fault *fault);

/* Finds the name of the daemon's socket only.  0, or -errno with a fault. */
int site_socket(const struct cli *cli, char socket[CONFIGURED_SOCKET],
		struct fault *fault);

/*
 * Connects, sends one request and takes it over, as control_ask() does.
 * Returns 0, or -errno with a fault.
 */
int site_ask(const struct cli *cli, const char *verb, json_t *request,
	     json_t **result, struct fault *fault);

/*
 * Finds the disks, of which at least one has to be there; names missing ones on
 * stderr.  Returns 0, or -errno with a fault.
 */
int site_disks(const struct cli *cli, struct disks *disks, struct fault *fault);

#endif
