/* SPDX-License-Identifier: MIT */
/*
 * A cut looks at one parcel at a time through a window of runs:
 *
 *   parcel   |====taken====|==window==|.............|     slots of a block
 *            0           mark        pos            hi
 *
 * The window is made anew when all of it was taken.  Packets that a plugin did
 * not take stay in it, so that no prefix is made twice while a peer is slow.
 * Only if the parcel goes away in the middle is the window dropped, and begun
 * again behind `mark` when its block comes back.
 *
 * Missing packets are counted when a parcel begins, but only behind `told`: a
 * block that comes twice would be counted twice.
 */
#include "flow/send/cut.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "contract/defaults.h"
#include "flow/send/cut_heaps.h"
#include "store/record/fill.h"

/* Slots are counted from the beginning of the
 * parcel, unless a comment says otherwise. */

enum {
	/* Most packets with a made prefix in one window. */
	CUT_HEADS = 1024,
	CUT_FILL = 4 << 20, /* most bytes of fill made at a time */
	/* Bytes of a packet when rows are sent as plain bytes. */
	CUT_PIECE = 64 << 10,
};

/* New numbers of a chosen thread's packets: the recorded packet `next` of the
 * run gets the number `count`, if it is chosen. */
struct cut_number {
	bool known;
	uint32_t run;
	uint64_t next, count;
};

/* State of one substream. */
struct cut_sub {
	struct fill fill; /* the cycle of threads, and their headers */
	int32_t *thread;  /* thread at each place of the cycle; -1: not seen */
	struct cut_number built; /* numbering behind the window */
	struct cut_number took;	 /* numbering behind what was taken */
	bool past;		 /* its last parcel was beyond the range */
};

/* A position: a block and the slots of it that are done.  For rows, packets
 * made of it, or bytes if they are plain. */
struct cut_mark {
	uint64_t number, pos;
};

struct cut {
	const struct format_ops *format;
	const struct format_shape *shape;
	const struct send_choice *choice;
	unsigned subs;
	bool plain, rows, threads, zero_fill;
	uint32_t slot_bytes, head_bytes, strip;
	struct cut_sub *sub;
	struct cut_heaps *heaps; /* for rows that are not plain; else NULL */

	/* The parcel being cut. */
	struct parcel p;
	struct cut_sub *s;
	uint32_t skip;	     /* slots of the block before the parcel */
	uint32_t slots;	     /* slots in the parcel */
	uint64_t first;	     /* relative sequence of its slot 0 */
	const uint64_t *has; /* a bit per slot; NULL: no packet is missing */
	uint64_t *bits;	     /* memory for `has`, where a copy is needed */
	uint32_t bits_words;
	/* Chosen slots: from lo up to hi; for rows bytes. */
	uint64_t lo, hi;
	uint64_t from, to; /* chosen bytes of the parcel: from up to `to` */
	/* UTC ns of slot 0, and ns from slot to slot; 0: not known. */
	int64_t time, every;
	uint64_t pos; /* end of the window */
	bool done;

	/* Slots in memory: `data` points to slot `in`, and slots up to `out`
	 * follow it. */
	const uint8_t *data;
	uint64_t in, out;
	uint8_t *fill; /* memory for fill: CUT_FILL bytes, or one slot */
	/* Value of `taken` when the last packet with fill was taken. */
	uint64_t fill_until;

	/* The window: run[run_at] up to run[runs - 1].  For each run, the
	 * position of its first packet, and the distance from one packet's to
	 * the next's. */
	struct send_run run[SEND_RUNS];
	uint64_t run_pos[SEND_RUNS];
	uint32_t run_step[SEND_RUNS];
	unsigned run_at, runs;
	uint8_t *heads;
	uint32_t heads_n;

	uint64_t taken;	      /* packets taken so far, of all parcels */
	struct cut_mark mark; /* everything before it was taken */
	struct cut_mark told; /* everything before it was counted */
	/* Set by cut_back: packets before number back_first of run back_run are
	 * skipped. */
	bool back;
	uint32_t back_run;
	uint64_t back_first;
	unsigned past; /* parcels in a row that were beyond the range */
	uint64_t bad;  /* cut_heaps_bad when the last parcel ended */
	struct cut_counts counts;
};

static bool
has(const struct cut *c, uint32_t slot)
{
	return !c->has || c->has[slot / 64] >> slot % 64 & 1;
}

static int64_t
time_of(const struct cut *c, uint64_t slot)
{
	return c->time ? c->time + (int64_t)slot * c->every : 0;
}

/* Bytes left out at the beginning of a slot. */
static uint32_t
strip_of(const struct cut *c, uint32_t slot)
{
	if (!c->choice->headers_off)
		return c->strip;
	return (c->first + slot) % c->shape->parts ? c->choice->strip
						   : c->strip;
}

/* Makes room for so many words in `bits`; false: no memory. */
static bool
bits_room(struct cut *c, uint32_t words)
{
	uint64_t *more;

	if (words <= c->bits_words)
		return true;
	more = realloc(c->bits, words * sizeof *more);
	if (!more)
		return false;
	c->bits = more;
	c->bits_words = words;
	return true;
}

