/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "flow/receive/sample.h"
#include "lib/fake_format.h"
#include "lib/suite.h"

enum { PREFIX = 8, PAYLOAD = 100 };

static struct format_ops format;
static struct format_shape shape;
static struct sample *sample;
static json_t *seen;

static int
any_shape(struct format_shape *s, char *why, uint32_t why_bytes)
{
	(void)s;
	(void)why;
	(void)why_bytes;
	return 0;
}

/* A header is believed when the frame counts its payload. */
static void
sized_parse(const struct format_shape *s, const void *prefix,
	    const void *payload, struct format_packet *p)
{
	fake_parse(s, prefix, payload, p);
	p->station = read_le16((const uint8_t *)payload + 24);
	if (read_le16((const uint8_t *)payload + 26) != s->payload)
		p->has = 0;
}

static void
begin(enum sequence_kind sequence, unsigned subs)
{
	struct sample_args args = { &format, &shape, subs };

	format = fake_format;
	format.shape = any_shape;
	format.parse = sized_parse;
	shape = (struct format_shape){ .prefix = PREFIX,
				       .payload = PAYLOAD,
				       .parts = 1,
				       .header = FAKE_HEADER,
				       .sequence = sequence };
	ck_assert_int_eq(sample_make(&sample, &args), 0);
}

struct sent {
	uint32_t prefix, payload; /* bytes */
	struct format_packet p;
	unsigned sub;
	uint32_t flags, sender;
};

static void
send(const struct sent *sent)
{
	static uint8_t memory[70000];
	uint8_t *payload = memory + sent->prefix;
	struct receive_packet k = { .prefix = memory,
				    .payload = memory + PREFIX,
				    .prefix_bytes = PREFIX,
				    .bytes = sent->prefix + sent->payload,
				    .flags = sent->flags,
				    .sender = sent->sender };
	struct format_packet p = sent->p;

	memset(memory, 0, sizeof memory);
	p.has = FORMAT_SEQUENCE | FORMAT_TIME | FORMAT_VALID;
	fake_model(&shape, payload);
	fake_stamp(&shape, &p, memory, payload);
	write_le16(payload + 24, (uint16_t)p.station);
	write_le16(payload + 26, (uint16_t)sent->payload);
	sample_packet(sample, sent->sub, &k, 1000000000000);
}

static void
end(void)
{
	seen = sample_json(sample, 2000000000);
	ck_assert_ptr_nonnull(seen);
	sample_free(sample);
}

static json_int_t
number(const char *key)
{
	const json_t *value = json_object_get(seen, key);

	ck_assert_msg(json_is_integer(value), "%s", key);
	return json_integer_value(value);
}

static const char *
first_hint(void)
{
	const json_t *hints = json_object_get(seen, "hints");

	if (!json_array_size(hints))
		return "";
	return json_string_value(json_array_get(hints, 0));
}

static void
send_numbered(uint64_t sequence, unsigned sub)
{
	struct sent sent = { .prefix = PREFIX,
			     .payload = PAYLOAD,
			     .sub = sub,
			     .sender = 7 + sub,
			     .p.sequence = sequence };

	send(&sent);
}

START_TEST(counters)
{
	begin(SEQUENCE_LE64, 2);
	for (uint64_t i = 0; i < 100; i++) {
		if (i % 10 != 5)
			send_numbered(1000 + (i ^ 1), 0);
	}
	end();
	ck_assert_int_eq(number("datagrams"), 90);
	ck_assert_int_eq(number("bytes"), 90 * 108);
	ck_assert_int_eq(number("lost"), 10);
	ck_assert_int_eq(number("restarts"), 0);
	ck_assert_int_eq(number("silent"), 1);
	ck_assert_int_eq(number("senders"), 1);
	ck_assert_double_eq(json_real_value(json_object_get(seen, "rate")),
			    90 * 108 * 8 / 2.0);
	ck_assert_str_eq(first_hint(), "");
	json_decref(seen);
}
END_TEST

/* Each substream has its own numbers, and a counter that begins anew is no
 * loss. */
START_TEST(restarts)
{
	begin(SEQUENCE_LE64, 2);
	for (uint64_t i = 0; i < 50; i++) {
		send_numbered(i, 0);
		send_numbered(UINT64_C(1) << 40 | i, 1);
	}
	for (uint64_t i = 0; i < 50; i++)
		send_numbered(UINT64_C(1) << 50 | i, 0);
	end();
	ck_assert_int_eq(number("lost"), 0);
	ck_assert_int_eq(number("restarts"), 1);
	ck_assert_int_eq(number("silent"), 0);
	ck_assert_int_eq(number("senders"), 2);
	json_decref(seen);
}
END_TEST

static void
send_frame(int64_t second, uint32_t frame, uint32_t thread)
{
	struct sent sent = { .prefix = PREFIX,
			     .payload = PAYLOAD,
			     .p = { .second = second,
				    .frame = frame,
				    .thread = thread,
				    .station = 0x577a } };

	send(&sent);
}

