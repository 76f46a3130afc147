/* SPDX-License-Identifier: MIT */
/*
 * Several threads, one window.
 *
 * Nearly every packet has a slot in a block that is open already.  For those,
 * threads need nothing from each other: the thread that sets the presence bit
 * of a slot owns its bytes, and copies its packet there.  It holds the window
 * lock for reading meanwhile: while any reader is inside, the window stays
 * where it is and no block leaves it.  A thread adds its sums to the blocks
 * when it leaves the window lock, once per batch.
 *
 * All else is rare: the first packet of a block, one that moves the window, a
 * run that may begin, a duplicate that may be an echo, age, the end, a frame of
 * two packets whose samples are wanted.  It is left to slots.c, which knows
 * nothing of threads, and is called with the window lock held for writing, when
 * no other thread is inside.  So slots.c finds all sums complete, and may close
 * any block.
 *
 *   batch -> [read: slots, by bit and copy] -> [write: what is left]
 *
 * Adding up by atomics was rejected: a block that is closed while other threads
 * copy into it is neither full nor empty, and all that slots.c knows about its
 * blocks would become a guess.  The wait at the window lock is one batch of the
 * other threads, once per block.
 */
#include "flow/slots/shared.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "flow/place/time_window.h"
#include "flow/place/learn.h"
#include "flow/memory/frame_ring.h"
#include "flow/slots/slots_priv.h"

#define SHARED_PATIENCE 100000000ll /* ns */
#define SHARED_SILENCE	60000000ll  /* ns; an empty ring has no older packet */
#define SHARED_NEVER	INT64_MAX   /* time of a packet without a stamp */

struct shared;

/* Packets that a thread put into one of the open blocks and has not yet added
 * to the block's own sums. */
struct tally {
	uint32_t filled, used;
	int64_t first_ns, last_ns; /* arrival, UTC */
};

struct handle {
	struct placement base;
	struct shared *shared;
	struct scratch *scratch;

	/* State of one batch; the thread's own. */
	struct prediction *prediction; /* that of the batch's source */
	int64_t now_ns, now;
	struct arrival arrival; /* copy of shared::arrival for this batch */
	/* Packets for slots.c. */
	const struct receive_packet *left[RECEIVE_BATCH];
	unsigned lefts;
	unsigned sure; /* leading packets of `left` that cannot be an echo */
	struct tally tally[WINDOW_OPEN];
	uint64_t highest; /* one more than the highest sequence, as
			     window::highest */
	/* Packets placed that slots.c still has to hear of. */
	unsigned placed;
	int64_t placed_at; /* steady ns at which the last of them came */
	int64_t ahead_at;  /* steady ns of the last packet above all others of
			      this thread */
	bool starved;	   /* no block could be taken in this batch */
	bool framed;	   /* a frame of several packets can be copied */

	/* Guarded by shared::lock. */
	pthread_t thread;
	bool begun;  /* `thread` is set */
	bool lapsed; /* did not come in time; not waited for until it does */
	/* Steady ns: packets that came before were all taken in. */
	int64_t passed;
};

struct shared {
	struct slots *slots;
	struct scratch *scratch;
	unsigned threads;

	/* Guards the window and its blocks.  Held for reading, a thread may set
	 * presence bits and fill slots; held for writing, it may do anything.
	 * The fields below it are used by its writers only. */
	pthread_rwlock_t window_lock;
	struct counts taken; /* the part of slots' counts that handles have */
	int64_t turned;	     /* steady ns of the packet that last moved the
				window */
	int64_t began;	     /* steady ns of the packet that began the run */

	/* Guards the sums of open blocks, window::highest and `newest` among
	 * threads that hold the window lock for reading, and for all threads
	 * the fields below. */
	pthread_mutex_t lock;
	int64_t newest; /* steady ns of the newest packet in a slot */
	pthread_cond_t progress;
	int64_t patience;
	struct arrival arrival; /* UTC offset, one for all threads */
	int64_t looked;		/* steady ns of the pass that set it */
	unsigned waiting;
	uint64_t turns; /* moves of the window, and new runs */
	unsigned flushed, freed;

