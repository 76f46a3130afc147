/* SPDX-License-Identifier: MIT */
/*
 * A train as the kernel gets it:
 *
 *   iovecs       head | data | head | data | head | data
 *   cut          `----- size ------''--- size -''- last -'
 *
 * The data of a recording lie one behind the other: without heads, a train is
 * one iovec.  With heads there are two for each packet, and the kernel walks
 * them one by one; so short packets are first copied into one row, where that
 * is cheaper.
 */
#include <string.h>

#include "udp.h"

/*
 * Packets with at most this many bytes of data are copied, longer ones
 * gathered.  Cycles per byte of trains of packets with a prefix of 8 bytes,
 * gathered and copied, from memory that is in no cache (scripts/bench zerocopy,
 * medians of 3, two cores of an AMD EPYC):
 *
 *   data      64         128        256        512        1024       2048
 *   loopback  4.63 2.82  2.41 1.60  1.40 0.99  0.88 0.69  0.63 0.58  0.48 0.52
 *   veth      5.42 3.38  2.64 1.97  1.62 1.11  0.99 0.78  0.69 0.70  0.61 0.58
 *
 * Above that the difference is a few per cent either way, and copying fills the
 * cache.  MSG_ZEROCOPY takes 17 pieces of memory at most, and costs more than
 * either way over both interfaces, which copy all the same.
 */
enum { COPY_MOST = 1024 };

/*
 * Packets with send times join one train if they are due within this time of
 * its first packet.
 */
enum { TOGETHER = 100000 }; /* ns */

static uint32_t
size_of(const struct send_run *r)
{
	return r->head_bytes + r->data_bytes;
}

static bool
is_in_row(const struct send_run *r)
{
	return !r->head_bytes && r->data_stride == r->data_bytes;
}

static void
iov_add(struct udp_train *t, const void *base, uint32_t bytes)
{
	struct iovec *last = t->iovs ? &t->iov[t->iovs - 1] : NULL;

	if (!bytes)
		return;
	if (t->cut && last && (uint8_t *)last->iov_base + last->iov_len == base)
		last->iov_len += bytes;
	else
		t->iov[t->iovs++] = (struct iovec){ (void *)base, bytes };
}

static void
packet_add(struct send_state *s, struct udp_train *t, const struct send_run *r,
	   uint32_t i)
{
	const uint8_t *data = r->data + (size_t)i * r->data_stride;
	const uint8_t *head =
	    r->head ? r->head + (size_t)i * r->head_stride : NULL;
	uint8_t *stage = s->stage + t->bytes;
	unsigned before = t->iovs;

	if (r->data_bytes > COPY_MOST || is_in_row(r) ||
	    size_of(r) > UDP_LARGEST) {
		iov_add(t, head, r->head_bytes);
		iov_add(t, data, r->data_bytes);
	} else {
		if (head)
			memcpy(stage, head, r->head_bytes);
		memcpy(stage + r->head_bytes, data, r->data_bytes);
		iov_add(t, stage, size_of(r));
	}
	t->pieces[t->n] = (uint8_t)(t->iovs - before);
	t->length[t->n++] = size_of(r);
	t->bytes += size_of(r);
}

static void
train_begin(const struct send_state *s, struct udp_train *t,
	    const struct udp_cursor *at)
{
	const struct send_run *r = at->run;

	t->n = t->iovs = 0;
	t->bytes = 0;
	t->sub = r->sub;
	t->size = size_of(r);
	t->cut = s->train > 1 && t->size && t->size < s->cut_not;
	t->due = r->due ? r->due + (int64_t)at->packet * r->every : 0;
	t->every = r->every;
}

/* Tells whether packet i of a run can join the train. */
static bool
fits(const struct send_state *s, const struct udp_train *t,
     const struct send_run *r, uint32_t i)
{
	uint32_t most = t->cut ? s->train : UDP_TRAIN;
	int64_t due = r->due + (int64_t)i * r->every;

	if (!t->n)
		return true;
	if (t->n == most || r->sub != t->sub || !size_of(r) ||
	    t->bytes + size_of(r) > UDP_LARGEST)
		return false;
	if (t->cut && (size_of(r) > t->size || t->length[t->n - 1] < t->size))
		return false;
	return !s->timed || !t->due || due - t->due < TOGETHER;
}

bool
udp_train_make(struct send_state *s, const struct udp_cursor *at,
	       struct udp_train *t)
{
	struct udp_cursor c = *at;

	if (!c.runs)
		return false;
	train_begin(s, t, &c);
	while (c.runs && fits(s, t, c.run, c.packet)) {
		packet_add(s, t, c.run, c.packet);
		udp_cursor_move(&c, 1);
	}
	t->cut = t->cut && t->n > 1;
	return true;
}

void
udp_cursor_move(struct udp_cursor *at, uint32_t packets)
{
	while (at->runs && packets >= at->run->packets - at->packet) {
		packets -= at->run->packets - at->packet;
		at->packet = 0;
		at->run++;
		at->runs--;
	}
	at->packet += packets;
}
