/* SPDX-License-Identifier: MIT */
/*
 * Every quantity is a number, perhaps with a fraction, and a suffix that scales
 * it.  Numbers are read digit by digit into a whole part and billionths, never
 * through floating point, so "8G" is exact and no locale changes the point.
 * Sizes and rates stay below 2^63: they end up in off_t and in JSON, which have
 * no more.
 */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/units.h"

enum { BILLION = 1000000000 };

struct number {
	uint64_t whole;
	uint32_t billionths;
	bool fraction; /* the number has a point */
};

struct suffix {
	const char *text;
	uint64_t scale;
};

/*
 * Reads "12" or "1.5" at *text and moves *text behind it.  0, -EINVAL or
 * -ERANGE.
 */
static int
read_number(const char **text, struct number *n)
{
	const char *c = *text;
	uint32_t place = BILLION / 10;

	*n = (struct number){ 0 };
	if (!isdigit((unsigned char)*c))
		return -EINVAL;
	for (; isdigit((unsigned char)*c); c++)
		if (__builtin_mul_overflow(n->whole, 10, &n->whole) ||
		    __builtin_add_overflow(n->whole, *c - '0', &n->whole))
			return -ERANGE;
	if (*c == '.') {
		n->fraction = true;
		if (!isdigit((unsigned char)*++c))
			return -EINVAL;
		for (; isdigit((unsigned char)*c); c++, place /= 10)
			n->billionths += place * (*c - '0');
	}
	*text = c;
	return 0;
}

/*
 * Multiplies a number with its scale, below 2^63; the fraction of the result is
 * dropped.
 */
static int
scale_number(const struct number *n, uint64_t scale, uint64_t *value)
{
	uint64_t part = (__uint128_t)n->billionths * scale / BILLION;

	if (n->fraction && scale == 1)
		return -EINVAL;
	if (__builtin_mul_overflow(n->whole, scale, value) ||
	    __builtin_add_overflow(*value, part, value) || *value > INT64_MAX)
		return -ERANGE;
	return 0;
}

static const struct suffix *
find_suffix(const struct suffix *all, const char *text, size_t length)
{
	for (; all->text; all++)
		if (strlen(all->text) == length &&
		    memcmp(all->text, text, length) == 0)
			return all;
	return NULL;
}

/*
 * Reads a number and the suffix that ends the text; one space between is
 * allowed.
 */
static int
read_scaled(const char *text, const struct suffix *all, uint64_t *value)
{
	const struct suffix *suffix;
	struct number n;
	int err = read_number(&text, &n);

	if (err)
		return err;
	if (*text == ' ' && text[1])
		text++;
	suffix = find_suffix(all, text, strlen(text));
	return suffix ? scale_number(&n, suffix->scale, value) : -EINVAL;
}

/* Uses floating point: a share is the only quantity that is no whole number. */
int
units_share(const char *text, double *share)
{
	char *end;

	*share = strtod(text, &end);
	if (end != text && *end == '%') {
		*share /= 100;
		end++;
	}
	return end == text || *end || !(*share >= 0 && *share <= 1) ? -EINVAL
								    : 0;
}

int
units_bytes(const char *text, uint64_t *bytes)
{
	static const struct suffix all[] = {
		{ "", 1 },
		{ "B", 1 },
		{ "K", 1ull << 10 },
		{ "k", 1ull << 10 },
		{ "M", 1ull << 20 },
		{ "G", 1ull << 30 },
		{ "T", 1ull << 40 },
		{ "KiB", 1ull << 10 },
		{ "MiB", 1ull << 20 },
		{ "GiB", 1ull << 30 },
		{ "TiB", 1ull << 40 },
		{ NULL, 0 },
	};

	return read_scaled(text, all, bytes);
}

/*
 * Accepts "G", "Gbps" and "Gb/s" as the same rate; "GBps" is refused on
 * purpose.
 */
