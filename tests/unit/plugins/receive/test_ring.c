/* SPDX-License-Identifier: MIT */
/* A ring whose kernel is us. */
#include "net/allow.c"
#include "receive/udp/datagram.c"
#include "net/endpoint.c"
#include "receive/udp/ring.c"

#include <stdlib.h>
#include <string.h>

#include "lib/suite.h"

enum { PACKETS = 1500, EACH = 160, MAC = 64, NET = MAC + 14 };

/* 12 bytes of data from 10.1.2.3:4000 to 10.3.2.1:46227, with a wrong sum. */
static const uint8_t unsound[] = {
	0x45, 0,    0,	  40,	0x12, 0x34, 0x40, 0,   64,  0x11,
	0,    0,    10,	  1,	2,    3,    10,	  3,   2,   1,
	0x0f, 0xa0, 0xb4, 0x93, 0,    20,   1,	  1,   's', 'p',
	'a',  't',  'e',  '-',	't',  'e',  's',  't', 's', '!',
};

static struct receive_batch batch;

static void
quiet(void *ctx, enum log_level level, const char *sentence, ...)
{
	(void)ctx;
	(void)level;
	(void)sentence;
}

/* The first block is handed over, full of packets. */
static void
fill(struct ring *r, uint32_t status)
{
	struct tpacket_block_desc *block = block_at(r, 0);

	block->hdr.bh1.num_pkts = PACKETS;
	block->hdr.bh1.offset_to_first_pkt = EACH;
	for (unsigned i = 1; i <= PACKETS; i++) {
		uint8_t *at = (uint8_t *)block + i * EACH;
		struct tpacket3_hdr *head = (struct tpacket3_hdr *)at;

		head->tp_next_offset = EACH;
		head->tp_status = TP_STATUS_USER | status;
		head->tp_mac = MAC;
		head->tp_net = NET;
		head->tp_snaplen = NET - MAC + sizeof unsound;
		memcpy(at + NET, unsound, sizeof unsound);
	}
	block->hdr.bh1.block_status = TP_STATUS_USER;
}

/* Calls until nothing is left, none of which may look at many more packets
 * than a batch has. */
static unsigned
empty(struct ring *r)
{
	unsigned told = 0, left = PACKETS;

	do {
		ring_receive(r, &batch);
		told += batch.packets;
		ck_assert_uint_le(left - r->left, 4 * RECEIVE_BATCH);
		left = r->left;
	} while (batch.packets || batch.again);
	ck_assert_uint_eq(left, 0);
	ring_receive(r, &batch);
	ck_assert_uint_eq(block_at(r, 0)->hdr.bh1.block_status,
			  TP_STATUS_KERNEL);
	return told;
}

START_TEST(a_flood_of_unsound_packets)
{
	struct allow all = { 0 };
	struct ring r = { .fd = -1,
			  .blocks = 2,
			  .allow = &all,
			  .longest = 12,
			  .host = { .log = quiet } };

	r.memory = calloc(2, RING_BLOCK);
	batch.again = true; /* what was there before */
	fill(&r, 0);
	ck_assert_uint_eq(empty(&r), 0);
	r.at = 0;
	fill(&r, TP_STATUS_CSUM_VALID);
	ck_assert_uint_eq(empty(&r), PACKETS);
	free(r.memory);
}
END_TEST

SUITE("ring", a_flood_of_unsound_packets)
