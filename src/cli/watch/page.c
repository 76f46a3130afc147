/* SPDX-License-Identifier: MIT */
/*
 * The page is sections, one below the other:
 *
 *   head      version, up since, memory, space; or since when spated is away
 *   streams   those with trouble first, then those that are recorded
 *   sessions  recordings, transfers, copies that come in
 *   disks     those with trouble first
 *   warnings  the newest first
 *
 * Rows are dealt out to the sections in turn, two at a time to streams, until
 * each has what it wants; the last row of one that lacks some says how many.
 *
 * A warning is a difference between two answers.  Losses of one stream are one
 * warning whose number grows, so a flood does not push the others out.
 */
#include "cli/watch/page.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/show/field.h"
#include "control/answer.h"
#include "contract/log.h"
#include "store/recording/recording_info.h"

enum {
	MINUTE = 60,
	WARNINGS = 64,
	WARNING = 240,
	COLUMNS_MOST = 400,
	LINE = COLUMNS_MOST * 3 + 1, /* a block element has three bytes */
	CELL = 64,
	BAR = 10,
};

/* How much a stream needs to be looked at. */
enum {
	TROUBLE_NONE,
	TROUBLE_LOST,
	TROUBLE_LOSES,
	TROUBLE_SIGNAL,
	TROUBLE_LINK
};

struct watched {
	char name[80];
	float
	    rate[MINUTE]; /* bit/s, by the second of page::tick; < 0: unknown */
	int64_t lost_at;  /* when packets were last lost; 0: never seen */

	/* The last answer; its texts and objects belong to the page. */
	json_t *stream;
	const json_t *info; /* its first recording; NULL: none runs */
	char state[CELL];
	double now; /* bit/s */
	uint64_t packets, lost, overruns, blocks, used;
	bool runs;
	unsigned trouble;
};

struct warning {
	int64_t first, last;
	char key[120]; /* counts of one key are one warning; may be empty */
	uint64_t count;
	char text[WARNING];
};

struct page {
	bool utf8;
	json_t *status, *streams; /* NULL: spated has not answered yet */
	int64_t now;
	int64_t away_since; /* 0: it answers */
	char away[320];

	unsigned tick; /* seconds since the page was opened */
	struct watched *watched;
	unsigned *order; /* of streams, the first to be shown first */
	size_t n, room;

	struct warning warning[WARNINGS]; /* the newest last */
	unsigned warnings;
};

int
page_open(struct page **page, bool utf8)
{
	struct page *p = calloc(1, sizeof *p);

	if (!p)
		return -ENOMEM;
	p->utf8 = utf8;
	*page = p;
	return 0;
}

void
page_close(struct page *p)
{
	if (!p)
		return;
	json_decref(p->status);
	json_decref(p->streams);
	free(p->watched);
	free(p->order);
	free(p);
}

/* ---- warnings ---------------------------------------------------------- */

static struct warning *
warning_add(struct page *p, int64_t at)
{
	struct warning *w;

	if (p->warnings == WARNINGS)
		memmove(p->warning, p->warning + 1,
			--p->warnings * sizeof *p->warning);
	w = &p->warning[p->warnings++];
	*w = (struct warning){ .first = at, .last = at };
	return w;
}

static void __attribute__((format(printf, 3, 4)))
warn(struct page *p, int64_t at, const char *format, ...)
{
	struct warning *w = warning_add(p, at);
	va_list args;

	va_start(args, format);
	vsnprintf(w->text, sizeof w->text, format, args);
	va_end(args);
}

/* Warns of `n` more of something; adds to a warning of the last minute. */
static void
warn_count(struct page *p, const char *name, const char *what, uint64_t n)
{
	struct warning *w, sum;
	unsigned i;
	char key[sizeof w->key];

	if (!n)
		return;
	snprintf(key, sizeof key, "%s %s", name, what);
	for (i = p->warnings; i > 0; i--) {
		w = &p->warning[i - 1];
		if (!strcmp(w->key, key) &&
		    p->now - w->last < MINUTE * NS_SECOND)
			break;
	}
	if (i) {
		/* it becomes the newest */
		sum = p->warning[i - 1];
		memmove(&p->warning[i - 1], &p->warning[i],
			(p->warnings - i) * sizeof sum);
		p->warning[p->warnings - 1] = sum;
		w = &p->warning[p->warnings - 1];
	} else {
		w = warning_add(p, p->now);
		memcpy(w->key, key, sizeof key);
	}
	w->last = p->now;
	w->count += n;
	snprintf(w->text, sizeof w->text, "%s: %" PRIu64 " %s", name, w->count,
		 what);
}

/* Finds the object of a list whose text `key` is that. */
static json_t *
named(const json_t *list, const char *key, const char *text)
{
	json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
		if (!strcmp(field_text(one, key), text))
			return one;
	return NULL;
}

