/* SPDX-License-Identifier: MIT */
/* A good plugin with options, of a later version whose struct has grown. */
#include "dummy.h"

struct options {
	uint32_t depth;
	const char *how;
};

static const struct option_key options[] = {
	{ .name = "depth",
	  .type = OPTION_COUNT,
	  .offset = offsetof(struct options, depth),
	  .fallback = "4" },
	{ .name = "how",
	  .type = OPTION_CHOICE,
	  .offset = offsetof(struct options, how),
	  .choices = "fast|safe" },
	{ .name = NULL },
};

SPATE_PLUGIN const struct {
	struct write_ops ops;
	void (*later)(void);
} spate_write = {
	.ops = { .head = { .abi = SPATE_ABI,
			   .bytes = sizeof spate_write,
			   .name = "whole",
			   .options = options,
			   .options_bytes = sizeof(struct options),
			   .flags = WRITE_NOTHING },
		 .open = dummy_open,
		 .submit = dummy_submit,
		 .close = dummy_close },
};
