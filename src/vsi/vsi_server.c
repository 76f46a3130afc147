/* SPDX-License-Identifier: MIT */
/*
 * Clients take turns.  Commands beyond a client's share of a step wait for the
 * next step, which `again` (an eventfd) causes at once, after all other
 * clients.  A command that was put off is asked again by a timer.
 *
 * A client that is not allowed gets no answer.  The log says so, at most once a
 * second, since anybody can knock.
 *
 * A command is taken only if the longest reply would fit.  So a client that
 * does not read its replies is not read from either: its commands wait in the
 * kernel, and then in the client.
 */
#include "vsi/vsi_server.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "control/listener.h"
#include "net/allow.h"

/*
 * A client's connection: it sends commands and gets their replies in the same
 * order.  No function blocks.
 */
struct vsi_client {
	struct listener_entry entry; /* proved: it sent a valid command */
	int fd;
	uint32_t number;  /* a different one for each client */
	uint32_t runtime; /* number of its runtime, see vsi_command */
	uint32_t events;  /* epoll events that are waited for */
	bool wants_out;	  /* replies wait, because the client does not read */
	bool again;	  /* sent more than its share of a turn */
	bool later;	  /* a command of it was put off */
	bool begun;	  /* first word was checked for HTTP */
	bool commands;	  /* sent at least one valid command */
	bool http;	  /* speaks HTTP: cut it off */
	struct vsi_lines in;
	struct vsi_command command; /* command whose fields point into `in` */
	char *out;
	size_t bytes; /* bytes in `out` that wait to be sent */
};

enum { METHOD = 8 }; /* bytes of the longest HTTP method with its blank */

/*
 * Takes over the descriptor.  NULL without memory, and the descriptor stays the
 * caller's.
 */
static struct vsi_client *
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

static void
vsi_client_free(struct vsi_client *c)
{
	close(c->fd);
	free(c->out);
	free(c);
}

/* Reads once from the socket.  False: the client has gone. */
static bool
vsi_client_read(struct vsi_client *c)
{
	size_t bytes;
	char *room = vsi_lines_room(&c->in, &bytes);
	ssize_t n = recv(c->fd, room, bytes, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n <= 0)
		return false;
	c->entry.heard = clock_steady();
	vsi_lines_add(&c->in, (size_t)n);
	return true;
}

/* Sends waiting replies.  False: the client has gone. */
static bool
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

/*
 * Handles the client's share of commands and sends the replies, using `r` as a
 * buffer.  False: the client has gone, or has to be cut off.
 */
static bool
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
	c->entry.busy = c->later;
	return !c->http && vsi_client_flush(c);
}

/* ---- the server ------------------------------------------------------ */

enum {
	EVENTS = 32,
	ALL = VSI_CLIENTS + LISTENER_NEWCOMERS,
	LATER_NS = 20000000, /* until a command that was put off is asked
			      * again */
	IS_LISTENER = 1 << 20,
	IS_AGAIN = 1 << 21,
	IS_LATER = 1 << 22,
};

struct vsi_server {
	struct vsi_server_args args;
	struct listener listener;
	int epoll, again, later;
	uint32_t numbers;
	int64_t refused; /* steady ns of the last refusal */
	struct vsi_client *client[ALL];
	struct vsi_reply reply; /* buffer for the reply in the making */
};

/* ---- clients --------------------------------------------------------- */

static void
client_close(struct vsi_server *s, unsigned i)
{
	uint32_t number = s->client[i]->number;

	listener_leave(&s->listener, &s->client[i]->entry);
	vsi_client_free(s->client[i]);
	s->client[i] = NULL;
	if (s->args.gone)
		s->args.gone(s->args.arg, number);
}

static void
client_poll(struct vsi_server *s, unsigned i, int op, uint32_t events)
{
	struct vsi_client *c = s->client[i];
	struct epoll_event e = { .events = events,
				 .data.u64 = (uint64_t)c->number << 32 | i };

	c->events = events;
	epoll_ctl(s->epoll, op, c->fd, &e);
}

