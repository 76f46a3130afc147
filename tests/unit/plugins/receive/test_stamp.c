/* SPDX-License-Identifier: MIT */
/* Stamps of the kernel and of a network card, as control messages have them. */
#include "receive/udp/train.c"

#include <sys/socket.h>
#include <unistd.h>

#include "lib/suite.h"

#define US   INT64_C(1000)
#define NOW  (1700000000 * NS_SECOND + 123456789)
#define TAI  (37 * NS_SECOND)
#define NONE INT64_MIN

static uint8_t control[256];
static struct msghdr message;

static void
message_begin(void)
{
	message =
	    (struct msghdr){ .msg_control = control, .msg_controllen = 0 };
}

static void
message_add(int level, int type, const void *data, size_t bytes)
{
	struct cmsghdr *c =
	    (struct cmsghdr *)(control + message.msg_controllen);

	c->cmsg_level = level;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(bytes);
	memcpy(CMSG_DATA(c), data, bytes);
	message.msg_controllen += CMSG_SPACE(bytes);
}

static struct timespec
timespec_of(int64_t ns)
{
	return (struct timespec){ ns / NS_SECOND, ns % NS_SECOND };
}

static void
kernel_add(int64_t ns)
{
	struct timespec t = timespec_of(ns);

	message_add(SOL_SOCKET, SCM_TIMESTAMPNS, &t, sizeof t);
}

static void
card_add(int64_t ns)
{
	struct scm_timestamping t = { .ts[2] = timespec_of(ns) };

	message_add(SOL_SOCKET, SCM_TIMESTAMPING, &t, sizeof t);
}

static void
segment_add(int bytes)
{
	message_add(IPPROTO_UDP, UDP_GRO, &bytes, sizeof bytes);
}

START_TEST(control_messages)
{
	struct stamps s;
	struct timespec t = timespec_of(NOW);

	message_begin();
	s = stamps_of(&message);
	ck_assert(!s.kernel && !s.card);
	kernel_add(NOW);
	s = stamps_of(&message);
	ck_assert(s.kernel == NOW && !s.card);
	card_add(NOW - 50 * US);
	s = stamps_of(&message);
	ck_assert(s.kernel == NOW && s.card == NOW - 50 * US);

	/* In the other order, with another one between. */
	message_begin();
	card_add(NOW + TAI);
	segment_add(1000);
	kernel_add(NOW);
	s = stamps_of(&message);
	ck_assert(s.kernel == NOW && s.card == NOW + TAI);

	/* Of another level, and cut short. */
	message_begin();
	message_add(IPPROTO_UDP, SCM_TIMESTAMPNS, &t, sizeof t);
	message_add(SOL_SOCKET, SCM_TIMESTAMPNS, &t, 8);
	message_add(SOL_SOCKET, SCM_TIMESTAMPING, &t, sizeof t);
	s = stamps_of(&message);
	ck_assert(!s.kernel && !s.card);
	/* All that the kernel may pass on has room. */
	message_begin();
	segment_add(1000);
	kernel_add(NOW);
	card_add(NOW);
	ck_assert_uint_le(message.msg_controllen,
			  sizeof((struct train *)NULL)->control);
}
END_TEST

/* It counts if it can be true. */
START_TEST(which_stamp)
{
	static const struct {
		int64_t card, tai, told; /* from NOW; NONE: none */
	} is[] = {
		{ 0, 0, 0 },
		{ -50 * US, 0, -50 * US },
		{ -50 * US, TAI, -50 * US },
		{ -STAMP_CARD, 0, -STAMP_CARD },
		{ -STAMP_CARD - 1, 0, NONE }, /* it runs free */
		{ 1, 0, NONE },		      /* it was not there yet */
		{ TAI - 50 * US, TAI, -50 * US },
		{ TAI - 50 * US, 0, NONE }, /* nobody knows */
		{ TAI - NS_SECOND, TAI, NONE },
		{ TAI + 1, TAI, NONE },
		{ -TAI, TAI, NONE },
		{ 1000 - NOW, 0, NONE }, /* ns since it was made */
	};

	for (size_t i = 0; i < sizeof is / sizeof *is; i++) {
		struct stamps s = { NOW, NOW + is[i].card };
		int64_t want = is[i].told == NONE ? 0 : NOW + is[i].told;

		ck_assert_int_eq(stamp_card(&s, is[i].tai), want);
		s.kernel = 0;
		ck_assert_int_eq(stamp_card(&s, is[i].tai), 0);
	}
	ck_assert_int_eq(stamp_card(&(struct stamps){ NOW, 0 }, TAI), 0);
}
END_TEST

