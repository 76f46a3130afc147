/* SPDX-License-Identifier: MIT */
/*
 * gen: a telescope in a plugin.  It makes packets of the stream's format where
 * they would have landed, with losses, swaps and duplicates as asked for.  Data
 * is a pure function of seed and sequence (pattern_make()), so a test knows
 * what has to come out.
 *
 * With a rate, a timer that ticks every millisecond paces it.  Without a rate
 * the source is always readable and makes a whole batch per call.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "contract/format.h"
#include "contract/receive.h"

enum { PATTERNS = 64, TICK = 1000000 /* ns */ };

struct gen_options {
	uint64_t rate, first, packets;
	double loss, reorder, duplicate;
	uint32_t seed;
};

#define SHARE(word, text)                                                      \
	{                                                                      \
		.name = #word, .type = OPTION_SHARE,                           \
		.offset = offsetof(struct gen_options, word), .help = text     \
	}

static const struct option_key table[] = {
	{ .name = "gen_rate",
	  .type = OPTION_RATE,
	  .offset = offsetof(struct gen_options, rate),
	  .help = "bits per second to make; none: as fast as it goes" },
	{ .name = "first",
	  .type = OPTION_BYTES,
	  .offset = offsetof(struct gen_options, first),
	  .help = "sequence of the first packet" },
	{ .name = "packets",
	  .type = OPTION_BYTES,
	  .offset = offsetof(struct gen_options, packets),
	  .help = "how many packets to make; none: no end" },
	{ .name = "seed",
	  .type = OPTION_COUNT,
	  .fallback = "1",
	  .offset = offsetof(struct gen_options, seed),
	  .help = "the same seed makes the same packets" },
	SHARE(loss, "share of packets that are left out"),
	SHARE(reorder, "share of packets that change places with the next"),
	SHARE(duplicate, "share of packets that come twice"),
	{ .name = NULL },
};

struct receive_state {
	struct gen_options o;
	struct host host;
	const struct format_ops *format;
	const struct format_shape *shape;
	uint32_t prefix, payload, fps, threads;
	int fd;
	/* ns (UTC): time of the first packet, and start of pacing */
	int64_t start;
	uint64_t sequence; /* next packet, counted from 0 */
	uint64_t told;	   /* packets handed to the core */
	uint64_t random;
	/*
	 * sequence to be sent next: a duplicate or the first of a swapped pair;
	 * -1: none
	 */
	int64_t again;
	uint8_t *pattern; /* PATTERNS payloads */
};

/* xorshift64*: small, and good enough to choose packets to lose. */
static uint64_t
random_next(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1d;
}

static bool
chance(struct receive_state *s, double share)
{
	return share > 0 &&
	       (double)(random_next(&s->random) >> 11) / (1ull << 53) < share;
}

static int
pattern_make(struct receive_state *s)
{
	uint64_t random = s->o.seed * 0x9e3779b97f4a7c15 + 1;
	size_t bytes = (size_t)PATTERNS * s->payload;

	s->pattern = malloc(bytes + 8);
	if (!s->pattern)
		return -ENOMEM;
	for (size_t i = 0; i < bytes; i += 8)
		write_le64(s->pattern + i, random_next(&random));
	for (uint32_t i = 0; s->format->model && i < PATTERNS;
	     i += s->shape->parts)
		s->format->model(s->shape, s->pattern + (size_t)i * s->payload);
	return 0;
}

static int
timer_open(struct receive_state *s)
{
	struct itimerspec every = { .it_interval.tv_nsec = TICK,
				    .it_value.tv_nsec = TICK };

	if (!s->o.rate)
		return s->fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
	s->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (s->fd >= 0)
		timerfd_settime(s->fd, 0, &every, NULL);
	return s->fd;
}

static void
gen_close(struct receive_state *s)
{
	if (s->fd >= 0)
		close(s->fd);
	free(s->pattern);
	free(s);
}

static int
gen_open(struct receive_state **state, const struct receive_args *args)
{
	struct receive_state *s;
	int err;

	if (!args->format->stamp) {
		snprintf(args->why, args->why_bytes,
			 "the generator makes no heaps; `spate gen --format "
			 "%s` sends some to a stream with receive = \"udp\"",
			 args->format->head.name);
		return -EINVAL;
	}
	s = calloc(1, sizeof *s);
	if (!s)
		return -ENOMEM;
	s->o = *(const struct gen_options *)args->options;
	s->host = *args->host;
	s->format = args->format;
	s->shape = args->shape;
	s->prefix = args->prefix;
	s->payload = args->payload;
	s->fps = args->shape->fps ? args->shape->fps : 1000;
	s->threads = args->shape->threads_n ? args->shape->threads_n : 1;
	s->again = -1;
	s->random = s->o.seed * 0x9e3779b97f4a7c15 + 7;
	s->start = s->host.now(s->host.ctx);
	s->fd = -1;
	if (s->o.loss >= 1) {
		snprintf(args->why, args->why_bytes,
			 "loss = 1 leaves no packet to make; it has to be "
			 "below 1");
		gen_close(s);
		return -EINVAL;
	}
	err = timer_open(s) < 0 ? -errno : pattern_make(s);
	if (err) {
		snprintf(args->why, args->why_bytes,
			 "the generator could not start: %s", strerror(-err));
		gen_close(s);
		return err;
	}
	*state = s;
	return 0;
}