	struct handle handle[];
};

/* Returns when a packet came, steady ns; the same for all threads, whose own
 * offsets to UTC differ by as much as a pass takes. */
static inline int64_t
packet_at(const struct handle *h, const struct receive_packet *k)
{
	if (!k->arrived)
		return SHARED_NEVER;
	return arrival_time(&h->arrival, k->arrived, h->now);
}

/* ns; clock readings of threads differ by less. */
#define STEP INT64_C(20000000)

/* ---- threads wait for each other --------------------------------------- */

/*
 * Threads see the stream at different moments: one that was not scheduled for a
 * while brings packets that came long before those of the others.  Before a
 * final decision, all other threads must have passed the arrival time of the
 * packet that causes it.  Each thread publishes, batch by batch, how far it is;
 * a waiting thread has done so too, up to the packet that it waits for, so of
 * several that wait the one with the earliest packet always goes on.
 *
 * A thread may publish nothing, because no packet comes or because it died:
 * when patience ends it is not waited for until it publishes again.
 */

/* True if another thread is behind `since`.  A handle on our own thread never
 * counts: waiting for it would be waiting for ourselves. */
static bool
others_behind(const struct handle *h, int64_t since)
{
	const struct shared *s = h->shared;

	for (unsigned i = 0; i < s->threads; i++) {
		const struct handle *o = &s->handle[i];
		bool ours = o->begun && pthread_equal(o->thread, h->thread);

		if (!ours && !o->lapsed && o->passed < since)
			return true;
	}
	return false;
}

static void
pass(struct handle *h, int64_t at)
{
	h->lapsed = false;
	if (at > h->passed)
		h->passed = at;
	if (h->shared->waiting)
		pthread_cond_broadcast(&h->shared->progress);
}

/* Records that this handle has taken in all packets that came before `at`
 * (steady ns). */
static void
shared_pass(struct handle *h, int64_t at)
{
	pthread_mutex_lock(&h->shared->lock);
	pass(h, at);
	pthread_mutex_unlock(&h->shared->lock);
}

/* True if another handle has not passed `since` yet, and is to be waited
 * for. */
static bool
shared_behind(struct handle *h, int64_t since)
{
	bool behind;

	if (since == SHARED_NEVER)
		return false;
	pthread_mutex_lock(&h->shared->lock);
	behind = others_behind(h, since);
	pthread_mutex_unlock(&h->shared->lock);
	return behind;
}

static struct timespec
deadline(int64_t ns)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	ns += t.tv_nsec;
	t.tv_sec += ns / 1000000000;
	t.tv_nsec = ns % 1000000000;
	return t;
}

static void
others_lapse(struct handle *h, int64_t since)
{
	struct shared *s = h->shared;

	for (unsigned i = 0; i < s->threads; i++) {
		if (&s->handle[i] != h && s->handle[i].passed < since)
			s->handle[i].lapsed = true;
	}
}

/* Waits until no handle is behind `since`, or the window moved, or patience
 * ends.  `at`: the time up to which the caller has passed itself. */
static void
shared_wait(struct handle *h, int64_t at, int64_t since)
{
	struct shared *s = h->shared;
	struct timespec until = deadline(s->patience);
	uint64_t turns;
	int err = 0;

	pthread_mutex_lock(&s->lock);
	pass(h, at);
	turns = s->turns;
	s->waiting++;
	while (!err && s->turns == turns && others_behind(h, since))
		err = pthread_cond_timedwait(&s->progress, &s->lock, &until);
	s->waiting--;
	if (err)
		others_lapse(h, since);
	pthread_mutex_unlock(&s->lock);
}

