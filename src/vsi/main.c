/* SPDX-License-Identifier: MIT */
/*
 * The loop of spate-vsi: one thread waits for clients of VSI-S, for signals, and
 * for the end of the connection to spated.  Only files have threads of their own
 * (vsi_file.h).
 */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "base/conf.h"
#include "base/log.h"
#include "control/companion.h"
#include "control/spated.h"
#include "control/vsi_conf.h"
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

/* Keys that are read from the configuration; texts point into it. */
struct settings {
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

static int
settings_read(void *arg, struct conf *conf, struct fault *fault)
{
	struct settings *s = arg;
	config_setting_t *inbox =
	    config_setting_get_member(conf_root(conf), "inbox");
	const config_setting_t *listen = NULL;

	if (inbox)
		listen = config_setting_get_member(inbox, "listen");
	if (listen)
		inbox_read(s, listen);
	return vsi_conf_read(&s->vsi, conf, fault);
}

/* ---- the loop -------------------------------------------------------- */

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
run(void *arg, const char *socket, int signals, struct fault *fault)
{
	struct settings *s = arg;
	struct vsi_server_args args = { .listen = s->vsi.listen,
					.allow = s->vsi.allow,
					.command = vsi_runtimes_command,
					.gone = vsi_runtimes_gone };
	struct vsi_runtimes *runtimes = NULL;
	struct vsi_server *server = NULL;
	struct spated *spated = NULL;
	const struct spated_wishes wishes = { socket, "vsi", SPATED_WAIT };
	int err;

	/* The unit starts with that of spated, also where nobody wants it. */
	if (!s->vsi.listen.n) {
		log_line(LEVEL_INFO, "vsi",
			 "the configuration has no group `vsi`: there is "
			 "nothing to do");
		return 0;
	}
	err = spated_open(&spated, &wishes);
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
	vsi_server_close(server);
	vsi_runtimes_close(runtimes);
	spated_close(spated);
	return err;
}

/* ---- the program ----------------------------------------------------- */

int
main(int argc, char **argv)
{
	struct settings settings = { 0 };
	const struct companion program = {
		.name = "spate-vsi",
		.area = "vsi",
		.help = help,
		.arg = &settings,
		.read = settings_read,
		.run = run,
	};

	return companion_main(&program, argc, argv);
}
