/* SPDX-License-Identifier: MIT */
/*
 * spate schedule: lists what will be recorded and when, as the daemon has it,
 * and changes or checks that.
 *
 * The daemon reads the content of a file; here it is only checked that the file
 * can be sent.  Each of several files is handled and reported on its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/schedule/schedule.h"
#include "cli/show/cli.h"
#include "cli/show/field.h"
#include "cli/show/site.h"
#include "control/answer.h"

/*
 * Bytes of a file.  As JSON on one line it may grow by half; see CONTROL_LINE.
 */
enum { TEXT_MOST = 640 << 10 };

/* ---- add, rm and check --------------------------------------------- */

static int
unreadable(const char *path, int err, struct fault *fault)
{
	fault_set(fault, err, "io", "cannot read %.200s", path);
	fault_why(fault, "%s", strerror(-err));
	return err;
}

static int
too_long(const char *path, struct fault *fault)
{
	char most[UNITS_TEXT];

	fault_set(fault, -EFBIG, "usage", "%.200s is no schedule file", path);
	fault_why(fault, "it is longer than %s",
		  units_show_bytes(most, TEXT_MOST));
	fault_hint(fault, "put half of the scans into a file of its own");
	return -EFBIG;
}

/*
 * Reads the whole file, and puts a 0 behind it.  Returns -EFBIG if it is too
 * long, -EILSEQ if it contains a 0.
 */
static int
read_whole(int fd, char *text)
{
	size_t n = 0;
	ssize_t got;

	while ((got = read(fd, text + n, TEXT_MOST + 1 - n)) != 0) {
		if (got < 0 && errno != EINTR)
			return -errno;
		n += got > 0 ? (size_t)got : 0;
		if (n > TEXT_MOST)
			return -EFBIG;
	}
	text[n] = 0;
	return strlen(text) == n ? 0 : -EILSEQ;
}

/*
 * Reads a schedule file; refuses one that is too long or no
 * text.  The caller frees *text.  Returns 0, or -errno with a fault.
 */
static int
schedule_read(const char *path, char **text, struct fault *fault)
{
	int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC)
				   : dup(STDIN_FILENO);
	int err = fd < 0 ? -errno : 0;

	*text = NULL;
	if (err)
		return unreadable(path, err, fault);
	*text = malloc(TEXT_MOST + 2);
	err = *text ? read_whole(fd, *text) : -ENOMEM;
	close(fd);
	if (!err)
		return 0;
	free(*text);
	*text = NULL;
	if (err == -EFBIG)
		return too_long(path, fault);
	if (err != -EILSEQ)
		return unreadable(path, err, fault);
	return fault_set(fault, -EINVAL, "usage", "%.200s is no text", path);
}

static int
name_missing(const char *path, struct fault *fault)
{
	fault_set(fault, -EINVAL, "usage", "what is %.200s to be called?",
		  path);
	fault_why(fault, "files of the schedule are called NAME.conf");
	fault_hint(fault, "--as NAME.conf");
	return -EINVAL;
}

/* Returns the file's name in the folder; NULL with a fault. */
static const char *
name_of(const struct schedule_options *args, const char *path,
	struct fault *fault)
{
	const char *name = strrchr(path, '/'), *end;

	if (args->as)
		return args->as;
	name = name ? name + 1 : path;
	end = strrchr(name, '.');
	if (end && !strcmp(end, ".conf"))
		return name;
	name_missing(path, fault);
	return NULL;
}

/* Fails with one line behind the table if scans were refused. */
static int
refused_fail(const json_t *scans)
{
	const json_t *scan;
	struct fault fault;
	unsigned refused = 0, unsent = 0;
	size_t i;

	json_array_foreach(scans, i, scan) {
		const struct answer_scan s = answer_scan(scan);

		refused += s.verdict && !strcmp(s.verdict, "refused");
		unsent += s.unsent && *s.unsent;
	}
	if (!refused && !unsent)
		return CLI_DONE;
	fflush(stdout);
	if (refused)
		fault_set(&fault, -ENOSPC, "no-room",
			  "%u of %zu scans will not be recorded", refused,
			  json_array_size(scans));
	else
		fault_set(&fault, -EINVAL, "conf",
			  "%u of %zu scans will be recorded, but not sent",
			  unsent, json_array_size(scans));
	fault_hint(&fault, "the last column says why");
	return cli_fail(&fault);
}

