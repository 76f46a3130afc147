/* SPDX-License-Identifier: MIT */
/*
 * spate disks test: measures each disk on its own, which finds the slow one,
 * then all at once, which finds the limit of what they share: a cable, a
 * controller, the bus.
 *
 * A disk is slow if it has less than SLOW percent of the median speed.  Disks
 * of one model differ by 10 or 20 %, and a failing one is slower by half or
 * more.
 *
 * Threads measure the disks, and the main thread draws the bar.  A signal
 * simply ends the process: the files have no names.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/types.h>
#include <time.h>

#include "base/conf.h"
#include "base/log.h"
#include "base/module.h"
#include "base/units.h"
#include "cli/disks/disk_try.h"
#include "cli/disks/disks.h"
#include "cli/show/cli.h"
#include "cli/show/field.h"
#include "cli/show/site.h"
#include "cli/show/table.h"
#include "cli/show/terminal.h"
#include "store/disk/remote.h"

enum { SLOW = 70 };

/* A disk and the result of its test. */
struct tested {
	char *path;
	dev_t device; /* 0: unknown */
	const char *writer;
	/* together: 0 if it was measured alone only */
	struct try_result alone, together;
	char error[160]; /* "": none */
	bool slow;	 /* alone, it is much slower than the median of all */
	/* index of an earlier disk on the same file system; -1: none */
	int shares;
};

/* ---- judging ---------------------------------------------------------- */

/*
 * Returns the median speed of the disks that worked: the highest speed that at
 * least half of them reach.
 */
static double
median(const struct tested *disk, unsigned n, bool read)
{
	double best = 0;

	for (unsigned i = 0; i < n; i++) {
		double speed = read ? disk[i].alone.read : disk[i].alone.write;
		unsigned of = 0, as_fast = 0;

		for (unsigned k = 0; k < n; k++) {
			of += !*disk[k].error;
			as_fast += !*disk[k].error &&
				   (read ? disk[k].alone.read
					 : disk[k].alone.write) >= speed;
		}
		if (!*disk[i].error && 2 * as_fast >= of && speed > best)
			best = speed;
	}
	return best;
}

static int
shares(const struct tested *disk, unsigned i)
{
	for (unsigned k = 0; k < i; k++) {
		if (disk[i].device && disk[k].device == disk[i].device)
			return (int)k;
	}
	return -1;
}

/* Sets `slow` and `shares` of all disks. */
static void
tested_judge(struct tested *disk, unsigned n)
{
	double write = median(disk, n, false), read = median(disk, n, true);

	for (unsigned i = 0; i < n; i++) {
		struct tested *d = &disk[i];

		d->shares = shares(disk, i);
		d->slow = !*d->error && (d->alone.write * 100 < write * SLOW ||
					 d->alone.read * 100 < read * SLOW);
	}
}

/* ---- for people ------------------------------------------------------- */

static void
speed_cell(struct table *t, double speed)
{
	if (speed > 0)
		table_cell(t, "%.3f", speed / 1e9);
	else
		table_cell(t, "%s", "");
}

static void
span_cell(struct table *t, int64_t ns)
{
	char text[UNITS_TEXT] = "";

	if (ns)
		units_show_span(text, ns);
	table_cell(t, "%s", text);
}

static void
note_cell(struct table *t, const struct tested *all, const struct tested *d)
{
	if (*d->error)
		table_cell(t, "%s", d->error);
	else if (d->shares >= 0)
		table_cell(t, "%sshares its file system with %s",
			   d->slow ? "slow; " : "", all[d->shares].path);
	else
		table_cell(t, "%s", d->slow ? "slow" : "");
}

static void
row(struct table *t, const struct tested *all, const struct tested *d,
    bool together)
{
	table_cell(t, "%s", d->path);
	speed_cell(t, d->alone.write);
	speed_cell(t, d->alone.read);
	span_cell(t, d->alone.write_p50);
	span_cell(t, d->alone.write_p99);
	if (together) {
		speed_cell(t, d->together.write);
		speed_cell(t, d->together.read);
		span_cell(t, d->together.write_p99);
	}
	table_cell(t, "%s", d->writer ? d->writer : "");
	note_cell(t, all, d);
}

