/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_SHOW_CLI_H
#define SPATE_CLI_SHOW_CLI_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/fault.h"
#include "cli/show/args.h"

/*
 * The command line is a table of commands.  Each command is one constant struct
 * in a file of its own. main() finds it by its name, fills a struct with its
 * options, and calls it.
 *
 * Results go to stdout, everything else to stderr.  An exit status of 1 comes
 * with one line on stderr that says what failed, why, and what would work.
 */
enum { CLI_DONE = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

/* Options that every command has. */
struct cli {
	const char *socket; /* NULL: as the configuration says */
	const char *conf;
	const char *disks; /* "/a:/b"; NULL: not given */
	bool json, quiet, help, version;
};

struct command {
	const char *name;
	const char *operands; /* text of the usage line */
	const char *help;     /* one line, no full stop */
	unsigned least, most; /* number of operands allowed */
	/* reads recordings: its I/O gives way to writers (base/ease.h) */
	bool eased;
	const struct args_option *options; /* NULL: none of its own */
	/* preset values of the struct that options fill */
	const void *defaults;
	size_t bytes; /* size of that struct */
	/*
	 * Runs the command; `values` is the struct of options, and a NULL
	 * follows the last operand.  Returns CLI_...
	 */
	int (*run)(const struct cli *cli, const void *values, char **operand);
};

extern const struct command command_check;
extern const struct command command_disks;
extern const struct command command_export;
extern const struct command command_gen;
extern const struct command command_info;
extern const struct command command_ls;
extern const struct command command_mount;
extern const struct command command_probe;
extern const struct command command_protect;
extern const struct command command_pause;
extern const struct command command_rate;
extern const struct command command_rebuild;
extern const struct command command_record;
extern const struct command command_recover;
extern const struct command command_rehearse;
extern const struct command command_relay;
extern const struct command command_resume;
extern const struct command command_rm;
extern const struct command command_schedule;
extern const struct command command_scrub;
extern const struct command command_send;
extern const struct command command_sends;
extern const struct command command_status;
extern const struct command command_reload;
extern const struct command command_stop;
extern const struct command command_streams;
extern const struct command command_verify;

/*
 * Prints the fault as one line on stderr.  Returns CLI_USAGE for code "usage",
 * else CLI_FAILED.
 */
int cli_fail(const struct fault *fault);

/* Prints one object as a line on stdout. */
void cli_print_json(const json_t *object);

#endif
