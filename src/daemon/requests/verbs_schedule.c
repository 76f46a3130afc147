/* SPDX-License-Identifier: MIT */
/*
 * Requests that list, check and change the schedule.  A client names files of
 * the schedule's folder and sends their text; the daemon writes them, with its
 * own rights.
 *
 * `record` with a start in the future adds a scan to the schedule and is
 * answered at once.  A taken name, an unknown stream and missing room are
 * refused now; missing disks only when the scan is armed.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "daemon/requests/verbs.h"
#include "daemon/schedule/admission.h"
#include "daemon/schedule/schedule_host.h"
#include "daemon/sessions/order.h"
#include "daemon/sessions/report.h"

#define ARM	 (10 * NS_SECOND)
#define JUST_NOW NS_SECOND
#define LONGEST	 (365 * 86400 * NS_SECOND) /* backlog, ns */

static int
usage(struct fault *fault, const char *what)
{
	return fault_set(fault, -EINVAL, "usage", "%s", what);
}

static const char *
text_of(const json_t *request, const char *key)
{
	return json_string_value(json_object_get(request, key));
}

static int
time_read(const char *key, const char *text, int64_t now, int64_t *ns,
	  bool *data, struct fault *fault)
{
	if (text && units_time_data(text, now, ns, data) == 0)
		return 0;
	fault_set(fault, -EINVAL, "usage", "`%s`: '%.80s' is no time", key,
		  text ? text : "?");
	fault_hint(fault, "write it as 2026-11-20T10:00:00Z, "
			  "2026y324d10h00m00s or +30s; with @ before it the "
			  "clock of the data decides");
	return -EINVAL;
}

static int
span_read(const json_t *request, const char *key, int64_t *ns,
	  struct fault *fault)
{
	const json_t *value = json_object_get(request, key);

	if (!value || json_is_null(value))
		return 0;
	if (json_is_string(value) &&
	    units_span(json_string_value(value), ns) == 0)
		return 0;
	fault_set(fault, -EINVAL, "usage", "`%s` has to be a span of time",
		  key);
	fault_hint(fault, "write it as 30s, 5m or 1h30m");
	return -EINVAL;
}

static int
times_read(struct scan *s, const json_t *request, int64_t now,
	   struct fault *fault)
{
	const char *until = text_of(request, "until");
	int64_t span = -1;
	bool data = false;
	int err;

	s->arm = ARM;
	err = time_read("at", text_of(request, "at"), now, &s->start, &s->data,
			fault);
	if (!err)
		err = span_read(request, "for", &span, fault);
	if (!err)
		err = span_read(request, "backlog", &s->backlog, fault);
	if (!err && until)
		err = time_read("until", until, now, &s->stop, &data, fault);
	if (err)
		return err;
	if (until && span >= 0)
		return usage(fault, "either `for` or `until`, not both");
	if (until && data != s->data)
		return usage(fault, "`at` and `until` have to be both of the "
				    "data (with @), or none");
	if (s->backlog > LONGEST)
		return usage(fault, "a backlog is a year at most");
	if (span >= 0 && __builtin_add_overflow(s->start, span, &s->stop))
		return usage(fault, "that is too far ahead");
	/* A start that is over is accepted if the end is ahead. */
	if (!s->data && s->start < now - JUST_NOW &&
	    ((!until && span < 0) || s->stop <= now))
		return usage(fault, "the time of `at` is over");
	return s->stop > s->start
		   ? 0
		   : usage(fault, "that would be over before it begins");
}

/* Checks the future order as far as possible now. */
static int
order_try(struct daemon *d, const struct scan *s, struct order *o,
	  struct fault *fault)
{
	int err;

	for (unsigned i = 0; i < s->streams; i++) {
		o->stream[i] = setup_stream(&d->r.setup, s->stream[i]);
		if (!o->stream[i])
			return setup_stream_unknown(&d->r.setup, s->stream[i],
						    fault);
	}
	o->streams = s->streams;
	o->flags = ORDER_SHARE;
	snprintf(o->name, sizeof o->name, "%s", s->name);
	err = order_check(o, &d->r, fault);
	return err == -ENODEV ? 0 : err; /* disks may come */
}

