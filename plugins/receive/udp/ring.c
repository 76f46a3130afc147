/* SPDX-License-Identifier: MIT */
/*
 * Reads a packet ring.
 *
 * A packet lies in the ring with its headers; the core is told where its
 * datagram begins.  Packets may be longer than any wire allows: a sender that
 * segments (UDP_SEGMENT) on the other side of a veth, or a card that merges
 * packets, hands over a train of datagrams under one header.  PACKET_VNET_HDR
 * gives the length of each, and they are reported one by one.
 *
 * The card, or the other side of a veth, usually checks checksums.  Where
 * neither did, the sum is checked here, as a socket would do it.
 */
#include "ring.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <sys/socket.h>

#include "datagram.h"

/* Defined since Linux 6.2; older kernels do not hand such packets over. */
#ifndef VIRTIO_NET_HDR_GSO_UDP_L4
#define VIRTIO_NET_HDR_GSO_UDP_L4 5
#endif

enum { LOOKS = 4 * RECEIVE_BATCH };

static struct tpacket_block_desc *
block_at(const struct ring *r, unsigned i)
{
	return (struct tpacket_block_desc *)(r->memory +
					     (uint64_t)i * RING_BLOCK);
}

/*
 * Gives blocks back whose packets were reported in the last call.  Release: the
 * kernel may write into a block as soon as it sees the new status, so all reads
 * from it come before.
 */
static void
blocks_return(struct ring *r)
{
	for (; r->told; r->told--) {
		unsigned i = (r->at + r->blocks - r->told) % r->blocks;

		__atomic_store_n(&block_at(r, i)->hdr.bh1.block_status,
				 TP_STATUS_KERNEL, __ATOMIC_RELEASE);
	}
}

static void
block_leave(struct ring *r)
{
	r->at = (r->at + 1) % r->blocks;
	r->told++;
}

/*
 * Takes the next block; false: the kernel still has it.  Acquire: pairs with
 * the kernel's store of TP_STATUS_USER, so that the packets are complete.
 */
static bool
block_take(struct ring *r)
{
	struct tpacket_block_desc *block = block_at(r, r->at);
	struct tpacket_hdr_v1 *head = &block->hdr.bh1;

	if (r->told == r->blocks ||
	    !(__atomic_load_n(&head->block_status, __ATOMIC_ACQUIRE) &
	      TP_STATUS_USER))
		return false;
	r->packet = (uint8_t *)block + head->offset_to_first_pkt;
	r->left = head->num_pkts;
	if (!r->left)
		block_leave(r);
	return true;
}

/* ---- packets --------------------------------------------------------- */

static void
say_once(struct ring *r, bool *said, const char *what)
{
	if (!*said)
		r->host.log(r->host.ctx, LEVEL_WARN, "%s", what);
	*said = true;
}

static void
sender_tell(struct ring *r, const struct datagram *d, struct receive_packet *k)
{
	union endpoint from;

	if (!r->ask && !r->senders && !r->allow->n)
		return;
	datagram_sender(d, &from);
	if (r->senders)
		k->sender = endpoint_mix(&from);
	if (r->allow->n && !allow_has(r->allow, &from)) {
		k->flags |= RECEIVE_FOREIGN;
	} else {
		r->ask = false;
		r->sender = from;
	}
}

static void
segment_tell(struct ring *r, struct receive_batch *b)
{
	struct receive_packet *k = &b->packet[b->packets++];
	uint32_t bytes = r->train_bytes;

	if (bytes > r->segment_bytes)
		bytes = r->segment_bytes;
	*k = r->mark;
	k->prefix = r->segment;
	k->prefix_bytes = bytes < r->prefix ? bytes : r->prefix;
	k->payload = r->segment + k->prefix_bytes;
	k->bytes = bytes;
	if (bytes > r->longest)
		k->flags |= RECEIVE_CUT;
	r->segment += bytes;
	r->train_bytes -= bytes;
}

