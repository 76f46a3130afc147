/* SPDX-License-Identifier: MIT */
/*
 * Learns from the packets of a stream before an intake can place them, once for
 * all of its places; learn.h says what, and how.
 */
#include "flow/receive/intake_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

/* Nothing but a missing sequence is learned if threads share the packets of one
 * stream: each would see only a part. */
int
intake_learn_make(struct intake *in)
{
	const struct format_shape *shape = in->a.shape;
	bool needed = learn_needed(shape);

	if (!needed && (in->a.rings || !learn_wanted(shape)))
		return 0;
	in->learn = malloc(sizeof *in->learn);
	if (!in->learn)
		return -ENOMEM;
	learn_start(in->learn, shape);
	in->learns = true;
	atomic_store_explicit(&in->learning, needed, memory_order_relaxed);
	if (!needed)
		atomic_store_explicit(&in->fps, LEARN_WAIT,
				      memory_order_relaxed);
	return 0;
}

void
intake_learn_free(struct intake *in)
{
	if (in->learn && in->a.shape->threads == in->learn->thread)
		in->a.shape->threads = NULL;
	free(in->learn);
}

/* Writes what was learned into the shapes.  The list of threads stays in
 * `learn`, which lives as long as the intake. */
static void
shape_learned(struct intake *in)
{
	struct learn *l = in->learn;
	struct format_shape *shape = in->a.shape;

	shape->fps = l->fps;
	if (!shape->threads_n) {
		shape->threads = l->thread;
		shape->threads_n = l->threads;
	}
	for (unsigned i = 0; in->a.own && i < in->a.places; i++)
		in->a.own[i]->fps = l->fps;
	atomic_store_explicit(&in->learning, false, memory_order_release);
	log_line(LEVEL_INFO, in->a.name,
		 "learned %u frames per second and %u thread%s", shape->fps,
		 shape->threads_n, shape->threads_n == 1 ? "" : "s");
}

/* Ends learning.  If a counter gives the sequence, the shape stays as it is,
 * because other threads read it, and blocks carry the frames per second instead
 * (slots_release). */
static void
learned(struct intake *in)
{
	in->learns = false;
	if (learn_needed(in->a.shape))
		shape_learned(in);
	else
		log_line(LEVEL_INFO, in->a.name, "learned %u frames per second",
			 in->learn->fps);
	atomic_store_explicit(&in->fps, in->learn->fps, memory_order_relaxed);
}

/* Stops learning; not for packets that have no sequence without it. */
static void
give_up(struct intake *in)
{
	if (learn_needed(in->a.shape))
		return;
	in->learns = false;
	atomic_store_explicit(&in->fps, 0, memory_order_relaxed);
}

/* True if this packet was the last one needed. */
static bool
packet_learn(struct intake *in, const struct receive_packet *k)
{
	uint32_t whole = in->a.shape->prefix + in->a.shape->payload;
	struct format_packet p;

	if (k->flags & (RECEIVE_FOREIGN | RECEIVE_CUT) || k->bytes != whole)
		return false;
	in->a.format->parse(in->a.shape, k->prefix, k->payload, &p);
	return learn_packet(in->learn, &p);
}

void
intake_learn(struct intake *in, const struct receive_batch *b)
{
	unsigned i = 0;

	while (i < b->packets && !packet_learn(in, &b->packet[i]))
		i++;
	if (i < b->packets)
		learned(in);
	else if (learn_hopeless(in->learn))
		give_up(in);
}
