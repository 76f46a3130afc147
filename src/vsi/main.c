/* SPDX-License-Identifier: MIT */
/*
 * The command line of spate-vsi, and its loop: one thread waits for clients of
 * VSI-S, for signals, and for the end of the connection to spated.  Only files
 * have threads of their own (vsi_file.h).
 */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/conf.h"
#include "base/log.h"
#include "control/control.h"
#include "control/vsi_conf.h"
#include "control/spated.h"
#include "vsi/vsi_runtimes.h"
#include "vsi/vsi_server.h"

static const char help[] =
    "usage: spate-vsi [-c CONF] [-n] [-v] [--log-json]\n"
    "\n"
    "Takes VSI-S commands, as a Field System sends them to jive5ab, and gives\n"
    "orders to spated.  The group `vsi` of spated's configuration says where\n"
    "commands come in, and who may send them.\n"
    "\n"
    "  -c, --conf CONF   the configuration (" SPATE_CONF ")\n"
    "  -n, --check       check the group, and exit\n"
    "  -v, --verbose     log more\n"
    "      --log-json    log an object of JSON on each line\n"
    "      --help        this page\n"
    "      --version     the version\n"
    "\n"
    "SIGTERM or SIGINT ends it; what is recorded goes on.  See spate-vsi(8).\n";

enum { SPATED_WAIT = 5000 }; /* ms for each answer */

/* The command line, and the parts of the configuration that are read here;
 * texts point into it. */
struct settings {
	const char *path;
	bool check, verbose, log_json;
	struct conf *conf;
	const char *socket;
	struct vsi_conf vsi;
	struct option_texts inbox; /* inbox.listen */
	const char *inbox_text[64];
};

/* Takes the texts of `inbox.listen`, a text or a list; spated refuses all
 * else. */
static void
inbox_read(struct settings *s, const config_setting_t *listen)
{
	unsigned n = 0, most = sizeof s->inbox_text / sizeof *s->inbox_text;
	const char *text = config_setting_get_string(listen);

	if (text)
		s->inbox_text[n++] = text;
	for (int i = 0; i < config_setting_length(listen) && n < most; i++) {
		text = config_setting_get_string_elem(listen, i);
		if (text)
			s->inbox_text[n++] = text;
	}
	s->inbox = (struct option_texts){ s->inbox_text, n };
}

/* Reads the keys of spated that are needed here, too; spated checks them. */
static void
others_read(struct settings *s)
{
	const config_setting_t *root = conf_root(s->conf), *listen;
	const config_setting_t *control =
	    config_setting_get_member((config_setting_t *)root, "control");
	const config_setting_t *inbox =
	    config_setting_get_member((config_setting_t *)root, "inbox");

	s->socket = CONTROL_SOCKET;
	if (control)
		config_setting_lookup_string(control, "socket", &s->socket);
	listen = inbox ? config_setting_get_member((config_setting_t *)inbox,
						   "listen")
		       : NULL;
	if (listen)
		inbox_read(s, listen);
}

static int
settings_read(struct settings *s, struct fault *fault)
{
	int err = conf_open(&s->conf, s->path, fault);

	if (err)
		return err;
	others_read(s);
	return vsi_conf_read(&s->vsi, s->conf, fault);
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
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	/* a write beyond RLIMIT_FSIZE is an error of that file */
	signal(SIGXFSZ, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Serves until a signal comes. */
static int
serve(struct vsi_server *server, struct spated *spated, int signals)
{
	struct pollfd fd[3] = { { vsi_server_fd(server), POLLIN, 0 },
				{ signals, POLLIN, 0 },
				{ -1, POLLIN, 0 } };

	for (;;) {
		fd[2].fd = spated_fd(spated);
		fd[2].revents = 0;
		if (poll(fd, 3, -1) < 0 && errno != EINTR) {
			log_line(LEVEL_ERROR, "vsi", "cannot wait: %s",
				 strerror(errno));
			return -errno;
		}
		if (fd[1].revents)
			return 0;
		if (fd[2].revents)
			spated_look(spated);
		if (fd[0].revents)
			vsi_server_step(server);
	}
}

static int
run(struct settings *s, struct fault *fault)
{
	struct vsi_server_args args = { .listen = s->vsi.listen,
					.allow = s->vsi.allow,
					.command = vsi_runtimes_command,
					.gone = vsi_runtimes_gone };
	struct vsi_runtimes *runtimes = NULL;
	struct vsi_server *server = NULL;
	struct spated *spated = NULL;
	const struct spated_wishes wishes = { s->socket, "vsi", SPATED_WAIT };
	int signals = signals_open();
	int err = signals < 0 ? -errno : spated_open(&spated, &wishes);

	if (log_queue_start() < 0)
		log_line(LEVEL_WARN, "vsi",
			 "cannot start the thread of the log: a log that "
			 "nobody reads can stop VSI-S");
	if (!err)
		err = vsi_runtimes_open(&runtimes, &s->vsi, &s->inbox, spated);
	if (err) {
		fault_set(fault, err, "no-memory", "cannot start: %s",
			  strerror(-err));
		goto out;
	}
	args.arg = runtimes;
	err = vsi_server_open(&server, &args, fault);
	if (err)
		goto out;
	for (unsigned i = 0; i < s->vsi.listen.n; i++)
		log_line(LEVEL_INFO, "vsi", "takes commands on %s",
			 s->vsi.listen.text[i]);
	vsi_runtimes_restore(runtimes);
	err = serve(server, spated, signals);
	vsi_runtimes_leave(runtimes);
out:
	log_queue_flush();
	vsi_server_close(server);
	vsi_runtimes_close(runtimes);
	spated_close(spated);
	if (signals >= 0)
		close(signals);
	return err;
}

/* ---- the command line ------------------------------------------------ */

/* Returns -1 to go on, else the exit status. */
static int
options_read(struct settings *o, int argc, char **argv)
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
		default: fprintf(stderr, "see 'spate-vsi --help'\n"); return 2;
		}
	}
	if (optind == argc)
		return -1;
	fprintf(stderr,
		"spate-vsi: '%s' is no option; see 'spate-vsi --help'\n",
		argv[optind]);
	return 2;
}

int
main(int argc, char **argv)
{
	struct settings s = { .path = SPATE_CONF };
	int status = options_read(&s, argc, argv), err;
	struct fault fault = { 0 };
	char line[1024];

	if (status >= 0)
		return status;
	log_level_set(s.verbose ? LEVEL_DEBUG : LEVEL_INFO);
	if (s.log_json)
		log_json_set();
	err = settings_read(&s, &fault);
	/* The unit starts with that of spated, also where nobody wants VSI-S. */
	if (!err && !s.vsi.listen.n)
		log_line(LEVEL_INFO, "vsi",
			 "%s has no group `vsi`: there is nothing to do",
			 s.path);
	else if (!err && !s.check)
		err = run(&s, &fault);
	if (err && fault.what[0]) {
		fault_line(&fault, line, sizeof line);
		fprintf(stderr, "spate-vsi: %s\n", line);
	}
	conf_close(s.conf);
	return err ? 1 : 0;
}
