/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_SEND_SENDER_THREAD_H
#define SPATE_FLOW_SEND_SENDER_THREAD_H

#include <pthread.h>
#include <stdatomic.h>

#include "flow/send/sender.h"

/*
 * A sender's thread, for those who implement what it sends: packets (sender.c)
 * or a copy (flow/copy).  The thread takes orders, shows its facts, and may be
 * left behind in a call that hangs.
 *
 *   sender_run -> work.run, on the thread -> work.free, once nobody needs it
 */
struct sender_work {
	/* Sends it all, closes everything, and returns the state to end in. */
	enum sender_state (*run)(struct sender *s);
	/* Frees the sender and what it was given. */
	void (*free)(struct sender *s);
};

enum {
	SENDER_WORDS = (sizeof(struct sender_facts) + 7) / 8,
	SENDER_SHOW = 100000000, /* ns between two copies of the facts */
	SENDER_SECOND = 10,	 /* copies that make a second */
};

/* The struct of the work begins with this one. */
struct sender {
	const struct sender_work *work;
	/* As in sender_args; set before sender_run(). */
	void (*changed)(void *arg);
	void *arg;
	pthread_t thread;
	int wake; /* eventfd that ends the thread's sleep */

	/* Orders: written by the event loop, read by the sender's thread.
	 * Relaxed, since the event loop writes `wake` after them. */
	atomic_bool pause, stop;
	_Atomic uint64_t rate;

	/* Facts: written by the sender's thread.  `turn` is
	 * odd while `shown` is being written. */
	_Atomic uint64_t turn;
	_Atomic uint64_t shown[SENDER_WORDS];
	/* Steady ns when the thread entered a call that may hang; 0: it is in
	 * none.  Relaxed: only a time. */
	_Atomic int64_t waits;
	/* Store-release after the last `shown`; pairs with sender_ended. */
	atomic_bool ended;
	/* Set by sender_free, or by the thread when it ends: the second of them
	 * frees the sender. */
	atomic_bool left;

	/* All fields below belong to the sender's thread. */
	struct sender_facts facts; /* the facts as they will be shown next */
	int64_t show_at;	   /* steady ns */
	/* Bytes sent, at each of the last copies of the facts. */
	uint64_t second[SENDER_SECOND];
	int64_t second_at[SENDER_SECOND];
	unsigned seconds;
};

/* Starts the thread, with facts in state CONNECTING.  0, or -errno; then the
 * caller frees the sender. */
int sender_run(struct sender *s, const struct sender_work *work, uint64_t rate);

/* ---- on the thread ----------------------------------------------------- */

/* Mark the begin and end of calls that may wait for a disk or a name server. */
void sender_into(struct sender *s);
void sender_out(struct sender *s);

/* Copies the facts for the event loop; from show_at on with the rate over the
 * last second. */
void sender_show(struct sender *s, int64_t now);

/* Empties the eventfd.  Orders are read after this, so none is missed. */
void sender_wake_read(struct sender *s);

#endif