/* Wakes waiting threads: the window moved, or a run began. */
static void
shared_turned(struct shared *s)
{
	pthread_mutex_lock(&s->lock);
	s->turns++;
	if (s->waiting)
		pthread_cond_broadcast(&s->progress);
	pthread_mutex_unlock(&s->lock);
}

/* ---- packets with an open slot ----------------------------------------- */

/*
 * Packets that have an open slot: nearly all of them.  While the window lock is
 * held for reading, the window and its blocks stay as they are, but for
 * presence bits, and each packet takes a parse, an atomic bit and a copy.  The
 * sums of a batch are added to each block once, before the window lock is left.
 */

enum verdict {
	VERDICT_DONE, /* in its slot, or dropped */
	VERDICT_LEFT, /* for slots.c, at the end of the batch */
	VERDICT_FIRST, /* for slots.c at once: packets that follow depend on it */
};

/* Sets a presence bit; true: the caller set it, and owns the slot.  Relaxed,
 * because only the owner touches the bytes until a thread has held the window
 * lock for writing, which orders them. */
static bool
bit_take(struct block *b, uint32_t slot)
{
	uint64_t bit = 1ull << slot % 64;

	return !(
	    __atomic_fetch_or(&b->present[slot / 64], bit, __ATOMIC_RELAXED) &
	    bit);
}

/* One more than the highest sequence that this thread brought of the run.  If
 * it brought none: UINT64_MAX during an echo, so that its word alone ends no
 * echo, else 0. */
static uint64_t
shared_top(const struct handle *h)
{
	uint64_t run = h->shared->slots->window.run + 1ull;

	if (h->prediction->run == run)
		return h->prediction->top + 1;
	return h->shared->slots->echo.n ? UINT64_MAX : 0;
}

/* Moves this thread's top to a packet that is ahead of all it brought.  Packets
 * it left for slots.c before that cannot be an echo.  False if the packet is
 * not ahead. */
static bool
packet_ahead(struct handle *h, uint64_t rel, int64_t at)
{
	uint64_t run = h->shared->slots->window.run + 1ull;

	if (rel < shared_top(h))
		return false;
	if (h->prediction->run != run)
		prediction_begin(h->prediction, run, rel);
	h->prediction->top = rel;
	h->ahead_at = at;
	h->sure = h->lefts;
	return true;
}

static void
packet_count(struct handle *h, uint64_t rel, const struct receive_packet *k)
{
	struct counts *c = &h->base.counts;
	int64_t at = packet_at(h, k);

	c->datagrams++;
	c->placed++;
	c->moved++;
	c->bytes += h->shared->slots->payload;
	h->placed++;
	if (at > h->placed_at)
		h->placed_at = at;
	if (rel >= h->highest)
		h->highest = rel + 1;
	/* A thread knows the order of its own packets only. */
	c->reordered += !packet_ahead(h, rel, at);
}

static enum verdict
packet_drop(struct handle *h, enum drop why)
{
	placement_drop(&h->base, why, 1);
	return VERDICT_DONE;
}

static void
slot_tally(struct tally *t, uint32_t slot, int64_t ns)
{
	if (!t->filled++)
		t->first_ns = t->last_ns = ns;
	if (t->last_ns < ns)
		t->last_ns = ns;
	if (t->used <= slot)
		t->used = slot + 1;
}

