/* SPDX-License-Identifier: MIT */
/*
 * Everything that can refuse a recording is asked before anything begins:
 * first what the request itself says, then memory and sockets of each of its
 * streams.  What is left then cannot fail.
 */
#include "daemon/order.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"
#include "store/layout.h"

static int
usage(struct fault *fault, const char *what)
{
	return fault_set(fault, -EINVAL, "usage", "%s", what);
}

/* NULL where it is left out.  A number of seconds, say, is none of what we
 * know, and passing over it would record for ever. */
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
	o->stop_at = span || until ? clock_steady() + ns : 0;
	return 0;
}

static int
stream_unknown(struct daemon *d, const char *name, struct fault *fault)
{
	char names[256] = "";
	size_t at = 0;

	for (unsigned i = 0; i < d->setup.streams && at < sizeof names; i++)
		at += (size_t)snprintf(names + at, sizeof names - at, "%s%s",
				       i ? ", " : "", d->setup.stream[i].name);
	fault_set(fault, -ENOENT, "not-found", "there is no stream '%s'", name);
	fault_hint(fault, "the configuration has %s", names);
	return -ENOENT;
}

static int
order_streams(struct daemon *d, const json_t *request, struct order *o,
	      struct fault *fault)
{
	const json_t *list = json_object_get(request, "streams"), *item;
	size_t i;

	json_array_foreach(list, i, item) {
		const char *name = json_string_value(item);
		struct stream *s = name ? setup_stream(&d->setup, name) : NULL;

		if (i >= sizeof o->stream / sizeof *o->stream)
			return usage(fault, "too many streams");
		if (!s)
			return stream_unknown(d, name ? name : "?", fault);
		for (unsigned k = 0; k < o->streams; k++) {
			if (o->stream[k] == s)
				return usage(fault, "the same stream twice");
		}
		if (s->session) {
			fault_set(fault, -EBUSY, "busy",
				  "stream %s is being recorded already", name);
			fault_why(fault, "as %s", s->session->name);
			fault_hint(fault, "'spate stop %s' ends that",
				   s->session->group);
			return -EBUSY;
		}
		o->stream[o->streams++] = s;
	}
	return o->streams ? 0
			  : usage(fault, "which stream? `streams` is "
					 "missing");
}

static void
folder_name(const struct order *o, unsigned i, char name[160])
{
	if (o->streams == 1)
		snprintf(name, 160, "%s", o->name);
	else
		snprintf(name, 160, "%.79s_ds%.70s", o->name,
			 o->stream[i]->name);
}

static int
taken(struct fault *fault, const char *name, const char *where)
{
	fault_set(fault, -EEXIST, "exists",
		  "cannot record %s: the name is taken", name);
	fault_why(fault, "%s", where);
	fault_hint(fault, "choose another name, or move that recording away");
	return -EEXIST;
}

/* On no disk, and not being recorded: the folder may not be there yet. */
static int
name_free(struct daemon *d, const char *name, struct fault *fault)
{
	char path[4096];

	for (struct session *s = d->sessions; s; s = s->next) {
		if (!strcmp(s->name, name) || !strcmp(s->group, name))
			return taken(fault, name, "it is being recorded");
	}
	for (unsigned i = 0; i < d->writers; i++) {
		snprintf(path, sizeof path, "%s/%s", writer_path(d->writer[i]),
			 name);
		if (access(path, F_OK) == 0) {
			snprintf(path, sizeof path, "it is on %s",
				 writer_path(d->writer[i]));
			return taken(fault, name, path);
		}
	}
	return 0;
}

static int
order_name(struct daemon *d, struct order *o, struct fault *fault)
{
	const char *wrong =
	    o->name ? layout_name_fault(o->name) : "`name` is missing";
	char name[160];
	int err = 0;

	if (wrong) {
		fault_set(fault, -EINVAL, "bad-name",
			  "cannot record under the name '%.80s'",
			  o->name ? o->name : "");
		fault_why(fault, "%s", wrong);
		fault_hint(fault, "a name is up to 64 of A-Z a-z 0-9 _ + -, "
				  "as in r4123_wz_123-0456");
		return -EINVAL;
	}
	for (unsigned i = 0; i < o->streams && !err; i++) {
		folder_name(o, i, name);
		err = name_free(d, name, fault);
	}
	return err;
}

static int
disks_there(struct daemon *d, struct fault *fault)
{
	if (d->writers)
		return 0;
	fault_set(fault, -ENODEV, "no-disk", "there is no disk to record on");
	fault_why(fault, "%s",
		  d->setup.no_disk.code ? d->setup.no_disk.what
					: "no pattern of `disks` matched");
	fault_hint(fault, "mount the disks, or put plain folders into `disks`, "
			  "and restart spated");
	return -ENODEV;
}

static struct session *
session_add(struct daemon *d, const struct order *o, unsigned i,
	    struct fault *fault)
{
	struct session *s;
	char name[160];

	folder_name(o, i, name);
	if (session_open(&s, &d->host, o->stream[i], name, fault) < 0)
		return NULL;
	s->id = ++d->last_id;
	s->stop_at = o->stop_at;
	snprintf(s->group, sizeof s->group, "%s", o->name);
	return s;
}

/* All of them or none: what can be refused comes before anything begins. */
int
order_begin(struct daemon *d, const struct order *o, struct fault *fault)
{
	struct session *s, *new = NULL;

	for (unsigned i = 0; i < o->streams; i++) {
		s = session_add(d, o, i, fault);
		if (!s)
			goto refuse;
		s->next = new;
		new = s;
	}
	while ((s = new)) {
		new = s->next;
		s->next = d->sessions;
		d->sessions = s;
		session_begin(s, d->receiver[d->next_receiver]);
		d->next_receiver = (d->next_receiver + 1) % d->receivers;
		log_line(LOG_INFO, s->name, "recording stream %s",
			 s->stream->name);
	}
	return 0;

refuse:
	while ((s = new)) {
		new = s->next;
		session_drop(s);
	}
	return -EINVAL;
}

int
order_read(struct order *o, struct daemon *d, const json_t *request,
	   struct fault *fault)
{
	int err;

	*o = (struct order){ .name = json_string_value(
				 json_object_get(request, "name")) };
	err = order_streams(d, request, o, fault);
	if (!err)
		err = order_name(d, o, fault);
	if (!err)
		err = order_time(request, o, fault);
	return err ? err : disks_there(d, fault);
}
