/* SPDX-License-Identifier: MIT */
/*
 * A packet that is as long as configured is parsed by the format.  Of other
 * lengths, the first bytes of one packet each are kept, to guess what it may be
 * (sample_hints).
 *
 * Loss is what is missing between the lowest and the highest number that came.
 * A step of more than FAR is a counter that restarted.
 */
#include "flow/receive/sample.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAR = 1 << 24, SENTENCE = 240 };

/* ---- heaps ------------------------------------------------------------- */

/*
 * Heaps: their lengths and items, and whether they are complete.  A hash table,
 * by substream and count, follows the newest heaps.  Bytes that a heap lacks
 * are lost when EDGE others of its substream began after it, or when its entry
 * is needed for another heap.  The first heap of each substream does not count,
 * since it may have begun before the sample.
 */

enum {
	FOLLOWED = 4096,
	ITEMS = 64,
	LENGTHS = 8,
	PIECE_ITEMS = 256,
	EDGE = 2, /* heaps of one substream that may be incomplete yet */
};

struct sample_heap {
	uint64_t count, length, bytes;
	uint64_t nth; /* index in its substream, from 1; 0: unused entry */
	uint32_t sub;
};

struct sample_item {
	struct format_item i;
	uint64_t heaps; /* number of headers that had it */
};

struct sample_length {
	uint64_t bytes, heaps;
};

/* Numbers of heaps that ended, and bytes lost. */
struct sample_ends {
	uint64_t complete, incomplete, lost;
};

struct sample_heaps {
	const struct format_ops *format;
	struct sample_heap heap[FOLLOWED];
	uint64_t *began;	  /* per substream: heaps that began */
	struct sample_ends ended; /* heaps that left the table */
	uint64_t pieces, malformed, control, bytes;
	struct sample_length length[LENGTHS];
	unsigned lengths;
	struct sample_item item[ITEMS];
	unsigned items;
	uint16_t flavour;
};

static int
sample_heaps_make(struct sample_heaps **heaps, const struct format_ops *format,
		  unsigned subs)
{
	struct sample_heaps *h = calloc(1, sizeof *h);

	if (!h)
		return -ENOMEM;
	h->format = format;
	h->began = calloc(subs, sizeof *h->began);
	if (!h->began) {
		free(h);
		return -ENOMEM;
	}
	*heaps = h;
	return 0;
}

static void
sample_heaps_free(struct sample_heaps *h)
{
	if (!h)
		return;
	free(h->began);
	free(h);
}

static void
item_add(struct sample_heaps *h, const struct format_item *i)
{
	unsigned n = 0;

	while (n < h->items && h->item[n].i.id != i->id)
		n++;
	if (n == ITEMS)
		return;
	if (n == h->items)
		h->items++;
	h->item[n].i = *i;
	h->item[n].heaps++;
}

/* Looks at a first piece: only that is sure to have all items. */
static void
items_look(struct sample_heaps *h, const uint8_t *head,
	   const struct format_piece *piece)
{
	uint64_t item[PIECE_ITEMS];
	uint32_t n = h->format->items(head, piece, item, PIECE_ITEMS);

	for (uint32_t i = 0; i < n; i++) {
		struct format_item out;

		h->format->item(piece, item, n, i, &out);
		item_add(h, &out);
	}
}

static void
length_add(struct sample_heaps *h, uint64_t bytes)
{
	unsigned n = 0;

	while (n < h->lengths && h->length[n].bytes != bytes)
		n++;
	if (n == LENGTHS)
		return;
	if (n == h->lengths)
		h->length[h->lengths++].bytes = bytes;
	h->length[n].heaps++;
}

static void
heap_over(struct sample_ends *e, const struct sample_heap *heap)
{
	if (heap->nth < 2)
		return; /* an unused entry, or the first heap */
	if (!heap->length || heap->bytes >= heap->length) {
		e->complete++;
		return;
	}
	e->incomplete++;
	e->lost += heap->length - heap->bytes;
}

