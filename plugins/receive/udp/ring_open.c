/* SPDX-License-Identifier: MIT */
/*
 * Opens a packet ring.  A packet socket sees every packet from the moment it is
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
 */
#include "ring.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "contract/bytes.h"

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
struct opening {
	struct ring *ring;
	const struct ring_args *a;
	const char *step;
};

static int
option_set(struct opening *o, int name, const void *value, socklen_t bytes)
{
	return setsockopt(o->ring->fd, SOL_PACKET, name, value, bytes) < 0
		   ? -errno
		   : 0;
}

static int
socket_make(struct opening *o)
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
memory_make(struct opening *o)
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
device_bind(struct opening *o)
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
group_join(struct opening *o)
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
	struct opening o = { .ring = r, .a = ring };
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
