/* SPDX-License-Identifier: MIT */
/*
 * What packets of a stream teach an intake before it can place them; learn.h
 * says what, and how.  Once for all of its places.
 */
#include "flow/intake_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

int
intake_learn_make(struct intake *in)
{
	if (!learn_needed(in->a.shape))
		return 0;
	in->learn = malloc(sizeof *in->learn);
	if (!in->learn)
		return -ENOMEM;
	learn_start(in->learn, in->a.shape);
	atomic_store_explicit(&in->learning, true, memory_order_relaxed);
	return 0;
}

void
intake_learn_free(struct intake *in)
{
	if (in->learn && in->a.shape->threads == in->learn->thread)
		in->a.shape->threads = NULL;
	free(in->learn);
}

/* The learned threads stay in `learn`, which lives as long as the intake. */
static void
learned(struct intake *in)
{
	struct learn *l = in->learn;
	struct format_shape *shape = in->a.shape;

	shape->fps = l->fps;
	if (!l->threads_known) {
		shape->threads = l->thread;
		shape->threads_n = l->threads;
	}
	for (unsigned i = 0; in->a.own && i < in->a.places; i++)
		in->a.own[i]->fps = l->fps;
	atomic_store_explicit(&in->learning, false, memory_order_release);
	log_line(LOG_INFO, in->a.name,
		 "learned %u frames per second and %u thread%s; set `fps` and "
		 "`threads` of the stream to record from the first packet",
		 shape->fps, shape->threads_n,
		 shape->threads_n == 1 ? "" : "s");
}

bool
intake_learns(const struct intake *in)
{
	return learn_needed(in->a.shape);
}

/* Returns what it is dropped for. */
static enum drop
packet_learn(struct intake *in, const struct receive_packet *k)
{
	uint32_t whole = in->a.shape->prefix + in->a.shape->payload;
	struct format_packet p;

	if (k->flags & RECEIVE_FOREIGN)
		return DROP_FOREIGN;
	if (k->flags & RECEIVE_CUT || k->bytes != whole)
		return DROP_WRONG_SIZE;
	in->a.format->parse(in->a.shape, k->prefix, k->payload, &p);
	if (learn_packet(in->learn, &p))
		learned(in);
	return DROP_LEARNING;
}

/* Nothing runs yet, so that no packet lies in a slot: those that are left may
 * move up in the list. */
void
intake_learn(struct intake *in, struct intake_source *s,
	     struct receive_batch *b, const struct feed_time *t)
{
	uint8_t why[RECEIVE_BATCH];
	unsigned n = 0;

	for (; n < b->packets && intake_learns(in); n++)
		why[n] = (uint8_t)packet_learn(in, &b->packet[n]);
	for (struct feed *f = in->feeds; f && n; f = f->next)
		feed_drop(f, s, b->packet, why, n, t);
	b->packets -= n;
	memmove(b->packet, b->packet + n, b->packets * sizeof b->packet[0]);
}
