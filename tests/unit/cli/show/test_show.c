/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/show/show.h"
#include "lib/suite.h"

static char text[SHOW_PERCENT];

START_TEST(percent)
{
	ck_assert_str_eq(show_percent(text, 0, 0), "0 %");
	ck_assert_str_eq(show_percent(text, 0, 100), "0 %");
	ck_assert_str_eq(show_percent(text, 1, 4), "25.0000 %");
	ck_assert_str_eq(show_percent(text, 12, 156250), "0.0077 %");
	ck_assert_str_eq(show_percent(text, 1, UINT64_MAX), "< 0.0001 %");
	ck_assert_str_eq(show_percent(text, 7, 7), "100.0000 %");
}
END_TEST

static bool all;

/* What show_info prints of an INFO. */
static const char *
shown(const char *info)
{
	static char out[4096];
	json_t *json = json_loads(info, 0, NULL);
	FILE *to = tmpfile();
	size_t n;

	ck_assert_ptr_nonnull(json);
	ck_assert_ptr_nonnull(to);
	fflush(stdout);
	ck_assert_int_ge(dup2(fileno(to), STDOUT_FILENO), 0);
	show_info(json, all);
	fflush(stdout);
	rewind(to);
	n = fread(out, 1, sizeof out - 1, to);
	out[n] = '\0';
	fclose(to);
	json_decref(json);
	return out;
}

START_TEST(info)
{
	ck_assert_str_eq(
	    shown("{\"name\":\"t1\",\"state\":\"complete\",\"stream\":\"a\","
		  "\"format\":\"vdif\",\"start\":\"2026-11-20T10:00:00Z\","
		  "\"end\":\"2026-11-20T10:00:04Z\",\"bytes\":1048576,"
		  "\"payload\":8032,\"packets\":99,\"packets_lost\":1,"
		  "\"packets_late\":2,\"packets_duplicate\":0,"
		  "\"drops\":{\"late\":2,\"foreign\":0,\"no_buffer\":5,"
		  "\"before_start\":47295},"
		  "\"runs\":[{}],\"disks\":[{\"path\":\"/d0\",\"chunks\":3,"
		  "\"bytes\":1024}]}"),
	    "t1\n"
	    "  state    complete\n"
	    "  stream   a, vdif\n"
	    "  start    2026-11-20T10:00:00.000Z\n"
	    "  length   4s\n"
	    "  size     1.0 MiB, in packets of 8032 bytes\n"
	    "  lost     1 of 100 packets, 1.0000 %\n"
	    "  late     2\n"
	    "  dropped  2 late, 5 no_buffer\n"
	    "  early    47295 packets came before the start\n"
	    "  disk  chunks     size\n"
	    "  /d0        3  1.0 KiB\n");
}
END_TEST

#define CLOCK(keys)                                                            \
	shown("{\"name\":\"t1\",\"state\":\"complete\",\"format\":"            \
	      "\"vdif\"," keys "}")

START_TEST(clocks)
{
	ck_assert_ptr_null(strstr(CLOCK("\"clock_s\":null"), "clock"));
	ck_assert_ptr_nonnull(
	    strstr(CLOCK("\"clock_s\":-0.2,\"clock_stamps\":\"kernel\""),
		   "  clock   0.2000 s ahead of arrival\n"));
	ck_assert_ptr_nonnull(
	    strstr(CLOCK("\"clock_s\":0.00012,\"clock_spread_s\":0.00001,"
			 "\"clock_stamps\":\"read\",\"clock\":\"it is wrong\""),
		   "  clock   0.0001 s behind arrival, +-0.010 ms from second "
		   "to second; packets have no time stamps: up to 2 ms less\n"
		   "          it is wrong\n"));
}
END_TEST

START_TEST(runs)
{
	const char *out =
	    shown("{\"name\":\"t1\",\"runs\":["
		  "{\"run\":0,\"base\":\"100\",\"first\":5,\"packets\":7},"
		  "{\"run\":1,\"base\":\"18446744073709551600\",\"first\":0,"
		  "\"packets\":8,\"packets_lost\":2}]}");

	ck_assert_ptr_nonnull(strstr(out, "2: the sender's counter began"));
	ck_assert_ptr_nonnull(strstr(out, "    0                   105"));
	ck_assert_ptr_nonnull(strstr(out, "    1  18446744073709551600"));
}
END_TEST

