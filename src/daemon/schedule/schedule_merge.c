/* SPDX-License-Identifier: MIT */
/*
 * Merges a file that was read again: matches its entries with known scans.
 *
 *   same name and start               the same scan, also if it was in another
 *                                     file that is gone
 *   same file and name, not over yet  the same scan, moved to another time
 *   else                              a new scan
 *
 * An entry may stand in two files.  One of them is refused as the duplicate of
 * the other, and takes over the armed or running scan when that one is removed.
 *
 * A running scan matches only if it can become what the file says: it can be
 * given another end; other streams would be another recording.
 *
 * Known scans are sorted by name and start once per file, and matched ones are
 * skipped: a file of 60,000 entries that replaces another one is merged in some
 * ten milliseconds.  Scans that leave the list are marked, and removed together
 * at the end.
 */
#include "daemon/schedule/schedule_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

/* ---- matching ---------------------------------------------------------- */

static bool
same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool
same_streams(const struct scan *a, const struct scan *b)
{
	if (a->streams != b->streams)
		return false;
	for (unsigned i = 0; i < a->streams; i++) {
		if (strcmp(a->stream[i], b->stream[i]))
			return false;
	}
	return true;
}

/* Compares everything except times and priority. */
static bool
same_kind(const struct scan *a, const struct scan *b)
{
	return a->action == b->action && a->data == b->data &&
	       same_streams(a, b) && same_text(a->to, b->to);
}

static bool
same_work(const struct scan *a, const struct scan *b)
{
	return same_kind(a, b) && a->backlog == b->backlog;
}

static bool
same(const struct scan *a, const struct scan *b)
{
	return same_work(a, b) && a->start == b->start && a->stop == b->stop &&
	       a->arm == b->arm && a->priority == b->priority &&
	       same_text(a->send, b->send);
}

/*
 * Tells whether a known scan can be matched: its file is the one being merged,
 * or is gone.
 */
static bool
is_free(const struct schedule *s, const struct scan *old, const char *file)
{
	const struct schedule_file *f;

	if (old->kept || !old->file)
		return false;
	if (old->gone || !strcmp(old->file, file))
		return true;
	f = schedule_file_find(s, old->file);
	return !f || !f->seen;
}

static bool
may_become(const struct scan *old, const struct scan *new, int64_t utc)
{
	if (old->state != SCAN_RUNNING || new->wrong)
		return true;
	return same_kind(old, new) &&
	       (new->start == old->start || new->start <= utc);
}

static bool
is_of(const struct scan *scan, const char *file)
{
	return scan->file && !scan->gone && !strcmp(scan->file, file);
}

/*
 * A known scan with the name and start that it is found by: a merge may change
 * the scan's own start before later comparisons.
 */
struct known {
	const char *name;
	int64_t start;
	struct scan *scan;
	unsigned next; /* index of an unmatched scan, or of a step on the way
			* to it */
};

struct known_list {
	struct known *known;
	unsigned n;
};

static int
by_name(const void *a, const void *b)
{
	const struct known *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	if (order)
		return order;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->scan->id < y->scan->id ? -1 : x->scan->id > y->scan->id;
}

static int
known_make(struct known_list *k, struct schedule *s)
{
	k->n = s->scans.n;
	k->known = calloc(k->n + 1, sizeof *k->known);
	if (!k->known)
		return -ENOMEM;
	for (unsigned i = 0; i < k->n; i++) {
		struct scan *scan = s->scans.scan[i];

		scan->kept = false;
		k->known[i] = (struct known){ .name = scan->name,
					      .start = scan->start,
					      .scan = scan };
	}
	qsort(k->known, k->n, sizeof *k->known, by_name);
	for (unsigned i = 0; i < k->n; i++)
		k->known[i].next = i + 1;
	return 0;
}

/*
 * Returns the index of the first unmatched scan from i on, and shortens the
 * paths on the way.
 */
