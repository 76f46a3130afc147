/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_DISKS_DISK_TRY_H
#define SPATE_CLI_DISKS_DISK_TRY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "contract/write.h"

/*
 * A try is one disk being measured: a file is written as the daemon does, by
 * a write plugin in requests of 8 MiB, and read back.  The file has no name,
 * so nothing is left of it however the try ends.
 */
enum { TRY_REQUEST = 8 << 20, TRY_FLIGHT = 4, TRY_WAYS = 4 };

/* A plugin, and its options. */
struct try_way {
	const struct write_ops *ops;
	void *options;
};

struct try_result {
	double write, read;	      /* bytes per second */
	int64_t write_p50, write_p99; /* ns of a request */
	int64_t read_p50, read_p99;
};

struct disk_try {
	const char *path;
	uint64_t bytes;		   /* whole requests */
	const struct try_way *way; /* in the order of preference */
	unsigned ways;
	_Atomic uint64_t *done; /* bytes of all tries, for who watches */

	/* What came of it. */
	const char *writer; /* the plugin that worked */
	struct try_result result;
	int err;	   /* -errno, */
	const char *doing; /* at what */
};

/* Measures; sets err where it cannot.  Takes as long as it takes. */
void disk_try(struct disk_try *t);

#endif
