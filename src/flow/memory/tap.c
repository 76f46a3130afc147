/* SPDX-License-Identifier: MIT */
/*
 * The recording always wins: a reader gets memory of a recording only while the
 * recorder does not need it.
 *
 *   receiver   block_pool_take: it needs a block, and few are left
 *                 |                                  +-> lent_blocks_revoke
 *   writer     output_seal --> lent_blocks_offer -> [ lent: at most a quarter ]
 *                 |              (tap_rescue: again to a disk)
 *                 |                                  ^ tap_take, tap_put
 *              writes it, drops it                   sender's thread
 *
 * Ownership.  A sealed block is never written again, and has one hold for the
 * writer that has it (two, if a hung disk's block was also given to another
 * disk) and one for the lent blocks.  Taps count reads of a slot of the lent
 * blocks and have no holds of their own; so a block is held by readers once,
 * however many there are, and counts once against the quarter.  Readers change
 * nothing in the block itself: `next` is the queue's, for a block that a disk
 * gave back, and `state` the last holder's.  The last to drop it, writer or
 * tap, returns it to its pool.
 *
 * The writer drops its hold as ever when its write is done; what becomes of the
 * chunk (a failed disk, a failed sync, an unwrite) changes nothing in memory.
 * A block that a disk gave back is sealed already, and so is not offered again
 * by the next writer.
 *
 * Memory order.  The writer that sealed a block offers it under
 * lent_blocks::lock, and tap_take finds it under the same lock; so a reader
 * sees all of it.  A reader is done before it puts, under the lock again; then
 * come the drop, which is acq_rel (block.h), and the pool's own lock; so the
 * next user of the block writes after that.  `held` and `wanted` are hints that
 * are read without the lock: seeing one late costs one block more.
 *
 * Locks.  Order: output::tapping, then lent_blocks::lock, then the pool's and
 * the arena's inside block_drop.  None is held while its thread waits for
 * anything; a reader that the recorder waits for inherits its priority (below).
 *
 * Only sealed blocks are offered, and so none that waits in the queue for a
 * slow disk.  Sealing earlier is not worth it: while disks keep up, a block is
 * with a writer, and sealed, as soon as it is closed; when they do not, blocks
 * pile up in the queue, memory gets short, and nothing is left to lend anyway.
 * It would also take a lock around the fill of a block, which a writer would
 * then wait for.
 */
#include "flow/memory/tap.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "flow/memory/arena.h"
#include "flow/memory/block_pool.h"
#include "flow/memory/block_record.h"
#include "flow/memory/shm_page.h"

struct lent_slot {
	struct block *b; /* the one hold for all taps on it; NULL: empty slot */
	uint64_t since; /* lent_blocks::turn when it was offered: a lower one is
			    older */
	unsigned reads; /* tap_take calls that were not put yet */
	bool revoked;	/* wanted back: dropped with the last put */
	bool kept;	/* a tap with `keeps` has it, until tap_release() */
};

struct lent_blocks {
	atomic_uint holders;
	atomic_uint held; /* slots neither empty nor revoked; read without the
			     lock */

	atomic_bool is_short; /* the pool was short of blocks at the last take
				 or return; a hint, read without the lock */

	/* Guards the fields below, and fields in each tap. */
	pthread_mutex_t lock;
	struct tap *taps;
	uint64_t turn;
	unsigned most;
	struct lent_slot slot[];
};

struct tap {
	struct lent_blocks *lent; /* counted reference */
	struct tap_of of;
	int fd;
	struct tap *peer; /* output::taps */

	/* guarded by lent_blocks::lock */
	struct tap *next; /* lent_blocks::taps */
	uint64_t from;	  /* blocks with lower numbers are not wanted */
	uint64_t end;	  /* see tap_facts */
	unsigned reads;	  /* sum of read[] */
	uint64_t revoked; /* wanted blocks that were taken back */
	uint64_t skipped; /* wanted blocks that were not kept */
	struct shm_page
	    *page;	    /* shows its blocks to live readers; NULL: none */
	uint64_t shown_as;  /* the recording's ID in that page */
	atomic_uint wanted; /* reads of revoked slots; written under the lock */
	uint16_t read[];    /* per slot of `lent`: takes not yet put */
};

enum { PART = 4 }; /* lent blocks are at most a quarter of the pool */

