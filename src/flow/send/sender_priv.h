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

/* What the parts of a sender share: see sender.c for which thread owns what. */

enum {
	SENDER_HOLDS = 64,	 /* most parcels that a plugin has memory of */
	SENDER_FDS = 300,	 /* most descriptors of a plugin, and ours */
	SENDER_CALL = 1 << 20,	 /* bytes that one call of a plugin gets */
	SENDER_SHOW = 100000000, /* ns between two looks for others */
	SENDER_SECOND = 10,	 /* of these are a second */
	SENDER_NAP = 250000000,	 /* ns, the longest sleep */
	SENDER_HUNG = 50000000,	 /* ns that a call may take before it is said
				    to hang */
};
#define SENDER_PATIENCE	 INT64_C(60000000000)
#define SENDER_BACK_MOST INT64_C(5000000000)
#define SENDER_BACK	 INT64_C(100000000)

/* A parcel whose memory the plugin may have. */
struct hold {
	struct parcel parcel;
	uint64_t until; /* taken, when its last packet was */
};

enum { SENDER_WORDS = (sizeof(struct sender_facts) + 7) / 8 };

struct sender {
	/* Constant once started. */
	struct sender_args args; /* what it points to is copied, but the
				    source, ops, options, format and shape */
	pthread_t thread;
	int wake;

	/* Orders: written by the loop, read by the thread; relaxed, as wake
	 * is written behind them. */
	_Atomic uint64_t rate;
	atomic_bool pause, stop;

	/* Shown by the thread.  `turn` is odd while `shown` is written. */
	_Atomic uint64_t turn;
	_Atomic uint64_t shown[SENDER_WORDS];
	atomic_bool ended;     /* release, behind the last `shown` */
	_Atomic int64_t waits; /* steady ns since when it is in a call that may
				  hang; 0: it is not */
	atomic_bool left;      /* by its owner, or by the thread: whoever is
				  second frees it */

	/* The thread's own, all the rest. */
	struct sender_facts facts; /* as they will be shown */
	struct host host;
	struct source *source;
	struct source_about about;
	struct cut *cut;
	int cut_err; /* it could not be made, and cut_why says why */
	char cut_why[SEND_SENTENCE];
	struct pacer pacer;
	struct send_state *plugin;
	unsigned subs; /* that are sent */
	uint64_t asked;
	bool paused;
	int64_t now; /* when this round began */

	struct hold hold[SENDER_HOLDS]; /* a ring; the newest is being cut, */
	unsigned hold_first, holds;
	bool cutting;	  /* if this is set */
	bool source_done; /* it will give nothing more */
	uint64_t taken, released;
	struct send_run offer[SEND_RUNS];

	bool again;	/* the peer wants some again */
	bool went_back; /* it has said once what it has */
	int64_t away;	/* since when the plugin takes nothing; 0: it does */
	int64_t back;	/* how long to wait for it */
	int64_t hunger; /* since when the source gave nothing; 0: it does */
	unsigned idle;	/* sleeps in a row that were none */

	int64_t show_at;
	uint64_t second[SENDER_SECOND]; /* bytes, by tenths of a second */
	int64_t second_at[SENDER_SECOND];
	unsigned seconds;
};

/* Around calls that may wait for a disk, or a name server. */
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

/* sender_run.c: all of it, until everything is closed; the state it ended
 * in. */
enum sender_state sender_run(struct sender *s);

/* What a step returns that is done; 0: there is more to do; or -errno. */
enum { SENDER_STEP = 1 };

/* sender_open.c: a step: what are the data? */
int sender_learn(struct sender *s);
/* Makes the cut and opens the plugin.  0, also where it cannot be cut and the
 * peer has to be asked whether it takes copies; or -errno with `why`. */
int sender_open(struct sender *s);
/* Says why it cannot be cut; returns -errno. */
int sender_uncut(struct sender *s);

/* sender_peer.c: what a call of the plugin said.  0, or -errno with `why`. */
int sender_said(struct sender *s, int err);
/* There is no connection. */
int sender_lost(struct sender *s);
/* A step: lets the plugin get on with what it has. */
int sender_keep(struct sender *s);
/* The same, and waits: what it has is needed before it can be given more. */
int sender_press(struct sender *s);

/* sender_show.c: shows the facts, if it is time, or the state is another. */
void sender_show(struct sender *s, enum sender_state state);
/* Counts bytes that went, for the rate. */
void sender_went(struct sender *s, uint64_t bytes);
void sender_why(struct sender *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* sender_wait.c.  Sleeps until `until` (steady ns; 0: as long as can be) or
 * something comes; with `plugin` from there, too. */
void sender_wait(struct sender *s, int64_t until, bool plugin);
/* The peer is away: waits for it.  0, or -ETIMEDOUT when it was too long. */
int sender_away(struct sender *s);
/* It is there. */
void sender_there(struct sender *s);

/* sender_hold.c. */
/* The next parcel, to be cut.  0; -ETIMEDOUT: there is none now; -EBUSY: too
 * many are held; -ENODATA: that was all; else -errno with `why`. */
int sender_take(struct sender *s);
/* Puts what is not needed any more, and gives back what is wanted.  0, or
 * -errno with `why`. */
int sender_release(struct sender *s);
/* The peer wants packets again, as the plugin says. */
int sender_back(struct sender *s);
void sender_put_all(struct sender *s);

/* sender_give.c: gives packets to the plugin and waits for what there is to
 * wait for.  0; -ENODATA: the parcel has none left; else as send_ops::send. */
int sender_give(struct sender *s);

#endif
