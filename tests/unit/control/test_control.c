/* SPDX-License-Identifier: MIT */
/*
 * The client against a daemon that is a script: a thread that accepts one
 * connection and, for each line it reads, writes the next of its lines.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "control/control.h"
#include "lib/suite.h"

#define HELLO "{\"protocol\":1}\n"

enum { SCRIPT = 8 };

static struct fault fault;
static char folder[] = "/tmp/test_control.XXXXXX";
static char path[64];

static struct {
	pthread_t thread;
	int listener;
	const char *script[SCRIPT]; /* NULL closes the connection */
	char heard[SCRIPT][256];
	unsigned fds[SCRIPT]; /* that come along, of /dev/null */
} fake;

enum { FDS_MOST = 8 };

static ssize_t
say(int fd, const char *text, unsigned fds)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(FDS_MOST * sizeof(int))];
	} control = { 0 };
	size_t size = fds * sizeof(int);
	struct iovec data = { (char *)(uintptr_t)text, strlen(text) };
	struct msghdr m = { .msg_iov = &data,
			    .msg_iovlen = 1,
			    .msg_control = fds ? &control : NULL,
			    .msg_controllen = fds ? CMSG_SPACE(size) : 0 };
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	ssize_t n;

	control.head =
	    (struct cmsghdr){ CMSG_LEN(size), SOL_SOCKET, SCM_RIGHTS };
	for (unsigned i = 0; i < fds; i++)
		memcpy(CMSG_DATA(&control.head) + i * sizeof null, &null,
		       sizeof null);
	n = sendmsg(fd, &m, MSG_NOSIGNAL);
	close(null);
	return n;
}

static void *
fake_main(void *arg)
{
	int fd = accept(fake.listener, NULL, NULL);
	struct control_lines lines = { 0 };
	char *line;

	(void)arg;
	for (int i = 0; i < SCRIPT; i++) {
		while (!(line = control_lines_next(&lines)))
			if (control_lines_read(&lines, fd) <= 0)
				goto out;
		snprintf(fake.heard[i], sizeof fake.heard[i], "%s", line);
		if (!fake.script[i])
			goto out;
		if (say(fd, fake.script[i], fake.fds[i]) < 0)
			goto out;
	}
out:
	control_lines_clear(&lines);
	close(fd);
	return NULL;
}

static void
make_folder(void)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/socket", folder);
}

static void
start(const char *const *script)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	make_folder();
	strcpy(at.sun_path, path);
	for (int i = 0; i < SCRIPT && script[i]; i++)
		fake.script[i] = script[i];
	fake.listener = socket(AF_UNIX, SOCK_STREAM, 0);
	ck_assert_int_eq(bind(fake.listener, (struct sockaddr *)&at, sizeof at),
			 0);
	ck_assert_int_eq(listen(fake.listener, 1), 0);
	ck_assert_int_eq(pthread_create(&fake.thread, NULL, fake_main, NULL),
			 0);
}

static void
finish(void)
{
	pthread_join(fake.thread, NULL);
	close(fake.listener);
	unlink(path);
	rmdir(folder);
}

static struct control *
open_control(void)
{
	struct control *c = NULL;
	int err = control_open(&c, path, &fault);

	ck_assert_msg(err == 0, "%s: %s", fault.what, fault.why);
	return c;
}

START_TEST(an_answer)
{
	static const char *const script[] = {
		HELLO, "{\"id\":1,\"ok\":true,\"result\":{\"n\":5}}\n",
		"{\"id\":2,\"ok\":true}\n", NULL
	};
	struct control *c;
	json_t *result = NULL;

	start(script);
	c = open_control();
	ck_assert_int_eq(control_ask(c, "record",
				     json_pack("{s:s}", "name", "r4123"),
				     &result, &fault),
			 0);
	ck_assert_int_eq(json_integer_value(json_object_get(result, "n")), 5);
	json_decref(result);
	ck_assert_int_eq(control_ask(c, "status", NULL, &result, &fault), 0);
	ck_assert(json_is_object(result));
	ck_assert_uint_eq(json_object_size(result), 0);
	json_decref(result);
	control_close(c);
	finish();
	ck_assert_str_eq(fake.heard[0], "{\"protocol\":1}");
	ck_assert_str_eq(fake.heard[1],
			 "{\"name\":\"r4123\",\"id\":1,\"do\":\"record\"}");
	ck_assert_str_eq(fake.heard[2], "{\"id\":2,\"do\":\"status\"}");
}
END_TEST