/* Returns how much a counter grew; one that fell began anew. */
static uint64_t
grown(const json_t *now, const json_t *before, const char *key)
{
	uint64_t n = field_number(now, key), was = field_number(before, key);

	return n >= was ? n - was : n;
}

static void
links_compare(struct page *p, const json_t *info, const json_t *before)
{
	const char *name = field_text(info, "name");
	const json_t *link, *was;
	size_t i;

	json_array_foreach(json_object_get(info, "links"), i, link) {
		was = named(json_object_get(before, "links"), "link",
			    field_text(link, "link"));
		if (json_is_false(json_object_get(link, "well"))) {
			if (!was ||
			    !json_is_false(json_object_get(was, "well")))
				warn(p, p->now, "%s: %s", name,
				     *field_text(link, "why")
					 ? field_text(link, "why")
					 : field_text(link, "link"));
		} else if (was && json_is_false(json_object_get(was, "well"))) {
			warn(p, p->now, "%s: well again: %s", name,
			     field_text(link, "link"));
		}
	}
}

/* Warns of a text that is new, and is not one of those that are good. */
static void
text_compare(struct page *p, const char *name, const char *what,
	     const json_t *now, const json_t *before, const char *key,
	     const char *good)
{
	const char *text = field_text(now, key);

	if (*text && strcmp(text, good) != 0 &&
	    strcmp(text, field_text(before, key)) != 0)
		warn(p, p->now, "%s: %s%s", name, what, text);
}

static void
stream_compare(struct page *p, struct watched *w, const json_t *before)
{
	const json_t *now = w->stream, *drops, *count;
	const char *reason;
	char what[CELL];

	text_compare(p, w->name, "signal: ", now, before, "quality", "ok");
	/* Losses from before the page was opened are no news. */
	if (!before)
		return;
	if (grown(now, before, "packets_lost"))
		w->lost_at = p->now;
	warn_count(p, w->name, "packets lost",
		   grown(now, before, "packets_lost"));
	warn_count(p, w->name, "packets lost in this machine's sockets",
		   grown(now, before, "overruns"));
	drops = json_object_get(before, "drops");
	json_object_foreach(json_object_get(now, "drops"), reason, count) {
		snprintf(what, sizeof what, "packets dropped: %s", reason);
		warn_count(p, w->name, what,
			   grown(json_object_get(now, "drops"), drops, reason));
	}
}

static bool
disk_is_well(const json_t *disk)
{
	const char *state = field_text(disk, "state");

	return !strcmp(state, "idle") || !strcmp(state, "writing");
}

static void
disk_compare(struct page *p, const json_t *disk, const json_t *before)
{
	const char *path = field_text(disk, "path");
	const char *state = field_text(disk, "state");
	const char *why = field_text(disk, "why");

	if (before)
		warn_count(p, path, "errors of writing",
			   grown(disk, before, "errors"));
	if (!strcmp(state, field_text(before, "state")))
		return;
	if (!disk_is_well(disk))
		warn(p, p->now, "%s: %s%s%s", path, state, *why ? ": " : "",
		     why);
	else if (before && !disk_is_well(before))
		warn(p, p->now, "%s: well again: %s", path, state);
}

static void
compare(struct page *p, const json_t *status, const json_t *streams)
{
	const json_t *infos = json_object_get(p->status, "recordings");
	const json_t *disks = json_object_get(p->status, "disks");
	const json_t *sends = json_object_get(p->status, "sends");
	const json_t *one, *was;
	size_t i;

	json_array_foreach(infos, i, one) {
		was = named(json_object_get(status, "recordings"), "name",
			    field_text(one, "name"));
		links_compare(p, one, was);
		text_compare(p, field_text(one, "name"), "", one, was, "why",
			     "");
		text_compare(p, field_text(one, "name"), "clock: ", one, was,
			     "clock", "");
	}
	json_array_foreach(disks, i, one)
		disk_compare(p, one,
			     named(json_object_get(status, "disks"), "path",
				   field_text(one, "path")));
	json_array_foreach(sends, i, one)
		text_compare(p, field_text(one, "name"), "", one,
			     named(json_object_get(status, "sends"), "name",
				   field_text(one, "name")),
			     "why", "");
	for (size_t k = 0; k < p->n; k++)
		stream_compare(p, &p->watched[k],
			       named(streams, "name", p->watched[k].name));
}

/* ---- streams ----------------------------------------------------------- */

/* Makes room for the streams of a configuration, and keeps the minute of those
 * that were there before.  Returns false without memory. */
