/* SPDX-License-Identifier: MIT */
/* Declares less than the head of every plugin. */
#include "dummy.h"

SPATE_PLUGIN const struct write_ops spate_write = {
	.head = { .abi = SPATE_ABI, .bytes = 8, .name = "tiny" },
	.open = dummy_open,
	.submit = dummy_submit,
	.close = dummy_close,
};
