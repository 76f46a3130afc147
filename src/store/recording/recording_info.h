/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_RECORDING_RECORDING_INFO_H
#define SPATE_STORE_RECORDING_RECORDING_INFO_H

#include "base/keys.h"

/*
 * Info is all that is known of a recording: the JSON of `spate info --json` and,
 * in part, of the `end` line of the metadata.  The daemon fills the structs for
 * the recordings that it has, and recording_info() from the disks.  Groups say
 * where a key appears; the manual repeats those that begin with "only".
 */
enum {
	INFO = 1 << 0,	      /* in every info */
	INFO_DAEMON = 1 << 1, /* only from the daemon */
	INFO_LIVE = 1 << 2,   /* only while it is recorded */
	INFO_DISKS = 1 << 3,  /* only of one that is read from the disks */
	INFO_HEAPS = 1 << 4,  /* only if heaps are stored */
	INFO_END = 1 << 5,    /* in the `end` line */
	INFO_ROWS = 1 << 6,   /* in the `end` line if heaps are in rows, because
				* an index does not have the last heap's end */
	INFO_SUBS = 1 << 7,   /* only if there are several substreams */
	INFO_WATCH = 1 << 9,  /* a column of `status --watch`, if known */
	INFO_BRIEF = 1 << 10, /* of the recordings in a brief status */
	INFO_COUNTED = 1 << 8, /* the daemon counts it; the disks have it from
				* the `end` line */
};

