/* SPDX-License-Identifier: MIT */
#include "receive/udp/datagram.c"

#include <arpa/inet.h>
#include <stdio.h>

#include "lib/suite.h"

enum { ROOM = 200 };

static uint8_t packet[ROOM];

/* 12 bytes of data from 10.1.2.3:4000 to 10.3.2.1:46227, with its sum. */
static const uint8_t v4[] = {
	0x45, 0,    0,	  40,	0x12, 0x34, 0x40, 0,   64,  0x11,
	0,    0,    10,	  1,	2,    3,    10,	  3,   2,   1,
	0x0f, 0xa0, 0xb4, 0x93, 0,    20,   0,	  0,   's', 'p',
	'a',  't',  'e',  '-',	't',  'e',  's',  't', 's', '!',
};
/* The same from fd00::7 to fd00::9. */
static const uint8_t v6[] = {
	0x60, 0,   0,	0,   0,	   20,	 0x11, 64,   0xfd, 0,	0,   0,
	0,    0,   0,	0,   0,	   0,	 0,    0,    0,	   0,	0,   7,
	0xfd, 0,   0,	0,   0,	   0,	 0,    0,    0,	   0,	0,   0,
	0,    0,   0,	9,   0x0f, 0xa0, 0xb4, 0x93, 0,	   20,	0,   0,
	's',  'p', 'a', 't', 'e',  '-',	 't',  'e',  's',  't', 's', '!',
};

static int
find(struct datagram *d, const uint8_t *bytes, uint32_t n)
{
	memset(packet, 0xee, sizeof packet);
	memcpy(packet, bytes, n);
	return datagram_find(d, packet, n);
}

static void
found(const uint8_t *bytes, uint32_t n, const char *sender)
{
	struct datagram d;
	union endpoint from;
	char text[INET6_ADDRSTRLEN];

	ck_assert_int_eq(find(&d, bytes, n), 0);
	ck_assert_uint_eq(d.bytes, 12);
	ck_assert(!d.cut);
	ck_assert_mem_eq(d.data, "spate-tests!", 12);
	datagram_sender(&d, &from);
	inet_ntop(from.any.sa_family,
		  from.any.sa_family == AF_INET ? (void *)&from.v4.sin_addr
						: (void *)&from.v6.sin6_addr,
		  text, sizeof text);
	ck_assert_str_eq(text, sender);
	ck_assert_uint_eq(ntohs(from.v4.sin_port), 4000);
}

START_TEST(it_is_found)
{
	found(v4, sizeof v4, "10.1.2.3");
	found(v6, sizeof v6, "fd00::7");
}
END_TEST

/* Short frames are filled up, and options make a header longer. */
START_TEST(what_surrounds_it_is_not_of_it)
{
	uint8_t more[ROOM] = { 0 };

	memcpy(more, v4, sizeof v4);
	found(more, sizeof v4 + 6, "10.1.2.3");
	memcpy(more, v4, 20);
	memcpy(more + 28, v4 + 20, sizeof v4 - 20);
	more[0] = 0x47;
	more[3] = 48;
	found(more, sizeof v4 + 8, "10.1.2.3");
}
END_TEST

START_TEST(less_of_it_is_cut)
{
	struct datagram d;

	for (uint32_t n = 0; n < sizeof v4; n++) {
		int err = find(&d, v4, n);

		ck_assert_int_eq(err, n < 28 ? -EBADMSG : 0);
		if (err)
			continue;
		ck_assert(d.cut);
		ck_assert_uint_eq(d.bytes, n - 28);
	}
	for (uint32_t n = 0; n < sizeof v6; n++)
		ck_assert_int_eq(find(&d, v6, n), n < 48 ? -EBADMSG : 0);
}
END_TEST

static int
with(const uint8_t *bytes, uint32_t n, unsigned at, uint8_t value)
{
	uint8_t changed[ROOM];
	struct datagram d;

	memcpy(changed, bytes, n);
	changed[at] = value;
	return find(&d, changed, n);
}

START_TEST(lengths_have_to_agree)
{
	ck_assert_int_eq(with(v4, sizeof v4, 0, 0x44), -EBADMSG);
	ck_assert_int_eq(with(v4, sizeof v4, 0, 0x4f), -EBADMSG);
	ck_assert_int_eq(with(v4, sizeof v4, 3, 19), -EBADMSG);
	ck_assert_int_eq(with(v4, sizeof v4, 3, 27), -EBADMSG);
	ck_assert_int_eq(with(v4, sizeof v4, 3, 39), -EBADMSG);
	ck_assert_int_eq(with(v4, sizeof v4, 25, 7), -EBADMSG);
	ck_assert_int_eq(with(v4, sizeof v4, 24, 0xff), -EBADMSG);
	ck_assert_int_eq(with(v6, sizeof v6, 5, 19), -EBADMSG);
	ck_assert_int_eq(with(v6, sizeof v6, 45, 0), -EBADMSG);
}
END_TEST

START_TEST(others_are_none)
{
	ck_assert_int_eq(with(v4, sizeof v4, 0, 0x55), -EBADMSG);
	ck_assert_int_eq(with(v4, sizeof v4, 9, 6), -EBADMSG);
	ck_assert_int_eq(with(v6, sizeof v6, 6, 58), -EBADMSG);
	ck_assert_int_eq(with(v4, sizeof v4, 6, 0x20), -ENOTSUP);
	ck_assert_int_eq(with(v4, sizeof v4, 7, 1), -ENOTSUP);
	ck_assert_int_eq(with(v6, sizeof v6, 6, 44), -ENOTSUP);
}
END_TEST

/* What the sum has to be, by a slower way: a word at a time. */
static uint16_t
sum_of(const uint8_t *ip, unsigned addresses, unsigned n, const uint8_t *udp)
{
	uint32_t s = UDP + 20;

	for (unsigned i = 0; i < n; i += 2)
		s += read_be16(ip + addresses + i);
	for (unsigned i = 0; i < 20; i += 2)
		s += read_be16(udp + i);
	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	return (uint16_t)~s;
}

START_TEST(every_bit_is_in_the_sum)
{
	struct datagram d;

	for (int six = 0; six < 2; six++) {
		uint32_t bytes = six ? sizeof v6 : sizeof v4;

		ck_assert_int_eq(find(&d, six ? v6 : v4, bytes), 0);
		ck_assert(datagram_is_sound(&d) == !six); /* none */
		write_be16(d.udp + 6, six ? sum_of(packet, 8, 32, d.udp)
					  : sum_of(packet, 12, 8, d.udp));
		ck_assert(datagram_is_sound(&d));
		for (uint8_t *at = d.udp; at < d.data + d.bytes; at++) {
			if (at == d.udp + 4 || at == d.udp + 5)
				continue;
			*at ^= 0x10;
			ck_assert(!datagram_is_sound(&d));
			*at ^= 0x10;
		}
	}
}
END_TEST

SUITE("datagram", it_is_found, what_surrounds_it_is_not_of_it,
      less_of_it_is_cut, lengths_have_to_agree, others_are_none,
      every_bit_is_in_the_sum)
