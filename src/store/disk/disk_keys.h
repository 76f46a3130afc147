/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_DISK_DISK_KEYS_H
#define SPATE_STORE_DISK_DISK_KEYS_H

#include "base/keys.h"

/*
 * Keys of a disk as `spate disks --json` prints them, all in group 1.  Without a
 * daemon only the first are known, and the others are null.
 * docs/14-scripting.md has every one.
 */
#define DISK_KEYS(X)                                                           \
	X(TEXT, path, 1, "its folder")                                         \
	X(TEXT, state, 1,                                                      \
	  "idle, writing, slow, full, failed, hung, missing or leaving")       \
	X(COUNT, total, 1, "bytes of the file system")                         \
	X(COUNT, free, 1, "bytes above the reserve")                           \
	X(TEXT, why, 1, "why it does not write")                               \
	X(COUNT, written, 1, "bytes since it takes part")                      \
	X(COUNT, chunks, 1, "the same in blocks")                              \
	X(TEXT, writer, 1, "write plugin")                                     \
	X(COUNT, errors, 1, "of writing")                                      \
	X(TEXT, device, 1, "\"8:1\"; disks with the same share their space")   \
	X(REAL, full_s, 1, "until it is full, at the last minute's rate")      \
	X(REAL, rate, 1, "bytes/s, last second")                               \
	X(COUNT, queued, 1, "blocks that wait for it")                         \
	X(REAL, latency_ms, 1, "of the last block")                            \
	X(REAL, latency_p99_ms, 1, "99 of 100 blocks took at most this")       \
	X(REAL, speed, 1, "bytes/s while it writes")

struct disk_report {
	DISK_KEYS(KEY_MEMBER)
};

extern const struct key disk_keys[];

#endif
