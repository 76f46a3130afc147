/* SPDX-License-Identifier: MIT */
/* What files of the schedule say, and what of that cannot be. */
#include <errno.h>

#include "daemon/schedule/scan.h"
#include "store/disk/layout.h"
#include "lib/suite.h"

#define TIMES "start = \"2026-11-20T10:00:00Z\"; duration = \"5m\"; "
#define R1    "r1 : { stream = \"s\"; " TIMES

static struct scan_list
read_at(const char *text, const char *station)
{
	struct scan_list list;
	struct fault fault = { 0 };

	ck_assert_msg(scan_read(&list, "x.conf", text, station, &fault) == 0,
		      "%s: %s", text, fault.what);
	return list;
}

static struct scan_list
read_good(const char *text)
{
	return read_at(text, NULL);
}

START_TEST(test_forms)
{
	static const char text[] =
	    "# a comment\n"
	    "r1 : { stream = \"s\"; start = \"2026-11-20T10:00:00Z\";\n"
	    "       duration = \"5m\"; };\n"
	    "more = (\n"
	    "  { name = \"3c84+x\"; streams = [ \"a\", \"b\" ];\n"
	    "    start = \"2026y324d10h00m00s\";\n"
	    "    stop = \"2026y324d10h01m00s\"; priority = 7;\n"
	    "    arm = \"3s\"; send = \"tcp://c:1\"; },\n"
	    "  { name = \"d\"; stream = \"s\"; backlog = \"500ms\";\n"
	    "    start = \"@2026-11-20T10:00:00.5Z\"; duration = 1.5; }\n"
	    ");\n"
	    "none = ();\n";
	struct scan_list list = read_good(text);
	const struct scan *s;

	ck_assert_uint_eq(list.n, 3);
	s = list.scan[0];
	ck_assert_str_eq(s->name, "r1");
	ck_assert_str_eq(s->file, "x.conf");
	ck_assert_uint_eq(s->line, 2);
	ck_assert_int_eq(s->action, SCAN_RECORD);
	ck_assert_int_eq(s->start, INT64_C(1795168800000000000));
	ck_assert_int_eq(s->stop - s->start, INT64_C(300000000000));
	ck_assert_int_eq(s->arm, INT64_C(10000000000));
	ck_assert_int_eq(s->priority, 0);
	ck_assert(!s->data && !s->wrong && s->state == SCAN_WAITING);
	s = list.scan[1];
	ck_assert_str_eq(s->name, "3c84+x");
	ck_assert_uint_eq(s->streams, 2);
	ck_assert_str_eq(s->stream[1], "b");
	ck_assert_int_eq(s->start, list.scan[0]->start);
	ck_assert_int_eq(s->stop - s->start, INT64_C(60000000000));
	ck_assert_int_eq(s->priority, 7);
	ck_assert_int_eq(s->arm, INT64_C(3000000000));
	ck_assert_str_eq(s->send, "tcp://c:1");
	s = list.scan[2];
	ck_assert(s->data);
	ck_assert_int_eq(s->start - list.scan[0]->start, 500000000);
	ck_assert_int_eq(s->stop - s->start, 1500000000);
	ck_assert_int_eq(s->backlog, 500000000);
	scan_list_clear(&list);

	list = read_good("");
	ck_assert_uint_eq(list.n, 0);
	scan_list_clear(&list);
}
END_TEST

