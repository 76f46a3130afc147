/* SPDX-License-Identifier: MIT */
/*
 * The kernel counts, of each thread, the time that it ran and that it waited for
 * a CPU (schedstat) and the pages that it waited for (stat); of a control group,
 * how long it was throttled; of the machine, what its host stole.  They are read
 * every second, 10 us for a thread, and compared when overruns are new.
 *
 * An overrun is seen when the next packet is read, so it is always behind its
 * cause, but perhaps in the next second: two seconds are compared.
 *
 * Which process had the CPU can only be seen while it still has it.  CPU times of
 * all processes are read when a receiver had waited, and again a second later.
 */
#include "daemon/sessions/overrun_cause.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
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
};

struct process_time {
	pid_t pid;
	uint64_t ticks;
	char name[20];
};

/* ---- what the kernel counts --------------------------------------------- */

/* Reads the first line of a file that begins so, or 0.  Returns what is behind
 * the beginning, in `line`. */
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

/* Returns the ns for which the control group of this process was throttled so
 * far; 0 where there is none. */
static uint64_t
throttled_ns(void)
{
	char line[512], path[600];
	const char *group;

	group = line_find("/proc/self/cgroup", "0::", line, sizeof line);
	line[strcspn(line, "\n")] = '\0';
	snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.stat", group);
	return column(line_find(path, "throttled_usec ", line, sizeof line),
		      1) *
	       1000;
}

static uint64_t
stolen_ns(void)
{
	char line[512];

	return ticks_ns(
	    column(line_find("/proc/stat", "cpu ", line, sizeof line), 8));
}

static void
thread_look(pid_t thread, struct overrun_clock *c)
{
	char path[64], line[1024];
	const char *text;

	snprintf(path, sizeof path, "/proc/self/task/%d/schedstat",
		 (int)thread);
	text = line_find(path, "", line, sizeof line);
	c->ran = column(text, 1);
	c->waited = column(text, 2);
	snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)thread);
	text = line_find(path, "", line, sizeof line);
	c->faults = column(stat_columns(text), 12 - 2);
}

/* ---- which process has the CPU ------------------------------------------ */

/* Returns a list of all processes with their CPU time, or NULL. */
static struct process_time *
processes_look(unsigned *n)
{
	struct process_time *list = NULL, *more;
	DIR *dir = opendir("/proc");
	struct dirent *e;
	unsigned room = 0;

	*n = 0;
	while (dir && *n < PROCESSES && (e = readdir(dir))) {
		char path[300], line[1024];
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
		snprintf(path, sizeof path, "/proc/%s/stat", e->d_name);
		stat = line_find(path, "", line, sizeof line);
		open = strchr(stat, '(');
		if (!open)
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

static uint64_t
ticks_before(const struct overrun_watch *w, const struct process_time *p)
{
	for (unsigned i = 0; i < w->processes; i++) {
		if (w->before[i].pid == p->pid)
			return w->before[i].ticks;
	}
	return 0;
}

/* Names the process that used most CPU time since the last look at processes,
 * if that was much. */
static void
culprit_name(struct overrun_watch *w, int64_t ns)
{
	char *name = w->account[OVERRUN_WAITED].process;
	unsigned n;
	struct process_time *now = processes_look(&n), *most = NULL;
	uint64_t ticks = 0;

	for (unsigned i = 0; i < n; i++) {
		uint64_t used = now[i].ticks - ticks_before(w, &now[i]);

		if (now[i].pid == getpid() || used <= ticks)
			continue;
		ticks = used;
		most = &now[i];
	}
	if (most && ticks_ns(ticks) * 100 >= (uint64_t)ns * CULPRIT)
		snprintf(name, OVERRUN_PROCESS, "%s (%d)", most->name,
			 (int)most->pid);
	free(now);
}

static void
culprit_look(struct overrun_watch *w, bool waited, int64_t now)
{
	if (w->before) {
		culprit_name(w, now - w->before_at);
		free(w->before);
		w->before = NULL;
	} else if (waited) {
		w->before = processes_look(&w->processes);
		w->before_at = now;
	}
}

/* ---- causes --------------------------------------------------------------- */

const char *
overrun_cause_name(enum overrun_cause cause)
{
	static const char *const name[] = { "throttled", "stolen", "paged",
					    "waited",	 "busy",   "unknown" };

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
 * oldest one. */
static struct overrun_clock
clocks_look(struct overrun_watch *w, int64_t now, int64_t *ns)
{
	unsigned new = w->looks % OVERRUN_LOOKS;
	unsigned old =
	    w->looks + 1 < OVERRUN_LOOKS ? 0 : (w->looks + 1) % OVERRUN_LOOKS;
	uint64_t throttled = throttled_ns(), stolen = stolen_ns();
	struct overrun_clock met = { 0 };

	w->looks++;
	w->at[new] = now;
	for (unsigned i = 0; i < w->threads; i++) {
		struct overrun_clock *c = &w->look[new][i];
		const struct overrun_clock *was = &w->look[old][i];

		thread_look(w->thread[i], c);
		c->throttled = throttled;
		c->stolen = stolen;
		met.ran = larger(met.ran, c->ran - was->ran);
		met.waited = larger(met.waited, c->waited - was->waited);
		met.faults = larger(met.faults, c->faults - was->faults);
		met.throttled = throttled - was->throttled;
		met.stolen = stolen - was->stolen;
	}
	*ns = now - w->at[old];
	return met;
}

void
overrun_watch_open(struct overrun_watch *w, const pid_t *thread,
		   unsigned threads)
{
	bool whole;
	int64_t ns;

	*w = (struct overrun_watch){ .threads = threads };
	w->thread = malloc(threads * sizeof *thread);
	whole = w->thread;
	for (int i = 0; i < OVERRUN_LOOKS; i++) {
		w->look[i] = calloc(threads, sizeof *w->look[i]);
		whole = whole && w->look[i];
	}
	if (!whole) {
		overrun_watch_close(w);
		return;
	}
	memcpy(w->thread, thread, threads * sizeof *thread);
	clocks_look(w, clock_steady(), &ns);
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
	met = clocks_look(w, now, &ns);
	w->overruns = overruns;
	*cause = overrun_cause_of(&met, ns, lost_ns);
	culprit_look(w, more && *cause == OVERRUN_WAITED, now);
	if (!more)
		return 0;
	account = &w->account[*cause];
	account->overruns += more;
	if (*lost_ns > account->lost_ns)
		account->lost_ns = *lost_ns;
	account->last = clock_now();
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
