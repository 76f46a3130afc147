/* SPDX-License-Identifier: MIT */
#include "daemon/health/overrun_cause.h"

#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "lib/scratch.h"
#include "lib/suite.h"

#define OF(...)                                                                \
	overrun_cause_of(&(struct overrun_clock){ __VA_ARGS__ },               \
			 2 * NS_SECOND, &lost)

static int64_t lost;

START_TEST(the_worst_is_the_cause)
{
	ck_assert_int_eq(OF(.ran = NS_SECOND), OVERRUN_UNKNOWN);
	ck_assert_int_eq(lost, 0);
	ck_assert_int_eq(OF(.ran = NS_SECOND, .waited = 41 * NS_MS),
			 OVERRUN_WAITED);
	ck_assert_int_eq(lost, 41 * NS_MS);
	ck_assert_int_eq(OF(.waited = NS_MS), OVERRUN_UNKNOWN);
	ck_assert_int_eq(OF(.waited = 20 * NS_MS, .stolen = 30 * NS_MS),
			 OVERRUN_STOLEN);
	ck_assert_int_eq(OF(.waited = 40 * NS_MS, .stolen = 30 * NS_MS),
			 OVERRUN_WAITED);
	ck_assert_int_eq(OF(.waited = 40 * NS_MS, .throttled = 30 * NS_MS),
			 OVERRUN_THROTTLED);
	ck_assert_int_eq(lost, 30 * NS_MS);
	ck_assert_int_eq(OF(.faults = 1), OVERRUN_PAGED);
	/* One that never rests waits a little all the time. */
	ck_assert_int_eq(OF(.ran = 1900 * NS_MS, .waited = 20 * NS_MS),
			 OVERRUN_BUSY);
}
END_TEST

static int64_t
cpu_time(void)
{
	struct timespec ran;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ran);
	return ran.tv_sec * NS_SECOND + ran.tv_nsec;
}

/* This thread is the receiver. */
START_TEST(looks_at_threads)
{
	const pid_t me = gettid();
	struct overrun_reading r = { 0 };
	struct overrun_watch w;
	enum overrun_cause cause;
	json_t *list;
	int64_t end;

	overrun_watch_open(&w, &r, &me, 1);
	ck_assert_uint_eq(w.threads, 1);
	end = cpu_time() + 250 * NS_MS;
	while (cpu_time() < end)
		;
	ck_assert_uint_eq(
	    overrun_watch_look(&w, 0, clock_steady(), &cause, &lost), 0);
	ck_assert_uint_gt(w.look[1][0].ran, w.look[0][0].ran + 40 * NS_MS);
	ck_assert_uint_eq(
	    overrun_watch_look(&w, 7, clock_steady(), &cause, &lost), 7);
	ck_assert_uint_eq(w.account[cause].overruns, 7);
	list = overrun_watch_json(&w);
	ck_assert_uint_eq(json_array_size(list), 1);
	json_decref(list);
	overrun_watch_close(&w);
	ck_assert_uint_eq(overrun_watch_look(&w, 9, 0, &cause, &lost), 0);
	overrun_reading_close(&r);
}
END_TEST

/* ---- files of a kernel of its own ---------------------------------------- */

static struct scratch scratch;
static char proc[80], groups[80];
static const struct overrun_files files = { proc, groups };
static struct overrun_reading reading;

/* Writes a file, "<scratch>/<path>", and makes its folders. */
static void __attribute__((format(printf, 2, 3)))
tell(const char *path, const char *format, ...)
{
	char full[200];
	va_list args;
	FILE *f;

	snprintf(full, sizeof full, "%s/%s", scratch.path, path);
	for (char *at = full + strlen(scratch.path) + 1; (at = strchr(at, '/'));
	     at++) {
		*at = '\0';
		mkdir(full, 0700);
		*at = '/';
	}
	f = fopen(full, "w");
	ck_assert_ptr_nonnull(f);
	va_start(args, format);
	vfprintf(f, format, args);
	va_end(args);
	fclose(f);
}

/* Tells of the receiver, thread 7: it ran a second, and waited and faulted so
 * far. */
