/* SPDX-License-Identifier: MIT */
/*
 * A fixed array instead of one that grows: writers and recordings keep their
 * own arrays by disk number, which then never move.
 *
 * News from the disk watch is compared with its earlier news, not with the
 * writers' state.  A disk that fails while it is there is its writer's
 * business, and a disk that was dropped by hand stays dropped until it is taken
 * out.
 *
 * A single disk that does not answer is handled in writer_disk.c.  This file
 * looks at all disks together: the blocks of a hung disk go to others only when
 * another disk takes blocks, and are given up only when none does and a
 * recording is to end.
 *
 * While blocks wait and no disk takes any, memory lasts for seconds.  So all
 * failed disks are probed together, at once, after 1 s, and then every 2 s,
 * whatever the writers' own timers say.  If the cause lay outside the disks (no
 * descriptors were left), they all come back.
 *
 * Two mistakes in adding a disk by hand are refused because they would fill the
 * system's disk: a mount point with nothing mounted, and a folder on
 * the system's own disk.
 *
 * Folders on one file system share its space, which is counted once, and all of
 * them fill it.
 *
 * All disks get full at the same time, because blocks go to disks in proportion
 * to their free space (flow/output/disk_choice.h).  So one forecast serves for
 * all together.
 */
#include "daemon/disks/disk_set.h"

#include <errno.h>
#include <math.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"

/* DISK_SET_SHARES: files are divided by at least 16 disks, so that the first
 * disks leave some for disks that come later. */
enum { DISK_SET_SHARES = 16 };

/* True if the disk takes part and does not hang. */
static bool
is_usable(const struct disk_set *set, unsigned i)
{
	struct writer_facts f;

	if (!disk_set_writer(set, i))
		return false;
	writer_facts(disk_set_writer(set, i), &f);
	return f.state != WRITER_HUNG;
}

/* Tells threads that read whether disk `i` answers.  Its path is in their list
 * already, so this cannot fail. */
static void
tell_readers(const struct disk_set *f, unsigned i)
{
	const struct disk *disk = &f->disk[i].disk;

	disk_list_set(f->list, disk->path, disk->mount, is_usable(f, i));
}

/* Starts the writer of disk `i`, or of a new disk if i is set->n.  Returns 0 or
 * -errno. */
static int
disk_set_enlist(struct disk_set *f, unsigned i, const struct disk *disk)
{
	struct disk_set_disk *d = &f->disk[i];
	struct writer_args args = { .number = i,
				    .disk = &d->disk,
				    .queue = f->a.queue,
				    .plugin = f->a.plugin,
				    .plugins = f->a.plugins,
				    .arena = f->a.arena,
				    .arena_bytes = f->a.arena_bytes,
				    .arena_ready = f->a.arena_ready,
				    .files = f->files,
				    .changed = f->a.changed,
				    .arg = f->a.arg };
	char *path;
	int err;

	if (i == DISK_SET_MOST)
		return -ENOSPC;
	path = i < f->n ? d->disk.path : strdup(disk->path);
	if (!path)
		return -ENOMEM;
	*d = (struct disk_set_disk){ .disk = *disk,
				     .there = disk->id.device,
				     .before = d->before };
	d->disk.path = path;
	d->disk.fd = -1;
	err = disk_list_set(f->list, path, disk->mount, true);
	if (!err)
		err = writer_start(&d->writer, &args);
	if (err)
		tell_readers(f, i);
	if (!err && i == f->n)
		f->n++;
	else if (err && i == f->n)
		free(path);
	return err;
}

int
disk_set_start(struct disk_set *f, struct disks *disks,
	       const struct disk_set_args *args)
{
	unsigned shares =
	    disks->n > DISK_SET_SHARES ? disks->n : DISK_SET_SHARES;
	int err = 0;

	*f = (struct disk_set){ .a = *args, .files = args->files / shares };
	f->sampled[0] = clock_steady();
	f->samples = 1;
	f->list = disk_list_make();
	if (!f->list)
		return -ENOMEM;
	for (unsigned i = 0; i < disks->n && !err; i++) {
		/* The writer opens the disk while it needs it, because an open
		 * disk cannot be unmounted. */
		disk_close(&disks->disk[i]);
		err = disk_set_enlist(f, i, &disks->disk[i]);
	}
	if (!err)
		err = disk_watch_start(&f->watch, args->patterns, args->changed,
				       args->arg);
	return err;
}

