/* SPDX-License-Identifier: MIT */
/*
 * Makes views, and finds what lies at an offset of one: the holes of the block
 * there, the span, and fill where nothing was recorded.  What a view shows of
 * which block was laid out before (view_lay.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/view/view_priv.h"

/* ---- holes of a block ---------------------------------------------------- */

/*
 * Keeps the holes of one block, the one that was read last, because sequential
 * readers ask for the same block again and again.  The metadata must agree with
 * the block's record, from which the length of the view was computed; if it
 * does not, the holes count as unknown.
 */

static struct view_hole *
hole_add(struct view *v)
{
	struct view_hole *grown;

	if (v->holes == v->holes_room) {
		grown =
		    realloc(v->hole, (2 * v->holes_room + 16) * sizeof *grown);
		if (!grown)
			return NULL;
		v->hole = grown;
		v->holes_room = 2 * v->holes_room + 16;
	}
	return &v->hole[v->holes++];
}

static void
hole_take(void *arg, uint64_t slot, uint64_t count)
{
	struct view *v = arg;
	const struct view_hole *last = v->holes ? &v->hole[v->holes - 1] : NULL;
	uint64_t from = last ? last->slot + last->count : 0;
	uint64_t before = (last ? last->before : 0) + (slot - from);
	struct view_hole *hole;

	if (!count || v->holes_err)
		return;
	if (slot < from || slot + count > UINT32_MAX) {
		v->holes_err = -ENODATA; /* the metadata contradicts itself */
		return;
	}
	hole = hole_add(v);
	if (!hole) {
		v->holes_err = -ENOMEM;
		return;
	}
	*hole = (struct view_hole){ .slot = (uint32_t)slot,
				    .count = (uint32_t)count,
				    .before = (uint32_t)before };
}

int
view_holes(struct view *v, const struct recording_block *b)
{
	uint64_t slots = b->bytes / v->payload;
	uint64_t missing = slots - view_present(v, b);
	const struct view_hole *last;
	int err = 0;

	if (v->holed && v->holes_number == b->record.number)
		return 0;
	v->holed = false;
	v->holes = 0;
	v->holes_err = 0;
	if (missing)
		err = recording_holes(v->rec, b->record.number, hole_take, v);
	if (!err)
		err = v->holes_err;
	if (err)
		return err == -ENOMEM || err == -EAGAIN ? err : -ENODATA;
	last = v->holes ? &v->hole[v->holes - 1] : NULL;
	if ((last && last->slot + (uint64_t)last->count > slots) ||
	    view_holes_before(v, slots) != slots - missing)
		return -ENODATA;
	v->holed = true;
	v->holes_number = b->record.number;
	return 0;
}

/* Returns the last hole whose slot (or `before` count, if `before` is set) is
 * at most `key`; NULL if there is none. */
static const struct view_hole *
hole_find(const struct view *v, uint64_t key, bool before)
{
	size_t low = 0, high = v->holes;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct view_hole *h = &v->hole[middle];

		if ((before ? h->before : h->slot) <= key)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &v->hole[low - 1] : NULL;
}

/* Returns the first slot of the hole behind h, or `slots` if there is none. */
static uint64_t
next_hole(const struct view *v, const struct view_hole *h, uint64_t slots)
{
	const struct view_hole *next = h ? h + 1 : v->hole;

	return next < v->hole + v->holes ? next->slot : slots;
}

uint64_t
view_holes_before(const struct view *v, uint64_t slot)
{
	const struct view_hole *h = hole_find(v, slot, false);

	if (!h)
		return slot;
	if (slot < (uint64_t)h->slot + h->count)
		return h->before;
	return h->before + (slot - h->slot - h->count);
}

uint64_t
view_holes_slot(const struct view *v, uint64_t n, uint64_t slots, uint64_t *end)
{
	/* Holes that touch have the same `before`: hole_find() gives the last
	 * of them. */
	const struct view_hole *h = hole_find(v, n, true);

	*end = next_hole(v, h, slots);
	return h ? (uint64_t)h->slot + h->count + (n - h->before) : n;
}

