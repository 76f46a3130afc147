/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include "lib/made_view.h"

int64_t
play_time(const struct play *p, uint64_t frame)
{
	uint64_t of_thread = frame / p->threads;

	return (MADE_SECOND + (int64_t)(of_thread / p->fps)) * 1000000000 +
	       (int64_t)(of_thread % p->fps * 1000000000 / p->fps);
}

static uint32_t
play_thread(const struct play *p, uint64_t frame)
{
	return p->thread[frame % p->threads];
}

void
play_frame(const struct play *p, uint64_t frame, uint32_t has, uint8_t *to)
{
	uint64_t of_thread = frame / p->threads;
	struct format_packet is = {
		.has = FORMAT_TIME | FORMAT_READABLE | has,
		.second = MADE_SECOND + (int64_t)(of_thread / p->fps),
		.frame = (uint32_t)(of_thread % p->fps),
		.thread = play_thread(p, frame),
	};

	for (unsigned i = 0; i < MADE_PAYLOAD; i++)
		to[i] = (uint8_t)(frame * 7 + i * 13);
	p->m.format->model(&p->m.shape, to);
	p->m.format->stamp(&p->m.shape, &is, NULL, to);
}

static uint64_t
play_base(const struct play *p, uint64_t frame0)
{
	uint64_t second = (uint64_t)(MADE_SECOND - FORMAT_Y2000);

	return p->timed ? second * p->fps * p->threads + frame0
			: MADE_BASE + frame0 * 3;
}

static void
play_event(struct play *p, unsigned sub)
{
	struct dice *d = &p->dice;
	struct event *at = &p->next[sub], *e;

	if (at->slots && dice_chance(d, p->anew)) { /* a run */
		at->run++;
		at->frame0 += at->first + dice_roll(d, 300);
		at->first = 0;
	}
	at->sub = sub;
	at->lost = dice_chance(d, p->gone);
	if (at->first && dice_chance(d, p->gappy)) {
		e = &p->event[p->events++];
		*e = *at;
		e->gap = true;
		e->slots = 1 + dice_roll(d, 2 * MADE_SLOTS);
		e->present = 0;
		at->first += e->slots;
	}
	e = &p->event[p->events++];
	at->slots = MADE_SLOTS;
	if (dice_chance(d, p->early))
		at->slots = 1 + dice_roll(d, MADE_SLOTS);
	at->present = 0;
	for (unsigned i = 0; i < at->slots; i++) {
		if (!dice_chance(d, p->lossy))
			at->present |= UINT64_C(1) << i;
	}
	if (!at->present)
		at->present = 1;
	*e = *at;
	at->first += at->slots;
}

void
play_script(struct play *p, unsigned events)
{
	while (p->events + 1 < events)
		play_event(p, dice_roll(&p->dice, p->subs));
	p->event[p->events - 1].lost = false;
	if (p->events > 1 && p->event[p->events - 2].gap)
		p->event[p->events - 2].lost = false;
}

void
play_begin(struct play *p)
{
	struct made *m = &p->m;
	struct fault fault;
	char why[256];

	/* The usual one, taken away and made anew with what is wanted. */
	m->subs = p->subs;
	made_begin(m);
	for (unsigned i = 0; i < MADE_DISKS; i++) {
		folder_close(m->folder[i], NULL, NULL);
		unlink(made_path(m, i, MADE_NAME ".index"));
		unlink(made_path(m, i, MADE_NAME ".meta.jsonl"));
		ck_assert_int_eq(
		    unlinkat(m->disks.disk[i].fd, MADE_NAME, AT_REMOVEDIR), 0);
	}
	json_decref(m->head);
	m->shape = (struct format_shape){ .prefix = p->timed ? 0 : 8,
					  .payload = MADE_PAYLOAD,
					  .fps = p->fps,
					  .around = MADE_SECOND };
	if (p->listed) {
		m->shape.threads_n = p->threads;
		m->shape.threads = p->thread;
	}
	ck_assert_int_eq(module_format("vdif", &m->format, &fault), 0);
	ck_assert_int_eq(m->format->shape(&m->shape, why, sizeof why), 0);
	if (p->parts)
		m->shape.parts = p->parts;
	made_head(m);
	for (unsigned i = 0; i < MADE_DISKS; i++)
		ck_assert_int_eq(folder_create(&m->folder[i], &m->disks.disk[i],
					       MADE_NAME, m->head),
				 0);
}