static void
tell_thread(int waited_ms, int faults)
{
	tell("proc/self/task/7/schedstat", "1000000000 %d000000 12\n",
	     waited_ms);
	tell("proc/self/task/7/stat",
	     "7 (spate ) recv (1)) S 1 7 7 0 -1 4194304 99 98 %d 97 5 6\n",
	     faults);
}

static void
tell_process(int pid, const char *name, int ticks)
{
	char path[40];

	snprintf(path, sizeof path, "proc/%d/stat", pid);
	tell(path, "%d (%s) R 2 0 0 0 -1 69238880 0 0 0 0 1 %d 0 0 20 0\n", pid,
	     name, ticks);
}

static void
setup(void)
{
	scratch_make(&scratch);
	snprintf(proc, sizeof proc, "%s/proc", scratch.path);
	snprintf(groups, sizeof groups, "%s/groups", scratch.path);
	tell_thread(0, 0);
	tell("proc/stat", "cpu  1 2 3 4 5 6 7 100 9 10\ncpu0 1 2\n");
}

static void
open_watch(struct overrun_watch *w)
{
	static const pid_t thread = 7;

	overrun_reading_close(&reading);
	reading.files = &files;
	overrun_watch_open(w, &reading, &thread, 1);
}

/* The cause of `more` overruns that are seen a second after the last. */
static enum overrun_cause
look(struct overrun_watch *w, unsigned more)
{
	static int64_t now;
	enum overrun_cause cause;

	now = now ? now + NS_SECOND : clock_steady() + NS_SECOND;
	ck_assert_uint_eq(
	    overrun_watch_look(w, w->overruns + more, now, &cause, &lost),
	    more);
	return cause;
}

#define STAT "nr_periods 9\nnr_throttled 8\n"

/* The quota of a group above counts, and is counted once. */
START_TEST(groups_above_are_read)
{
	static const char *const group[] = { "groups/cpu.stat",
					     "groups/a/cpu.stat",
					     "groups/a/b c/cpu.stat" };
	struct overrun_watch w;

	setup();
	for (int i = 0; i < 3; i++) {
		tell("proc/self/cgroup", "3:cpuset:/z\n0::/a/b c\n");
		for (int k = 0; k < 3; k++)
			tell(group[k], STAT "throttled_usec 500000\n");
		open_watch(&w);
		tell(group[i], STAT "throttled_usec 541000\n");
		ck_assert_int_eq(look(&w, 3), OVERRUN_THROTTLED);
		ck_assert_int_eq(lost, 41 * NS_MS);
		overrun_watch_close(&w);
	}
	/* In a container it is the group of this process that is the root. */
	tell("proc/self/cgroup", "0::/\n");
	open_watch(&w);
	tell("groups/cpu.stat", STAT "throttled_usec 530000\n");
	ck_assert_int_eq(look(&w, 3), OVERRUN_THROTTLED);
	ck_assert_int_eq(lost, 30 * NS_MS);
	overrun_watch_close(&w);
	scratch_remove(&scratch);
}
END_TEST

START_TEST(groups_of_version_1_are_read)
{
	struct overrun_watch w;

	setup();
	tell("proc/self/cgroup", "4:cpu,cpuacct:/x/y\n3:cpuset:/z\n0::/x/y\n");
	tell("groups/cpu,cpuacct/x/cpu.stat", STAT "throttled_time 1000\n");
	tell("groups/cpuset/z/cpu.stat", STAT "throttled_time 1000\n");
	open_watch(&w);
	tell("groups/cpuset/z/cpu.stat", STAT "throttled_time 99001000\n");
	ck_assert_int_eq(look(&w, 3), OVERRUN_UNKNOWN);
	tell("groups/cpu,cpuacct/x/cpu.stat", STAT "throttled_time 7001000\n");
	ck_assert_int_eq(look(&w, 3), OVERRUN_THROTTLED);
	ck_assert_int_eq(lost, 7 * NS_MS);
	overrun_watch_close(&w);
	scratch_remove(&scratch);
}
END_TEST

