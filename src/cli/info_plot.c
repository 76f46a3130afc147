/* SPDX-License-Identifier: MIT */
/*
 * spate info --plot: collects what `spate info` and `spate info --quality` print,
 * and gives it to the plot.  Only the disks are read: the daemon has no samples,
 * and does not know when packets were lost.
 */
#include "cli/info_plot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/plot/plot.h"
#include "cli/show/site.h"
#include "store/disk/layout.h"
#include "store/recording/loss.h"

enum { HISTORY_LINES = 1 << 20 }; /* a day of a hundred channels */

/* Takes the lines of a quality file; one that does not parse is passed over. */
static void
lines_take(int fd, json_t *history)
{
	FILE *in = fdopen(fd, "r");
	char *text = NULL;
	size_t room = 0;
	json_t *line;

	if (!in) {
		close(fd);
		return;
	}
	while (getline(&text, &room, in) > 0 &&
	       json_array_size(history) < HISTORY_LINES) {
		line = json_loads(text, 0, NULL);
		if (json_is_object(line))
			json_array_append(history, line);
		json_decref(line);
	}
	free(text);
	fclose(in);
}

/* Reads the quality file, which is on one of the disks, if it was written. */
static void
history_read(const struct disks *disks, const char *name, json_t *history)
{
	char file[LAYOUT_FILE];

	for (unsigned i = 0; i < disks->n; i++) {
		int dir, fd;

		if (disks->disk[i].fd < 0)
			continue;
		dir = layout_dir_open(disks->disk[i].fd, name, DISK_LINKS);
		if (dir < 0)
			continue;
		fd = disk_open_at(dir, layout_quality(file, name), O_RDONLY,
				  DISK_NO_LINKS);
		close(dir);
		if (fd >= 0)
			lines_take(fd, history);
	}
}

/* Why the samples are not on the page. */
static const char *
why_not(char *why, size_t bytes, const struct fault *fault)
{
	snprintf(why, bytes, "Its signal is not shown: %s.",
		 *fault->why ? fault->why : fault->what);
	return why;
}

static int
recording_plot(const struct info_quality_args *args, struct recording *rec,
	       const struct disks *disks, const char *file, struct fault *fault)
{
	const char *name = recording_facts(rec)->name;
	json_t *info = recording_info(rec), *lines = json_array();
	json_t *history = json_array();
	struct plot plot = { .info = info, .lines = lines, .history = history };
	char why[512] = "";
	struct fault none;
	int err = 0;

	if (!info || !lines || !history || loss_add_json(rec, info))
		err = fault_no_memory(fault);
	if (!err) {
		/* Without samples the rest of the page is as good. */
		if (info_quality_lines(args, rec, lines, &none))
			why_not(why, sizeof why, &none);
		else if (!json_array_size(lines))
			snprintf(why, sizeof why,
				 "Its signal is not shown: no whole, valid "
				 "frame can be read.");
		plot.why = why;
		history_read(disks, name, history);
		err = plot_write(&plot, file, fault);
	}
	json_decref(info);
	json_decref(lines);
	json_decref(history);
	return err;
}

int
info_plot(const struct cli *cli, const struct info_quality_args *args,
	  const char *name, const char *file, struct fault *fault)
{
	struct recording *rec;
	struct disks disks;
	int err = site_disks(cli, &disks, fault);

	if (err)
		return err;
	err = recording_open(&rec, &disks, name, fault);
	if (!err) {
		err = recording_plot(args, rec, &disks, file, fault);
		recording_close(rec);
	}
	disks_clear(&disks);
	if (!err && !cli->quiet && !cli->json)
		printf("%s: plotted to %s\n", name, file);
	return err;
}
