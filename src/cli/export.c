/* SPDX-License-Identifier: MIT */
/*
 * spate export: a recording as one file, as any reader would see it.
 *
 * Stretches in which nothing arrived are filled and no reason to complain.
 * Fill in place of a chunk that cannot be read is: the file is kept, but the
 * command fails, because somebody may be about to delete the recording.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/cli.h"
#include "cli/site.h"
#include "cli/progress.h"
#include "store/recording.h"

enum { PIECE = 8 << 20 };

struct export_args {
	bool force;
};

struct exporter {
	const struct cli *cli;
	struct recording *rec;
	const char *file; /* "-": standard output */
	int fd;
	bool created; /* the file is ours to remove */
	uint64_t bytes, filled;
	struct progress progress;
};

static int
file_fault(const char *file, int err, struct fault *fault)
{
	fault_set(fault, err, "io", "cannot write %s", file);
	fault_why(fault, "%s", strerror(-err));
	return err;
}

/* What is there already: a pipe, a device or an empty file can be written to,
 * a file with something in it only on request. */
static int
file_reopen(struct exporter *e, bool force, struct fault *fault)
{
	struct stat st;

	if (stat(e->file, &st) < 0)
		return file_fault(e->file, -errno, fault);
	if (S_ISREG(st.st_mode) && st.st_size && !force) {
		fault_set(fault, -EEXIST, "exists", "cannot export to %s",
			  e->file);
		fault_why(fault, "it is there already");
		fault_hint(fault, "--force overwrites it");
		return -EEXIST;
	}
	e->fd = open(e->file, O_WRONLY | O_TRUNC | O_CLOEXEC);
	return e->fd < 0 ? file_fault(e->file, -errno, fault) : 0;
}

static int
file_open(struct exporter *e, bool force, struct fault *fault)
{
	if (strcmp(e->file, "-") == 0) {
		e->fd = STDOUT_FILENO;
		return 0;
	}
	e->fd = open(e->file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	e->created = e->fd >= 0;
	if (e->created)
		return 0;
	if (errno == EEXIST)
		return file_reopen(e, force, fault);
	return file_fault(e->file, -errno, fault);
}

static int
write_all(int fd, const char *data, size_t bytes)
{
	while (bytes) {
		ssize_t n = write(fd, data, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		data += n;
		bytes -= (size_t)n;
	}
	return 0;
}

static int
copy(struct exporter *e, char *piece, struct fault *fault)
{
	const struct recording_facts *facts = recording_facts(e->rec);
	ssize_t n;
	int err;

	progress_start(&e->progress);
	while ((n = recording_read(e->rec, piece, PIECE, e->bytes,
				   &e->filled)) > 0) {
		err = write_all(e->fd, piece, (size_t)n);
		if (err)
			return file_fault(e->file, err, fault);
		e->bytes += (uint64_t)n;
		progress_show(&e->progress, e->bytes);
	}
	if (n == 0)
		return 0;
	fault_set(fault, (int)n, "io", "cannot read %s", facts->name);
	fault_why(fault, "%s", strerror(-(int)n));
	return (int)n;
}

/* A full disk may say so only now; what is not a file cannot be synced. */
static int
file_close(struct exporter *e, struct fault *fault)
{
	int err = 0;

	if (e->fd == STDOUT_FILENO)
		return 0;
	if (fdatasync(e->fd) < 0 && errno != EINVAL && errno != EROFS)
		err = -errno;
	if (close(e->fd) < 0 && !err)
		err = -errno;
	return err ? file_fault(e->file, err, fault) : 0;
}

/* Bytes that stand for a stretch without packets, below the end. */
static uint64_t
gap_bytes(const struct exporter *e)
{
	const struct recording_block *block;
	uint64_t bytes = 0;
	size_t n;

	block = recording_blocks(e->rec, &n);
	for (size_t i = 0; i < n; i++)
		if (block[i].record.kind == INDEX_GAP &&
		    block[i].offset < e->bytes)
			bytes += block[i].bytes;
	return bytes;
}

static int
filled_check(const struct exporter *e, struct fault *fault)
{
	uint64_t gaps = gap_bytes(e);
	char text[UNITS_TEXT];

	if (e->filled <= gaps)
		return 0;
	fault_set(fault, -EIO, "io",
		  "%s is exported, but not all of it is data",
		  recording_facts(e->rec)->name);
	fault_why(fault, "%s stand for chunks that cannot be read",
		  units_show_bytes(text, e->filled - gaps));
	if (recording_facts(e->rec)->state == RECORDING_INTERRUPTED)
		fault_hint(fault,
			   "spate recover %s finds what reached the disks",
			   recording_facts(e->rec)->name);
	else
		fault_hint(fault, "spate verify %s names them",
			   recording_facts(e->rec)->name);
	return -EIO;
}

/* Where the data goes to standard output, the words cannot. */
static void
print(const struct exporter *e)
{
	const struct recording_facts *facts = recording_facts(e->rec);
	FILE *to = e->fd == STDOUT_FILENO ? stderr : stdout;
	char text[UNITS_TEXT];
	json_t *line;

	if (e->cli->json) {
		line = json_pack("{s:s s:s s:I s:I}", "name", facts->name,
				 "file", e->file, "bytes", (json_int_t)e->bytes,
				 "filled", (json_int_t)e->filled);
		json_dumpf(line, to, JSON_COMPACT);
		putc('\n', to);
		json_decref(line);
	} else if (!e->cli->quiet) {
		fprintf(to, "%s: %s, %" PRIu64 " bytes%s\n", facts->name,
			units_show_bytes(text, e->bytes), e->bytes,
			facts->state == RECORDING_LIVE
			    ? ", as far as it is recorded by now"
			    : "");
	}
}

static int
export_all(struct exporter *e, bool force, struct fault *fault)
{
	char *piece = malloc(PIECE);
	struct fault second;
	int err;

	if (!piece)
		return fault_set(fault, -ENOMEM, "no-memory", "no memory");
	err = file_open(e, force, fault);
	if (err)
		goto out;
	err = copy(e, piece, fault);
	progress_hide(&e->progress);
	if (file_close(e, err ? &second : fault) < 0 && !err)
		err = -EIO;
	if (err && e->created)
		unlink(e->file);
	if (err)
		goto out;
	print(e);
	err = filled_check(e, fault);
out:
	free(piece);
	return err;
}

static int
run(const struct cli *cli, const void *values, char **operand)
{
	const struct export_args *args = values;
	struct exporter e = { .cli = cli, .file = operand[1] };
	struct disks disks;
	struct fault fault;
	int err = site_disks(cli, &disks, &fault);

	if (err)
		return cli_fail(&fault);
	err = recording_open(&e.rec, &disks, operand[0], &fault);
	if (!err) {
		e.progress = (struct progress){
			.what = operand[0],
			.total = recording_facts(e.rec)->bytes,
			.bytes = true,
			.quiet = cli->quiet,
		};
		err = export_all(&e, args->force, &fault);
		recording_close(e.rec);
	}
	disks_clear(&disks);
	return err ? cli_fail(&fault) : CLI_DONE;
}

static const struct args_option options[] = {
	{ "force", 'f', ARGS_FLAG, offsetof(struct export_args, force), NULL,
	  "overwrite FILE if it is there and not empty" },
	{ .name = NULL },
};

const struct command command_export = {
	.name = "export",
	.operands = "NAME FILE",
	.help = "Write a recording into one file; - is standard output",
	.least = 2,
	.most = 2,
	.options = options,
	.bytes = sizeof(struct export_args),
	.run = run,
};