int
lent_blocks_make(struct lent_blocks **lent, unsigned blocks)
{
	unsigned most = blocks / PART;
	struct lent_blocks *s = calloc(1, sizeof *s + most * sizeof s->slot[0]);

	if (!s)
		return -ENOMEM;
	memory_lock_make(&s->lock);
	s->most = most;
	atomic_init(&s->holders, 1);
	*lent = s;
	return 0;
}

void
lent_blocks_hold(struct lent_blocks *s)
{
	atomic_fetch_add_explicit(&s->holders, 1, memory_order_relaxed);
}

void
lent_blocks_drop(struct lent_blocks *s)
{
	if (!s || atomic_fetch_sub_explicit(&s->holders, 1,
					    memory_order_acq_rel) != 1)
		return;
	pthread_mutex_destroy(&s->lock);
	free(s);
}

bool
lent_blocks_any(const struct lent_blocks *s)
{
	return atomic_load_explicit(&s->held, memory_order_relaxed) > 0;
}

void
lent_blocks_hint(struct lent_blocks *s, bool is_short)
{
	atomic_store_explicit(&s->is_short, is_short, memory_order_relaxed);
}

/* Fails only when the counter is full, and then the descriptor is readable
 * anyway. */
void
tap_poke(struct tap *t)
{
	while (eventfd_write(t->fd, 1) < 0 && errno == EINTR)
		;
}

/* ---- under the lock --------------------------------------------------- */

static void
held_add(struct lent_blocks *s, int n)
{
	atomic_fetch_add_explicit(&s->held, (unsigned)n, memory_order_relaxed);
}

static uint64_t
lowest(const struct block *b)
{
	return b->number - (b->gap > 0);
}

static bool
is_wanted(const struct tap *t, const struct block *b)
{
	return t->of.session == b->session && b->number >= t->from;
}

/* Finds the slot of the block that has this number, or that stands behind the gap
 * with this number.  NULL: there is none, or it was revoked. */
static struct lent_slot *
lent_find(struct lent_blocks *s, const void *session, uint64_t number)
{
	for (unsigned i = 0; i < s->most; i++) {
		struct lent_slot *slot = &s->slot[i];

		if (slot->b && !slot->revoked && slot->b->session == session &&
		    lowest(slot->b) <= number && number <= slot->b->number)
			return slot;
	}
	return NULL;
}

/* Drops the block of a slot.  The slot is emptied before the drop: after it
 * another thread may own the block already. */
static void
lent_empty(struct lent_blocks *s, struct lent_slot *slot)
{
	struct block *b = slot->b;

	if (!slot->revoked)
		held_add(s, -1);
	slot->b = NULL;
	block_drop(b);
}

/* True if a tap whose `keeps` is as asked wants the block. */
static bool
has_use(const struct lent_blocks *s, const struct block *b, bool keeps)
{
	for (const struct tap *t = s->taps; t; t = t->next) {
		if (t->of.keeps == keeps && is_wanted(t, b))
			return true;
	}
	return false;
}

/* Drops all blocks that no tap wants any more. */
static void
lent_sweep(struct lent_blocks *s)
{
	for (unsigned i = 0; i < s->most; i++) {
		struct lent_slot *slot = &s->slot[i];

		if (slot->b && !slot->reads && !slot->kept &&
		    !has_use(s, slot->b, false))
			lent_empty(s, slot);
	}
}

/* Revokes a block that is being read.  Its readers are told, and keep it until
 * they put it. */
static void
read_revoke(struct lent_blocks *s, struct lent_slot *slot)
{
	size_t i = (size_t)(slot - s->slot);

	slot->revoked = true;
	held_add(s, -1);
	for (struct tap *t = s->taps; t; t = t->next) {
		if (!t->read[i])
			continue;
		t->revoked++;
		atomic_fetch_add_explicit(&t->wanted, t->read[i],
					  memory_order_relaxed);
		tap_poke(t);
	}
}

static void
slot_revoke(struct lent_blocks *s, struct lent_slot *slot)
{
	if (slot->reads) {
		read_revoke(s, slot);
		return;
	}
	for (struct tap *t = s->taps; t; t = t->next)
		t->revoked += is_wanted(t, slot->b);
	lent_empty(s, slot);
}

