/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FUSE_URING_H
#define SPATE_FUSE_URING_H

struct fuse_args;

/*
 * Asks libfuse to take requests from rings that the kernel shares, one for
 * each processor, and says in the log where that is not to be had: then they
 * come by /dev/fuse as ever.
 *
 * It is only done when somebody asks for it.  A ring has one thread, which
 * waits for a disk while other requests of its processor wait behind it; by
 * /dev/fuse another thread takes them.
 */
void uring_want(struct fuse_args *args);

#endif
