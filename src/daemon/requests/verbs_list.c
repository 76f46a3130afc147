/* SPDX-License-Identifier: MIT */
/*
 * `ls` is answered from memory, one page at a time, so that neither a disk nor
 * a client with 10 000 recordings holds up the event loop.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/sessions/report.h"
#include "daemon/requests/verbs.h"

enum { PATTERNS = 64, PAGE = 1000 };

/* Updates the catalogue with the counts of the sessions that run. */
static void
count_running(struct daemon *d)
{
	struct entry e;

	for (struct session *s = d->r.sessions; s; s = s->next) {
		report_entry(s, &e);
		catalogue_live(keeper_catalogue(d->r.keeper), &e);
	}
}

static int
patterns_read(const json_t *request, const char *pattern[PATTERNS], unsigned *n,
	      struct fault *fault)
{
	const json_t *list = json_object_get(request, "patterns"), *item;
	size_t i;

	*n = 0;
	json_array_foreach(list, i, item) {
		if (!json_is_string(item) || i == PATTERNS)
			return fault_set(fault, -EINVAL, "usage",
					 "`patterns` has to be a list of up "
					 "to %d texts",
					 PATTERNS);
		pattern[(*n)++] = json_string_value(item);
	}
	return 0;
}

/* Returns the other keys of the answer: totals, and the name where the next
 * page begins. */
static json_t *
rest_json(struct daemon *d, const char *last)
{
	struct catalogue *c = keeper_catalogue(d->r.keeper);
	json_t *paths = json_array();
	struct catalogue_facts f;

	catalogue_facts(c, &f);
	for (unsigned i = 0; i < f.disks; i++)
		json_array_append_new(paths, json_string(catalogue_path(c, i)));
	return json_pack(
	    "{s:s?, s:o, s:i, s:I, s:I, s:o}", "more", *last ? last : NULL,
	    "disks", paths, "listed", (int)f.listed, "recordings_n",
	    (json_int_t)f.recordings, "unread", (json_int_t)f.unread, "space",
	    report_space(&d->r.fleet));
}

static void
page_answer(struct daemon *d, struct server_ticket ticket, const char *page,
	    const char *last)
{
	json_t *rest = rest_json(d, last);
	char *tail = rest ? json_dumps(rest, JSON_COMPACT) : NULL;
	char *text = NULL;

	if (!page || !tail ||
	    asprintf(&text, "{\"rows\":%s,%s", page, tail + 1) < 0)
		text = NULL;
	server_answer_text(d->r.server, ticket, text);
	json_decref(rest);
	free(tail);
	free(text);
}

json_t *
verb_ls_facts(struct daemon *d)
{
	struct catalogue_facts f;

	catalogue_facts(keeper_catalogue(d->r.keeper), &f);
	return json_pack(
	    "{s:i, s:i, s:I, s:I, s:I, s:I}", "disks", (int)f.disks, "listed",
	    (int)f.listed, "recordings", (json_int_t)f.recordings, "unread",
	    (json_int_t)f.unread, "read", (json_int_t)f.work.entries, "whole",
	    (json_int_t)f.work.whole);
}

int
verb_ls(struct daemon *d, struct server_ticket ticket, const json_t *request,
	struct fault *fault)
{
	const char *pattern[PATTERNS];
	char last[LAYOUT_FILE];
	struct catalogue_query q = {
		.after = json_string_value(json_object_get(request, "after")),
		.pattern = pattern,
		.most = PAGE,
	};
	int err = patterns_read(request, pattern, &q.patterns, fault);
	char *page;

	if (err)
		return err;
	count_running(d);
	page = catalogue_page(keeper_catalogue(d->r.keeper), &q, last);
	page_answer(d, ticket, page, last);
	free(page);
	return 0;
}
