/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FUSE_INTERRUPT_H
#define SPATE_FUSE_INTERRUPT_H

#include <fuse_lowlevel.h>
#include <stdatomic.h>
#include <stdbool.h>

/*
 * Answers requests of programs that are being killed.  A killed program is gone
 * only when its request was answered, and that may wait for a disk.  Another
 * thread then answers the request at once with EINTR, and the result that the
 * first thread finds is dropped.
 *
 *   watch -> OPEN --- settle ---> the caller answers
 *              \
 *               `- killed ------> was answered; settle says so
 */
struct interrupt {
	fuse_req_t req;
	_Atomic int state;
};

/*
 * Begins: from now on another thread may answer the request.  Returns false if
 * the program was killed before; the request is then answered, and must not be
 * touched any more.
 */
bool interrupt_watch(struct interrupt *i, fuse_req_t req);

/*
 * Ends it.  Returns true if the caller has to answer the request, false if it
 * was answered.
 */
bool interrupt_settle(struct interrupt *i);

#endif
