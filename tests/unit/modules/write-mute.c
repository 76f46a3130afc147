/* SPDX-License-Identifier: MIT */
/* Exports nothing that a write plugin should. */
#include "dummy.h"

SPATE_PLUGIN const struct write_ops spate_wright = {
	.head = { .abi = SPATE_ABI,
		  .bytes = sizeof spate_wright,
		  .name = "mute" },
	.open = dummy_open,
	.submit = dummy_submit,
	.close = dummy_close,
};
