/* SPDX-License-Identifier: MIT */
/*
 * Recordings as they come: whole, growing, broken off, with disks, chunks,
 * records and metadata missing; what is read must be what was sent, or fill
 * that says where it is from.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>

#include "store/recording.h"
#include "unit/made.h"
#include "unit/suite.h"

static struct made m;
static struct made_block mb;
static struct recording *rec;
static struct fault fault;

static const struct recording_facts *
opened(void)
{
	ck_assert_int_eq(recording_open(&rec, &m.disks, MADE_NAME, &fault), 0);
	return recording_facts(rec);
}

static void
done(void)
{
	recording_close(rec);
	made_finish(&m);
}

/* Slots [from, to) of the file are sequences from `first` on, as sent or as
 * fill; returns how many bytes the reader said it filled. */
static uint64_t
slots_are(uint64_t from, uint64_t to, uint64_t first, bool sent)
{
	uint8_t is[MADE_PAYLOAD], want[MADE_PAYLOAD];
	uint64_t filled = 0;

	for (uint64_t i = from; i < to; i++) {
		ck_assert_int_eq(recording_read(rec, is, sizeof is,
						i * MADE_PAYLOAD, &filled),
				 MADE_PAYLOAD);
		if (sent)
			made_frame(&m, first + i - from, want);
		else
			made_fill(&m, first + i - from, want);
		ck_assert_mem_eq(is, want, MADE_PAYLOAD);
	}
	return filled;
}

START_TEST(complete)
{
	const struct recording_facts *f;
	uint8_t one[3 * MADE_BLOCK], two[3 * MADE_BLOCK];
	uint64_t filled = 0;

	made_begin(&m);
	made_blocks(&m, 7);
	made_end(&m, 7);
	f = opened();
	ck_assert_int_eq(f->state, RECORDING_COMPLETE);
	ck_assert_str_eq(f->name, MADE_NAME);
	ck_assert_str_eq(f->stream, "test");
	ck_assert_str_eq(f->format, "vdif");
	ck_assert_uint_eq(f->payload, MADE_PAYLOAD);
	ck_assert_uint_eq(f->bytes, 7 * MADE_BLOCK);
	ck_assert_uint_eq(f->packets, 7 * MADE_SLOTS);
	ck_assert_uint_eq(f->missing, 0);
	ck_assert_uint_eq(f->chunks, 7);
	ck_assert_uint_eq(f->gaps + f->absent, 0);
	ck_assert_int_eq(f->start_ns, MADE_SECOND * 1000000000 + 5);
	ck_assert_int_eq(f->end_ns, MADE_SECOND * 1000000000 + 7000000000);
	ck_assert_uint_eq(f->runs, 1);
	ck_assert_uint_eq(f->run[0].base, MADE_BASE);
	ck_assert_uint_eq(f->run[0].last, 7 * MADE_SLOTS - 1);
	ck_assert_uint_eq(slots_are(0, 7 * MADE_SLOTS, 0, true), 0);

	/* Any piece is the same as that piece of a whole. */
	ck_assert_int_eq(recording_read(rec, one, sizeof one, 1000, &filled),
			 sizeof one);
	for (size_t at = 0; at < sizeof two; at += 997) {
		size_t n = sizeof two - at < 997 ? sizeof two - at : 997;

		ck_assert_int_eq(
		    recording_read(rec, two + at, n, 1000 + at, NULL), n);
	}
	ck_assert_mem_eq(one, two, sizeof one);
	ck_assert_uint_eq(filled, 0);

	/* At the end, and behind it. */
	ck_assert_int_eq(recording_read(rec, one, 100, f->bytes - 10, NULL),
			 10);
	ck_assert_int_eq(recording_read(rec, one, 100, f->bytes, NULL), 0);
	ck_assert_int_eq(recording_read(rec, one, 100, UINT64_MAX, NULL), 0);
	done();
}
END_TEST

