/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "lib/import_bench.h"
#include "lib/suite.h"

static struct import im;
static struct fault fault;

#define HEAD                                                                   \
	"\" r4123     2015 WETTZELL  V Wz\n"                                   \
	"\" drudg version 2015Aug31 compiled under FS  0.00.00\n"
#define SCAN(name) "scan_name=" name ",r4123,wz,60,60\nsetup01\n"
#define ON	   "disk_record=on\ndisk_record\ndata_valid=on\nmidob\n"
#define OFF	   "data_valid=off\ndisk_record=off\npostob\n"
#define AT(time)   "!2015.079." time "\n"
#define DAY	   "2015-03-20T"

START_TEST(recorder)
{
	ck_assert_int_eq(bench_read(&im, &fault,
				    HEAD SCAN("079-1230")
					AT("12:29:50") "preob\n" AT("12:30:00")
					    ON AT("12:31:00") OFF
				    "checkfb\n" SCAN("079-1240") AT("12:40:00")
					ON AT("12:42:30") OFF,
				    NULL),
			 0);
	ck_assert_uint_eq(im.n, 2);
	ck_assert_uint_eq(im.notes, 0);
	bench_scan(&im, 0, "r4123_wz_079-1230", DAY "12:30:00Z", 60);
	bench_scan(&im, 1, "r4123_wz_079-1240", DAY "12:40:00Z", 150);
	ck_assert_str_eq(im.experiment, "r4123");
	ck_assert_uint_eq(im.scan[0].line, 3);
}
END_TEST

/* It runs from before the data are valid until after. */
START_TEST(recorder_wins_over_valid_data)
{
	ck_assert_int_eq(
	    bench_read(
		&im, &fault,
		SCAN("a") AT("12:29:50") "disk_record=on\n" AT(
		    "12"
		    ":3"
		    "0:"
		    "0"
		    "0") "data_valid=on\n" AT("12:31:00") "data_valid="
							  "off\n!+"
							  "2s\nfb="
							  "record=off;"
							  "\n" SCAN("b") AT(
							      "13:00:"
							      "00") "data_"
								    "valid="
								    "on\n" AT(
									"13:"
									"01:"
									"00") "data_valid=off\n",
		NULL),
	    0);
	ck_assert_uint_eq(im.n, 1);
	bench_scan(&im, 0, "r4123_wz_a", DAY "12:29:50Z", 72);
}
END_TEST

START_TEST(valid_data_alone)
{
	ck_assert_int_eq(bench_read(&im, &fault,
				    SCAN("a")
					AT("12:30:00") "data_valid=on\n" AT(
					    "12:31:00") "data_valid=off\n",
				    "WZ"),
			 0);
	bench_scan(&im, 0, "r4123_wz_a", DAY "12:30:00Z", 60);
	ck_assert_int_eq(bench_read(&im, &fault,
				    SCAN("a") AT("12:30:00") "midob\n" AT(
					"12:31:00") "postob\n",
				    NULL),
			 0);
	bench_scan(&im, 0, "r4123_wz_a", DAY "12:30:00Z", 60);
	ck_assert(bench_noted(&im, "midob to postob"));
}
END_TEST

START_TEST(mark5_and_others)
{
	static const char *const name[] = { "mk5", "mk6", "fb", "MK5" };
	char text[512];

	for (int i = 0; i < 4; i++) {
		snprintf(text, sizeof text,
			 SCAN("No0001")
			     AT("12:30:00") "%s=record=on:x_wz;\n"
					    "data_valid=on\n" AT(
						"12:31:00") "data_valid=off\n%"
							    "s=record=off;\n",
			 name[i], name[i]);
		ck_assert_int_eq(bench_read(&im, &fault, text, NULL), 0);
		ck_assert_uint_eq(im.n, 1);
		bench_scan(&im, 0, "r4123_wz_no0001", DAY "12:30:00Z", 60);
	}
	/* Questions switch nothing. */
	bench_fails(&im,
		    SCAN("a") AT("12:30:00") "mk5=record?\ndisk_record\n" AT(
			"12:31:00") "disk_record=off\n",
		    NULL, "asks for no recording");
}
END_TEST

START_TEST(case_blanks_and_carriage_returns)
{
	ck_assert_int_eq(
	    bench_read(&im, &fault,
		       "\xef\xbb\xbf\" comment\r\n  SCAN_NAME = No0001 , "
		       "R4123 , WZ , 60\r\n! 2015.079.12:30:00 \r\n"
		       "\tDisk_Record = ON\r\n\"disk_record=off\r\n"
		       "!2015.079.12:31:00\r\nDISK_RECORD=OFF",
		       "wz"),
	    0);
	ck_assert_uint_eq(im.n, 1);
	bench_scan(&im, 0, "r4123_wz_no0001", DAY "12:30:00Z", 60);
}
END_TEST

