/* SPDX-License-Identifier: MIT */
#include "flow/place/time_window.c"

#include <string.h>

#include "lib/suite.h"

#define MS   INT64_C(1000000)
#define S    INT64_C(1000000000)
#define UTC0 (1700000000 * S) /* of the steady clock's zero */

enum { FPS = 1000, GARBAGE = 255 };

/* ---- a format whose payload is its time, and counts who asks ---------- */

static unsigned looks;

static void
fake_parse(const struct format_shape *shape, const void *prefix,
	   const void *payload, struct format_packet *p)
{
	int64_t ns;

	(void)shape;
	(void)prefix;
	looks++;
	memcpy(&ns, payload, sizeof ns);
	*p = (struct format_packet){ 0 };
	if (ns < 0)
		return;
	p->has = FORMAT_TIME;
	p->second = ns / S;
	p->frame = (uint32_t)(ns % S / (S / FPS));
}

static const struct format_ops fake = { .parse = fake_parse };
static const struct format_shape shape = { .prefix = 0,
					   .payload = sizeof(int64_t),
					   .fps = FPS };
static struct arrival arrival = { .offset = UTC0, .known = true };

static int64_t data[RECEIVE_BATCH];
static struct receive_packet packet[RECEIVE_BATCH];
static uint8_t side[RECEIVE_BATCH];
static struct time_window_state eye;

static void
eye_open(void)
{
	eye = (struct time_window_state){ .arrival = &arrival,
					  .now = 1012 * S,
					  .format = &fake,
					  .shape = &shape };
	looks = 0;
	memset(side, GARBAGE, sizeof side);
}

/* Packet i arrived at, and its data are from, these steady and UTC times. */
static void
packets_make(unsigned n, const int64_t *ns, bool of_data)
{
	for (unsigned i = 0; i < n; i++) {
		data[i] = ns[i];
		packet[i] = (struct receive_packet){
			.payload = (uint8_t *)&data[i],
			.bytes = sizeof data[i],
			.arrived = of_data ? 0 : UTC0 + ns[i],
		};
	}
}

static enum time_side
split(const struct time_window *g, unsigned n, const int64_t *ns)
{
	packets_make(n, ns, g->data);
	return time_window_split(g, &eye, packet, n, side);
}

static void
sides_are(const char *want)
{
	for (unsigned i = 0; want[i]; i++)
		ck_assert_int_eq("<=>"[side[i]], want[i]);
}

/* ---- one packet ------------------------------------------------------- */

START_TEST(an_edge_is_of_one_side)
{
	const struct time_window g = { .open = 10, .close = 20 };

	ck_assert_int_eq(time_window_side(&g, 9), TIME_BEFORE);
	ck_assert_int_eq(time_window_side(&g, 10), TIME_IN);
	ck_assert_int_eq(time_window_side(&g, 19), TIME_IN);
	ck_assert_int_eq(time_window_side(&g, 20), TIME_AFTER);
}
END_TEST

START_TEST(a_gate_without_edges_takes_all)
{
	const struct time_window g = { .open = INT64_MIN, .close = INT64_MAX };
	const int64_t ns[] = { 0, INT64_MIN, INT64_MAX };

	eye_open();
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(time_window_side(&g, ns[i] - (i == 2)),
				 TIME_IN);
	ck_assert_int_eq(split(&g, 1, ns), TIME_IN);
	ck_assert_uint_eq(looks, 0);
}
END_TEST

/* ---- arrival ---------------------------------------------------------- */

START_TEST(a_boundary_is_to_the_nanosecond)
{
	const struct time_window a = { .open = 1000 * S, .close = 1010 * S };
	const struct time_window b = { .open = 1010 * S, .close = 1020 * S };
	const int64_t ns[] = { 1010 * S - 2, 1010 * S - 1, 1010 * S,
			       1010 * S + 1 };

	eye_open();
	ck_assert_int_eq(split(&a, 4, ns), TIME_MIXED);
	sides_are("==>>");
	eye_open();
	ck_assert_int_eq(split(&b, 4, ns), TIME_MIXED);
	sides_are("<<==");
}
END_TEST