/* ---- the chosen range -------------------------------------------------- */

/*
 * Finds the part of a parcel that lies in the chosen range.  A block that lies
 * wholly in it or outside is decided by its record.  In the two blocks at the
 * ends each packet's time is read from the packet, or, where it has none,
 * interpolated between the times of the block's first and last packet.
 */

/* Finds the slots of the block's first and last packet.  In a cube the record
 * counts packets of heaps, many per slot, so the bits are used. */
static void
ends(const struct cut *c, uint32_t *first, uint32_t *last)
{
	const uint64_t *bits = c->p.present;
	uint32_t slots = c->p.record.present + c->p.record.missing;

	*first = 0;
	if (bits)
		slots = (uint32_t)(c->p.record.bytes / c->slot_bytes);
	*last = slots ? slots - 1 : 0;
	if (!bits)
		return;
	while (*first < *last && !(bits[*first / 64] >> *first % 64 & 1))
		++*first;
	while (*last > *first && !(bits[*last / 64] >> *last % 64 & 1))
		--*last;
}

/* Ns from packet to packet; 0: the shape does not say. */
static int64_t
apart(const struct format_shape *s)
{
	uint64_t each = (uint64_t)s->fps * s->threads_n * s->parts;

	return each ? (int64_t)(1000000000 / each) : 0;
}

/* Sets `time` and `every`. */
static void
clock_set(struct cut *c)
{
	const struct index_record *r = &c->p.record;
	uint32_t first, last;

	c->time = c->every = 0;
	if (!r->first_ns || c->rows) {
		c->time = r->first_ns;
		return;
	}
	ends(c, &first, &last);
	c->every = apart(c->shape);
	if (last > first && r->last_ns > r->first_ns)
		c->every = (r->last_ns - r->first_ns) / (last - first);
	/* The times of a gap are those of the packet behind it. */
	if (r->kind == INDEX_GAP)
		first = r->missing;
	c->time = r->first_ns + ((int64_t)c->skip - (int64_t)first) * c->every;
}

static int64_t
slot_time(const struct cut *c, uint32_t slot)
{
	struct format_packet p = { 0 };

	if (c->data && c->shape->fps && c->format->parse &&
	    c->p.record.flags & INDEX_DATA_TIME &&
	    (c->first + slot) % c->shape->parts == 0)
		c->format->parse(c->shape, NULL,
				 c->data + (uint64_t)slot * c->slot_bytes, &p);
	if (p.has & FORMAT_TIME && (c->plain || has(c, slot)))
		return format_time_ns(c->shape, &p);
	return time_of(c, slot);
}

/* Returns the first slot from lo on that is not before a time. */
static uint64_t
slot_at(const struct cut *c, int64_t ns)
{
	uint64_t slot = c->lo;

	while (slot < c->hi && slot_time(c, (uint32_t)slot) < ns)
		slot++;
	return slot;
}

static bool
by_time(struct cut *c)
{
	const struct index_record *r = &c->p.record;
	int64_t from = c->choice->from_ns, to = c->choice->to_ns;
	int64_t begin = r->first_ns, end = r->last_ns;

	if (!begin)
		return true; /* its time is not known: it is sent */
	if (r->kind == INDEX_GAP)
		begin = c->time;
	if (to && begin >= to) {
		c->hi = c->lo;
		return false;
	}
	if (end < from) {
		c->hi = c->lo;
	} else if (!c->rows) {
		if (begin < from)
			c->lo = slot_at(c, from);
		if (to && end >= to)
			c->hi = slot_at(c, to);
	}
	return true;
}

static bool
by_bytes(struct cut *c)
{
	uint64_t from = c->choice->from_byte, to = c->choice->to_byte;
	uint64_t at = c->p.offset, bytes = c->p.bytes, slot = c->slot_bytes;

	if (to && at >= to) {
		c->hi = c->lo;
		return false;
	}
	c->from = from > at ? from - at : 0;
	c->to = to && to - at < bytes ? to - at : bytes;
	if (c->from >= c->to) {
		c->hi = c->lo;
	} else if (c->rows && c->plain) {
		c->lo = c->from;
		c->hi = c->to;
	} else if (!c->rows) {
		c->lo = c->plain ? c->from / slot : (c->from + slot - 1) / slot;
		c->hi = (c->to + slot - 1) / slot;
	}
	return true;
}

/* Sets which slots and bytes of the parcel are chosen; false: the parcel lies
 * beyond the range. */
static bool
range_set(struct cut *c)
{
	const struct send_choice *ch = c->choice;
	bool in = true;

	c->lo = 0;
	c->hi = c->slots;
	c->from = 0;
	c->to = c->p.bytes;
	if (c->rows)
		c->hi = c->plain ? c->p.bytes : UINT64_MAX;
	if (ch->from_byte || ch->to_byte)
		in = by_bytes(c);
	if (in && c->lo < c->hi && (ch->from_ns || ch->to_ns))
		in = by_time(c);
	return in;
}

