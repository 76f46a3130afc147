/* SPDX-License-Identifier: MIT */
/* Metrics of answers that no daemon gives at will. */
#include "web/metrics.c"

#include "lib/suite.h"

static char *text;

/* Makes the metrics of some recordings and streams. */
static void
say(const char *recordings, const char *streams)
{
	const struct metrics_web web = { 0 };
	struct figures f = { .up = true };
	size_t bytes;

	f.status =
	    json_pack("{s:o}", "recordings", json_loads(recordings, 0, NULL));
	f.streams = json_loads(streams, 0, NULL);
	f.scans = json_array();
	ck_assert_ptr_nonnull(f.status);
	ck_assert_ptr_nonnull(f.streams);
	free(text);
	text = metrics_text(&f, &web, false, &bytes);
	ck_assert_ptr_nonnull(text);
	ck_assert_uint_eq(bytes, strlen(text));
	json_decref(f.status);
	json_decref(f.streams);
	json_decref(f.scans);
}

/* Is there a line that begins so, and goes on so? */
static bool
has(const char *name, const char *rest)
{
	size_t n = strlen(name);

	for (const char *at = text; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (!strncmp(at, name, n) &&
		    (!rest || !strncmp(at + n, rest, strlen(rest))))
			return true;
	}
	return false;
}

#define STREAM_NAMED(keys) "[{\"name\":\"s\"" keys "}]"

START_TEST(clocks)
{
	/* Armed, and not recorded: nobody knows a clock. */
	say("[{\"stream\":\"s\",\"clock_s\":null,\"clock_fault\":null}]",
	    STREAM_NAMED(""));
	ck_assert(!has("spate_stream_clock_", NULL));
	/* Of two, the one that knows. */
	say("[{\"stream\":\"t\",\"clock_s\":7},"
	    "{\"stream\":\"s\",\"clock_s\":null},"
	    "{\"stream\":\"s\",\"clock_s\":-0.102,\"clock_fault\":\"far\","
	    "\"clock_drift\":1e-9,\"clock_apart_s\":0.5,"
	    "\"clock_spread_s\":1e-5}]",
	    STREAM_NAMED(",\"clock_steps\":3"));
	ck_assert(has("spate_stream_clock_seconds{stream=\"s\"}", " -0.102\n"));
	ck_assert(has("spate_stream_clock_ok{stream=\"s\"}", " 0\n"));
	ck_assert(has("spate_stream_clock_fault{stream=\"s\",fault=\"far\"}",
		      " 1\n"));
	ck_assert(
	    has("spate_stream_clock_drift_ratio{stream=\"s\"}", " 1e-09\n"));
	ck_assert(
	    has("spate_stream_clock_apart_seconds{stream=\"s\"}", " 0.5\n"));
	ck_assert(
	    has("spate_stream_clock_spread_seconds{stream=\"s\"}", " 1e-05\n"));
	ck_assert(has("spate_stream_clock_steps_total{stream=\"s\"}", " 3\n"));
	say("[{\"stream\":\"s\",\"clock_s\":0.0001,\"clock_fault\":null,"
	    "\"clock_apart_s\":null,\"clock_drift\":null}]",
	    STREAM_NAMED(""));
	ck_assert(has("spate_stream_clock_ok{stream=\"s\"}", " 1\n"));
	ck_assert(!has("spate_stream_clock_fault{", NULL));
	ck_assert(!has("spate_stream_clock_drift_ratio{", NULL));
	ck_assert(
	    has("spate_stream_clock_apart_seconds{stream=\"s\"}", " 0\n"));
}
END_TEST

START_TEST(pulses)
{
	say("[]", STREAM_NAMED(",\"channels\":[{\"pps_ns\":null}]"));
	ck_assert(!has("spate_stream_pps_seconds{", NULL));
	say("[]", STREAM_NAMED(",\"channels\":[{\"pps_ns\":100},"
			       "{\"pps_ns\":-500},{\"pps_ns\":null},"
			       "{\"pps_ns\":250}]"));
	ck_assert(has("spate_stream_pps_seconds{stream=\"s\"}", " -5e-07\n"));
}
END_TEST

START_TEST(overruns_by_cause)
{
	say("[]", STREAM_NAMED(",\"overruns\":9,\"overrun_causes\":"
			       "{\"waited\":7,\"unknown\":0}"));
	ck_assert(
	    has("spate_stream_overruns_total{stream=\"s\",cause=\"waited\"}",
		" 7\n"));
	ck_assert(
	    has("spate_stream_overruns_total{stream=\"s\",cause=\"unknown\"}",
		" 0\n"));
	ck_assert(!has("spate_stream_overruns_total{stream=\"s\"}", NULL));
	free(text);
	text = NULL;
}
END_TEST

SUITE("metrics", clocks, pulses, overruns_by_cause)
