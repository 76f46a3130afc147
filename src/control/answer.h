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
	ANSWER_WATCH = 1 << 3, /* a column of `status --watch`, if known */
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
	X(COUNT, healed, ANSWER, "blocks that were computed from parity")      \
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
	X(TEXT, unsent, ANSWER, "why it is not sent there")                    \
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
	X(COUNT, others, ANSWER, "scans of other stations; none is listed")    \
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

/* A stream of the configuration. */
#define STREAM_KEYS(X)                                                         \
	X(TEXT, name, ANSWER | KEY_COLUMN, "of the stream", "stream")          \
	X(TEXT, format, ANSWER | KEY_COLUMN, "format plugin", "format")        \
	X(TEXT, receive, ANSWER | KEY_COLUMN, "receive plugin", "from")        \
	X(JSON, listen, ANSWER | KEY_COLUMN, "list of addresses", "listen")    \
	X(COUNT, prefix, ANSWER, "bytes of a packet that are not stored")      \
	X(COUNT, payload, ANSWER | KEY_COLUMN,                                 \
	  "bytes of a packet that are stored", "packet")                       \
	X(TEXT, sequence, ANSWER | KEY_COLUMN, "where packets are numbered",   \
	  "sequence")                                                          \
	X(COUNT, rate, ANSWER | KEY_COLUMN, "bit/s; 0: it is not said",        \
	  "rate")                                                              \
	X(BYTES, block_bytes, ANSWER, "of a block")                            \
	X(COUNT, block_packets, ANSWER, "packets of a block")                  \
	X(COUNT, blocks, ANSWER | KEY_COLUMN, "of memory, for a recording",    \
	  "blocks")                                                            \
	X(BYTES, memory, ANSWER, "of these")                                   \
	X(TEXT, layout, ANSWER, "how it lies on the disks")                    \
	X(TEXT, fill, ANSWER, "what stands for lost packets")                  \
	X(COUNT, subs, ANSWER, "substreams")                                   \
	X(COUNT, parts, ANSWER, "recordings that it is split into")            \
	X(TEXT, recording, ANSWER | KEY_COLUMN, "that runs", "recording")      \
	X(TEXT, quality, ANSWER | KEY_COLUMN | ANSWER_WATCH,                   \
	  "of the signal that is recorded: ok, or findings with how many "     \
	  "channels have each; null: it is not looked at",                     \
	  "signal")                                                            \
	X(JSON, channels, ANSWER,                                              \
	  "list of these, in the last seconds: QUALITY_KEYS")                  \
	X(TEXT, armed, ANSWER, "recording that waits for its start")           \
	X(TEXT, store, ANSWER, "heap or cube: how heaps are stored")           \
	X(COUNT, recordings, ANSWER, "begun since spated was started")         \
	X(COUNT, datagrams, ANSWER,                                            \
	  "that came to these; it and all below never fall")                   \
	X(COUNT, packets, ANSWER, "stored")                                    \
	X(COUNT, packets_lost, ANSWER, "lost before they came")                \
	X(COUNT, packets_reordered, ANSWER, "stored, behind a later one")      \
	X(COUNT, packets_unreadable, ANSWER,                                   \
	  "stored, with a frame header that is not sane")                      \
	X(COUNT, packets_at_risk, ANSWER,                                      \
	  "on a disk that failed before it was synced")                        \
	X(COUNT, overruns, ANSWER, "lost in this machine's sockets")           \
	X(JSON, overrun_causes, ANSWER,                                        \
	  "an object with a number for each `cause` of INFO_CAUSE_KEYS; the "  \
	  "last second's overruns have none yet")                              \
	X(COUNT, clock_steps, ANSWER, "of the clock of the data")              \
	X(BYTES, bytes, ANSWER, "written to the disks")                        \
	X(JSON, drops, ANSWER,                                                 \
	  "an object with a number for each drop (page 13)")

