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

#define X(...) KEY_ENTRY(struct answer_stream, __VA_ARGS__)
const struct key stream_keys[] = { STREAM_KEYS(X){ .name = NULL } };
#undef X

#define X(...) KEY_ENTRY(struct answer_status, __VA_ARGS__)
const struct key status_keys[] = { STATUS_KEYS(X){ .name = NULL } };
#undef X

#define X(...) KEY_ENTRY(struct answer_memory, __VA_ARGS__)
const struct key memory_keys[] = { MEMORY_KEYS(X){ .name = NULL } };
#undef X

#define X(...) KEY_ENTRY(struct answer_catalogue, __VA_ARGS__)
const struct key catalogue_keys[] = { CATALOGUE_KEYS(X){ .name = NULL } };
#undef X

#define X(...) KEY_ENTRY(struct answer_copy, __VA_ARGS__)
const struct key copy_keys[] = { COPY_KEYS(X){ .name = NULL } };
#undef X

/* Reads all keys, and leaves the references of lists to the object. */
static void
borrow(const struct key *keys, void *to, const json_t *object)
{
	const unsigned all = ANSWER | ANSWER_CHECK;

	keys_read(keys, to, object, all);
	keys_drop(keys, to, all);
}

#define READER(what)                                                           \
	struct answer_##what answer_##what(const json_t *object)               \
	{                                                                      \
		struct answer_##what read;                                     \
                                                                               \
		borrow(what##_keys, &read, object);                            \
		return read;                                                   \
	}

READER(send)
READER(scan)
READER(schedule_sum)
READER(space)
READER(stream)
READER(status)
READER(memory)
READER(copy)
