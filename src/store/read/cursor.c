/* SPDX-License-Identifier: MIT */
/*
 * A request belongs to a stretch of readahead, which says how far to read
 * ahead, and then span after span of the view: where its bytes are in the
 * recording, and how to give them.  The last span is remembered, because a span
 * within a chunk serves many requests.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/read/cursor.h"
#include "store/read/open_recordings_priv.h"
#include "store/read/readahead.h"
#include "store/recording/recording_priv.h"

#define LOOK (NS_SECOND / 5) /* between refreshes of a recording that grows */

/*
 * A view is used by one thread at a time: under the recording's lock, for as
 * long as arithmetic takes, or, while it is marked as busy, by the recording's
 * thread.  A view that may have to read metadata is used by that thread only.
 * Fill is always made by that thread, from a view of its own: so a caller that
 * waits for fill delays no reader.
 */
struct cursor {
	struct open_recording *op;
	bool by_thread;	  /* the view may wait for a disk: used by the
			     recording's thread only */
	bool fills;	  /* fill what a disk refuses to read */
	atomic_bool told; /* logged: packets of another thread */
	struct pool_position position[READAHEAD_STRETCHES];
	struct view *view;
	struct view *filler; /* owned by the recording's thread; made when
				needed */

	/* ---- under open_recording::lock */
	struct cursor *next; /* open_recording::cursor */
	uint64_t turn;	     /* open_recording::turn at its last refresh */
	unsigned refs;	     /* the opener, and jobs */
	bool busy;	     /* the recording's thread refreshes its view */
	uint64_t bytes;	     /* length of the view */
	struct readahead readahead;
	uint64_t
	    ahead[READAHEAD_STRETCHES]; /* read-ahead in bytes, as set for each
				   position */
	struct view_span span;		/* span found last, */
	uint64_t span_at;		/* offset of that span in the view */
};

/* A request: one call of cursor_read(). */
struct cursor_request {
	struct cursor *c;
	struct cursor_answer *a;
	struct pool_position *position;
	uint64_t offset;
	size_t left, most; /* bytes: still to give; asked for */
	bool live, row;
	int64_t until; /* steady ns until which to wait for blocks that are not
			  on disk yet; 0: not waited yet */
	struct view_span span; /* span found last, */
	uint64_t span_at;      /* offset of that span in the view */
	uint64_t gone; /* number + 1 of the block that was tried again and did
			  not come */
	uint8_t *raw;  /* scratch for packets of which parts are wanted */
	uint64_t raw_bytes;
	struct open_recording_counts counts;
};

static void
drop(struct cursor *c)
{
	struct open_recording *op = c->op;
	bool last;

	pthread_mutex_lock(&op->lock);
	last = --c->refs == 0;
	pthread_mutex_unlock(&op->lock);
	if (!last)
		return;
	view_free(c->view);
	view_free(c->filler);
	free(c);
	open_recording_drop(op);
}

/* ---- the answer ---------------------------------------------------------- */

/*
 * The answer to a request: bytes in the reader's buffers, and bytes in memory
 * of its own.  The latter has room for the whole answer, with each byte in its
 * place, so what is in buffers can be copied there at any time.  That is done
 * before the request waits for a disk or for another buffer: a waiting request
 * holds no buffer, or else several that wait for one more might hold them all.
 */

/* Appends bytes to the answer. */
static void
answer_add(struct cursor_request *q, const uint8_t *data, size_t bytes)
{
	struct cursor_answer *a = q->a;
	struct iovec *last = a->parts ? &a->iov[a->parts - 1] : NULL;

	if (last && (uint8_t *)last->iov_base + last->iov_len == data)
		last->iov_len += bytes;
	else
		a->iov[a->parts++] =
		    (struct iovec){ (void *)(uintptr_t)data, bytes };
	a->bytes += bytes;
	q->offset += bytes;
	q->left -= bytes;
}

/*
 * Returns where the next bytes go in the answer's own memory; NULL: no memory.
 */
static uint8_t *
answer_own(struct cursor_request *q)
{
	if (!q->a->own)
		q->a->own = malloc(q->most);
	return q->a->own ? q->a->own + q->a->bytes : NULL;
}

