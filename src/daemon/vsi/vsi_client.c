/* SPDX-License-Identifier: MIT */
/*
 * A command is taken only if the longest reply would fit.  So a client that
 * does not read its replies is not read from either: its commands wait in the
 * kernel, and then in the client.
 */
#include "daemon/vsi/vsi_client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

enum { METHOD = 8 }; /* bytes of the longest HTTP method with its blank */

struct vsi_client *
vsi_client_make(int fd)
{
	struct vsi_client *c = calloc(1, sizeof *c);

	if (c)
		c->out = malloc(VSI_OUT);
	if (!c || !c->out) {
		free(c);
		return NULL;
	}
	c->fd = fd;
	return c;
}

void
vsi_client_free(struct vsi_client *c)
{
	close(c->fd);
	free(c->out);
	free(c);
}

bool
vsi_client_read(struct vsi_client *c)
{
	size_t bytes;
	char *room = vsi_lines_room(&c->in, &bytes);
	ssize_t n = recv(c->fd, room, bytes, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n <= 0)
		return false;
	c->place.heard = clock_steady();
	vsi_lines_add(&c->in, (size_t)n);
	return true;
}

bool
vsi_client_flush(struct vsi_client *c)
{
	size_t sent = 0;

	while (sent < c->bytes) {
		ssize_t n = send(c->fd, c->out + sent, c->bytes - sent,
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			return false;
		if (n < 0)
			break;
		sent += (size_t)n;
	}
	c->bytes -= sent;
	memmove(c->out, c->out + sent, c->bytes);
	c->wants_out = c->bytes;
	return true;
}

/* ---- commands -------------------------------------------------------- */

/* Appends to `out`; has_room() must be true. */
static void
put(struct vsi_client *c, const char *text, size_t bytes)
{
	memcpy(c->out + c->bytes, text, bytes);
	c->bytes += bytes;
}

static bool
has_room(const struct vsi_client *c)
{
	return c->bytes + VSI_REPLY + sizeof "\r\n" <= VSI_OUT;
}

/* Answers c->command. */
static void
act(struct vsi_client *c, vsi_answer *answer, void *arg, struct vsi_reply *r)
{
	vsi_reply_begin(r, &c->command);
	c->command.client = c->number;
	c->command.runtime = &c->runtime;
	c->later = !answer(arg, &c->command, r);
	if (c->later) {
		c->command.tries++;
		return;
	}
	vsi_reply_end(r);
	put(c, r->text, r->used);
}

static void
complain(struct vsi_client *c, int code, const char *why, struct vsi_reply *r)
{
	vsi_reply_begin(r, &c->command);
	vsi_say(r, (enum vsi_code)code, "%s", why);
	vsi_reply_end(r);
	put(c, r->text, r->used);
}

static void
newline_put(struct vsi_client *c)
{
	if (c->in.crlf)
		put(c, "\r\n", 2);
	else
		put(c, "\n", 1);
}

/*
 * Tells whether the client speaks HTTP: a web page can make the browser of an
 * operator send anything to any port.  A browser begins with a method in
 * capitals; none of these words is a keyword of VSI-S.
 */
static bool
is_http(const struct vsi_lines *l)
{
	static const char *const method[] = { "GET ",	 "POST ",    "PUT ",
					      "HEAD ",	 "OPTIONS ", "CONNECT ",
					      "DELETE ", "PATCH ",   "TRACE ",
					      "PRI " };
	size_t bytes = l->used - l->start;

	for (size_t i = 0; i < sizeof method / sizeof *method; i++) {
		size_t n = strlen(method[i]);

		if (bytes >= n && !memcmp(l->data + l->start, method[i], n))
			return true;
	}
	return false;
}

/* Handles the next command; false if there is no whole one. */
static bool
take(struct vsi_client *c, vsi_answer *answer, void *arg, struct vsi_reply *r)
{
	enum vsi_end end;
	const char *why;
	int code;

	c->http = !c->begun && is_http(&c->in);
	if (c->http)
		return false;
	c->begun |= c->in.used - c->in.start >= METHOD;
	end = vsi_lines_next(&c->in);
	c->begun |= end != VSI_END_NONE;
	switch (end) {
	case VSI_END_NONE: return false;
	case VSI_END_LINE: newline_put(c); return true;
	case VSI_END_LONG:
		c->command.keyword[0] = '\0';
		complain(c, VSI_SYNTAX, "a command of more than 4096 bytes", r);
		return true;
	case VSI_END_COMMAND: break;
	}
	code = vsi_command_parse(&c->command, c->in.text, &why);
	c->commands |= !code;
	if (code)
		complain(c, code, why, r);
	else
		act(c, answer, arg, r);
	return true;
}

bool
vsi_client_turn(struct vsi_client *c, vsi_answer *answer, void *arg,
		struct vsi_reply *r)
{
	bool more = true;

	if (c->later)
		act(c, answer, arg, r);
	for (unsigned n = 0; n < VSI_TURN && more && !c->later && has_room(c);
	     n++)
		more = take(c, answer, arg, r);
	c->again = more && !c->later;
	c->place.busy = c->later;
	return !c->http && vsi_client_flush(c);
}