/* ---- chosen threads ---------------------------------------------------- */

/*
 * Sends chosen threads only.  Each packet says which thread it is of.  A
 * missing packet would have been of the same thread as the packets a whole
 * cycle away, if the threads take turns, and mostly they do.
 *
 * Packets get new numbers by counting those of chosen threads in their run,
 * missing ones too: packets left out are no holes for the receiver, and lost
 * ones still are.
 */

static bool
wanted(const struct cut *c, int64_t thread)
{
	for (unsigned i = 0; i < c->choice->threads_n; i++)
		if (c->choice->threads[i] == thread)
			return true;
	return false;
}

static uint32_t
cycle(const struct cut *c)
{
	const struct fill *f = &c->s->fill;

	return f->settled ? f->cycle : 0;
}

/* True if the packet with this sequence is of a chosen thread, by its place in
 * the cycle. */
static bool
wanted_at(const struct cut *c, uint64_t sequence)
{
	uint32_t n = cycle(c);

	return n && n <= FILL_CYCLE && wanted(c, c->s->thread[sequence % n]);
}

/* Returns the bits of the parcel, which learning needs, made if there are none;
 * NULL: no memory. */
static uint64_t *
bits_of(struct cut *c)
{
	uint32_t words = (c->slots + 63) / 64;

	if (c->has)
		return (uint64_t *)c->has;
	if (!bits_room(c, words))
		return NULL;
	memset(c->bits, 0xff, words * sizeof *c->bits);
	return c->bits;
}

/* Notes the thread at each place of the cycle, from the first packets. */
static void
places_learn(struct cut *c)
{
	uint32_t n = cycle(c), look = 2 * n < c->slots ? 2 * n : c->slots;
	struct format_packet p;

	for (uint32_t slot = 0; slot < look && n <= FILL_CYCLE; slot++) {
		p = (struct format_packet){ 0 };
		if (has(c, slot))
			c->format->parse(
			    c->shape, NULL,
			    c->data + (uint64_t)slot * c->slot_bytes, &p);
		if (p.has & FORMAT_READABLE)
			c->s->thread[(c->first + slot) % n] = (int32_t)p.thread;
	}
}

/* Learns the threads and their cycle from the parcel. */
static void
threads_learn(struct cut *c)
{
	struct fill *f = &c->s->fill;
	struct block b = { .data = (uint8_t *)c->p.data,
			   .slots = c->slots,
			   .slot_bytes = c->slot_bytes,
			   .used = c->slots,
			   .run = c->p.record.run,
			   .first = c->first,
			   .base = c->p.base };

	if (!(c->threads || c->plain) || !c->format->parse)
		return;
	if (f->run != b.run) {
		fill_begin(f, b.run, b.base);
		if (c->threads)
			memset(c->s->thread, 0xff,
			       FILL_CYCLE * sizeof *c->s->thread);
	}
	b.present = c->p.err || !c->slots ? NULL : bits_of(c);
	if (!b.present)
		return;
	fill_learn(f, &b);
	if (c->threads)
		places_learn(c);
}

/* Returns how many of these slots' packets would have been of chosen
 * threads. */
static uint64_t
thread_count(const struct cut *c, uint64_t first, uint64_t slots)
{
	uint32_t n = cycle(c);
	uint64_t each = 0, count, i;

	if (!n)
		return 0;
	for (i = 0; i < n; i++)
		each += wanted_at(c, i);
	count = slots / n * each;
	for (i = slots / n * n; i < slots; i++)
		count += wanted_at(c, first + i);
	return count;
}

/* True if the slot's packet is of a chosen thread, or would have been
 * (payload NULL: it is missing).  *number: its new number.  Slots have to
 * come in order. */
static bool
thread_chosen(struct cut *c, uint32_t slot, const uint8_t *payload,
	      uint64_t *number)
{
	struct cut_number *b = &c->s->built;
	struct format_packet p = { 0 };
	bool want;

	if (payload)
		c->format->parse(c->shape, NULL, payload, &p);
	if (p.has & FORMAT_READABLE)
		want = wanted(c, p.thread);
	else
		want = wanted_at(c, c->first + slot);
	*number = b->count;
	b->next = c->first + slot + 1;
	b->count += want;
	return want;
}

/* ---- slots ------------------------------------------------------------- */

/*
 * Turns slots into runs.  A block without missing packets is one run, and
 * finding that out costs a look at its bits, not at its packets.  If only every
 * fourth packet is chosen, the run has a stride.
 *
 * Packets of a run are numbered consecutively, so a missing one ends it.  With
 * a choice of threads the numbers are new and have no holes.
 */

/* Returns the first slot after `slot` whose bit differs; at most `end`. */
static uint32_t
alike(const struct cut *c, uint32_t slot, uint32_t end)
{
	bool here = has(c, slot);

	if (!c->has)
		return end;
	while (slot < end) {
		uint64_t word = c->has[slot / 64] >> slot % 64;
		uint32_t left = 64 - slot % 64, other;

		word = here ? ~word : word;
		other = word ? (uint32_t)__builtin_ctzll(word) : left;
		if (other < left)
			return slot + other < end ? slot + other : end;
		slot += left;
	}
	return end;
}

