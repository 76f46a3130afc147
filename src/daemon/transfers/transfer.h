/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_TRANSFERS_TRANSFER_H
#define SPATE_DAEMON_TRANSFERS_TRANSFER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "daemon/transfers/relay.h"
#include "daemon/requests/server.h"
#include "daemon/sessions/session.h"
#include "daemon/conf/setup_send.h"
#include "flow/send/sender.h"

/*
 * A transfer is something that is sent, or waits to be: a recording, all of
 * it or a part, or a stream that is only passed on.
 *
 *   QUEUED --> RUNNING --> ENDED
 *     ^  |        |          ^
 *     |  +--------|-- stop --+
 *     +-----------+
 *       tried again; or paused before its turn
 *
 *   QUEUED   waits for its turn: of those that wait the highest priority is
 *            next, and among equals who came first
 *   RUNNING  a thread of its own does it (sender.h, copy_out.h)
 *   ENDED    done, stopped or failed; it is remembered for a while
 *
 * The event loop's thread owns all of them, and waits for none: whatever
 * touches a disk, a name or a peer is done by their threads.
 */
enum transfer_kind { TRANSFER_SEND, TRANSFER_COPY, TRANSFER_RELAY };
enum transfer_step { TRANSFER_QUEUED, TRANSFER_RUNNING, TRANSFER_ENDED };

/* What is to be sent, and how. */
struct transfer_order {
	char name[SESSION_NAME]; /* of the recording; of a relay, the stream */
	char *to;		 /* URL */
	char *as; /* the name that a copy gets there; NULL: its own */
	bool relay;
	bool follow; /* what is still recorded is sent to its end */
	struct transfer_file *file; /* written to, in place of being sent;
				       NULL: none */
	bool plain;
	unsigned connections; /* 0: as the plugin likes */
	uint64_t rate;	      /* as of sender_rate() */
	int priority;
	int64_t patience; /* ns that a peer may be away */
	int64_t start;	  /* steady, of a relay: not before that; 0 */
	int64_t until;	  /* steady, when it is stopped; 0: never */
	unsigned scan;	  /* of the schedule: it is that scan; 0: typed */
	bool keep;	  /* tried again for as long as it is recorded */
	struct send_choice choice;
	uint32_t *threads; /* what choice.threads points to */
};

/* The thread that does it, whichever kind it is. */
struct transfer_ops {
	void (*rate)(void *run, uint64_t rate);
	void (*pause)(void *run, bool pause);
	void (*stop)(void *run);
	void (*facts)(void *run, struct sender_facts *facts);
	bool (*ended)(void *run);
	bool (*free)(void *run);
};

struct transfer {
	unsigned id;
	enum transfer_kind kind;
	struct transfer_order o;
	enum transfer_step step;

	/* QUEUED */
	bool paused; /* has no turn until it is resumed */
	unsigned tries;
	int64_t again; /* steady, not before that */

	/* RUNNING */
	bool begun; /* the schedule knows */
	const struct transfer_ops *ops;
	void *run;
	bool hangs; /* its thread was left to itself, with what it has */
	struct disks disks;	 /* its own */
	struct setup_send *send; /* held: the plugin's options */
	struct relay *relay;	 /* of a relay: where its data come from */

	/* UTC; 0: not yet */
	int64_t queued_ns, started_ns, ended_ns;
	const char *stop_why;	   /* who ended it; static, NULL: nobody */
	char why[SEND_SENTENCE];   /* while it is queued, and at its end */
	struct sender_facts facts; /* as they were last seen */
	struct transfer *next;	   /* transfers::list, or ::hung */
};

/* Somebody waits for some to have ended. */
struct transfer_waiter {
	struct server_ticket ticket;
	unsigned *id; /* 0: that has */
	unsigned n, left;
	json_t *sends;		      /* SEND of those that have */
	struct transfer_waiter *next; /* transfers::waiters */
};

struct transfers {
	struct transfer *list; /* those that did not end, oldest first */
	struct transfer *hung; /* those whose thread did not, with a disk */
	json_t *ended;	       /* SEND of the last, oldest first */
	struct transfer_waiter *waiters;
	int64_t stop_by; /* steady, when the daemon ends without them; 0 */
};

struct daemon;
struct scan;
struct schedule_when;

/* ---- transfer.c: all of them ------------------------------------------ */

/* 0 and it is in the queue, with an id; or -errno with a fault.  The order is
 * taken over, also on an error. */
int transfer_add(struct daemon *d, struct transfer_order *o,
		 struct transfer **transfer, struct fault *fault);

/* `why` is static text; again: nothing. */
void transfer_stop(struct daemon *d, struct transfer *t, const char *why);
void transfer_pause(struct daemon *d, struct transfer *t, bool pause);
void transfer_rate(struct transfer *t, uint64_t rate);