#define INFO_KEYS(X)                                                           \
	X(COUNT, id, INFO_DAEMON | INFO_BRIEF, "number in this daemon")        \
	X(TEXT, name, INFO | INFO_BRIEF, "of the recording")                   \
	X(TEXT, state, INFO | INFO_BRIEF,                                      \
	  "armed, recording, stopping, complete, failed, cancelled or "        \
	  "interrupted")                                                       \
	X(TEXT, stream, INFO | INFO_BRIEF, "stream of the configuration")      \
	X(TEXT, format, INFO, "format plugin")                                 \
	X(TIME, start, INFO | INFO_END | INFO_BRIEF, "begin")                  \
	X(TIME, end, INFO | INFO_END | INFO_BRIEF,                             \
	  "end, or last block so far")                                         \
	X(BYTES, bytes, INFO | INFO_END | INFO_BRIEF, "of its files")          \
	X(BYTES, payload, INFO, "of a packet that are stored")                 \
	X(COUNT, datagrams, INFO | INFO_END | INFO_COUNTED, "that came")       \
	X(COUNT, packets, INFO | INFO_END | INFO_BRIEF, "stored, each once")   \
	X(COUNT, packets_lost, INFO | INFO_END | INFO_BRIEF,                   \
	  "lost before they came")                                             \
	X(BOOL, packets_lost_estimated, INFO | KEY_OPTIONAL,                   \
	  "packets_lost is an estimate")                                       \
	X(COUNT, packets_reordered, INFO | INFO_END | INFO_COUNTED,            \
	  "stored, behind a later one")                                        \
	X(COUNT, packets_late, INFO | INFO_END | INFO_COUNTED,                 \
	  "block was closed")                                                  \
	X(COUNT, packets_duplicate, INFO | INFO_END | INFO_COUNTED,            \
	  "slot had a packet")                                                 \
	X(COUNT, packets_unreadable, INFO | INFO_END | INFO_COUNTED,           \
	  "stored, with a frame header that is not sane")                      \
	X(COUNT, packets_moved, INFO | INFO_END | INFO_COUNTED,                \
	  "stored by copying")                                                 \
	X(COUNT, packets_at_risk, INFO | INFO_END | INFO_COUNTED,              \
	  "on a disk that failed before it was synced")                        \
	X(COUNT, overruns, INFO | INFO_END | INFO_COUNTED | INFO_BRIEF,        \
	  "lost in this machine's sockets")                                    \
	X(COUNT, heaps, INFO | INFO_END | INFO_COUNTED, "finished heaps")      \
	X(COUNT, heaps_incomplete, INFO | INFO_END | INFO_COUNTED,             \
	  "finished heaps with packets missing")                               \
	X(JSON, drops, INFO | INFO_END | INFO_COUNTED | INFO_BRIEF,            \
	  "an object with a number for each drop (page 13)")                   \
	X(JSON, runs, INFO | INFO_ROWS, "list of runs: INFO_RUN_KEYS")         \
	X(JSON, disks, INFO, "list of disks: INFO_DISK_KEYS")                  \
	X(COUNT, chunks, INFO | INFO_END, "blocks on the disks")               \
	X(COUNT, gaps, INFO, "blocks that no disk has")                        \
	X(TEXT, fill, INFO, "what stands for lost packets")                    \
	X(TEXT, layout, INFO, "how it lies on the disks")                      \
	X(COUNT, absent, INFO, "blocks whose record or data no disk gives")    \
	X(COUNT, parity, INFO,                                                 \
	  "disks that may die without a loss, as configured")                  \
	X(COUNT, with_parity, INFO,                                            \
	  "of `chunks`, those that survive when `parity` disks die now")       \
	X(COUNT, with_less_parity, INFO,                                       \
	  "of `chunks`, others that survive when one disk dies now")           \
	X(COUNT, computed, INFO,                                               \
	  "of `chunks`, those of disks that are away, which parity gives")     \
	X(JSON, resumed, INFO,                                                 \
	  "list of interruptions after which it went on: `resumed`, "          \
	  "`stopped`")                                                         \
	X(TEXT, store, INFO, "heap or cube: how heaps are stored")             \
	X(COUNT, descriptors, INFO_HEAPS, "descriptor heaps")                  \
	X(COUNT, controls, INFO_HEAPS, "start, stop and reissue heaps")        \
	X(BYTES, left_out, INFO_HEAPS, "in the index and in no chunk")         \
	X(TEXT, why, INFO | KEY_OPTIONAL | INFO_BRIEF,                         \
	  "why it failed or waits")                                            \
	X(JSON, sources, INFO | INFO_END | INFO_COUNTED,                       \
	  "list of sockets, or of network cards where there are substreams: "  \
	  "`address`, `device`, `datagrams`, `overruns`, `sender`")            \
	X(JSON, senders, INFO | INFO_END | INFO_COUNTED,                       \
	  "list of who sent, where several did: INFO_SENDER_KEYS")             \
	X(JSON, kernel, INFO | INFO_END | INFO_COUNTED,                        \
	  "losses of the machine outside of the sockets: `interfaces[]`, "     \
	  "`backlog` (`dropped`, `squeezed`), "                                \
	  "`udp` (`in_errors`, `rcvbuf_errors`)")                              \
	X(REAL, clock_s,                                                       \
	  INFO | INFO_END | INFO_COUNTED | INFO_WATCH | INFO_BRIEF,            \
	  "s that the time of the data is behind their arrival, at least, in " \
	  "the last ten; negative: ahead; null: it is not known",              \
	  "clock, s")                                                          \
	X(REAL, clock_drift, INFO | INFO_END | INFO_COUNTED | INFO_BRIEF,      \
	  "s in a s that it falls behind, over a minute")                      \
	X(COUNT, clock_steps, INFO | INFO_END | INFO_COUNTED | INFO_BRIEF,     \
	  "of that clock, by half a millisecond or more")                      \
	X(TEXT, clock, INFO | INFO_END | INFO_COUNTED | INFO_BRIEF,            \
	  "what is wrong with it; null: nothing")                              \
	X(TEXT, clock_fault, INFO | INFO_END | INFO_COUNTED | INFO_BRIEF,      \
	  "the same in a word: epoch (half-years), far (farther than "         \
	  "`max_clock`), apart (a thread) or drift")                           \
	X(REAL, clock_apart_s, INFO | INFO_END | INFO_COUNTED | INFO_BRIEF,    \
	  "s that a thread is behind the others; null: none is apart")         \
	X(REAL, clock_spread_s, INFO | INFO_END | INFO_COUNTED,                \
	  "s by which `clock_s` varies from second to second, a standard "     \
	  "deviation over a minute: less than that cannot be told")            \
	X(TEXT, clock_stamps, INFO | INFO_END | INFO_COUNTED,                  \
	  "who says when packets arrive: card, kernel, or read (the "          \
	  "receiver, "                                                         \
	  "when it reads them)")                                               \
	X(JSON, overrun_causes, INFO | INFO_END | INFO_COUNTED,                \
	  "list of what held up the receivers when `overruns` grew: "          \
	  "INFO_CAUSE_KEYS")                                                   \
	X(JSON, no_buffer_causes, INFO | INFO_END | INFO_COUNTED,              \
	  "list of why no block was free when `drops.no_buffer` grew: "        \
	  "INFO_NO_BUFFER_KEYS")                                               \
	X(JSON, subs, INFO | INFO_END, "list of substreams: INFO_SUB_KEYS")    \
	X(JSON, silent, INFO | INFO_END | INFO_COUNTED,                        \
	  "list of ports that bring nothing")                                  \
	X(TEXT, made_by, INFO_DISKS, "program that recorded it")               \
	X(JSON, notes, INFO_DISKS,                                             \
	  "list of what is wrong with one of another program")                 \
	X(TEXT, loss_strip, INFO_DAEMON | INFO_BRIEF,                          \
	  "a mark for each second since it began, or for each 2, 4, 8 ... s "  \
	  "beyond 60 marks: space, nothing came; `.` nothing was lost; `-` "   \
	  "up to 0.1 % was; `+` up to 1 %; `#` more")                          \
	X(SECONDS, elapsed_s, INFO_LIVE | INFO_BRIEF, "since it began")        \
	X(COUNT, scan, INFO_LIVE | KEY_OPTIONAL, "number in the schedule")     \
	X(SECONDS, left_s, INFO_LIVE | INFO_BRIEF, "until it stops")           \
	X(TIME, stop_at, INFO_LIVE, "when it stops")                           \
	X(BITS_S, rate, INFO_LIVE | INFO_BRIEF, "that come in")                \
	X(TEXT, by, INFO_LIVE | KEY_OPTIONAL,                                  \
	  "program that ordered it: \"vsi ADDRESS [RUNTIME]\" where "          \
	  "spate-vsi took the command")                                        \
	X(BOOL, learning, INFO_LIVE, "the stream is still being looked at")    \
	X(JSON, blocks, INFO_LIVE | INFO_BRIEF, "of memory: `total`, `free`")  \
	X(TEXT, quality, INFO_LIVE | INFO_BRIEF,                               \
	  "of the signal in the last seconds: ok, or findings with how many "  \
	  "channels have each; null: it is not looked at")                     \
	X(COUNT, quality_frames, INFO_LIVE,                                    \
	  "looked at, of all parts of a split stream")                         \
	X(COUNT, quality_missed, INFO_LIVE,                                    \
	  "chosen, and not looked at for lack of time")                        \
	X(BYTES, durable, INFO_LIVE,                                           \
	  "of `bytes`, those that a failure of the power would leave")         \
	X(BOOL, well, INFO_LIVE | INFO_BRIEF, "all of `links` hold")           \
	X(JSON, links, INFO_LIVE | INFO_BRIEF,                                 \
	  "list, from the wire to the disk: INFO_LINK_KEYS")