/* Finds the bytes of a slot that are sent: *bytes from offset *at on. */
static void
extent(const struct cut *c, uint32_t slot, uint32_t *at, uint32_t *bytes)
{
	uint64_t begin = (uint64_t)slot * c->slot_bytes, end;
	uint32_t strip = strip_of(c, slot);

	*at = strip;
	end = begin + c->slot_bytes;
	if (c->plain && c->from > begin + strip)
		*at =
		    c->from < end ? (uint32_t)(c->from - begin) : c->slot_bytes;
	if (c->plain && c->to < end)
		end = c->to;
	*bytes = end > begin + *at ? (uint32_t)(end - begin) - *at : 0;
}

/* Returns how many slots, from this one on, have the same extent. */
static uint32_t
uniform(const struct cut *c, uint32_t slot, uint32_t end)
{
	bool parts = c->choice->headers_off && c->shape->parts > 1;
	uint64_t slot_bytes = c->slot_bytes;

	if (parts || (c->plain && c->from > slot * slot_bytes))
		return 1;
	if (c->plain && c->to < end * slot_bytes)
		end = (uint32_t)(c->to / slot_bytes);
	return end > slot ? end - slot : 1;
}

/* Makes the prefixes of n consecutive packets; NULL: they have none. */
static const uint8_t *
heads_make(struct cut *c, uint64_t number, uint32_t n)
{
	uint8_t *first = c->heads + (uint64_t)c->heads_n * c->head_bytes;
	uint8_t *head = first;

	if (!c->head_bytes)
		return NULL;
	for (uint32_t i = 0; i < n; i++, head += c->head_bytes)
		if (c->shape->sequence_at < c->shape->prefix)
			format_counter_write(c->shape, c->p.base + number + i,
					     head, NULL);
	c->heads_n += n;
	return first;
}

/* True if packet `next` can be added to the last run; *step: slots from packet
 * to packet. */
static bool
continues(const struct cut *c, const struct send_run *next, uint32_t slot,
	  uint32_t *step)
{
	unsigned last = c->runs - 1;
	const struct send_run *r = &c->run[last];
	uint64_t pos = c->run_pos[last];

	if (r->data_bytes != next->data_bytes ||
	    next->first != r->first + r->packets)
		return false;
	*step = c->run_step[last];
	if (r->packets == 1)
		*step = slot - (uint32_t)pos;
	if (slot != pos + (uint64_t)r->packets * *step ||
	    (next->packets > 1 && *step > 1))
		return false;
	return next->data ==
	       r->data + (uint64_t)r->packets * *step * c->slot_bytes;
}

static void
add(struct cut *c, uint32_t slot, uint32_t n, uint64_t number)
{
	struct send_run next = { .head_bytes = c->head_bytes,
				 .head_stride = c->head_bytes,
				 .data_stride = c->slot_bytes,
				 .packets = n,
				 .run = c->p.record.run,
				 .first = number,
				 .time_ns = time_of(c, slot),
				 .every = c->every };
	struct send_run *r;
	uint32_t at, step = 1;

	extent(c, slot, &at, &next.data_bytes);
	if (!next.data_bytes)
		return;
	next.data = c->data + (slot - c->in) * c->slot_bytes + at;
	next.sub = c->choice->sub < 0 ? c->p.record.sub : 0;
	next.head = heads_make(c, number, n);
	if (c->runs && continues(c, &next, slot, &step)) {
		r = &c->run[c->runs - 1];
		r->packets += n;
		r->data_stride = step * c->slot_bytes;
		r->every = step * c->every;
		c->run_step[c->runs - 1] = step;
		return;
	}
	c->run[c->runs] = next;
	c->run_pos[c->runs] = slot;
	c->run_step[c->runs++] = 1;
}

/* Returns how many of n packets from `number` on come before the one that a
 * cut_back asked for, and are skipped. */
static uint32_t
pass_back(struct cut *c, uint64_t number, uint32_t n)
{
	uint32_t run = c->p.record.run;

	if (!c->back)
		return 0;
	if (run < c->back_run)
		return n;
	if (run == c->back_run && number + n <= c->back_first)
		return n;
	c->back = false;
	if (run == c->back_run && number < c->back_first)
		return (uint32_t)(c->back_first - number);
	return 0;
}

static void
one(struct cut *c, uint32_t slot)
{
	const uint8_t *payload = c->data + (slot - c->in) * c->slot_bytes;
	bool there = c->plain || has(c, slot);
	uint64_t number;

	if (thread_chosen(c, slot, there ? payload : NULL, &number) && there &&
	    !pass_back(c, number, 1))
		add(c, slot, 1, number);
	c->pos = slot + 1;
}

