/* SPDX-License-Identifier: MIT */
/*
 * Everything that can refuse a recording is checked before anything begins:
 * first the request itself, then memory and sockets for each of its streams.
 * After that nothing can fail.
 */
#include "daemon/sessions/order_name.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"
#include "daemon/sessions/report.h"

static int
usage(struct fault *fault, const char *what)
{
	return fault_set(fault, -EINVAL, "usage", "%s", what);
}

/* Returns a key's text, or NULL if the key is missing.  Any other type is
 * refused: ignoring a `for` that is a number would record for ever. */
static int
text_of(const json_t *request, const char *key, const char **text,
	struct fault *fault)
{
	const json_t *value = json_object_get(request, key);

	*text = json_string_value(value);
	if (!value || *text || json_is_null(value))
		return 0;
	return fault_set(fault, -EINVAL, "usage", "`%s` has to be a text", key);
}

static int
order_time(const json_t *request, struct order *o, struct fault *fault)
{
	const char *span, *until;
	int64_t now = clock_now(), ns = 0;

	if (text_of(request, "for", &span, fault) < 0 ||
	    text_of(request, "until", &until, fault) < 0)
		return -EINVAL;
	if (span && until)
		return usage(fault, "either `for` or `until`, not both");
	if (span && units_span(span, &ns) < 0) {
		fault_set(fault, -EINVAL, "usage", "'%s' is no span of time",
			  span);
		fault_hint(fault, "write it as 30s, 5m or 1h30m");
		return -EINVAL;
	}
	if (until && units_time(until, now, &ns) < 0) {
		fault_set(fault, -EINVAL, "usage", "'%s' is no time", until);
		fault_hint(fault, "write it as 2026-11-20T10:00:00Z, "
				  "2026y324d10h00m00s or +30s");
		return -EINVAL;
	}
	if (until)
		ns -= now;
	if ((span || until) && ns <= 0)
		return usage(fault, "that would be over before it begins");
	if (ns > INT64_MAX / 2)
		return usage(fault, "nobody can wait that long");
	o->when.stop = span || until ? clock_steady() + ns : 0;
	return 0;
}

static int
order_streams(struct recorder *r, const json_t *request, struct order *o,
	      struct fault *fault)
{
	const json_t *list = json_object_get(request, "streams"), *item;
	size_t i;

	json_array_foreach(list, i, item) {
		const char *name = json_string_value(item);
		struct stream *s = name ? setup_stream(&r->setup, name) : NULL;

		if (i >= sizeof o->stream / sizeof *o->stream)
			return usage(fault, "too many streams");
		if (!s)
			return setup_stream_unknown(&r->setup,
						    name ? name : "?", fault);
		for (unsigned k = 0; k < o->streams; k++) {
			if (o->stream[k] == s)
				return usage(fault, "the same stream twice");
		}
		o->stream[o->streams++] = s;
	}
	return o->streams ? 0
			  : usage(fault, "which stream? `streams` is "
					 "missing");
}

void
recorder_forget(struct recorder *r, const char *name)
{
	for (size_t i = json_array_size(r->ended); i--;) {
		const json_t *was =
		    json_object_get(json_array_get(r->ended, i), "name");

		if (!strcmp(json_string_value(was), name))
			json_array_remove(r->ended, i);
	}
}

/* Refuses a stream that is being recorded, unless it may be shared.  An armed
 * recording leaves its stream to others until it begins. */
static int
stream_free(struct recorder *r, const struct order *o,
	    const struct stream *stream, struct fault *fault)
{
	if (o->flags & ORDER_SHARE)
		return 0;
	for (const struct session *s = r->sessions; s; s = s->next) {
		/* Compare names: after a reload the stream may be another
		 * object. */
		if (strcmp(s->stream->name, stream->name) ||
		    s->state == SESSION_ARMED)
			continue;
		fault_set(fault, -EBUSY, "busy",
			  "stream %s is being recorded already", stream->name);
		fault_why(fault, "as %s", s->supply->name);
		fault_hint(fault, "'spate stop %s' ends that", s->supply->name);
		return -EBUSY;
	}
	return 0;
}

static int
disks_there(struct recorder *r, struct fault *fault)
{
	if (fleet_writers(&r->fleet))
		return 0;
	fault_set(fault, -ENODEV, "no-disk", "there is no disk to record on");
	fault_why(fault, "%s",
		  r->setup.no_disk.code ? r->setup.no_disk.what
					: "no pattern of `disks` matched");
	fault_hint(fault, "mount the disks: they join by themselves; or name a "
			  "folder to 'spate disks add'");
	return -ENODEV;
}

