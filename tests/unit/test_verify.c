/* SPDX-License-Identifier: MIT */
/* Everything that can be wrong is found, and each thing once. */
#include "config.h"

#include <fcntl.h>

#include "store/recording.h"
#include "store/verify.h"
#include "unit/made.h"
#include "unit/suite.h"

static struct made m;
static struct made_block mb;
static char said[4096];
static size_t steps;

static void
hear(void *arg, const char *sentence)
{
	(void)arg;
	strncat(said, sentence, sizeof said - strlen(said) - 1);
	strncat(said, "\n", sizeof said - strlen(said) - 1);
}

static void
step(void *arg, size_t done, size_t of)
{
	(void)arg;
	ck_assert_uint_le(done, of);
	steps++;
}

static int
verified(void)
{
	struct verify_hooks hooks = { hear, step, NULL };
	struct recording *rec;
	struct fault fault;
	int n;

	said[0] = '\0';
	ck_assert_int_eq(recording_open(&rec, &m.disks, MADE_NAME, &fault), 0);
	n = verify(rec, &m.disks, &hooks);
	recording_close(rec);
	return n;
}

static void
says(const char *text)
{
	ck_assert_msg(strstr(said, text) != NULL, "\"%s\" is not in \"%s\"",
		      text, said);
}

START_TEST(sound)
{
	made_begin(&m);
	made_blocks(&m, 5);
	made_end(&m, 5);
	ck_assert_int_eq(verified(), 0);
	ck_assert_str_eq(said, "");
	ck_assert_uint_eq(steps, 5);
	made_finish(&m);
}
END_TEST

START_TEST(chunks)
{
	made_begin(&m);
	made_blocks(&m, 5);
	made_block(&m, &mb, 9, 0, 1);
	made_chunk(&m, 0, &mb);
	made_end(&m, 5);
	ck_assert_int_eq(truncate(made_path(&m, 0, MADE_NAME ".00000003"), 7),
			 0);
	ck_assert_int_eq(unlink(made_path(&m, 1, MADE_NAME ".00000001")), 0);
	ck_assert_int_eq(verified(), 3);
	says("chunk 9 on");
	says("is in no index");
	says("chunk 1 is not on");
	says("has 7 bytes, the index says 4096");
	made_finish(&m);
}
END_TEST

START_TEST(duplicate)
{
	made_begin(&m);
	made_blocks(&m, 3);
	made_block(&m, &mb, 0, 0, MADE_SLOTS);
	made_write(&m, 1, &mb);
	made_end(&m, 3);
	ck_assert_int_eq(verified(), 1);
	says("block 0 is on");
	made_finish(&m);
}
END_TEST

START_TEST(absent)
{
	made_begin(&m);
	made_blocks(&m, 8);
	made_end(&m, 8);
	made_hide(&m, 1);
	ck_assert_int_eq(verified(), 3);
	says("block 4 is on none");
	made_hide(&m, 2);
	ck_assert_int_eq(verified(), 3);
	says("blocks 4 to 5 are on none");
	made_finish(&m);
}
END_TEST

START_TEST(indexes)
{
	int fd;

	made_begin(&m);
	made_blocks(&m, 3);
	folder_close(m.folder[1], NULL, NULL);
	m.folder[1] = NULL;
	made_end(&m, 3);
	fd = open(made_path(&m, 2, MADE_NAME ".index"), O_WRONLY | O_APPEND);
	ck_assert_int_eq(write(fd, "torn", 4), 4);
	close(fd);
	ck_assert_int_eq(verified(), 2);
	says("ends in 4 bytes that are no record");
	says("has no end");
	made_finish(&m);
}
END_TEST

START_TEST(no_end)
{
	made_begin(&m);
	made_blocks(&m, 3);
	made_end(&m, 0);
	ck_assert_int_eq(verified(), 1);
	says("its recorder died");
	made_finish(&m);
}
END_TEST

/* What a live recording has not got yet is not wrong. */
START_TEST(live)
{
	made_begin(&m);
	made_blocks(&m, 3);
	made_block(&m, &mb, 3, 3 * MADE_SLOTS, MADE_SLOTS);
	made_chunk(&m, 0, &mb);
	ck_assert_int_eq(verified(), 0);
	made_finish(&m);
}
END_TEST

SUITE("verify", sound, chunks, duplicate, absent, indexes, no_end, live)
