/* SPDX-License-Identifier: MIT */
/* A receive plugin without any callback. */
#include "contract/receive.h"

SPATE_PLUGIN const struct receive_ops spate_receive = {
	.head = { .abi = SPATE_ABI,
		  .bytes = sizeof spate_receive,
		  .name = "none" },
};
