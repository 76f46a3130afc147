/* SPDX-License-Identifier: MIT */
/*
 * Records that do not lie in a row are sent: gathered by iovecs, copied to a
 * row of their own first, or left to the kernel as they lie (MSG_ZEROCOPY).
 *
 *   gather_loop sink udp|tcp ADDRESS
 *       prints its port, and takes what comes, until its parent ends
 *   gather_loop udp|tcp ADDRESS PORT gather|copy|zerocopy
 *               RECORD RECORDS HEAD CUT MILLISECONDS
 *       sends RECORDS of RECORD bytes at a time, each behind HEAD bytes of
 *       something else; with CUT 1 as that many packets, which the kernel
 *       cuts; prints what it did as JSON
 *
 * They lie in memory as large as a pool, so that they are in no cache, with a
 * gap behind each: frames whose headers are stripped, packets with a prefix.
 */
#include <time.h>

#include <arpa/inet.h>
#include <errno.h>
#include <linux/errqueue.h> /* wants a struct timespec */
#include <linux/perf_event.h>
#include <netinet/udp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	MEMORY = 256 << 20,
	GAP = 32, /* bytes behind each record */
	HEADS = 64 << 10,
	MOST = 64, /* records of a send */
	STAGE = 1 << 20,
	ROOM = 8 << 20, /* of a socket */
};

enum way { GATHER, COPY, ZEROCOPY };

struct loop {
	int fd;
	bool tcp;
	enum way way;
	uint32_t record, records, head;
	bool cut;
	uint8_t *memory, *heads, *stage;
	uint64_t at; /* in the memory */
	struct iovec iov[2 * MOST];
	unsigned iovs;
	uint64_t bytes, sends, notes, copied, asked;
};

static void
fail(const char *what)
{
	fprintf(stderr, "gather_loop: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double
clock_s(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- who takes it ----------------------------------------------------- */

static int
socket_make(bool tcp)
{
	const int room = ROOM, yes = 1;
	int fd =
	    socket(AF_INET, (tcp ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC, 0);

	if (fd < 0)
		fail("socket");
	if (tcp)
		return fd;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room) < 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
	setsockopt(fd, IPPROTO_UDP, UDP_GRO, &yes, sizeof yes);
	return fd;
}

/* What came is cut off, not copied: to take it costs as little as can be. */
static void
take_all(int fd, bool tcp)
{
	static uint8_t data[1 << 20];

	while (recv(fd, data, tcp ? sizeof data : 1, MSG_TRUNC) > 0)
		;
}

static void
sink(bool tcp, const char *address)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t bytes = sizeof at;
	int fd = socket_make(tcp);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	inet_pton(AF_INET, address, &at.sin_addr);
	if (bind(fd, (void *)&at, sizeof at) < 0)
		fail("bind");
	getsockname(fd, (void *)&at, &bytes);
	if (tcp && listen(fd, 1) < 0)
		fail("listen");
	printf("%u\n", ntohs(at.sin_port));
	fflush(stdout);
	for (;;) {
		int from = tcp ? accept(fd, NULL, NULL) : fd;

		if (from < 0)
			fail("accept");
		take_all(from, tcp);
		if (tcp)
			close(from);
	}
}

/* ---- what is sent ------------------------------------------------------- */

static const uint8_t *
record_next(struct loop *l)
{
	const uint8_t *record = l->memory + l->at;

	l->at += l->record + GAP;
	if (l->at + l->record > MEMORY)
		l->at = 0;
	return record;
}

static void
iov_add(struct loop *l, const void *data, size_t bytes)
{
	if (bytes)
		l->iov[l->iovs++] = (struct iovec){ (void *)data, bytes };
}

static void
send_make(struct loop *l)
{
	uint8_t *to = l->stage;

	l->iovs = 0;
	for (uint32_t i = 0; i < l->records; i++) {
		const uint8_t *record = record_next(l);
		const uint8_t *head = l->heads + i * l->head;

		if (l->way != COPY) {
			iov_add(l, head, l->head);
			iov_add(l, record, l->record);
			continue;
		}
		memcpy(to, head, l->head);
		memcpy(to + l->head, record, l->record);
		to += l->head + l->record;
	}
	if (l->way == COPY)
		iov_add(l, l->stage, (size_t)(to - l->stage));
}

/* ---- what was left to the kernel, and comes back ------------------------- */

static void
notes_read(struct loop *l)
{
	_Alignas(struct cmsghdr) char control[256];
	struct msghdr m = { .msg_control = control,
			    .msg_controllen = sizeof control };
	struct sock_extended_err *e;

	while (recvmsg(l->fd, &m, MSG_ERRQUEUE | MSG_DONTWAIT) >= 0) {
		e = (void *)CMSG_DATA(CMSG_FIRSTHDR(&m));
		if (e->ee_origin == SO_EE_ORIGIN_ZEROCOPY) {
			l->notes += e->ee_data - e->ee_info + 1u;
			if (e->ee_code & SO_EE_CODE_ZEROCOPY_COPIED)
				l->copied += e->ee_data - e->ee_info + 1u;
		}
		m.msg_controllen = sizeof control;
	}
}

/* Not more than a few hundred of them are left to it at a time. */
static void
notes_wait(struct loop *l, uint64_t most)
{
	struct pollfd p = { .fd = l->fd };

	notes_read(l);
	while (l->asked - l->notes > most) {
		poll(&p, 1, 10);
		notes_read(l);
	}
}

static bool
is_passing(int err)
{
	return err == EINTR || err == EAGAIN || err == ENOBUFS ||
	       err == ECONNREFUSED;
}

static void
send_one(struct loop *l)
{
	uint32_t size = l->head + l->record;
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(uint16_t))];
	struct msghdr m = { .msg_iov = l->iov, .msg_iovlen = l->iovs };
	struct cmsghdr *c = (void *)control;
	uint16_t segment = (uint16_t)size;
	ssize_t sent;

	if (l->cut) {
		m.msg_control = control;
		m.msg_controllen = sizeof control;
		c->cmsg_level = IPPROTO_UDP;
		c->cmsg_type = UDP_SEGMENT;
		c->cmsg_len = CMSG_LEN(sizeof segment);
		memcpy(CMSG_DATA(c), &segment, sizeof segment);
	}
	do {
		sent =
		    sendmsg(l->fd, &m, l->way == ZEROCOPY ? MSG_ZEROCOPY : 0);
		if (sent < 0 && errno == ENOBUFS)
			notes_wait(l, 0);
	} while (sent < 0 && is_passing(errno));
	if (sent < 0 && errno == EMSGSIZE) { /* too many pieces */
		printf("{\"bytes\": 0}\n");
		exit(0);
	}
	if (sent < 0)
		fail("sendmsg");
	l->bytes += (uint64_t)sent;
	l->sends++;
	if (l->way == ZEROCOPY && ++l->asked % 64 == 0)
		notes_wait(l, 256);
}

