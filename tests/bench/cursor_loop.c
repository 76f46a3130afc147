/* SPDX-License-Identifier: MIT */
/*
 * A recording as a file, read into nowhere by threads: what a file system has
 * at most.
 *
 *   cursor_loop [-v] [-m MIB] [-t THREADS] [-f FILES] [-b KIB] [-n REQUESTS]
 *                [-s STRIP] NAME FOLDER..
 *
 *   -m  memory of buffers
 *   -t  threads for each file, which take the next request in turn
 *   -f  times that it is open, each read from its beginning to its end
 *   -b  bytes of a request
 *   -n  so many requests of each thread, anywhere, instead of all in turn
 *   -s  bytes that each packet loses
 *   -v  checks checksums
 *
 * It prints one JSON line: bytes, seconds, cpu_s of the process, disk_bytes
 * that disks were asked for, open_ms until it was open, first_ms until the
 * first bytes were there, rss_mib at the end, and bad requests.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "store/read/open_recordings.h"
#include "store/read/cursor.h"

struct file {
	struct cursor *rd;
	_Atomic uint64_t next;
};

struct job {
	pthread_t thread;
	struct file *file;
	uint64_t seed;
};

static size_t request = 1 << 20;
static unsigned requests;
static atomic_ullong bytes, bad;

static double
cpu_s(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
	       (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
}

static double
rss_mib(void)
{
	long size, pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (f && fscanf(f, "%ld %ld", &size, &pages) != 2)
		pages = 0;
	if (f)
		fclose(f);
	return (double)pages * (double)sysconf(_SC_PAGESIZE) / 1048576;
}

static int
find(struct disks *disks, char **folder, int n)
{
	disks->disk = calloc((size_t)n, sizeof *disks->disk);
	for (; disks->disk && (int)disks->n < n; disks->n++) {
		disks->disk[disks->n].path = strdup(folder[disks->n]);
		disks->disk[disks->n].fd = -1;
	}
	return disks->disk ? 0 : -1;
}

static bool
read_one(struct cursor *rd, uint64_t at)
{
	struct cursor_answer a;

	if (cursor_read(rd, at, request, &a)) {
		bad++;
		return true;
	}
	bytes += a.bytes;
	if (!a.bytes)
		return false;
	cursor_done(rd, &a);
	return true;
}

static void *
run(void *arg)
{
	struct job *j = arg;
	uint64_t end = cursor_bytes(j->file->rd) / request;

	for (unsigned i = 0; i < requests; i++) {
		j->seed = j->seed * 6364136223846793005 + 1442695040888963407;
		read_one(j->file->rd, (j->seed >> 20) % end * request);
	}
	while (!requests &&
	       read_one(j->file->rd, atomic_fetch_add(&j->file->next, request)))
		;
	return NULL;
}

static void
run_all(struct file *file, unsigned files, unsigned threads)
{
	struct job *job = calloc((size_t)files * threads, sizeof *job);

	for (unsigned i = 0; i < files * threads; i++) {
		job[i].file = &file[i / threads];
		job[i].seed = i + 1;
		pthread_create(&job[i].thread, NULL, run, &job[i]);
	}
	for (unsigned i = 0; i < files * threads; i++)
		pthread_join(job[i].thread, NULL);
	free(job);
}

static int
fail(const struct fault *fault)
{
	fprintf(stderr, "cursor_loop: %s: %s\n", fault->what, fault->why);
	return 1;
}

static int
measure(struct open_recordings *set, const char *name,
	const struct view_choice *choice, struct file *file, unsigned files,
	unsigned threads)
{
	int64_t begun = clock_steady(), opened, first, end;
	struct open_recording_counts counts;
	struct fault fault;
	struct open_recording *op;
	double cpu = cpu_s();

	if (open_recording_get(set, name, &op, &fault))
		return fail(&fault);
	for (unsigned i = 0; i < files; i++) {
		if (cursor_open(&file[i].rd, op, choice, &fault))
			return fail(&fault);
	}
	opened = clock_steady();
	read_one(file[0].rd, 0);
	first = clock_steady();
	run_all(file, files, threads);
	end = clock_steady();
	open_recording_counts(set, name, &counts);
	printf("{\"bytes\":%llu,\"seconds\":%.6f,\"cpu_s\":%.6f,"
	       "\"disk_bytes\":%llu,\"open_ms\":%.3f,\"first_ms\":%.3f,"
	       "\"rss_mib\":%.1f,\"bad\":%llu}\n",
	       (unsigned long long)atomic_load(&bytes),
	       (double)(end - first) / 1e9, cpu_s() - cpu,
	       (unsigned long long)counts.disk_bytes,
	       (double)(opened - begun) / 1e6, (double)(first - begun) / 1e6,
	       rss_mib(), (unsigned long long)atomic_load(&bad));
	for (unsigned i = 0; i < files; i++)
		cursor_close(file[i].rd);
	open_recording_put(op);
	return 0;
}

int
main(int n, char **word)
{
	struct view_choice choice = { .thread = -1 };
	struct open_recordings_args a = { 0 };
	unsigned threads = 1, files = 1;
	struct open_recordings *set;
	struct disks disks = { 0 };
	struct file *file;
	int option, result;

	while ((option = getopt(n, word, "vm:t:f:b:n:s:")) != -1) {
		uint64_t value = optarg ? strtoull(optarg, NULL, 10) : 0;

		switch (option) {
		case 'v': a.verify = true; break;
		case 'm': a.cache = value << 20; break;
		case 't': threads = (unsigned)value; break;
		case 'f': files = (unsigned)value; break;
		case 'b': request = value << 10; break;
		case 'n': requests = (unsigned)value; break;
		case 's': choice.strip = (uint32_t)value; break;
		default: return 2;
		}
	}
	if (n - optind < 2 || !threads || !files || !request ||
	    find(&disks, word + optind + 1, n - optind - 1))
		return 2;
	a.disks = &disks;
	if (open_recordings_make(&set, &a))
		return 1;
	file = calloc(files, sizeof *file);
	result = file
		     ? measure(set, word[optind], &choice, file, files, threads)
		     : 1;
	free(file);
	open_recordings_free(set);
	disks_clear(&disks);
	return result;
}
