/* SPDX-License-Identifier: MIT */
/*
 * Three seconds are looked at, each around a block: the first block with data,
 * the one in the middle of all numbers, and the last.  They are chosen by
 * number and not by time, so that a clock that leapt cannot hide a second.
 * Little is read: some packets at three places of each second, the lengths of
 * the chunks these are in, and the length of the last chunk of each disk, which
 * is the chunk that a disk that went away does not have.
 *
 * A second is the slots, of the blocks around a given one, whose times lie in
 * it.  An index has the times of a block's two ends; between these packets come
 * evenly enough to find a place to look at, and to say which share of a block
 * counts.  The losses in a part of a block are counted from its holes, a line
 * of metadata that has to be read.  Beyond LINES_MOST such blocks, losses are
 * taken as spread evenly.
 *
 * Packets are read at the beginning, in the middle and at the end of a second;
 * with several substreams at one place of each, of at most QUICK_CHECK_SUBS of them.
 * Slots for which the metadata says that nothing came hold fill, and are
 * skipped.  Rows can be read from the beginning of a block only, since each
 * packet says where the next one is.  Items of cubes say nothing about
 * themselves, so cubes are not read.
 *
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
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "store/list/quick_check.h"
#include "store/record/heap_chunk.h"
#include "store/recording/recording_priv.h"

enum {
	LOOK_BYTES = 256 << 10, /* least bytes to read at a place */
	LOOK_ROUNDS = 2,	/* rounds of all threads to read, but */
	LOOK_MOST = 8 << 20,	/* bytes to read at a place, at most */
};

enum { LINES_MOST = 256 }; /* lines of holes that are read for a second */

enum { PLACES = 3, ROW_PACKETS = 64 };

/* packets to look at per thread before one is called absent */
enum { ENOUGH = 4 };

enum {
	PARTS_MOST = 4096, /* most parts of a second */
	SLOTS_MOST = 4096, /* most slots that are looked at in one place */
};

/* Slots of one block that lie in a second; for heaps the whole block. */
struct second_part {
	const struct recording_block *b;
	uint64_t from, to;
};

/* A packet whose position and time are known. */
struct timed_packet {
	bool there;
	uint32_t run;
	uint16_t sub;
	uint64_t sequence; /* relative to the run */
	int64_t second;
	uint32_t frame, thread;
};

/* State of a quick check. */
struct check_state {
	struct recording *rec;
	const struct quick_check_hooks *hooks;
	struct quick_check *out;
	const struct format_ops *format; /* NULL: not installed */
	uint8_t *data;			 /* `room` bytes */
	size_t room;			 /* bytes of data */
	struct second_part *part;
	size_t parts;
	struct timed_packet mark[QUICK_CHECK_SECONDS];
};

static void
say(struct check_state *l, void (*to)(void *, const char *), const char *format,
    va_list args)
{
	char sentence[512];

	vsnprintf(sentence, sizeof sentence, format, args);
	if (to)
		to(l->hooks->arg, sentence);
}

__attribute__((format(printf, 2, 3))) static void
wrong(struct check_state *l, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(l, l->hooks->wrong, format, args);
	va_end(args);
}

__attribute__((format(printf, 2, 3))) static void
remark(struct check_state *l, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(l, l->hooks->remark, format, args);
	va_end(args);
}

/* Name of a second: "first", "middle" or "last". */
static const char *
second_name(unsigned second)
{
	static const char *const names[] = { "first", "middle", "last" };

	return names[second];
}

/* Reports a chunk that cannot be read.  The disk of one that parity is to give is
 * away: `disk` is that of a parity block, which is not to blame. */
static void
unread(struct check_state *l, const struct recording_block *b,
       const char *where, const char *why)
{
	if (b->computed)
		wrong(l,
		      "chunk %" PRIu64 " cannot be read%s: its disk is away, "
		      "and parity does not give it",
		      b->record.number, where);
	else
		wrong(l, "chunk %" PRIu64 " on %s cannot be read%s: %s",
		      b->record.number, l->rec->disks->disk[b->disk].path,
		      where, why);
}

