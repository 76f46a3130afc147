/* SPDX-License-Identifier: MIT */
/*
 * Sockets are not blocking.  What a client does not take at once waits in
 * its buffer; a client that lets more than OUT_MOST wait is cut off, so a
 * stopped terminal cannot eat the daemon's memory.
 *
 * Everybody takes turns: what a client has asked beyond its share of a step
 * waits for the next one, which `again` (an eventfd) makes come at once.  So
 * a script that asks without end does not keep the event loop.
 */
#include "config.h"

#include "daemon/server.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/control.h"
#include "daemon/server_socket.h"

enum {
	CLIENTS = 256,
	OUT_MOST = 16 << 20,
	OUT_KEPT = 64 << 10, /* of what was once large */
	EVENTS = 32,
	TURN = 16, /* requests of one client in one step */
};

/* What an event is of; clients have numbers above. */
enum { LISTENER, AGAIN };

struct client {
	uint64_t number;
	int fd;
	bool greeted, again; /* it asked more than its share */
	unsigned round;	     /* of its last turn */
	struct control_lines in;
	char *out;
	size_t out_bytes, out_sent, out_room;
	struct client *next; /* server::clients */
};

struct server {
	struct server_socket socket;
	struct server_hooks hooks;
	int epoll, again;
	unsigned rounds;
	struct client *clients;
	unsigned n;
	uint64_t numbers;
};

/* ---- clients --------------------------------------------------------- */

static void
client_poll(struct server *s, struct client *c, int op, uint32_t events)
{
	struct epoll_event e = { .events = events, .data.u64 = c->number };

	epoll_ctl(s->epoll, op, c->fd, &e);
}

static struct client *
client_find(struct server *s, uint64_t number)
{
	struct client *c = s->clients;

	while (c && c->number != number)
		c = c->next;
	return c;
}

static void
client_close(struct server *s, struct client *c)
{
	struct client **at = &s->clients;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	s->n--;
	close(c->fd);
	control_lines_clear(&c->in);
	free(c->out);
	free(c);
}