/* Asked for and not, a socket of a machine without such a card passes on the
 * kernel's alone. */
START_TEST(a_socket)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	socklen_t bytes = sizeof at;

	ck_assert_int_eq(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
	getsockname(fd, (struct sockaddr *)&at, &bytes);
	for (int on = 1; on >= 0; on--) {
		struct stamps s;

		stamps_ask(fd, on);
		ck_assert_int_eq(
		    sendto(fd, "x", 1, 0, (struct sockaddr *)&at, sizeof at),
		    1);
		message_begin();
		message.msg_controllen = sizeof control;
		ck_assert_int_eq(recvmsg(fd, &message, 0), 0);
		s = stamps_of(&message);
		ck_assert(!s.kernel == !on);
		ck_assert(!s.card);
		ck_assert_uint_eq(message.msg_controllen,
				  on ? CMSG_SPACE(sizeof(struct timespec)) : 0);
	}
	close(fd);
}
END_TEST

/* ---- trains ------------------------------------------------------------ */

enum { PACKET = 1000, PACKETS = 4 };

static struct train train;
static struct receive_batch batch;

/* Tells a train that came in datagrams of so many bytes. */
static void
train_come(int bytes, int64_t card, bool wanted)
{
	static uint8_t memory[PACKETS][PACKET];
	static struct receive_pair pair[PACKETS];
	const struct host host = { 0 };
	struct receive_args args = { .host = &host,
				     .payload = PACKET,
				     .longest = PACKET };

	ck_assert_int_eq(train_make(&train, &args), 0);
	for (int i = 0; i < PACKETS; i++)
		pair[i] = (struct receive_pair){ .prefix = memory[i],
						 .payload = memory[i],
						 .payload_bytes = PACKET };
	batch.pair = pair;
	batch.pairs = PACKETS;
	batch.packets = 0;
	batch.card = wanted;
	iovec_aim(&train, &batch);
	train.total = (size_t)bytes * PACKETS;
	message_begin();
	kernel_add(NOW);
	card_add(card);
	segment_add(bytes);
	beside_read(&train, &message);
	train_tell(&train, &batch, (struct packet_mark){ .sender = 7 });
	ck_assert_uint_eq(batch.packets, PACKETS);
	for (unsigned i = 1; i < PACKETS; i++) {
		ck_assert_int_eq(batch.packet[i].arrived, NOW);
		ck_assert_uint_eq(batch.packet[i].flags, 0);
	}
	ck_assert_uint_eq(batch.packet[0].sender, 7);
	train_clear(&train);
}

/* The card's stamp is that of the first one. */
START_TEST(a_train)
{
	train_come(PACKET, NOW - 50 * US, true);
	ck_assert_int_eq(batch.packet[0].arrived, NOW - 50 * US);
	ck_assert_uint_eq(batch.packet[0].flags, RECEIVE_CARD);
	train_come(PACKET, NOW - NS_MS, true);
	ck_assert_int_eq(batch.packet[0].arrived, NOW);
	ck_assert_uint_eq(batch.packet[0].flags, 0);
	train_come(PACKET, NOW - 50 * US, false);
	ck_assert_int_eq(batch.packet[0].arrived, NOW);
	ck_assert_uint_eq(batch.packet[0].flags, 0);
	/* Sheared: nobody says of which it is. */
	train_come(PACKET - 1, NOW - 50 * US, true);
	ck_assert_int_eq(batch.packet[0].arrived, NOW);
	ck_assert_uint_eq(batch.packet[0].flags, 0);
}
END_TEST

SUITE("stamp", control_messages, which_stamp, a_socket, a_train)
