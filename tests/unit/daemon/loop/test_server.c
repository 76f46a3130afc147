/* SPDX-License-Identifier: MIT */
/* The daemon's end of the control socket, in one thread with its clients. */
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "control/listener.c"
#include "daemon/loop/server.c"
#include "lib/scratch.h"
#include "lib/suite.h"

static struct scratch scratch;
static struct server *server;
static struct closer *closer;
static char path[400];
static unsigned asked;
static struct server_ticket last;
static int took[3]; /* by "take"; -1: none came */

/* "later" is not answered. */
static void
ask(void *arg, struct server_ticket t, const char *verb, const json_t *request)
{
	(void)arg;
	(void)request;
	asked++;
	last = t;
	for (int i = 0; i < 3 && !strcmp(verb, "take"); i++)
		took[i] = server_fd_take(server, t);
	if (strcmp(verb, "later"))
		server_answer(server, t, json_string(verb));
}

static void
begin(void)
{
	struct server_hooks hooks = { .ask = ask };
	struct fault fault = { 0 };

	asked = 0;
	ck_assert_int_eq(closer_start(&closer), 0);
	hooks.closer = closer;
	scratch_make(&scratch);
	snprintf(path, sizeof path, "%s/socket", scratch.path);
	ck_assert_msg(server_open(&server, path, &hooks, &fault) == 0, "%s",
		      fault.what);
}

static void
end(void)
{
	server_close(server);
	closer_stop(closer);
	ck_assert_int_eq(access(path, F_OK), -1);
	scratch_remove(&scratch);
}

static void
step(void)
{
	struct pollfd fd = { server_fd(server), POLLIN, 0 };

	for (int i = 0; i < 100000 && poll(&fd, 1, 1) > 0; i++)
		server_step(server);
}

static int
client_begin(void)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(to.sun_path, sizeof to.sun_path, "%.100s", path);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
	ck_assert_int_gt(write(fd, "{\"protocol\":1}\n", 15), 0);
	return fd;
}

static int
client(bool greet)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd;

	if (greet) {
		fd = client_begin();
		step();
		return fd;
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(to.sun_path, sizeof to.sun_path, "%.100s", path);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
	step();
	return fd;
}

/* All that came; NULL: cut off. */
static const char *
heard(int fd)
{
	static char text[1 << 20];
	ssize_t n, all = 0;

	step();
	while ((n = recv(fd, text + all, sizeof text - 1 - (size_t)all,
			 MSG_DONTWAIT)) > 0)
		all += n;
	text[all] = '\0';
	return !all && (n == 0 || errno != EAGAIN) ? NULL : text;
}

static void
tell(int fd, const char *text)
{
	ck_assert_int_eq(send(fd, text, strlen(text), MSG_NOSIGNAL),
			 (ssize_t)strlen(text));
}

START_TEST(answers)
{
	struct fault fault = { 0 };
	struct server_ticket later;
	int fd;

	begin();
	fd = client(true);
	ck_assert_str_eq(heard(fd), "{\"protocol\":1}\n");
	tell(fd, "{\"id\":7,\"do\":\"x\"}\n");
	ck_assert_str_eq(heard(fd),
			 "{\"id\":7,\"ok\":true,\"result\":\"x\"}\n");
	tell(fd, "{\"id\":8,\"do\":\"later\"}\n");
	ck_assert_str_eq(heard(fd), "");
	later = last;
	ck_assert(server_waits(server, later));
	fault_set(&fault, -EIO, "io", "it is gone");
	server_refuse(server, later, &fault);
	ck_assert_ptr_nonnull(strstr(heard(fd), "\"it is gone\""));
	close(fd);
	step();
	ck_assert(!server_waits(server, later));
	server_answer(server, later, json_null());
	end();
}
END_TEST

