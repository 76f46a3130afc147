/* SPDX-License-Identifier: MIT */
/*
 * Recordings started by command take precedence over the schedule: they run
 * already, so they are counted and never refused.  The bytes that a stream
 * stores per second are exact if its frames per second and threads are known,
 * and else come from `rate` of the configuration; neither counts the prefix,
 * which is not stored.
 *
 * A scan by data time is forecast as if its data arrived when they were made;
 * if that time is over, as if they arrived from now on.
 *
 * Shows the forecast of each scan, and of all together, as JSON with the keys
 * of control/answer.h.
 */
#include "daemon/schedule/admission.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "daemon/sessions/report.h"
#include "flow/memory/arena.h"

/* ---- what the daemon has ------------------------------------------- */

static uint64_t
stored_rate(const struct stream *s)
{
	const struct format_shape *shape = &s->shape;
	uint64_t packets = (uint64_t)shape->fps * shape->threads_n;

	if (!packets || shape->store != HEAP_NONE)
		return s->o.rate;
	packets *= shape->parts ? shape->parts : 1;
	return packets * shape->payload * 8;
}

static void
args_make(struct forecast_args *args, const struct schedule_host *h,
	  int64_t utc)
{
	struct disk_set_space space;

	disk_set_space(&h->r->disks, &space);
	*args = (struct forecast_args){
		.now = utc,
		.memory = arena_facts(h->r->arena).bytes,
		.space = space.disks && !space.untried ? space.free
						       : FORECAST_ANY_SPACE,
		.speed = (uint64_t)(disk_set_speed(&h->r->disks) * 8),
	};
}

/* ---- what asks for it ---------------------------------------------- */

static struct forecast_scan *
add(struct admission *a, struct scan *of)
{
	if (a->n == a->room) {
		unsigned room = a->room ? 2 * a->room : 64;
		void *scan = realloc(a->scan, room * sizeof *a->scan), *ofs;

		a->scan = scan ? scan : a->scan;
		ofs = scan ? realloc(a->of, room * sizeof *a->of) : NULL;
		if (!ofs)
			return NULL;
		a->of = ofs;
		a->room = room;
	}
	a->of[a->n] = of;
	if (of)
		of->asked = a->n + 1;
	a->scan[a->n] = (struct forecast_scan){ 0 };
	return &a->scan[a->n++];
}

/*
 * Tells whether a session was started by command.  The parts of a split stream
 * share one block pool, so only the first counts.
 */
static bool
is_typed(const struct schedule_host *h, const struct session *s)
{
	return !s->part && (!s->scan || !schedule_find(h->schedule, s->scan));
}

static int64_t
session_stop_ns(const struct session *s, int64_t utc)
{
	if (!s->stop_at)
		return FORECAST_OPEN;
	return utc + (s->stop_at - clock_steady());
}

static int
typed_add(struct admission *a, const struct schedule_host *h, int64_t utc)
{
	for (const struct session *s = h->r->sessions; s; s = s->next) {
		struct forecast_scan *f;

		if (!is_typed(h, s))
			continue;
		f = add(a, NULL);
		if (!f)
			return -ENOMEM;
		f->name = s->name;
		f->runs = true;
		f->start = f->arm = s->start_ns;
		f->stop = session_stop_ns(s, utc);
		f->memory = stream_memory(s->stream);
		f->rate = stored_rate(s->stream);
	}
	return 0;
}

static void
times_fill(struct forecast_scan *f, const struct scan *s, int64_t utc)
{
	int64_t shift = s->data && s->stop <= utc ? utc - s->start : 0;

	f->start = s->start + shift;
	f->stop = s->stop == INT64_MAX ? FORECAST_OPEN : s->stop + shift;
	f->arm = f->start - s->arm - s->backlog;
}

/*
 * Sums up memory and rate of the scan's streams.  False if a stream does not
 * exist any more, which the schedule reports itself.
 */
static bool
streams_fill(struct forecast_scan *f, struct schedule_host *h,
	     const struct scan *s)
{
	bool known = true;

	f->memory = f->rate = 0;
	for (unsigned i = 0; i < s->streams; i++) {
		const struct stream *stream =
		    setup_stream(&h->r->setup, s->stream[i]);

		if (!stream)
			return false;
		f->memory += stream_memory(stream);
		f->rate += stored_rate(stream);
		known &= stored_rate(stream) > 0;
	}
	f->passes = s->action != SCAN_RECORD;
	if (!known || f->passes)
		f->rate = 0;
	return true;
}

static bool
is_asked(const struct scan *s, int64_t utc)
{
	if (s->wrong || s->barred || s->gone)
		return s->state == SCAN_RUNNING;
	if (s->state == SCAN_ARMED || s->state == SCAN_RUNNING)
		return true;
	return (s->state == SCAN_WAITING || s->state == SCAN_REFUSED) &&
	       (s->data || s->stop > utc);
}

