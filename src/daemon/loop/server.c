/* SPDX-License-Identifier: MIT */
/*
 * All sockets are non-blocking.  Output that a client does not read waits
 * (struct unsent) up to a limit, and then the client is disconnected.  Long
 * before that, no more requests are read from it.
 *
 * Clients take turns: a request beyond a client's share of a step waits for the
 * next step, which `again` (an eventfd) causes at once.  So a script that asks
 * without end does not keep the event loop busy.
 *
 * A lock on <socket>.lock decides who owns the socket.  The socket file itself
 * survives a kill -9, and a connection to find out would race.
 *
 * A stream socket keeps descriptors with the byte they were sent with; the read
 * that takes this byte gets them.  So earlier bytes are sent first, and a line
 * with descriptors begins a call of its own.
 */
#include "daemon/loop/server.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "control/control.h"
#include "control/listener.h"
#include "daemon/loop/closer.h"

/* The file of the control socket, and the lock that says which daemon owns
 * it. */
struct socket_file {
	char path[sizeof((struct sockaddr_un *)0)->sun_path];
	int lock, listen; /* descriptors; -1: none */
};

/*
 * Output for a client of the control socket that was not sent yet: lines, and
 * at most once descriptors, which go with the first byte of the line after
 * them.
 */
struct unsent {
	char *data;
	size_t bytes, sent, room;
	int fd[SERVER_FDS]; /* borrowed */
	unsigned fds;	    /* number of descriptors to send, */
	size_t fds_at;	    /* with the byte at this offset */
};

/* ---- the socket ------------------------------------------------------ */

/* Says what to do if the lock file belongs to another user, or cannot be
 * made. */
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
lock_take(struct socket_file *s, struct fault *fault)
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

static int
socket_bind(struct socket_file *s)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	mode_t mask;
	int err = 0;

	memcpy(a.sun_path, s->path, sizeof a.sun_path);
	s->listen =
	    socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->listen < 0)
		return -errno;
	unlink(s->path); /* left by a daemon that is gone: we hold the lock */
	mask = umask(0177);
	if (bind(s->listen, (struct sockaddr *)&a, sizeof a) < 0)
		err = -errno;
	umask(mask);
	return err;
}

static void
socket_close(struct socket_file *s)
{
	if (s->path[0])
		unlink(s->path);
	if (s->listen >= 0)
		close(s->listen);
	if (s->lock >= 0)
		close(s->lock);
	*s = (struct socket_file){ .lock = -1, .listen = -1 };
}

/* Takes the lock and binds the socket.  Returns 0, or -errno with a fault and
 * nothing to close; -EADDRINUSE if another daemon has it. */
static int
socket_open(struct socket_file *s, const char *path, struct fault *fault)
{
	int err;

	*s = (struct socket_file){ .lock = -1, .listen = -1 };
	if (strlen(path) >= sizeof s->path)
		return fault_set(fault, -ENAMETOOLONG, "conf",
				 "%s is too long for a socket's path", path);
	memcpy(s->path, path, strlen(path));
	err = lock_take(s, fault);
	if (!err) {
		err = socket_bind(s);
		if (err) {
			fault_set(fault, err, "io", "cannot listen on %s",
				  path);
			fault_why(fault, "%s", strerror(-err));
		}
	}
	if (err) {
		s->path[0] = '\0'; /* not ours to remove */
		socket_close(s);
	}
	return err;
}

/* ---- output that waits ----------------------------------------------- */

enum {
	OUT_MOST = 16 << 20,
	OUT_KEPT = 64 << 10, /* a larger buffer is freed when it is empty */
};

static void
unsent_init(struct unsent *o)
{
	*o = (struct unsent){ 0 };
}

static void
unsent_clear(struct unsent *o)
{
	free(o->data);
	unsent_init(o);
}

