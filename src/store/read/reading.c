/* SPDX-License-Identifier: MIT */
/*
 * A request finds its trail, which says how far to read ahead, and then span
 * after span of the view: where its bytes are in the recording, and how to give
 * them (reading_give.c).  The last span is remembered, because a span within a
 * chunk serves many requests.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "store/read/reading_priv.h"

#define LOOK (NS_SECOND / 5) /* between refreshes of a recording that grows */

void
reading_drop(struct reading *rd)
{
	struct opened *op = rd->op;
	bool last;

	pthread_mutex_lock(&op->lock);
	last = --rd->refs == 0;
	pthread_mutex_unlock(&op->lock);
	if (!last)
		return;
	view_free(rd->view);
	view_free(rd->filler);
	free(rd);
	opened_drop(op);
}

/* ---- opening and closing
 * ------------------------------------------------------------- */

static struct reading *
make(struct opened *op, const struct view_choice *choice)
{
	struct reading *rd = calloc(1, sizeof *rd);

	if (!rd)
		return NULL;
	rd->op = op;
	rd->refs = 1;
	rd->fills = choice->fill == VIEW_INVALID || choice->fill == VIEW_ZERO;
	rd->by_desk = choice->fill != VIEW_STORED || choice->thread >= 0;
	pthread_mutex_lock(&op->lock);
	op->refs++;
	pthread_mutex_unlock(&op->lock);
	return rd;
}

int
reading_open(struct reading **reading, struct opened *op,
	     const struct view_choice *choice, struct fault *fault)
{
	struct view_choice fits = *choice;
	struct opened_facts facts;
	struct reading *rd;
	int err;

	opened_facts(op, &facts);
	view_settle(&fits, facts.store);
	rd = make(op, &fits);
	if (!rd)
		return fault_set(fault, -ENOMEM, "no-memory", "no memory");
	err = reading_view(rd, &fits, fault);
	if (err) {
		reading_drop(rd);
		return err;
	}
	for (unsigned i = 0; i < TRAILS; i++) {
		reader_way_begin(&rd->way[i], op->reader, (int)fits.sub);
		rd->way[i].told = true;
	}
	pthread_mutex_lock(&op->lock);
	rd->bytes = view_bytes(rd->view);
	rd->next = op->reading;
	op->reading = rd;
	pthread_mutex_unlock(&op->lock);
	*reading = rd;
	return 0;
}

void
reading_close(struct reading *rd)
{
	struct reading **link;

	if (!rd)
		return;
	pthread_mutex_lock(&rd->op->lock);
	for (link = &rd->op->reading; *link != rd;)
		link = &(*link)->next;
	*link = rd->next;
	pthread_mutex_unlock(&rd->op->lock);
	for (unsigned i = 0; i < TRAILS; i++)
		reader_way_end(&rd->way[i]);
	reading_drop(rd);
}

uint64_t
reading_bytes(struct reading *rd)
{
	uint64_t bytes;

	pthread_mutex_lock(&rd->op->lock);
	bytes = rd->bytes;
	pthread_mutex_unlock(&rd->op->lock);
	return bytes;
}

/* ---- reading
 * -------------------------------------------------------------------------- */

/* Chooses the cursor of the request's trail, and sets its read-ahead. */
static void
follow(struct reading_request *q)
{
	struct reading *rd = q->rd;
	uint64_t ahead;
	unsigned i;
	bool news;

	pthread_mutex_lock(&rd->op->lock);
	i = trails_step(&rd->trails, q->offset, q->left);
	ahead = trail_ahead(&rd->trails.trail[i]);
	/* The parts of packets that the view leaves out are read, too. */
	if (rd->span.step)
		ahead = ahead / rd->span.take * rd->span.step;
	news = ahead != rd->ahead[i];
	rd->ahead[i] = ahead;
	q->live = rd->op->facts.state == RECORDING_LIVE;
	q->row = rd->op->facts.store == HEAP_ROW;
	pthread_mutex_unlock(&rd->op->lock);
	q->way = &rd->way[i];
	if (news)
		reader_way_ahead(q->way, ahead);
}

static void
count(struct reading_request *q)
{
	struct opened_counts *c = &q->rd->op->counts;

	pthread_mutex_lock(&q->rd->op->lock);
	c->bytes += q->a->bytes;
	c->live_bytes += q->counts.live_bytes;
	c->unreadable_bytes += q->counts.unreadable_bytes;
	c->filled_bytes += q->counts.filled_bytes;
	pthread_mutex_unlock(&q->rd->op->lock);
}

/* Returns how many of these bytes exist; refreshes a recording that grows
 * before it says that some do not. */
static size_t
clip(struct reading *rd, uint64_t offset, size_t bytes)
{
	uint64_t end = reading_bytes(rd);

	if (end < offset || end - offset < bytes) {
		opened_refresh(rd->op, LOOK); /* on failure, what was seen
						 before stays */
		end = reading_bytes(rd);
	}
	if (end <= offset)
		return 0;
	return end - offset < bytes ? (size_t)(end - offset) : bytes;
}

int
reading_read(struct reading *rd, uint64_t offset, size_t bytes,
	     struct reading_answer *a)
{
	struct reading_request q = {
		.rd = rd,
		.a = a,
		.offset = offset,
	};
	int err = 0;

	a->parts = a->views = 0;
	a->bytes = 0;
	a->own = NULL;
	a->passing = false;
	q.most = q.left = clip(rd, offset, bytes);
	if (!q.left)
		return 0;
	follow(&q);
	while (q.left && !err)
		err = reading_give(&q);
	free(q.raw);
	if (err == -ENODATA)
		err = 0;
	count(&q);
	if (err)
		reading_done(rd, a);
	return !err || err == -ENOMEM ? err : -EIO;
}