/* A slip costs its own scan only, and says where. */
START_TEST(test_slips)
{
	static const struct {
		const char *entry, *why;
	} slip[] = {
		{ "{ name = \"a\"; stream = \"s\"; " TIMES "duraton = 1; }",
		  "x.conf:2: unknown key 'duraton'; did you mean 'duration'" },
		{ "{ stream = \"s\"; " TIMES "}", "`name` is missing" },
		{ "{ name = \"a\"; " TIMES "}", "`stream` is missing" },
		{ "{ name = \"a\"; stream = \"s\"; }", "`start` is missing" },
		{ "{ name = \"a\"; stream = \"s\"; start = "
		  "\"2026-11-20T10:00:00Z\"; }",
		  "it has no end" },
		{ "{ name = \"a\"; stream = \"s\"; " TIMES
		  "stop = \"2026-11-20T10:05:00Z\"; }",
		  "both a stop and a duration" },
		{ "{ name = \"a\"; stream = \"s\"; start = "
		  "\"2026-11-20T10:00:00Z\"; stop = \"2026-11-20T09:59:00Z\"; "
		  "}",
		  "it ends before it begins" },
		{ "{ name = \"a\"; stream = \"s\"; start = "
		  "\"2026-11-20T10:00:00Z\"; stop = \"2026-11-20T10:00:00Z\"; "
		  "}",
		  "it ends when it begins" },
		{ "{ name = \"a\"; stream = \"s\"; start = "
		  "\"2026-11-20T10:00:00Z\"; duration = 0; }",
		  "its duration is no time at all" },
		{ "{ name = \"a\"; stream = \"s\"; start = "
		  "\"2026-11-20T10:00:00Z\"; duration = -5; }",
		  "duration cannot be -5" },
		{ "{ name = \"a\"; stream = \"s\"; start = "
		  "\"2026-11-20T10:00:00Z\"; duration = \"-5m\"; }",
		  "duration cannot be \"-5m\"" },
		{ "{ name = \"a\"; stream = \"s\"; start = "
		  "\"2026-11-20T10:00:00Z\"; duration = \"90000d\"; }",
		  "too far away" },
		{ "{ name = \"a\"; stream = \"s\"; start = \"+30s\"; duration "
		  "= 5; }",
		  "times in a file have to be absolute" },
		{ "{ name = \"a\"; stream = \"s\"; start = \"now\"; duration "
		  "= 5; }",
		  "is no time" },
		{ "{ name = \"a\"; stream = \"s\"; start = \"2026-02-30T10:00:"
		  "00Z\"; duration = 5; }",
		  "is no time" },
		{ "{ name = \"a\"; stream = \"s\"; start = "
		  "\"@2026-11-20T10:00:00Z\"; stop = \"2026-11-20T10:05:00Z\"; "
		  "}",
		  "both of the data" },
		{ "{ name = \"a\"; streams = [ \"s\", \"t\", \"s\" ]; " TIMES
		  "}",
		  "stream s is there twice" },
		{ "{ name = \"a\"; stream = \"s\"; streams = [ \"t\" ]; " TIMES
		  "}",
		  "both `stream` and `streams`" },
		{ "{ name = \"a\"; stream = \"s\"; action = \"erase\"; " TIMES
		  "}",
		  "action cannot be \"erase\"" },
		{ "{ name = \"a\"; action = \"send\"; " TIMES "}",
		  "`to` is missing" },
		{ "{ name = \"a\"; stream = \"s\"; to = \"tcp://c:1\"; " TIMES
		  "}",
		  "`to` is of send and relay" },
		{ "{ name = \"a\"; stream = \"s\"; action = \"send\"; to = "
		  "\"tcp://c:1\"; " TIMES "}",
		  "has no stream" },
		{ "{ name = \"a\"; stream = \"s\"; priority = -1; " TIMES "}",
		  "priority cannot be -1" },
		{ "{ name = \"___\"; stream = \"s\"; " TIMES "}",
		  "'___' makes no name" },
		{ "{ name = 7; stream = \"s\"; " TIMES "}",
		  "name cannot be 7" },
		{ "{ name = \"a\"; stream = \"s\"; arm = \"2h\"; " TIMES "}",
		  "arm cannot be" },
	};
	char text[1024];

	for (size_t i = 0; i < sizeof slip / sizeof *slip; i++) {
		struct scan_list list;

		snprintf(text, sizeof text,
			 "good = ( {name=\"g1\"; stream=\"s\"; " TIMES "},\n"
			 "%s,\n{name=\"g2\"; stream=\"s\"; " TIMES "});\n",
			 slip[i].entry);
		list = read_good(text);
		ck_assert_uint_eq(list.n, 3);
		ck_assert_msg(list.scan[1]->wrong &&
				  list.scan[1]->state == SCAN_REFUSED,
			      "%s", slip[i].entry);
		ck_assert_msg(strstr(list.scan[1]->why, slip[i].why) &&
				  !strncmp(list.scan[1]->why, "x.conf:2: ", 10),
			      "%s", list.scan[1]->why);
		ck_assert(list.scan[1]->name[0]);
		ck_assert(!list.scan[0]->wrong && !list.scan[2]->wrong);
		scan_list_clear(&list);
	}
}
END_TEST

/* What is no schedule at all: nothing of it counts. */
START_TEST(test_faults)
{
	static const struct {
		const char *text, *what;
	} bad[] = {
		{ R1 "}; r2 : { stream = \"s\"; start = \"2026", "x.conf:1" },
		{ R1, "x.conf:1" },
		{ R1 "};\n" R1 "};", "x.conf:2: a key that is already there" },
		{ R1 "};\nnumber = 7;", "x.conf:2: 'number' is no scan" },
		{ R1 "};\nlist = [ 1, 2 ];", "x.conf:2: 'list' is no scan" },
		{ R1 "};\nlist = ( { name = \"x\"; }, 5 );",
		  "x.conf:2: 'an element' is no scan" },
		{ "\n@include \"/etc/passwd\"\n", "@include is not possible" },
		{ "1r : { };", "x.conf:1" },
		{ "r+x : { };", "x.conf:1" },
		{ "a : { name = \"\xff\"; };", "UTF-8" },
	};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct scan_list list;
		struct fault fault = { 0 };

		ck_assert_int_eq(
		    scan_read(&list, "x.conf", bad[i].text, NULL, &fault),
		    -EINVAL);
		ck_assert_msg(strstr(fault.what, bad[i].what) != NULL, "%s: %s",
			      bad[i].text, fault.what);
		ck_assert_uint_eq(list.n, 0);
	}
}
END_TEST

