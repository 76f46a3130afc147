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
	ANSWER_CHECK = 1 << 1,	      /* only of add, check and import */
	ANSWER_CHECK_COLUMN = 1 << 2, /* a column there */
};

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
	X(JSON, asked_rate, ANSWER | KEY_COLUMN | KEY_RIGHT,                   \
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

struct answer_send {
	SEND_KEYS(KEY_MEMBER)
};

extern const struct key send_keys[];

#endif
