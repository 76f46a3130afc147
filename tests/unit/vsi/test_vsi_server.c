/* SPDX-License-Identifier: MIT */
/* The server of VSI-S and its clients, good and bad, in one thread. */
#include <arpa/inet.h>
#include <poll.h>

#include "control/listener.c"
#include "vsi/vsi_server.c"
#include "vsi/vsi_line.c"
#include "lib/suite.h"

static struct vsi_server *server;
static const char *listen_text[2];
static char listen_at[64];
static uint16_t port;
static unsigned asked, put_off, left;
static const char *client_from = "127.0.0.1";

/* Answers with the first field; "later" three times not yet; "big" with all
 * that there is room for. */
static bool
answer(void *arg, const struct vsi_command *c, struct vsi_reply *r)
{
	(void)arg;
	asked++;
	if (!strcmp(c->keyword, "later") && c->tries < 3) {
		put_off++;
		return false;
	}
	vsi_say(r, VSI_DONE, "%s", vsi_field(c, 0));
	for (int i = 0; !strcmp(c->keyword, "big") && i < 400; i++)
		vsi_more(r, "%060d", i);
	return true;
}

static void
gone(void *arg, uint32_t client)
{
	(void)arg;
	ck_assert(client);
	left++;
}

static int
try_open(const char *allow, struct fault *fault)
{
	static const char *allow_text[1];
	struct vsi_server_args args = { .listen = { listen_text, 1 },
					.allow = { allow_text, 1 },
					.command = answer,
					.gone = gone };

	allow_text[0] = allow;
	listen_text[0] = listen_at;
	return vsi_server_open(&server, &args, fault);
}

static void
begin_on(const char *host, const char *allow)
{
	struct fault fault = { 0 };
	int err = -EADDRINUSE;

	asked = put_off = left = 0;
	for (int i = 0; i < 100 && err == -EADDRINUSE; i++) {
		port = (uint16_t)(2000 + (getpid() * 37 + i * 101) % 8000);
		snprintf(listen_at, sizeof listen_at, "%s:%u", host, port);
		err = try_open(allow, &fault);
	}
	ck_assert_msg(err == 0, "%s", fault.what);
}

static void
begin(void)
{
	begin_on("127.0.0.1", "127.0.0.0/8");
}

static void
end(void)
{
	vsi_server_close(server);
}

/* All that can be done now. */
static void
step(void)
{
	struct pollfd fd = { vsi_server_fd(server), POLLIN, 0 };

	for (int i = 0; i < 10000 && poll(&fd, 1, 2) > 0; i++)
		vsi_server_step(server);
}

static int
client(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
	struct sockaddr_in from = { .sin_family = AF_INET };

	inet_pton(AF_INET, client_from, &from.sin_addr);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&from, sizeof from), 0);
	/* What is told is to be there at once. */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
	return fd;
}

static void
tell(int fd, const char *text)
{
	ck_assert_int_eq(send(fd, text, strlen(text), MSG_NOSIGNAL),
			 (ssize_t)strlen(text));
}

/* What came so far; NULL: cut off. */
static const char *
heard(int fd)
{
	static char text[VSI_OUT];
	ssize_t n;

	step();
	n = recv(fd, text, sizeof text - 1, MSG_DONTWAIT);
	text[n > 0 ? n : 0] = '\0';
	return n == 0 || (n < 0 && errno != EAGAIN) ? NULL : text;
}

START_TEST(lines_are_answered)
{
	int fd;

	begin();
	fd = client();
	tell(fd, "a?1\n");
	ck_assert_str_eq(heard(fd), "!a? 0 : 1 ;\n");
	tell(fd, "a?1;b=2;nonsense;c?\r\n");
	ck_assert_str_eq(heard(fd), "!a? 0 : 1 ;!b= 0 : 2 ;!syntax= 7 : not a "
				    "command or query ;!c? 0 :  ;\r\n");
	tell(fd, "a?1;");
	ck_assert_str_eq(heard(fd), "!a? 0 : 1 ;\r\n");
	tell(fd, "\n\n ;\n");
	ck_assert_str_eq(heard(fd), "");
	tell(fd, "half");
	ck_assert_str_eq(heard(fd), "");
	tell(fd, "?x\n");
	ck_assert_str_eq(heard(fd), "!half? 0 : x ;\n");
	close(fd);
	step();
	end();
}
END_TEST

START_TEST(who_may_not_is_cut_off)
{
	int fd;

	begin_on("127.0.0.1", "10.0.0.0/8");
	fd = client();
	ck_assert_ptr_null(heard(fd));
	close(fd);
	end();
	begin_on("127.0.0.1", "127.0.0.1");
	fd = client();
	tell(fd, "a?\n");
	ck_assert_str_eq(heard(fd), "!a? 0 :  ;\n");
	close(fd);
	end();
}
END_TEST