static int
name_free(struct daemon *d, const struct scan *s, struct fault *fault)
{
	const struct scan_list *all = schedule_scans(d->host.schedule);
	struct order o = { 0 };

	for (unsigned i = 0; i < all->n; i++) {
		const struct scan *other = all->scan[i];

		if (!scan_is_ahead(other) || strcmp(other->name, s->name))
			continue;
		fault_set(fault, -EEXIST, "exists",
			  "cannot record %s: the name is taken", s->name);
		fault_why(fault, "by scan %u of the schedule", other->id);
		fault_hint(fault, "choose another name");
		return -EEXIST;
	}
	return order_try(d, s, &o, fault);
}

static int
streams_read(struct scan *s, const json_t *request, struct fault *fault)
{
	const json_t *list = json_object_get(request, "streams"), *item;
	size_t i;

	json_array_foreach(list, i, item) {
		const char *name = json_string_value(item);

		for (unsigned k = 0; name && k < s->streams; k++) {
			if (!strcmp(s->stream[k], name))
				return usage(fault, "the same stream twice");
		}
		if (!name || s->streams == SCAN_STREAMS)
			return usage(fault, "`streams` has to be a list of up "
					    "to 256 texts");
		if (scan_stream_add(s, name) < 0)
			return fault_no_memory(fault);
	}
	return s->streams ? 0
			  : usage(fault, "which stream? `streams` is missing");
}

static int
send_read(struct daemon *d, struct scan *s, const json_t *request,
	  struct fault *fault)
{
	const json_t *value = json_object_get(request, "send");
	const char *url = json_string_value(value);

	if (!value || json_is_null(value))
		return 0;
	if (!url)
		return usage(fault, "`send` has to be a text");
	s->send = strdup(url);
	return s->send ? transfer_url_check(&d->transfers, s->name, url, false,
					    fault)
		       : fault_no_memory(fault);
}

static int
scan_of(struct daemon *d, struct scan *s, const json_t *request, int64_t utc,
	struct fault *fault)
{
	const json_t *priority = json_object_get(request, "priority");
	const char *name = text_of(request, "name");
	json_int_t most = json_integer_value(priority);
	int err;

	if (!name)
		return usage(fault, "`name` is missing");
	if (priority &&
	    (!json_is_integer(priority) || most < 0 || most > INT_MAX))
		return usage(fault, "`priority` has to be a whole number");
	s->priority = (int)most;
	/* A name cut here is too long for a recording, too. */
	snprintf(s->name, sizeof s->name, "%s", name);
	err = streams_read(s, request, fault);
	if (!err)
		err = send_read(d, s, request, fault);
	if (!err)
		err = times_read(s, request, utc, fault);
	return err ? err : name_free(d, s, fault);
}

int
verb_record_at(struct daemon *d, struct server_ticket ticket,
	       const json_t *request, struct fault *fault)
{
	struct schedule_now now = schedule_host_now();
	struct scan *s = scan_new();
	int id =
	    s ? scan_of(d, s, request, now.utc, fault) : fault_no_memory(fault);

	if (!id)
		id = schedule_add(d->host.schedule, s, now, fault);
	if (id < 0) {
		scan_free(s);
		return id;
	}
	s = schedule_find(d->host.schedule, (unsigned)id);
	server_answer(d->r.server, ticket,
		      json_pack("{s:[], s:o*}", "recordings", "scan",
				s ? scan_json(s, now.utc) : NULL));
	return 0;
}

int
verb_scan(struct daemon *d, struct server_ticket ticket, const json_t *request,
	  struct fault *fault)
{
	json_int_t id = json_integer_value(json_object_get(request, "scan"));
	const struct scan *s =
	    id > 0 && id <= UINT_MAX
		? schedule_find(d->host.schedule, (unsigned)id)
		: NULL;

	if (!s)
		return fault_set(fault, -ENOENT, "not-found",
				 "the schedule has no such scan");
	server_answer(
	    d->r.server, ticket,
	    json_pack("{s:o}", "scan", scan_json(s, schedule_host_now().utc)));
	return 0;
}