/* Does not listen to a client that waits for something. */
static void
events_set(struct vsi_server *s, unsigned i)
{
	const struct vsi_client *c = s->client[i];
	uint32_t events = c->wants_out ? EPOLLOUT : c->later ? 0 : EPOLLIN;

	if (events != c->events)
		client_poll(s, i, EPOLL_CTL_MOD, events);
}

static void
say_refused(struct vsi_server *s, const struct sockaddr_storage *from,
	    const char *why)
{
	int64_t now = clock_steady();
	char peer[ENDPOINT_TEXT];

	if (s->refused && now - s->refused <= 1000000000)
		return;
	s->refused = now;
	log_line(LEVEL_WARN, "vsi", "refused %s: %s",
		 endpoint_show((const union endpoint *)from, peer), why);
}

static void
cut_off(struct vsi_server *s, unsigned i, const char *why)
{
	struct sockaddr_storage from = { 0 };
	socklen_t length = sizeof from;

	getpeername(s->client[i]->fd, (struct sockaddr *)&from, &length);
	say_refused(s, &from, why);
	client_close(s, i);
}

static void
client_turn(struct vsi_server *s, unsigned i)
{
	const struct itimerspec soon = { .it_value.tv_nsec = LATER_NS };
	struct vsi_client *c = s->client[i];

	if (!vsi_client_turn(c, s->args.command, s->args.arg, &s->reply)) {
		if (c->http)
			cut_off(s, i, "it speaks HTTP, as a browser does");
		else
			client_close(s, i);
		return;
	}
	if (c->commands && !c->entry.proved &&
	    listener_prove(&s->listener, &c->entry)) {
		cut_off(s, i, "all places are taken by clients that are busy");
		return;
	}
	if (c->later)
		timerfd_settime(s->later, 0, &soon, NULL);
	if (c->again && !c->wants_out)
		eventfd_write(s->again, 1);
	events_set(s, i);
}

static void
client_flush(struct vsi_server *s, unsigned i)
{
	struct vsi_client *c = s->client[i];

	if (!vsi_client_flush(c))
		client_close(s, i);
	else if (c->again && !c->wants_out)
		client_turn(s, i);
	else
		events_set(s, i);
}

static void
client_read(struct vsi_server *s, unsigned i)
{
	struct vsi_client *c = s->client[i];

	if (!c->again && !vsi_client_read(c))
		client_close(s, i);
	else
		client_turn(s, i);
}

static void
client_event(struct vsi_server *s, const struct epoll_event *e)
{
	unsigned i = (uint32_t)e->data.u64;
	const struct vsi_client *c = s->client[i];

	if (!c || c->number != e->data.u64 >> 32)
		return;
	/*
	 * The client has gone, and so nobody would read the replies to its
	 * commands.
	 */
	if (e->events & (EPOLLHUP | EPOLLERR))
		client_close(s, i);
	else if (e->events & EPOLLOUT)
		client_flush(s, i);
	else
		client_read(s, i);
}

/* Serves clients with commands left over, except those that do not read. */
static void
again_take(struct vsi_server *s)
{
	eventfd_t n;

	eventfd_read(s->again, &n);
	for (unsigned i = 0; i < ALL; i++) {
		if (s->client[i] && s->client[i]->again &&
		    !s->client[i]->wants_out)
			client_turn(s, i);
	}
}

/* Serves clients whose command was put off. */
static void
later_take(struct vsi_server *s)
{
	uint64_t n;

	if (read(s->later, &n, sizeof n) < 0)
		return;
	for (unsigned i = 0; i < ALL; i++) {
		if (s->client[i] && s->client[i]->later)
			client_turn(s, i);
	}
}

/* ---- new clients ----------------------------------------------------- */

static void
client_add(struct vsi_server *s, int fd, const struct listener_peer *from)
{
	static const int one = 1;
	struct vsi_client *c = vsi_client_make(fd);
	unsigned i = 0;

	if (!c) {
		close(fd);
		return;
	}
	if (listener_enter(&s->listener, &c->entry, from)) {
		vsi_client_free(c);
		return;
	}
	while (s->client[i])
		i++;
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	c->number = ++s->numbers;
	s->client[i] = c;
	client_poll(s, i, EPOLL_CTL_ADD, EPOLLIN);
}

