/* SPDX-License-Identifier: MIT */
/* Lacks two of the mandatory callbacks. */
#include "dummy.h"

SPATE_PLUGIN const struct write_ops spate_write = {
	.head = { .abi = SPATE_ABI,
		  .bytes = sizeof spate_write,
		  .name = "bare" },
	.submit = dummy_submit,
};
