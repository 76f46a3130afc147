/* SPDX-License-Identifier: MIT */
/*
 * The kernel counts, of each thread, the time that it ran and that it waited for
 * a CPU (schedstat) and the pages that it waited for (stat); of a control group,
 * how long it was throttled; of the machine, what its host stole.  They are read
 * every second, 10 us for a thread, and compared when overruns are new.
 * Recordings share what is read; one with new overruns reads anew, unless
 * another one just did, because their cause may be a moment ago.
 *
 * An overrun is seen when the next packet is read, so it is always behind its
 * cause, but perhaps in the next second: two seconds are compared.
 *
 * Which process had the CPU can only be seen while it still has it.  CPU times of
 * all processes are read when a receiver had waited, and again a second later.
 * If it is one of the kernel's that write back, the overruns since then have
 * that cause instead.  They are many, one at work for each disk: their times are
 * added up.
 *
 * A group is throttled by its own quota, and by that of each group above it; the
 * kernel counts each in the group that has it.
 */
#include "daemon/health/overrun_cause.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "store/recording/recording_info.h"

enum {
	LEAST = 5 * NS_MS,   /* ns that can be a cause */
	BUSY = 90,	     /* percent of the time that a thread ran */
	CULPRIT = 10,	     /* percent of a CPU, for a process to be named */
	PROCESSES = 1 << 15, /* most that are looked at */
	REST = 100 * NS_MS,  /* ns that a reading is shared */
};

struct process_time {
	pid_t pid;
	uint64_t ticks;
	/* The kernel writes into it what its threads do: kworker/u8:1+flush-8:0 */
	char name[OVERRUN_PROCESS - 16];
};

struct overrun_thread {
	pid_t id;
	unsigned watches;
	struct overrun_clock clock;
};

static const struct overrun_files kernel_files = { "/proc", "/sys/fs/cgroup" };

/* ---- what the kernel counts --------------------------------------------- */

/* Reads the first line of a file that begins with `begin` into `line`, and returns
 * the rest of it; "" if there is none. */
static const char *
line_find(const char *path, const char *begin, char *line, int bytes)
{
	FILE *f = fopen(path, "re");
	size_t n = strlen(begin);
	bool found = false;

	while (f && !found && fgets(line, bytes, f))
		found = !strncmp(line, begin, n);
	if (f)
		fclose(f);
	return found ? line + n : "";
}

/* Returns the number in a column, counted from 1, of a text. */
static uint64_t
column(const char *text, int n)
{
	uint64_t value = 0;

	for (; n > 1; n--) {
		text += strspn(text, " ");
		text += strcspn(text, " ");
	}
	return sscanf(text, "%" SCNu64, &value) == 1 ? value : 0;
}

/* Returns the columns of a /proc/PID/stat that follow the name, which may have
 * spaces and brackets; the first is the state, number 3 in proc(5). */
static const char *
stat_columns(const char *stat)
{
	const char *end = strrchr(stat, ')');

	return end ? end + 1 : "";
}

static uint64_t
ticks_ns(uint64_t ticks)
{
	return ticks * (uint64_t)(NS_SECOND / sysconf(_SC_CLK_TCK));
}

/* Returns the ns for which a control group and those above it were throttled.
 * `line` is one of /proc/self/cgroup, "0::/a/b" of version 2 or
 * "4:cpu,cpuacct:/a/b" of version 1, and is changed. */
static uint64_t
group_throttled_ns(const struct overrun_files *files, char *line)
{
	char *kind = strchr(line, ':'), *cut;
	char *group = kind ? strchr(kind + 1, ':') : NULL;
	char path[PATH_MAX], stat[512];
	uint64_t ns = 0;

	if (!group)
		return 0;
	*group++ = '\0';
	group[strcspn(group, "\n")] = '\0';
	if (!strcmp(group, "/")) /* also of a container, seen from inside */
		*group = '\0';
	kind++;
	if (*kind && strcmp(kind, "cpu") && strncmp(kind, "cpu,", 4))
		return 0;
	do {
		if (snprintf(path, sizeof path, "%s/%s%s/cpu.stat",
			     files->groups, kind, group) >= (int)sizeof path)
			return ns;
		if (*kind)
			ns += column(line_find(path, "throttled_time ", stat,
					       sizeof stat),
				     1);
		else
			ns += column(line_find(path, "throttled_usec ", stat,
					       sizeof stat),
				     1) *
			      1000;
		cut = strrchr(group, '/');
		if (cut)
			*cut = '\0';
	} while (cut);
	return ns;
}

