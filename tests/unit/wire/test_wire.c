/* SPDX-License-Identifier: MIT */
#include "wire/frame.h"

#include "base/crc32c.h"
#include "lib/suite.h"

/* Written by hand from the description; checksums by another program. */
static const uint8_t ideal[WIRE_HEADER] = {
	'S',  'P',  'T',  '1',	/* magic */
	0x03, 0x00, 0x30, 0x00, /* DATA, 48 bytes */
	0x40, 0x3e, 0x00, 0x00, /* 15936 bytes of payload */
	0x02, 0x00, 0x00, 0x00, /* 2 packets */
	0x04, 0x03, 0x02, 0x01, 0,    0,    0,	  0,	/* run 0x01020304 */
	0x16, 0x15, 0x14, 0x13, 0x12, 0x11, 0,		/* sequence */
	0x00,						/*   0x111213141516 */
	0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21, /* time */
	0xef, 0xbe, 0xad, 0xde, /* CRC32C of the payload */
	0x4f, 0x79, 0x35, 0x1e, /* CRC32C of all of that */
};

static const struct wire_frame frame = { .type = WIRE_DATA,
					 .payload_bytes = 2 * 7968,
					 .packets = 2,
					 .run = 0x01020304,
					 .first = 0x111213141516,
					 .time_ns = 0x2122232425262728,
					 .payload_crc = 0xdeadbeef };

START_TEST(a_header_to_the_byte)
{
	struct wire_frame f;
	uint8_t at[WIRE_HEADER];

	memset(at, 0xa5, sizeof at);
	wire_pack(&frame, at, crc32c);
	ck_assert_mem_eq(at, ideal, 44);
	ck_assert_mem_eq(at, ideal, sizeof at);
	ck_assert_ptr_null(wire_unpack(&f, ideal, crc32c));
	ck_assert_uint_eq(f.header_bytes, WIRE_HEADER);
	ck_assert_uint_eq(f.type, frame.type);
	ck_assert_uint_eq(f.payload_bytes, frame.payload_bytes);
	ck_assert_uint_eq(f.packets, frame.packets);
	ck_assert_uint_eq(f.run, frame.run);
	ck_assert_uint_eq(f.first, frame.first);
	ck_assert_uint_eq(f.time_ns, frame.time_ns);
	ck_assert_uint_eq(f.payload_crc, frame.payload_crc);
	ck_assert_ptr_null(wire_check_data(&f, 7968));
	ck_assert_ptr_nonnull(wire_check_data(&f, 7967));
}
END_TEST

/* Whichever bit is wrong, it is seen. */
START_TEST(no_bit_goes_unnoticed)
{
	struct wire_frame f;
	uint8_t at[WIRE_HEADER];

	for (unsigned bit = 0; bit < 8 * WIRE_HEADER; bit++) {
		memcpy(at, ideal, sizeof at);
		at[bit / 8] ^= (uint8_t)(1u << bit % 8);
		if (!wire_unpack(&f, at, crc32c))
			ck_abort_msg("bit %u is not missed", bit);
	}
}
END_TEST

static void
is(const char *why, struct wire_frame f)
{
	struct wire_frame back;
	uint8_t at[WIRE_HEADER];
	const char *said;

	wire_pack(&f, at, crc32c);
	said = wire_unpack(&back, at, crc32c);
	if (why ? !said || !strstr(said, why) : said != NULL)
		ck_abort_msg("'%s', expected '%s'", said ? said : "",
			     why ? why : "");
}

START_TEST(what_cannot_be_is_refused)
{
	struct wire_frame f = frame,
			  hello = { .type = WIRE_HELLO, .payload_bytes = 100 };

	is(NULL, f);
	for (f.type = 0; f.type < WIRE_TYPES + 2; f.type++) {
		if (f.type != WIRE_DATA)
			is(f.type >= 1 && f.type < WIRE_TYPES
			       ? "packets in a frame"
			       : "type",
			   f);
	}
	f = frame;
	f.header_bytes = 47;
	is("length", f);
	f.header_bytes = WIRE_HEADER_MOST;
	is(NULL, f);
	f.header_bytes++;
	is("length", f);
	f = frame;
	f.payload_bytes = WIRE_PAYLOAD_MOST;
	is(NULL, f);
	f.payload_bytes++;
	is("4 MiB", f);
	f = frame;
	f.packets = 0;
	is("room for its packets", f);
	f.payload_bytes = 0;
	is(NULL, f);
	f.packets = 1;
	is("room for its packets", f);
	f = frame;
	f.packets = f.payload_bytes + 1;
	is("room for its packets", f);
	f = frame;
	f.run = WIRE_RUNS - 1;
	f.first = WIRE_SEQUENCES - 1;
	is(NULL, f);
	f.run++;
	is("run", f);
	f = frame;
	f.first = WIRE_SEQUENCES;
	is("sequence", f);
	is(NULL, hello);
	hello.type = WIRE_END;
	is("a payload in a frame", hello);
	hello.type = WIRE_HAVE;
	is("a payload in a frame", hello);
	hello.payload_bytes = 0;
	is(NULL, hello);
}
END_TEST