static struct sample_heap *
heap_find(struct sample_heaps *h, unsigned sub, const struct format_piece *p)
{
	uint64_t key = (p->heap ^ (uint64_t)sub << 40) * 0x9e3779b97f4a7c15;
	struct sample_heap *heap = &h->heap[key >> 52];

	if (heap->nth && heap->count == p->heap && heap->sub == sub)
		return heap;
	heap_over(&h->ended, heap);
	*heap = (struct sample_heap){ .count = p->heap,
				      .length = p->length,
				      .sub = sub,
				      .nth = ++h->began[sub] };
	length_add(h, p->length);
	return heap;
}

/* Takes in a datagram of `bytes` bytes, of which head_bytes are at `head`. */
static void
sample_heaps_piece(struct sample_heaps *h, unsigned sub, const uint8_t *head,
		   uint32_t head_bytes, uint32_t bytes)
{
	struct format_piece p;
	struct sample_heap *heap;

	if (h->format->piece(head, head_bytes, bytes, &p) != 0) {
		h->malformed++;
		return;
	}
	h->flavour = p.flavour;
	h->bytes += p.bytes;
	h->pieces++;
	if (p.control != PIECE_DATA) {
		h->control++;
		return;
	}
	heap = heap_find(h, sub, &p);
	heap->bytes += p.bytes;
	if (!p.offset)
		items_look(h, head, &p);
}

/* Number of pieces that came, and of packets that are not a piece. */
static uint64_t
sample_heaps_pieces(const struct sample_heaps *h)
{
	return h->pieces;
}

/* Length of an item, in bytes, in the heaps that came.  0: it was not seen, or
 * is immediate. */
static uint64_t
sample_heaps_item(const struct sample_heaps *h, uint32_t id)
{
	for (unsigned i = 0; i < h->items; i++) {
		if (h->item[i].i.id == id && !h->item[i].i.immediate)
			return h->item[i].i.bytes;
	}
	return 0;
}

static struct sample_ends
ends_now(const struct sample_heaps *h)
{
	struct sample_ends e = h->ended;

	for (unsigned i = 0; i < FOLLOWED; i++) {
		const struct sample_heap *heap = &h->heap[i];
		bool whole = heap->length && heap->bytes >= heap->length;

		if (heap->nth &&
		    (whole || heap->nth + EDGE <= h->began[heap->sub]))
			heap_over(&e, heap);
	}
	return e;
}

static json_t *
items_json(const struct sample_heaps *h)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < h->items; i++) {
		const struct format_item *k = &h->item[i].i;

		json_array_append_new(list,
				      json_pack("{s:I, s:b, s:I, s:I}", "id",
						(json_int_t)k->id, "immediate",
						(int)k->immediate, "bytes",
						(json_int_t)k->bytes, "value",
						(json_int_t)k->value));
	}
	return list;
}

/* Makes the JSON object `heaps`.  *lost: bytes missing in heaps that others
 * followed. */
static json_t *
sample_heaps_json(const struct sample_heaps *h, uint64_t *lost)
{
	json_t *lengths = json_array();
	struct sample_ends e = ends_now(h);

	for (unsigned i = 0; i < h->lengths; i++)
		json_array_append_new(
		    lengths, json_pack("{s:I, s:I}", "bytes",
				       (json_int_t)h->length[i].bytes, "heaps",
				       (json_int_t)h->length[i].heaps));
	*lost = e.lost;
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:i, s:o, s:o}",
			 "complete", (json_int_t)e.complete, "incomplete",
			 (json_int_t)e.incomplete, "bytes",
			 (json_int_t)h->bytes, "pieces", (json_int_t)h->pieces,
			 "malformed", (json_int_t)h->malformed, "control",
			 (json_int_t)h->control, "flavour", (int)h->flavour,
			 "lengths", lengths, "items", items_json(h));
}

/* ---- a sample ---------------------------------------------------------- */

enum {
	SAMPLE_SIZES = 16,   /* lengths of datagrams that are told apart */
	SAMPLE_HEAD = 256,   /* bytes kept of one datagram of each length */
	SAMPLE_SENDERS = 16, /* senders that are told apart */
	SAMPLE_TRAILS = 1024,
};

struct sample_size {
	uint32_t bytes;
	uint32_t kept; /* bytes kept, of the first datagram */
	uint64_t datagrams;
	uint8_t head[SAMPLE_HEAD];
};

