/* SPDX-License-Identifier: MIT */
/*
 * The loop of spate-web: one thread waits for requests of HTTP, for signals, and
 * for the end of the connection to spated.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "base/conf.h"
#include "base/log.h"
#include "control/companion.h"
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

static int
settings_read(void *arg, struct conf *conf, struct fault *fault)
{
	return web_conf_read(arg, conf, fault);
}

/* ---- the loop -------------------------------------------------------- */

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
run(void *arg, const char *socket, int signals, struct fault *fault)
{
	const struct web_conf *web = arg;
	const struct spated_wishes wishes = { socket, "web", SPATED_WAIT };
	struct web_server *server = NULL;
	struct figures figures = { 0 };
	int err = spated_open(&figures.spated, &wishes);

	if (err) {
		fault_set(fault, err, "no-memory", "cannot start: %s",
			  strerror(-err));
		goto out;
	}
	err = web_server_open(&server, web, &figures, fault);
	if (err)
		goto out;
	for (unsigned i = 0; i < web->listen.n; i++)
		log_line(LEVEL_INFO, "web", "answers on http://%s/",
			 web->listen.text[i]);
	err = serve(server, figures.spated, signals);
out:
	web_server_close(server);
	figures_clear(&figures);
	spated_close(figures.spated);
	return err;
}

/* ---- the program ----------------------------------------------------- */

int
main(int argc, char **argv)
{
	struct web_conf web = { 0 };
	const struct companion program = {
		.name = "spate-web",
		.area = "web",
		.help = help,
		.arg = &web,
		.read = settings_read,
		.run = run,
	};

	return companion_main(&program, argc, argv);
}