bool
disk_set_stop(struct disk_set *f)
{
	bool all = true;

	disk_watch_stop(f->watch);
	for (unsigned i = 0; i < f->n; i++) {
		if (f->disk[i].writer && !writer_stop(f->disk[i].writer))
			all = false;
	}
	for (unsigned i = 0; i < f->n && all; i++)
		free(f->disk[i].disk.path);
	f->n = 0;
	if (f->list)
		disk_list_drop(f->list);
	f->list = NULL;
	return all;
}

unsigned
disk_set_writers(const struct disk_set *f)
{
	unsigned n = 0;

	for (unsigned i = 0; i < f->n; i++)
		n += disk_set_writer(f, i) != NULL;
	return n;
}

struct writer *
disk_set_writer(const struct disk_set *f, unsigned i)
{
	return f->disk[i].leaving ? NULL : f->disk[i].writer;
}

const char *
disk_set_path(const struct disk_set *f, unsigned i)
{
	return f->disk[i].disk.path;
}

/* Returns the number of the disk with this path, or -1. */
static int
disk_set_find(const struct disk_set *f, const char *path)
{
	for (unsigned i = 0; i < f->n; i++) {
		if (!strcmp(f->disk[i].disk.path, path))
			return (int)i;
	}
	return -1;
}

/* ---- news from the disk watch ---------------------------------------- */

static void
join(struct disk_set *f, unsigned i, const struct disk_watch_disk *seen)
{
	struct disk disk = { .path = seen->path,
			     .id = seen->id,
			     .mount = seen->mount,
			     .reserve_asked = f->a.reserve };
	int err = disk_set_enlist(f, i, &disk);

	if (err)
		log_line(LEVEL_ERROR, seen->path, "cannot take part: %s",
			 strerror(-err));
	else
		log_line(LEVEL_INFO, seen->path, "takes part from now on");
}

/* Drops a disk that came back as another disk's folder, by a link or a second
 * mount. */
static void
twin_leave(struct disk_set_disk *d)
{
	log_line(LEVEL_WARN, d->disk.path,
		 "it is the folder of another disk: it counts once");
	writer_drop(d->writer);
	d->leaving = true;
}

static void
seen_again(struct disk_set *f, unsigned i, const struct disk_watch_disk *seen)
{
	struct disk_set_disk *d = &f->disk[i];
	bool changed = d->there != seen->there ||
		       (seen->there && !disk_same(&d->disk.id, &seen->id));

	d->there = seen->there;
	d->disk.id = seen->id;
	if (seen->twin && d->writer && !d->leaving)
		twin_leave(d);
	if (d->leaving || !changed)
		return;
	if (d->writer)
		writer_retry(d->writer);
	else if (seen->there && !d->by_hand)
		join(f, i, seen);
}

static const struct disk_watch_disk *
list_find(const struct disk_watch_list *list, const char *path)
{
	for (unsigned i = 0; i < list->n; i++) {
		if (!strcmp(list->disk[i].path, path))
			return &list->disk[i];
	}
	return NULL;
}

static void
watched(struct disk_set *f)
{
	struct disk_watch_list list;
	unsigned known = f->n;

	if (!disk_watch_take(f->watch, &list))
		return;
	for (unsigned i = 0; i < known; i++) {
		const struct disk_watch_disk *seen =
		    list_find(&list, disk_set_path(f, i));

		seen_again(f, i, seen ? seen : &(struct disk_watch_disk){ 0 });
	}
	for (unsigned i = 0; i < list.n; i++) {
		if (!list.disk[i].twin &&
		    disk_set_find(f, list.disk[i].path) < 0)
			join(f, f->n, &list.disk[i]);
	}
	disk_watch_clear(&list);
}