static void
stretch(struct cut *c, uint32_t slot, uint32_t end)
{
	uint32_t n = end - slot, pass;

	if (!c->plain && !has(c, slot)) {
		c->pos = alike(c, slot, end);
		return;
	}
	if (!c->plain)
		n = alike(c, slot, end) - slot;
	n = uniform(c, slot, slot + n);
	if (c->head_bytes && n > CUT_HEADS - c->heads_n)
		n = CUT_HEADS - c->heads_n;
	pass = pass_back(c, c->first + slot, n);
	if (pass < n)
		add(c, slot + pass, n - pass, c->first + slot + pass);
	c->pos = slot + n;
}

/* Adds the slots in memory to the window, as many as fit. */
static void
slots_add(struct cut *c)
{
	uint32_t end = (uint32_t)(c->hi < c->out ? c->hi : c->out);

	while (c->pos < end && c->runs < SEND_RUNS &&
	       (!c->head_bytes || c->heads_n < CUT_HEADS)) {
		if (c->threads)
			one(c, (uint32_t)c->pos);
		else
			stretch(c, (uint32_t)c->pos, end);
	}
}

/* ---- fill -------------------------------------------------------------- */

/*
 * Fill for plain bytes: what the recording's file has in place of missing data.
 * The source reads it from the file if it can; else headers are derived from
 * those that were seen, as the recorder does it.
 *
 * One piece of memory holds the fill.  A plugin may still have a part of it,
 * so the next piece is made only when all packets of the last one were
 * released.
 */

static void
make(struct cut *c, uint64_t slots)
{
	for (uint64_t i = 0; i < slots; i++)
		fill_model(&c->s->fill, c->fill + i * c->slot_bytes,
			   c->first + c->pos + i);
}

/* Makes fill in memory for slots from `pos` on.  0; -EAGAIN: its memory is
 * still in use; -ENOMEM. */
static int
fill_make(struct cut *c, uint64_t released)
{
	const struct source_ops *ops = c->p.source ? c->p.source->ops : NULL;
	uint64_t slots = CUT_FILL / c->slot_bytes, left = c->hi - c->pos, bytes;

	slots = slots ? slots : 1;
	if (!c->fill)
		c->fill = malloc(slots * c->slot_bytes);
	if (!c->fill)
		return -ENOMEM;
	if (released < c->fill_until)
		return -EAGAIN;
	slots = left < slots ? left : slots;
	bytes = slots * c->slot_bytes;
	if (c->zero_fill)
		memset(c->fill, 0, bytes);
	else if (!ops || !ops->fill ||
		 ops->fill(c->p.source, &c->p, c->pos * c->slot_bytes, bytes,
			   c->fill))
		make(c, slots);
	c->data = c->fill;
	c->in = c->pos;
	c->out = c->pos + slots;
	return 0;
}

/* ---- rows -------------------------------------------------------------- */

/* Cuts blocks of rows, whose heaps have any length.  As packets they are made
 * by cut_heaps, and positions count packets.  As plain bytes they are cut into
 * pieces of CUT_PIECE, for the pacer's sake only. */

static void
rows_begin(struct cut *c)
{
	struct cut_number *b = &c->s->built;

	*b = c->s->took;
	if (!b->known || b->run != c->p.record.run)
		*b = (struct cut_number){ .known = true,
					  .run = c->p.record.run };
	if (!c->heaps)
		return;
	/* The block is cut from its first packet on; packets that were taken
	 * before are made again and skipped. */
	b->count -= c->mark.number == c->p.record.number ? c->pos : 0;
	b->next = 0;
	cut_heaps_begin(c->heaps, &c->p);
}

static void
bytes(struct cut *c)
{
	uint64_t left = c->hi - c->pos;
	uint32_t piece = left < CUT_PIECE ? (uint32_t)left : CUT_PIECE;

	if (!left)
		return;
	c->run[0] = (struct send_run){ .data = c->p.data + c->pos,
				       .data_bytes = piece,
				       .data_stride = piece,
				       .packets = (uint32_t)(left / piece),
				       .run = c->p.record.run,
				       .first = c->s->built.count,
				       .time_ns = c->time };
	c->run_pos[0] = c->pos;
	c->run_step[0] = piece;
	c->runs = 1;
	c->s->built.count += c->run[0].packets;
	c->pos += (uint64_t)piece * c->run[0].packets;
}

/* Completes runs that cut_heaps made, and drops packets before `pos`. */
static void
describe(struct cut *c, unsigned n)
{
	struct cut_number *b = &c->s->built;

	for (unsigned i = 0; i < n; i++) {
		struct send_run *r = &c->run[c->runs];
		uint64_t end, pass;

		*r = c->run[i];
		end = b->next + r->packets;
		pass = end < c->pos ? r->packets
				    : (c->pos > b->next ? c->pos - b->next : 0);
		r->sub = c->choice->sub < 0 ? c->p.record.sub : 0;
		r->run = c->p.record.run;
		r->first = b->count + b->next + pass;
		r->time_ns = c->time;
		r->data += pass * r->data_stride;
		if (r->head)
			r->head += pass * r->head_stride;
		c->run_pos[c->runs] = b->next + pass;
		c->run_step[c->runs] = 1;
		b->next = end;
		r->packets -= (uint32_t)pass;
		c->runs += r->packets > 0;
	}
}