/* ---- the parts of a second --------------------------------------------- */

static uint64_t
slots_of(const struct recording *rec, const struct recording_block *b)
{
	return rec->shape.store == HEAP_NONE
		   ? b->record.bytes / rec->shape.payload
		   : (uint64_t)b->record.present + b->record.missing;
}

/* The slot with this time. */
static uint64_t
slot_at(const struct recording_block *b, uint64_t slots, int64_t ns)
{
	const struct index_record *r = &b->record;
	double part;

	if (ns <= r->first_ns || !slots)
		return 0;
	if (ns > r->last_ns)
		return slots;
	part = (double)(ns - r->first_ns) / (double)(r->last_ns - r->first_ns);
	return (uint64_t)(part * (double)(slots - 1) + 0.5);
}

/* Counts the holes in a range of slots. */
struct part_holes {
	uint64_t from, to, missing;
};

static void
count_hole(void *arg, uint64_t at, uint64_t count)
{
	struct part_holes *h = arg;
	uint64_t end = at + count;

	if (at < h->from)
		at = h->from;
	if (end > h->to)
		end = h->to;
	if (end > at)
		h->missing += end - at;
}

/* Packets missing in the slots of a part. */
static uint64_t
missing_in(struct recording *rec, const struct recording_block *b,
	   const struct second_part *p, unsigned *lines)
{
	uint64_t slots = slots_of(rec, b), n = p->to - p->from;
	struct part_holes h = { .from = p->from, .to = p->to };

	if (!b->record.missing || n == slots)
		return b->record.missing;
	if (rec->shape.store == HEAP_NONE && *lines) {
		--*lines;
		if (!recording_holes(rec, b->record.number, count_hole, &h))
			return h.missing;
	}
	return slots ? b->record.missing * n / slots : 0;
}

static void
take_block(struct check_state *l, struct quick_check_second *s,
	   const struct recording_block *b, unsigned *lines)
{
	uint64_t slots = slots_of(l->rec, b), missing;
	struct second_part p = { b, slot_at(b, slots, s->from_ns),
				 slot_at(b, slots, s->to_ns) };

	if (p.to < slots && s->to_ns >= b->record.last_ns)
		p.to = slots;
	if (p.to <= p.from)
		return;
	missing = missing_in(l->rec, b, &p, lines);
	s->missing += missing;
	s->packets += p.to - p.from > missing ? p.to - p.from - missing : 0;
	if (l->parts < PARTS_MOST)
		l->part[l->parts++] = p;
}

/* Adds a block to the second.  False if it does not belong to it. */
static bool
take(struct check_state *l, struct quick_check_second *s, size_t i,
     unsigned *lines)
{
	const struct recording_block *b = &l->rec->block[i];
	const struct index_record *r = &b->record;

	if (r->kind == RECORDING_ABSENT || r->kind == RECORDING_UNUSED)
		return true; /* unknown */
	if (r->first_ns > s->to_ns || r->last_ns < s->from_ns)
		return false;
	if (r->kind == INDEX_GAP)
		s->missing += r->missing;
	else
		take_block(l, s, b, lines);
	return true;
}

static void
date(struct quick_check_second *s, unsigned i, const struct index_record *r)
{
	int64_t middle = r->first_ns + (r->last_ns - r->first_ns) / 2;

	switch (i) {
	case 0: s->from_ns = r->first_ns; break;
	case 1: s->from_ns = middle - NS_SECOND / 2; break;
	default: s->from_ns = r->last_ns - NS_SECOND;
	}
	s->to_ns = s->from_ns + NS_SECOND;
}

static int
by_number(const void *a, const void *b)
{
	const struct second_part *x = a, *y = b;

	return x->b < y->b ? -1 : x->b > y->b;
}

