/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_HEALTH_NO_BUFFER_CAUSE_H
#define SPATE_DAEMON_HEALTH_NO_BUFFER_CAUSE_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "daemon/disks/disk_set.h"
#include "flow/memory/block_pool.h"

/*
 * Why packets of a recording found no free block (DROP_NO_BUFFER): what disks,
 * memory and kernel were like when their number grew.  The event loop's thread.
 *
 *   stalled    a disk did not answer for a second or more
 *   gone       no disk takes blocks: they are full, failed or not there
 *   memory     another recording has blocks that belong to this one
 *   writeback  the kernel lets nobody write to its cache before it has written
 *              what is there
 *   slow       a disk is slower than the others
 *   behind     the disks take less than comes
 */
enum no_buffer_cause {
	NO_BUFFER_STALLED,
	NO_BUFFER_GONE,
	NO_BUFFER_MEMORY,
	NO_BUFFER_WRITEBACK,
	NO_BUFFER_SLOW,
	NO_BUFFER_BEHIND,
};

/* State of disks, memory and kernel at a moment.  Paths are NULL where there is
 * none, and belong to the disk set. */
struct no_buffer_facts {
	const char *stalled; /* the disk that has not answered for longest, */
	int64_t stall_ns;    /* and for how long */
	bool takers;	     /* a disk takes blocks */
	const char *gone;    /* a disk that takes none */
	bool filled;	     /* the recording has all its blocks */
	bool writes_back;    /* see above */
	const char *slow;    /* a disk that gets none as others are faster */
	const char *slowest; /* of those that take blocks */
};

/* Returns the cause; *disk is the one that is meant, or NULL. */
enum no_buffer_cause no_buffer_cause_of(const struct no_buffer_facts *f,
					const char **disk);

enum { NO_BUFFER_ACCOUNTS = 16 };

struct no_buffer_watch {
	uint64_t packets; /* dropped, at the last look */
	bool lacked;	  /* blocks of its own, at the last look */
	/* The last disk that stalled, until it has answered for a while. */
	const char *stalled;
	int64_t stall_ns, stalled_at;

	/* One for each cause with each disk; the last one has all others. */
	struct no_buffer_account {
		enum no_buffer_cause cause;
		const char *disk;
		uint64_t packets;
		int64_t stall_ns; /* the longest */
		int64_t last;	  /* UTC ns */
	} account[NO_BUFFER_ACCOUNTS];
	unsigned accounts;
};

/* Looks every second at how many packets were dropped so far.  Returns the
 * account of those that are new, or NULL: none are. */
const struct no_buffer_account *
no_buffer_watch_look(struct no_buffer_watch *w, uint64_t packets,
		     const struct disk_set *disks,
		     const struct block_pool *pool, int64_t now);

/* The same, of facts that are known. */
const struct no_buffer_account *
no_buffer_watch_add(struct no_buffer_watch *w, uint64_t packets,
		    const struct no_buffer_facts *facts, int64_t now);

/* Writes what an account says, "/mnt/disk3 is slow".  Returns `text`. */
const char *no_buffer_why(const struct no_buffer_account *a, char *text,
			  size_t bytes);

/* Returns the list of INFO_NO_BUFFER_KEYS, a new reference. */
json_t *no_buffer_watch_json(const struct no_buffer_watch *w);

#endif
