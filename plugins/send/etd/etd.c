/* SPDX-License-Identifier: MIT */
/*
 * etd: a client of an etransfer server, as correlators run it.  It sends the
 * bytes of a recording as one file.
 *
 * A file is opened (etd_file.h), its bytes are sent over a second connection
 * behind "{ uuid:U, sz:N}", and it is closed.  N has to be known before: for a
 * complete recording it is all that is missing; for others it is what there is
 * to send now, and the file is opened again for more.  At the end the file is
 * opened once more to check its length.  The protocol has no checksum and no
 * authentication.
 *
 * After a connection broke, the server says how much it has (AlreadyHave), and
 * the transfer goes on from there.
 */
#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "etd.h"
#include "net/url.h"

struct options {
	const char *mode;
	int64_t vanish;
	uint32_t data_port;
};

static const struct option_key table[] = {
	{ .name = "mode",
	  .type = OPTION_CHOICE,
	  .offset = offsetof(struct options, mode),
	  .choices = "new|resume|overwrite",
	  .fallback = "new",
	  .help = "a file that is there already: refuse it, go on behind what "
		  "it has, or write over it" },
	{ .name = "vanish",
	  .type = OPTION_SPAN,
	  .offset = offsetof(struct options, vanish),
	  .fallback = "20s",
	  .min = NS_SECOND,
	  .max = INT64_C(3600000000000),
	  .help = "a peer that answers nothing for so long is gone" },
	{ .name = "data_port",
	  .type = OPTION_COUNT,
	  .offset = offsetof(struct options, data_port),
	  .fallback = "8008",
	  .min = 1,
	  .max = 65535,
	  .help = "where bytes go to, if the server does not say" },
	{ .name = NULL },
};

/* ---- opening --------------------------------------------------------- */

static int
etd_check(const struct send_args *args)
{
	struct url url;
	int err = url_read(&url, args->to, args->why, args->why_bytes);

	if (err)
		return err;
	for (const char *c = url.path; *c && !err; c++)
		err = iscntrl((unsigned char)*c) ? -EINVAL : 0;
	if (url.scheme == URL_ETD && url.path[0] && !err)
		return 0;
	snprintf(args->why, args->why_bytes,
		 "'%.100s' is no file of an etransfer server: "
		 "etd://HOST/PATH/, or etd://HOST:PORT/PATH/FILE",
		 args->to);
	return -EINVAL;
}

static const char *
mode_of(const struct options *o)
{
	return strcmp(o->mode, "new") == 0	? "New"
	       : strcmp(o->mode, "resume") == 0 ? "Resume"
						: "OverWrite";
}

static int
state_make(struct send_state *s, const struct send_args *a,
	   const struct options *o)
{
	s->ordered = a->ordered;
	s->total = a->total;
	s->to.vanish = o->vanish;
	s->to_data = s->to;
	s->to_data.to.n = 1;
	etd_file_make(&s->file, &s->to);
	s->file.path = s->path;
	s->file.mode = mode_of(o);
	s->file.data_port = (uint16_t)o->data_port;
	s->file.why = s->why;
	s->file.why_bytes = sizeof s->why;
	return bytes_make(&s->bytes, &s->to_data,
			  a->head_bytes + a->data_bytes);
}

static int
etd_open(struct send_state **state, const struct send_args *a)
{
	struct send_state *s;
	struct url url;
	size_t n;
	int err = etd_check(a);

	if (err)
		return err;
	if (a->subs > 1) {
		snprintf(a->why, a->why_bytes,
			 "it has %u substreams, and a file is of one: --sub "
			 "says which",
			 a->subs);
		return -EINVAL;
	}
	s = calloc(1, sizeof *s);
	if (!s)
		return -ENOMEM;
	url_read(&url, a->to, a->why, a->why_bytes);
	n = strlen(url.path);
	snprintf(s->path, sizeof s->path, "%s%s", url.path,
		 url.path[n - 1] == '/' ? a->name : "");
	err = resolve(&s->to.to, &url, a->why, a->why_bytes);
	memcpy(s->to.device, url.device, sizeof s->to.device);
	if (!err)
		err = state_make(s, a, a->options);
	*state = s;
	if (err)
		free(s);
	return err;
}

static void
etd_close(struct send_state *s)
{
	etd_file_drop(&s->file);
	bytes_free(&s->bytes);
	given_free(&s->given);
	free(s);
}

/* ---- polling, memory, counters ----------------------------------------- */

static unsigned
etd_poll(struct send_state *s, struct pollfd *fd, unsigned most, int64_t *until)
{
	unsigned n = 0;

	if (most)
		n = line_poll(&s->file.talk.line, fd, until);
	if (n < most && s->bytes.line.state != LINE_DOWN)
		n += line_poll(&s->bytes.line, fd + n, until);
	return n;
}

static uint64_t
etd_release(struct send_state *s)
{
	return bytes_release(&s->bytes);
}

static void
etd_detach(struct send_state *s)
{
	bytes_detach(&s->bytes);
}

static void
etd_facts(struct send_state *s, struct send_facts *facts)
{
	const struct bytes *b = &s->bytes;

	*facts = (struct send_facts){
		.packets = b->taken - b->packets - s->there_packets,
		.bytes = s->given.bytes - s->there_bytes,
		.calls = b->line.calls,
		.connections = s->file.state > ETD_CALLS,
		.reconnects = s->reconnects,
		.way = "etransfer, no checksum",
	};
	facts->there_packets = s->there_packets;
	facts->there_bytes = s->there_bytes;
	memcpy(facts->why, s->why, sizeof facts->why);
	snprintf(facts->peer, sizeof facts->peer, "%s", s->file.talk.line.peer);
}

static void
etd_back(struct send_state *s, uint32_t *run, uint64_t *first)
{
	*run = s->back_run;
	*first = s->back_first;
}

SPATE_PLUGIN const struct send_ops spate_send = {
	.head = { .abi = SPATE_ABI,
		  .bytes = sizeof(struct send_ops),
		  .name = "etd",
		  .help = "a file of an etransfer server",
		  .options = table,
		  .options_bytes = sizeof(struct options),
		  .flags = SEND_BLOCKS | SEND_PLAIN },
	.check = etd_check,
	.open = etd_open,
	.send = etd_send,
	.poll = etd_poll,
	.release = etd_release,
	.detach = etd_detach,
	.finish = etd_finish,
	.facts = etd_facts,
	.close = etd_close,
	.back = etd_back,
};