/*
 * Reports text that is no UTF-8: json_pack() fails on it, and NULL would be
 * sent as a request without arguments.
 */
static int
not_utf8(const char *file, struct fault *fault)
{
	fault_set(fault, -EINVAL, "usage", "cannot send %.100s to spated",
		  file);
	fault_why(fault, "it, or its name, is no UTF-8 text");
	return -EINVAL;
}

int
schedule_send(const struct cli *cli, const struct schedule_options *args,
	      const char *file, const char *text)
{
	json_t *result,
	    *request =
		json_pack("{s:s, s:s, s:b, s:b}", "file", file, "text", text,
			  "dry", args->dry, "replace", args->replace);
	const json_t *scans;
	struct fault fault;
	int status = CLI_DONE;

	if (!request) {
		not_utf8(file, &fault);
		return cli_fail(&fault);
	}
	if (site_ask(cli, "schedule-add", request, &result, &fault))
		return cli_fail(&fault);
	scans = json_object_get(result, "scans");
	schedule_show(cli, scans, SCHEDULE_CHECK);
	if (!cli->json && !cli->quiet)
		printf("%s %s: %zu scan%s", field_text(result, "file"),
		       args->dry ? "would be added" : "added",
		       json_array_size(scans),
		       json_array_size(scans) == 1 ? "" : "s");
	if (!cli->json && !cli->quiet)
		schedule_show_others(field_number(result, "others"));
	status = refused_fail(scans);
	json_decref(result);
	return status;
}

static int
add_one(const struct cli *cli, const struct schedule_options *args,
	const char *path)
{
	struct fault fault;
	const char *file = name_of(args, path, &fault);
	char *text;
	int status;

	if (!file || schedule_read(path, &text, &fault))
		return cli_fail(&fault);
	status = schedule_send(cli, args, file, text);
	free(text);
	return status;
}

/* The subcommands; each returns CLI_... */
static int
schedule_add(const struct cli *cli, const struct schedule_options *args,
	     char **path)
{
	int status = CLI_DONE;

	if (args->as && path[1]) {
		struct fault fault;

		fault_set(&fault, -EINVAL, "usage",
			  "--as names one file, and these are several");
		return cli_fail(&fault);
	}
	for (; *path; path++) {
		int one = add_one(cli, args, *path);

		status = one ? one : status;
	}
	return status;
}

static void
removed_print(const char *which, const json_t *scans)
{
	struct answer_scan one = answer_scan(json_array_get(scans, 0));
	char time[UNITS_TEXT];

	if (json_array_size(scans) == 1)
		printf("%s, %s: taken out of the schedule\n", one.name,
		       units_show_time(time, one.start));
	else
		printf("%s: %zu scans taken out of the schedule\n", which,
		       json_array_size(scans));
}

static int
rm_one(const struct cli *cli, const char *which)
{
	json_t *result, *request = json_pack("{s:s}", "which", which);
	const json_t *scans, *scan;
	struct fault fault;
	size_t i;

	if (!request) {
		not_utf8(which, &fault);
		return cli_fail(&fault);
	}
	if (site_ask(cli, "schedule-rm", request, &result, &fault))
		return cli_fail(&fault);
	scans = json_object_get(result, "removed");
	if (!cli->json && !cli->quiet)
		removed_print(which, scans);
	json_array_foreach(scans, i, scan)
		if (cli->json)
			cli_print_json(scan);
	json_decref(result);
	return CLI_DONE;
}

static int
schedule_rm(const struct cli *cli, char **which)
{
	int status = CLI_DONE;

	for (; *which; which++) {
		int one = rm_one(cli, *which);

		status = one ? one : status;
	}
	return status;
}

json_t *
schedule_check_request(const char *path, struct fault *fault)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	json_t *request;
	char *text;

	if (!path)
		return json_object();
	if (schedule_read(path, &text, fault))
		return NULL;
	request = json_pack("{s:s, s:s}", "file", slash ? slash + 1 : path,
			    "text", text);
	free(text);
	if (!request)
		not_utf8(path, fault);
	return request;
}

