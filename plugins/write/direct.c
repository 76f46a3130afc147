/* SPDX-License-Identifier: MIT */
/*
 * direct: pwrite into files opened with O_DIRECT.  The disk reads the block
 * from where the packets landed, past the page cache.  One request is in flight
 * at a time; disks work in parallel because each has a thread of its own.
 */
#include <errno.h>
#include <unistd.h>

#include "contract/write.h"

static int
direct_open(struct write_state **state, const struct write_args *args)
{
	(void)args;
	*state = NULL; /* no state is needed */
	return 0;
}

static enum write_answer
direct_submit(struct write_state *state, struct write_request *r)
{
	ssize_t n;

	(void)state;
	do {
		n = pwrite(r->fd, r->data, r->bytes, (off_t)r->offset);
	} while (n < 0 && errno == EINTR);
	r->result = n < 0 ? -errno : n;
	return WRITE_DONE;
}

static void
direct_close(struct write_state *state)
{
	(void)state;
}

SPATE_PLUGIN const struct write_ops spate_write = {
	.head = { .abi = SPATE_ABI,
		  .bytes = sizeof(struct write_ops),
		  .name = "direct",
		  .help = "pwrite with O_DIRECT, past the page cache",
		  .flags = WRITE_DIRECT },
	.open = direct_open,
	.submit = direct_submit,
	.close = direct_close,
};