static void
rows_add(struct cut *c)
{
	unsigned n;

	if (!c->heaps) {
		bytes(c);
		return;
	}
	do {
		n = cut_heaps_next(c->heaps, c->run, SEND_RUNS);
		describe(c, n);
	} while (n && !c->runs);
	if (n)
		return;
	if (cut_heaps_bad(c->heaps) > c->bad)
		c->counts.unreadable++;
	c->bad = cut_heaps_bad(c->heaps);
}

/* ---- counting -------------------------------------------------------- */

/* Slots of a stretch whose packets would be sent if they were there. */
static uint64_t
wanted_of(const struct cut *c, uint64_t slot, uint64_t n)
{
	return c->threads ? thread_count(c, c->first + slot, n) : n;
}

static void
count_absent(struct cut *c, uint64_t n)
{
	const struct index_record *r = &c->p.record;
	uint64_t of = (uint64_t)r->present + r->missing, present = n;

	switch (c->p.err) {
	case -ENODATA: c->counts.missing += n; break;
	case -ENOBUFS: c->counts.dropped += n; break;
	default:
		if (of)
			present = n * r->present / of;
		c->counts.unreadable += present;
		c->counts.missing += n - present;
	}
}

static void
count_slots(struct cut *c)
{
	uint32_t slot = (uint32_t)c->lo, to;

	if (c->told.number == c->p.record.number && c->told.pos > c->skip &&
	    c->told.pos - c->skip > slot)
		slot = (uint32_t)(c->told.pos - c->skip);
	if (c->p.err && slot < c->hi)
		count_absent(c, wanted_of(c, slot, c->hi - slot));
	for (; !c->p.err && slot < c->hi; slot = to) {
		to = alike(c, slot, (uint32_t)c->hi);
		if (!has(c, slot))
			c->counts.missing += wanted_of(c, slot, to - slot);
	}
}

static void
count_row(struct cut *c)
{
	const struct index_record *r = &c->p.record;

	if (c->told.number == r->number && c->told.pos)
		return;
	c->counts.missing += r->missing;
	switch (c->p.err) {
	case 0: break;
	case -ENODATA: c->counts.missing += r->present; break;
	case -ENOBUFS: c->counts.dropped += r->present; break;
	default: c->counts.unreadable += r->present;
	}
}

static void
count(struct cut *c)
{
	struct cut_mark to = { c->p.record.number,
			       c->rows ? 1 : c->skip + c->hi };

	if (c->hi <= c->lo || to.number < c->told.number)
		return;
	if (c->rows)
		count_row(c);
	else
		count_slots(c);
	if (to.number > c->told.number || to.pos > c->told.pos)
		c->told = to;
}

/* ---- a parcel -------------------------------------------------------- */

/* Shifts the block's bits so that bit 0 is the parcel's first slot.  Without
 * memory for that all slots count as present: fill marks itself as invalid. */
static void
bits_take(struct cut *c)
{
	const uint64_t *bits = c->p.present + c->skip / 64;
	uint32_t words = (c->slots + 63) / 64, shift = c->skip % 64;

	c->has = shift ? NULL : bits;
	if (!shift || !bits_room(c, words))
		return;
	for (uint32_t i = 0; i < words; i++) {
		c->bits[i] = bits[i] >> shift;
		if (i * 64 + 64 - shift < c->slots)
			c->bits[i] |= bits[i + 1] << (64 - shift);
	}
	c->has = c->bits;
}

static void
slots_begin(struct cut *c)
{
	const struct parcel *p = &c->p;

	c->skip = (uint32_t)(p->at / c->slot_bytes);
	c->slots = (uint32_t)(p->bytes / c->slot_bytes);
	if (p->err == -ENODATA && !p->bytes)
		c->slots = p->record.missing;
	c->first = p->record.first + c->skip;
	c->has = NULL;
	if (p->present)
		bits_take(c);
	c->data = p->err ? NULL : p->data;
	c->in = 0;
	c->out = p->err ? 0 : c->slots;
}

/* Sets the numbering of threads to the parcel's first slot, continuing behind
 * what was taken. */
static void
number_begin(struct cut *c)
{
	struct cut_number *b = &c->s->built;
	uint64_t next = c->first + c->pos;

	*b = c->s->took;
	if (!b->known || b->run != c->p.record.run || next < b->next)
		*b = (struct cut_number){ .known = true,
					  .run = c->p.record.run,
					  .next = next };
	b->count += thread_count(c, b->next, next - b->next);
	b->next = next;
}

static void
pass_over(struct cut *c)
{
	uint64_t mark = c->mark.pos;

	c->pos = c->lo;
	if (c->p.record.number < c->mark.number)
		c->pos = c->hi;
	if (c->p.record.number != c->mark.number || mark <= c->skip)
		return;
	if (mark - c->skip > c->pos)
		c->pos = mark - c->skip;
}

