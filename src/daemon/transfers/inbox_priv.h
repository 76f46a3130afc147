/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_TRANSFERS_INBOX_PRIV_H
#define SPATE_DAEMON_TRANSFERS_INBOX_PRIV_H

#include <pthread.h>

#include "base/secret.h"
#include "daemon/transfers/inbox.h"
#include "daemon/loop/listener.h"
#include "flow/copy/copy_in.h"

/*
 * Structs and functions that the files of the inbox share: inbox.c has the
 * connections, inbox_greet.c how they begin, inbox_step.c what the event loop
 * does for copies, inbox_show.c what the rest of the daemon asks.
 */
enum { INBOX_COPIES = 64 };

/* A connection and its thread. */
struct inbox_caller {
	struct listener_place
	    place; /* under inbox::lock; proved: its HELLO is good */
	struct inbox *inbox;
	struct copy_in_link link;
	char from[LINK_PEER];
	pthread_t thread;
	bool let_in;		   /* private to its thread: it has joined a
				    * copy */
	bool done;		   /* under inbox::lock: its thread is about
				    * to end */
	struct inbox_caller *next; /* links inbox::callers */
};

struct inbox {
	struct recorder *r;
	struct copy_in_host host;
	struct secret secret;
	struct listener listener;     /* the list of places is under the lock */
	struct inbox_caller *callers; /* private to the event loop */
	unsigned callers_n;
	bool stopping;
	int64_t stop_by; /* steady ns: threads that still run then are left
			  * behind */

	pthread_mutex_t lock;	/* protects the fields below, and
				 * inbox_caller::done */
	struct copy_in *copies; /* added by connections' threads; freed by
				 * the event loop when a copy has no links
				 * and `users` is 0 */
	unsigned users;		/* connections between copy_find() and
				 * copy_in_attach() */
	int64_t said;		/* steady ns, when a refusal was last logged */
	unsigned unsaid;	/* refusals since then that were not logged */
};

/* The connection's own words in its HELLO. */
struct inbox_greeting {
	struct copy_in_hello hello;
	char name[LAYOUT_FILE];
	bool copy, as;
};

/*
 * Reads the HELLO, checks the proof, and sends WELCOME.  0; or -errno, with a
 * fault if the peer is to be told something.
 */
int inbox_greet(struct inbox_caller *c, struct inbox_greeting *g,
		struct fault *fault);
/*
 * Sends REFUSE with the fault, and waits up to two seconds until the peer has
 * read it.
 */
void inbox_refuse(struct inbox_caller *c, const struct fault *fault);

/*
 * inbox.c: counts a connection that has proved itself among `connections`.  0,
 * or -EBUSY with a fault.
 */
int inbox_prove(struct inbox_caller *c, struct fault *fault);

/*
 * inbox_greet.c: logs a refused connection, once a second at most, so that
 * strangers cannot fill the log.
 */
void inbox_refused(struct inbox *in, const char *from, const char *why);

/* inbox.c: joins and frees connections whose threads have ended. */
void inbox_callers_step(struct inbox *in);

#endif
