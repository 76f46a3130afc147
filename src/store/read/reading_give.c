/* SPDX-License-Identifier: MIT */
/*
 * Gives the bytes of a request, piece by piece:
 *
 *   in one piece in a chunk   the reader's buffer, uncopied
 *   parts of packets          copied out of that buffer
 *   in the daemon's memory    copied first: they may vanish at any time
 *   fill                      made in memory of the answer
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/read/reading_priv.h"
#include "store/recording/recording_priv.h"

enum { RAW = 1 << 20 };

/* ---- what cannot be read
 * ------------------------------------------------------- */

static int
fill(struct reading_request *q, const struct view_span *s, size_t bytes)
{
	uint8_t *to = reading_own(q);
	int err = to ? reading_let_go(q) : -ENOMEM;

	if (!err)
		err = reading_fill(q->rd, s, to, bytes);
	if (!err)
		reading_add(q, to, bytes);
	return err;
}

/* True if the error means that there is no chunk.  A pipe or a link to nowhere
 * in its place counts as none. */
static bool
is_none(int err)
{
	return err == -ENOENT || err == -ENODATA || err == -ENOTDIR ||
	       err == -ELOOP || err == -ESPIPE;
}

/* True if the chunk never existed or exists no more.  In a recording that grows
 * it may still come, until one more refresh has not brought it. */
static bool
is_gone(const struct reading_request *q, uint64_t number, int err)
{
	return is_none(err) && !q->row && (!q->live || q->gone == number + 1);
}

/* Returns the disk of a block, or -1. */
static int
disk_of(struct reading_request *q, uint64_t number)
{
	struct opened *op = q->rd->op;
	int disk = -1;

	pthread_mutex_lock(&op->lock);
	if (!op->exchanging && number < op->rec->blocks)
		disk = op->rec->block[number].disk;
	pthread_mutex_unlock(&op->lock);
	return disk;
}

static bool
is_awaited(struct reading_request *q, uint64_t number)
{
	struct opened *op = q->rd->op;
	bool awaited;

	pthread_mutex_lock(&op->lock);
	awaited = op->exchanging || recording_is_awaited(op->rec, number);
	pthread_mutex_unlock(&op->lock);
	return awaited;
}

/*
 * Waits for a block that was in memory a moment ago and is being written.  A
 * block that was not announced may just have been written: it is tried once
 * more.  True: try again.
 */
static bool
comes_soon(struct reading_request *q, uint64_t number, int err)
{
	enum { WAIT_NS = 20000000 };
	int64_t now = clock_steady();

	if (!q->live || (err != -ENOENT && err != -ENODATA && err != -EAGAIN) ||
	    (err != -EAGAIN && q->gone == number + 1))
		return false;
	if (!q->until)
		q->until = now + q->rd->op->set->patience;
	if (now > q->until || reading_let_go(q))
		return false;
	if (err == -EAGAIN || is_awaited(q, number))
		nanosleep(&(struct timespec){ .tv_nsec = WAIT_NS }, NULL);
	else
		q->gone = number + 1;
	opened_refresh(q->rd->op, 0);
	return true;
}

/* Handles bytes that cannot be read.  Returns 0 if they were filled or shall be
 * tried again; else the error. */
static int
give_bad(struct reading_request *q, const struct view_span *s, uint64_t bytes,
	 int err)
{
	size_t n = bytes < q->left ? (size_t)bytes : q->left;
	int disk = disk_of(q, s->number);

	if (comes_soon(q, s->number, err))
		return 0;
	if (!is_gone(q, s->number, err)) {
		q->counts.unreadable_bytes += n;
		if (disk >= 0)
			opened_tell(q->rd->op, disk, err);
	}
	if (!is_gone(q, s->number, err) && (!q->rd->fills || q->row))
		return err;
	q->counts.filled_bytes += n;
	q->a->passing = true;
	return fill(q, s, n);
}

/* True if the span is filled only because a disk that hangs is left out. */
static bool
is_unknown(struct reading_request *q, const struct view_span *s)
{
	struct opened *op = q->rd->op;
	bool unknown = false;

	pthread_mutex_lock(&op->lock);
	if (op->lame && !op->exchanging && s->number < op->rec->blocks)
		unknown =
		    op->rec->block[s->number].record.kind == RECORDING_ABSENT;
	pthread_mutex_unlock(&op->lock);
	return unknown;
}

/* ---- from memory
 * ------------------------------------------------------------------ */

static bool
copy_live(struct reading_request *q, uint64_t number, uint64_t at,
	  uint64_t bytes, void *to)
{
	const struct opened_hooks *h = &q->rd->op->set->hooks;

	if (!q->live || !h->copy ||
	    !h->copy(h->arg, q->rd->op->name, number, at, bytes, to))
		return false;
	q->counts.live_bytes += bytes;
	return true;
}

/* ---- in one piece
 * ------------------------------------------------------------------ */

static int
give_view(struct reading_request *q, struct reader_view *v)
{
	struct reading_answer *a = q->a;
	uint8_t *to;

	/* Keep one part for the answer's own memory. */
	if (a->views < READING_PARTS && a->parts < READING_PARTS - 1) {
		a->view[a->views++] = *v;
		reading_add(q, v->data, v->bytes);
		return 0;
	}
	to = reading_own(q);
	if (to) {
		memcpy(to, v->data, v->bytes);
		reading_add(q, to, v->bytes);
	}
	reader_put(q->rd->op->reader, v);
	return to ? 0 : -ENOMEM;
}