void
cut_begin(struct cut *c, const struct parcel *p)
{
	int sub = c->choice->sub;

	c->p = *p;
	c->runs = c->run_at = 0;
	c->done = true;
	if (p->record.sub >= c->subs || (sub >= 0 && p->record.sub != sub))
		return;
	c->s = &c->sub[p->record.sub];
	c->skip = c->slots = 0;
	c->first = 0;
	if (!c->rows)
		slots_begin(c);
	clock_set(c);
	c->s->past = !range_set(c);
	c->past = c->s->past ? c->past + 1 : 0;
	if (!c->rows && !c->s->past)
		threads_learn(c);
	count(c);
	pass_over(c);
	c->done = c->pos >= c->hi || (p->err && (!c->plain || c->rows));
	if (c->rows && !c->done)
		rows_begin(c);
	else if (c->threads && !c->done)
		number_begin(c);
}

bool
cut_ended(const struct cut *c)
{
	int sub = c->choice->sub;

	/* A substream without packets has no parcel beyond the range either; so
	 * many parcels in a row that are beyond it decide instead. */
	if (c->past > 64 + 4 * c->subs)
		return true;
	for (unsigned i = 0; i < c->subs; i++)
		if (!c->sub[i].past && (sub < 0 || (unsigned)sub == i))
			return false;
	return true;
}

/* ---- the window ------------------------------------------------------ */

/* Ends the parcel: all of it was taken. */
static void
parcel_end(struct cut *c)
{
	c->done = true;
	c->mark = (struct cut_mark){ c->p.record.number, c->skip + c->hi };
	if (!c->rows)
		c->s->took = c->s->built;
}

static int
window_make(struct cut *c, uint64_t released)
{
	int err = 0;

	c->run_at = c->runs = c->heads_n = 0;
	if (c->rows) {
		rows_add(c);
	} else if (c->pos < c->hi) {
		if (c->pos >= c->out)
			err = fill_make(c, released);
		if (!err)
			slots_add(c);
	}
	if (!err && !c->runs && (c->rows || c->pos >= c->hi))
		parcel_end(c);
	return err;
}

int
cut_look(struct cut *c, uint64_t released, const struct send_run **run,
	 unsigned *n)
{
	int err = 0;

	while (!err && c->run_at == c->runs && !c->done)
		err = window_make(c, released);
	*run = c->run + c->run_at;
	*n = c->runs - c->run_at;
	return err;
}

/* Takes n packets of run i of the window, and shortens that run. */
static void
run_took(struct cut *c, unsigned i, uint32_t n)
{
	struct send_run *r = &c->run[i];
	uint64_t last = c->run_pos[i] + (uint64_t)(n - 1) * c->run_step[i];
	bool bytes = c->rows && c->plain;

	c->taken += n;
	c->mark.number = c->p.record.number;
	c->mark.pos = c->skip + last + (bytes ? r->data_bytes : 1);
	if (c->threads || c->rows)
		c->s->took = (struct cut_number){ .known = true,
						  .run = r->run,
						  .next = c->first + last + 1,
						  .count = r->first + n };
	if (c->fill && c->data == c->fill)
		c->fill_until = c->taken;
	c->run_pos[i] += (uint64_t)n * c->run_step[i];
	r->packets -= n;
	r->first += n;
	r->data += (uint64_t)n * r->data_stride;
	if (r->head)
		r->head += (uint64_t)n * r->head_stride;
	if (r->time_ns)
		r->time_ns += (int64_t)n * r->every;
}

void
cut_took(struct cut *c, uint64_t packets)
{
	while (packets) {
		uint32_t of = c->run[c->run_at].packets;
		uint32_t n = packets < of ? (uint32_t)packets : of;

		run_took(c, c->run_at, n);
		c->run_at += n == of;
		packets -= n;
	}
}

void
cut_back(struct cut *c, uint32_t run, uint64_t first, uint32_t *seek_run,
	 uint64_t *seek_first)
{
	c->back = !c->rows;
	c->back_run = run;
	c->back_first = first;
	c->mark = (struct cut_mark){ 0 };
	c->runs = c->run_at = 0;
	c->done = true;
	for (unsigned i = 0; i < c->subs; i++) {
		c->sub[i].took.known = false;
		c->sub[i].past = false;
	}
	c->past = 0;
	/* The new numbers of threads are found by counting from the run's
	 * beginning. */
	*seek_run = run;
	*seek_first = c->threads ? 0 : first;
}

void
cut_counts(const struct cut *c, struct cut_counts *counts)
{
	*counts = c->counts;
}

/* ---- making it --------------------------------------------------------- */

/* Checks which choice the data allow, and allocates all memory that a cut needs
 * while it runs, except for fill, which few transfers need. */

static int
check_cube(const struct cut_args *a)
{
	if (a->plain)
		return 0;
	return format_refuse(
	    a->why, a->why_bytes,
	    "a cube is one item of each heap: there are no packets any more "
	    "that could be sent; send it as plain bytes, or as a copy to an "
	    "inbox");
}