/* Of n, 17 is silent, 3 lost some, and 5 began anew. */
static const char *
shown_subs(unsigned n)
{
	json_t *subs = json_array(), *json;
	const char *out;
	char *dump;

	for (unsigned i = 0; i < n; i++)
		json_array_append_new(
		    subs, json_pack("{s:i s:i s:i s:i s:i}", "sub", i,
				    "packets", i == 17 ? 0 : 100 + i,
				    "packets_lost", i == 3 ? 5 : 0, "bytes",
				    4096, "runs", i == 5 ? 2 : i != 17));
	json = json_pack("{s:s s:s s:i s:o s:[{s:i s:i s:i}]}", "name", "t1",
			 "store", "cube", "payload", 34, "subs", subs, "runs",
			 "sub", 5, "run", 1, "packets", 777);
	dump = json_dumps(json, 0);
	out = shown(dump);
	free(dump);
	json_decref(json);
	return out;
}

/* Is there a row of this substream?  Its number is right-aligned. */
static bool
has_row(const char *out, unsigned sub)
{
	char row[32];

	snprintf(row, sizeof row, "\n  %9u  ", sub);
	return strstr(out, row);
}

START_TEST(substreams)
{
	const char *out = shown_subs(20);

	ck_assert_ptr_nonnull(strstr(out, "of items of 34 bytes"));
	ck_assert_ptr_nonnull(strstr(out, "  substreams  20, of which 1 "));
	ck_assert_ptr_nonnull(strstr(out, "the counters of 1 substreams"));
	/* The worst first, ten of them. */
	ck_assert(has_row(out, 17) && has_row(out, 3) && has_row(out, 8));
	ck_assert(!has_row(out, 9) && !has_row(out, 19));
	ck_assert(strstr(out, "       17  ") < strstr(out, "    103  "));
	ck_assert_ptr_nonnull(strstr(out, "and 10 that are no worse"));
	ck_assert_ptr_null(strstr(out, "777"));
	all = true;
	out = shown_subs(20);
	ck_assert(has_row(out, 0) && has_row(out, 17) && has_row(out, 19));
	ck_assert(strstr(out, "    103  ") < strstr(out, "       17  "));
	ck_assert_ptr_null(strstr(out, "no worse"));
	ck_assert_ptr_nonnull(strstr(out, "777"));
	all = false;
	ck_assert_ptr_null(strstr(shown_subs(1), "substream"));
}
END_TEST

/* As the daemon tells it of one that runs. */
START_TEST(substreams_that_run)
{
	const char *out =
	    shown("{\"name\":\"t1\",\"silent\":[\"41007\",\"41009\"],\"subs\":["
		  "{\"sub\":0,\"address\":\"0.0.0.0:41007\",\"sender\":null},"
		  "{\"sub\":1,\"address\":\"0.0.0.0:41008\","
		  "\"sender\":\"10.1.2.3\",\"packets\":5},"
		  "{\"sub\":2,\"address\":\"0.0.0.0:41009\",\"packets\":5}]}");

	ck_assert_ptr_nonnull(strstr(out, "3, of which 2 silent: 41007, "
					  "41009\n"));
	ck_assert_ptr_nonnull(strstr(out, "1  0.0.0.0:41008  10.1.2.3  "));
}
END_TEST

START_TEST(heaps)
{
	const char *out = shown("{\"name\":\"t1\",\"store\":\"heap\","
				"\"heaps\":12,\"heaps_incomplete\":2,"
				"\"descriptors\":11,\"controls\":1,"
				"\"absent\":3,\"left_out\":2048}");

	ck_assert_ptr_nonnull(strstr(out, "of whole heaps"));
	ck_assert_ptr_nonnull(strstr(out, "12, of which 2 incomplete"));
	ck_assert_ptr_nonnull(strstr(out, "11 descriptors, 1 control heaps"));
	ck_assert_ptr_nonnull(strstr(out, "3 blocks are on none"));
	ck_assert_ptr_nonnull(strstr(out, "2.0 KiB of chunks"));
	ck_assert_ptr_null(
	    strstr(shown("{\"name\":\"t1\",\"heaps\":0}"), "incomplete"));
}
END_TEST

