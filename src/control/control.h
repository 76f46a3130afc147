/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CONTROL_CONTROL_H
#define SPATE_CONTROL_CONTROL_H

#include <jansson.h>
#include <stdbool.h>

#include "base/fault.h"

/*
 * The control protocol exchanges JSON objects, one per line, over a unix
 * socket:
 *
 *   both, first   {"protocol":1}
 *   ->  {"id":1,"do":"record","name":"r4123","streams":["dbbc3"]}
 *   <-  {"id":1,"ok":true,"result":{...}}
 *   <-  {"id":1,"ok":false,"error":{"code","what","why","try"}}
 *   <-  {"event":"...", ...}      only to clients that asked for events
 *
 * File descriptors may come with an answer or a request, on its first byte
 * (SCM_RIGHTS).  A client that reads with plain read() does not get them.
 */
#define CONTROL_SOCKET "/run/spate/control.sock"
enum {
	CONTROL_PROTOCOL = 1,
	CONTROL_LINE = 1 << 20,	   /* bytes; longest line of a request */
	CONTROL_ANSWER = 64 << 20, /* bytes; longest line of an answer, which
				    * may list many substreams */
	CONTROL_WAIT_MS = 30000,   /* how long a client waits for an answer,
				    * unless control_wait() says otherwise */
};

/* Descriptors that came with lines; those beyond CONTROL_FDS are closed. */
enum { CONTROL_FDS = 4 };
struct control_fds {
	int fd[CONTROL_FDS];
	unsigned n;
	/* closes those beyond; NULL: close(), which may wait for a disk */
	void (*close)(void *arg, int fd);
	void *arg;
};

/*
 * A buffer that splits what was read from a socket into lines; both ends use
 * it.
 */
struct control_lines {
	char *data;
	size_t used, start, room;
	size_t most;		 /* bytes of the longest line; 0:
				  * CONTROL_LINE */
	struct control_fds *fds; /* received descriptors go here; NULL: none
				  * are accepted */
};

/*
 * Reads once from fd; call it when control_lines_next() returns NULL.  Returns
 * the bytes read, 0 at the end of the stream, -EAGAIN, -EMSGSIZE if a line is
 * longer than `most`, or another -errno.
 */
int control_lines_read(struct control_lines *l, int fd);
/*
 * Returns the next whole line without its newline, or NULL; valid until the
 * next control_lines_read().
 */
char *control_lines_next(struct control_lines *l);
void control_lines_clear(struct control_lines *l);

/* Converts a fault to the JSON value of "error", and back. */
json_t *control_fault(const struct fault *fault);
void control_fault_read(struct fault *fault, const json_t *error);

/*
 * The client's end of a connection, for one thread.  Its calls block until the
 * answer comes or the time is up, and return 0 or -errno with a fault.
 */
struct control;

int control_open(struct control **c, const char *socket, struct fault *fault);
/* Does the same, and waits this long for the greeting and each later answer. */
int control_open_within(struct control **c, const char *socket, int wait_ms,
			struct fault *fault);

/* Sets how long each later answer is waited for; negative: without limit. */
void control_wait(struct control *c, int wait_ms);

/*
 * Sends a request and waits for its answer.  Takes over `request`, which may be
 * NULL for a verb without arguments.  *result gets a new reference; `result`
 * may be NULL.  Events that come in between are dropped.
 */
int control_ask(struct control *c, const char *verb, json_t *request,
		json_t **result, struct fault *fault);

/*
 * Does the same, and hands over n descriptors that came with the answer in
 * fd[]; the caller closes them.  All are -1 if fewer than n came.
 */
int control_ask_fds(struct control *c, const char *verb, json_t *request,
		    json_t **result, int *fd, unsigned n, struct fault *fault);

/*
 * Does the same as control_ask(), and sends the descriptor `fd` with the
 * request.  It stays the caller's.
 */
int control_ask_with(struct control *c, const char *verb, json_t *request,
		     int fd, json_t **result, struct fault *fault);

/* Returns the socket, for poll(): it hangs up when the daemon ends. */
int control_fd(const struct control *c);

void control_close(struct control *c);

#endif
