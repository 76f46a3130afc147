/* SPDX-License-Identifier: MIT */
/*
 * Threads read, one for each disk, and only note what is bad; the caller mends it
 * afterwards, one chunk at a time.  They are behind everybody else's I/O, while
 * what is written is not: an fsync behind all others would hold up the file
 * system's journal.
 *
 * A chunk is mended where it lies, byte for byte: what was there was wrong, and
 * its group gives it again if that is cut short.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/ease.h"
#include "store/disk/file.h"
#include "store/repair/mend_priv.h"
#include "store/repair/verify_items.h"

enum { PIECE = 1 << 20 };

struct scrub {
	struct mend m;
	bool *bad_block;  /* by number */
	bool *bad_parity; /* by place in the table */
	unsigned running; /* under `lock` */
	pthread_mutex_t lock;
	pthread_cond_t ended;
};

/* ---- reading back, on a disk's thread -------------------------------------- */

struct scrub_reader {
	struct scrub *s;
	unsigned disk;
	uint8_t *buffer;
	pthread_t thread;
	bool started;
};

/* Returns whether so many bytes can be read, and have this checksum. */
static bool
is_good(struct scrub_reader *t, int fd, const struct recording_block *b)
{
	bool summed = b->record.flags & INDEX_SUMMED;
	uint64_t at = 0, bytes = b->record.bytes;
	uint32_t crc = 0;
	ssize_t got = 1;

	while (at < bytes && got > 0) {
		size_t part = bytes - at < PIECE ? (size_t)(bytes - at) : PIECE;

		got = read_whole(fd, t->buffer, part, b->at + at);
		if (got <= 0)
			break;
		crc = summed ? crc32c(crc, t->buffer, (size_t)got) : 0;
		at += (uint64_t)got;
		atomic_fetch_add(&t->s->m.done, (uint64_t)got);
	}
	file_advise(fd, (off_t)b->at, (off_t)bytes, POSIX_FADV_DONTNEED);
	return at == bytes && (!summed || crc == b->record.crc);
}

static bool
block_is_good(struct scrub_reader *t, const struct recording_block *b)
{
	int fd = recording_chunk_open(t->s->m.rec, b);
	bool good;

	if (fd < 0)
		return false;
	ease_file(fd);
	file_advise(fd, (off_t)b->at, (off_t)b->record.bytes,
		    POSIX_FADV_DONTNEED);
	good = is_good(t, fd, b);
	file_close(fd);
	return good;
}

static void
read_on(void *arg, size_t bytes)
{
	struct scrub_reader *t = arg;

	atomic_fetch_add(&t->s->m.done, bytes);
}

static bool
parity_is_good(struct scrub_reader *t, const struct parity_block *p)
{
	const struct recording *rec = t->s->m.rec;
	char file[LAYOUT_FILE];
	bool good;
	int fd;

	layout_parity(file, rec->name, p->record.group, p->record.generation);
	fd =
	    disk_open_at(rec->part[p->disk].dir, file, O_RDONLY, DISK_NO_LINKS);
	if (fd < 0)
		return false;
	ease_file(fd);
	file_advise(fd, 0, 0, POSIX_FADV_DONTNEED);
	good = !parity_data_check(fd, &p->record, read_on, t);
	file_advise(fd, 0, 0, POSIX_FADV_DONTNEED);
	file_close(fd);
	return good;
}

