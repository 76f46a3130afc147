/* SPDX-License-Identifier: MIT */
/*
 * A recording that grows, by what its daemon says and what is in its memory;
 * the daemon is a thread here, and does as it is told.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>

#include "base/clock.h"
#include "fuse/live/live.h"
#include "store/recording/recording.h"
#include "lib/fake_spated.h"
#include "lib/made_read.h"
#include "lib/suite.h"

static struct made m;
static struct recording *rec;

#define MS INT64_C(1000000)
/* ns: as long as an answer is waited for */
#define WAITS (5000 * MS)

static struct fake_spated spated;
static struct live *live;
static struct open_recordings_hooks hooks;
static const struct recording_facts *f;
static struct made_block mb;
static atomic_bool over;

/* What is in memory, and where. */
static struct shm_entry *
show(uint64_t number)
{
	struct index_record r;

	made_block(&m, &mb, number, number * MADE_SLOTS, MADE_SLOTS);
	r = made_record(&mb.b);
	return fake_show(&spated, &r, mb.data, number * MADE_BLOCK, 0);
}

static void
write_block(uint64_t number)
{
	made_block(&m, &mb, number, number * MADE_SLOTS, MADE_SLOTS);
	made_write(&m, number % MADE_DISKS, &mb);
}

/* All disks of the daemon that there were then are known. */
static int64_t disks_ns = INT64_MAX;

/* As open_recordings do it. */
static void
look(void)
{
	ck_assert_int_eq(hooks.look(hooks.arg, rec, disks_ns), 0);
	ck_assert_int_eq(recording_refresh(rec), 0);
}

static struct live_facts
facts(void)
{
	struct live_facts facts;

	live_facts(live, &facts);
	return facts;
}

static bool
copies(uint64_t number)
{
	static uint8_t is[MADE_BLOCK];

	made_block(&m, &mb, number, number * MADE_SLOTS, MADE_SLOTS);
	if (!hooks.copy(hooks.arg, MADE_NAME, number, 100, 1000, is))
		return false;
	ck_assert_mem_eq(is, mb.data + 100, 1000);
	return true;
}

static const char *
socket_path(void)
{
	return scratch_path(&m.scratch, "socket");
}

/* Two blocks on disks, and a daemon. */
static void
begin_alone(void)
{
	disks_ns = INT64_MAX;
	made_begin(&m);
	made_blocks(&m, 2);
	f = opened(&m, &rec);
	ck_assert_int_eq(live_open(&live, socket_path()), 0);
	hooks = live_hooks(live);
}

static void
begin(enum fake_manner manner)
{
	begin_alone();
	fake_begin(&spated, socket_path(), manner);
}

static void
finish(bool served)
{
	live_close(live);
	if (served)
		fake_end(&spated);
	spated = (struct fake_spated){ 0 };
	done(&m, rec);
}

/* Looks until it is so; it is a bug if that is never so. */
#define LOOK_UNTIL(what)                                                       \
	for (unsigned tries = 0; !(what); tries++) {                           \
		ck_assert_uint_lt(tries, 3000);                                \
		look();                                                        \
		usleep(5000);                                                  \
	}

/* ---- memory ------------------------------------------------------------------ */

START_TEST(sees_memory)
{
	struct shm_entry *e;

	begin(FAKE_ANSWERS);
	show(2);
	e = show(3);
	show(5);
	look();
	ck_assert_uint_eq(f->bytes, 4 * MADE_BLOCK);
	ck_assert(facts().connected && facts().shares);
	ck_assert(copies(2) && copies(3) && copies(5));
	ck_assert(!copies(1));
	/* It goes home, and is in no index yet: it stays. */
	fake_hide(e);
	ck_assert(!copies(3));
	ck_assert(recording_is_awaited(rec, 3));
	look();
	ck_assert_uint_eq(f->bytes, 4 * MADE_BLOCK);
	write_block(2);
	write_block(3);
	write_block(4);
	look();
	ck_assert_uint_eq(f->bytes, 6 * MADE_BLOCK);
	ck_assert(!recording_is_awaited(rec, 3));
	slots_are(&m, rec, 0, 5 * MADE_SLOTS, 0, true);
	ck_assert_uint_eq(facts().copied, 3000);
	finish(true);
}
END_TEST

