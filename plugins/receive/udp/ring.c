/* SPDX-License-Identifier: MIT */
/*
 * A packet socket sees every packet from the moment it is
 * bound, so it begins with a filter that takes nothing, and gets its real
 * filter after it has joined its group: no packet is seen twice.
 *
 * The socket is bound to one protocol, IPv4 or IPv6, and not to all.  There it
 * sees what the IP layer sees: packets without VLAN tags, after bonds and
 * bridges, and none that this machine sends.
 *
 * A group shares packets (PACKET_FANOUT) at random.  By hash, one stream, which
 * is one flow, would go to one ring.  Round robin (LB) is as even, but counts
 * the packets of all streams on the interface: if two streams alternate, two
 * rings would each get one stream.  A ring that is full passes its packets on
 * to others (ROLLOVER).  The kernel puts fragments together first (DEFRAG).
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
#include <linux/filter.h>
#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "contract/bytes.h"
#include "datagram.h"

enum { FRAME = 2048, PROGRAM = 64, IPV4 = 14, IPV6 = 14 };

/* ---- the filter ------------------------------------------------------ */

/*
 * A BPF program of loads and comparisons in a row, each of which may reject the
 * packet.
 */
struct program {
	struct sock_filter code[PROGRAM];
	unsigned short n;
};

static void
emit(struct program *p, uint16_t code, uint32_t k)
{
	p->code[p->n++] = (struct sock_filter){ .code = code, .k = k };
}

static void
load(struct program *p, uint16_t size, uint32_t at)
{
	emit(p, BPF_LD | BPF_ABS | size, at);
}

static void
must_be(struct program *p, uint32_t value)
{
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, value);
}

/* Compares an address in the packet; an address of zeros accepts any. */
static void
must_be_address(struct program *p, uint32_t at, const uint8_t *address,
		unsigned bytes)
{
	static const uint8_t any[16];

	if (!memcmp(address, any, bytes))
		return;
	for (unsigned i = 0; i < bytes; i += 4) {
		load(p, BPF_W, at + i);
		must_be(p, read_be32(address + i));
	}
}

static void
ipv4_filter(struct program *p, const struct address *a)
{
	const union endpoint *to = &a->first, *from = &a->sender;

	load(p, BPF_B, IPV4 + 9);
	must_be(p, IPPROTO_UDP);
	/*
	 * packets arrive whole or defragmented, so later fragments are rejected
	 */
	load(p, BPF_H, IPV4 + 6);
	emit(p, BPF_ALU | BPF_AND | BPF_K, 0x1fff);
	must_be(p, 0);
	must_be_address(p, IPV4 + 16, (const uint8_t *)&to->v4.sin_addr, 4);
	must_be_address(p, IPV4 + 12, (const uint8_t *)&from->v4.sin_addr, 4);
	emit(p, BPF_LDX | BPF_MSH | BPF_B, IPV4);
	emit(p, BPF_LD | BPF_IND | BPF_H, IPV4 + 2);
	must_be(p, endpoint_port(to));
}

/*
 * IPv6 packets with a fragment header are rejected: only the first fragment has
 * a port.
 */
static void
ipv6_filter(struct program *p, const struct address *a)
{
	const union endpoint *to = &a->first, *from = &a->sender;

	must_be_address(p, IPV6 + 24, to->v6.sin6_addr.s6_addr, 16);
	must_be_address(p, IPV6 + 8, from->v6.sin6_addr.s6_addr, 16);
	load(p, BPF_B, IPV6 + 6);
	must_be(p, IPPROTO_UDP);
	load(p, BPF_H, IPV6 + 42);
	must_be(p, endpoint_port(to));
}

/*
 * Appends "accept" and "reject", and lets every failed comparison jump to
 * "reject".
 */
static void
program_end(struct program *p)
{
	emit(p, BPF_RET | BPF_K, UINT32_MAX);
	emit(p, BPF_RET | BPF_K, 0);
	for (unsigned short i = 0; i < p->n; i++) {
		struct sock_filter *c = &p->code[i];
		uint8_t no = (uint8_t)(p->n - 2 - i);

		if (BPF_CLASS(c->code) != BPF_JMP)
			continue;
		if (BPF_OP(c->code) == BPF_JGT)
			c->jt = no;
		else
			c->jf = no;
	}
}

static int
program_attach(int fd, struct program *p)
{
	struct sock_fprog prog = { .len = p->n, .filter = p->code };

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog,
			  sizeof prog) < 0
		   ? -errno
		   : 0;
}

int
ring_deafen(int fd)
{
	struct program p = { 0 };

	emit(&p, BPF_RET | BPF_K, 0);
	return program_attach(fd, &p);
}

/*
 * Attaches the filter: packets to this host, to a group, or broadcast, and not
 * those for other hosts that an interface in promiscuous mode overhears.
 */
static int
filter_set(struct ring *r, const struct address *a)
{
	struct program p = { 0 };

	load(&p, BPF_W, (uint32_t)(SKF_AD_OFF + SKF_AD_PKTTYPE));
	emit(&p, BPF_JMP | BPF_JGT | BPF_K, PACKET_MULTICAST);
	if (a->first.any.sa_family == AF_INET)
		ipv4_filter(&p, a);
	else
		ipv6_filter(&p, a);
	program_end(&p);
	return program_attach(r->fd, &p);
}

/* ---- opening --------------------------------------------------------- */

/*
 * The state of opening a ring; `step` is the step that failed, for the error.
 */
struct ring_opening {
	struct ring *ring;
	const struct ring_args *a;
	const char *step;
};