static bool
streams_match(struct page *p)
{
	size_t n = json_array_size(p->streams), i, k;
	struct watched *all = calloc(n ? n : 1, sizeof *all);
	unsigned *order = calloc(n ? n : 1, sizeof *order);
	json_t *stream;

	if (!all || !order) {
		free(all);
		free(order);
		p->n = 0;
		return false;
	}
	json_array_foreach(p->streams, i, stream) {
		const char *name = field_text(stream, "name");

		/* mostly at the same place */
		k = i < p->n && !strcmp(p->watched[i].name, name) ? i : 0;
		while (k < p->n && strcmp(p->watched[k].name, name) != 0)
			k++;
		if (k < p->n) {
			all[i] = p->watched[k];
		} else {
			snprintf(all[i].name, sizeof all[i].name, "%s", name);
			for (unsigned s = 0; s < MINUTE; s++)
				all[i].rate[s] = -1;
		}
		all[i].stream = stream;
		order[i] = (unsigned)i;
	}
	free(p->watched);
	free(p->order);
	p->watched = all;
	p->order = order;
	p->n = n;
	return true;
}

/* Adds a recording of this stream: a split one has several. */
static void
recording_add(struct watched *w, const json_t *info)
{
	const json_t *blocks = json_object_get(info, "blocks"), *link;
	uint64_t total = field_number(blocks, "total");
	size_t i;

	if (!w->runs) {
		snprintf(w->state, sizeof w->state, "%s",
			 field_text(info, "state"));
		w->info = info;
	}
	w->runs = true;
	w->now += field_real(info, "rate");
	w->packets += field_number(info, "packets");
	w->lost += field_number(info, "packets_lost");
	w->overruns += field_number(info, "overruns");
	w->blocks += total;
	w->used += total - field_number(blocks, "free");
	json_array_foreach(json_object_get(info, "links"), i, link) {
		if (!json_is_false(json_object_get(link, "well")))
			continue;
		if (w->trouble != TROUBLE_LINK)
			snprintf(w->state, sizeof w->state, "! %s",
				 field_text(link, "link"));
		w->trouble = TROUBLE_LINK;
	}
}

static void
stream_judge(const struct page *p, struct watched *w)
{
	const char *quality = field_text(w->stream, "quality");

	if (w->trouble == TROUBLE_LINK)
		return;
	if ((*quality && strcmp(quality, "ok") != 0) ||
	    *field_text(w->info, "clock"))
		w->trouble = TROUBLE_SIGNAL;
	else if (w->lost_at && p->now - w->lost_at < MINUTE * NS_SECOND)
		w->trouble = TROUBLE_LOSES;
	else if (w->lost)
		w->trouble = TROUBLE_LOST;
}

static int
by_trouble(const void *a, const void *b, void *arg)
{
	const struct page *p = arg;
	unsigned i = *(const unsigned *)a, k = *(const unsigned *)b;
	const struct watched *x = &p->watched[i], *y = &p->watched[k];

	if (x->trouble != y->trouble)
		return x->trouble > y->trouble ? -1 : 1;
	if (x->runs != y->runs)
		return x->runs ? -1 : 1;
	return i < k ? -1 : i > k;
}

static void
streams_fill(struct page *p)
{
	const json_t *info;
	size_t i, k;

	for (k = 0; k < p->n; k++) {
		struct watched *w = &p->watched[k];
		const char *armed = field_text(w->stream, "armed");

		snprintf(w->state, sizeof w->state, "%s",
			 *armed ? "armed" : "idle");
		w->now = 0;
		w->packets = w->lost = w->overruns = w->blocks = w->used = 0;
		w->runs = false;
		w->info = NULL;
		w->trouble = TROUBLE_NONE;
	}
	json_array_foreach(json_object_get(p->status, "recordings"), i, info) {
		for (k = 0; k < p->n; k++) {
			if (!strcmp(p->watched[k].name,
				    field_text(info, "stream"))) {
				recording_add(&p->watched[k], info);
				break;
			}
		}
	}
	for (k = 0; k < p->n; k++)
		p->watched[k].rate[p->tick % MINUTE] = (float)p->watched[k].now;
}

void
page_take(struct page *p, json_t *status, json_t *streams, int64_t now)
{
	json_t *old = p->status, *old_streams = p->streams;
	char span[UNITS_TEXT];

	p->tick++;
	p->now = now;
	p->status = json_incref(status);
	p->streams = json_incref(streams);
	if (p->away_since)
		warn(p, now, "spated answers again, after %s",
		     units_show_span(span, now - p->away_since));
	if (old && field_number(old, "pid") != field_number(status, "pid"))
		warn(p, now, "spated was started anew");
	p->away_since = 0;
	if (streams_match(p)) {
		streams_fill(p);
		compare(p, old, old_streams);
		for (size_t i = 0; i < p->n; i++)
			stream_judge(p, &p->watched[i]);
		qsort_r(p->order, p->n, sizeof *p->order, by_trouble, p);
	}
	json_decref(old);
	json_decref(old_streams);
}

void
page_away(struct page *p, const char *why, int64_t now)
{
	p->tick++;
	p->now = now;
	if (!p->away_since)
		p->away_since = now;
	snprintf(p->away, sizeof p->away, "%s", why);
	for (size_t k = 0; k < p->n; k++)
		p->watched[k].rate[p->tick % MINUTE] = -1;
}

