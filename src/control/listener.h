/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CONTROL_LISTENER_H
#define SPATE_CONTROL_LISTENER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/conf.h"

/*
 * A listener accepts connections: on the control socket, for
 * VSI-S and for the inbox.  It decides which connections may stay, so that
 * nobody locks others out by connecting often and saying nothing:
 *
 *   accept --> newcomer --listener_prove--> proved --> leaves
 *
 *   newcomer  has not yet sent anything that shows what it is for.
 *             At most LISTENER_NEWCOMERS, LISTENER_OF_ONE of the same peer
 *   proved    at most `connections`, `of_one` of the same peer
 *
 * When a limit is reached, the oldest connection is closed: one of the same
 * peer if that peer has too many, else one of the peer that has most.  Among
 * proved connections, the oldest is the one silent for longest.  A busy
 * connection stays; if all are busy, the new one is refused.
 *
 * A peer is a user (control socket), an IPv4 address, or an IPv6 network of 64
 * bits.  Root and the daemon's own user are trusted on the control socket: a
 * trusted connection is never closed for another user's, and it closes
 * any other user's, even a busy one.
 *
 * While the process has no file descriptor left, the sockets are not polled for
 * PAUSE_NS (listener.c) at a time: else the connections in the kernel's queue
 * would wake the event loop again and again.
 *
 * The event loop's thread; listener_enter, listener_prove and listener_leave
 * may be called by other threads under a lock of the owner.
 */
enum {
	LISTENER_SOCKETS = 16,
	LISTENER_NEWCOMERS = 64,
	LISTENER_OF_ONE = 32,
	LISTENER_TURN = 16, /* connections to accept in one turn, at most */
};

/* The other end of a connection. */
struct listener_peer {
	struct sockaddr_storage address;
	uint8_t key[16]; /* equal for equal peers */
	bool trusted;
};

/* A connection's entry in the list; a field of the owner's connection. */
struct listener_entry {
	struct listener_entry *next; /* listener::first; newest first */
	uint8_t key[16];
	bool trusted, proved;
	bool entered;  /* is in the list */
	bool busy;     /* set by the owner: must not be closed */
	int64_t heard; /* ns, steady; set by the owner when the peer speaks */
};

/* Limits and callback, set by the owner. */
struct listener_rules {
	const char *name; /* for the log: "control socket" */
	unsigned connections, of_one;
	/* Closes the connection of `p`, which is no longer in the list. */
	void (*expel)(void *arg, struct listener_entry *p);
	void *arg;
};

struct listener {
	struct listener_rules rules;
	bool open;
	int epoll;
	int timer; /* timerfd that ends the pause */
	int fd[LISTENER_SOCKETS];
	unsigned n, turn;
	bool paused;
	int64_t said; /* ns, steady: last log line about descriptors; 0: none */
	struct listener_entry *first;
};

/* Returns 0 or -errno; call listener_close in either case.  Closing a zeroed
 * listener does nothing. */
int listener_open(struct listener *l, const struct listener_rules *rules);
/* Closes the sockets.  The owner closes its connections before. */
void listener_close(struct listener *l);

/* Listens on a bound, non-blocking socket, which belongs to the listener from
 * here on, also if this fails.  Returns 0 or -errno. */
int listener_add(struct listener *l, int fd);

/* Makes a non-blocking socket bound to "127.0.0.1:2620" or "[::1]:2620".  The
 * address need not be up yet.  [::] means IPv6 only.  Returns it or -errno. */
int listener_bind(const char *text);

/* Binds as listener_bind() and listens as listener_add() does.  Returns 0 or
 * -errno. */
int listener_add_tcp(struct listener *l, const char *text);

/*
 * Checks `listen` and `allow` of a group of the configuration: at least one
 * address, all of them addresses, none twice; and networks.  `usual` is the
 * address of a hint.  0, or -EINVAL with a fault.
 */
int listener_conf_check(struct conf *conf, const config_setting_t *group,
			const char *usual, const struct option_texts *listen,
			const struct option_texts *allow, struct fault *fault);

/* The epoll set: readable when a connection waits or a pause ends. */
int listener_fd(const struct listener *l);

/* Returns a non-blocking descriptor, and in *from its peer; -1: none waits. */
int listener_accept(struct listener *l, struct listener_peer *from);

/* Accepts nobody for a moment, since the process lacks what a connection needs
 * (`err`, as EMFILE).  Logged at most once a minute. */
void listener_pause(struct listener *l, int err);

/* listener_enter adds a newcomer, listener_prove makes it proved,
 * listener_leave removes it (nothing if it is not in the list).  The first two
 * may close another connection (rules.expel).  They return 0, or -EBUSY if this
 * one cannot stay. */
int listener_enter(struct listener *l, struct listener_entry *p,
		   const struct listener_peer *from);
int listener_prove(struct listener *l, struct listener_entry *p);
void listener_leave(struct listener *l, struct listener_entry *p);

#endif
