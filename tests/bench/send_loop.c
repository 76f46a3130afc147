/* SPDX-License-Identifier: MIT */
/*
 * The least that two programs can do to send bytes over TCP: the yardstick of
 * scripts/bench send.  Both go round and round in touched memory as large as
 * a recorder's pool, and look at no byte.
 *
 *   send_loop sink SECONDS [CHUNK]
 *       prints the port on which it listens; reads all connections that come,
 *       for SECONDS from the first byte on, and prints one JSON line: bytes,
 *       seconds, cpu_s, connections.  Who begins with one of spate's frames is
 *       answered that nothing is there yet.
 *   send_loop source PORT CONNECTIONS SECONDS [CHUNK]
 *       sends to it, in one thread.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crc32c.h"
#include "wire/frame.h"

enum { MEMORY = 256 << 20, CHUNK = 512 << 10, LINES = 64 };

static uint8_t *memory;
static size_t at, chunk = CHUNK;

static void
fail(const char *what)
{
	perror(what);
	exit(1);
}

static void
memory_make(void)
{
	memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		fail("send_loop: memory");
	madvise(memory, MEMORY, MADV_HUGEPAGE);
	memset(memory, 0x5a, MEMORY);
}

/* The next piece of it, as long as was used of the last one. */
static uint8_t *
memory_next(size_t used)
{
	at += used;
	if (at + chunk > MEMORY)
		at = 0;
	return memory + at;
}

static double
cpu_s(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
	       (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
}

/* ---- the sink -------------------------------------------------------- */

static struct pollfd line[LINES + 1]; /* the first is the door */
static bool heard[LINES + 1];
static unsigned lines = 1;
static uint64_t got;
static int64_t first, last;

static void
door_open(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof a;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || bind(fd, (void *)&a, sizeof a) < 0 ||
	    listen(fd, LINES) < 0 || getsockname(fd, (void *)&a, &length) < 0)
		fail("send_loop: listen");
	line[0] = (struct pollfd){ .fd = fd, .events = POLLIN };
	printf("%u\n", ntohs(a.sin_port));
	fflush(stdout);
}

static void
greet(int fd, const uint8_t *data, size_t bytes)
{
	const struct wire_frame have = { .type = WIRE_HAVE };
	uint8_t out[WIRE_HEADER];

	if (bytes < 4 || read_le32(data) != WIRE_MAGIC)
		return;
	wire_pack(&have, out, crc32c);
	if (send(fd, out, sizeof out, 0) < 0)
		fail("send_loop: answer");
}

static void
line_read(unsigned i)
{
	uint8_t *data = memory_next(0);
	ssize_t n = recv(line[i].fd, data, chunk, MSG_DONTWAIT);

	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		close(line[i].fd);
		line[i].fd = -1;
		return;
	}
	if (!heard[i])
		greet(line[i].fd, data, (size_t)n);
	heard[i] = true;
	last = clock_steady();
	if (!first)
		first = last;
	else
		got += (uint64_t)n;
	memory_next((size_t)n);
}

static void
sink(int64_t ns)
{
	int64_t give_up = clock_steady() + INT64_C(60000000000);

	door_open();
	while (first ? clock_steady() - first < ns : clock_steady() < give_up) {
		poll(line, lines, 100);
		if (line[0].revents && lines <= LINES)
			line[lines++] = (struct pollfd){
				.fd = accept(line[0].fd, NULL, NULL),
				.events = POLLIN,
			};
		for (unsigned i = 1; i < lines; i++)
			if (line[i].revents)
				line_read(i);
	}
	printf("{\"bytes\": %llu, \"seconds\": %.6f, \"cpu_s\": %.3f, "
	       "\"connections\": %u}\n",
	       (unsigned long long)got, (double)(last - first) / 1e9, cpu_s(),
	       lines - 1);
}

/* ---- the source ------------------------------------------------------ */

static void
source(unsigned port, unsigned n, int64_t ns)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int64_t end = clock_steady() + ns;

	for (lines = 0; lines < n && lines < LINES; lines++) {
		line[lines].fd = socket(AF_INET, SOCK_STREAM, 0);
		line[lines].events = POLLOUT;
		if (connect(line[lines].fd, (void *)&a, sizeof a) < 0)
			fail("send_loop: connect");
	}
	while (clock_steady() < end) {
		poll(line, lines, 100);
		for (unsigned i = 0; i < lines; i++) {
			ssize_t sent;

			if (!line[i].revents)
				continue;
			sent = send(line[i].fd, memory_next(0), chunk,
				    MSG_DONTWAIT);
			if (sent < 0 && errno != EAGAIN)
				return;
			memory_next(sent > 0 ? (size_t)sent : 0);
		}
	}
}

int
main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	memory_make();
	if (argc >= 3 && argc <= 4 && strcmp(argv[1], "sink") == 0) {
		chunk = argc > 3 ? strtoul(argv[3], NULL, 10) : CHUNK;
		sink((int64_t)(atof(argv[2]) * 1e9));
	} else if (argc >= 5 && argc <= 6 && strcmp(argv[1], "source") == 0) {
		chunk = argc > 5 ? strtoul(argv[5], NULL, 10) : CHUNK;
		source((unsigned)atoi(argv[2]), (unsigned)atoi(argv[3]),
		       (int64_t)(atof(argv[4]) * 1e9));
	} else {
		fprintf(stderr, "usage: send_loop sink SECONDS [CHUNK]\n"
				"       send_loop source PORT CONNECTIONS "
				"SECONDS [CHUNK]\n");
		return 2;
	}
	return 0;
}
