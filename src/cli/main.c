/* SPDX-License-Identifier: MIT */
/*
 * spate: a table of commands.  Global options may stand before or behind the
 * command's name, so the command line is parsed twice: up to the name, and
 * again together with the command's own options.
 */
#include <config.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/ease.h"
#include "cli/show/args.h"
#include "cli/show/cli.h"
#include "cli/show/terminal.h"

static const struct command *const commands[] = {
	&command_record,   &command_stop,   &command_send,     &command_relay,
	&command_sends,	   &command_rate,   &command_pause,    &command_resume,
	&command_ls,	   &command_info,   &command_check,    &command_verify,
	&command_recover,  &command_rm,	    &command_protect,  &command_export,
	&command_mount,	   &command_status, &command_disks,    &command_streams,
	&command_probe,	   &command_gen,    &command_schedule, &command_reload,
	&command_rehearse, &command_scrub,  &command_rebuild,
};

enum { COMMANDS = sizeof commands / sizeof *commands };

static const struct args_option globals[] = {
	{ "socket", 0, ARGS_TEXT, offsetof(struct cli, socket), "PATH",
	  "the daemon's control socket" },
	{ "conf", 'c', ARGS_TEXT, offsetof(struct cli, conf), "FILE",
	  "the configuration: its socket, and its disks without a daemon" },
	{ "disks", 0, ARGS_TEXT, offsetof(struct cli, disks), "PATH[:PATH...]",
	  "look on these disks, and ask no daemon" },
	{ "json", 0, ARGS_FLAG, offsetof(struct cli, json), NULL,
	  "print one JSON object per line" },
	{ "quiet", 'q', ARGS_FLAG, offsetof(struct cli, quiet), NULL,
	  "print results and errors only" },
	{ "help", 'h', ARGS_FLAG, offsetof(struct cli, help), NULL,
	  "print this help" },
	{ "version", 0, ARGS_FLAG, offsetof(struct cli, version), NULL,
	  "print the version" },
	{ .name = NULL },
};

static void
help_all(void)
{
	printf("usage: spate COMMAND [OPTION...]\n\n"
	       "Records network streams of a radio telescope.\n\n");
	for (unsigned i = 0; i < COMMANDS; i++)
		printf("  %-10s %s\n", commands[i]->name, commands[i]->help);
	printf("\nOptions of all commands:\n");
	args_help(globals, stdout);
	printf("\nspate COMMAND --help says more; so does spate(1).\n");
}

static void
help_one(const struct command *command)
{
	printf("usage: spate %s%s%s%s\n\n%s.\n", command->name,
	       *command->operands ? " " : "", command->operands,
	       command->options ? " [OPTION...]" : "", command->help);
	if (command->options) {
		putchar('\n');
		args_help(command->options, stdout);
	}
	printf("\nOptions of all commands:\n");
	args_help(globals, stdout);
}

/* Prints what --version or --help asks for. */
static int
told(const struct cli *cli, const struct command *command)
{
	if (cli->version)
		printf("spate %s\n", PACKAGE_VERSION);
	else if (command)
		help_one(command);
	else
		help_all();
	return CLI_DONE;
}

static const struct command *
command_find(const char *name, struct fault *fault)
{
	const char *names[COMMANDS], *near;

	for (unsigned i = 0; i < COMMANDS; i++) {
		names[i] = commands[i]->name;
		if (strcmp(name, names[i]) == 0)
			return commands[i];
	}
	fault_set(fault, -EINVAL, "usage", "unknown command %s", name);
	near = suggest(name, names, COMMANDS);
	if (near)
		fault_hint(fault, "did you mean spate %s?", near);
	else
		fault_hint(fault, "spate --help lists them");
	return NULL;
}

static int
operands_check(const struct command *command, int n, struct fault *fault)
{
	if (n >= (int)command->least && n <= (int)command->most)
		return 0;
	fault_set(fault, -EINVAL, "usage", "%s: %s", command->name,
		  n < (int)command->least ? "an operand is missing"
					  : "too many operands");
	fault_hint(fault, "spate %s%s%s", command->name,
		   *command->operands ? " " : "", command->operands);
	return -EINVAL;
}

static int
command_run(const struct command *command, struct cli *cli, int argc,
	    char **argv)
{
	static const struct args_option none[] = { { .name = NULL } };
	struct args_set sets[3] = { { command->options, NULL },
				    { globals, cli } };
	struct fault fault;
	int at, status;

	if (!command->options)
		sets[0].options = none;
	sets[0].values = calloc(1, command->bytes ? command->bytes : 1);
	if (!sets[0].values)
		abort();
	if (command->defaults)
		memcpy(sets[0].values, command->defaults, command->bytes);
	at = args_parse(sets, ARGS_ALL, argc, argv, &fault);
	if (at >= 0 && (cli->help || cli->version)) {
		status = told(cli, command);
	} else if (at < 0 || operands_check(command, argc - at, &fault)) {
		status = cli_fail(&fault);
	} else {
		if (command->eased)
			ease_process();
		status = command->run(cli, sets[0].values, argv + at);
	}
	free(sets[0].values);
	return status;
}

static int
run(struct cli *cli, int argc, char **argv)
{
	const struct args_set set[2] = { { globals, cli } };
	const struct command *command;
	struct fault fault;
	int at = args_parse(set, ARGS_TO_OPERAND, argc, argv, &fault);

	if (at < 0)
		return cli_fail(&fault);
	if (cli->version || (cli->help && at == argc))
		return told(cli, NULL);
	if (at == argc) {
		fault_set(&fault, -EINVAL, "usage", "which command?");
		fault_hint(&fault, "spate --help lists them");
		return cli_fail(&fault);
	}
	command = command_find(argv[at], &fault);
	if (!command)
		return cli_fail(&fault);
	return command_run(command, cli, argc - at, argv + at);
}

int
main(int argc, char **argv)
{
	struct cli cli = { 0 };
	struct fault fault;
	int status;

	/* a write past RLIMIT_FSIZE then fails with EFBIG */
	signal(SIGXFSZ, SIG_IGN);
	terminal_guard();
	status = run(&cli, argc, argv);
	/* A full disk under stdout shows only here. */
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	fault_set(&fault, -EIO, "io", "cannot write to standard output");
	fault_why(&fault, "%m");
	return cli_fail(&fault);
}
