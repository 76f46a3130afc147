/* SPDX-License-Identifier: MIT */
/* The log is read back through a pipe that stands in for stderr. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "lib/suite.h"

enum { READ_END, WRITE_END };

static int ends[2];

static void
start(void)
{
	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq(dup2(ends[WRITE_END], STDERR_FILENO), STDERR_FILENO);
	unsetenv("JOURNAL_STREAM");
	log_level_set(LEVEL_INFO);
}

/* One read: a line is one write. */
static const char *
written(void)
{
	static char text[4096];
	ssize_t got = read(ends[READ_END], text, sizeof text - 1);

	ck_assert_int_gt(got, 0);
	text[got] = '\0';
	return text;
}

START_TEST(a_line)
{
	const char *text;

	start();
	log_line(LEVEL_WARN, "r4123", "disk %d is %s", 3, "slow");
	text = written();
	/* 2026-11-20T10:00:00.000Z and a space are before the level */
	ck_assert_int_eq(text[10], 'T');
	ck_assert_int_eq(text[23], 'Z');
	ck_assert_str_eq(text + 24, " warn  r4123: disk 3 is slow\n");
	log_line(LEVEL_ERROR, NULL, "no subject");
	ck_assert_str_eq(written() + 24, " error no subject\n");
}
END_TEST

START_TEST(levels)
{
	start();
	log_line(LEVEL_DEBUG, NULL, "unseen");
	log_line(LEVEL_INFO, NULL, "seen");
	ck_assert_str_eq(written() + 24, " info  seen\n");
	log_level_set(LEVEL_ERROR);
	log_line(LEVEL_WARN, NULL, "unseen");
	log_line(LEVEL_ERROR, NULL, "seen");
	ck_assert_str_eq(written() + 24, " error seen\n");
	log_level_set(LEVEL_DEBUG);
	log_line(LEVEL_DEBUG, NULL, "seen");
	ck_assert_str_eq(written() + 24, " debug seen\n");
}
END_TEST

START_TEST(the_journal)
{
	struct stat st;
	char name[64];

	start();
	fstat(STDERR_FILENO, &st);
	snprintf(name, sizeof name, "%llu:%llu", (unsigned long long)st.st_dev,
		 (unsigned long long)st.st_ino);
	setenv("JOURNAL_STREAM", name, 1);
	/* A journal that runs here would take the line from its socket. */
	if (access("/run/systemd/journal/socket", F_OK) < 0) {
		log_line(LEVEL_WARN, "r4123", "text");
		ck_assert_str_eq(written(), "<4>r4123: text\n");
	}
	/* A journal that stderr no longer goes to is none. */
	setenv("JOURNAL_STREAM", "1:1", 1);
	log_line(LEVEL_WARN, "r4123", "text");
	ck_assert_str_eq(written() + 24, " warn  r4123: text\n");
}
END_TEST

START_TEST(long_and_foreign_text)
{
	char many[3000];
	const char *text;

	start();
	memset(many, 'x', sizeof many);
	many[sizeof many - 1] = '\0';
	log_line(LEVEL_INFO, NULL, "%s", many);
	text = written();
	ck_assert_uint_eq(strlen(text), 1024);
	ck_assert_int_eq(text[1023], '\n');
	log_line(LEVEL_INFO, many, "%s", "behind a long subject");
	ck_assert_ptr_nonnull(strstr(written(), "behind a long subject\n"));
	log_line(LEVEL_INFO, NULL, "a\nb\x1b[2J");
	ck_assert_str_eq(written() + 24, " info  a b [2J\n");
}
END_TEST

START_TEST(errno_is_kept)
{
	start();
	errno = ENOSPC;
	log_line(LEVEL_INFO, NULL, "%m");
	ck_assert_int_eq(errno, ENOSPC);
	ck_assert_str_eq(written() + 24, " info  No space left on device\n");
	close(STDERR_FILENO);
	log_line(LEVEL_INFO, NULL, "nobody reads this");
	ck_assert_int_eq(errno, ENOSPC);
}
END_TEST

START_TEST(a_host)
{
	struct host h = log_host("a-stream");
	int64_t before, now;

	start();
	h.log(h.ctx, LEVEL_INFO, "%d", 7);
	ck_assert_str_eq(written() + 24, " info  a-stream: 7\n");
	h.log(h.ctx, LEVEL_DEBUG, "unseen");
	h.log(h.ctx, LEVEL_ERROR, "seen");
	ck_assert_str_eq(written() + 24, " error a-stream: seen\n");
	before = clock_now();
	now = h.now(h.ctx);
	ck_assert_int_ge(now, before);
	ck_assert_int_le(now, clock_now());
}
END_TEST

START_TEST(steady_clock)
{
	int64_t before = clock_steady();

	ck_assert_int_ge(clock_steady(), before);
}
END_TEST

/* Lines of another subject are no flood. */
static const char *
subject_of(unsigned i)
{
	static char subject[16];

	snprintf(subject, sizeof subject, "r%u", i);
	return subject;
}

