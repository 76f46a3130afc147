/* SPDX-License-Identifier: MIT */
/*
 * The facts of a sender for the event loop.  The thread writes a copy of them
 * some ten times a second, word by word.  A reader that comes in the middle
 * sees `turn` odd, or changed, and reads again:
 *
 *   writer   turn + 1 | words (release)        | turn + 2 (release)
 *   reader   turn (acquire) | words (acquire)  | turn, the same and even
 *
 * A reader that has any word of a copy also sees the odd turn written before
 * it.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "flow/send/sender_priv.h"

void
sender_why(struct sender *s, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(s->facts.why, sizeof s->facts.why, format, args);
	va_end(args);
}

void
sender_went(struct sender *s, uint64_t bytes)
{
	s->facts.bytes += bytes;
}

/* Computes bits per second since SENDER_SECOND copies ago. */
static void
rate_look(struct sender *s)
{
	unsigned i = s->seconds % SENDER_SECOND;
	unsigned first = s->seconds < SENDER_SECOND ? 0 : i;
	int64_t span = s->now - s->second_at[first];

	s->facts.rate = 0;
	if (s->seconds && span > 0)
		s->facts.rate = (double)(s->facts.bytes - s->second[first]) *
				8e9 / (double)span;
	s->second[i] = s->facts.bytes;
	s->second_at[i] = s->now;
	s->seconds++;
}

/* Packets that the peer had already count as taken, but were not sent. */
static void
plugin_look(struct sender *s, struct sender_facts *f)
{
	uint64_t packets = f->send.there_packets, bytes = f->send.there_bytes;

	s->args.ops->facts(s->plugin, &f->send);
	packets = f->send.there_packets - packets;
	bytes = f->send.there_bytes - bytes;
	f->packets -= packets;
	f->bytes -= bytes;
	f->there += bytes;
}

static void
gather(struct sender *s)
{
	struct sender_facts *f = &s->facts;
	struct cut_counts counts;

	if (s->source)
		s->source->ops->facts(s->source, &f->source);
	if (s->plugin)
		plugin_look(s, f);
	/* After the cut is closed, the counts stay as they were. */
	if (s->cut) {
		cut_counts(s->cut, &counts);
		f->missing = counts.missing;
		f->unreadable = counts.unreadable;
		f->dropped = counts.dropped + f->source.dropped;
	}
	f->asked = s->asked;
	f->burst = f->send.burst ? f->send.burst : s->pacer.burst;
	f->total = f->source.total;
}

void
sender_show(struct sender *s, enum sender_state state)
{
	uint64_t words[SENDER_WORDS] = { 0 };
	uint64_t turn = atomic_load_explicit(&s->turn, memory_order_relaxed);

	s->now = clock_steady();
	if (state == s->facts.state && s->now < s->show_at)
		return;
	if (state != SENDER_CONNECTING && state < SENDER_DONE &&
	    s->facts.state == SENDER_CONNECTING)
		s->facts.why[0] = '\0';
	s->facts.state = state;
	gather(s);
	if (s->now >= s->show_at) {
		rate_look(s);
		s->show_at = s->now + SENDER_SHOW;
	}
	memcpy(words, &s->facts, sizeof s->facts);
	atomic_store_explicit(&s->turn, turn + 1, memory_order_relaxed);
	for (unsigned i = 0; i < SENDER_WORDS; i++)
		atomic_store_explicit(&s->shown[i], words[i],
				      memory_order_release);
	atomic_store_explicit(&s->turn, turn + 2, memory_order_release);
}

/* Tries to read a copy; false: it was being written. */
static bool
read_once(struct sender *s, uint64_t *words)
{
	uint64_t turn = atomic_load_explicit(&s->turn, memory_order_acquire);

	for (unsigned i = 0; i < SENDER_WORDS; i++)
		words[i] =
		    atomic_load_explicit(&s->shown[i], memory_order_acquire);
	return turn % 2 == 0 &&
	       turn == atomic_load_explicit(&s->turn, memory_order_relaxed);
}

void
sender_facts(struct sender *s, struct sender_facts *facts)
{
	uint64_t words[SENDER_WORDS];

	while (!read_once(s, words))
		;
	memcpy(facts, words, sizeof *facts);
	if (facts->state < SENDER_DONE && sender_ended(s))
		facts->state = SENDER_STOPPED;
}
