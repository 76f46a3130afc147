/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "wire/handshake.h"

#include "base/crc32c.h"
#include "base/secret.h"
#include "wire/refuse.h"
#include "lib/suite.h"

/* A sender and a receiver, and what lies between them. */
static struct handshake sender, receiver;
static struct wire_hello hello = { WIRE_VERSION, 8032, 4, 2, 77 };

static void
begin(struct handshake *h, const char *secret, bool is_sender)
{
	struct handshake_args a = { .secret = (const uint8_t *)secret,
				    .hmac = hmac_sha256,
				    .crc32c = crc32c,
				    .sender = is_sender };
	uint8_t payload[WIRE_HELLO_BYTES];

	a.secret_bytes = secret ? (uint32_t)strlen(secret) : 0;
	memset(a.nonce, is_sender ? 1 : 2, sizeof a.nonce);
	handshake_begin(h, &a);
	wire_hello_pack(&hello, payload);
	handshake_hello(h, payload);
}

static void
both(const char *of_sender, const char *of_receiver)
{
	begin(&sender, of_sender, true);
	begin(&receiver, of_receiver, false);
}

/* What one has to say is heard by the other; false: it says nothing. */
static bool
carry(struct handshake *from, struct handshake *to)
{
	struct wire_frame f;

	if (!from->out_bytes)
		return false;
	ck_assert_ptr_null(wire_unpack(&f, from->out, crc32c));
	ck_assert_uint_eq(f.payload_bytes + WIRE_HEADER, from->out_bytes);
	ck_assert_uint_eq(crc32c(0, from->out + WIRE_HEADER, f.payload_bytes),
			  f.payload_crc);
	ck_assert(handshake_take(to, &f, from->out + WIRE_HEADER));
	from->out_bytes = 0;
	return true;
}

static bool
takes(struct handshake *h, uint16_t type)
{
	const struct wire_frame f = { .type = type };
	static const uint8_t nothing[WIRE_PROOF_BYTES];

	return handshake_take(h, &f, nothing);
}

START_TEST(two_that_know_it)
{
	both("open sesame", "open sesame");
	ck_assert_int_eq(sender.state, HANDSHAKE_WAITS);
	ck_assert_int_eq(receiver.state, HANDSHAKE_WAITS);
	ck_assert(!carry(&sender, &receiver));
	ck_assert(carry(&receiver, &sender));
	ck_assert(carry(&sender, &receiver));
	ck_assert_int_eq(receiver.state, HANDSHAKE_DONE);
	ck_assert_int_eq(sender.state, HANDSHAKE_PROVED);
	ck_assert(carry(&receiver, &sender));
	ck_assert_int_eq(sender.state, HANDSHAKE_DONE);
	ck_assert(!takes(&sender, WIRE_HAVE));
	ck_assert(!takes(&receiver, WIRE_DATA));
	ck_assert_int_eq(sender.state, HANDSHAKE_DONE);
}
END_TEST

START_TEST(two_that_want_none)
{
	both(NULL, NULL);
	ck_assert_int_eq(sender.state, HANDSHAKE_DONE);
	ck_assert_int_eq(receiver.state, HANDSHAKE_DONE);
	ck_assert(!carry(&sender, &receiver) && !carry(&receiver, &sender));
	ck_assert(!takes(&sender, WIRE_HAVE));
	ck_assert(takes(&receiver, WIRE_PROOF));
	ck_assert_int_eq(receiver.state, HANDSHAKE_BROKEN);
}
END_TEST

START_TEST(one_that_does_not_know_it)
{
	both("open sesame", "open barley");
	carry(&receiver, &sender);
	carry(&sender, &receiver);
	ck_assert_int_eq(receiver.state, HANDSHAKE_BROKEN);
	ck_assert_ptr_nonnull(strstr(receiver.why, "another secret"));
	ck_assert_uint_eq(receiver.out_bytes, 0); /* and it learns nothing */
	both(NULL, "open sesame");
	carry(&receiver, &sender);
	ck_assert_int_eq(sender.state, HANDSHAKE_BROKEN);
	ck_assert_ptr_nonnull(strstr(sender.why, "no secret here"));
	/* Who goes on as if nothing had been asked. */
	both(NULL, "open sesame");
	ck_assert(takes(&receiver, WIRE_DATA));
	ck_assert_int_eq(receiver.state, HANDSHAKE_BROKEN);
	/* A receiver that accepts everybody. */
	for (int after = 0; after < 2; after++) {
		both("open sesame", "open sesame");
		if (after)
			carry(&receiver, &sender);
		ck_assert(!takes(&sender, WIRE_REFUSE));
		ck_assert(takes(&sender, WIRE_HAVE));
		ck_assert_int_eq(sender.state, HANDSHAKE_BROKEN);
		ck_assert_ptr_nonnull(strstr(sender.why, "no proof"));
	}
}
END_TEST