#define INFO_CAUSE_KEYS(X)                                                     \
	X(TEXT, cause, INFO,                                                   \
	  "throttled (the control group, or one above it, had no CPU time "    \
	  "left), stolen (by the host of a virtual machine), paged (a "        \
	  "receiver waited for memory from a disk), waited (for a CPU), "      \
	  "writeback (for one that the kernel used to write from its cache "   \
	  "to disks), busy (it ran all the time) or unknown")                  \
	X(COUNT, overruns, INFO, "that had it")                                \
	X(MS, lost_ms, INFO, "the most that it took in two seconds")           \
	X(TEXT, process, INFO, "that had the CPU, with its number")            \
	X(TIME, last, INFO, "when it was last seen")

#define INFO_NO_BUFFER_KEYS(X)                                                 \
	X(TEXT, cause, INFO,                                                   \
	  "stalled (a disk did not answer for a second or more), gone (no "    \
	  "disk took blocks), memory (another recording had it yet), "         \
	  "writeback (the kernel had to write what was in its cache), slow "   \
	  "(a disk was slower than the others) or behind (the disks took "     \
	  "less than came)")                                                   \
	X(COUNT, packets, INFO, "that were dropped")                           \
	X(TEXT, disk, INFO,                                                    \
	  "that is meant; of some that are behind, the slowest")               \
	X(MS, stall_ms, INFO, "the longest that it did not answer")            \
	X(TIME, last, INFO, "when it was last seen")

