/* SPDX-License-Identifier: MIT */
#include "web/figures.h"

#include "base/clock.h"

void
figures_clear(struct figures *f)
{
	json_decref(f->status);
	json_decref(f->streams);
	json_decref(f->scans);
	f->status = f->streams = f->scans = NULL;
}

/* Asks for an object, and keeps one of its members; NULL: spated refuses. */
static json_t *
member_ask(struct figures *f, const char *verb, const char *member)
{
	struct fault fault;
	json_t *answer, *kept;

	if (spated_ask(f->spated, verb, json_object(), -1, &answer, &fault))
		return NULL;
	kept = json_incref(json_object_get(answer, member));
	json_decref(answer);
	return kept;
}

bool
figures_refresh(struct figures *f)
{
	struct fault fault;

	if (f->at && clock_steady() - f->at < FIGURES_REST_NS)
		return false;
	figures_clear(f);
	spated_begin(f->spated);
	if (spated_ask(
		f->spated, "status",
		json_pack("{s:i, s:b}", "ended", FIGURES_ENDED, "brief", true),
		-1, &f->status, &fault) == 0) {
		f->streams = member_ask(f, "streams", "streams");
		f->scans = member_ask(f, "schedule-ls", "scans");
	}
	f->up = !spated_away(f->spated) && f->status && f->streams;
	if (!f->up)
		figures_clear(f);
	f->asked++;
	f->at = clock_steady();
	return true;
}
