/* SPDX-License-Identifier: MIT */
#include "lib/import_bench.h"
#include "lib/suite.h"

static struct import im;
static struct fault fault;

#define HEAD                                                                   \
	"VEX_rev = 1.5;\n"                                                     \
	"$GLOBAL;\n  ref $EXPER = X1;\n"                                       \
	"$EXPER;\n*\ndef X0;\n  exper_name = Wrong;\nenddef;\n"                \
	"def X1;\n  exper_name = Right;  * a comment; exper_name = No;\n"      \
	"  exper_description = \"a; *b: $SCHED; \\\"c\\\"\";\nenddef;\n"       \
	"$STATION;\ndef Ef;\n  ref $SITE = EFLSBERG;\nenddef;\n"               \
	"def EF;\nenddef;\ndef Wb;\nenddef;\n"                                 \
	"$SITE;\ndef EFLSBERG;\n  site_ID = Eb;\nenddef;\n"                    \
	"$SOURCE;\ndef 3C84;\n  ra = 03h19m48.1s; dec = 41d30'42.1\";\n"       \
	"enddef;\n"
#define SCAN(name, start)                                                      \
	"scan " name ";\n  start=" start "; mode=m; source=3C84;\n"
#define END    "endscan;\n"
#define START1 "2013y080d05h00m00s"
#define IS1    "2013-03-21T05:00:00Z"

START_TEST(one_station)
{
	static const char text[] = HEAD "$SCHED;\n" SCAN(
	    "No0001",
	    START1) "*          :data_good:data_stop:goto_foot: pass:  wrap "
		    ":driv\n"
		    "  station=Ef:   10 sec:  240 sec:  0.0 GB:   : &ccw : 1;\n"
		    "  station=Wb:    0 sec:   30 sec:  0.0 GB:   :      : "
		    "1;\n" END SCAN(
			"No0002",
			"2013y365d23h59m00s") "station = Ef : 0 min : 2 min : "
					      "0.0 GB : : : 1 : 2;\n" END;

	ck_assert_int_eq(bench_read(&im, &fault, text, "Ef"), 0);
	ck_assert_uint_eq(im.n, 2);
	ck_assert_uint_eq(im.notes, 0);
	bench_scan(&im, 0, "right_ef_no0001", "2013-03-21T05:00:10Z", 230);
	bench_scan(&im, 1, "right_ef_no0002", "2013-12-31T23:59:00Z", 120);
	ck_assert_int_eq(bench_read(&im, &fault, text, "Wb"), 0);
	ck_assert_uint_eq(im.n, 1);
	bench_scan(&im, 0, "right_wb_no0001", IS1, 30);
}
END_TEST

START_TEST(which_station)
{
	static const char text[] = HEAD
	    "$SCHED;\n" SCAN("a", START1) "station=Ef:0 sec:9 sec:::: 1;\n"
					  "station=EF:0 sec:8 sec:::: 1;\n"
					  "station=Wb:0 sec:7 sec:::: 1;\n" END;

	/* Codes differ by case alone. */
	ck_assert_int_eq(bench_read(&im, &fault, text, "EF"), 0);
	ck_assert_uint_eq(im.n, 1);
	bench_scan(&im, 0, "right_ef_a", IS1, 8);
	bench_fails(&im, text, "wb",
		    "it has Ef, EF, Wb; did you mean --station Wb?");
	bench_fails(&im, text, NULL, "scans of which station?");
	bench_fails(&im, text, NULL, "Ef, EF, Wb");
	/* A site's ID and name lead to the station there. */
	ck_assert_int_eq(bench_read(&im, &fault, text, "Eb"), 0);
	bench_scan(&im, 0, "right_ef_a", IS1, 9);
	ck_assert_int_eq(bench_read(&im, &fault, text, "EFLSBERG"), 0);
	bench_scan(&im, 0, "right_ef_a", IS1, 9);
	/* Where there is one only, it is the one. */
	ck_assert_int_eq(bench_read(&im, &fault,
				    "VEX_rev=1.5;$SCHED;scan a;start=" START1
				    ";station=Xx:0 sec:9 sec;endscan;",
				    NULL),
			 0);
	bench_scan(&im, 0, "xx_a", IS1, 9);
}
END_TEST

