/* SPDX-License-Identifier: MIT */
/*
 * Threads: if the configuration names threads, each second must have these and
 * no others; if not, every second must have the threads of the others.
 *
 * Times: the data's own time must run with the time of the recorder, and
 * evenly.  Two packets of one run, far apart, say by their numbers how many
 * packets there were per second.  If the frames per second are not known, they
 * follow from these two packets as well, by iteration: so many packets of so
 * many threads in so many whole seconds leave a frame's time uncertain by less
 * than a second, and each round makes that smaller.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "store/list/glance_priv.h"

/* packets to look at per thread before one is called absent */
enum { ENOUGH = 4 };

static unsigned
threads_in(const struct glance_second *s)
{
	unsigned n = 0;

	for (unsigned i = 0; i < GLANCE_THREADS / 64; i++)
		n += (unsigned)__builtin_popcountll(s->thread[i]);
	return n;
}

/* Collects the threads of all seconds; returns how many. */
static unsigned
threads_seen(const struct look *l, struct glance_second *all)
{
	memset(all->thread, 0, sizeof all->thread);
	for (unsigned i = 0; i < GLANCE_SECONDS; i++)
		for (unsigned k = 0; k < GLANCE_THREADS / 64; k++)
			all->thread[k] |= l->out->second[i].thread[k];
	return threads_in(all);
}

static bool
is_named(const struct format_shape *s, unsigned thread)
{
	for (uint32_t i = 0; i < s->threads_n; i++)
		if (s->threads[i] == thread)
			return true;
	return false;
}

static void
threads_unnamed(struct look *l, const struct glance_second *all)
{
	const struct format_shape *s = &l->rec->shape;

	for (unsigned t = 0; s->threads_n && t < GLANCE_THREADS; t++)
		if (glance_has_thread(all, t) && !is_named(s, t))
			glance_wrong(l,
				     "there are packets of thread %u, which is "
				     "none of the stream's",
				     t);
}

void
glance_threads(struct look *l)
{
	const struct format_shape *shape = &l->rec->shape;
	struct glance_second all;
	unsigned n = threads_seen(l, &all);

	if (!n)
		return;
	threads_unnamed(l, &all);
	for (unsigned i = 0; i < shape->threads_n; i++)
		all.thread[shape->threads[i] % GLANCE_THREADS / 64] |=
		    UINT64_C(1) << shape->threads[i] % 64;
	n = threads_in(&all);
	for (unsigned i = 0; i < GLANCE_SECONDS; i++) {
		const struct glance_second *s = &l->out->second[i];

		for (unsigned t = 0;
		     t < GLANCE_THREADS && s->looked >= ENOUGH * n; t++)
			if (glance_has_thread(&all, t) &&
			    !glance_has_thread(s, t))
				glance_wrong(l,
					     "there is no packet of thread %u "
					     "in its %s second",
					     t, glance_name(i));
	}
}

/* ---- packets --------------------------------------------------------- */

static void
hold_packets(struct look *l, unsigned i)
{
	const struct glance_second *s = &l->out->second[i];
	const char *what = l->rec->facts.format, *name = glance_name(i);

	if (s->unreadable)
		glance_wrong(l,
			     "%" PRIu64 " of %" PRIu64 " packets looked at in "
			     "its %s second are not %s of its size",
			     s->unreadable, s->looked, name, what);
	if (s->misplaced)
		glance_wrong(l,
			     "%" PRIu64 " of %" PRIu64 " packets looked at in "
			     "its %s second are not where their number says",
			     s->misplaced, s->looked, name);
	if (s->backwards)
		glance_wrong(l,
			     "the time of %" PRIu64 " of %" PRIu64 " packets "
			     "looked at in its %s second is not later than "
			     "that of the one before",
			     s->backwards, s->looked, name);
	if (s->invalid)
		glance_remark(l,
			      "%" PRIu64 " of %" PRIu64 " packets looked at in "
			      "its %s second are marked invalid by the sender",
			      s->invalid, s->looked, name);
}

/* ---- data time and arrival ------------------------------------------- */

static void
take_offset(struct look *l, unsigned i, int64_t data, int64_t arrival)
{
	struct glance_second *s = &l->out->second[i];
	char text[UNITS_TEXT];
	/* without frames per second, a time is cut to its second */
	int64_t low = l->rec->shape.fps ? -NS_SECOND : -2 * NS_SECOND;
	int64_t off = data - arrival;

	s->timed = true;
	s->offset_ns = off;
	if (off >= low && off <= NS_SECOND)
		return;
	units_show_span(text, off < 0 ? -off : off);
	glance_remark(l,
		      "the data's time is %s %s that of arrival in its %s "
		      "second",
		      text, off < 0 ? "behind" : "ahead of", glance_name(i));
}

/* Compares the first block's time with the arrival of the run's first
 * packet. */
static void
offset_first(struct look *l)
{
	const struct recording *rec = l->rec;

	for (size_t i = 0; i < rec->blocks; i++) {
		const struct index_record *r = &rec->block[i].record;
		int64_t arrival;

		if (r->kind != INDEX_BLOCK)
			continue;
		arrival = recording_arrival(rec, r->sub, r->run);
		if (r->flags & INDEX_DATA_TIME && arrival)
			take_offset(l, 0, r->first_ns, arrival);
		return;
	}
}

