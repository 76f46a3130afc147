/* SPDX-License-Identifier: MIT */
/*
 * Numbers are read digit by digit, whole part and billionths, never as floating
 * point, so that a start is exact to the nanosecond.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "cli/schedule/import_scans.h"

enum { YEAR_FIRST = 1970, YEAR_LAST = 2199, HALF_A_YEAR = 183 };

static bool
is_leap(int64_t year)
{
	return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* Returns the days from 1970 to the first day of a year. */
static int64_t
days_before(int64_t year)
{
	int64_t y = year - 1;

	return 365 * (year - 1970) + (y / 4 - 1969 / 4) -
	       (y / 100 - 1969 / 100) + (y / 400 - 1969 / 400);
}

int
import_date(int64_t year, int64_t day, int64_t ns_of_day, int64_t *ns)
{
	if (year < YEAR_FIRST || year > YEAR_LAST || day < 1 ||
	    day > 365 + is_leap(year) || ns_of_day < 0 ||
	    ns_of_day > IMPORT_DAY + NS_SECOND)
		return -EINVAL;
	*ns = (days_before(year) + day - 1) * IMPORT_DAY + ns_of_day;
	return 0;
}

void
import_day_of(int64_t ns, int *year, int *day)
{
	int64_t days = ns / IMPORT_DAY;

	*year = (int)(YEAR_FIRST + days / 366);
	while (days_before(*year + 1) <= days)
		(*year)++;
	*day = (int)(days - days_before(*year)) + 1;
}

/* Reads at most `most` digits at *c, and moves *c behind them. */
static int
read_digits(const char **c, int most, int64_t *value)
{
	int n = 0;

	for (*value = 0; n < most && isdigit((unsigned char)**c); n++)
		*value = *value * 10 + *(*c)++ - '0';
	return n && !isdigit((unsigned char)**c) ? 0 : -EINVAL;
}

/*
 * Reads "12" or "1.5", times the unit in ns: up to nine digits before and after
 * the point.
 */
static int
read_scaled(const char **c, int64_t unit, int64_t *ns)
{
	int64_t whole, part = 0, place = NS_SECOND / 10;

	if (read_digits(c, 9, &whole))
		return -EINVAL;
	if (**c == '.')
		for (++*c; isdigit((unsigned char)**c); ++*c, place /= 10)
			part += place * (**c - '0');
	part = (int64_t)((__int128)part * unit / NS_SECOND);
	if (__builtin_mul_overflow(whole, unit, ns) ||
	    __builtin_add_overflow(*ns, part, ns))
		return -EINVAL;
	return 0;
}

static int
read_clock(int64_t hour, int64_t minute, int64_t second_ns, int64_t *ns)
{
	if (hour > 24 || minute > 59 || second_ns >= 61 * NS_SECOND)
		return -EINVAL;
	*ns = (hour * 60 + minute) * 60 * NS_SECOND + second_ns;
	return 0;
}

int
import_vex_time(const char *c, int64_t *ns)
{
	static const char letter[] = "ydhm";
	int64_t f[4] = { 0, 1, 0, 0 }, second = 0, clock;

	for (int i = 0; i < 4 && *c; i++)
		if (read_digits(&c, 4, &f[i]) || *c++ != letter[i])
			return -EINVAL;
	if (*c && (read_scaled(&c, NS_SECOND, &second) || *c++ != 's'))
		return -EINVAL;
	if (*c || read_clock(f[2], f[3], second, &clock))
		return -EINVAL;
	return import_date(f[0], f[1], clock, ns);
}

/* Returns the ns of a unit of time; 0: it is none. */
static int64_t
vex_unit(const char *name)
{
	static const struct {
		const char *name;
		int64_t ns;
	} all[] = {
		{ "sec", NS_SECOND },	    { "s", NS_SECOND },
		{ "min", 60 * NS_SECOND },  { "m", 60 * NS_SECOND },
		{ "hr", 3600 * NS_SECOND }, { "h", 3600 * NS_SECOND },
		{ "msec", 1000000 },	    { "ms", 1000000 },
		{ "usec", 1000 },	    { "us", 1000 },
	};

	for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
		if (strcasecmp(name, all[i].name) == 0)
			return all[i].ns;
	return 0;
}

int
import_vex_span(const char *c, int64_t *unit, int64_t *ns)
{
	bool negative = *c == '-';
	const char *name;
	int64_t one;

	c += negative || *c == '+';
	name = c + strspn(c, "0123456789.");
	name += strspn(name, " \t");
	one = *name ? vex_unit(name) : *unit ? *unit : NS_SECOND;
	if (!one || read_scaled(&c, one, ns) || c + strspn(c, " \t") != name)
		return -EINVAL;
	*unit = one;
	if (negative)
		*ns = -*ns;
	return 0;
}