/* True if `slot` has no packet.  *end: first later slot where that changes. */
static bool
view_holes_at(const struct view *v, uint64_t slot, uint64_t slots,
	      uint64_t *end)
{
	const struct view_hole *h = hole_find(v, slot, false);

	if (h && slot < (uint64_t)h->slot + h->count) {
		*end = (uint64_t)h->slot + h->count;
		return true;
	}
	*end = next_hole(v, h, slots);
	return false;
}

/* ---- from an offset to a span -------------------------------------------- */

/*
 * Finds the span of an offset in two steps: its piece by bisection, then its
 * packet within the piece by division.  If holes are left out or filled in
 * another way than on disk, a span ends where a hole begins or ends.
 */

/* Returns the last piece that begins at or before `offset`. */
static const struct view_piece *
find_piece(const struct view *v, uint64_t offset)
{
	size_t low = 0, high = v->pieces;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (v->piece[middle].offset <= offset)
			low = middle;
		else
			high = middle;
	}
	return &v->piece[low];
}

static uint64_t
piece_end(const struct view *v, const struct view_piece *p)
{
	return p + 1 < v->piece + v->pieces ? p[1].offset : v->bytes;
}

/* True if the block still lies where it was when the piece was laid out.
 * Offsets never move, but a disk that comes back may tell other lengths. */
static bool
is_there(const struct view *v, const struct view_piece *p,
	 const struct recording_block *b)
{
	if (v->ranged || view_threaded(v) || p->at)
		return false;
	if (v->whole)
		return p->offset == b->offset;
	return p->offset / v->take * v->payload == b->offset;
}

/* Returns the kind of a piece now: fill may have become data. */
static enum view_kind
piece_kind(const struct view *v, const struct view_piece *p,
	   const struct recording_block *b, uint64_t at)
{
	if (p->kind != VIEW_FILLED || b->record.kind != INDEX_BLOCK ||
	    at >= b->bytes)
		return p->kind;
	return is_there(v, p, b) ? VIEW_DATA : VIEW_LOST;
}

/* Working state of view_find(): the first packet, and how many packets of the
 * same kind follow, the first included. */
struct span_start {
	uint64_t slot, packets;
	uint32_t passed; /* bytes of the first packet that lie before the
			    offset */
	enum view_kind kind;
};

static void
start_cut(struct span_start *a, uint64_t packets)
{
	if (a->packets > packets)
		a->packets = packets;
}

/* VIEW_SKIP: finds packet `skip` of a piece among those present. */
static int
start_skip(struct view *v, const struct view_piece *p,
	   const struct recording_block *b, uint64_t skip, struct span_start *a)
{
	uint64_t slots = b->bytes / v->payload, end = slots;
	int err;

	if (view_present(v, b) == slots)
		return 0;
	err = view_holes(v, b);
	if (err && err != -ENODATA)
		return err;
	if (!err)
		a->slot = view_holes_slot(
		    v, view_holes_before(v, p->at / v->payload) + skip, slots,
		    &end);
	if (err || a->slot >= end) {
		a->kind = VIEW_LOST;
		return 0;
	}
	start_cut(a, end - a->slot);
	return 0;
}

/* Fill: cuts the span where a hole begins or ends.  If the holes are unknown,
 * the block's bytes are shown as stored. */
static int
start_fill(struct view *v, const struct view_piece *p,
	   const struct recording_block *b, struct span_start *a)
{
	uint64_t slots = b->bytes / v->payload, end;
	int err;

	if (view_present(v, b) == slots)
		return 0;
	err = view_holes(v, b);
	if (err)
		return err == -ENODATA ? 0 : err;
	if (view_holes_at(v, a->slot, slots, &end))
		a->kind = VIEW_FILLED;
	start_cut(a, (end - a->slot + p->every - 1) / p->every);
	return 0;
}

static int
find_start(struct view *v, const struct view_piece *p, uint64_t in,
	   struct span_start *a)
{
	const struct recording_block *b = &v->rec->block[p->number];
	uint64_t n = in / v->take;

