/* SPDX-License-Identifier: MIT */
/*
 * The lock is one on each of the recording's folders, which nobody else locks.
 * Beside it the indexes are held as by a reader: that keeps recover, removal and a
 * daemon away, which want them alone, while readers read on for the hours that
 * a rebuild may take.
 */
#include "store/repair/mend_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/ease.h"
#include "store/disk/file.h"
#include "store/parity/code.h"

void
mend_say(const struct mend *m, const char *format, ...)
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

void
mend_progress(struct mend *m, uint64_t bytes)
{
	uint64_t done = atomic_fetch_add(&m->done, bytes) + bytes;

	if (m->a->progress)
		m->a->progress(m->a->arg, done,
			       done > m->total ? done : m->total);
}

const char *
mend_path(const struct mend *m, int disk)
{
	return disk >= 0 ? m->disks->disk[disk].path : "no disk";
}

/* ---- opening ------------------------------------------------------------- */

__attribute__((format(printf, 6, 7))) static int
refuse(const struct mend *m, struct fault *fault, const char *name, int err,
       const char *why, const char *hint, ...)
{
	char text[256];
	va_list list;

	va_start(list, hint);
	vsnprintf(text, sizeof text, hint, list);
	va_end(list);
	fault_set(fault, err, err == -EBUSY ? "busy" : "refused",
		  "cannot %s %s", m->verb, name);
	fault_why(fault, "%s", why);
	fault_hint(fault, "%s", text);
	return err;
}

int
mend_fault(const struct mend *m, const char *name, int err, struct fault *fault)
{
	if (err) {
		fault_set(fault, err, err == -ENOMEM ? "no-memory" : "io",
			  "cannot %s %s", m->verb, name);
		fault_why(fault, "%s", strerror(-err));
	}
	return err;
}

static int
look_at(const struct mend *m, const char *name, struct fault *fault)
{
	if (m->rec->foreign)
		return refuse(m, fault, name, -EINVAL,
			      "another program made it",
			      "spate export reads it as it is");
	if (m->rec->facts.state == RECORDING_LIVE)
		return refuse(m, fault, name, -EBUSY, "it is being recorded",
			      "run spate %s %s when it has ended", m->verb,
			      name);
	if (m->rec->facts.state == RECORDING_INTERRUPTED)
		return refuse(m, fault, name, -ENODATA,
			      "it has no end: its recorder died, and may go on",
			      "spate recover %s closes it", name);
	if (*m->rec->refused)
		return refuse(m, fault, name, -EFBIG, m->rec->refused,
			      "move it away, and run spate %s %s again",
			      m->verb, name);
	return 0;
}

/* Says which disks do not give all lines of their metadata. */
static void
unread_say(const struct mend *m)
{
	char file[LAYOUT_FILE];

	for (unsigned i = 0; i < m->disks->n; i++) {
		const struct recording_part *part = &m->rec->part[i];

		if (part->dir < 0 || !part->meta_err)
			continue;
		m->report->failed++;
		mend_say(m, "%s on %s cannot be read to its end: %s",
			 layout_meta(file, m->rec->name), mend_path(m, (int)i),
			 disk_why(part->meta_err));
	}
}

int
mend_lock(const struct mend *m, const char *name, struct fault *fault)
{
	for (unsigned i = 0; i < m->disks->n; i++) {
		int dir = m->rec->part[i].dir;

		if (dir < 0 || !file_lock(dir, LOCK_EX | LOCK_NB))
			continue;
		if (errno == EWOULDBLOCK)
			return refuse(m, fault, name, -EBUSY,
				      "another scrub or rebuild works on it",
				      "run spate %s %s when that has ended",
				      m->verb, name);
		return mend_fault(m, name, -errno, fault);
	}
	return recording_hold(m->rec, fault);
}

int
mend_open(struct mend *m, const char *name, struct fault *fault)
{
	unsigned disk;
	int err = recording_open(&m->rec, m->disks, name, fault);

	if (err) {
		m->rec = NULL;
		return err;
	}
	err = look_at(m, name, fault);
	if (err)
		return err;
	err = recording_no_links(m->rec, &disk);
	if (err) {
		fault_set(fault, err, "refused", "cannot %s %s", m->verb, name);
		fault_why(fault, "%s/%s: %s", m->disks->disk[disk].path, name,
			  disk_why(err));
		if (disk_hint(err))
			fault_hint(fault, "%s", disk_hint(err));
		return err;
	}
	err = mend_lock(m, name, fault);
	if (err)
		return err;
	/* The recording may have changed before it was locked. */
	err = mend_fault(m, name, recording_refresh(m->rec), fault);
	if (!err)
		err = look_at(m, name, fault);
	if (!err)
		unread_say(m);
	return err;
}

void
mend_close(struct mend *m)
{
	if (m->rec)
		recording_close(m->rec);
	m->rec = NULL;
}

/* ---- reading --------------------------------------------------------------- */

int
mend_heal(const struct mend *m, const struct recording_block *b, uint8_t *data)
{
	const struct parity_member *p =
	    m->rec->parity.numbers
		? parity_find(&m->rec->parity, b->record.number)
		: NULL;
	int err;

	if (!p ||
	    parity_member_record(&m->rec->parity, p)->bytes != b->record.bytes)
		return -ENODATA;
	ease_process();
	err = recording_heal(m->rec, b, data, b->record.bytes, 0);
	ease_end();
	return err;
}