/* ---- a line ------------------------------------------------------------ */

struct row_text {
	char text[LINE];
	size_t bytes;
	unsigned columns, most;
};

/* Adds one character, which may have several bytes, while there is room. */
static void
put_character(struct row_text *l, const char *character)
{
	size_t bytes = strlen(character);

	if (l->columns == l->most || l->bytes + bytes >= sizeof l->text)
		return;
	memcpy(l->text + l->bytes, character, bytes + 1);
	l->bytes += bytes;
	l->columns++;
}

/* Adds text; each byte that is not printable ASCII becomes a '?'. */
static void
put_text(struct row_text *l, const char *text)
{
	for (; *text; text++) {
		char one[2] = { *text >= ' ' && *text <= '~' ? *text : '?', 0 };

		put_character(l, one);
	}
}

static void __attribute__((format(printf, 2, 3)))
put_format(struct row_text *l, const char *format, ...)
{
	char text[COLUMNS_MOST + 1];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	put_text(l, text);
}

static void
put_blanks(struct row_text *l, unsigned n)
{
	while (n-- && l->columns < l->most)
		put_character(l, " ");
}

/* Adds a cell and a blank; what is too long loses its end, and shows it. */
static void
put_cell(struct row_text *l, unsigned width, bool right, const char *text)
{
	unsigned length = (unsigned)strlen(text);

	if (length > width) {
		put_format(l, "%.*s~", (int)width - 1, text);
	} else {
		put_blanks(l, right ? width - length : 0);
		put_text(l, text);
		put_blanks(l, right ? 0 : width - length);
	}
	put_blanks(l, 1);
}

/*
 * How names that are longer than their cell are shortened: "~" for the first
 * `skip` bytes, if any, then `head` bytes, "~", and as much of the end as has
 * room.
 */
struct name_cut {
	unsigned width, head;
	size_t skip;
};

static size_t
cut_room(const struct name_cut *c)
{
	return c->width - (c->skip > 0);
}

/* Adds a cell with a name. */
static void
put_name(struct row_text *l, const struct name_cut *c, const char *name)
{
	size_t length = strlen(name), room = cut_room(c);

	if (length <= c->width) {
		put_cell(l, c->width, false, name);
		return;
	}
	name += c->skip;
	length -= c->skip;
	if (c->skip)
		put_character(l, "~");
	if (length <= room) {
		put_cell(l, (unsigned)room, false, name);
		return;
	}
	put_format(l, "%.*s~", (int)c->head, name);
	put_text(l, name + length - (room - 1 - c->head));
	put_blanks(l, 1);
}

/* Tells whether two names that differ would look the same. */
static bool
cut_alike(const struct name_cut *c, const char *a, const char *b)
{
	size_t a_length = strlen(a), b_length = strlen(b), room = cut_room(c);
	size_t tail = room - 1 - c->head;

	if (a_length <= c->width || b_length <= c->width ||
	    a_length - c->skip <= room || b_length - c->skip <= room)
		return false;
	return !strncmp(a + c->skip, b + c->skip, c->head) &&
	       !strcmp(a + a_length - tail, b + b_length - tail) &&
	       strcmp(a, b) != 0;
}

static bool
cut_is_clear(const struct name_cut *c, const char *const names[], size_t n)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t k = i + 1; k < n; k++) {
			if (cut_alike(c, names[i], names[k]))
				return false;
		}
	}
	return true;
}

/* Returns how many bytes all names that are too long begin with. */
static size_t
common_start(unsigned width, const char *const names[], size_t n)
{
	const char *first = NULL;
	size_t same = 0;

	for (size_t i = 0; i < n; i++) {
		size_t k = 0;

		if (strlen(names[i]) <= width)
			continue;
		if (!first) {
			first = names[i];
			same = strlen(first);
			continue;
		}
		while (k < same && names[i][k] == first[k])
			k++;
		same = k;
	}
	return same;
}

/*
 * Chooses how names are cut so that no two look the same: disks differ in the
 * end of their path, in its middle or its beginning.  The end alone is tried
 * first; it also stays where no cut can tell all of them apart.
 */
static struct name_cut
cut_choose(unsigned width, const char *const names[], size_t n)
{
	size_t skips[2] = { 0, common_start(width, names, n) };

	for (int s = 0; s < 2; s++) {
		for (unsigned quarter = 0; quarter <= 4; quarter++) {
			struct name_cut c = { .width = width,
					      .skip = skips[s] };

			c.head = (unsigned)(cut_room(&c) - 1) * quarter / 4;
			if (cut_is_clear(&c, names, n))
				return c;
		}
	}
	return (struct name_cut){ .width = width };
}