/* Makes room for `bytes` more, at least doubling.  Returns 0 or -errno. */
static int
grow(struct unsent *o, size_t bytes)
{
	size_t need = o->bytes + bytes, room = o->room;
	char *data;

	if (need > OUT_MOST)
		return -EMSGSIZE;
	if (need <= room)
		return 0;
	room = 2 * room > need ? 2 * room : need;
	data = realloc(o->data, room);
	if (!data)
		return -ENOMEM;
	o->data = data;
	o->room = room;
	return 0;
}

/* Appends a text, which it takes over, and a newline.  Returns 0; -ENOMEM; or
 * -EMSGSIZE if the client does not read and 16 MiB wait already: a stopped
 * terminal must not use up the daemon's memory. */
static int
unsent_line(struct unsent *o, char *text)
{
	size_t bytes = strlen(text) + 1;
	int err;

	text[bytes - 1] = '\n';
	/* A long answer alone becomes the buffer: it has hundreds of KiB. */
	if (!o->bytes && bytes > o->room && bytes <= OUT_MOST) {
		free(o->data);
		o->data = text;
		o->bytes = o->room = bytes;
		return 0;
	}
	err = grow(o, bytes);
	if (!err) {
		memcpy(o->data + o->bytes, text, bytes);
		o->bytes += bytes;
	}
	free(text);
	return err;
}

/* Sends the descriptors with the next line that is added. */
static void
unsent_fds(struct unsent *o, const int *fd, unsigned n)
{
	memcpy(o->fd, fd, n * sizeof *fd);
	o->fds = n;
	o->fds_at = o->bytes;
}

static ssize_t
send_fds(const struct unsent *o, int fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof o->fd)];
	} control = { 0 };
	struct iovec data = { o->data + o->sent, o->bytes - o->sent };
	struct msghdr m = { .msg_iov = &data,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen =
				CMSG_SPACE(o->fds * sizeof(int)) };

	control.head =
	    (struct cmsghdr){ .cmsg_len = CMSG_LEN(o->fds * sizeof(int)),
			      .cmsg_level = SOL_SOCKET,
			      .cmsg_type = SCM_RIGHTS };
	memcpy(CMSG_DATA(&control.head), o->fd, o->fds * sizeof(int));
	return sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static ssize_t
send_some(struct unsent *o, int fd)
{
	size_t end = o->fds ? o->fds_at : o->bytes;
	ssize_t n;

	if (o->sent < end)
		return send(fd, o->data + o->sent, end - o->sent,
			    MSG_NOSIGNAL | MSG_DONTWAIT);
	n = send_fds(o, fd);
	if (n > 0)
		o->fds = 0;
	return n;
}

/* Sends as much as the socket takes.  Returns 0 if all is sent, -EAGAIN if not,
 * or -errno. */
static int
unsent_flush(struct unsent *o, int fd)
{
	while (o->sent < o->bytes) {
		ssize_t n = send_some(o, fd);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			o->sent += (size_t)n;
	}
	o->bytes = o->sent = 0;
	if (o->room > OUT_KEPT)
		unsent_clear(o);
	return 0;
}

/* ---- clients --------------------------------------------------------- */

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
	struct listener_entry entry; /* proved: it has greeted */
	uint64_t number;
	int fd;
	bool again;	/* has more requests than its share */
	unsigned round; /* step of its last turn */
	struct control_lines in;
	struct control_fds fds; /* came, and were not taken yet */
	struct unsent out;
	bool gave;	     /* descriptors were sent; only once */
	unsigned open;	     /* unanswered requests */
	struct client *next; /* server::clients */
};

