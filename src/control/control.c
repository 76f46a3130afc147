/* SPDX-License-Identifier: MIT */
/*
 * The client's end of the control socket, and what both ends need: lines from a
 * socket, and the conversion of faults to JSON.
 *
 * The client never blocks for ever on a daemon that does not answer: every
 * exchange has one deadline, and both sending and reading poll until then.
 *
 * Lines are split from a stream of bytes.  Bytes that were read and not yet
 * returned lie from `start` to `used`; they are moved to the front before each
 * read, so that the buffer grows no larger than the longest line allows.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "control/control.h"

/* ---- lines ---------------------------------------------------------------- */

static void
fds_take(struct control_fds *f, const struct cmsghdr *c)
{
	size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	int fd;

	for (size_t i = 0; i < n; i++) {
		memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
		if (f->n < CONTROL_FDS)
			f->fd[f->n++] = fd;
		else if (f->close)
			f->close(f->arg, fd);
		else
			close(fd);
	}
}

static ssize_t
read_fds(struct control_fds *f, int fd, char *to, size_t room)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof f->fd)];
	} control;
	struct iovec data = { to, room };
	struct msghdr m = { .msg_iov = &data,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof control };
	ssize_t got = recvmsg(fd, &m, MSG_CMSG_CLOEXEC);

	for (struct cmsghdr *c = got < 0 ? NULL : CMSG_FIRSTHDR(&m); c;
	     c = CMSG_NXTHDR(&m, c)) {
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			fds_take(f, c);
	}
	return got;
}

static ssize_t
read_some(struct control_lines *l, int fd)
{
	char *to = l->data + l->used;
	size_t room = l->room - l->used;

	return l->fds ? read_fds(l->fds, fd, to, room) : read(fd, to, room);
}

int
control_lines_read(struct control_lines *l, int fd)
{
	size_t room = l->room ? 2 * l->room : 4096;
	char *data;
	ssize_t got;

	if (l->start) {
		l->used -= l->start;
		memmove(l->data, l->data + l->start, l->used);
		l->start = 0;
	}
	if (l->used >= (l->most ? l->most : CONTROL_LINE))
		return -EMSGSIZE;
	if (l->used == l->room) {
		data = realloc(l->data, room);
		if (!data)
			return -ENOMEM;
		l->data = data;
		l->room = room;
	}
	do
		got = read_some(l, fd);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	l->used += got;
	return got;
}

char *
control_lines_next(struct control_lines *l)
{
	char *line, *end;

	if (l->used == l->start)
		return NULL;
	line = l->data + l->start;
	end = memchr(line, '\n', l->used - l->start);
	if (!end)
		return NULL;
	*end = '\0';
	l->start = end + 1 - l->data;
	return line;
}

void
control_lines_clear(struct control_lines *l)
{
	free(l->data);
	*l = (struct control_lines){ 0 };
}

/* ---- the client ----------------------------------------------------------- */

/*
 * All codes that a fault may have, with the errno that a client's call returns.
 */
static const struct {
	const char *code;
	int err;
} codes[] = {
	{ "internal", EIO },	 { "usage", EINVAL },	  { "exists", EEXIST },
	{ "not-found", ENOENT }, { "no-memory", ENOMEM }, { "no-disk", ENOSPC },
	{ "busy", EBUSY },	 { "bad-name", EINVAL },  { "io", EIO },
	{ "conf", EINVAL },	 { "again", EAGAIN },
};

static unsigned
find_code(const char *code)
{
	for (unsigned i = 0; i < sizeof codes / sizeof *codes; i++)
		if (code && strcmp(code, codes[i].code) == 0)
			return i;
	return 0;
}

/*
 * Replaces what is not UTF-8, which JSON demands: text from files, and text
 * that was cut, need not be.
 */
static json_t *
text_to_json(const char *text)
{
	char plain[sizeof((struct fault *)0)->what];
	json_t *json = json_string(text);

	if (json)
		return json;
	snprintf(plain, sizeof plain, "%s", text);
	for (char *c = plain; *c; c++)
		if (*c & 0x80)
			*c = '?';
	return json_string(plain);
}

json_t *
control_fault(const struct fault *fault)
{
	return json_pack(
	    "{s:s s:o s:o s:o}", "code", fault->code ? fault->code : "internal",
	    "what", text_to_json(fault->what), "why", text_to_json(fault->why),
	    "try", text_to_json(fault->hint));
}

static const char *
text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

void
control_fault_read(struct fault *fault, const json_t *error)
{
	const char *what = text_of(error, "what");
	unsigned code = find_code(text_of(error, "code"));

	fault_set(fault, 0, codes[code].code, "%s",
		  *what ? what : "spated failed and did not say why");
	fault_why(fault, "%s", text_of(error, "why"));
	fault_hint(fault, "%s", text_of(error, "try"));
}