/* Copies what the answer has in cache buffers to its own memory, and puts the
 * buffers.  Returns 0 or -ENOMEM. */
static int
answer_let_go(struct cursor_request *q)
{
	struct cursor_answer *a = q->a;
	size_t at = 0;

	if (!a->views)
		return 0;
	if (!answer_own(q))
		return -ENOMEM;
	for (unsigned i = 0; i < a->parts; i++) {
		if (a->iov[i].iov_base != a->own + at)
			memcpy(a->own + at, a->iov[i].iov_base,
			       a->iov[i].iov_len);
		at += a->iov[i].iov_len;
	}
	for (unsigned i = 0; i < a->views; i++)
		pool_put(q->c->op->reader, &a->view[i]);
	a->iov[0] = (struct iovec){ a->own, at };
	a->parts = 1;
	a->views = 0;
	return 0;
}

/*
 * As pool_get(), or with `own` as pool_get_live(), but holds none of the
 * answer's buffers while it waits, and waits as long as the patience.  Bytes
 * that are not there come back as a bad stretch.
 */
static int
get_stretch(struct cursor_request *q, uint64_t number, uint64_t at,
	    uint64_t bytes, void *own, struct pool_stretch *v)
{
	int64_t until = clock_steady() + q->c->op->set->patience + NS_SECOND;
	int64_t first = q->a->views ? 0 : until;
	int err =
	    own ? pool_get_live(q->position, number, at, bytes, own, v, first)
		: pool_get(q->position, number, at, bytes, v, first);

	if (err == -ETIMEDOUT && q->a->views) {
		err = answer_let_go(q);
		if (!err)
			err =
			    pool_get(q->position, number, at, bytes, v, until);
	}
	if (err != -ENODATA && err != -ETIMEDOUT)
		return err;
	/* The chunk ends before this, or is missing, or its disk hangs. */
	*v = (struct pool_stretch){ .at = at, .bytes = bytes, .err = err };
	return 0;
}

void
cursor_done(struct cursor *c, struct cursor_answer *a)
{
	for (unsigned i = 0; i < a->views; i++)
		pool_put(c->op->reader, &a->view[i]);
	free(a->own);
	a->own = NULL;
	a->parts = a->views = 0;
	a->bytes = 0;
}

/* ---- the views ----------------------------------------------------------- */

/*
 * The views of a cursor, and who may use them when: the recording's thread, or
 * a reader under the recording's lock.  Jobs of that thread hold a reference of
 * the cursor, because the thread may come back long after its caller has given
 * up.
 */

struct cursor_job {
	struct open_recording_job job;
	struct cursor *c;
	struct view_choice choice;
	struct fault fault;
	struct view_span span;
	uint64_t offset;
	size_t bytes;
	uint8_t data[];
};

static void
clear_job(struct open_recording_job *job)
{
	drop(((struct cursor_job *)job)->c);
	free(job);
}

static struct cursor_job *
make_job(struct cursor *c,
	 int (*run)(struct open_recording *, struct open_recording_job *),
	 size_t bytes)
{
	struct cursor_job *j = calloc(1, sizeof *j + bytes);

	if (!j)
		return NULL;
	j->job.run = run;
	j->job.clear = clear_job;
	j->job.refs = 1;
	j->c = c;
	j->bytes = bytes;
	pthread_mutex_lock(&c->op->lock);
	c->refs++;
	pthread_mutex_unlock(&c->op->lock);
	return j;
}

static int
run_make(struct open_recording *op, struct open_recording_job *job)
{
	struct cursor_job *j = (struct cursor_job *)job;

	j->c->turn = op->turn;
	return view_make(&j->c->view, op->rec, &j->choice, &j->fault);
}

/* Makes its view.  Returns as cursor_open(). */
static int
make_view(struct cursor *c, const struct view_choice *choice,
	  struct fault *fault)
{
	struct cursor_job *j = make_job(c, run_make, 0);
	int err = -ENOMEM;

