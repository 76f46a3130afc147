/* SPDX-License-Identifier: MIT */
/* A block is 6.4 s of ten packets a second, of which its index tells whole
 * seconds. */
#include "config.h"

#include "flow/place/counts.h"
#include "store/recording/loss.h"
#include "lib/made_read.h"
#include "lib/suite.h"

static struct made m;
static struct recording *rec;

static struct made_block mb;
static struct loss_map map;

static uint64_t
look(void)
{
	uint64_t lost = 0;

	opened(&m, &rec);
	ck_assert_int_eq(loss_find(rec, &map), 0);
	for (unsigned i = 0; i < LOSS_COLUMNS; i++)
		lost += map.column[i].lost;
	return lost;
}

static void
add(unsigned disk, uint64_t number, uint64_t first, const uint32_t *lose)
{
	made_block(&m, &mb, number, first, MADE_SLOTS);
	for (; lose && *lose; lose++)
		made_lose(&mb, *lose % MADE_SLOTS);
	made_write(&m, disk, &mb);
}

static void
add_gap(unsigned disk, uint64_t number, uint64_t first, uint32_t slots)
{
	struct index_record r = { .number = number,
				  .first = first,
				  .missing = slots,
				  .kind = INDEX_GAP };

	made_index(&m, disk, &r);
}

START_TEST(nothing)
{
	uint64_t packets = 0;

	made_begin(&m);
	made_end(&m, 1);
	ck_assert_uint_eq(look(), 0);
	ck_assert_int_eq(map.to_ns, 0);
	done(&m, rec);
	made_begin(&m);
	made_blocks(&m, 10);
	made_end(&m, 10);
	ck_assert_uint_eq(look(), 0);
	ck_assert_uint_eq(map.worsts, 0);
	for (unsigned i = 0; i < LOSS_COLUMNS; i++)
		packets += map.column[i].packets;
	ck_assert_uint_eq(packets, 10 * MADE_SLOTS);
	done(&m, rec);
}
END_TEST

/* 64 is slot 0.  A hole at the end of a block, a gap, and a hole at the
 * beginning of the next are one loss. */
START_TEST(stretches)
{
	const uint32_t last[] = { 62, 63, 0 }, first[] = { 64, 1, 2, 20, 0 };
	unsigned column;

	made_begin(&m);
	add(0, 0, 0, NULL);
	add(1, 1, 64, last);
	add_gap(2, 2, 128, 100);
	add(2, 3, 228, first);
	add(0, 4, 292, NULL);
	made_end(&m, 5);
	ck_assert_uint_eq(look(), 2 + 100 + 3 + 1);
	ck_assert_uint_eq(recording_facts(rec)->missing, 106);
	ck_assert_uint_eq(map.worsts, 2);
	ck_assert_uint_eq(map.worst[0].lost, 105);
	ck_assert_uint_eq(map.worst[1].lost, 1);
	/* From the end of the second block, 12.8 s, to 22.8 s and more. */
	ck_assert_int_ge(map.worst[0].from_ns / 1000000 - MADE_SECOND * 1000,
			 11000);
	ck_assert_int_le(map.worst[0].to_ns / 1000000 - MADE_SECOND * 1000,
			 24000);
	ck_assert_int_ge(map.worst[0].to_ns - map.worst[0].from_ns,
			 INT64_C(9000000000));
	for (unsigned i = 0; i < LOSS_COLUMNS / 5; i++)
		ck_assert_uint_eq(map.column[i].lost, 0);
	column = (unsigned)(17.0 / 35 * LOSS_COLUMNS);
	ck_assert_uint_gt(map.column[column].lost, 0);
	ck_assert_uint_eq(map.column[column].packets, 0);
	ck_assert_uint_eq(map.column[LOSS_COLUMNS - 1].lost, 0);
	done(&m, rec);
}
END_TEST

/* What is missing at the very ends was never lost. */
START_TEST(edges)
{
	const uint32_t first[] = { 64, 1, 9, 0 }, last[] = { 5, 62, 63, 0 };

	made_begin(&m);
	add(0, 0, 0, first);
	add(1, 1, 64, NULL);
	add(2, 2, 128, last);
	made_end(&m, 3);
	ck_assert_uint_eq(look(), 2);
	ck_assert_uint_eq(recording_facts(rec)->missing, 2);
	ck_assert_uint_eq(map.worsts, 2);
	done(&m, rec);
}
END_TEST

