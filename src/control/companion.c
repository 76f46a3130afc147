/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "control/companion.h"

#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/log.h"
#include "control/control.h"

struct companion_line {
	const char *path;
	bool check, verbose, log_json;
};

/* Returns -1 to go on, else the exit status. */
static int
options_read(const struct companion *p, struct companion_line *o, int argc,
	     char **argv)
{
	static const struct option options[] = {
		{ "conf", required_argument, NULL, 'c' },
		{ "check", no_argument, NULL, 'n' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "log-json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "c:nvhV", options, NULL)) != -1) {
		switch (c) {
		case 'c': o->path = optarg; break;
		case 'n': o->check = true; break;
		case 'v': o->verbose = true; break;
		case 'j': o->log_json = true; break;
		case 'h': fputs(p->help, stdout); return 0;
		case 'V': puts(PACKAGE_STRING); return 0;
		default:
			fprintf(stderr, "see '%s --help'\n", p->name);
			return 2;
		}
	}
	if (optind == argc)
		return -1;
	fprintf(stderr, "%s: '%s' is no option; see '%s --help'\n", p->name,
		argv[optind], p->name);
	return 2;
}

/* Returns control.socket of the configuration; spated checks that key. */
static const char *
socket_of(struct conf *conf)
{
	const config_setting_t *control =
	    config_setting_get_member(conf_root(conf), "control");
	const char *socket = CONTROL_SOCKET;

	if (control)
		config_setting_lookup_string(control, "socket", &socket);
	return socket;
}

static int
signals_open(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	/* Threads inherit the mask, so block before the first one starts. */
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	/* a write beyond RLIMIT_FSIZE is an error of that file */
	signal(SIGXFSZ, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int
run(const struct companion *p, struct conf *conf, struct fault *fault)
{
	int signals = signals_open(), err;

	if (signals < 0)
		return fault_set(fault, -errno, "no-signals",
				 "cannot wait for signals: %s",
				 strerror(errno));
	if (log_queue_start() < 0)
		log_line(LEVEL_WARN, p->area,
			 "cannot start the thread of the log: a log that "
			 "nobody reads can stop %s",
			 p->name);
	err = p->run(p->arg, socket_of(conf), signals, fault);
	log_queue_flush();
	close(signals);
	return err;
}

int
companion_main(const struct companion *p, int argc, char **argv)
{
	struct companion_line o = { .path = SPATE_CONF };
	int status = options_read(p, &o, argc, argv), err;
	struct fault fault = { 0 };
	struct conf *conf = NULL;
	char line[1024];

	if (status >= 0)
		return status;
	log_level_set(o.verbose ? LEVEL_DEBUG : LEVEL_INFO);
	if (o.log_json)
		log_json_set();
	err = conf_open(&conf, o.path, &fault);
	if (!err)
		err = p->read(p->arg, conf, &fault);
	if (!err && !o.check)
		err = run(p, conf, &fault);
	if (err && fault.what[0]) {
		fault_line(&fault, line, sizeof line);
		fprintf(stderr, "%s: %s\n", p->name, line);
	}
	conf_close(conf);
	return err ? 1 : 0;
}
