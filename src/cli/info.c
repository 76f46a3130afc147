/* SPDX-License-Identifier: MIT */
/*
 * spate info: asks the daemon first, which knows more about running recordings
 * than the disks do; the disks are read if the daemon does not know the name.
 *
 * Only the disks know when packets were lost.  They are not read while a
 * recording runs, nor while the daemon knows one that hangs: so a hung disk
 * cannot keep info from answering.  With --quality and --plot they are read in
 * any case (info_quality.c, info_plot.c).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ease.h"
#include "cli/info_plot.h"
#include "cli/info_quality.h"
#include "cli/show/cli.h"
#include "cli/show/field.h"
#include "cli/show/site.h"
#include "cli/show/show.h"
#include "store/recording/loss.h"

struct info_args {
	bool all, quality;
	const char *plot;
	struct info_quality_args of_quality;
};

static int
add_stored(json_t *infos, const struct disks *disks, const char *name,
	   struct fault *fault)
{
	struct recording *rec;
	json_t *info;
	int err = recording_open(&rec, disks, name, fault);

	if (err)
		return err;
	info = recording_info(rec);
	if (!info || loss_add_json(rec, info) || json_array_append(infos, info))
		err = fault_no_memory(fault);
	json_decref(info);
	recording_close(rec);
	return err;
}

/*
 * Updates an ended recording: disks that answered again, or were recovered, may
 * have more than the daemon knew when it ended; and what parity protects, and
 * gives, changes with each disk that goes or comes.
 */
static void
take_newer(json_t *info, const struct recording *rec)
{
	const struct recording_facts *facts = recording_facts(rec);
	json_t *now;

	if (facts->packets <= field_number(info, "packets") && !facts->parity)
		return;
	now = recording_info(rec);
	json_object_update_existing(info, now);
	json_decref(now);
}

static bool
has_ended(const json_t *info)
{
	const char *state = field_text(info, "state");

	return !strcmp(state, "complete") || !strcmp(state, "failed");
}

/* Tells whether a disk hangs, as far as the daemon knows, and says which. */
static bool
disk_hangs(const struct cli *cli)
{
	json_t *result, *disk;
	struct fault fault;
	bool hangs = false;
	size_t i;

	if (site_ask(cli, "disks", NULL, &result, &fault))
		return false;
	json_array_foreach(json_object_get(result, "disks"), i, disk) {
		if (strcmp(field_text(disk, "state"), "hung"))
			continue;
		hangs = true;
		if (!cli->quiet)
			fprintf(
			    stderr,
			    "spate: %s does not answer, so no disk is read: "
			    "when packets were lost is not known\n",
			    field_text(disk, "path"));
	}
	json_decref(result);
	return hangs;
}

/*
 * Adds when packets were lost to what the daemon says of ended recordings;
 * failures are ignored.
 */
static void
add_losses(const struct cli *cli, const json_t *infos)
{
	struct cli silent = *cli;
	struct recording *rec;
	struct disks disks;
	struct fault fault;
	json_t *info;
	size_t i, ended = 0;

	json_array_foreach(infos, i, info)
		ended += has_ended(info);
	if (!ended || disk_hangs(cli))
		return;
	silent.quiet = true;
	if (site_disks(&silent, &disks, &fault))
		return;
	json_array_foreach(infos, i, info) {
		if (!has_ended(info) ||
		    recording_open(&rec, &disks, field_text(info, "name"),
				   &fault))
			continue;
		take_newer(info, rec);
		loss_add_json(rec, info);
		recording_close(rec);
	}
	disks_clear(&disks);
}

/* Adds the recordings <name>_ds<stream> of several streams. */
static int
add_streams(json_t *infos, const struct disks *disks, const char *name,
	    struct fault *fault)
{
	size_t n = 0, length = strlen(name);
	char **names = NULL;
	struct fault missing = *fault;
	int err = recording_list(disks, &names, &n);