START_TEST(drive_0_records_nothing)
{
	ck_assert_int_eq(
	    bench_read(
		&im, &fault,
		HEAD
		"$SCHED;" SCAN("a", START1) "station=Ef:0 sec:9 sec::::0;" END
		    SCAN("b", START1) "station=Ef:0 sec:9 sec:::: 0 : 1;" END
			SCAN("c", START1) "station=Ef:0 sec:9 sec;" END SCAN(
			    "d", START1) "station=Ef:0 sec:9 sec::::;" END,
		"Ef"),
	    0);
	ck_assert_uint_eq(im.n, 3);
	bench_scan(&im, 0, "right_ef_b", IS1, 9);
	bench_scan(&im, 1, "right_ef_c", IS1, 9);
	bench_scan(&im, 2, "right_ef_d", IS1, 9);
	bench_fails(
	    &im,
	    HEAD "$SCHED;" SCAN("a", START1) "station=Ef:0 sec:9 sec::::0;" END,
	    "Ef", "asks for no recording");
}
END_TEST

START_TEST(revision_2)
{
	ck_assert_int_eq(
	    bench_read(&im, &fault,
		       "VEX_rev = 2.0;\n$GLOBAL;\nref $EXPER = N17C3;\n"
		       "$EXPER;\ndef N17C3;\nexper_name = N17C3 : C;\nenddef;\n"
		       "$SCHED;\nscan No0001;\n"
		       "  station = Ef : 0 sec : 600 sec : 0.000 GB : :"
		       " &ccw : 1;\n"
		       "  intent = : REFERENCE_POINTING : True ;\n"
		       "  source = 3C84 : 1 : 1; source = 3C85;\n"
		       "  data_transfer = Ef : eth : \"x; y\" : 0 sec : 9 sec"
		       ";\n  start = " START1 ";\nendscan;\n",
		       "Ef"),
	    0);
	ck_assert_uint_eq(im.n, 1);
	bench_scan(&im, 0, "n17c3_ef_no0001", IS1, 600);
}
END_TEST

START_TEST(literal_text_is_skipped)
{
	ck_assert_int_eq(
	    bench_read(&im, &fault,
		       HEAD "$LITERALS;\nstart_literal( );\n"
			    "$SCHED; \" unbalanced * ; scan x;\n"
			    "end_literal( );\n$SCHED;\n" SCAN(
				"a", START1) "station=Ef:0 sec:9 sec;" END,
		       "Ef"),
	    0);
	ck_assert_uint_eq(im.n, 1);
	bench_scan(&im, 0, "right_ef_a", IS1, 9);
}
END_TEST

START_TEST(carriage_returns_and_case)
{
	ck_assert_int_eq(
	    bench_read(&im, &fault,
		       "* first a comment\r\nvex_rev = 1.5b;\r\n$Sched;\r\n"
		       "Scan\ta;\r\nStart=" START1 ";\r\nSTATION=Ef:\r\n"
		       "* between\r\n 0 sec:\r\n9 sec;\r\nEndscan;\r\n",
		       "Ef"),
	    0);
	ck_assert_uint_eq(im.n, 1);
	bench_scan(&im, 0, "ef_a", IS1, 9);
	ck_assert_uint_eq(im.scan[0].line, 6);
}
END_TEST

#define EF(name, start, times)                                                 \
	"scan " name ";\n" start "station=Ef:" times ";\nendscan;\n"
#define AT(start) "start=" start ";"