/* One substream: a counter that should grow by one. */
struct sample_line {
	uint64_t datagrams, seen; /* all; those with a sequence */
	uint64_t first, last;	  /* sequences since the last restart */
	uint64_t span;		  /* length of the sequences before that */
	unsigned restarts;
	uint64_t newest;  /* sequence of the newest packet */
	uint64_t swapped; /* packets that follow it in the other byte order */
};

/* One thread of one station: frames that should grow by one. */
struct sample_trail {
	uint32_t sub, thread, station;
	uint64_t frames;
	int64_t second; /* of the first frame, with `frame` */
	uint32_t frame;
	int64_t last_second; /* of the newest by time, with last_frame */
	uint32_t last_frame;
};

struct sample {
	struct sample_args a;
	uint64_t datagrams, bytes, foreign, cut, invalid;
	struct sample_size size[SAMPLE_SIZES];
	unsigned sizes;
	uint32_t sender[SAMPLE_SENDERS];
	unsigned senders;
	struct sample_line *line; /* per substream */
	struct sample_trail *trail;
	unsigned trails, at;	      /* at: the one found last */
	uint32_t highest;	      /* highest frame number in any second */
	int64_t time_second, time_ns; /* of the newest packet with a time; its
					 arrival, UTC ns */
	uint32_t time_frame;
	bool timed;
	struct data_clock_window window;
	uint32_t fps; /* of a thread, when the window began; 0: not known */
	struct sample_heaps *heaps; /* NULL: the format has no heaps */
};

int
sample_make(struct sample **sample, const struct sample_args *args)
{
	struct sample *s = calloc(1, sizeof *s);
	int err = 0;

	if (!s)
		return -ENOMEM;
	s->a = *args;
	s->fps = args->shape->fps;
	data_clock_clear(&s->window);
	s->line = calloc(args->subs, sizeof *s->line);
	s->trail = calloc(SAMPLE_TRAILS, sizeof *s->trail);
	if (!s->line || !s->trail)
		err = -ENOMEM;
	if (!err && args->format->piece)
		err = sample_heaps_make(&s->heaps, args->format, args->subs);
	if (err) {
		sample_free(s);
		return err;
	}
	*sample = s;
	return 0;
}

void
sample_free(struct sample *s)
{
	if (!s)
		return;
	sample_heaps_free(s->heaps);
	free(s->line);
	free(s->trail);
	free(s);
}

/* ---- looking --------------------------------------------------------- */

/* Copies the first bytes of a packet, from its prefix and payload buffers. */
static uint32_t
head_copy(uint8_t head[SAMPLE_HEAD], const struct receive_packet *k)
{
	uint32_t n =
	    k->prefix_bytes < SAMPLE_HEAD ? k->prefix_bytes : SAMPLE_HEAD;
	uint32_t rest = k->bytes - k->prefix_bytes;

	if (k->bytes < k->prefix_bytes)
		rest = 0;
	if (rest > SAMPLE_HEAD - n)
		rest = SAMPLE_HEAD - n;
	if (n)
		memcpy(head, k->prefix, n);
	if (rest)
		memcpy(head + n, k->payload, rest);
	return n + rest;
}

static void
size_add(struct sample *s, const struct receive_packet *k)
{
	unsigned i = 0;

	while (i < s->sizes && s->size[i].bytes != k->bytes)
		i++;
	if (i == SAMPLE_SIZES)
		return;
	if (i == s->sizes) {
		s->sizes++;
		s->size[i].bytes = k->bytes;
		s->size[i].kept = head_copy(s->size[i].head, k);
	}
	s->size[i].datagrams++;
}

static void
sender_add(struct sample *s, uint32_t sender)
{
	unsigned i = 0;

	while (i < s->senders && s->sender[i] != sender)
		i++;
	if (sender && i == s->senders && i < SAMPLE_SENDERS)
		s->sender[s->senders++] = sender;
}

static void
line_add(struct sample_line *l, uint64_t sequence)
{
	uint64_t ahead = sequence - l->last, behind = l->last - sequence;

	if (!l->seen++) {
		l->first = l->last = sequence;
	} else if (ahead < FAR) {
		l->last = sequence;
	} else if (behind >= FAR) {
		l->restarts++;
		l->span += l->last - l->first + 1;
		l->first = l->last = sequence;
	} else if (l->first - sequence < FAR) {
		l->first = sequence; /* late, at the very beginning */
	}
}