static unsigned
gen_sources(const struct receive_state *s)
{
	(void)s;
	return 1;
}

static int
gen_fd(const struct receive_state *s, unsigned source)
{
	(void)source;
	return s->fd;
}

static void
packet_make(struct receive_state *s, uint64_t n, const struct receive_pair *at)
{
	uint64_t frame = n / s->shape->parts / s->threads;
	uint32_t thread = (uint32_t)(n / s->shape->parts % s->threads);
	struct format_packet p = {
		.has = FORMAT_SEQUENCE | FORMAT_TIME | FORMAT_VALID,
		.sequence = s->o.first + n,
		.second = s->start / NS_SECOND + (int64_t)(frame / s->fps),
		.frame = (uint32_t)(frame % s->fps),
		.part = (uint32_t)(n % s->shape->parts),
		.thread = s->shape->threads_n ? s->shape->threads[thread] : 0,
	};

	memcpy(at->payload, s->pattern + n % PATTERNS * s->payload, s->payload);
	if (s->prefix)
		memset(at->prefix, 0, s->prefix);
	s->format->stamp(s->shape, &p, at->prefix, at->payload);
}

static bool
at_end(const struct receive_state *s)
{
	return s->o.packets && s->sequence >= s->o.packets;
}

/* Returns the sequence of the next packet, after losses, swaps and repeats. */
static uint64_t
packet_choose(struct receive_state *s)
{
	uint64_t n;

	if (s->again >= 0) {
		n = (uint64_t)s->again;
		s->again = -1;
		return n;
	}
	/*
	 * The first and the last packet are never lost, so that every loss lies
	 * between two packets and can be counted.
	 */
	while (s->sequence && s->sequence + 1 != s->o.packets &&
	       chance(s, s->o.loss))
		s->sequence++;
	n = s->sequence++;
	if (chance(s, s->o.duplicate)) {
		s->again = (int64_t)n;
	} else if (!at_end(s) && chance(s, s->o.reorder)) {
		s->again = (int64_t)n;
		n = s->sequence++;
	}
	return n;
}

/* Returns how many packets should have been made by now. */
static uint64_t
due(struct receive_state *s)
{
	double bits = 8.0 * (s->prefix + s->payload);
	double seconds;
	uint64_t ticks;

	if (!s->o.rate)
		return UINT64_MAX;
	if (read(s->fd, &ticks, sizeof ticks) < 0 && errno != EAGAIN)
		return UINT64_MAX;
	seconds = (double)(s->host.now(s->host.ctx) - s->start) / 1e9;
	return (uint64_t)(seconds * (double)s->o.rate / bits);
}

static int
gen_receive(struct receive_state *s, unsigned source, struct receive_batch *b)
{
	uint64_t until = due(s);

	(void)source;
	b->packets = 0;
	b->want = RECEIVE_BATCH;
	while (b->packets < b->pairs && s->told < until) {
		const struct receive_pair *at = &b->pair[b->packets];

		if (at_end(s) && s->again < 0)
			break;
		packet_make(s, packet_choose(s), at);
		b->packet[b->packets++] = (struct receive_packet){
			.prefix = at->prefix,
			.payload = at->payload,
			.prefix_bytes = s->prefix,
			.bytes = s->prefix + s->payload,
		};
		s->told++;
	}
	return !b->packets && at_end(s) ? -ENODATA : 0;
}

static void
gen_counts(struct receive_state *s, unsigned source,
	   struct receive_counts *counts)
{
	(void)source;
	*counts = (struct receive_counts){ .datagrams = s->told };
}

SPATE_PLUGIN const struct receive_ops spate_receive = {
	.head = { .abi = SPATE_ABI,
		  .bytes = sizeof(struct receive_ops),
		  .name = "gen",
		  .help = "synthetic packets, seeded",
		  .options = table,
		  .options_bytes = sizeof(struct gen_options) },
	.open = gen_open,
	.sources = gen_sources,
	.fd = gen_fd,
	.receive = gen_receive,
	.counts = gen_counts,
	.close = gen_close,
};