/* Returns the ns for which the control groups of this process were throttled so
 * far; 0 where there are none. */
static uint64_t
throttled_ns(const struct overrun_files *files)
{
	char path[PATH_MAX], line[PATH_MAX + 100];
	uint64_t ns = 0;
	FILE *f;

	snprintf(path, sizeof path, "%s/self/cgroup", files->proc);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof line, f))
		ns += group_throttled_ns(files, line);
	if (f)
		fclose(f);
	return ns;
}

static uint64_t
stolen_ns(const struct overrun_files *files)
{
	char path[PATH_MAX], line[512];

	snprintf(path, sizeof path, "%s/stat", files->proc);
	return ticks_ns(column(line_find(path, "cpu ", line, sizeof line), 8));
}

static void
thread_look(const struct overrun_files *files, pid_t thread,
	    struct overrun_clock *c)
{
	char path[PATH_MAX], line[1024];
	const char *text;

	snprintf(path, sizeof path, "%s/self/task/%d/schedstat", files->proc,
		 (int)thread);
	text = line_find(path, "", line, sizeof line);
	c->ran = column(text, 1);
	c->waited = column(text, 2);
	snprintf(path, sizeof path, "%s/self/task/%d/stat", files->proc,
		 (int)thread);
	text = line_find(path, "", line, sizeof line);
	c->faults = column(stat_columns(text), 12 - 2);
}

/* ---- readings ------------------------------------------------------------ */

static const struct overrun_files *
files_of(const struct overrun_reading *r)
{
	return r->files ? r->files : &kernel_files;
}

void
overrun_reading_close(struct overrun_reading *r)
{
	free(r->thread);
	free(r->process);
	*r = (struct overrun_reading){ 0 };
}

/* Returns the entry of a thread, or NULL. */
static struct overrun_thread *
thread_find(struct overrun_reading *r, pid_t id)
{
	for (unsigned i = 0; i < r->threads; i++) {
		if (r->thread[i].id == id)
			return &r->thread[i];
	}
	return NULL;
}

/* Adds a thread to those that are read, for one watch more.  False: there is no
 * memory. */
static bool
thread_add(struct overrun_reading *r, pid_t id)
{
	struct overrun_thread *t = thread_find(r, id), *more;

	if (!t) {
		more = realloc(r->thread, (r->threads + 1) * sizeof *more);
		if (!more)
			return false;
		r->thread = more;
		t = &more[r->threads++];
		*t = (struct overrun_thread){ .id = id };
		thread_look(files_of(r), id, &t->clock);
	}
	t->watches++;
	return true;
}

static void
thread_drop(struct overrun_reading *r, pid_t id)
{
	struct overrun_thread *t = thread_find(r, id);

	if (--t->watches == 0)
		*t = r->thread[--r->threads];
}

static void
reading_renew(struct overrun_reading *r, int64_t now)
{
	r->throttled = throttled_ns(files_of(r));
	r->stolen = stolen_ns(files_of(r));
	for (unsigned i = 0; i < r->threads; i++)
		thread_look(files_of(r), r->thread[i].id, &r->thread[i].clock);
	r->at = now;
}

/* ---- which process has the CPU ------------------------------------------ */

/* Returns a list of all processes with their CPU time, or NULL. */
static struct process_time *
processes_read(const struct overrun_files *files, unsigned *n)
{
	struct process_time *list = NULL, *more;
	DIR *dir = opendir(files->proc);
	struct dirent *e;
	unsigned room = 0;

	*n = 0;
	while (dir && *n < PROCESSES && (e = readdir(dir))) {
		char path[PATH_MAX], line[1024];
		const char *stat, *open;

		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		if (*n == room) {
			room = room ? 2 * room : 256;
			more = realloc(list, room * sizeof *list);
			if (!more)
				break;
			list = more;
		}
		snprintf(path, sizeof path, "%s/%s/stat", files->proc,
			 e->d_name);
		stat = line_find(path, "", line, sizeof line);
		open = strchr(stat, '(');
		if (!open || !*stat_columns(stat))
			continue;
		more = &list[(*n)++];
		more->pid = (pid_t)atoi(e->d_name);
		more->ticks = column(stat_columns(stat), 14 - 2) +
			      column(stat_columns(stat), 15 - 2);
		snprintf(more->name, sizeof more->name, "%.*s",
			 (int)(strrchr(stat, ')') - open - 1), open + 1);
	}
	if (dir)
		closedir(dir);
	return list;
}

