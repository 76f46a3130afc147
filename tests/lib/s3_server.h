/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_S3_SERVER_H
#define SPATE_TESTS_S3_SERVER_H

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/suite.h"

/* A server on loopback that answers as it is told, a connection for each
 * request. */

#define REPLY(status, more, body)                                              \
	"HTTP/1.1 " status "\r\nConnection: close\r\n" more "\r\n" body

enum { ANSWERS = 16, HEAD = 8192 };

/* What it is to say to each connection, NULL: nothing, and what it was asked.
 * They belong to its thread from serve() to served(). */
static const char *answers[ANSWERS];
static unsigned answers_n, asked_n;
static char asked[ANSWERS][HEAD];
static int listening;
static pthread_t server;

/* Reads a request, without the body. */
static void
request_take_all(int fd, char *head)
{
	size_t n = 0, body = 0;
	char rest[4096];
	const char *end = NULL, *length;
	ssize_t got;

	while (!end && n < HEAD - 1) {
		got = read(fd, head + n, HEAD - 1 - n);
		if (got <= 0)
			return;
		n += (size_t)got;
		head[n] = '\0';
		end = strstr(head, "\r\n\r\n");
	}
	length = strstr(head, "Content-Length: ");
	if (length && end)
		body = strtoul(length + 16, NULL, 10);
	for (n -= (size_t)(end + 4 - head); n < body; n += (size_t)got) {
		got = read(fd, rest, sizeof rest);
		if (got <= 0)
			return;
	}
}

static void *
serve_all(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < answers_n; i++) {
		int fd = accept(listening, NULL, NULL);
		size_t n = answers[i] ? strlen(answers[i]) : 0;

		if (fd < 0)
			break;
		request_take_all(fd, asked[asked_n++]);
		if (n && write(fd, answers[i], n) != (ssize_t)n)
			n = 0;
		close(fd);
	}
	return NULL;
}

/* Begins it, with n answers.  Returns its URL. */
static const char *
serve(unsigned n)
{
	static char endpoint[64];
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t bytes = sizeof at;

	listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(listening, (struct sockaddr *)&at, bytes), 0);
	ck_assert_int_eq(listen(listening, 8), 0);
	getsockname(listening, (struct sockaddr *)&at, &bytes);
	snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%u",
		 ntohs(at.sin_port));
	answers_n = n;
	asked_n = 0;
	ck_assert_int_eq(pthread_create(&server, NULL, serve_all, NULL), 0);
	return endpoint;
}

static void
served(void)
{
	shutdown(listening, SHUT_RDWR);
	pthread_join(server, NULL);
	close(listening);
}

#endif