	if (j) {
		j->choice = *choice;
		err = open_recording_await(c->op, &j->job);
	}
	if (err == -ETIMEDOUT || !j) {
		fault_set(fault, err, "io", "cannot read recording %s",
			  c->op->name);
		fault_why(fault, j ? "a disk does not answer" : "no memory");
	} else if (err) {
		*fault = j->fault;
	}
	if (j)
		open_recording_job_put(c->op, &j->job);
	return err;
}

static void
refresh_one(struct cursor *c)
{
	struct open_recording *op = c->op;
	int err;

	pthread_mutex_lock(&op->lock);
	c->busy = true;
	pthread_mutex_unlock(&op->lock);
	err = view_refresh(c->view);
	if (c->filler && !err)
		err = view_refresh(c->filler);
	pthread_mutex_lock(&op->lock);
	if (!err)
		c->bytes = view_bytes(c->view);
	c->busy = false;
	pthread_cond_broadcast(&op->done);
	pthread_mutex_unlock(&op->lock);
}

/* Returns the next file that was not refreshed in this turn, with a reference:
 * it may be closed meanwhile. */
static struct cursor *
next_of(struct open_recording *op, uint64_t turn)
{
	struct cursor *c;

	pthread_mutex_lock(&op->lock);
	c = op->cursor;
	while (c && c->turn == turn)
		c = c->next;
	if (c) {
		c->turn = turn;
		c->refs++;
	}
	pthread_mutex_unlock(&op->lock);
	return c;
}

void
cursors_refresh(struct open_recording *op)
{
	struct cursor *c;
	uint64_t turn;

	pthread_mutex_lock(&op->lock);
	turn = ++op->turn;
	pthread_mutex_unlock(&op->lock);
	while ((c = next_of(op, turn))) {
		refresh_one(c);
		drop(c);
	}
}

static int
run_refresh(struct open_recording *op, struct open_recording_job *job)
{
	(void)op;
	refresh_one(((struct cursor_job *)job)->c);
	return 0;
}

/* Refreshes the view of a cursor that was not in the list yet when the
 * recording was refreshed: that may have been the last time. */
static void
catch_up(struct cursor *c)
{
	struct cursor_job *j = make_job(c, run_refresh, 0);

	if (!j)
		return;
	open_recording_await(c->op, &j->job);
	open_recording_job_put(c->op, &j->job);
}

static int
run_find(struct open_recording *op, struct open_recording_job *job)
{
	struct cursor_job *j = (struct cursor_job *)job;

	(void)op;
	return view_find(j->c->view, j->offset, &j->span);
}

static int
find_by_thread(struct cursor *c, uint64_t offset, struct view_span *s)
{
	struct cursor_job *j = make_job(c, run_find, 0);
	int err;

	if (!j)
		return -ENOMEM;
	j->offset = offset;
	err = open_recording_await(c->op, &j->job);
	if (!err)
		*s = j->span;
	open_recording_job_put(c->op, &j->job);
	return err;
}

/* Finds a span in the view, which needs no disk.  The lock keeps the view and
 * the recording as they are.  Under open_recording::lock. */
static int
find_here(struct cursor *c, uint64_t offset, struct view_span *s)
{
	struct open_recording *op = c->op;
	int64_t until = clock_steady() + op->set->patience;
	struct timespec at = { until / NS_SECOND, until % NS_SECOND };
	int err = 0;

	while (!err && c->busy)
		err = -pthread_cond_timedwait(&op->done, &op->lock, &at);
	return err ? err : view_find(c->view, offset, s);
}

static bool
is_in_span(uint64_t offset, const struct view_span *s, uint64_t at)
{
	return offset >= at && offset - at < s->bytes;
}

/* As view_find(), for the request's offset; -ETIMEDOUT if a disk does not
 * answer. */
