/* SPDX-License-Identifier: MIT */
/*
 * A step is certain when it was seen HEAP_COUNTER_CERTAIN times without a count
 * between.  Before that, a lost heap can mislead: the first difference of 1 3 4
 * 5 looks like a step of two, and the second corrects it.  A count of another
 * kind can make the step too small: 0 1 2 4 6 8 10.  A wider one takes its place
 * once that could be certain.
 *
 * Heaps that begin out of order are missing for a while; if too many were
 * reported, fewer are reported the next time.
 */
#include "flow/heaps/heap_counter.h"

#include <stddef.h>

enum { HEAP_COUNTER_CERTAIN = 4 };

static void
restart(struct counted_sender *s, uint64_t count)
{
	s->first = s->highest = count;
	s->came = 1;
	s->told = 0;
	s->passed = false;
}

/* Notes a difference of several steps.  True if the step is wider than it was
 * taken for. */
static bool
is_wider(struct counted_sender *s, uint64_t by)
{
	if (!s->step || s->agree >= HEAP_COUNTER_CERTAIN || by <= s->step ||
	    by % s->step) {
		s->widely = 0;
		return false;
	}
	s->widely = by == s->wider ? s->widely + 1 : 1;
	s->wider = by;
	return s->widely >= HEAP_COUNTER_CERTAIN;
}

static void
learn(struct counted_sender *s, uint64_t by)
{
	if (!s->step || (by < s->step && s->step % by == 0)) {
		s->step = by;
		s->agree = 1;
	} else if (by == s->step) {
		s->agree++;
	} else if (by % s->step) {
		s->step = 0; /* not a multiple: the counter counts something
				else */
		s->agree = 0;
	}
}

static void
forward(struct counted_sender *s, uint64_t count, uint64_t far)
{
	uint64_t by = count - s->highest;

	if (is_wider(s, by)) {
		s->step = by;
		s->agree = s->widely;
		restart(s, count);
		return;
	}
	learn(s, by);
	if (!s->step || by / s->step > far) {
		restart(s, count);
		return;
	}
	s->highest = count;
	s->came++;
	s->passed = false;
}

/* Records a count below the highest: a late heap, or a counter that was set
 * back.  Until the step is certain, a late heap may also show that it is
 * smaller: else those that came before would be taken for missing. */
static void
backward(struct counted_sender *s, uint64_t count, uint64_t far)
{
	uint64_t by = s->highest - count;

	s->widely = 0;
	if (!s->step || (s->agree < HEAP_COUNTER_CERTAIN && by < s->step &&
			 s->step % by == 0))
		learn(s, by);
	if (by % s->step || by / s->step > far) {
		restart(s, count);
		return;
	}
	if (count < s->first)
		s->first = count;
	s->came++;
}

static struct counted_sender *
sender_find(struct heap_counter *s, uint32_t sender)
{
	struct counted_sender *oldest = &s->of[0];

	for (unsigned i = 0; i < s->n; i++) {
		if (s->of[i].sender == sender)
			return &s->of[i];
		if (s->of[i].seen < oldest->seen)
			oldest = &s->of[i];
	}
	if (s->n < HEAP_COUNTER_SENDERS)
		oldest = &s->of[s->n++];
	*oldest = (struct counted_sender){ .sender = sender };
	return oldest;
}

void
heap_counter_see(struct heap_counter *s, uint64_t count, uint32_t sender)
{
	struct counted_sender *of = sender_find(s, sender);

	of->seen = ++s->seen;
	if (!of->came)
		restart(of, count);
	else if (count > of->highest)
		forward(of, count, s->far);
	else if (count < of->highest)
		backward(of, count, s->far);
	else if (of->passed) {
		of->came++;
		of->passed = false;
	}
}

bool
heap_counter_pass(struct heap_counter *s, uint64_t count, uint32_t sender)
{
	struct counted_sender *of = s->of;
	uint64_t by;

	while (of < s->of + s->n && of->sender != sender)
		of++;
	if (of == s->of + s->n || of->agree < HEAP_COUNTER_CERTAIN)
		return false;
	by = count - of->highest;
	if (count > of->highest && by % of->step == 0 &&
	    by / of->step <= s->far) {
		of->highest = count;
		of->passed = true;
	}
	return true;
}

static uint64_t
sender_untold(const struct counted_sender *s)
{
	uint64_t all, missing;

	if (s->agree < HEAP_COUNTER_CERTAIN)
		return 0;
	all = (s->highest - s->first) / s->step + 1;
	missing = all > s->came ? all - s->came : 0;
	return missing > s->told ? missing - s->told : 0;
}

uint64_t
heap_counter_untold(const struct heap_counter *s)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < s->n; i++)
		n += sender_untold(&s->of[i]);
	return n;
}

uint64_t
heap_counter_missing(struct heap_counter *s)
{
	uint64_t n = heap_counter_untold(s);

	for (unsigned i = 0; i < s->n; i++)
		s->of[i].told += sender_untold(&s->of[i]);
	return n;
}