/* Reads a block from its disk, and nothing of it from its group. */
static ssize_t
raw_read(const struct mend *m, const struct recording_block *b, uint8_t *data)
{
	int fd = recording_chunk_open(m->rec, b);
	ssize_t got;

	if (fd < 0)
		return fd;
	got = read_whole(fd, data, b->record.bytes, b->at);
	file_close(fd);
	return got;
}

/* Reads a member, which has to be good; `own`: on its disk.  0 or -errno. */
static int
member_read(const struct mend *m, const struct index_record *r, uint8_t *data,
	    bool own)
{
	const struct recording_block *b;
	ssize_t got;

	if (r->number >= m->rec->blocks)
		return -ENOENT;
	b = &m->rec->block[r->number];
	if (b->record.kind != INDEX_BLOCK || b->record.bytes != r->bytes ||
	    b->record.crc != r->crc)
		return -ENOENT;
	if (own)
		got = raw_read(m, b, data);
	else
		got = recording_chunk_read(m->rec, b, data, r->bytes, 0);
	if (got != (ssize_t)r->bytes)
		return got < 0 ? (int)got : -ENODATA;
	return r->flags & INDEX_SUMMED && crc32c(0, data, r->bytes) != r->crc
		   ? -EBADMSG
		   : 0;
}

int
mend_member_check(const struct mend *m, const struct index_record *r)
{
	uint8_t *data = r->bytes <= PARITY_MOST ? malloc(r->bytes + 1) : NULL;
	int err = data ? 0 : -ENOMEM;

	ease_process();
	if (!err)
		err = member_read(m, r, data, true);
	ease_end();
	free(data);
	return err;
}

int
mend_rows_make(const struct mend *m, const struct index_record *member,
	       unsigned members, unsigned rows, struct mend_rows *w, int *bad)
{
	uint64_t most = 0;
	uint8_t *data = NULL;
	unsigned column = 0;
	int err = 0;

	*w = (struct mend_rows){ .bytes = 0 };
	/* An index may be damaged, too. */
	for (unsigned i = 0; i < members; i++) {
		if (member[i].bytes > most && member[i].bytes <= PARITY_MOST)
			most = member[i].bytes;
	}
	data = malloc(most + 1);
	for (unsigned i = 0; i < rows; i++)
		w->row[i] = calloc(1, most + 1);
	if (!data || !w->row[0] || !w->row[rows - 1])
		err = -ENOMEM;
	ease_process();
	for (unsigned i = 0; i < members && !err; i++) {
		uint64_t bytes = member[i].bytes;
		int fails = bytes > most
				? -EFBIG
				: member_read(m, &member[i], data, bad != NULL);

		if (bad)
			bad[i] = fails;
		else
			err = fails;
		if (fails)
			continue;
		parity_add(w->row, rows, column++, data, bytes);
		w->bytes = bytes > w->bytes ? bytes : w->bytes;
	}
	ease_end();
	for (unsigned i = 0; i < rows && !err; i++)
		w->crc[i] = crc32c(0, w->row[i], w->bytes);
	free(data);
	return err;
}

void
mend_rows_free(struct mend_rows *w)
{
	for (unsigned i = 0; i < PARITY_ROWS; i++)
		free(w->row[i]);
}

/* ---- writing --------------------------------------------------------------- */

/* A file gets its name when it is durable, so that no half of a chunk is ever
 * taken for one. */
int
mend_file_new(int dir, const char *file, const void *data, uint64_t bytes)
{
	int fd = file_nameless_at(dir, O_WRONLY);
	int err;

	if (fd < 0)
		return -errno;
	err = write_whole(fd, data, bytes, 0);
	if (!err && file_sync(fd) < 0)
		err = -errno;
	if (!err && file_link_at(fd, dir, file) < 0)
		err = -errno;
	if (!err && file_sync(dir) < 0)
		err = -errno;
	file_close(fd);
	return err;
}

static void
look_said(void *arg, unsigned disk, const char *file, const char *what)
{
	const struct mend *m = arg;

	mend_say(m, "%s on %s %s", file, mend_path(m, (int)disk), what);
}

int
mend_lists(struct mend *m)
{
	struct parity_look l = { .table = &m->rec->parity,
				 .dry = m->a->dry_run,
				 .say = look_said,
				 .arg = m };
	int err = 0;

	for (; m->rec->facts.parity && l.disk < m->disks->n && !err; l.disk++) {
		if (m->rec->part[l.disk].dir >= 0)
			err = parity_files_look(&l, m->rec->part[l.disk].dir,
						m->rec->name);
		if (err)
			mend_say(m, "the parity on %s cannot be mended: %s",
				 mend_path(m, (int)l.disk), disk_why(err));
	}
	m->report->parity += l.listed + l.tails + l.lists;
	m->report->failed += l.failed;
	m->report->renamed |= l.aside > 0;
	if (!err && !l.dry && (l.listed || l.lists)) {
		if (l.lists)
			recording_parity_forget(m->rec);
		err = recording_refresh(m->rec);
	}
	if (err)
		return err;
	m->report->given = m->rec->facts.computed;
	m->report->away = m->report->given;
	if (recording_disks_away(m->rec))
		m->report->away += m->rec->facts.absent;
	return 0;
}
