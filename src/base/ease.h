/* SPDX-License-Identifier: MIT */
#ifndef SPATE_BASE_EASE_H
#define SPATE_BASE_EASE_H

#include <stdbool.h>

/*
 * Makes readers of recordings give way to writers: a disk that records a stream
 * must not seek for a reader.
 *
 * ease_process() puts the I/O of the calling thread, and of threads it starts
 * later, behind everybody else's (ioprio "idle").  While nobody else uses the
 * disk it costs nothing.  Errors are ignored: reading works without it.
 *
 * Only for threads that just read: an fsync at idle priority holds the file
 * system's journal, and every writer's fsync waits for it.
 */
void ease_process(void);
/* Undoes it for the calling thread, which is about to write. */
void ease_end(void);

/*
 * Call it for a file that is about to be read.  If its disk has writes in
 * flight, turns off the kernel's read-ahead for the file, so that a reader that
 * asks for one piece after the other has one request at a time on that disk.
 * Returns true if it did.
 */
bool ease_file(int fd);

/* The same, with another folder in place of /sys/dev/block, for tests. */
bool ease_file_by(const char *sys, int fd);

#endif
