/* SPDX-License-Identifier: MIT */
#ifndef SPATE_UCX_WORKER_H
#define SPATE_UCX_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <ucp/api/ucp.h>

/*
 * A worker is one end of a UCX connection, together with the library behind it.
 *
 * The library is loaded when the first worker is wanted, and not with the
 * plugin: every daemon loads every plugin, and libucp, once loaded, hooks into
 * the memory management and the signals of the process.
 */
#define UCX_CALLS(X)                                                           \
	X(ucp_config_read)                                                     \
	X(ucp_config_modify)                                                   \
	X(ucp_config_release)                                                  \
	X(ucp_init_version)                                                    \
	X(ucp_cleanup)                                                         \
	X(ucp_worker_create)                                                   \
	X(ucp_worker_destroy)                                                  \
	X(ucp_worker_get_address)                                              \
	X(ucp_worker_release_address)                                          \
	X(ucp_worker_get_efd)                                                  \
	X(ucp_worker_arm)                                                      \
	X(ucp_worker_progress)                                                 \
	X(ucp_worker_set_am_recv_handler)                                      \
	X(ucp_listener_create)                                                 \
	X(ucp_listener_query)                                                  \
	X(ucp_listener_reject)                                                 \
	X(ucp_listener_destroy)                                                \
	X(ucp_ep_create)                                                       \
	X(ucp_ep_close_nbx)                                                    \
	X(ucp_ep_flush_nbx)                                                    \
	X(ucp_ep_print_info)                                                   \
	X(ucp_am_send_nbx)                                                     \
	X(ucp_am_recv_data_nbx)                                                \
	X(ucp_request_free)                                                    \
	X(ucs_status_string)

/*
 * Distance of a peer.  UCX_NEAR: on this host, by shared memory; libucx 1.13
 * uses that only if no error handler for failed peers is set.  UCX_FAR: by any
 * transport, over a connection made by libucx's listener, because its other way
 * to connect ends this process if a peer goes away in the middle.
 */
enum ucx_distance { UCX_FAR, UCX_NEAR };

struct ucx_library {
	void *object;
	/* a worker was left behind, and needs the contexts */
	bool used;
	/* UCX_FAR, UCX_NEAR; each is made when first wanted */
	ucp_context_h context[2];
#define UCX_CALL(name) __typeof__(&(name)) name;
	UCX_CALLS(UCX_CALL)
#undef UCX_CALL
};

/*
 * Loads the library.  Returns 0; -ELIBACC: it is not installed or too old;
 * -EIO: it does not start; with a sentence in `why`.
 */
int ucx_library_open(struct ucx_library *u, char *why, uint32_t why_bytes);

/* Frees the contexts, unless a worker was left behind, which needs them. */
void ucx_library_close(struct ucx_library *u);

/*
 * Tells whether a peer is on this host, and the environment allows shared
 * memory.
 */
bool ucx_is_near(const struct sockaddr_storage *here,
		 const struct sockaddr_storage *there);

struct ucx_worker {
	struct ucx_library *u;
	enum ucx_distance distance;
	ucp_worker_h worker; /* NULL: there is none */
	bool open; /* in use; a worker that is kept for later is not */
	ucp_listener_h listener;
	uint16_t port; /* port of `listener`; 0: it does not listen */
	ucp_ep_h ep;   /* the connection to the peer */
	int fd;	       /* polls readable when libucx has work */
	void *flush;   /* the request whose end shows that it is connected */
	bool wired;    /* connected; the owner of a listening worker sets it */
	int err;       /* -errno of a broken connection; 0: none */
};

enum {
	UCX_MESSAGES = 0x5a, /* id of the active message that carries packets */
	/* Payload of a BESIDE frame: a token (u64), then */
	/*
	 * u16: port where the worker listens, at the host of the TCP connection
	 */
	UCX_PORT = 8,
	UCX_WHERE = 10, /* the worker's address */
	/* Header of a message: a wire frame's header, then */
	UCX_TOKEN = 48,	 /* u64: token of the connection that it belongs to */
	UCX_NUMBER = 56, /* u64: number of the message, from 0 */
	UCX_FLAGS = 64,	 /* u64: UCX_CHECKED */
	UCX_HEADER = 72,
	UCX_CHECKED = 1, /* the frame header has a checksum of the payload */
};

/* Opens a worker.  Returns 0, or -errno with a sentence in `why`. */
int ucx_worker_open(struct ucx_worker *w, struct ucx_library *u,
		    enum ucx_distance distance, char *why, uint32_t why_bytes);

/*
 * Closes the connection.  Afterwards libucx sends and receives nothing for it
 * and touches no memory; pending requests are reported as ended, or not at all.
 *
 * libucx 1.13 ends the whole process if a worker is destroyed while its
 * connection is being made.  Such a worker is kept, and the next
 * ucx_worker_open() uses it again.
 */
void ucx_worker_close(struct ucx_worker *w);

/* Closes a worker for good; one that was never connected is left behind. */
void ucx_worker_free(struct ucx_worker *w);

/*
 * Writes the address by which a peer on this host reaches the worker.  *bytes
 * is the room at `to`, then the length.  Returns 0 or -errno.
 */
int ucx_worker_address(const struct ucx_worker *w, uint8_t *to,
		       uint32_t *bytes);

/*
 * Address of a peer's worker: a socket's for UCX_FAR, libucx's own format
 * for UCX_NEAR.
 */
struct ucx_where {
	struct sockaddr_storage at;
	const uint8_t *address;
};

/*
 * Listens at a free port of an address, for one connection.  Returns 0 or
 * -errno.
 */
int ucx_worker_listen(struct ucx_worker *w, struct sockaddr_storage *at);

/*
 * Begins to connect.  Returns 0 or -errno.  No message may be sent before
 * `wired`.
 */
int ucx_worker_connect(struct ucx_worker *w, const struct ucx_where *where);

/* Lets libucx move data and call back; false: it had nothing to do. */
bool ucx_worker_go(struct ucx_worker *w);

/* Prepares the descriptor to be polled; false: there is more to do at once. */
bool ucx_worker_rest(struct ucx_worker *w);

/*
 * Tells whether memory is touched only during ucx_worker_go().  Sockets and
 * shared memory keep to that; RDMA adapters do not.
 */
bool ucx_worker_is_tame(const struct ucx_worker *w, ucp_ep_h ep);

#endif