static unsigned
known_free(struct known_list *k, unsigned i)
{
	unsigned end = i;

	while (end < k->n && k->known[end].scan->kept)
		end = k->known[end].next;
	while (i < end) {
		unsigned next = k->known[i].next;

		k->known[i].next = end;
		i = next;
	}
	return end;
}

/*
 * Returns the index of the first unmatched scan with this name and a start no
 * earlier.
 */
static unsigned
known_find(struct known_list *k, const char *name, int64_t start)
{
	unsigned from = 0, to = k->n;

	while (from < to) {
		unsigned i = from + (to - from) / 2;
		int order = strcmp(k->known[i].name, name);

		if (order < 0 || (!order && k->known[i].start < start))
			from = i + 1;
		else
			to = i;
	}
	return known_free(k, from);
}

static bool
known_has(const struct known_list *k, unsigned i, const char *name)
{
	return i < k->n && !strcmp(k->known[i].name, name);
}

/*
 * Finds the scan with the same name and start; prefers one of the same file
 * over one that another file left behind.
 */
static struct scan *
find_same(const struct schedule *s, struct known_list *k, const char *file,
	  const struct scan *new, int64_t utc)
{
	struct scan *found = NULL;

	if (new->wrong)
		return NULL;
	for (unsigned i = known_find(k, new->name, new->start);
	     known_has(k, i, new->name) && k->known[i].start == new->start;
	     i = known_free(k, i + 1)) {
		struct scan *old = k->known[i].scan;

		if (!scan_is_entry(old, new) || !is_free(s, old, file) ||
		    !may_become(old, new, utc))
			continue;
		if (is_of(old, file))
			return old;
		if (!found)
			found = old;
	}
	return found;
}

static struct scan *
find_moved(struct known_list *k, const char *file, const struct scan *new,
	   int64_t utc)
{
	for (unsigned i = known_find(k, new->name, INT64_MIN);
	     known_has(k, i, new->name); i = known_free(k, i + 1)) {
		struct scan *old = k->known[i].scan;

		if (is_of(old, file) &&
		    (scan_is_ahead(old) || old->state == SCAN_REFUSED) &&
		    old->action == new->action && may_become(old, new, utc))
			return old;
	}
	return NULL;
}

/* ---- applying --------------------------------------------------------- */

static void
swap(char **a, char **b)
{
	char *c = *a;

	*a = *b;
	*b = c;
}

static void
take_over(struct scan *old, struct scan *new)
{
	char **stream = old->stream;
	unsigned streams = old->streams;

	old->stream = new->stream;
	old->streams = new->streams;
	new->stream = stream;
	new->streams = streams;
	swap(&old->to, &new->to);
	swap(&old->send, &new->send);
	swap(&old->file, &new->file);
	old->action = new->action;
	old->start = new->start;
	old->stop = new->stop;
	old->data = new->data;
	old->backlog = new->backlog;
	old->arm = new->arm;
	old->priority = new->priority;
	old->line = new->line;
	old->wrong = new->wrong;
	old->gone = false;
	old->taken = false;
}

/* Moves the steady end of a scan by as much as its stop in the file moved. */
static void
prolong(struct schedule *s, struct scan *scan, int64_t was)
{
	if (scan->stop == was)
		return;
	if (scan->data)
		scan->end = scan->stop;
	else if (scan->stop == INT64_MAX || was == INT64_MAX)
		scan->end = scan->stop == INT64_MAX ? INT64_MAX
						    : scan->stop - s->offset;
	else
		scan->end += scan->stop - was;
	log_line(LEVEL_INFO, scan->name, "has another end");
	s->hooks.stop_at(s->hooks.arg, scan, scan->end);
	if (scan->data)
		scan->end = INT64_MAX;
}

static void
change_active(struct schedule *s, struct scan *scan, const struct scan *was)
{
	bool again = scan->state == SCAN_ARMED &&
		     !(same_work(scan, was) && scan->start == was->start);

	if (!again) {
		prolong(s, scan, was->stop);
		return;
	}
	schedule_halt(s, scan, "the schedule was changed");
	schedule_set(s, scan, SCAN_WAITING, "the schedule was changed");
}

