/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "cli/watch/page.h"
#include "lib/suite.h"

enum { ROWS = 64 };

static struct {
	char row[ROWS][1300];
	unsigned n;
} shown;

static void
put(void *arg, unsigned row, const char *line, bool strong)
{
	(void)arg;
	(void)strong;
	ck_assert_uint_lt(row, ROWS);
	snprintf(shown.row[row], sizeof shown.row[row], "%s", line);
	shown.n = row + 1;
}

static void
draw(struct page *p, unsigned rows, unsigned columns)
{
	shown.n = 0;
	page_draw(p, rows, columns, put, NULL);
	ck_assert_uint_le(shown.n, rows);
}

static bool
is_shown(const char *text)
{
	for (unsigned i = 0; i < shown.n; i++)
		if (strstr(shown.row[i], text))
			return true;
	return false;
}

/* Takes a second in which one recording, of stream s7, has lost so many. */
static void
take(struct page *p, int streams, int lost, const char *why)
{
	json_t *list = json_array(), *status;

	for (int i = 0; i < streams; i++) {
		char name[16];

		snprintf(name, sizeof name, "s%d", i);
		json_array_append_new(list, json_pack("{s:s, s:i}", "name",
						      name, "packets_lost",
						      i == 7 ? lost : 0));
	}
	status = json_pack(
	    "{s:i, s:[{s:s, s:s, s:s, s:f, s:s, s:i, s:i, s:{s:i, s:i},"
	    " s:[{s:s, s:b, s:s*}]}], s:[{s:s, s:s}]}",
	    "pid", 1, "recordings", "name", "r1", "stream", "s7", "state",
	    "recording", "clock_s", -0.5, "clock", "it is far", "rate", 8000000,
	    "packets_lost", lost, "blocks", "total", 10, "free", 5, "links",
	    "link", "write", "well", !why, "why", why, "disks", "path",
	    "/d\xc3\xa9\x1b[2J", "state", "idle");
	ck_assert_ptr_nonnull(status);
	page_take(p, status, list, 1000000000);
	json_decref(status);
	json_decref(list);
}

START_TEST(many_streams)
{
	struct page *p;

	ck_assert_int_eq(page_open(&p, false), 0);
	take(p, 432, 0, "no disk takes blocks");
	for (unsigned rows = 1; rows < ROWS; rows++)
		draw(p, rows, 80);
	draw(p, 24, 80);
	ck_assert_int_eq(strncmp(shown.row[3], "s7           ! write", 20), 0);
	ck_assert(is_shown("... and 4"));
	ck_assert(is_shown("clock, s"));
	ck_assert(is_shown("-0.5000"));
	ck_assert(is_shown("r1: clock: it is far"));
	ck_assert(is_shown("[#####.....]"));
	ck_assert(is_shown("r1: no disk takes blocks"));
	for (unsigned i = 0; i < shown.n; i++)
		ck_assert_uint_le(strlen(shown.row[i]), 80);
	page_close(p);
}
END_TEST

/* Takes a second of two streams whose quality and clock are known. */
static void
take_signal(struct page *p, const char *quality, double clock)
{
	json_t *list, *status;

	list =
	    json_pack("[{s:s, s:s}, {s:s, s:s}]", "name", "dbbc3-a", "quality",
		      quality, "name", "dbbc3-b", "quality", "ok");
	status = json_pack("{s:i, s:[{s:s, s:s, s:s, s:f, s:i, s:i,"
			   " s:{s:i, s:i}}]}",
			   "pid", 1, "recordings", "name", "r1", "stream",
			   "dbbc3-a", "state", "recording", "clock_s", clock,
			   "rate", 999990000, "packets_lost", 123456789,
			   "blocks", "total", 10, "free", 4);
	ck_assert_ptr_nonnull(list);
	ck_assert_ptr_nonnull(status);
	page_take(p, status, list, 1000000000);
	json_decref(status);
	json_decref(list);
}

/* Both say at 80 columns what they say; the last minute takes what is left, and
 * is the first to give way. */
