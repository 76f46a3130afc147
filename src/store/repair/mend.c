/* SPDX-License-Identifier: MIT */
/*
 * A chunk is mended where it lies, byte for byte: what was there was wrong, and
 * its group gives it again if that is cut short.  A new file is written without a
 * name (O_TMPFILE), made durable, and linked to its name, so that no half of a
 * chunk is ever taken for one.
 *
 * Threads read for scrub, one for each disk, and only note what is bad; the
 * caller mends it afterwards, one chunk at a time.  They are behind everybody
 * else's I/O, while what is written is not: an fsync behind all others would hold
 * up the file system's journal.
 */
#include "store/repair/mend.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/ease.h"
#include "store/disk/file.h"
#include "store/finish/recover.h"
#include "store/parity/code.h"
#include "store/record/meta.h"
#include "store/record/sums.h"
#include "store/recording/recording_priv.h"

enum { PIECE = 1 << 20 };

struct mend {
	const struct mend_args *a;
	struct mend_report *report;
	struct recording *rec;
	const struct disks *disks;
	bool *bad_block;  /* by number */
	bool *bad_parity; /* by place in the table */
	uint64_t total;
	atomic_uint_fast64_t done; /* bytes */
	unsigned running;	   /* under `lock` */
	pthread_mutex_t lock;
	pthread_cond_t ended;
};

__attribute__((format(printf, 2, 3))) static void
say(const struct mend *m, const char *format, ...)
{
	char text[512];
	va_list list;

	if (!m->a->say)
		return;
	va_start(list, format);
	vsnprintf(text, sizeof text, format, list);
	va_end(list);
	m->a->say(m->a->arg, text);
}

static const char *
path_of(const struct mend *m, int disk)
{
	return disk >= 0 ? m->disks->disk[disk].path : "no disk";
}

/* ---- opening ------------------------------------------------------------- */

static int
refuse(struct fault *fault, const char *name, int err, const char *why,
       const char *hint)
{
	fault_set(fault, err, err == -EBUSY ? "busy" : "refused",
		  "cannot mend %s", name);
	fault_why(fault, "%s", why);
	fault_hint(fault, "%s", hint);
	return err;
}

static int
mend_open(struct mend *m, const struct disks *disks, const char *name,
	  struct fault *fault)
{
	int err = recording_open(&m->rec, disks, name, fault);

	if (err)
		return err;
	m->disks = disks;
	if (m->rec->foreign)
		err = refuse(fault, name, -EINVAL, "another program made it",
			     "spate export reads it as it is");
	else if (m->rec->facts.state == RECORDING_LIVE)
		err = refuse(fault, name, -EBUSY, "it is being recorded",
			     "try again when it has ended");
	else
		err = recording_hold(m->rec, fault);
	if (!err)
		return 0;
	recording_close(m->rec);
	m->rec = NULL;
	return err;
}

/* ---- reading back, on a disk's thread -------------------------------------- */

struct mend_reader {
	struct mend *m;
	unsigned disk;
	uint8_t *buffer;
	pthread_t thread;
	bool started;
};

/* Returns whether so many bytes can be read, and have this checksum. */
static bool
is_good(struct mend_reader *t, int fd, uint64_t offset, uint64_t bytes,
	bool summed, uint32_t want)
{
	uint32_t crc = 0;
	ssize_t got = 1;
	uint64_t at;

	for (at = 0; at < bytes && got > 0;) {
		size_t part = bytes - at < PIECE ? (size_t)(bytes - at) : PIECE;

		got = read_whole(fd, t->buffer, part, offset + at);
		if (got > 0) {
			crc = summed ? crc32c(crc, t->buffer, (size_t)got) : 0;
			at += (uint64_t)got;
			atomic_fetch_add(&t->m->done, (uint64_t)got);
		}
	}
	posix_fadvise(fd, (off_t)offset, (off_t)bytes, POSIX_FADV_DONTNEED);
	return at == bytes && (!summed || crc == want);
}

