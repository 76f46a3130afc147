/* SPDX-License-Identifier: MIT */
/*
 * spate export: writes a recording as files, as a mount would show it: one
 * file, or one for each substream in a folder. export_cube.c puts cubes of
 * several substreams together.
 *
 * Gaps in which no packet arrived are filled, and are no error.  Fill in place
 * of a chunk that cannot be read is: the file is kept, but the command fails,
 * because the user may be about to delete the recording.  So it does where data are
 * damaged beyond what parity mends.  A file with content
 * is never overwritten without --force, and a file that cannot be finished is
 * removed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/export.h"
#include "cli/show/site.h"
#include "store/read/cursor.h"
#include "store/finish/recover.h"

/* ---- files that are written ---------------------------------------- */

int
export_fault(const char *path, int err, struct fault *fault)
{
	fault_set(fault, err, "io", "cannot write %s", path);
	fault_why(fault, "%s", strerror(-err));
	return err;
}

static int
exists(const char *path, const char *why, struct fault *fault)
{
	fault_set(fault, -EEXIST, "exists", "cannot export to %s", path);
	fault_why(fault, "%s", why);
	fault_hint(fault, "--force overwrites it");
	return -EEXIST;
}

static int
reopen(struct export_file *f, bool force, struct fault *fault)
{
	struct stat st;

	if (stat(f->path, &st) < 0)
		return export_fault(f->path, -errno, fault);
	if (S_ISREG(st.st_mode) && st.st_size && !force)
		return exists(f->path, "it is there already", fault);
	f->fd = open(f->path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	return f->fd < 0 ? export_fault(f->path, -errno, fault) : 0;
}

int
export_open(struct export_file *f, const char *path, bool force,
	    struct fault *fault)
{
	*f = (struct export_file){ .path = path };
	if (strcmp(path, "-") == 0) {
		f->fd = STDOUT_FILENO;
		return 0;
	}
	f->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	f->created = f->fd >= 0;
	if (f->created)
		return 0;
	if (errno == EEXIST)
		return reopen(f, force, fault);
	return export_fault(path, -errno, fault);
}

/* Writes all bytes.  Returns 0 or -errno. */
static int
export_put(int fd, const void *data, size_t bytes)
{
	const char *at = data;

	while (bytes) {
		ssize_t n = write(fd, at, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		bytes -= (size_t)n;
	}
	return 0;
}

/* A full disk may report an error only here. */
int
export_close(struct export_file *f, struct fault *fault)
{
	int err = 0;

	if (f->fd == STDOUT_FILENO)
		return 0;
	if (fdatasync(f->fd) < 0 && errno != EINVAL && errno != EROFS)
		err = -errno;
	if (close(f->fd) < 0 && !err)
		err = -errno;
	f->fd = -1;
	return err ? export_fault(f->path, err, fault) : 0;
}

void
export_drop(struct export_file *f)
{
	if (f->fd >= 0 && f->fd != STDOUT_FILENO)
		close(f->fd);
	if (f->created)
		unlink(f->path);
}

static bool
is_empty(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	unsigned n = 0;

	if (!dir)
		return true; /* writing into the folder will report the error */
	while ((entry = readdir(dir)))
		n += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
	closedir(dir);
	return !n;
}

int
export_folder(const char *path, bool force, struct fault *fault)
{
	struct stat st;

	if (!mkdir(path, 0777))
		return 0;
	if (errno != EEXIST || stat(path, &st) < 0)
		return export_fault(path, -errno, fault);
	if (!S_ISDIR(st.st_mode)) {
		fault_set(fault, -ENOTDIR, "exists", "cannot export to %s",
			  path);
		fault_why(fault, "it is no folder, and there are several files "
				 "to write");
		fault_hint(fault, "name a new folder; --sub N writes one file "
				  "of one substream");
		return -ENOTDIR;
	}
	if (force || is_empty(path))
		return 0;
	return exists(path, "something is in it already", fault);
}

/* ---- the recording ------------------------------------------------- */

/* The state of one substream on its way to a file. */
struct copy {
	struct exporter *e;
	struct export_file *file;
	struct cursor *cursor;
	unsigned sub;
	uint64_t at; /* bytes of the substream that were read */
	/* bytes written; fewer than `at` if heaps were left out */
	uint64_t written;
	uint64_t filled;
};

/*
 * Leaves out a block of heaps that cannot be read, and truncates what was
 * written of it: half a heap would make all that follow unreadable.
 */
static int
leave_out(struct copy *c, struct fault *fault)
{
	const struct recording_block *b;
	uint64_t torn;
	size_t n;

	b = recording_blocks(c->e->rec, &n);
	for (; n && (b->record.sub != c->sub || c->at < b->offset ||
		     c->at - b->offset >= b->bytes);
	     b++)
		n--;
	if (!n)
		return export_fault(c->file->path, -EIO, fault);
	torn = c->at - b->offset;
	if (torn && (ftruncate(c->file->fd, (off_t)(c->written - torn)) < 0 ||
		     lseek(c->file->fd, 0, SEEK_END) < 0))
		return export_fault(c->file->path, -errno, fault);
	c->written -= torn;
	c->filled += b->bytes;
	c->at = b->offset + b->bytes;
	return 0;
}

static int
read_fault(const struct copy *c, int err, struct fault *fault)
{
	fault_set(fault, err, "io", "cannot read %s",
		  recording_facts(c->e->rec)->name);
	fault_why(fault, "%s", strerror(-err));
	return err;
}

static int
copy_bytes(struct copy *c, const void *data, uint64_t bytes,
	   struct fault *fault)
{
	int err = export_put(c->file->fd, data, bytes);

	if (err)
		return export_fault(c->file->path, err, fault);
	c->at += bytes;
	c->written += bytes;
	progress_show(&c->e->progress, c->e->read + c->at);
	return 0;
}

/* Copies the next bytes; *over: there are none. */
static int
copy_piece(struct copy *c, bool *over, struct fault *fault)
{
	enum { PIECE = 2 << 20 };
	struct cursor_answer a;
	int err = cursor_read(c->cursor, c->at, PIECE, &a);

	if (err && recording_facts(c->e->rec)->store == HEAP_ROW && a.lost)
		return leave_out(c, fault);
	if (err)
		return read_fault(c, a.err, fault);
	*over = !a.bytes;
	c->filled += a.filled;
	for (unsigned i = 0; i < a.parts && !err; i++)
		err = copy_bytes(c, a.iov[i].iov_base, a.iov[i].iov_len, fault);
	cursor_done(c->cursor, &a);
	return err;
}

/* Returns the bytes up to c->at that stand for stretches without packets. */
static uint64_t
gap_bytes(const struct copy *c)
{
	const struct recording_block *block;
	uint64_t bytes = 0;
	size_t n;

	block = recording_blocks(c->e->rec, &n);
	for (size_t i = 0; i < n; i++)
		if (block[i].record.kind == INDEX_GAP &&
		    block[i].record.sub == c->sub && block[i].offset < c->at)
			bytes += block[i].bytes;
	return bytes;
}

static void
tell_sub(const struct copy *c)
{
	struct exporter *e = c->e;
	struct open_recording_counts counts = { .healed = 0 };
	json_t *line;

	open_recording_counts(e->set, recording_facts(e->rec)->name, &counts);
	e->damaged = counts.damaged_bytes;
	line = json_pack(
	    "{s:o s:I s:I s:I s:I}", "file", text_json(c->file->path), "bytes",
	    (json_int_t)c->written, "filled", (json_int_t)c->filled, "healed",
	    (json_int_t)counts.healed, "damaged",
	    (json_int_t)counts.damaged_bytes);

	if (recording_facts(e->rec)->subs > 1)
		json_object_set_new(line, "sub", json_integer(c->sub));
	export_tell(e, line);
}

/* Exports a whole substream into a file. */
static int
export_sub(struct exporter *e, unsigned sub, const char *path,
	   struct fault *fault)
{
	struct export_file file;
	struct copy c = { .e = e, .file = &file, .sub = sub };
	const struct view_choice choice = { .sub = sub, .thread = -1 };
	bool over = false;
	int err = export_open(&file, path, e->args->force, fault);

	if (err)
		return err;
	err = cursor_open(&c.cursor, e->op, &choice, fault);
	while (!err && !over)
		err = copy_piece(&c, &over, fault);
	cursor_close(c.cursor);
	progress_hide(&e->progress);
	if (!err)
		err = export_close(&file, fault);
	if (err) {
		export_drop(&file);
		return err;
	}
	e->read += c.at;
	e->bytes += c.written;
	e->filled += c.filled - gap_bytes(&c);
	e->files++;
	tell_sub(&c);
	return 0;
}

static int
export_subs(struct exporter *e, struct fault *fault)
{
	const struct recording_facts *facts = recording_facts(e->rec);
	char path[EXPORT_PATH], last[16];
	int width = snprintf(last, sizeof last, "%u", facts->subs - 1);
	int err = export_folder(e->file, e->args->force, fault);

	for (unsigned i = 0; i < facts->subs && !err; i++) {
		if (snprintf(path, sizeof path, "%s/%s_%0*u.%s", e->file,
			     facts->name, width, i,
			     facts->extension) >= (int)sizeof path)
			return export_fault(e->file, -ENAMETOOLONG, fault);
		err = export_sub(e, i, path, fault);
	}
	return err;
}

static FILE *
tell_to(const struct exporter *e)
{
	return strcmp(e->file, "-") == 0 ? stderr : stdout;
}

void
export_tell(const struct exporter *e, json_t *line)
{
	if (e->cli->json) {
		json_object_set_new(line, "name",
				    json_string(recording_facts(e->rec)->name));
		json_dumpf(line, tell_to(e), JSON_COMPACT);
		putc('\n', tell_to(e));
	}
	json_decref(line);
}

static void
print(const struct exporter *e, bool folder)
{
	const struct recording_facts *facts = recording_facts(e->rec);
	char text[UNITS_TEXT], files[40] = "";

	if (e->cli->json || e->cli->quiet)
		return;
	if (folder)
		snprintf(files, sizeof files, " in %u files", e->files);
	fprintf(tell_to(e), "%s: %s, %" PRIu64 " bytes%s%s\n", facts->name,
		units_show_bytes(text, e->bytes), e->bytes, files,
		facts->state == RECORDING_LIVE
		    ? ", as far as it is recorded by now"
		    : "");
}

/*
 * Checks whether data is missing that the disks should have; fill hides some of
 * it.  Returns 0, or -ENODATA with a fault.
 */
static int
lack_check(const struct exporter *e, struct fault *fault)
{
	const struct recording_facts *facts = recording_facts(e->rec);
	uint64_t bytes = e->filled + facts->left_out;
	char text[UNITS_TEXT];

	if (!bytes && !facts->absent && !e->damaged)
		return 0;
	fault_set(fault, -ENODATA, "io",
		  "%s is exported, but not all of it is data", facts->name);
	if (facts->store == HEAP_ROW && bytes)
		fault_why(fault,
			  "%s of heaps are left out: their chunks cannot be "
			  "read",
			  units_show_bytes(text, bytes));
	else if (bytes)
		fault_why(fault, "%s stand for chunks that cannot be read",
			  units_show_bytes(text, bytes));
	else if (facts->absent)
		fault_why(fault, "%u blocks are on none of the disks",
			  facts->absent);
	else
		fault_why(fault,
			  "%s have a wrong checksum, and parity does not make "
			  "up for them: they are exported as they are",
			  units_show_bytes(text, e->damaged));
	fault_hint(fault, "spate verify %s names them", facts->name);
	return -ENODATA;
}

/*
 * Tells whether several channels go into one file; all other recordings give
 * one file for each substream.
 */
static bool
is_cube(const struct exporter *e)
{
	const struct export_args *a = e->args;
	const struct recording_facts *facts = recording_facts(e->rec);

	return facts->store == HEAP_CUBE && !a->sub &&
	       (facts->subs > 1 || a->channels_per_file || a->times_per_file);
}

static int
usage(struct fault *fault, const char *what, const char *hint)
{
	fault_set(fault, -EINVAL, "usage", "%s", what);
	fault_hint(fault, "%s", hint);
	return -EINVAL;
}

static int
sub_check(const struct exporter *e, unsigned long *sub, struct fault *fault)
{
	const struct recording_facts *facts = recording_facts(e->rec);
	const char *text = e->args->sub;
	char *end;

	*sub = 0;
	if (!text)
		return 0;
	*sub = strtoul(text, &end, 10);
	if (*text >= '0' && *text <= '9' && !*end && *sub < facts->subs)
		return 0;
	fault_set(fault, -ENOENT, "not-found", "%s has no substream %s",
		  facts->name, text);
	fault_why(fault, "it has %u, numbered from 0", facts->subs);
	return -ENOENT;
}

/* Checks that the options fit this recording. */
static int
args_check(const struct exporter *e, struct fault *fault)
{
	const struct recording_facts *facts = recording_facts(e->rec);
	const struct export_args *a = e->args;
	bool cubes = a->channels_per_file || a->times_per_file;

	if (cubes && facts->store != HEAP_CUBE)
		return usage(fault,
			     "only recordings of cubes are put together by "
			     "channel and time",
			     "leave out --channels-per-file and "
			     "--times-per-file");
	if (cubes && a->sub)
		return usage(fault,
			     "either --sub, or files of channels by time",
			     "--sub N writes one substream into one file");
	if (strcmp(e->file, "-") == 0 && !a->sub &&
	    (facts->subs > 1 || is_cube(e)))
		return usage(fault,
			     "several files cannot go to standard output",
			     "name a folder, or choose one substream with "
			     "--sub N");
	return 0;
}

static int
export_all(struct exporter *e, struct fault *fault)
{
	const struct recording_facts *facts = recording_facts(e->rec);
	bool folder = is_cube(e) || (facts->subs > 1 && !e->args->sub);
	unsigned long sub;
	int err = args_check(e, fault);

	if (!err)
		err = sub_check(e, &sub, fault);
	if (err)
		return err;
	e->progress.total = e->args->sub ? facts->sub[sub].bytes : facts->bytes;
	progress_start(&e->progress);
	if (is_cube(e))
		err = export_cube(e, fault);
	else if (folder)
		err = export_subs(e, fault);
	else
		err = export_sub(e, (unsigned)sub, e->file, fault);
	progress_hide(&e->progress);
	if (err)
		return err;
	print(e, folder);
	return lack_check(e, fault);
}

/* A disk that was spun down answers within half a minute. */
enum { MEMORY = 64 << 20, PATIENCE_S = 30 };

static int
run(const struct cli *cli, const void *values, char **operand)
{
	struct exporter e = {
		.cli = cli,
		.args = values,
		.file = operand[1],
		.progress = { .what = operand[0],
			      .bytes = true,
			      .quiet = cli->quiet },
	};
	struct disks disks;
	const struct open_recordings_args opened = {
		.disks = &disks,
		.cache = MEMORY,
		.patience = PATIENCE_S * NS_SECOND,
		.once = true,
	};
	struct open_recordings *set = NULL;
	struct fault fault;
	int err = site_disks(cli, &disks, &fault);

	if (err)
		return cli_fail(&fault);
	if (open_recordings_make(&set, &opened))
		err = fault_no_memory(&fault);
	if (!err)
		err = open_recording_get(set, operand[0], &e.op, &fault);
	if (!err) {
		e.rec = open_recording_rec(e.op);
		e.set = set;
		err = export_all(&e, &fault);
		open_recording_put(e.op);
	}
	open_recordings_free(set);
	/*
	 * asked after the recording was closed, because holding it would be in
	 * the way
	 */
	if (err == -ENODATA && recover_helps(&disks, operand[0]))
		fault_hint(&fault,
			   "spate recover %s finds what reached the disks",
			   operand[0]);
	disks_clear(&disks);
	return err ? cli_fail(&fault) : CLI_DONE;
}

#define AT(field) offsetof(struct export_args, field)

static const struct args_option options[] = {
	{ "force", 'f', ARGS_FLAG, AT(force), NULL,
	  "overwrite FILE if it is there and not empty" },
	{ "sub", 0, ARGS_TEXT, AT(sub), "N",
	  "one substream alone, counted from 0, into one file" },
	{ "channels-per-file", 0, ARGS_COUNT, AT(channels_per_file), "C",
	  "of cubes: how many substreams make a file" },
	{ "times-per-file", 0, ARGS_COUNT, AT(times_per_file), "T",
	  "of cubes: how many times; default is all" },
	{ .name = NULL },
};

const struct command command_export = {
	.name = "export",
	.operands = "NAME FILE",
	.help = "Write a recording into a file, or a folder of files; - is "
		"standard output",
	.least = 2,
	.most = 2,
	.options = options,
	.bytes = sizeof(struct export_args),
	.eased = true,
	.run = run,
};
