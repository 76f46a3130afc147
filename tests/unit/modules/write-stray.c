/* SPDX-License-Identifier: MIT */
/* Has an option that lies outside of its options. */
#include "dummy.h"

static const struct option_key options[] = {
	{ .name = "near", .type = OPTION_COUNT, .offset = 0 },
	{ .name = "far", .type = OPTION_BYTES, .offset = 4 },
	{ .name = NULL },
};

SPATE_PLUGIN const struct write_ops spate_write = {
	.head = { .abi = SPATE_ABI,
		  .bytes = sizeof spate_write,
		  .name = "stray",
		  .options = options,
		  .options_bytes = 8 },
	.open = dummy_open,
	.submit = dummy_submit,
	.close = dummy_close,
};
