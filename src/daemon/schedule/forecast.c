/* SPDX-License-Identifier: MIT */
/*
 * Every time at which something begins or ends is an edge.  Between two edges
 * demand is constant, so one number per stretch between them is all that has to
 * be kept:
 *
 *   edge      0      1        2     3            4
 *   memory    |  m0  |   m1   |  m2 |     m3     |
 *
 * A scan looks at the stretches that it covers, and when it is admitted adds
 * itself to them: its numbers, and its place among the first few users of each,
 * so that a refused scan can name its rivals without a search.  A thousand
 * scans have at most three thousand edges, and one scan covers few of them.
 */
#include "daemon/schedule/forecast_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- edges ----------------------------------------------------------- */

static int
by_time(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int64_t
arm_of(const struct sweep *w, const struct forecast_scan *s)
{
	int64_t begin = begin_of(w, s);

	return s->runs || s->arm > begin ? begin : later(s->arm, w->a->now);
}

static void
edges_make(struct sweep *w)
{
	unsigned n = 0, kept = 1;

	w->edge[n++] = w->a->now;
	w->edge[n++] = FORECAST_OPEN;
	for (unsigned i = 0; i < w->n; i++) {
		w->edge[n++] = arm_of(w, &w->scan[i]);
		w->edge[n++] = begin_of(w, &w->scan[i]);
		w->edge[n++] = stop_of(w, &w->scan[i]);
	}
	qsort(w->edge, n, sizeof *w->edge, by_time);
	for (unsigned i = 1; i < n; i++) {
		if (w->edge[i] != w->edge[kept - 1])
			w->edge[kept++] = w->edge[i];
	}
	w->edges = kept;
}

unsigned
sweep_edge(const struct sweep *w, int64_t time)
{
	const int64_t *at =
	    bsearch(&time, w->edge, w->edges, sizeof time, by_time);

	return (unsigned)(at - w->edge);
}

struct stretches
sweep_range(const struct sweep *w, int64_t from, int64_t to)
{
	return (struct stretches){ sweep_edge(w, from), sweep_edge(w, to) };
}

/* ---- the order of precedence ---------------------------------------- */

static int
by_right(const void *a, const void *b, void *arg)
{
	const struct forecast_scan *scan = arg;
	unsigned i = *(const unsigned *)a, k = *(const unsigned *)b;
	const struct forecast_scan *x = &scan[i], *y = &scan[k];

	if (x->runs != y->runs)
		return x->runs ? -1 : 1;
	if (x->priority != y->priority)
		return x->priority > y->priority ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (i > k) - (i < k);
}

/* ---- rivals ---------------------------------------------------------- */

/*
 * Adds a user, sorted by precedence and not by when it was added: early arming
 * is decided last.
 */
static void
takers_add(struct takers *t, unsigned place)
{
	unsigned kept = t->n < FORECAST_RIVALS ? t->n : FORECAST_RIVALS;
	unsigned i = kept < FORECAST_RIVALS ? kept : kept - 1;

	t->n++;
	if (kept == FORECAST_RIVALS && t->place[i] < place)
		return;
	for (; i && t->place[i - 1] > place; i--)
		t->place[i] = t->place[i - 1];
	t->place[i] = place;
}

static void
rivals_find(struct sweep *w, unsigned place, const struct takers *t)
{
	struct forecast_scan *s = &w->scan[w->order[place]];

	s->rivals = t->n;
	for (unsigned i = 0; i < t->n && i < FORECAST_RIVALS; i++)
		s->rival[i] = w->order[t->place[i]];
}

/* ---- taking ---------------------------------------------------------- */

void
sweep_add(uint64_t *to, struct stretches r, uint64_t more)
{
	for (unsigned i = r.first; i < r.end; i++)
		to[i] += more;
}

static void
take_stretches(uint64_t *to, struct takers *by, struct stretches r,
	       uint64_t more, unsigned place)
{
	sweep_add(to, r, more);
	for (unsigned i = r.first; i < r.end && more; i++)
		takers_add(&by[i], place);
}

/* ---- does it fit? ---------------------------------------------------- */

/*
 * Returns the first stretch in which `more` would exceed `most`; range.end if
 * there is none.
 */
static unsigned
first_full(const uint64_t *used, struct stretches r, uint64_t more,
	   uint64_t most)
{
	unsigned i = r.first;

	while (i < r.end && more <= most && used[i] <= most - more)
		i++;
	return i;
}

/* Refuses a scan.  If it is too large even alone, no rivals are named. */
static void
refuse(struct sweep *w, unsigned place, enum forecast_lack lack,
       const struct forecast_want *want, const struct takers *by)
{
	unsigned of = w->order[place];
	bool alone = want->own > want->most;

	w->scan[of].verdict = FORECAST_REFUSED;
	w->scan[of].lack = lack;
	if (!alone)
		rivals_find(w, place, by);
	forecast_why(w->scan, of, want);
}

/* Tells whether memory or speed suffices; if not, the scan is refused. */
static bool
fits_in(struct sweep *w, unsigned place, enum forecast_lack lack)
{
	bool memory = lack == FORECAST_MEMORY;
	struct forecast_scan *s = &w->scan[w->order[place]];
	const uint64_t *used = memory ? w->memory : w->rate;
	uint64_t more = memory ? s->memory : s->rate;
	uint64_t most = memory ? w->a->memory : w->a->speed;
	struct stretches r = sweep_range(w, begin_of(w, s), stop_of(w, s));
	unsigned at = first_full(used, r, more, most), end = at, worst = at;
	struct forecast_want want = { .has = most, .own = more, .most = most };

	if (!more || at == r.end)
		return true;
	for (; end < r.end && (more > most || used[end] > most - more); end++) {
		if (used[end] + more > want.all) {
			want.all = used[end] + more;
			worst = end;
		}
	}
	want.from = w->edge[worst];
	want.to = w->edge[end];
	refuse(w, place, lack, &want,
	       memory ? &w->memory_by[worst] : &w->rate_by[worst]);
	return false;
}

static bool
fits_space(struct sweep *w, unsigned place)
{
	struct forecast_scan *s = &w->scan[w->order[place]];
	struct forecast_want want = { .all = s->volume,
				      .has = w->left,
				      .own = s->volume,
				      .most = w->a->space };

	if (s->volume <= w->left)
		return true;
	refuse(w, place, FORECAST_SPACE, &want, &w->space_by);
	return false;
}

/*
 * Arms a scan as early as it asked for, or when memory is free again before its
 * start.  Runs after all scans have their recording time, since being armed
 * early is not worth another scan's recording.
 */
static void
arm(struct sweep *w, unsigned place)
{
	struct forecast_scan *s = &w->scan[w->order[place]];
	struct stretches r = sweep_range(w, arm_of(w, s), begin_of(w, s));
	unsigned i = r.end;

	while (i > r.first && w->memory[i - 1] + s->memory <= w->a->memory)
		i--;
	s->armed = w->edge[i];
	take_stretches(w->memory, w->memory_by, (struct stretches){ i, r.end },
		       s->memory, place);
	if (i == r.first || s->runs)
		return;
	rivals_find(w, place, &w->memory_by[i - 1]);
	forecast_why_late(w->scan, w->order[place]);
}

/* ---- admitting ------------------------------------------------------- */

static uint64_t
volume_of(uint64_t rate, int64_t ns)
{
	wide bytes = (wide)rate * (uint64_t)ns / BITS_NS;

	return bytes > INT64_MAX ? INT64_MAX : (uint64_t)bytes;
}

static void
take(struct sweep *w, unsigned place)
{
	const struct forecast_scan *s = &w->scan[w->order[place]];
	struct stretches r = sweep_range(w, begin_of(w, s), stop_of(w, s));

	take_stretches(w->memory, w->memory_by, r, s->memory, place);
	take_stretches(w->rate, w->rate_by, r, s->rate, place);
	if (s->volume)
		takers_add(&w->space_by, place);
	if (w->left != FORECAST_ANY_SPACE)
		w->left -= s->volume < w->left ? s->volume : w->left;
}

static void
scan_clear(const struct sweep *w, struct forecast_scan *s)
{
	s->measured = (s->rate && s->stop != FORECAST_OPEN) || s->passes;
	s->volume = s->rate && s->measured
			? volume_of(s->rate, stop_of(w, s) - begin_of(w, s))
			: 0;
	s->verdict = s->measured ? FORECAST_OK : FORECAST_UNKNOWN;
	s->lack = FORECAST_NONE;
	s->armed = begin_of(w, s);
	s->free_after = 0;
	s->rivals = 0;
	s->why[0] = 0;
}

static void
decide(struct sweep *w, unsigned place)
{
	struct forecast_scan *s = &w->scan[w->order[place]];

	scan_clear(w, s);
	if (!s->runs && (!fits_in(w, place, FORECAST_MEMORY) ||
			 (w->a->speed && !fits_in(w, place, FORECAST_SPEED)) ||
			 !fits_space(w, place)))
		return;
	take(w, place);
}

/* ---- all scans ------------------------------------------------------- */

static void
run(struct sweep *w, uint64_t *by, struct forecast_sum *sum)
{
	struct forecast_sum unwanted;

	edges_make(w);
	for (unsigned i = 0; i < w->n; i++)
		w->order[i] = i;
	qsort_r(w->order, w->n, sizeof *w->order, by_right, w->scan);
	for (unsigned i = 0; i < w->n; i++)
		decide(w, i);
	for (unsigned i = 0; i < w->n; i++) {
		if (is_taken(&w->scan[w->order[i]]))
			arm(w, i);
	}
	sweep_sum(w, by, sum ? sum : &unwanted);
}

int
forecast(const struct forecast_args *args, struct forecast_scan *scan,
	 unsigned n, struct forecast_sum *sum)
{
	size_t most = 3 * (size_t)n + 2;
	struct sweep w = { .a = args,
			   .scan = scan,
			   .n = n,
			   .left = args->space,
			   .order = calloc(n + 1, sizeof *w.order),
			   .edge = calloc(most, sizeof *w.edge),
			   .memory = calloc(most, sizeof *w.memory),
			   .rate = calloc(most, sizeof *w.rate),
			   .memory_by = calloc(most, sizeof *w.memory_by),
			   .rate_by = calloc(most, sizeof *w.rate_by) };
	uint64_t *by = calloc(most, sizeof *by);
	int err = w.order && w.edge && w.memory && w.rate && w.memory_by &&
			  w.rate_by && by
		      ? 0
		      : -ENOMEM;

	if (!err)
		run(&w, by, sum);
	free(by);
	free(w.rate_by);
	free(w.memory_by);
	free(w.rate);
	free(w.memory);
	free(w.edge);
	free(w.order);
	return err;
}