int
units_rate(const char *text, uint64_t *bits_per_s)
{
	static const struct suffix all[] = {
		{ "", 1 },	  { "bps", 1 },	       { "b/s", 1 },
		{ "k", 1000 },	  { "kbps", 1000 },    { "kb/s", 1000 },
		{ "M", 1000000 }, { "Mbps", 1000000 }, { "Mb/s", 1000000 },
		{ "G", BILLION }, { "Gbps", BILLION }, { "Gb/s", BILLION },
		{ NULL, 0 },
	};

	return read_scaled(text, all, bits_per_s);
}

/* Reads a span in parts, "1h30m5s": each unit once, larger before smaller. */
static int
read_span_parts(const char *text, uint64_t *ns)
{
	static const struct suffix all[] = {
		{ "d", 86400ull * BILLION },
		{ "h", 3600ull * BILLION },
		{ "m", 60ull * BILLION },
		{ "s", BILLION },
		{ "ms", 1000000 },
		{ "us", 1000 },
		{ "ns", 1 },
		{ NULL, 0 },
	};
	const struct suffix *suffix = all;
	struct number n;
	uint64_t part;
	size_t length;
	int err;

	for (*ns = 0; *text; text += strspn(text, " ")) {
		err = read_number(&text, &n);
		if (err)
			return err;
		length = strspn(text, "dhmsun");
		suffix = find_suffix(suffix, text, length);
		if (!suffix)
			return -EINVAL;
		err = scale_number(&n, suffix->scale, &part);
		if (err)
			return err;
		*ns += part; /* cannot overflow: both are below 2^63 */
		if (*ns > INT64_MAX)
			return -ERANGE;
		suffix++;
		text += length;
	}
	return 0;
}

int
units_span(const char *text, int64_t *ns)
{
	static const struct suffix seconds[] = { { "", BILLION }, { NULL, 0 } };
	size_t length = strlen(text);
	uint64_t value;
	int err;

	if (length == 0 || isspace((unsigned char)text[length - 1]))
		return -EINVAL;
	if (isdigit((unsigned char)text[length - 1]))
		err = read_scaled(text, seconds, &value);
	else
		err = read_span_parts(text, &value);
	if (!err)
		*ns = value;
	return err;
}

/*
 * Reads fields of fixed width as `form` shows them: each row of '0' stands for
 * the digits of one field.  Returns the end of what was read, or NULL.
 */
static const char *
read_fields(const char *text, const char *form, int *field)
{
	bool within = false;

	for (; *form; form++, text++) {
		if (*form != '0') {
			within = false;
			if (*text != *form)
				return NULL;
			continue;
		}
		if (!isdigit((unsigned char)*text))
			return NULL;
		if (!within)
			*field++ = 0;
		within = true;
		field[-1] = field[-1] * 10 + *text - '0';
	}
	return text;
}

/*
 * Converts to seconds since 1970.  The fields must be those of a real day: 31
 * February is -EINVAL.
 */
static int
make_time(const struct tm *fields, bool by_month, int64_t *s)
{
	struct tm tm = *fields, back;
	time_t t = timegm(&tm);

	gmtime_r(&t, &back);
	if (back.tm_year != fields->tm_year ||
	    (by_month && back.tm_mon != fields->tm_mon) ||
	    back.tm_hour != fields->tm_hour || back.tm_min != fields->tm_min ||
	    back.tm_sec != fields->tm_sec)
		return -EINVAL;
	if (t < 0 || t >= INT64_MAX / BILLION)
		return -ERANGE;
	*s = t;
	return 0;
}

/*
 * Reads an ISO 8601 time, whose Z may be left out, or a VEX time with its day
 * of the year.
 */
static int
read_date(const char *text, bool vex, int64_t *ns)
{
	int f[6];
	const int *clock = vex ? f + 2 : f + 3;
	struct tm tm = { 0 };
	struct number fraction;
	int64_t s;
	int err;

	text = read_fields(
	    text, vex ? "0000y000d00h00m00" : "0000-00-00T00:00:00", f);
	if (!text)
		return -EINVAL;
	text--; /* back to the last digit, which the fraction belongs to */
	if (read_number(&text, &fraction) ||
	    (strcmp(text, vex ? "s" : "Z") != 0 && (vex || *text)))
		return -EINVAL;
	tm.tm_year = f[0] - 1900;
	tm.tm_mon = vex ? 0 : f[1] - 1;
	tm.tm_mday = vex ? f[1] : f[2]; /* timegm() carries days over 31 into
					 * later months */
	tm.tm_hour = clock[0];
	tm.tm_min = clock[1];
	tm.tm_sec = clock[2];
	err = make_time(&tm, !vex, &s);
	if (!err)
		*ns = s * BILLION + fraction.billionths;
	return err;
}