struct index_record
play_record(const struct play *p, const struct event *e, uint64_t number)
{
	unsigned present = (unsigned)__builtin_popcountll(e->present);
	uint64_t frame = e->frame0 + e->first;
	struct index_record r = {
		.number = number,
		.first = e->first,
		.run = e->run,
		.sub = (uint16_t)e->sub,
		.present = present,
		.missing = e->slots - present,
		.kind = e->gap ? INDEX_GAP : INDEX_BLOCK,
		.flags = INDEX_DATA_TIME,
	};

	if (e->gap) {
		r.first_ns = r.last_ns = play_time(p, frame + e->slots);
		return r;
	}
	r.bytes = e->slots * MADE_PAYLOAD;
	r.first_ns =
	    play_time(p, frame + (unsigned)__builtin_ctzll(e->present));
	r.last_ns =
	    play_time(p, frame + 63 - (unsigned)__builtin_clzll(e->present));
	return r;
}

void
play_write(struct play *p, const struct event *e, uint64_t number,
	   unsigned disk)
{
	static struct made_block mb;
	struct index_record r = play_record(p, e, number);
	json_t *holes;

	made_block(&p->m, &mb, number, e->first, e->gap ? 0 : e->slots);
	mb.b.run = e->run;
	mb.b.sub = (uint16_t)e->sub;
	mb.b.base = play_base(p, e->frame0);
	if (p->noted[e->sub][disk] != (int64_t)e->run + 1) {
		p->m.sub = (uint16_t)e->sub;
		made_run(&p->m, disk, e->run, mb.b.base);
		p->noted[e->sub][disk] = (int64_t)e->run + 1;
	}
	if (!e->gap) {
		mb.present[0] = e->present;
		mb.b.filled = r.present;
		for (unsigned i = 0; i < e->slots; i++)
			play_frame(p, e->frame0 + e->first + i, FORMAT_VALID,
				   block_slot(&mb.b, i));
		made_chunk(&p->m, disk, &mb);
		holes = meta_holes(&mb.b);
		if (holes)
			ck_assert_int_eq(folder_note(p->m.folder[disk], holes),
					 0);
		json_decref(holes);
	}
	made_index(&p->m, disk, &r);
}

void
play_go(struct play *p, unsigned end)
{
	for (unsigned i = p->written; i < end; i++) {
		unsigned with = i + p->event[i].gap;

		if (!p->event[i].lost)
			play_write(p, &p->event[i], i, with % MADE_DISKS);
	}
	p->written = end;
}

void
play_open(struct play *p)
{
	struct fault fault;

	ck_assert_int_eq(
	    recording_open(&p->rec, &p->m.disks, MADE_NAME, &fault), 0);
}

void
play_end(struct play *p)
{
	recording_close(p->rec);
	made_finish(&p->m);
	free(p);
}

static void
play_slots(struct play *p, const struct event *e, uint64_t first,
	   uint64_t slots, bool stored)
{
	for (unsigned i = 0; i < slots; i++) {
		ck_assert_uint_lt(p->slots, PLAY_SLOTS);
		p->slot[p->slots++] = (struct slot){
			.stored = stored,
			.present = stored && e->present >> i & 1,
			.run = e->run,
			.frame = e->frame0 + first + i,
		};
	}
}

/* What stood in numbers that are lost, of one substream; `e` is NULL at the
 * end. */
static void
play_absent(struct play *p, const struct event *before, const struct event *e,
	    unsigned numbers)
{
	struct event none = p->event[0], from = before ? *before : none;
	uint64_t first = before ? before->first + before->slots : 0;
	uint64_t slots = (uint64_t)numbers * MADE_SLOTS;

	if (e && e->run == from.run && e->first >= first)
		slots = e->first - first;
	play_slots(p, &from, first, slots, false);
}

void
play_list(struct play *p, unsigned sub)
{
	const struct event *before = NULL;
	unsigned lost = 0;

	p->slots = 0;
	for (unsigned i = 0; i < p->written; i++) {
		const struct event *e = &p->event[i];

		lost += e->lost;
		if (e->lost || e->sub != sub)
			continue;
		if (p->subs == 1 && lost)
			play_absent(p, before, e, lost);
		else if (before && before->run == e->run)
			play_slots(p, before, before->first + before->slots,
				   e->first - before->first - before->slots,
				   false);
		lost = 0;
		play_slots(p, e, e->first, e->slots, !e->gap);
		before = e;
	}
	if (p->subs == 1 && lost)
		play_absent(p, before, NULL, lost);
	for (unsigned i = 0; i < p->slots; i++) {
		struct slot *s = &p->slot[i];

		for (unsigned k = 0; k < p->written && !s->known; k++)
			s->known = p->event[k].sub == sub &&
				   p->event[k].run == s->run &&
				   !p->event[k].gap && !p->event[k].lost;
	}
	recording_select(p->rec, sub);
	ck_assert_int_eq(
	    recording_read(p->rec, p->base, sizeof p->base, 0, NULL),
	    p->slots * MADE_PAYLOAD);
}

/* Does a view have something of a slot? */
static bool
play_wants(const struct play *p, const struct slot *s,
	   const struct view_choice *c)
{
	int64_t ns = play_time(p, s->frame);

	if (c->fill == VIEW_SKIP && !s->present)
		return false;
	if (c->thread >= 0 && play_thread(p, s->frame) != (uint32_t)c->thread)
		return false;
	if (!c->from_ns && !c->to_ns)
		return true;
	return s->known && ns >= c->from_ns && (!c->to_ns || ns < c->to_ns);
}

