/* SPDX-License-Identifier: MIT */
/*
 * udp: packets as they were received, to a host or a multicast group.
 *
 * Many packets of one size go out with one call, which the kernel cuts into
 * datagrams (UDP_SEGMENT): one pass through its network stack instead of many.
 * The kernel has copied the packets when the call returns, so their memory is
 * free at once, and detach has nothing to do.
 *
 * If the interface's queue is fq, each train carries the time at which it is to
 * leave; otherwise the core hands packets over when they are due.
 */
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "udp.h"

#define OF(member) offsetof(struct udp_options, member)

static const struct option_key options[] = {
	{ "socket_buffer", OPTION_BYTES, OF(socket_buffer), "4M", NULL, 65536,
	  INT32_MAX, "asked of the kernel for each port that is sent to" },
	{ "ttl", OPTION_COUNT, OF(ttl), "0", .max = 255,
	  .help = "hops that packets may take; 0: the system's (of a group: "
		  "1)" },
	{ "interface", OPTION_TEXT, OF(interface),
	  .help = "by which groups are sent to, and hosts against the routes; "
		  "eth2@ in the URL does the same" },
	{ "train", OPTION_COUNT, OF(train), "64", NULL, 1, UDP_TRAIN,
	  "packets that the kernel is given at once, for it to cut; 1: none" },
	{ "timed", OPTION_FLAG, OF(timed), "true",
	  .help = "let the interface's queue hold packets until they are due, "
		  "where it is fq" },
	{ .name = NULL },
};

static int
udp_check(const struct send_args *args)
{
	struct url u;
	int err = url_read(&u, args->to, args->why, args->why_bytes);

	if (!err && u.scheme != URL_UDP) {
		snprintf(args->why, args->why_bytes,
			 "%.100s: udp sends to udp://host:port", args->to);
		err = -EINVAL;
	}
	if (!err && args->head_bytes + args->data_bytes > UDP_LARGEST) {
		snprintf(args->why, args->why_bytes,
			 "packets of %u bytes do not fit in a datagram, which "
			 "has at most %d",
			 args->head_bytes + args->data_bytes, UDP_LARGEST);
		err = -EINVAL;
	}
	return err ? err : udp_subs_check(&u, args);
}

static void
udp_close(struct send_state *s)
{
	udp_ports_close(s);
	free(s->stage);
	free(s);
}

static int
udp_open(struct send_state **state, const struct send_args *args)
{
	struct send_state *s;
	struct url u;
	int err = udp_check(args);

	if (err)
		return err;
	url_read(&u, args->to, args->why, args->why_bytes);
	s = calloc(1, sizeof *s);
	if (!s)
		return -ENOMEM;
	s->options = args->options;
	s->host = args->host;
	s->train = s->options->train;
	s->cut_not = UINT32_MAX;
	s->blocked = -1;
	s->stage = malloc(UDP_LARGEST);
	err = s->stage ? udp_ports_open(s, &u, args) : -ENOMEM;
	if (err) {
		udp_close(s);
		return err;
	}
	endpoint_show(&s->to, s->peer);
	*state = s;
	return 0;
}

/* ---- sending ----------------------------------------------------------- */

static int
sub_refuse(struct send_state *s, unsigned sub)
{
	snprintf(s->why, sizeof s->why,
		 "there is no port for substream %u: %u are sent to", sub,
		 s->ports);
	return -EINVAL;
}

static int
udp_send(struct send_state *s, const struct send_run *run, unsigned n,
	 uint64_t *taken)
{
	struct udp_cursor at = { run, n, 0 };
	uint64_t before = s->bytes, together = 0;
	struct udp_train train;
	unsigned done = 1;
	int err = 0;

	*taken = 0;
	s->blocked = -1;
	s->again = 0;
	while (!err && udp_train_make(s, &at, &train)) {
		if (s->ports > 1 && train.sub >= s->ports)
			return sub_refuse(s, train.sub);
		err = udp_go(s, &train, &done);
		*taken += done;
		s->taken += done;
		udp_cursor_move(&at, done);
		if (done && train.bytes > together)
			together = train.bytes;
	}
	if (!s->timed || !n || !run->due)
		together = s->bytes - before;
	if (together > s->burst)
		s->burst = together;
	return *taken || err == -ENOBUFS ? 0 : err;
}

static unsigned
udp_poll(struct send_state *s, struct pollfd *fd, unsigned most, int64_t *until)
{
	if (s->again && s->again < *until)
		*until = s->again;
	if (s->blocked < 0 || !most)
		return 0;
	*fd = (struct pollfd){ .fd = s->blocked, .events = POLLOUT };
	return 1;
}

static uint64_t
udp_release(struct send_state *s)
{
	return s->taken;
}

static void
udp_detach(struct send_state *s)
{
	(void)s;
}

/*
 * Reads the ICMP answers that have come back by now.  More may come, but finish
 * does not wait for them.
 */
static int
udp_finish(struct send_state *s)
{
	for (unsigned i = 0; i < s->ports; i++)
		udp_answers(s, s->fd[i]);
	return 0;
}

static const char *
way(const struct send_state *s)
{
	bool cut = s->train > 1 && s->cut_not == UINT32_MAX;

	if (s->timed)
		return cut ? "udp, trains, timed by fq"
			   : "udp, packet by packet, timed by fq";
	return cut ? "udp, trains" : "udp, packet by packet";
}

static void
udp_facts(struct send_state *s, struct send_facts *f)
{
	*f = (struct send_facts){ .packets = s->packets,
				  .bytes = s->bytes,
				  .calls = s->calls,
				  .refused = s->refused,
				  .lost = s->lost,
				  .connections = s->ports,
				  .burst = s->burst,
				  .way = way(s) };
	snprintf(f->peer, sizeof f->peer, "%s", s->peer);
	memcpy(f->why, s->why, sizeof f->why);
}

static bool
udp_timed(struct send_state *s)
{
	return s->timed;
}

SPATE_PLUGIN const struct send_ops spate_send = {
	.head = { .abi = SPATE_ABI,
		  .bytes = sizeof(struct send_ops),
		  .name = "udp",
		  .help = "datagrams, as they were received",
		  .options = options,
		  .options_bytes = sizeof(struct udp_options),
		  .flags = SEND_TIMED | SEND_UNHEARD },
	.check = udp_check,
	.open = udp_open,
	.send = udp_send,
	.poll = udp_poll,
	.release = udp_release,
	.detach = udp_detach,
	.finish = udp_finish,
	.facts = udp_facts,
	.close = udp_close,
	.timed = udp_timed,
};
