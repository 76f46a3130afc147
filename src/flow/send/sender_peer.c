/* SPDX-License-Identifier: MIT */
/* The state of the peer, as the plugin's calls report it. */
#include <errno.h>
#include <string.h>

#include "flow/send/sender_priv.h"

static void
peer_why(struct sender *s, int err)
{
	struct send_facts facts = { 0 };

	s->args.ops->facts(s->plugin, &facts);
	if (facts.why[0])
		sender_why(s, "%s", facts.why);
	else
		sender_why(s, "%s: %s", s->args.to, strerror(-err));
}

int
sender_lost(struct sender *s)
{
	struct send_facts facts = { 0 };
	int err;

	s->args.ops->facts(s->plugin, &facts);
	sender_why(s, "%s", facts.why);
	err = sender_away(s);
	if (err && !facts.why[0])
		sender_why(s, "%s does not answer", s->args.to);
	return err;
}

int
sender_said(struct sender *s, int err)
{
	switch (err) {
	case -EAGAIN: return sender_lost(s);
	case -ERESTART: return sender_back(s);
	case -EXDEV: s->facts.wants_copy = true; break;
	default: break;
	}
	if (!s->cut && err != -EXDEV)
		return sender_uncut(s);
	peer_why(s, err);
	return err;
}

int
sender_keep(struct sender *s)
{
	uint64_t taken = 0;
	int err = s->args.ops->send(s->plugin, s->offer, 0, &taken);

	if (err)
		return sender_said(s, err);
	sender_there(s);
	return SENDER_STEP;
}

int
sender_press(struct sender *s)
{
	int err = sender_keep(s);

	if (err != SENDER_STEP)
		return err;
	sender_wait(s, 0, true);
	return 0;
}
