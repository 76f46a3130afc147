/* SPDX-License-Identifier: MIT */
/*
 * How evenly do datagrams come?
 *
 *   pace_sink ADDRESS RATE SECONDS
 *       prints its port; from the first datagram on it looks for SECONDS, and
 *       says as JSON what came, for a rate in bits per second
 *
 * Each has the time at which the kernel had it, so it does not matter when
 * this program runs.  A burst is what does not fit in a bucket that leaks at
 * the rate: how much memory a switch of just that rate would need.  Bytes are
 * those of datagrams, without headers.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/udp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <signal.h>
#include <time.h>

enum {
	ROOM = 64 << 20,
	BATCH = 64,
	BIN = 10000000, /* ns */
	SECOND = 1000000000,
	NOBODY = 10, /* s, that we wait */
};

struct sink {
	int fd;
	double rate; /* bytes per ns */
	int64_t first, last;
	uint64_t bytes, calls;
	uint64_t before_last; /* bytes, but for those that came last */
	double level, burst, gap;
	uint64_t *bin;
	unsigned bins;
};

static void
fail(const char *what)
{
	fprintf(stderr, "pace_sink: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void
sink_open(struct sink *s, const char *address)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	const struct timeval patience = { NOBODY, 0 };
	const int room = ROOM, yes = 1;
	socklen_t bytes = sizeof at;

	s->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (s->fd < 0)
		fail("socket");
	if (setsockopt(s->fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room))
		setsockopt(s->fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
	setsockopt(s->fd, IPPROTO_UDP, UDP_GRO, &yes, sizeof yes);
	setsockopt(s->fd, SOL_SOCKET, SO_TIMESTAMPNS, &yes, sizeof yes);
	setsockopt(s->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	inet_pton(AF_INET, address, &at.sin_addr);
	if (bind(s->fd, (void *)&at, sizeof at) < 0)
		fail("bind");
	getsockname(s->fd, (void *)&at, &bytes);
	printf("%u\n", ntohs(at.sin_port));
	fflush(stdout);
}

static int64_t
time_of(struct msghdr *m)
{
	struct timespec t = { 0 };

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
		if (c->cmsg_level == SOL_SOCKET &&
		    c->cmsg_type == SCM_TIMESTAMPNS)
			memcpy(&t, CMSG_DATA(c), sizeof t);
	return (int64_t)t.tv_sec * SECOND + t.tv_nsec;
}

static void
count(struct sink *s, int64_t now, uint32_t bytes)
{
	int64_t since = now - s->last;
	unsigned bin;

	if (!s->first) {
		s->first = s->last = now;
		since = 0;
	}
	if (since < 0)
		since = 0;
	if ((double)since > s->gap)
		s->gap = (double)since;
	s->level -= (double)since * s->rate;
	s->level = (s->level < 0 ? 0 : s->level) + bytes;
	if (s->level > s->burst)
		s->burst = s->level;
	bin = (unsigned)((now - s->first) / BIN);
	if (bin < s->bins)
		s->bin[bin] += bytes;
	s->before_last = s->bytes;
	s->bytes += bytes;
	s->last = now;
	s->calls++;
}

/* Until it has looked for so long; 0: nobody sends any more. */
static void
look(struct sink *s, int64_t ns)
{
	static union {
		struct cmsghdr align;
		char bytes[256];
	} control[BATCH];
	struct mmsghdr m[BATCH];
	struct iovec iov;
	char c;
	int n;

	iov = (struct iovec){ &c, 1 };
	while (!s->first || s->last - s->first < ns) {
		memset(m, 0, sizeof m);
		for (unsigned i = 0; i < BATCH; i++)
			m[i].msg_hdr = (struct msghdr){
				.msg_iov = &iov,
				.msg_iovlen = 1,
				.msg_control = &control[i],
				.msg_controllen = sizeof control[i],
			};
		n = recvmmsg(s->fd, m, BATCH, MSG_TRUNC | MSG_WAITFORONE, NULL);
		if (n <= 0)
			return;
		for (int i = 0; i < n; i++)
			count(s, time_of(&m[i].msg_hdr), m[i].msg_len);
	}
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* How far 10 ms are from the rate, at the median, at 99 %, and at worst. */
static void
bins_show(const struct sink *s)
{
	unsigned n = (unsigned)((s->last - s->first) / BIN);
	double *off = calloc(n + 1, sizeof *off);

	for (unsigned i = 0; i < n && i < s->bins; i++) {
		off[i] = (double)s->bin[i] / (s->rate * BIN) - 1;
		off[i] = off[i] < 0 ? -off[i] : off[i];
	}
	qsort(off, n, sizeof *off, compare);
	printf("\"bins\": %u, \"bin_median\": %.5f, \"bin_99\": %.5f, "
	       "\"bin_worst\": %.5f, ",
	       n, n ? off[n / 2] : 0, n ? off[n * 99 / 100] : 0,
	       n ? off[n - 1] : 0);
	free(off);
}

int
main(int argc, char **argv)
{
	struct sink s = { 0 };
	double seconds;

	if (argc != 4) {
		fprintf(stderr, "usage: pace_sink ADDRESS RATE SECONDS\n");
		return 2;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	s.rate = atof(argv[2]) / 8e9;
	seconds = atof(argv[3]);
	s.bins = (unsigned)(seconds * 1e9 / BIN) + 1;
	s.bin = calloc(s.bins, sizeof *s.bin);
	if (!s.bin)
		fail("memory");
	sink_open(&s, argv[1]);
	look(&s, (int64_t)(seconds * 1e9));
	printf("{");
	bins_show(&s);
	/* What came last was sent for the time behind it. */
	printf("\"bytes\": %llu, \"seconds\": %.9f, \"burst\": %.0f, "
	       "\"gap_ns\": %.0f, \"rate\": %.0f}\n",
	       (unsigned long long)s.before_last,
	       (double)(s.last - s.first) / 1e9, s.burst, s.gap,
	       (double)s.before_last * 8e9 / (double)(s.last - s.first));
	return 0;
}
