/* SPDX-License-Identifier: MIT */
/*
 * Options are read by getopt_long from one flat table made of all sets.  Its
 * messages are not used: the faults made here say what would work.
 */
#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "cli/show/args.h"

/* ---- suggesting a name ----------------------------------------------------- */

/*
 * The distance of two words is the number of letters to insert, remove or
 * exchange; swapping two neighbours counts as one, because that is what fingers
 * do.  A third of the word may be wrong, and one letter always.  A word that a
 * name begins with is near, too: "stat" means "status".
 */
enum { LONGEST = 32 };

static unsigned
least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Returns the optimal string alignment distance, computed row by row. */
static unsigned
distance(const char *a, const char *b)
{
	unsigned row[3][LONGEST + 1];
	unsigned *last = row[0], *now = row[1], *before = row[2];
	size_t a_n = strlen(a), b_n = strlen(b);

	for (unsigned j = 0; j <= b_n; j++)
		now[j] = j;
	for (unsigned i = 1; i <= a_n; i++) {
		unsigned *spare = before;

		before = last;
		last = now;
		now = spare;
		now[0] = i;
		for (unsigned j = 1; j <= b_n; j++) {
			unsigned differ = a[i - 1] != b[j - 1];

			now[j] = least(last[j - 1] + differ,
				       least(last[j], now[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1])
				now[j] = least(now[j], before[j - 2] + 1);
		}
	}
	return now[b_n];
}

const char *
suggest(const char *word, const char *const *names, unsigned n)
{
	size_t length = strlen(word);
	unsigned best = length < 6 ? 1 : (unsigned)length / 3;
	const char *near = NULL;

	if (!length || length > LONGEST)
		return NULL;
	for (unsigned i = 0; i < n; i++) {
		unsigned far;

		if (strlen(names[i]) > LONGEST)
			continue;
		if (length > 1 && strncmp(names[i], word, length) == 0)
			return names[i];
		far = distance(word, names[i]);
		if (far < best || (far == best && !near)) {
			best = far;
			near = names[i];
		}
	}
	return near;
}

/* ---- parsing ---------------------------------------------------------------- */

enum { LONG_BASE = 256 }; /* getopt's value of the first option */

struct flat {
	struct option longs[ARGS_MOST + 1];
	char shorts[2 * ARGS_MOST + 3];
	const struct args_option *option[ARGS_MOST];
	void *values[ARGS_MOST];
	unsigned n;
};

static const char *const forms[] = {
	[ARGS_COUNT] = "a whole number",
	[ARGS_BYTES] = "a size, as 64M or 4096",
	[ARGS_RATE] = "a rate, as 8Gbps or 500Mbps, or max",
	[ARGS_SPAN] = "a span of time, as 30s, 250ms or 1m30s",
	[ARGS_TIME] = "a time, as 2026-11-20T10:00:00Z, "
		      "2026y324d10h00m00s, now or +30s",
	[ARGS_WHEN] = "a time, as 2026-11-20T10:00:00Z, "
		      "2026y324d10h00m00s, now or +30s; with @ before it of "
		      "the data",
	[ARGS_SHARE] = "a share from 0 to 1, as 0.01 or 1%",
};

static void
flat_add(struct flat *f, const struct args_option *o, void *values)
{
	char *shorts = f->shorts + strlen(f->shorts);

	assert(f->n < ARGS_MOST);
	f->option[f->n] = o;
	f->values[f->n] = values;
	f->longs[f->n] = (struct option){
		.name = o->name,
		.has_arg =
		    o->type == ARGS_FLAG ? no_argument : required_argument,
		.val = LONG_BASE + (int)f->n,
	};
	f->n++;
	if (!o->letter)
		return;
	*shorts++ = o->letter;
	if (o->type != ARGS_FLAG)
		*shorts = ':';
}

static void
flat_make(struct flat *f, const struct args_set *sets, enum args_mode mode)
{
	memset(f, 0, sizeof *f);
	strcpy(f->shorts, mode == ARGS_TO_OPERAND ? "+:" : ":");
	for (; sets->options; sets++)
		for (const struct args_option *o = sets->options; o->name; o++)
			flat_add(f, o, sets->values);
}

/* Returns the index of the option that getopt returned; f->n: unknown. */
static unsigned
flat_find(const struct flat *f, int got)
{
	unsigned i;

	if (got >= LONG_BASE)
		return (unsigned)(got - LONG_BASE);
	for (i = 0; i < f->n; i++)
		if (f->option[i]->letter && f->option[i]->letter == got)
			break;
	return i;
}

static int
count_read(const char *text, uint64_t *count)
{
	char *end;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	*count = strtoull(text, &end, 10);
	return *end ? -EINVAL : -errno;
}

static int
texts_add(struct args_texts *texts, const char *text)
{
	if (texts->n == ARGS_REPEATED)
		return -ERANGE;
	texts->text[texts->n++] = text;
	return 0;
}

/* Refuses a span of 0, because 0 stands for "without end". */
static int
span_read(const char *text, int64_t *ns)
{
	int err = units_span(text, ns);

	return err ? err : *ns > 0 ? 0 : -EINVAL;
}

static int
rate_read(const char *text, uint64_t *rate)
{
	int err;

	if (strcmp(text, "max") == 0) {
		*rate = 0;
		return 0;
	}
	err = units_rate(text, rate);
	return !err && !*rate ? -EINVAL : err;
}

static int
when_read(const char *text, struct args_when *when)
{
	return units_time_data(text, clock_now(), &when->ns, &when->data);
}

static int
value_read(const struct args_option *o, void *at, const char *text)
{
	switch (o->type) {
	case ARGS_FLAG: *(bool *)at = true; break;
	case ARGS_COUNT: return count_read(text, at);
	case ARGS_BYTES: return units_bytes(text, at);
	case ARGS_RATE: return rate_read(text, at);
	case ARGS_SPAN: return span_read(text, at);
	case ARGS_TIME: return units_time(text, clock_now(), at);
	case ARGS_WHEN: return when_read(text, at);
	case ARGS_SHARE: return units_share(text, at);
	case ARGS_TEXT: *(const char **)at = text; break;
	case ARGS_TEXTS: return texts_add(at, text);
	}
	return 0;
}

static int
value_put(const struct args_option *o, void *values, const char *text,
	  struct fault *fault)
{
	int err = value_read(o, (char *)values + o->offset, text);

	if (!err)
		return 0;
	fault_set(fault, -EINVAL, "usage", "--%s %s", o->name, text);
	if (o->type == ARGS_TEXTS)
		fault_why(fault, "it can be given %d times", ARGS_REPEATED);
	else if (err == -ERANGE)
		fault_why(fault, "the number is too large");
	else
		fault_why(fault, "it takes %s", forms[o->type]);
	return -EINVAL;
}

static int
missing_value(const struct flat *f, struct fault *fault)
{
	const struct args_option *o = f->option[flat_find(f, optopt)];

	fault_set(fault, -EINVAL, "usage", "--%s needs a value", o->name);
	fault_hint(fault, "--%s %s: %s", o->name, o->value, o->help);
	return -EINVAL;
}

/*
 * Reports an unknown option. getopt has gone past a word with an unknown long
 * option, but not past a word with an unknown letter and more letters behind
 * it.
 */
static int
unknown_option(const struct flat *f, char **argv, struct fault *fault)
{
	const char *names[ARGS_MOST], *word, *near;
	char name[64] = "";

	if (optopt && flat_find(f, optopt) < f->n) {
		fault_set(fault, -EINVAL, "usage", "--%s takes no value",
			  f->option[flat_find(f, optopt)]->name);
		return -EINVAL;
	}
	if (optopt) {
		fault_set(fault, -EINVAL, "usage", "unknown option -%c",
			  optopt);
		return -EINVAL;
	}
	word = argv[optind - 1] + strspn(argv[optind - 1], "-");
	strncat(name, word,
		strcspn(word, "=") < sizeof name - 1 ? strcspn(word, "=")
						     : sizeof name - 1);
	fault_set(fault, -EINVAL, "usage", "unknown option --%s", name);
	for (unsigned i = 0; i < f->n; i++)
		names[i] = f->option[i]->name;
	near = suggest(name, names, f->n);
	if (near)
		fault_hint(fault, "did you mean --%s?", near);
	return -EINVAL;
}

int
args_parse(const struct args_set *sets, enum args_mode mode, int argc,
	   char **argv, struct fault *fault)
{
	struct flat f;
	int got, err = 0;

	flat_make(&f, sets, mode);
	optind = 0; /* makes glibc start over */
	opterr = 0;
	while (!err) {
		unsigned i;

		got = getopt_long(argc, argv, f.shorts, f.longs, NULL);
		if (got == -1)
			return optind;
		if (got == ':') {
			err = missing_value(&f, fault);
		} else if (got == '?') {
			err = unknown_option(&f, argv, fault);
		} else {
			i = flat_find(&f, got);
			err =
			    value_put(f.option[i], f.values[i], optarg, fault);
		}
	}
	return err;
}

/* Writes "-c, --conf FILE"; returns its length. */
static int
option_show(const struct args_option *o, char *text, size_t bytes)
{
	char letter[8] = "    ";

	if (o->letter)
		snprintf(letter, sizeof letter, "-%c, ", o->letter);
	return snprintf(text, bytes, "%s--%s%s%s", letter, o->name,
			o->value ? " " : "", o->value ? o->value : "");
}

void
args_help(const struct args_option *options, FILE *to)
{
	const struct args_option *o;
	char text[80];
	int width = 0;

	for (o = options; o->name; o++) {
		int length = option_show(o, text, sizeof text);

		width = length > width ? length : width;
	}
	for (o = options; o->name; o++) {
		option_show(o, text, sizeof text);
		fprintf(to, "  %-*s  %s\n", width, text, o->help);
	}
}
