/* SPDX-License-Identifier: MIT */
/* Keeps what was found, disk by disk, until it is reported. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/repair/verify_priv.h"

const char *
verify_path(const struct verify_part *p)
{
	return p->check->disks->disk[p->disk].path;
}

static struct verify_item *
item_new(struct verify_part *p, enum verify_kind kind)
{
	struct verify_item *grown;
	size_t room = p->room ? 2 * p->room : 16;

	if (p->items == p->room) {
		grown = realloc(p->item, room * sizeof *grown);
		if (!grown) {
			p->err = -ENOMEM;
			p->spare = (struct verify_item){ .kind = kind };
			return &p->spare;
		}
		p->item = grown;
		p->room = room;
	}
	p->item[p->items] =
	    (struct verify_item){ .kind = kind, .place = p->items };
	return &p->item[p->items++];
}

struct verify_item *
verify_say(struct verify_part *p, enum verify_kind kind, const char *format,
	   ...)
{
	struct verify_item *i;
	char *text;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0) {
		text = NULL;
		p->err = -ENOMEM;
	}
	va_end(args);
	i = item_new(p, kind);
	if (i == &p->spare)
		free(text);
	else
		i->text = text;
	return i;
}

struct verify_item *
verify_add(struct verify_part *p, enum verify_kind kind,
	   const struct recording_block *b, size_t place)
{
	struct verify_item *i = item_new(p, kind);

	i->b = b;
	i->place = place;
	i->number = i->last = b->record.number;
	i->chunks = 1;
	i->bytes = b->record.bytes;
	return i;
}

void
verify_take_back(struct verify_part *p, enum verify_kind kind, size_t n)
{
	size_t kept = n;

	for (size_t i = n; i < p->items; i++) {
		if (p->item[i].kind == kind)
			free(p->item[i].text);
		else
			p->item[kept++] = p->item[i];
	}
	p->items = kept;
}

void
verify_items_free(struct check *c)
{
	for (unsigned i = 0; i <= c->disks->n; i++) {
		struct verify_part *p = &c->part[i];

		for (size_t k = 0; k < p->items; k++)
			free(p->item[k].text);
		free(p->item);
		free(p->buffer);
		sums_clear(&p->sums);
	}
}
