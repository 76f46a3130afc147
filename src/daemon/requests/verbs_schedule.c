/* SPDX-License-Identifier: MIT */
/*
 * Requests that list, check and change the schedule.  A client names files of
 * the schedule's folder and sends their text; the daemon writes them, with its
 * own rights.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "daemon/schedule/admission.h"
#include "daemon/sessions/report.h"
#include "daemon/schedule/schedule_host.h"
#include "daemon/requests/verbs.h"

static int
no_memory(struct fault *fault)
{
	return fault_set(fault, -ENOMEM, "no-memory", "out of memory");
}

int
verb_schedule_ls(struct daemon *d, struct server_ticket ticket,
		 const json_t *request, struct fault *fault)
{
	bool all = json_is_true(json_object_get(request, "all"));
	int64_t utc = clock_now();
	json_t *answer = schedule_json(d->host.schedule, all, utc);

	if (!answer)
		return no_memory(fault);
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
	    !seek_folder(d->host.folder, folder) || access(path, F_OK) < 0)
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
	struct admission a;
	int err = admission_make(&a, &d->host, dry ? text->file : NULL, dry,
				 clock_now());

	if (!err)
		server_answer(
		    d->r.server, ticket,
		    json_pack("{s:s, s:o}", "file", text->file, "scans",
			      checks(&a, d, list, dry ? NULL : text->file)));
	admission_clear(&a);
	return err ? no_memory(fault) : 0;
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
	json_t *answer = admission_sum(a, &d->host), *scans = json_array();
	unsigned n;

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
	return err ? no_memory(fault) : 0;
}
