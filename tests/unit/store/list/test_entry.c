/* SPDX-License-Identifier: MIT */
/* What is told of one recording, and with how much reading. */
#include "config.h"

#include <errno.h>

#include "store/list/entry.h"
#include "store/recording/recording.h"
#include "lib/made_list.h"
#include "lib/made_parity.h"
#include "lib/suite.h"

static struct made m;
static struct entry e;
static struct entry_work work;

static int
look(const char *name)
{
	work = (struct entry_work){ 0 };
	return entry_read(&e, &m.disks, name, false, &work);
}

START_TEST(complete)
{
	made_bare(&m);
	made_other(&m, "a", 5, 3, MADE_ENDED);
	ck_assert_int_eq(look("a"), 0);
	ck_assert_int_eq(e.state, ENTRY_COMPLETE);
	ck_assert(e.counted && !e.protected);
	ck_assert_str_eq(e.stream, "test");
	ck_assert_str_eq(e.format, "vdif");
	ck_assert_uint_eq(e.bytes, 6 * 4096);
	ck_assert_uint_eq(e.packets, 360);
	ck_assert_uint_eq(e.missing, 24);
	ck_assert_int_eq(e.start_ns, MADE_SECOND * 1000000000 + 5);
	ck_assert_int_eq(e.end_ns, MADE_SECOND * 1000000000 + 7000000000);
	ck_assert(entry_has(&e, 0) && !entry_has(&e, 1) && entry_has(&e, 2));
	ck_assert_str_eq(e.extension, "vdif");
	ck_assert_uint_eq(e.payload, MADE_PAYLOAD);
	ck_assert_int_eq(e.store, HEAP_NONE);
	ck_assert_int_eq(e.begun_ns, MADE_SECOND * 1000000000);
	ck_assert(!e.foreign && e.stamp && e.first && e.stamp != e.first);
	ck_assert_uint_eq(entry_stamp(&m.disks, "a"), e.stamp);
	ck_assert_uint_eq(work.entries, 1);
	ck_assert_uint_eq(work.whole, 0);
	made_finish(&m);
}
END_TEST

/* Of hundreds of substreams the last line is long. */
START_TEST(long_tail)
{
	struct index_record end = { .kind = INDEX_END };
	json_t *tail = made_tail(0, 432);
	struct folder *f;

	made_bare(&m);
	ck_assert_int_eq(folder_create(&f, &m.disks.disk[0], "a", m.head), 0);
	ck_assert_int_eq(folder_close(f, &end, tail), 0);
	json_decref(tail);
	ck_assert_int_eq(look("a"), 0);
	ck_assert_uint_eq(e.subs, 432);
	ck_assert_uint_eq(work.whole, 0);
	made_finish(&m);
}
END_TEST

START_TEST(disk_gone)
{
	made_bare(&m);
	made_other(&m, "a", 7, 2, MADE_ENDED);
	made_hide(&m, 2);
	ck_assert_int_eq(look("a"), 0);
	ck_assert_int_eq(e.state, ENTRY_COMPLETE);
	ck_assert_uint_eq(work.whole, 1);
	ck_assert_uint_eq(e.absent, 2);
	ck_assert_uint_eq(e.packets, 240);
	ck_assert(!entry_has(&e, 2));
	made_hide(&m, 1);
	made_hide(&m, 0);
	ck_assert_int_eq(look("a"), -ENOENT);
	made_finish(&m);
}
END_TEST

/* A gap is in the file, and in no chunk: only the records tell. */
START_TEST(gap)
{
	struct index_record r = { .kind = INDEX_GAP, .missing = 64 };
	struct index_record end = { .kind = INDEX_END, .number = 1 };
	json_t *tail = made_tail(0, 1);
	struct folder *f;

	made_bare(&m);
	ck_assert_int_eq(folder_create(&f, &m.disks.disk[0], "a", m.head), 0);
	ck_assert_int_eq(folder_sync(f, &r, 1), 0);
	ck_assert_int_eq(folder_close(f, &end, tail), 0);
	json_decref(tail);
	ck_assert_int_eq(look("a"), 0);
	ck_assert_uint_eq(work.whole, 1);
	ck_assert_uint_eq(e.bytes, MADE_PAYLOAD * 64);
	made_finish(&m);
}
END_TEST

/* All chunks are here; a gap's record is on a disk that is not. */
START_TEST(gap_away)
{
	struct index_record r = { .bytes = 4096,
				  .present = 64,
				  .kind = INDEX_BLOCK };
	struct index_record end = { .kind = INDEX_END, .number = 2 };
	json_t *tail = made_tail(1, 1);
	struct folder *f;

	made_bare(&m);
	ck_assert_int_eq(folder_create(&f, &m.disks.disk[0], "a", m.head), 0);
	ck_assert_int_eq(folder_sync(f, &r, 1), 0);
	ck_assert_int_eq(folder_close(f, &end, tail), 0);
	json_decref(tail);
	ck_assert_int_eq(look("a"), 0);
	ck_assert_uint_eq(work.whole, 1);
	ck_assert_uint_eq(e.absent, 1);
	made_finish(&m);
}
END_TEST

