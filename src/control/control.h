/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CONTROL_CONTROL_H
#define SPATE_CONTROL_CONTROL_H

#include <jansson.h>
#include <stdbool.h>

#include "base/fault.h"

/*
 * Control is a conversation of JSON objects, one per line, over a unix
 * socket:
 *
 *   both, first   {"protocol":1}
 *   ->  {"id":1,"do":"record","name":"r4123","streams":["dbbc3"]}
 *   <-  {"id":1,"ok":true,"result":{...}}
 *   <-  {"id":1,"ok":false,"error":{"code","what","why","try"}}
 *   <-  {"event":"...", ...}      only to those who asked for events
 *
 * With an answer descriptors may come (SCM_RIGHTS): on its first byte.  Who
 * reads without asking for them does not get them.
 */
#define CONTROL_SOCKET "/run/spate/control.sock"
enum {
	CONTROL_PROTOCOL = 1,
	CONTROL_LINE = 1 << 20,	   /* longest line of a request */
	CONTROL_ANSWER = 64 << 20, /* and of an answer: of many substreams */
	CONTROL_WAIT_MS = 30000,   /* for an answer, unless told otherwise */
};

/* Descriptors that came along; more than these are closed. */
enum { CONTROL_FDS = 4 };
struct control_fds {
	int fd[CONTROL_FDS];
	unsigned n;
};

/* A buffer that gives lines back out of what was read; for both ends. */
struct control_lines {
	char *data;
	size_t used, start, room;
	size_t most;		 /* longest line; 0: CONTROL_LINE */
	struct control_fds *fds; /* are taken here; NULL: none are */
};

/* Reads once from fd, when next() gives nothing more: >0 bytes, 0 at the end,
 * -EAGAIN, -EMSGSIZE when a line is longer than `most`, or -errno. */
int control_lines_read(struct control_lines *l, int fd);
/* The next whole line without its newline, or NULL; good until the next call. */
char *control_lines_next(struct control_lines *l);
void control_lines_clear(struct control_lines *l);

/* A fault as the value of "error", and back. */
json_t *control_fault(const struct fault *fault);
void control_fault_read(struct fault *fault, const json_t *error);

/* The client's end; one thread.  Blocks until the answer or the wait is over. */
struct control;

int control_open(struct control **c, const char *socket, struct fault *fault);

/* How long each later answer is waited for; negative: for ever. */
void control_wait(struct control *c, int wait_ms);

/*
 * Asks and waits for the answer; `request` (NULL: no arguments) is taken
 * over.  *result is a new reference, or NULL where the caller passed NULL.
 * Events that come in between are dropped.
 */
int control_ask(struct control *c, const char *verb, json_t *request,
		json_t **result, struct fault *fault);

/* The same; fd[n] are the descriptors that came, the caller's from then on; -1:
 * none.  They may have come with an answer that was too late, too. */
int control_ask_fds(struct control *c, const char *verb, json_t *request,
		    json_t **result, int *fd, unsigned n, struct fault *fault);

/* To be polled: it hangs up when the daemon does. */
int control_fd(const struct control *c);

void control_close(struct control *c);

#endif
