/* SPDX-License-Identifier: MIT */
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