	*a = (struct span_start){
		.slot = p->at / v->payload + n * p->every,
		.packets = (piece_end(v, p) - p->offset) / v->take - n,
		.passed = (uint32_t)(in % v->take),
	};
	a->kind = piece_kind(v, p, b, a->slot * v->payload);
	if (a->kind != VIEW_DATA)
		return 0;
	if (p->kind == VIEW_FILLED)
		start_cut(a, b->bytes / v->payload - a->slot);
	if (!v->picks)
		return 0;
	return v->choice.fill == VIEW_SKIP ? start_skip(v, p, b, n, a)
					   : start_fill(v, p, b, a);
}

/* Whole packets in a row make one span without steps. */
static int
span_packets(struct view *v, const struct view_piece *p, uint64_t in,
	     struct view_span *s)
{
	struct span_start a;
	int err = find_start(v, p, in, &a);

	if (err)
		return err;
	s->kind = a.kind;
	s->lead = v->choice.strip + a.passed;
	s->at = a.slot * v->payload + s->lead;
	s->bytes = a.packets * v->take - a.passed;
	s->take = v->take;
	s->passed = a.passed;
	if (p->every > 1 || v->choice.strip)
		s->step = (uint64_t)p->every * v->payload;
	return 0;
}

static void
span_bytes(const struct view *v, const struct view_piece *p, uint64_t in,
	   struct view_span *s)
{
	const struct recording_block *b = &v->rec->block[p->number];

	s->at = p->at + in;
	s->kind = piece_kind(v, p, b, s->at);
	s->bytes = piece_end(v, p) - p->offset - in;
	if (p->kind == VIEW_FILLED && s->kind == VIEW_DATA &&
	    s->bytes > b->bytes - s->at)
		s->bytes = b->bytes - s->at;
}

int
view_find(struct view *v, uint64_t offset, struct view_span *s)
{
	const struct view_piece *p;
	int err = 0;

	if (offset >= v->bytes)
		return -ENODATA;
	p = find_piece(v, offset);
	*s = (struct view_span){
		.kind = VIEW_LOST,
		.number = p->number,
		.bytes = piece_end(v, p) - offset,
	};
	if (p->number >= v->rec->blocks)
		return 0;
	if (v->whole)
		span_bytes(v, p, offset - p->offset, s);
	else
		err = span_packets(v, p, offset - p->offset, s);
	s->offset = v->rec->block[p->number].offset + s->at;
	return err;
}

/* ---- spans --------------------------------------------------------------- */

uint64_t
view_reach(const struct view_span *s, uint64_t bytes)
{
	uint64_t end = s->passed + bytes, packets;

	if (!s->step || !bytes)
		return bytes;
	packets = (end - 1) / s->take;
	return packets * s->step + (end - packets * s->take) - s->passed;
}

void
view_pass(struct view_span *s, uint64_t bytes)
{
	uint64_t end = s->passed + bytes, moved = bytes;
	uint32_t passed;

	s->bytes -= bytes;
	if (s->take) {
		passed = (uint32_t)(end % s->take);
		if (s->step)
			moved = end / s->take * s->step + passed - s->passed;
		s->lead = s->lead - s->passed + passed;
		s->passed = passed;
	}
	s->at += moved;
	s->offset += moved;
}

/* Copies the rest of the first packet, whole packets, and the beginning of the
 * last. */
static size_t
gather(const struct view_span *s, const uint8_t *from, uint64_t n, uint8_t *to,
       size_t most)
{
	uint64_t at = 0;
	size_t part = s->take - s->passed, done = 0;

	while (at < n && done < most) {
		if (part > most - done)
			part = most - done;
		if (part > n - at)
			part = n - at;
		memcpy(to + done, from + at, part);
		at += done ? s->step : s->step - s->passed;
		done += part;
		part = s->take;
	}
	return done;
}