static void
text_show(const struct tested *disk, unsigned n)
{
	static const struct table_column alone[] = {
		{ "disk", false },     { "write GB/s", true },
		{ "read GB/s", true }, { "p50", true },
		{ "p99", true },       { "writer", false },
		{ "", false },
	};
	static const struct table_column both[] = {
		{ "disk", false },     { "write GB/s", true },
		{ "read GB/s", true }, { "p50", true },
		{ "p99", true },       { "all: write", true },
		{ "all: read", true }, { "p99", true },
		{ "writer", false },   { "", false },
	};
	double write = 0, read = 0;
	struct table *t;

	for (unsigned i = 0; i < n; i++) {
		write += disk[i].together.write;
		read += disk[i].together.read;
	}
	t = write > 0 ? table_open(both, 10) : table_open(alone, 7);
	for (unsigned i = 0; i < n; i++)
		row(t, disk, &disk[i], write > 0);
	table_print(t, 0, stdout);
	table_close(t);
	if (write > 0)
		printf("all together write %.3f GB/s, read %.3f GB/s\n",
		       write / 1e9, read / 1e9);
}

/* ---- for programs ----------------------------------------------------- */

static json_t *
result_json(const struct try_result *r)
{
	if (r->write <= 0)
		return json_null();
	return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f}", "write", r->write,
			 "read", r->read, "write_p50_ms",
			 (double)r->write_p50 / 1e6, "write_p99_ms",
			 (double)r->write_p99 / 1e6, "read_p50_ms",
			 (double)r->read_p50 / 1e6, "read_p99_ms",
			 (double)r->read_p99 / 1e6);
}

static void
json_show(const struct tested *all, const struct tested *d)
{
	json_t *line = json_pack(
	    "{s:s, s:s?, s:o, s:o, s:b, s:s?, s:s?}", "path", d->path, "writer",
	    d->writer, "alone", result_json(&d->alone), "together",
	    result_json(&d->together), "slow", (int)d->slow, "shares",
	    d->shares >= 0 ? all[d->shares].path : NULL, "error",
	    *d->error ? d->error : NULL);

	cli_print_json(line);
	json_decref(line);
}

/* Prints a table and its sum, or a JSON line for each disk. */
static void
tested_show(const struct tested *disk, unsigned n, bool json)
{
	if (!json)
		text_show(disk, n);
	for (unsigned i = 0; i < n && json; i++)
		json_show(disk, &disk[i]);
}

struct runner {
	struct disk_try try;
	pthread_t thread;
	bool begun; /* measured together with the others */
	_Atomic bool over;
};

struct test {
	const struct cli *cli;
	struct tested *disk;
	struct runner *runner;
	unsigned n;
	uint64_t bytes;
	struct try_way way[TRY_WAYS];
	struct conf *conf[TRY_WAYS]; /* own the texts of the options */
	unsigned ways;
	_Atomic uint64_t done;
	struct progress_bar progress;
};

/* ---- write plugins ----------------------------------------------------- */

static int
way_add(struct test *t, const char *name, struct fault *fault)
{
	struct try_way *way = &t->way[t->ways];
	struct conf_part part;
	int err = module_write(name, &way->ops, fault);

	if (err)
		return err;
	way->options = calloc(1, way->ops->head.options_bytes + 1);
	if (!way->options)
		return fault_no_memory(fault);
	err = conf_open_text(&t->conf[t->ways], "", "spate", fault);
	part = (struct conf_part){ way->ops->head.options, way->options };
	if (!err)
		err = conf_fill(t->conf[t->ways], NULL, &part, 1, NULL, fault);
	t->ways++;
	return err;
}