/* Two that follow each other: each packet is of one, in whatever batches. */
START_TEST(each_packet_is_of_exactly_one)
{
	const struct time_window a = { .open = INT64_MIN, .close = 1010 * S };
	const struct time_window b = { .open = 1010 * S, .close = INT64_MAX };
	int64_t ns[RECEIVE_BATCH], at = 1009 * S;
	unsigned in[2] = { 0 }, all = 0;

	for (unsigned n = 1; at < 1011 * S; n = n % 100 + 7, all += n) {
		enum time_side s[2];
		uint8_t first[RECEIVE_BATCH];

		for (unsigned i = 0; i < n; i++, at += 300000)
			ns[i] = at + (i % 3 == 1 ? 400000 : 0);
		eye_open();
		s[0] = split(&a, n, ns);
		memcpy(first, side, sizeof first);
		eye_open();
		s[1] = split(&b, n, ns);
		for (unsigned i = 0; i < n; i++) {
			bool of_a = s[0] == TIME_MIXED ? first[i] == TIME_IN
						       : s[0] == TIME_IN;
			bool of_b = s[1] == TIME_MIXED ? side[i] == TIME_IN
						       : s[1] == TIME_IN;

			ck_assert_int_eq(of_a, ns[i] < 1010 * S);
			ck_assert_int_eq(of_b, !of_a);
			in[of_b]++;
		}
	}
	ck_assert_uint_gt(in[0], 3000);
	ck_assert_uint_gt(in[1], 3000);
}
END_TEST

START_TEST(without_a_stamp_the_pass_counts)
{
	struct time_window g = { .open = 1012 * S, .close = INT64_MAX };
	const int64_t ns[2] = { 0 };

	eye_open();
	packets_make(2, ns, true); /* no stamps */
	ck_assert_int_eq(time_window_split(&g, &eye, packet, 2, side), TIME_IN);
	eye.now--;
	ck_assert_int_eq(time_window_split(&g, &eye, packet, 2, side),
			 TIME_BEFORE);
}
END_TEST

/* ---- data time -------------------------------------------------------- */

static const struct time_window by_data = { .open = 1000 * S,
					    .close = 1060 * S,
					    .data = true };

/* However many packets it has, a batch far from both edges costs two looks,
 * and one near an edge one more for each packet. */
START_TEST(far_from_the_edges_two_looks_do)
{
	int64_t ns[RECEIVE_BATCH];

	for (unsigned i = 0; i < RECEIVE_BATCH; i++)
		ns[i] = 1030 * S + i * MS;
	eye_open();
	ck_assert_int_eq(split(&by_data, RECEIVE_BATCH, ns), TIME_IN);
	ck_assert_uint_eq(looks, 2);
	for (unsigned i = 0; i < RECEIVE_BATCH; i++)
		ns[i] += 100 * S;
	eye_open();
	eye.last = TIME_AFTER;
	ck_assert_int_eq(split(&by_data, RECEIVE_BATCH, ns), TIME_AFTER);
	ck_assert_uint_eq(looks, 2);
	for (unsigned i = 0; i < RECEIVE_BATCH; i++)
		ns[i] = 1000 * S + i * MS;
	eye_open();
	ck_assert_int_eq(split(&by_data, RECEIVE_BATCH, ns), TIME_IN);
	ck_assert_uint_gt(looks, RECEIVE_BATCH);
}
END_TEST

/* Reordered packets at the edge go each by its own time. */
START_TEST(each_goes_by_its_own_time)
{
	const int64_t ns[] = { 1000 * S - 2 * MS, 1000 * S, 1000 * S - 1 * MS,
			       1000 * S + MS };

	eye_open();
	ck_assert_int_eq(split(&by_data, 4, ns), TIME_MIXED);
	sides_are("<=<=");
}
END_TEST