static unsigned
files_open(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* Whoever asks for them has them, once; of the others none stays open, nor
 * goes on to a program that is run. */
START_TEST(descriptors_come_along)
{
	static const char *const script[] = {
		HELLO,
		"{\"id\":1,\"ok\":true,\"result\":{}}\n",
		"{\"id\":2,\"ok\":true,\"result\":{}}\n",
		"{\"id\":3,\"ok\":true,\"result\":{}}\n",
		"{\"id\":4,\"ok\":true,\"result\":{}}\n",
		NULL,
	};
	struct control *c;
	unsigned before = files_open();
	int fd[2];

	fake.fds[1] = 2;
	fake.fds[3] = 1;
	fake.fds[4] = FDS_MOST;
	start(script);
	c = open_control();
	ck_assert_int_eq(control_ask_fds(c, "map", NULL, NULL, fd, 2, &fault),
			 0);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(fcntl(fd[i], F_GETFD), FD_CLOEXEC);
		close(fd[i]);
	}
	ck_assert_int_eq(control_ask_fds(c, "map", NULL, NULL, fd, 2, &fault),
			 0);
	ck_assert(fd[0] == -1 && fd[1] == -1);
	/* One that nobody asked for is there for the next one. */
	ck_assert_int_eq(control_ask(c, "x", NULL, NULL, &fault), 0);
	ck_assert_int_eq(control_ask_fds(c, "map", NULL, NULL, fd, 2, &fault),
			 0);
	ck_assert(fd[0] >= 0 && fd[1] >= 0);
	close(fd[0]);
	close(fd[1]);
	control_close(c);
	finish();
	ck_assert_uint_eq(files_open(), before);
	memset(fake.fds, 0, sizeof fake.fds);
}
END_TEST

START_TEST(a_refusal)
{
	static const char *const script[] = {
		HELLO,
		"{\"id\":1,\"ok\":false,\"error\":{\"code\":\"exists\","
		"\"what\":"
		"\"w\",\"why\":\"y\",\"try\":\"t\"}}\n",
		"{\"id\":2,\"ok\":false,\"error\":{\"code\":\"new-code\"}}\n",
		"{\"id\":3}\n", NULL
	};
	struct control *c;
	json_t *result = NULL;

	start(script);
	c = open_control();
	ck_assert_int_eq(control_ask(c, "record", NULL, &result, &fault),
			 -EEXIST);
	ck_assert_ptr_null(result);
	ck_assert_str_eq(fault.code, "exists");
	ck_assert_str_eq(fault.what, "w");
	ck_assert_str_eq(fault.why, "y");
	ck_assert_str_eq(fault.hint, "t");
	ck_assert_int_eq(control_ask(c, "record", NULL, NULL, &fault), -EIO);
	ck_assert_str_eq(fault.code, "internal");
	ck_assert_str_ne(fault.what, "");
	ck_assert_str_eq(fault.hint, "");
	ck_assert_int_eq(control_ask(c, "record", NULL, NULL, &fault), -EIO);
	control_close(c);
	finish();
}
END_TEST

START_TEST(events_and_late_answers_are_passed_over)
{
	static const char *const script[] = {
		HELLO,
		"{\"event\":\"a\"}\n{\"event\":\"b\",\"id\":7}\n"
		"{\"id\":0,\"ok\":false}\n"
		"{\"id\":1,\"ok\":true,\"result\":{\"n\":1}}\n",
		NULL
	};
	struct control *c;
	json_t *result;

	start(script);
	c = open_control();
	ck_assert_int_eq(control_ask(c, "info", NULL, &result, &fault), 0);
	ck_assert_int_eq(json_integer_value(json_object_get(result, "n")), 1);
	json_decref(result);
	control_close(c);
	finish();
}
END_TEST

START_TEST(a_daemon_that_ends)
{
	static const char *const script[] = { HELLO, NULL };
	struct control *c;

	start(script);
	c = open_control();
	ck_assert_int_eq(control_ask(c, "info", NULL, NULL, &fault),
			 -ECONNRESET);
	ck_assert_str_eq(fault.code, "io");
	ck_assert_str_eq(fault.why, "it closed the connection");
	/* And it stays an error, not a SIGPIPE. */
	ck_assert_int_lt(control_ask(c, "info", NULL, NULL, &fault), 0);
	control_close(c);
	finish();
}
END_TEST

START_TEST(a_daemon_that_is_silent)
{
	static const char *const script[] = { HELLO, "", NULL };
	struct control *c;

	start(script);
	c = open_control();
	control_wait(c, 20);
	ck_assert_int_eq(control_ask(c, "info", NULL, NULL, &fault),
			 -ETIMEDOUT);
	ck_assert_str_eq(fault.why, "no answer within 20 ms");
	control_close(c);
	finish();
}
END_TEST

START_TEST(another_protocol)
{
	static const char *const script[] = { "{\"protocol\":2}\n", NULL };
	struct control *c = NULL;

	start(script);
	ck_assert_int_eq(control_open(&c, path, &fault), -EPROTO);
	ck_assert_ptr_null(c);
	ck_assert_str_eq(fault.why, "it speaks protocol 2, and this program 1");
	finish();
}
END_TEST