START_TEST(live)
{
	const struct recording_facts *f;

	made_begin(&m);
	f = opened();
	ck_assert_int_eq(f->state, RECORDING_LIVE);
	ck_assert_uint_eq(f->bytes, 0);
	ck_assert_int_eq(f->end_ns, f->start_ns);

	made_blocks(&m, 2);
	made_block(&m, &mb, 3, 3 * MADE_SLOTS, MADE_SLOTS);
	made_write(&m, 0, &mb);
	ck_assert_uint_eq(f->bytes, 0);
	ck_assert_int_eq(recording_refresh(rec), 0);
	/* Block 2 is not there yet, so 3 is not visible. */
	ck_assert_uint_eq(f->bytes, 2 * MADE_BLOCK);
	ck_assert_uint_eq(f->runs, 1);
	ck_assert_uint_eq(f->run[0].base, MADE_BASE);

	made_block(&m, &mb, 2, 2 * MADE_SLOTS, MADE_SLOTS);
	made_write(&m, 2, &mb);
	ck_assert_int_eq(recording_refresh(rec), 0);
	ck_assert_uint_eq(f->bytes, 4 * MADE_BLOCK);
	slots_are(0, 4 * MADE_SLOTS, 0, true);

	made_end(&m, 4);
	ck_assert_int_eq(recording_refresh(rec), 0);
	ck_assert_int_eq(f->state, RECORDING_COMPLETE);
	ck_assert_ptr_nonnull(f->tail);
	done();
}
END_TEST

START_TEST(interrupted)
{
	const struct recording_facts *f;

	made_begin(&m);
	made_blocks(&m, 2);
	made_block(&m, &mb, 3, 3 * MADE_SLOTS, MADE_SLOTS);
	made_write(&m, 0, &mb);
	made_end(&m, 0);
	f = opened();
	ck_assert_int_eq(f->state, RECORDING_INTERRUPTED);
	ck_assert_uint_eq(f->bytes, 4 * MADE_BLOCK);
	ck_assert_uint_eq(f->absent, 1);
	slots_are(0, 2 * MADE_SLOTS, 0, true);
	ck_assert_uint_eq(
	    slots_are(2 * MADE_SLOTS, 3 * MADE_SLOTS, 2 * MADE_SLOTS, false),
	    MADE_BLOCK);
	slots_are(3 * MADE_SLOTS, 4 * MADE_SLOTS, 3 * MADE_SLOTS, true);
	done();
}
END_TEST

/* Nothing arrived for 100 slots; the blocks around are cut short. */
START_TEST(a_gap)
{
	struct index_record gap = {
		.number = 1, .kind = INDEX_GAP, .first = 20, .missing = 100
	};
	const struct recording_facts *f;
	const struct recording_block *b;
	size_t n;

	made_begin(&m);
	made_run(&m, 0, 0, MADE_BASE);
	made_block(&m, &mb, 0, 0, 20);
	made_write(&m, 0, &mb);
	made_index(&m, 1, &gap);
	made_block(&m, &mb, 2, 120, MADE_SLOTS);
	made_write(&m, 1, &mb);
	made_end(&m, 3);
	f = opened();
	ck_assert_uint_eq(f->gaps, 1);
	ck_assert_uint_eq(f->missing, 100);
	ck_assert_uint_eq(f->bytes, (20 + 100 + MADE_SLOTS) * MADE_PAYLOAD);
	b = recording_blocks(rec, &n);
	ck_assert_uint_eq(n, 3);
	ck_assert_int_eq(b[1].disk, -1);
	ck_assert_uint_eq(b[1].offset, 20 * MADE_PAYLOAD);
	ck_assert_uint_eq(b[1].record.bytes, 100 * MADE_PAYLOAD);
	ck_assert_uint_eq(slots_are(20, 120, 20, false), 100 * MADE_PAYLOAD);
	slots_are(120, 120 + MADE_SLOTS, 120, true);
	done();
}
END_TEST

START_TEST(a_disk_not_there)
{
	const struct recording_facts *f;

	made_begin(&m);
	made_blocks(&m, 7);
	made_end(&m, 7);
	made_hide(&m, 0);
	f = opened();
	ck_assert_int_eq(f->state, RECORDING_COMPLETE);
	ck_assert_uint_eq(f->absent, 3);
	ck_assert_uint_eq(f->chunks, 4);
	ck_assert_uint_eq(f->bytes, 7 * MADE_BLOCK);
	for (uint64_t i = 0; i < 7; i++)
		ck_assert_uint_eq(slots_are(i * MADE_SLOTS,
					    (i + 1) * MADE_SLOTS,
					    i * MADE_SLOTS, i % 3 != 0),
				  i % 3 ? 0 : MADE_BLOCK);
	/* It comes back. */
	made_show(&m, 0);
	ck_assert_int_eq(recording_refresh(rec), 0);
	ck_assert_uint_eq(f->absent, 0);
	ck_assert_uint_eq(slots_are(0, 7 * MADE_SLOTS, 0, true), 0);
	done();
}
END_TEST

