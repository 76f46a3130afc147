/* SPDX-License-Identifier: MIT */
/*
 * The functions channel_begin() to channel_detach() of channel/channel.h, for
 * frames whose payloads go by UCX.
 *
 * A payload is one stretch of memory, never a list of pieces: libucx 1.13
 * breaks up lists in its rendezvous protocol, and later versions are half as
 * fast with them.  Packets that lie one behind the other are sent from there,
 * if that memory can wait (way.c).  All others are copied into the message's
 * own memory, which an adapter knows after its first use.
 *
 * The frame header also goes through the TCP connection, where it keeps its
 * place among the frames without payload.
 *
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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	IN_PLACE = 64 << 10
}; /* bytes below which a copy costs less than a message of its own */

void
channel_begin(struct channel *c, struct run_position first, int64_t time_ns)
{
	struct way_message *m = way_next(c);

	c->frame = (struct wire_frame){ .type = WIRE_DATA,
					.run = first.run,
					.first = first.first,
					.time_ns = (uint64_t)time_ns };
	m->state = WAY_FILLS;
	m->in_place = false;
	m->data = m->stage;
	m->taken = c->taken;
}

/* Tells whether n packets of a run can be sent from where they lie. */
static bool
lies_well(const struct channel *c, const struct send_run *run, uint32_t n)
{
	const struct way_args *a = c->a->beside_args;

	return a->in_place_ok && !run->head_bytes &&
	       run->data_stride == run->data_bytes &&
	       (uint64_t)n * run->data_bytes >= IN_PLACE;
}

static void
packet_copy(struct channel *c, const struct send_run *run, uint32_t i)
{
	uint8_t *to = way_next(c)->stage + c->frame.payload_bytes;

	if (run->head_bytes)
		memcpy(to, run->head + (size_t)i * run->head_stride,
		       run->head_bytes);
	memcpy(to + run->head_bytes, run->data + (size_t)i * run->data_stride,
	       run->data_bytes);
	c->frame.payload_bytes += run->head_bytes + run->data_bytes;
}

uint32_t
channel_add(struct channel *c, const struct send_run *run, uint32_t i,
	    uint32_t n)
{
	uint32_t room =
	    (c->a->most - c->frame.payload_bytes) / c->a->packet_bytes;
	const uint8_t *data = run->data + (size_t)i * run->data_stride;
	struct way_message *m = way_next(c);

	if (n > room)
		n = room;
	if (m->in_place || !n)
		return 0;
	if (!c->frame.packets && lies_well(c, run, n)) {
		m->in_place = true;
		m->data = data;
		c->frame.payload_bytes = n * run->data_bytes;
	} else if (!run->head_bytes && run->data_stride == run->data_bytes) {
		memcpy(m->stage + c->frame.payload_bytes, data,
		       (size_t)n * run->data_bytes);
		c->frame.payload_bytes += n * run->data_bytes;
	} else {
		for (uint32_t k = 0; k < n; k++)
			packet_copy(c, run, i + k);
	}
	c->frame.packets += n;
	return n;
}

/* Sends the frame header over the TCP connection. */
static int
header_send(struct channel *c, int64_t now)
{
	int err;

	c->told = (struct run_position){ (uint32_t)c->frame.run,
					 c->frame.first + c->frame.packets };
	c->spoke = now;
	wire_pack(&c->frame, c->header, c->a->host->crc32c);
	line_give(&c->line, c->header, WIRE_HEADER);
	err = line_flush(&c->line, 0);
	return err == -EAGAIN ? 0 : err;
}

int
channel_send(struct channel *c, int64_t now)
{
	struct way_message *m = way_next(c);
	int err;

	c->carried = true;
	err = way_send(c, m);
	if (!err)
		err = header_send(c, now);
	if (!err)
		return 0;
	snprintf(c->a->why, c->a->why_bytes, "%s is gone: %s", c->line.peer,
		 strerror(-err));
	channel_drop(c, err);
	return err;
}

int
channel_mark(struct channel *c, struct run_position at, int64_t now)
{
	int err;

	c->frame = (struct wire_frame){ .type = WIRE_DATA,
					.run = at.run,
					.first = at.first };
	err = header_send(c, now);
	if (err)
		channel_drop(c, err);
	return err;
}

int
channel_end(struct channel *c, struct run_position at, int64_t now)
{
	int err;

	c->frame = (struct wire_frame){ .type = WIRE_END,
					.run = at.run,
					.first = at.first };
	c->state = CHANNEL_ENDS;
	err = header_send(c, now);
	if (err)
		channel_drop(c, err);
	return err;
}

/*
 * Closes the channel if it sends packets from where they lie: they cannot be
 * copied in time, see way.c.
 */
void
channel_detach(struct channel *c)
{
	const struct way *w = c->way;
	bool elsewhere = false;

	for (unsigned i = 0; w && i < WAY_MESSAGES; i++)
		elsewhere |=
		    w->message[i].state == WAY_GOES && w->message[i].in_place;
	if (elsewhere)
		channel_drop(c, -ECANCELED);
}

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

static uint8_t *
way_stage(const struct channel *c)
{
	return way_next(c)->stage;
}

static int
way_put(struct channel *c)
{
	struct way_message *m = way_next(c);

	m->in_place = false;
	m->data = m->stage;
	return way_send(c, m);
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
	.stage = way_stage,
	.put = way_put,
	.way = "ucx, active messages",
};