/* An answer that is longer than what the socket takes at once, and one behind it. */
START_TEST(a_long_answer)
{
	enum { LONG = 900000 };
	static const char end_of[] = "yyy\"}\n{\"id\":9,\"ok\":true,"
				     "\"result\":\"x\"}\n";
	static char all[LONG + 200];
	const char *part;
	char *y = malloc(LONG);
	int fd;

	begin();
	fd = client(true);
	heard(fd);
	for (int again = 0; again < 2; again++) {
		tell(fd, "{\"id\":8,\"do\":\"later\"}\n");
		ck_assert_str_eq(heard(fd), "");
		memset(y, 'y', LONG);
		server_answer(server, last, json_stringn(y, LONG));
		ck_assert_uint_gt(server->clients->out.bytes, LONG);
		tell(fd, "{\"id\":9,\"do\":\"x\"}\n");
		all[0] = '\0';
		while (!strstr(all, "\"x\"}")) {
			part = heard(fd);
			ck_assert_ptr_nonnull(part);
			ck_assert_uint_lt(strlen(all) + strlen(part),
					  sizeof all);
			strcat(all, part);
		}
		ck_assert_uint_eq(strspn(strchr(all, 'y'), "y"), LONG);
		ck_assert_str_eq(all + strlen(all) - strlen(end_of), end_of);
		ck_assert_uint_eq(server->clients->out.bytes, 0);
	}
	free(y);
	close(fd);
	end();
}
END_TEST

START_TEST(garbage)
{
	static const char *const greets[] = { "\n", "x\n", "[]\n", "{}\n",
					      "{\"protocol\":2}\n" };
	static const char *const asks[] = { "\n", "x\n", "[1]\n", "7\n" };
	int fd;

	begin();
	for (size_t i = 0; i < sizeof greets / sizeof *greets; i++) {
		fd = client(false);
		heard(fd);
		tell(fd, greets[i]);
		ck_assert_ptr_null(heard(fd));
		close(fd);
	}
	for (size_t i = 0; i < sizeof asks / sizeof *asks; i++) {
		fd = client(true);
		heard(fd);
		tell(fd, asks[i]);
		ck_assert_ptr_null(heard(fd));
		close(fd);
	}
	ck_assert_uint_eq(asked, 0);
	fd = client(true);
	heard(fd);
	tell(fd, "{\"id\":1}\n");
	ck_assert_ptr_nonnull(strstr(heard(fd), "\"ok\":false"));
	close(fd);
	end();
}
END_TEST