size_t
view_gather(const struct view_span *s, const void *data, uint64_t n, void *to,
	    size_t most)
{
	if (most > s->bytes)
		most = s->bytes;
	if (s->step)
		return gather(s, data, n, to, most);
	if (most > n)
		most = n;
	memcpy(to, data, most);
	return most;
}

/* ---- fill ---------------------------------------------------------------- */

/* Makes fill for a span.  The recording makes fill by position within a block,
 * so fill for stripped packets is made whole and then stripped. */

static enum fill_kind
fill_of(const struct view *v)
{
	switch (v->choice.fill) {
	case VIEW_INVALID: return FILL_INVALID;
	case VIEW_ZERO: return FILL_ZERO;
	default: return v->stored;
	}
}

int
view_fill_bytes(struct view *v, const struct view_span *s, void *to,
		size_t bytes)
{
	struct recording *rec = v->rec;
	struct view_span left = *s;
	uint8_t *at = to;
	int err = 0;
	size_t place;

	if (rec->shape.store == HEAP_ROW || s->number >= rec->blocks ||
	    bytes > s->bytes)
		return -EINVAL;
	place = view_place(v, s->number);
	if (place == rec->from[v->choice.sub + 1] ||
	    recording_at(rec, place)->record.number != s->number)
		return -EINVAL;
	while (bytes && !err) {
		size_t part = left.step ? left.take - left.passed : bytes;

		if (part > bytes)
			part = bytes;
		err = recording_fill_as(rec, place, fill_of(v), at, part,
					left.at);
		view_pass(&left, part);
		at += part;
		bytes -= part;
	}
	return err;
}

/* ---- choices ------------------------------------------------------------- */

/*
 * The combination of one thread and VIEW_SKIP is refused: the length of such a
 * file depends on the holes of every block, so missing packets of one thread
 * are filled.  Rows and cubes are shown as they are stored: a row has no
 * packets of one length, and in a cube the place of an item tells its time.
 */

const char *
view_settle(struct view_choice *c, enum heap_store store)
{
	if (store == HEAP_NONE && c->thread >= 0 && c->fill == VIEW_SKIP) {
		c->fill = VIEW_STORED;
		return "missing packets of a single thread are filled, not "
		       "left out, because no index counts them";
	}
	if (store == HEAP_NONE || (!c->strip && c->fill == VIEW_STORED))
		return NULL;
	c->strip = 0;
	c->fill = VIEW_STORED;
	return store == HEAP_ROW
		   ? "heaps have no packets of one length: strip and fill do "
		     "not apply to them"
		   : "in a cube the place of an item tells its time: strip and "
		     "fill do not apply to it";
}

static bool
is_ranged(const struct view_choice *c)
{
	return c->from_ns || c->to_ns;
}

static int
refuse(const struct view *v, struct fault *fault)
{
	return fault_set(fault, -EINVAL, "usage", "cannot show %s in this form",
			 v->rec->name);
}

static int
check_thread(const struct view *v, struct fault *fault)
{
	const struct format_shape *s = &v->rec->shape;

	if (s->store == HEAP_NONE && s->header && s->parts == 1)
		return 0;
	refuse(v, fault);
	fault_why(fault, "its packets carry no number of a thread");
	return -EINVAL;
}

static int
check_choice(const struct view *v, struct fault *fault)
{
	struct view_choice fits = v->choice;
	const char *why = view_settle(&fits, v->rec->shape.store);

	if (why) {
		refuse(v, fault);
		fault_why(fault, "%s", why);
		return -EINVAL;
	}
	if (v->choice.strip && v->choice.strip >= v->payload) {
		refuse(v, fault);
		fault_why(fault,
			  "packets of %u bytes have nothing left without "
			  "their first %u",
			  v->payload, v->choice.strip);
		return -EINVAL;
	}
	return view_threaded(v) ? check_thread(v, fault) : 0;
}