static void *
reader_run(void *arg)
{
	struct scrub_reader *t = arg;
	struct scrub *s = t->s;
	const struct recording *rec = s->m.rec;

	ease_process();
	for (size_t i = 0; i < rec->blocks; i++) {
		const struct recording_block *b = &rec->block[i];

		if (b->disk == (int)t->disk && !b->computed &&
		    b->record.kind == INDEX_BLOCK)
			s->bad_block[i] = !block_is_good(t, b);
	}
	for (size_t i = 0; i < rec->parity.blocks; i++) {
		if (rec->parity.block[i].disk == t->disk)
			s->bad_parity[i] =
			    !parity_is_good(t, &rec->parity.block[i]);
	}
	pthread_mutex_lock(&s->lock);
	s->running--;
	pthread_cond_signal(&s->ended);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

static void
readers_wait(struct scrub *s)
{
	pthread_mutex_lock(&s->lock);
	while (s->running) {
		int64_t until = clock_steady() + NS_SECOND / 5;
		const struct timespec at = { until / NS_SECOND,
					     until % NS_SECOND };

		pthread_cond_timedwait(&s->ended, &s->lock, &at);
		mend_progress(&s->m, 0);
	}
	pthread_mutex_unlock(&s->lock);
}

/* Reads everything that the disks have, and notes what is bad.  0 or -errno. */
static int
all_read(struct scrub *s)
{
	const struct mend *m = &s->m;
	struct scrub_reader *t = calloc(m->disks->n + 1, sizeof *t);
	int err = t ? 0 : -ENOMEM;

	for (unsigned i = 0; i < m->disks->n && !err; i++) {
		if (m->rec->part[i].dir < 0)
			continue;
		t[i] = (struct scrub_reader){ .s = s, .disk = i };
		t[i].buffer = malloc(PIECE);
		if (!t[i].buffer) {
			err = -ENOMEM;
			break;
		}
		pthread_mutex_lock(&s->lock);
		err = -pthread_create(&t[i].thread, NULL, reader_run, &t[i]);
		t[i].started = !err;
		s->running += !err;
		pthread_mutex_unlock(&s->lock);
	}
	readers_wait(s);
	for (unsigned i = 0; t && i < m->disks->n; i++) {
		if (t[i].started)
			pthread_join(t[i].thread, NULL);
		free(t[i].buffer);
	}
	free(t);
	return err;
}

/* ---- what is bad, is mended ------------------------------------------------ */

/* Writes into a file that is there.  `own`: it has nothing else. */
static int
file_over(int dir, const struct recording_where *w, const void *data,
	  uint64_t bytes, bool own)
{
	int fd = disk_open_at(dir, w->file, O_WRONLY, DISK_NO_LINKS);
	int err;

	if (fd < 0)
		return fd;
	err = write_whole(fd, data, bytes, w->offset);
	if (!err && own && file_cut(fd, (off_t)bytes) < 0)
		err = -errno;
	if (!err && file_sync_data(fd) < 0)
		err = -errno;
	file_close(fd);
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
	err = file_over(dir, &w, data, b->record.bytes, own);
	if (err == -ENOENT && own)
		err = mend_file_new(dir, w.file, data, b->record.bytes);
	return err;
}

static void
block_mend(struct mend *m, const struct recording_block *b)
{
	uint64_t number = b->record.number;
	uint8_t *data =
	    b->record.bytes > PARITY_MOST ? NULL : malloc(b->record.bytes + 1);
	const char *path = mend_path(m, b->disk);
	char place[VERIFY_PLACE];
	int err = data ? mend_heal(m, b, data) : -ENOMEM;

	if (err) {
		m->report->lost++;
		mend_say(m, "chunk %" PRIu64 " on %s cannot be mended: %s%s",
			 number, path,
			 recording_protects(m->rec, number)
			     ? "too much of its group is bad or away"
			     : "it has no parity",
			 verify_place(m->rec, number, number, place));
	} else if (m->a->dry_run) {
		m->report->chunks++;
		mend_say(m, "chunk %" PRIu64 " on %s would be mended", number,
			 path);
	} else if ((err = chunk_write(m, b, data))) {
		m->report->failed++;
		mend_say(m, "chunk %" PRIu64 " on %s cannot be written: %s",
			 number, path, disk_why(err));
	} else {
		m->report->chunks++;
		mend_say(m, "chunk %" PRIu64 " on %s is mended", number, path);
	}
	free(data);
	mend_progress(m, b->record.bytes);
}

static void
parity_mend(struct mend *m, const struct parity_block *p)
{
	const struct recording *rec = m->rec;
	const struct parity_record *r = &p->record;
	const struct index_record *member = &rec->parity.member[p->first];
	const char *path = mend_path(m, (int)p->disk);
	struct mend_rows w;
	int err = mend_rows_make(m, member, r->members, r->rows, &w, NULL);

	if (!err && (w.crc[r->row] != r->crc || w.bytes != r->bytes))
		err = -EBADMSG;
	if (err) {
		m->report->failed++;
		mend_say(m,
			 "parity of group %" PRIu64 " on %s cannot be mended: "
			 "its chunks are not all good",
			 r->group, path);
	} else if (m->a->dry_run) {
		m->report->parity++;
		mend_say(m, "parity of group %" PRIu64 " on %s would be mended",
			 r->group, path);
	} else if ((err = parity_file_write(rec->part[p->disk].dir, rec->name,
					    r, member, w.row[r->row]))) {
		m->report->failed++;
		mend_say(m,
			 "parity of group %" PRIu64 " on %s cannot be written: "
			 "%s",
			 r->group, path, disk_why(err));
	} else {
		m->report->parity++;
		mend_say(m, "parity of group %" PRIu64 " on %s is mended",
			 r->group, path);
	}
	mend_rows_free(&w);
	mend_progress(m, r->bytes);
}

static void
bad_mend(struct scrub *s)
{
	const struct recording *rec = s->m.rec;

	s->m.report->bytes = atomic_load(&s->m.done);
	s->m.total = s->m.report->bytes;
	for (size_t i = 0; i < rec->blocks; i++)
		s->m.total += s->bad_block[i] ? rec->block[i].record.bytes : 0;
	for (size_t i = 0; i < rec->parity.blocks; i++)
		s->m.total +=
		    s->bad_parity[i] ? rec->parity.block[i].record.bytes : 0;
	for (size_t i = 0; i < rec->blocks; i++) {
		if (s->bad_block[i])
			block_mend(&s->m, &rec->block[i]);
	}
	for (size_t i = 0; i < rec->parity.blocks; i++) {
		if (s->bad_parity[i])
			parity_mend(&s->m, &rec->parity.block[i]);
	}
}

static int
scrub_make(struct scrub *s)
{
	const struct recording *rec = s->m.rec;
	pthread_condattr_t steady;

	s->bad_block = calloc(rec->blocks + 1, sizeof *s->bad_block);
	s->bad_parity = calloc(rec->parity.blocks + 1, sizeof *s->bad_parity);
	for (size_t i = 0; i < rec->blocks; i++)
		s->m.total +=
		    rec->block[i].computed ? 0 : rec->block[i].record.bytes;
	for (size_t i = 0; i < rec->parity.blocks; i++)
		s->m.total += rec->parity.block[i].record.bytes;
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&steady);
	pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
	pthread_cond_init(&s->ended, &steady);
	pthread_condattr_destroy(&steady);
	return s->bad_block && s->bad_parity ? 0 : -ENOMEM;
}

static void
scrub_free(struct scrub *s)
{
	pthread_cond_destroy(&s->ended);
	pthread_mutex_destroy(&s->lock);
	free(s->bad_block);
	free(s->bad_parity);
}

int
scrub(const struct disks *disks, const char *name, const struct mend_args *args,
      struct mend_report *report, struct fault *fault)
{
	struct scrub s = { .m = { .a = args,
				  .report = report,
				  .verb = "scrub",
				  .disks = disks } };
	int err;

	*report = (struct mend_report){ 0 };
	err = mend_open(&s.m, name, fault);
	if (!err)
		err = mend_fault(&s.m, name, mend_lists(&s.m), fault);
	if (!err) {
		err = scrub_make(&s);
		if (!err)
			err = all_read(&s);
		if (!err)
			bad_mend(&s);
		scrub_free(&s);
		report->left =
		    s.m.rec->facts.parity
			? s.m.rec->facts.chunks - s.m.rec->facts.protected
			: 0;
		mend_fault(&s.m, name, err, fault);
	}
	mend_close(&s.m);
	return err;
}
