/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdint.h>

#include "base/units.h"
#include "lib/suite.h"

#define KIB    1024ull
#define SECOND INT64_C(1000000000)

static void
check_bytes(const char *text, uint64_t want)
{
	uint64_t bytes = 0;

	ck_assert_msg(units_bytes(text, &bytes) == 0, "\"%s\"", text);
	ck_assert_msg(bytes == want, "\"%s\": %ju", text, (uintmax_t)bytes);
}

static void
check_span(const char *text, int64_t want)
{
	int64_t ns = -1;

	ck_assert_msg(units_span(text, &ns) == 0, "\"%s\"", text);
	ck_assert_msg(ns == want, "\"%s\": %jd", text, (intmax_t)ns);
}

static void
check_time(const char *text, int64_t want)
{
	int64_t ns = -1;

	ck_assert_msg(units_time(text, 5 * SECOND, &ns) == 0, "\"%s\"", text);
	ck_assert_msg(ns == want, "\"%s\": %jd", text, (intmax_t)ns);
}

START_TEST(sizes)
{
	check_bytes("0", 0);
	check_bytes("4096", 4096);
	check_bytes("512 B", 512);
	check_bytes("1k", KIB);
	check_bytes("64M", 64 * KIB * KIB);
	check_bytes("64MiB", 64 * KIB * KIB);
	check_bytes("64 MiB", 64 * KIB * KIB);
	check_bytes("8G", 8 * KIB * KIB * KIB);
	check_bytes("1.5G", 3 * KIB * KIB * KIB / 2);
	check_bytes("2T", 2 * KIB * KIB * KIB * KIB);
	check_bytes("9223372036854775807", INT64_MAX);
}
END_TEST

START_TEST(sizes_refused)
{
	static const char *const bad[] = { "",	   "M",	    "-1",   "+1",
					   "64MB", "64m",   " 64M", "64M ",
					   "6 4",  "0x10",  "1.5",  "1.",
					   ".5G",  "1e6",   "64 ",  "1G1",
					   "1,5G", "64MiBs" };
	uint64_t bytes = 77;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ck_assert_msg(units_bytes(bad[i], &bytes) == -EINVAL, "\"%s\"",
			      bad[i]);
	ck_assert_int_eq(units_bytes("18446744073709551616", &bytes), -ERANGE);
	ck_assert_int_eq(units_bytes("9223372036854775808", &bytes), -ERANGE);
	ck_assert_int_eq(units_bytes("8388608T", &bytes), -ERANGE);
}
END_TEST

START_TEST(shares)
{
	static const char *const bad[] = { "",	  "%",	  "x",	 "1.5", "101%",
					   "-1%", "0.1x", "1%%", "nan" };
	double share;

	ck_assert_int_eq(units_share("0.25", &share), 0);
	ck_assert_double_eq(share, 0.25);
	ck_assert_int_eq(units_share("1%", &share), 0);
	ck_assert_double_eq(share, 0.01);
	ck_assert_int_eq(units_share("100%", &share), 0);
	ck_assert_double_eq(share, 1);
	ck_assert_int_eq(units_share("0", &share), 0);
	ck_assert_double_eq(share, 0);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ck_assert_int_eq(units_share(bad[i], &share), -EINVAL);
}
END_TEST

START_TEST(rates)
{
	uint64_t rate;

	ck_assert_int_eq(units_rate("8Gbps", &rate), 0);
	ck_assert_uint_eq(rate, 8000000000);
	ck_assert_int_eq(units_rate("500Mbps", &rate), 0);
	ck_assert_uint_eq(rate, 500000000);
	ck_assert_int_eq(units_rate("1000", &rate), 0);
	ck_assert_uint_eq(rate, 1000);
	ck_assert_int_eq(units_rate("4.00 Gb/s", &rate), 0);
	ck_assert_uint_eq(rate, 4000000000);
	ck_assert_int_eq(units_rate("0.256Gbps", &rate), 0);
	ck_assert_uint_eq(rate, 256000000);
	ck_assert_int_eq(units_rate("64kbps", &rate), 0);
	ck_assert_uint_eq(rate, 64000);
	ck_assert_int_eq(units_rate("8GBps", &rate), -EINVAL);
	ck_assert_int_eq(units_rate("8KiB", &rate), -EINVAL);
	ck_assert_int_eq(units_rate("fast", &rate), -EINVAL);
	ck_assert_int_eq(units_rate("9223372037G", &rate), -ERANGE);
}
END_TEST

