/* SPDX-License-Identifier: MIT */
#ifndef SPATE_UCX_WORKER_H
#define SPATE_UCX_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <ucp/api/ucp.h>

/*
 * A worker is one end of a UCX connection, with the library behind it.
 *
 * The library is loaded when the first worker is wanted, and not with the
 * plugin: every daemon loads every plugin, and libucp, once it is there, puts
 * itself between a process and its memory and signals.
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
 * How far a peer is.  UCX_NEAR: on this host, and by shared memory, which
 * libucx 1.13 only uses where nobody wants to be told of a peer that failed.
 * UCX_FAR: by anything, over a connection of libucx's own, because its other
 * way to connect ends this process when a peer goes away in the middle.
 */
enum ucx_distance { UCX_FAR, UCX_NEAR };

struct ucx_library {
	void *object;
	bool used;		  /* by a worker that was left behind */
	ucp_context_h context[2]; /* UCX_FAR, UCX_NEAR; made when wanted */
#define UCX_CALL(name) __typeof__(&(name)) name;
	UCX_CALLS(UCX_CALL)
#undef UCX_CALL
};

/* 0; -ELIBACC: there is none here, -EIO: it does not work; with a sentence. */
int ucx_library_open(struct ucx_library *u, char *why, uint32_t why_bytes);
void ucx_library_close(struct ucx_library *u);

/* Is a peer with that address near, and may shared memory be used? */
bool ucx_is_near(const struct sockaddr_storage *here,
		 const struct sockaddr_storage *there);

struct ucx_worker {
	struct ucx_library *u;
	enum ucx_distance distance;
	ucp_worker_h worker; /* NULL: there is none */
	bool open;
	ucp_listener_h listener;
	uint16_t port; /* where that listens; 0: it does not */
	ucp_ep_h ep;   /* its connection */
	int fd;
	void *flush; /* asks whether it is connected */
	bool wired;  /* it is; the caller's, of one that does not */
	int err;     /* what its connection broke with */
};

enum {
	UCX_MESSAGES = 0x5a, /* the active message that carries packets */
	/* The payload of a BESIDE: a token (u64), and behind it */
	UCX_PORT = 8,	/* u16: where it listens, at the host that it is on */
	UCX_WHERE = 10, /* the worker's address */
	/* The header of a message: a wire frame's, and then */
	UCX_TOKEN = 48,	 /* u64: that of the connection that it belongs to */
	UCX_NUMBER = 56, /* u64: which message of it, from 0 */
	UCX_FLAGS = 64,	 /* u64: UCX_CHECKED */
	UCX_HEADER = 72,
	UCX_CHECKED = 1, /* its checksum was taken */
};

/* 0 or -errno with a sentence. */
int ucx_worker_open(struct ucx_worker *w, struct ucx_library *u,
		    enum ucx_distance distance, char *why, uint32_t why_bytes);

/*
 * Ends the connection: nothing is sent or received after it, nor memory
 * touched; what was begun is told as ended, or not at all.
 *
 * libucx 1.13 ends the whole process if a worker is destroyed whose connection
 * is still being made.  Such a one stays as it is, and the next ucx_worker_open
 * takes it again.
 */
void ucx_worker_close(struct ucx_worker *w);

/* For good; one that was never connected is left behind. */
void ucx_worker_free(struct ucx_worker *w);

/* Where others find it; *bytes is how much room there is, and then how much
 * it takes. */
int ucx_worker_address(const struct ucx_worker *w, uint8_t *to,
		       uint32_t *bytes);

/* Where a worker is: a socket for UCX_FAR, its address for UCX_NEAR. */
struct ucx_where {
	struct sockaddr_storage at;
	const uint8_t *address;
};

/* One connection is taken, at a port of that address. */
int ucx_worker_listen(struct ucx_worker *w, struct sockaddr_storage *at);

/* Nothing may be sent before it is `wired`. */
int ucx_worker_connect(struct ucx_worker *w, const struct ucx_where *where);

/* Moves data, calls back.  False: nothing was to do. */
bool ucx_worker_go(struct ucx_worker *w);

/* Before its descriptor is polled: false, there is more to do at once. */
bool ucx_worker_rest(struct ucx_worker *w);

/* Is memory only touched while ucx_worker_go is called?  Adapters do so at any
 * time; sockets and shared memory do not. */
bool ucx_worker_is_tame(const struct ucx_worker *w, ucp_ep_h ep);

#endif
