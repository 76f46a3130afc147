/* SPDX-License-Identifier: MIT */
/*
 * Makes the text of .info files: indented JSON, because people read it with
 * cat.
 */
#include "config.h"

#include "fuse/tree/info.h"

#include <errno.h>
#include <jansson.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "fuse/tree/names.h"
#include "store/recording/loss.h"
#include "store/read/open_recordings.h"
#include "store/view/view.h"

void
info_counts(struct opened_set *set, const char *name, struct info_counts *c)
{
	struct opened_counts counts;

	*c = (struct info_counts){ 0 };
	if (!opened_counts(set, name, &counts))
		return;
	c->disks = counts.disk_bytes;
	c->memory = counts.live_bytes;
	c->unreadable = counts.unreadable_bytes;
	c->filled = counts.filled_bytes;
}

/* ---- facts of the recording -------------------------------------------- */

/*
 * Shared by the caller and the recording's thread; the last of the two frees
 * it.
 */
struct telling_job {
	atomic_uint holders;
	json_t *info;
};

static void
drop(void *arg)
{
	struct telling_job *job = arg;

	/* acq_rel: the last holder frees what the other one made. */
	if (atomic_fetch_sub_explicit(&job->holders, 1, memory_order_acq_rel) !=
	    1)
		return;
	json_decref(job->info);
	free(job);
}

static int
tell(void *arg, struct recording *rec)
{
	struct telling_job *job = arg;
	json_t *info = recording_info(rec);
	int err = info ? loss_tell(rec, info) : -ENOMEM;

	if (err)
		json_decref(info);
	else
		job->info = info;
	return err;
}

static int
ask(struct opened_set *set, const char *name, json_t **info,
    struct fault *fault)
{
	struct telling_job *job = calloc(1, sizeof *job);
	struct opened *op;
	int err;

	if (!job)
		return -ENOMEM;
	job->holders = 1;
	err = opened_get(set, name, &op, fault);
	if (!err) {
		opened_refresh(op, 0);
		atomic_fetch_add(&job->holders, 1);
		err = opened_run(op, tell, drop, job);
		opened_put(op);
		if (err)
			fault_set(fault, err, "io", "cannot read %s", name);
		if (err)
			fault_why(fault, "%s", strerror(-err));
	}
	/*
	 * After opened_run() the thread only drops the job, so the result can
	 * be taken.
	 */
	if (!err) {
		*info = job->info;
		job->info = NULL;
	}
	drop(job);
	return err;
}

/* ---- facts of the mount ------------------------------------------------ */

static const char *
fill_show(enum view_fill fill)
{
	static const char *const text[] = { [VIEW_STORED] = "stored",
					    [VIEW_INVALID] = "invalid",
					    [VIEW_ZERO] = "zero",
					    [VIEW_SKIP] = "skip" };

	return text[fill];
}

static json_t *
views_json(const struct info_about *about)
{
	struct view_choice c = *about->choice;
	const struct record *r = about->record;
	json_t *views;

	view_settle(&c, r->store);
	views = json_pack("{s:o, s:i, s:s}", "file",
			  *about->file ? text_json(about->file) : json_null(),
			  "strip", (int)c.strip, "fill", fill_show(c.fill));
	if (views && *about->file && r->vdif) {
		char path[LAYOUT_FILE + sizeof NAMES_THREADS + 1];

		snprintf(path, sizeof path, NAMES_THREADS "/%s", r->name);
		json_object_set_new(views, "by_thread", text_json(path));
	}
	return views;
}

static json_t *
fault_json(const struct record *r, const struct fault *fault)
{
	return json_pack("{s:o, s:s, s:s, s:s}", "name", text_json(r->name),
			 "state", entry_state_show(ENTRY_UNREADABLE), "what",
			 fault->what, "why", fault->why);
}

static int
add_counts(json_t *info, const struct info_counts *c)
{
	return json_object_update_new(
	    info, json_pack("{s:I, s:I, s:I, s:I}", "read_from_disks",
			    (json_int_t)c->disks, "read_from_memory",
			    (json_int_t)c->memory, "unreadable_bytes",
			    (json_int_t)c->unreadable, "filled_bytes",
			    (json_int_t)c->filled));
}

static int
print(json_t *info, const struct info_about *about, const struct info_counts *c,
      char **text, uint64_t *bytes)
{
	char *line = NULL;

	if (info && !json_object_set_new(info, "views", views_json(about)) &&
	    !add_counts(info, c))
		line = json_dumps(info, JSON_INDENT(1));
	json_decref(info);
	if (!line)
		return -ENOMEM;
	*bytes = strlen(line) + 1;
	*text = realloc(line, *bytes + 1);
	if (!*text) {
		free(line);
		return -ENOMEM;
	}
	strcpy(*text + *bytes - 1, "\n");
	return 0;
}

/*
 * Tells whether an error may pass, although the recording was readable when it
 * was listed: it is then no fault of the recording.
 */
static bool
is_passing(const struct record *r, int err)
{
	return r->state != ENTRY_UNREADABLE || err == -ETIMEDOUT ||
	       err == -ENOMEM;
}

int
info_text(struct opened_set *set, const struct info_about *about,
	  const struct info_counts *c, char **text, uint64_t *bytes)
{
	struct fault fault = { 0 };
	json_t *info = NULL;
	int err = ask(set, about->record->name, &info, &fault);

	if (err == -ENOENT || err == -EIDRM)
		return -ENOENT;
	if (err && is_passing(about->record, err))
		return err == -ENOMEM ? err : -EIO;
	if (err)
		info = fault_json(about->record, &fault);
	return print(info, about, c, text, bytes);
}