/*
 * Returns the length of each datagram of a train, or that of a single datagram.
 */
static uint32_t
segment_bytes(const struct tpacket3_hdr *head, const struct datagram *d)
{
	const struct virtio_net_hdr *net =
	    (const void *)((const uint8_t *)head + head->tp_mac - sizeof *net);

	if (net->gso_type != VIRTIO_NET_HDR_GSO_UDP_L4 || !net->gso_size)
		return d->bytes;
	return net->gso_size;
}

static bool
is_sound(const struct tpacket3_hdr *head, const struct datagram *d)
{
	return head->tp_status &
		   (TP_STATUS_CSUM_VALID | TP_STATUS_CSUMNOTREADY) ||
	       d->cut || datagram_is_sound(d);
}

static void
packet_tell(struct ring *r, struct tpacket3_hdr *head, struct receive_batch *b)
{
	uint32_t before = (uint32_t)head->tp_net - head->tp_mac;
	struct datagram d;
	int err = -EBADMSG;

	if (head->tp_snaplen > before)
		err = datagram_find(&d, (uint8_t *)head + head->tp_net,
				    head->tp_snaplen - before);
	if (err == -ENOTSUP)
		say_once(r, &r->fragments,
			 "fragments of packets come in, which a ring cannot "
			 "put together: they are left out");
	if (err)
		return;
	if (!is_sound(head, &d)) {
		say_once(r, &r->unsound,
			 "packets come in whose checksums are wrong: they are "
			 "left out");
		return;
	}
	r->segment = d.data;
	r->train_bytes = d.bytes;
	r->segment_bytes = segment_bytes(head, &d);
	r->mark = (struct receive_packet){
		.flags = d.cut ? RECEIVE_CUT : 0,
		.arrived = head->tp_sec * 1000000000ll + head->tp_nsec,
	};
	sender_tell(r, &d, &r->mark);
	segment_tell(r, b);
}

static void
packet_next(struct ring *r, struct receive_batch *b)
{
	struct tpacket3_hdr *head = (struct tpacket3_hdr *)r->packet;

	r->packet += head->tp_next_offset;
	r->left--;
	packet_tell(r, head, b);
}

/*
 * Clears the error that an interface leaves on the socket when it goes down: a
 * socket with an error polls readable for ever.  Packets go on when the
 * interface is up again.
 */
static void
error_clear(struct ring *r)
{
	socklen_t length = sizeof(int);
	int err = 0;

	if (getsockopt(r->fd, SOL_SOCKET, SO_ERROR, &err, &length) == 0 && err)
		say_once(r, &r->down, "the interface went down");
}

/*
 * Reports packets as receive_ops::receive does.  A call looks at LOOKS packets
 * at most, because packets that are left out cost time, too.
 */
void
ring_receive(struct ring *r, struct receive_batch *b)
{
	unsigned looks = 0;

	blocks_return(r);
	b->packets = 0;
	b->want = 1;
	b->again = false;
	while (b->packets < RECEIVE_BATCH && !b->again) {
		b->again = ++looks == LOOKS;
		if (r->train_bytes)
			segment_tell(r, b);
		else if (r->left)
			packet_next(r, b);
		else if (block_take(r))
			continue;
		else
			break;
		if (!r->left && !r->train_bytes)
			block_leave(r);
	}
	r->datagrams += b->packets;
	r->calls += b->packets > 0;
	if (!b->packets)
		error_clear(r);
}

/* Adds up drops: PACKET_STATISTICS is reset by each read. */
uint64_t
ring_overruns(struct ring *r)
{
	struct tpacket_stats_v3 s = { 0 };
	socklen_t length = sizeof s;

	if (getsockopt(r->fd, SOL_PACKET, PACKET_STATISTICS, &s, &length) == 0)
		r->overruns += s.tp_drops;
	return r->overruns;
}