/* A sender of several substreams, or of threads of VDIF that are numbered by their
 * time. */
#define INFO_SENDER_KEYS(X)                                                    \
	X(TEXT, address, INFO, "null: not known")                              \
	X(JSON, subs, INFO, "list of its substreams")                          \
	X(JSON, threads, INFO, "list of its threads")                          \
	X(COUNT, packets, INFO, "stored")                                      \
	X(COUNT, packets_lost, INFO, "lost before they came")

#define INFO_LINK_KEYS(X)                                                      \
	X(TEXT, link, INFO,                                                    \
	  "arrive (packets come), place (they are stored), write (disks take " \
	  "blocks) or durable (these are in indexes)")                         \
	X(BOOL, well, INFO, "it holds")                                        \
	X(TIME, since, INFO, "when it last did")                               \
	X(TEXT, why, INFO, "what does not happen")                             \
	X(BOOL, doubtful, INFO,                                                \
	  "it may not hold: it has not gone on for 1.5 s, while the one "      \
	  "before it did")

#define INFO_SUB_KEYS(X)                                                       \
	X(COUNT, sub, INFO, "number")                                          \
	X(TEXT, address, INFO | INFO_COUNTED, "first source")                  \
	X(TEXT, sender, INFO | INFO_COUNTED, "address of its sender")          \
	X(COUNT, datagrams, INFO | INFO_COUNTED, "that came")                  \
	X(COUNT, packets, INFO, "stored")                                      \
	X(COUNT, packets_lost, INFO, "lost before they came")                  \
	X(BYTES, bytes, INFO, "of its file")                                   \
	X(COUNT, runs, INFO, "number of runs")                                 \
	X(COUNT, overruns, INFO | INFO_COUNTED, "lost in its sockets")         \
	X(TIME, start, INFO, "first packet")                                   \
	X(TIME, end, INFO, "last packet")                                      \
	X(TIME, arrived_end, INFO | INFO_COUNTED, "arrival of the last packet")

#define INFO_RUN_KEYS(X)                                                       \
	X(COUNT, run, INFO, "number")                                          \
	X(DECIMAL, base, INFO, "absolute sequence of its first slot")          \
	X(COUNT, first, INFO, "first relative sequence with data")             \
	X(COUNT, last, INFO, "last one")                                       \
	X(COUNT, packets, INFO, "stored")                                      \
	X(COUNT, packets_lost, INFO, "lost before they came")                  \
	X(TIME, start, INFO, "first packet")                                   \
	X(TIME, end, INFO, "last packet")                                      \
	X(COUNT, sub, INFO_SUBS, "substream")

#define INFO_DISK_KEYS(X)                                                      \
	X(TEXT, path, INFO | KEY_COLUMN, "its folder", "disk")                 \
	X(COUNT, chunks, INFO | KEY_COLUMN, "blocks on it", "chunks")          \
	X(BYTES, bytes, INFO | KEY_COLUMN, "of these", "size")

struct info {
	INFO_KEYS(KEY_MEMBER)
};

struct info_sub {
	INFO_SUB_KEYS(KEY_MEMBER)
};

struct info_run {
	INFO_RUN_KEYS(KEY_MEMBER)
};

struct info_disk {
	INFO_DISK_KEYS(KEY_MEMBER)
};

struct info_sender {
	INFO_SENDER_KEYS(KEY_MEMBER)
};

struct info_cause {
	INFO_CAUSE_KEYS(KEY_MEMBER)
};

struct info_no_buffer {
	INFO_NO_BUFFER_KEYS(KEY_MEMBER)
};

struct info_link {
	INFO_LINK_KEYS(KEY_MEMBER)
};

extern const struct key info_keys[], info_sub_keys[], info_run_keys[],
    info_disk_keys[], info_link_keys[], info_cause_keys[],
    info_no_buffer_keys[], info_sender_keys[];

#endif
