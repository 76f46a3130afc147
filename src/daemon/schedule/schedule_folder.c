/* SPDX-License-Identifier: MIT */
/*
 * The folder is read when inotify reports that a file was closed, moved or
 * removed there, and every ten seconds, since inotify does not see what other
 * machines do in a folder on NFS.  A folder whose server may be away is tested
 * by another thread (the `answers` hook) before anything here touches it.
 *
 * Half a file may parse well, with the scans that are written so far.  So a
 * file that is being written is left alone until it is closed; and a file that
 * inotify said nothing about until it has not changed for two seconds.  A file
 * that disappears may be about to be brought back by an editor: it counts as
 * removed after a second.
 *
 * The entries of a file that was read again are matched with known scans:
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

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/conf.h"
#include "base/log.h"
#include "daemon/schedule/scan.h"

/* ---- merging --------------------------------------------------------- */

/* ---- matching -------------------------------------------------------- */

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
struct known_scan {
	const char *name;
	int64_t start;
	struct scan *scan;
	unsigned next; /* index of an unmatched scan, or of a step on the way
			* to it */
};

struct known_list {
	struct known_scan *known;
	unsigned n;
};

static int
by_name(const void *a, const void *b)
{
	const struct known_scan *x = a, *y = b;
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
		k->known[i] = (struct known_scan){ .name = scan->name,
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

/* ---- applying -------------------------------------------------------- */

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

/* schedule_folder.c: merges a file whose scans are `list`; empties the list. */
static void
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

/*
 * Handles the removal of a file: its waiting scans go, running ones continue.
 */
static void
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

/* ---- the folder ------------------------------------------------------ */

#define LOOK	(10 * NS_SECOND)
#define SETTLED (2 * NS_SECOND)
#define SOON	(NS_SECOND / 4)
#define LOST	(-NS_SECOND) /* schedule_file::missing: its scans are gone */
#define WATCHED                                                                \
	(IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE |            \
	 IN_MODIFY | IN_CREATE | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF)

/* ---- files ----------------------------------------------------------- */

struct schedule_file *
schedule_file_find(const struct schedule *s, const char *name)
{
	for (unsigned i = 0; i < s->files; i++) {
		if (!strcmp(s->file[i].name, name))
			return &s->file[i];
	}
	return NULL;
}

struct schedule_file *
schedule_file_add(struct schedule *s, const char *name)
{
	size_t bytes = (s->files + 1) * sizeof *s->file;
	struct schedule_file *f = schedule_file_find(s, name);

	if (f)
		return f;
	f = realloc(s->file, bytes);
	if (!f)
		return NULL;
	s->file = f;
	f = &f[s->files];
	*f = (struct schedule_file){ .name = strdup(name) };
	if (!f->name)
		return NULL;
	s->files++;
	return f;
}

void
schedule_file_drop(struct schedule *s, const char *name)
{
	struct schedule_file *f = schedule_file_find(s, name);

	if (!f)
		return;
	free(f->name);
	*f = s->file[--s->files];
}

/*
 * Tells whether the file is a schedule, and not what editors and file transfers
 * leave beside it: .x.conf.swp, x.conf~, #x.conf#, x.conf.tmp.
 */
static bool
is_ours(const char *name)
{
	size_t n = strlen(name);
	json_t *text = json_string(name);

	json_decref(text);
	return text && n > 5 && !strcmp(name + n - 5, ".conf") &&
	       name[0] != '.' && name[0] != '#';
}

/* ---- reading --------------------------------------------------------- */

static void
file_fault(struct schedule *s, struct schedule_file *f,
	   const struct fault *fault)
{
	char line[sizeof *fault];

	fault_line(fault, line, sizeof line);
	if (!strncmp(f->error, line, sizeof f->error - 1))
		return;
	log_line(LEVEL_ERROR, NULL, "%s%s", line,
		 f->read ? "; its last good version goes on" : "");
	snprintf(f->error, sizeof f->error, "%.*s", SCHEDULE_FAULT - 1, line);
	s->dirty = true;
}

static void
file_read(struct schedule *s, struct schedule_file *f, struct schedule_now now)
{
	char path[PATH_MAX], name[NAME_MAX + 1];
	struct scan_list list = { 0 };
	struct fault fault = { 0 };
	char *text;
	int err;

	snprintf(path, sizeof path, "%s/%s", s->folder, f->name);
	snprintf(name, sizeof name, "%s", f->name);
	err = conf_text(&text, path, &fault);
	if (!err) {
		err = scan_read(&list, name, text, s->station, &fault);
		free(text);
	}
	if (err) {
		file_fault(s, f, &fault);
		/*
		 * Read it again even if size and times stay: permissions may
		 * change.
		 */
		if (err != -EINVAL)
			f->inode = 0;
		return;
	}
	if (f->error[0])
		log_line(LEVEL_INFO, NULL, "%s is good again", name);
	f->error[0] = '\0';
	f->read = true;
	f->others = list.others;
	if (list.others)
		log_line(LEVEL_INFO, NULL,
			 "%s: %u scans, and %u of other stations", name, list.n,
			 list.others);
	else
		log_line(LEVEL_INFO, NULL, "%s: %u scans", name, list.n);
	schedule_merge(s, name, &list, now);
}

/*
 * Reads a file if it changed.  Returns the ns until it may be read; 0: it was
 * read, or need not be.
 */
static int64_t
file_look(struct schedule *s, struct schedule_file *f, const struct stat *st,
	  struct schedule_now now, bool all)
{
	int64_t age =
	    now.utc - (st->st_mtim.tv_sec * NS_SECOND + st->st_mtim.tv_nsec);

	if (!all && f->modified && now.steady - f->modified < LOOK)
		return LOOK;
	if (!f->told && !all && st->st_ino == f->inode &&
	    st->st_size == f->bytes &&
	    !memcmp(&st->st_mtim, &f->mtime, sizeof f->mtime))
		return 0;
	if (!f->told && !all && age >= 0 && age < SETTLED)
		return SETTLED - age;
	f->told = false;
	f->modified = 0;
	f->inode = st->st_ino;
	f->bytes = st->st_size;
	f->mtime = st->st_mtim;
	file_read(s, f, now);
	return 0;
}

/* ---- the folder ------------------------------------------------------ */

/* Says that an entry of the folder is no file; st: NULL for a link to
 * nothing. */
static void
no_file(struct schedule *s, struct schedule_file *f, const struct stat *st)
{
	struct fault fault = { 0 };

	fault_set(&fault, -EINVAL, "conf", "%s/%s is %s, and has no scans",
		  s->folder, f->name,
		  !st			  ? "a link to nothing"
		  : S_ISDIR(st->st_mode)  ? "a folder"
		  : S_ISFIFO(st->st_mode) ? "a pipe"
					  : "no file");
	f->no_file = true;
	f->read = false;
	f->inode = 0;
	file_fault(s, f, &fault);
}

static void
see(struct schedule *s, DIR *dir)
{
	const struct dirent *e;

	while ((e = readdir(dir))) {
		struct schedule_file *f;
		struct stat st;
		bool is;

		if (!is_ours(e->d_name))
			continue;
		is = fstatat(dirfd(dir), e->d_name, &st, 0) == 0;
		/* The file was removed since readdir(). */
		if (!is && fstatat(dirfd(dir), e->d_name, &st,
				   AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		f = schedule_file_add(s, e->d_name);
		if (!f)
			continue;
		if (!is || !S_ISREG(st.st_mode)) {
			no_file(s, f, is ? &st : NULL);
			continue;
		}
		f->seen = true;
		f->missing = 0;
	}
}

/*
 * Drops a file that is missing for long enough; returns the ns until then.  An
 * entry that is no file stays, with its error, and loses its scans once.
 */
static int64_t
file_miss(struct schedule *s, struct schedule_file *f, struct schedule_now now,
	  bool all)
{
	char name[NAME_MAX + 1];

	if (f->no_file && f->missing == LOST)
		return 0;
	if (!f->missing)
		f->missing = now.steady;
	if (!all && now.steady - f->missing < NS_SECOND)
		return NS_SECOND - (now.steady - f->missing);
	snprintf(name, sizeof name, "%s", f->name);
	f->others = 0;
	if (f->no_file)
		f->missing = LOST;
	else
		schedule_file_drop(s, name);
	schedule_lose(s, name, now.utc);
	return 0;
}

static int64_t
files_look(struct schedule *s, int dir, struct schedule_now now, bool all)
{
	int64_t wait = LOOK;

	for (unsigned i = s->files; i--;) {
		struct schedule_file *f = &s->file[i];
		struct stat st;
		int64_t w;

		if (f->seen && fstatat(dir, f->name, &st, 0) == 0)
			w = file_look(s, f, &st, now, all);
		else
			w = 0;
		if (w && w < wait)
			wait = w;
	}
	/*
	 * Missing files come last, because an existing file may have taken over
	 * their scans.
	 */
	for (unsigned i = s->files; i--;) {
		int64_t w = 0;

		if (!s->file[i].seen)
			w = file_miss(s, &s->file[i], now, all);
		if (w && w < wait)
			wait = w;
	}
	return wait < SOON ? SOON : wait;
}

static void
watch(struct schedule *s)
{
	if (s->watch < 0 && s->inotify >= 0)
		s->watch = inotify_add_watch(s->inotify, s->folder,
					     WATCHED | IN_ONLYDIR);
}

/*
 * Reports it once.  A folder that is missing, or whose server is away, removes
 * no scans.
 */
static void
cannot_read(struct schedule *s, int err)
{
	if (!s->no_folder)
		log_line(LEVEL_ERROR, NULL,
			 "cannot read the schedule's folder %s: %s; it is "
			 "tried again",
			 s->folder, strerror(err));
	s->no_folder = true;
}

int
schedule_folder_answers(const struct schedule *s)
{
	const struct schedule_hooks *h = &s->hooks;

	return !h->answers || h->answers(h->arg, s->folder) ? 0 : -ETIMEDOUT;
}

void
schedule_folder_look(struct schedule *s, struct schedule_now now, bool all)
{
	DIR *dir;

	s->look_at = now.steady + LOOK;
	if (schedule_folder_answers(s)) {
		cannot_read(s, ETIMEDOUT);
		return;
	}
	watch(s);
	dir = opendir(s->folder);
	if (!dir) {
		cannot_read(s, errno);
		return;
	}
	if (s->no_folder)
		log_line(LEVEL_INFO, NULL, "the schedule's folder %s is there",
			 s->folder);
	s->no_folder = false;
	for (unsigned i = 0; i < s->files; i++)
		s->file[i].seen = s->file[i].no_file = false;
	see(s, dir);
	s->look_at = now.steady + files_look(s, dirfd(dir), now, all);
	if (s->next > s->look_at)
		s->next = s->look_at;
	closedir(dir);
}

/* ---- inotify --------------------------------------------------------- */

static void
event_take(struct schedule *s, const struct inotify_event *e, int64_t steady)
{
	struct schedule_file *f;

	if (e->mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED)) {
		if (s->watch >= 0 && !(e->mask & IN_IGNORED))
			inotify_rm_watch(s->inotify, s->watch);
		s->watch = -1;
	}
	if (!e->len || !is_ours(e->name))
		return;
	f = e->mask & (IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_TO)
		? schedule_file_add(s, e->name)
		: NULL;
	if (!f)
		return;
	f->told = !(e->mask & IN_MODIFY);
	f->modified = f->told ? 0 : steady;
}

/* Handles all queued events; false if there were none. */
static bool
events_take(struct schedule *s, int64_t steady)
{
	char buffer[16384]
	    __attribute__((aligned(__alignof__(struct inotify_event))));
	bool any = false;
	ssize_t got;

	while ((got = read(s->inotify, buffer, sizeof buffer)) > 0) {
		const struct inotify_event *e;

		for (char *at = buffer; at < buffer + got;
		     at += sizeof *e + e->len) {
			e = (const struct inotify_event *)(void *)at;
			event_take(s, e, steady);
		}
		any = true;
	}
	return any;
}

bool
schedule_hear(struct schedule *s, struct schedule_now now)
{
	return s->inotify >= 0 && events_take(s, now.steady);
}

void
schedule_look(struct schedule *s, struct schedule_now now)
{
	if (!schedule_hear(s, now))
		return;
	schedule_folder_look(s, now, false);
	schedule_step(s, now);
}

/*
 * Removes the scans of all files: the configuration names no folder any more.
 */
static void
files_forget(struct schedule *s, int64_t utc)
{
	char name[NAME_MAX + 1];

	while (s->files) {
		snprintf(name, sizeof name, "%s", s->file[0].name);
		schedule_file_drop(s, name);
		schedule_lose(s, name, utc);
	}
}

int
schedule_folder_open(struct schedule *s, struct schedule_now now)
{
	if (!s->folder) {
		s->look_at = INT64_MAX;
		files_forget(s, now.utc);
		return 0;
	}
	s->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (s->inotify < 0)
		log_line(LEVEL_WARN, NULL,
			 "no inotify (%s): the schedule's folder is looked at "
			 "every 10 s",
			 strerror(errno));
	schedule_folder_look(s, now, true);
	return 0;
}

void
schedule_folder_close(struct schedule *s)
{
	if (s->inotify >= 0)
		close(s->inotify);
	for (unsigned i = 0; i < s->files; i++)
		free(s->file[i].name);
	free(s->file);
}