static int
give_plain(struct reading_request *q, const struct view_span *s, size_t bytes)
{
	uint8_t *to = q->live ? reading_own(q) : NULL;
	struct reader_view v;
	int err;

	if (to && copy_live(q, s->number, s->at, bytes, to)) {
		reading_add(q, to, bytes);
		return 0;
	}
	err = reading_get(q, s->number, s->at, bytes, &v);
	if (err)
		return err;
	if (!v.err)
		return give_view(q, &v);
	reader_put(q->rd->op->reader, &v);
	return give_bad(q, s, v.bytes < bytes ? v.bytes : bytes, v.err);
}

/* ---- parts of packets
 * ---------------------------------------------------------------- */

/* Returns the largest n such that n bytes of the view lie within the first
 * `raw` bytes of the block; at least 1. */
static uint64_t
part_of(const struct view_span *s, uint64_t raw)
{
	uint64_t low = 1, high = raw + 1;

	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;

		if (view_reach(s, middle) <= raw)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static int
give_copied(struct reading_request *q, const struct view_span *s,
	    const uint8_t *data, uint64_t raw, size_t bytes)
{
	uint8_t *to = reading_own(q);

	if (!to)
		return -ENOMEM;
	reading_add(q, to, view_gather(s, data, raw, to, bytes));
	return 0;
}

/* Copies parts of packets straight from the reader's buffers. */
static int
give_parts(struct reading_request *q, const struct view_span *s, size_t bytes)
{
	uint64_t raw = view_reach(s, bytes);
	struct reader_view v;
	int err = reading_get(q, s->number, s->at, raw, &v);

	if (err)
		return err;
	if (!v.err)
		err = give_copied(q, s, v.data, v.bytes, bytes);
	reader_put(q->rd->op->reader, &v);
	return v.err ? give_bad(q, s, part_of(s, v.bytes), v.err) : err;
}

/* Collects whole packets in q->raw, from the beginning of the span's first
 * packet.  Returns how many bytes; *bad: the error behind them. */
static int64_t
collect(struct reading_request *q, const struct view_span *s, uint64_t want,
	int *bad)
{
	uint64_t from = s->at - s->lead, have = 0;
	struct reader_view v;
	int err = 0;

	*bad = 0;
	if (copy_live(q, s->number, from, want, q->raw))
		return (int64_t)want;
	while (have < want && !*bad && !err) {
		err = reading_get(q, s->number, from + have, want - have, &v);
		if (err)
			return err;
		*bad = v.err;
		if (!v.err)
			memcpy(q->raw + have, v.data, v.bytes);
		if (!v.err)
			have += v.bytes;
		reader_put(q->rd->op->reader, &v);
	}
	return (int64_t)have;
}

/*
 * Gives parts of packets by way of a copy of whole packets: with a view of one
 * thread, to check their headers; while recording, as they may be in memory or
 * on disk.
 */
static int
give_packets(struct reading_request *q, const struct view_span *s, size_t bytes)
{
	uint64_t want = reading_want(q->rd, s, bytes);
	int64_t have, good;
	int bad;

	if (want > (uint64_t)RAW + s->lead)
		want = (uint64_t)RAW + s->lead;
	if (q->raw_bytes < want) {
		free(q->raw);
		q->raw = malloc(want);
		q->raw_bytes = q->raw ? want : 0;
	}
	if (!q->raw)
		return -ENOMEM;
	have = collect(q, s, want, &bad);
	if (have < 0)
		return (int)have;
	good = reading_check(q->rd, s, q->raw, (uint64_t)have);
	if (good == -EBADMSG) {
		if (!atomic_exchange(&q->rd->told, true))
			log_line(LEVEL_WARN, q->rd->op->name,
				 "block %llu has packets of another thread "
				 "where those of this one should be: such are "
				 "not shown",
				 (unsigned long long)s->number);
		q->counts.unreadable_bytes += bytes;
		return -EIO;
	}
	if (good <= (int64_t)s->lead)
		return give_bad(q, s, s->take - s->passed, bad ? bad : -EIO);
	return give_copied(q, s, q->raw + s->lead, (uint64_t)good - s->lead,
			   bytes);
}

/* ---- the request
 * ----------------------------------------------------------------------- */

static int
give_data(struct reading_request *q, const struct view_span *s, size_t bytes)
{
	bool thread = view_choice(q->rd->view)->thread >= 0;

	if (thread || (s->step && q->live))
		return give_packets(q, s, bytes);
	return s->step ? give_parts(q, s, bytes) : give_plain(q, s, bytes);
}

int
reading_give(struct reading_request *q)
{
	struct view_span s;
	int err = reading_find(q->rd, q->offset, &s);
	size_t bytes;

	if (err == -EAGAIN && comes_soon(q, 0, err))
		return 0;
	if (err)
		return err;
	bytes = s.bytes < q->left ? (size_t)s.bytes : q->left;
	if (s.kind == VIEW_DATA)
		return give_data(q, &s, bytes);
	if (s.kind == VIEW_LOST || is_unknown(q, &s))
		return give_bad(q, &s, bytes, -ETIMEDOUT);
	return fill(q, &s, bytes);
}
