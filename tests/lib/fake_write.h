/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_FAKE_WRITE_H
#define SPATE_TESTS_FAKE_WRITE_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "contract/write.h"
#include "lib/dice.h"

/*
 * A writer that does what disks and asynchronous plugins may do: it writes
 * short, fails the n-th request, is busy, and gives requests back in any
 * order.  One whim per disk; its counts are the writer thread's own.
 */
enum { FAKE_QUEUE = 8 };

struct fake_whim {
	uint32_t most;	  /* bytes per request; 0: all */
	unsigned fail_at; /* 1: the first request; 0: none */
	int fail;	  /* -errno, or 0: it writes nothing */
	bool lasting;	  /* it fails from then on */
	unsigned depth;	  /* of its queue; 0: synchronous */
	unsigned busy;	  /* every n-th call, when there is a queue */
	bool always_busy;
	atomic_int fail_next; /* -errno: so the next request fails, once */
	atomic_bool *stuck;   /* while that is so, no request ends */
	atomic_bool waits;    /* one does not */
	void (*look)(const struct write_request *r); /* sees each before */

	unsigned calls, submits, finishes, opens, closes;
	unsigned files; /* most that were queued at a time */
};

struct write_state {
	struct fake_whim *whim;
	struct dice dice;
	struct write_request *queue[FAKE_QUEUE];
	unsigned queued;
	int fd; /* of the last request; -1 when finished */
};

int fake_write_open(struct write_state **state, const struct write_args *args);

enum write_answer fake_write_submit(struct write_state *s,
				    struct write_request *r);

/* One or more of the queued, whichever. */
unsigned fake_write_reap(struct write_state *s, struct write_request **done,
			 unsigned n);

int fake_write_finish(struct write_state *s, int fd);

void fake_write_close(struct write_state *s);

#define FAKE_WRITE_OPS(name_, flags_)                                          \
	{                                                                      \
		.head = { .abi = SPATE_ABI,                                    \
			  .bytes = sizeof(struct write_ops),                   \
			  .name = name_,                                       \
			  .flags = flags_ },                                   \
		.open = fake_write_open, .submit = fake_write_submit,          \
		.reap = fake_write_reap, .finish = fake_write_finish,          \
		.close = fake_write_close,                                     \
	}

#endif