static int
option_set(struct ring_opening *o, int name, const void *value, socklen_t bytes)
{
	return setsockopt(o->ring->fd, SOL_PACKET, name, value, bytes) < 0
		   ? -errno
		   : 0;
}

static int
socket_make(struct ring_opening *o)
{
	int version = TPACKET_V3, on = 1, err;

	o->step = "open a packet socket on";
	o->ring->fd =
	    socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (o->ring->fd < 0)
		return -errno;
	err = ring_deafen(o->ring->fd);
	if (!err)
		err = option_set(o, PACKET_VERSION, &version, sizeof version);
	if (!err)
		err = option_set(o, PACKET_VNET_HDR, &on, sizeof on);
	return err;
}

static int
memory_make(struct ring_opening *o)
{
	struct ring *r = o->ring;
	struct tpacket_req3 req = { .tp_block_size = RING_BLOCK,
				    .tp_frame_size = FRAME,
				    .tp_retire_blk_tov = RING_RETIRE };
	void *memory;
	int err;

	o->step = "make a packet ring for";
	r->blocks = (unsigned)(o->a->bytes / RING_BLOCK);
	req.tp_block_nr = r->blocks;
	req.tp_frame_nr = r->blocks * (RING_BLOCK / FRAME);
	err = option_set(o, PACKET_RX_RING, &req, sizeof req);
	if (err)
		return err;
	r->bytes = (uint64_t)r->blocks * RING_BLOCK;
	memory = mmap(NULL, r->bytes, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_POPULATE, r->fd, 0);
	if (memory == MAP_FAILED)
		return -errno;
	r->memory = memory;
	return 0;
}

static int
device_bind(struct ring_opening *o)
{
	const struct address *a = o->a->address;
	bool v4 = a->first.any.sa_family == AF_INET;
	struct sockaddr_ll at = { .sll_family = AF_PACKET };
	socklen_t length = sizeof at;
	int err = 0;

	o->step = "receive packets from";
	at.sll_protocol = htons(v4 ? ETH_P_IP : ETH_P_IPV6);
	at.sll_ifindex = (int)if_nametoindex(a->device);
	if (!at.sll_ifindex)
		return -ENODEV;
	if (bind(o->ring->fd, (struct sockaddr *)&at, sizeof at) < 0 ||
	    getsockname(o->ring->fd, (struct sockaddr *)&at, &length) < 0)
		return -errno;
	length = sizeof err;
	if (getsockopt(o->ring->fd, SOL_SOCKET, SO_ERROR, &err, &length) == 0 &&
	    err)
		return -err; /* the interface is down */
	if (at.sll_hatype != ARPHRD_ETHER && at.sll_hatype != ARPHRD_LOOPBACK)
		return -EAFNOSUPPORT;
	return 0;
}

/*
 * Joins the fanout group.  The first ring has the kernel choose a number that
 * is not in use (UNIQUEID).
 */
static int
group_join(struct ring_opening *o)
{
	int how = PACKET_FANOUT_RND | PACKET_FANOUT_FLAG_ROLLOVER |
		  PACKET_FANOUT_FLAG_DEFRAG;
	int value = 0, err;
	socklen_t length = sizeof value;

	o->step = "share the packets of";
	if (!o->a->first)
		value = *o->a->group;
	else
		how |= PACKET_FANOUT_FLAG_UNIQUEID;
	value |= (int)((unsigned)how << 16);
	err = option_set(o, PACKET_FANOUT, &value, sizeof value);
	if (err || !o->a->first)
		return err;
	if (getsockopt(o->ring->fd, SOL_PACKET, PACKET_FANOUT, &value,
		       &length) < 0)
		return -errno;
	*o->a->group = (uint16_t)value;
	return 0;
}

static const char *
advice(int err)
{
	switch (err) {
	case -EPERM:
		return "; that needs CAP_NET_RAW, which "
		       "AmbientCapabilities=CAP_NET_RAW of the service gives; "
		       "without `rings` it works by sockets";
	case -ENOMEM: return "; `ring` may be smaller";
	case -ENODEV:
		return "; there is no such interface, 'ip -brief link' lists "
		       "them";
	case -EAFNOSUPPORT: return "; it is no Ethernet, leave `rings` out";
	case -ENETDOWN: return "; 'ip link set up' would start it";
	default: return "";
	}
}

int
ring_open(struct ring *r, const struct ring_args *ring,
	  const struct receive_args *args)
{
	struct ring_opening o = { .ring = r, .a = ring };
	int err;

	*r = (struct ring){ .fd = -1,
			    .prefix = args->prefix,
			    .longest = args->longest,
			    .senders = args->senders,
			    .allow = ring->allow,
			    .host = *args->host,
			    .ask = true };
	err = socket_make(&o);
	if (!err)
		err = memory_make(&o);
	if (!err)
		err = device_bind(&o);
	if (!err)
		err = group_join(&o);
	if (!err)
		err = filter_set(r, ring->address);
	if (err)
		snprintf(args->why, args->why_bytes, "cannot %s %s: %s%s",
			 o.step, ring->address->device, strerror(-err),
			 advice(err));
	return err;
}

void
ring_close(struct ring *r)
{
	if (r->memory)
		munmap(r->memory, r->bytes);
	if (r->fd >= 0)
		close(r->fd);
}

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
sender_tell(struct ring *r, const struct datagram *d, struct receive_packet *k,
	    bool named)
{
	union endpoint from;

	if (!r->ask && !r->senders && !r->allow->n && !named)
		return;
	datagram_sender(d, &from);
	if (r->senders || named)
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
	sender_tell(r, &d, &r->mark, b->stamps);
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