int
import_seconds(const char *c, int64_t *ns)
{
	return read_scaled(&c, NS_SECOND, ns) || *c ? -EINVAL : 0;
}

/* Reads n numbers of fixed widths from a string of digits. */
static int
cut_digits(const char **c, const int *width, int n, int64_t *value)
{
	for (int i = 0; i < n; i++) {
		value[i] = 0;
		for (int k = 0; k < width[i]; k++, ++*c) {
			if (!isdigit((unsigned char)**c))
				return -EINVAL;
			value[i] = value[i] * 10 + **c - '0';
		}
	}
	return 0;
}

int
import_mark6_time(const char *c, int64_t *ns)
{
	static const int width[] = { 4, 3, 2, 2 };
	int64_t f[4], second, clock;

	if (cut_digits(&c, width, 4, f) ||
	    read_scaled(&c, NS_SECOND, &second) || *c ||
	    read_clock(f[2], f[3], second, &clock))
		return -EINVAL;
	return import_date(f[0], f[1], clock, ns);
}

static int64_t
snap_unit(char letter)
{
	switch (letter) {
	case 'd': return IMPORT_DAY;
	case 'h': return 3600 * NS_SECOND;
	case 'm': return 60 * NS_SECOND;
	case 's':
	case '\0': return NS_SECOND;
	default: return 0;
	}
}

/* Reads "1m30s": each unit once, larger ones first. */
int
import_snap_span(const char *c, int64_t *ns)
{
	int64_t least = INT64_MAX, unit, part;

	*ns = 0;
	do {
		const char *letter = c + strspn(c, "0123456789.");

		unit = snap_unit(*letter);
		if (!unit || unit >= least || read_scaled(&c, unit, &part) ||
		    c != letter || __builtin_add_overflow(*ns, part, ns))
			return -EINVAL;
		least = unit;
		c += *c != '\0';
	} while (*c);
	return 0;
}

/*
 * Returns the next time after `now` with this time of day, and maybe this day.
 */
static int
snap_next(int64_t year, int64_t day, int64_t clock,
	  const struct import_now *now, int64_t *ns)
{
	int y = now->year, d = 0, err;

	if (year)
		return import_date(year, day, clock, ns);
	if (now->known)
		import_day_of(now->ns, &y, &d);
	if (!y || (!day && !d))
		return -EINVAL;
	err = import_date(y, day ? day : d, clock, ns);
	if (err || !now->known || *ns >= now->ns)
		return err;
	if (!day)
		*ns += IMPORT_DAY;
	else if (d - day > HALF_A_YEAR)
		return import_date(y + 1, day, clock, ns);
	return 0;
}

/* Reads "2015079123000", "079123000" or "123000". */
static int
snap_digits(const char *c, const struct import_now *now, int64_t *ns)
{
	static const int width[] = { 4, 3, 2, 2 };
	int64_t f[4] = { 0 }, second, clock;
	size_t digits = strspn(c, "0123456789");
	int first = digits == 13 ? 0 : digits == 9 ? 1 : 2;

	if ((first == 2 && digits != 6) ||
	    cut_digits(&c, width + first, 4 - first, f + first) ||
	    read_scaled(&c, NS_SECOND, &second) || *c ||
	    read_clock(f[2], f[3], second, &clock))
		return -EINVAL;
	return snap_next(f[0], first == 2 ? 0 : f[1], clock, now, ns);
}

int
import_snap_time(const char *text, const struct import_now *now, int64_t *ns)
{
	int64_t f[3] = { 0 }, minute, second = 0, clock;
	const char *c = text;
	int n = 0;

	if (!strchr(text, ':'))
		return snap_digits(text, now, ns);
	do {
		if (n == 3 || read_digits(&c, 4, &f[n++]))
			return -EINVAL;
	} while (*c++ == '.');
	if (c[-1] != ':' || read_digits(&c, 2, &minute))
		return -EINVAL;
	if (*c == ':' && (c++, read_scaled(&c, NS_SECOND, &second)))
		return -EINVAL;
	if (*c || read_clock(f[n - 1], minute, second, &clock))
		return -EINVAL;
	if ((n > 1 && !f[n - 2]) || (n > 2 && !f[0]))
		return -EINVAL; /* days and years are never 0 */
	return snap_next(n == 3 ? f[0] : 0, n > 1 ? f[n - 2] : 0, clock, now,
			 ns);
}