/* Frames per second are not known until a second was seen whole. */
START_TEST(threads)
{
	const json_t *thread;

	begin(SEQUENCE_TIME, 1);
	for (uint32_t i = 5; i < 30; i++) {
		send_frame(998 + i / 10, i % 10, 0);
		if (i != 17)
			send_frame(998 + i / 10, i % 10, 3);
	}
	end();
	ck_assert_int_eq(number("fps"), 10);
	ck_assert_int_eq(number("lost"), 1);
	ck_assert_uint_eq(json_array_size(json_object_get(seen, "threads")), 2);
	thread = json_array_get(json_object_get(seen, "threads"), 1);
	ck_assert_int_eq(json_integer_value(json_object_get(thread, "thread")),
			 3);
	ck_assert_int_eq(json_integer_value(json_object_get(thread, "frames")),
			 24);
	ck_assert_int_eq(json_integer_value(json_object_get(thread, "lost")),
			 1);
	ck_assert_int_eq(json_integer_value(json_object_get(thread, "station")),
			 0x577a);
	/* The last is frame 9 of second 1000, and came at 1000. */
	ck_assert_double_eq_tol(
	    json_real_value(json_object_get(seen, "ahead_s")), 0.9, 1e-6);
	json_decref(seen);

	begin(SEQUENCE_TIME, 1);
	send_frame(998, 0, 0);
	send_frame(998, 1, 0);
	end();
	ck_assert_int_eq(number("fps"), 0);
	ck_assert(json_is_null(json_object_get(seen, "lost")));
	json_decref(seen);
}
END_TEST

/* Until the frames per second are known, the first frame of a second says when
 * it is; then each does, by thread. */
START_TEST(windows_of_the_clock)
{
	struct data_clock_window w;

	begin(SEQUENCE_TIME, 1);
	for (uint32_t i = 5; i < 30; i++)
		send_frame(998 + i / 10, i % 10, 3);
	sample_window(sample, &w);
	ck_assert_uint_eq(w.number, 1);
	ck_assert_uint_eq(w.threads, 1);
	ck_assert_uint_eq(w.thread[0].thread, 3);
	ck_assert_uint_eq(w.thread[0].packets, 2);
	ck_assert_int_eq(w.thread[0].behind, 0);
	ck_assert(!w.stamped);
	send_frame(998, 4, 3);
	send_frame(998, 6, 0);
	sample_window(sample, &w);
	ck_assert_uint_eq(w.number, 2);
	ck_assert_uint_eq(w.fps, 10);
	ck_assert_uint_eq(w.threads, 2);
	ck_assert_int_eq(w.thread[0].behind, 1600000000);
	ck_assert_int_eq(w.thread[1].behind, 1400000000);
	sample_window(sample, &w);
	ck_assert_uint_eq(w.threads, 0);
	end();
	json_decref(seen);
}
END_TEST

START_TEST(threads_unknown)
{
	static const uint32_t known[] = { 0, 1 };

	begin(SEQUENCE_TIME, 1);
	shape.threads = known;
	shape.threads_n = 2;
	shape.fps = 10;
	send_frame(998, 0, 1);
	send_frame(998, 0, 4);
	end();
	ck_assert_str_eq(first_hint(),
			 "thread 4 comes and is not in `threads`");
	json_decref(seen);
}
END_TEST

static void
send_sized(uint32_t prefix, uint32_t payload)
{
	struct sent sent = { .prefix = prefix, .payload = payload };

	for (int i = 0; i < 10; i++)
		send(&sent);
}

START_TEST(sizes)
{
	json_int_t bytes, n;

	begin(SEQUENCE_LE64, 1);
	send_sized(PREFIX, 300);
	send_numbered(5, 0);
	end();
	ck_assert_str_eq(first_hint(),
			 "payload is 300, configured 100: set payload = 300");
	ck_assert_int_eq(json_unpack(json_object_get(seen, "sizes"),
				     "[{s:I,s:I},{}]", "bytes", &bytes,
				     "datagrams", &n),
			 0);
	ck_assert_int_eq(bytes, 308);
	ck_assert_int_eq(n, 10);
	json_decref(seen);

	begin(SEQUENCE_LE64, 1);
	send_sized(0, 300);
	end();
	ck_assert_str_eq(first_hint(), "prefix is 0 and payload 300, "
				       "configured 8 and 100: set prefix = 0 "
				       "and payload = 300");
	json_decref(seen);

	/* Nothing that the format knows. */
	begin(SEQUENCE_LE64, 1);
	send_sized(3, 300);
	end();
	ck_assert_str_eq(first_hint(), "datagrams have 303 bytes, configured "
				       "are prefix 8 + payload 100 = 108");
	json_decref(seen);
}
END_TEST

/* Datagrams of any length, to none, and more lengths than are told apart. */
START_TEST(any_length)
{
	struct receive_packet k = { 0 };
	uint8_t byte[PREFIX] = { 0 };

	begin(SEQUENCE_LE64, 1);
	for (uint32_t n = 0; n < 40; n++)
		send_sized(0, 1000 + n);
	for (uint32_t n = 0; n < PREFIX; n++) {
		k = (struct receive_packet){ .prefix = byte,
					     .payload = byte,
					     .prefix_bytes = n,
					     .bytes = n };
		sample_packet(sample, 0, &k, 0);
	}
	end();
	ck_assert_int_eq(number("datagrams"), 408);
	ck_assert_uint_eq(json_array_size(json_object_get(seen, "sizes")), 16);
	json_decref(seen);
}
END_TEST