START_TEST(absent)
{
	uint64_t n = 0;

	made_begin(&m);
	made_blocks(&m, 8);
	made_end(&m, 8);
	made_hide(&m, 1);
	ck_assert_uint_eq(look(), 0);
	for (unsigned i = 0; i < LOSS_COLUMNS; i++)
		n += map.column[i].absent;
	/* Of 1, 4 and 7 the last is behind all data. */
	ck_assert_uint_eq(n, 2 * MADE_SLOTS);
	ck_assert_uint_eq(map.worsts, 2);
	ck_assert(map.worst[0].absent);
	done(&m, rec);
}
END_TEST

/* More blocks with holes than are read: all are counted, the worst found. */
START_TEST(many)
{
	const uint32_t one[] = { 7, 0 }, two[] = { 30, 31, 0 };

	made_begin(&m);
	for (unsigned i = 0; i < 600; i++)
		add(i % 3, i, i * MADE_SLOTS, i == 570 ? two : one);
	made_end(&m, 600);
	ck_assert_uint_eq(look(), 601);
	ck_assert_uint_eq(map.worsts, LOSS_WORST);
	ck_assert_uint_eq(map.worst[0].lost, 2);
	done(&m, rec);
}
END_TEST

START_TEST(told)
{
	const uint32_t two[] = { 30, 31, 0 };
	json_t *info = json_object(), *list;

	made_begin(&m);
	add(0, 0, 0, two);
	made_end(&m, 1);
	look();
	ck_assert_int_eq(loss_add_json(rec, info), 0);
	list = json_object_get(info, "loss_map");
	ck_assert_uint_eq(json_array_size(list), LOSS_COLUMNS);
	list = json_array_get(json_object_get(info, "loss_worst"), 0);
	ck_assert_int_eq(
	    json_integer_value(json_object_get(list, "packets_lost")), 2);
	json_decref(info);
	done(&m, rec);
}
END_TEST

/* A second of VDIF whose frames per second nobody knows: they have one time. */
START_TEST(one_time)
{
	const uint32_t two[] = { 3, 4, 0 };
	json_t *info = json_object(), *list;

	made_begin(&m);
	made_block(&m, &mb, 0, 0, MADE_FPS);
	for (const uint32_t *lose = two; *lose; lose++)
		made_lose(&mb, *lose);
	made_write(&m, 0, &mb);
	made_end(&m, 1);
	ck_assert_uint_eq(look(), 2);
	ck_assert_int_eq(loss_add_json(rec, info), 0);
	list = json_object_get(info, "loss_map");
	ck_assert_uint_eq(json_array_size(list), 1);
	list = json_array_get(list, 0);
	ck_assert_int_eq(
	    json_integer_value(json_object_get(list, "packets_lost")), 2);
	ck_assert_int_eq(json_integer_value(json_object_get(list, "packets")),
			 MADE_FPS - 2);
	json_decref(info);
	done(&m, rec);
}
END_TEST

/* The end line says more than the index: what was lost behind the last block,
 * and in one that no disk took.  What was found since is not lost. */
START_TEST(ends)
{
	static const struct {
		int packets, lost; /* as the end line says */
		uint64_t is, shown;
	} cases[] = {
		{ 2 * MADE_SLOTS - 2, 2, 2, 2 },
		{ 2 * MADE_SLOTS - 2, 100, 100, 100 },
		{ MADE_SLOTS - 2, MADE_SLOTS + 2, 2, 2 }, /* a block is back */
		{ 2 * MADE_SLOTS - 2, 0, 2, 2 }, /* the index knows better */
	};
	const uint32_t two[] = { 30, 31, 0 };

	for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
		made_begin(&m);
		add(0, 0, 0, two);
		add(1, 1, MADE_SLOTS, NULL);
		made_end_as(&m, 2,
			    json_pack("{s:{s:s, s:i, s:i}}", "end", "reason",
				      "time", "packets", cases[i].packets,
				      "packets_lost", cases[i].lost));
		ck_assert_uint_eq(look(), cases[i].shown);
		ck_assert_uint_eq(recording_facts(rec)->missing, cases[i].is);
		ck_assert_uint_eq(recording_facts(rec)->sub[0].missing,
				  cases[i].is);
		ck_assert_uint_eq(recording_facts(rec)->run[0].missing,
				  cases[i].is);
		done(&m, rec);
	}
}
END_TEST