/* Finds an empty slot, or frees that of the oldest block that nobody reads.
 * NULL: all are being read. */
static struct lent_slot *
slot_get(struct lent_blocks *s)
{
	struct lent_slot *oldest = NULL;

	for (unsigned i = 0; i < s->most; i++) {
		struct lent_slot *slot = &s->slot[i];

		if (!slot->b)
			return slot;
		if (!slot->reads && (!oldest || slot->since < oldest->since))
			oldest = slot;
	}
	if (oldest)
		slot_revoke(s, oldest);
	return oldest;
}

/* Shows a block of the tap's recording to live readers. */
static void
lent_show(const struct tap *t, struct block *b)
{
	struct index_record r;

	if (b->shown)
		return;
	r = block_record(t->of.format, t->of.shape, b);
	shm_page_show(t->page, t->shown_as, b, &r);
}

/* Shows a block to live readers, also one that memory is too short to lend: its
 * writer holds it for a while yet. */
static void
show(const struct lent_blocks *s, struct block *b)
{
	for (const struct tap *t = s->taps; t; t = t->next) {
		if (t->page && is_wanted(t, b))
			lent_show(t, b);
	}
}

/* Lends a block to the taps that want it, if its pool has plenty left. */
static void
block_keep(struct lent_blocks *s, struct block *b)
{
	struct lent_slot *slot =
	    b->pool && !block_pool_plenty(b->pool) ? NULL : slot_get(s);

	for (struct tap *t = s->taps; t; t = t->next) {
		if (!is_wanted(t, b))
			continue;
		t->skipped += !slot;
		if (t->end <= b->number)
			t->end = b->number + 1;
		if (slot && !t->of.keeps)
			tap_poke(t);
	}
	if (!slot)
		return;
	block_hold(b);
	*slot = (struct lent_slot){ .b = b,
				    .since = s->turn++,
				    .kept = has_use(s, b, true) };
	held_add(s, 1);
}

/* ---- lending and revoking --------------------------------------------- */

void
lent_blocks_revoke(struct lent_blocks *s)
{
	pthread_mutex_lock(&s->lock);
	for (unsigned i = 0; i < s->most; i++) {
		if (s->slot[i].b && !s->slot[i].revoked)
			slot_revoke(s, &s->slot[i]);
	}
	pthread_mutex_unlock(&s->lock);
}

void
lent_blocks_offer(struct lent_blocks *s, struct block *b)
{
	pthread_mutex_lock(&s->lock);
	if (has_use(s, b, false) || has_use(s, b, true)) {
		show(s, b);
		block_keep(s, b);
	}
	pthread_mutex_unlock(&s->lock);
}

/* ---- taps -------------------------------------------------------------- */

static void
link_in(struct tap *t)
{
	struct lent_blocks *s = t->lent;

	pthread_mutex_lock(&s->lock);
	t->next = s->taps;
	s->taps = t;
	pthread_mutex_unlock(&s->lock);
}

static void
link_out(struct tap *t)
{
	struct lent_blocks *s = t->lent;
	struct tap **at;

	pthread_mutex_lock(&s->lock);
	assert(t->reads == 0);
	for (at = &s->taps; *at != t; at = &(*at)->next)
		;
	*at = t->next;
	for (unsigned i = 0; i < s->most && t->of.keeps; i++) {
		if (s->slot[i].b && s->slot[i].b->session == t->of.session)
			s->slot[i].kept = false;
	}
	lent_sweep(s);
	pthread_mutex_unlock(&s->lock);
}

int
tap_make(struct tap **tap, const struct tap_of *of, struct block_pool *pool)
{
	struct lent_blocks *s = block_pool_lent(pool);
	struct tap *t = calloc(1, sizeof *t + s->most * sizeof t->read[0]);

	if (!t)
		return -ENOMEM;
	t->fd = of->keeps ? -1 : eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (t->fd < 0 && !of->keeps) {
		free(t);
		return -errno;
	}
	t->lent = s;
	t->of = *of;
	lent_blocks_hold(s);
	link_in(t);
	*tap = t;
	return 0;
}

void
tap_free(struct tap *t)
{
	if (!t)
		return;
	link_out(t);
	lent_blocks_drop(t->lent);
	if (t->fd >= 0)
		close(t->fd);
	free(t);
}

