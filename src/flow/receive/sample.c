/* SPDX-License-Identifier: MIT */
/*
 * A packet that is as long as configured is parsed by the format.  Of other
 * lengths, the first bytes of one packet each are kept, to guess what it may be
 * (sample_hint.c).
 *
 * Loss is what is missing between the lowest and the highest number that came.
 * A step of more than FAR is a counter that restarted.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "flow/receive/sample_priv.h"

enum { FAR = 1 << 24 };

int
sample_make(struct sample **sample, const struct sample_args *args)
{
	struct sample *s = calloc(1, sizeof *s);
	int err = 0;

	if (!s)
		return -ENOMEM;
	s->a = *args;
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

static void
frame_look(struct sample *s, unsigned sub, const struct receive_packet *k,
	   int64_t now_ns)
{
	struct format_packet p;

	s->a.format->parse(s->a.shape, k->prefix, k->payload, &p);
	if (k->flags & RECEIVE_SEQUENCE)
		line_add(&s->line[sub], k->sequence);
	else if (p.has & FORMAT_SEQUENCE &&
		 s->a.shape->sequence != SEQUENCE_TIME)
		line_add(&s->line[sub], p.sequence);
	if (p.has & FORMAT_TIME && p.part == 0)
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
