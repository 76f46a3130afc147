/* SPDX-License-Identifier: MIT */
/*
 * All sockets are non-blocking.  Output that a client does not read waits
 * (server_out.h) up to a limit, and then the client is disconnected.  Long
 * before that, no more requests are read from it.
 *
 * Clients take turns: a request beyond a client's share of a step waits for the
 * next step, which `again` (an eventfd) causes at once.  So a script that asks
 * without end does not keep the event loop busy.
 */
#include "config.h"

#include "daemon/loop/server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "control/control.h"
#include "daemon/loop/listener.h"
#include "daemon/loop/server_out.h"
#include "daemon/loop/server_socket.h"

enum {
	CLIENTS = 256,
	OF_ONE = 64, /* clients of one user */
	EVENTS = 32,
	TURN = 1,	     /* requests of one client in one step */
	OUT_WAITS = 1 << 20, /* bytes of output: no more requests are read */
	OPEN = 256,	     /* unanswered requests of one client */
};

/* Epoll data of the server's own descriptors; clients have larger numbers. */
enum { LISTENER, AGAIN };

struct client {
	struct listener_place place; /* proved: it has greeted */
	uint64_t number;
	int fd;
	bool again;	/* has more requests than its share */
	unsigned round; /* step of its last turn */
	struct control_lines in;
	struct server_out out;
	bool gave;	     /* descriptors were sent; only once */
	unsigned open;	     /* unanswered requests */
	struct client *next; /* server::clients */
};

struct server {
	struct server_socket socket;
	struct listener listener;
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
	listener_leave(&s->listener, &c->place);
	close(c->fd);
	control_lines_clear(&c->in);
	server_out_clear(&c->out);
	free(c);
}

static bool
is_slow(const struct client *c)
{
	return c->out.bytes - c->out.sent > OUT_WAITS;
}

/* Sends what waits.  Returns false if the client is gone. */
static bool
client_flush(struct server *s, struct client *c)
{
	int err = server_out_flush(&c->out, c->fd);

	if (err && err != -EAGAIN) {
		client_close(s, c);
		return false;
	}
	client_poll(s, c, EPOLL_CTL_MOD,
		    (err ? EPOLLOUT : 0) | (is_slow(c) ? 0 : EPOLLIN));
	if (c->again && !is_slow(c))
		eventfd_write(s->again, 1);
	return true;
}

/* Sends a JSON text, which is freed; NULL (no memory) disconnects.  Returns
 * false if the client is gone. */
static bool
client_put(struct server *s, struct client *c, char *text)
{
	int err = text ? server_out_line(&c->out, text) : -ENOMEM;

	free(text);
	if (err) {
		client_close(s, c);
		return false;
	}
	return client_flush(s, c);
}

static bool
client_send(struct server *s, struct client *c, json_t *line)
{
	char *text = json_dumps(line, JSON_COMPACT);

	json_decref(line);
	return client_put(s, c, text);
}

/* Counts an answer.  A client is busy, and not pushed out by others, while it
 * waits for an answer or maps our memory. */
static void
client_answered(struct client *c)
{
	c->open -= c->open > 0;
	c->place.busy = c->open || c->gave;
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

	if (!c) {
		json_decref(result);
		return;
	}
	client_answered(c);
	client_send(s, c,
		    json_pack("{s:I, s:b, s:o}", "id", t.id, "ok", 1, "result",
			      result));
}

void
server_answer_fds(struct server *s, struct server_ticket t, json_t *result,
		  const int *fd, unsigned n)
{
	struct client *c = client_find(s, t.client);

	if (!c) {
		json_decref(result);
		return;
	}
	json_object_set_new(result, "fds", json_boolean(n && !c->gave));
	if (n && !c->gave)
		server_out_fds(&c->out, fd, n);
	c->gave |= n > 0;
	server_answer(s, t, result);
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
	client_answered(c);
	client_put(s, c, text);
}

void
server_refuse(struct server *s, struct server_ticket t,
	      const struct fault *fault)
{
	struct client *c = client_find(s, t.client);

	if (!c)
		return;
	client_answered(c);
	client_send(s, c,
		    json_pack("{s:I, s:b, s:o}", "id", t.id, "ok", 0, "error",
			      control_fault(fault)));
}

/* ---- requests -------------------------------------------------------- */

static bool
greeting(struct server *s, struct client *c, const json_t *line)
{
	json_int_t p = json_integer_value(json_object_get(line, "protocol"));

	if (p == CONTROL_PROTOCOL && !listener_prove(&s->listener, &c->place))
		return true;
	client_close(s, c);
	return false;
}

