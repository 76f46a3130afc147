/* SPDX-License-Identifier: MIT */
/*
 * A payload goes straight to the slots where the core expects it, if they lie
 * one behind the other; otherwise into memory of its own (`stage`), from which
 * the core copies it.
 *
 * The straight way is delicate: a fetch takes longer than a call, and nothing
 * may write to a pair after the call in which it was given.  Over sockets and
 * shared memory libucx moves bytes only in ucx_worker_go().  Before that
 * function runs, every payload on its way straight must still lie where the
 * pairs of this call expect it (straight_look()).  If the core now expects
 * something else there (a recording ended, another began), ucx_worker_go() is
 * not called any more: the worker is closed, the sender connects again, and
 * sends again what the core did not get.  RDMA adapters write at any time, so
 * their payloads always go through `stage`.
 *
 * At any time, at most the pairs of one call can be on their way straight.
 */
#include "fetch.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>

#include "wire/copy.h"

void
fetch_make(struct fetch *f, const struct fetch_args *args)
{
	*f = (struct fetch){
		.library = args->library,
		.peer = &args->framed->peer[args->source],
		.line = &args->framed->line[args->source],
		.packet_bytes = args->framed->packet_bytes,
	};
	f->crc32c = f->line->inlet.crc32c;
	f->line->inlet.beside = true;
	for (unsigned i = 0; i < FETCH_MESSAGES; i++)
		f->message[i].fetch = f;
}

void
fetch_make_copy(struct fetch *f, struct ucx_library *library,
		wire_crc32c *crc32c)
{
	*f = (struct fetch){ .library = library, .crc32c = crc32c };
	for (unsigned i = 0; i < FETCH_MESSAGES; i++)
		f->message[i].fetch = f;
}

void
fetch_free(struct fetch *f)
{
	fetch_leave(f);
	ucx_worker_free(&f->worker);
	for (unsigned i = 0; i < FETCH_MESSAGES; i++)
		free(f->message[i].stage);
}

/* ---- offers of libucx -------------------------------------------------- */

/* Returns the number of the front. */
static uint64_t
taken(const struct fetch *f)
{
	return f->line ? f->line->inlet.taken : f->taken;
}

static const char *
offer_check(struct fetch *f, struct fetch_message *m, const uint8_t *header,
	    const ucp_am_recv_param_t *param)
{
	uint64_t number = read_le64(header + UCX_NUMBER);
	const char *why;

	if (!(param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV))
		return "a message that did not wait to be fetched";
	if (m->state != FETCH_NONE || number - taken(f) >= FETCH_MESSAGES)
		return "more messages than were taken";
	why = f->line ? wire_unpack(&m->frame, header, f->crc32c)
		      : wire_copy_unpack(&m->frame, header, f->crc32c);
	if (why)
		return why;
	if (f->line && (m->frame.type != WIRE_DATA || !m->frame.packets))
		return "a message without packets";
	if (!f->line && m->frame.type != WIRE_PIECE)
		return "a message that is no piece";
	if (m->frame.payload_bytes != m->bytes)
		return "a message that is not as long as it says";
	return f->line ? wire_check_data(&m->frame, f->packet_bytes) : NULL;
}

static void
ways_look(struct fetch *f, const ucp_am_recv_param_t *param)
{
	if (f->known || !(param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP))
		return;
	f->known = true;
	f->tame = ucx_worker_is_tame(&f->worker, param->reply_ep);
}

/*
 * Callback of libucx: a message is offered.  Messages with a wrong token are
 * not of this connection's sender, and are ignored.
 */
static ucs_status_t
offered(void *arg, const void *header, size_t header_bytes, void *data,
	size_t bytes, const ucp_am_recv_param_t *param)
{
	struct fetch *f = arg;
	struct fetch_message *m;
	const uint8_t *at = header;

	if (header_bytes != UCX_HEADER ||
	    read_le64(at + UCX_TOKEN) != f->token || f->why)
		return UCS_OK;
	m = &f->message[read_le64(at + UCX_NUMBER) % FETCH_MESSAGES];
	m->bytes = m->state == FETCH_NONE ? bytes : m->bytes;
	f->why = offer_check(f, m, at, param);
	if (f->why)
		return UCS_OK;
	ways_look(f, param);
	f->worker.wired = true;
	memcpy(m->header, at, UCX_HEADER);
	m->offer = data;
	m->state = FETCH_OFFERED;
	return UCS_INPROGRESS;
}

static void
came(void *request, ucs_status_t status, size_t bytes, void *user_data)
{
	struct fetch_message *m = user_data;

	if (status != UCS_OK || bytes != m->bytes)
		m->fetch->why = "a message that could not be fetched";
	m->state = FETCH_HERE;
	if (m->fetch->peer)
		m->fetch->peer->bytes += bytes;
	m->fetch->library->ucp_request_free(request);
}

/* ---- senders ----------------------------------------------------------- */