static enum verdict
slot_put(struct handle *h, uint64_t rel, const struct receive_packet *k,
	 bool sure)
{
	const struct slots *p = h->shared->slots;
	uint64_t off = rel - p->window.origin;
	unsigned i = off >= p->slots;
	uint32_t slot = (uint32_t)(off - i * (uint64_t)p->slots);
	struct block *b = p->window.open[i];
	bool behind;

	if (off >= (uint64_t)WINDOW_OPEN * p->slots)
		return VERDICT_FIRST;
	if (!b && (h->starved || (!i && p->window.gone)))
		return VERDICT_LEFT;
	if (!b)
		return VERDICT_FIRST;
	/* During an echo it may belong to the new pass. */
	behind = rel < shared_top(h);
	if (!sure && behind && (h->lefts || p->echo.n))
		return VERDICT_LEFT;
	if (!bit_take(b, slot)) {
		if (!sure && behind)
			return VERDICT_LEFT;
		packet_ahead(h, rel, packet_at(h, k));
		return packet_drop(h, DROP_DUPLICATE);
	}
	memcpy(block_slot(b, slot), k->payload, p->payload);
	slot_tally(&h->tally[i], slot, k->arrived ? k->arrived : h->now_ns);
	packet_count(h, rel, k);
	return VERDICT_DONE;
}

/* Copies the packet, or notes its frame, if it is one of those that are chosen, a
 * few dozen a second: only then do threads take turns at the ring. */
static void
packet_sample(struct shared *s, const struct format_packet *f,
	      const void *payload, uint64_t rel)
{
	if (f->part || !frame_ring_wants(s->slots->a.frames, f))
		return;
	pthread_mutex_lock(&s->lock);
	slots_sample(s->slots, f, payload, rel);
	pthread_mutex_unlock(&s->lock);
}

/*
 * True if all packets of the frame that is waited for have a slot.  Other
 * threads may still be copying some of them: the frame is whole once the window
 * lock is held for writing.  Called with shared::lock and the window lock.
 */
static bool
frame_came(const struct slots *p)
{
	const struct window *w = &p->window;
	uint64_t off = p->frame - w->origin, end = off + p->parts;
	const struct block *b;

	/* in a block that has left: to be given up */
	if (!w->running || p->frame_run != w->run || p->frame < w->origin ||
	    end > (uint64_t)WINDOW_OPEN * p->slots)
		return true;
	b = w->open[off / p->slots];
	for (; b && off < end; off++) {
		uint64_t slot = off % p->slots;
		uint64_t bits =
		    __atomic_load_n(&b->present[slot / 64], __ATOMIC_RELAXED);

		if (!(bits >> slot % 64 & 1))
			return false;
	}
	return true;
}

/* Places or drops a packet.  `sure`: this thread went on ahead since, so the
 * packet is no echo. */
static enum verdict
packet_put(struct handle *h, const struct receive_packet *k, bool sure)
{
	struct shared *s = h->shared;
	struct format_packet f;
	enum drop why = slots_read(s->slots, k, &f);
	uint64_t placed = h->base.counts.placed;
	int64_t at = packet_at(h, k);
	enum verdict verdict;
	uint64_t rel;
	bool near;

	if (why != DROP_KINDS)
		return packet_drop(h, why);
	near = slots_near_to(s->slots, h->highest, f.sequence, &rel);
	if (at < s->began || (!near && at < s->turned))
		return packet_drop(h, DROP_LATE);
	verdict = near ? slot_put(h, rel, k, sure) : VERDICT_LEFT;
	if (h->base.counts.placed == placed)
		return verdict;
	if (!(f.has & FORMAT_READABLE))
		h->base.counts.unreadable++;
	if (s->slots->a.frames)
		packet_sample(s, &f, k->payload, rel);
	return verdict;
}

static void
lock_enter(struct handle *h)
{
	struct shared *s = h->shared;
	const struct window *w = &s->slots->window;

	pthread_rwlock_rdlock(&s->window_lock);
	pthread_mutex_lock(&s->lock);
	h->highest = w->highest;
	pthread_mutex_unlock(&s->lock);
	h->placed = h->sure = 0;
	h->placed_at = h->ahead_at = INT64_MIN;
}

