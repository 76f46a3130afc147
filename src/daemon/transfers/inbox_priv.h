/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_TRANSFERS_INBOX_PRIV_H
#define SPATE_DAEMON_TRANSFERS_INBOX_PRIV_H

#include <pthread.h>

#include "base/secret.h"
#include "daemon/transfers/inbox.h"
#include "daemon/main/listener.h"
#include "flow/copy/copy_in.h"

/* What the parts of an inbox share: inbox.c is connections, inbox_greet.c how
 * they begin, inbox_step.c what the event loop does for copies, inbox_show.c what
 * is asked of them. */
enum { INBOX_COPIES = 64 };

/* A connection, with its thread. */
struct inbox_caller {
	struct listener_place
	    place; /* inbox::lock; proved: its HELLO is good */
	struct inbox *inbox;
	struct copy_in_link link;
	char from[LINK_PEER];
	pthread_t thread;
	bool let_in;		   /* its thread's own: into a copy */
	bool done;		   /* inbox::lock: its thread is at its end */
	struct inbox_caller *next; /* inbox::callers */
};

struct inbox {
	struct daemon *d;
	struct copy_in_host host;
	struct secret secret;
	struct listener listener;     /* its places: under the lock */
	struct inbox_caller *callers; /* the event loop's */
	unsigned callers_n;
	bool stopping;
	int64_t stop_by; /* steady: who does not answer by then is left */

	pthread_mutex_t lock;	/* over what is below, and `done` */
	struct copy_in *copies; /* added by callers, freed by the event loop
				   when they have no links and no user */
	unsigned users;		/* callers between finding one and attaching */
	int64_t said;		/* steady: when it was logged that one was */
	unsigned unsaid;	/* refused, and how many were since */
};

/* What it said of itself. */
struct inbox_greeting {
	struct copy_in_hello hello;
	char name[LAYOUT_FILE];
	bool copy, as;
};

/* Its HELLO, up to our WELCOME.  0; or -errno, with a fault where there is
 * something to be told. */
int inbox_greet(struct inbox_caller *c, struct inbox_greeting *g,
		struct fault *fault);
/* Tells it why not, and waits a moment until it has heard. */
void inbox_refuse(struct inbox_caller *c, const struct fault *fault);

/* inbox.c: it has proved what it came for: 0, or -EBUSY with a fault. */
int inbox_prove(struct inbox_caller *c, struct fault *fault);

/* inbox_greet.c: logs that one is refused, once a second at most, so that
 * strangers do not fill the log. */
void inbox_refused(struct inbox *in, const char *from, const char *why);

/* inbox.c: threads that are at their end. */
void inbox_callers_step(struct inbox *in);

#endif
