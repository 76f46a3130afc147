/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CONTRACT_OBJECT_H
#define SPATE_CONTRACT_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

struct pollfd;
struct send_args;
struct send_facts;

/*
 * An object store takes whole files under names, such as a bucket of S3.  A
 * send plugin with send_ops::objects has one behind its URL.  The core decides
 * which files there are and what is in them (flow/upload); the plugin carries
 * out requests, several at a time:
 *
 *   open -> { begin ... step, poll } -> close
 *
 * The transfer's sender thread makes all calls; none of them waits, except open
 * for a file with keys.
 */
enum object_verb {
	OBJECT_LIST, /* calls `found` for each object whose key begins with
		      * `key` */
	OBJECT_STAT, /* asks for length and checksum */
	OBJECT_READ, /* reads `bytes` from `at` on, or fewer at the end */
	OBJECT_PUT,  /* puts a piece.  The object is there, in place of one
		      * with this key, once all its pieces were put; the pieces
		      * may be put in any order and at the same time */
	OBJECT_END,  /* ends what an earlier transfer has left unfinished of
		      * objects whose key begins with `key` */
};

enum { OBJECT_KEY = 400 };

/* A stretch of the bytes of a piece. */
struct object_bytes {
	const uint8_t *data;
	uint64_t bytes;
};

/*
 * A request and its answer.  It belongs to the caller, who leaves it and the
 * memory at `data` alone from begin() until `over`, or until close().
 */
struct object_request {
	enum object_verb verb;
	char key[OBJECT_KEY]; /* below the URL: "r4123/r4123.index" */
	uint8_t *data;	      /* READ: room */
	/* PUT: the piece.  The caller may have other memory with the same bytes
	 * in it at any time, so a plugin keeps no pointer of it. */
	const struct object_bytes *of;
	unsigned of_n;
	uint64_t at; /* offset of the piece in the object */
	/* Bytes of the piece; of READ, also how many were read, if that
	 * succeeded: whoever reads again after an error wants as many. */
	uint32_t bytes;
	/* Bytes of the whole object.  All pieces but the last one of an object
	 * have object_ops::piece bytes. */
	uint64_t total;
	uint32_t crc; /* PUT: CRC32C of the piece */
	/* PUT of an object in one piece: only if there is none with this key.
	 * A store that cannot do that puts it in any case. */
	bool fresh;
	/* CRC32C of the whole object, if it is known. */
	uint32_t whole_crc;
	bool summed;
	void (*found)(struct object_request *r, const char *key,
		      uint64_t bytes);
	void *arg; /* the caller's */

	/* Bytes of a piece that were sent so far. */
	uint64_t sent;
	bool over; /* it was carried out, or failed */
	/* 0; -ENOENT: no such object; -EAGAIN: it may succeed later; -ESTALE:
	 * the pieces of the object that were put are lost, and may all be put
	 * again; -EEXIST: there is such an object, and `fresh` forbids to put
	 * another one; any other -errno: it never will.  Errors come with
	 * send_facts::why. */
	int err;
};

struct object_state;

struct object_ops {
	/* Makes an instance; *piece is how long pieces have to be, whole MiB.
	 * 0, or -errno with args->why. */
	int (*open)(struct object_state **state, const struct send_args *args,
		    uint32_t *piece);
	/* Begins a request.  0 or -ENOMEM. */
	int (*begin)(struct object_state *state, struct object_request *r);
	/* Moves all requests on, as far as possible at once. */
	void (*step)(struct object_state *state);
	/* As send_ops::poll. */
	unsigned (*poll)(struct object_state *state, struct pollfd *fd,
			 unsigned most, int64_t *until);
	/* Fills connections, reconnects, way, peer and why. */
	void (*facts)(struct object_state *state, struct send_facts *facts);
	/* Sets a rate that no request may exceed, bits per second; 0: none. */
	void (*rate)(struct object_state *state, uint64_t bits);
	/* Gives up all requests, and frees the instance. */
	void (*close)(struct object_state *state);
};

#endif
