/* SPDX-License-Identifier: MIT */
/*
 * The parcels whose memory a plugin may still have, in the order in which they
 * were given: a ring, of which the newest one is being cut.  Each is put back
 * to the source as soon as the plugin has released the last of its packets, and
 * all of them at once if the source wants its memory.
 */
#include <errno.h>
#include <string.h>

#include "flow/send/sender_priv.h"

static struct hold *
hold_at(struct sender *s, unsigned i)
{
	return &s->hold[(s->hold_first + i) % SENDER_HOLDS];
}

static void
put_first(struct sender *s)
{
	struct hold *h = hold_at(s, 0);

	/* A source that reads ahead may do so in this call, and wait for its
	 * disk. */
	sender_into(s);
	source_put(&h->parcel);
	sender_out(s);
	s->hold_first++;
	if (!--s->holds)
		s->cutting = false;
}

void
sender_put_all(struct sender *s)
{
	while (s->holds)
		put_first(s);
}

static void
put_released(struct sender *s)
{
	while (s->holds > s->cutting && hold_at(s, 0)->until <= s->released)
		put_first(s);
}

/* Puts all parcels because a recording needs the memory. */
static int
give_back(struct sender *s)
{
	if (s->plugin) {
		s->args.ops->detach(s->plugin);
		s->released = s->args.ops->release(s->plugin);
	}
	sender_put_all(s);
	if (s->released >= s->taken)
		return 0;
	sender_why(s, "the plugin %s keeps memory that is not its own",
		   s->args.ops->head.name);
	return -EFAULT;
}

int
sender_release(struct sender *s)
{
	if (s->plugin)
		s->released = s->args.ops->release(s->plugin);
	put_released(s);
	if (s->source->ops->wanted && s->source->ops->wanted(s->source))
		return give_back(s);
	return 0;
}

static void
say_why(struct sender *s, int err)
{
	const struct fault *fault = NULL;
	char line[SEND_SENTENCE];

	if (s->source->ops->fault)
		fault = s->source->ops->fault(s->source);
	if (fault && fault->code) {
		fault_line(fault, line, sizeof line);
		sender_why(s, "%s", line);
	} else if (err == -ENOENT) {
		sender_why(s, "%s was removed", s->args.name);
	} else {
		sender_why(s, "%s cannot be read: %s", s->args.name,
			   strerror(-err));
	}
}

int
sender_take(struct sender *s)
{
	struct parcel p;
	int err;

	if (s->source_done || (s->cut && cut_ended(s->cut)))
		return -ENODATA;
	if (s->holds == SENDER_HOLDS)
		return -EBUSY;
	sender_into(s);
	err = s->source->ops->next(s->source, &p, 0);
	sender_out(s);
	if (err == -ENODATA)
		s->source_done = true;
	else if (err && err != -ETIMEDOUT)
		say_why(s, err);
	if (err)
		return err;
	*hold_at(s, s->holds++) = (struct hold){ .parcel = p };
	s->cutting = true;
	s->hunger = 0;
	return 0;
}

int
sender_back(struct sender *s)
{
	uint32_t run = 0, seek_run;
	uint64_t first = 0, seek_first;
	int err = 0;

	if (!s->args.ops->back)
		return -EPROTO;
	s->args.ops->back(s->plugin, &run, &first);
	s->args.ops->detach(s->plugin);
	s->released = s->args.ops->release(s->plugin);
	sender_put_all(s);
	cut_back(s->cut, run, first, &seek_run, &seek_first);
	s->again = s->went_back = true;
	sender_into(s);
	err = s->source->ops->seek
		  ? s->source->ops->seek(s->source, seek_run, seek_first)
		  : -ESPIPE;
	sender_out(s);
	s->source_done = s->source_done && err == -ESPIPE;
	if (!err && !s->taken) {
		s->source->ops->facts(s->source, &s->facts.source);
		s->facts.there = s->facts.source.passed;
	}
	/* A source that cannot go back continues with what it has. */
	if (err == -ESPIPE && !s->source_done)
		return 0;
	if (err)
		say_why(s, err);
	return err;
}
