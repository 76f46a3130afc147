/* SPDX-License-Identifier: MIT */
/*
 * A recording from disks to nowhere: what a transfer has at most.
 *
 *   read_loop [-v] [-m MIB] NAME FOLDER..
 *
 *   -v  checks checksums
 *   -m  memory to read ahead
 *
 * It prints one JSON line: bytes, seconds, cpu_s of the process, and bad, the
 * bytes that could not be read.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "flow/source/source_disk.h"

#define SECOND INT64_C(1000000000)

static double
cpu_s(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
	       (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
}

static int
find(struct disks *disks, char **folder, int n)
{
	disks->disk = calloc((size_t)n, sizeof *disks->disk);
	for (; disks->disk && (int)disks->n < n; disks->n++) {
		disks->disk[disks->n].path = strdup(folder[disks->n]);
		disks->disk[disks->n].fd = -1;
	}
	return disks->disk ? 0 : -ENOMEM;
}

static int
read_all(struct source *s)
{
	int64_t begun = clock_steady();
	uint64_t bytes = 0, bad = 0;
	double cpu = cpu_s();
	struct parcel p;
	int err;

	while (!(err = source_next(s, &p, clock_steady() + 60 * SECOND))) {
		*(p.err ? &bad : &bytes) += p.bytes;
		source_put(&p);
	}
	if (err != -ENODATA) {
		fprintf(stderr, "read_loop: %s: %s (%s)\n",
			s->ops->fault(s)->what, s->ops->fault(s)->why,
			strerror(-err));
		return 1;
	}
	printf("{\"bytes\":%llu,\"bad\":%llu,\"seconds\":%.6f,"
	       "\"cpu_s\":%.6f}\n",
	       (unsigned long long)bytes, (unsigned long long)bad,
	       (double)(clock_steady() - begun) / 1e9, cpu_s() - cpu);
	return 0;
}

int
main(int n, char **word)
{
	struct source_disk_args a = { .sub = -1 };
	struct disks disks = { 0 };
	struct source *s;
	int option, result;

	while ((option = getopt(n, word, "vm:")) != -1) {
		if (option == 'v')
			a.verify = true;
		else if (option == 'm')
			a.memory = strtoull(optarg, NULL, 10) << 20;
		else
			return 2;
	}
	if (n - optind < 2)
		return 2;
	a.name = word[optind];
	a.disks = &disks;
	if (find(&disks, word + optind + 1, n - optind - 1) ||
	    source_disk_make(&s, &a))
		return 1;
	result = read_all(s);
	source_close(s);
	disks_clear(&disks);
	return result;
}
