/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_SHOW_SITE_H
#define SPATE_CLI_SHOW_SITE_H

#include "control/control.h"
#include "cli/show/cli.h"
#include "store/disk/disk.h"

/*
 * A site is where a command finds what it works on: the daemon's socket,
 * and the disks.
 *
 *   socket   --socket; else as the configuration says; else the usual one
 *   disks    --disks; else as the daemon says, if it answers; else the
 *            configuration
 *
 * The configuration is -c FILE or the one that spated reads by itself.  Only
 * these keys of it are looked at: whether the rest is right is for the
 * daemon to say.
 */
int site_connect(const struct cli *cli, struct control **control,
		 struct fault *fault);

/* Connects, asks once, and takes `request` over, as control_ask() does. */
int site_ask(const struct cli *cli, const char *verb, json_t *request,
	     json_t **result, struct fault *fault);

/* At least one of them is there.  Says on stderr which ones are not. */
int site_disks(const struct cli *cli, struct disks *disks, struct fault *fault);

#endif
