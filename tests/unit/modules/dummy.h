/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_UNIT_PLUGINS_DUMMY_H
#define SPATE_TESTS_UNIT_PLUGINS_DUMMY_H

#include "contract/write.h"

/* The callbacks of write plugins that are loaded but never called. */

static inline int
dummy_open(struct write_state **state, const struct write_args *args)
{
	(void)args;
	*state = NULL;
	return 0;
}

static inline enum write_answer
dummy_submit(struct write_state *state, struct write_request *request)
{
	(void)state;
	request->result = request->bytes;
	return WRITE_DONE;
}

static inline void
dummy_close(struct write_state *state)
{
	(void)state;
}

#endif
