/* SPDX-License-Identifier: MIT */
/*
 * The command line of spated; daemon.c has the rest.
 *
 * `--options` prints the list of all keys from the same tables that read them,
 * those of plugins included, so the list is never out of date:
 *
 *   beside receive = "udp"
 *     listen         a list of texts, as [ "a", "b" ]
 *                    addresses to receive on: ...
 *
 * A key begins a line after two blanks, and no other line does.
 */
#include "config.h"

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/module.h"
#include "daemon/conf/setup.h"
#include "daemon/main/daemon.h"
#include "daemon/schedule/scan.h"
#include "flow/memory/arena.h"
#include "flow/memory/block_pool.h"

/* ---- --options ------------------------------------------------------- */

static void
table_print(const char *place, const struct option_key *o)
{
	char form[CONF_FORM];

	if (!o || !o->name)
		return;
	printf("%s\n", place);
	for (; o->name; o++) {
		printf("  %-14s %s", o->name, conf_form(form, o));
		if (o->fallback)
			printf("; default %s", o->fallback);
		printf("\n  %-14s %s\n", "", o->help ? o->help : "");
	}
}

/* Returns the head of a plugin's ops, or NULL (told on stderr) if it cannot be
 * loaded. */
static const struct plugin *
plugin_load(const char *kind, const char *name)
{
	const struct receive_ops *receive;
	const struct send_ops *send;
	const struct format_ops *format;
	const struct write_ops *write;
	struct fault fault = { 0 };
	char line[1024];

	if (!strcmp(kind, "receive") && !module_receive(name, &receive, &fault))
		return &receive->head;
	if (!strcmp(kind, "format") && !module_format(name, &format, &fault))
		return &format->head;
	if (!strcmp(kind, "write") && !module_write(name, &write, &fault))
		return &write->head;
	if (!strcmp(kind, "send") && !module_send(name, &send, &fault))
		return &send->head;
	fault_line(&fault, line, sizeof line);
	fprintf(stderr, "spated: %s\n", line);
	return NULL;
}

/* Prints the keys of all plugins of a kind: they stand beside the key that
 * chose the plugin, or in a group of its name.  Returns an exit status. */
static int
plugins_print(const char *kind, const char *before, const char *after)
{
	char names[1024], title[128], *rest = names, *name;
	const struct plugin *head;
	int status = 0;

	module_names(kind, names, sizeof names);
	while ((name = strsep(&rest, ", "))) {
		if (!*name)
			continue;
		head = plugin_load(kind, name);
		snprintf(title, sizeof title, "%s%s%s", before, name, after);
		if (head)
			table_print(title, head->options);
		else
			status = 1;
	}
	return status;
}

/*
 * Prints every key that a configuration may have, with the keys of all
 * installed plugins (`spated --options`).  Returns the exit status: 1 if a
 * plugin cannot be loaded, which is told on stderr.
 */
static int
options_print(void)
{
	int status;

	table_print("in the file itself", setup_options);
	status = plugins_print("write", "beside writer = \"", "\"");
	table_print("in the file itself, of sending", setup_send_options);
	status |= plugins_print("send", "in send.", "");
	table_print("in control", setup_control_options);
	table_print("in vsi", vsi_conf_options);
	table_print("in web", web_conf_options);
	table_print("in inbox", setup_inbox_options);
	table_print("in streams.NAME", stream_options);
	table_print("in a scan of the schedule", scan_options);
	status |= plugins_print("receive", "beside receive = \"", "\"");
	status |= plugins_print("format", "beside format = \"", "\"");
	return status;
}

/* ---- the command line ------------------------------------------------ */

static const char help[] =
    "usage: spated [-c CONF] [-n] [-v] [--log-json] | --options\n"
    "\n"
    "Records network streams of a radio telescope to disks, as the\n"
    "configuration says; 'spate' tells it what, and when.\n"
    "\n"
    "  -c, --conf CONF   the configuration (" SPATE_CONF ")\n"
    "  -n, --check       check it, print what it would do, exit\n"
    "  -v, --verbose     log more\n"
    "      --log-json    log an object of JSON on each line\n"
    "      --options     list every key of a configuration, and exit\n"
    "      --help        this page\n"
    "      --version     the version\n"
    "\n"
    "SIGTERM or SIGINT stops what is being recorded, makes it durable, and\n"
    "ends the daemon.  See spated(8) and spate.conf(5).\n";

struct command_line {
	const char *conf;
	bool check;
	bool verbose, json;
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
		err = arena_fits(setup.o.memory, &fault);
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
			 "cannot start the thread of the log: %s; a log that "
			 "nobody reads can stop the daemon",
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

/* Returns -1 to go on, else the exit status. */
static int
options_read(struct command_line *o, int argc, char **argv)
{
	static const struct option options[] = {
		{ "conf", required_argument, NULL, 'c' },
		{ "check", no_argument, NULL, 'n' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "log-json", no_argument, NULL, 'j' },
		{ "options", no_argument, NULL, 'o' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "c:nvhV", options, NULL)) != -1) {
		switch (c) {
		case 'c': o->conf = optarg; break;
		case 'n': o->check = true; break;
		case 'v': o->verbose = true; break;
		case 'j': o->json = true; break;
		case 'o': return options_print();
		case 'h': fputs(help, stdout); return 0;
		case 'V': puts(PACKAGE_STRING); return 0;
		default: fprintf(stderr, "see 'spated --help'\n"); return 2;
		}
	}
	if (optind == argc)
		return -1;
	fprintf(stderr, "spated: '%s' is no option; see 'spated --help'\n",
		argv[optind]);
	return 2;
}

int
main(int argc, char **argv)
{
	struct command_line o = { .conf = SPATE_CONF };
	int status = options_read(&o, argc, argv);

	if (status >= 0)
		return status;
	log_level_set(o.verbose ? LEVEL_DEBUG : LEVEL_INFO);
	if (o.json)
		log_json_set();
	return o.check ? check(o.conf) : run(o.conf);
}