/* Arrival of the last packet of a substream, as the end line says; 0:
 * unknown. */
static int64_t
arrived_last(const struct recording *rec, unsigned sub)
{
	const json_t *end = json_object_get(rec->tail, "end");
	const json_t *was = json_array_get(json_object_get(end, "subs"), sub);
	const char *text =
	    json_string_value(json_object_get(was, "arrived_end"));
	int64_t ns;

	return text && !units_time(text, 0, &ns) ? ns : 0;
}

static void
offset_last(struct look *l)
{
	const struct recording *rec = l->rec;

	for (size_t i = rec->blocks; i--;) {
		const struct index_record *r = &rec->block[i].record;
		int64_t arrival;

		if (r->kind != INDEX_BLOCK)
			continue;
		l->out->data_time = r->flags & INDEX_DATA_TIME;
		arrival = arrived_last(rec, r->sub);
		if (l->out->data_time && arrival)
			take_offset(l, 2, r->last_ns, arrival);
		return;
	}
}

/* ---- the rate -------------------------------------------------------- */

static double
mark_time(const struct glance_mark *m, double fps)
{
	return (double)m->second + (fps > 0 ? m->frame / fps : 0);
}

/* Packets per second from a to b; 0 if they cannot tell. */
static double
rate_between(const struct look *l, const struct glance_mark *a,
	     const struct glance_mark *b, unsigned threads, double *fps)
{
	double packets, seconds, rate = 0;
	bool known = l->rec->shape.fps;

	if (!a->there || !b->there || a->run != b->run || a->sub != b->sub ||
	    b->sequence <= a->sequence)
		return 0;
	packets = (double)(b->sequence - a->sequence);
	*fps = l->rec->shape.fps;
	for (unsigned i = 0; i < 16; i++) {
		seconds = mark_time(b, *fps) - mark_time(a, *fps);
		if (seconds < (known ? 0.5 : 3))
			return 0;
		rate = packets / seconds;
		if (!known)
			*fps = rate / (threads * l->rec->shape.parts);
	}
	return rate;
}

static void
hold_even(struct look *l, double rate, double fps)
{
	const struct glance_mark *m = l->mark;
	char text[UNITS_TEXT];
	double late;

	if (!m[1].there || m[1].run != m[0].run || m[1].sub != m[0].sub)
		return;
	late = mark_time(&m[1], fps) - mark_time(&m[0], fps) -
	       ((double)m[1].sequence - (double)m[0].sequence) / rate;
	if (fabs(late) < (l->rec->shape.fps ? 0.1 : 1.5))
		return;
	units_show_span(text, (int64_t)(fabs(late) * 1e9));
	glance_wrong(l,
		     "the data's time leaps: in its middle second it is %s %s "
		     "what the number of packets says",
		     text, late < 0 ? "behind" : "ahead of");
}

/* Compares the rate with the configured one, which may count whole frames or
 * only the data in them. */
static void
hold_rate(struct look *l)
{
	const struct format_shape *s = &l->rec->shape;
	double frame = (double)s->payload * s->parts;
	double bare = l->out->rate * (frame - s->header) / frame;
	char is[UNITS_TEXT], should[UNITS_TEXT];
	double wanted = l->out->rate_wanted;

	if (wanted <= 0 || l->out->rate <= 0 ||
	    (bare < wanted * 1.01 && l->out->rate > wanted * 0.99))
		return;
	units_show_rate(is, l->out->rate);
	units_show_rate(should, wanted);
	glance_remark(l, "it came at %s, the stream's rate is %s", is, should);
}

/* The rate by arrival, for packets without times of their own; only as even as
 * the network is. */
static double
rate_arrived(const struct look *l)
{
	const struct recording_run *r = l->rec->facts.run;
	double seconds, packets;

	if (l->rec->facts.runs != 1 || l->rec->shape.store != HEAP_NONE)
		return 0;
	seconds = (double)(r->last_ns - r->first_ns) / 1e9;
	packets = (double)(r->last - r->first);
	return seconds > 2 ? packets / seconds : 0;
}

void
glance_times(struct look *l)
{
	unsigned threads = l->rec->shape.threads_n;
	struct glance_second all;
	double rate, fps = 0;

	for (unsigned i = 0; i < GLANCE_SECONDS; i++)
		hold_packets(l, i);
	offset_last(l);
	offset_first(l);
	if (!threads)
		threads = threads_seen(l, &all);
	rate = rate_between(l, &l->mark[0], &l->mark[2], threads ? threads : 1,
			    &fps);
	if (rate > 0)
		hold_even(l, rate, fps);
	else
		rate = l->out->data_time ? 0 : rate_arrived(l);
	l->out->rate = rate * 8 * l->rec->shape.payload;
	if (l->rec->facts.subs == 1)
		l->out->rate_wanted = (double)l->rec->shape.rate;
	hold_rate(l);
}