static struct sample_trail *
trail_find(struct sample *s, unsigned sub, const struct format_packet *p)
{
	for (unsigned i = 0; i < s->trails; i++) {
		struct sample_trail *t = &s->trail[(s->at + i) % s->trails];

		if (t->thread == p->thread && t->station == p->station &&
		    t->sub == sub) {
			s->at = (unsigned)(t - s->trail);
			return t;
		}
	}
	if (s->trails == SAMPLE_TRAILS)
		return NULL;
	s->trail[s->trails] = (struct sample_trail){ .sub = sub,
						     .thread = p->thread,
						     .station = p->station,
						     .second = p->second,
						     .frame = p->frame };
	return &s->trail[s->trails++];
}

/* Adds a frame to the window of the data's clock.  Until the frames per second
 * are known, only the first of a second says a time. */
static void
clock_add(struct sample *s, unsigned sub, const struct format_packet *p,
	  const struct receive_packet *k, int64_t now_ns)
{
	struct format_shape shape = { .fps = s->fps ? s->fps : 1 };

	s->window.fps = shape.fps;
	if (!s->fps && p->frame)
		return;
	s->window.stamped &= k->arrived != 0;
	s->window.carded |= (k->flags & RECEIVE_CARD) != 0;
	data_clock_packet(&s->window, sub, p, format_time_ns(&shape, p),
			  k->arrived ? k->arrived : now_ns, "");
}

static void
frame_add(struct sample *s, unsigned sub, const struct format_packet *p,
	  int64_t now_ns)
{
	struct sample_trail *t = trail_find(s, sub, p);

	if (p->frame > s->highest)
		s->highest = p->frame;
	s->timed = true;
	s->time_second = p->second;
	s->time_frame = p->frame;
	s->time_ns = now_ns;
	s->invalid += !(p->has & FORMAT_VALID);
	if (!t)
		return;
	t->frames++;
	if (p->second > t->last_second ||
	    (p->second == t->last_second && p->frame >= t->last_frame)) {
		t->last_second = p->second;
		t->last_frame = p->frame;
	}
}

/* A counter as the other byte order of its configured kind reads it. */
static uint64_t
other_order(const struct format_shape *shape, uint64_t sequence)
{
	switch (shape->sequence) {
#define X(kind, name, bits, other)                                             \
	case SEQUENCE_##kind:                                                  \
		return __builtin_bswap##bits((uint##bits##_t)sequence);
		SEQUENCE_COUNTERS(X)
#undef X
	default: return sequence;
	}
}

/*
 * Counts packets whose counter leaps, and takes a small step in the other byte
 * order: read in the wrong one, a step of 1 is one of 2^24 or 2^56.
 */
static void
order_look(struct sample_line *l, const struct format_shape *shape,
	   uint64_t sequence)
{
	enum { STEP = 1 << 10, LEAP = 1 << 16 };
	uint64_t leap = sequence - l->newest;
	uint64_t step =
	    other_order(shape, sequence) - other_order(shape, l->newest);

	if (l->seen && leap > LEAP && step - 1 < STEP)
		l->swapped++;
	l->newest = sequence;
}

static void
sequence_look(struct sample *s, unsigned sub, uint64_t sequence)
{
	order_look(&s->line[sub], s->a.shape, sequence);
	line_add(&s->line[sub], sequence);
}

static void
frame_look(struct sample *s, unsigned sub, const struct receive_packet *k,
	   int64_t now_ns)
{
	struct format_packet p;

	s->a.format->parse(s->a.shape, k->prefix, k->payload, &p);
	if (k->flags & RECEIVE_SEQUENCE)
		sequence_look(s, sub, k->sequence);
	else if (p.has & FORMAT_SEQUENCE &&
		 s->a.shape->sequence != SEQUENCE_TIME)
		sequence_look(s, sub, p.sequence);
	if (!(p.has & FORMAT_TIME) || p.part)
		return;
	clock_add(s, sub, &p, k, now_ns);
	frame_add(s, sub, &p, now_ns);
}