/* Nobody said how many frames a second has: the packets do. */
START_TEST(fps_learned)
{
	m.fps_unknown = true;
	made_begin(&m);
	made_blocks(&m, 7);
	made_end(&m, 7);
	made_hide(&m, 1);
	opened();
	for (uint64_t i = 0; i < 7; i++)
		slots_are(i * MADE_SLOTS, (i + 1) * MADE_SLOTS, i * MADE_SLOTS,
			  i % 3 != 1);
	done();
}
END_TEST

/* Between two blocks of a run the sequences tell how much is absent. */
START_TEST(absent_extent)
{
	const struct recording_facts *f;

	made_begin(&m);
	made_block(&m, &mb, 0, 0, MADE_SLOTS);
	made_write(&m, 0, &mb);
	made_block(&m, &mb, 1, MADE_SLOTS, 10);
	made_write(&m, 1, &mb);
	made_block(&m, &mb, 2, MADE_SLOTS + 10, MADE_SLOTS);
	made_write(&m, 2, &mb);
	made_end(&m, 3);
	made_hide(&m, 1);
	f = opened();
	ck_assert_uint_eq(f->absent, 1);
	ck_assert_uint_eq(f->bytes, 2 * MADE_BLOCK + 10 * MADE_PAYLOAD);
	ck_assert_uint_eq(
	    slots_are(MADE_SLOTS, MADE_SLOTS + 10, MADE_SLOTS, false),
	    10 * MADE_PAYLOAD);
	done();
}
END_TEST

START_TEST(chunks_missing_and_short)
{
	made_begin(&m);
	made_blocks(&m, 6);
	made_end(&m, 6);
	ck_assert_int_eq(unlink(made_path(&m, 1, MADE_NAME ".00000001")), 0);
	ck_assert_int_eq(truncate(made_path(&m, 2, MADE_NAME ".00000002"),
				  10 * MADE_PAYLOAD),
			 0);
	opened();
	slots_are(0, MADE_SLOTS, 0, true);
	ck_assert_uint_eq(
	    slots_are(MADE_SLOTS, 2 * MADE_SLOTS, MADE_SLOTS, false),
	    MADE_BLOCK);
	slots_are(2 * MADE_SLOTS, 2 * MADE_SLOTS + 10, 2 * MADE_SLOTS, true);
	ck_assert_uint_eq(slots_are(2 * MADE_SLOTS + 10, 3 * MADE_SLOTS,
				    2 * MADE_SLOTS + 10, false),
			  54 * MADE_PAYLOAD);
	done();
}
END_TEST

START_TEST(zero_fill)
{
	uint8_t is[MADE_PAYLOAD], zeros[MADE_PAYLOAD] = { 0 };

	m.fill = FILL_ZERO;
	made_begin(&m);
	made_blocks(&m, 3);
	made_end(&m, 3);
	made_hide(&m, 1);
	opened();
	ck_assert_int_eq(recording_read(rec, is, sizeof is, MADE_BLOCK, NULL),
			 MADE_PAYLOAD);
	ck_assert_mem_eq(is, zeros, MADE_PAYLOAD);
	done();
}
END_TEST

START_TEST(duplicates)
{
	const struct recording_block *b;
	size_t n;

	made_begin(&m);
	made_blocks(&m, 3);
	made_block(&m, &mb, 0, 0, MADE_SLOTS);
	made_write(&m, 2, &mb);
	made_end(&m, 3);
	opened();
	b = recording_blocks(rec, &n);
	ck_assert_uint_eq(n, 3);
	ck_assert_int_eq(b[0].disk, 0);
	recording_close(rec);
	ck_assert_int_eq(truncate(made_path(&m, 0, MADE_NAME ".00000000"), 5),
			 0);
	opened();
	b = recording_blocks(rec, &n);
	ck_assert_uint_eq(n, 3);
	ck_assert_int_eq(b[0].disk, 2);
	slots_are(0, 3 * MADE_SLOTS, 0, true);
	done();
}
END_TEST

START_TEST(two_runs)
{
	const struct recording_facts *f;

	made_begin(&m);
	made_blocks(&m, 2);
	made_run(&m, 2, 1, 17);
	made_block(&m, &mb, 2, 0, 30);
	mb.b.run = 1;
	made_write(&m, 2, &mb);
	made_end(&m, 3);
	f = opened();
	ck_assert_uint_eq(f->runs, 2);
	ck_assert_uint_eq(f->run[0].packets, 2 * MADE_SLOTS);
	ck_assert_uint_eq(f->run[1].run, 1);
	ck_assert_uint_eq(f->run[1].base, 17);
	ck_assert_uint_eq(f->run[1].first, 0);
	ck_assert_uint_eq(f->run[1].last, 29);
	ck_assert_uint_eq(f->packets, 2 * MADE_SLOTS + 30);
	done();
}
END_TEST

