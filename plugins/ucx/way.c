/* SPDX-License-Identifier: MIT */
/*
 * A message that the receiver has not fetched cannot be taken back: libucx
 * cancels no rendezvous, and a receiver that pulls (shared memory, RDMA) may do
 * so until it knows that the connection is closed.  Memory that may be wanted
 * back, a block of a recording that is being made, is therefore never shown to
 * a receiver: it is copied to `stage` (frame.c).  A receiver that stalls holds
 * `messages` such copies and nothing else.
 *
 * Memory that can wait for any time, a block read from disk, is sent from where
 * it lies.  If it is wanted back all the same, the connection is closed first.
 * The receiver then sees the close behind whatever it fetched too late, throws
 * that away, and asks for it again (wire/frame.h); a checksum would show it, too.
 */
#include "way.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define WIRING INT64_C(15000000000) /* ns in which libucx has to connect */

/* Returns the channel's way if it is open, else NULL. */
static struct way *
way_of(const struct channel *c)
{
	struct way *w = c->way;

	return w && w->worker.open ? w : NULL;
}

static bool
way_is_open(const struct channel *c)
{
	return way_of(c);
}

static void
way_close(struct channel *c)
{
	struct way *w = way_of(c);

	if (!w)
		return;
	/* packets that may be lost, for framed.c to count */
	c->frame.packets = (uint32_t)ucx_way.waits(c);
	ucx_worker_close(&w->worker);
	for (unsigned i = 0; i < WAY_MESSAGES; i++)
		w->message[i].state = WAY_FREE;
}

static void
way_free(struct channel *c)
{
	struct way *w = c->way;

	if (!w)
		return;
	ucx_worker_free(&w->worker);
	free(w->memory);
	free(w);
	c->way = NULL;
}

static int
way_make(struct channel *c)
{
	const struct way_args *a = c->a->beside_args;
	struct way *w = calloc(1, sizeof *w);

	if (!w)
		return -ENOMEM;
	c->way = w;
	w->memory = malloc((size_t)a->depth * c->a->most);
	if (!w->memory)
		return -ENOMEM;
	for (unsigned i = 0; i < a->depth; i++) {
		w->message[i].worker = &w->worker;
		w->message[i].stage = w->memory + (size_t)i * c->a->most;
	}
	return 0;
}

static int
way_open(struct channel *c, const uint8_t *where, uint32_t bytes)
{
	struct way_args *a = c->a->beside_args;
	struct ucx_where to = { .address = where + UCX_WHERE };
	struct sockaddr_storage here = { 0 };
	socklen_t size = sizeof here, to_size = sizeof to.at;
	enum ucx_distance distance;
	struct way *w;
	int err = c->way ? 0 : way_make(c);

	w = c->way;
	if (!err && (w->worker.open || bytes <= UCX_WHERE))
		return -EPROTO;
	if (!err && (getsockname(c->line.fd, (void *)&here, &size) < 0 ||
		     getpeername(c->line.fd, (void *)&to.at, &to_size) < 0))
		return -errno;
	distance = ucx_is_near(&here, &to.at) ? UCX_NEAR : UCX_FAR;
	if (!err)
		err = ucx_worker_open(&w->worker, &a->library, distance,
				      c->a->why, c->a->why_bytes);
	if (err)
		return err;
	w->token = read_le64(where);
	w->number = 0;
	w->since = 0;
	((struct sockaddr_in *)&to.at)->sin_port =
	    /* sin_port and sin6_port have the same place */
	    htons(read_le16(where + UCX_PORT));
	err = ucx_worker_connect(&w->worker, &to);
	if (err)
		way_close(c);
	return err;
}

/*
 * Tells whether a message may be begun.  Before the worker is connected none
 * may: it could not be taken back at all, see ucx_worker_close().
 */
static bool
way_is_free(const struct channel *c)
{
	const struct way *w = way_of(c);

	return w && w->worker.wired && way_next(c)->state == WAY_FREE;
}

static void
went(void *request, ucs_status_t status, void *user_data)
{
	struct way_message *m = user_data;

	if (status != UCS_OK)
		m->worker->err = -EPIPE;
	m->state = WAY_FREE;
	m->worker->u->ucp_request_free(request);
}

int
way_send(struct channel *c, struct way_message *m)
{
	const struct way_args *a = c->a->beside_args;
	struct way *w = c->way;
	const ucp_request_param_t params = {
		.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
				UCP_OP_ATTR_FIELD_USER_DATA |
				UCP_OP_ATTR_FIELD_FLAGS,
		.cb.send = went,
		.user_data = m,
		.flags = UCP_AM_SEND_FLAG_RNDV | UCP_AM_SEND_FLAG_REPLY,
	};
	ucs_status_ptr_t request;

	if (a->checked)
		c->frame.payload_crc =
		    c->a->host->crc32c(0, m->data, c->frame.payload_bytes);
	wire_pack(&c->frame, m->header, c->a->host->crc32c);
	write_le64(m->header + UCX_TOKEN, w->token);
	write_le64(m->header + UCX_NUMBER, w->number++);
	write_le64(m->header + UCX_FLAGS, a->checked ? UCX_CHECKED : 0);
	m->packets = c->frame.packets;
	m->state = WAY_GOES;
	request = a->library.ucp_am_send_nbx(w->worker.ep, UCX_MESSAGES,
					     m->header, UCX_HEADER, m->data,
					     c->frame.payload_bytes, &params);
	if (!request)
		m->state = WAY_FREE;
	else if (UCS_PTR_IS_ERR(request))
		w->worker.err = -EPIPE;
	return w->worker.err;
}

static int
way_step(struct channel *c, int64_t now)
{
	struct way *w = way_of(c);

	if (!w)
		return 0;
	if (!w->since)
		w->since = now;
	ucx_worker_go(&w->worker);
	if (!w->worker.wired && now - w->since > WIRING)
		return -ETIMEDOUT;
	return w->worker.err;
}

static uint64_t
way_release(const struct channel *c, uint64_t taken)
{
	const struct way *w = way_of(c);

	for (unsigned i = 0; w && i < WAY_MESSAGES; i++) {
		const struct way_message *m = &w->message[i];

		if (m->state == WAY_GOES && m->in_place && m->taken < taken)
			taken = m->taken;
	}
	return taken;
}

static uint64_t
way_waits(const struct channel *c)
{
	const struct way *w = way_of(c);
	uint64_t packets = 0;

	for (unsigned i = 0; w && i < WAY_MESSAGES; i++) {
		if (w->message[i].state == WAY_GOES)
			packets += w->message[i].packets;
	}
	return packets;
}

static unsigned
way_poll(const struct channel *c, struct pollfd *fd, int64_t *until)
{
	struct way *w = way_of(c);

	if (!w)
		return 0;
	if (!ucx_worker_rest(&w->worker))
		*until = 0;
	*fd = (struct pollfd){ .fd = w->worker.fd, .events = POLLIN };
	return 1;
}

const struct channel_beside ucx_way = {
	.open = way_open,
	.close = way_close,
	.free = way_free,
	.is_open = way_is_open,
	.is_free = way_is_free,
	.step = way_step,
	.release = way_release,
	.waits = way_waits,
	.poll = way_poll,
	.way = "ucx, active messages",
};