void
sample_packet(struct sample *s, unsigned sub, const struct receive_packet *k,
	      int64_t now_ns)
{
	uint8_t head[SAMPLE_HEAD];
	uint32_t whole = s->a.shape->prefix + s->a.shape->payload;

	s->datagrams++;
	s->bytes += k->bytes;
	s->line[sub].datagrams++;
	if (k->flags & RECEIVE_FOREIGN) {
		s->foreign++;
		return;
	}
	sender_add(s, k->sender);
	size_add(s, k);
	s->cut += k->flags & RECEIVE_CUT;
	if (k->flags & RECEIVE_CUT)
		return;
	if (!s->heaps) {
		if (k->bytes == whole)
			frame_look(s, sub, k, now_ns);
		return;
	}
	if (!k->prefix_bytes) {
		sample_heaps_piece(s->heaps, sub, k->payload, k->bytes,
				   k->bytes);
		return;
	}
	sample_heaps_piece(s->heaps, sub, head, head_copy(head, k), k->bytes);
}

/* ---- hints ------------------------------------------------------------- */

/*
 * Makes hints for a user who sees nothing recorded.  If the length of packets
 * is not the configured one, other prefixes are tried: if the format then finds
 * a header that agrees with the length, that is what the configuration should
 * say.
 */

static __attribute__((format(printf, 2, 3))) void
hint(json_t *list, const char *sentence, ...)
{
	char text[SENTENCE];
	va_list args;

	va_start(args, sentence);
	vsnprintf(text, sizeof text, sentence, args);
	va_end(args);
	json_array_append_new(list, json_string(text));
}

static uint64_t
expected_of(const struct sample *s)
{
	uint32_t whole = s->a.shape->prefix + s->a.shape->payload;

	for (unsigned i = 0; i < s->sizes; i++) {
		if (s->size[i].bytes == whole)
			return s->size[i].datagrams;
	}
	return 0;
}

/* True if the format finds a header behind `prefix` bytes that agrees with the
 * length. */
static bool
fits(const struct sample *s, const struct sample_size *size, uint32_t prefix)
{
	struct format_shape shape = *s->a.shape;
	struct format_packet p = { .has = 0 };
	char why[8];

	if (prefix + SAMPLE_HEAD / 4 > size->kept || size->bytes <= prefix)
		return false;
	shape.prefix = prefix;
	shape.payload = size->bytes - prefix;
	shape.sequence = prefix ? SEQUENCE_LE64 : SEQUENCE_TIME;
	shape.sequence_at = 0;
	shape.fps = 0;
	if (s->a.format->shape(&shape, why, sizeof why) != 0)
		return false;
	s->a.format->parse(&shape, size->head, size->head + prefix, &p);
	return p.has & FORMAT_READABLE && p.has & FORMAT_TIME;
}

static void
size_hint(const struct sample *s, json_t *list)
{
	static const uint32_t usual[] = { 0, 8, 4, 16, 12 };
	const struct format_shape *shape = s->a.shape;
	const struct sample_size *most = &s->size[0];

	if (fits(s, most, shape->prefix)) {
		hint(list, "payload is %u, configured %u: set payload = %u",
		     most->bytes - shape->prefix, shape->payload,
		     most->bytes - shape->prefix);
		return;
	}
	for (unsigned i = 0; i < sizeof usual / sizeof *usual; i++) {
		if (!fits(s, most, usual[i]))
			continue;
		hint(list,
		     "prefix is %u and payload %u, configured %u and %u: set "
		     "prefix = %u and payload = %u",
		     usual[i], most->bytes - usual[i], shape->prefix,
		     shape->payload, usual[i], most->bytes - usual[i]);
		return;
	}
	hint(list,
	     "datagrams have %u bytes, configured are prefix %u + payload %u = "
	     "%u",
	     most->bytes, shape->prefix, shape->payload,
	     shape->prefix + shape->payload);
}