/* Blocks of substreams take turns, so blocks of another time may stand between
 * those of this second; the search ends after `patience` of them. */
static void
find_second(struct check_state *l, unsigned i, size_t around)
{
	struct quick_check_second *s = &l->out->second[i];
	unsigned patience = 2 * l->rec->facts.subs + 64;
	unsigned lines = LINES_MOST, missed = 0;

	l->parts = 0;
	date(s, i, &l->rec->block[around].record);
	for (size_t k = around; k < l->rec->blocks && missed < patience; k++)
		missed = take(l, s, k, &lines) ? 0 : missed + 1;
	missed = 0;
	for (size_t k = around; k-- && missed < patience;)
		missed = take(l, s, k, &lines) ? 0 : missed + 1;
	qsort(l->part, l->parts, sizeof *l->part, by_number);
}

/* ---- packets of a second ----------------------------------------------- */

/* Adjacent packets in a block. */
struct packet_run {
	const struct recording_block *b;
	uint64_t first; /* first slot, in the block */
	uint32_t slots;
};

/* The last time of each thread, as second and frame. */
struct clocks {
	struct {
		int64_t second;
		uint32_t frame;
	} thread[QUICK_CHECK_THREADS];
};

static void
take_station(struct quick_check_second *s, uint32_t station)
{
	for (unsigned i = 0; i < s->stations; i++)
		if (s->station[i] == station)
			return;
	if (s->stations < QUICK_CHECK_STATIONS)
		s->station[s->stations++] = station;
}

static bool
is_misplaced(const struct check_state *l, const struct packet_run *p,
	     uint64_t slot, const struct format_packet *packet)
{
	const struct index_record *r = &p->b->record;
	const struct format_shape *s = &l->rec->shape;
	uint64_t base = recording_base(l->rec, r->sub, r->run);
	uint64_t is = packet->sequence, should = base + r->first + slot;

	if (packet->has & FORMAT_PART &&
	    packet->part != (r->first + slot) % s->parts)
		return true;
	if (!(packet->has & FORMAT_SEQUENCE) || !base)
		return false;
	if (s->sequence_bits == 32)
		return (uint32_t)is != (uint32_t)should;
	return is != should;
}

static bool
is_backwards(struct clocks *c, const struct format_packet *p)
{
	unsigned thread = p->thread % QUICK_CHECK_THREADS;
	bool back = p->second < c->thread[thread].second ||
		    (p->second == c->thread[thread].second &&
		     p->frame <= c->thread[thread].frame);

	back = back && c->thread[thread].second;
	c->thread[thread].second = p->second;
	c->thread[thread].frame = p->frame;
	return back;
}

/*
 * Keeps the first packet of a second, or better, the first of the same thread
 * as in the first second: frames of all threads have one time, so packets
 * counted from one thread's to another's would be too many or too few.
 */
static void
take_mark(struct timed_packet *m, const struct timed_packet *first,
	  const struct packet_run *at, uint64_t slot,
	  const struct format_packet *p)
{
	const struct index_record *r = &at->b->record;

	if (m->there &&
	    (m->thread == first->thread || p->thread != first->thread))
		return;
	*m = (struct timed_packet){
		.there = true,
		.run = r->run,
		.sub = r->sub,
		.sequence = r->first + slot,
		.second = p->second,
		.frame = p->frame,
		.thread = p->thread,
	};
}

static void
take_packet(struct check_state *l, unsigned i, const struct packet_run *at,
	    uint64_t slot, struct clocks *clocks)
{
	struct quick_check_second *s = &l->out->second[i];
	const struct format_shape *shape = &l->rec->shape;
	uint32_t frame = shape->payload * shape->parts;
	struct format_packet p;

	l->format->parse(shape, NULL,
			 l->data + (slot - at->first) * shape->payload, &p);
	s->looked++;
	if (!(p.has & FORMAT_READABLE) || (p.bytes && p.bytes != frame)) {
		s->unreadable++;
		return;
	}
	s->invalid += !(p.has & FORMAT_VALID);
	s->misplaced += is_misplaced(l, at, slot, &p);
	if (!(p.has & FORMAT_TIME))
		return;
	s->threaded = true;
	s->thread[p.thread % QUICK_CHECK_THREADS / 64] |= UINT64_C(1)
							  << p.thread % 64;
	take_station(s, p.station);
	s->backwards += is_backwards(clocks, &p);
	take_mark(&l->mark[i], &l->mark[0], at, slot, &p);
}