/* A gap has no entry of its own. */
START_TEST(sees_gaps)
{
	struct index_record r;

	begin(FAKE_ANSWERS);
	made_block(&m, &mb, 3, 4 * MADE_SLOTS, MADE_SLOTS);
	r = made_record(&mb.b);
	fake_show(&spated, &r, mb.data, 0, 2 * MADE_SLOTS);
	look();
	ck_assert_uint_eq(f->bytes, 5 * MADE_BLOCK);
	ck_assert_uint_eq(f->gaps, 1);
	slots_are(&m, rec, 2 * MADE_SLOTS, 4 * MADE_SLOTS, 2 * MADE_SLOTS,
		  false);
	ck_assert(!copies(2));
	finish(true);
}
END_TEST

/* Of another recording there may be the same numbers. */
START_TEST(of_others)
{
	begin(FAKE_ANSWERS);
	spated.id = FAKE_ID + 1;
	show(2);
	spated.id = FAKE_ID;
	look();
	ck_assert_uint_eq(f->bytes, 2 * MADE_BLOCK);
	ck_assert(!copies(2));
	finish(true);
}
END_TEST

/* Many of them, so that they are remembered in more than one go. */
START_TEST(many)
{
	begin(FAKE_ANSWERS);
	for (uint64_t i = 2; i < 66; i++)
		show(i);
	look();
	ck_assert_uint_eq(f->bytes, 66 * MADE_BLOCK);
	for (uint64_t i = 2; i < 66; i++)
		ck_assert(copies(i));
	finish(true);
}
END_TEST

START_TEST(rubbish)
{
	struct shm_entry *e;

	begin(FAKE_ANSWERS);
	e = show(2);
	e->at = FAKE_ARENA - 5;
	e = show(3);
	e->record[20] ^= 1;
	look();
	ck_assert_uint_eq(f->bytes, 2 * MADE_BLOCK);
	ck_assert(!copies(2) && !copies(3));
	ck_assert(!hooks.copy(hooks.arg, MADE_NAME, 2, UINT64_MAX, 2, &mb));
	ck_assert(!hooks.copy(hooks.arg, "other", 2, 0, 1, &mb));
	finish(true);
}
END_TEST

/* ---- the floor ------------------------------------------------------------------ */

START_TEST(floor_moves)
{
	begin(FAKE_IS_ALONE);
	write_block(3);
	look();
	ck_assert_uint_eq(f->bytes, 2 * MADE_BLOCK);
	ck_assert(facts().connected && !facts().shares);
	/* Number 2 was lost. */
	spated.floor = 4;
	LOOK_UNTIL(f->bytes == 4 * MADE_BLOCK);
	ck_assert_uint_eq(f->absent, 1);
	slots_are(&m, rec, 2 * MADE_SLOTS, 3 * MADE_SLOTS, 2 * MADE_SLOTS,
		  false);
	finish(true);
}
END_TEST

/* What may be on a disk that was added is not lost before that is known, be the
 * daemon asked again and again meanwhile. */
START_TEST(floor_waits)
{
	begin(FAKE_ANSWERS);
	write_block(3);
	spated.floor = 4;
	disks_ns = 1;
	look();
	look();
	ck_assert_uint_eq(f->bytes, 2 * MADE_BLOCK);
	disks_ns = clock_steady();
	LOOK_UNTIL(!copies(40) && spated.asked == 2);
	write_block(5);
	spated.floor = 6;
	LOOK_UNTIL(!copies(40) && spated.asked == 3);
	look();
	ck_assert_uint_eq(f->bytes, 4 * MADE_BLOCK);
	disks_ns = INT64_MAX;
	LOOK_UNTIL(f->bytes > 4 * MADE_BLOCK);
	ck_assert_uint_eq(f->bytes, 6 * MADE_BLOCK);
	finish(true);
}
END_TEST

