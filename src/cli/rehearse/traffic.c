/* SPDX-License-Identifier: MIT */
/*
 * The daemon says when most is recorded, and how much that is, counted as it
 * counts for admission.  Which streams these are follows from the scans that
 * last at that time, and what their packets are like the daemon says, too.
 */
#include "cli/rehearse/traffic.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "cli/schedule/schedule.h"
#include "cli/show/field.h"
#include "cli/show/site.h"

/* Packets of a stream whose size nobody knows before the first one. */
enum { PAYLOAD = 8032 };

void
traffic_one(struct traffic *t, const struct traffic_stream *stream)
{
	*t = (struct traffic){ .rate = stream->rate, .n = 1 };
	t->stream[0] = *stream;
	snprintf(t->of, sizeof t->of, "as asked");
}

/* Tells whether a scan records at that time. */
static bool
scan_records(const json_t *scan, int64_t at)
{
	int64_t early = (int64_t)(field_real(scan, "backlog_s") * 1e9);

	return !strcmp(field_text(scan, "action"), "record") &&
	       json_is_true(json_object_get(scan, "fits")) &&
	       field_time(scan, "start") - early <= at &&
	       field_time(scan, "stop") > at;
}

static void
stream_add(struct traffic *t, const json_t *stream)
{
	struct traffic_stream *s = &t->stream[t->n];
	uint64_t payload = field_number(stream, "payload");
	uint64_t prefix = field_number(stream, "prefix");
	uint64_t ports = field_number(stream, "subs");

	*s = (struct traffic_stream){
		.rate = field_number(stream, "rate"),
		.payload = payload ? (uint32_t)payload : PAYLOAD,
		.prefix = TRAFFIC_PREFIX,
		.ports = ports ? (unsigned)ports : 1,
	};
	if (prefix > s->prefix)
		s->prefix = (uint32_t)prefix;
	snprintf(s->name, sizeof s->name, "%s", field_text(stream, "name"));
	t->n += s->rate > 0;
}

/* Adds the streams of a scan, as the daemon would record them. */
static int
scan_add(struct traffic *t, const struct cli *cli, const json_t *scan,
	 struct fault *fault)
{
	json_t *result, *list;
	size_t i;
	int err = site_ask(
	    cli, "streams",
	    json_pack("{s:O}", "streams", json_object_get(scan, "streams")),
	    &result, fault);

	if (err)
		return err;
	list = json_object_get(result, "streams");
	for (i = 0; i < json_array_size(list) && t->n < TRAFFIC_STREAMS; i++)
		stream_add(t, json_array_get(list, i));
	json_decref(result);
	return 0;
}

/* Makes the rates of all streams that of all together, which the daemon counts
 * without what is not stored. */
static void
rates_fit(struct traffic *t)
{
	double sum = 0;

	for (unsigned i = 0; i < t->n; i++)
		sum += (double)t->stream[i].rate;
	for (unsigned i = 0; i < t->n; i++)
		t->stream[i].rate = (uint64_t)((double)t->stream[i].rate *
					       (double)t->rate / sum);
}

static int
scans_add(struct traffic *t, const struct cli *cli, const json_t *scans,
	  int64_t at, struct fault *fault)
{
	const json_t *scan;
	size_t i;
	int err = 0;

	json_array_foreach(scans, i, scan) {
		if (!err && scan_records(scan, at))
			err = scan_add(t, cli, scan, fault);
	}
	if (err || t->n)
		rates_fit(t);
	else
		t->stream[t->n++] =
		    (struct traffic_stream){ .rate = t->rate,
					     .payload = PAYLOAD,
					     .prefix = TRAFFIC_PREFIX,
					     .ports = 1 };
	return err;
}

int
traffic_of_schedule(struct traffic *t, const struct cli *cli, const char *file,
		    struct fault *fault)
{
	json_t *request, *result, *rate;
	char time[UNITS_TEXT];
	int64_t at;
	int err;

	*t = (struct traffic){ 0 };
	request = schedule_check_request(file, fault);
	if (!request)
		return -EINVAL;
	err = site_ask(cli, "schedule-check", request, &result, fault);
	if (err)
		return err;
	rate = json_object_get(result, "rate");
	t->rate = (uint64_t)field_real(rate, "peak");
	at = field_time(rate, "peak_at");
	snprintf(t->of, sizeof t->of, "the most that is scheduled%s%s",
		 at ? ", at " : "", at ? units_show_time(time, at) : "");
	if (t->rate) {
		err = scans_add(t, cli, json_object_get(result, "scans"), at,
				fault);
	} else {
		err = fault_set(fault, -EINVAL, "usage",
				"there is no rate to rehearse");
		fault_why(fault, "no scan is scheduled, or `rate` of its "
				 "stream is not configured");
		fault_hint(fault, "say which with --rate");
	}
	json_decref(result);
	return err;
}