START_TEST(one_that_is_put_off)
{
	int fd, other;

	begin();
	fd = client();
	other = client();
	tell(fd, "later?1;a?2\nb?3\n");
	for (int i = 0; i < 200 && put_off < 3; i++) {
		step();
		tell(other, "a?\n");
		ck_assert_str_eq(heard(other), "!a? 0 :  ;\n");
		usleep(2000);
	}
	for (int i = 0; i < 200 && !*heard(fd); i++)
		usleep(10000);
	ck_assert_uint_eq(put_off, 3);
	end();
	close(fd);
	/* Who goes away meanwhile is forgotten. */
	begin();
	fd = client();
	tell(fd, "later?1;a?2\n");
	step();
	ck_assert_uint_gt(put_off, 0);
	close(fd);
	for (int i = 0; i < 20; i++) {
		usleep(10000);
		step();
	}
	close(other);
	end();
}
END_TEST

/* The order of replies is that of the commands, also of one put off. */
START_TEST(order_is_kept)
{
	char text[512] = "";
	int fd;

	begin();
	fd = client();
	tell(fd, "a?0;later?1;a?2\nb?3\n");
	for (int i = 0; i < 500 && !strstr(text, "b?"); i++) {
		const char *more = heard(fd);

		ck_assert_ptr_nonnull(more);
		strcat(text, more);
		usleep(1000);
	}
	ck_assert_str_eq(text, "!a? 0 : 0 ;!later? 0 : 1 ;!a? 0 : 2 ;\n"
			       "!b? 0 : 3 ;\n");
	close(fd);
	end();
}
END_TEST

/* Those that say nothing take no place from those that do. */
START_TEST(silent_ones_lock_nobody_out)
{
	int fd[VSI_CLIENTS + 40], first, last;

	begin();
	first = client();
	tell(first, "a?\n");
	ck_assert_str_eq(heard(first), "!a? 0 :  ;\n");
	for (int i = 0; i < VSI_CLIENTS + 40; i++) {
		fd[i] = client();
		step();
	}
	ck_assert_ptr_null(heard(fd[0]));
	ck_assert_uint_ge(left, 40); /* and that is told */
	ck_assert_ptr_nonnull(heard(fd[VSI_CLIENTS + 39]));
	last = client();
	tell(last, "a?\n");
	ck_assert_str_eq(heard(last), "!a? 0 :  ;\n");
	tell(first, "a?\n");
	ck_assert_str_eq(heard(first), "!a? 0 :  ;\n");
	for (int i = 0; i < VSI_CLIENTS + 40; i++)
		close(fd[i]);
	close(first);
	close(last);
	step();
	end();
}
END_TEST

/* One address may not take all places, whatever it says; and there is always
 * one for somebody else. */
START_TEST(idle_ones_lock_nobody_out)
{
	int fd[VSI_OF_ONE + 40], other;

	begin();
	client_from = "127.0.0.2";
	other = client();
	tell(other, "a?\n");
	ck_assert_str_eq(heard(other), "!a? 0 :  ;\n");
	client_from = "127.0.0.1";
	for (int i = 0; i < VSI_OF_ONE + 40; i++) {
		fd[i] = client();
		tell(fd[i], "a?\n");
		ck_assert_str_eq(heard(fd[i]), "!a? 0 :  ;\n");
	}
	/* The first ones were silent for longest. */
	ck_assert_ptr_null(heard(fd[39]));
	tell(fd[40], "a?\n");
	ck_assert_str_eq(heard(fd[40]), "!a? 0 :  ;\n");
	tell(other, "a?\n");
	ck_assert_str_eq(heard(other), "!a? 0 :  ;\n");
	for (int i = 0; i < VSI_OF_ONE + 40; i++)
		close(fd[i]);
	close(other);
	step();
	end();
}
END_TEST