static void
put_bar(struct row_text *l, unsigned width, double part, double whole)
{
	char bar[BAR + 3] = "[";
	double full = whole > 0 ? part / whole * width : 0;

	for (unsigned i = 0; i < width; i++)
		bar[i + 1] = i < full ? '#' : '.';
	bar[width + 1] = ']';
	put_cell(l, width + 2, false, whole > 0 ? bar : "");
}

/* Writes a span; one that is not known, negative, or of centuries as none. */
static const char *
seconds_show(char text[static UNITS_TEXT], double seconds)
{
	if (!(seconds >= 0 && seconds < 1e9))
		seconds = 0;
	return units_show_span(text, (int64_t)(seconds * 1e9));
}

/* Shortens a count to a width, of seven at least. */
static const char *
count_show(char text[CELL], uint64_t n, unsigned width)
{
	bool giga = n >= 1000000000;

	snprintf(text, CELL, "%" PRIu64, n);
	if (strlen(text) > width)
		snprintf(text, CELL, "%.2f%c", (double)n / (giga ? 1e9 : 1e6),
			 giga ? 'G' : 'M');
	return text;
}

/*
 * Adds the last minute in `width` characters, each the mean of its seconds; the
 * highest is the largest rate of the minute.  A blank is unknown.
 */
static void
put_spark(struct row_text *l, const struct page *p, const struct watched *w,
	  unsigned width)
{
	static const char blocks[][4] = {
		"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"
	};
	static const char ascii[][2] = {
		"_", ".", ":", "-", "=", "+", "*", "#"
	};
	float most = 0;

	for (unsigned s = 0; s < MINUTE; s++)
		most = fmaxf(most, w->rate[s]);
	for (unsigned c = 0; c < width; c++) {
		unsigned from = c * MINUTE / width;
		unsigned to = (c + 1) * MINUTE / width, n = 0;
		double sum = 0;
		int level;

		for (unsigned s = from; s < to; s++) {
			float rate = w->rate[(p->tick + 1 + s) % MINUTE];

			n += rate >= 0;
			sum += rate >= 0 ? (double)rate : 0;
		}
		level =
		    most > 0 && n ? (int)lround(sum / n / (double)most * 7) : 0;
		if (!n)
			put_character(l, " ");
		else
			put_character(l,
				      p->utf8 ? blocks[level] : ascii[level]);
	}
	put_blanks(l, 1);
}

/* ---- sections ---------------------------------------------------------- */

enum { KEYS_MOST = 8, RATE = 11, STATE = 10, LOST = 9 };

/* The columns of streams, without the blank behind each. */
struct form {
	unsigned least; /* columns of the screen */
	unsigned name, state, lost;
	unsigned spark, bar;   /* 0: left out; spark: at least */
	unsigned text, number; /* of keys */
	/* keys that are known: of the stream, or of its recording */
	const struct key *keys[KEYS_MOST];
	unsigned n_keys;
	bool of_info[KEYS_MOST];
	bool overruns;
};

/* The widest first; the one before the last one has room for quality and clock
 * at 80 columns. */
static const struct form forms[] = {
	{ .least = 120,
	  .name = 24,
	  .state = STATE,
	  .lost = LOST,
	  .spark = 8,
	  .bar = BAR,
	  .text = 20,
	  .number = 12,
	  .overruns = true },
	{ .name = 12,
	  .state = STATE,
	  .lost = LOST,
	  .spark = 8,
	  .bar = BAR,
	  .text = 12,
	  .number = 9 },
	{ .name = 12,
	  .state = 9,
	  .lost = 7,
	  .spark = 7,
	  .bar = 5,
	  .text = 12,
	  .number = 8 },
	{ .name = 12, .state = 9, .lost = 7, .text = 12, .number = 8 },
};

/* Adds the keys of a group that are known of any stream, or its recording. */
static void
keys_choose(struct form *f, const struct page *p, const struct key *keys,
	    unsigned group, bool of_info)
{
	for (const struct key *k = keys; k->name; k++) {
		if (!(k->groups & group) || f->n_keys == KEYS_MOST)
			continue;
		for (size_t i = 0; i < p->n; i++) {
			const struct watched *w = &p->watched[i];

			if (!field_known(of_info ? w->info : w->stream,
					 k->name))
				continue;
			f->of_info[f->n_keys] = of_info;
			f->keys[f->n_keys++] = k;
			break;
		}
	}
}

static unsigned
key_width(const struct form *f, unsigned key)
{
	return f->keys[key]->kind == KEY_TEXT ? f->text : f->number;
}

/* Returns the columns of a form, with a blank between any two. */
static unsigned
form_columns(const struct form *f)
{
	unsigned n = f->name + 1 + f->state + 1 + RATE + 1 + f->lost;

	n += f->spark ? f->spark + 1 : 0;
	n += f->overruns ? f->lost + 1 : 0;
	n += f->bar ? 1 + f->bar + 2 : 0;
	for (unsigned i = 0; i < f->n_keys; i++)
		n += 1 + key_width(f, i);
	return n;
}

