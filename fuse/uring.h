/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FUSE_URING_H
#define SPATE_FUSE_URING_H

struct fuse_args;

/*
 * Asks libfuse to take requests from io_uring rings shared with the kernel, one
 * for each processor.  If that is not possible, it logs why, and requests come
 * by /dev/fuse.
 *
 * This is off by default: a ring has one thread, and while it waits for a disk,
 * other requests of its processor wait behind it.  With /dev/fuse another
 * thread takes them.
 */
void uring_want(struct fuse_args *args);

#endif