START_TEST(interrupted)
{
	made_bare(&m);
	made_other(&m, "a", 3, 2, 0);
	ck_assert_int_eq(look("a"), 0);
	ck_assert_int_eq(e.state, ENTRY_INTERRUPTED);
	ck_assert_uint_eq(work.whole, 1);
	ck_assert_uint_eq(e.packets, 240);
	made_finish(&m);
}
END_TEST

/* Behind the end record is half a one: what it ends is looked at. */
START_TEST(torn)
{
	char path[512];
	FILE *f;

	made_bare(&m);
	made_other(&m, "a", 1, 2, MADE_ENDED);
	snprintf(path, sizeof path, "%s/a/a.index", m.disks.disk[0].path);
	f = fopen(path, "a");
	fputs("half", f);
	fclose(f);
	ck_assert_int_eq(look("a"), 0);
	ck_assert_uint_eq(work.whole, 1);
	ck_assert_int_eq(e.state, ENTRY_COMPLETE);
	made_finish(&m);
}
END_TEST

START_TEST(live)
{
	made_bare(&m);
	made_other(&m, "a", 3, 2, MADE_OPEN);
	ck_assert_int_eq(look("a"), 0);
	ck_assert_int_eq(e.state, ENTRY_LIVE);
	ck_assert_uint_eq(work.whole, 1);
	ck_assert_int_eq(entry_read(&e, &m.disks, "a", true, &work), 0);
	ck_assert_int_eq(e.state, ENTRY_LIVE);
	ck_assert_uint_eq(work.whole, 1);
	made_finish(&m);
}
END_TEST

START_TEST(unreadable)
{
	char path[512];

	made_bare(&m);
	made_other(&m, "a", 1, 2, MADE_ENDED);
	snprintf(path, sizeof path, "%s/a/a.meta.jsonl", m.disks.disk[0].path);
	ck_assert_int_eq(truncate(path, 0), 0);
	ck_assert_int_eq(look("a"), 0);
	ck_assert_int_eq(e.state, ENTRY_UNREADABLE);
	ck_assert_str_ne(e.what, "");
	made_finish(&m);
}
END_TEST

START_TEST(marks)
{
	struct recording *rec;
	struct fault fault;
	uint64_t stamp;

	made_bare(&m);
	made_other(&m, "a", 3, 2, MADE_ENDED);
	ck_assert_int_eq(look("a"), 0);
	stamp = e.stamp;
	ck_assert_uint_eq(entry_stamp(&m.disks, "a"), stamp);
	usleep(20000); /* a tick of the clock of files */
	made_put(&m, 1, "a", "a.protect");
	ck_assert_uint_ne(entry_stamp(&m.disks, "a"), stamp);
	ck_assert_int_eq(look("a"), 0);
	ck_assert(e.protected);
	made_put(&m, 1, "a", "a.removing");
	ck_assert_int_eq(look("a"), 0);
	ck_assert_int_eq(e.state, ENTRY_REMOVING);
	ck_assert_int_eq(recording_open(&rec, &m.disks, "a", &fault), -EIDRM);
	made_finish(&m);
}
END_TEST

START_TEST(json)
{
	json_t *j;

	made_bare(&m);
	made_other(&m, "a", 5, 3, MADE_ENDED);
	ck_assert_int_eq(look("a"), 0);
	memset(e.stream, 0xff, 3); /* no UTF-8 */
	j = entry_json(&e, &m.disks);
	ck_assert_ptr_nonnull(j);
	ck_assert_str_eq(json_string_value(json_object_get(j, "name")), "a");
	ck_assert_str_eq(json_string_value(json_object_get(j, "state")),
			 "complete");
	ck_assert_int_eq(json_integer_value(json_object_get(j, "bytes")),
			 6 * 4096);
	ck_assert_uint_eq(json_array_size(json_object_get(j, "disks")), 2);
	json_decref(j);
	made_finish(&m);
}
END_TEST

/* Two blocks for each group, on disks 0 and 1, with parity on disk 2; the last
 * blocks are in no group. */
static void
protect(unsigned blocks, unsigned groups)
{
	static struct made_block mb;

	m.parity = 1;
	made_begin(&m);
	for (unsigned i = 0; i < blocks; i++) {
		made_block(&m, &mb, i, (uint64_t)i * MADE_SLOTS, MADE_SLOTS);
		made_write(&m, i % 2, &mb);
	}
	for (unsigned i = 0; i < groups; i++)
		made_parity(&m, 2 * i, 2, (unsigned[]){ 2 }, NULL);
	made_end_as(&m, blocks,
		    json_pack("{s:{s:s, s:I, s:i, s:i}}", "end", "reason",
			      "asked", "bytes", (json_int_t)blocks * MADE_BLOCK,
			      "chunks", (int)blocks, "packets",
			      (int)(blocks * MADE_SLOTS)));
}

