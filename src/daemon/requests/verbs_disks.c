/* SPDX-License-Identifier: MIT */
/*
 * Requests about disks.  `disks-add` is answered when the writer has tried the
 * disk, `disks-drop` when everything is durable and closed; both after PATIENCE
 * in any case.
 *
 * `rm` and `protect` are answered when the change is durable.  `rm` of a
 * recording that runs is refused at once: its folders may not be there yet.
 */
#include "daemon/requests/verbs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/disks/housekeeping.h"
#include "daemon/sessions/report.h"
#include "store/disk/remote.h"
#include "store/foreign/foreign.h"

#define PATIENCE INT64_C(30000000000)

int
verb_disks(struct daemon *d, struct server_ticket ticket, const json_t *request,
	   struct fault *fault)
{
	const struct option_texts *patterns = &d->r.setup.o.disks;
	json_t *list = json_array();

	(void)request;
	(void)fault;
	for (unsigned i = 0; i < patterns->n; i++)
		json_array_append_new(list, json_string(patterns->text[i]));
	server_answer(d->r.server, ticket,
		      json_pack("{s:o, s:o, s:o, s:i}", "disks",
				report_disks(&d->r.disks), "space",
				report_space(&d->r.disks), "patterns", list,
				"skipped", (int)d->r.setup.disks.skipped));
	return 0;
}

static int
waiter_add(struct daemon *d, struct server_ticket ticket, int number, bool drop,
	   struct fault *fault)
{
	struct disk_waiter *w = calloc(1, sizeof *w);

	if (!w)
		return fault_no_memory(fault);
	*w = (struct disk_waiter){ .ticket = ticket,
				   .number = (unsigned)number,
				   .drop = drop,
				   .until = clock_steady() + PATIENCE,
				   .next = d->disk_waiters };
	d->disk_waiters = w;
	return 0;
}

int
verb_disks_add(struct daemon *d, struct server_ticket ticket,
	       const json_t *request, struct fault *fault)
{
	const char *path = json_string_value(json_object_get(request, "path"));
	bool force = json_is_true(json_object_get(request, "force"));
	struct disk_looked found;
	int number;

	if (path && remote_check(path, true, fault))
		return -EINVAL;
	/* The event loop touches only a path that answers, and no remote disk:
	 * that may answer now, and not the next time. */
	if (path && disk_is_absolute(path) &&
	    !name_lookup_remote(d->added, path, &found)) {
		fault_set(fault, -ETIMEDOUT, "bad-disk", "cannot add %s", path);
		fault_why(fault, "it does not answer, or too many that were to "
				 "be added before do not");
		fault_hint(fault, "add it when its file system answers");
		return -ETIMEDOUT;
	}
	number =
	    disk_set_add(&d->r.disks, path, force,
			 path && remote_is_path(path) ? &found : NULL, fault);
	return number < 0 ? number
			  : waiter_add(d, ticket, number, false, fault);
}

int
verb_disks_drop(struct daemon *d, struct server_ticket ticket,
		const json_t *request, struct fault *fault)
{
	const char *path = json_string_value(json_object_get(request, "path"));
	int number =
	    disk_set_drop(&d->r.disks, path, d->r.sessions != NULL, fault);

	return number < 0 ? number : waiter_add(d, ticket, number, true, fault);
}

static void
drop_refuse(struct daemon *d, const struct disk_waiter *w, bool hangs)
{
	struct fault fault = { 0 };

	fault_set(&fault, -ETIMEDOUT, "busy", "%s is still leaving",
		  disk_set_path(&d->r.disks, w->number));
	fault_why(&fault, "%s",
		  hangs ? "it does not answer"
			: "it has not finished what it was given");
	fault_hint(&fault, "nothing new is written to it; 'spate disks' lists "
			   "it until it may be unmounted");
	server_refuse(d->r.server, w->ticket, &fault);
}

static bool
drop_answer(struct daemon *d, const struct disk_waiter *w, int64_t now)
{
	const char *path = disk_set_path(&d->r.disks, w->number);
	struct writer *of = d->r.disks.disk[w->number].writer;
	struct writer_facts f;

	if (!of) {
		server_answer(
		    d->r.server, w->ticket,
		    json_pack("{s:s, s:b}", "path", path, "configured",
			      disk_set_configured(&d->r.disks, path)));
		return true;
	}
	writer_facts(of, &f);
	if (f.state != WRITER_HUNG && now < w->until)
		return false;
	drop_refuse(d, w, f.state == WRITER_HUNG);
	return true;
}

static void
add_refuse(struct daemon *d, const struct disk_waiter *w,
	   const struct writer_facts *f)
{
	const char *path = disk_set_path(&d->r.disks, w->number);
	struct fault fault = { 0 };

	fault_set(&fault, -EIO, "bad-disk", "%s was added, but does not work",
		  path);
	fault_why(&fault, "%s", f->why);
	fault_hint(&fault, "it is tried again now and then; 'spate disks drop "
			   "PATH' forgets it");
	server_refuse(d->r.server, w->ticket, &fault);
}

/* Answers when the writer has tried the disk: then it knows its write plugin,
 * or why it cannot write. */
static bool
add_answer(struct daemon *d, const struct disk_waiter *w, int64_t now)
{
	const char *path = disk_set_path(&d->r.disks, w->number);
	struct writer *of = disk_set_writer(&d->r.disks, w->number);
	struct writer_facts f = { .why = "it was dropped meanwhile" };

	if (of)
		writer_facts(of, &f);
	if (of && !f.plugin && f.state < WRITER_FULL && now < w->until)
		return false;
	if (!of || f.state >= WRITER_FULL)
		add_refuse(d, w, &f);
	else
		server_answer(
		    d->r.server, w->ticket,
		    json_pack("{s:s, s:b, s:o}", "path", path, "configured",
			      disk_set_configured(&d->r.disks, path), "disk",
			      report_disk(&d->r.disks, w->number)));
	return true;
}

