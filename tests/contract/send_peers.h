/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_SEND_PEERS_H
#define SPATE_TESTS_SEND_PEERS_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "wire/frame.h"
#include "lib/suite.h"

/*
 * A peer is what a send plugin talks to in the contract test: the smallest
 * thing that hears it.  It writes the bytes of packets one behind the other to
 * `heard`.  It is served between calls of the plugin, in the same thread, and
 * does not read while it is not served.
 *
 * A new plugin gets one here, or a line that says where it is tested instead.
 */
enum { HEARD = 64 << 20 };

static uint8_t *heard;
static uint64_t heard_bytes;

struct peer {
	const char *plugin;
	const char *what;
	void (*open)(char *url, size_t bytes); /* NULL: tested elsewhere */
	void (*serve)(void);
	void (*close)(void);
	bool plain; /* bytes without packets: send_args::plain */
	bool heads; /* they may have heads */
	bool hears; /* it is not nowhere */
	bool holds; /* when it does not read, the plugin has to wait */
};

static inline void
heard_clear(void)
{
	if (!heard)
		heard = malloc(HEARD);
	heard_bytes = 0;
}

static inline void
hear(const void *data, size_t bytes)
{
	ck_assert_uint_le(heard_bytes + bytes, HEARD);
	memcpy(heard + heard_bytes, data, bytes);
	heard_bytes += bytes;
}

static int peer_door = -1, peer_line = -1;

static inline uint16_t
peer_bind(int type)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof a;
	int room = 1 << 20;

	peer_door = socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (type == SOCK_STREAM)
		room = 65536;
	setsockopt(peer_door, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
	ck_assert_int_eq(bind(peer_door, (void *)&a, length), 0);
	ck_assert_int_eq(getsockname(peer_door, (void *)&a, &length), 0);
	return ntohs(a.sin_port);
}

static inline void
peer_close(void)
{
	if (peer_line >= 0)
		close(peer_line);
	if (peer_door >= 0)
		close(peer_door);
	peer_line = peer_door = -1;
}

/* ---- nowhere --------------------------------------------------------- */

static inline void
null_peer_open(char *url, size_t bytes)
{
	snprintf(url, bytes, "null:");
}

static inline void
null_peer_serve(void)
{
}

/* ---- datagrams ------------------------------------------------------- */

static inline void
udp_peer_open(char *url, size_t bytes)
{
	snprintf(url, bytes, "udp://127.0.0.1:%u", peer_bind(SOCK_DGRAM));
}

static inline void
udp_peer_serve(void)
{
	uint8_t datagram[65536];
	ssize_t n;

	while ((n = recv(peer_door, datagram, sizeof datagram, 0)) > 0)
		hear(datagram, (size_t)n);
}

/* ---- bytes ----------------------------------------------------------- */

static inline void
tcp_peer_open(char *url, size_t bytes)
{
	snprintf(url, bytes, "tcp://127.0.0.1:%u", peer_bind(SOCK_STREAM));
	ck_assert_int_eq(listen(peer_door, 4), 0);
}

static inline bool
tcp_accept(void)
{
	if (peer_line < 0)
		peer_line = accept4(peer_door, NULL, NULL,
				    SOCK_NONBLOCK | SOCK_CLOEXEC);
	return peer_line >= 0;
}

/* When the plugin has ended, so does it. */
static inline void
tcp_peer_serve(void)
{
	uint8_t bytes[65536];
	ssize_t n = -1;

	while (tcp_accept() &&
	       (n = recv(peer_line, bytes, sizeof bytes, 0)) > 0)
		hear(bytes, (size_t)n);
	if (n == 0) {
		close(peer_line);
		peer_line = -1;
	}
}

/* ---- spate's frames -------------------------------------------------- */

static struct {
	uint8_t in[WIRE_HEADER_MOST + WIRE_PAYLOAD_MOST];
	size_t got;
	uint64_t next;
} framed_peer;

static inline void
framed_peer_open(char *url, size_t bytes)
{
	memset(&framed_peer, 0, sizeof framed_peer);
	tcp_peer_open(url, bytes);
}

static inline void
framed_have(void)
{
	const struct wire_frame f = { .type = WIRE_HAVE,
				      .first = framed_peer.next };
	uint8_t out[WIRE_HEADER];

	wire_pack(&f, out, crc32c);
	ck_assert_int_eq(send(peer_line, out, sizeof out, MSG_NOSIGNAL),
			 sizeof out);
}

/* One whole frame from what came; its length, or 0. */
static inline size_t
framed_one(void)
{
	struct wire_frame f;
	const uint8_t *payload;
	size_t all;

	if (framed_peer.got < WIRE_HEADER)
		return 0;
	ck_assert_ptr_null(wire_unpack(&f, framed_peer.in, crc32c));
	all = f.header_bytes + (size_t)f.payload_bytes;
	if (framed_peer.got < all)
		return 0;
	payload = framed_peer.in + f.header_bytes;
	ck_assert_uint_eq(crc32c(0, payload, f.payload_bytes), f.payload_crc);
	if (f.type == WIRE_DATA && f.packets) {
		ck_assert_uint_eq(f.first, framed_peer.next);
		framed_peer.next += f.packets;
		hear(payload, f.payload_bytes);
	} else if (f.type != WIRE_DATA) {
		framed_have();
	}
	return all;
}

static inline void
framed_peer_serve(void)
{
	size_t used;
	ssize_t n;

	if (!tcp_accept())
		return;
	do {
		n = recv(peer_line, framed_peer.in + framed_peer.got,
			 sizeof framed_peer.in - framed_peer.got, 0);
		if (n > 0)
			framed_peer.got += (size_t)n;
		while ((used = framed_one())) {
			framed_peer.got -= used;
			memmove(framed_peer.in, framed_peer.in + used,
				framed_peer.got);
		}
	} while (n > 0);
}

static const struct peer peers[] = {
	{ "null", "nowhere", null_peer_open, null_peer_serve, peer_close,
	  .heads = true },
	{ "udp", "datagrams", udp_peer_open, udp_peer_serve, peer_close,
	  .heads = true, .hears = true },
	{ "tcp", "plain", tcp_peer_open, tcp_peer_serve, peer_close,
	  .plain = true, .hears = true, .holds = true },
	{ "tcp", "frames", framed_peer_open, framed_peer_serve, peer_close,
	  .hears = true, .holds = true },
	{ "etd", "test_send_etd.c", .open = NULL },
	{ "ucx", "test_send_ucx.c", .open = NULL },
};

#endif
