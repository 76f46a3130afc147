/* SPDX-License-Identifier: MIT */
/*
 * Feeds the receiver of wire frames with foreign bytes, over connections that
 * come, bring some, and go.
 *
 * An input is steps.  The low two bits of a step's first byte say which
 * connection, the next three what happens to it:
 *
 *   0  it begins, if it has not
 *   1  bytes come: a length of two bytes, then so many bytes
 *   2  it ends
 *   3  time passes: a tenth of a second for each unit of the next byte
 *   else  the core takes what there is, with room for so many packets as the
 *         next byte says
 *
 * Checksums are the low byte of a sum here, so that mutations reach beyond
 * them.  Nothing may be told but what was asked for, within the room; of a
 * sender that sends again what was lost (its HELLO has a time) nothing twice,
 * and nothing out of order.  With the first byte's highest bit there is a
 * secret, and whoever does not know it is told nothing of.
 */
#include <stdlib.h>
#include <string.h>

#include <poll.h>
static int hung_up(void);
#define poll(p, n, ms) ((void)(p), hung_up())
#include "receive/tcp/framed.c"
#include "receive/tcp/transfer.c"

enum { LINES = 4, PACKET = 16 };

static struct {
	const uint8_t *bytes; /* not read yet */
	uint32_t n;
	bool ended;
	bool known;
	uint64_t next;
} way[LINES];

/* Has anybody? */
static int
hung_up(void)
{
	for (unsigned i = 0; i < LINES; i++)
		if (way[i].ended)
			return 1;
	return 0;
}

static struct peer peer[LINES];
static int caller = -1; /* who is at the door */

static void
require(bool truth)
{
	if (!truth)
		abort();
}

/* ---- what framed.c has around it ------------------------------------- */

static uint32_t
crc(uint32_t start, const void *data, uint64_t bytes)
{
	const uint8_t *at = data;

	while (bytes--)
		start += *at++;
	return start & 0xff;
}

static void __attribute__((format(printf, 3, 4)))
no_log(void *ctx, enum log_level level, const char *format, ...)
{
	(void)ctx;
	(void)level;
	(void)format;
}

/* Nobody guesses it. */
static void
no_mac(const void *key, uint32_t key_bytes, const void *data, uint64_t bytes,
       uint8_t out[32])
{
	uint64_t sum = 14695981039346656037u;
	const uint8_t *at = data;

	(void)key;
	(void)key_bytes;
	for (uint64_t i = 0; i < bytes; i++)
		sum = (sum ^ at[i]) * 1099511628211u;
	for (unsigned i = 0; i < 32; i++) {
		sum = (sum ^ i) * 1099511628211u;
		out[i] = (uint8_t)(sum >> 40);
	}
}

static const struct host host = { .log = no_log,
				  .crc32c = crc,
				  .hmac_sha256 = no_mac };

/* The last that was told of a transfer that is sent again. */
static uint64_t last_id, last_at;

int
peer_read(struct peer *p, const struct iovec *iov, int n)
{
	unsigned i = (unsigned)(p - peer);
	uint32_t most = (uint32_t)iov->iov_len;

	require(n == 1 && p->fd >= 0 && iov->iov_len > 0);
	if (!way[i].n)
		return way[i].ended ? -ENODATA : 0;
	if (most > way[i].n)
		most = way[i].n;
	memcpy(iov->iov_base, way[i].bytes, most);
	way[i].bytes += most;
	way[i].n -= most;
	return (int)most;
}

void
peer_seat(struct peer *p, int fd, const union endpoint *from)
{
	(void)from;
	p->fd = fd;
	p->quiet = 0;
}

void
peer_leave(struct peer *p, enum log_level level, const char *why)
{
	(void)level;
	require(why && p->fd >= 0);
	p->fd = -1;
	way[p - peer].n = 0;
	way[p - peer].ended = false;
}

void
peer_wake(struct peer *p, bool left)
{
	(void)p;
	(void)left;
}

int
door_accept(struct door *d, union endpoint *from)
{
	int who = caller;

	(void)d;
	(void)from;
	caller = -1;
	return who;
}

void
door_refuse(struct door *d, int fd, const union endpoint *from, const char *why)
{
	(void)d;
	(void)fd;
	(void)from;
	require(why != NULL);
}

/* ---- steps ----------------------------------------------------------- */

static void
take(struct framed_receiver *f, unsigned i, unsigned room)
{
	struct receive_batch b = { .room = room, .pairs = RECEIVE_BATCH };

	require(framed_receive(f, i, &b) == 0);
	require(b.packets <= room && b.packets <= RECEIVE_BATCH);
	require(!b.packets || way[i].known);
	require(!b.packets || !f->secret_bytes);
	if (b.packets && f->transfer.born) {
		if (f->transfer.id == last_id)
			require((int64_t)(way[i].next - last_at) >= 0);
		last_id = f->transfer.id;
		last_at = way[i].next + b.packets;
	}
	for (unsigned n = 0; n < b.packets; n++) {
		require(b.packet[n].sequence == way[i].next + n);
		require(b.packet[n].bytes == PACKET);
		crc(0, b.packet[n].payload, PACKET); /* is it there? */
	}
	way[i].known = b.known;
	way[i].next = b.next;
}

/* Returns how many bytes of the input it used up. */
static size_t
step(struct framed_receiver *f, const uint8_t *at, size_t left)
{
	unsigned i = at[0] & 3, what = at[0] >> 2 & 7;
	size_t used = 2;
	uint32_t n;

	switch (what) {
	case 0:
		caller = peer[i].fd < 0 ? 7 : -1;
		take(f, 0, RECEIVE_BATCH);
		return 1;
	case 1:
		if (left < 3 || way[i].n)
			return 1;
		n = read_le16(at + 1);
		way[i].n = n < left - 3 ? n : (uint32_t)(left - 3);
		way[i].bytes = at + 3;
		used = 3 + way[i].n;
		take(f, i, 0);
		return used;
	case 2: way[i].ended = true; return 1;
	case 3:
		if (left < 2)
			return 1;
		framed_tick(f, at[1] * INT64_C(100000000));
		return used;
	default:
		if (left < 2)
			return 1;
		take(f, i, at[1]);
		return used;
	}
}

/* Made once, because inlets are large, and cleared for each input. */
static struct framed_receiver *
fresh(void)
{
	const struct receive_args args = { .host = &host,
					   .payload = PACKET,
					   .reach = 32 };
	static const struct transfer_args transfer = { LINES, PACKET, 32, 1 };
	static struct door door;
	static struct framed_receiver f;

	if (!f.lines)
		require(framed_make(&f, &door, peer, LINES, &args) == 0);
	for (unsigned i = 0; i < LINES; i++) {
		struct inlet in = f.line[i].inlet;

		inlet_clear(&in);
		f.line[i] = (struct framed_line){ .inlet = in };
		peer[i] = (struct peer){ .host = &host, .fd = -1 };
	}
	transfer_free(&f.transfer);
	require(transfer_make(&f.transfer, &transfer) == 0);
	memset(way, 0, sizeof way);
	caller = -1;
	last_id = 0;
	f.secret_bytes = 0;
	return &f;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct framed_receiver *f = fresh();
	size_t at = 0;

	if (bytes && data[0] & 0x80)
		f->secret_bytes = 16;
	while (at < bytes)
		at += step(f, data + at, bytes - at);
	for (unsigned n = 0; n < 4 * LINES; n++)
		take(f, n % LINES, RECEIVE_BATCH);
	return 0;
}