/* Sends what waits; false when the client is gone. */
static bool
client_flush(struct server *s, struct client *c)
{
	while (c->out_sent < c->out_bytes) {
		ssize_t n = send(c->fd, c->out + c->out_sent,
				 c->out_bytes - c->out_sent,
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			client_poll(s, c, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
			return true;
		}
		if (n < 0) {
			client_close(s, c);
			return false;
		}
		c->out_sent += (size_t)n;
	}
	c->out_bytes = c->out_sent = 0;
	if (c->out_room > OUT_KEPT) {
		free(c->out);
		c->out = NULL;
		c->out_room = 0;
	}
	client_poll(s, c, EPOLL_CTL_MOD, EPOLLIN);
	return true;
}

/* Room for so many bytes more; it doubles. */
static bool
out_grow(struct client *c, size_t bytes)
{
	size_t need = c->out_bytes + bytes, room = c->out_room;
	char *out;

	if (need > OUT_MOST)
		return false;
	if (need <= room)
		return true;
	room = 2 * room > need ? 2 * room : need;
	out = realloc(c->out, room);
	if (!out)
		return false;
	c->out = out;
	c->out_room = room;
	return true;
}

/* Takes a text of JSON over; NULL is one that found no memory. */
static bool
client_put(struct server *s, struct client *c, char *text)
{
	size_t length = text ? strlen(text) : 0;

	if (!text || !out_grow(c, length + 1)) {
		free(text);
		client_close(s, c);
		return false;
	}
	memcpy(c->out + c->out_bytes, text, length);
	c->out[c->out_bytes + length] = '\n';
	c->out_bytes += length + 1;
	free(text);
	return client_flush(s, c);
}

static bool
client_send(struct server *s, struct client *c, json_t *line)
{
	char *text = json_dumps(line, JSON_COMPACT);

	json_decref(line);
	return client_put(s, c, text);
}

bool
server_waits(struct server *s, struct server_ticket t)
{
	return client_find(s, t.client) != NULL;
}

void
server_answer(struct server *s, struct server_ticket t, json_t *result)
{
	struct client *c = client_find(s, t.client);

	if (c)
		client_send(s, c,
			    json_pack("{s:I, s:b, s:o}", "id", t.id, "ok", 1,
				      "result", result));
	else
		json_decref(result);
}

void
server_answer_text(struct server *s, struct server_ticket t, const char *result)
{
	struct client *c = client_find(s, t.client);
	char *text = NULL;

	if (!c)
		return;
	if (result && asprintf(&text,
			       "{\"id\":%" JSON_INTEGER_FORMAT
			       ",\"ok\":true,\"result\":%s}",
			       t.id, result) < 0)
		text = NULL;
	client_put(s, c, text);
}

void
server_refuse(struct server *s, struct server_ticket t,
	      const struct fault *fault)
{
	struct client *c = client_find(s, t.client);

	if (c)
		client_send(s, c,
			    json_pack("{s:I, s:b, s:o}", "id", t.id, "ok", 0,
				      "error", control_fault(fault)));
}

/* ---- requests -------------------------------------------------------- */

static bool
greeting(struct server *s, struct client *c, const json_t *line)
{
	json_int_t p = json_integer_value(json_object_get(line, "protocol"));

	c->greeted = p == CONTROL_PROTOCOL;
	if (!c->greeted) {
		client_close(s, c);
		return false;
	}
	return true;
}

/* False when the client is gone. */
static bool
request(struct server *s, struct client *c, const json_t *line)
{
	struct server_ticket t = {
		c->number, json_integer_value(json_object_get(line, "id"))
	};
	const char *verb = json_string_value(json_object_get(line, "do"));
	struct fault fault = { 0 };

	if (!c->greeted)
		return greeting(s, c, line);
	if (verb) {
		s->hooks.ask(s->hooks.arg, t, verb, line);
	} else {
		fault_set(&fault, -EINVAL, "usage",
			  "a request without \"do\" says nothing");
		server_refuse(s, t, &fault);
	}
	return client_find(s, t.client) != NULL;
}

static bool
line_take(struct server *s, struct client *c, const char *text)
{
	json_t *line = json_loads(text, 0, NULL);
	bool here;

	if (!json_is_object(line)) {
		json_decref(line);
		client_close(s, c); /* it speaks something else */
		return false;
	}
	here = request(s, c, line);
	json_decref(line);
	return here;
}

/* Takes its share of what was read. */
static void
client_turn(struct server *s, struct client *c)
{
	char *text = NULL;

	c->round = s->rounds;
	for (unsigned n = 0; n < TURN; n++) {
		text = control_lines_next(&c->in);
		if (!text)
			break;
		if (!line_take(s, c, text))
			return;
	}
	c->again = text;
	if (c->again)
		eventfd_write(s->again, 1);
}

static void
client_read(struct server *s, struct client *c)
{
	int n = c->again ? 1 : control_lines_read(&c->in, c->fd);

	if (n <= 0 && n != -EAGAIN)
		client_close(s, c);
	else if (c->round != s->rounds)
		client_turn(s, c);
}

/* Whoever is left with something, once; a turn may end any client. */
static void
again_take(struct server *s)
{
	struct client *c;
	eventfd_t n;

	eventfd_read(s->again, &n);
	do {
		c = s->clients;
		while (c && (!c->again || c->round == s->rounds))
			c = c->next;
		if (c)
			client_turn(s, c);
	} while (c);
}

static void
client_accept(struct server *s)
{
	int fd =
	    accept4(s->socket.listen, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct client *c;

	if (fd < 0)
		return;
	c = s->n < CLIENTS ? calloc(1, sizeof *c) : NULL;
	if (!c) {
		close(fd);
		return;
	}
	c->fd = fd;
	c->number = ++s->numbers;
	c->next = s->clients;
	s->clients = c;
	s->n++;
	client_poll(s, c, EPOLL_CTL_ADD, EPOLLIN);
	client_send(s, c, json_pack("{s:i}", "protocol", CONTROL_PROTOCOL));
}

int
server_fd(const struct server *s)
{
	return s->epoll;
}

void
server_step(struct server *s)
{
	struct epoll_event event[EVENTS];
	int n = epoll_wait(s->epoll, event, EVENTS, 0);
	bool again = false;

	s->rounds++;
	for (int i = 0; i < n; i++) {
		struct client *c = client_find(s, event[i].data.u64);

		if (event[i].data.u64 == LISTENER)
			client_accept(s);
		else if (event[i].data.u64 == AGAIN)
			again = true;
		else if (c && event[i].events & EPOLLOUT)
			client_flush(s, c);
		else if (c)
			client_read(s, c);
	}
	if (again)
		again_take(s);
}

/* ---- opening --------------------------------------------------------- */

static int
set_make(struct server *s)
{
	struct epoll_event listen = { EPOLLIN, { .u64 = LISTENER } };
	struct epoll_event again = { EPOLLIN, { .u64 = AGAIN } };

	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->again = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->epoll < 0 || s->again < 0 ||
	    epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->socket.listen, &listen) < 0 ||
	    epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->again, &again) < 0)
		return -errno;
	return 0;
}

int
server_open(struct server **server, const char *path, const char *group,
	    const struct server_hooks *hooks, struct fault *fault)
{
	struct server *s = calloc(1, sizeof *s);
	int err;

	if (!s)
		return fault_set(fault, -ENOMEM, "no-memory", "out of memory");
	s->hooks = *hooks;
	s->numbers = AGAIN;
	s->epoll = s->again = -1;
	err = server_socket_open(&s->socket, path, group, fault);
	if (!err) {
		err = set_make(s);
		if (err)
			fault_set(fault, err, "io", "cannot listen on %s: %s",
				  path, strerror(-err));
	}
	if (err)
		server_close(s);
	else
		*server = s;
	return err;
}

void
server_close(struct server *s)
{
	if (!s)
		return;
	while (s->clients)
		client_close(s, s->clients);
	server_socket_close(&s->socket);
	if (s->epoll >= 0)
		close(s->epoll);
	if (s->again >= 0)
		close(s->again);
	free(s);
}