static bool
comes_back(const struct scan *scan, const struct scan *was, int64_t utc)
{
	switch (scan->state) {
	case SCAN_MISSED:
	case SCAN_FAILED: return scan->stop > utc;
	case SCAN_DONE: return scan->stop > was->stop && scan->stop > utc;
	case SCAN_CANCELLED: return was->taken && scan->stop > utc;
	case SCAN_REFUSED: return true;
	default: return false;
	}
}

static void
update(struct schedule *s, struct scan *old, struct scan *new, int64_t utc)
{
	bool news = !same(old, new) || old->wrong || new->wrong || old->gone;
	const struct scan was = *old; /* take_over() gives its texts to `new` */

	take_over(old, new);
	old->kept = true;
	if (!news)
		return;
	s->dirty = s->changed = true;
	s->sorted = false;
	if (old->wrong)
		schedule_set(s, old, SCAN_REFUSED, "%s", new->why);
	else if (old->state == SCAN_ARMED || old->state == SCAN_RUNNING)
		change_active(s, old, &was);
	else if (old->state == SCAN_WAITING || comes_back(old, &was, utc))
		schedule_set(s, old, SCAN_WAITING, "%s", new->why);
	old->again = 0;
}

/*
 * Tells whether the new entry is invalid while the scan is armed or runs: then
 * the scan continues as it was.
 */
static bool
is_slip(struct schedule *s, const struct scan *old, const struct scan *new)
{
	struct schedule_file *f = schedule_file_find(s, new->file);

	if (!new->wrong ||
	    (old->state != SCAN_ARMED && old->state != SCAN_RUNNING))
		return false;
	log_line(LEVEL_WARN, old->name, "goes on as it was: %s", new->why);
	if (f)
		snprintf(f->error, sizeof f->error, "%s", new->why);
	return true;
}

/* ---- a file ---------------------------------------------------------- */

static void
put(struct schedule *s, struct scan *old, struct scan *new, int64_t utc)
{
	if (is_slip(s, old, new))
		old->kept = true;
	else
		update(s, old, new, utc);
	scan_free(new);
}

static unsigned
enter(struct schedule *s, struct scan *new, int64_t utc)
{
	unsigned over = 0;

	if (!new->wrong && !new->data &&new->stop <= utc) {
		new->state = SCAN_MISSED;
		snprintf(new->why, SCAN_WHY,
			 "its end had passed when it was added");
		over = 1;
	}
	new->kept = true;
	if (new->wrong)
		schedule_tell(s, new);
	else if (new->why[0] && !over)
		log_line(LEVEL_WARN, new->name, "%s", new->why);
	if (!schedule_enter(s, new))
		scan_free(new);
	return over;
}

/* Marks a scan for removal by schedule_dropped(). */
static void
drop(struct schedule *s, struct scan *scan)
{
	scan->dropped = true;
	s->dropped = s->changed = s->dirty = true;
}

void
schedule_dropped(struct schedule *s)
{
	unsigned n = 0;

	for (unsigned i = 0; i < s->scans.n && s->dropped; i++) {
		struct scan *scan = s->scans.scan[i];

		if (scan->dropped)
			scan_free(scan);
		else
			s->scans.scan[n++] = scan;
	}
	s->scans.n = s->dropped ? n : s->scans.n;
	s->dropped = false;
}

/*
 * Tells whether the scans are in different files; a duplicate in the same file
 * goes with it.
 */
static bool
is_in_another(const struct scan *other, const struct scan *scan)
{
	return other->file && scan->file && strcmp(other->file, scan->file);
}

