/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_DISK_DISK_KEYS_H
#define SPATE_STORE_DISK_DISK_KEYS_H

#include "base/keys.h"

/*
 * Keys of a disk as `spate disks` prints them, all in group 1.  Without a daemon
 * only the first are known, and the others are null.
 */
#define DISK_KEYS(X)                                                           \
	X(TEXT, path, 1 | KEY_COLUMN, "its folder", "disk")                    \
	X(TEXT, state, 1 | KEY_COLUMN,                                         \
	  "idle, writing, slow, full, failed, hung, missing or leaving",       \
	  "state")                                                             \
	X(BYTES, free, 1 | KEY_COLUMN, "above the reserve", "free")            \
	X(BYTES, total, 1 | KEY_COLUMN, "of the file system", "total")         \
	X(SECONDS, full_s, 1 | KEY_COLUMN,                                     \
	  "until it is full, at the last minute's rate", "full in")            \
	X(BYTES, written, 1 | KEY_COLUMN,                                      \
	  "since spated was started; it never falls", "written")               \
	X(COUNT, chunks, 1, "the same in blocks")                              \
	X(BYTES_S, rate, 1 | KEY_COLUMN, "of the last second", "rate")         \
	X(COUNT, errors, 1 | KEY_COLUMN, "of writing", "errors")               \
	X(COUNT, queued, 1 | KEY_COLUMN_MORE, "blocks that wait for it",       \
	  "blocks")                                                            \
	X(MS, latency_ms, 1 | KEY_COLUMN_MORE, "of the last block", "latency") \
	X(MS, latency_p99_ms, 1 | KEY_COLUMN_MORE,                             \
	  "99 of 100 blocks took at most this", "p99")                         \
	X(BYTES_S, speed, 1 | KEY_COLUMN_MORE, "while it writes", "speed")     \
	X(TEXT, writer, 1 | KEY_COLUMN, "write plugin", "writer")              \
	X(TEXT, device, 1, "\"8:1\"; disks with the same share their space")   \
	X(TEXT, why, 1 | KEY_COLUMN, "why it does not write")

struct disk_report {
	DISK_KEYS(KEY_MEMBER)
};

extern const struct key disk_keys[];

#endif