static int
scan_add(struct admission *a, struct schedule_host *h, struct scan *s,
	 int64_t utc)
{
	struct forecast_scan *f;

	if (!is_asked(s, utc))
		return 0;
	f = add(a, s);
	if (!f)
		return -ENOMEM;
	f->name = s->name;
	f->priority = s->priority;
	f->runs = s->state == SCAN_ARMED || s->state == SCAN_RUNNING;
	/*
	 * Recording takes precedence over relaying, and takes the memory of
	 * what is only relayed (transfers_yield).
	 */
	if (s->action != SCAN_RECORD) {
		f->priority = INT_MIN / 2 + s->priority;
		f->runs = false;
	}
	times_fill(f, s, utc);
	if (!streams_fill(f, h, s))
		a->n--;
	return 0;
}

/*
 * Tells whether the new version of the file replaces this scan.  A scan that
 * has begun continues, whatever becomes of its file.
 */
static bool
is_replaced(const struct scan *s, const char *file)
{
	return file && s->file && !strcmp(s->file, file) &&
	       s->state != SCAN_ARMED && s->state != SCAN_RUNNING;
}

/*
 * Tells whether the same scan is already counted; the schedule refuses such a
 * duplicate.  `now` is sorted by start; a new list is also compared with
 * itself.
 */
static bool
has_twin(const struct admission *a, const struct scan_list *now,
	 const struct scan_list *list, unsigned at)
{
	const struct scan *s = list->scan[at];
	unsigned from = 0, to = now->n;

	while (from < to) {
		unsigned i = from + (to - from) / 2;

		if (now->scan[i]->start < s->start)
			from = i + 1;
		else
			to = i;
	}
	for (; from < now->n && now->scan[from]->start == s->start; from++) {
		if (admission_of(a, now->scan[from]) &&
		    scan_is_entry(now->scan[from], s))
			return true;
	}
	for (unsigned i = 0; i < at; i++) {
		if (list->scan[i]->start == s->start &&
		    admission_of(a, list->scan[i]) &&
		    scan_is_entry(list->scan[i], s))
			return true;
	}
	return false;
}

int
admission_make(struct admission *a, struct schedule_host *h, const char *file,
	       const struct scan_list *list, int64_t utc)
{
	const struct scan_list *now = schedule_scans(h->schedule);
	int err;

	*a = (struct admission){ 0 };
	args_make(&a->args, h, utc);
	err = typed_add(a, h, utc);
	for (unsigned i = 0; i < now->n && !err; i++) {
		if (!is_replaced(now->scan[i], file))
			err = scan_add(a, h, now->scan[i], utc);
	}
	for (unsigned i = 0; list && i < list->n && !err; i++) {
		if (!has_twin(a, now, list, i))
			err = scan_add(a, h, list->scan[i], utc);
	}
	return err ? err : forecast(&a->args, a->scan, a->n, &a->sum);
}

void
admission_clear(struct admission *a)
{
	free(a->scan);
	free(a->of);
}

const struct forecast_scan *
admission_of(const struct admission *a, const struct scan *s)
{
	return s->asked && s->asked <= a->n && a->of[s->asked - 1] == s
		   ? &a->scan[s->asked - 1]
		   : NULL;
}

/* ---- the schedule's hook -------------------------------------------- */

static void
tell(struct schedule *schedule, struct scan *s, const struct forecast_scan *f)
{
	size_t word = strcspn(f->why, ":") + 1;
	int64_t latest;

	if (f->runs)
		return;
	if (f->verdict == FORECAST_REFUSED) {
		/*
		 * A refusal for the same reason with other numbers is not
		 * logged again.
		 */
		if (s->state == SCAN_REFUSED && !strncmp(s->why, f->why, word))
			snprintf(s->why, sizeof s->why, "%s", f->why);
		else
			schedule_refuse(schedule, s, f->why);
		return;
	}
	schedule_accept(schedule, s);
	/*
	 * Arm at least a second before the start, with whatever memory there
	 * is: so the sockets are open and lost packets are counted.
	 */
	latest = f->start - NS_SECOND > f->arm ? f->start - NS_SECOND : f->arm;
	s->arm_at = f->armed < latest ? f->armed : latest;
}

/*
 * If the forecast itself has no memory, every scan keeps its state, and arming
 * reports what is missing.
 */
void
admission_decide(void *arg, struct schedule *s, int64_t utc)
{
	struct schedule_host *h = arg;
	struct admission a;

	if (!admission_make(&a, h, NULL, NULL, utc)) {
		for (unsigned i = 0; i < a.n; i++)
			if (a.of[i])
				tell(s, a.of[i], &a.scan[i]);
	}
	admission_clear(&a);
}