	for (size_t i = 0; !err && i < n; i++)
		if (strncmp(names[i], name, length) == 0 &&
		    strncmp(names[i] + length, "_ds", 3) == 0)
			err = add_stored(infos, disks, names[i], fault);
	free(names);
	if (!err && !json_array_size(infos)) {
		*fault = missing;
		err = -ENOENT;
	}
	return err;
}

static int
info_stored(const struct cli *cli, const char *name, json_t *infos,
	    struct fault *fault)
{
	struct disks disks;
	int err = site_disks(cli, &disks, fault);

	if (err)
		return err;
	err = add_stored(infos, &disks, name, fault);
	if (err == -ENOENT)
		err = add_streams(infos, &disks, name, fault);
	disks_clear(&disks);
	return err;
}

static int
info_running(const struct cli *cli, const char *name, json_t *infos)
{
	struct fault fault;
	json_t *result;
	int err;

	if (cli->disks)
		return -ENOENT;
	err = site_ask(cli, "info", json_pack("{s:s}", "name", name), &result,
		       &fault);
	if (err)
		return err;
	json_array_extend(infos, json_object_get(result, "recordings"));
	json_decref(result);
	add_losses(cli, infos);
	return json_array_size(infos) ? 0 : -ENOENT;
}

static int
run(const struct cli *cli, const void *values, char **operand)
{
	const struct info_args *args = values;
	json_t *infos;
	struct fault fault;
	int err;

	if (args->plot) {
		ease_process();
		err = info_plot(cli, &args->of_quality, *operand, args->plot,
				&fault);
		return err ? cli_fail(&fault) : CLI_DONE;
	}
	if (args->quality) {
		ease_process();
		err = info_quality(cli, &args->of_quality, *operand, &fault);
		return err ? cli_fail(&fault) : CLI_DONE;
	}
	infos = json_array();
	err = info_running(cli, *operand, infos);
	if (err)
		err = info_stored(cli, *operand, infos, &fault);
	if (!err)
		show_infos(cli, *operand, infos, args->all);
	json_decref(infos);
	return err ? cli_fail(&fault) : CLI_DONE;
}

#define AT(field) offsetof(struct info_args, field)

static const struct args_option options[] = {
	{ "all", 'a', ARGS_FLAG, AT(all), NULL,
	  "every substream, in order, and every run" },
	{ "quality", 0, ARGS_FLAG, AT(quality), NULL,
	  "read some frames, and say whether the signal of each channel is "
	  "good" },
	{ "plot", 0, ARGS_TEXT, AT(plot), "FILE",
	  "draw what came, what was lost and the signal of each channel into "
	  "a file .svg or .png" },
	{ "tones", 0, ARGS_COUNT, AT(of_quality.tones), "HZ",
	  "quality, plot: from one phase-cal tone to the next, as 1000000" },
	{ "tone-offset", 0, ARGS_COUNT, AT(of_quality.tone_offset), "HZ",
	  "quality, plot: of the first tone (default 0)" },
	{ "sample-rate", 0, ARGS_COUNT, AT(of_quality.sample_rate), "HZ",
	  "quality, plot: samples per second (default by the frames per "
	  "second)" },
	{ "channels", 0, ARGS_COUNT, AT(of_quality.channels), "N",
	  "quality, plot: of a format whose headers do not say, as Mark5B" },
	{ "bits", 0, ARGS_COUNT, AT(of_quality.bits), "N",
	  "quality, plot: of a sample of such a format (default 2)" },
	{ "read", 0, ARGS_BYTES, AT(of_quality.read), "SIZE",
	  "quality, plot: how much to read at most (default 32M)" },
	{ .name = NULL },
};

static const struct info_args defaults = {
	.of_quality = { .bits = 2, .read = 32 << 20 },
};

const struct command command_info = {
	.name = "info",
	.operands = "NAME",
	.help = "Print everything about a recording",
	.least = 1,
	.most = 1,
	.options = options,
	.defaults = &defaults,
	.bytes = sizeof(struct info_args),
	.run = run,
};
