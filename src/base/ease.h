/* SPDX-License-Identifier: MIT */
#ifndef SPATE_BASE_EASE_H
#define SPATE_BASE_EASE_H

#include <stdbool.h>

/*
 * Whoever reads a recording gives way to those who write one: a disk that
 * takes a stream must not seek for a reader.
 *
 * ease_process() puts the I/O of this thread, and of threads that it makes
 * from then on, behind that of all others (ioprio "idle").  Nothing is lost
 * where nobody writes.  It cannot fail in a way that matters.
 *
 * For readers only: what who is idle makes durable is waited for by others,
 * whose fsync shares the journal with it.
 */
void ease_process(void);

/*
 * Call it with a file that is about to be read.  Where its disk has writes
 * under way, the kernel reads no further than it is asked to, so a reader
 * that asks for one piece after the other has one request on that disk.
 * True when that is so.
 */
bool ease_file(int fd);

/* The same with another folder than /sys/dev/block, for tests. */
bool ease_file_by(const char *sys, int fd);

#endif