/* A receiver that does not know the secret sends back what it hears, or what
 * another one said. */
START_TEST(nothing_can_be_used_twice)
{
	uint8_t proof[WIRE_PROOF_BYTES];
	const struct wire_frame f = { .type = WIRE_PROOF,
				      .payload_bytes = sizeof proof };

	both("open sesame", "open sesame");
	carry(&receiver, &sender);
	memcpy(proof, sender.out + WIRE_HEADER, sizeof proof);
	ck_assert(handshake_take(&sender, &f, proof)); /* its own */
	ck_assert_int_eq(sender.state, HANDSHAKE_BROKEN);
	/* The same proof, in a connection that differs in one thing. */
	for (int what = 0; what < 6; what++) {
		hello = (struct wire_hello){ WIRE_VERSION, 8032, 4, 2, 77 };
		hello.connection -= what == 1;
		hello.transfer += what == 2;
		hello.packet_bytes += what == 3;
		begin(&receiver, "open sesame", false);
		receiver.challenge[31] ^= what == 4;
		proof[0] ^= what == 5;
		ck_assert(handshake_take(&receiver, &f, proof));
		ck_assert_int_eq(receiver.state,
				 what ? HANDSHAKE_BROKEN : HANDSHAKE_DONE);
	}
	hello = (struct wire_hello){ WIRE_VERSION, 8032, 4, 2, 77 };
}
END_TEST

START_TEST(no_bit_of_a_proof_can_be_guessed)
{
	const struct wire_frame f = { .type = WIRE_PROOF,
				      .payload_bytes = WIRE_PROOF_BYTES };
	uint8_t proof[WIRE_PROOF_BYTES];

	both("open sesame", "open sesame");
	carry(&receiver, &sender);
	for (unsigned bit = 0; bit < 8 * sizeof proof; bit++) {
		memcpy(proof, sender.out + WIRE_HEADER, sizeof proof);
		proof[bit / 8] ^= (uint8_t)(1u << bit % 8);
		begin(&receiver, "open sesame", false);
		ck_assert(handshake_take(&receiver, &f, proof));
		ck_assert_int_eq(receiver.state, HANDSHAKE_BROKEN);
	}
}
END_TEST

START_TEST(order_matters)
{
	both("open sesame", "open sesame");
	ck_assert(takes(&sender, WIRE_PROOF));
	ck_assert_int_eq(sender.state, HANDSHAKE_BROKEN);
	both("open sesame", "open sesame");
	ck_assert(takes(&receiver, WIRE_CHALLENGE));
	ck_assert_int_eq(receiver.state, HANDSHAKE_BROKEN);
	both("open sesame", "open sesame");
	carry(&receiver, &sender);
	ck_assert(takes(&sender, WIRE_CHALLENGE));
	ck_assert_int_eq(sender.state, HANDSHAKE_BROKEN);
	ck_assert(takes(&sender, WIRE_HAVE)); /* and stays so */
	ck_assert_int_eq(sender.state, HANDSHAKE_BROKEN);
}
END_TEST

START_TEST(why_one_is_refused)
{
	struct refuse r = { "busy", "\"a\" \\ b\nc", "" }, back;
	uint8_t at[REFUSE_MOST];
	uint32_t n = refuse_pack(&r, at);

	refuse_unpack(&back, at, n);
	ck_assert_str_eq(back.code, "busy");
	ck_assert_str_eq(back.what, "\"a\" \\ b c");
	ck_assert_str_eq(back.why, "");
	memset(&r, '"', sizeof r); /* as long as can be */
	r.code[15] = r.what[223] = r.why[223] = '\0';
	n = refuse_pack(&r, at);
	ck_assert_uint_le(n, REFUSE_MOST);
	refuse_unpack(&back, at, n);
	ck_assert_mem_eq(&back, &r, sizeof r);
	for (uint32_t i = 0; i < n; i++) /* cut anywhere */
		refuse_unpack(&back, at, i);
	n = (uint32_t)sprintf((char *)at,
			      "{ \"other\" : \"\\\"\", \"x\":{\"y\":[1,2]}, "
			      "\"why\" : \"so\" , \"code\":\"far too long for "
			      "it\"}");
	refuse_unpack(&back, at, n);
	ck_assert_str_eq(back.why, "so");
	ck_assert_str_eq(back.code, "far too long fo");
	ck_assert_str_eq(back.what, "");
}
END_TEST

SUITE("handshake", two_that_know_it, two_that_want_none,
      one_that_does_not_know_it, nothing_can_be_used_twice,
      no_bit_of_a_proof_can_be_guessed, order_matters, why_one_is_refused)