/* A disk is away: its packets are absent, and not lost. */
START_TEST(ends_without_a_disk)
{
	made_begin(&m);
	for (unsigned i = 0; i < 3; i++)
		add(i, i, i * MADE_SLOTS, NULL);
	made_end_as(&m, 3,
		    json_pack("{s:{s:s, s:i, s:i}}", "end", "reason", "time",
			      "packets", 3 * MADE_SLOTS, "packets_lost", 7));
	made_hide(&m, 1);
	ck_assert_uint_eq(look(), 7);
	ck_assert_uint_eq(recording_facts(rec)->missing, 7);
	ck_assert_uint_eq(recording_facts(rec)->absent, 1);
	done(&m, rec);
}
END_TEST

static uint64_t
missed(const char *drops, uint64_t lost)
{
	json_t *json = json_loads(drops, 0, NULL);
	uint64_t n = loss_missed(json, lost);

	json_decref(json);
	return n;
}

START_TEST(drops)
{
	ck_assert_uint_eq(loss_missed(NULL, 7), 7);
	ck_assert_uint_eq(missed("{}", 7), 7);
	/* They are lost, or would be if their run was known. */
	ck_assert_uint_eq(missed("{\"late\":2,\"no_buffer\":3}", 7), 7);
	ck_assert_uint_eq(missed("{\"late\":2,\"no_buffer\":9}", 7), 11);
	ck_assert_uint_eq(missed("{\"unwritten\":9}", 0), 9);
	ck_assert_uint_eq(missed("{\"untimed\":4}", 7), 7);
	ck_assert_uint_eq(missed("{\"untimed\":4}", 0), 4);
	ck_assert_uint_eq(missed("{\"wrong_size\":5,\"late\":3}", 7), 12);
	ck_assert_uint_eq(missed("{\"before_start\":5,\"duplicate\":3}", 1), 1);
	ck_assert_uint_eq(missed("{\"a_new_one\":5}", 1), 6);
	ck_assert_uint_eq(missed("{\"late\":-5}", 1), 1);
}
END_TEST

/* The names are those that there are. */
START_TEST(drops_are_known)
{
	static const char *const all[] = {
#define X(name, word, help) word,
		DROPS(X)
#undef X
	};
	unsigned wanted = 0, numbered = 0;

	for (unsigned i = 0; i < DROP_KINDS; i++) {
		json_t *one = json_pack("{s:i}", all[i], 1);

		wanted += loss_is_wanted(all[i]);
		numbered += loss_missed(one, 0) && loss_missed(one, 1) == 1;
		json_decref(one);
	}
	ck_assert_uint_eq(DROP_KINDS - wanted, 5);
	ck_assert_uint_eq(numbered, 4);
}
END_TEST

/* Of an index that says anything: what is told is nonsense, and no more.  It
 * is the sanitizer's to see. */
START_TEST(absurd_times)
{
	json_t *info = json_object();
	struct index_record r;

	made_begin(&m);
	for (unsigned i = 0; i < 3; i++) {
		made_block(&m, &mb, i, i * MADE_SLOTS, MADE_SLOTS);
		made_lose(&mb, 30);
		made_chunk(&m, i, &mb);
		r = made_record(&mb.b);
		r.first_ns = i ? INT64_MIN : INT64_MAX;
		r.last_ns = i == 1 ? INT64_MAX : r.last_ns;
		made_index(&m, i, &r);
	}
	made_end(&m, 3);
	look();
	ck_assert_int_eq(loss_add_json(rec, info), 0);
	json_decref(info);
	done(&m, rec);
}
END_TEST

SUITE("loss", nothing, stretches, edges, absent, many, told, one_time, ends,
      ends_without_a_disk, drops, drops_are_known, absurd_times)