/* ---- disks that do not answer ---------------------------------------- */

#define PROBE_MOST (2 * NS_SECOND)

unsigned
disk_set_takers(const struct disk_set *f)
{
	unsigned n = 0;

	for (unsigned i = 0; i < f->n; i++)
		n += f->disk[i].writer && writer_takes(f->disk[i].writer);
	return n;
}

bool
disk_set_serves(const struct disk_set *f, const struct output *o)
{
	return disk_set_takers(f) && queue_serves(f->a.queue, o);
}

bool
disk_set_leaves(const struct disk_set *f)
{
	for (unsigned i = 0; i < f->n; i++) {
		struct writer_facts facts = { 0 };

		if (!f->disk[i].leaving || !f->disk[i].writer)
			continue;
		writer_facts(f->disk[i].writer, &facts);
		if (facts.state != WRITER_HUNG)
			return true;
	}
	return false;
}

static void
left_probe(struct disk_set *f, int64_t now)
{
	if (!queue_waits(f->a.queue) || now < f->probe_at)
		return;
	for (unsigned i = 0; i < f->n; i++) {
		if (disk_set_writer(f, i))
			writer_retry(disk_set_writer(f, i));
	}
	f->probe_gap = f->probe_gap ? 2 * f->probe_gap : NS_SECOND;
	if (f->probe_gap > PROBE_MOST)
		f->probe_gap = PROBE_MOST;
	f->probe_at = now + f->probe_gap;
}

/* Looks at all disks, gives away the blocks of hung ones, and probes failed
 * ones while no disk takes blocks.  `sample` calls it
 * once a second. */
static void
disk_set_watch(struct disk_set *f, int64_t now)
{
	for (unsigned i = 0; i < f->n; i++) {
		if (f->disk[i].writer)
			writer_watch(f->disk[i].writer, now);
	}
	if (!disk_set_takers(f)) {
		left_probe(f, now);
		return;
	}
	f->probe_at = f->probe_gap = 0;
	for (unsigned i = 0; i < f->n; i++) {
		if (f->disk[i].writer)
			writer_relieve(f->disk[i].writer);
	}
}

bool
disk_set_works(const struct disk_set *f)
{
	for (unsigned i = 0; i < f->n; i++) {
		struct writer_facts facts;

		if (!disk_set_writer(f, i))
			continue;
		writer_facts(disk_set_writer(f, i), &facts);
		if (writer_works(&facts))
			return true;
	}
	return false;
}

/* Counts the queue's blocks of output `o` as lost. */
static void
waiting_lose(struct queue *queue, struct output *o)
{
	struct block *b;

	while ((b = queue_rest(queue, o))) {
		output_seal(o, b);
		output_lost(o, b);
	}
}

void
disk_set_abandon(struct disk_set *f, struct output *o)
{
	waiting_lose(f->a.queue, o);
	for (unsigned i = 0; i < f->n; i++) {
		if (f->disk[i].writer)
			writer_abandon(f->disk[i].writer, o);
	}
}

int
disk_set_copy(const struct disk_set *set, struct disks *disks, unsigned *number)
{
	disks->disk = calloc(set->n + 1, sizeof *disks->disk);
	if (!disks->disk)
		return -ENOMEM;
	for (unsigned i = 0; i < set->n; i++) {
		const struct disk *from = &set->disk[i].disk;

		if (!is_usable(set, i))
			continue;
		disks->disk[disks->n] = (struct disk){
			.path = strdup(from->path),
			.mount = from->mount,
			.fd = -1,
		};
		if (!disks->disk[disks->n].path)
			return -ENOMEM;
		if (number)
			number[disks->n] = i;
		disks->n++;
	}
	return 0;
}

/* ---- once a second --------------------------------------------------- */