/* True if a running recording gives its memory back by the start of this scan,
 * or nearly so.  Then the scan is opened without memory: packets are counted
 * from its start on, and dropped until the memory is there.  Else an order
 * without memory is refused. */
static bool
memory_comes(const struct recorder *r, const struct order *o)
{
	int64_t begins = clock_steady();

	if (!o->scan)
		return false;
	if (o->when.start > begins && !o->when.data)
		begins = o->when.start;
	for (const struct session *s = r->sessions; s; s = s->next) {
		const struct gate *g = &s->supply->gate;

		if (s->supply->stopped ||
		    (!g->data && g->close <= begins + NS_SECOND))
			return true;
	}
	return false;
}

/* Opens the parts of stream `i` and puts them before `list`. */
static int
stream_add(struct recorder *r, const struct order *o, unsigned i,
	   struct session **list, struct fault *fault)
{
	struct session *first, **end = &first;
	char name[SESSION_NAME];
	struct session_args args = { .name = name,
				     .when = o->when,
				     .scan = o->scan,
				     .later = memory_comes(r, o),
				     .resume = o->flags & ORDER_RESUME };
	int err;

	order_base_name(o, i, name);
	args.stream = o->stream[i];
	err = session_open(&first, &r->host, &args, fault);
	if (err)
		return err;
	for (; *end; end = &(*end)->next) {
		snprintf((*end)->group, sizeof(*end)->group, "%.79s", o->name);
		(*end)->send = o->send ? strdup(o->send) : NULL;
	}
	*end = *list;
	*list = first;
	return 0;
}

static void
ids_give(struct recorder *r, struct session *list)
{
	for (; list; list = list->next) {
		list->id = ++r->last_id;
		recorder_forget(r, list->name);
		if (list->state == SESSION_ARMED)
			log_line(LEVEL_INFO, list->name, "armed, of stream %s",
				 list->stream->name);
		else
			r->hooks.began(r->hooks.arg, list);
	}
}

/* Refuses an order with ORDER_RESUME if no disk has any of its recordings. */
static int
check_resumed(const struct order *o, const struct session *list,
	      struct fault *fault)
{
	if (!(o->flags & ORDER_RESUME))
		return 0;
	for (; list; list = list->next) {
		if (list->output->resumed)
			return 0;
	}
	fault_set(fault, -ENOENT, "not-found", "cannot go on with %s", o->name);
	fault_why(fault, "no disk has a recording of that name");
	fault_hint(fault, "record it without --resume");
	return -ENOENT;
}

/* Opens all streams before the first one begins, so that all are recorded or
 * none. */
int
order_begin(struct recorder *r, const struct order *o, struct fault *fault)
{
	struct session *new = NULL, **end = &new;
	const struct supply *supply = NULL;
	int err = 0;

	for (unsigned i = 0; i < o->streams; i++)
		probes_step(r, o->stream[i]);
	for (unsigned i = o->streams; i-- && !err;)
		err = stream_add(r, o, i, &new, fault);
	if (!err)
		err = check_resumed(o, new, fault);
	if (err) {
		session_drop(new);
		if (err == -ENOMEM && r->hooks.yield(r->hooks.arg))
			fault_hint(fault, "what was relayed has ended, and "
					  "gives its memory back: try again");
		return err;
	}
	ids_give(r, new);
	for (; *end; end = &(*end)->next) {
		if ((*end)->supply != supply)
			session_begin(*end);
		supply = (*end)->supply;
	}
	*end = r->sessions;
	r->sessions = new;
	return 0;
}

int
order_check(struct order *o, struct recorder *r, struct fault *fault)
{
	int err = 0;

	for (unsigned i = 0; i < o->streams && !err; i++)
		err = stream_free(r, o, o->stream[i], fault);
	if (!err)
		err = order_name(o, r, fault);
	return err ? err : disks_there(r, fault);
}

int
order_read(struct order *o, struct recorder *r, const json_t *request,
	   struct fault *fault)
{
	const char *name;
	int err;

	*o = (struct order){ 0 };
	err = text_of(request, "name", &name, fault);
	if (!err && !name)
		err = usage(fault, "`name` is missing");
	if (!err)
		err = order_streams(r, request, o, fault);
	if (!err)
		err = order_time(request, o, fault);
	if (err)
		return err;
	snprintf(o->name, sizeof o->name, "%s", name);
	if (json_is_true(json_object_get(request, "resume")))
		o->flags |= ORDER_RESUME;
	return text_of(request, "send", &o->send, fault);
}