static bool
block_is_good(struct mend_reader *t, const struct recording_block *b)
{
	int fd = recording_chunk_open(t->m->rec, b);
	bool good;

	if (fd < 0)
		return false;
	ease_file(fd);
	posix_fadvise(fd, (off_t)b->at, (off_t)b->record.bytes,
		      POSIX_FADV_DONTNEED);
	good = is_good(t, fd, b->at, b->record.bytes,
		       b->record.flags & INDEX_SUMMED, b->record.crc);
	close(fd);
	return good;
}

static bool
parity_is_good(struct mend_reader *t, const struct parity_block *p)
{
	const struct recording *rec = t->m->rec;
	char file[LAYOUT_FILE];
	bool good;
	int fd;

	layout_parity(file, rec->name, p->record.group, p->record.generation);
	fd =
	    disk_open_at(rec->part[p->disk].dir, file, O_RDONLY, DISK_NO_LINKS);
	if (fd < 0)
		return false;
	ease_file(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	good = is_good(t, fd, 0, p->record.bytes, true, p->record.crc);
	close(fd);
	return good;
}

static void *
reader_run(void *arg)
{
	struct mend_reader *t = arg;
	struct mend *m = t->m;
	const struct recording *rec = m->rec;

	ease_process();
	for (size_t i = 0; i < rec->blocks; i++) {
		const struct recording_block *b = &rec->block[i];

		if (b->disk == (int)t->disk && !b->computed &&
		    b->record.kind == INDEX_BLOCK)
			m->bad_block[i] = !block_is_good(t, b);
	}
	for (size_t i = 0; i < rec->parity.blocks; i++) {
		if (rec->parity.block[i].disk == t->disk)
			m->bad_parity[i] =
			    !parity_is_good(t, &rec->parity.block[i]);
	}
	pthread_mutex_lock(&m->lock);
	m->running--;
	pthread_cond_signal(&m->ended);
	pthread_mutex_unlock(&m->lock);
	return NULL;
}

static void
readers_wait(struct mend *m)
{
	pthread_mutex_lock(&m->lock);
	while (m->running) {
		int64_t until = clock_steady() + NS_SECOND / 5;
		const struct timespec at = { until / NS_SECOND,
					     until % NS_SECOND };

		pthread_cond_timedwait(&m->ended, &m->lock, &at);
		if (m->a->progress)
			m->a->progress(m->a->arg, atomic_load(&m->done),
				       m->total);
	}
	pthread_mutex_unlock(&m->lock);
}

/* Reads everything that the disks have, and notes what is bad.  0 or -errno. */
static int
all_read(struct mend *m)
{
	struct mend_reader *t = calloc(m->disks->n + 1, sizeof *t);
	int err = t ? 0 : -ENOMEM;

	for (unsigned i = 0; i < m->disks->n && !err; i++) {
		if (m->rec->part[i].dir < 0)
			continue;
		t[i] = (struct mend_reader){ .m = m, .disk = i };
		t[i].buffer = malloc(PIECE);
		if (!t[i].buffer) {
			err = -ENOMEM;
			break;
		}
		pthread_mutex_lock(&m->lock);
		err = -pthread_create(&t[i].thread, NULL, reader_run, &t[i]);
		t[i].started = !err;
		m->running += !err;
		pthread_mutex_unlock(&m->lock);
	}
	readers_wait(m);
	for (unsigned i = 0; t && i < m->disks->n; i++) {
		if (t[i].started)
			pthread_join(t[i].thread, NULL);
		free(t[i].buffer);
	}
	free(t);
	return err;
}

/* ---- writing --------------------------------------------------------------- */

/* Writes a new file, durable under its name.  0 or -errno; -EEXIST. */
static int
file_new(int dir, const char *file, const void *data, uint64_t bytes,
	 const void *tail, size_t tail_bytes)
{
	char link[64];
	int fd = openat(dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0644);
	int err;

	if (fd < 0)
		return -errno;
	err = write_whole(fd, data, bytes, 0);
	if (!err && tail_bytes)
		err = write_whole(fd, tail, tail_bytes, bytes);
	if (!err && fsync(fd) < 0)
		err = -errno;
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	if (!err && linkat(AT_FDCWD, link, dir, file, AT_SYMLINK_FOLLOW) < 0)
		err = -errno;
	if (!err && fsync(dir) < 0)
		err = -errno;
	close(fd);
	return err;
}

/* Writes into a file that is there.  `own`: it has nothing else. */
static int
file_over(int dir, const char *file, const void *data, uint64_t bytes,
	  uint64_t offset, bool own)
{
	int fd = disk_open_at(dir, file, O_WRONLY, DISK_NO_LINKS);
	int err;

	if (fd < 0)
		return fd;
	err = write_whole(fd, data, bytes, offset);
	if (!err && own && ftruncate(fd, (off_t)bytes) < 0)
		err = -errno;
	if (!err && fdatasync(fd) < 0)
		err = -errno;
	close(fd);
	return err;
}

/* Writes a chunk to its place. */
static int
chunk_write(const struct mend *m, const struct recording_block *b,
	    const uint8_t *data)
{
	bool own = !layout_plan_shared(&m->rec->plan);
	int dir = m->rec->part[b->disk].dir;
	struct recording_where w;
	int err = recording_where(m->rec, b, &w);

	if (err)
		return err;
	err = file_over(dir, w.file, data, b->record.bytes, w.offset, own);
	if (err == -ENOENT && own)
		err = file_new(dir, w.file, data, b->record.bytes, NULL, 0);
	return err;
}

/* ---- scrub: what is bad, is mended ----------------------------------------- */

static void
block_mend(struct mend *m, const struct recording_block *b)
{
	uint64_t number = b->record.number;
	uint8_t *data = malloc(b->record.bytes + 1);
	int err = data ? recording_heal(m->rec, b, data, b->record.bytes, 0)
		       : -ENOMEM;

	if (err) {
		m->report->lost++;
		say(m, "chunk %" PRIu64 " on %s cannot be mended: %s", number,
		    path_of(m, b->disk),
		    recording_protects(m->rec, number)
			? "too much of its group is bad or away"
			: "it has no parity");
	} else if (!m->a->dry_run) {
		err = chunk_write(m, b, data);
		if (err)
			say(m, "chunk %" PRIu64 " on %s cannot be written: %s",
			    number, path_of(m, b->disk), disk_why(err));
	}
	if (!err) {
		m->report->chunks++;
		say(m, "chunk %" PRIu64 " on %s is mended", number,
		    path_of(m, b->disk));
	}
	free(data);
}

/* Reads a member, which has to be good.  0 or -errno. */
static int
member_read(struct mend *m, const struct index_record *r, uint8_t *data)
{
	const struct recording_block *b;
	ssize_t got;

	if (r->number >= m->rec->blocks)
		return -ENOENT;
	b = &m->rec->block[r->number];
	if (b->record.kind != INDEX_BLOCK || b->record.bytes != r->bytes ||
	    b->record.crc != r->crc)
		return -ENOENT;
	got = recording_chunk_read(m->rec, b, data, r->bytes, 0);
	if (got != (ssize_t)r->bytes)
		return got < 0 ? (int)got : -ENODATA;
	return r->flags & INDEX_SUMMED && crc32c(0, data, r->bytes) != r->crc
		   ? -EBADMSG
		   : 0;
}

/* The rows of a group, computed anew, each `bytes` long. */
struct mend_rows {
	uint8_t *row[PARITY_ROWS];
	uint32_t crc[PARITY_ROWS];
	uint64_t bytes;
};

static void
rows_free(struct mend_rows *w)
{
	for (unsigned i = 0; i < PARITY_ROWS; i++)
		free(w->row[i]);
}

static int
rows_make(struct mend *m, const struct index_record *member, unsigned members,
	  unsigned rows, struct mend_rows *w)
{
	uint8_t *data;
	int err = 0;

	*w = (struct mend_rows){ .bytes = 0 };
	for (unsigned i = 0; i < members; i++) {
		if (member[i].bytes > w->bytes)
			w->bytes = member[i].bytes;
	}
	data = malloc(w->bytes + 1);
	for (unsigned i = 0; i < rows; i++)
		w->row[i] = calloc(1, w->bytes + 1);
	if (!data || !w->row[0] || !w->row[rows - 1])
		err = -ENOMEM;
	for (unsigned i = 0; i < members && !err; i++) {
		err = member_read(m, &member[i], data);
		if (!err)
			parity_add(w->row, rows, i, data, member[i].bytes);
	}
	for (unsigned i = 0; i < rows && !err; i++)
		w->crc[i] = crc32c(0, w->row[i], w->bytes);
	free(data);
	return err;
}

static uint8_t *
tail_make(const struct parity_record *r, const struct index_record *member)
{
	uint8_t *tail = malloc(parity_tail_bytes(r));

	if (tail)
		parity_pack(tail, r, member);
	return tail;
}

/* Writes a parity block to its place, if its data came out as they were. */
static int
parity_write(const struct mend *m, const struct parity_block *p,
	     const struct mend_rows *w)
{
	const struct recording *rec = m->rec;
	const struct parity_record *r = &p->record;
	size_t tail_bytes = parity_tail_bytes(r);
	uint8_t *tail = tail_make(r, &rec->parity.member[p->first]);
	int dir = rec->part[p->disk].dir, err;
	char file[LAYOUT_FILE];

	if (!tail)
		return -ENOMEM;
	layout_parity(file, rec->name, r->group, r->generation);
	if (w->crc[r->row] != r->crc || w->bytes != r->bytes)
		err = -EBADMSG;
	else
		err = file_over(dir, file, tail, tail_bytes, r->bytes, false);
	if (!err)
		err = file_over(dir, file, w->row[r->row], r->bytes, 0, false);
	if (err == -ENOENT)
		err = file_new(dir, file, w->row[r->row], r->bytes, tail,
			       tail_bytes);
	free(tail);
	return err;
}

static void
parity_mend(struct mend *m, const struct parity_block *p)
{
	struct mend_rows w;
	int err = rows_make(m, &m->rec->parity.member[p->first],
			    p->record.members, p->record.rows, &w);

	if (!err && !m->a->dry_run)
		err = parity_write(m, p, &w);
	rows_free(&w);
	if (!err)
		m->report->parity++;
	say(m,
	    err ? "parity of group %" PRIu64 " on %s cannot be mended: "
		  "its chunks are not all good"
		: "parity of group %" PRIu64 " on %s is mended",
	    p->record.group, path_of(m, (int)p->disk));
}

static void
bad_mend(struct mend *m)
{
	const struct recording *rec = m->rec;

	for (size_t i = 0; i < rec->blocks; i++) {
		if (m->bad_block[i])
			block_mend(m, &rec->block[i]);
	}
	for (size_t i = 0; i < rec->parity.blocks; i++) {
		if (m->bad_parity[i])
			parity_mend(m, &rec->parity.block[i]);
	}
}

static int
mend_make(struct mend *m, const struct mend_args *args,
	  struct mend_report *report)
{
	const struct recording *rec = m->rec;
	pthread_condattr_t steady;

	m->a = args;
	m->report = report;
	m->bad_block = calloc(rec->blocks + 1, sizeof *m->bad_block);
	m->bad_parity = calloc(rec->parity.blocks + 1, sizeof *m->bad_parity);
	for (size_t i = 0; i < rec->blocks; i++)
		m->total +=
		    rec->block[i].computed ? 0 : rec->block[i].record.bytes;
	for (size_t i = 0; i < rec->parity.blocks; i++)
		m->total += rec->parity.block[i].record.bytes;
	pthread_mutex_init(&m->lock, NULL);
	pthread_condattr_init(&steady);
	pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
	pthread_cond_init(&m->ended, &steady);
	pthread_condattr_destroy(&steady);
	return m->bad_block && m->bad_parity ? 0 : -ENOMEM;
}

static void
mend_close(struct mend *m)
{
	pthread_cond_destroy(&m->ended);
	pthread_mutex_destroy(&m->lock);
	free(m->bad_block);
	free(m->bad_parity);
	if (m->rec)
		recording_close(m->rec);
}

static int
failed(struct fault *fault, const char *name, int err)
{
	if (err) {
		fault_set(fault, err, err == -ENOMEM ? "no-memory" : "io",
			  "cannot mend %s", name);
		fault_why(fault, "%s", strerror(-err));
	}
	return err;
}

int
scrub(const struct disks *disks, const char *name, const struct mend_args *args,
      struct mend_report *report, struct fault *fault)
{
	struct mend m = { .running = 0 };
	int err = mend_open(&m, disks, name, fault);

	*report = (struct mend_report){ 0 };
	if (err)
		return err;
	err = mend_make(&m, args, report);
	if (!err)
		err = all_read(&m);
	if (!err)
		bad_mend(&m);
	report->bytes = atomic_load(&m.done);
	report->left = m.rec->facts.parity
			   ? m.rec->facts.chunks - m.rec->facts.protected
			   : 0;
	mend_close(&m);
	return failed(fault, name, err);
}

/* ---- rebuild: what is away, goes elsewhere ---------------------------------- */

/* The disks that have something of the group of a block. */
static struct block_bars
group_disks(const struct recording *rec, uint64_t number)
{
	const struct parity_table *t = &rec->parity;
	const struct parity_member *p = parity_find(t, number);
	struct block_bars bars = { 0 };
	uint64_t group;

	if (!p)
		return bars;
	group = t->block[p->block].record.group;
	for (size_t i = 0; i < t->blocks; i++) {
		const struct parity_block *b = &t->block[i];

		if (b->record.group != group)
			continue;
		block_bars_add(&bars, b->disk);
		for (uint32_t k = 0; k < b->record.members; k++) {
			uint64_t n = t->member[b->first + k].number;

			if (n < rec->blocks && rec->block[n].disk >= 0 &&
			    !rec->block[n].computed)
				block_bars_add(&bars,
					       (unsigned)rec->block[n].disk);
		}
	}
	return bars;
}

/* Returns the disk with the most room that is none of these, or, where `any`, also
 * one of these; -1: none has room. */
static int
disk_choose(const struct mend *m, const struct block_bars * not, bool any,
	    uint64_t bytes)
{
	uint64_t most = 0;
	int best = -1;
	bool best_not = true;

	for (unsigned i = 0; i < m->disks->n; i++) {
		bool barred = block_bars_has(not, i);
		struct disk_space space;

		if (m->rec->part[i].dir < 0 || (barred && !any) ||
		    disk_space(&m->disks->disk[i], &space) ||
		    space.free < bytes)
			continue;
		if (best >= 0 && (barred > best_not ||
				  (barred == best_not && space.free <= most)))
			continue;
		best = (int)i;
		best_not = barred;
		most = space.free;
	}
	return best;
}

/* Appends to a file of the recording on a disk, durably. */
static int
append(int dir, const char *file, const void *data, size_t bytes)
{
	struct append_file to;
	int err;

	to.fd =
	    disk_open_at(dir, file, O_CREAT | O_RDWR | O_APPEND, DISK_NO_LINKS);
	if (to.fd < 0)
		return to.fd;
	to.bytes = lseek(to.fd, 0, SEEK_END);
	err = append_bytes(&to, data, bytes);
	if (!err && fdatasync(to.fd) < 0)
		err = -errno;
	close(to.fd);
	return err;
}

/* Adds the checksums of a chunk to those of a disk. */
static int
sums_append(const struct mend *m, int dir, const struct index_record *r,
	    uint8_t *data)
{
	uint32_t quanta =
	    (uint32_t)((r->bytes + BLOCK_QUANTUM - 1) / BLOCK_QUANTUM);
	struct block b = { .number = r->number,
			   .data = data,
			   .used = 1,
			   .slot_bytes = (uint32_t)r->bytes,
			   .quantum = BLOCK_QUANTUM,
			   .crc = r->crc };
	uint8_t *raw = malloc(sums_bytes(quanta));
	char file[LAYOUT_FILE];
	int err = -ENOMEM;

	b.sum = calloc(quanta + 1, sizeof *b.sum);
	for (uint32_t i = 0; b.sum && i < quanta; i++) {
		uint64_t at = (uint64_t)i * BLOCK_QUANTUM;
		uint64_t left = r->bytes - at;

		b.sum[i].bytes =
		    left < BLOCK_QUANTUM ? (uint32_t)left : BLOCK_QUANTUM;
		b.sum[i].crc = crc32c(0, data + at, b.sum[i].bytes);
	}
	if (raw && b.sum) {
		sums_pack(raw, &b);
		err = append(dir, layout_sums(file, m->rec->name), raw,
			     sums_bytes(quanta));
	}
	free(b.sum);
	free(raw);
	return err;
}

/* Notes in the metadata of a disk that a chunk is there, for recover. */
static int
note_append(const struct mend *m, int dir, const struct index_record *r)
{
	json_t *line = meta_written(r, 0);
	char file[LAYOUT_FILE];
	char *text = line ? json_dumps(line, JSON_COMPACT) : NULL;
	int err = -ENOMEM;

	if (text) {
		size_t bytes = strlen(text);
		text[bytes] = '\n';
		err = append(dir, layout_meta(file, m->rec->name), text,
			     bytes + 1);
	}
	json_decref(line);
	free(text);
	return err;
}

/* Puts a chunk of a disk that is away onto another.  0 or -errno. */
static int
chunk_put(const struct mend *m, const struct index_record *r, uint8_t *data,
	  int disk)
{
	int dir = m->rec->part[disk].dir, err = 0;
	char file[LAYOUT_FILE];

	if (r->flags & INDEX_SUMMED)
		err = sums_append(m, dir, r, data);
	if (!err)
		err = note_append(m, dir, r);
	if (!err)
		err = file_new(dir, layout_chunk(file, m->rec->name, r->number),
			       data, r->bytes, NULL, 0);
	return err == -EEXIST ? 0 : err;
}

static void
block_rebuild(struct mend *m, const struct recording_block *b)
{
	struct block_bars not = group_disks(m->rec, b->record.number);
	int disk = disk_choose(m, &not, true, b->record.bytes);
	uint8_t *data = malloc(b->record.bytes + 1);
	int err = -ENOMEM;

	if (data)
		err = recording_heal(m->rec, b, data, b->record.bytes, 0);
	if (err) {
		m->report->lost++;
		say(m,
		    "chunk %" PRIu64 " is lost: its disk is away, and too "
		    "much of its group",
		    b->record.number);
	} else if (disk < 0) {
		err = -ENOSPC;
		m->report->lost++;
		say(m, "chunk %" PRIu64 ": no disk has room for it",
		    b->record.number);
	} else if (!m->a->dry_run) {
		err = chunk_put(m, &b->record, data, disk);
		if (err)
			say(m, "chunk %" PRIu64 " cannot be written to %s: %s",
			    b->record.number, path_of(m, disk), disk_why(err));
	}
	free(data);
	atomic_fetch_add(&m->done, b->record.bytes);
	if (m->a->progress)
		m->a->progress(m->a->arg, atomic_load(&m->done), m->total);
	if (err)
		return;
	m->report->chunks++;
	say(m, "chunk %" PRIu64 " is on %s", b->record.number,
	    path_of(m, disk));
}

/* ---- rebuild: parity -------------------------------------------------------- */

/*
 * A group whose blocks are not all there, each on another disk, does not make up
 * for a further disk.  It is dissolved: the lists are written anew without it,
 * and its parity is removed.  Then its chunks have none, and get new groups.
 */

static bool
group_is_safe(const struct recording *rec, const struct parity_block *p)
{
	return recording_is_safe(rec, rec->parity.member[p->first].number);
}

/* Writes the list of a disk without groups that are not safe. */
static int
list_rewrite(const struct mend *m, unsigned disk)
{
	const struct recording *rec = m->rec;
	const struct parity_table *t = &rec->parity;
	char file[LAYOUT_FILE], new[LAYOUT_FILE];
	int dir = rec->part[disk].dir, fd, err = 0;
	uint64_t at = 0;

	fd = disk_open_at(dir, layout_parity_new(new, rec->name),
			  O_CREAT | O_TRUNC | O_WRONLY, DISK_NO_LINKS);
	if (fd < 0)
		return fd;
	for (size_t i = 0; i < t->blocks && !err; i++) {
		const struct parity_block *p = &t->block[i];
		size_t bytes = parity_tail_bytes(&p->record);
		uint8_t *tail;

		if (p->disk != disk || !group_is_safe(rec, p))
			continue;
		tail = tail_make(&p->record, &t->member[p->first]);
		err = tail ? write_whole(fd, tail, bytes, at) : -ENOMEM;
		at += bytes;
		free(tail);
	}
	if (!err && fsync(fd) < 0)
		err = -errno;
	close(fd);
	if (!err &&
	    (renameat(dir, new, dir, layout_parity_list(file, rec->name)) < 0 ||
	     fsync(dir) < 0))
		err = -errno;
	return err;
}

/* Dissolves groups that are not safe.  Returns how many parity blocks these had,
 * or -errno. */
static int
groups_dissolve(struct mend *m)
{
	const struct recording *rec = m->rec;
	const struct parity_table *t = &rec->parity;
	char file[LAYOUT_FILE];
	int n = 0, err = 0;

	for (unsigned i = 0; i < m->disks->n && !err; i++) {
		bool any = false;

		for (size_t k = 0; k < t->blocks && !any; k++)
			any = t->block[k].disk == i &&
			      !group_is_safe(rec, &t->block[k]);
		if (any && !m->a->dry_run)
			err = list_rewrite(m, i);
		for (size_t k = 0; any && !err && k < t->blocks; k++) {
			const struct parity_block *p = &t->block[k];

			if (p->disk != i || group_is_safe(rec, p))
				continue;
			n++;
			if (!m->a->dry_run)
				unlinkat(rec->part[i].dir,
					 layout_parity(file, rec->name,
						       p->record.group,
						       p->record.generation),
					 0);
		}
	}
	return err ? err : n;
}

/* A group in the making, of chunks that have no parity. */
struct mend_group {
	struct index_record member[PARITY_MEMBERS];
	struct block_bars disks;
	unsigned members;
};

/* Writes the parity of a group to disks without a member. */
static void
group_write(struct mend *m, struct mend_group *g)
{
	struct recording *rec = m->rec;
	unsigned rows = rec->facts.parity, made = 0;
	struct mend_rows w;
	char file[LAYOUT_FILE];
	int err = rows_make(m, g->member, g->members, rows, &w);

	for (unsigned i = 0; i < rows && !err; i++) {
		const struct parity_record r = { .group = g->member[0].number,
						 .bytes = w.bytes,
						 .members = g->members,
						 .crc = w.crc[i],
						 .row = (uint16_t)i,
						 .rows = (uint16_t)rows };
		size_t bytes = parity_tail_bytes(&r);
		uint8_t *tail = tail_make(&r, g->member);
		int disk = disk_choose(m, &g->disks, false, w.bytes + bytes);
		int dir = disk < 0 ? -1 : rec->part[disk].dir;

		err = !tail ? -ENOMEM : disk < 0 ? -ENOSPC : 0;
		if (!err && !m->a->dry_run)
			err = file_new(dir,
				       layout_parity(file, rec->name, r.group,
						     r.generation),
				       w.row[i], w.bytes, tail, bytes);
		if (!err && !m->a->dry_run)
			err = append(dir, layout_parity_list(file, rec->name),
				     tail, bytes);
		free(tail);
		if (err)
			break;
		block_bars_add(&g->disks, (unsigned)disk);
		made++;
	}
	rows_free(&w);
	m->report->parity += made;
	if (!made)
		m->report->left += g->members;
	g->members = 0;
	g->disks = (struct block_bars){ 0 };
}

static unsigned
disks_there(const struct mend *m)
{
	unsigned n = 0;

	for (unsigned i = 0; i < m->disks->n; i++)
		n += m->rec->part[i].dir >= 0;
	return n;
}

/* Makes groups of the chunks that have no parity. */
static void
groups_make(struct mend *m)
{
	enum { OPEN = 8 };
	const struct recording *rec = m->rec;
	unsigned rows = rec->facts.parity, disks = disks_there(m);
	unsigned most = disks > rows ? disks - rows : 0;
	struct mend_group *g = calloc(OPEN, sizeof *g);

	if (most > PARITY_MEMBERS)
		most = PARITY_MEMBERS;
	for (size_t i = 0; g && i < rec->blocks; i++) {
		const struct recording_block *b = &rec->block[i];
		unsigned at = 0;

		if (b->record.kind != INDEX_BLOCK || b->disk < 0 ||
		    b->computed || recording_is_safe(rec, i))
			continue;
		if (!most) {
			m->report->left++;
			continue;
		}
		while (at < OPEN &&
		       block_bars_has(&g[at].disks, (unsigned)b->disk))
			at++;
		if (at == OPEN)
			group_write(m, &g[at = 0]);
		g[at].member[g[at].members++] = b->record;
		block_bars_add(&g[at].disks, (unsigned)b->disk);
		if (g[at].members == most)
			group_write(m, &g[at]);
	}
	for (unsigned i = 0; g && i < OPEN; i++) {
		if (g[i].members)
			group_write(m, &g[i]);
	}
	free(g);
}

/* Puts the chunks of disks that are away elsewhere, and has them indexed. */
static int
away_rebuild(struct mend *m, const char *name, struct fault *fault)
{
	const struct recover_args quiet = { .dry_run = false };
	struct recover_report ignored;
	const struct recording *rec = m->rec;

	m->total = 0;
	for (size_t i = 0; i < rec->blocks; i++)
		m->total +=
		    rec->block[i].computed ? rec->block[i].record.bytes : 0;
	if (!m->total)
		return 0;
	if (layout_plan_shared(&rec->plan))
		return refuse(fault, name, -ENOTSUP,
			      "all chunks of a disk are in one file, to which "
			      "others cannot be added",
			      "spate export gives all of it; so do reads of it "
			      "as long as the other disks are well");
	for (size_t i = 0; i < rec->blocks; i++) {
		if (rec->block[i].computed)
			block_rebuild(m, &rec->block[i]);
	}
	if (!m->report->chunks || m->a->dry_run)
		return 0;
	recording_close(m->rec);
	m->rec = NULL;
	return recover(m->disks, name, &quiet, &ignored, fault);
}

/* Makes groups that make up for any disk of all chunks. */
static int
parity_rebuild(struct mend *m, const char *name, struct fault *fault)
{
	int dissolved = 0, err = 0;

	if (disks_there(m) > m->rec->facts.parity)
		dissolved = groups_dissolve(m);
	if (dissolved < 0)
		return failed(fault, name, dissolved);
	if (dissolved && !m->a->dry_run) {
		recording_close(m->rec);
		m->rec = NULL;
		err = mend_open(m, m->disks, name, fault);
	}
	if (!err)
		groups_make(m);
	return err;
}

int
rebuild(const struct disks *disks, const char *name,
	const struct mend_args *args, struct mend_report *report,
	struct fault *fault)
{
	struct mend m = { .running = 0 };
	int err = mend_open(&m, disks, name, fault);

	*report = (struct mend_report){ 0 };
	if (err)
		return err;
	err = failed(fault, name, mend_make(&m, args, report));
	if (!err)
		err = away_rebuild(&m, name, fault);
	if (!err && !m.rec)
		err = mend_open(&m, disks, name, fault);
	if (!err && m.rec->facts.parity)
		err = parity_rebuild(&m, name, fault);
	mend_close(&m);
	return err;
}