static void
disk_sample(struct disk_set *f, struct disk_set_disk *d)
{
	unsigned last = f->samples % (DISK_SET_MINUTE + 1);
	unsigned before = (f->samples - 1) % (DISK_SET_MINUTE + 1);
	unsigned first = f->samples > DISK_SET_MINUTE
			     ? (f->samples + 1) % (DISK_SET_MINUTE + 1)
			     : 0;
	struct writer_facts facts;

	writer_facts(d->writer, &facts);
	d->written[last] = facts.written;
	d->rate = (double)(facts.written - d->written[before]) * 1e9 /
		  (double)(f->sampled[last] - f->sampled[before]);
	d->minute = (double)(facts.written - d->written[first]) * 1e9 /
		    (double)(f->sampled[last] - f->sampled[first]);
	if (facts.speed > d->fastest)
		d->fastest = facts.speed;
}

static void
sample(struct disk_set *f, int64_t now)
{
	if (now - f->sampled[(f->samples - 1) % (DISK_SET_MINUTE + 1)] <
	    NS_SECOND)
		return;
	disk_set_watch(f, now);
	f->sampled[f->samples % (DISK_SET_MINUTE + 1)] = now;
	for (unsigned i = 0; i < f->n; i++) {
		if (f->disk[i].writer)
			disk_sample(f, &f->disk[i]);
		tell_readers(f, i);
	}
	f->samples++;
}

static void
leave(struct disk_set_disk *d)
{
	struct writer_facts facts;

	if (!d->leaving || !writer_dropped(d->writer))
		return;
	writer_facts(d->writer, &facts);
	d->before.written += facts.written;
	d->before.chunks += facts.chunks;
	d->before.errors += facts.errors;
	writer_stop(d->writer); /* returns at once: the thread has ended */
	d->writer = NULL;
	d->leaving = false;
	log_line(LEVEL_INFO, d->disk.path, "no longer takes part");
}

void
disk_set_step(struct disk_set *f, int64_t now)
{
	watched(f);
	for (unsigned i = 0; i < f->n; i++)
		leave(&f->disk[i]);
	sample(f, now);
}

/* ---- adding and removing disks --------------------------------------- */

static int
refuse(struct fault *fault, int err, const char *path, const char *why)
{
	fault_set(fault, err, "bad-disk", "cannot add %s", path);
	fault_why(fault, "%s", why);
	return err;
}

bool
disk_set_configured(const struct disk_set *f, const char *path)
{
	for (unsigned i = 0; i < f->a.patterns->n; i++) {
		if (disk_matches(f->a.patterns->text[i], path))
			return true;
	}
	return false;
}

/* Returns a configured wildcard that would match `path` if something were
 * mounted there, or NULL. */
static const char *
pattern_of(const struct disk_set *f, const char *path)
{
	for (unsigned i = 0; i < f->a.patterns->n; i++) {
		const char *pattern = f->a.patterns->text[i];

		if (disk_is_pattern(pattern) && disk_matches(pattern, path))
			return pattern;
	}
	return NULL;
}

/* Returns the path of a disk that is the same folder, or NULL. */
static const char *
twin_of(const struct disk_set *f, const struct disk *disk)
{
	for (unsigned i = 0; i < f->n; i++) {
		const struct disk_set_disk *d = &f->disk[i];

		if (d->writer && d->there && disk_same(&d->disk.id, &disk->id))
			return d->disk.path;
	}
	return NULL;
}

static int
look(const struct disk_set *f, struct disk *disk, bool force,
     const struct disk_looked *remote, struct fault *fault)
{
	const char *pattern = pattern_of(f, disk->path);
	struct disk_id root = { 0 };
	char why[sizeof fault->why];
	const char *twin;
	int err;

	disk->mount = pattern != NULL;
	if (remote)
		disk->id = remote->id;
	err = remote ? remote->err
		     : disk_look(disk->path, disk->mount, &disk->id);
	twin = err ? NULL : twin_of(f, disk);
	if (err == -ENODEV) {
		refuse(fault, err, disk->path, "");
		fault_why(fault,
			  "nothing is mounted there, and \"%s\" of the "
			  "configuration takes mount points",
			  pattern);
		fault_hint(fault, "mount it: then it takes part by itself");
	} else if (err && remote_is_path(disk->path)) {
		remote_why(disk->path, why, sizeof why);
		refuse(fault, err, disk->path, *why ? why : strerror(-err));
	} else if (err) {
		refuse(fault, err, disk->path, strerror(-err));
		fault_hint(fault, "%s",
			   remote ? "the log of spated says more"
				  : "name a folder that exists");
	} else if (twin) {
		refuse(fault, -EEXIST, disk->path, "");
		fault_why(fault, "it is the folder of %s, which takes part",
			  twin);
		err = -EEXIST;
	} else if (!force && !disk_set_configured(f, disk->path) &&
		   !disk_look("/", false, &root) &&
		   root.device == disk->id.device) {
		err = refuse(fault, -EPERM, disk->path,
			     "it is on the system's own disk");
		fault_hint(fault, "mount a disk there, or add it with --force");
	}
	return err;
}

