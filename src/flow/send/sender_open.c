/* SPDX-License-Identifier: MIT */
/* Everything that is needed before packets can be sent: a description of the
 * data, the cut, and the plugin's connection to the peer. */
#include <errno.h>
#include <string.h>

#include "flow/send/sender_priv.h"

/* Asks the source what its data are.  Some sources know that only with their
 * first parcel, which is then taken. */
int
sender_learn(struct sender *s)
{
	struct sender_args *a = &s->args;
	int err = -EAGAIN;

	if (s->source->ops->about) {
		sender_into(s);
		err = s->source->ops->about(s->source, &s->about);
		sender_out(s);
	}
	if (err && !a->format && !s->holds && !s->source_done) {
		err = sender_take(s);
		if (err == -ETIMEDOUT)
			sender_wait(s, 0, false);
		return err == -ETIMEDOUT || err == -ENODATA ? 0 : err;
	}
	if (a->format) {
		s->about.format = a->format;
		s->about.shape = a->shape;
		s->about.subs = a->subs ? a->subs : 1;
	} else if (err) {
		sender_why(s, "nobody knows of which format the data of %s are",
			   a->name);
		return -ENODATA;
	}
	return SENDER_STEP;
}

int
sender_uncut(struct sender *s)
{
	sender_why(s, "%s", s->cut_why[0] ? s->cut_why : strerror(-s->cut_err));
	return s->cut_err;
}

/* Makes the cut.  0, also if the data cannot be cut but a plugin without
 * prefixes can ask its peer to take a copy instead; or -errno with `why`. */
static int
cut_open(struct sender *s)
{
	const struct sender_args *a = &s->args;
	bool plain = a->plain || a->ops->head.flags & SEND_PLAIN;
	struct cut_args cut = { .format = s->about.format,
				.shape = s->about.shape,
				.subs = s->about.subs,
				.choice = &a->choice,
				.plain = plain,
				.bare = a->ops->head.flags & SEND_BARE,
				.zero_fill = s->about.zero_fill,
				.why = s->cut_why,
				.why_bytes = sizeof s->cut_why };

	s->pacer.brisk = s->about.live;
	s->subs = s->about.subs > 1 && a->choice.sub < 0 ? s->about.subs : 1;
	s->cut_err = cut_make(&s->cut, &cut);
	if (!s->cut_err)
		return 0;
	if (s->cut_err != -EINVAL || !cut.bare || plain)
		return sender_uncut(s);
	s->subs = 1;
	return 0;
}

/* Bytes of the whole transfer, if it is plain bytes; 0: not known yet. */
static uint64_t
total_of(struct sender *s, bool plain)
{
	const struct send_choice *c = &s->args.choice;
	struct source_facts facts = { 0 };

	if (!plain || c->from_ns || c->to_ns || c->from_byte || c->to_byte ||
	    c->threads_n || c->strip || c->headers_off)
		return 0;
	s->source->ops->facts(s->source, &facts);
	return facts.live || s->about.live ? 0 : facts.total;
}

static int
plugin_open(struct sender *s)
{
	const struct sender_args *a = &s->args;
	struct send_args args = {
		.host = &s->host,
		.options = a->options,
		.to = a->to,
		.subs = s->subs,
		.connections = a->connections,
		.plain = a->plain || a->ops->head.flags & SEND_PLAIN,
		.ordered = a->ordered,
		.transfer = a->transfer,
		.zerocopy_ok = !s->about.live,
		.rate = s->asked == SEND_RATE_DATA ? 0 : s->asked,
		.name = a->name,
		.about = a->about,
		.secret = a->secret,
		.secret_bytes = a->secret_bytes,
		.why = s->facts.why,
		.why_bytes = sizeof s->facts.why,
	};
	int err;

	args.total = total_of(s, args.plain);
	/* A peer that takes copies also takes them of data that cannot be cut.
	 * It is asked with packets of any size. */
	args.data_bytes = 1;
	if (s->cut)
		cut_sizes(s->cut, &args.head_bytes, &args.data_bytes);
	s->host = log_host(a->name);
	sender_into(s);
	err = a->ops->open(&s->plugin, &args);
	sender_out(s);
	if (err && !s->facts.why[0])
		sender_why(s, "%s: %s", a->to, strerror(-err));
	return err;
}

int
sender_open(struct sender *s)
{
	int err = cut_open(s);

	return err ? err : plugin_open(s);
}
