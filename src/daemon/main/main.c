/* SPDX-License-Identifier: MIT */
/* spated: the command line of the daemon; daemon.c has the rest. */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "daemon/main/daemon.h"
#include "daemon/main/options.h"
#include "flow/memory/pool.h"

static const char help[] =
    "usage: spated [-c CONF] [-n] [-v] | --options\n"
    "\n"
    "Records network streams of a radio telescope to disks, as the\n"
    "configuration says; 'spate' tells it what, and when.\n"
    "\n"
    "  -c, --conf CONF   the configuration (" SPATE_CONF ")\n"
    "  -n, --check       check it, print what it would do, exit\n"
    "  -v, --verbose     log more\n"
    "      --options     list every key of a configuration, and exit\n"
    "      --help        this page\n"
    "      --version     the version\n"
    "\n"
    "SIGTERM or SIGINT stops what is being recorded, makes it durable, and\n"
    "ends the daemon.  See spated(8) and spate.conf(5).\n";

struct options {
	const char *conf;
	bool check;
	bool verbose;
};

static void
fault_print(const struct fault *fault)
{
	char line[1024];

	fault_line(fault, line, sizeof line);
	fprintf(stderr, "spated: %s\n", line);
}

static int
check(const char *conf)
{
	struct fault fault = { 0 };
	struct setup setup;
	int err = setup_load(&setup, conf, &fault);

	if (!err)
		err = pool_fits(setup.o.memory, &fault);
	if (err)
		fault_print(&fault);
	else
		setup_print(&setup);
	setup_unload(&setup);
	return err ? 1 : 0;
}

static int
run(const char *conf)
{
	struct fault fault = { 0 };
	struct daemon *d = malloc(sizeof *d);
	int err;

	if (!d)
		return 1;
	err = log_queue_start();
	if (err)
		log_line(LEVEL_WARN, NULL,
			 "a log that nobody reads can stop this daemon: %s",
			 strerror(-err));
	err = daemon_start(d, conf, &fault);
	if (err) {
		log_queue_flush();
		fault_print(&fault);
	} else {
		err = daemon_run(d);
	}
	if (!daemon_finish(d)) {
		log_line(LEVEL_WARN, NULL,
			 "ends without a disk that does not answer");
		log_queue_flush();
		_exit(err ? 1 : 0);
	}
	log_queue_flush();
	free(d);
	return err ? 1 : 0;
}

static bool
is(const char *word, const char *brief, const char *full)
{
	return !strcmp(word, brief) || !strcmp(word, full);
}

/* Returns -1 to go on, else the exit status.  Read by hand, because the `struct
 * option` of getopt_long clashes with the contract's. */
static int
options_read(struct options *o, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (is(argv[i], "-c", "--conf") && i + 1 < argc) {
			o->conf = argv[++i];
		} else if (is(argv[i], "-n", "--check")) {
			o->check = true;
		} else if (is(argv[i], "-v", "--verbose")) {
			o->verbose = true;
		} else if (!strcmp(argv[i], "--options")) {
			return options_print();
		} else if (is(argv[i], "-h", "--help")) {
			fputs(help, stdout);
			return 0;
		} else if (is(argv[i], "-V", "--version")) {
			puts(PACKAGE_STRING);
			return 0;
		} else {
			fprintf(stderr,
				"spated: '%s' is no option, or lacks "
				"its value; see 'spated --help'\n",
				argv[i]);
			return 2;
		}
	}
	return -1;
}

int
main(int argc, char **argv)
{
	struct options o = { .conf = SPATE_CONF };
	int status = options_read(&o, argc, argv);

	if (status >= 0)
		return status;
	log_level_set(o.verbose ? LEVEL_DEBUG : LEVEL_INFO);
	return o.check ? check(o.conf) : run(o.conf);
}