START_TEST(no_protocol)
{
	static const char *const script[] = { "SSH-2.0-OpenSSH_9.2\n", NULL };
	struct control *c = NULL;

	start(script);
	ck_assert_int_eq(control_open(&c, path, &fault), -EPROTO);
	ck_assert_str_eq(fault.why, "what it says is not spate's protocol");
	finish();
}
END_TEST

START_TEST(no_daemon)
{
	struct control *c = NULL;
	char line[1000], want[1000];
	char long_path[200];
	FILE *file;

	make_folder();
	ck_assert_int_eq(control_open(&c, path, &fault), -ENOENT);
	fault_line(&fault, line, sizeof line);
	snprintf(want, sizeof want,
		 "cannot reach spated at %s: no such file; start it with "
		 "'spated -c CONF' or name its socket with --socket",
		 path);
	ck_assert_str_eq(line, want);
	ck_assert_str_eq(fault.code, "io");

	file = fopen(path, "w");
	fclose(file);
	ck_assert_int_eq(control_open(&c, path, &fault), -ECONNREFUSED);
	ck_assert_str_eq(fault.why, "nobody listens there");
	unlink(path);
	rmdir(folder);

	memset(long_path, 'x', sizeof long_path);
	long_path[sizeof long_path - 1] = '\0';
	ck_assert_int_eq(control_open(&c, long_path, &fault), -ENAMETOOLONG);
	ck_assert_ptr_null(c);
}
END_TEST

START_TEST(lines)
{
	struct control_lines l = { 0 };
	int ends[2];

	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_ptr_null(control_lines_next(&l));
	ck_assert_int_eq(write(ends[1], "one\n\ntwo\nthr", 12), 12);
	ck_assert_int_eq(control_lines_read(&l, ends[0]), 12);
	ck_assert_str_eq(control_lines_next(&l), "one");
	ck_assert_str_eq(control_lines_next(&l), "");
	ck_assert_str_eq(control_lines_next(&l), "two");
	ck_assert_ptr_null(control_lines_next(&l));
	ck_assert_int_eq(write(ends[1], "ee\n", 3), 3);
	ck_assert_int_eq(control_lines_read(&l, ends[0]), 3);
	ck_assert_str_eq(control_lines_next(&l), "three");
	ck_assert_ptr_null(control_lines_next(&l));
	close(ends[1]);
	ck_assert_int_eq(control_lines_read(&l, ends[0]), 0);
	close(ends[0]);
	ck_assert_int_eq(control_lines_read(&l, ends[0]), -EBADF);
	control_lines_clear(&l);
	ck_assert_ptr_null(l.data);
}
END_TEST

/* The longest line passes, one byte more does not. */
static int
read_long_line(size_t bytes, struct control_lines *l)
{
	FILE *file = tmpfile();
	int got;

	for (size_t i = 0; i < bytes; i++)
		putc('x', file);
	putc('\n', file);
	rewind(file);
	do
		got = control_lines_read(l, fileno(file));
	while (got > 0);
	fclose(file);
	return got;
}

START_TEST(long_lines)
{
	struct control_lines l = { 0 };

	ck_assert_int_eq(read_long_line(CONTROL_LINE, &l), -EMSGSIZE);
	ck_assert_uint_le(l.room, CONTROL_LINE);
	control_lines_clear(&l);
	ck_assert_int_eq(read_long_line(CONTROL_LINE - 2, &l), 0);
	ck_assert_uint_eq(strlen(control_lines_next(&l)), CONTROL_LINE - 2);
	control_lines_clear(&l);
}
END_TEST

START_TEST(faults_there_and_back)
{
	struct fault f, back;
	json_t *json;

	fault_set(&f, -ENOSPC, "no-disk", "w\xff%c", 'x');
	fault_why(&f, "\xc3\xa9");
	fault_hint(&f, "h");
	json = control_fault(&f);
	ck_assert_ptr_nonnull(json);
	control_fault_read(&back, json);
	json_decref(json);
	ck_assert_str_eq(back.code, "no-disk");
	ck_assert_str_eq(back.what, "w?x");
	ck_assert_str_eq(back.why, "\xc3\xa9");
	ck_assert_str_eq(back.hint, "h");
	control_fault_read(&back, NULL);
	ck_assert_str_eq(back.code, "internal");
}
END_TEST

SUITE_THREADS("control", NULL, lines, long_lines, faults_there_and_back,
	      an_answer, descriptors_come_along, a_refusal,
	      events_and_late_answers_are_passed_over, a_daemon_that_ends,
	      a_daemon_that_is_silent, another_protocol, no_protocol, no_daemon)