static void
read_place(struct check_state *l, unsigned i, struct packet_run *p)
{
	const struct format_shape *s = &l->rec->shape;
	struct clocks clocks = { 0 };
	uint64_t first = p->b->record.first;
	uint64_t present[SLOTS_MOST / 64];
	char where[40];
	ssize_t got;

	got = recording_chunk_read(l->rec, p->b, l->data,
				   (size_t)p->slots * s->payload,
				   p->first * s->payload);
	if (got != (ssize_t)((size_t)p->slots * s->payload)) {
		snprintf(where, sizeof where, " where its %s second is",
			 second_name(i));
		unread(l, p->b, where,
		       got < 0 ? strerror((int)-got)
			       : "the file ends before that");
	}
	memset(present, 0xff, sizeof present);
	if (got < 0 || recording_present(l->rec, p->b->record.number, p->first,
					 p->slots, present))
		return;
	p->slots = (uint32_t)((size_t)got / s->payload);
	for (uint32_t k = 0; k < p->slots; k++) {
		if ((first + p->first + k) % s->parts == 0 &&
		    present[k / 64] >> k % 64 & 1)
			take_packet(l, i, p, p->first + k, &clocks);
	}
}

/* Finds slots from position `at` on in a substream's parts of the second: whole
 * frames, as many as fit into the buffer and are in one block. */
static bool
place_find(struct check_state *l, unsigned sub, uint64_t at,
	   struct packet_run *p)
{
	const struct format_shape *s = &l->rec->shape;
	uint64_t slots = l->room / s->payload, left;

	for (size_t i = 0; i < l->parts; i++) {
		const struct second_part *part = &l->part[i];
		uint64_t n = part->to - part->from;

		if (part->b->record.sub != sub || part->b->disk < 0)
			continue;
		if (at >= n) {
			at -= n;
			continue;
		}
		p->b = part->b;
		p->first = part->from + at;
		p->first -= (part->b->record.first + p->first) % s->parts;
		left = part->b->record.bytes / s->payload - p->first;
		slots = slots < left ? slots : left;
		p->slots = (uint32_t)(slots < SLOTS_MOST ? slots : SLOTS_MOST);
		return p->first < INT64_MAX && p->slots;
	}
	return false;
}

static uint64_t
slots_of_sub(const struct check_state *l, unsigned sub)
{
	uint64_t slots = 0;

	for (size_t i = 0; i < l->parts; i++)
		if (l->part[i].b->record.sub == sub && l->part[i].b->disk >= 0)
			slots += l->part[i].to - l->part[i].from;
	return slots;
}

/* Reads at several places; the last one ends where the second does. */
static bool
read_slots(struct check_state *l, unsigned i, unsigned sub, unsigned places)
{
	uint64_t slots = slots_of_sub(l, sub);
	uint64_t fit = l->room / l->rec->shape.payload;
	uint64_t span = slots > fit ? slots - fit : 0;
	struct packet_run p;
	bool any = false;

	for (unsigned k = 0; k < places; k++) {
		uint64_t at = places > 1 ? span / (places - 1) * k : span / 2;

		if (k && !span)
			break; /* all was read at the first place */
		if (!place_find(l, sub, at, &p))
			continue;
		read_place(l, i, &p);
		any = true;
	}
	return any;
}