/* As much as it takes, until it is cut off. */
static void
pour(int fd, size_t bytes, char letter)
{
	static char text[1 << 16];

	memset(text, letter, sizeof text);
	for (size_t sent = 0; sent < bytes;) {
		size_t n =
		    bytes - sent < sizeof text ? bytes - sent : sizeof text;
		ssize_t did = send(fd, text, n, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (did < 0 && errno != EAGAIN)
			return;
		sent += did > 0 ? (size_t)did : 0;
		step();
	}
}

START_TEST(long_lines)
{
	int fd, other;

	begin();
	other = client(true);
	heard(other);
	for (int greet = 0; greet < 2; greet++) {
		fd = client(greet);
		heard(fd);
		pour(fd, 10 << 20, 'x');
		ck_assert_ptr_null(heard(fd));
		close(fd);
	}
	tell(other, "{\"id\":1,\"do\":\"x\"}\n");
	ck_assert_ptr_nonnull(strstr(heard(other), "true"));
	close(other);
	end();
}
END_TEST

/* One that asks a lot at once, whose buffer a long line made large, leaves
 * others their turn. */
START_TEST(shares)
{
	static char many[64 << 10];
	int fd, other;

	for (int i = 0; i < 3000; i++)
		strcat(many, "{\"id\":1,\"do\":\"a\"}\n");
	begin();
	fd = client(true);
	other = client(true);
	heard(other);
	tell(fd, "{\"id\":1,\"pad\":\"");
	pour(fd, 900 << 10, ' ');
	tell(fd, "\"}\n");
	while (!strstr(heard(fd), "false"))
		;
	tell(fd, many);
	tell(other, "{\"id\":2,\"do\":\"b\"}\n");
	server_step(server);
	server_step(server);
	ck_assert_uint_le(asked, 100);
	ck_assert_uint_ge(asked, 2);
	ck_assert_ptr_nonnull(strstr(heard(other), "\"b\""));
	step();
	ck_assert_uint_eq(asked, 3001);
	/* And in their order, none twice: so many answers. */
	asked = 0;
	for (int i = 0; i < 1000 && asked < 3000; i++) {
		const char *at = heard(fd);

		for (; (at = strstr(at, "\"ok\":true")); at++)
			asked++;
	}
	ck_assert_uint_eq(asked, 3000);
	/* Who goes away with some left is forgotten. */
	tell(fd, many);
	server_step(server);
	close(fd);
	step();
	close(other);
	step();
	ck_assert_uint_eq(server->n, 0);
	end();
}
END_TEST

/* Nor do many who ask a lot keep somebody waiting who asks once. */
/*
 * The turn of one client makes the next step at once; another's lines, all of
 * which come in that step, outlast it.
 */
START_TEST(lines_left_over_wake)
{
	int first, second;

	begin();
	first = client(true);
	second = client(false);
	heard(first);
	heard(second);
	tell(first, "{\"id\":1,\"do\":\"x\"}\n");
	server_step(server);
	ck_assert_uint_eq(asked, 1);
	tell(second, "{\"protocol\":1}\n{\"id\":2,\"do\":\"x\"}\n");
	ck_assert_str_eq(heard(second),
			 "{\"id\":2,\"ok\":true,\"result\":\"x\"}\n");
	close(first);
	close(second);
	end();
}
END_TEST

START_TEST(a_crowd_shares)
{
	enum { CROWD = 40 };
	int fd[CROWD], other;
	char many[2000] = "";

	for (int i = 0; i < 50; i++)
		strcat(many, "{\"id\":1,\"do\":\"a\"}\n");
	begin();
	for (int i = 0; i < CROWD; i++)
		fd[i] = client(true);
	other = client(true);
	heard(other);
	for (int i = 0; i < CROWD; i++)
		tell(fd[i], many);
	tell(other, "{\"id\":2,\"do\":\"b\"}\n");
	while (recv(other, many, sizeof many, MSG_DONTWAIT) < 0)
		server_step(server);
	ck_assert_uint_le(asked, 3 * CROWD);
	step();
	ck_assert_uint_eq(asked, 50 * CROWD + 1);
	for (int i = 0; i < CROWD; i++)
		close(fd[i]);
	close(other);
	step();
	end();
}
END_TEST

static bool
is_answered(int fd)
{
	const char *text;

	tell(fd, "{\"id\":1,\"do\":\"x\"}\n");
	text = heard(fd);
	return text && strstr(text, "\"x\"");
}

/* Those that say nothing take no place from those that do. */
START_TEST(silent_ones_lock_nobody_out)
{
	int fd[CLIENTS + 10], first, newest;

	begin();
	first = client(true);
	for (int i = 0; i < CLIENTS + 10; i++)
		fd[i] = client(false);
	ck_assert_uint_eq(server->n, LISTENER_NEWCOMERS + 1);
	newest = client(true);
	ck_assert(is_answered(newest));
	ck_assert(is_answered(first));
	/* The oldest of them went. */
	heard(fd[0]);
	ck_assert_ptr_null(heard(fd[0]));
	ck_assert_ptr_nonnull(heard(fd[CLIENTS + 9]));
	for (int i = 0; i < CLIENTS + 10; i++)
		close(fd[i]);
	close(first);
	close(newest);
	step();
	ck_assert_uint_eq(server->n, 0);
	end();
}
END_TEST

/* Nor those that have greeted, and then say nothing; but whoever waits for an
 * answer stays. */
START_TEST(idle_ones_lock_nobody_out)
{
	int fd[CLIENTS + 10], waits;

	begin();
	waits = client(true);
	tell(waits, "{\"id\":1,\"do\":\"later\"}\n");
	step();
	for (int i = 0; i < CLIENTS + 10; i++) {
		fd[i] = client(true);
		ck_assert(is_answered(fd[i]));
	}
	ck_assert_uint_eq(server->n, CLIENTS);
	ck_assert_ptr_null(heard(fd[0]));
	ck_assert(is_answered(fd[CLIENTS]));
	heard(waits);
	ck_assert_ptr_nonnull(heard(waits));
	for (int i = 0; i < CLIENTS + 10; i++)
		close(fd[i]);
	close(waits);
	step();
	ck_assert_uint_eq(server->n, 0);
	end();
}
END_TEST

/* Of another user: who waits for answers with all that he may have does not
 * take more, and does not lock out us. */
START_TEST(users_share)
{
	const uid_t users[] = { 65534, 65533, 65532, 65531 };
	int fd[CLIENTS + 64], n = 0;

	if (geteuid())
		return; /* only root can be somebody else */
	begin();
	chmod(scratch.path, 0755);
	chmod(path, 0666);
	for (unsigned u = 0; u < 4; u++) {
		for (int i = 0; i < OF_ONE; i++) {
			ck_assert_int_eq(seteuid(users[u]), 0);
			fd[n] = client_begin();
			ck_assert_int_eq(seteuid(0), 0);
			step();
			tell(fd[n], "{\"id\":1,\"do\":\"later\"}\n");
			step();
			if (u == 0 && i == OF_ONE - 1) {
				int more;

				ck_assert_int_eq(seteuid(users[0]), 0);
				more = client_begin();
				ck_assert_int_eq(seteuid(0), 0);
				heard(more);
				ck_assert_ptr_null(heard(more));
				close(more);
			}
			n++;
		}
	}
	ck_assert_uint_eq(server->n, CLIENTS);
	fd[0] = client(true);
	ck_assert(is_answered(fd[0]));
	end();
}
END_TEST

/* Whoever waits in the kernel's queue for a descriptor does not keep the loop
 * busy until there is one. */
START_TEST(no_descriptors)
{
	struct pollfd wait;
	struct rlimit limit, none;
	int64_t begun;
	int fd, steps = 0, ms;

	begin();
	wait = (struct pollfd){ server_fd(server), POLLIN, 0 };
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	fd = client_begin();
	none = limit;
	none.rlim_cur = (rlim_t)fd + 1;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	begun = clock_steady();
	do {
		if (poll(&wait, 1, 100) > 0) {
			server_step(server);
			steps++;
		}
		ms = (int)((clock_steady() - begun) / 1000000);
	} while (ms < 1000);
	ck_assert_int_le(steps, ms / 100 + 2);
	ck_assert_uint_eq(server->n, 0);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	for (int i = 0; i < 1000 && !server->n; i++) {
		poll(&wait, 1, 100);
		server_step(server);
	}
	heard(fd);
	ck_assert(is_answered(fd));
	close(fd);
	end();
}
END_TEST

/* Its answers do not pile up: no more is read from it. */
START_TEST(never_reads)
{
	static char text[2000] = "{\"id\":1,\"do\":\"";
	unsigned before;
	int fd;

	memset(text + strlen(text), 'x', 1500);
	strcat(text, "\"}\n");
	begin();
	fd = client(true);
	for (int i = 0; i < 10000; i++) {
		before = asked;
		if (send(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT) <
		    0) {
			step();
			if (asked == before)
				break;
		}
		server_step(server);
		ck_assert_uint_le(server->clients->out.bytes,
				  OUT_WAITS + sizeof text);
	}
	step();
	before = asked;
	step();
	ck_assert_uint_eq(asked, before);
	/* When it reads, it gets on. */
	for (int i = 0; i < 100000 && asked <= before + 1; i++)
		ck_assert_ptr_nonnull(heard(fd));
	ck_assert_uint_gt(asked, before + 1);
	close(fd);
	step();
	ck_assert_uint_eq(server->n, 0);
	end();
}
END_TEST

/* Nor do requests that wait for their answers. */
START_TEST(too_many_open)
{
	int fd;

	begin();
	fd = client(true);
	heard(fd);
	for (int i = 0; i < OPEN; i++)
		tell(fd, "{\"id\":1,\"do\":\"later\"}\n");
	ck_assert_str_eq(heard(fd), "");
	tell(fd, "{\"id\":1,\"do\":\"later\"}\n");
	ck_assert_ptr_nonnull(strstr(heard(fd), "\"busy\""));
	server_answer(server, last, json_null());
	ck_assert(is_answered(fd));
	close(fd);
	end();
}
END_TEST

/* What it reads, and the descriptor that came with it; -1: none. */
static ssize_t
hear(int fd, char *text, size_t room, int *got)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(4 * sizeof(int))];
	} control;
	struct iovec data = { text, room - 1 };
	struct msghdr m = { .msg_iov = &data,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof control };
	ssize_t n = recvmsg(fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	*got = -1;
	if (n > 0 && CMSG_FIRSTHDR(&m))
		memcpy(got, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof *got);
	text[n > 0 ? n : 0] = '\0';
	return n;
}

