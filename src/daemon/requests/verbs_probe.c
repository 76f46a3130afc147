/* SPDX-License-Identifier: MIT */
/*
 * `probe` is answered when the probe is over: after its time, when the stream
 * is to be recorded, or when the daemon ends.  If the client leaves, the probe
 * ends and the port is free.
 *
 * For a stream that is being recorded, the answer is what its session counts.
 */
#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "daemon/sessions/order.h"
#include "daemon/sessions/report.h"
#include "daemon/requests/verbs.h"

#define SPAN_DEFAULT INT64_C(3000000000)
#define SPAN_MOST    INT64_C(600000000000)

/* Returns the counts of the stream's sessions. */
static json_t *
recorded_json(struct daemon *d, const struct stream *stream, const char *name)
{
	json_t *list = json_array();

	for (struct session *s = d->r.sessions; s; s = s->next) {
		if (!strcmp(s->stream->name, stream->name))
			json_array_append_new(list, report_info(s));
	}
	return json_pack("{s:s, s:s, s:s, s:o}", "stream", stream->name,
			 "format", stream->o.format, "recording", name,
			 "recordings", list);
}

/* Returns the name of the stream's recording that runs, else of one that is
 * armed, or NULL.  Compares names: after a reload the stream may be another
 * object. */
static const char *
recording_of(const struct daemon *d, const struct stream *stream)
{
	const char *armed = NULL;

	for (const struct session *s = d->r.sessions; s; s = s->next) {
		if (strcmp(s->stream->name, stream->name))
			continue;
		if (s->state != SESSION_ARMED)
			return s->supply->name;
		armed = s->supply->name;
	}
	return armed;
}

static int
span_read(const json_t *request, int64_t *span, struct fault *fault)
{
	const json_t *value = json_object_get(request, "for");
	const char *text = json_string_value(value);

	*span = SPAN_DEFAULT;
	if (!value || json_is_null(value))
		return 0;
	if (!text || units_span(text, span) < 0 || *span <= 0 ||
	    *span > SPAN_MOST) {
		fault_set(fault, -EINVAL, "usage",
			  "`for` has to be a span of time, up to 10m");
		fault_hint(fault, "write it as 3s or 1m");
		return -EINVAL;
	}
	return 0;
}

static int
probed_already(const struct daemon *d, const struct stream *stream,
	       struct fault *fault)
{
	for (const struct probe *p = d->r.probes; p; p = p->next) {
		if (strcmp(p->stream->name, stream->name))
			continue;
		fault_set(fault, -EBUSY, "busy",
			  "stream %s is being probed already", stream->name);
		fault_hint(fault, "try again in a few seconds");
		return -EBUSY;
	}
	return 0;
}

int
verb_probe(struct daemon *d, struct server_ticket ticket, const json_t *request,
	   struct fault *fault)
{
	const char *name =
	    json_string_value(json_object_get(request, "stream"));
	struct stream *stream = name ? setup_stream(&d->r.setup, name) : NULL;
	const char *recording;
	struct probe *p;
	int64_t span;
	int err = span_read(request, &span, fault);

	if (err)
		return err;
	if (!stream)
		return setup_stream_unknown(&d->r.setup, name ? name : "?",
					    fault);
	recording = recording_of(d, stream);
	if (recording) {
		server_answer(d->r.server, ticket,
			      recorded_json(d, stream, recording));
		return 0;
	}
	err = probed_already(d, stream, fault);
	if (!err)
		err = probe_begin(&p, stream, span, d->r.host.wake,
				  d->r.host.arg, fault);
	if (err)
		return err;
	p->ticket = ticket;
	p->next = d->r.probes;
	d->r.probes = p;
	return 0;
}
