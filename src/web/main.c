/* SPDX-License-Identifier: MIT */
/*
 * The command line of spate-web, and its loop: one thread waits for requests of
 * HTTP, for signals, and for the end of the connection to spated.
 */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/conf.h"
#include "base/log.h"
#include "control/control.h"
#include "control/spated.h"
#include "control/web_conf.h"
#include "web/figures.h"
#include "web/web_server.h"

static const char help[] =
    "usage: spate-web [-c CONF] [-n] [-v] [--log-json]\n"
    "\n"
    "Shows what spated does, to browsers and Prometheus, over HTTP.\n"
    "The group `web` of spated's configuration says where, and to whom.\n"
    "\n"
    "  -c, --conf CONF   the configuration (" SPATE_CONF ")\n"
    "  -n, --check       check the group, and exit\n"
    "  -v, --verbose     log more\n"
    "      --log-json    log an object of JSON on each line\n"
    "      --help        this page\n"
    "      --version     the version\n"
    "\n"
    "SIGTERM or SIGINT ends it.  See spate-web(8).\n";

/* While spated hangs, all requests wait so long: less than Prometheus does. */
enum { SPATED_WAIT = 1000 };

/* The command line, and the parts of the configuration that are read here;
 * texts point into it. */
struct web_settings {
	const char *path;
	bool check, verbose, log_json;
	struct conf *conf;
	const char *socket;
	struct web_conf web;
};

static int
settings_read(struct web_settings *s, struct fault *fault)
{
	config_setting_t *control;
	int err = conf_open(&s->conf, s->path, fault);

	if (err)
		return err;
	/* spated checks its own keys. */
	s->socket = CONTROL_SOCKET;
	control = config_setting_get_member(conf_root(s->conf), "control");
	if (control)
		config_setting_lookup_string(control, "socket", &s->socket);
	return web_conf_read(&s->web, s->conf, fault);
}

/* ---- the loop -------------------------------------------------------- */

static int
signals_open(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	/* Threads inherit the mask, so block before the first one starts. */
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Serves until a signal comes. */
static int
serve(struct web_server *server, struct spated *spated, int signals)
{
	struct pollfd fd[2 + WEB_SOCKETS];
	unsigned n;
	int wait;

	for (;;) {
		fd[0] = (struct pollfd){ signals, POLLIN, 0 };
		fd[1] = (struct pollfd){ spated_fd(spated), POLLIN, 0 };
		wait = -1;
		n = 2 + web_server_poll(server, fd + 2, &wait);
		if (poll(fd, n, wait) < 0 && errno != EINTR) {
			log_line(LEVEL_ERROR, "web", "cannot wait: %s",
				 strerror(errno));
			return -errno;
		}
		if (fd[0].revents)
			return 0;
		if (fd[1].revents)
			spated_look(spated);
		web_server_run(server);
	}
}

static int
run(struct web_settings *s, struct fault *fault)
{
	const struct spated_wishes wishes = { s->socket, "web", SPATED_WAIT };
	struct web_server *server = NULL;
	struct figures figures = { 0 };
	int signals = signals_open();
	int err = signals < 0 ? -errno : spated_open(&figures.spated, &wishes);

	if (err) {
		fault_set(fault, err, "no-memory", "cannot start: %s",
			  strerror(-err));
		goto out;
	}
	if (log_queue_start() < 0)
		log_line(LEVEL_WARN, "web",
			 "cannot start the thread of the log: a log that "
			 "nobody reads can stop spate-web");
	err = web_server_open(&server, &s->web, &figures, fault);
	if (err)
		goto out;
	for (unsigned i = 0; i < s->web.listen.n; i++)
		log_line(LEVEL_INFO, "web", "answers on http://%s/",
			 s->web.listen.text[i]);
	err = serve(server, figures.spated, signals);
out:
	log_queue_flush();
	web_server_close(server);
	figures_clear(&figures);
	spated_close(figures.spated);
	if (signals >= 0)
		close(signals);
	return err;
}

/* ---- the command line ------------------------------------------------ */

/* Returns -1 to go on, else the exit status. */
static int
options_read(struct web_settings *o, int argc, char **argv)
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
		case 'h': fputs(help, stdout); return 0;
		case 'V': puts(PACKAGE_STRING); return 0;
		default: fprintf(stderr, "see 'spate-web --help'\n"); return 2;
		}
	}
	if (optind == argc)
		return -1;
	fprintf(stderr,
		"spate-web: '%s' is no option; see 'spate-web --help'\n",
		argv[optind]);
	return 2;
}

int
main(int argc, char **argv)
{
	struct web_settings s = { .path = SPATE_CONF };
	int status = options_read(&s, argc, argv), err;
	struct fault fault = { 0 };
	char line[1024];

	if (status >= 0)
		return status;
	log_level_set(s.verbose ? LEVEL_DEBUG : LEVEL_INFO);
	if (s.log_json)
		log_json_set();
	err = settings_read(&s, &fault);
	if (!err && !s.check)
		err = run(&s, &fault);
	if (err && fault.what[0]) {
		fault_line(&fault, line, sizeof line);
		fprintf(stderr, "spate-web: %s\n", line);
	}
	conf_close(s.conf);
	return err ? 1 : 0;
}
