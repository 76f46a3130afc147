/* SPDX-License-Identifier: MIT */
/*
 * spate schedule import: reads another program's schedule, writes it as one of
 * spate's, and has the daemon add that.  Notes made while reading are printed
 * on stderr before anything is added.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "cli/schedule/import_scans.h"
#include "cli/schedule/schedule.h"
#include "cli/show/site.h"
#include "control/answer.h"

static int
args_check(const struct schedule_options *args, const char *path,
	   struct fault *fault)
{
	if (!args->streams || !*args->streams ||
	    !args->streams[strspn(args->streams, ",")]) {
		fault_set(fault, -EINVAL, "usage",
			  "which stream are the scans to record?");
		fault_hint(fault, "--stream S; spate streams lists them");
		return -EINVAL;
	}
	if (!args->as && strcmp(path, "-") == 0) {
		fault_set(fault, -EINVAL, "usage",
			  "what is standard input to be called?");
		fault_hint(fault, "--as NAME.conf");
		return -EINVAL;
	}
	if (args->priority > INT_MAX) {
		fault_set(fault, -EINVAL, "usage", "--priority is too large");
		return -EINVAL;
	}
	return 0;
}

static void
notes_tell(const struct cli *cli, const struct import *im)
{
	if (cli->quiet)
		return;
	for (unsigned i = 0; i < im->kept; i++)
		if (im->note[i])
			fprintf(stderr, "spate: %s\n", im->note[i]);
	if (im->notes > im->kept)
		fprintf(stderr, "spate: %s: and %u more notes\n", im->file,
			im->notes - im->kept);
	if (im->n && im->scan[im->n - 1].stop <= clock_now())
		fprintf(stderr,
			"spate: %s: all of these scans are over already\n",
			im->file);
}

/*
 * Fails because some scans were left out; the others are in the schedule now.
 */
static int
left_out_fail(const struct cli *cli, const struct import *im)
{
	struct fault fault;

	fflush(stdout);
	fault_set(&fault, -EINVAL, "conf", "%u of %u scans are left out",
		  im->left_out, im->left_out + im->n);
	fault_hint(&fault, cli->quiet ? "without --quiet it says why"
				      : "the lines above say why");
	return cli_fail(&fault);
}

/*
 * Returns a scan as the daemon would show it, without what only the daemon
 * knows.
 */
static json_t *
scan_json(const struct import_scan *scan, const struct schedule_options *args)
{
	char start[UNITS_TEXT], stop[UNITS_TEXT];
	json_t *streams = json_array(), *json;
	const char *list = args->streams;

	while (*list) {
		size_t length = strcspn(list, ",");

		if (length)
			json_array_append_new(streams,
					      json_stringn(list, length));
		list += length + (list[length] == ',');
	}
	json = json_pack("{s:s s:s s:o s:s s:s s:f}", "name", scan->name,
			 "action", "record", "streams", streams, "start",
			 units_show_time_ns(start, scan->start), "stop",
			 units_show_time_ns(stop, scan->stop), "duration_s",
			 (double)(scan->stop - scan->start) / 1e9);
	if (json && args->priority)
		json_object_set_new(json, "priority",
				    json_integer((json_int_t)args->priority));
	return json;
}

static void
show(const struct cli *cli, const struct schedule_options *args,
     const struct import *im)
{
	json_t *scans = json_array();

	for (unsigned i = 0; i < im->n; i++)
		json_array_append_new(scans, scan_json(&im->scan[i], args));
	schedule_show(cli, scans, SCHEDULE_CHECK);
	json_decref(scans);
}

/* Tells whether the daemon answers; --dry-run works without one. */
static bool
is_daemon_there(const struct cli *cli, struct fault *fault)
{
	struct control *control;

	if (site_connect(cli, &control, fault))
		return false;
	control_close(control);
	return true;
}

/*
 * Checks that the text fits into one line of the control socket, escaped for
 * JSON.
 */
static int
length_check(const struct import *im, const char *text, struct fault *fault)
{
	size_t bytes = 4096;

	for (; *text; text++)
		bytes += strchr("\"\\\n", *text) ? 2 : 1;
	if (bytes < CONTROL_LINE)
		return 0;
	fault_set(fault, -E2BIG, "usage", "cannot import %.200s", im->file);
	fault_why(fault, "%u scans are too many for one file of the schedule",
		  im->n);
	fault_hint(fault, "import half of it at a time");
	return -E2BIG;
}

static int
send(const struct cli *cli, const struct schedule_options *args,
     const struct import *im, const char *path)
{
	const struct import_order order = { args->streams, args->send,
					    (int)args->priority };
	char *text = import_conf(im, &order);
	char *name = args->as ? strdup(args->as) : import_conf_name(path);
	struct fault fault;
	int status, err = 0;

	if (!text || !name)
		err = fault_no_memory(&fault);
	if (!err)
		err = length_check(im, text, &fault);
	status = err ? cli_fail(&fault) : schedule_send(cli, args, name, text);
	free(text);
	free(name);
	return status;
}

/* Returns the status of the daemon, for the recorder's own station; NULL: it
 * does not answer, or is not asked because a station is named. */
static json_t *
status_ask(const struct cli *cli, const struct schedule_options *args)
{
	struct fault fault;
	json_t *status;

	return !args->station && !site_ask(cli, "status", NULL, &status, &fault)
		   ? status
		   : NULL;
}

static int
import_or_show(const struct cli *cli, const struct schedule_options *args,
	       const struct import *im, const char *path)
{
	struct fault fault;

	if (!args->dry || is_daemon_there(cli, &fault))
		return send(cli, args, im, path);
	show(cli, args, im);
	if (!cli->quiet)
		fprintf(stderr, "spate: nothing is checked: %s%s%s\n",
			fault.what, *fault.why ? ": " : "", fault.why);
	return CLI_DONE;
}

int
cli_import(const struct cli *cli, const struct schedule_options *args,
	   const char *path)
{
	const char *slash = strrchr(path, '/');
	struct import im = { .file = slash ? slash + 1 : path,
			     .station = args->station };
	struct fault fault;
	json_t *recorder = NULL;
	int status, err = args_check(args, path, &fault);

	if (!err)
		recorder = status_ask(cli, args);
	if (recorder)
		im.own = answer_status(recorder).station;
	if (!err)
		err = import_file(&im, path, &fault);
	notes_tell(cli, &im);
	status = err ? cli_fail(&fault) : import_or_show(cli, args, &im, path);
	if (!status && im.left_out)
		status = left_out_fail(cli, &im);
	import_clear(&im);
	json_decref(recorder);
	return status;
}