static bool
read_row(struct check_state *l, unsigned i, unsigned sub)
{
	struct quick_check_second *s = &l->out->second[i];
	const struct recording_block *b = NULL;
	struct heap_chunk row;
	int err;

	for (size_t k = 0; k < l->parts && !b; k++)
		if (l->part[k].b->record.sub == sub && l->part[k].b->disk >= 0)
			b = l->part[k].b;
	if (!b)
		return false;
	err = recording_heap_chunk(l->rec, b, l->format, ROW_PACKETS, &row);
	if (err) {
		unread(l, b, "", strerror(-err));
		return true;
	}
	s->looked += row.packets;
	s->incomplete += row.incomplete;
	if (row.packets < ROW_PACKETS && row.bytes < b->bytes) {
		s->looked++;
		s->unreadable++;
	}
	s->misplaced += row.packets && row.first != b->record.first;
	s->backwards += row.contradicted;
	return true;
}

/* Reads packets of second i, whose parts were found. */
static void
read_second(struct check_state *l, unsigned i)
{
	unsigned subs = l->rec->facts.subs, looked = 0;
	unsigned step = (subs + QUICK_CHECK_SUBS - 1) / QUICK_CHECK_SUBS;
	unsigned places = subs > 1 ? 1 : PLACES;

	if (!l->format)
		return;
	for (unsigned sub = 0; sub < subs; sub += step) {
		switch (l->rec->shape.store) {
		case HEAP_NONE: looked += read_slots(l, i, sub, places); break;
		case HEAP_ROW: looked += read_row(l, i, sub); break;
		default: break;
		}
	}
	if (looked > l->out->looked)
		l->out->looked = looked;
}

/* ---- threads ----------------------------------------------------------- */

static unsigned
threads_in(const struct quick_check_second *s)
{
	unsigned n = 0;

	for (unsigned i = 0; i < QUICK_CHECK_THREADS / 64; i++)
		n += (unsigned)__builtin_popcountll(s->thread[i]);
	return n;
}

