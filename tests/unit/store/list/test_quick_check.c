/* SPDX-License-Identifier: MIT */
/*
 * A made recording has ten packets in a second and 64 in a block, so most of
 * a second is looked at, and what is wrong with any packet of it is found.
 */
#include "config.h"

#include <fcntl.h>

#include "store/list/quick_check.h"
#include "lib/made_parity.h"
#include "lib/made_row.h"
#include "lib/suite.h"

static struct made m;
static struct made_row row;
static struct made_block mb;
static struct quick_check g;
static char wrong[4096], remarks[4096];

static void
hear_wrong(void *arg, const char *sentence)
{
	(void)arg;
	strncat(wrong, sentence, sizeof wrong - strlen(wrong) - 2);
	strcat(wrong, "\n");
}

static void
hear_remark(void *arg, const char *sentence)
{
	(void)arg;
	strncat(remarks, sentence, sizeof remarks - strlen(remarks) - 2);
	strcat(remarks, "\n");
}

static void
look(void)
{
	const struct quick_check_hooks hooks = { hear_wrong, hear_remark,
						 NULL };
	struct recording *rec;
	struct fault fault;

	wrong[0] = remarks[0] = '\0';
	ck_assert_int_eq(
	    recording_open_by_index(&rec, &m.disks, MADE_NAME, &fault), 0);
	ck_assert_int_eq(quick_check(rec, &hooks, &g), 0);
	recording_close(rec);
}

static void
says(const char *said, const char *text)
{
	ck_assert_msg(strstr(said, text) != NULL, "\"%s\" is not in \"%s\"",
		      text, said);
}

/* Writes a frame over slot `slot` of a chunk. */
static void
overwrite(unsigned disk, const char *chunk, unsigned slot, const void *frame)
{
	int fd = open(made_path(&m, disk, chunk), O_WRONLY);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(
	    pwrite(fd, frame, MADE_PAYLOAD, (off_t)slot * MADE_PAYLOAD),
	    MADE_PAYLOAD);
	close(fd);
}

START_TEST(sound)
{
	const int64_t begin = MADE_SECOND * 1000000000;

	made_begin(&m);
	made_blocks(&m, 5);
	made_end(&m, 5);
	look();
	ck_assert_str_eq(wrong, "");
	ck_assert_str_eq(remarks, "");
	ck_assert(g.data_time);
	ck_assert_int_eq(g.second[0].from_ns, begin);
	ck_assert_int_eq(g.second[2].to_ns,
			 begin +
			     INT64_C(1000000000) * ((5 * MADE_SLOTS - 1) / 10));
	for (unsigned i = 0; i < QUICK_CHECK_SECONDS; i++) {
		ck_assert_uint_ge(g.second[i].packets, 9);
		ck_assert_uint_le(g.second[i].packets, 11);
		ck_assert_uint_eq(g.second[i].missing, 0);
		ck_assert_uint_ge(g.second[i].looked, 10);
		ck_assert(g.second[i].threaded);
		ck_assert(quick_check_has_thread(&g.second[i], 0));
		ck_assert(!quick_check_has_thread(&g.second[i], 1));
		ck_assert(!g.second[i].timed);
	}
	ck_assert_double_eq_tol(g.rate, 8.0 * MADE_PAYLOAD * MADE_FPS, 0.01);
	made_finish(&m);
}
END_TEST

/* Of a block of 6.4 s, slots 0 to 10 are the first second: its
 * index tells whole seconds; what stands in for
 * a lost packet is marked invalid, and nobody sent that. */
START_TEST(lost)
{
	made_begin(&m);
	made_run(&m, 0, 0, MADE_BASE);
	made_block(&m, &mb, 0, 0, MADE_SLOTS);
	made_lose(&mb, 1);
	made_lose(&mb, 7);
	made_lose(&mb, 30);
	made_write(&m, 0, &mb);
	for (unsigned i = 1; i < 5; i++) {
		made_block(&m, &mb, i, i * MADE_SLOTS, MADE_SLOTS);
		made_write(&m, i % 3, &mb);
	}
	made_end(&m, 5);
	look();
	ck_assert_str_eq(wrong, "");
	ck_assert_str_eq(remarks, "");
	ck_assert_uint_eq(g.second[0].missing, 2);
	ck_assert_uint_eq(g.second[0].packets + 2, 11);
	ck_assert_uint_eq(g.second[0].invalid, 0);
	ck_assert_uint_eq(g.second[0].looked, 64 - 3);
	ck_assert_uint_eq(g.second[1].missing, 0);
	made_finish(&m);
}
END_TEST

