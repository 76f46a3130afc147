/* SPDX-License-Identifier: MIT */
#include "flow/output/data_clock.h"

#include "contract/log.h"

#define STEP	 (5 * NS_MS)
#define TOGETHER (NS_SECOND / 2) /* of one look */
#define AGREE	 (4 * NS_SECOND)
#define SAID	 (10 * NS_SECOND)
#define DRIFTS	 (20 * NS_SECOND)

/* Look number n, counted from the newest, 0. */
static const struct data_clock_look *
look(const struct data_clock *c, uint64_t n)
{
	return &c->look[(c->looks - 1 - n) % DATA_CLOCK_LOOKS];
}

static uint64_t
kept(const struct data_clock *c)
{
	return c->looks < DATA_CLOCK_LOOKS ? c->looks : DATA_CLOCK_LOOKS;
}

/* Returns the least of the looks that are older than `from` ns before the newest
 * and no older than `to`; false: there is none. */
static bool
least(const struct data_clock *c, int64_t from, int64_t to, int64_t *behind)
{
	uint64_t n = kept(c);
	bool any = false;

	for (uint64_t i = 0; i < n; i++) {
		int64_t age = look(c, 0)->arrived - look(c, i)->arrived;

		if (age < from || age > to)
			continue;
		if (!any || look(c, i)->behind < *behind)
			*behind = look(c, i)->behind;
		any = true;
	}
	return any;
}

static void
append(struct data_clock *c, int64_t behind, int64_t arrived)
{
	struct data_clock_look *l = &c->look[c->looks++ % DATA_CLOCK_LOOKS];

	*l = (struct data_clock_look){ arrived, behind };
}

/* Begins anew with a look, a step behind what was before. */
static void
step(struct data_clock *c, int64_t ns, int64_t behind, int64_t arrived)
{
	c->steps++;
	c->step_ns = ns;
	c->step_at = arrived;
	c->looks = 0;
	append(c, behind, arrived);
}

/* True if the last four seconds are behind those before by a step: by half as much
 * again as these were behind those before them, because a clock may also drift. */
static bool
steps_back(const struct data_clock *c, int64_t *now, int64_t *before)
{
	int64_t older;

	return kept(c) > 3 &&
	       look(c, 0)->arrived - look(c, kept(c) - 1)->arrived >=
		   3 * AGREE - NS_SECOND &&
	       look(c, 0)->arrived - look(c, 2)->arrived <= AGREE &&
	       least(c, 0, AGREE - 1, now) &&
	       least(c, AGREE, 2 * AGREE - 1, before) &&
	       least(c, 2 * AGREE, 3 * AGREE - 1, &older) &&
	       *now - *before >
		   STEP + (*before > older ? (*before - older) * 3 / 2 : 0);
}

void
data_clock_add(struct data_clock *c, int64_t data_ns, int64_t arrived_ns)
{
	int64_t behind = arrived_ns - data_ns, before, now;
	struct data_clock_look *last;

	if (least(c, 0, SAID, &before) && behind < before - STEP) {
		step(c, behind - before, behind, arrived_ns);
		return;
	}
	if (c->looks && arrived_ns - look(c, 0)->arrived < TOGETHER) {
		last = &c->look[(c->looks - 1) % DATA_CLOCK_LOOKS];
		if (behind < last->behind)
			last->behind = behind;
	} else {
		append(c, behind, arrived_ns);
	}
	if (steps_back(c, &now, &before))
		step(c, now - before, now, arrived_ns);
}

bool
data_clock_behind(const struct data_clock *c, int64_t *behind_ns)
{
	return least(c, 0, SAID, behind_ns);
}

bool
data_clock_drift(const struct data_clock *c, double *drift)
{
	int64_t span, first, last;

	if (!c->looks)
		return false;
	span = look(c, 0)->arrived - look(c, kept(c) - 1)->arrived;
	if (span < DRIFTS || !least(c, 0, span / 4, &last) ||
	    !least(c, span - span / 4, span, &first))
		return false;
	*drift = (double)(last - first) / ((double)span * 3 / 4);
	return true;
}