/*
 * Loads the write plugins in the daemon's order of preference; uring may be
 * missing.
 */
static int
ways_load(struct test *t, const char *writer, struct fault *fault)
{
	int err;

	if (writer)
		return way_add(t, writer, fault);
	way_add(t, "uring", fault);
	err = way_add(t, "direct", fault);
	return err ? err : way_add(t, "writev", fault);
}

/* ---- the disks --------------------------------------------------------- */

static void
room_check(struct test *t, struct tested *d)
{
	char left[UNITS_TEXT], need[UNITS_TEXT];
	struct statvfs vfs;
	uint64_t room;

	if (statvfs(d->path, &vfs) < 0) {
		snprintf(d->error, sizeof d->error, "%s", strerror(errno));
		return;
	}
	room = (uint64_t)vfs.f_bavail * vfs.f_frsize;
	if (room >= t->bytes + t->bytes / 16)
		return;
	snprintf(d->error, sizeof d->error, "%s free, and %s are needed",
		 units_show_bytes(left, room),
		 units_show_bytes(need, t->bytes));
}

static int
disk_add(struct test *t, const char *path)
{
	struct tested *grown = realloc(t->disk, (t->n + 1) * sizeof *t->disk);
	struct tested *d;
	struct stat st;

	if (!grown)
		return -ENOMEM;
	t->disk = grown;
	d = &t->disk[t->n++];
	*d = (struct tested){ .path = strdup(path) };
	if (!d->path)
		return -ENOMEM;
	if (remote_is_path(path))
		snprintf(d->error, sizeof d->error, "no folder%s",
			 strncmp(path, "rados://", 8) == 0
			     ? "; 'rados bench' tests a pool"
			     : "");
	else if (stat(path, &st) < 0)
		snprintf(d->error, sizeof d->error, "%s", strerror(errno));
	else if (!S_ISDIR(st.st_mode))
		snprintf(d->error, sizeof d->error, "no folder");
	else
		room_check(t, d);
	d->device = *d->error ? 0 : st.st_dev;
	return 0;
}

static int
disks_take(struct test *t, char **path, struct fault *fault)
{
	struct disks disks;
	int err = 0;

	for (; *path && !err; path++)
		err = disk_add(t, *path);
	if (!err && !t->n) {
		err = site_disks(t->cli, &disks, fault);
		if (err)
			return err;
		for (unsigned i = 0; i < disks.n && !err; i++)
			err = disk_add(t, disks.disk[i].path);
		disks_clear(&disks);
	}
	if (err)
		fault_set(fault, err, "no-memory", "no memory");
	return err;
}

/*
 * Refuses to test while the daemon records.  A daemon that does not answer is
 * taken not to record.
 */
static int
idle_check(const struct cli *cli, struct fault *fault)
{
	struct fault none;
	json_t *status;
	size_t n;

	if (site_ask(cli, "status", NULL, &status, &none))
		return 0;
	n = json_array_size(json_object_get(status, "recordings"));
	json_decref(status);
	if (!n)
		return 0;
	fault_set(fault, -EBUSY, "busy",
		  "cannot test the disks: something is being recorded");
	fault_why(fault, "a test takes all that they can do");
	fault_hint(fault, "wait for its end, or test with --force");
	return -EBUSY;
}

/* ---- measuring --------------------------------------------------------- */

static void *
run(void *arg)
{
	struct runner *r = arg;

	disk_try(&r->try);
	atomic_store(&r->over, true);
	return NULL;
}

static void
begin(struct test *t, unsigned i)
{
	struct runner *r = &t->runner[i];

	r->try = (struct disk_try){ .path = t->disk[i].path,
				    .bytes = t->bytes,
				    .way = t->way,
				    .ways = t->ways,
				    .done = &t->done };
	atomic_store(&r->over, false);
	if (pthread_create(&r->thread, NULL, run, r))
		abort(); /* cannot happen with so few threads */
}