static bool
is_waiting(const struct scan *s, const char *which)
{
	char id[16];

	snprintf(id, sizeof id, "%u", s->id);
	return (s->state == SCAN_WAITING || s->state == SCAN_ARMED) &&
	       (!strcmp(s->name, which) || !strcmp(s->recording, which) ||
		!strcmp(id, which));
}

int
verb_stop_waiting(struct daemon *d, struct server_ticket ticket,
		  const char *which)
{
	const struct scan_list *all = schedule_scans(d->host.schedule);
	struct fault fault = { 0 };
	json_t *removed;
	bool any = false;

	for (unsigned i = 0; i < all->n; i++)
		any |= is_waiting(all->scan[i], which);
	if (!any || schedule_remove(d->host.schedule, which, &removed,
				    schedule_host_now(), &fault) < 0)
		return -ENOENT;
	server_answer(d->r.server, ticket,
		      json_pack("{s:[], s:o}", "recordings", "scans", removed));
	return 0;
}

/* ---- schedule -------------------------------------------------------- */

int
verb_schedule_ls(struct daemon *d, struct server_ticket ticket,
		 const json_t *request, struct fault *fault)
{
	bool all = json_is_true(json_object_get(request, "all"));
	int64_t utc = clock_now();
	json_t *answer = schedule_json(d->host.schedule, all, utc);

	if (!answer)
		return fault_no_memory(fault);
	json_object_set_new(answer, "now", report_time(utc));
	server_answer(d->r.server, ticket, answer);
	return 0;
}

static bool
has_control(const char *name)
{
	for (; *name; name++) {
		if ((unsigned char)*name < ' ' || *name == 127)
			return true;
	}
	return false;
}

static int
text_read(struct schedule_text *text, const json_t *request,
	  struct fault *fault)
{
	*text = (struct schedule_text){
		.file = json_string_value(json_object_get(request, "file")),
		.text = json_string_value(json_object_get(request, "text")),
		.replace = json_is_true(json_object_get(request, "replace")),
	};
	if (!text->file || !text->text)
		return fault_set(fault, -EINVAL, "usage",
				 "`file` or `text` is missing, or no text");
	if (has_control(text->file))
		return fault_set(fault, -EINVAL, "bad-name",
				 "a file's name has no control characters");
	return 0;
}

/* Checks a file without adding it; refuses what adding it would refuse. */
static int
dry_run(struct daemon *d, const struct schedule_text *text,
	struct scan_list *list, struct fault *fault)
{
	const char *folder = schedule_folder(d->host.schedule);
	int err = schedule_check_text(d->host.schedule, text, list, fault);
	char path[4096];

	snprintf(path, sizeof path, "%s/%s", folder ? folder : "", text->file);
	if (err || !folder || text->replace ||
	    !name_lookup_answers(d->host.folder, folder) ||
	    access(path, F_OK) < 0)
		return err;
	fault_set(fault, -EEXIST, "exists", "%s would not be added",
		  text->file);
	fault_why(fault, "it is there already");
	fault_hint(fault, "--replace puts it in its place");
	return -EEXIST;
}

/* Returns the checks of a list's scans; only those of `file`, unless NULL. */
static json_t *
checks(const struct admission *a, struct daemon *d,
       const struct scan_list *list, const char *file)
{
	json_t *scans = json_array();

	for (unsigned i = 0; i < list->n; i++) {
		const struct scan *s = list->scan[i];

		if (!s->gone && (!file || (s->file && !strcmp(s->file, file))))
			json_array_append_new(
			    scans, admission_json(a, &d->host, s, a->args.now));
	}
	return scans;
}

/* Answers with the scans of a file: as they are now, or with `dry` as they
 * would be. */
static int
file_answer(struct daemon *d, struct server_ticket ticket,
	    const struct schedule_text *text, const struct scan_list *dry,
	    struct fault *fault)
{
	const struct scan_list *list =
	    dry ? dry : schedule_scans(d->host.schedule);
	unsigned others = schedule_others(d->host.schedule, NULL) -
			  schedule_others(d->host.schedule, text->file);
	struct admission a;
	int err = admission_make(&a, &d->host, dry ? text->file : NULL, dry,
				 clock_now());