START_TEST(faults_and_stolen_time_are_read)
{
	struct overrun_watch w;

	setup();
	open_watch(&w);
	ck_assert_int_eq(look(&w, 1), OVERRUN_UNKNOWN);
	tell_thread(0, 1);
	ck_assert_int_eq(look(&w, 1), OVERRUN_PAGED);
	tell("proc/stat", "cpu  1 2 3 4 5 6 7 102 9 10\n");
	ck_assert_int_eq(look(&w, 1), OVERRUN_STOLEN);
	ck_assert_int_eq(lost, 2 * NS_SECOND / sysconf(_SC_CLK_TCK));
	overrun_watch_close(&w);
	scratch_remove(&scratch);
}
END_TEST

/* The kernel's threads that write back, one at work for each disk, took more
 * together than any other. */
START_TEST(write_back_is_named)
{
	const int ticks = (int)sysconf(_SC_CLK_TCK);
	const struct overrun_account *a;
	struct overrun_watch w;

	setup();
	tell_process(30, "kworker/u8:1+flush-8:0", 5);
	tell_process(31, "kworker/u8:2-flush-8:16", 5);
	tell_process(32, "fio (x)", 5);
	open_watch(&w);
	tell_thread(40, 0);
	ck_assert_int_eq(look(&w, 5), OVERRUN_WAITED);
	ck_assert_ptr_null(w.named);
	tell_process(30, "kworker/u8:1-events_unbound", 5 + ticks / 5);
	tell_process(31, "kworker/u8:2+flush-8:16", 6 + ticks / 5);
	tell_process(32, "fio (x)", 5 + ticks / 4);
	look(&w, 2);
	a = &w.account[OVERRUN_WRITEBACK];
	ck_assert_ptr_eq(w.named, a);
	ck_assert_str_eq(a->process, "kworker/u8:2+flush-8:16 (31)");
	ck_assert_uint_eq(a->overruns, 7);
	ck_assert_int_eq(a->lost_ns, 40 * NS_MS);
	ck_assert_uint_eq(w.account[OVERRUN_WAITED].overruns, 0);

	/* Not the next time. */
	tell_thread(80, 0);
	look(&w, 4);
	ck_assert_ptr_null(w.named);
	tell_process(32, "fio (x)", 5 + ticks);
	look(&w, 0);
	ck_assert_ptr_eq(w.named, &w.account[OVERRUN_WAITED]);
	ck_assert_str_eq(w.named->process, "fio (x) (32)");
	ck_assert_uint_eq(w.named->overruns, 4);
	ck_assert_uint_eq(a->overruns, 7);
	overrun_watch_close(&w);
	scratch_remove(&scratch);
}
END_TEST

/* Two recordings look a moment apart: the second one takes what was read for the
 * first, and reads anew when it has overruns. */
START_TEST(a_reading_is_shared)
{
	const pid_t thread[] = { 7, 8 };
	enum overrun_cause cause;
	struct overrun_watch w, more;
	int64_t now;

	setup();
	tell("proc/self/task/8/schedstat", "1000000000 0 12\n");
	open_watch(&w);
	overrun_watch_open(&more, &reading, thread, 2);
	ck_assert_uint_eq(reading.threads, 2);
	now = clock_steady() + NS_SECOND;
	tell("proc/self/task/8/schedstat", "1000000000 5000000 12\n");
	overrun_watch_look(&w, 0, now, &cause, &lost);
	ck_assert_int_eq(reading.at, now);
	tell("proc/self/task/8/schedstat", "1000000000 50000000 12\n");
	overrun_watch_look(&more, 0, now + 90 * NS_MS, &cause, &lost);
	ck_assert_int_eq(reading.at, now);
	ck_assert_int_eq(cause, OVERRUN_WAITED);
	ck_assert_int_eq(lost, 5 * NS_MS);
	overrun_watch_look(&more, 1, now + 95 * NS_MS, &cause, &lost);
	ck_assert_int_eq(reading.at, now + 95 * NS_MS);
	ck_assert_int_eq(cause, OVERRUN_WAITED);
	ck_assert_int_eq(lost, 50 * NS_MS);

	/* A thread that nobody watches any more is read no more. */
	overrun_watch_close(&more);
	ck_assert_uint_eq(reading.threads, 1);
	overrun_watch_close(&w);
	scratch_remove(&scratch);
}
END_TEST

SUITE("overrun_cause", the_worst_is_the_cause, looks_at_threads,
      groups_above_are_read, groups_of_version_1_are_read,
      faults_and_stolen_time_are_read, write_back_is_named, a_reading_is_shared)