static int
find_span(struct cursor_request *q, struct view_span *s)
{
	struct cursor *c = q->c;
	int err = 0;

	if (!is_in_span(q->offset, &q->span, q->span_at)) {
		if (c->by_thread)
			err = find_by_thread(c, q->offset, s);
		pthread_mutex_lock(&c->op->lock);
		if (!c->by_thread)
			err = find_here(c, q->offset, s);
		if (!err) {
			c->span = q->span = *s;
			c->span_at = q->span_at = q->offset;
		}
		pthread_mutex_unlock(&c->op->lock);
		return err;
	}
	*s = q->span;
	view_pass(s, q->offset - q->span_at);
	return 0;
}

static int
run_fill(struct open_recording *op, struct open_recording_job *job)
{
	struct cursor_job *j = (struct cursor_job *)job;
	struct cursor *c = j->c;
	int err = 0;

	pool_reader_watch(
	    op->reader); /* keeps fill from being learned from disks
				     that hang */
	if (!c->filler)
		err = view_make(&c->filler, op->rec, view_choice(c->view),
				&j->fault);
	if (!err)
		err = view_fill_bytes(c->filler, &j->span, j->data, j->bytes);
	return err;
}

/* As view_fill_bytes(); -ETIMEDOUT if a disk does not answer. */
static int
make_fill(struct cursor *c, const struct view_span *s, void *to, size_t bytes)
{
	struct cursor_job *j = make_job(c, run_fill, bytes);
	int err;

	if (!j)
		return -ENOMEM;
	j->span = *s;
	err = open_recording_await(c->op, &j->job);
	if (!err)
		memcpy(to, j->data, bytes);
	open_recording_job_put(c->op, &j->job);
	return err;
}

/* ---- giving bytes -------------------------------------------------------- */

/*
 * Gives the bytes of a request, piece by piece:
 *
 *   in one piece in a chunk   the reader's buffer, uncopied
 *   parts of packets          copied out of that buffer
 *   in the daemon's memory    copied first: they may vanish at any time
 *   fill                      made in memory of the answer
 */

enum { RAW = 1 << 20 };