START_TEST(waits_of_all_sorts)
{
	/* Over midnight and New Year, relative, marked, and one that is
	 * over by the time it is reached. */
	ck_assert_int_eq(
	    bench_read(&im, &fault,
		       "scan_name=a,x,y\n!2026.365.23:59:50\ndisk_record=on\n"
		       "!00:00:10\ndisk_record=off\n"
		       "scan_name=b,x,y\n!+50s\ndisk_record=on\n!*\n!+5s\n"
		       "!*+1m\ndisk_record=off\n"
		       "scan_name=c,x,y\n!001.00:02:30\ndisk_record=on\n"
		       "!+90s\n!2027.001.00:03:00\ndisk_record=off\n",
		       NULL),
	    0);
	ck_assert_uint_eq(im.n, 3);
	bench_scan(&im, 0, "x_y_a", "2026-12-31T23:59:50Z", 20);
	bench_scan(&im, 1, "x_y_b", "2027-01-01T00:01:00Z", 60);
	bench_scan(&im, 2, "x_y_c", "2027-01-01T00:02:30Z", 90);
	ck_assert_uint_eq(im.notes, 0);
}
END_TEST

START_TEST(waits_never_go_back)
{
	ck_assert_int_eq(bench_read(&im, &fault,
				    SCAN("a") "!*\n" AT("12:30:00") ON
				    "!*\n!+2m\n!*+1m\n" OFF,
				    NULL),
			 0);
	bench_scan(&im, 0, "r4123_wz_a", DAY "12:30:00Z", 120);
	/* Nor to where a length could not be counted any more. */
	bench_fails(
	    &im,
	    "scan_name=a,x,y,999999999\n!2199.365.00:00:00\n!+20000d\n" ON OFF,
	    NULL, "none of the 1 scans");
	ck_assert(bench_noted(&im, "!+20000d cannot be read"));
}
END_TEST

/* It may be said twice. */
START_TEST(on_while_on)
{
	ck_assert_int_eq(
	    bench_read(&im, &fault,
		       SCAN("a") AT("12:30:00")
			   ON AT("12:30:30") "mk5=record=on:a;\n" AT("12:31:00")
			       OFF "fb=record=off\n",
		       NULL),
	    0);
	ck_assert_uint_eq(im.n, 1);
	ck_assert_uint_eq(im.notes, 0);
	bench_scan(&im, 0, "r4123_wz_a", DAY "12:30:00Z", 60);
}
END_TEST

START_TEST(several_recordings_of_a_scan)
{
	ck_assert_int_eq(bench_read(&im, &fault,
				    SCAN("a") AT("12:30:00") ON AT("12:31:00")
					OFF AT("12:32:00") ON AT("12:33:00")
					    OFF,
				    NULL),
			 0);
	ck_assert_uint_eq(im.n, 2);
	bench_scan(&im, 0, "r4123_wz_a", DAY "12:30:00Z", 60);
	bench_scan(&im, 1, "r4123_wz_a-2", DAY "12:32:00Z", 60);
	ck_assert(bench_noted(&im, "another scan has that name"));
}
END_TEST

START_TEST(recording_on_from_scan_to_scan)
{
	ck_assert_int_eq(
	    bench_read(&im, &fault,
		       SCAN("a") AT("12:30:00")
			   ON AT("12:31:00") "data_valid=off\n" SCAN("b")
			       AT("12:32:00") "data_valid=on\n" AT(
				   "12:33:00") "data_valid=off\n" SCAN("c")
				   AT("12:34:00")
				       AT("12:35:00") "disk_record=off\n",
		       NULL),
	    0);
	ck_assert_uint_eq(im.n, 3);
	bench_scan(&im, 0, "r4123_wz_a", DAY "12:30:00Z", 60);
	bench_scan(&im, 1, "r4123_wz_b", DAY "12:31:00Z", 120);
	bench_scan(&im, 2, "r4123_wz_c", DAY "12:33:00Z", 120);
	ck_assert(bench_noted(&im, "records on from scan to scan"));
	ck_assert(!bench_noted(&im, "not ended"));
}
END_TEST

START_TEST(forgotten_ends)
{
	ck_assert_int_eq(bench_read(&im, &fault,
				    SCAN("a") AT("12:30:00") ON AT("12:31:00")
					SCAN("b") AT("12:40:00")
					    ON AT("12:41:00"),
				    NULL),
			 0);
	ck_assert_uint_eq(im.n, 2);
	bench_scan(&im, 0, "r4123_wz_a", DAY "12:30:00Z", 60);
	bench_scan(&im, 1, "r4123_wz_b", DAY "12:40:00Z", 60);
	ck_assert(bench_noted(&im, "before this one is not ended"));
	ck_assert(bench_noted(&im, "file's last wait"));
	/* An "off" that comes late is one all the same. */
	ck_assert_int_eq(bench_read(&im, &fault,
				    SCAN("a") AT("12:30:00") ON AT("12:31:00")
					SCAN("b") OFF,
				    NULL),
			 0);
	ck_assert_uint_eq(im.n, 1);
	bench_scan(&im, 0, "r4123_wz_a", DAY "12:30:00Z", 60);
	/* Without any wait the scan's own length has to do. */
	ck_assert_int_eq(
	    bench_read(&im, &fault, AT("12:30:00") SCAN("a") ON OFF, NULL), 0);
	bench_scan(&im, 0, "r4123_wz_a", DAY "12:30:00Z", 60);
	ck_assert(bench_noted(&im, "its length is that of its scan_name="));
}
END_TEST