/* Collects the threads of all seconds; returns how many. */
static unsigned
threads_seen(const struct check_state *l, struct quick_check_second *all)
{
	memset(all->thread, 0, sizeof all->thread);
	for (unsigned i = 0; i < QUICK_CHECK_SECONDS; i++)
		for (unsigned k = 0; k < QUICK_CHECK_THREADS / 64; k++)
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
threads_unnamed(struct check_state *l, const struct quick_check_second *all)
{
	const struct format_shape *s = &l->rec->shape;

	for (unsigned t = 0; s->threads_n && t < QUICK_CHECK_THREADS; t++)
		if (quick_check_has_thread(all, t) && !is_named(s, t))
			wrong(l,
			      "there are packets of thread %u, which the "
			      "stream does not have",
			      t);
}

static void
check_threads(struct check_state *l)
{
	const struct format_shape *shape = &l->rec->shape;
	struct quick_check_second all;
	unsigned n = threads_seen(l, &all);

	if (!n)
		return;
	threads_unnamed(l, &all);
	for (unsigned i = 0; i < shape->threads_n; i++)
		all.thread[shape->threads[i] % QUICK_CHECK_THREADS / 64] |=
		    UINT64_C(1) << shape->threads[i] % 64;
	n = threads_in(&all);
	for (unsigned i = 0; i < QUICK_CHECK_SECONDS; i++) {
		const struct quick_check_second *s = &l->out->second[i];

		for (unsigned t = 0;
		     t < QUICK_CHECK_THREADS && s->looked >= ENOUGH * n; t++)
			if (quick_check_has_thread(&all, t) &&
			    !quick_check_has_thread(s, t))
				wrong(l,
				      "there is no packet of thread %u "
				      "in its %s second",
				      t, second_name(i));
	}
}

/* ---- verdicts on packets ----------------------------------------------- */

static void
check_packets(struct check_state *l, unsigned i)
{
	const struct quick_check_second *s = &l->out->second[i];
	const char *what = l->rec->facts.format, *name = second_name(i);

	if (s->unreadable)
		wrong(l,
		      "%" PRIu64 " of %" PRIu64 " packets looked at in "
		      "its %s second are not %s packets of the right size",
		      s->unreadable, s->looked, name, what);
	if (s->misplaced)
		wrong(l,
		      "%" PRIu64 " of %" PRIu64 " packets looked at in "
		      "its %s second are not where their number says",
		      s->misplaced, s->looked, name);
	if (s->backwards)
		wrong(l,
		      "the time of %" PRIu64 " of %" PRIu64 " packets "
		      "looked at in its %s second is not later than "
		      "that of the one before",
		      s->backwards, s->looked, name);
	if (s->invalid)
		remark(l,
		       "%" PRIu64 " of %" PRIu64 " packets looked at in "
		       "its %s second are marked invalid by the sender",
		       s->invalid, s->looked, name);
}

/* ---- data time and arrival --------------------------------------------- */

static void
take_offset(struct check_state *l, unsigned i, int64_t data, int64_t arrival)
{
	struct quick_check_second *s = &l->out->second[i];
	char text[UNITS_TEXT];
	/* without frames per second, a time is cut to its second */
	int64_t low = l->rec->shape.fps ? -NS_SECOND : -2 * NS_SECOND;
	int64_t off = data - arrival;

	s->timed = true;
	s->offset_ns = off;
	if (off >= low && off <= NS_SECOND)
		return;
	units_show_span(text, off < 0 ? -off : off);
	remark(l,
	       "the data's time is %s %s that of arrival in its %s "
	       "second",
	       text, off < 0 ? "behind" : "ahead of", second_name(i));
}

/* Compares the first block's time with the arrival of the run's first
 * packet. */
static void
offset_first(struct check_state *l)
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
offset_last(struct check_state *l)
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

/* ---- the rate ---------------------------------------------------------- */

static double
mark_time(const struct timed_packet *m, double fps)
{
	return (double)m->second + (fps > 0 ? m->frame / fps : 0);
}

/* Packets per second from a to b; 0 if they cannot tell. */
static double
rate_between(const struct check_state *l, const struct timed_packet *a,
	     const struct timed_packet *b, unsigned threads, double *fps)
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
check_even(struct check_state *l, double rate, double fps)
{
	const struct timed_packet *m = l->mark;
	char text[UNITS_TEXT];
	double late;

	if (!m[1].there || m[1].run != m[0].run || m[1].sub != m[0].sub)
		return;
	late = mark_time(&m[1], fps) - mark_time(&m[0], fps) -
	       ((double)m[1].sequence - (double)m[0].sequence) / rate;
	if (fabs(late) < (l->rec->shape.fps ? 0.1 : 1.5))
		return;
	units_show_span(text, (int64_t)(fabs(late) * 1e9));
	wrong(l,
	      "the data's time jumps: in its middle second it is %s %s what "
	      "the number of packets says",
	      text, late < 0 ? "behind" : "ahead of");
}

/* Compares the rate with the configured one, which may count whole frames or
 * only the data in them. */
static void
check_rate(struct check_state *l)
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
	remark(l, "its packets came at %s, but the stream's rate is %s", is,
	       should);
}

/* The rate by arrival, for packets without times of their own; only as even as
 * the network is. */
static double
rate_arrived(const struct check_state *l)
{
	const struct recording_run *r = l->rec->facts.run;
	double seconds, packets;

	if (l->rec->facts.runs != 1 || l->rec->shape.store != HEAP_NONE)
		return 0;
	seconds = (double)(r->last_ns - r->first_ns) / 1e9;
	packets = (double)(r->last - r->first);
	return seconds > 2 ? packets / seconds : 0;
}