/* Takes the widest form that has room; what is left goes to the last minute. */
static struct form
form_make(const struct page *p, unsigned columns)
{
	struct form f;
	unsigned used;

	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		f = forms[i];
		keys_choose(&f, p, stream_keys, ANSWER_WATCH, false);
		keys_choose(&f, p, info_keys, INFO_WATCH, true);
		if (columns >= f.least && form_columns(&f) <= columns)
			break;
	}
	used = form_columns(&f);
	if (f.spark && columns > used)
		f.spark += columns - used;
	if (f.spark > MINUTE)
		f.spark = MINUTE;
	return f;
}

static void
streams_title(const struct form *f, struct row_text *l)
{
	put_cell(l, f->name, false, "stream");
	put_cell(l, f->state, false, "state");
	put_cell(l, RATE, true, "rate");
	if (f->spark)
		put_cell(l, f->spark, false,
			 f->spark < 12 ? "minute" : "last minute");
	put_cell(l, f->lost, true, "lost");
	if (f->overruns)
		put_cell(l, f->lost, true, "overruns");
	if (f->bar)
		put_cell(l, f->bar + 2, false, "buffers");
	for (unsigned i = 0; i < f->n_keys; i++)
		put_cell(l, key_width(f, i), false,
			 *f->keys[i]->title ? f->keys[i]->title
					    : f->keys[i]->name);
}

/* Writes a number with as many digits behind the point, up to `most`, as leave it
 * within `width`. */
static void
number_show(char text[CELL], double number, int most, const char *unit,
	    unsigned width)
{
	for (int digits = most; digits >= 0; digits--) {
		snprintf(text, CELL, "%+.*f%s", digits, number, unit);
		if (strlen(text) <= width)
			return;
	}
	snprintf(text, CELL, "%+.1e%s", number, unit);
}

/* Writes a key of a stream, or of its recording, in its unit. */
static const char *
key_show(char text[CELL], const struct key *key, const json_t *stream,
	 unsigned width)
{
	const json_t *value = json_object_get(stream, key->name);

	*text = 0;
	if (json_is_string(value))
		snprintf(text, CELL, "%s", json_string_value(value));
	else if (key->kind == KEY_REAL && json_is_number(value))
		number_show(text, json_number_value(value), 4, "", width);
	else if (key->kind == KEY_SECONDS && json_is_number(value))
		number_show(text, json_number_value(value), 6, "s", width);
	else if (key->kind == KEY_MS && json_is_number(value))
		number_show(text, json_number_value(value), 3, "ms", width);
	else if (json_is_number(value))
		snprintf(text, CELL, "%g", json_number_value(value));
	else if (json_is_boolean(value))
		snprintf(text, CELL, "%s", json_is_true(value) ? "yes" : "no");
	return text;
}

static void
stream_line(const struct page *p, const struct form *f, size_t at,
	    struct row_text *l)
{
	const struct watched *w = &p->watched[p->order[at]];
	char text[CELL], rate[UNITS_TEXT];

	put_cell(l, f->name, false, w->name);
	put_cell(l, f->state, false, w->state);
	put_cell(l, RATE, true, w->runs ? units_show_rate(rate, w->now) : "");
	if (f->spark)
		put_spark(l, p, w, f->spark);
	put_cell(l, f->lost, true,
		 w->runs ? count_show(text, w->lost, f->lost) : "");
	if (f->overruns)
		put_cell(l, f->lost, true,
			 w->runs ? count_show(text, w->overruns, f->lost) : "");
	if (f->bar)
		put_bar(l, f->bar, (double)w->used, (double)w->blocks);
	for (unsigned i = 0; i < f->n_keys; i++) {
		unsigned width = key_width(f, i);

		put_cell(l, width, false,
			 key_show(text, f->keys[i],
				  f->of_info[i] ? w->info : w->stream, width));
	}
}

/* The columns of a name in a section below the streams. */
static unsigned
name_width(unsigned columns)
{
	return columns <= 80 ? 20 : columns < 100 ? columns - 60 : 40;
}

/* Chooses the cut of the names that these lists have as `key`. */
static struct name_cut
lists_cut(const struct page *p, const char *const lists[], const char *key,
	  unsigned columns)
{
	unsigned width = name_width(columns);
	const char **names;
	size_t n = 0, room = 0, i;
	const json_t *one;
	struct name_cut c;

	for (const char *const *list = lists; *list; list++)
		room += json_array_size(json_object_get(p->status, *list));
	names = calloc(room ? room : 1, sizeof *names);
	if (!names)
		return (struct name_cut){ .width = width };
	for (const char *const *list = lists; *list; list++) {
		json_array_foreach(json_object_get(p->status, *list), i, one)
			names[n++] = field_text(one, key);
	}
	c = cut_choose(width, names, n);
	free(names);
	return c;
}

