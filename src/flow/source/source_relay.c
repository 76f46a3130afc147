/* SPDX-License-Identifier: MIT */
/* A queue of blocks whose two ends stop at different times: the receiver may
 * stop while a peer still has to get the waiting blocks, and the peer may be
 * gone while receivers still put.  The end that is left frees the blocks. */
#include "flow/source/source_relay.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "flow/memory/block_record.h"
#include "store/record/fill.h"
#include "store/record/notes.h"

struct source_relay {
	struct source head;
	struct source_relay_args a;
	atomic_uint holders;
	int fd;

	pthread_mutex_t lock; /* protects the fields down to `lost` */
	struct block *first, **last;
	uint64_t next_number;
	bool ended;   /* source_relay_end was called */
	bool dropped; /* the feeder's hold was given up */
	bool closed;  /* the source was closed */
	bool learning;
	struct format_shape shape;
	uint32_t thread[OUTPUT_THREADS];
	struct source_relay_facts facts;
	uint64_t lost; /* a.dropped's last answer */

	/* Only the sender's thread uses these fields. */
	/* One per substream; NULL: no block was sealed yet. */
	struct fill *fill;
	uint64_t *offset; /* of each substream: bytes given so far */
	/* The block being given; its gap first.  NULL: take the next. */
	struct block *at;
	bool gap_given;
	/* Given last, and held once more so that a seek can return to it. */
	struct block *kept;
	uint64_t kept_offset;
	uint64_t number, bytes;
};

static void
poke(struct source_relay *r)
{
	while (eventfd_write(r->fd, 1) < 0 && errno == EINTR)
		;
}

static void
fills_finish(struct source_relay *r)
{
	for (unsigned i = 0; r->fill && i < r->a.subs; i++)
		fill_finish(&r->fill[i]);
	free(r->fill);
}

