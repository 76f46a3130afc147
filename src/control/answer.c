/* SPDX-License-Identifier: MIT */
#include "control/answer.h"

#define X(...) KEY_ENTRY(struct answer_send, __VA_ARGS__)
const struct key send_keys[] = { SEND_KEYS(X){ .name = NULL } };
#undef X

#define X(...) KEY_ENTRY(struct answer_scan, __VA_ARGS__)
const struct key scan_keys[] = { SCAN_KEYS(X){ .name = NULL } };
#undef X

#define X(...) KEY_ENTRY(struct answer_schedule_sum, __VA_ARGS__)
const struct key schedule_sum_keys[] = { SCHEDULE_SUM_KEYS(X){ .name = NULL } };
#undef X

#define X(...) KEY_ENTRY(struct answer_space, __VA_ARGS__)
const struct key space_keys[] = { SPACE_KEYS(X){ .name = NULL } };
#undef X

/* Reads all keys, and leaves the references of lists to the object. */
static void
borrow(const struct key *keys, void *to, const json_t *object)
{
	const unsigned all = ANSWER | ANSWER_CHECK;

	keys_read(keys, to, object, all);
	keys_drop(keys, to, all);
}

struct answer_send
answer_send(const json_t *send)
{
	struct answer_send s;

	borrow(send_keys, &s, send);
	return s;
}

struct answer_scan
answer_scan(const json_t *scan)
{
	struct answer_scan s;

	borrow(scan_keys, &s, scan);
	return s;
}

struct answer_schedule_sum
answer_schedule_sum(const json_t *sum)
{
	struct answer_schedule_sum s;

	borrow(schedule_sum_keys, &s, sum);
	return s;
}

struct answer_space
answer_space(const json_t *space)
{
	struct answer_space s;

	borrow(space_keys, &s, space);
	return s;
}