static struct scan *
heir_of(const struct schedule *s, const struct scan *scan)
{
	for (unsigned i = 0; i < s->scans.n; i++) {
		struct scan *other = s->scans.scan[i];

		if (other != scan && other->start == scan->start &&
		    other->state == SCAN_REFUSED && other->barred &&
		    !other->gone && is_in_another(other, scan) &&
		    same_kind(other, scan) && !other->dropped &&
		    !strcmp(other->name, scan->name))
			return other;
	}
	return NULL;
}

bool
schedule_inherit(struct schedule *s, struct scan *scan, int64_t utc)
{
	struct scan *heir = NULL;

	if (scan->state == SCAN_ARMED || scan->state == SCAN_RUNNING)
		heir = heir_of(s, scan);
	if (!heir)
		return false;
	log_line(LEVEL_INFO, scan->name, "goes on as %s says", heir->file);
	update(s, scan, heir, utc);
	drop(s, heir);
	return true;
}

static void
take_away(struct schedule *s, struct scan *scan, int64_t utc)
{
	if (schedule_inherit(s, scan, utc))
		return;
	scan->gone = true;
	s->dirty = s->changed = true;
	if (scan->state == SCAN_WAITING || scan->state == SCAN_REFUSED) {
		schedule_set(s, scan, SCAN_CANCELLED, "taken out of %s",
			     scan->file);
		drop(s, scan);
	} else if (scan->state == SCAN_ARMED || scan->state == SCAN_RUNNING) {
		schedule_halt(s, scan, "taken out of the schedule");
		schedule_set(s, scan, SCAN_CANCELLED, "taken out of %s",
			     scan->file);
		scan->taken = true;
	}
}

void
schedule_merge(struct schedule *s, const char *file, struct scan_list *list,
	       struct schedule_now now)
{
	bool many = schedule_many_begin(s);
	struct known_list known;
	unsigned over = 0;
	struct scan *old;

	if (known_make(&known, s)) {
		log_line(LEVEL_ERROR, NULL,
			 "%s is left as it was: out of memory", file);
		schedule_many_end(s, many);
		scan_list_clear(list);
		return;
	}
	/*
	 * Match the certain ones first, so that none is taken as a moved one.
	 */
	for (unsigned i = 0; i < list->n; i++) {
		old = find_same(s, &known, file, list->scan[i], now.utc);
		if (!old)
			continue;
		put(s, old, list->scan[i], now.utc);
		list->scan[i] = NULL;
	}
	for (unsigned i = 0; i < list->n; i++) {
		if (!list->scan[i])
			continue;
		old = find_moved(&known, file, list->scan[i], now.utc);
		if (old)
			put(s, old, list->scan[i], now.utc);
		else
			over += enter(s, list->scan[i], now.utc);
	}
	for (unsigned i = s->scans.n; i--;) {
		if (is_of(s->scans.scan[i], file) && !s->scans.scan[i]->kept)
			take_away(s, s->scans.scan[i], now.utc);
	}
	schedule_dropped(s);
	free(known.known);
	list->n = 0;
	scan_list_clear(list);
	if (over)
		log_line(LEVEL_INFO, NULL, "%s: %u of its scans are over", file,
			 over);
	schedule_many_end(s, many);
	s->next = 0;
}

/*
 * Tells whether the scan runs, or is to be continued after the daemon was away.
 */
static bool
is_running(const struct scan *scan)
{
	return scan->state == SCAN_RUNNING ||
	       (scan->resume && scan_is_ahead(scan));
}

void
schedule_lose(struct schedule *s, const char *file, int64_t utc)
{
	bool many = schedule_many_begin(s);

	for (unsigned i = s->scans.n; i--;) {
		struct scan *scan = s->scans.scan[i];

		if (!is_of(scan, file))
			continue;
		if (!is_running(scan)) {
			take_away(s, scan, utc);
			continue;
		}
		if (schedule_inherit(s, scan, utc))
			continue;
		scan->gone = true;
		log_line(LEVEL_WARN, scan->name,
			 "%s was removed; what runs goes on to its end", file);
	}
	schedule_dropped(s);
	schedule_many_end(s, many);
	s->next = 0;
	s->dirty = true;
}
