/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_TRANSFERS_TRANSFER_H
#define SPATE_DAEMON_TRANSFERS_TRANSFER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "daemon/sessions/recorder.h"
#include "daemon/transfers/relay.h"
#include "flow/send/sender.h"

/*
 * A transfer is something that is sent, or waits to be: a recording or a part
 * of one, or a stream that is relayed without being recorded.
 *
 *   QUEUED --> RUNNING --> ENDED
 *     ^  |        |          ^
 *     |  +--------|-- stop --+
 *     +-----------+
 *       tried again; or paused before its turn
 *
 *   QUEUED   waits for its turn: highest priority first, then oldest first
 *   RUNNING  a thread of its own sends it (sender.h)
 *   ENDED    done, stopped or failed; remembered for a while
 *
 * The event loop's thread owns all transfers and never blocks for one: whatever
 * touches a disk, a name server or a peer is done by their threads.
 */
enum transfer_kind { TRANSFER_SEND, TRANSFER_COPY, TRANSFER_RELAY };
enum transfer_step { TRANSFER_QUEUED, TRANSFER_RUNNING, TRANSFER_ENDED };

/* A request to send: what, where to, and how. */
struct transfer_order {
	char name[SESSION_NAME]; /* name of the recording; of a relay, the
				  * stream's name */
	char *to;		 /* URL */
	char *as; /* name that the copy gets at the receiver; NULL: its own */
	bool relay;
	bool follow; /* a recording that still grows is sent to its end */
	struct transfer_file *file; /* write to this file instead of sending;
				     * NULL: send */
	bool plain;
	unsigned connections; /* number wanted; 0: the plugin chooses */
	uint64_t rate;	      /* bits per second, SEND_RATE_DATA or
			       * SEND_RATE_FREE */
	int priority;
	int64_t patience; /* ns that a peer may be away */
	int64_t start;	  /* relay: steady ns when it begins; 0: at once */
	int64_t until;	  /* steady ns when it is stopped; 0: never */
	unsigned scan;	  /* ID of the scan that this transfer carries out;
			   * 0: requested by command */
	unsigned of_scan; /* ID of the scan that makes the recording, 0: none */
	bool keep;	  /* try again for as long as the recording lasts */
	struct send_choice choice;
	uint32_t *threads; /* memory of choice.threads */
};

struct transfer {
	unsigned id;
	enum transfer_kind kind;
	struct transfer_order o;
	enum transfer_step step;

	/* while QUEUED */
	bool paused; /* gets no turn until it is resumed */
	unsigned tries;
	int64_t again; /* steady ns, not before that */

	/* while RUNNING */
	bool begun; /* the schedule was told that it has begun */
	struct sender *run;
	bool hangs; /* thread hangs with a disk, and was left behind */
	struct setup_send *send; /* held, for the plugin's options */
	struct relay *relay;	 /* source of the packets, if this is a
				  * relay; else NULL */

	/* times in UTC ns; 0: not yet */
	int64_t queued_ns, started_ns, ended_ns;
	const char *stop_why;	   /* why it was stopped; static text; NULL:
				    * it was not */
	char why[SEND_SENTENCE];   /* reason while it is queued, and at its
				    * end */
	struct sender_facts facts; /* facts at the last look */
	struct transfer *next;	   /* links transfers::list or
				    * transfers::hung */
};

/* A client that waits for transfers to end. */
struct transfer_waiter {
	struct server_ticket ticket;
	unsigned *id; /* 0: that one has ended */
	unsigned n, left;
	json_t *sends;		      /* SEND (verbs.h) of those that have
				       * ended */
	struct transfer_waiter *next; /* links transfers::waiters */
};

/* Called for transfers that carry out a scan of the schedule. */
struct transfers_hooks {
	/* The transfer runs, and its start has come. */
	void (*began)(void *arg, const struct transfer *t);
	/* The transfer has ended; it is still in the list. */
	void (*ended)(void *arg, const struct transfer *t);
	/* The recording of a scan is not sent, or not all of it. */
	void (*failed)(void *arg, unsigned scan, const char *why);
	void *arg;
};

struct transfers {
	struct recorder *r;
	struct transfers_hooks hooks;
	struct transfer *list; /* transfers that have not ended, oldest first */
	struct transfer *hung; /* transfers whose thread hangs with a disk */
	uint64_t failed;       /* transfers, since the start */
	json_t *ended;	       /* SEND of the last ones that ended, oldest
				* first */
	struct transfer_waiter *waiters;
	int64_t stop_by; /* steady ns, when the daemon stops waiting for
			  * them; 0 */
};

/* ---- transfer.c: the queue ------------------------------------------- */

/*
 * Queues a transfer and gives it an id.  0, or -errno with a fault.  Takes over
 * the contents of the order, even on an error.
 */
int transfer_add(struct transfers *all, struct transfer_order *o,
		 struct transfer **transfer, struct fault *fault);