START_TEST(what_is_left_out)
{
	static const char text[] = HEAD "$SCHED;\n"  /* */
	    EF("a", AT(START1), "9 sec:9 sec")	     /* no time at all */
	    EF("b", AT(START1), "9 sec:2 sec")	     /* backwards */
	    EF("c", "", "0 sec:9 sec")		     /* no start */
	    EF("d", AT(START1), "0 sec")	     /* no end */
	    EF("e", AT(START1), "0 sec:9 parsec")    /* no unit of time */
	    EF("g", AT("12:30:00"), "0 sec:9 sec")   /* no time of VEX */
	    EF("h", AT("1970y001d"), "-9 sec:9 sec") /* before all time */
	    EF("f", AT(START1), "0 sec:9 sec;station=Ef:20 sec:30 sec");

	ck_assert_int_eq(bench_read(&im, &fault, text, "Ef"), 0);
	ck_assert_uint_eq(im.left_out, 7);
	ck_assert_uint_eq(im.n, 2);
	bench_scan(&im, 0, "right_ef_f", IS1, 9);
	bench_scan(&im, 1, "right_ef_f-2", "2013-03-21T05:00:20Z", 10);
	ck_assert(
	    bench_noted(&im, "scan a is left out: it stops when it starts"));
	ck_assert(bench_noted(&im, "scan b is left out: it stops before"));
	ck_assert(bench_noted(&im, "scan c is left out: it has no start"));
	ck_assert(
	    bench_noted(&im, "scan d is left out: it does not say from when"));
	ck_assert(
	    bench_noted(&im, "scan e is left out: it does not say from when"));
	ck_assert(bench_noted(&im, "scan g is left out: it has no start"));
	ck_assert(
	    bench_noted(&im, "scan h is left out: it starts before 1970"));
}
END_TEST

START_TEST(what_is_wrong_has_a_line)
{
	bench_fails(&im,
		    "VEX_rev = 1.5;\n$SCHED;\nscan a;\nstart=" START1 ";\n",
		    "Ef", "f:3: this scan is not ended by endscan");
	bench_fails(&im, "VEX_rev = 1.5;\n$SCHED;\nscan a;\nscan b;\n", "Ef",
		    "f:3: this scan is not ended");
	bench_fails(&im, "VEX_rev = 1.5;\n$SCHED;\nscan a;\n$EOP;\n", "Ef",
		    "f:3: this scan is not ended");
	bench_fails(&im,
		    "VEX_rev = 1.5;\n$EXPER;\ndef a;\nname = \"x;\nenddef;\n",
		    "Ef", "f:4: the string is not ended");
	bench_fails(&im, "VEX_rev = 1.5;\nname = \"x", "Ef", "f:2: the string");
	bench_fails(&im, "VEX_rev = 1.5;\nname = \"x;\nother = \"y\";\n", "Ef",
		    "f:2: the string is not ended");
	bench_fails(&im, "VEX_rev = 1.5;\n\n$SCHED", "Ef",
		    "f:3: this is not ended by ';'");
	bench_fails(&im, "VEX_rev = 1.5;\nstart_literal();\n$SCHED;\n", "Ef",
		    "f:2: this text is not ended by end_literal");
	bench_fails(&im, "VEX_rev = 1.5;\n", "Ef", "it has no $SCHED block");
	bench_fails(&im, "VEX_rev = 1.5;$SCHED;\n", "Ef",
		    "asks for no recording");
}
END_TEST

START_TEST(hostile)
{
	static char text[1 << 20];

	memset(text, ':', sizeof text - 1);
	memcpy(text, "VEX_rev=", 8);
	bench_fails(&im, text, "Ef", "too long without a ';'");
	memset(text + 8, '"', sizeof text - 9);
	bench_fails(&im, text, "Ef", "f:1: the string is not ended");
	memset(text + 8, 'x', sizeof text - 9);
	text[8] = '"';
	bench_fails(&im, text, "Ef", "this string is too long");
	memset(text + 8, ';', sizeof text - 9);
	bench_fails(&im, text, "Ef", "no $SCHED");
	memset(text + 8, '*', sizeof text - 9);
	bench_fails(&im, text, "Ef", "not ended by ';'");
	/* Blanks take no room, however many. */
	memset(text + 8, ' ', sizeof text - 9);
	bench_fails(&im, text, "Ef", "f:1: this is not ended by ';'");
}
END_TEST

SUITE("import_vex", one_station, which_station, drive_0_records_nothing,
      revision_2, literal_text_is_skipped, carriage_returns_and_case,
      what_is_left_out, what_is_wrong_has_a_line, hostile)