START_TEST(packets)
{
	uint8_t frame[MADE_PAYLOAD] = { 0 };
	struct format_packet p = { .has = FORMAT_TIME | FORMAT_READABLE,
				   .second = MADE_SECOND,
				   .frame = 3 };

	made_begin(&m);
	made_blocks(&m, 5);
	made_end(&m, 5);
	overwrite(0, MADE_NAME ".00000000", 2, frame);
	made_frame(&m, 3, frame);
	m.format->stamp(&m.shape, &p, NULL, frame);
	overwrite(0, MADE_NAME ".00000000", 3, frame); /* invalid */
	made_frame(&m, 5 * MADE_SLOTS - 9, frame);
	overwrite(1, MADE_NAME ".00000004", MADE_SLOTS - 5, frame);
	look();
	says(wrong, "1 of 64 packets looked at in its first second are not "
		    "vdif packets of the right size");
	says(remarks, "1 of 64 packets looked at in its first second are "
		      "marked invalid");
	says(wrong, "in its last second is not later than that of the one "
		    "before");
	ck_assert_uint_eq(g.second[0].unreadable, 1);
	ck_assert_uint_eq(g.second[2].backwards, 1);
	made_finish(&m);
}
END_TEST

START_TEST(thread_that_stops)
{
	made_begin(&m);
	made_blocks(&m, 4);
	m.sub = 3; /* which is the thread of the frames that are made */
	made_block(&m, &mb, 4, 4 * MADE_SLOTS, MADE_SLOTS);
	mb.b.sub = 0;
	made_write(&m, 1, &mb);
	made_end(&m, 5);
	look();
	says(wrong, "no packet of thread 3 in its first second");
	says(wrong, "no packet of thread 3 in its middle second");
	says(wrong, "no packet of thread 0 in its last second");
	made_finish(&m);
}
END_TEST

START_TEST(chunks)
{
	made_begin(&m);
	made_blocks(&m, 7);
	made_end(&m, 7);
	ck_assert_int_eq(truncate(made_path(&m, 0, MADE_NAME ".00000006"), 70),
			 0);
	ck_assert_int_eq(unlink(made_path(&m, 1, MADE_NAME ".00000004")), 0);
	look();
	says(wrong, "chunk 6 on");
	says(wrong, "has 70 bytes, the index says 4096");
	says(wrong, "cannot be read where its last second is");
	says(wrong, "chunk 4 is not on");
	made_hide(&m, 2);
	look();
	says(wrong, "2 of 7 blocks are on none of the disks");
	made_finish(&m);
}
END_TEST

START_TEST(states)
{
	made_begin(&m);
	look();
	ck_assert_str_eq(wrong, "");
	says(remarks, "no block of it is durable yet");
	made_blocks(&m, 3);
	look();
	ck_assert_str_eq(wrong, "");
	ck_assert_str_eq(remarks, "");
	made_end(&m, 0);
	look();
	says(wrong, "its recorder died");
	made_finish(&m);
	made_begin(&m);
	made_end(&m, 1);
	ck_assert_int_eq(m.disks.n, MADE_DISKS);
	look();
	says(wrong, "it has no data");
	made_finish(&m);
}
END_TEST

/* Every packet of a block says that it is ten seconds later. */
static void
leap(uint64_t number)
{
	made_block(&m, &mb, number, number * MADE_SLOTS + 100, MADE_SLOTS);
	mb.b.first = number * MADE_SLOTS;
	made_write(&m, number % MADE_DISKS, &mb);
}

START_TEST(time_that_leaps)
{
	made_begin(&m);
	made_blocks(&m, 2);
	leap(2);
	for (unsigned i = 3; i < 5; i++) {
		made_block(&m, &mb, i, i * MADE_SLOTS, MADE_SLOTS);
		made_write(&m, i % 3, &mb);
	}
	made_end(&m, 5);
	look();
	says(wrong, "the data's time jumps: in its middle second it is 10s "
		    "ahead of");
	made_finish(&m);
}
END_TEST

static void
arrive(unsigned disk, const char *time)
{
	json_t *line = json_pack("{s:i s:s s:s}", "run", 0, "base",
				 "4812800702", "time", time);

	ck_assert_int_eq(folder_note(m.folder[disk], line), 0);
	json_decref(line);
}

/* The data begins at 2025-11-20T10:00:00Z.  Of what disks say, the earliest
 * is when the run began. */
static void
time_off(const char *first, const char *other, const char *said)
{
	made_begin(&m);
	arrive(0, other);
	arrive(1, first);
	for (unsigned i = 0; i < 3; i++) {
		made_block(&m, &mb, i, i * MADE_SLOTS, MADE_SLOTS);
		made_write(&m, i, &mb);
	}
	made_end(&m, 3);
	look();
	ck_assert_str_eq(wrong, "");
	ck_assert(g.second[0].timed);
	if (said)
		says(remarks, said);
	else
		ck_assert_str_eq(remarks, "");
	made_finish(&m);
}

