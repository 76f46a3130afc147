/* SPDX-License-Identifier: MIT */
#include "daemon/health/health.h"

#include "contract/log.h"
#include "lib/suite.h"

static struct health h;
static struct health_counts c;

/* Looks every second, with as much more each time, for so many seconds.
 * Returns the links that changed. */
static unsigned
go(const struct health_counts *more, int seconds)
{
	static int64_t now;
	unsigned changed = 0;

	if (!h.last.datagrams)
		health_begin(&h, now, 5 * NS_SECOND);
	for (int i = 0; i < seconds; i++) {
		now += NS_SECOND;
		c.datagrams += more->datagrams;
		c.placed += more->placed;
		c.written += more->written;
		c.lost += more->lost;
		c.waiting += more->waiting;
		c.bytes += more->bytes;
		c.durable += more->durable;
		changed |= health_look(&h, &c, now);
	}
	return changed;
}

#define MORE(...) (&(struct health_counts){ __VA_ARGS__ })
#define FLOWS                                                                  \
	MORE(.datagrams = 9, .placed = 9, .written = 1, .bytes = 9,            \
	     .durable = 9)

START_TEST(is_well_while_all_grows)
{
	ck_assert_uint_eq(go(FLOWS, 600), 0);
	ck_assert(health_is_well(&h));
	/* A block fills slowly, and nothing waits. */
	ck_assert_uint_eq(go(MORE(.datagrams = 1, .placed = 1), 600), 0);
}
END_TEST

/* Silence breaks one link, within five seconds, and the first packet mends
 * it. */
START_TEST(silence_is_one_link)
{
	go(FLOWS, 10);
	ck_assert_uint_eq(go(MORE(0), 3), 0);
	ck_assert_uint_eq(go(MORE(0), 2), 1 << HEALTH_ARRIVE);
	ck_assert_uint_eq(go(MORE(0), 60), 0);
	ck_assert(!health_is_well(&h));
	ck_assert_uint_eq(go(FLOWS, 1), 1 << HEALTH_ARRIVE);
	ck_assert(health_is_well(&h));
}
END_TEST

/* Who looks is told before there is an alarm, and of the link that is meant. */
START_TEST(is_doubtful_first)
{
	static const int64_t at[] = { 11, 13, 15 };

	for (unsigned i = 0; i < 3; i++) {
		h = (struct health){ .sync = 5 * NS_SECOND };
		for (unsigned k = 0; k < HEALTH_LINKS; k++)
			h.link[k].since = 10 * NS_SECOND;
		h.link[HEALTH_PLACE].broken = true;
		ck_assert(health_doubts(&h, HEALTH_ARRIVE, at[i] * NS_SECOND) ==
			  (i > 0));
		ck_assert(!health_doubts(&h, HEALTH_PLACE, at[i] * NS_SECOND));
		ck_assert(
		    !health_doubts(&h, HEALTH_DURABLE, at[i] * NS_SECOND));
	}
	ck_assert(health_doubts(&h, HEALTH_DURABLE, 17 * NS_SECOND));
}
END_TEST

START_TEST(never_a_packet)
{
	ck_assert_uint_eq(go(MORE(0), 0), 0);
	health_begin(&h, 0, 0);
	ck_assert_uint_eq(health_look(&h, &c, 3 * NS_SECOND), 0);
	ck_assert_uint_eq(health_look(&h, &c, 4 * NS_SECOND),
			  1 << HEALTH_ARRIVE);
	ck_assert_int_eq(h.link[HEALTH_ARRIVE].since, 0);
}
END_TEST

START_TEST(packets_that_are_not_stored)
{
	go(FLOWS, 10);
	ck_assert_uint_eq(go(MORE(.datagrams = 9), 5), 1 << HEALTH_PLACE);
	/* Silence mends it not. */
	ck_assert_uint_eq(go(MORE(0), 5), 1 << HEALTH_ARRIVE);
	ck_assert(h.link[HEALTH_PLACE].broken);
	ck_assert_uint_eq(go(FLOWS, 1), 1 << HEALTH_ARRIVE | 1 << HEALTH_PLACE);
}
END_TEST

START_TEST(disks_that_take_nothing)
{
	go(FLOWS, 10);
	ck_assert_uint_eq(
	    go(MORE(.datagrams = 9, .placed = 9, .waiting = 1), 5),
	    1 << HEALTH_WRITE);
	/* Memory is full, what was written last is not synced. */
	c.bytes++;
	ck_assert_uint_eq(go(MORE(.datagrams = 9), 60), 0);
	c.waiting = 0;
	c.durable = c.bytes;
	ck_assert_uint_eq(go(FLOWS, 1), 1 << HEALTH_WRITE);
	/* All blocks are lost at once, so none waits. */
	ck_assert_uint_eq(go(MORE(.datagrams = 9, .placed = 9, .lost = 9), 5),
			  1 << HEALTH_WRITE);
}
END_TEST

/* Syncs come every five seconds. */
START_TEST(disks_that_do_not_sync)
{
	const struct health_counts *more =
	    MORE(.datagrams = 9, .placed = 9, .written = 1, .bytes = 9);

	go(FLOWS, 10);
	ck_assert_uint_eq(go(more, 8), 0);
	ck_assert_uint_eq(go(more, 2), 1 << HEALTH_DURABLE);
	ck_assert_str_eq(health_name(HEALTH_DURABLE), "durable");
	c.durable = c.bytes;
	ck_assert_uint_eq(go(FLOWS, 1), 1 << HEALTH_DURABLE);
	ck_assert(health_is_well(&h));
}
END_TEST

/* A disk hangs with a block just before a sync was due: that is no fault of the
 * sync, which came last, nor of memory that is full at once. */
START_TEST(a_disk_that_hangs_before_its_sync)
{
	const struct health_counts *hangs = MORE(.datagrams = 9, .waiting = 1);

	go(FLOWS, 10);
	go(MORE(.datagrams = 9, .placed = 9, .written = 1, .bytes = 9), 6);
	ck_assert_uint_eq(go(hangs, 5), 1 << HEALTH_WRITE);
	ck_assert_uint_eq(go(hangs, 60), 0);
	c.waiting = 0;
	ck_assert_uint_eq(
	    go(MORE(.datagrams = 9, .placed = 9, .written = 9, .bytes = 9), 1),
	    1 << HEALTH_WRITE);
	ck_assert(health_is_well(&h));
}
END_TEST

/* A hang that is too short for an alarm is not held against the sync. */
START_TEST(a_short_hang)
{
	const struct health_counts *writes =
	    MORE(.datagrams = 9, .placed = 9, .written = 1, .bytes = 9);
	int64_t since;

	go(FLOWS, 10);
	since = h.link[HEALTH_DURABLE].since;
	ck_assert_uint_eq(go(writes, 7), 0);
	ck_assert_uint_eq(
	    go(MORE(.datagrams = 9, .placed = 9, .waiting = 1), 3), 0);
	c.waiting = 0;
	ck_assert_uint_eq(go(writes, 1), 0);
	ck_assert_int_eq(h.link[HEALTH_DURABLE].since, since);
	ck_assert(health_doubts(&h, HEALTH_DURABLE, h.at));
	ck_assert_uint_eq(go(writes, 1), 1 << HEALTH_DURABLE);
}
END_TEST

SUITE("health", is_well_while_all_grows, silence_is_one_link, is_doubtful_first,
      never_a_packet, packets_that_are_not_stored, disks_that_take_nothing,
      disks_that_do_not_sync, a_disk_that_hangs_before_its_sync, a_short_hang)