const char *
fetch_listen(struct fetch *f, int fd, uint8_t *to, uint32_t *bytes)
{
	const ucp_am_handler_param_t param = {
		.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID |
			      UCP_AM_HANDLER_PARAM_FIELD_CB |
			      UCP_AM_HANDLER_PARAM_FIELD_ARG |
			      UCP_AM_HANDLER_PARAM_FIELD_FLAGS,
		.id = UCX_MESSAGES,
		.flags = UCP_AM_FLAG_WHOLE_MSG,
		.cb = offered,
		.arg = f,
	};
	struct sockaddr_storage here = { 0 };
	socklen_t size = sizeof here;
	uint32_t room = *bytes - UCX_WHERE;

	f->why = NULL;
	f->known = f->tame = false;
	f->taken = 0;
	if (getrandom(&f->token, sizeof f->token, GRND_NONBLOCK) !=
	    sizeof f->token)
		return "no random numbers";
	if (ucx_worker_open(&f->worker, f->library, UCX_FAR, f->text,
			    sizeof f->text))
		return f->text;
	if (f->library->ucp_worker_set_am_recv_handler(f->worker.worker,
						       &param) != UCS_OK ||
	    getsockname(fd, (void *)&here, &size) < 0 ||
	    ucx_worker_address(&f->worker, to + UCX_WHERE, &room))
		return "libucx's worker does not work";
	/* Failure is ignored: a sender on this host needs no listener. */
	ucx_worker_listen(&f->worker, &here);
	write_le64(to, f->token);
	write_le16(to + UCX_PORT, f->worker.port);
	*bytes = UCX_WHERE + room;
	return NULL;
}

const char *
fetch_join(struct fetch *f, uint8_t *to, uint32_t *bytes)
{
	struct epoll_event e = { .events = EPOLLIN };
	const char *why;

	f->line->inlet.taken = 0;
	why = fetch_listen(f, f->peer->fd, to, bytes);
	e.data.fd = f->worker.fd;
	if (!why &&
	    epoll_ctl(f->peer->set, EPOLL_CTL_ADD, f->worker.fd, &e) < 0)
		why = "libucx's worker does not work";
	return why;
}

void
fetch_leave(struct fetch *f)
{
	if (!f->worker.open)
		return;
	if (f->peer)
		epoll_ctl(f->peer->set, EPOLL_CTL_DEL, f->worker.fd, NULL);
	ucx_worker_close(&f->worker);
	for (unsigned i = 0; i < FETCH_MESSAGES; i++)
		f->message[i].state = FETCH_NONE;
}

/* ---- where a payload goes ---------------------------------------------- */

static struct fetch_message *
front(struct fetch *f)
{
	return &f->message[taken(f) % FETCH_MESSAGES];
}

/*
 * Returns where the core expects a message's payload in this call; NULL:
 * nowhere in one piece.  The first pair is for the packet that the line hands
 * over next.
 */
static uint8_t *
straight_at(const struct fetch *f, const struct fetch_message *m,
	    const struct receive_batch *b)
{
	const struct framed_line *l = f->line;
	const struct wire_frame *k = &l->inlet.frame;
	unsigned pairs = b->pairs < b->room ? b->pairs : b->room;
	uint64_t skip = k->first + l->told, off, n = m->frame.packets;
	uint8_t *at;

	if (!l->begun || !l->aimed || l->aim != l->next ||
	    m->frame.run != k->run)
		return NULL;
	off = m->frame.first - skip;
	/* the core has got the first packets of it */
	if (m->frame.first < skip) {
		if (m->frame.first != k->first)
			return NULL;
		n -= l->told;
		off = 0;
	}
	if (off >= pairs || n > pairs - off)
		return NULL;
	at = b->pair[off].payload;
	for (uint64_t i = 0; i < n; i++) {
		if (b->pair[off + i].payload != at + i * f->packet_bytes ||
		    b->pair[off + i].payload_bytes != f->packet_bytes)
			return NULL;
	}
	return at - (m->frame.packets - n) * f->packet_bytes;
}

/*
 * Checks that all payloads on their way straight are still where the core
 * expects them.  Returns 0; -EAGAIN: the core has not placed its pairs yet;
 * -EFAULT: they are elsewhere.
 */
static int
straight_look(const struct fetch *f, const struct receive_batch *b)
{
	const struct framed_line *l = f->line;
	bool said = l->begun && l->aimed && l->aim == l->next;

	for (unsigned i = 0; i < FETCH_MESSAGES; i++) {
		const struct fetch_message *m = &f->message[i];

		if ((m->state != FETCH_COMES && m->state != FETCH_HERE) ||
		    !m->straight)
			continue;
		if (!said)
			return -EAGAIN;
		if (straight_at(f, m, b) != m->at)
			return -EFAULT;
	}
	return 0;
}