static uint32_t holes_sum, holes_n;

static void
count_hole(void *arg, uint32_t slot, uint32_t count)
{
	(void)arg;
	holes_sum += slot;
	holes_n += count;
}

/* Losses count between the first packet and the last. */
START_TEST(losses)
{
	const struct recording_facts *f;

	made_begin(&m);
	made_block(&m, &mb, 0, 0, MADE_SLOTS);
	made_lose(&mb, 0);
	made_lose(&mb, 1);
	made_lose(&mb, 10);
	made_write(&m, 0, &mb);
	made_block(&m, &mb, 1, MADE_SLOTS, MADE_SLOTS);
	made_lose(&mb, 5);
	made_lose(&mb, 6);
	made_lose(&mb, 63);
	made_write(&m, 1, &mb);
	made_end(&m, 2);
	f = opened();
	ck_assert_uint_eq(f->packets, 2 * MADE_SLOTS - 6);
	ck_assert_uint_eq(f->missing, 3);
	ck_assert_uint_eq(f->run[0].first, 2);
	ck_assert_uint_eq(f->run[0].last, 2 * MADE_SLOTS - 2);
	ck_assert_int_eq(recording_holes(rec, 1, count_hole, NULL), 0);
	ck_assert_uint_eq(holes_n, 3);
	ck_assert_uint_eq(holes_sum, 5 + 63);
	ck_assert_int_eq(recording_holes(rec, 2, count_hole, NULL), -ENOENT);
	/* On disk the holes are filled already. */
	ck_assert_uint_eq(slots_are(69, 71, 69, false), 0);
	done();
}
END_TEST

static void
append(const char *path, const char *text)
{
	FILE *file = fopen(path, "a");

	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	fclose(file);
}

START_TEST(torn_tails)
{
	const struct recording_facts *f;

	made_begin(&m);
	made_blocks(&m, 4);
	made_end(&m, 0);
	append(made_path(&m, 1, MADE_NAME ".index"), "half a record");
	append(made_path(&m, 1, MADE_NAME ".meta.jsonl"), "{\"end\":{\"rea");
	append(made_path(&m, 2, MADE_NAME ".meta.jsonl"), "not JSON\n");
	f = opened();
	ck_assert_uint_eq(f->torn, 13);
	ck_assert_uint_eq(f->chunks, 4);
	ck_assert_ptr_null(f->tail);
	done();
}
END_TEST

START_TEST(metadata_lost)
{
	made_begin(&m);
	made_blocks(&m, 3);
	made_end(&m, 3);
	ck_assert_int_eq(unlink(made_path(&m, 0, MADE_NAME ".meta.jsonl")), 0);
	ck_assert_int_eq(
	    truncate(made_path(&m, 1, MADE_NAME ".meta.jsonl"), 20), 0);
	ck_assert_uint_eq(opened()->chunks, 3);
	slots_are(0, 3 * MADE_SLOTS, 0, true);
	recording_close(rec);
	ck_assert_int_eq(truncate(made_path(&m, 2, MADE_NAME ".meta.jsonl"), 0),
			 0);
	ck_assert_int_eq(recording_open(&rec, &m.disks, MADE_NAME, &fault),
			 -ENODATA);
	ck_assert_ptr_nonnull(strstr(fault.why, "metadata"));
	made_finish(&m);
}
END_TEST

/* Damaged metadata that is JSON still: refused, or read without harm. */
START_TEST(absurd_shape)
{
	static const struct {
		const char *key;
		json_int_t value;
		int err;
	} cases[] = {
		{ "header", 65, -ENODATA },
		{ "parts", 0, -ENODATA },
		{ "payload", 0, -ENODATA },
		{ "payload", 4294967295, -ENODATA },
		{ "prefix", 4294967295, -ENODATA },
		{ "payload", 32, 0 },
	};
	uint8_t is[MADE_BLOCK];
	struct folder *f;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct index_record gap = { .kind = INDEX_GAP, .missing = 9 };

		made_begin(&m);
		json_object_set_new(json_object_get(m.head, "shape"),
				    cases[i].key, json_integer(cases[i].value));
		ck_assert_int_eq(
		    folder_create(&f, &m.disks.disk[0], "odd", m.head), 0);
		ck_assert_int_eq(folder_sync(f, &gap, 1), 0);
		folder_close(f, NULL, NULL);
		ck_assert_int_eq(recording_open(&rec, &m.disks, "odd", &fault),
				 cases[i].err);
		if (!cases[i].err) {
			ck_assert_int_eq(
			    recording_read(rec, is, sizeof is, 0, NULL),
			    9 * 32);
			recording_close(rec);
		}
		made_finish(&m);
	}
}
END_TEST

