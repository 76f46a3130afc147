/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_DISKS_DISK_TRY_H
#define SPATE_CLI_DISKS_DISK_TRY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "contract/write.h"

/*
 * A try measures one disk: it writes a file as the daemon does, through a write
 * plugin in requests of 8 MiB, and reads it back.  The file has no name, so
 * nothing is left however the try ends.
 */
enum { TRY_REQUEST = 8 << 20, TRY_FLIGHT = 4, TRY_WAYS = 4 };

/* A write plugin and its options. */
struct try_way {
	const struct write_ops *ops;
	void *options;
};

struct try_result {
	double write, read;	      /* bytes per second */
	int64_t write_p50, write_p99; /* ns that one request took */
	int64_t read_p50, read_p99;
};

struct disk_try {
	const char *path;
	/* bytes to write; a multiple of TRY_REQUEST */
	uint64_t bytes;
	const struct try_way *way; /* plugins, the preferred one first */
	unsigned ways;
	/* bytes done by all tries, for the progress bar */
	_Atomic uint64_t *done;

	/* The result. */
	const char *writer; /* name of the plugin that worked */
	struct try_result result;
	int err;	   /* 0 or -errno */
	const char *doing; /* step that failed */
};

/* Measures a disk; sets err on failure.  Takes as long as the disk does. */
void disk_try(struct disk_try *t);

#endif
