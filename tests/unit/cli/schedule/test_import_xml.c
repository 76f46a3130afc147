/* SPDX-License-Identifier: MIT */
#include "lib/import_bench.h"
#include "lib/suite.h"

static struct import im;
static struct fault fault;

#define SCAN(st, start, length, name)                                          \
	"<scan experiment=\"e18c21\" source=\"M87\" station_code=\"" st        \
	"\" start_time=\"" start "\" duration=\"" length                       \
	"\" scan_name=\"" name "\"/>\n"
#define ROOT "<experiment name=\"e18c21\" station=\"Ax\">\n"
#define END  "</experiment>\n"

START_TEST(scans)
{
	static const char text[] = "<?xml version=\"1.0\"?>\n" ROOT SCAN(
	    "Ax", "2018110235800", "300", "110-2358")
	    SCAN("Ax", "2018365235900", "240", "365-2359") END;

	ck_assert_int_eq(bench_read(&im, &fault, text, NULL), 0);
	ck_assert_uint_eq(im.n, 2);
	ck_assert_uint_eq(im.notes, 0);
	bench_scan(&im, 0, "e18c21_ax_110-2358", "2018-04-20T23:58:00Z", 300);
	bench_scan(&im, 1, "e18c21_ax_365-2359", "2018-12-31T23:59:00Z", 240);
	ck_assert_uint_eq(im.scan[1].line, 4);
	ck_assert_int_eq(bench_read(&im, &fault, text, "ax"), 0);
	bench_fails(&im, text, "Ef", "it has Ax");
}
END_TEST

START_TEST(what_a_scan_leaves_out_the_root_has)
{
	ck_assert_int_eq(
	    bench_read(&im, &fault,
		       ROOT "<scan start_time='2018110235800' duration='9'/>"
			    "<scan start_time='2018110235900' duration='9'"
			    " scan_name='3C454.3'/>" END,
		       "Ax"),
	    0);
	bench_scan(&im, 0, "e18c21_ax_2018110235800", "2018-04-20T23:58:00Z",
		   9);
	bench_scan(&im, 1, "e18c21_ax_3c454-3", "2018-04-20T23:59:00Z", 9);
	ck_assert(bench_noted(&im,
			      "cannot be called e18c21_Ax_3C454.3: it will be "
			      "e18c21_ax_3c454-3"));
}
END_TEST

START_TEST(two_stations)
{
	static const char text[] = ROOT SCAN("Ax", "2018110235800", "5", "a")
	    SCAN("AX", "2018110235900", "5", "b")
		SCAN("Aa", "2018111235800", "5", "c") END;

	bench_fails(&im, text, NULL, "scans of which station?: it has AX, Aa");
	ck_assert_int_eq(bench_read(&im, &fault, text, "Aa"), 0);
	ck_assert_uint_eq(im.n, 1);
	ck_assert_int_eq(bench_read(&im, &fault, text, "Ax"), 0);
	ck_assert_uint_eq(im.n, 2);
}
END_TEST

START_TEST(what_is_left_out)
{
	ck_assert_int_eq(
	    bench_read(&im, &fault,
		       ROOT SCAN("Ax", "2018110235800", "0",
				 "a") SCAN("Ax", "2018110235800", "-5", "b")
			   SCAN("Ax", "2018400235800", "5", "c") SCAN(
			       "Ax", "2018110235800", "5", "d") "<scan/>" END,
		       NULL),
	    0);
	ck_assert_uint_eq(im.n, 1);
	ck_assert_uint_eq(im.left_out, 4);
	ck_assert(bench_noted(&im, "f:2: scan a is left out"));
}
END_TEST

START_TEST(what_is_wrong_has_a_line)
{
	static char deep[4 << 20];

	bench_fails(&im, ROOT "<scan\n", NULL, "f:2: unclosed token");
	bench_fails(&im, ROOT "\n<a></b>", NULL, "f:3: mismatched tag");
	bench_fails(&im, "<x/>", NULL, "it has no <scan>");
	bench_fails(&im, "<a><SCHED/></a>", NULL, "dump of a VEX file");
	bench_fails(&im, "<", NULL, "f:1: ");
	for (size_t i = 0; i + 4 < sizeof deep; i += 3)
		memcpy(deep + i, "<a>", 4);
	bench_fails(&im, deep, NULL, "nested too deeply");
	memset(deep, 'x', sizeof deep - 1);
	deep[0] = '<';
	bench_fails(&im, deep, NULL, "f:1: ");
}
END_TEST

/* What makes a few bytes into gigabytes is not even begun with. */
START_TEST(entities_are_refused)
{
	bench_fails(&im,
		    "<!DOCTYPE a [<!ENTITY b \"bbbb\"><!ENTITY c \"&b;&b;\">]>"
		    "<a>&c;</a>",
		    NULL, "no document type");
	bench_fails(&im, "<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><a/>", NULL,
		    "no document type");
}
END_TEST

SUITE("import_xml", scans, what_a_scan_leaves_out_the_root_has, two_stations,
      what_is_left_out, what_is_wrong_has_a_line, entities_are_refused)
