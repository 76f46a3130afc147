/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_SEND_SENDER_PRIV_H
#define SPATE_FLOW_SEND_SENDER_PRIV_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/log.h"
#include "flow/send/cut.h"
#include "flow/send/pacer.h"
#include "flow/send/sender.h"

/* Shared by the files sender*.c; sender.c says which thread owns what. */

enum {
	/* Most parcels whose memory the plugin may have. */
	SENDER_HOLDS = 64,
	SENDER_FDS = 300, /* most descriptors of one poll */
	/* Most bytes offered to the plugin in one call. */
	SENDER_CALL = 1 << 20,
	SENDER_SHOW = 100000000, /* ns between two copies of the facts */
	SENDER_SECOND = 10,	 /* copies that make a second */
	SENDER_NAP = 250000000,	 /* ns, the longest sleep */
	/* Ns after which a call that has not returned counts as hung. */
	SENDER_HUNG = 50000000,
};
#define SENDER_PATIENCE	 INT64_C(60000000000)
#define SENDER_BACK_MOST INT64_C(5000000000)
#define SENDER_BACK	 INT64_C(100000000)

/* A parcel whose memory the plugin may still have. */
struct hold {
	struct parcel parcel;
	uint64_t until; /* value of `taken` when its last packet was taken */
};

enum { SENDER_WORDS = (sizeof(struct sender_facts) + 7) / 8 };

struct sender {
	/* Constant once started.  Everything that args points to is copied,
	 * except source, ops, options, format and shape. */
	struct sender_args args;
	pthread_t thread;
	int wake; /* eventfd that ends the thread's sleep */

	/* Orders: written by the event loop, read by the sender's thread.
	 * Relaxed, since the event loop writes `wake` after them. */
	_Atomic uint64_t rate;
	atomic_bool pause, stop;

	/* Facts: written by the sender's thread, see sender_show.c.  `turn` is
	 * odd while `shown` is being written. */
	_Atomic uint64_t turn;
	_Atomic uint64_t shown[SENDER_WORDS];
	/* Store-release after the last `shown`; pairs with sender_ended. */
	atomic_bool ended;
	/* Steady ns when the thread entered a call that may hang; 0: it is in
	 * none.  Relaxed: only a time. */
	_Atomic int64_t waits;
	/* Set by sender_free, or by the thread when it ends: the second of them
	 * frees the sender. */
	atomic_bool left;

	/* All fields below belong to the sender's thread. */
	struct sender_facts facts; /* the facts as they will be shown next */
	struct host host;
	struct source *source;
	struct source_about about;
	struct cut *cut;
	int cut_err; /* cut_make's error, which cut_why explains; 0: none */
	char cut_why[SEND_SENTENCE];
	struct pacer pacer;
	struct send_state *plugin;
	unsigned subs; /* substreams that are sent */
	uint64_t asked;
	bool paused;
	int64_t now; /* steady ns when this round began */

	/* Ring of parcels; with `cutting` the newest one is being cut. */
	struct hold hold[SENDER_HOLDS];
	unsigned hold_first, holds;
	bool cutting;
	bool source_done; /* the source has no more */
	uint64_t taken, released;
	struct send_run offer[SEND_RUNS];

	bool again;	/* the peer wants packets again */
	bool went_back; /* the peer has said once what it already has */
	/* Steady ns since when the plugin takes nothing; 0: it does. */
	int64_t away;
	int64_t back; /* ns to wait before the next attempt to connect */
	/* Steady ns since when the source has no parcel; 0: it has. */
	int64_t hunger;
	unsigned idle; /* sleeps in a row that ended at once */

	int64_t show_at;
	/* Bytes sent, at each of the last copies of the facts. */
	uint64_t second[SENDER_SECOND];
	int64_t second_at[SENDER_SECOND];
	unsigned seconds;
};

/* Mark the begin and end of calls that may wait for a disk or a name server. */
static inline void
sender_into(struct sender *s)
{
	atomic_store_explicit(&s->waits, clock_steady(), memory_order_relaxed);
}

static inline void
sender_out(struct sender *s)
{
	atomic_store_explicit(&s->waits, 0, memory_order_relaxed);
}

/* Does the whole transfer and closes everything; returns the state that it
 * ended in.  In sender_run.c. */
enum sender_state sender_run(struct sender *s);

/* A step returns SENDER_STEP when it is done, 0 when it has to be called again,
 * or -errno. */
enum { SENDER_STEP = 1 };

/* Step: finds out what the data are.  In sender_open.c. */
int sender_learn(struct sender *s);
/* Makes the cut and opens the plugin.  0, also if the data cannot be cut but
 * the peer may take a copy instead; or -errno with `why`. */
int sender_open(struct sender *s);
/* Sets `why` to the reason that the data cannot be cut; returns -errno. */
int sender_uncut(struct sender *s);

/* Acts on the error of a plugin's call.  0, or -errno with `why`.  In
 * sender_peer.c, like the next three. */
int sender_said(struct sender *s, int err);
/* Waits for the connection to come back.  0, or -errno when it took too
 * long. */
int sender_lost(struct sender *s);
/* Step: lets the plugin continue what it has begun. */
int sender_keep(struct sender *s);
/* The same, and waits: the plugin has to release memory before it can take
 * more. */
int sender_press(struct sender *s);

/* Copies the facts for the event loop, if it is time or the state is a new one.
 * In sender_show.c, like the next two. */
void sender_show(struct sender *s, enum sender_state state);
/* Counts bytes sent, for the rate. */
void sender_went(struct sender *s, uint64_t bytes);
void sender_why(struct sender *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Sleeps until `until` (steady ns; 0: as long as possible), an order, or news
 * from the source, or with `plugin` from the plugin.  In sender_wait.c, like
 * the next two. */
void sender_wait(struct sender *s, int64_t until, bool plugin);
/* Waits for a peer that is away.  0, or -ETIMEDOUT when that took too long. */
int sender_away(struct sender *s);
/* Notes that the peer is there. */
void sender_there(struct sender *s);

/* The functions below are in sender_hold.c. */
/* Takes the next parcel, to be cut.  0; -ETIMEDOUT: there is none now; -EBUSY:
 * too many are held; -ENODATA: the end; or another -errno with `why`. */
int sender_take(struct sender *s);
/* Puts parcels that are not needed any more, and all of them if the source
 * wants its memory.  0, or -errno with `why`. */
int sender_release(struct sender *s);
/* Goes back to the packets that the peer wants again, as the plugin says. */
int sender_back(struct sender *s);
void sender_put_all(struct sender *s);

/* Offers packets to the plugin, and waits where necessary.  0; -ENODATA: the
 * parcel has no more; or an error of send_ops::send.  In sender_give.c. */
int sender_give(struct sender *s);

#endif