/* Later parts of frames have no header; a batch may begin with them. */
START_TEST(parts_go_with_their_frame)
{
	const int64_t one[] = { 1060 * S - MS, -1, -1, 1060 * S, -1 };
	const int64_t two[] = { -1, -1 }, before[] = { -1, 1000 * S };
	const int64_t in[] = { -1, 1030 * S };

	eye_open();
	ck_assert_int_eq(split(&by_data, 2, two), TIME_BEFORE);
	ck_assert_int_eq(split(&by_data, 2, before), TIME_MIXED);
	sides_are("<=");
	ck_assert_int_eq(split(&by_data, 5, one), TIME_MIXED);
	sides_are("===>>");
	ck_assert_int_eq(split(&by_data, 2, two), TIME_AFTER);
	/* Far from the edges, too, if the frame before was elsewhere. */
	ck_assert_int_eq(split(&by_data, 2, in), TIME_MIXED);
	sides_are(">=");
}
END_TEST

/* Without frames per second a time is that of its second, until they are
 * learned. */
START_TEST(frames_per_second_may_be_learned)
{
	const struct format_shape bare = { .payload = sizeof(int64_t) };
	const struct time_window half = { .open = 1000 * S + S / 2,
					  .close = 1060 * S,
					  .data = true };
	const int64_t ns[] = { 1000 * S + 499 * MS, 1000 * S + 500 * MS,
			       1000 * S + 750 * MS };
	_Atomic uint32_t fps = LEARN_WAIT;

	eye_open();
	eye.shape = &bare;
	eye.fps = &fps;
	split(&half, 3, ns);
	ck_assert_int_eq(split(&half, 3, ns), TIME_BEFORE);
	atomic_store(&fps, FPS);
	ck_assert_int_eq(split(&half, 3, ns), TIME_MIXED);
	sides_are("<==");
}
END_TEST

START_TEST(what_is_no_packet_is_not_read)
{
	const int64_t ns[] = { 1030 * S, 0, 0, 0, 1030 * S };

	eye_open();
	packets_make(5, ns, true);
	packet[1].bytes = 3;
	packet[1].payload = NULL;
	packet[2].flags = RECEIVE_CUT;
	packet[3].flags = RECEIVE_FOREIGN;
	ck_assert_int_eq(time_window_split(&by_data, &eye, packet + 1, 3, side),
			 TIME_BEFORE);
	ck_assert_uint_eq(looks, 0);
	ck_assert_int_eq(time_window_split(&by_data, &eye, packet, 4, side),
			 TIME_IN);
	ck_assert_int_eq(time_window_split(&by_data, &eye, packet + 1, 4, side),
			 TIME_IN);
}
END_TEST

/* A batch that lasts from one side to the other. */
START_TEST(a_slow_stream_may_pass_an_edge_in_one_batch)
{
	const int64_t ns[] = { 900 * S, 950 * S, 1010 * S, 1030 * S };
	const int64_t all[] = { 900 * S, 1010 * S, 1200 * S };

	eye_open();
	ck_assert_int_eq(split(&by_data, 4, ns), TIME_MIXED);
	sides_are("<<==");
	eye_open();
	ck_assert_int_eq(split(&by_data, 3, all), TIME_MIXED);
	sides_are("<=>");
}
END_TEST

/* ---- picking ---------------------------------------------------------- */

START_TEST(those_of_one_side_are_picked)
{
	const int64_t ns[] = { 1000 * S - 2 * MS, 1000 * S, 1000 * S - 1 * MS,
			       1000 * S + MS };
	struct time_window_picked picked;

	eye_open();
	split(&by_data, 4, ns);
	time_window_pick(&picked, packet, side, 4, TIME_IN);
	ck_assert_uint_eq(picked.n, 2);
	ck_assert_int_eq(picked.from[0], 1);
	ck_assert_int_eq(picked.from[1], 3);
	ck_assert_ptr_eq(picked.packet[1].payload, &data[3]);
	time_window_pick(&picked, packet, side, 4, TIME_AFTER);
	ck_assert_uint_eq(picked.n, 0);
}
END_TEST

SUITE("time_window", an_edge_is_of_one_side, a_gate_without_edges_takes_all,
      a_boundary_is_to_the_nanosecond, each_packet_is_of_exactly_one,
      without_a_stamp_the_pass_counts, far_from_the_edges_two_looks_do,
      each_goes_by_its_own_time, parts_go_with_their_frame,
      frames_per_second_may_be_learned, what_is_no_packet_is_not_read,
      a_slow_stream_may_pass_an_edge_in_one_batch, those_of_one_side_are_picked)
