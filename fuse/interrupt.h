/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FUSE_INTERRUPT_H
#define SPATE_FUSE_INTERRUPT_H

#include <fuse_lowlevel.h>
#include <stdatomic.h>
#include <stdbool.h>

/*
 * A program that is killed while it opens or reads a file is gone only when
 * its request was answered, and that may wait for a disk.  So somebody who is
 * being killed is answered at once, by another thread, and what was found for
 * them is dropped.
 *
 *   watch -> OPEN --- settle ---> the caller answers
 *              \
 *               `- killed ------> was answered; settle says so
 */
struct interrupt {
	fuse_req_t req;
	_Atomic int state;
};

/* From now on it may be answered by another thread: false, it was, or is to be
 * as somebody was killed before; then it is not to be touched any more. */
bool interrupt_watch(struct interrupt *i, fuse_req_t req);

/* Ends that.  True: the caller answers. */
bool interrupt_settle(struct interrupt *i);

#endif