static int
check_rows(const struct cut_args *a)
{
	const struct send_choice *ch = a->choice;

	if (ch->threads_n || ch->strip || ch->headers_off)
		return format_refuse(
		    a->why, a->why_bytes,
		    "heaps have neither threads nor headers of one length that "
		    "could be left out; send all of each");
	if (a->bare && !a->plain)
		return format_refuse(
		    a->why, a->why_bytes,
		    "heaps of any length cannot be sent in frames, which have "
		    "packets of one length; send them as plain bytes, over "
		    "udp, or as a copy to an inbox");
	if (!a->plain && ch->packet &&
	    (ch->packet < CUT_HEAPS_LEAST || ch->packet > CUT_HEAPS_MOST))
		return format_refuse(
		    a->why, a->why_bytes,
		    "heaps cannot be cut in datagrams of %u bytes: they have "
		    "%d to %d; 8192 is usual, and 1472 fits everywhere",
		    ch->packet, CUT_HEAPS_LEAST, CUT_HEAPS_MOST);
	return 0;
}

static int
check(const struct cut_args *a)
{
	const struct send_choice *ch = a->choice;
	const struct format_shape *s = a->shape;

	if ((a->plain || a->bare) && a->subs > 1 && ch->sub < 0)
		return format_refuse(a->why, a->why_bytes,
				     "it has %u substreams, and one alone goes "
				     "there: --sub says which",
				     a->subs);
	if (s->store == HEAP_ROW)
		return check_rows(a);
	if (s->store == HEAP_CUBE && check_cube(a))
		return -EINVAL;
	if (ch->threads_n && (!a->format->parse || s->parts > 1))
		return format_refuse(a->why, a->why_bytes,
				     "%s packets do not say which thread they "
				     "are of; send all of them",
				     a->format->head.name);
	if (ch->headers_off && !s->header)
		return format_refuse(a->why, a->why_bytes,
				     "%s packets have no header that could be "
				     "left out",
				     a->format->head.name);
	if (ch->strip >= s->payload)
		return format_refuse(a->why, a->why_bytes,
				     "packets of %u bytes have nothing left "
				     "without their first %u",
				     s->payload, ch->strip);
	return 0;
}

static int
make_subs(struct cut *c)
{
	c->sub = calloc(c->subs, sizeof *c->sub);
	if (!c->sub)
		return -ENOMEM;
	for (unsigned i = 0; i < c->subs; i++) {
		fill_init(&c->sub[i].fill, FILL_INVALID, c->format, c->shape);
		if (!c->threads)
			continue;
		c->sub[i].thread = malloc(FILL_CYCLE * sizeof(int32_t));
		if (!c->sub[i].thread)
			return -ENOMEM;
		memset(c->sub[i].thread, 0xff, FILL_CYCLE * sizeof(int32_t));
	}
	return 0;
}

static int
make_parts(struct cut *c)
{
	struct cut_heaps_args heaps = { .format = c->format,
					.shape = c->shape,
					.packet = c->choice->packet };

	if (c->rows && !c->plain)
		return cut_heaps_make(&c->heaps, &heaps);
	c->heads = calloc(CUT_HEADS, c->head_bytes + 1);
	return c->heads ? 0 : -ENOMEM;
}

int
cut_make(struct cut **cut, const struct cut_args *a)
{
	const struct send_choice *ch = a->choice;
	struct cut *c;
	int err = check(a);

	if (err)
		return err;
	c = calloc(1, sizeof *c);
	if (!c)
		return -ENOMEM;
	c->format = a->format;
	c->shape = a->shape;
	c->choice = ch;
	c->subs = a->subs;
	c->plain = a->plain;
	c->zero_fill = a->zero_fill || a->shape->store == HEAP_CUBE;
	c->rows = a->shape->store == HEAP_ROW;
	c->threads = ch->threads_n;
	c->slot_bytes = a->shape->payload;
	c->strip = ch->strip;
	if (ch->headers_off && c->strip < a->shape->header)
		c->strip = a->shape->header;
	if (!a->plain && !a->bare && !c->rows && ch->prefix == SEND_PREFIX_MADE)
		c->head_bytes = a->shape->prefix;
	err = make_subs(c);
	if (!err)
		err = make_parts(c);
	if (err) {
		cut_free(c);
		return err;
	}
	c->done = true;
	*cut = c;
	return 0;
}

void
cut_free(struct cut *c)
{
	if (!c)
		return;
	for (unsigned i = 0; c->sub && i < c->subs; i++) {
		fill_finish(&c->sub[i].fill);
		free(c->sub[i].thread);
	}
	cut_heaps_free(c->heaps);
	free(c->sub);
	free(c->bits);
	free(c->fill);
	free(c->heads);
	free(c);
}

void
cut_sizes(const struct cut *c, uint32_t *head_bytes, uint32_t *data_bytes)
{
	bool differ =
	    c->rows || (c->choice->headers_off && c->shape->parts > 1);

	*head_bytes = c->head_bytes;
	*data_bytes = differ ? 0 : c->slot_bytes - c->strip;
}