START_TEST(not_there)
{
	static const char *const names[] = { "other", "",	  ".",
					     "..",    "a/b",	  "../rec",
					     "rec/",  "rec.index" };

	made_begin(&m);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		ck_assert_int_eq(
		    recording_open(&rec, &m.disks, names[i], &fault), -ENOENT);
		ck_assert_str_eq(fault.code, "not-found");
	}
	made_finish(&m);
}
END_TEST

/* A record with a number that cannot be must not cost all memory. */
START_TEST(absurd_number)
{
	struct index_record r = { .number = UINT64_C(1) << 60,
				  .kind = INDEX_BLOCK };

	made_begin(&m);
	made_index(&m, 0, &r);
	made_end(&m, 0);
	ck_assert_int_eq(recording_open(&rec, &m.disks, MADE_NAME, &fault),
			 -EBADMSG);
	made_finish(&m);
}
END_TEST

START_TEST(info)
{
	static const char *const keys[] = {
		"name",
		"state",
		"stream",
		"format",
		"start",
		"end",
		"bytes",
		"payload",
		"packets",
		"packets_lost",
		"packets_reordered",
		"packets_late",
		"packets_duplicate",
		"packets_unreadable",
		"datagrams",
		"drops",
		"overruns",
		"runs",
		"disks",
		"chunks",
		"gaps",
		"fill",
	};
	const char *state, *base, *start;
	json_int_t bytes, late, wrong, chunks;
	json_t *json;

	made_begin(&m);
	made_blocks(&m, 4);
	made_end(&m, 4);
	opened();
	json = recording_info(rec);
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		ck_assert_msg(json_object_get(json, keys[i]) != NULL, "%s",
			      keys[i]);
	ck_assert_int_eq(
	    json_unpack(json,
			"{s:s, s:s, s:I, s:I, s:{s:I}, s:[{s:s}], s:[{s:I}]}",
			"state", &state, "start", &start, "bytes", &bytes,
			"packets_late", &late, "drops", "wrong_size", &wrong,
			"runs", "base", &base, "disks", "chunks", &chunks),
	    0);
	ck_assert_str_eq(state, "complete");
	ck_assert_str_eq(start, "2025-11-20T10:00:00.000000005Z");
	ck_assert_str_eq(base, "4812800702");
	ck_assert_int_eq(bytes, 4 * MADE_BLOCK);
	ck_assert_int_eq(late, 3);
	ck_assert_int_eq(wrong, 2);
	ck_assert_int_eq(chunks, 2);
	ck_assert(json_is_null(json_object_get(json, "overruns")));
	json_decref(json);
	done();
}
END_TEST

START_TEST(list)
{
	struct folder *f;
	char **names;
	size_t n;

	made_begin(&m);
	ck_assert_int_eq(folder_create(&f, &m.disks.disk[1], "a_ds1", m.head),
			 0);
	folder_close(f, NULL, NULL);
	ck_assert_int_eq(mkdirat(m.disks.disk[0].fd, "foreign", 0755), 0);
	ck_assert_int_eq(mkdirat(m.disks.disk[0].fd, "lost+found", 0755), 0);
	made_hide(&m, 0);
	ck_assert_int_eq(recording_list(&m.disks, &names, &n), 0);
	ck_assert_uint_eq(n, 2);
	ck_assert_str_eq(names[0], "a_ds1");
	ck_assert_str_eq(names[1], MADE_NAME);
	free(names);
	made_finish(&m);
}
END_TEST

START_TEST(list_of_nothing)
{
	struct disks none = { 0 };
	char **names;
	size_t n = 7;

	ck_assert_int_eq(recording_list(&none, &names, &n), 0);
	ck_assert_uint_eq(n, 0);
	free(names);
}
END_TEST

SUITE("recording", complete, live, interrupted, a_gap, a_disk_not_there,
      fps_learned, absent_extent, chunks_missing_and_short, zero_fill,
      duplicates, two_runs, losses, torn_tails, metadata_lost, not_there,
      absurd_number, absurd_shape, info, list, list_of_nothing)
