/* SPDX-License-Identifier: MIT */
/*
 * Recordings at random and every kind of view of them, against the list of
 * slots that each was made from.
 */
#include "config.h"

#include "lib/made_view.h"

static struct view *view;
static struct fault fault;
static uint8_t is[PLAY_BYTES], want[PLAY_BYTES];

static struct play *
play_new(uint64_t seed)
{
	static const uint32_t fps[] = { 10, 7, 8000 };
	struct play *p = calloc(1, sizeof *p);
	struct dice *d = &p->dice;

	ck_assert_ptr_nonnull(p);
	d->state = seed;
	p->subs = dice_chance(d, 30) ? PLAY_SUBS : 1;
	p->threads = dice_chance(d, 50) ? 1 : 1 + dice_roll(d, 4);
	for (unsigned i = 0; i < p->threads; i++)
		p->thread[i] = (i * 5 + 3) % 7;
	p->timed = dice_chance(d, 40);
	p->listed = p->timed || dice_chance(d, 50);
	p->fps = p->listed ? fps[dice_roll(d, 3)] : 10;
	p->lossy = dice_chance(d, 30) ? 0 : dice_roll(d, 25);
	p->gappy = dice_chance(d, 50) ? 0 : 15;
	p->anew = dice_chance(d, 50) ? 0 : 10;
	p->gone = dice_chance(d, 50) ? 0 : 25;
	p->early = dice_chance(d, 50) ? 0 : 20;
	p->m.fill = dice_chance(d, 70) ? FILL_INVALID : FILL_ZERO;
	play_begin(p);
	play_script(p, 4 + dice_roll(d, 40));
	return p;
}

/* A packet's time, or about one. */
static int64_t
any_time(struct play *p)
{
	const struct slot *s = &p->slot[dice_roll(&p->dice, p->slots)];
	int64_t ns = play_time(p, s->frame);

	switch (dice_roll(&p->dice, 8)) {
	case 0:
	case 1: return ns + 1000000000 / p->fps / 2;
	case 2: return ns - 3600 * INT64_C(1000000000);
	case 3: return 0;
	case 4: return dice_chance(&p->dice, 50) ? INT64_MAX : 1;
	default: return ns;
	}
}

/* Ranges are right to the packet where the sequence tells time, or there is
 * one thread; threads need times to be in order. */
static struct view_choice
any_choice(struct play *p, unsigned sub)
{
	static const enum view_fill fills[] = { VIEW_STORED, VIEW_STORED,
						VIEW_ZERO, VIEW_SKIP };
	struct dice *d = &p->dice;
	struct view_choice c = { .sub = sub, .thread = -1 };

	c.fill = fills[dice_roll(d, 4)];
	if (dice_chance(d, 10) && p->m.fill == FILL_INVALID)
		c.fill = VIEW_INVALID;
	if (dice_chance(d, 50))
		c.strip = 1 + dice_roll(d, MADE_PAYLOAD - 1);
	if (dice_chance(d, 40) && c.fill != VIEW_SKIP)
		c.thread = (int)p->thread[dice_roll(d, p->threads)];
	if (dice_chance(d, 40) && p->slots && (p->timed || p->threads == 1)) {
		c.from_ns = any_time(p);
		if (dice_chance(d, 70))
			c.to_ns = any_time(p);
	}
	return c;
}

static bool
readable(const struct play *p)
{
	for (unsigned i = 0; i < p->slots; i++) {
		if (!p->slot[i].known)
			return false;
	}
	return true;
}

static void
look(struct play *p, const struct view_choice *c)
{
	uint64_t bytes = play_expect(p, c, want), at;
	int err = view_make(&view, p->rec, c, &fault);

	if (err && c->thread >= 0 && !readable(p))
		return;
	ck_assert_msg(!err, "%s: %s", fault.what, fault.why);
	if (c->thread >= 0 && !readable(p)) {
		view_free(view); /* nobody can tell which slots are its */
		return;
	}
	ck_assert_uint_eq(view_bytes(view), bytes);
	ck_assert_int_eq(play_read(p, view, is, sizeof is, 0), bytes);
	ck_assert_mem_eq(is, want, bytes);
	for (unsigned i = 0; i < 300 && bytes; i++) {
		size_t n = 1 + dice_roll(&p->dice, i % 3 ? 300 : 9000);

		at = i % 2 ? i % bytes : dice_roll(&p->dice, (uint32_t)bytes);
		if (n > bytes - at)
			n = bytes - at;
		ck_assert_int_eq(play_read(p, view, is, n, at), n);
		ck_assert_mem_eq(is, want + at, n);
	}
	ck_assert_int_eq(play_read(p, view, is, 1, bytes), 0);
	view_free(view);
}

START_TEST(any)
{
	const char *one = getenv("VIEW_SEED");
	uint64_t seed = one ? strtoull(one, NULL, 0) : 1;
	uint64_t end = one ? seed + 1 : 31;

	for (; seed < end; seed++) {
		struct play *p = play_new(seed);

		play_go(p, p->events);
		made_end(&p->m, p->events);
		play_open(p);
		for (unsigned sub = 0; sub < p->subs; sub++) {
			play_list(p, sub);
			for (unsigned i = 0; i < 12; i++) {
				struct view_choice c = any_choice(p, sub);

				look(p, &c);
			}
		}
		play_end(p);
	}
}
END_TEST

SUITE("view_storm", any)