START_TEST(spans)
{
	check_span("0", 0);
	check_span("10", 10 * SECOND);
	check_span("1.5", 3 * SECOND / 2);
	check_span("10s", 10 * SECOND);
	check_span("250ms", SECOND / 4);
	check_span("5m", 300 * SECOND);
	check_span("2h", 7200 * SECOND);
	check_span("1.5s", 3 * SECOND / 2);
	check_span("1m30s", 90 * SECOND);
	check_span("1m 30s", 90 * SECOND);
	check_span("1d2h3m4s5ms6us7ns", 93784 * SECOND + 5006007);
	check_span("0.000000001s", 1);
	check_span("9223372036s", 9223372036 * SECOND);
}
END_TEST

START_TEST(spans_refused)
{
	static const char *const bad[] = { "",	   "s",	    "-1s",   "30s1m",
					   "1s1s", "1x",    "10 s ", "1m30",
					   "1.s",  "1.5ns", "1mm" };
	int64_t ns = 77;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ck_assert_msg(units_span(bad[i], &ns) == -EINVAL, "\"%s\"",
			      bad[i]);
	ck_assert_int_eq(units_span("9223372037s", &ns), -ERANGE);
	ck_assert_int_eq(units_span("106751d24h", &ns), -ERANGE);
	ck_assert_int_eq(ns, 77);
}
END_TEST

START_TEST(time_of_day)
{
	check_time("now", 5 * SECOND);
	check_time("+30s", 35 * SECOND);
	check_time("+1m30s", 95 * SECOND);
	check_time("1970-01-01T00:00:00Z", 0);
	check_time("2026-11-20T10:00:00Z", 1795168800 * SECOND);
	check_time("2026-11-20T10:00:00", 1795168800 * SECOND);
	check_time("2026-11-20T10:00:00.25Z", 1795168800 * SECOND + 250000000);
	check_time("2026-11-20T10:00:00.123456789Z",
		   1795168800 * SECOND + 123456789);
	check_time("2026y324d10h00m00s", 1795168800 * SECOND);
	check_time("2026y324d10h00m00.5s", 1795168800 * SECOND + 500000000);
	check_time("2024-02-29T00:00:00Z", 1709164800 * SECOND);
	check_time("2024y366d23h59m59s", 1735689599 * SECOND);
}
END_TEST

START_TEST(time_refused)
{
	static const char *const bad[] = {
		"",
		"tomorrow",
		"+",
		"+-1s",
		"2026-11-20",
		"2026-11-20T10:00Z",
		"2026-02-29T00:00:00Z",
		"2026-13-01T00:00:00Z",
		"2026-00-01T00:00:00Z",
		"2026-01-00T00:00:00Z",
		"2026-11-20T24:00:00Z",
		"2026-11-20T10:60:00Z",
		"2026-11-20T10:00:60Z",
		"2026-11-20T10:00:00+01",
		"2026-11-20T10:00:00ZZ",
		"2026-11-20T10:00:00.Z",
		"2026y000d10h00m00s",
		"2026y366d10h00m00s",
		"2026y324d10h00m00",
		"2026y324d10h00m00sZ",
		" 2026-11-20T10:00:00Z",
		"26-11-20T10:00:00Z",
	};
	int64_t ns = 77;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ck_assert_msg(units_time(bad[i], 0, &ns) == -EINVAL, "\"%s\"",
			      bad[i]);
	ck_assert_int_eq(units_time("1969-12-31T23:59:59Z", 0, &ns), -ERANGE);
	ck_assert_int_eq(units_time("9999-01-01T00:00:00Z", 0, &ns), -ERANGE);
	ck_assert_int_eq(units_time("+1s", INT64_MAX, &ns), -ERANGE);
}
END_TEST