static void
packets_hint(const struct sample *s, json_t *list)
{
	uint64_t right = expected_of(s), read = 0;

	if (right * 2 < s->datagrams - s->foreign) {
		size_hint(s, list);
		return;
	}
	for (unsigned i = 0; i < s->a.subs; i++)
		read += s->line[i].seen;
	for (unsigned i = 0; i < s->trails; i++)
		read += s->trail[i].frames;
	if (!read && s->a.shape->sequence != SEQUENCE_ARRIVAL)
		hint(list, "no packet has a header that makes sense: is "
			   "`format` right, and `prefix`?");
}

/* Hints at a counter that is big-endian and configured little-endian, or the
 * other way. */
static void
order_hint(const struct sample *s, json_t *list)
{
	static const char *const other[] = {
#define X(kind, name, bits, other) [SEQUENCE_##other] = #name,
		SEQUENCE_COUNTERS(X)
#undef X
	};
	uint64_t seen = 0, swapped = 0;

	for (unsigned i = 0; i < s->a.subs; i++) {
		seen += s->line[i].seen;
		swapped += s->line[i].swapped;
	}
	if (swapped * 2 > seen)
		hint(list,
		     "the packets' counter has the other byte order: set "
		     "sequence = \"%s@%u\"",
		     other[s->a.shape->sequence], s->a.shape->sequence_at);
}

static bool
thread_known(const struct format_shape *shape, uint32_t thread)
{
	for (uint32_t i = 0; i < shape->threads_n; i++) {
		if (shape->threads[i] == thread)
			return true;
	}
	return !shape->threads_n;
}

static void
threads_hint(const struct sample *s, json_t *list)
{
	const struct format_shape *shape = s->a.shape;

	for (unsigned i = 0; i < s->trails; i++) {
		if (thread_known(shape, s->trail[i].thread))
			continue;
		hint(list, "thread %u comes and is not in `threads`",
		     s->trail[i].thread);
		return;
	}
}

static void
heaps_hint(const struct sample *s, json_t *list)
{
	const struct format_shape *shape = s->a.shape;
	uint64_t bytes = sample_heaps_item(s->heaps, shape->item);

	if (!sample_heaps_pieces(s->heaps))
		hint(list, "no packet is a piece of a heap: is `format` "
			   "right?");
	if (shape->store != HEAP_CUBE || !sample_heaps_pieces(s->heaps))
		return;
	if (!bytes)
		hint(list, "item 0x%x of the cube is in no heap that began",
		     shape->item);
	else if (bytes != shape->payload)
		hint(list,
		     "item 0x%x has %llu bytes, configured %u: set payload = "
		     "%llu",
		     shape->item, (unsigned long long)bytes, shape->payload,
		     (unsigned long long)bytes);
}

/* Makes hints for users who wonder why nothing is recorded. */
static json_t *
sample_hints(const struct sample *s)
{
	json_t *list = json_array();

	if (!s->datagrams) {
		hint(list, "nothing came: is the sender on, is this its "
			   "address and port, does a firewall stand between?");
		return list;
	}
	if (s->foreign == s->datagrams) {
		hint(list, "all packets come from senders that are not in "
			   "`allow`");
		return list;
	}
	if (s->senders > s->a.subs)
		hint(list, "%s%u senders send to the same ports",
		     s->senders == SAMPLE_SENDERS ? "at least " : "",
		     s->senders);
	if (s->heaps)
		heaps_hint(s, list);
	else
		packets_hint(s, list);
	order_hint(s, list);
	threads_hint(s, list);
	return list;
}

/* ---- telling --------------------------------------------------------- */

static json_t *
integer(uint64_t n)
{
	return json_integer((json_int_t)n);
}

static int
by_count(const void *a, const void *b)
{
	const struct sample_size *x = a, *y = b;

	return (x->datagrams < y->datagrams) - (x->datagrams > y->datagrams);
}

static json_t *
sizes_json(struct sample *s)
{
	json_t *list = json_array();

	qsort(s->size, s->sizes, sizeof s->size[0], by_count);
	for (unsigned i = 0; i < s->sizes; i++)
		json_array_append_new(
		    list, json_pack("{s:I, s:I}", "bytes",
				    (json_int_t)s->size[i].bytes, "datagrams",
				    (json_int_t)s->size[i].datagrams));
	return list;
}

/* Frames per second of a thread: as configured, else from the highest frame
 * number, once a second was seen to end.  0: not known. */
