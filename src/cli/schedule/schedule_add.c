/* SPDX-License-Identifier: MIT */
/*
 * spate schedule add, rm and check.  The daemon reads the content of a file;
 * here it is only checked that the file can be sent.  Each of several files is
 * handled and reported on its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/show/field.h"
#include "cli/schedule/schedule.h"
#include "cli/schedule/schedule_show.h"
#include "cli/show/site.h"

/*
 * Bytes of a file.  As JSON on one line it may grow by half; see CONTROL_LINE.
 */
enum { TEXT_MOST = 640 << 10 };

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

int
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
name_of(const struct schedule_args *args, const char *path, struct fault *fault)
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
	unsigned refused = 0;
	size_t i;

	json_array_foreach(scans, i, scan)
		refused += !strcmp(field_text(scan, "verdict"), "refused");
	if (!refused)
		return CLI_DONE;
	fflush(stdout);
	fault_set(&fault, -ENOSPC, "no-room",
		  "%u of %zu scans will not be recorded", refused,
		  json_array_size(scans));
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
schedule_send(const struct cli *cli, const struct schedule_args *args,
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
		printf("%s %s: %zu scan%s\n", field_text(result, "file"),
		       args->dry ? "would be added" : "added",
		       json_array_size(scans),
		       json_array_size(scans) == 1 ? "" : "s");
	status = refused_fail(scans);
	json_decref(result);
	return status;
}

static int
add_one(const struct cli *cli, const struct schedule_args *args,
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

int
schedule_add(const struct cli *cli, const struct schedule_args *args,
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
	const json_t *one = json_array_get(scans, 0);
	char time[UNITS_TEXT];

	if (json_array_size(scans) == 1)
		printf("%s, %s: taken out of the schedule\n",
		       field_text(one, "name"),
		       units_show_time(time, field_time(one, "start")));
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

int
schedule_rm(const struct cli *cli, char **which)
{
	int status = CLI_DONE;

	for (; *which; which++) {
		int one = rm_one(cli, *which);

		status = one ? one : status;
	}
	return status;
}

/*
 * Makes the request: without a file the schedule as it is, with one as it would
 * be.
 */
static json_t *
check_request(const char *path, struct fault *fault)
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

int
schedule_check(const struct cli *cli, char **path)
{
	struct fault fault;
	json_t *request = check_request(*path, &fault), *result;
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