START_TEST(signal_columns)
{
	static const struct {
		const char *quality, *shown;
		double clock;
		const char *clock_shown;
	} seen[] = {
		{ "dead 2, dc 1", "dead 2, dc 1", 0.1, "+0.1000" },
		{ "dead 2, tones-gone 1", "dead 2, ton~", -37.00001,
		  "-37.0000" },
		{ "bit-missing 16", "bit-missing~", 15724800.2, "+1.6e+07" },
	};
	struct page *p;
	char line[81];

	for (unsigned i = 0; i < sizeof seen / sizeof *seen; i++) {
		ck_assert_int_eq(page_open(&p, false), 0);
		take_signal(p, seen[i].quality, seen[i].clock);
		draw(p, 24, 80);
		ck_assert_str_eq(
		    shown.row[2],
		    "stream       state            rate minute     "
		    "lost buffers signal       clock, s");
		snprintf(line, sizeof line,
			 "dbbc3-a      recording 999.99 Mb/s       # 123.46M "
			 "[###..] %-12s %s",
			 seen[i].shown, seen[i].clock_shown);
		ck_assert_str_eq(shown.row[3], line);
		draw(p, 24, 64);
		ck_assert(!is_shown("minute") && !is_shown("[###..]"));
		snprintf(line, sizeof line, " 123.46M %-12s %s", seen[i].shown,
			 seen[i].clock_shown);
		ck_assert(is_shown(line));
		for (unsigned columns = 1; columns < 200; columns++) {
			draw(p, 24, columns);
			for (unsigned k = 0; k < shown.n; k++)
				ck_assert_uint_le(strlen(shown.row[k]),
						  columns);
		}
		ck_assert(is_shown(seen[i].quality));
		page_close(p);
	}
}
END_TEST

/* A flood is one warning, whose number is that of all. */
START_TEST(losses)
{
	struct page *p;

	ck_assert_int_eq(page_open(&p, false), 0);
	for (int i = 1; i <= 100; i++)
		take(p, 8, 5 * i, NULL);
	draw(p, 24, 80);
	ck_assert(is_shown("s7: 495 packets lost"));
	ck_assert(!is_shown("s7: 490 packets lost"));
	ck_assert(is_shown("s7           recording    8.00 Mb/s ####"));
	page_close(p);
}
END_TEST

/* Bytes that a terminal would obey, or that are wider than they look. */
START_TEST(foreign_bytes)
{
	struct page *p;

	ck_assert_int_eq(page_open(&p, true), 0);
	take(p, 8, 0, NULL);
	draw(p, 24, 80);
	ck_assert(is_shown("/d???[2J"));
	page_close(p);
}
END_TEST

/* Takes a second with disks of these paths, and draws them. */
static void
draw_disks(const char *const paths[], unsigned columns)
{
	json_t *disks = json_array(), *streams = json_array(), *status;
	struct page *p;

	for (; *paths; paths++)
		json_array_append_new(
		    disks,
		    json_pack("{s:s, s:s}", "path", *paths, "state", "idle"));
	status = json_pack("{s:i, s:o}", "pid", 1, "disks", disks);
	ck_assert_int_eq(page_open(&p, false), 0);
	page_take(p, status, streams, 1000000000);
	draw(p, 24, columns);
	json_decref(status);
	json_decref(streams);
	page_close(p);
}

/* Paths that are too long keep the part in which they differ. */
START_TEST(long_paths)
{
	static const char *const end[] = { "/srv/spate/station/wettzell/disk00",
					   "/srv/spate/station/wettzell/disk01",
					   "/mnt/d", NULL };
	static const char *const start[] = { "/a/spate/station/wettzell/disk00",
					     "/b/spate/station/wettzell/disk00",
					     NULL };
	static const char *const middle[] = {
		"/srv/spate/station/wettzell/disk00/data/of/the/recorder",
		"/srv/spate/station/wettzell/disk01/data/of/the/recorder", NULL
	};

	draw_disks(end, 80);
	ck_assert(is_shown("~ion/wettzell/disk00 idle"));
	ck_assert(is_shown("~ion/wettzell/disk01 idle"));
	ck_assert(is_shown("/mnt/d               idle"));
	draw_disks(start, 80);
	ck_assert(is_shown("/a/s~wettzell/disk00 idle"));
	ck_assert(is_shown("/b/s~wettzell/disk00 idle"));
	draw_disks(middle, 80);
	ck_assert(is_shown("~0/da~"));
	ck_assert(is_shown("~1/da~"));
	for (unsigned columns = 1; columns < 200; columns++)
		draw_disks(middle, columns);
	ck_assert(is_shown("idle"));
	draw_disks(end, 94);
	ck_assert(is_shown("/srv/spate/station/wettzell/disk00 idle"));
}
END_TEST

START_TEST(away)
{
	struct page *p;

	ck_assert_int_eq(page_open(&p, false), 0);
	page_away(p, "gone", 1000000000);
	draw(p, 24, 80);
	ck_assert_str_eq(shown.row[0],
			 "spated does not answer since 00:00:01 UTC: gone");
	take(p, 8, 0, NULL);
	draw(p, 24, 80);
	ck_assert(is_shown("spated answers again"));
	page_close(p);
}
END_TEST

SUITE("page", many_streams, signal_columns, losses, foreign_bytes, long_paths,
      away)