/* With the line that they are of, be the socket full or not; the second time
 * there are none. */
START_TEST(gives_descriptors_once)
{
	static char text[1 << 20];
	struct server_ticket first;
	int fd, got, n = 0, with = 0, pipes[2];

	begin();
	ck_assert_int_eq(pipe(pipes), 0);
	fd = client(true);
	hear(fd, text, sizeof text, &got);
	tell(fd, "{\"id\":1,\"do\":\"later\"}\n");
	step();
	first = last;
	memset(text, 'x', 500000);
	text[500000] = '\0';
	server_answer(server, first, json_string(text));
	ck_assert_uint_gt(server->clients->out.bytes, 0);
	server_answer_fds(server, first, json_object(), pipes, 1);
	server_answer_fds(server, first, json_object(), pipes, 1);
	while (hear(fd, text, sizeof text, &got) > 0) {
		with += got >= 0;
		if (got >= 0)
			ck_assert_ptr_nonnull(strstr(text, "\"fds\":true"));
		for (char *at = text; (at = strstr(at, "\"fds\":false")); at++)
			n++;
		if (got >= 0) {
			ck_assert_int_eq(write(pipes[1], "y", 1), 1);
			ck_assert_int_eq(read(got, text, 1), 1);
			close(got);
		}
		step();
	}
	ck_assert_int_eq(with, 1);
	ck_assert_int_eq(n, 1);
	/* Nobody there; and nothing to give. */
	close(fd);
	step();
	server_answer_fds(server, first, json_object(), pipes, 1);
	fd = client(true);
	tell(fd, "{\"id\":1,\"do\":\"later\"}\n");
	step();
	server_answer_fds(server, last, json_object(), NULL, 0);
	ck_assert_ptr_nonnull(strstr(heard(fd), "\"fds\":false"));
	close(fd);
	close(pipes[0]);
	close(pipes[1]);
	end();
}
END_TEST