/* The answer to `status`. */
#define STATUS_KEYS(X)                                                         \
	X(TEXT, version, ANSWER, "of spated")                                  \
	X(TEXT, station, ANSWER, "whose scans it takes; null: it has none")    \
	X(COUNT, pid, ANSWER, "process")                                       \
	X(TIME, started, ANSWER, "when it was started")                        \
	X(SECONDS, uptime_s, ANSWER, "since then")                             \
	X(JSON, memory, ANSWER, "MEMORY_KEYS")                                 \
	X(JSON, recordings, ANSWER, "list of those that run: INFO_KEYS")       \
	X(JSON, sends, ANSWER, "list of those that wait or run: SEND_KEYS")    \
	X(COUNT, sends_n, ANSWER, "transfers that run")                        \
	X(COUNT, sends_failed, ANSWER,                                         \
	  "transfers that have failed since spated was started")               \
	X(JSON, inbox, ANSWER, "list of copies that come in: COPY_KEYS")       \
	X(JSON, disks, ANSWER, "list: DISK_KEYS")                              \
	X(COUNT, streams_n, ANSWER, "streams of the configuration")            \
	X(JSON, space, ANSWER, "SPACE_KEYS")                                   \
	X(JSON, catalogue, ANSWER, "CATALOGUE_KEYS")                           \
	X(JSON, ended, ANSWER | KEY_OPTIONAL,                                  \
	  "only if a program asks for so many: recordings that ended last, "   \
	  "the last one first: some of INFO_KEYS")                             \
	X(JSON, kernel, ANSWER,                                                \
	  "losses of the machine outside of the sockets since spated was "     \
	  "started, as `kernel` of `info`")

/* The memory for blocks. */
#define MEMORY_KEYS(X)                                                         \
	X(BYTES, bytes, ANSWER, "in all")                                      \
	X(BYTES, borrowed, ANSWER, "in use")                                   \
	X(BYTES, lent, ANSWER, "of these, beyond the blocks of the streams")   \
	X(BYTES, ready, ANSWER, "can be used by now; the start does not wait") \
	X(TEXT, pages, ANSWER, "hugetlb, transparent or small")                \
	X(BOOL, locked, ANSWER, "it cannot be swapped out")                    \
	X(BOOL, shared, ANSWER, "with who reads what is being recorded")

/* The state of the catalogue: what the daemon knows of recordings on disks. */
#define CATALOGUE_KEYS(X)                                                      \
	X(COUNT, disks, ANSWER, "that it lists")                               \
	X(COUNT, listed, ANSWER, "disks whose names are known")                \
	X(COUNT, recordings, ANSWER, "on these")                               \
	X(COUNT, unread, ANSWER, "recordings that are known by name alone")    \
	X(COUNT, read, ANSWER, "recordings read since the start")              \
	X(COUNT, whole, ANSWER, "of these, read with every record")

/* A copy that comes in. */
#define COPY_KEYS(X)                                                           \
	X(COUNT, id, ANSWER, "number in this daemon")                          \
	X(TEXT, name, ANSWER, "of the recording here")                         \
	X(TEXT, from, ANSWER, "address of the sender")                         \
	X(TEXT, state, ANSWER,                                                 \
	  "looking, beginning, copying, waiting, broken, there, closing or "   \
	  "failed")                                                            \
	X(TEXT, why, ANSWER, "why it waits or failed")                         \
	X(TEXT, stream, ANSWER, "that was recorded")                           \
	X(TEXT, format, ANSWER, "format plugin")                               \
	X(BYTES, bytes, ANSWER, "durable")                                     \
	X(BYTES, total, ANSWER, "of the recording, as far as it is known")     \
	X(BYTES, there, ANSWER, "that were here before")                       \
	X(COUNT, chunks, ANSWER, "blocks that are durable")                    \
	X(COUNT, told, ANSWER, "blocks that the sender told of")               \
	X(COUNT, packets, ANSWER, "that came")                                 \
	X(BITS_S, rate, ANSWER, "that come in")                                \
	X(COUNT, connections, ANSWER, "that are open")                         \
	X(TIME, start, ANSWER, "when it began")

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

struct answer_stream {
	STREAM_KEYS(KEY_MEMBER)
};

struct answer_status {
	STATUS_KEYS(KEY_MEMBER)
};

struct answer_memory {
	MEMORY_KEYS(KEY_MEMBER)
};

struct answer_catalogue {
	CATALOGUE_KEYS(KEY_MEMBER)
};

struct answer_copy {
	COPY_KEYS(KEY_MEMBER)
};

extern const struct key send_keys[], scan_keys[], schedule_sum_keys[],
    space_keys[], stream_keys[], status_keys[], memory_keys[], catalogue_keys[],
    copy_keys[];

/*
 * Read an object.  Texts and lists are those of the object, and not known in one
 * that lacks them.
 */
struct answer_send answer_send(const json_t *send);
struct answer_scan answer_scan(const json_t *scan);
struct answer_schedule_sum answer_schedule_sum(const json_t *sum);
struct answer_space answer_space(const json_t *space);
struct answer_stream answer_stream(const json_t *stream);
struct answer_status answer_status(const json_t *status);
struct answer_memory answer_memory(const json_t *memory);
struct answer_copy answer_copy(const json_t *copy);

#endif
