/* SPDX-License-Identifier: MIT */
/*
 * writev: writes through the page cache, for file systems that refuse O_DIRECT.
 *
 * Left alone, the kernel would gather gigabytes of dirty pages and then stall
 * every writer at once.  Each submit therefore starts write-back of its own
 * request, then waits for the request before it and drops that from the cache.
 * At most two requests of each disk are dirty, and a recording does not push
 * useful pages out of the cache.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "contract/write.h"

struct write_state {
	int fd; /* file of the last request, under write-back; -1: none */
	off_t offset, bytes;
};

static int
writev_open(struct write_state **state, const struct write_args *args)
{
	struct write_state *s = calloc(1, sizeof *s);

	(void)args;
	if (!s)
		return -ENOMEM;
	s->fd = -1;
	*state = s;
	return 0;
}

/*
 * Waits for the write-back of the last request and drops its pages.  Errors are
 * ignored here: file systems without sync_file_range only keep more dirty
 * pages, and fdatasync reports a failed write-back.
 */
static void
settle(struct write_state *s)
{
	if (s->fd < 0)
		return;
	sync_file_range(s->fd, s->offset, s->bytes,
			SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
			    SYNC_FILE_RANGE_WAIT_AFTER);
	posix_fadvise(s->fd, s->offset, s->bytes, POSIX_FADV_DONTNEED);
	s->fd = -1;
}

static enum write_answer
writev_submit(struct write_state *s, struct write_request *r)
{
	struct iovec iov = { (void *)r->data, r->bytes };
	ssize_t n;

	do {
		n = pwritev(r->fd, &iov, 1, (off_t)r->offset);
	} while (n < 0 && errno == EINTR);
	r->result = n < 0 ? -errno : n;
	if (n <= 0)
		return WRITE_DONE;
	sync_file_range(r->fd, (off_t)r->offset, n, SYNC_FILE_RANGE_WRITE);
	settle(s);
	s->fd = r->fd;
	s->offset = (off_t)r->offset;
	s->bytes = n;
	return WRITE_DONE;
}

static int
writev_finish(struct write_state *s, int fd)
{
	if (s->fd == fd)
		settle(s);
	return 0;
}

static void
writev_close(struct write_state *s)
{
	free(s);
}

SPATE_PLUGIN const struct write_ops spate_write = {
	.head = { .abi = SPATE_ABI,
		  .bytes = sizeof(struct write_ops),
		  .name = "writev",
		  .help = "through the page cache, with few dirty pages" },
	.open = writev_open,
	.submit = writev_submit,
	.finish = writev_finish,
	.close = writev_close,
};
