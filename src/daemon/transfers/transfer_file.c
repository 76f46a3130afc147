/* SPDX-License-Identifier: MIT */
/*
 * A send plugin inside the core that writes plain bytes to a file.  It is no
 * loadable plugin, because the file was opened by code that had checked that it
 * may be written (vsi_file.h), and no URL may name one.  A disk that hangs
 * blocks the sender's thread only.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/transfers/transfer.h"

struct transfer_file {
	int fd;
};

struct send_state {
	int fd; /* belongs to the order */
	uint64_t packets, bytes, calls;
	char why[SEND_SENTENCE];
};

struct transfer_file *
transfer_file_make(int fd)
{
	struct transfer_file *file = malloc(sizeof *file);

	if (file)
		file->fd = fd;
	return file;
}

void
transfer_file_free(struct transfer_file *file)
{
	if (file)
		close(file->fd);
	free(file);
}

static int
file_check(const struct send_args *args)
{
	(void)args;
	return 0;
}

static int
file_open(struct send_state **state, const struct send_args *args)
{
	const struct transfer_file *file = args->options;

	*state = calloc(1, sizeof **state);
	if (!*state)
		return -ENOMEM;
	(*state)->fd = file->fd;
	return 0;
}

static int
failed(struct send_state *s)
{
	int err = -errno;

	snprintf(s->why, sizeof s->why, "cannot write: %s", strerror(-err));
	return err;
}

static int
put(struct send_state *s, const uint8_t *data, uint64_t bytes)
{
	while (bytes) {
		ssize_t n = write(s->fd, data, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return failed(s);
		data += n;
		bytes -= (uint64_t)n;
		s->bytes += (uint64_t)n;
	}
	return 0;
}

static int
run_put(struct send_state *s, const struct send_run *r)
{
	int err = 0;

	if (!r->head_bytes && r->data_stride == r->data_bytes)
		return put(s, r->data, (uint64_t)r->packets * r->data_bytes);
	for (uint32_t i = 0; i < r->packets && !err; i++) {
		if (r->head_bytes)
			err = put(s, r->head + (size_t)i * r->head_stride,
				  r->head_bytes);
		if (!err)
			err = put(s, r->data + (size_t)i * r->data_stride,
				  r->data_bytes);
	}
	return err;
}

static int
file_send(struct send_state *s, const struct send_run *run, unsigned n,
	  uint64_t *taken)
{
	int err = 0;

	*taken = 0;
	s->calls += n > 0;
	for (unsigned i = 0; i < n && !err; i++) {
		err = run_put(s, &run[i]);
		if (!err)
			*taken += run[i].packets;
	}
	s->packets += *taken;
	return err;
}

static unsigned
file_poll(struct send_state *s, struct pollfd *fd, unsigned most,
	  int64_t *until)
{
	(void)s;
	(void)fd;
	(void)most;
	(void)until;
	return 0;
}

static uint64_t
file_release(struct send_state *s)
{
	return s->packets;
}

static void
file_detach(struct send_state *s)
{
	(void)s;
}

/* Makes the file durable; a device that cannot be synced (EINVAL) is fine. */
static int
file_finish(struct send_state *s)
{
	return fdatasync(s->fd) < 0 && errno != EINVAL ? failed(s) : 0;
}

static void
file_facts(struct send_state *s, struct send_facts *facts)
{
	*facts = (struct send_facts){ .packets = s->packets,
				      .bytes = s->bytes,
				      .calls = s->calls,
				      .connections = 1,
				      .way = "file",
				      .peer = "file" };
	memcpy(facts->why, s->why, sizeof facts->why);
}

static void
file_close(struct send_state *s)
{
	free(s);
}

const struct send_ops transfer_file_ops = {
	.head = { .abi = SPATE_ABI,
		  .bytes = sizeof(struct send_ops),
		  .name = "file",
		  .help = "writes to a file",
		  .flags = SEND_PLAIN | SEND_BLOCKS },
	.check = file_check,
	.open = file_open,
	.send = file_send,
	.poll = file_poll,
	.release = file_release,
	.detach = file_detach,
	.finish = file_finish,
	.facts = file_facts,
	.close = file_close,
};