/* What is left of its parity, without reading all of it. */
START_TEST(parity)
{
	protect(6, 3);
	ck_assert_int_eq(look(MADE_NAME), 0);
	ck_assert_uint_eq(e.parity, 1);
	ck_assert_uint_eq(work.whole, 0);
	ck_assert_int_eq(unlink(made_path(&m, 2, MADE_NAME ".parity")), 0);
	ck_assert_int_eq(look(MADE_NAME), 0);
	ck_assert_uint_eq(e.parity, 0);
	ck_assert_uint_eq(work.whole, 0);
	made_finish(&m);

	protect(6, 2);
	ck_assert_int_eq(look(MADE_NAME), 0);
	ck_assert_uint_eq(e.packets, 6 * MADE_SLOTS);
	ck_assert_uint_eq(e.parity, 0);
	m.parity = 0;
	made_finish(&m);
}
END_TEST

START_TEST(row)
{
	struct entry a = { .name = "a",
			   .state = ENTRY_UNREADABLE,
			   .stream = "s",
			   .why = "because",
			   .counted = true,
			   .start_ns = MADE_SECOND * 1000000000 + 5,
			   .end_ns = -1,
			   .bytes = UINT64_C(1) << 62,
			   .packets = 3,
			   .missing = 4,
			   .absent = 5,
			   .subs = 6,
			   .protected = true,
			   .parity = 2,
			   .disk = { 0, UINT64_C(1) << 63, 5, 0 } },
		     b;
	json_t *j = entry_row(&a);

	ck_assert_int_eq(entry_from_row(&b, j), 0);
	ck_assert_int_eq(memcmp(&a, &b, sizeof a), 0);
	json_decref(j);
	a = (struct entry){ .name = "b", .disk = { 1 } };
	j = entry_row(&a);
	ck_assert_int_eq(entry_from_row(&b, j), 0);
	ck_assert_int_eq(memcmp(&a, &b, sizeof a), 0);
	json_decref(j);
}
END_TEST

/* What comes through a socket. */
START_TEST(row_bad)
{
	static const char *const texts[] = {
		"[]",
		"{}",
		"[\"a\",1]",
		"[\"a\",9,0,0,0,0,0,0,0,0,\"1\"]",
		"[\"a\",1,0,0,0,0,0,0,0,0,\"-1\"]",
		"[\"a\",1,0,0,0,0,0,0,0,0,\"\"]",
		("[\"a\",1,0,0,0,0,0,0,0,0,\"0000000000000000000000000000000000"
		 "0000000000000000000000000000000\"]"),
	};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		json_t *j = json_loads(texts[i], 0, NULL);

		ck_assert_ptr_nonnull(j);
		ck_assert_int_eq(entry_from_row(&e, j), -EINVAL);
		json_decref(j);
	}
}
END_TEST

/* A name that is not UTF-8 is nothing to fail on. */
START_TEST(foreign_name)
{
	uint8_t frame[MADE_PAYLOAD];
	struct recording *rec;
	struct fault fault;
	json_t *told;
	int fd;

	made_bare(&m);
	ck_assert_int_eq(mkdirat(m.disks.disk[1].fd, "\xfc", 0755), 0);
	fd = openat(m.disks.disk[1].fd, "\xfc/\xfc.00000000",
		    O_CREAT | O_WRONLY, 0644);
	for (unsigned i = 0; i < 100; i++) {
		made_frame(&m, i, frame);
		ck_assert_int_eq(write(fd, frame, sizeof frame), sizeof frame);
	}
	close(fd);
	ck_assert_int_eq(look("\xfc"), 0);
	ck_assert_int_eq(e.state, ENTRY_COMPLETE);
	ck_assert_uint_eq(e.packets, 100);
	ck_assert_str_eq(e.name, "\xfc");
	told = entry_row(&e);
	ck_assert_str_eq(json_string_value(json_array_get(told, 0)),
			 "\xef\xbf\xbd");
	json_decref(told);
	told = entry_json(&e, &m.disks);
	ck_assert_str_eq(json_string_value(json_object_get(told, "name")),
			 "\xef\xbf\xbd");
	json_decref(told);
	ck_assert_int_eq(recording_open(&rec, &m.disks, "\xfc", &fault), 0);
	told = recording_info(rec);
	ck_assert_str_eq(json_string_value(json_object_get(told, "name")),
			 "\xef\xbf\xbd");
	json_decref(told);
	recording_close(rec);
	made_finish(&m);
}
END_TEST

SUITE("entry", complete, long_tail, parity, disk_gone, gap, gap_away,
      interrupted, torn, live, unreadable, marks, json, row, row_bad,
      foreign_name)
