/* SPDX-License-Identifier: MIT */
/* Pages of entries, put together from their texts while the lock is held. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/list/catalogue_priv.h"

static bool
is_asked(const struct catalogue_query *q, const char *name)
{
	for (unsigned i = 0; i < q->patterns; i++) {
		if (!fnmatch(q->pattern[i], name, 0))
			return true;
	}
	return !q->patterns;
}

/* Writes the text of an entry; it is made here if only the name is known. */
static void
put_item(const struct item *item, FILE *to)
{
	char *text;

	if (item->text) {
		fputs(item->text, to);
		return;
	}
	text = catalogue_text(&item->entry);
	fputs(text ? text : "[]", to);
	free(text);
}

static void
put_page(const struct catalogue *c, const struct catalogue_query *q, char *last,
	 FILE *to)
{
	size_t put = 0, at = 0;
	bool is = false;

	if (q->after)
		at = catalogue_place(c, q->after, &is);
	/* only now: `after` may point to `last` */
	*last = '\0';
	for (at += is; at < c->items; at++) {
		const struct item *item = c->item[at];

		if (!is_asked(q, item->entry.name))
			continue;
		if (put == q->most)
			return;
		strcpy(last, item->entry.name);
		if (put++)
			putc(',', to);
		put_item(item, to);
	}
	*last = '\0';
}

char *
catalogue_page(struct catalogue *c, const struct catalogue_query *q, char *last)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *to = open_memstream(&text, &bytes);

	if (!to)
		return NULL;
	putc_unlocked('[', to);
	pthread_mutex_lock(&c->lock);
	put_page(c, q, last, to);
	pthread_mutex_unlock(&c->lock);
	putc_unlocked(']', to);
	if (!fclose(to))
		return text;
	free(text);
	return NULL;
}