START_TEST(test_names)
{
	static const char *const names[][2] = {
		{ "r4123_wz_123-0456", "r4123_wz_123-0456" },
		{ "3c84", "3c84" },
		{ "a b/c.d", "a-b-c-d" },
		{ "../../etc/passwd", "etc-passwd" },
		{ "_x", "x" },
		{ "+-x", "x" },
		{ "1234", "scan-1234" },
		{ "a_ds1", "a-ds1" },
		{ "a_ds_ds", "a-ds-ds" },
		{ "\xc3\xa4x", "x" },
		{ "x\xc3\xa4", "x--" },
		{ "", "" },
		{ "...", "" },
	};
	char good[SCAN_NAME], lng[300];

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		bool changed = scan_name_mend(good, names[i][0]);

		ck_assert_str_eq(good, names[i][1]);
		ck_assert(changed == !!strcmp(names[i][0], names[i][1]));
		ck_assert(!*good || layout_name_good(good));
	}
	memset(lng, 'x', sizeof lng - 1);
	lng[sizeof lng - 1] = 0;
	ck_assert(scan_name_mend(good, lng));
	ck_assert(layout_name_good(good));
	memset(lng, '7', 80); /* of which only digits are left */
	ck_assert(scan_name_mend(good, lng));
	ck_assert(layout_name_good(good));
	memset(lng, '7', sizeof lng - 1);
	ck_assert(scan_name_mend(good, lng));
	ck_assert(layout_name_good(good));
}
END_TEST

START_TEST(test_names_said)
{
	struct scan_list list = read_good("a = ( { name = \"r1 x\"; stream = "
					  "\"s\"; " TIMES "} );");

	ck_assert_str_eq(list.scan[0]->name, "r1-x");
	ck_assert(!list.scan[0]->wrong);
	ck_assert(strstr(list.scan[0]->why, "'r1 x'") != NULL);
	scan_list_clear(&list);
}
END_TEST

/* One file for all recorders: each takes the scans that are its own. */
START_TEST(test_stations)
{
	static const char text[] =
	    "a = (\n"
	    "  { name = \"all\"; stream = \"s\"; " TIMES "},\n"
	    "  { name = \"r1\"; station = \"Mh\"; stream = \"s\"; " TIMES "},\n"
	    "  { name = \"r1\"; station = \"Ef\"; stream = \"t\"; " TIMES "},\n"
	    "  { name = \"both\"; station = [ \"Ef\", \"Mh\" ];\n"
	    "    stream = \"s\"; " TIMES "},\n"
	    "  { name = \"slip\"; station = [ \"Ef\" ]; duraton = 1; }\n"
	    ");\n";
	struct scan_list list = read_at(text, "Mh");

	ck_assert_uint_eq(list.n, 3);
	ck_assert_uint_eq(list.others, 2);
	ck_assert_str_eq(list.scan[0]->name, "all");
	ck_assert_str_eq(list.scan[1]->name, "r1");
	ck_assert_str_eq(list.scan[1]->stream[0], "s");
	ck_assert_str_eq(list.scan[2]->name, "both");
	scan_list_clear(&list);

	/* A slip is told of where the scan would be recorded. */
	list = read_at(text, "Ef");
	ck_assert_uint_eq(list.n, 4);
	ck_assert_uint_eq(list.others, 1);
	ck_assert_str_eq(list.scan[1]->stream[0], "t");
	ck_assert(list.scan[3]->wrong && strstr(list.scan[3]->why, "duraton"));
	scan_list_clear(&list);

	/* Two letters in another case are another station. */
	list = read_at(text, "MH");
	ck_assert_uint_eq(list.n, 1);
	ck_assert_uint_eq(list.others, 4);
	scan_list_clear(&list);

	/* A recorder without a station neither records them all nor is silent. */
	list = read_at(text, NULL);
	ck_assert_uint_eq(list.n, 5);
	ck_assert_uint_eq(list.others, 0);
	ck_assert(!list.scan[0]->wrong);
	for (unsigned i = 1; i < 4; i++) {
		ck_assert(list.scan[i]->wrong);
		ck_assert(strstr(list.scan[i]->why, "nobody said which") !=
			  NULL);
	}
	scan_list_clear(&list);
}
END_TEST

START_TEST(test_stations_none)
{
	static const char *const none[] = {
		"\"\"", "[]", "()", "[ \"\" ]", "[ \"Ef\", \"\" ]", "7", "( 7 )"
	};
	char text[256];

	for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
		struct scan_list list;

		snprintf(text, sizeof text,
			 "a : { station = %s; stream = \"s\"; " TIMES "};",
			 none[i]);
		list = read_at(text, "Mh");
		ck_assert_msg(list.n == 1 && list.scan[0]->wrong &&
				  strstr(list.scan[0]->why, "station"),
			      "%s", text);
		scan_list_clear(&list);
	}
}
END_TEST

SUITE("scan_read", test_forms, test_slips, test_faults, test_names,
      test_names_said, test_stations, test_stations_none)