/* By number, or the first behind `after` of that name; NULL: none. */
struct transfer *transfer_find(const struct daemon *d, unsigned id);
struct transfer *transfer_of(const struct daemon *d, const char *name,
			     const struct transfer *after);

/* Each turn of the loop: begins those whose turn it is, and lets go of those
 * that have ended. */
void transfers_step(struct daemon *d, int64_t now);
/* Those that take a turn from others. */
unsigned transfers_running(const struct daemon *d);
/* When that is due next (steady). */
int64_t transfers_next(const struct daemon *d);

/* A recording has no memory: ends all relays.  False: there are none. */
bool transfers_yield(struct daemon *d);

/* Ends all of them: the daemon ends, and waits for them a moment. */
void transfers_stop(struct daemon *d, int64_t now);
bool transfers_wait(const struct daemon *d, int64_t now);
/* False: a thread hangs with a disk, and uses what is left of the daemon. */
bool transfers_finish(struct daemon *d);

/* ---- transfer_wait.c --------------------------------------------------- */

/* Answers when all of these have ended; 0 or -ENOMEM. */
int transfer_wait(struct daemon *d, struct server_ticket ticket,
		  const unsigned *id, unsigned n);

/* One has ended. */
void transfer_waiters_tell(struct daemon *d, struct transfer *t);
void transfer_waiters_clear(struct daemon *d);

/* ---- transfer_check.c ------------------------------------------------- */

/* Can it be sent, as things are?  0; or -errno with a fault. */
int transfer_check(struct daemon *d, const struct transfer_order *o,
		   struct fault *fault);

/* Is there a way to this URL, and what of it can be seen to be wrong? */
int transfer_url_check(struct daemon *d, const char *name, const char *url,
		       struct fault *fault);

/* Is it all of a recording, as an inbox takes it? */
bool transfer_is_whole(const struct transfer_order *o);

/* The session that makes that recording; NULL: none. */
struct session *transfer_session(const struct daemon *d, const char *name);

/* ---- transfer_about.c -------------------------------------------------- */

/* The same for the same recording, whenever it is sent; 0: nobody knows it
 * well enough yet, or a relay. */
uint64_t transfer_number(struct daemon *d, const struct transfer_order *o);
/* As send_args has it; malloc'ed, NULL without memory. */
char *transfer_about(struct daemon *d, const struct transfer_order *o);

/* ---- transfer_run.c --------------------------------------------------- */

/* Starts its thread.  0 or -errno with a fault. */
int transfer_begin(struct daemon *d, struct transfer *t, struct fault *fault);
/* Lets go of a thread that has ended, where there is one.  False: it hangs. */
bool transfer_run_drop(struct transfer *t);

/* For transfer_copy.c: where the data of a recording come from. */
int transfer_source(struct daemon *d, struct transfer *t,
		    struct source **source, struct fault *fault);

/* ---- transfer_file.c --------------------------------------------------- */

/* Takes the descriptor over, and frees it with the order; NULL without memory,
 * then it does not. */
struct transfer_file *transfer_file_make(int fd);
void transfer_file_free(struct transfer_file *file); /* NULL: nothing */
extern const struct send_ops transfer_file_ops;	     /* options: the file */

/* ---- transfer_copy.c -------------------------------------------------- */

/* Its thread has ended because the peer wants a copy: begins that.  -ENOTSUP
 * with a fault where it was not asked for all of it. */
int transfer_copy(struct daemon *d, struct transfer *t, struct fault *fault);

/* ---- transfer_json.c -------------------------------------------------- */

/* SEND of verbs.h, as it is now. */
json_t *transfer_json(const struct daemon *d, struct transfer *t);
/* Those that wait or run. */
json_t *transfers_json(const struct daemon *d);

/* ---- transfer_scan.c: the schedule's ---------------------------------- */

int transfer_scan_arm(struct daemon *d, struct scan *scan,
		      const struct schedule_when *when, struct fault *fault);
void transfer_scan_stop(struct daemon *d, const struct scan *scan,
			const char *why);
void transfer_scan_move(struct daemon *d, const struct scan *scan,
			const struct schedule_when *when);
void transfer_scan_stop_at(struct daemon *d, const struct scan *scan,
			   int64_t at);
/* It runs, and its time has come. */
void transfer_scan_began(struct daemon *d, struct transfer *t, int64_t now);
/* It has ended, and is in the list still. */
void transfer_scan_ended(struct daemon *d, const struct transfer *t);
/* A recording began that is to be sent. */
void transfer_follow(struct daemon *d, const struct session *s, const char *to);

#endif