static void
end(struct test *t, unsigned i, struct try_result *result)
{
	const struct timespec tenth = { .tv_nsec = 100000000 };
	struct runner *r = &t->runner[i];
	struct tested *d = &t->disk[i];

	while (!atomic_load(&r->over)) {
		progress_show(&t->progress, atomic_load(&t->done));
		nanosleep(&tenth, NULL);
	}
	pthread_join(r->thread, NULL);
	*result = r->try.result;
	d->writer = r->try.writer;
	if (r->try.err)
		snprintf(d->error, sizeof d->error, "cannot %s: %s",
			 r->try.doing,
			 r->try.err == -EBADMSG ? "it is not what was written"
						: strerror(-r->try.err));
}

static unsigned
good_ones(const struct test *t)
{
	unsigned n = 0;

	for (unsigned i = 0; i < t->n; i++)
		n += !*t->disk[i].error;
	return n;
}

static void
together(struct test *t)
{
	for (unsigned i = 0; i < t->n; i++) {
		t->runner[i].begun = !*t->disk[i].error;
		if (t->runner[i].begun)
			begin(t, i);
	}
	for (unsigned i = 0; i < t->n; i++) {
		if (t->runner[i].begun)
			end(t, i, &t->disk[i].together);
	}
}

static int
measure(struct test *t)
{
	unsigned good = good_ones(t), rounds = good > 1 ? 2 : 1;

	t->runner = calloc(t->n, sizeof *t->runner);
	if (!t->runner)
		return -ENOMEM;
	t->progress =
	    (struct progress_bar){ .what = "disks test",
				   .total = 2 * rounds * good * t->bytes,
				   .bytes = true,
				   .quiet = t->cli->quiet };
	progress_start(&t->progress);
	for (unsigned i = 0; i < t->n; i++) {
		if (*t->disk[i].error)
			continue;
		begin(t, i);
		end(t, i, &t->disk[i].alone);
	}
	if (rounds > 1 && good_ones(t) > 1)
		together(t);
	progress_hide(&t->progress);
	tested_judge(t->disk, t->n);
	return 0;
}

static void
test_free(struct test *t)
{
	for (unsigned i = 0; i < t->n; i++)
		free(t->disk[i].path);
	for (unsigned i = 0; i < t->ways; i++) {
		free(t->way[i].options);
		if (t->conf[i])
			conf_close(t->conf[i]);
	}
	free(t->runner);
	free(t->disk);
}

/*
 * Returns the exit status; disks that failed are also reported in one line on
 * stderr.
 */
static int
status_of(const struct test *t)
{
	unsigned bad = t->n - good_ones(t);
	struct fault fault;

	if (!bad)
		return CLI_DONE;
	fault_set(&fault, -EIO, "bad-disk", "%u of %u disks failed", bad, t->n);
	for (unsigned i = 0; i < t->n; i++) {
		const struct tested *d = &t->disk[i];

		if (*d->error)
			fault_why(&fault, "%s: %s", d->path, d->error);
	}
	return cli_fail(&fault);
}

int
disks_test(const struct cli *cli, const struct disks_args *args, char **path)
{
	struct test t = { .cli = cli,
			  .bytes = args->size / TRY_REQUEST * TRY_REQUEST };
	struct fault fault;
	int err = args->force ? 0 : idle_check(cli, &fault), status;

	log_level_set(LEVEL_ERROR);
	if (!err && t.bytes < TRY_REQUEST)
		err = fault_set(&fault, -EINVAL, "usage",
				"disks test: --size is at least 8M");
	if (!err)
		err = ways_load(&t, args->writer, &fault);
	if (!err)
		err = disks_take(&t, path, &fault);
	if (!err && measure(&t))
		err = fault_no_memory(&fault);
	if (!err)
		tested_show(t.disk, t.n, cli->json);
	status = err ? cli_fail(&fault) : status_of(&t);
	test_free(&t);
	return status;
}