/* Makes blocks 2 and 3 durable when it is asked for the second time. */
static void *
sync_later(void *arg)
{
	while (spated.asked < 2 && !over)
		usleep(1000);
	write_block(2);
	write_block(3);
	spated.floor = 4;
	return arg;
}

static bool
first_look_has_all(void)
{
	pthread_t thread;
	bool all;

	begin(FAKE_ANSWERS);
	spated.end = 4;
	over = false;
	ck_assert_int_eq(pthread_create(&thread, NULL, sync_later, NULL), 0);
	look();
	all = f->bytes == 4 * MADE_BLOCK;
	over = true;
	pthread_join(thread, NULL);
	finish(true);
	return all;
}

/* What was recorded before somebody looked, and was not durable yet, is there
 * at the first look; on a machine that is too busy at a later one. */
START_TEST(first_look)
{
	unsigned tries = 0;

	while (!first_look_has_all())
		ck_assert_uint_lt(++tries, 10);
}
END_TEST

/* A disk that never ends holds up no reader for long, and not twice. */
START_TEST(never_durable)
{
	unsigned asked;

	begin(FAKE_ANSWERS);
	spated.end = 4;
	look();
	ck_assert_uint_eq(f->bytes, 2 * MADE_BLOCK);
	usleep(50000);
	asked = spated.asked;
	usleep(200000);
	look();
	ck_assert_uint_eq(spated.asked, asked);
	show(2);
	look();
	ck_assert_uint_eq(f->bytes, 3 * MADE_BLOCK);
	finish(true);
}
END_TEST

/* Whoever wants what is neither in memory nor in an index does not wait for
 * the daemon to be asked some time. */
START_TEST(missed)
{
	struct shm_entry *e;
	unsigned asked;

	begin(FAKE_ANSWERS);
	e = show(2);
	look();
	fake_hide(e);
	usleep(1100000);
	asked = spated.asked;
	ck_assert(!copies(2));
	for (unsigned i = 0; spated.asked == asked; i++) {
		ck_assert_uint_lt(i, 200);
		usleep(5000);
	}
	ck_assert(!copies(2));
	usleep(50000);
	ck_assert_uint_eq(spated.asked, asked + 1);
	finish(true);
}
END_TEST

/* ---- the daemon is not as it should be ------------------------------------------- */

START_TEST(comes_later)
{
	int64_t begun = clock_steady();

	begin_alone();
	look();
	look();
	ck_assert_int_lt(clock_steady() - begun, WAITS);
	ck_assert_uint_eq(f->bytes, 2 * MADE_BLOCK);
	ck_assert(!copies(2));
	write_block(2);
	look();
	ck_assert_uint_eq(f->bytes, 3 * MADE_BLOCK);
	fake_begin(&spated, socket_path(), FAKE_ANSWERS);
	show(3);
	LOOK_UNTIL(f->bytes == 4 * MADE_BLOCK);
	ck_assert(copies(3));
	finish(true);
}
END_TEST

/* It is killed, and another one goes on, which gives it another ID. */
START_TEST(killed)
{
	begin(FAKE_ANSWERS);
	show(2);
	look();
	ck_assert(copies(2));
	fake_end(&spated);
	LOOK_UNTIL(!facts().shares);
	ck_assert(!copies(2));
	ck_assert_uint_eq(f->bytes, 3 * MADE_BLOCK);
	spated.id = 5;
	fake_begin(&spated, socket_path(), FAKE_ANSWERS);
	show(3);
	LOOK_UNTIL(f->bytes == 4 * MADE_BLOCK);
	ck_assert(copies(3) && !copies(2));
	finish(true);
}
END_TEST