static int
give_fill(struct cursor_request *q, const struct view_span *s, size_t bytes)
{
	uint8_t *to = answer_own(q);
	int err = to ? answer_let_go(q) : -ENOMEM;

	if (!err)
		err = make_fill(q->c, s, to, bytes);
	if (err)
		return err;
	answer_add(q, to, bytes);
	q->a->filled += bytes;
	return 0;
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
is_gone(const struct cursor_request *q, uint64_t number, int err)
{
	return is_none(err) && !q->row && (!q->live || q->gone == number + 1);
}

/* True if the disk does not give this for now; false for errors of the
 * system. */
static bool
is_lost(int err)
{
	return recording_lost_chunk(err) || err == -ENODATA;
}

/* True if data is filled that is there but cannot be read. */
static bool
is_filled(const struct cursor_request *q, int err)
{
	if (q->row)
		return false;
	if (q->c->op->set->once)
		return is_lost(err);
	return q->c->fills;
}

/* Returns the disk of a block, or -1. */
static int
disk_of(struct cursor_request *q, uint64_t number)
{
	struct open_recording *op = q->c->op;
	int disk = -1;

	pthread_mutex_lock(&op->lock);
	if (number < op->rec->blocks)
		disk = op->rec->block[number].disk;
	pthread_mutex_unlock(&op->lock);
	return disk;
}

static bool
is_awaited(struct cursor_request *q, uint64_t number)
{
	struct open_recording *op = q->c->op;
	bool awaited;

	pthread_mutex_lock(&op->lock);
	awaited = recording_is_awaited(op->rec, number);
	pthread_mutex_unlock(&op->lock);
	return awaited;
}

/*
 * Waits for a block that was in memory a moment ago and is being written.  A
 * block that was not announced may just have been written: it is tried once
 * more.  True: try again.
 */
static bool
comes_soon(struct cursor_request *q, uint64_t number, int err)
{
	enum { WAIT_NS = 20000000 };
	int64_t now = clock_steady();

	if (!q->live || (err != -ENOENT && err != -ENODATA && err != -EAGAIN) ||
	    (err != -EAGAIN && q->gone == number + 1))
		return false;
	if (!q->until)
		q->until = now + q->c->op->set->patience;
	if (now > q->until || answer_let_go(q))
		return false;
	if (err == -EAGAIN || is_awaited(q, number))
		nanosleep(&(struct timespec){ .tv_nsec = WAIT_NS }, NULL);
	else
		q->gone = number + 1;
	open_recording_refresh(q->c->op, 0);
	return true;
}

/* Handles bytes that cannot be read.  Returns 0 if they were filled or shall be
 * tried again; else the error. */
static int
give_bad(struct cursor_request *q, const struct view_span *s, uint64_t bytes,
	 int err)
{
	size_t n = bytes < q->left ? (size_t)bytes : q->left;
	int disk = disk_of(q, s->number);

	if (comes_soon(q, s->number, err))
		return 0;
	if (!is_gone(q, s->number, err)) {
		q->counts.unreadable_bytes += n;
		if (disk >= 0)
			open_recording_log(q->c->op, disk, err);
	}
	if (!is_gone(q, s->number, err) && !is_filled(q, err))
		return err;
	q->counts.filled_bytes += n;
	q->a->passing = true;
	return give_fill(q, s, n);
}

/* True if the span is filled only because a disk that hangs is left out. */
static bool
is_unknown(struct cursor_request *q, const struct view_span *s)
{
	struct open_recording *op = q->c->op;
	bool unknown = false;

	pthread_mutex_lock(&op->lock);
	if (op->partial && s->number < op->rec->blocks)
		unknown =
		    op->rec->block[s->number].record.kind == RECORDING_ABSENT;
	pthread_mutex_unlock(&op->lock);
	return unknown;
}

static int
give_view(struct cursor_request *q, struct pool_stretch *v)
{
	struct cursor_answer *a = q->a;
	uint8_t *to;

	/* Keep one part for the answer's own memory. */
	if (a->views < CURSOR_PARTS && a->parts < CURSOR_PARTS - 1) {
		a->view[a->views++] = *v;
		answer_add(q, v->data, v->bytes);
		return 0;
	}
	to = answer_own(q);
	if (to) {
		memcpy(to, v->data, v->bytes);
		answer_add(q, to, v->bytes);
	}
	pool_put(q->c->op->reader, v);
	return to ? 0 : -ENOMEM;
}

static int
give_plain(struct cursor_request *q, const struct view_span *s, size_t bytes)
{
	uint8_t *own = q->live ? answer_own(q) : NULL;
	struct pool_stretch v;
	int err = get_stretch(q, s->number, s->at, bytes, own, &v);

	if (err)
		return err;
	if (!v.err && v.data == own) {
		answer_add(q, own, bytes);
		return 0;
	}
	if (!v.err)
		return give_view(q, &v);
	pool_put(q->c->op->reader, &v);
	return give_bad(q, s, v.bytes < bytes ? v.bytes : bytes, v.err);
}

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
give_copied(struct cursor_request *q, const struct view_span *s,
	    const uint8_t *data, uint64_t raw, size_t bytes)
{
	uint8_t *to = answer_own(q);

	if (!to)
		return -ENOMEM;
	answer_add(q, to, view_gather(s, data, raw, to, bytes));
	return 0;
}

/* Copies parts of packets straight from the reader's buffers. */
static int
give_parts(struct cursor_request *q, const struct view_span *s, size_t bytes)
{
	uint64_t raw = view_reach(s, bytes);
	struct pool_stretch v;
	int err = get_stretch(q, s->number, s->at, raw, NULL, &v);

	if (err)
		return err;
	if (!v.err)
		err = give_copied(q, s, v.data, v.bytes, bytes);
	pool_put(q->c->op->reader, &v);
	return v.err ? give_bad(q, s, part_of(s, v.bytes), v.err) : err;
}

/* Collects whole packets in q->raw, from the beginning of the span's first
 * packet.  Returns how many bytes; *bad: the error behind them. */
static int64_t
collect(struct cursor_request *q, const struct view_span *s, uint64_t want,
	int *bad)
{
	uint64_t from = s->at - s->lead, have = 0;
	struct pool_stretch v;
	int err = 0;

	*bad = 0;
	while (have < want && !*bad && !err) {
		uint8_t *to = q->raw + have;

		err = get_stretch(q, s->number, from + have, want - have,
				  q->live ? to : NULL, &v);
		if (err)
			return err;
		*bad = v.err;
		if (!v.err && v.data != to)
			memcpy(to, v.data, v.bytes);
		if (!v.err)
			have += v.bytes;
		pool_put(q->c->op->reader, &v);
	}
	return (int64_t)have;
}

/*
 * Gives parts of packets by way of a copy of whole packets: with a view of one
 * thread, to check their headers; while recording, as they may be in memory or
 * on disk.
 */
static int
give_packets(struct cursor_request *q, const struct view_span *s, size_t bytes)
{
	uint64_t want = view_want(q->c->view, s, bytes);
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
	good = view_check(q->c->view, s, q->raw, (uint64_t)have);
	if (good == -EBADMSG) {
		if (!atomic_exchange(&q->c->told, true))
			log_line(LEVEL_WARN, q->c->op->name,
				 "block %llu has packets of other threads "
				 "among those of thread %d: reading them is an "
				 "I/O error",
				 (unsigned long long)s->number,
				 view_choice(q->c->view)->thread);
		q->counts.unreadable_bytes += bytes;
		return -EIO;
	}
	if (good <= (int64_t)s->lead)
		return give_bad(q, s, s->take - s->passed, bad ? bad : -EIO);
	return give_copied(q, s, q->raw + s->lead, (uint64_t)good - s->lead,
			   bytes);
}

static int
give_data(struct cursor_request *q, const struct view_span *s, size_t bytes)
{
	bool thread = view_choice(q->c->view)->thread >= 0;

	if (thread || (s->step && q->live))
		return give_packets(q, s, bytes);
	return s->step ? give_parts(q, s, bytes) : give_plain(q, s, bytes);
}

/* Gives the next bytes of the answer.  Returns 0 if there may be more; -ENODATA
 * at the end. */
static int
give(struct cursor_request *q)
{
	struct view_span s;
	int err = find_span(q, &s);
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
	return give_fill(q, &s, bytes);
}

/* ---- opening and closing ------------------------------------------------- */

static struct cursor *
make(struct open_recording *op, const struct view_choice *choice)
{
	struct cursor *c = calloc(1, sizeof *c);

	if (!c)
		return NULL;
	c->op = op;
	c->refs = 1;
	c->fills = choice->fill == VIEW_INVALID || choice->fill == VIEW_ZERO;
	c->by_thread = choice->fill != VIEW_STORED || choice->thread >= 0;
	pthread_mutex_lock(&op->lock);
	op->refs++;
	pthread_mutex_unlock(&op->lock);
	return c;
}

int
cursor_open(struct cursor **file, struct open_recording *op,
	    const struct view_choice *choice, struct fault *fault)
{
	struct view_choice fits = *choice;
	struct open_recording_facts facts;
	struct cursor *c;
	bool late;
	int err;

	open_recording_facts(op, &facts);
	view_settle(&fits, facts.store);
	c = make(op, &fits);
	if (!c)
		return fault_no_memory(fault);
	err = make_view(c, &fits, fault);
	if (err) {
		drop(c);
		return err;
	}
	for (unsigned i = 0; i < READAHEAD_STRETCHES; i++) {
		pool_position_begin(&c->position[i], op->reader, (int)fits.sub,
				    op->set->once ? POOL_SEQUENTIAL
						  : POOL_MANAGED);
	}
	pthread_mutex_lock(&op->lock);
	c->bytes = view_bytes(c->view);
	late = c->turn != op->turn;
	c->next = op->cursor;
	op->cursor = c;
	pthread_mutex_unlock(&op->lock);
	if (late)
		catch_up(c);
	*file = c;
	return 0;
}

void
cursor_close(struct cursor *c)
{
	struct cursor **link;

	if (!c)
		return;
	pthread_mutex_lock(&c->op->lock);
	for (link = &c->op->cursor; *link != c;)
		link = &(*link)->next;
	*link = c->next;
	pthread_mutex_unlock(&c->op->lock);
	for (unsigned i = 0; i < READAHEAD_STRETCHES; i++)
		pool_position_end(&c->position[i]);
	drop(c);
}

uint64_t
cursor_bytes(struct cursor *c)
{
	uint64_t bytes;

	pthread_mutex_lock(&c->op->lock);
	bytes = c->bytes;
	pthread_mutex_unlock(&c->op->lock);
	return bytes;
}

/* ---- reading ------------------------------------------------------------- */

/* Chooses the position of the request's stretch.  Returns its read-ahead in
 * bytes, or UINT64_MAX if that is as before.  Under open_recording::lock. */
static uint64_t
follow(struct cursor_request *q)
{
	struct cursor *c = q->c;
	unsigned i = readahead_step(&c->readahead, q->offset, q->left);
	uint64_t ahead = readahead_bytes(&c->readahead.stretch[i]);

	/* The parts of packets that the view leaves out are read, too. */
	if (c->span.step)
		ahead = ahead / c->span.take * c->span.step;
	/* More than there is memory is no news for the pool. */
	if (ahead > c->op->set->cache)
		ahead = c->op->set->cache;
	q->position = &c->position[i];
	if (ahead == c->ahead[i])
		return UINT64_MAX;
	c->ahead[i] = ahead;
	return ahead;
}

static bool
is_beyond(const struct cursor *c, uint64_t offset, size_t bytes)
{
	return c->bytes < offset || c->bytes - offset < bytes;
}

/*
 * Sets how many of the bytes exist, the position, and the span if it is that of
 * the last request.  A recording that grows is refreshed before some bytes are
 * said not to exist.  A request for bytes in a buffer takes the recording's
 * lock here and nowhere else, unless it begins another span.
 */
static void
begin(struct cursor_request *q, size_t bytes)
{
	struct cursor *c = q->c;
	struct open_recording *op = c->op;
	uint64_t ahead = UINT64_MAX;

	pthread_mutex_lock(&op->lock);
	if (is_beyond(c, q->offset, bytes)) {
		pthread_mutex_unlock(&op->lock);
		/* On failure, what was seen before stays. */
		open_recording_refresh(op, LOOK);
		pthread_mutex_lock(&op->lock);
	}
	if (is_beyond(c, q->offset, bytes))
		bytes = c->bytes > q->offset ? c->bytes - q->offset : 0;
	q->most = q->left = bytes;
	q->position = &c->position[0];
	if (bytes) {
		if (!op->set->once)
			ahead = follow(q);
		/* The span of the last request may serve this one, too. */
		q->span = c->span;
		q->span_at = c->span_at;
		q->live = op->facts.state == RECORDING_LIVE && !op->set->once;
		q->row = op->facts.store == HEAP_ROW;
	}
	pthread_mutex_unlock(&op->lock);
	if (ahead != UINT64_MAX)
		pool_position_set_ahead(q->position, ahead);
}

static void
add_to(atomic_uint_fast64_t *count, uint64_t bytes)
{
	if (bytes)
		atomic_fetch_add_explicit(count, bytes, memory_order_relaxed);
}

static void
count(const struct cursor_request *q)
{
	struct open_recording_sums *sums = &q->c->op->sums;

	add_to(&sums->bytes, q->a->bytes);
	add_to(&sums->unreadable, q->counts.unreadable_bytes);
	add_to(&sums->filled, q->counts.filled_bytes);
}

int
cursor_read(struct cursor *c, uint64_t offset, size_t bytes,
	    struct cursor_answer *a)
{
	struct cursor_request q = {
		.c = c,
		.a = a,
		.offset = offset,
	};
	int err = 0;

	a->parts = a->views = 0;
	a->bytes = 0;
	a->own = NULL;
	a->passing = false;
	a->filled = 0;
	begin(&q, bytes);
	while (q.left && !err && !(c->op->set->once && a->parts))
		err = give(&q);
	free(q.raw);
	if (err == -ENODATA)
		err = 0;
	count(&q);
	if (err)
		cursor_done(c, a);
	a->err = err;
	a->lost = is_lost(err);
	return !err || err == -ENOMEM ? err : -EIO;
}
