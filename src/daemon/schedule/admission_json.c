/* SPDX-License-Identifier: MIT */
/*
 * Shows the forecast of each scan, and of all together, as JSON with the keys
 * of verbs.h.
 */
#include "daemon/schedule/admission.h"

#include <stdio.h>

#include "daemon/sessions/report.h"

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

static json_t *
bytes(bool known, uint64_t n)
{
	return known ? json_integer((json_int_t)n) : json_null();
}

static json_t *
check_json(const struct admission *a, const struct forecast_scan *f)
{
	return json_pack(
	    "{s:o, s:I, s:o, s:b, s:o, s:s, s:s?}", "volume",
	    bytes(f->measured, f->volume), "memory", (json_int_t)f->memory,
	    "free_after",
	    bytes(a->args.space != FORECAST_ANY_SPACE, f->free_after), "fits",
	    f->verdict != FORECAST_REFUSED, "conflicts", conflicts_json(a, f),
	    "verdict", verdict_word[f->verdict], "reason",
	    f->why[0] ? f->why : NULL);
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

/*
 * Makes JSON of a sentence that may end within a UTF-8 character, since a
 * stream's name was cut in it.
 */
static json_t *
text_json(const char *text)
{
	json_t *json = json_string(text);

	return json ? json : json_string("there is no such stream");
}

/* Shows a scan that the forecast left out. */
static json_t *
check_none(struct schedule_host *h, const struct scan *s, int64_t utc)
{
	char text[FORECAST_WHY];

	return json_pack("{s:n, s:n, s:n, s:b, s:[], s:s, s:o?}", "volume",
			 "memory", "free_after", "fits", false, "conflicts",
			 "verdict", is_over(s, utc) ? "over" : "refused",
			 "reason", text_json(barred(h, s, utc, text)));
}

json_t *
admission_json(const struct admission *a, struct schedule_host *h,
	       const struct scan *s, int64_t utc)
{
	const struct forecast_scan *f = admission_of(a, s);
	json_t *check = f ? check_json(a, f) : check_none(h, s, utc);
	json_t *json = scan_json(s, utc);

	json_object_update(json, check);
	json_decref(check);
	return json;
}

json_t *
admission_sum(const struct admission *a, const struct schedule_host *h)
{
	const struct forecast_sum *s = &a->sum;

	return json_pack(
	    "{s:I, s:i, s:i, s:o, s:{s:I, s:I, s:o}, s:{s:o, s:I, s:o}, s:o}",
	    "volume", (json_int_t)s->volume, "unknown", (int)s->unknown,
	    "refused", (int)s->refused, "full_at", report_time(s->full_at),
	    "memory", "bytes", (json_int_t)a->args.memory, "peak",
	    (json_int_t)s->memory, "peak_at", report_time(s->memory_at), "rate",
	    "speed", bytes(a->args.speed, a->args.speed), "peak",
	    (json_int_t)s->rate, "peak_at", report_time(s->rate_at), "disks",
	    report_space(&h->r->fleet));
}