/* It hangs up, and is there again. */
START_TEST(hangs_up)
{
	begin(FAKE_ANSWERS);
	show(2);
	look();
	spated.hang_up = true;
	LOOK_UNTIL(!facts().connected);
	LOOK_UNTIL(facts().shares);
	ck_assert(copies(2));
	ck_assert_uint_eq(spated.connections, 2);
	finish(true);
}
END_TEST

static void
is_of_no_use(enum fake_manner manner, bool connected)
{
	int64_t begun = clock_steady();

	begin(manner);
	show(2);
	look();
	ck_assert_uint_eq(f->bytes, 2 * MADE_BLOCK);
	write_block(2);
	look();
	ck_assert_uint_eq(f->bytes, 3 * MADE_BLOCK);
	ck_assert(!copies(2));
	ck_assert_int_eq(facts().connected, connected);
	for (unsigned i = 0; i < 50; i++)
		look();
	ck_assert_uint_le(spated.asked, 1);
	/* To wait 0.3 s for each look would take longer. */
	ck_assert_int_lt(clock_steady() - begun, 15000 * MS);
	begun = clock_steady();
	finish(true);
	ck_assert_int_lt(clock_steady() - begun, WAITS);
}

START_TEST(knows_not)
{
	is_of_no_use(FAKE_KNOWS_NOT, true);
}
END_TEST

START_TEST(old)
{
	is_of_no_use(FAKE_IS_OLD, false);
}
END_TEST

START_TEST(mute)
{
	is_of_no_use(FAKE_IS_MUTE, false);
}
END_TEST

START_TEST(another_protocol)
{
	is_of_no_use(FAKE_SPEAKS, false);
}
END_TEST

START_TEST(unsealed)
{
	is_of_no_use(FAKE_IS_LAX, true);
}
END_TEST

/* ---- many readers ------------------------------------------------------------------ */

static void *
read_on(void *arg)
{
	uint8_t want[64], is[64];
	unsigned *got = arg;

	while (!over) {
		for (uint64_t i = 2; i < 10; i++) {
			made_frame(&m, i * MADE_SLOTS, want);
			if (!hooks.copy(hooks.arg, MADE_NAME, i, 0, sizeof is,
					is))
				continue;
			if (memcmp(want, is, sizeof is) != 0)
				return NULL;
			++*got;
		}
	}
	return arg;
}

/* While connections come and go. */
START_TEST(at_once)
{
	pthread_t reader[4];
	unsigned got[4] = { 0 };
	void *good;

	begin(FAKE_ANSWERS);
	for (uint64_t i = 2; i < 10; i++)
		show(i);
	look();
	over = false;
	for (unsigned i = 0; i < 4; i++)
		ck_assert_int_eq(
		    pthread_create(&reader[i], NULL, read_on, &got[i]), 0);
	for (unsigned i = 0; i < 2; i++) {
		usleep(30000);
		spated.hang_up = true;
		LOOK_UNTIL(!facts().connected);
		LOOK_UNTIL(facts().shares);
	}
	usleep(30000);
	over = true;
	for (unsigned i = 0; i < 4; i++) {
		pthread_join(reader[i], &good);
		ck_assert_ptr_nonnull(good);
		ck_assert_uint_gt(got[i], 0);
	}
	ck_assert_uint_eq(f->bytes, 10 * MADE_BLOCK);
	finish(true);
}
END_TEST

/* What nobody looks at keeps no connection; and what has ended is not asked
 * for. */
START_TEST(ended)
{
	begin_alone();
	made_end(&m, 2);
	ck_assert_int_eq(recording_refresh(rec), 0);
	look();
	ck_assert_int_eq(f->state, RECORDING_COMPLETE);
	ck_assert_uint_eq(facts().recordings, 0);
	finish(false);
}
END_TEST

SUITE_THREADS("fuse_live", NULL, sees_memory, sees_gaps, of_others, many,
	      rubbish, floor_moves, floor_waits, first_look, never_durable,
	      missed, comes_later, killed, hangs_up, knows_not, old, mute,
	      another_protocol, unsealed, at_once, ended)