/* A web page has a browser send orders in what looks like HTTP. */
START_TEST(browsers_are_cut_off)
{
	static const char *const first[] = {
		"POST / HTTP/1.1\r\nHost: x\r\n\r\na=1;\n",
		"GET /;a=1; HTTP/1.1\r\n",
		"PUT /x HTTP/1.1\r\n",
		"HEAD /x HTTP/1.1\r\n",
		"OPTIONS * HTTP/1.1\r\n",
		"CONNECT x:2620 HTTP/1.1\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	};
	static char line[3 * VSI_COMMAND] = "GET /";
	int fd;

	begin();
	for (size_t i = 0; i < sizeof first / sizeof *first; i++) {
		fd = client();
		tell(fd, first[i]);
		ck_assert_ptr_null(heard(fd));
		close(fd);
	}
	/* In pieces, and longer than any command. */
	fd = client();
	tell(fd, "GE");
	ck_assert_str_eq(heard(fd), "");
	tell(fd, "T /;a=1;\n");
	ck_assert_ptr_null(heard(fd));
	close(fd);
	memset(line + 5, 'x', sizeof line - 12);
	strcat(line, ";a=1;\n");
	fd = client();
	tell(fd, line);
	ck_assert_ptr_null(heard(fd));
	close(fd);
	ck_assert_uint_eq(asked, 0);
	/* An operator who makes the same mistake, later. */
	fd = client();
	tell(fd, "a?\n");
	ck_assert_str_eq(heard(fd), "!a? 0 :  ;\n");
	tell(fd, "GET /\n");
	ck_assert_ptr_nonnull(strstr(heard(fd), "!syntax"));
	close(fd);
	step();
	end();
}
END_TEST

/* Sends and never reads: is not answered without end. */
START_TEST(slow_reader)
{
	static char text[5 << 14];
	size_t sent = 0;
	unsigned before;
	int fd, other;

	for (size_t i = 0; i < sizeof text; i++)
		text[i] = "big?;"[i % 5];
	begin();
	fd = client();
	for (int i = 0; i < 1000; i++) {
		ssize_t n =
		    send(fd, text, sizeof text, MSG_DONTWAIT | MSG_NOSIGNAL);

		step();
		if (n < 0)
			break;
		sent += (size_t)n;
	}
	/* No more is taken from it: its orders wait with itself. */
	ck_assert_uint_lt(asked, sent / 5);
	before = asked;
	step();
	ck_assert_uint_eq(asked, before);
	other = client();
	tell(other, "a?\n");
	ck_assert_str_eq(heard(other), "!a? 0 :  ;\n");
	/* When it reads, it gets on. */
	for (int i = 0; i < 100000 && asked <= before + 1; i++)
		ck_assert_ptr_nonnull(heard(fd));
	ck_assert_uint_gt(asked, before + 1);
	close(fd);
	close(other);
	step();
	end();
}
END_TEST

/* Many at once: everybody gets a turn. */
START_TEST(shares)
{
	char many[4000] = "";
	int fd, other;

	for (int i = 0; i < 1000; i++)
		strcat(many, "a?;");
	begin();
	fd = client();
	other = client();
	vsi_server_step(server);
	vsi_server_step(server);
	tell(fd, many);
	tell(other, "b?\n");
	usleep(10000);
	vsi_server_step(server);
	ck_assert_uint_le(asked, 50);
	vsi_server_step(server);
	ck_assert_uint_le(asked, 100);
	ck_assert_str_eq(heard(other), "!b? 0 :  ;\n");
	step();
	ck_assert_uint_eq(asked, 1001);
	close(fd);
	close(other);
	end();
}
END_TEST

START_TEST(garbage)
{
	static char text[1 << 20];
	int fd;

	begin();
	srand(3);
	for (int round = 0; round < 8; round++) {
		size_t sent = 0;

		for (size_t i = 0; i < sizeof text; i++)
			text[i] = round ? (char)rand() : 'x';
		fd = client();
		while (sent < sizeof text) {
			ssize_t n = send(fd, text + sent, sizeof text - sent,
					 MSG_DONTWAIT | MSG_NOSIGNAL);

			sent += n > 0 ? (size_t)n : 0;
			ck_assert_ptr_nonnull(heard(fd));
		}
		tell(fd, "\na?1\n");
		for (int i = 0; i < 1000; i++) {
			if (strstr(heard(fd), "!a? 0 : 1 ;\n"))
				break;
			ck_assert_int_lt(i, 999);
		}
		close(fd);
	}
	step();
	end();
}
END_TEST

START_TEST(taken_ports)
{
	struct vsi_server *first;
	struct fault fault = { 0 };

	begin();
	first = server;
	ck_assert_int_eq(try_open("::1", &fault), -EADDRINUSE);
	ck_assert_str_eq(fault.code, "busy");
	ck_assert(fault.hint[0]);
	server = first;
	end();
	begin_on("[::1]", "::1");
	end();
}
END_TEST

SUITE("vsi_server", lines_are_answered, who_may_not_is_cut_off,
      one_that_is_put_off, order_is_kept, silent_ones_lock_nobody_out,
      idle_ones_lock_nobody_out, browsers_are_cut_off, slow_reader, shares,
      garbage, taken_ports)