static int
known(const struct disk_set *f, unsigned i, struct fault *fault)
{
	const struct disk_set_disk *d = &f->disk[i];

	if (d->leaving) {
		refuse(fault, -EBUSY, d->disk.path, "it is being dropped now");
		fault_hint(fault, "'spate disks' shows when that is done");
		return -EBUSY;
	}
	refuse(fault, -EEXIST, d->disk.path, "it takes part already");
	fault_hint(fault, "'spate disks' shows it");
	return -EEXIST;
}

/* Copies `path` without slashes at its end. */
static int
path_take(char out[4096], const char *path, struct fault *fault)
{
	size_t length = path ? strlen(path) : 0;

	if (!length || !disk_is_absolute(path) || length >= 4096) {
		fault_set(fault, -EINVAL, "usage",
			  "'%.80s' is no absolute path", path ? path : "");
		fault_hint(fault, "as in /mnt/disk3");
		return -EINVAL;
	}
	length = disk_path_length(path);
	memcpy(out, path, length);
	out[length] = '\0';
	return 0;
}

int
disk_set_add(struct disk_set *f, const char *named, bool force,
	     const struct disk_looked *remote, struct fault *fault)
{
	char path[4096];
	struct disk disk = { .path = path, .reserve_asked = f->a.reserve };
	int err = path_take(path, named, fault);
	int i = err ? -1 : disk_set_find(f, path);

	if (i >= 0 && f->disk[i].writer)
		return known(f, (unsigned)i, fault);
	if (!err)
		err = look(f, &disk, force, remote, fault);
	if (err)
		return err;
	if (i < 0)
		i = (int)f->n;
	err = disk_set_enlist(f, (unsigned)i, &disk);
	if (err == -ENOSPC)
		return refuse(
		    fault, err, path,
		    "there were 256 disks already, which is the most");
	if (err)
		return refuse(fault, err, path, strerror(-err));
	if (!disk_set_configured(f, path)) {
		f->disk[i].by_hand = true;
		disk_watch_add(f->watch, path);
	}
	log_line(LEVEL_INFO, path, "added");
	return i;
}

/* True if a disk other than `but` works. */
static bool
others_work(const struct disk_set *f, unsigned but)
{
	for (unsigned i = 0; i < f->n; i++) {
		struct writer *w = disk_set_writer(f, i);
		struct writer_facts facts;

		if (!w || i == but)
			continue;
		writer_facts(w, &facts);
		if (writer_works(&facts))
			return true;
	}
	return false;
}

int
disk_set_drop(struct disk_set *f, const char *named, bool recording,
	      struct fault *fault)
{
	char path[4096];
	int err = path_take(path, named, fault);
	int i = err ? -1 : disk_set_find(f, path);

	if (err)
		return err;
	if (i < 0 || !f->disk[i].writer) {
		fault_set(fault, -ENOENT, "not-found",
			  "cannot drop %s: it is none of the disks", path);
		fault_hint(fault, "'spate disks' lists them");
		return -ENOENT;
	}
	if (recording && !others_work(f, (unsigned)i)) {
		fault_set(fault, -EBUSY, "busy",
			  "cannot drop %s: no other disk takes what is being "
			  "recorded",
			  path);
		fault_hint(fault, "add another one, or stop the recordings");
		return -EBUSY;
	}
	if (!f->disk[i].leaving)
		writer_drop(f->disk[i].writer);
	f->disk[i].leaving = true;
	tell_readers(f, (unsigned)i);
	return i;
}