static void
tally_add(struct handle *h, unsigned i)
{
	struct window *w = &h->shared->slots->window;
	struct tally *t = &h->tally[i];
	struct block *b = w->open[i];

	if (!t->filled)
		return;
	if (!b->filled) {
		b->first_ns = t->first_ns;
		b->last_ns = t->last_ns;
		w->born[i] = h->now;
	}
	if (t->first_ns < b->first_ns)
		b->first_ns = t->first_ns;
	if (t->last_ns > b->last_ns)
		b->last_ns = t->last_ns;
	b->filled += t->filled;
	if (b->used < t->used)
		b->used = t->used;
	*t = (struct tally){ 0 };
}

static void
lock_leave(struct handle *h)
{
	struct shared *s = h->shared;
	struct window *w = &s->slots->window;

	pthread_mutex_lock(&s->lock);
	for (unsigned i = 0; i < WINDOW_OPEN; i++)
		tally_add(h, i);
	if (h->highest > w->highest)
		w->highest = h->highest;
	if (h->placed && h->placed_at != SHARED_NEVER &&
	    h->placed_at > s->newest)
		s->newest = h->placed_at;
	h->framed = s->slots->frame_waits && frame_came(s->slots);
	pthread_mutex_unlock(&s->lock);
	/* Without candidates or an echo, nothing needs to hear of placed
	 * packets. */
	if (!s->slots->parked && !s->slots->echo.n)
		h->placed = 0;
	pthread_rwlock_unlock(&s->window_lock);
}

/* Places the left packets after which this thread went on ahead: they are no
 * echo.  The rest stay in `left`. */
static void
left_settle(struct handle *h)
{
	unsigned lefts = h->lefts;

	h->lefts = 0;
	for (unsigned i = 0; i < lefts; i++) {
		const struct receive_packet *k = h->left[i];

		if (i >= h->sure || packet_put(h, k, true) != VERDICT_DONE)
			h->left[h->lefts++] = k;
	}
}

/*
 * Puts packets into open slots, with the window lock held for reading.  Returns
 * how many it went through; packets it could not place are in `left`, and go to
 * slots.c before the next call.
 */
static unsigned
shared_put(struct handle *h, const struct receive_packet *packet, unsigned n)
{
	enum verdict verdict = VERDICT_DONE;
	unsigned i = 0;

	lock_enter(h);
	while (i < n && verdict != VERDICT_FIRST) {
		verdict = packet_put(h, &packet[i], false);
		if (verdict != VERDICT_DONE)
			h->left[h->lefts++] = &packet[i];
		i++;
	}
	left_settle(h);
	lock_leave(h);
	return i;
}

/* ---- packets without an open slot -------------------------------------- */

/*
 * Packets without an open slot: the first of a block, one that moves the
 * window, one of a run that may begin, a duplicate that may be an echo.
 * slots.c decides about them as if there were one thread, with the window lock
 * held for writing.
 *
 * A decision that depends on the order of arrival waits for the other threads
 * first.  A packet that came before the last such decision and has no slot now
 * is late: parked with others like it, it would look like a counter that jumped
 * back.
 */

/* Facts about a packet that shared_give decides by. */
struct packet_facts {
	bool reads; /* carries a sequence; else the fields below are unset, but
		       for at and since */
	bool near;
	uint64_t sequence, rel;
	int64_t at;    /* steady ns of arrival */
	int64_t since; /* steady ns; if the packet moves the window or begins a
			  run, when the first packet of that came */
};

static void
packet_look(const struct handle *h, const struct receive_packet *k,
	    struct packet_facts *l)
{
	const struct slots *p = h->shared->slots;
	struct format_packet f;

	*l = (struct packet_facts){ .at = packet_at(h, k) };
	l->since = l->at;
	l->reads = slots_read(p, k, &f) == DROP_KINDS;
	if (!l->reads)
		return;
	l->sequence = f.sequence;
	l->near = slots_near(p, f.sequence, &l->rel);
}

static bool
packet_late(const struct shared *s, const struct packet_facts *l)
{
	return l->reads &&
	       (l->at < s->began || (!l->near && l->at < s->turned));
}