START_TEST(time_of_data)
{
	int64_t ns, plain;
	bool data;

	ck_assert_int_eq(units_time("2026-11-20T10:00:00Z", 0, &plain), 0);
	ck_assert_int_eq(
	    units_time_data("@2026-11-20T10:00:00Z", 0, &ns, &data), 0);
	ck_assert(data && ns == plain);
	ck_assert_int_eq(units_time_data("@2026y324d10h00m00s", 0, &ns, &data),
			 0);
	ck_assert(data && ns == plain);
	ck_assert_int_eq(units_time_data("2026-11-20T10:00:00Z", 0, &ns, &data),
			 0);
	ck_assert(!data && ns == plain);
	ck_assert_int_eq(units_time_data("@", 0, &ns, &data), -EINVAL);
	ck_assert_int_eq(units_time_data("@@now", 0, &ns, &data), -EINVAL);
	ck_assert_int_eq(units_time_data("", 0, &ns, &data), -EINVAL);
}
END_TEST

START_TEST(show)
{
	char text[UNITS_TEXT];

	ck_assert_str_eq(units_show_bytes(text, 0), "0 B");
	ck_assert_str_eq(units_show_bytes(text, 1023), "1023 B");
	ck_assert_str_eq(units_show_bytes(text, 64 << 20), "64.0 MiB");
	ck_assert_str_eq(units_show_bytes(text, (1 << 20) - 1), "1.0 MiB");
	ck_assert_str_eq(units_show_bytes(text, UINT64_MAX), "16.0 EiB");
	ck_assert_str_eq(units_show_rate(text, 0), "0 b/s");
	ck_assert_str_eq(units_show_rate(text, 4e9), "4.00 Gb/s");
	ck_assert_str_eq(units_show_rate(text, 999999), "1.00 Mb/s");
	ck_assert_str_eq(units_show_rate(text, 1e15), "1000.00 Tb/s");
	ck_assert_str_eq(units_show_span(text, 0), "0ms");
	ck_assert_str_eq(units_show_span(text, SECOND / 4), "250ms");
	ck_assert_str_eq(units_show_span(text, SECOND), "1s");
	ck_assert_str_eq(units_show_span(text, 3 * SECOND / 2), "1.5s");
	ck_assert_str_eq(units_show_span(text, 90 * SECOND), "1m 30s");
	ck_assert_str_eq(units_show_span(text, 7500 * SECOND), "2h 05m");
	ck_assert_str_eq(units_show_span(text, -90 * SECOND), "-1m 30s");
	ck_assert_str_eq(units_show_span(text, INT64_MIN), "-2562047h 47m");
}
END_TEST

START_TEST(show_time)
{
	const int64_t ns = 1795168800 * SECOND + 123987654;
	char text[UNITS_TEXT];
	int64_t back;

	ck_assert_str_eq(units_show_time(text, ns), "2026-11-20T10:00:00.123Z");
	ck_assert_str_eq(units_show_time_ns(text, ns),
			 "2026-11-20T10:00:00.123987654Z");
	ck_assert_int_eq(units_time(text, 0, &back), 0);
	ck_assert_int_eq(back, ns);
	ck_assert_str_eq(units_show_time_ns(text, -1),
			 "1969-12-31T23:59:59.999999999Z");
}
END_TEST

SUITE("units", sizes, sizes_refused, shares, rates, spans, spans_refused,
      time_of_day, time_refused, time_of_data, show, show_time)
