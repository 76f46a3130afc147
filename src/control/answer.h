/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CONTROL_ANSWER_H
#define SPATE_CONTROL_ANSWER_H

#include "base/keys.h"

/*
 * Objects of the control socket's answers, which the daemon makes and clients
 * read: a list of keys each (base/keys.h).  daemon/requests/verbs.h says which
 * answer has which object.  Recordings and disks have their lists in store
 * (recording_info.h, disk_keys.h), because the disks alone tell of them, too.
 */
enum {
	ANSWER = 1 << 0,	      /* in every such object */
	ANSWER_CHECK = 1 << 1,	      /* only of `add`, `check` and `import` */
	ANSWER_CHECK_COLUMN = 1 << 2, /* a column of their table */
};

#define ANSWER_COLUMNS (ANSWER | KEY_COLUMN | ANSWER_CHECK_COLUMN)

/* A transfer: SEND. */
#define SEND_KEYS(X)                                                           \
	X(COUNT, id, ANSWER | KEY_COLUMN, "number in this daemon", "id")       \
	X(TEXT, name, ANSWER | KEY_COLUMN,                                     \
	  "recording; of a relay, the stream", "name")                         \
	X(TEXT, kind, ANSWER | KEY_COLUMN, "send, copy or relay", "kind")      \
	X(TEXT, to, ANSWER | KEY_COLUMN, "URL of the receiver", "to")          \
	X(TEXT, state, ANSWER | KEY_COLUMN,                                    \
	  "queued, connecting, sending, waiting, paused, finishing, done, "    \
	  "stopped or failed",                                                 \
	  "state")                                                             \
	X(BYTES, bytes, ANSWER | KEY_COLUMN, "sent so far", "sent")            \
	X(BITS_S, rate, ANSWER | KEY_COLUMN, "of the last second", "rate")     \
	X(JSON, asked_rate, ANSWER | KEY_COLUMN | KEY_OTHER_SIDE,              \
	  "bit/s, or \"data\" or \"free\"", "asked")                           \
	X(SECONDS, left_s, ANSWER | KEY_COLUMN, "until all is sent", "time")   \
	X(SECONDS, behind_s, ANSWER, "behind a recording that is being made")  \
	X(TEXT, why, ANSWER | KEY_COLUMN, "why it waits or failed")            \
	X(INTEGER, priority, ANSWER, "the higher one is sent first")           \
	X(TIME, queued, ANSWER, "when it was ordered")                         \
	X(TIME, started, ANSWER, "when it began")                              \
	X(TIME, ended, ANSWER, "when it ended")                                \
	X(BYTES, there, ANSWER, "that the receiver had before")                \
	X(BYTES, total, ANSWER, "of all that is to be sent")                   \
	X(COUNT, packets, ANSWER, "sent")                                      \
	X(COUNT, missing, ANSWER, "packets not sent: never received")          \
	X(COUNT, unreadable, ANSWER, "packets not sent: damaged on the disk")  \
	X(COUNT, dropped, ANSWER, "packets not sent: it was too slow")         \
	X(COUNT, lost, ANSWER, "packets that were lost on the way")            \
	X(COUNT, refused, ANSWER, "packets to which nobody listened")          \
	X(BYTES, from_memory, ANSWER, "that were still in memory")             \
	X(BYTES, from_disk, ANSWER, "that were read from the disks")           \
	X(COUNT, connections, ANSWER, "that are open")                         \
	X(COUNT, reconnects, ANSWER, "connections that were made anew")        \
	X(BYTES, burst, ANSWER, "sent at once")                                \
	X(TEXT, peer, ANSWER, "address of the receiver")                       \
	X(TEXT, way, ANSWER, "how packets go, as \"udp, trains of 7\"")        \
	X(COUNT, scan, ANSWER | KEY_OPTIONAL, "number in the schedule")