/* True if this packet would move the window or begin a run.  Sets l->since. */
static bool
packet_turns(struct slots *p, struct packet_facts *l)
{
	uint64_t end = p->window.origin + (uint64_t)WINDOW_OPEN * p->slots;
	const struct candidate *c = NULL;

	if (!l->reads)
		return false;
	if (l->near && l->rel >= end)
		return true;
	if (!l->near)
		c = candidate_find(p->candidate, l->sequence);
	else if (l->rel < p->window.highest)
		c = &p->echo;
	if (!c || c->quiet + 1 < c->need)
		return false;
	if (c->since < l->since)
		l->since = c->since;
	return true;
}

/* Ends the echo if the packet is ahead of all that this thread brought. */
static void
echo_end(struct handle *h, const struct packet_facts *l)
{
	struct slots *p = h->shared->slots;
	int64_t at = l->at == SHARED_NEVER ? h->now : l->at;

	if (l->near && p->echo.n && l->rel >= shared_top(h))
		slots_rivals(p, 0, l->at, at);
}

/* Notes a rival for a candidate: another thread may have placed packets that
 * came after this one before it was parked. */
static void
rivals_recall(struct shared *s, const struct packet_facts *l)
{
	struct candidate *c = NULL;

	if (l->reads && !l->near)
		c = candidate_find(s->slots->candidate, l->sequence);
	if (c && !c->rivals && c->since < s->newest)
		c->rivals = 1;
}

/* Sets the prediction and times of a run that packets of several threads began;
 * only our own position in it is known. */
static void
run_begun(struct handle *h, const struct packet_facts *l)
{
	const struct slots *p = h->shared->slots;
	uint64_t rel;

	if (slots_near(p, l->sequence, &rel))
		prediction_begin(h->prediction, p->window.run + 1ull, rel);
	if (l->since != SHARED_NEVER)
		h->shared->began = l->since;
}

static void
packet_give(struct handle *h, const struct receive_packet *k,
	    const struct packet_facts *l)
{
	struct shared *s = h->shared;
	struct window *w = &s->slots->window;
	struct counts *c = &s->slots->base.counts, was;
	uint64_t origin = w->origin;
	bool behind = l->near && l->rel < shared_top(h);

	echo_end(h, l);
	was = *c;
	placement_batch(&s->slots->base, h->prediction, k, 1, h->now_ns,
			l->at == SHARED_NEVER ? h->now : l->at);
	rivals_recall(s, l);
	h->starved |= c->drop[DROP_NO_BUFFER] != was.drop[DROP_NO_BUFFER];
	/* A packet behind those of other threads is not out of order by
	 * itself. */
	c->reordered = was.reordered + (behind && c->placed != was.placed);
	if (c->runs != was.runs)
		run_begun(h, l);
	else if (origin == w->origin)
		return;
	if (l->since != SHARED_NEVER)
		s->turned = l->since;
	shared_turned(s);
}

/* Tells candidates about the packets that this thread placed. */
static void
rivals_give(struct handle *h)
{
	struct slots *p = h->shared->slots;
	int64_t at = h->placed_at == SHARED_NEVER ? h->now : h->placed_at;

	if (h->placed)
		slots_rivals(p, h->placed, h->ahead_at, at);
	h->placed = 0;
}

/* Moves new counts of slots.c to the handle whose thread caused them. */
static void
shared_counts(struct handle *h)
{
	const uint64_t *from = (const uint64_t *)&h->shared->slots->base.counts;
	uint64_t *taken = (uint64_t *)&h->shared->taken;
	uint64_t *to = (uint64_t *)&h->base.counts;

	for (unsigned i = 0; i < COUNTS; i++) {
		to[i] += from[i] - taken[i];
		taken[i] = from[i];
	}
}

/* Passes the packets in `left` to slots.c, and has a frame of several packets
 * copied, with the window lock held for writing. */