static void
check_times(struct check_state *l)
{
	unsigned threads = l->rec->shape.threads_n;
	struct quick_check_second all;
	double rate, fps = 0;

	for (unsigned i = 0; i < QUICK_CHECK_SECONDS; i++)
		check_packets(l, i);
	offset_last(l);
	offset_first(l);
	if (!threads)
		threads = threads_seen(l, &all);
	rate = rate_between(l, &l->mark[0], &l->mark[2], threads ? threads : 1,
			    &fps);
	if (rate > 0)
		check_even(l, rate, fps);
	else
		rate = l->out->data_time ? 0 : rate_arrived(l);
	l->out->rate = rate * 8 * l->rec->shape.payload;
	if (l->rec->facts.subs == 1)
		l->out->rate_wanted = (double)l->rec->shape.rate;
	check_rate(l);
}

/* ---- lengths ----------------------------------------------------------- */

static void
check_length(struct check_state *l, const struct recording_block *b)
{
	const char *path = l->rec->disks->disk[b->disk].path;
	uint64_t number = b->record.number;
	int64_t bytes = recording_chunk_bytes(l->rec, b);

	if (bytes == -ENOENT)
		wrong(l,
		      "chunk %" PRIu64 " is not on %s, though the index "
		      "there names it",
		      number, path);
	else if (bytes < 0)
		wrong(l, "chunk %" PRIu64 " on %s cannot be looked at: %s",
		      number, path, strerror((int)-bytes));
	else if ((uint64_t)bytes != b->record.bytes)
		wrong(l,
		      "chunk %" PRIu64 " on %s has %" PRId64
		      " bytes, the index says %" PRIu64,
		      number, path, bytes, b->record.bytes);
}

static void
check_disks(struct check_state *l)
{
	const struct recording *rec = l->rec;
	bool *seen = calloc(rec->disks->n + 1, sizeof *seen);
	unsigned left = rec->disks->n;

	for (size_t i = rec->blocks; seen && left && i--;) {
		const struct recording_block *b = &rec->block[i];

		if (b->disk < 0 || b->computed || seen[b->disk])
			continue;
		seen[b->disk] = true;
		left--;
		check_length(l, b);
	}
	free(seen);
}

/* Finds blocks that lie behind later ones in a Mark6 file: another disk took
 * them over from one that failed.  We find them by the index, but programs for
 * Mark6 read such a file from its begin to its end. */
static void
check_order(struct check_state *l)
{
	const struct recording *rec = l->rec;
	uint64_t *end = calloc(rec->disks->n + 1, sizeof *end);
	size_t behind = 0;

	for (size_t i = 0; end && i < rec->blocks; i++) {
		const struct recording_block *b = &rec->block[i];

		if (b->disk < 0 || b->computed)
			continue;
		if (b->at < end[b->disk])
			behind++;
		else
			end[b->disk] = b->at;
	}
	free(end);
	if (behind)
		remark(l,
		       "%zu of its blocks lie behind later ones in their Mark6 "
		       "file, because a disk failed: programs for Mark6 may "
		       "pass over them; spate export %s gives all in order",
		       behind, rec->name);
}

/* ---- the seconds ------------------------------------------------------- */

static bool
has_data(const struct recording *rec, size_t i)
{
	return rec->block[i].record.kind == INDEX_BLOCK;
}

/* The block with data nearest to a position.  False if no block has data. */
static bool
nearest(const struct recording *rec, size_t place, size_t *found)
{
	for (size_t away = 0; away <= rec->blocks; away++) {
		if (place + away < rec->blocks && has_data(rec, place + away)) {
			*found = place + away;
			return true;
		}
		if (away <= place && place - away < rec->blocks &&
		    has_data(rec, place - away)) {
			*found = place - away;
			return true;
		}
	}
	return false;
}

static bool
look_seconds(struct check_state *l)
{
	size_t n = l->rec->blocks, block;
	const size_t place[QUICK_CHECK_SECONDS] = { 0, n / 2, n ? n - 1 : 0 };

	for (unsigned i = 0; i < QUICK_CHECK_SECONDS; i++) {
		if (!nearest(l->rec, place[i], &block))
			return false;
		find_second(l, i, block);
		read_second(l, i);
	}
	return true;
}