START_TEST(nothing)
{
	begin(SEQUENCE_LE64, 1);
	end();
	ck_assert_int_eq(number("datagrams"), 0);
	ck_assert_ptr_nonnull(strstr(first_hint(), "nothing came"));
	ck_assert(json_is_null(json_object_get(seen, "lost")));
	ck_assert(json_is_null(json_object_get(seen, "ahead_s")));
	json_decref(seen);
}
END_TEST

START_TEST(foreign)
{
	struct sent sent = { .prefix = PREFIX,
			     .payload = PAYLOAD,
			     .flags = RECEIVE_FOREIGN };

	begin(SEQUENCE_LE64, 1);
	send(&sent);
	send(&sent);
	end();
	ck_assert_int_eq(number("foreign"), 2);
	ck_assert_uint_eq(json_array_size(json_object_get(seen, "sizes")), 0);
	ck_assert_ptr_nonnull(strstr(first_hint(), "`allow`"));
	json_decref(seen);
}
END_TEST

/* ---- heaps ----------------------------------------------------------- */

/* u64 heap, length, offset; u16 items (an id each, its length beside). */
static int
heap_piece(const void *head, uint32_t head_bytes, uint32_t bytes,
	   struct format_piece *p)
{
	const uint8_t *at = head;

	if (head_bytes < 24 || bytes < 24 || read_le64(at) == 666)
		return -EBADMSG;
	*p = (struct format_piece){ .heap = read_le64(at),
				    .length = read_le64(at + 8),
				    .offset = read_le64(at + 16),
				    .header = 24,
				    .bytes = bytes - 24,
				    .items = 1,
				    .flavour = 48 };
	return 0;
}

static uint32_t
heap_items(const void *head, const struct format_piece *p, uint64_t *item,
	   uint32_t most)
{
	(void)head;
	ck_assert_uint_ge(most, 1);
	item[0] = p->length;
	return 1;
}

static void
heap_item(const struct format_piece *p, const uint64_t *item, uint32_t items,
	  uint32_t i, struct format_item *out)
{
	(void)p;
	(void)items;
	*out = (struct format_item){ .id = 0x600a, .bytes = item[i] };
}

static void
send_piece(uint64_t heap, uint64_t offset)
{
	uint8_t memory[24 + 500] = { 0 };
	struct receive_packet k = { .payload = memory, .bytes = sizeof memory };

	write_le64(memory, heap);
	write_le64(memory + 8, 1500);
	write_le64(memory + 16, offset);
	sample_packet(sample, 0, &k, 0);
}

static void
begin_heaps(void)
{
	begin(SEQUENCE_ARRIVAL, 1);
	sample_free(sample);
	format.piece = heap_piece;
	format.items = heap_items;
	format.item = heap_item;
	shape.store = HEAP_CUBE;
	shape.item = 0x600a;
	shape.payload = 1000;
	ck_assert_int_eq(
	    sample_make(&sample, &(struct sample_args){ &format, &shape, 1 }),
	    0);
}

/* The first may have begun before the look, the last not be over. */
START_TEST(heaps_whole)
{
	json_t *heaps;

	begin_heaps();
	send_piece(0, 1000);
	for (uint64_t i = 1; i < 20; i++) {
		for (uint64_t at = 0; at < 1500; at += 500) {
			if (i != 7 || at != 500)
				send_piece(i * 2, at);
		}
	}
	send_piece(40, 0);
	send_piece(666, 0);
	end();
	heaps = json_object_get(seen, "heaps");
	ck_assert_int_eq(number("lost"), 500);
	ck_assert_int_eq(json_integer_value(json_object_get(heaps, "complete")),
			 18);
	ck_assert_int_eq(
	    json_integer_value(json_object_get(heaps, "incomplete")), 1);
	ck_assert_int_eq(
	    json_integer_value(json_object_get(heaps, "malformed")), 1);
	ck_assert_uint_eq(json_array_size(json_object_get(heaps, "items")), 1);
	ck_assert_str_eq(first_hint(), "item 0x600a has 1500 bytes, configured "
				       "1000: set payload = 1500");
	json_decref(seen);
}
END_TEST

/* More heaps at a time than are followed: memory is bounded, and what is
 * said stays true. */
START_TEST(many_heaps)
{
	json_t *heaps;

	begin_heaps();
	for (uint64_t i = 0; i < 100000; i++)
		send_piece(i * 7919, 0);
	end();
	heaps = json_object_get(seen, "heaps");
	ck_assert_int_eq(json_integer_value(json_object_get(heaps, "complete")),
			 0);
	ck_assert_int_gt(
	    json_integer_value(json_object_get(heaps, "incomplete")), 99000);
	json_decref(seen);
}
END_TEST

SUITE("sample", counters, restarts, threads, windows_of_the_clock,
      threads_unknown, sizes, any_length, nothing, foreign, heaps_whole,
      many_heaps)