START_TEST(time_that_is_off)
{
	time_off("2025-11-20T10:00:00.5Z", "2025-11-20T10:00:07Z", NULL);
	time_off("2025-11-20T09:59:59.5Z", "2025-11-20T10:00:07Z", NULL);
	time_off("2025-11-20T10:00:01.5Z", "2025-11-20T10:00:07Z",
		 "1.5s behind that of arrival in its first second");
	time_off("2025-11-20T09:00:00Z", "2025-11-20T10:00:00Z",
		 "1h 00m ahead of that of arrival");
}
END_TEST

START_TEST(rows)
{
	m.store = HEAP_ROW;
	m.subs = 2;
	made_begin(&m);
	made_heap(&row, 5, 1000, 0, 1000);
	made_heap(&row, 6, 1000, 500, 1000);
	made_row_write(&m, 0, 0, &row);
	made_end(&m, 1);
	look();
	ck_assert_str_eq(wrong, "");
	says(remarks, "1 of 2 substreams have no data");
	ck_assert_uint_eq(g.second[0].looked, 2);
	ck_assert_uint_eq(g.second[0].incomplete, 1);
	made_finish(&m);
	m.store = HEAP_ROW;
	made_begin(&m);
	row.data[1]++;
	made_row_write(&m, 0, 0, &row);
	made_end(&m, 1);
	look();
	says(wrong, "are not spead packets of the right size");
	made_finish(&m);
	/* Only what is looked at is measured. */
	row.data[1]--;
	m.store = HEAP_ROW;
	made_begin(&m);
	made_row_write(&m, 0, 0, &row);
	made_end(&m, 1);
	ck_assert_int_eq(truncate(made_path(&m, 0, MADE_NAME ".00000000"), 70),
			 0);
	look();
	says(wrong, "has 70 bytes, the index says");
	ck_assert_uint_eq(g.second[0].unreadable, 1);
	made_finish(&m);
	row = (struct made_row){ 0 };
}
END_TEST

START_TEST(cubes)
{
	m.store = HEAP_CUBE;
	made_begin(&m);
	made_block(&m, &mb, 0, 0, 10);
	made_write(&m, 0, &mb);
	made_end(&m, 1);
	look();
	ck_assert_str_eq(wrong, "");
	ck_assert_uint_eq(g.second[0].looked, 0);
	ck_assert_uint_gt(g.second[0].packets, 0);
	made_finish(&m);
}
END_TEST

/* A chunk whose disk is away, of a group that lacks another one, too: the disk of
 * its parity has nothing to do with it. */
START_TEST(away)
{
	char file[LAYOUT_FILE], path[400];

	m.parity = 1;
	m.quantum = 512;
	made_begin(&m);
	made_blocks(&m, 2);
	made_parity(&m, 0, 2, (unsigned[]){ 2 }, NULL);
	made_end(&m, 2);
	snprintf(path, sizeof path, " on %s", m.disks.disk[2].path);
	made_hide(&m, 1);
	look();
	ck_assert_ptr_null(strstr(wrong, "chunk"));
	ck_assert_int_eq(
	    unlink(made_path(&m, 0, layout_chunk(file, MADE_NAME, 0))), 0);
	look();
	says(wrong, "chunk 1 cannot be read where its last second is: its disk "
		    "is away, and parity does not give it");
	ck_assert_ptr_null(strstr(wrong, path));
	made_show(&m, 1);
	made_finish(&m);
	m.parity = m.quantum = 0;
}
END_TEST

/* Two recorders made a recording of one name, each on disks of its own. */
START_TEST(two_of_one_name)
{
	char text[8192];
	size_t n;
	FILE *f;

	made_begin(&m);
	made_blocks(&m, 5);
	made_end(&m, 5);
	for (unsigned i = 0; i < 2; i++) {
		f = fopen(made_path(&m, i, MADE_NAME ".meta.jsonl"), "r+");
		n = fread(text, 1, sizeof text, f);
		rewind(f);
		fprintf(f, "{\"uid\":\"%u\",%.*s", i, (int)n - 1, text + 1);
		fclose(f);
	}
	look();
	says(wrong, "has another recording of this name");
	says(wrong, m.disks.disk[1].path);
	made_finish(&m);
}
END_TEST

SUITE_THREADS("quick_check", NULL, two_of_one_name, sound, lost, packets,
	      thread_that_stops, chunks, states, time_that_leaps,
	      time_that_is_off, rows, cubes, away)