/* ---- the whole --------------------------------------------------------- */

static void
look_state(struct check_state *l)
{
	const struct recording_facts *f = &l->rec->facts;

	if (f->failed && f->state == RECORDING_COMPLETE)
		wrong(l, "it failed: %s", f->reason);
	if (f->state == RECORDING_INTERRUPTED && recording_reads_only(l->rec))
		wrong(l, "its end is not there; send it again from where it "
			 "was recorded: what is there is not sent twice");
	else if (f->state == RECORDING_INTERRUPTED)
		wrong(l,
		      "it was never closed, because its recorder died; spate "
		      "recover %s closes it",
		      l->rec->name);
	if (f->state != RECORDING_LIVE && f->torn)
		remark(l,
		       "%" PRIu64 " bytes of its indexes are no record; "
		       "spate recover %s cuts them off",
		       f->torn, l->rec->name);
	for (unsigned i = 0; i < l->rec->disks->n; i++) {
		if (l->rec->part[i].other)
			wrong(l,
			      "%s has another recording of this name, whose "
			      "blocks may stand for those of this one; "
			      "'--disks' looks at one of them",
			      l->rec->disks->disk[i].path);
	}
	if (f->absent)
		wrong(l, "%u of %zu blocks are on none of the disks", f->absent,
		      l->rec->blocks);
	if (f->left_out)
		wrong(l,
		      "%" PRIu64 " bytes are in chunks that are missing "
		      "or short",
		      f->left_out);
	if (l->rec->duplicates)
		remark(l, "%zu blocks are on two disks; one copy is used",
		       l->rec->duplicates);
}

static void
look_subs(struct check_state *l)
{
	const struct recording_facts *f = &l->rec->facts;
	const json_t *subs = json_object_get(l->rec->head, "subs");
	unsigned n = f->subs;

	if (json_integer_value(subs) > n)
		n = (unsigned)json_integer_value(subs);
	l->out->silent = n;
	for (unsigned i = 0; i < f->subs; i++)
		l->out->silent -= f->sub[i].chunks > 0;
	if (n > 1 && l->out->silent)
		remark(l, "%u of %u substreams have no data", l->out->silent,
		       n);
}

static int
prepare(struct check_state *l)
{
	const struct format_shape *s = &l->rec->shape;
	uint64_t threads = s->threads_n ? s->threads_n : 1;
	uint64_t frame = (uint64_t)s->payload * s->parts;
	uint64_t bytes = LOOK_ROUNDS * threads * frame;
	struct fault fault;

	if (recording_format(l->rec, &l->format, &fault)) {
		l->format = NULL;
		remark(l, "its packets cannot be looked at: %s: %s", fault.what,
		       fault.why);
	}
	if (bytes < LOOK_BYTES)
		bytes = LOOK_BYTES;
	if (bytes > LOOK_MOST)
		bytes = LOOK_MOST;
	if (bytes < frame)
		bytes = frame;
	l->room = bytes;
	l->data = malloc(bytes);
	l->part = malloc(PARTS_MOST * sizeof *l->part);
	return l->data && l->part ? 0 : -ENOMEM;
}

int
quick_check(struct recording *rec, const struct quick_check_hooks *hooks,
	    struct quick_check *out)
{
	struct check_state l = { .rec = rec, .hooks = hooks, .out = out };
	int err = prepare(&l);

	*out = (struct quick_check){ .data_time = false };
	if (err)
		goto out;
	look_state(&l);
	look_subs(&l);
	if (look_seconds(&l)) {
		check_disks(&l);
		if (!strcmp(rec->facts.layout, layout_word(LAYOUT_MARK6)))
			check_order(&l);
		check_threads(&l);
		check_times(&l);
	} else if (rec->facts.state == RECORDING_LIVE) {
		remark(&l, "no block of it is durable yet");
	} else {
		wrong(&l, "it has no data");
	}
out:
	free(l.data);
	free(l.part);
	return err;
}