/* Sends a line with six descriptors. */
static void
tell_with(int fd, const char *line, int with)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(6 * sizeof(int))];
	} control = { .head = { .cmsg_len = CMSG_LEN(6 * sizeof(int)),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS } };
	struct iovec data = { (char *)line, strlen(line) };
	struct msghdr m = { .msg_iov = &data,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof control };

	for (size_t i = 0; i < 6; i++)
		memcpy(CMSG_DATA(&control.head) + i * sizeof with, &with,
		       sizeof with);
	ck_assert_int_gt(sendmsg(fd, &m, 0), 0);
}

/* A request takes descriptors of its own, of four at most. */
START_TEST(takes_descriptors)
{
	char take[] = "{\"id\":1,\"do\":\"take\"}\n";
	char other[] = "{\"id\":2,\"do\":\"other\"}\n";
	int fd, pipes[2];
	char one;

	begin();
	fd = client(true);
	tell(fd, take);
	step();
	ck_assert_int_eq(took[0], -1);
	ck_assert_int_eq(pipe(pipes), 0);
	/* What a request does not take is closed, not the next one's. */
	tell_with(fd, other, pipes[1]);
	step();
	tell(fd, take);
	step();
	ck_assert_int_eq(took[0], -1);
	/* A line before it, read at once with it, leaves them to it. */
	tell(fd, other);
	tell_with(fd, take, pipes[1]);
	close(pipes[1]);
	step();
	for (int i = 0; i < 3; i++) {
		ck_assert_int_ge(took[i], 0);
		ck_assert_int_eq(write(took[i], "x", 1), 1);
		ck_assert_int_eq(read(pipes[0], &one, 1), 1);
		close(took[i]);
	}
	/* The fourth and those beyond it were closed. */
	ck_assert_int_eq(read(pipes[0], &one, 1), 0);
	/* So are those that come with half a request, with the client. */
	close(pipes[0]);
	ck_assert_int_eq(pipe(pipes), 0);
	tell_with(fd, "{\"id\":3,", pipes[1]);
	close(pipes[1]);
	step();
	close(fd);
	step();
	ck_assert_int_eq(read(pipes[0], &one, 1), 0);
	close(pipes[0]);
	end();
}
END_TEST

START_TEST(taken)
{
	const struct server_hooks hooks = { .ask = ask };
	struct server *second = NULL;
	struct fault fault = { 0 };
	char text[300];

	begin();
	ck_assert_int_eq(server_open(&second, path, &hooks, &fault),
			 -EADDRINUSE);
	ck_assert_str_eq(fault.code, "busy");
	ck_assert_int_eq(access(path, F_OK), 0);
	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	ck_assert_int_eq(server_open(&second, text, &hooks, &fault),
			 -ENAMETOOLONG);
	ck_assert_int_lt(server_open(&second, "/nonexistent/x", &hooks, &fault),
			 0);
	end();
}
END_TEST

SUITE_THREADS("server", NULL, answers, a_long_answer, garbage, long_lines,
	      shares, lines_left_over_wake, a_crowd_shares,
	      silent_ones_lock_nobody_out, idle_ones_lock_nobody_out,
	      users_share, no_descriptors, never_reads, too_many_open,
	      gives_descriptors_once, takes_descriptors, taken)
