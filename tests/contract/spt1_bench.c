/* SPDX-License-Identifier: MIT */
#include "contract/spt1_bench.h"

struct bench b;
struct line line[LINES + 1];
struct answer aim[LINES];
uint64_t told[8][MOST];
bool made[8][MOST];
bool owed[8][MOST];
bool begun[8];
uint64_t packets;
bool strict;

void
make(uint64_t run, uint64_t at)
{
	made[run][at] = true;
	owed[run][at] = !told[run][at];
}

void
told_forget(void)
{
	memset(told, 0, sizeof told);
	memset(begun, 0, sizeof begun);
	memcpy(owed, made, sizeof owed);
}

void
add(struct line *l, const void *data, size_t bytes)
{
	ck_assert_uint_le(l->bytes + bytes, sizeof l->text);
	memcpy(l->text + l->bytes, data, bytes);
	l->bytes += bytes;
}

void
add_frame(struct line *l, struct wire_frame f, const void *payload)
{
	uint8_t header[WIRE_HEADER];

	f.payload_crc = crc32c(0, payload, f.payload_bytes);
	wire_pack(&f, header, crc32c);
	add(l, header, sizeof header);
	add(l, payload, f.payload_bytes);
}

void
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

void
add_hello(struct line *l, uint64_t transfer, unsigned n, unsigned of)
{
	add_hello_born(l, transfer, n, of, 0);
}

void
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

void
add_end(struct line *l, uint64_t run, uint64_t first)
{
	add_frame(
	    l,
	    (struct wire_frame){ .type = WIRE_END, .run = run, .first = first },
	    "");
}

size_t
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

/* Nobody whose packet is so much before this one is still to come. */
static void
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

static void
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

unsigned
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

uint64_t
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

void
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

void
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

void
finish(void)
{
	for (unsigned i = 0; i <= LINES; i++) {
		if (line[i].fd >= 0)
			close(line[i].fd);
	}
	bench_close(&b);
}

void
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

void
answer_check(int fd)
{
	uint8_t at[WIRE_HEADER];
	struct wire_frame f;

	ck_assert_int_eq(recv(fd, at, sizeof at, 0), sizeof at);
	ck_assert_ptr_null(wire_unpack(&f, at, crc32c));
	ck_assert_uint_eq(f.type, WIRE_HAVE);
	ck_assert_uint_eq(f.run | f.first | f.packets | f.payload_bytes, 0);
}

void
said(const char *what)
{
	ck_assert_msg(strstr(b.log, what), "'%s', expected '%s'", b.log, what);
}