START_TEST(counters_may_be_unknown)
{
	const char *out =
	    shown("{\"name\":\"t1\",\"state\":\"interrupted\","
		  "\"packets_late\":null,\"drops\":null,\"end\":null}");

	ck_assert_ptr_nonnull(strstr(out, "interrupted"));
	ck_assert_ptr_null(strstr(out, "late"));
	ck_assert_ptr_null(strstr(out, "dropped"));
	ck_assert_ptr_null(strstr(out, "length"));
}
END_TEST

START_TEST(losses)
{
	const char *out =
	    shown("{\"name\":\"t1\",\"overruns\":3,"
		  "\"sources\":[{\"address\":\"1.2.3.4:5\",\"overruns\":3},"
		  "{\"address\":\"1.2.3.4:6\",\"overruns\":0}],"
		  "\"kernel\":{\"interfaces\":[{\"device\":\"eth2\","
		  "\"rx_dropped\":0,\"rx_missed_errors\":12,"
		  "\"rx_fifo_errors\":7},"
		  "{\"device\":\"eth3\",\"rx_dropped\":0}],"
		  "\"backlog\":{\"dropped\":9,\"squeezed\":2},"
		  "\"udp\":{\"in_errors\":5,\"rcvbuf_errors\":4}}}");

	ck_assert_ptr_nonnull(
	    strstr(out, "card eth2  12 rx_missed_errors, 7 rx_fifo_errors\n"));
	ck_assert_ptr_null(strstr(out, "eth3"));
	ck_assert_ptr_nonnull(strstr(out, "3 overruns of 1.2.3.4:5"));
	ck_assert_ptr_null(strstr(out, "1.2.3.4:6"));
	ck_assert_ptr_nonnull(strstr(out, "9 dropped in full queues of CPUs"));
	ck_assert_ptr_nonnull(strstr(out, "5 errors, 4 of them full buffers"));
	out = shown("{\"name\":\"t1\",\"kernel\":{\"interfaces\":[],"
		    "\"backlog\":{\"dropped\":0,\"squeezed\":8},"
		    "\"udp\":{\"in_errors\":0,\"rcvbuf_errors\":0}}}");
	ck_assert_ptr_null(strstr(out, "kernel"));
	ck_assert_ptr_null(strstr(out, "card"));
}
END_TEST

START_TEST(causes)
{
	static char slow[2000];
	const char *out =
	    shown("{\"name\":\"t1\",\"overrun_causes\":[{\"cause\":"
		  "\"writeback\",\"overruns\":3,\"lost_ms\":41,\"process\":"
		  "\"kworker/u8:1+flush-8:0 (7)\"},{\"cause\":\"busy\","
		  "\"overruns\":4,\"lost_ms\":null}],\"no_buffer_causes\":["
		  "{\"cause\":\"stalled\",\"packets\":5,\"disk\":\"/mnt/a\","
		  "\"stall_ms\":14100},"
		  "{\"cause\":\"behind\",\"packets\":6,\"disk\":\"/mnt/b\","
		  "\"stall_ms\":null},"
		  "{\"cause\":\"memory\",\"packets\":7,\"disk\":null}]}");

	ck_assert_ptr_nonnull(strstr(
	    out, "3 when the receiver waited while the kernel wrote from its "
		 "cache, for up to 41 ms of 2 s; kworker/u8:1+flush-8:0 (7) "
		 "had it\n"));
	ck_assert_ptr_nonnull(strstr(
	    out, "no_buffer  5 when /mnt/a did not answer for up to 14.1 s\n"));
	ck_assert_ptr_nonnull(
	    strstr(out, "6 when the disks took less than came; /mnt/b\n"));
	ck_assert_ptr_nonnull(
	    strstr(out, "7 when another recording had its memory yet\n"));
	ck_assert_ptr_nonnull(strstr(out, "4 when the receiver had no rest\n"));
	/* A path may be longer than the line. */
	snprintf(slow, sizeof slow,
		 "{\"name\":\"t1\",\"no_buffer_causes\":[{\"cause\":\"slow\","
		 "\"packets\":5,\"disk\":\"/%01500d\"}]}",
		 0);
	ck_assert_ptr_nonnull(strstr(shown(slow), "5 when /000"));
}
END_TEST

SUITE("show", percent, info, clocks, runs, substreams, substreams_that_run,
      heaps, losses, causes, counters_may_be_unknown)