static void
shared_give(struct handle *h)
{
	struct shared *s = h->shared;
	struct packet_facts l;
	unsigned i = 0;

	pthread_rwlock_wrlock(&s->window_lock);
	rivals_give(h);
	while (i < h->lefts) {
		packet_look(h, h->left[i], &l);
		if (packet_turns(s->slots, &l) && !packet_late(s, &l) &&
		    shared_behind(h, l.since)) {
			pthread_rwlock_unlock(&s->window_lock);
			shared_wait(h, l.at, l.since);
			pthread_rwlock_wrlock(&s->window_lock);
			continue;
		}
		if (packet_late(s, &l))
			placement_drop(&h->base, DROP_LATE, 1);
		else
			packet_give(h, h->left[i], &l);
		i++;
	}
	if (s->slots->frame_waits)
		slots_frame_take(s->slots);
	shared_counts(h);
	pthread_rwlock_unlock(&s->window_lock);
	h->lefts = 0;
}

/* ---- the placement ----------------------------------------------------- */

int
shared_check(const struct format_shape *shape, uint32_t slots, unsigned threads,
	     char *why, uint32_t why_bytes)
{
	const char *text = NULL;

	if (shape->store != HEAP_NONE)
		text = "heaps cannot be put together by several threads; "
		       "leave `rings` out";
	else if (shape->sequence == SEQUENCE_ARRIVAL)
		text = "packets without a sequence cannot be put in order by "
		       "several threads; set `sequence`, or leave `rings` out";
	else if (learn_needed(shape))
		text = "several threads cannot learn together; set `fps` and "
		       "`threads` of the stream, or leave `rings` out";
	else if (slots < SHARED_SLOTS * threads)
		text = "a block holds too few packets for so many threads; "
		       "make `block` larger, or `rings` less";
	if (text)
		snprintf(why, why_bytes, "%s", text);
	return text ? -EINVAL : 0;
}

static unsigned
shared_aim(struct placement *placement, const struct prediction *prediction,
	   struct receive_pair *pair, unsigned n)
{
	struct handle *h = (struct handle *)placement;

	(void)prediction;
	for (unsigned i = 0; i < n; i++) {
		pair[i].prefix = scratch_prefix(h->scratch, i);
		pair[i].payload = scratch_slot(h->scratch, i);
		pair[i].prefix_bytes = h->scratch->prefix_bytes;
		pair[i].payload_bytes = h->scratch->slot_bytes;
	}
	return n;
}

/* Keeps one UTC offset for all threads.  It changes only if UTC is stepped:
 * then the newest pass of any thread sets it. */
static void
arrival_follow(struct shared *s, int64_t now_ns, int64_t now)
{
	int64_t by = now_ns - now - s->arrival.offset;

	if (s->arrival.known && (now <= s->looked || (by > -STEP && by < STEP)))
		return;
	arrival_set(&s->arrival, now_ns, now, 0);
	s->looked = now;
}

static void
batch_start(struct handle *h, int64_t now_ns, int64_t now)
{
	struct shared *s = h->shared;

	h->now_ns = now_ns;
	h->now = now;
	h->starved = false;
	pthread_mutex_lock(&s->lock);
	arrival_follow(s, now_ns, now);
	h->arrival = s->arrival;
	h->thread = pthread_self();
	h->begun = true;
	pthread_mutex_unlock(&s->lock);
}

static void
shared_batch(struct placement *placement, struct prediction *prediction,
	     const struct receive_packet *packet, unsigned n, int64_t now_ns,
	     int64_t now)
{
	struct handle *h = (struct handle *)placement;
	unsigned i = 0;

	h->prediction = prediction;
	batch_start(h, now_ns, now);
	while (i < n) {
		i += shared_put(h, packet + i, n - i);
		if (h->lefts || h->placed || h->framed)
			shared_give(h);
	}
	shared_pass(h, n ? packet_at(h, &packet[n - 1]) : now - SHARED_SILENCE);
}