/* Handles one request.  Returns false if the client is gone. */
static bool
request(struct server *s, struct client *c, const json_t *line)
{
	struct server_ticket t = {
		c->number, json_integer_value(json_object_get(line, "id"))
	};
	const char *verb = json_string_value(json_object_get(line, "do"));
	struct fault fault = { 0 };

	if (!c->place.proved)
		return greeting(s, c, line);
	c->place.busy = ++c->open;
	if (c->open > OPEN) {
		fault_set(&fault, -EBUSY, "busy",
			  "%d requests of this connection wait for their "
			  "answers already",
			  OPEN);
		server_refuse(s, t, &fault);
	} else if (verb) {
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
		client_close(s, c); /* not our protocol */
		return false;
	}
	here = request(s, c, line);
	json_decref(line);
	return here;
}

/* Handles a client's share of the lines read, while it reads its answers. */
static void
client_turn(struct server *s, struct client *c)
{
	char *text = NULL;

	c->round = s->rounds;
	c->again = false;
	for (unsigned n = 0; n < TURN && !is_slow(c); n++) {
		text = control_lines_next(&c->in);
		if (!text)
			return;
		if (!line_take(s, c, text))
			return;
	}
	c->again = true;
	if (!is_slow(c))
		eventfd_write(s->again, 1);
}

static void
client_read(struct server *s, struct client *c)
{
	int n = c->again ? 1 : control_lines_read(&c->in, c->fd);

	if (n > 0)
		c->place.heard = clock_steady();
	if (n <= 0 && n != -EAGAIN)
		client_close(s, c);
	else if (c->round != s->rounds)
		client_turn(s, c);
}

/* Gives each client with more requests one turn.  A turn may end any client, so
 * start over at the head of the list each time. */
static void
again_take(struct server *s)
{
	struct client *c;
	eventfd_t n;

	eventfd_read(s->again, &n);
	do {
		c = s->clients;
		while (c && (!c->again || is_slow(c) || c->round == s->rounds))
			c = c->next;
		if (c)
			client_turn(s, c);
	} while (c);
}

static void
client_add(struct server *s, int fd, const struct listener_peer *from)
{
	struct client *c = calloc(1, sizeof *c);

	if (!c || listener_enter(&s->listener, &c->place, from)) {
		free(c);
		close(fd);
		return;
	}
	c->fd = fd;
	server_out_init(&c->out);
	c->number = ++s->numbers;
	c->next = s->clients;
	s->clients = c;
	s->n++;
	client_poll(s, c, EPOLL_CTL_ADD, EPOLLIN);
	client_send(s, c, json_pack("{s:i}", "protocol", CONTROL_PROTOCOL));
}

static void
clients_accept(struct server *s)
{
	struct listener_peer from;
	int fd;

	for (unsigned n = 0; n < LISTENER_TURN; n++) {
		fd = listener_accept(&s->listener, &from);
		if (fd < 0)
			return;
		client_add(s, fd, &from);
	}
}

static void
client_expel(void *arg, struct listener_place *p)
{
	client_close(arg, (struct client *)p);
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
			clients_accept(s);
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
	    epoll_ctl(s->epoll, EPOLL_CTL_ADD, listener_fd(&s->listener),
		      &listen) < 0 ||
	    epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->again, &again) < 0)
		return -errno;
	return 0;
}

int
server_open(struct server **server, const char *path, const char *group,
	    const struct server_hooks *hooks, struct fault *fault)
{
	struct server *s = calloc(1, sizeof *s);
	const struct listener_rules rules = { .name = "control socket",
					      .places = CLIENTS,
					      .of_one = OF_ONE,
					      .expel = client_expel,
					      .arg = s };
	int err;

	if (!s)
		return fault_set(fault, -ENOMEM, "no-memory", "out of memory");
	s->hooks = *hooks;
	s->numbers = AGAIN;
	s->epoll = s->again = -1;
	err = server_socket_open(&s->socket, path, group, fault);
	if (!err) {
		err = listener_open(&s->listener, &rules);
		if (!err)
			err = listener_add(&s->listener, s->socket.listen);
		s->socket.listen = -1;
		if (!err)
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
	listener_close(&s->listener);
	server_socket_close(&s->socket);
	if (s->epoll >= 0)
		close(s->epoll);
	if (s->again >= 0)
		close(s->again);
	free(s);
}