static uint32_t
fps_of(const struct sample *s)
{
	if (s->a.shape->fps)
		return s->a.shape->fps;
	for (unsigned i = 0; i < s->trails; i++) {
		if (s->trail[i].last_second > s->trail[i].second + 1)
			return s->highest + 1;
	}
	return 0;
}

void
sample_window(struct sample *s, struct data_clock_window *w)
{
	s->window.number++;
	*w = s->window;
	data_clock_clear(&s->window);
	s->fps = fps_of(s);
}

static uint64_t
trail_lost(const struct sample_trail *t, uint32_t fps)
{
	int64_t span = (t->last_second - t->second) * fps +
		       (int64_t)t->last_frame - (int64_t)t->frame + 1;

	return span > (int64_t)t->frames ? (uint64_t)span - t->frames : 0;
}

static json_t *
trails_json(const struct sample *s, uint32_t fps)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < s->trails; i++) {
		const struct sample_trail *t = &s->trail[i];

		json_array_append_new(
		    list,
		    json_pack("{s:i, s:i, s:i, s:I, s:o}", "sub", (int)t->sub,
			      "thread", (int)t->thread, "station",
			      (int)t->station, "frames", (json_int_t)t->frames,
			      "lost",
			      fps ? integer(trail_lost(t, fps)) : json_null()));
	}
	return list;
}

/* Counts losses by the counter if there is one, else by time; null: by
 * neither. */
static json_t *
lost_json(const struct sample *s, uint32_t fps)
{
	uint64_t lost = 0, seen = 0;

	for (unsigned i = 0; i < s->a.subs; i++) {
		const struct sample_line *l = &s->line[i];
		uint64_t span = l->span + l->last - l->first + 1;

		seen += l->seen;
		if (l->seen && span > l->seen)
			lost += span - l->seen;
	}
	if (seen)
		return integer(lost);
	if (!fps || !s->trails)
		return json_null();
	for (unsigned i = 0; i < s->trails; i++)
		lost += trail_lost(&s->trail[i], fps);
	return integer(lost);
}

static json_t *
ahead_json(const struct sample *s, uint32_t fps)
{
	int64_t ns = s->time_second * 1000000000;

	if (!s->timed)
		return json_null();
	if (fps)
		ns += (int64_t)s->time_frame * 1000000000 / fps;
	return json_real((double)(ns - s->time_ns) / 1e9);
}

static void
lines_set(const struct sample *s, json_t *to)
{
	uint64_t restarts = 0, silent = 0;

	for (unsigned i = 0; i < s->a.subs; i++) {
		restarts += s->line[i].restarts;
		silent += !s->line[i].datagrams;
	}
	json_object_set_new(to, "restarts", integer(restarts));
	json_object_set_new(to, "silent", integer(silent));
}

static void
contents_set(const struct sample *s, json_t *to)
{
	uint32_t fps = fps_of(s);
	uint64_t lost;

	json_object_set_new(to, "threads", trails_json(s, fps));
	json_object_set_new(to, "fps", integer(fps));
	json_object_set_new(to, "invalid", integer(s->invalid));
	json_object_set_new(to, "ahead_s", ahead_json(s, fps));
	if (s->heaps) {
		json_object_set_new(to, "heaps",
				    sample_heaps_json(s->heaps, &lost));
		json_object_set_new(to, "lost", integer(lost));
	} else {
		json_object_set_new(to, "heaps", json_null());
		json_object_set_new(to, "lost", lost_json(s, fps));
	}
}

json_t *
sample_json(struct sample *s, int64_t span)
{
	double seconds = span > 0 ? (double)span / 1e9 : 1;
	json_t *to =
	    json_pack("{s:I, s:I, s:f, s:I, s:I, s:o, s:i}", "datagrams",
		      (json_int_t)s->datagrams, "bytes", (json_int_t)s->bytes,
		      "rate", (double)s->bytes * 8 / seconds, "foreign",
		      (json_int_t)s->foreign, "cut", (json_int_t)s->cut,
		      "sizes", sizes_json(s), "senders", (int)s->senders);

	if (!to)
		return NULL;
	lines_set(s, to);
	contents_set(s, to);
	json_object_set_new(to, "hints", sample_hints(s));
	return to;
}