START_TEST(what_is_left_out)
{
	ck_assert_int_eq(
	    bench_read(&im, &fault,
		       "scan_name=a,x,y\n" AT("12:30:00") ON OFF
		       "scan_name=b,x,y\n!nonsense\n" ON "!+60s\n" OFF
		       "scan_name=c,x,y\n" AT("12:40:00") ON AT("12:41:00") OFF,
		       NULL),
	    0);
	ck_assert_uint_eq(im.n, 1);
	ck_assert_uint_eq(im.left_out, 2);
	bench_scan(&im, 0, "x_y_c", DAY "12:40:00Z", 60);
	ck_assert(bench_noted(&im, "f:1: scan a is left out"));
	ck_assert(bench_noted(&im, "!nonsense cannot be read"));
	ck_assert(bench_noted(&im, "no !YYYY.DDD.HH:MM:SS says when"));
}
END_TEST

START_TEST(time_that_goes_back)
{
	ck_assert_int_eq(bench_read(&im, &fault,
				    SCAN("b") AT("12:40:00") ON AT("12:41:00")
					OFF SCAN("a") AT("12:30:00")
					    ON AT("12:31:00") OFF,
				    NULL),
			 0);
	ck_assert_uint_eq(im.n, 2);
	bench_scan(&im, 0, "r4123_wz_a", DAY "12:30:00Z", 60);
	bench_scan(&im, 1, "r4123_wz_b", DAY "12:40:00Z", 60);
	ck_assert(bench_noted(&im, "the time goes back"));
}
END_TEST

START_TEST(names_come_from_where_they_are)
{
	/* scan_name= with fields left out: the header's comment has them. */
	ck_assert_int_eq(bench_read(&im, &fault,
				    HEAD "scan_name=a\n" AT("12:30:00")
					ON AT("12:31:00") OFF,
				    NULL),
			 0);
	bench_scan(&im, 0, "r4123_wz_a", DAY "12:30:00Z", 60);
	/* No scan_name=: the time is its name, as drudg makes them. */
	ck_assert_int_eq(bench_read(&im, &fault,
				    HEAD AT("12:30:00") ON AT("12:31:00") OFF,
				    NULL),
			 0);
	bench_scan(&im, 0, "r4123_wz_079-1230", DAY "12:30:00Z", 60);
	/* The year is the header's. */
	ck_assert_int_eq(bench_read(&im, &fault,
				    HEAD "scan_name=a\n!079.12:30:00\n" ON
					 "!12:31:00\n" OFF,
				    NULL),
			 0);
	bench_scan(&im, 0, "r4123_wz_a", DAY "12:30:00Z", 60);
}
END_TEST

START_TEST(another_station)
{
	bench_fails(&im, HEAD SCAN("a") AT("12:30:00") ON AT("12:31:00") OFF,
		    "Ef", "f has no scans of station Ef: it has wz");
}
END_TEST

START_TEST(overlaps)
{
	ck_assert_int_eq(bench_read(&im, &fault,
				    SCAN("a") AT("12:30:00") ON AT("12:31:00")
					OFF SCAN("b") AT("12:30:50")
					    ON AT("12:32:00") OFF,
				    NULL),
			 0);
	ck_assert(
	    bench_noted(&im, "r4123_wz_b begins 10s before r4123_wz_a ends"));
}
END_TEST

START_TEST(long_and_hostile_lines)
{
	static char text[1 << 20];

	/* Lines without end, commas without end, nothing but waits. */
	memset(text, ',', sizeof text - 1);
	memcpy(text, "scan_name=", 10);
	bench_fails(&im, text, NULL, "asks for no recording");
	memset(text, 'x', sizeof text - 1);
	memcpy(text, "scan_name=", 10);
	strcpy(text + 1000, "\n" AT("12:30:00") ON AT("12:31:00") OFF);
	ck_assert_int_eq(bench_read(&im, &fault, text, NULL), 0);
	ck_assert_uint_eq(strlen(im.scan[0].name), LAYOUT_NAME);
	for (size_t i = 0; i + 9 < sizeof text; i += 8)
		memcpy(text + i, "!+9999d\n", 9);
	memcpy(text, "scan_name=\n", 11);
	bench_fails(&im, text, NULL, "asks for no recording");
	ck_assert(bench_noted(&im, "cannot be read"));
}
END_TEST

SUITE("import_snp", recorder, recorder_wins_over_valid_data, valid_data_alone,
      mark5_and_others, case_blanks_and_carriage_returns, waits_of_all_sorts,
      waits_never_go_back, on_while_on, several_recordings_of_a_scan,
      recording_on_from_scan_to_scan, forgotten_ends, what_is_left_out,
      time_that_goes_back, names_come_from_where_they_are, another_station,
      overlaps, long_and_hostile_lines)