/* Derives the view's flags from the choice. */
static void
derive(struct view *v)
{
	enum view_fill as = v->choice.fill;

	v->stored = recording_fill_kind(v->rec);
	if (as == (v->stored == FILL_ZERO ? VIEW_ZERO : VIEW_INVALID) &&
	    !v->rec->foreign)
		as = VIEW_STORED; /* the recording's own fill is already of
				     this kind */
	/* Fill written by another recorder carries no thread. */
	v->picks = as != VIEW_STORED || (v->rec->foreign && view_threaded(v));
	v->ranged = is_ranged(&v->choice);
	v->take = v->payload - v->choice.strip;
	v->whole = v->rec->shape.store == HEAP_ROW ||
		   (as == VIEW_STORED && !v->choice.strip && !v->ranged &&
		    !view_threaded(v));
}

/* Finds the format plugin.  A view of a range can do without: times are then
 * interpolated.  A view of one thread cannot. */
static int
find_format(struct view *v, struct fault *fault)
{
	struct fault none = { 0 };
	int err = 0;

	if (!view_threaded(v) && !v->ranged)
		return 0;
	err = recording_format(v->rec, &v->format,
			       view_threaded(v) ? fault : &none);
	if (err)
		v->format = NULL;
	return view_threaded(v) ? err : 0;
}

/* Refuses a view whose thread is not in the recording, or whose packets of the
 * thread cannot be told from others. */
static int
check_turn(const struct view *v, struct fault *fault)
{
	size_t lost = 0;

	if (!v->turn.known)
		return 0;
	while (lost < v->pieces && v->piece[lost].kind == VIEW_LOST)
		lost++;
	if (!v->pieces && v->turn.what == TURN_NONE) {
		refuse(v, fault);
		fault_why(fault, "it has no thread %d", v->choice.thread);
		return -EINVAL;
	}
	if (!v->pieces || lost < v->pieces)
		return 0;
	fault_set(fault, -EIO, "io", "cannot tell the threads of %s apart",
		  v->rec->name);
	fault_why(fault, "its first packets cannot be read, or their threads "
			 "do not take turns");
	return -EIO;
}

/* ---- making and freeing -------------------------------------------------- */

int
view_make(struct view **view, struct recording *rec,
	  const struct view_choice *choice, struct fault *fault)
{
	struct view *v = calloc(1, sizeof *v);
	int err;

	if (!v)
		return fault_set(fault, -ENOMEM, "no-memory", "cannot show %s",
				 rec->name);
	v->rec = rec;
	v->choice = *choice;
	v->payload = rec->shape.payload;
	v->shape = rec->shape;
	v->shape.threads = NULL;
	v->shape.threads_n = 0;
	err = check_choice(v, fault);
	if (!err) {
		derive(v);
		err = find_format(v, fault);
	}
	if (!err) {
		if (v->ranged)
			view_range_begin(v);
		err = view_lay(v);
		if (err)
			fault_set(fault, err, "no-memory", "cannot show %s",
				  rec->name);
	}
	if (!err)
		err = check_turn(v, fault);
	if (err)
		view_free(v);
	else
		*view = v;
	return err;
}

void
view_free(struct view *v)
{
	if (!v)
		return;
	free(v->piece);
	free(v->hole);
	free(v);
}

const struct view_choice *
view_choice(const struct view *v)
{
	return &v->choice;
}

int
view_refresh(struct view *v)
{
	v->holed = false;
	return view_lay(v);
}

uint64_t
view_bytes(const struct view *v)
{
	return v->bytes;
}

int
view_size(const struct view_counts *c, const struct view_choice *choice,
	  uint64_t *bytes)
{
	struct view_choice is = *choice;
	uint64_t packets = c->packets;

	view_settle(&is, c->store);
	if (is_ranged(&is) || is.thread >= 0 || !c->payload)
		return -ENODATA;
	if (is.strip && is.strip >= c->payload)
		return -EINVAL;
	if (!is.strip && is.fill == VIEW_STORED) {
		*bytes = c->bytes;
		return 0;
	}
	if (is.fill != VIEW_SKIP) {
		if (c->bytes % c->payload)
			return -ENODATA; /* a block that is cut short: length
					    unknown here */
		packets = c->bytes / c->payload;
	}
	*bytes = packets * (c->payload - is.strip);
	return 0;
}