void
daemon_disks(struct daemon *d, int64_t now)
{
	struct disk_waiter **at = &d->disk_waiters, *w;

	while ((w = *at)) {
		bool done =
		    w->drop ? drop_answer(d, w, now) : add_answer(d, w, now);

		if (!done) {
			at = &w->next;
			continue;
		}
		*at = w->next;
		free(w);
	}
}

/* ---- rm and protect -------------------------------------------------- */

static int
refuse_live(const struct daemon *d, const struct housekeeping_job *c,
	    struct fault *fault)
{
	for (const struct session *s = d->r.sessions; s; s = s->next) {
		if (strcmp(s->name, c->name))
			continue;
		fault_set(fault, -EBUSY, "busy", "%s is not removed", c->name);
		fault_why(fault, "it is being recorded");
		fault_hint(fault, "spate stop %s ends that", s->group);
		return -EBUSY;
	}
	return 0;
}

/* Refuses to remove a recording that is being sent, or with `force` stops the
 * transfer.  The transfer would end with its data, but only with an error. */
static int
refuse_sent(struct daemon *d, const struct housekeeping_job *c,
	    struct fault *fault)
{
	struct transfer *t = NULL;

	while ((t = transfer_of(&d->transfers, c->name, t))) {
		if (c->force) {
			transfer_stop(&d->transfers, t, "it was removed");
			continue;
		}
		fault_set(fault, -EBUSY, "busy", "%s is not removed", c->name);
		fault_why(fault, t->step == TRANSFER_RUNNING
				     ? "it is being sent"
				     : "it waits to be sent");
		fault_hint(fault,
			   "spate stop %u ends that; --force does so, and "
			   "removes it",
			   t->id);
		return -EBUSY;
	}
	return 0;
}

static int
job_begin(struct daemon *d, struct housekeeping_job *c, const json_t *request,
	  struct fault *fault)
{
	const char *name = json_string_value(json_object_get(request, "name"));

	if (!name || strlen(name) >= sizeof c->name)
		return fault_set(fault, -EINVAL, "usage",
				 "`name` is missing, or too long");
	strcpy(c->name, name);
	if (c->kind == HOUSEKEEPING_REMOVE &&
	    (refuse_live(d, c, fault) || refuse_sent(d, c, fault)))
		return -EBUSY;
	if (housekeeping_add(d->housekeeping, c, &d->r.disks))
		return fault_no_memory(fault);
	return 0;
}

int
verb_rm(struct daemon *d, struct server_ticket ticket, const json_t *request,
	struct fault *fault)
{
	struct housekeeping_job c = {
		.kind = json_is_true(json_object_get(request, "look"))
			    ? HOUSEKEEPING_LOOK
			    : HOUSEKEEPING_REMOVE,
		.force = json_is_true(json_object_get(request, "force")),
		.ticket = ticket,
	};

	return job_begin(d, &c, request, fault);
}

int
verb_protect(struct daemon *d, struct server_ticket ticket,
	     const json_t *request, struct fault *fault)
{
	struct housekeeping_job c = {
		.kind = json_is_true(json_object_get(request, "off"))
			    ? HOUSEKEEPING_UNPROTECT
			    : HOUSEKEEPING_PROTECT,
		.ticket = ticket,
	};

	return job_begin(d, &c, request, fault);
}

/* Handles `look`: another program changed the recording, so the catalogue reads
 * it again. */
int
verb_look(struct daemon *d, struct server_ticket ticket, const json_t *request,
	  struct fault *fault)
{
	const char *name = json_string_value(json_object_get(request, "name"));

	if (!name || (!layout_folder_good(name) && !foreign_name_good(name)))
		return fault_set(fault, -EINVAL, "usage",
				 "`name` is missing, or none");
	for (const struct session *s = d->r.sessions; s; s = s->next) {
		if (!strcmp(s->name, name))
			goto out; /* it is read at its end anyway */
	}
	catalogue_thread_touch(d->r.catalogue, name);
out:
	server_answer(d->r.server, ticket, json_object());
	return 0;
}

static void
job_end(struct daemon *d, struct housekeeping_job *c)
{
	if (c->kind == HOUSEKEEPING_QUALITY) {
		if (c->err && c->err != -ENOENT)
			signal_thread_refused(d->r.signal, c->name,
					      c->fault.why);
		housekeeping_free(c);
		return;
	}
	if (!c->err && c->kind == HOUSEKEEPING_REMOVE) {
		log_line(LEVEL_INFO, c->name, "removed, as was asked for");
		catalogue_forget(catalogue_thread_get(d->r.catalogue), c->name);
		recorder_forget(&d->r, c->name);
		catalogue_thread_poke(d->r.catalogue);
	} else if (c->kind != HOUSEKEEPING_LOOK) {
		catalogue_thread_touch(d->r.catalogue, c->name);
	}
	if (c->err)
		server_refuse(d->r.server, c->ticket, &c->fault);
	else
		server_answer(d->r.server, c->ticket, json_incref(c->result));
	housekeeping_free(c);
}

void
daemon_housekeeping(struct daemon *d)
{
	struct housekeeping_job *c;

	while ((c = housekeeping_take(d->housekeeping)))
		job_end(d, c);
}
