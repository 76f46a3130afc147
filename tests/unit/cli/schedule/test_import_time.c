/* SPDX-License-Identifier: MIT */
#include "cli/schedule/import_time.c"

#include "base/units.h"
#include "lib/suite.h"

static int64_t
utc(const char *text)
{
	int64_t ns;

	ck_assert_int_eq(units_time(text, 0, &ns), 0);
	return ns;
}

START_TEST(days_are_those_of_the_calendar)
{
	int year, day;
	int64_t ns;

	for (int64_t d = 0; d < 80000; d++) {
		import_day_of(d * IMPORT_DAY, &year, &day);
		ck_assert_int_eq(import_date(year, day, 0, &ns), 0);
		ck_assert_int_eq(ns, d * IMPORT_DAY);
	}
	import_day_of(utc("2024-12-31T23:59:59Z"), &year, &day);
	ck_assert_int_eq(year, 2024);
	ck_assert_int_eq(day, 366);
	ck_assert_int_eq(import_date(2100, 366, 0, &ns), -EINVAL);
	ck_assert_int_eq(import_date(2000, 366, 0, &ns), 0);
	ck_assert_int_eq(import_date(2023, 366, 0, &ns), -EINVAL);
	ck_assert_int_eq(import_date(2023, 0, 0, &ns), -EINVAL);
	ck_assert_int_eq(import_date(1969, 1, 0, &ns), -EINVAL);
	ck_assert_int_eq(import_date(2200, 1, 0, &ns), -EINVAL);
}
END_TEST

START_TEST(vex_times)
{
	static const char *const bad[] = {
		"",
		"2013",
		"2013y080d05h00m00",
		"2013y400d",
		"2013y080d25h",
		"2013y080d05h60m",
		"2013y080d05h00m61s",
		"2013y080d05h00m00s ",
		"2013y080d05h00m00sx",
		"20131y080d",
		"2013-080",
	};
	int64_t ns;

	ck_assert_int_eq(import_vex_time("2013y080d05h07m00s", &ns), 0);
	ck_assert_int_eq(ns, utc("2013-03-21T05:07:00Z"));
	ck_assert_int_eq(import_vex_time("1997y001d", &ns), 0);
	ck_assert_int_eq(ns, utc("1997-01-01T00:00:00Z"));
	ck_assert_int_eq(import_vex_time("2013y080d05h07m00.25s", &ns), 0);
	ck_assert_int_eq(ns, utc("2013-03-21T05:07:00.25Z"));
	ck_assert_int_eq(import_vex_time("2016y366d23h59m60s", &ns), 0);
	ck_assert_int_eq(ns, utc("2017-01-01T00:00:00Z"));
	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
		ck_assert_msg(import_vex_time(bad[i], &ns) == -EINVAL, "%s",
			      bad[i]);
}
END_TEST

START_TEST(vex_spans_have_units)
{
	int64_t unit = 0, ns;

	ck_assert_int_eq(import_vex_span("240", &unit, &ns), 0);
	ck_assert_int_eq(ns, 240 * NS_SECOND);
	unit = 0;
	ck_assert_int_eq(import_vex_span("4 min", &unit, &ns), 0);
	ck_assert_int_eq(ns, 240 * NS_SECOND);
	/* The unit of the first is that of those behind it. */
	ck_assert_int_eq(import_vex_span("5", &unit, &ns), 0);
	ck_assert_int_eq(ns, 300 * NS_SECOND);
	ck_assert_int_eq(import_vex_span("-1.5 sec", &unit, &ns), 0);
	ck_assert_int_eq(ns, -1500000000);
	ck_assert_int_eq(import_vex_span("0.25hr", &unit, &ns), 0);
	ck_assert_int_eq(ns, 900 * NS_SECOND);
	ck_assert_int_eq(import_vex_span("12 GB", &unit, &ns), -EINVAL);
	ck_assert_int_eq(import_vex_span("", &unit, &ns), -EINVAL);
	ck_assert_int_eq(import_vex_span("1.2.3 sec", &unit, &ns), -EINVAL);
	ck_assert_int_eq(import_vex_span("1 1 sec", &unit, &ns), -EINVAL);
	ck_assert_int_eq(import_vex_span("99999999999 sec", &unit, &ns),
			 -EINVAL);
}
END_TEST