/* ---- new patterns ---------------------------------------------------- */

int
disk_set_patterns(struct disk_set *f)
{
	for (unsigned i = 0; i < f->n; i++) {
		struct disk_set_disk *d = &f->disk[i];
		bool wanted =
		    d->by_hand || disk_set_configured(f, d->disk.path);

		d->unwanted = d->writer && !wanted;
	}
	return disk_watch_patterns(f->watch, f->a.patterns);
}

void
disk_set_tidy(struct disk_set *f, bool recording)
{
	struct fault fault;

	for (unsigned i = 0; i < f->n; i++) {
		struct disk_set_disk *d = &f->disk[i];

		if (!d->unwanted)
			continue;
		d->unwanted =
		    d->writer && !d->leaving &&
		    disk_set_drop(f, d->disk.path, recording, &fault) < 0;
	}
}

void
disk_set_reserve(struct disk_set *f, uint64_t reserve)
{
	f->a.reserve = reserve;
	for (unsigned i = 0; i < f->n; i++)
		atomic_store_explicit(&f->disk[i].disk.reserve_asked, reserve,
				      memory_order_relaxed);
}

/* ---- space and speed ------------------------------------------------- */

static void
facts_of(const struct disk_set *f, unsigned i, struct writer_facts *facts)
{
	*facts = (struct writer_facts){ .state = WRITER_MISSING };
	if (disk_set_writer(f, i))
		writer_facts(f->disk[i].writer, facts);
}

/* True if the disk's free space counts. */
static bool
counts(const struct writer_facts *facts)
{
	return facts->state <= WRITER_FULL;
}

/* True if a disk before `i` is on the same file system and counts. */
static bool
is_counted(const struct disk_set *f, unsigned i, dev_t device)
{
	struct writer_facts facts;

	for (unsigned k = 0; k < i && device; k++) {
		facts_of(f, k, &facts);
		if (counts(&facts) && facts.device == device)
			return true;
	}
	return false;
}

void
disk_set_space(const struct disk_set *f, struct disk_set_space *s)
{
	*s = (struct disk_set_space){ .forecast = NAN };
	for (unsigned i = 0; i < f->n; i++) {
		struct writer_facts facts;

		facts_of(f, i, &facts);
		s->written += facts.written;
		if (!disk_set_writer(f, i) || !counts(&facts))
			continue;
		s->disks++;
		s->untried += !facts.space.total;
		s->rate += f->disk[i].minute;
		if (is_counted(f, i, facts.device))
			continue;
		s->total += facts.space.total;
		s->free += facts.space.free;
	}
	if (s->rate > 0)
		s->forecast = (double)s->free / s->rate;
}

/* The best speed each disk has shown, because an average is less than the disk
 * can do: it had little to write, or small blocks.  Folders that share a disk
 * count as if each had its own, since no recording should be refused by a
 * guess. */
double
disk_set_speed(const struct disk_set *f)
{
	double speed = 0;

	for (unsigned i = 0; i < f->n; i++) {
		struct writer_facts facts;

		facts_of(f, i, &facts);
		if (!disk_set_writer(f, i) || !counts(&facts))
			continue;
		if (facts.written < DISK_SET_SHOWN || !f->disk[i].fastest)
			return 0;
		speed += f->disk[i].fastest;
	}
	return speed;
}

double
disk_set_forecast(const struct disk_set *f, unsigned i)
{
	struct writer_facts of, facts;
	double rate = 0;

	facts_of(f, i, &of);
	for (unsigned k = 0; k < f->n; k++) {
		facts_of(f, k, &facts);
		if (k == i || (of.device && facts.device == of.device))
			rate += f->disk[k].minute;
	}
	return rate > 0 && counts(&of) ? (double)of.space.free / rate : NAN;
}
