/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_UPLOAD_UPLOAD_H
#define SPATE_FLOW_UPLOAD_UPLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "contract/send.h"
#include "flow/send/sender.h"
#include "flow/source/source.h"
#include "store/disk/disk.h"

/*
 * An upload is a sender (sender.h) that puts a whole recording into a store of
 * objects (contract/object.h): below the URL there are then the files that the
 * recording would have on a single disk in layout vbs, so whoever fetches them
 * has a recording.
 *
 * An object appears as a whole, and the index is put last: it never names what
 * is not there.  While the recording grows, or the upload goes on for long, its
 * index and metadata are put again and again.  Blocks that are there with the
 * right length and checksum are not sent again.
 *
 * In its facts, `packets` counts the packets of blocks that are there,
 * `unreadable` those of blocks that are left out, `total` all bytes that the
 * recording has, `bytes` those of blocks that were sent, `there` those that were
 * there before.  CONNECTING is also the state while the store does not answer;
 * WAITING: for more of a recording that grows.
 */
struct upload_args {
	const char *name; /* name of the recording; copied */
	const char *to;	  /* URL; copied */
	const char *as;	  /* name that it gets there; NULL: the same; copied */
	const struct send_ops *ops; /* the plugin; has `objects` */
	const void *options;	    /* the plugin's; they outlive the sender */
	/* Disks that have the recording, and those that come; shared. */
	struct disk_list *list;
	/* Gives its blocks; taken over, also on an error. */
	struct source *source;
	/* Bits per second; or SEND_RATE_FREE or SEND_RATE_DATA. */
	uint64_t rate;
	unsigned connections; /* 0: four */
	uint64_t memory;      /* bytes that the source has for its parcels */
	/* Puts a recording that grows, to its end; false: such a recording is
	 * refused. */
	bool follow;
	/* Ns that the store may be away; 0: a minute. */
	int64_t patience;
	/* As in sender_args. */
	void (*changed)(void *arg);
	void *arg;
};

/* Starts the thread.  0, or -errno with a fault. */
int upload_start(struct sender **upload, const struct upload_args *args,
		 struct fault *fault);

#endif