START_TEST(snap_waits)
{
	int64_t ns;

	ck_assert_int_eq(import_snap_span("2s", &ns), 0);
	ck_assert_int_eq(ns, 2 * NS_SECOND);
	ck_assert_int_eq(import_snap_span("1m30s", &ns), 0);
	ck_assert_int_eq(ns, 90 * NS_SECOND);
	ck_assert_int_eq(import_snap_span("1h2m3.5s", &ns), 0);
	ck_assert_int_eq(ns, 3723500000000);
	ck_assert_int_eq(import_snap_span("5", &ns), 0);
	ck_assert_int_eq(ns, 5 * NS_SECOND);
	ck_assert_int_eq(import_snap_span("", &ns), -EINVAL);
	ck_assert_int_eq(import_snap_span("s", &ns), -EINVAL);
	ck_assert_int_eq(import_snap_span("1s1m", &ns), -EINVAL);
	ck_assert_int_eq(import_snap_span("1x", &ns), -EINVAL);
	ck_assert_int_eq(import_snap_span("1.5.2s", &ns), -EINVAL);
	ck_assert_int_eq(import_snap_span("999999999d", &ns), -EINVAL);
}
END_TEST

/* What a time of SNAP means at this moment, or "". */
static void
snap_is(const char *text, const char *now, const char *is)
{
	struct import_now n = { .known = *now, .ns = *now ? utc(now) : 0 };
	int64_t ns;
	int err = import_snap_time(text, &n, &ns);

	ck_assert_msg(err == (*is ? 0 : -EINVAL), "%s", text);
	if (*is)
		ck_assert_int_eq(ns, utc(is));
}

START_TEST(snap_times)
{
	const char *now = "2026-12-31T23:59:00Z";
	struct import_now year = { .year = 2015 };
	int64_t ns;

	snap_is("2015.079.12:30:00", "", "2015-03-20T12:30:00Z");
	snap_is("2015.079.12:30:00.5", "", "2015-03-20T12:30:00.5Z");
	snap_is("2015079123000", "", "2015-03-20T12:30:00Z");
	snap_is("2015.079.12:30", "", "2015-03-20T12:30:00Z");
	/* Less in front: the next one, over midnight and over New Year. */
	snap_is("23:59:30", now, "2026-12-31T23:59:30Z");
	snap_is("00:10:00", now, "2027-01-01T00:10:00Z");
	snap_is("000100", now, "2027-01-01T00:01:00Z");
	snap_is("001.00:10:00", now, "2027-01-01T00:10:00Z");
	snap_is("365.23:59:30", now, "2026-12-31T23:59:30Z");
	snap_is("001001000", now, "2027-01-01T00:10:00Z");
	snap_is("364.00:00:00", now, "2026-12-30T00:00:00Z");
	snap_is("12:30:00", "", "");
	snap_is("079.12:30:00", "", "");
	ck_assert_int_eq(import_snap_time("079.12:30:00", &year, &ns), 0);
	ck_assert_int_eq(ns, utc("2015-03-20T12:30:00Z"));
	ck_assert_int_eq(import_snap_time("12:30:00", &year, &ns), -EINVAL);
	snap_is("", now, "");
	snap_is("2015.079.12:30:00x", now, "");
	snap_is("2015.079.1.12:30:00", now, "");
	snap_is("2015.000.12:30:00", now, "");
	snap_is("0.079.12:30:00", now, "");
	snap_is("2015.079.12:61:00", now, "");
	snap_is("2015.366.12:30:00", now, "");
	snap_is(":", now, "");
	snap_is("12345", now, "");
}
END_TEST

START_TEST(mark6_times)
{
	int64_t ns;

	ck_assert_int_eq(import_mark6_time("2016099050000", &ns), 0);
	ck_assert_int_eq(ns, utc("2016-04-08T05:00:00Z"));
	ck_assert_int_eq(import_mark6_time("201609905000", &ns), 0);
	ck_assert_int_eq(ns, utc("2016-04-08T05:00:00Z"));
	ck_assert_int_eq(import_mark6_time("2016099", &ns), -EINVAL);
	ck_assert_int_eq(import_mark6_time("", &ns), -EINVAL);
	ck_assert_int_eq(import_mark6_time("2016399050000", &ns), -EINVAL);
	ck_assert_int_eq(import_seconds("300", &ns), 0);
	ck_assert_int_eq(ns, 300 * NS_SECOND);
	ck_assert_int_eq(import_seconds("-3", &ns), -EINVAL);
	ck_assert_int_eq(import_seconds("3 s", &ns), -EINVAL);
}
END_TEST

SUITE("import_time", days_are_those_of_the_calendar, vex_times,
      vex_spans_have_units, snap_waits, snap_times, mark6_times)