static bool
get(struct fetch *f, struct fetch_message *m)
{
	const ucp_request_param_t params = {
		.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
				UCP_OP_ATTR_FIELD_USER_DATA |
				UCP_OP_ATTR_FLAG_NO_IMM_CMPL,
		.cb.recv_am = came,
		.user_data = m,
	};
	ucs_status_ptr_t request;

	m->state = FETCH_COMES;
	request = f->library->ucp_am_recv_data_nbx(f->worker.worker, m->offer,
						   m->at, m->bytes, &params);
	if (UCS_PTR_IS_ERR(request))
		f->why = "a message that cannot be fetched";
	return !f->why;
}

static bool
stage(struct fetch_message *m)
{
	if (!m->stage)
		m->stage = malloc(WIRE_PAYLOAD_MOST);
	m->at = m->stage;
	m->straight = false;
	return m->stage;
}

/*
 * Fetches a message that is offered.  A message that is not the first waits for
 * its turn if it could go straight then.
 */
static void
take(struct fetch *f, struct fetch_message *m, const struct receive_batch *b)
{
	const struct framed_line *l = f->line;
	bool first = m == front(f) && l->begun;

	m->straight = true;
	m->at = f->tame ? straight_at(f, m, b) : NULL;
	if (!m->at && f->tame && !first)
		return;
	if (!m->at && first && (l->aim != l->next || !l->aimed || !b->room))
		return;
	if (!m->at && !stage(m))
		f->why = "a message for which there is no memory";
	else
		get(f, m);
}

/*
 * Tells whether the sender has closed the connection.  If it took its memory
 * back during a fetch, the payload may be anything; a sender does that only
 * after it has closed the connection.
 */
static bool
is_closed(const struct fetch *f)
{
	struct pollfd p = { .fd = f->peer->fd, .events = POLLRDHUP };

	return poll(&p, 1, 0) == 1 &&
	       p.revents & (POLLRDHUP | POLLHUP | POLLERR);
}

/*
 * Gives the first message to the inlet as the payload of its frame, if it is
 * here.  Returns NULL, or what is wrong.
 */
static const char *
front_give(struct fetch *f)
{
	struct inlet *in = &f->line->inlet;
	struct fetch_message *m = front(f);

	if (m->state != FETCH_HERE || in->payload || !inlet_waits(in))
		return NULL;
	if (memcmp(in->data + in->start, m->header, WIRE_HEADER))
		return "a message that is not of its frame";
	in->trusted = !(read_le64(m->header + UCX_FLAGS) & UCX_CHECKED);
	if (in->trusted && is_closed(f))
		return "messages, and closed the connection too soon";
	in->payload = m->at;
	return NULL;
}

static void
told_free(struct fetch *f)
{
	for (unsigned i = 0; i < FETCH_MESSAGES; i++) {
		struct fetch_message *m = &f->message[i];

		if (m->state != FETCH_NONE &&
		    read_le64(m->header + UCX_NUMBER) < taken(f))
			m->state = FETCH_NONE;
	}
}

const char *
fetch_look(struct fetch *f, const struct receive_batch *b)
{
	uint64_t number = taken(f);
	const char *why;
	int err;

	told_free(f);
	f->asked = b->room > 0;
	err = straight_look(f, b);
	if (err == -EFAULT)
		return "messages to where something else is to go";
	if (err)
		return NULL;
	ucx_worker_go(&f->worker);
	for (unsigned i = 0; i < FETCH_MESSAGES && !f->why; i++) {
		struct fetch_message *m =
		    &f->message[(number + i) % FETCH_MESSAGES];

		if (m->state == FETCH_OFFERED)
			take(f, m, b);
	}
	ucx_worker_go(&f->worker);
	why = f->why ? f->why : front_give(f);
	if (front(f)->state == FETCH_OFFERED)
		f->peer->held = true;
	return why;
}

bool
fetch_rest(struct fetch *f, bool *again)
{
	const struct fetch_message *m = front(f);

	if (inlet_waits(&f->line->inlet) &&
	    (m->state == FETCH_HERE || m->state == FETCH_OFFERED)) {
		*again |= f->asked;
		return true;
	}
	return !ucx_worker_rest(&f->worker);
}

/* ---- copies ------------------------------------------------------------ */

/*
 * A block of a copy is memory that stays until its pieces are there, so every
 * payload goes straight to it, whatever the transport.
 */
int
fetch_piece(struct fetch *f, const uint8_t *header, void *to)
{
	struct fetch_message *m = front(f);

	ucx_worker_go(&f->worker);
	if (m->state == FETCH_OFFERED && !f->why) {
		m->straight = true;
		m->at = to;
		if (memcmp(m->header, header, WIRE_HEADER))
			f->why = "a message that is not of its frame";
		else if (!to && !stage(m))
			f->why = "a message for which there is no memory";
		else if (get(f, m))
			ucx_worker_go(&f->worker);
	}
	if (f->why)
		return -EBADMSG;
	if (m->state != FETCH_HERE)
		return f->worker.err ? f->worker.err : -EAGAIN;
	m->state = FETCH_NONE;
	f->taken++;
	return 0;
}