static void
clients_accept(struct vsi_server *s)
{
	struct listener_peer from;
	int fd;

	for (unsigned n = 0; n < LISTENER_TURN; n++) {
		fd = listener_accept(&s->listener, &from);
		if (fd < 0)
			return;
		if (allow_texts_have(&s->args.allow,
				     (struct sockaddr *)&from.address)) {
			client_add(s, fd, &from);
			continue;
		}
		say_refused(s, &from.address, "it is in no network of `allow`");
		close(fd);
	}
}

static void
client_expel(void *arg, struct listener_entry *p)
{
	struct vsi_server *s = arg;

	for (unsigned i = 0; i < ALL; i++) {
		if (s->client[i] && &s->client[i]->entry == p)
			client_close(s, i);
	}
}

/* ---- steps ----------------------------------------------------------- */

int
vsi_server_fd(const struct vsi_server *s)
{
	return s->epoll;
}

void
vsi_server_step(struct vsi_server *s)
{
	struct epoll_event event[EVENTS];
	int n = epoll_wait(s->epoll, event, EVENTS, 0);
	bool again = false, later = false;

	for (int i = 0; i < n; i++) {
		uint32_t which = (uint32_t)event[i].data.u64;

		if (which & IS_AGAIN)
			again = true;
		else if (which & IS_LATER)
			later = true;
		else if (which & IS_LISTENER)
			clients_accept(s);
		else
			client_event(s, &event[i]);
	}
	if (again)
		again_take(s);
	if (later)
		later_take(s);
}

/* ---- the sockets ----------------------------------------------------- */

static int
address_add(struct vsi_server *s, const char *text, struct fault *fault)
{
	int err = listener_add_tcp(&s->listener, text);

	if (!err)
		return 0;
	fault_set(fault, err, err == -EADDRINUSE ? "busy" : "io",
		  "cannot listen for VSI-S commands on %s", text);
	fault_why(fault, "%s",
		  err == -E2BIG ? "these are too many addresses"
				: strerror(-err));
	if (err == -EADDRINUSE)
		fault_hint(fault, "stop the jive5ab or spate-vsi that has "
				  "that port, or set vsi.listen to another");
	return err;
}

static int
set_make(struct vsi_server *s)
{
	const struct listener_rules rules = { .name = "vsi",
					      .connections = VSI_CLIENTS,
					      .of_one = VSI_OF_ONE,
					      .expel = client_expel,
					      .arg = s };
	struct epoll_event comes = { EPOLLIN, { .u64 = IS_LISTENER } };
	struct epoll_event again = { EPOLLIN, { .u64 = IS_AGAIN } };
	struct epoll_event later = { EPOLLIN, { .u64 = IS_LATER } };
	int err = listener_open(&s->listener, &rules);

	if (err)
		return err;
	s->again = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	s->later = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (s->again < 0 || s->later < 0 || s->epoll < 0 ||
	    epoll_ctl(s->epoll, EPOLL_CTL_ADD, listener_fd(&s->listener),
		      &comes) < 0 ||
	    epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->again, &again) < 0 ||
	    epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->later, &later) < 0)
		return -errno;
	return 0;
}

int
vsi_server_open(struct vsi_server **server, const struct vsi_server_args *args,
		struct fault *fault)
{
	struct vsi_server *s = calloc(1, sizeof *s);
	int err;

	if (!s)
		return fault_no_memory(fault);
	s->args = *args;
	s->epoll = s->again = s->later = -1;
	err = set_make(s);
	if (err)
		fault_set(fault, err, "io", "cannot listen for VSI-S commands");
	for (unsigned i = 0; i < args->listen.n && !err; i++)
		err = address_add(s, args->listen.text[i], fault);
	if (err) {
		vsi_server_close(s);
		return err;
	}
	*server = s;
	return 0;
}

void
vsi_server_close(struct vsi_server *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < ALL; i++) {
		if (s->client[i])
			client_close(s, i);
	}
	listener_close(&s->listener);
	if (s->epoll >= 0)
		close(s->epoll);
	if (s->again >= 0)
		close(s->again);
	if (s->later >= 0)
		close(s->later);
	free(s);
}