START_TEST(answers_have_a_length)
{
	static const struct {
		uint16_t type;
		uint32_t least, most;
		const char *why;
	} of[] = {
		{ WIRE_CHALLENGE, 32, 32, "challenge of a wrong length" },
		{ WIRE_PROOF, 64, 64, "proof of a wrong length" },
		{ WIRE_WELCOME, 0, 65536, "too long" },
		{ WIRE_REFUSE, 0, 65536, "too long" },
	};

	for (unsigned i = 0; i < sizeof of / sizeof *of; i++) {
		struct wire_frame f = { .type = of[i].type };

		if (of[i].least) {
			f.payload_bytes = of[i].least - 1;
			is(of[i].why, f);
		}
		f.payload_bytes = of[i].least;
		is(NULL, f);
		f.payload_bytes = of[i].most;
		is(NULL, f);
		f.payload_bytes++;
		is(of[i].why, f);
	}
}
END_TEST

START_TEST(http_is_no_frame)
{
	struct wire_frame f;
	const char *why =
	    wire_unpack(&f,
			(const uint8_t *)"GET /index.html HTTP/1.1\r\nHost: "
					 "localhost:2630\r\n\r\n",
			crc32c);

	ck_assert_str_eq(why, "something that is no frame of spate's");
}
END_TEST

START_TEST(a_hello_to_the_byte)
{
	static const struct wire_hello hello = {
		.version = 1,
		.packet_bytes = 8032,
		.connections = 4,
		.connection = 3,
		.transfer = 0x0102030405060708,
	};
	static const uint8_t bytes[WIRE_HELLO_BYTES] = {
		1, 0, 0, 0, 0x60, 0x1f, 0, 0, 4, 0, 0, 0,
		3, 0, 0, 0, 8,	  7,	6, 5, 4, 3, 2, 1,
	};
	struct wire_hello h;
	uint8_t at[WIRE_HELLO_BYTES];

	wire_hello_pack(&hello, at);
	ck_assert_mem_eq(at, bytes, sizeof at);
	ck_assert_ptr_null(wire_hello_unpack(&h, bytes, sizeof bytes));
	ck_assert_mem_eq(&h, &hello, sizeof h);
	ck_assert_ptr_null(wire_hello_unpack(&h, bytes, 1000));
	ck_assert_ptr_nonnull(wire_hello_unpack(&h, bytes, 23));
}
END_TEST

START_TEST(a_hello_that_cannot_be)
{
	static const struct {
		const char *why;
		struct wire_hello h;
	} bad[] = {
		{ "version", { 2, 8, 1, 0, 1 } },
		{ "packet size", { 1, 0, 1, 0, 1 } },
		{ "packet size", { 1, WIRE_PAYLOAD_MOST + 1, 1, 0, 1 } },
		{ "number", { 1, 8, 0, 0, 1 } },
		{ "number", { 1, 8, WIRE_CONNECTIONS + 1, 0, 1 } },
		{ "number", { 1, 8, 4, 4, 1 } },
		{ "transfer", { 1, 8, 4, 0, 0 } },
	};
	struct wire_hello h;
	uint8_t at[WIRE_HELLO_BYTES];

	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
		const char *why;

		wire_hello_pack(&bad[i].h, at);
		why = wire_hello_unpack(&h, at, sizeof at);
		ck_assert_msg(why && strstr(why, bad[i].why), "%u: %s", i, why);
	}
}
END_TEST

SUITE("wire", a_header_to_the_byte, no_bit_goes_unnoticed,
      what_cannot_be_is_refused, answers_have_a_length, http_is_no_frame,
      a_hello_to_the_byte, a_hello_that_cannot_be)
