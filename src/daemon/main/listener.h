/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_MAIN_LISTENER_H
#define SPATE_DAEMON_MAIN_LISTENER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/*
 * A listener is where connections to the daemon come in: those of the control
 * socket, of VSI-S and of the inbox.  It decides who may stay, so that nobody
 * locks out others by coming often and saying nothing:
 *
 *   accept --> newcomer --listener_prove--> holds a place --> leaves
 *
 *   newcomer  has said nothing yet that proves what it came for.  There are
 *             LISTENER_NEWCOMERS of them, LISTENER_OF_ONE of the same peer
 *   place     `places` in all, `of_one` of the same peer
 *
 * Whoever comes to where all is taken has the oldest one thrown out: of its own
 * peer where that has too many, else of the peer that has most.  Among those
 * with a place the oldest is who was silent for longest, and nobody who is busy
 * is thrown out; where all are, the one who comes is refused.
 *
 * A peer is a user (control socket), an IPv4 address, or an IPv6 network of 64
 * bits.  Root and the daemon's own user are trusted on the control socket: no
 * other user throws out one of theirs, and for theirs anybody else goes.
 *
 * While the process has no file descriptor left, the sockets are not listened
 * to for a moment at a time: whoever waits in the kernel's queue would wake
 * the event loop again and again.
 *
 * The event loop's thread; those with `place` may be called by others under a
 * lock of the owner's.
 */
enum {
	LISTENER_SOCKETS = 16,
	LISTENER_NEWCOMERS = 64,
	LISTENER_OF_ONE = 32,
	LISTENER_TURN = 16, /* should be accepted at a time, no more */
};

struct listener_peer {
	struct sockaddr_storage address;
	uint8_t key[16]; /* the same one has the same */
	bool trusted;
};

/* Is part of a connection. */
struct listener_place {
	struct listener_place *next; /* listener::first; newest first */
	uint8_t key[16];
	bool trusted, proved;
	bool entered;  /* it is in the list */
	bool busy;     /* the owner's: must not be thrown out */
	int64_t heard; /* the owner's: steady, when it last said something */
};

struct listener_rules {
	const char *name; /* for the log: "control socket" */
	unsigned places, of_one;
	/* Closes a connection, which has no place any more. */
	void (*expel)(void *arg, struct listener_place *p);
	void *arg;
};

struct listener {
	struct listener_rules rules;
	bool open;
	int epoll;
	int timer; /* of the pause */
	int fd[LISTENER_SOCKETS];
	unsigned n, turn;
	bool paused;
	int64_t said; /* steady: no descriptor was left; 0: not lately */
	struct listener_place *first;
};

/* 0 or -errno; listener_close in either case, which does nothing for one that
 * is all zeros. */
int listener_open(struct listener *l, const struct listener_rules *rules);
void listener_close(struct listener *l);

/* Another socket, not blocking, which is the listener's from here on, also
 * where it fails.  0 or -errno. */
int listener_add(struct listener *l, int fd);

/* Listens on "127.0.0.1:2620" or "[::1]:2620": as listener_add.  An address
 * whose interface comes up later will do.  [::] is IPv6 alone. */
int listener_add_tcp(struct listener *l, const char *text);

/* Readable when somebody comes. */
int listener_fd(const struct listener *l);

/* A descriptor, not blocking, and who that is; -1: nobody. */
int listener_accept(struct listener *l, struct listener_peer *from);

/* Accepts nobody for a moment, since the process lacks what a connection needs
 * (`err`, as EMFILE); logged at most once a minute. */
void listener_pause(struct listener *l, int err);

/* It is a newcomer from here on, or has proved what it came for; others may
 * be thrown out.  0; -EBUSY: it cannot stay. */
int listener_enter(struct listener *l, struct listener_place *p,
		   const struct listener_peer *from);
int listener_prove(struct listener *l, struct listener_place *p);
void listener_leave(struct listener *l, struct listener_place *p);

#endif
