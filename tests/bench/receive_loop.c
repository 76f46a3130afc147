/* SPDX-License-Identifier: MIT */
/*
 * The least that a program can do to receive datagrams: the yardstick of
 * scripts/bench.  It reads its sockets, those that are ready in turn, into
 * touched memory as large as the recorder's pool, round and round, and
 * counts; it looks at no byte of what came.
 *
 *   receive_loop PORT[-PORT] gro|mmsg DATAGRAM_BYTES MEMORY_MIB SECONDS
 *	[ADDRESS]
 *
 * ADDRESS is 127.0.0.1 if absent.  Sockets have the buffer that the recorder
 * asks for by default.
 *
 * It ends a second after the last packet, or after SECONDS, and prints one
 * JSON line: packets, bytes, calls that brought any, cpu_s (user + system),
 * seconds between the first and the last packet.
 */
#include <arpa/inet.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

enum { MESSAGES = 64, TRAIN = 65536, IDLE_MS = 1000, EVENTS = 64, VISIT = 16 };
enum { BUFFER = 256 << 20, BUFFER_LEAST = 4 << 20 }; /* of all, of one socket */

struct loop {
	int epoll;
	int gro;
	size_t datagram;
	uint8_t *memory;
	size_t memory_bytes, at;
	uint64_t packets, bytes, calls;
	double first, last;
	struct mmsghdr message[MESSAGES];
	struct iovec iov[MESSAGES];
};

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int
socket_open(const char *address, unsigned port, int gro, int buffer)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port),
				 .sin_addr.s_addr = inet_addr(address) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0), n = buffer;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &n, sizeof n) < 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &n, sizeof n);
	if (setsockopt(fd, IPPROTO_UDP, UDP_GRO, &gro, sizeof gro) < 0 ||
	    bind(fd, (struct sockaddr *)&a, sizeof a) < 0) {
		perror("receive_loop");
		exit(1);
	}
	return fd;
}

static uint8_t *
room(struct loop *l, size_t bytes)
{
	if (l->at + bytes > l->memory_bytes)
		l->at = 0;
	return l->memory + l->at;
}

static int
receive_gro(struct loop *l, int fd)
{
	uint8_t *at = room(l, TRAIN);
	ssize_t n = recv(fd, at, TRAIN, MSG_DONTWAIT);

	if (n <= 0)
		return 0;
	l->packets += ((size_t)n + l->datagram - 1) / l->datagram;
	l->bytes += (size_t)n;
	l->at += (size_t)n;
	return 1;
}

static int
receive_mmsg(struct loop *l, int fd)
{
	uint8_t *at = room(l, MESSAGES * l->datagram);
	int n;

	for (int i = 0; i < MESSAGES; i++) {
		l->iov[i] =
		    (struct iovec){ at + (size_t)i * l->datagram, l->datagram };
		l->message[i].msg_hdr =
		    (struct msghdr){ .msg_iov = &l->iov[i], .msg_iovlen = 1 };
	}
	n = recvmmsg(fd, l->message, MESSAGES, MSG_DONTWAIT, NULL);
	for (int i = 0; i < n; i++)
		l->bytes += l->message[i].msg_len;
	l->packets += n > 0 ? (uint64_t)n : 0;
	l->at += n > 0 ? (size_t)n * l->datagram : 0;
	return n > 0;
}

/* As the recorder does: a flood on one socket does not starve the others. */
static void
visit(struct loop *l, int fd)
{
	int more = 1;

	for (int i = 0; i < VISIT && more; i++) {
		more = l->gro ? receive_gro(l, fd) : receive_mmsg(l, fd);
		if (!more)
			break;
		l->calls++;
		l->last = now();
		if (!l->first)
			l->first = l->last;
	}
}

static void
run(struct loop *l, double seconds)
{
	struct epoll_event event[EVENTS];
	double end = now() + seconds;

	while (now() < end) {
		int n = epoll_wait(l->epoll, event, EVENTS, IDLE_MS);

		if (n == 0 && l->packets)
			return;
		for (int i = 0; i < n; i++)
			visit(l, event[i].data.fd);
	}
}

static void
sockets_open(struct loop *l, const char *address, const char *ports)
{
	const char *dash = strchr(ports, '-');
	int from = atoi(ports), to = dash ? atoi(dash + 1) : from;
	int buffer = BUFFER / (to - from + 1);

	if (buffer < BUFFER_LEAST)
		buffer = BUFFER_LEAST;

	l->epoll = epoll_create1(0);
	for (int port = from; port <= to; port++) {
		struct epoll_event e = { .events = EPOLLIN };

		e.data.fd =
		    socket_open(address, (unsigned)port, l->gro, buffer);
		if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, e.data.fd, &e) < 0)
			exit(1);
	}
}

static double
cpu(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

int
main(int argc, char **argv)
{
	struct loop *l = calloc(1, sizeof *l);
	double before;

	if (argc < 6 || argc > 7 || !l)
		return 2;
	l->gro = !strcmp(argv[2], "gro");
	l->datagram = strtoul(argv[3], NULL, 10);
	l->memory_bytes = strtoul(argv[4], NULL, 10) << 20;
	l->memory = mmap(NULL, l->memory_bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (l->memory == MAP_FAILED)
		return 1;
	madvise(l->memory, l->memory_bytes, MADV_HUGEPAGE);
	memset(l->memory, 1, l->memory_bytes);
	sockets_open(l, argc > 6 ? argv[6] : "127.0.0.1", argv[1]);
	puts("ready");
	fflush(stdout);
	before = cpu();
	run(l, atof(argv[5]));
	printf("{\"packets\":%llu,\"bytes\":%llu,\"calls\":%llu,"
	       "\"cpu_s\":%.4f,\"seconds\":%.4f}\n",
	       (unsigned long long)l->packets, (unsigned long long)l->bytes,
	       (unsigned long long)l->calls, cpu() - before,
	       l->last - l->first);
	return 0;
}
