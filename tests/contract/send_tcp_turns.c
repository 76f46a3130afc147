/* SPDX-License-Identifier: MIT */
#include "contract/send_tcp_turns.h"

uint64_t break_every, broke;
bool by_way;

void
turn(int i)
{
	if (by_way) {
		way_flow(3000);
		if (break_every && way.bytes / break_every > broke) {
			broke = way.bytes / break_every;
			way_break((unsigned)broke % way.n);
		}
	}
	take_all_lines();
	from_wait(&from, i % 64 == 63 ? 5 : 0);
}

/* Has the kernel all that was taken? */
static bool
is_gone(void)
{
	return from.ops->release(from.state) == from.taken;
}

int
step(uint64_t end, bool finished)
{
	int err;

	if (from.at < end || (!finished && !is_gone())) {
		err = from_give(&from, end);
		return err ? err : -EAGAIN;
	}
	err = finished ? from.ops->finish(from.state) : 0;
	if (err == -ERESTART)
		from_back(&from);
	return err;
}

void
send_all(uint64_t end, bool finished)
{
	int err = -EAGAIN;

	for (int i = 0; i < TURNS && err; i++) {
		err = step(end, finished);
		ck_assert_msg(!err || err == -EAGAIN || err == -ERESTART, "%s",
			      strerror(-err));
		turn(i);
	}
	ck_assert_uint_eq(from.at, end);
	ck_assert_int_eq(err, 0);
}

void
told_are(uint64_t n)
{
	for (int i = 0; i < TURNS && packets < n; i++) {
		from_give(&from, from.at); /* says where connections are */
		turn(63);
	}
	ck_assert_uint_eq(packets, n);
}

void
both_open(const char *options, unsigned connections)
{
	begin(FOUR);
	by_way = false;
	ask = (struct send_args){ .connections = connections, .ordered = true };
	from_open(&from, options, port);
}
