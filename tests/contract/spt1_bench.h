/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_SPT1_BENCH_H
#define SPATE_TESTS_SPT1_BENCH_H

#include "contract/tcp_bench.h"
#include "wire/frame.h"

/*
 * A sender with several connections, each with a text that is sent bit by
 * bit, and what a core does with the answers: every packet has to be told
 * once, in the aim that was asked for, and none so early that another one
 * comes out of its reach.
 */
enum {
	LINES = 4,
	PACKET = 40,
	REACH = 64,
	MOST = 8192,	      /* packets of a run */
	TEXT = MOST * PACKET, /* bytes of a connection, at most */
};

/* What a connection will bring, and how much of it is sent. */
struct line {
	int fd;
	uint8_t text[2 * TEXT];
	size_t bytes, sent;
};

static struct bench b;
static struct line line[LINES + 1];

/* What the core does with the answers. */
static struct {
	bool known;
	uint64_t next;
} aim[LINES];

static uint64_t told[8][MOST]; /* sequences, of each run; 0: not told */
static bool made[8][MOST];     /* sent, and not lost on purpose, */
static bool owed[8][MOST];     /* and not told yet */
static bool begun[8];	       /* one of the run is told */
static uint64_t packets;       /* told */
static bool strict;	       /* nothing may be told out of reach */

static inline void
make(uint64_t run, uint64_t at)
{
	made[run][at] = true;
	owed[run][at] = !told[run][at];
}

/* What was told may be told again. */
static inline void
told_forget(void)
{
	memset(told, 0, sizeof told);
	memset(begun, 0, sizeof begun);
	memcpy(owed, made, sizeof owed);
}

/* ---- sending --------------------------------------------------------- */

static inline void
add(struct line *l, const void *data, size_t bytes)
{
	ck_assert_uint_le(l->bytes + bytes, sizeof l->text);
	memcpy(l->text + l->bytes, data, bytes);
	l->bytes += bytes;
}

static inline void
add_frame(struct line *l, struct wire_frame f, const void *payload)
{
	uint8_t header[WIRE_HEADER];

	f.payload_crc = crc32c(0, payload, f.payload_bytes);
	wire_pack(&f, header, crc32c);
	add(l, header, sizeof header);
	add(l, payload, f.payload_bytes);
}

/* With `born` it is one that sends again what was lost. */
static inline void
add_hello_born(struct line *l, uint64_t transfer, unsigned n, unsigned of,
	       uint64_t born)
{
	const struct wire_hello h = { WIRE_VERSION, PACKET, of, n, transfer };
	const struct wire_frame f = { .type = WIRE_HELLO,
				      .payload_bytes = WIRE_HELLO_BYTES,
				      .time_ns = born };
	uint8_t payload[WIRE_HELLO_BYTES];

	wire_hello_pack(&h, payload);
	add_frame(l, f, payload);
}

static inline void
add_hello(struct line *l, uint64_t transfer, unsigned n, unsigned of)
{
	add_hello_born(l, transfer, n, of, 0);
}

static inline void
add_data(struct line *l, uint64_t run, uint64_t first, unsigned n)
{
	const struct wire_frame f = { .type = WIRE_DATA,
				      .payload_bytes = n * PACKET,
				      .packets = n,
				      .run = run,
				      .first = first };
	uint8_t payload[256 * PACKET];

	ck_assert_uint_le(n, 256);
	for (unsigned i = 0; i < n; i++) {
		make(run, first + i);
		noise_fill(run * MOST + first + i, 0, payload + i * PACKET,
			   PACKET);
	}
	add_frame(l, f, payload);
}

static inline void
add_end(struct line *l, uint64_t run, uint64_t first)
{
	add_frame(
	    l,
	    (struct wire_frame){ .type = WIRE_END, .run = run, .first = first },
	    "");
}

/* At most so much of what is left; returns how much. */
static inline size_t
flow(struct line *l, size_t most)
{
	size_t left = l->bytes - l->sent;
	ssize_t n;

	n = send(l->fd, l->text + l->sent, left < most ? left : most,
		 MSG_DONTWAIT | MSG_NOSIGNAL);
	l->sent += n > 0 ? (size_t)n : 0;
	if (most == SIZE_MAX)
		settle(l->fd);
	return n > 0 ? (size_t)n : 0;
}

/* ---- taking ---------------------------------------------------------- */