/* A pipe that nobody reads, shared with whoever else has stderr. */
START_TEST(nobody_reads)
{
	enum { MANY = 2000 };
	unsigned there = 0, missing = 0, more, number, next = 0;
	char line[2048];
	FILE *reader;

	start();
	ck_assert_int_ge(fcntl(ends[WRITE_END], F_SETPIPE_SZ, 4096), 4096);
	ck_assert_int_eq(log_queue_start(), 0);
	errno = ENOSPC;
	for (unsigned i = 0; i < MANY; i++)
		log_line(LEVEL_INFO, subject_of(i), "number %u of many", i);
	ck_assert_int_eq(errno, ENOSPC);
	ck_assert_int_eq(fcntl(STDERR_FILENO, F_GETFL) & O_NONBLOCK, 0);
	/* Every line is here, in its place, or counted there. */
	reader = fdopen(ends[READ_END], "r");
	while (there + missing < MANY && fgets(line, sizeof line, reader)) {
		if (sscanf(line, "%*s info %*s number %u", &number) == 1) {
			ck_assert_uint_eq(number, next);
			there++;
			next++;
		} else {
			ck_assert_int_eq(
			    sscanf(line, "%*s warn %u lines of", &more), 1);
			ck_assert_uint_gt(more, 0);
			missing += more;
			next += more;
		}
	}
	ck_assert_uint_eq(there + missing, MANY);
	ck_assert_uint_gt(missing, 0);
	log_queue_flush();
	log_line(LEVEL_INFO, NULL, "flows again");
	ck_assert_ptr_nonnull(fgets(line, sizeof line, reader));
	ck_assert_str_eq(line + 24, " info  flows again\n");
}
END_TEST

/* Somebody made the shared stderr O_NONBLOCK: what does not fit waits. */
START_TEST(not_blocking)
{
	char line[2048];
	FILE *reader;

	start();
	ck_assert_int_ge(fcntl(ends[WRITE_END], F_SETPIPE_SZ, 4096), 4096);
	ck_assert_int_eq(fcntl(STDERR_FILENO, F_SETFL, O_NONBLOCK), 0);
	ck_assert_int_eq(log_queue_start(), 0);
	for (unsigned i = 0; i < 200; i++)
		log_line(LEVEL_INFO, subject_of(i), "number %u of many", i);
	reader = fdopen(ends[READ_END], "r");
	for (unsigned i = 0; i < 200; i++) {
		unsigned number;

		ck_assert_ptr_nonnull(fgets(line, sizeof line, reader));
		ck_assert_int_eq(
		    sscanf(line, "%*s info %*s number %u", &number), 1);
		ck_assert_uint_eq(number, i);
	}
}
END_TEST

/* The first ten of a second are there, and all others in a number. */
START_TEST(a_flood)
{
	enum { MANY = 1000 };
	unsigned there = 0, more, number = 0;
	char line[2048];
	FILE *reader;

	start();
	ck_assert_int_eq(log_queue_start(), 0);
	for (unsigned i = 0; i < MANY; i++) {
		log_line(LEVEL_WARN, "r4123", "packet %u is odd", i);
		if (i % 100 == 0)
			log_line(LEVEL_INFO, "r4123", "another line");
	}
	log_queue_flush();
	log_line(LEVEL_ERROR, "r4123", "the end");
	reader = fdopen(ends[READ_END], "r");
	for (unsigned lines = 0; fgets(line, sizeof line, reader); lines++) {
		const char *also = strstr(line, " (and ");

		ck_assert_uint_lt(lines, 100);
		if (strstr(line, "the end"))
			break;
		if (sscanf(line, "%*s warn r4123: packet %u", &number) != 1)
			continue;
		there++;
		if (also && sscanf(also, " (and %u more like it)", &more) == 1)
			there += more;
	}
	ck_assert_uint_eq(there, MANY);
	ck_assert_uint_eq(number, MANY - 1);
}
END_TEST

START_TEST(as_objects)
{
	const char *text;
	json_t *line;

	start();
	log_json_set();
	log_line(LEVEL_WARN, "r\"4", "a \\ b\n\xff %d", 7);
	text = written();
	line = json_loads(text, 0, NULL);
	ck_assert_msg(line, "%s", text);
	ck_assert_int_eq(text[strlen(text) - 1], '\n');
	ck_assert_str_eq(json_string_value(json_object_get(line, "level")),
			 "warn");
	ck_assert_str_eq(json_string_value(json_object_get(line, "subject")),
			 "r\"4");
	ck_assert_str_eq(json_string_value(json_object_get(line, "text")),
			 "a \\ b \xef\xbf\xbd 7");
	ck_assert_uint_eq(
	    strlen(json_string_value(json_object_get(line, "time"))), 24);
	json_decref(line);
}
END_TEST

SUITE_THREADS("log", NULL, a_flood, as_objects, nobody_reads, not_blocking,
	      a_line, levels, the_journal, long_and_foreign_text, errno_is_kept,
	      a_host, steady_clock)