	if (!err)
		server_answer(
		    d->r.server, ticket,
		    json_pack("{s:s, s:o, s:i}", "file", text->file, "scans",
			      checks(&a, d, list, dry ? NULL : text->file),
			      "others", (int)(dry ? dry->others : others)));
	admission_clear(&a);
	return err ? fault_no_memory(fault) : 0;
}

int
verb_schedule_add(struct daemon *d, struct server_ticket ticket,
		  const json_t *request, struct fault *fault)
{
	bool dry = json_is_true(json_object_get(request, "dry"));
	struct scan_list list = { 0 };
	struct schedule_text text;
	int err = text_read(&text, request, fault);

	if (err)
		return err;
	if (dry)
		err = dry_run(d, &text, &list, fault);
	else
		err = schedule_add_text(d->host.schedule, &text,
					schedule_host_now(), fault);
	if (!err)
		err = file_answer(d, ticket, &text, dry ? &list : NULL, fault);
	scan_list_clear(&list);
	return err;
}

int
verb_schedule_rm(struct daemon *d, struct server_ticket ticket,
		 const json_t *request, struct fault *fault)
{
	const char *which =
	    json_string_value(json_object_get(request, "which"));
	json_t *removed;
	int err;

	if (!which)
		return fault_set(fault, -EINVAL, "usage",
				 "`which` is missing, or no text");
	err = schedule_remove(d->host.schedule, which, &removed,
			      schedule_host_now(), fault);
	if (!err)
		server_answer(d->r.server, ticket,
			      json_pack("{s:o}", "removed", removed));
	return err;
}

static int
by_start(const void *a, const void *b)
{
	const struct scan *x = *(const struct scan *const *)a;
	const struct scan *y = *(const struct scan *const *)b;

	return (x->start > y->start) - (x->start < y->start);
}

/* Lists the scans to report, by start: those in the forecast, those refused,
 * and those of the new file. */
static unsigned
shown(const struct scan **scan, const struct admission *a,
      const struct scan_list *now, const struct schedule_text *text,
      const struct scan_list *list)
{
	unsigned n = 0;

	for (unsigned i = 0; i < now->n; i++) {
		const struct scan *s = now->scan[i];
		bool other =
		    !text->file || !s->file || strcmp(s->file, text->file);

		if (admission_of(a, s) ||
		    (other && !s->gone && s->state == SCAN_REFUSED))
			scan[n++] = s;
	}
	for (unsigned i = 0; i < list->n; i++)
		scan[n++] = list->scan[i];
	qsort(scan, n, sizeof *scan, by_start);
	return n;
}

/* Answers with all scans ahead, as if the file were there. */
static int
check_answer(struct daemon *d, struct server_ticket ticket,
	     const struct admission *a, const struct schedule_text *text,
	     const struct scan_list *list)
{
	const struct scan_list *now = schedule_scans(d->host.schedule);
	const struct scan **scan = calloc(now->n + list->n + 1, sizeof *scan);
	unsigned n, others = schedule_others(d->host.schedule, text->file);
	json_t *answer = admission_sum(a, &d->host, others + list->others);
	json_t *scans = json_array();

	if (!scan) {
		json_decref(answer);
		json_decref(scans);
		return -ENOMEM;
	}
	n = shown(scan, a, now, text, list);
	for (unsigned i = 0; i < n; i++)
		json_array_append_new(
		    scans, admission_json(a, &d->host, scan[i], a->args.now));
	json_object_set_new(answer, "scans", scans);
	server_answer(d->r.server, ticket, answer);
	free(scan);
	return 0;
}

int
verb_schedule_check(struct daemon *d, struct server_ticket ticket,
		    const json_t *request, struct fault *fault)
{
	struct scan_list list = { 0 };
	struct schedule_text text = { 0 };
	struct admission a;
	int err = 0;

	if (json_object_get(request, "text"))
		err = text_read(&text, request, fault);
	text.replace = true;
	if (!err && text.text)
		err =
		    schedule_check_text(d->host.schedule, &text, &list, fault);
	if (err)
		return err;
	err = admission_make(&a, &d->host, text.file, &list, clock_now());
	if (!err)
		err = check_answer(d, ticket, &a, &text, &list);
	admission_clear(&a);
	scan_list_clear(&list);
	return err ? fault_no_memory(fault) : 0;
}