/* Stops a transfer; `why` is static text.  A second call does nothing. */
void transfer_stop(struct transfers *all, struct transfer *t, const char *why);
void transfer_pause(struct transfers *all, struct transfer *t, bool pause);
void transfer_rate(struct transfer *t, uint64_t rate);

/* Queues the sending of a recording that has just begun. */
void transfer_follow(struct transfers *all, const struct session *s,
		     const char *to);

/*
 * Finds a transfer by number; or the first one of a recording's name behind
 * `after` (NULL: from the start).  NULL: none.
 */
struct transfer *transfer_find(const struct transfers *all, unsigned id);
struct transfer *transfer_of(const struct transfers *all, const char *name,
			     const struct transfer *after);

/*
 * Begins transfers whose turn has come, and ends those whose thread has ended;
 * called in each turn of the event loop.  `now` is steady ns.
 */
void transfers_step(struct transfers *all, int64_t now);
/* Returns how many run and count against `max_sends`. */
unsigned transfers_running(const struct transfers *all);
/* Returns when transfers_step() must be called next (steady ns). */
int64_t transfers_next(const struct transfers *all);

/*
 * Stops all relays, because a recording lacks memory.  False: there are none.
 */
bool transfers_yield(struct transfers *all);

/*
 * Stops all transfers, as the daemon ends; transfers_wait() tells whether to
 * wait for them a little longer.
 */
void transfers_stop(struct transfers *all, int64_t now);
bool transfers_wait(const struct transfers *all, int64_t now);
/*
 * Frees all transfers.  False if a thread hangs with a disk: it still uses
 * parts of the daemon, which must not be freed.
 */
bool transfers_finish(struct transfers *all);

/* ---- transfer.c --------------------------------------------------- */

/*
 * Answers the client of `ticket` when all these transfers have ended.  0 or
 * -ENOMEM.
 */
int transfer_wait(struct transfers *all, struct server_ticket ticket,
		  const unsigned *id, unsigned n);

/* ---- transfer_check.c ------------------------------------------------ */

/*
 * Checks whether the order can be carried out as things are.  0, or -errno with
 * a fault.
 */
int transfer_check(struct transfers *all, const struct transfer_order *o,
		   struct fault *fault);

/*
 * Checks whether a plugin takes this URL, for recordings or with `relay` for
 * streams, as far as can be seen without trying.  0, or -errno with a fault.
 */
int transfer_url_check(struct transfers *all, const char *name, const char *url,
		       bool relay, struct fault *fault);

/*
 * Tells whether the order asks for a whole recording, which is what an inbox
 * takes.
 */
bool transfer_is_whole(const struct transfer_order *o);

/* Returns the session that makes this recording; NULL: none. */
struct session *transfer_session(const struct transfers *all, const char *name);

/* ---- transfer_check.c ------------------------------------------------ */

/*
 * Returns a number that identifies the recording to a peer, the same whenever
 * it is sent; 0 for a relay, or if too little is known yet.
 */
uint64_t transfer_number(struct transfers *all, const struct transfer_order *o);
/* Returns JSON for send_args::about; malloc'ed, NULL without memory. */
char *transfer_about(struct transfers *all, const struct transfer_order *o);

/* ---- transfer_run.c -------------------------------------------------- */

/* Starts the transfer's thread.  0, or -errno with a fault. */
int transfer_begin(struct transfers *all, struct transfer *t,
		   struct fault *fault);
/*
 * Frees the thread, which has ended; a transfer without one is fine.  False: it
 * hangs.
 */
bool transfer_run_drop(struct transfer *t);

/* ---- transfer_order.c ------------------------------------------------ */

/*
 * Takes over the descriptor, to be closed with the order, by `closer`.  NULL without memory,
 * and the descriptor stays the caller's.
 */
struct transfer_file *transfer_file_make(int fd, struct closer *closer);
extern const struct send_ops transfer_file_ops; /* options: the file */

/* ---- transfer_run.c -------------------------------------------------- */

/*
 * Continues as a copy, when the sender has ended because its peer is an inbox.
 * 0; -ENOTSUP with a fault if less than the whole recording was asked for; or
 * another -errno.
 */
int transfer_copy(struct transfers *all, struct transfer *t,
		  struct fault *fault);

/* ---- transfer_check.c ------------------------------------------------ */

/* Returns SEND of verbs.h, with present numbers. */
json_t *transfer_json(const struct transfers *all, struct transfer *t);
/* Returns the transfers that wait or run. */
json_t *transfers_json(const struct transfers *all);

/*
 * Reads the arguments of `send` or `relay` (verbs.h), as far as they can be
 * checked by themselves; the caller sets o->relay before.  Missing keys get the
 * configuration's values.  0; or -errno with a fault, and `o` holds nothing to
 * free.
 */
int transfer_order_read(struct transfer_order *o, const json_t *request,
			const struct setup_send *send, struct fault *fault);

/* Sets all members to what an empty request means. */
void transfer_order_init(struct transfer_order *o,
			 const struct setup_send *send);

/* Frees the members, not `o`. */
void transfer_order_clear(struct transfer_order *o);

#endif