static void
relay_free(struct source_relay *r)
{
	fills_finish(r);
	free(r->offset);
	if (r->fd >= 0)
		close(r->fd);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

static void
let_go(struct source_relay *r)
{
	if (atomic_fetch_sub_explicit(&r->holders, 1, memory_order_acq_rel) ==
	    1)
		relay_free(r);
}

/* ---- the feeding end -------------------------------------------------- */

/* Copies the shape with the first block, or at the end, like output.c.  Caller
 * holds the lock. */
static void
shape_copy(struct source_relay *r)
{
	const struct format_shape *from = r->a.shape;

	if (!r->learning)
		return;
	r->learning = false;
	r->shape = *from;
	if (!from->threads || from->threads_n > OUTPUT_THREADS)
		return;
	memcpy(r->thread, from->threads, from->threads_n * sizeof *r->thread);
	r->shape.threads = r->thread;
}

static void
block_free(struct block *b)
{
	if (b->state != BLOCK_SEALED)
		block_seal(b);
	block_drop(b);
}

/* Numbers a block and queues it; caller holds the lock. */
static void
put(struct source_relay *r, struct block *b)
{
	shape_copy(r);
	if (b->gap)
		r->next_number++;
	b->number = r->next_number++;
	b->next = NULL;
	*r->last = b;
	r->last = &b->next;
	r->facts.waits++;
	r->facts.blocks++;
}

void
source_relay_put(void *relay, struct block *b)
{
	struct source_relay *r = relay;
	bool closed;

	b->session = r;
	pthread_mutex_lock(&r->lock);
	closed = r->closed;
	if (closed)
		r->facts.unsent += b->filled;
	else
		put(r, b);
	pthread_mutex_unlock(&r->lock);
	if (closed)
		block_free(b);
	else
		poke(r);
}

void
source_relay_end(struct source_relay *r)
{
	pthread_mutex_lock(&r->lock);
	shape_copy(r);
	r->ended = true;
	pthread_mutex_unlock(&r->lock);
	poke(r);
}

static uint64_t
packets_dropped(struct source_relay *r)
{
	if (r->a.dropped && !r->dropped)
		r->lost = r->a.dropped(r->a.arg);
	return r->lost + r->facts.unsent;
}

void
source_relay_drop(struct source_relay *r)
{
	pthread_mutex_lock(&r->lock);
	packets_dropped(r);
	shape_copy(r);
	r->ended = r->dropped = true;
	pthread_mutex_unlock(&r->lock);
	poke(r);
	let_go(r);
}

void
source_relay_facts(struct source_relay *r, struct source_relay_facts *f)
{
	pthread_mutex_lock(&r->lock);
	*f = r->facts;
	pthread_mutex_unlock(&r->lock);
}

struct source *
source_relay_source(struct source_relay *r)
{
	return &r->head;
}

/* ---- the sender's end -------------------------------------------------- */

/*
 * The sender's end of a relay.  Its thread seals the blocks, which fills slots
 * without a packet: no receiver waits for that.
 *
 * The block given last is kept until the next one is given, so that a transfer
 * which has to go back a little can do so.  Blocks before it are gone.
 */

static struct source_relay *
relay_of(struct source *source)
{
	return (struct source_relay *)source;
}

static int
take(struct source_relay *r)
{
	int err = 0;

	pthread_mutex_lock(&r->lock);
	r->at = r->first;
	if (r->at) {
		r->first = r->at->next;
		if (!r->first)
			r->last = &r->first;
		r->at->next = NULL;
		r->facts.waits--;
	} else {
		err = r->ended ? -ENODATA : -ETIMEDOUT;
	}
	pthread_mutex_unlock(&r->lock);
	r->gap_given = false;
	return err;
}

/* Made with the first block, when the shape of the data is known. */
static int
fills_make(struct source_relay *r)
{
	if (r->fill)
		return 0;
	r->fill = calloc(r->a.subs, sizeof *r->fill);
	for (unsigned i = 0; r->fill && i < r->a.subs; i++)
		fill_init(&r->fill[i], r->a.fill, r->a.format, &r->shape);
	return r->fill ? 0 : -ENOMEM;
}

static int
seal(struct source_relay *r)
{
	struct block *b = r->at;
	int err = fills_make(r);

	if (err || b->state == BLOCK_SEALED)
		return err;
	if (b->notes)
		notes_seal(b, r->a.format);
	else
		fill_block(&r->fill[b->sub], b);
	block_seal(b);
	return 0;
}

/* Bytes of a slot; 0 for rows, which have nothing in place of a lost packet. */
static uint32_t
slot_bytes(const struct source_relay *r)
{
	return r->shape.store == HEAP_ROW ? 0 : r->shape.payload;
}

static void
keep(struct source_relay *r, struct block *b, uint64_t offset)
{
	if (r->kept)
		block_drop(r->kept);
	r->kept = b;
	r->kept_offset = offset;
	if (b)
		block_hold(b);
}

static void
give(struct source_relay *r, struct parcel *p)
{
	struct block *b = r->at;
	struct index_record record = block_record(r->a.format, &r->shape, b);

	record.flags &= (uint8_t)~INDEX_SUMMED;
	*p = (struct parcel){ .record = record,
			      .base = b->base,
			      .offset = r->offset[b->sub],
			      .source = &r->head };
	if (b->gap && !r->gap_given) {
		p->record = index_gap(&record, (uint32_t)b->gap);
		p->err = -ENODATA;
		p->bytes = b->gap * slot_bytes(r);
		r->gap_given = true;
	} else {
		keep(r, b, p->offset);
		p->data = b->data;
		p->bytes = block_bytes(b);
		p->block = b;
		p->own = b;
		if (slot_bytes(r))
			p->present = b->present;
		r->bytes += p->bytes;
		r->at = NULL;
	}
	r->offset[b->sub] += p->bytes;
	r->number = p->record.number + 1;
}

static bool
sleeps(struct source_relay *r, int64_t until)
{
	struct pollfd p = { .fd = r->fd, .events = POLLIN };
	int64_t left = until - clock_steady();

	if (left <= 0)
		return false;
	if (left > 1000 * NS_MS)
		left = 1000 * NS_MS;
	poll(&p, 1, (int)((left + NS_MS - 1) / NS_MS));
	return true;
}

static int
relay_next(struct source *source, struct parcel *p, int64_t until)
{
	struct source_relay *r = relay_of(source);
	eventfd_t n;
	int err;

	do {
		while (eventfd_read(r->fd, &n) < 0 && errno == EINTR)
			;
		err = r->at ? 0 : take(r);
	} while (err == -ETIMEDOUT && sleeps(r, until));
	if (!err)
		err = seal(r);
	if (!err)
		give(r, p);
	return err;
}

static void
relay_put(struct source *source, struct parcel *p)
{
	(void)source;
	if (p->own)
		block_drop(p->own);
	p->own = NULL;
}

/* Gives the kept block again; no earlier one is there any more. */
static bool
kept_again(struct source_relay *r)
{
	struct block *b = r->kept;

	/* A block that waits in `at` comes after the kept one. */
	if (!b || r->at)
		return false;
	r->at = b;
	r->kept = NULL; /* r->at takes its hold over */
	r->gap_given = true;
	r->offset[b->sub] = r->kept_offset;
	return true;
}

static int
relay_seek(struct source *source, uint32_t run, uint64_t first)
{
	struct source_relay *r = relay_of(source);
	const struct block *b = r->kept;

	if (b &&
	    (run < b->run || (run == b->run && first < b->first + b->used)))
		kept_again(r);
	return 0;
}

static int
relay_seek_number(struct source *source, uint64_t number)
{
	struct source_relay *r = relay_of(source);

	if (r->kept && number <= r->kept->number)
		kept_again(r);
	return 0;
}

static bool
relay_wanted(struct source *source)
{
	(void)source;
	return false;
}

static int
relay_fd(struct source *source)
{
	return relay_of(source)->fd;
}

static void
relay_facts(struct source *source, struct source_facts *f)
{
	struct source_relay *r = relay_of(source);

	*f = (struct source_facts){ .bytes_memory = r->bytes,
				    .number = r->number,
				    .total = r->bytes };
	pthread_mutex_lock(&r->lock);
	f->end = r->next_number;
	f->live = !r->ended;
	f->dropped = packets_dropped(r);
	pthread_mutex_unlock(&r->lock);
}

static int
relay_about(struct source *source, struct source_about *about)
{
	struct source_relay *r = relay_of(source);
	bool learning;

	pthread_mutex_lock(&r->lock);
	learning = r->learning;
	pthread_mutex_unlock(&r->lock);
	if (learning)
		return -EAGAIN;
	*about = (struct source_about){ .format = r->a.format,
					.shape = &r->shape,
					.subs = r->a.subs,
					.extension = r->a.format->extension,
					.start_ns = r->a.start_ns,
					.zero_fill = r->a.fill == FILL_ZERO ||
						     r->shape.store,
					.live = true };
	return 0;
}

static void
relay_close(struct source *source)
{
	struct source_relay *r = relay_of(source);
	struct block *b, *next;

	pthread_mutex_lock(&r->lock);
	r->closed = true;
	b = r->first;
	r->first = NULL;
	r->last = &r->first;
	r->facts.waits = 0;
	for (const struct block *i = b; i; i = i->next)
		r->facts.unsent += i->filled;
	pthread_mutex_unlock(&r->lock);
	for (; b; b = next) {
		next = b->next;
		block_free(b);
	}
	if (r->at)
		block_free(r->at);
	r->at = NULL;
	keep(r, NULL, 0);
	let_go(r);
}

static const struct source_ops relay_ops = {
	.next = relay_next,
	.put = relay_put,
	.seek = relay_seek,
	.seek_number = relay_seek_number,
	.wanted = relay_wanted,
	.fd = relay_fd,
	.facts = relay_facts,
	.close = relay_close,
	.about = relay_about,
};

int
source_relay_make(struct source_relay **relay,
		  const struct source_relay_args *args)
{
	struct source_relay *r = calloc(1, sizeof *r);

	if (!r)
		return -ENOMEM;
	r->head.ops = &relay_ops;
	r->a = *args;
	r->a.subs = args->subs ? args->subs : 1;
	r->learning = true;
	r->last = &r->first;
	atomic_init(&r->holders, 2);
	pthread_mutex_init(&r->lock, NULL);
	r->offset = calloc(r->a.subs, sizeof *r->offset);
	r->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (!r->offset || r->fd < 0) {
		relay_free(r);
		return -ENOMEM;
	}
	*relay = r;
	return 0;
}