/* ---- what it costs --------------------------------------------------------- */

/* This thread's, in the kernel too; -1: this machine does not count them, or
 * not for us. */
static int
cycles_open(void)
{
	struct perf_event_attr a = { .type = PERF_TYPE_HARDWARE,
				     .size = sizeof a,
				     .config = PERF_COUNT_HW_CPU_CYCLES };

	return (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
}

static void
run(struct loop *l, double seconds)
{
	int cycles = cycles_open();
	uint64_t begun = 0, ended = 0;
	double from, cpu, until;

	send_make(l);
	send_one(l);
	l->bytes = l->sends = 0;
	if (cycles >= 0 && read(cycles, &begun, sizeof begun) < 0)
		fail("perf");
	from = clock_s(CLOCK_MONOTONIC);
	cpu = clock_s(CLOCK_THREAD_CPUTIME_ID);
	until = from + seconds;
	do {
		for (int i = 0; i < 32; i++) {
			send_make(l);
			send_one(l);
		}
	} while (clock_s(CLOCK_MONOTONIC) < until);
	if (l->way == ZEROCOPY)
		notes_wait(l, 0);
	cpu = clock_s(CLOCK_THREAD_CPUTIME_ID) - cpu;
	until = clock_s(CLOCK_MONOTONIC);
	if (cycles >= 0 && read(cycles, &ended, sizeof ended) < 0)
		fail("perf");
	printf("{\"bytes\": %llu, \"sends\": %llu, \"seconds\": %.6f, "
	       "\"cpu_s\": %.6f, \"cycles\": %lld, \"copied\": %.3f}\n",
	       (unsigned long long)l->bytes, (unsigned long long)l->sends,
	       until - from, cpu,
	       cycles >= 0 ? (long long)(ended - begun) : -1ll,
	       l->notes ? (double)l->copied / (double)l->notes : 0.0);
}

static void *
memory_make(size_t bytes)
{
	void *m = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (m == MAP_FAILED)
		fail("mmap");
	madvise(m, bytes, MADV_HUGEPAGE);
	memset(m, 0x5a, bytes);
	return m;
}

static void
loop_open(struct loop *l, const char *address, const char *port)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	const int yes = 1;

	inet_pton(AF_INET, address, &at.sin_addr);
	at.sin_port = htons((uint16_t)atoi(port));
	l->fd = socket_make(l->tcp);
	if (l->way == ZEROCOPY &&
	    setsockopt(l->fd, SOL_SOCKET, SO_ZEROCOPY, &yes, sizeof yes) < 0)
		fail("SO_ZEROCOPY");
	if (connect(l->fd, (void *)&at, sizeof at) < 0)
		fail("connect");
	l->memory = memory_make(MEMORY);
	l->heads = memory_make(HEADS);
	l->stage = memory_make(STAGE);
}

int
main(int argc, char **argv)
{
	struct loop l = { 0 };

	if (argc == 4 && strcmp(argv[1], "sink") == 0)
		sink(strcmp(argv[2], "tcp") == 0, argv[3]);
	if (argc != 10) {
		fprintf(stderr, "usage: see the source\n");
		return 2;
	}
	l.tcp = strcmp(argv[1], "tcp") == 0;
	l.way = argv[4][0] == 'g'   ? GATHER
		: argv[4][0] == 'c' ? COPY
				    : ZEROCOPY;
	l.record = (uint32_t)atoi(argv[5]);
	l.records = (uint32_t)atoi(argv[6]);
	l.head = (uint32_t)atoi(argv[7]);
	l.cut = atoi(argv[8]) && l.records > 1;
	if (!l.record || l.record > 16384 || !l.records || l.records > MOST ||
	    l.head * l.records > HEADS) {
		fprintf(stderr, "gather_loop: no such records\n");
		return 2;
	}
	loop_open(&l, argv[2], argv[3]);
	run(&l, atof(argv[9]) / 1e3);
	return 0;
}