struct tap **
tap_peer(struct tap *t)
{
	return &t->peer;
}

struct block *
tap_take(struct tap *t, uint64_t number)
{
	struct lent_blocks *s = t->lent;
	struct lent_slot *slot;
	struct block *b = NULL;

	pthread_mutex_lock(&s->lock);
	slot = lent_find(s, t->of.session, number);
	if (slot) {
		b = slot->b;
		slot->reads++;
		t->read[slot - s->slot]++;
		t->reads++;
	}
	pthread_mutex_unlock(&s->lock);
	return b;
}

/* Ends one read of a slot.  True if the slot was revoked.  Call under the
 * lock. */
static bool
put(struct tap *t, struct lent_slot *slot)
{
	struct lent_blocks *s = t->lent;
	bool revoked = slot->revoked;

	assert(t->read[slot - s->slot] > 0);
	t->read[slot - s->slot]--;
	t->reads--;
	if (revoked)
		atomic_fetch_sub_explicit(&t->wanted, 1, memory_order_relaxed);
	if (--slot->reads == 0 && revoked)
		lent_empty(s, slot);
	return revoked;
}

bool
tap_put(struct tap *t, struct block *b)
{
	struct lent_blocks *s = t->lent;
	bool revoked = false;

	pthread_mutex_lock(&s->lock);
	for (unsigned i = 0; i < s->most; i++) {
		if (s->slot[i].b == b) {
			revoked = put(t, &s->slot[i]);
			break;
		}
	}
	lent_sweep(s);
	pthread_mutex_unlock(&s->lock);
	return revoked;
}

void
tap_pass(struct tap *t, uint64_t number)
{
	pthread_mutex_lock(&t->lent->lock);
	t->from = number;
	lent_sweep(t->lent);
	pthread_mutex_unlock(&t->lent->lock);
}

struct block *
tap_rescue(struct tap *t, uint64_t number)
{
	struct lent_blocks *s = t->lent;
	struct lent_slot *slot;
	struct block *b = NULL;

	pthread_mutex_lock(&s->lock);
	slot = lent_find(s, t->of.session, number);
	if (slot && slot->kept && slot->b->number == number) {
		b = slot->b;
		block_hold(b);
	}
	pthread_mutex_unlock(&s->lock);
	return b;
}

void
tap_release(struct tap *t, uint64_t number)
{
	struct lent_blocks *s = t->lent;
	struct lent_slot *slot;

	pthread_mutex_lock(&s->lock);
	slot = lent_find(s, t->of.session, number);
	if (slot && slot->b->number == number) {
		slot->kept = false;
		if (!slot->reads && !has_use(s, slot->b, false))
			lent_empty(s, slot);
	}
	pthread_mutex_unlock(&s->lock);
}

void
tap_show(struct tap *t, struct shm_page *page, uint64_t recording)
{
	struct lent_blocks *s = t->lent;

	pthread_mutex_lock(&s->lock);
	t->page = page;
	t->shown_as = recording;
	for (unsigned i = 0; i < s->most; i++) {
		if (s->slot[i].b && s->slot[i].b->session == t->of.session)
			lent_show(t, s->slot[i].b);
	}
	pthread_mutex_unlock(&s->lock);
}

bool
tap_wanted(const struct tap *t)
{
	return atomic_load_explicit(&t->wanted, memory_order_relaxed) > 0;
}

bool
tap_short(const struct tap *t)
{
	return atomic_load_explicit(&t->lent->is_short, memory_order_relaxed);
}

int
tap_fd(const struct tap *t)
{
	return t->fd;
}

void
tap_clear(struct tap *t)
{
	eventfd_t n;

	while (eventfd_read(t->fd, &n) < 0 && errno == EINTR)
		;
}

void
tap_facts(struct tap *t, struct tap_facts *f)
{
	struct lent_blocks *s = t->lent;

	pthread_mutex_lock(&s->lock);
	*f = (struct tap_facts){ .read = t->reads,
				 .end = t->end,
				 .revoked = t->revoked,
				 .skipped = t->skipped };
	for (unsigned i = 0; i < s->most; i++)
		f->held +=
		    s->slot[i].b && s->slot[i].b->session == t->of.session;
	pthread_mutex_unlock(&s->lock);
}
