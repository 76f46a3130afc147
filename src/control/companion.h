/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CONTROL_COMPANION_H
#define SPATE_CONTROL_COMPANION_H

#include "base/conf.h"
#include "base/fault.h"

/*
 * A companion is a program beside spated, which reads a group of the same
 * configuration and talks to it over the control socket: spate-vsi, spate-web.
 * All have the same command line, signals and log; what they do is run().
 *
 * Both functions get `arg`, and return 0 or -errno with a fault.
 */
struct companion {
	const char *name; /* "spate-web" */
	const char *area; /* of its log lines: "web" */
	const char *help;
	void *arg;

	/* Reads its group; texts may point into the configuration, which stays
	 * open as long as run() runs. */
	int (*read)(void *arg, struct conf *conf, struct fault *fault);

	/*
	 * Serves until `signals`, a signalfd, becomes readable: SIGTERM or
	 * SIGINT.  `socket` is that of spated.  The log has a thread of its own
	 * meanwhile, as nobody need read it.
	 */
	int (*run)(void *arg, const char *socket, int signals,
		   struct fault *fault);
};

/* The whole of main().  Returns its exit status. */
int companion_main(const struct companion *c, int argc, char **argv);

#endif