/* Nobody whose packet is so much before this one is still to come. */
static inline void
reach_check(uint64_t run, uint64_t at)
{
	const bool *first;

	if (!begun[run] && memchr(made[run], true, at))
		ck_abort_msg("a run begins with packet %llu",
			     (unsigned long long)at);
	first = at < REACH ? NULL : memchr(owed[run], true, at - REACH + 1);
	if (first)
		ck_abort_msg("packet %llu is told before %llu",
			     (unsigned long long)at,
			     (unsigned long long)(first - owed[run]));
	if (run && memchr(owed[run - 1], true, MOST))
		ck_abort_msg("run %llu is told before the end of the last",
			     (unsigned long long)run);
}

static inline void
packet_is(const struct receive_packet *k, unsigned i)
{
	uint64_t at = k->sequence & ((UINT64_C(1) << 47) - 1);
	uint64_t run = 0;

	ck_assert_uint_eq(k->flags, RECEIVE_SEQUENCE);
	ck_assert_uint_eq(k->bytes, PACKET);
	ck_assert_uint_lt(at, MOST);
	while (run < 8 && (!made[run][at] ||
			   !noise_is(run * MOST + at, 0, k->payload, PACKET)))
		run++;
	if (run == 8)
		ck_abort_msg("packet %u, which says that it is %llu, is "
			     "nobody's",
			     i, (unsigned long long)at);
	if (told[run][at])
		ck_abort_msg("packet %llu is told twice",
			     (unsigned long long)at);
	if (strict)
		reach_check(run, at);
	told[run][at] = k->sequence + 1;
	owed[run][at] = false;
	begun[run] = true;
	packets++;
}

/* One call, with so much room where the aim is. */
static inline unsigned
take_line(unsigned source, unsigned room)
{
	unsigned n = take(&b, source, RECEIVE_BATCH, room);

	ck_assert_uint_le(n, room);
	for (unsigned i = 0; i < n; i++) {
		ck_assert(aim[source].known);
		ck_assert_uint_eq(b.batch.packet[i].sequence,
				  aim[source].next + i);
		packet_is(&b.batch.packet[i], i);
	}
	/* It is good for the next call, and for no other. */
	aim[source].known = b.batch.known;
	aim[source].next = b.batch.next;
	return n;
}

/* All that can be told now.  As often as the core would poll: who comes in at
 * source 0 may sit at another one. */
static inline uint64_t
take_all_lines(void)
{
	uint64_t before = packets;

	for (int rounds = 0, idle = 0; idle < 4; rounds++, idle++) {
		ck_assert_int_lt(rounds, 10000);
		for (unsigned i = 0; i < b.ops->sources(b.state); i++) {
			if (take_line(i, RECEIVE_BATCH) || b.batch.again)
				idle = 0;
		}
	}
	return packets - before;
}

/* Everything is sent and told. */
static inline void
flow_all(void)
{
	bool more = true;

	while (more) {
		more = false;
		for (unsigned i = 0; i < LINES; i++)
			more |= line[i].fd >= 0 && flow(&line[i], SIZE_MAX);
		more |= take_all_lines() > 0;
	}
}

/* ---- around a test --------------------------------------------------- */

static inline void
begin(const char *options)
{
	wish = (struct receive_args){ .reach = REACH };
	memset(made, 0, sizeof made);
	told_forget();
	memset(aim, 0, sizeof aim);
	packets = 0;
	strict = true;
	for (unsigned i = 0; i <= LINES; i++) {
		line[i].fd = -1;
		line[i].bytes = line[i].sent = 0;
	}
	tcp_open(&b, options, 0, PACKET);
}

static inline void
finish(void)
{
	for (unsigned i = 0; i <= LINES; i++) {
		if (line[i].fd >= 0)
			close(line[i].fd);
	}
	bench_close(&b);
}

#ifndef FOUR
#define FOUR "frames = \"spt1\"; connections = 4;"
#endif

/* `n` connections of a transfer, with nothing but their hello so far. */
static inline void
call(unsigned n, uint64_t transfer)
{
	for (unsigned i = 0; i < n; i++) {
		line[i].fd = caller();
		line[i].bytes = line[i].sent = 0;
		add_hello(&line[i], transfer, i, n);
		flow(&line[i], SIZE_MAX);
		take_all_lines(); /* so that line i is at source i */
	}
}

/* The receiver's answer to a hello. */
static inline void
answer_check(int fd)
{
	uint8_t at[WIRE_HEADER];
	struct wire_frame f;

	ck_assert_int_eq(recv(fd, at, sizeof at, 0), sizeof at);
	ck_assert_ptr_null(wire_unpack(&f, at, crc32c));
	ck_assert_uint_eq(f.type, WIRE_HAVE);
	ck_assert_uint_eq(f.run | f.first | f.packets | f.payload_bytes, 0);
}

static inline void
said(const char *what)
{
	ck_assert_msg(strstr(b.log, what), "'%s', expected '%s'", b.log, what);
}

#endif