struct server {
	struct socket_file socket;
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
fd_drop(void *closer, int fd)
{
	closer_close(closer, fd);
}

static void
fds_drop(struct client *c)
{
	while (c->fds.n)
		fd_drop(c->fds.arg, c->fds.fd[--c->fds.n]);
}

static void
client_close(struct server *s, struct client *c)
{
	struct client **at = &s->clients;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	s->n--;
	listener_leave(&s->listener, &c->entry);
	close(c->fd);
	fds_drop(c);
	control_lines_clear(&c->in);
	unsent_clear(&c->out);
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
	int err = unsent_flush(&c->out, c->fd);

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
	int err = text ? unsent_line(&c->out, text) : -ENOMEM;

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
	c->entry.busy = c->open || c->gave;
}

bool
server_waits(struct server *s, struct server_ticket t)
{
	return client_find(s, t.client) != NULL;
}

uid_t
server_user(struct server *s, struct server_ticket t)
{
	const struct client *c = client_find(s, t.client);
	uid_t user = 0;

	if (c)
		memcpy(&user, c->entry.key, sizeof user);
	return user;
}

int
server_fd_take(struct server *s, struct server_ticket t)
{
	struct client *c = client_find(s, t.client);
	int fd = c && c->fds.n ? c->fds.fd[0] : -1;

	if (fd >= 0)
		memmove(c->fds.fd, c->fds.fd + 1, --c->fds.n * sizeof fd);
	return fd;
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
		unsent_fds(&c->out, fd, n);
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

	if (p == CONTROL_PROTOCOL && !listener_prove(&s->listener, &c->entry))
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

	if (!c->entry.proved)
		return greeting(s, c, line);
	c->entry.busy = ++c->open;
	if (c->open > OPEN) {
		fault_set(&fault, -EBUSY, "busy",
			  "%d requests of this connection wait for their "
			  "answers already",
			  OPEN);
		server_refuse(s, t, &fault);
	} else if (verb) {
		s->hooks.ask(s->hooks.arg, t, verb, line);
	} else {
		fault_set(&fault, -EINVAL, "usage", "a request needs \"do\"");
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

/*
 * Handles a client's share of the lines read, while it reads its answers.
 * Descriptors end with the last line that was read: one that its request did
 * not take must not be another request's.
 */
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
		if (c->in.start == c->in.used)
			fds_drop(c);
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
		c->entry.heard = clock_steady();
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

	if (!c || listener_enter(&s->listener, &c->entry, from)) {
		free(c);
		close(fd);
		return;
	}
	c->fd = fd;
	c->fds.close = fd_drop;
	c->fds.arg = s->hooks.closer;
	c->in.fds = &c->fds;
	unsent_init(&c->out);
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
client_expel(void *arg, struct listener_entry *p)
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
	eventfd_t turns;
	/* Read before any turn of this step, which may write it for the
	 * next. */
	bool again = eventfd_read(s->again, &turns) == 0;

	s->rounds++;
	for (int i = 0; i < n; i++) {
		struct client *c = client_find(s, event[i].data.u64);

		if (event[i].data.u64 == LISTENER)
			clients_accept(s);
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
server_open(struct server **server, const char *path,
	    const struct server_hooks *hooks, struct fault *fault)
{
	struct server *s = calloc(1, sizeof *s);
	const struct listener_rules rules = { .name = "control socket",
					      .connections = CLIENTS,
					      .of_one = OF_ONE,
					      .expel = client_expel,
					      .arg = s };
	int err;

	if (!s)
		return fault_no_memory(fault);
	s->hooks = *hooks;
	s->numbers = AGAIN;
	s->epoll = s->again = -1;
	err = socket_open(&s->socket, path, fault);
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
server_group(struct server *s, const char *group)
{
	const char *path = s->socket.path, *why = NULL;
	const struct group *g = group ? getgrnam(group) : NULL;

	if (group && !g)
		why = "there is no group of that name";
	else if (g && chown(path, (uid_t)-1, g->gr_gid) < 0)
		why = "only root or a member can give it to its group";
	if (chmod(path, g && !why ? 0660 : 0600) < 0 && !why)
		why = strerror(errno);
	if (why)
		log_line(LEVEL_WARN, NULL, "%s is for this user alone: %s",
			 path, why);
}

void
server_close(struct server *s)
{
	if (!s)
		return;
	while (s->clients)
		client_close(s, s->clients);
	listener_close(&s->listener);
	socket_close(&s->socket);
	if (s->epoll >= 0)
		close(s->epoll);
	if (s->again >= 0)
		close(s->again);
	free(s);
}