static int
schedule_check(const struct cli *cli, char **path)
{
	struct fault fault;
	json_t *request = schedule_check_request(*path, &fault), *result;
	const json_t *scans;
	int status;

	if (!request ||
	    site_ask(cli, "schedule-check", request, &result, &fault))
		return cli_fail(&fault);
	scans = json_object_get(result, "scans");
	schedule_show(cli, scans, SCHEDULE_CHECK);
	schedule_show_sum(cli, result);
	status = refused_fail(scans);
	json_decref(result);
	return status;
}

/*
 * Reports files with errors on stderr, because with --json each line of stdout
 * is a scan.
 */
static void
files_warn(const json_t *files)
{
	const json_t *file;
	char line[1024];
	size_t i;

	json_array_foreach(files, i, file) {
		if (!field_known(file, "error"))
			continue;
		snprintf(line, sizeof line, "%s", field_text(file, "error"));
		fprintf(stderr, "spate: %s\n", line);
	}
}

static int
list(const struct cli *cli, const struct schedule_options *args)
{
	struct fault fault;
	json_t *result;

	if (site_ask(cli, "schedule-ls", json_pack("{s:b}", "all", args->all),
		     &result, &fault))
		return cli_fail(&fault);
	schedule_show(cli, json_object_get(result, "scans"), SCHEDULE_STATE);
	if (!cli->json && !cli->quiet)
		schedule_show_next(result);
	files_warn(json_object_get(result, "files"));
	json_decref(result);
	return CLI_DONE;
}

static int
usage(const char *what)
{
	static const char *const needs[] = { "add", "rm", "import" };
	struct fault fault;
	bool known = false;

	for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
		known |= !strcmp(what, needs[i]);
	if (known)
		fault_set(&fault, -EINVAL, "usage", "schedule %s: which one?",
			  what);
	else if (!strcmp(what, "ls") || !strcmp(what, "check"))
		fault_set(&fault, -EINVAL, "usage",
			  "schedule %s: too many operands", what);
	else
		fault_set(&fault, -EINVAL, "usage",
			  "schedule: there is no '%.40s'", what);
	fault_hint(&fault, "spate schedule [ls | add FILE... | rm ID|NAME|FILE"
			   "... | check [FILE] | import FILE]");
	return cli_fail(&fault);
}

static int
run(const struct cli *cli, const void *values, char **operand)
{
	const struct schedule_options *args = values;
	const char *what = operand[0] ? operand[0] : "ls";
	char **rest = operand[0] ? operand + 1 : operand;

	if (!strcmp(what, "ls") && !*rest)
		return list(cli, args);
	if (!strcmp(what, "add") && *rest)
		return schedule_add(cli, args, rest);
	if (!strcmp(what, "rm") && *rest)
		return schedule_rm(cli, rest);
	if (!strcmp(what, "check") && (!*rest || !rest[1]))
		return schedule_check(cli, rest);
	if (!strcmp(what, "import") && *rest && !rest[1])
		return cli_import(cli, args, *rest);
	return usage(what);
}

#define AT(field) offsetof(struct schedule_options, field)

static const struct args_option options[] = {
	{ "all", 'a', ARGS_FLAG, AT(all), NULL, "ls: what is over, too" },
	{ "dry-run", 'n', ARGS_FLAG, AT(dry), NULL,
	  "add, import: only say what would be" },
	{ "replace", 0, ARGS_FLAG, AT(replace), NULL,
	  "add, import: in place of the file of that name" },
	{ "as", 0, ARGS_TEXT, AT(as), "NAME.conf",
	  "add, import: what the file is called in the folder" },
	{ "station", 0, ARGS_TEXT, AT(station), "CODE",
	  "import: whose scans, as Ef" },
	{ "stream", 's', ARGS_TEXT, AT(streams), "S[,S...]",
	  "import: what the scans record" },
	{ "send", 0, ARGS_TEXT, AT(send), "URL",
	  "import: where each scan is sent to when it is recorded" },
	{ "priority", 0, ARGS_COUNT, AT(priority), "N",
	  "import: what goes before others where room is short" },
	{ .name = NULL },
};

const struct command command_schedule = {
	.name = "schedule",
	.operands = "[ls | add FILE... | rm ID|NAME|FILE... | check [FILE] | "
		    "import FILE]",
	.help = "List what is to be recorded, add to it, or check it",
	.most = 257,
	.options = options,
	.bytes = sizeof(struct schedule_options),
	.run = run,
};
