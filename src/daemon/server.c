/* SPDX-License-Identifier: MIT */
/*
 * Sockets are not blocking.  What a client does not take at once waits in
 * its buffer; a client that lets more than OUT_MOST wait is cut off, so a
 * stopped terminal cannot eat the daemon's memory.
 *
 * Whose socket it is, is settled by a lock on <socket>.lock: the socket file
 * itself survives a kill -9, and connecting to it to find out would race.
 */
#include "config.h"

#include "daemon/server.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/control.h"
#include "base/log.h"

enum { CLIENTS = 256, OUT_MOST = 16 << 20, EVENTS = 32 };

struct client {
	uint64_t number;
	int fd;
	bool greeted;
	struct control_lines in;
	char *out;
	size_t out_bytes, out_sent;
	struct client *next; /* server::clients */
};

struct server {
	char path[sizeof((struct sockaddr_un *)0)->sun_path];
	struct server_hooks hooks;
	int lock, listen, epoll;
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
	client_poll(s, c, EPOLL_CTL_MOD, EPOLLIN);
	return true;
}

/* Takes a text of JSON over; NULL is one that found no memory. */
static bool
client_put(struct server *s, struct client *c, char *text)
{
	size_t length = text ? strlen(text) : 0;
	char *out = NULL;

	if (text && c->out_bytes + length < OUT_MOST)
		out = realloc(c->out, c->out_bytes + length + 1);
	if (!out) {
		free(text);
		client_close(s, c);
		return false;
	}
	c->out = out;
	memcpy(out + c->out_bytes, text, length);
	out[c->out_bytes + length] = '\n';
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

static void
client_read(struct server *s, struct client *c)
{
	int n = control_lines_read(&c->in, c->fd);
	char *text;

	if (n <= 0 && n != -EAGAIN) {
		client_close(s, c);
		return;
	}
	while ((text = control_lines_next(&c->in))) {
		if (!line_take(s, c, text))
			return;
	}
}

static void
client_accept(struct server *s)
{
	int fd = accept4(s->listen, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
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

	for (int i = 0; i < n; i++) {
		struct client *c = client_find(s, event[i].data.u64);

		if (event[i].data.u64 == 0)
			client_accept(s);
		else if (c && event[i].events & EPOLLOUT)
			client_flush(s, c);
		else if (c)
			client_read(s, c);
	}
}

/* ---- the socket ------------------------------------------------------ */

/* Of a folder that is not there or not ours, or of a user who was here. */
static const char *
lock_hint(const char *lock)
{
	if (access(lock, F_OK) == 0)
		return "a spated of another user left that file; remove it, "
		       "or set control.socket to another path";
	return "make its folder, writable for this user, or set "
	       "control.socket to another path";
}

static int
lock_take(struct server *s, struct fault *fault)
{
	char lock[sizeof s->path + 8];
	int err;

	snprintf(lock, sizeof lock, "%s.lock", s->path);
	s->lock = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (s->lock >= 0 && flock(s->lock, LOCK_EX | LOCK_NB) == 0)
		return 0;
	err = errno == EWOULDBLOCK ? -EADDRINUSE : -errno;
	fault_set(fault, err, "busy", "cannot listen on %s", s->path);
	if (err == -EADDRINUSE) {
		fault_why(fault, "another spated has it");
		fault_hint(fault, "stop that one, or set control.socket to "
				  "another path");
	} else {
		fault_why(fault, "%s: %s", lock, strerror(-err));
		fault_hint(fault, "%s", lock_hint(lock));
	}
	return err;
}

static void
group_allow(const struct server *s, const char *group)
{
	struct group *g = group ? getgrnam(group) : NULL;

	if (!group)
		return;
	if (g && chown(s->path, (uid_t)-1, g->gr_gid) == 0 &&
	    chmod(s->path, 0660) == 0)
		return;
	log_line(LOG_WARN, NULL, "%s is for this user alone: %s", s->path,
		 g ? "only root or a member can give it to its group"
		   : "there is no group of that name");
}

static int
socket_bind(struct server *s)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	mode_t mask;
	int err = 0;

	memcpy(a.sun_path, s->path, sizeof a.sun_path);
	s->listen =
	    socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->listen < 0)
		return -errno;
	unlink(s->path); /* of a daemon that is gone: we have the lock */
	mask = umask(0177);
	if (bind(s->listen, (struct sockaddr *)&a, sizeof a) < 0 ||
	    listen(s->listen, 64) < 0)
		err = -errno;
	umask(mask);
	return err;
}

static int
socket_open(struct server *s, struct fault *fault)
{
	struct epoll_event e = { .events = EPOLLIN, .data.u64 = 0 };
	int err = socket_bind(s);

	if (!err) {
		s->epoll = epoll_create1(EPOLL_CLOEXEC);
		if (s->epoll < 0 ||
		    epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->listen, &e) < 0)
			err = -errno;
	}
	if (err) {
		fault_set(fault, err, "io", "cannot listen on %s", s->path);
		fault_why(fault, "%s", strerror(-err));
	}
	return err;
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
	s->lock = s->listen = s->epoll = -1;
	if (strlen(path) >= sizeof s->path) {
		err = fault_set(fault, -ENAMETOOLONG, "conf",
				"%s is too long for a socket's path", path);
		goto fail;
	}
	memcpy(s->path, path, strlen(path));
	err = lock_take(s, fault);
	if (!err)
		err = socket_open(s, fault);
	if (err)
		goto fail;
	group_allow(s, group);
	*server = s;
	return 0;

fail:
	s->path[0] = 0; /* not ours to remove */
	server_close(s);
	return err;
}

void
server_close(struct server *s)
{
	if (!s)
		return;
	while (s->clients)
		client_close(s, s->clients);
	if (s->path[0])
		unlink(s->path);
	if (s->epoll >= 0)
		close(s->epoll);
	if (s->listen >= 0)
		close(s->listen);
	if (s->lock >= 0)
		close(s->lock);
	free(s);
}