void
admission_watch(struct schedule_host *h, int64_t now)
{
	struct schedule_seen seen = { .looked = now, .told = h->seen.told };
	struct disk_set_space space;

	if (now - h->seen.looked < NS_SECOND)
		return;
	disk_set_space(&h->r->disks, &space);
	seen.disks = space.disks;
	seen.untried = space.untried;
	for (const struct session *s = h->r->sessions; s; s = s->next)
		seen.typed += is_typed(h, s) ? s->id : 0;
	if (seen.disks != h->seen.disks || seen.untried != h->seen.untried ||
	    seen.typed != h->seen.typed || now - seen.told >= 10 * NS_SECOND) {
		schedule_changed(h->schedule);
		seen.told = now;
	}
	h->seen = seen;
}

/* ---- reports --------------------------------------------------------- */

static const char *const verdict_word[] = {
	[FORECAST_OK] = "ok",
	[FORECAST_UNKNOWN] = "unknown",
	[FORECAST_REFUSED] = "refused",
};

static json_t *
conflicts_json(const struct admission *a, const struct forecast_scan *f)
{
	static const char *const word[] = {
		[FORECAST_NONE] = "memory", /* not refused: its arming is
					     * delayed */
		[FORECAST_MEMORY] = "memory",
		[FORECAST_SPEED] = "speed",
		[FORECAST_SPACE] = "space",
	};
	json_t *list = json_array();

	for (unsigned i = 0; i < f->rivals && i < FORECAST_RIVALS; i++)
		json_array_append_new(list, json_pack("{s:s, s:s}", "name",
						      a->scan[f->rival[i]].name,
						      "why", word[f->lack]));
	return list;
}

static void
check_set(struct answer_scan *c, const struct admission *a,
	  const struct forecast_scan *f)
{
	c->volume = f->measured ? f->volume : KEY_UNKNOWN;
	c->memory = f->memory;
	c->free_after =
	    a->args.space != FORECAST_ANY_SPACE ? f->free_after : KEY_UNKNOWN;
	c->fits = f->verdict != FORECAST_REFUSED;
	c->conflicts = conflicts_json(a, f);
	c->verdict = verdict_word[f->verdict];
	c->reason = f->why[0] ? f->why : NULL;
}

static bool
is_over(const struct scan *s, int64_t utc)
{
	if (s->wrong || s->barred)
		return false;
	switch (s->state) {
	case SCAN_WAITING:
	case SCAN_REFUSED: return !s->data && s->stop <= utc;
	case SCAN_ARMED:
	case SCAN_RUNNING: return false;
	default: return true;
	}
}

/*
 * Returns why the forecast left a scan out.  A scan that the schedule has seen
 * mostly carries the reason itself.
 */
static const char *
barred(struct schedule_host *h, const struct scan *s, int64_t utc,
       char text[FORECAST_WHY])
{
	for (unsigned i = 0; i < s->streams && !s->why[0]; i++) {
		if (setup_stream(&h->r->setup, s->stream[i]))
			continue;
		snprintf(text, FORECAST_WHY, "there is no stream '%.80s'",
			 s->stream[i]);
		return text;
	}
	if (s->why[0])
		return s->why;
	return is_over(s, utc) ? "its time is over"
			       : "the same scan is there already";
}

json_t *
admission_json(const struct admission *a, struct schedule_host *h,
	       const struct scan *s, int64_t utc)
{
	const struct forecast_scan *f = admission_of(a, s);
	char text[FORECAST_WHY];
	struct answer_scan c;

	scan_answer(&c, s, utc);
	if (f) {
		check_set(&c, a, f);
	} else {
		c.volume = c.memory = c.free_after = KEY_UNKNOWN;
		c.conflicts = json_array();
		c.verdict = is_over(s, utc) ? "over" : "refused";
		c.reason = barred(h, s, utc, text);
	}
	return keys_json(scan_keys, &c, ANSWER | ANSWER_CHECK);
}

json_t *
admission_sum(const struct admission *a, const struct schedule_host *h,
	      unsigned others)
{
	const struct forecast_sum *s = &a->sum;
	const struct answer_schedule_sum sum = {
		.volume = s->volume,
		.unknown = s->unknown,
		.refused = s->refused,
		.others = others,
		.full_at = s->full_at,
		.memory = json_pack("{s:I, s:I, s:o}", "bytes",
				    (json_int_t)a->args.memory, "peak",
				    (json_int_t)s->memory, "peak_at",
				    report_time(s->memory_at)),
		.rate = json_pack("{s:o, s:I, s:o}", "speed",
				  a->args.speed
				      ? json_integer((json_int_t)a->args.speed)
				      : json_null(),
				  "peak", (json_int_t)s->rate, "peak_at",
				  report_time(s->rate_at)),
		.disks = report_space(&h->r->disks),
	};

	return keys_json(schedule_sum_keys, &sum, ANSWER);
}