struct control {
	int fd;
	int wait_ms;   /* patience for one answer; negative: for ever */
	json_int_t id; /* ID of the last request */
	char *socket;
	struct control_lines lines;
	struct control_fds fds; /* received, and not yet fetched by
				 * control_ask_fds() */
};

static int64_t
deadline_of(const struct control *c)
{
	if (c->wait_ms < 0)
		return INT64_MAX;
	return clock_steady() + (int64_t)c->wait_ms * 1000000;
}

static int
wait_until(int fd, short events, int64_t deadline)
{
	struct pollfd p = { .fd = fd, .events = events };
	int64_t left;
	int n;

	do {
		left = (deadline - clock_steady()) / 1000000 + 1;
		if (left > INT_MAX)
			left = INT_MAX;
		n = left > 0 ? poll(&p, 1, left) : 0;
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return n ? 0 : -ETIMEDOUT;
}

/* Sends once, and with it the descriptor, unless it is negative. */
static ssize_t
send_some(const struct control *c, const char *text, size_t bytes, int fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof fd)];
	} control = { .head = { .cmsg_len = CMSG_LEN(sizeof fd),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS } };
	struct iovec data = { (char *)text, bytes };
	struct msghdr m = { .msg_iov = &data, .msg_iovlen = 1 };

	if (fd >= 0) {
		memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
		m.msg_control = &control;
		m.msg_controllen = sizeof control;
	}
	return sendmsg(c->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Sends one object as a line, and with it a descriptor unless it is negative.
 * 0, or -errno. */
static int
send_line(struct control *c, const json_t *json, int fd, int64_t deadline)
{
	char *text = json_dumps(json, JSON_COMPACT);
	size_t length, done = 0;
	ssize_t sent;
	int err = text ? 0 : -ENOMEM;

	if (err)
		return err;
	length = strlen(text);
	text[length++] = '\n'; /* replaces the terminating NUL */
	while (done < length && !err) {
		sent = send_some(c, text + done, length - done, done ? -1 : fd);
		if (sent >= 0)
			done += sent;
		else if (errno == EAGAIN)
			err = wait_until(c->fd, POLLOUT, deadline);
		else if (errno != EINTR)
			err = -errno;
	}
	free(text);
	return err;
}

/*
 * Reads one object into *json, a reference that the caller drops.  0, or
 * -errno.
 */
static int
read_line(struct control *c, json_t **json, int64_t deadline)
{
	char *line;
	int got;

	while (!(line = control_lines_next(&c->lines))) {
		got = wait_until(c->fd, POLLIN, deadline);
		if (got)
			return got;
		got = control_lines_read(&c->lines, c->fd);
		if (got == 0)
			return -ECONNRESET;
		if (got < 0 && got != -EAGAIN)
			return got;
	}
	*json = json_loads(line, 0, NULL);
	if (json_is_object(*json))
		return 0;
	json_decref(*json);
	return -EPROTO;
}

static int
talk_fault(const struct control *c, int err, struct fault *fault)
{
	char span[24];

	snprintf(span, sizeof span, "%d ms", c->wait_ms);
	fault_set(fault, err, "io", "cannot talk to spated at %s", c->socket);
	switch (err) {
	case -ETIMEDOUT: fault_why(fault, "no answer within %s", span); break;
	case -EPIPE:
	case -ECONNRESET:
		fault_why(fault, "it closed the connection");
		fault_hint(fault, "its log says why it ended");
		break;
	case -EPROTO:
		fault_why(fault, "what it says is not spate's protocol");
		fault_hint(fault, "another socket is named with --socket");
		break;
	case -EMSGSIZE: fault_why(fault, "its answer is too long"); break;
	default: fault_why(fault, "%s", strerror(-err)); break;
	}
	return err;
}

static int
connect_fault(const char *path, int err, struct fault *fault)
{
	const char *hint =
	    "start it with 'spated -c CONF' or name its socket with --socket";

	fault_set(fault, err, "io", "cannot reach spated at %s", path);
	switch (err) {
	case -ENOENT: fault_why(fault, "no such file"); break;
	case -ECONNREFUSED: fault_why(fault, "nobody listens there"); break;
	case -ENAMETOOLONG: fault_why(fault, "the path is too long"); break;
	case -EACCES:
		fault_why(fault, "this user may not use it");
		hint = "become a member of the group that the socket is for";
		break;
	default: fault_why(fault, "%s", strerror(-err)); break;
	}
	fault_hint(fault, "%s", hint);
	return err;
}

/* Connects to the unix socket at `path`.  Returns the socket, or -errno. */
static int
connect_to(const char *path, int wait_ms)
{
	/* for connect(), which waits while too many connections do */
	struct timeval wait = { wait_ms / 1000, wait_ms % 1000 * 1000 };
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd, err;

	if (strlen(path) >= sizeof to.sun_path)
		return -ENAMETOOLONG;
	strcpy(to.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
	if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0)
		return fd;
	err = errno == EAGAIN ? -ETIMEDOUT : -errno;
	close(fd);
	return err;
}

/* Exchanges the protocol's number: each side sends its own first. */
static int
greet(struct control *c, struct fault *fault)
{
	json_t *ours = json_pack("{s:i}", "protocol", CONTROL_PROTOCOL);
	json_t *theirs = NULL;
	int64_t deadline = deadline_of(c);
	json_int_t protocol;
	int err;

	err = ours ? send_line(c, ours, -1, deadline) : -ENOMEM;
	json_decref(ours);
	if (!err)
		err = read_line(c, &theirs, deadline);
	if (err)
		return talk_fault(c, err, fault);
	protocol = json_integer_value(json_object_get(theirs, "protocol"));
	json_decref(theirs);
	if (protocol == CONTROL_PROTOCOL)
		return 0;
	talk_fault(c, -EPROTO, fault);
	if (protocol > 0)
		fault_why(fault, "it speaks protocol %lld, and this program %d",
			  (long long)protocol, CONTROL_PROTOCOL);
	return -EPROTO;
}

int
control_open(struct control **control, const char *socket, struct fault *fault)
{
	return control_open_within(control, socket, CONTROL_WAIT_MS, fault);
}

int
control_open_within(struct control **control, const char *socket, int wait_ms,
		    struct fault *fault)
{
	struct control *c = calloc(1, sizeof *c);
	int err;

	if (!c)
		goto no_memory;
	c->wait_ms = wait_ms;
	c->lines.most = CONTROL_ANSWER;
	c->lines.fds = &c->fds;
	c->fd = -1;
	c->socket = strdup(socket);
	if (!c->socket)
		goto no_memory;
	c->fd = connect_to(socket, wait_ms);
	err = c->fd < 0 ? connect_fault(socket, c->fd, fault) : greet(c, fault);
	if (err)
		control_close(c);
	else
		*control = c;
	return err;
no_memory:
	control_close(c);
	return fault_set(fault, -ENOMEM, "no-memory",
			 "cannot reach spated: no memory");
}

void
control_wait(struct control *c, int wait_ms)
{
	c->wait_ms = wait_ms;
}

/* Skips events, and late answers to requests whose wait is over. */
static int
read_answer(struct control *c, json_t **answer, int64_t deadline)
{
	json_t *id;
	int err;

	for (;;) {
		err = read_line(c, answer, deadline);
		if (err)
			return err;
		id = json_object_get(*answer, "id");
		if (json_is_integer(id) && json_integer_value(id) == c->id)
			return 0;
		json_decref(*answer);
	}
}

int
control_ask_with(struct control *c, const char *verb, json_t *request, int fd,
		 json_t **result, struct fault *fault)
{
	int64_t deadline = deadline_of(c);
	json_t *answer = NULL;
	int err = -ENOMEM;

	if (!request)
		request = json_object();
	if (json_object_set_new(request, "id", json_integer(++c->id)) == 0 &&
	    json_object_set_new(request, "do", json_string(verb)) == 0)
		err = send_line(c, request, fd, deadline);
	json_decref(request);
	if (!err)
		err = read_answer(c, &answer, deadline);
	if (err)
		return talk_fault(c, err, fault);
	if (!json_is_true(json_object_get(answer, "ok"))) {
		control_fault_read(fault, json_object_get(answer, "error"));
		err = -codes[find_code(fault->code)].err;
	} else if (result) {
		*result = json_incref(json_object_get(answer, "result"));
		if (!*result)
			*result = json_object();
	}
	json_decref(answer);
	return err;
}

int
control_ask(struct control *c, const char *verb, json_t *request,
	    json_t **result, struct fault *fault)
{
	return control_ask_with(c, verb, request, -1, result, fault);
}

static void
fds_close(struct control *c)
{
	while (c->fds.n)
		close(c->fds.fd[--c->fds.n]);
}

int
control_ask_fds(struct control *c, const char *verb, json_t *request,
		json_t **result, int *fd, unsigned n, struct fault *fault)
{
	int err = control_ask(c, verb, request, result, fault);
	unsigned came = err || c->fds.n < n ? 0 : n;

	for (unsigned i = 0; i < n; i++)
		fd[i] = i < came ? c->fds.fd[i] : -1;
	c->fds.n -= came;
	for (unsigned i = 0; came && i < c->fds.n; i++)
		c->fds.fd[i] = c->fds.fd[came + i];
	return err;
}

int
control_fd(const struct control *c)
{
	return c->fd;
}

void
control_close(struct control *c)
{
	if (!c)
		return;
	if (c->fd >= 0)
		close(c->fd);
	control_lines_clear(&c->lines);
	fds_close(c);
	free(c->socket);
	free(c);
}
