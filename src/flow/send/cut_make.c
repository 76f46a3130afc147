/* SPDX-License-Identifier: MIT */
/* Checks which choice the data allow, and allocates all memory that a cut needs
 * while it runs, except for fill, which few transfers need. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "contract/defaults.h"
#include "flow/send/cut_heaps.h"
#include "flow/send/cut_priv.h"

static int
check_cube(const struct cut_args *a)
{
	if (a->plain)
		return 0;
	return format_refuse(
	    a->why, a->why_bytes,
	    "a cube is one item of each heap: there are no packets any more "
	    "that could be sent; send it as plain bytes, or as a copy to an "
	    "inbox");
}

static int
check_rows(const struct cut_args *a)
{
	const struct send_choice *ch = a->choice;

	if (ch->threads_n || ch->strip || ch->headers_off)
		return format_refuse(
		    a->why, a->why_bytes,
		    "heaps have neither threads nor headers of one length that "
		    "could be left out; send all of each");
	if (a->bare && !a->plain)
		return format_refuse(
		    a->why, a->why_bytes,
		    "heaps of any length cannot be sent in frames, which have "
		    "packets of one length; send them as plain bytes, over "
		    "udp, or as a copy to an inbox");
	if (!a->plain && ch->packet &&
	    (ch->packet < CUT_HEAPS_LEAST || ch->packet > CUT_HEAPS_MOST))
		return format_refuse(
		    a->why, a->why_bytes,
		    "heaps cannot be cut in datagrams of %u bytes: they have "
		    "%d to %d; 8192 is usual, and 1472 fits everywhere",
		    ch->packet, CUT_HEAPS_LEAST, CUT_HEAPS_MOST);
	return 0;
}

static int
check(const struct cut_args *a)
{
	const struct send_choice *ch = a->choice;
	const struct format_shape *s = a->shape;

	if ((a->plain || a->bare) && a->subs > 1 && ch->sub < 0)
		return format_refuse(a->why, a->why_bytes,
				     "it has %u substreams, and one alone goes "
				     "there: --sub says which",
				     a->subs);
	if (s->store == HEAP_ROW)
		return check_rows(a);
	if (s->store == HEAP_CUBE && check_cube(a))
		return -EINVAL;
	if (ch->threads_n && (!a->format->parse || s->parts > 1))
		return format_refuse(a->why, a->why_bytes,
				     "%s packets do not say which thread they "
				     "are of; send all of them",
				     a->format->head.name);
	if (ch->headers_off && !s->header)
		return format_refuse(a->why, a->why_bytes,
				     "%s packets have no header that could be "
				     "left out",
				     a->format->head.name);
	if (ch->strip >= s->payload)
		return format_refuse(a->why, a->why_bytes,
				     "packets of %u bytes have nothing left "
				     "without their first %u",
				     s->payload, ch->strip);
	return 0;
}

static int
make_subs(struct cut *c)
{
	c->sub = calloc(c->subs, sizeof *c->sub);
	if (!c->sub)
		return -ENOMEM;
	for (unsigned i = 0; i < c->subs; i++) {
		fill_init(&c->sub[i].fill, FILL_INVALID, c->format, c->shape);
		if (!c->threads)
			continue;
		c->sub[i].thread = malloc(FILL_CYCLE * sizeof(int32_t));
		if (!c->sub[i].thread)
			return -ENOMEM;
		memset(c->sub[i].thread, 0xff, FILL_CYCLE * sizeof(int32_t));
	}
	return 0;
}

static int
make_parts(struct cut *c)
{
	struct cut_heaps_args heaps = { .format = c->format,
					.shape = c->shape,
					.packet = c->choice->packet };

	if (c->rows && !c->plain)
		return cut_heaps_make(&c->heaps, &heaps);
	c->heads = calloc(CUT_HEADS, c->head_bytes + 1);
	return c->heads ? 0 : -ENOMEM;
}

int
cut_make(struct cut **cut, const struct cut_args *a)
{
	const struct send_choice *ch = a->choice;
	struct cut *c;
	int err = check(a);

	if (err)
		return err;
	c = calloc(1, sizeof *c);
	if (!c)
		return -ENOMEM;
	c->format = a->format;
	c->shape = a->shape;
	c->choice = ch;
	c->subs = a->subs;
	c->plain = a->plain;
	c->zero_fill = a->zero_fill || a->shape->store == HEAP_CUBE;
	c->rows = a->shape->store == HEAP_ROW;
	c->threads = ch->threads_n;
	c->slot_bytes = a->shape->payload;
	c->strip = ch->strip;
	if (ch->headers_off && c->strip < a->shape->header)
		c->strip = a->shape->header;
	if (!a->plain && !a->bare && !c->rows && ch->prefix == SEND_PREFIX_MADE)
		c->head_bytes = a->shape->prefix;
	err = make_subs(c);
	if (!err)
		err = make_parts(c);
	if (err) {
		cut_free(c);
		return err;
	}
	c->done = true;
	*cut = c;
	return 0;
}

void
cut_free(struct cut *c)
{
	if (!c)
		return;
	for (unsigned i = 0; c->sub && i < c->subs; i++) {
		fill_finish(&c->sub[i].fill);
		free(c->sub[i].thread);
	}
	cut_heaps_free(c->heaps);
	free(c->sub);
	free(c->bits);
	free(c->fill);
	free(c->heads);
	free(c);
}

void
cut_sizes(const struct cut *c, uint32_t *head_bytes, uint32_t *data_bytes)
{
	bool differ =
	    c->rows || (c->choice->headers_off && c->shape->parts > 1);

	*head_bytes = c->head_bytes;
	*data_bytes = differ ? 0 : c->slot_bytes - c->strip;
}
