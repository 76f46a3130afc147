/* SPDX-License-Identifier: MIT */
#include "control/answer.h"

#define X(...) KEY_ENTRY(struct answer_send, __VA_ARGS__)
const struct key send_keys[] = { SEND_KEYS(X){ .name = NULL } };
#undef X
