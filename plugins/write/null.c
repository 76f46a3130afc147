/* SPDX-License-Identifier: MIT */
/*
 * null: the smallest write plugin.  Every request counts as written, and
 * nothing is stored.  It is the ceiling that the others are measured against,
 * and the first one to read before you write your own.
 */
#include "contract/write.h"

static int
null_open(struct write_state **state, const struct write_args *args)
{
	(void)args;
	*state = NULL;
	return 0;
}

static enum write_answer
null_submit(struct write_state *state, struct write_request *r)
{
	(void)state;
	r->result = (int64_t)r->bytes;
	return WRITE_DONE;
}

static void
null_close(struct write_state *state)
{
	(void)state;
}

SPATE_PLUGIN const struct write_ops spate_write = {
	.head = { .abi = SPATE_ABI,
		  .bytes = sizeof(struct write_ops),
		  .name = "null",
		  .help = "counts, and stores nothing",
		  .flags = WRITE_NOTHING },
	.open = null_open,
	.submit = null_submit,
	.close = null_close,
};
