/* SPDX-License-Identifier: MIT */
/* Calls itself something else than its file. */
#include "dummy.h"

SPATE_PLUGIN const struct write_ops spate_write = {
	.head = { .abi = SPATE_ABI,
		  .bytes = sizeof spate_write,
		  .name = "other" },
	.open = dummy_open,
	.submit = dummy_submit,
	.close = dummy_close,
};
