/* SPDX-License-Identifier: MIT */
#ifndef SPATE_RECEIVE_TCP_DOOR_H
#define SPATE_RECEIVE_TCP_DOOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "contract/receive.h"
#include "net/address.h"
#include "net/allow.h"
#include "net/endpoint.h"

/*
 * A door is the set of listening sockets of one stream, with a list of networks
 * that may connect.  Opened and closed by the event loop, used by one receiver
 * thread.
 */
enum { DOOR_LISTENERS = 16 };

struct door {
	struct host host;
	struct allow allow;
	struct address address[DOOR_LISTENERS];
	int fd[DOOR_LISTENERS];
	unsigned n;
	int set; /* epoll set that holds the listening sockets; borrowed */
	/* ns until connections are accepted again; 0: they are now */
	int64_t rest;
	unsigned says;	 /* refusals that may be logged before the next tick */
	unsigned unsaid; /* refusals that were not logged since the last tick */
};

struct door_options {
	struct option_texts listen, allow;
	/* bytes, of each connection; 0: the kernel chooses */
	uint64_t socket_buffer;
};

/*
 * Checks the options and opens nothing.  Returns 0, or -EINVAL with a sentence
 * in `why`.
 */
int door_check(const struct door_options *o, char *why, uint32_t why_bytes);

/*
 * Opens the sockets.  Returns 0, or -errno with a sentence in args->why; then
 * everything is closed again.
 */
int door_open(struct door *d, const struct door_options *o,
	      const struct receive_args *args);
void door_close(struct door *d);

/*
 * Accepts the next connection that is allowed; refuses those that are not.
 * Returns a descriptor that does not block, owned by the caller, or -1: none is
 * waiting.  *from is the peer's address.
 */
int door_accept(struct door *d, union endpoint *from);

/* Closes a connection that door_accept() returned, and logs `why`. */
void door_refuse(struct door *d, int fd, const union endpoint *from,
		 const char *why);

/*
 * A peer is the sender connected at one source.  Senders come and go, while the
 * source's descriptor stays: it is an epoll set that holds the sender's socket.
 * The set also polls readable while data was read and not yet handed to the
 * core.  Used by the receiver thread.
 */
struct peer {
	const struct host *host;
	int set;
	/* a descriptor that is always readable; owned by the caller */
	int wake;
	bool woken;
	int fd; /* -1: no sender is connected */
	union endpoint from;
	/* present or last sender; "": there was none */
	char name[ENDPOINT_TEXT];
	/* since the last tick the receiver could not take more */
	bool held;
	uint64_t bytes, seen; /* bytes in all, and at the last tick */
	int64_t quiet;	      /* ns of silence */
	struct receive_counts counts;
};

/* Takes a connection's descriptor over, and closes it in peer_leave(). */
void peer_seat(struct peer *p, int fd, const union endpoint *from);

/* Lets the source's descriptor poll readable for a connection that waits to be
 * seated, and is the caller's. */
void peer_expect(struct peer *p, int fd);

/* Closes the connection and logs `why`; NULL: no line. */
void peer_leave(struct peer *p, enum log_level level, const char *why);

/*
 * Reads once.  Returns the bytes that came; 0: nothing yet; -ENODATA: the
 * sender has closed; else -errno.
 */
int peer_read(struct peer *p, const struct iovec *iov, int n);

/* `left`: data is left to be handed over, so the set has to poll readable. */
void peer_wake(struct peer *p, bool left);

/* ---- all peers of an instance ------------------------------------------- */

/* Options of a plugin that has peers; `connections` is their number. */
struct peers_options {
	struct door_options door;
	const char *secret_file; /* NULL: none */
	uint32_t connections;
	int64_t stall; /* ns; 0: for ever */
};

/* Operations that plain bytes, frames, and frames by UCX each have their own
 * of. */
struct peers_ops {
	/*
	 * Prepares to receive; the peers are there.  0, or -errno, with a
	 * sentence in args->why or without.
	 */
	int (*make)(struct receive_state *state,
		    const struct receive_args *args);
	void (*free)(struct receive_state *state); /* after make, also if it
						    * failed */
	int (*receive)(struct receive_state *state, unsigned source,
		       struct receive_batch *b); /* as receive_ops::receive */
	/* Closes a connection and logs why. */
	void (*drop)(struct receive_state *state, unsigned source,
		     const char *why);
	/* Called every tick: `ns` have passed since the last one. */
	void (*tick)(struct receive_state *state, int64_t ns);
};

/*
 * The peers of an instance, one at each source, and the door that they come
 * through.  The state of a plugin begins with this struct, and its options with
 * a struct peers_options.
 */
struct peers {
	const struct peers_ops *ops;
	struct host host;
	struct door door;
	int wake; /* an eventfd that is always readable */
	struct peer *peer;
	unsigned n;
	bool made;	/* ops->make was called */
	int64_t stall;	/* ns */
	int64_t ticked; /* ns (host.now) of the last tick; 0: none yet */
};

/*
 * Makes a state of so many bytes, which begins with a struct peers.  `frames`:
 * packets come without a prefix.  Returns 0, or -errno with a sentence in
 * args->why.
 */
int peers_open(struct receive_state **state, size_t bytes,
	       const struct peers_ops *ops, bool frames,
	       const struct receive_args *args);

/* Warns if any machine can connect and no secret is asked for. */
void peers_warn_open(const struct peers *p, const struct peers_options *o);

/* The callbacks of receive_ops with these names. */
void peers_close(struct receive_state *state);
unsigned peers_sources(const struct receive_state *state);
int peers_fd(const struct receive_state *state, unsigned source);
int peers_receive(struct receive_state *state, unsigned source,
		  struct receive_batch *b);
void peers_counts(struct receive_state *state, unsigned source,
		  struct receive_counts *counts);

#endif
