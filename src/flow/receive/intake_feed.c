/* SPDX-License-Identifier: MIT */
/*
 * Lets feeds join an intake and leave it.  Packets that the sources counted
 * before a feed joined are not the feed's; packets that came before its gate
 * closed are.
 */
#include "base/log.h"
#include "flow/receive/intake_priv.h"

/* Batches that a socket may still hold when a recording stops; see
 * intake_drain. */
enum { FLUSH_BATCHES = 4096 };

/* Appends a feed.  For the first one, sources count from zero: what they
 * counted before it was for nobody else. */
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

/* Takes packets from a source at the end of a feed.  True if more may be
 * left. */
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

/* Marks the sources of all feeds that end with this one, or ended before, as
 * drained, so that two feeds that end at the same time get the same packets.  A
 * feed that ends later may have more waiting. */
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
 * Packets that came before the gate closed belong to the recording, and the
 * kernel may still have them.  A sender that goes on could keep us here
 * forever, so the end is limited to what a socket can hold, and to a second.
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
		log_line(LEVEL_WARN, f->a.name,
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