static void
shared_age(struct placement *placement, int64_t now)
{
	struct handle *h = (struct handle *)placement;
	struct shared *s = h->shared;

	pthread_rwlock_wrlock(&s->window_lock);
	placement_age(&s->slots->base, now);
	shared_counts(h);
	pthread_rwlock_unlock(&s->window_lock);
}

static void
shared_flush(struct placement *placement)
{
	struct handle *h = (struct handle *)placement;
	struct shared *s = h->shared;
	bool last;

	pthread_mutex_lock(&s->lock);
	last = ++s->flushed == s->threads;
	pthread_mutex_unlock(&s->lock);
	shared_pass(h, SHARED_NEVER);
	if (!last)
		return;
	pthread_rwlock_wrlock(&s->window_lock);
	placement_flush(&s->slots->base);
	shared_counts(h);
	pthread_rwlock_unlock(&s->window_lock);
}

static void
all_free(struct shared *s)
{
	for (unsigned i = 0; i < s->threads; i++)
		scratch_free(s->handle[i].scratch);
	if (s->slots)
		placement_free(&s->slots->base);
	scratch_free(s->scratch);
	pthread_cond_destroy(&s->progress);
	pthread_mutex_destroy(&s->lock);
	pthread_rwlock_destroy(&s->window_lock);
	free(s);
}

/* The event loop frees all handles; the last one frees the rest. */
static void
shared_free(struct placement *placement)
{
	struct shared *s = ((struct handle *)placement)->shared;

	if (++s->freed == s->threads)
		all_free(s);
}

static const struct placement_ops shared_ops = {
	.aim = shared_aim,
	.batch = shared_batch,
	.age = shared_age,
	.flush = shared_flush,
	.free = shared_free,
};

/* Writers come first: a steady flow of readers would otherwise keep them out
 * forever. */
static void
locks_make(struct shared *s)
{
	pthread_rwlockattr_t window_lock;
	pthread_condattr_t progress;

	pthread_rwlockattr_init(&window_lock);
	pthread_rwlockattr_setkind_np(
	    &window_lock, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&s->window_lock, &window_lock);
	pthread_rwlockattr_destroy(&window_lock);
	pthread_condattr_init(&progress);
	pthread_condattr_setclock(&progress, CLOCK_MONOTONIC);
	pthread_cond_init(&s->progress, &progress);
	pthread_condattr_destroy(&progress);
	pthread_mutex_init(&s->lock, NULL);
}

static int
handles_make(struct shared *s, const struct placement_args *args)
{
	int err = 0;

	for (unsigned i = 0; i < s->threads && !err; i++) {
		struct handle *h = &s->handle[i];

		h->base.ops = &shared_ops;
		h->shared = s;
		h->passed = INT64_MIN;
		err = slots_scratch_make(&h->scratch, args);
	}
	return err;
}

int
shared_make(struct placement **handle, unsigned threads,
	    const struct placement_args *args)
{
	struct shared *s =
	    calloc(1, sizeof *s + threads * sizeof(struct handle));
	struct placement_args inner = *args;
	struct placement *placement;
	int err;

	if (!s)
		return -ENOMEM;
	s->threads = threads;
	s->patience = SHARED_PATIENCE;
	s->turned = s->began = s->newest = INT64_MIN;
	locks_make(s);
	err = handles_make(s, args);
	if (!err)
		err = slots_scratch_make(&s->scratch, args);
	inner.scratch = s->scratch;
	if (!err)
		err = slots_make(&placement, &inner);
	if (err) {
		all_free(s);
		return err;
	}
	s->slots = (struct slots *)placement;
	/* A checksum under the window lock would keep all other threads
	 * waiting. */
	s->slots->unsummed = true;
	for (unsigned i = 0; i < threads; i++)
		handle[i] = &s->handle[i].base;
	return 0;
}