uint64_t
play_expect(const struct play *p, const struct view_choice *c, uint8_t *to)
{
	uint64_t bytes = 0, part = MADE_PAYLOAD - c->strip;

	for (unsigned i = 0; i < p->slots; i++) {
		if (!play_wants(p, &p->slot[i], c))
			continue;
		memcpy(to + bytes, p->base + i * MADE_PAYLOAD + c->strip, part);
		if (c->fill == VIEW_ZERO && !p->slot[i].present)
			memset(to + bytes, 0, part);
		bytes += part;
	}
	return bytes;
}

/* ---- views, read as spatefs does ------------------------------------- */

/* Bytes of a block from one place on, as many as the reader has in one piece:
 * at least `least`. */
static uint64_t
piece_get(struct play *p, const struct view_span *s, uint64_t back,
	  uint64_t least, uint64_t most, uint8_t *to)
{
	uint64_t n = most, filled = 0;

	if (least < most)
		n = least + dice_roll(&p->dice, (uint32_t)(most - least + 1));
	ck_assert_uint_ge(s->at, back);
	ck_assert_int_eq(
	    recording_read(p->rec, to, n, s->offset - back, &filled), n);
	ck_assert_uint_eq(filled, 0); /* it is all in chunks */
	return n;
}

/* Some bytes of a span of data. */
static size_t
data_get(struct play *p, struct view *view, const struct view_span *s,
	 uint8_t *to, size_t bytes)
{
	static uint8_t raw[1 << 20];
	uint64_t most = view_want(view, s, bytes), n;
	int64_t good;
	size_t got;

	ck_assert_uint_le(most, sizeof raw);
	n = piece_get(p, s, s->lead, 1, most, raw);
	good = view_check(view, s, raw, n);
	ck_assert_int_ge(good, 0);
	if (good <= s->lead) { /* a header that is in two pieces */
		n = piece_get(p, s, s->lead, most, most, raw);
		good = view_check(view, s, raw, n);
	}
	ck_assert_int_gt(good, s->lead);
	ck_assert_int_le(good, n);
	got =
	    view_gather(s, raw + s->lead, (uint64_t)good - s->lead, to, bytes);
	ck_assert_uint_gt(got, 0);
	return got;
}

ssize_t
play_read(struct play *p, struct view *view, uint8_t *to, size_t bytes,
	  uint64_t offset)
{
	struct view_span s;
	size_t done = 0, n;
	int err;

	while (done < bytes) {
		err = view_find(view, offset + done, &s);
		if (err == -ENODATA)
			break;
		ck_assert_int_eq(err, 0);
		ck_assert_uint_gt(s.bytes, 0);
		ck_assert_uint_le(s.bytes, view_bytes(view) - offset - done);
		if (s.kind == VIEW_LOST)
			return -1;
		n = bytes - done < s.bytes ? bytes - done : s.bytes;
		if (s.kind == VIEW_FILLED)
			ck_assert_int_eq(
			    view_fill_bytes(view, &s, to + done, n), 0);
		else
			n = data_get(p, view, &s, to + done, n);
		done += n;
	}
	return (ssize_t)done;
}

struct play *
play_plain(void)
{
	struct play *p = calloc(1, sizeof *p);

	ck_assert_ptr_nonnull(p);
	p->dice.state = 7;
	p->subs = p->threads = 1;
	p->thread[0] = 3;
	p->fps = 10;
	return p;
}

struct play *
play_make(struct play *p, unsigned events)
{
	play_begin(p);
	play_script(p, events);
	play_go(p, p->events);
	made_end(&p->m, p->events);
	play_open(p);
	play_list(p, 0);
	return p;
}

int
play_view(struct play *p, struct view **view, struct fault *fault,
	  struct view_choice c)
{
	*view = NULL;
	*fault = (struct fault){ 0 };
	return view_make(view, p->rec, &c, fault);
}

void
play_shows(struct play *p, struct view *view, struct view_choice c)
{
	uint8_t *is = malloc(PLAY_BYTES), *want = malloc(PLAY_BYTES);
	uint64_t bytes = play_expect(p, &c, want);

	ck_assert_uint_eq(view_bytes(view), bytes);
	ck_assert_int_eq(play_read(p, view, is, PLAY_BYTES, 0), bytes);
	ck_assert_mem_eq(is, want, bytes);
	free(is);
	free(want);
}

struct play *
play_threads(bool listed, bool timed)
{
	struct play *p = play_plain();

	p->threads = 4;
	for (unsigned i = 0; i < 4; i++)
		p->thread[i] = 9 - i;
	p->listed = listed;
	p->timed = timed;
	return p;
}
