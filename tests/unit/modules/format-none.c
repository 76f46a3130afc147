/* SPDX-License-Identifier: MIT */
/* A format without any callback. */
#include "contract/format.h"

SPATE_PLUGIN const struct format_ops spate_format = {
	.head = { .abi = SPATE_ABI,
		  .bytes = sizeof spate_format,
		  .name = "none" },
};