/* Adds a session: how far it is, if that is known, and how long it lasts. */
static void
session_put(struct row_text *l, const struct name_cut *cut, const json_t *s,
	    double done, double all)
{
	char text[UNITS_TEXT];
	double left = field_real(s, "left_s");
	bool ends = field_known(s, "left_s");

	put_name(l, cut, field_text(s, "name"));
	put_cell(l, STATE, false, field_text(s, "state"));
	put_bar(l, BAR, done, all);
	put_cell(l, 9, true, units_show_bytes(text, field_number(s, "bytes")));
	put_cell(l, RATE, true, units_show_rate(text, field_real(s, "rate")));
	if (ends)
		put_format(l, "%s left ", seconds_show(text, left));
	else if (field_known(s, "elapsed_s"))
		put_format(l, "%s ",
			   seconds_show(text, field_real(s, "elapsed_s")));
}

static size_t
sessions_count(const struct page *p)
{
	return json_array_size(json_object_get(p->status, "recordings")) +
	       json_array_size(json_object_get(p->status, "sends")) +
	       json_array_size(json_object_get(p->status, "inbox"));
}

static void
session_line(const struct page *p, const struct name_cut *cut, size_t at,
	     struct row_text *l)
{
	const json_t *recordings = json_object_get(p->status, "recordings");
	const json_t *sends = json_object_get(p->status, "sends");
	const json_t *s;
	double elapsed, total;

	if (at < json_array_size(recordings)) {
		s = json_array_get(recordings, at);
		elapsed = field_real(s, "elapsed_s");
		total = field_known(s, "left_s")
			    ? elapsed + field_real(s, "left_s")
			    : 0;
		session_put(l, cut, s, elapsed, total);
		put_text(l, field_text(s, "why"));
		return;
	}
	at -= json_array_size(recordings);
	s = at < json_array_size(sends)
		? json_array_get(sends, at)
		: json_array_get(json_object_get(p->status, "inbox"),
				 at - json_array_size(sends));
	session_put(l, cut, s, field_real(s, "bytes"), field_real(s, "total"));
	if (*field_text(s, "to"))
		put_format(l, "to %s ", field_text(s, "to"));
	else
		put_format(l, "from %s ", field_text(s, "from"));
	put_text(l, field_text(s, "why"));
}

/* Finds the disk that is shown at this place: those with trouble are first. */
static const json_t *
disk_at(const struct page *p, size_t at)
{
	const json_t *disks = json_object_get(p->status, "disks"), *disk;

	for (int well = 0; well < 2; well++) {
		size_t i;

		json_array_foreach(disks, i, disk)
			if (disk_is_well(disk) == well && at-- == 0)
				return disk;
	}
	return NULL;
}

static void
disk_line(const struct page *p, const struct name_cut *cut, size_t at,
	  struct row_text *l)
{
	const json_t *disk = disk_at(p, at);
	char text[UNITS_TEXT + 2];

	put_name(l, cut, field_text(disk, "path"));
	put_cell(l, STATE, false, field_text(disk, "state"));
	put_cell(l, 9, true,
		 units_show_bytes(text, field_number(disk, "free")));
	put_text(l, "free ");
	units_show_bytes(text, field_number(disk, "rate"));
	strcat(text, "/s");
	put_cell(l, RATE, true, text);
	if (field_known(disk, "full_s"))
		put_format(l, "full in %s ",
			   seconds_show(text, field_real(disk, "full_s")));
	if (field_number(disk, "errors"))
		put_format(l, "%" PRIu64 " errors ",
			   field_number(disk, "errors"));
	put_text(l, field_text(disk, "why"));
}

/* Writes the time of day, of a time in UTC: 2026-11-20T10:00:00.000Z. */
static const char *
clock_show(char text[UNITS_TEXT], int64_t at)
{
	units_show_time(text, at);
	memmove(text, text + 11, 8);
	text[8] = 0;
	return text;
}

static void
warning_line(const struct page *p, size_t at, struct row_text *l)
{
	const struct warning *w = &p->warning[p->warnings - 1 - at];
	char text[UNITS_TEXT];

	put_format(l, "%s ", clock_show(text, w->last));
	put_text(l, w->text);
	if (w->last > w->first)
		put_format(l, ", since %s", clock_show(text, w->first));
}

static void
head_line(const struct page *p, struct row_text *l)
{
	struct answer_status s = answer_status(p->status);
	char text[UNITS_TEXT], up[UNITS_TEXT];

	if (p->away_since)
		put_format(l, "spated does not answer since %s UTC: %s",
			   clock_show(text, p->away_since), p->away);
	else
		put_format(
		    l, "spated %s, up %s, %s UTC", s.version ? s.version : "",
		    seconds_show(up, s.uptime_s), clock_show(text, p->now));
}

