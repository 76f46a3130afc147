/* SPDX-License-Identifier: MIT */
/*
 * How feeds come to an intake and leave it: what its sources had told by then
 * is none of theirs, and what had arrived before their gates closed is.
 */
#include "base/log.h"
#include "flow/receive/intake_priv.h"

/* What a socket may still hold when the recording stops; see intake_drain. */
enum { FLUSH_BATCHES = 4096 };

/* What the first one did not see was for nobody. */
void
intake_join(struct intake *in, struct feed *f)
{
	struct feed **at = &in->feeds;

	if (in->used)
		intake_look(in, in->sources);
	pthread_mutex_lock(&in->lock);
	for (unsigned i = 0; in->used && i < in->sources; i++) {
		f->source[i].datagrams = in->source[i].counts.datagrams;
		f->source[i].overruns = in->source[i].counts.overruns;
	}
	f->state = FEED_JOINED;
	f->gate = f->wanted;
	pthread_mutex_unlock(&in->lock);
	in->used = true;
	while (*at)
		at = &(*at)->next;
	*at = f;
}

void
intake_leave(struct intake *in, struct feed *f)
{
	struct feed **at = &in->feeds;

	pthread_mutex_lock(&in->lock);
	for (unsigned i = 0; i < in->sources; i++) {
		f->source[i].datagrams_end = in->source[i].counts.datagrams;
		f->source[i].overruns_end = in->source[i].counts.overruns;
	}
	f->state = FEED_LEFT;
	pthread_mutex_unlock(&in->lock);
	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
}

/* True when something may be left in it. */
static bool
source_drain(struct intake_source *s, struct feed *f, unsigned batches,
	     int64_t now_ns, int64_t now)
{
	struct feed_source *of = &f->source[s->number];
	int came;

	if (s->ended || (of->drained && !s->waits) ||
	    of->drainings >= FLUSH_BATCHES)
		return false;
	came = intake_pass(s, batches, now_ns, now);
	of->drainings += came ? batches : 0;
	return feed_waits(f, s, now, came);
}

/* What is nothing any more of one is so of all that ended with it, or before:
 * two that end at one time get the same.  Of one that ends later more may be
 * waiting. */
static void
feeds_drained(struct intake *in, const struct feed *by, int64_t now)
{
	for (struct feed *f = in->feeds; f; f = f->next) {
		if (!f->until || now < f->settled ||
		    f->gate.data != by->gate.data ||
		    f->gate.close > by->gate.close)
			continue;
		for (unsigned i = 0; i < in->sources; i++)
			f->source[i].drained = true;
	}
}

/*
 * What arrived before the gate closed belongs to the recording, and the kernel
 * may still have it.  A sender that goes on could keep us here for ever, so
 * the end is also what a socket can hold, or a second.
 */
bool
intake_drain(struct intake *in, struct feed *f, unsigned batches,
	     int64_t now_ns, int64_t now)
{
	bool more = false;

	if (f->gate.close <= f->gate.open)
		return true;
	for (unsigned i = 0; i < in->sources; i++)
		more |= source_drain(&in->source[i], f, batches, now_ns, now);
	if (!more)
		feeds_drained(in, f, now);
	if (more && now >= f->until)
		log_line(LOG_WARN, f->a.name,
			 "the end came faster than its sockets could be "
			 "emptied: what they still hold is not recorded, and "
			 "not counted");
	return !more || now >= f->until;
}

void
intake_flush(struct intake *in, struct feed *f, int64_t now)
{
	feed_flush(f, now);
	intake_look(in, in->sources);
}