/* Renews the CPU times of all processes, if they are not of this moment. */
static void
processes_look(struct overrun_reading *r, int64_t now)
{
	if (r->process && now - r->processes_at < REST)
		return;
	free(r->process);
	r->process = processes_read(files_of(r), &r->processes);
	r->processes_at = now;
}

/* Returns the process as it was at the look before, or NULL. */
static const struct process_time *
process_before(const struct overrun_watch *w, const struct process_time *p)
{
	for (unsigned i = 0; i < w->processes; i++) {
		if (w->before[i].pid == p->pid)
			return &w->before[i];
	}
	return NULL;
}

/* True for a thread of the kernel that writes to disks what programs left in its
 * cache. */
static bool
writes_back(const char *name)
{
	return !strncmp(name, "kworker/", 8) &&
	       (strstr(name, "flush-") || strstr(name, "writeback"));
}

/* Moves the overruns since the question who has the CPU (`asked`) from WAITED to
 * another cause. */
static void
overruns_move(struct overrun_watch *w, enum overrun_cause to)
{
	struct overrun_account *from = &w->account[OVERRUN_WAITED];

	w->account[to].overruns += w->asked;
	w->account[to].last = from->last;
	if (from->lost_ns > w->account[to].lost_ns)
		w->account[to].lost_ns = from->lost_ns;
	from->overruns -= w->asked;
	if (!from->overruns)
		*from = (struct overrun_account){ 0 };
}

/* Names the process that used most CPU time since the last look at processes,
 * if that was much. */
static void
culprit_name(struct overrun_watch *w, int64_t ns)
{
	enum overrun_cause cause = OVERRUN_WAITED;
	struct {
		const struct process_time *is;
		uint64_t ticks;
	} most = { NULL, 0 }, flusher = { NULL, 0 };
	const struct process_time *now = w->reading->process;
	uint64_t flushed = 0;

	for (unsigned i = 0; now && i < w->reading->processes; i++) {
		const struct process_time *was = process_before(w, &now[i]);
		uint64_t used = now[i].ticks - (was ? was->ticks : 0);

		if (now[i].pid == getpid())
			continue;
		if (writes_back(now[i].name) ||
		    (was && writes_back(was->name))) {
			flushed += used;
			if (used > flusher.ticks) {
				flusher.is = &now[i];
				flusher.ticks = used;
			}
		} else if (used > most.ticks) {
			most.is = &now[i];
			most.ticks = used;
		}
	}
	if (flushed > most.ticks) {
		most.is = flusher.is;
		most.ticks = flushed;
		cause = OVERRUN_WRITEBACK;
	}
	if (most.is && ticks_ns(most.ticks) * 100 >= (uint64_t)ns * CULPRIT) {
		if (cause != OVERRUN_WAITED)
			overruns_move(w, cause);
		snprintf(w->account[cause].process, OVERRUN_PROCESS, "%s (%d)",
			 most.is->name, (int)most.is->pid);
		w->named = &w->account[cause];
	}
}

/* Keeps the CPU times of all processes until the next look. */
static void
processes_keep(struct overrun_watch *w)
{
	const struct overrun_reading *r = w->reading;

	w->before =
	    r->process ? malloc(r->processes * sizeof *w->before + 1) : NULL;
	if (!w->before)
		return;
	memcpy(w->before, r->process, r->processes * sizeof *w->before);
	w->processes = r->processes;
	w->before_at = r->processes_at;
}

static void
culprit_look(struct overrun_watch *w, bool waited, int64_t now)
{
	w->named = NULL;
	if (w->before || waited)
		processes_look(w->reading, now);
	if (w->before) {
		culprit_name(w, w->reading->processes_at - w->before_at);
		free(w->before);
		w->before = NULL;
		w->asked = 0;
	} else if (waited) {
		processes_keep(w);
	}
}

/* ---- causes --------------------------------------------------------------- */

const char *
overrun_cause_name(enum overrun_cause cause)
{
	static const char *const name[] = { "throttled", "stolen",    "paged",
					    "waited",	 "writeback", "busy",
					    "unknown" };

	return name[cause];
}

enum overrun_cause
overrun_cause_of(const struct overrun_clock *met, int64_t ns, int64_t *lost_ns)
{
	*lost_ns = (int64_t)met->throttled;
	if (*lost_ns >= LEAST)
		return OVERRUN_THROTTLED;
	*lost_ns = (int64_t)met->stolen;
	if (*lost_ns >= LEAST && met->stolen >= met->waited)
		return OVERRUN_STOLEN;
	*lost_ns = (int64_t)met->waited;
	if (*lost_ns >= LEAST && met->ran < (uint64_t)ns / 100 * BUSY)
		return OVERRUN_WAITED;
	*lost_ns = 0;
	if (met->faults)
		return OVERRUN_PAGED;
	if (met->ran >= (uint64_t)ns / 100 * BUSY)
		return OVERRUN_BUSY;
	return OVERRUN_UNKNOWN;
}