int
units_time(const char *text, int64_t now_ns, int64_t *ns)
{
	int64_t span;
	int err;

	if (strcmp(text, "now") == 0) {
		*ns = now_ns;
		return 0;
	}
	if (*text == '+') {
		err = units_span(text + 1, &span);
		if (!err && __builtin_add_overflow(now_ns, span, ns))
			err = -ERANGE;
		return err;
	}
	return read_date(text, strchr(text, 'y') != NULL, ns);
}

int
units_time_data(const char *text, int64_t now_ns, int64_t *ns, bool *data)
{
	*data = *text == '@';
	return units_time(text + *data, now_ns, ns);
}

/*
 * Never shows "1024.0 KiB": a value that would round up to the next unit is
 * shown in that unit.
 */
const char *
units_show_bytes(char *text, uint64_t bytes)
{
	static const char unit[][4] = {
		"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"
	};
	double value = bytes / 1024.0;
	int i = 0;

	if (bytes < 1024) {
		snprintf(text, UNITS_TEXT, "%u B", (unsigned)bytes);
		return text;
	}
	for (; value >= 1023.95; i++)
		value /= 1024;
	snprintf(text, UNITS_TEXT, "%.1f %s", value, unit[i]);
	return text;
}

const char *
units_show_rate(char *text, double bits_per_s)
{
	static const char unit[][5] = { "kb/s", "Mb/s", "Gb/s", "Tb/s" };
	double value = bits_per_s / 1000;
	int i = 0;

	if (bits_per_s < 999.5) {
		snprintf(text, UNITS_TEXT, "%.0f b/s", bits_per_s);
		return text;
	}
	for (; value >= 999.995 && i < 3; i++)
		value /= 1000;
	snprintf(text, UNITS_TEXT, "%.2f %s", value, unit[i]);
	return text;
}

const char *
units_show_span(char *text, int64_t ns)
{
	const char *sign = ns < 0 ? "-" : "";
	uint64_t magnitude = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
	uint64_t ms = (magnitude + 500000) / 1000000;
	uint64_t minutes = ms / 60000;
	unsigned s = ms / 1000 % 60;

	if (ms < 1000)
		snprintf(text, UNITS_TEXT, "%s%ums", sign, (unsigned)ms);
	else if (ms < 60000 && ms % 1000 >= 100)
		snprintf(text, UNITS_TEXT, "%s%u.%us", sign, s,
			 (unsigned)(ms % 1000 / 100));
	else if (ms < 60000)
		snprintf(text, UNITS_TEXT, "%s%us", sign, s);
	else if (minutes < 60)
		snprintf(text, UNITS_TEXT, "%s%um %02us", sign,
			 (unsigned)minutes, s);
	else
		snprintf(text, UNITS_TEXT, "%s%uh %02um", sign,
			 (unsigned)(minutes / 60), (unsigned)(minutes % 60));
	return text;
}

static const char *
show_time(char *text, int64_t ns, int digits)
{
	time_t s = ns / BILLION - (ns % BILLION < 0);
	unsigned fraction = (ns % BILLION + BILLION) % BILLION;
	struct tm tm;
	size_t length;

	for (int i = digits; i < 9; i++)
		fraction /= 10;
	gmtime_r(&s, &tm);
	length = strftime(text, UNITS_TEXT, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text + length, UNITS_TEXT - length, ".%0*uZ", digits,
		 fraction);
	return text;
}

const char *
units_show_time(char *text, int64_t ns)
{
	return show_time(text, ns, 3);
}

const char *
units_show_time_ns(char *text, int64_t ns)
{
	return show_time(text, ns, 9);
}
