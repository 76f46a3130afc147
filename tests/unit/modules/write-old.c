/* SPDX-License-Identifier: MIT */
/* Made for another ABI number. */
#include "dummy.h"

SPATE_PLUGIN const struct write_ops spate_write = {
	.head = { .abi = SPATE_ABI + 1,
		  .bytes = sizeof spate_write,
		  .name = "old" },
	.open = dummy_open,
	.submit = dummy_submit,
	.close = dummy_close,
};