static void
space_line(const struct page *p, struct row_text *l)
{
	struct answer_status s = answer_status(p->status);
	struct answer_memory m = answer_memory(s.memory);
	struct answer_space space = answer_space(s.space);
	char text[UNITS_TEXT], all[UNITS_TEXT];

	put_text(l, "memory ");
	put_bar(l, BAR, (double)key_or_0(m.borrowed),
		(double)key_or_0(m.bytes));
	put_format(l,
		   "of %s   disks: ", units_show_bytes(all, key_or_0(m.bytes)));
	put_format(l, "%" PRIu64 ", %s free", key_or_0(space.disks),
		   units_show_bytes(text, key_or_0(space.free)));
	if (space.full_s > 0)
		put_format(l, ", full in %s", seconds_show(text, space.full_s));
}

/* ---- the page ---------------------------------------------------------- */

enum section { STREAMS, SESSIONS, DISKS, LAST_WARNINGS, SECTIONS };

/* Deals out `rows`, of which each section with lines needs one for its title. */
static void
rows_deal(unsigned rows, const size_t wanted[SECTIONS], size_t got[SECTIONS])
{
	static const unsigned char share[SECTIONS] = { 2, 1, 1, 1 };
	bool any = true;

	for (int i = 0; i < SECTIONS; i++) {
		got[i] = 0;
		if (wanted[i] && rows > 1)
			rows--;
	}
	while (rows && any) {
		any = false;
		for (int i = 0; i < SECTIONS; i++) {
			for (int k = 0; k < share[i]; k++) {
				if (!rows || got[i] == wanted[i])
					break;
				got[i]++;
				rows--;
				any = true;
			}
		}
	}
}

struct drawing {
	const struct page *page;
	struct form form;
	struct name_cut sessions, disks;
	unsigned rows, columns, row;
	void (*put)(void *arg, unsigned row, const char *line, bool strong);
	void *arg;
};

static struct row_text
line_begin(const struct drawing *d)
{
	return (struct row_text){ .most = d->columns };
}

static void
line_end(struct drawing *d, struct row_text *l, bool strong)
{
	while (l->bytes && l->text[l->bytes - 1] == ' ')
		l->text[--l->bytes] = 0;
	if (d->row < d->rows)
		d->put(d->arg, d->row++, l->text, strong);
}

static void
section_title(struct drawing *d, enum section s)
{
	static const char *const titles[SECTIONS] = { "", "sessions", "disks",
						      "last warnings (UTC)" };
	struct row_text l = line_begin(d);

	if (s == STREAMS)
		streams_title(&d->form, &l);
	else
		put_text(&l, titles[s]);
	line_end(d, &l, true);
}

static void
section_draw(struct drawing *d, enum section s, size_t wanted, size_t got)
{
	const struct page *p = d->page;

	if (!got)
		return;
	section_title(d, s);
	for (size_t i = 0; i < got; i++) {
		struct row_text l = line_begin(d);

		if (i + 1 == got && got < wanted && s != LAST_WARNINGS)
			put_format(&l, "... and %zu more", wanted - i);
		else if (s == STREAMS)
			stream_line(p, &d->form, i, &l);
		else if (s == SESSIONS)
			session_line(p, &d->sessions, i, &l);
		else if (s == DISKS)
			disk_line(p, &d->disks, i, &l);
		else
			warning_line(p, i, &l);
		line_end(d, &l,
			 s == STREAMS && i + 1 < got &&
			     p->watched[p->order[i]].trouble > TROUBLE_LOST);
	}
}

void
page_draw(struct page *p, unsigned rows, unsigned columns,
	  void (*put)(void *arg, unsigned row, const char *line, bool strong),
	  void *arg)
{
	struct drawing d = { .page = p,
			     .rows = rows,
			     .columns = columns < COLUMNS_MOST ? columns
							       : COLUMNS_MOST,
			     .put = put,
			     .arg = arg };
	size_t wanted[SECTIONS] = {
		[STREAMS] = p->n,
		[SESSIONS] = sessions_count(p),
		[DISKS] = json_array_size(json_object_get(p->status, "disks")),
		[LAST_WARNINGS] = p->warnings,
	};
	static const char *const sessions[] = { "recordings", "sends", "inbox",
						NULL };
	static const char *const disks[] = { "disks", NULL };
	size_t got[SECTIONS];
	struct row_text l = line_begin(&d);

	d.form = form_make(p, d.columns);
	d.sessions = lists_cut(p, sessions, "name", d.columns);
	d.disks = lists_cut(p, disks, "path", d.columns);
	head_line(p, &l);
	line_end(&d, &l, p->away_since != 0);
	l = line_begin(&d);
	space_line(p, &l);
	line_end(&d, &l, false);
	rows_deal(rows > 2 ? rows - 2 : 0, wanted, got);
	for (int i = 0; i < SECTIONS; i++)
		section_draw(&d, i, wanted[i], got[i]);
}