void
overrun_watch_close(struct overrun_watch *w)
{
	for (unsigned i = 0; i < w->threads; i++)
		thread_drop(w->reading, w->thread[i]);
	for (int i = 0; i < OVERRUN_LOOKS; i++)
		free(w->look[i]);
	free(w->thread);
	free(w->before);
	*w = (struct overrun_watch){ 0 };
}

static uint64_t
larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Takes a look, and returns what the worst of the threads met with since the
 * oldest one.  `anew`: the reading has to be of now. */
static struct overrun_clock
clocks_look(struct overrun_watch *w, int64_t now, bool anew, int64_t *ns)
{
	struct overrun_reading *r = w->reading;
	unsigned new = w->looks % OVERRUN_LOOKS;
	unsigned old =
	    w->looks + 1 < OVERRUN_LOOKS ? 0 : (w->looks + 1) % OVERRUN_LOOKS;
	struct overrun_clock met = { 0 };

	if (!r->at || (anew ? now != r->at : now - r->at >= REST))
		reading_renew(r, now);
	w->looks++;
	w->at[new] = r->at;
	for (unsigned i = 0; i < w->threads; i++) {
		struct overrun_clock *c = &w->look[new][i];
		const struct overrun_clock *was = &w->look[old][i];

		*c = thread_find(r, w->thread[i])->clock;
		c->throttled = r->throttled;
		c->stolen = r->stolen;
		met.ran = larger(met.ran, c->ran - was->ran);
		met.waited = larger(met.waited, c->waited - was->waited);
		met.faults = larger(met.faults, c->faults - was->faults);
		met.throttled = c->throttled - was->throttled;
		met.stolen = c->stolen - was->stolen;
	}
	*ns = r->at - w->at[old];
	return met;
}

void
overrun_watch_open(struct overrun_watch *w, struct overrun_reading *reading,
		   const pid_t *thread, unsigned threads)
{
	bool whole;
	int64_t ns;

	*w = (struct overrun_watch){ .reading = reading };
	w->thread = calloc(threads, sizeof *thread);
	whole = w->thread;
	for (int i = 0; i < OVERRUN_LOOKS; i++) {
		w->look[i] = calloc(threads, sizeof *w->look[i]);
		whole = whole && w->look[i];
	}
	if (!whole) {
		overrun_watch_close(w);
		return;
	}
	for (unsigned i = 0; i < threads; i++) {
		if (!thread_add(reading, thread[i])) {
			overrun_watch_close(w);
			return;
		}
		w->thread[w->threads++] = thread[i];
	}
	clocks_look(w, clock_steady(), false, &ns);
}

uint64_t
overrun_watch_look(struct overrun_watch *w, uint64_t overruns, int64_t now,
		   enum overrun_cause *cause, int64_t *lost_ns)
{
	uint64_t more = overruns - w->overruns;
	struct overrun_account *account;
	struct overrun_clock met;
	int64_t ns;

	if (!w->threads)
		return 0;
	met = clocks_look(w, now, more, &ns);
	w->overruns = overruns;
	*cause = overrun_cause_of(&met, ns, lost_ns);
	if (more) {
		account = &w->account[*cause];
		account->overruns += more;
		if (*lost_ns > account->lost_ns)
			account->lost_ns = *lost_ns;
		account->last = clock_now();
	}
	if (more && *cause == OVERRUN_WAITED)
		w->asked += more;
	culprit_look(w, more && *cause == OVERRUN_WAITED, now);
	return more;
}

json_t *
overrun_watch_json(const struct overrun_watch *w)
{
	json_t *list = json_array();

	for (int i = 0; i < OVERRUN_CAUSES; i++) {
		const struct overrun_account *a = &w->account[i];
		struct info_cause cause = {
			.cause = overrun_cause_name(i),
			.overruns = a->overruns,
			.lost_ms = a->lost_ns ? (double)a->lost_ns / 1e6 : NAN,
			.process = a->process[0] ? a->process : NULL,
			.last = a->last,
		};

		if (a->overruns)
			json_array_append_new(
			    list, keys_json(info_cause_keys, &cause, INFO));
	}
	return list;
}