/* A scan of the schedule: SCAN, and with ANSWER_CHECK also CHECK. */
#define SCAN_KEYS(X)                                                           \
	X(COUNT, id, ANSWER | KEY_COLUMN, "number in the schedule", "id")      \
	X(TEXT, name, ANSWER_COLUMNS, "what it makes or sends", "name")        \
	X(TIME, start, ANSWER_COLUMNS, "when it begins", "start")              \
	X(TIME, stop, ANSWER, "when it ends")                                  \
	X(BOOL, data, ANSWER, "the clock of the data decides, not ours")       \
	X(SECONDS, duration_s, ANSWER_COLUMNS, "from start to stop", "length") \
	X(SECONDS, backlog_s, ANSWER, "recorded from before the start")        \
	X(SECONDS, arm_s, ANSWER, "armed so long before the start")            \
	X(TEXT, action, ANSWER_COLUMNS, "record, send or relay", "action")     \
	X(JSON, streams, ANSWER_COLUMNS, "list of names", "stream")            \
	X(TEXT, to, ANSWER_COLUMNS, "URL of a send or relay", "to")            \
	X(TEXT, send, ANSWER, "URL to which a recording is sent, too")         \
	X(INTEGER, priority, ANSWER_COLUMNS, "the higher one is kept",         \
	  "priority")                                                          \
	X(BYTES, volume, ANSWER_CHECK | ANSWER_CHECK_COLUMN,                   \
	  "to come from now on", "volume")                                     \
	X(BYTES, memory, ANSWER_CHECK | ANSWER_CHECK_COLUMN, "needed",         \
	  "memory")                                                            \
	X(BYTES, free_after, ANSWER_CHECK | ANSWER_CHECK_COLUMN,               \
	  "on the disks at its end", "free then")                              \
	X(BOOL, fits, ANSWER_CHECK, "it is not refused")                       \
	X(JSON, conflicts, ANSWER_CHECK,                                       \
	  "the first eight scans that have what this one lacks: each `name`, " \
	  "`why` (memory, speed or space)")                                    \
	X(TEXT, verdict, ANSWER_CHECK | ANSWER_CHECK_COLUMN,                   \
	  "ok, refused, over, or unknown: the stream has no `rate`", "fits")   \
	X(TEXT, reason, ANSWER_CHECK, "why it is refused")                     \
	X(TEXT, state, ANSWER | KEY_COLUMN,                                    \
	  "waiting, armed, running, done, failed, missed, cancelled or "       \
	  "refused",                                                           \
	  "state")                                                             \
	X(SECONDS, next_s, ANSWER | KEY_COLUMN | KEY_OTHER_SIDE,               \
	  "until it begins, or ends if it runs", "next")                       \
	X(TEXT, recording, ANSWER, "name that its recording really got")       \
	X(TEXT, file, ANSWER, "file of the schedule's folder")                 \
	X(COUNT, line, ANSWER, "of that file")                                 \
	X(TEXT, why, ANSWER_COLUMNS, "reason for its state, or a note")

/* The schedule as a whole, compared with memory and disks. */
#define SCHEDULE_SUM_KEYS(X)                                                   \
	X(BYTES, volume, ANSWER, "of all scans that fit")                      \
	X(COUNT, unknown, ANSWER, "scans whose volume nobody knows")           \
	X(COUNT, refused, ANSWER, "scans that do not fit")                     \
	X(TIME, full_at, ANSWER,                                               \
	  "when the disks would be full if also those were recorded that "     \
	  "find no room")                                                      \
	X(JSON, memory, ANSWER, "`bytes`, `peak`, `peak_at`")                  \
	X(JSON, rate, ANSWER, "`speed` of the disks, `peak`, `peak_at`")       \
	X(JSON, disks, ANSWER, "SPACE_KEYS")

/* All disks together: SPACE.  A file system that several share counts once. */
#define SPACE_KEYS(X)                                                          \
	X(COUNT, disks, ANSWER, "that work")                                   \
	X(BYTES, total, ANSWER, "of their file systems")                       \
	X(BYTES, free, ANSWER, "above the reserve")                            \
	X(BYTES, written, ANSWER, "since they take part")                      \
	X(BYTES_S, rate, ANSWER, "of the last minute")                         \
	X(SECONDS, full_s, ANSWER, "until they are full at that rate")

struct answer_send {
	SEND_KEYS(KEY_MEMBER)
};

struct answer_scan {
	SCAN_KEYS(KEY_MEMBER)
};

struct answer_schedule_sum {
	SCHEDULE_SUM_KEYS(KEY_MEMBER)
};

struct answer_space {
	SPACE_KEYS(KEY_MEMBER)
};

extern const struct key send_keys[], scan_keys[], schedule_sum_keys[],
    space_keys[];

/*
 * Read an object.  Texts and lists are those of the object, and not known in one
 * that lacks them.
 */
struct answer_send answer_send(const json_t *send);
struct answer_scan answer_scan(const json_t *scan);
struct answer_schedule_sum answer_schedule_sum(const json_t *sum);
struct answer_space answer_space(const json_t *space);

#endif
