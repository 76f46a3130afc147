/* SPDX-License-Identifier: MIT */
/*
 * Facts that need the recording open.  The same view is made that a reader
 * gets, and asked for its length, so that both agree whatever is missing.  The
 * text of .info files is indented JSON, because people read it with cat.
 */
#include <errno.h>
#include <jansson.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "fuse/tree/measure.h"
#include "fuse/tree/names.h"
#include "store/read/open_recordings.h"
#include "store/read/cursor.h"
#include "store/recording/loss.h"
#include "store/view/view.h"

enum { THREADS_MOST = 1024 };

static const int64_t fresh = 100 * INT64_C(1000000);

struct view_choice
measure_choice(const struct view_choice *mounted, const struct tree_file *f,
	       enum heap_store store)
{
	struct view_choice c = *mounted;

	c.sub = f->sub;
	c.thread = f->thread;
	c.from_ns = f->from_ns;
	c.to_ns = f->to_ns;
	/*
	 * The index does not tell what a single thread lost, so a file of one
	 * thread cannot leave losses out.
	 */
	if (c.thread >= 0 && c.fill == VIEW_SKIP)
		c.fill = VIEW_STORED;
	view_settle(&c, store);
	return c;
}

/* Returns an errno for a lookup of the name. */
static int
say(int err, const struct tree_file *f)
{
	switch (err) {
	case 0:
	case -ENOENT:
	case -ENOMEM:
	case -ESTALE: return err;
	case -EIDRM: return -ENOENT;
	case -EINVAL: return f->thread >= 0 ? -ENOENT : -EINVAL;
	default: return -EIO;
	}
}

/*
 * Opens a recording, and looks again at one that grows if that was not done for
 * 100 ms.
 */
static int
get(struct open_recordings *set, const struct tree_file *f,
    struct open_recording **op, struct open_recording_facts *facts)
{
	struct fault fault;
	int err = open_recording_get(set, f->name, op, &fault);

	if (err)
		return err;
	open_recording_facts(*op, facts);
	if (facts->begun_ns != f->begun_ns) {
		open_recording_put(*op);
		return -ESTALE;
	}
	if (facts->state != RECORDING_LIVE)
		return 0;
	open_recording_refresh(*op, fresh);
	open_recording_facts(*op, facts);
	return 0;
}

int
measure_file(struct open_recordings *set, const struct view_choice *mounted,
	     const struct tree_file *f, struct measured *m)
{
	struct open_recording_facts facts;
	struct view_choice choice;
	struct cursor *file;
	struct open_recording *op;
	struct fault fault;
	int err = get(set, f, &op, &facts);

	if (err)
		return say(err, f);
	choice = measure_choice(mounted, f, facts.store);
	err = cursor_open(&file, op, &choice, &fault);
	if (!err) {
		m->bytes = cursor_bytes(file);
		m->end_ns = facts.end_ns;
		cursor_close(file);
	}
	open_recording_put(op);
	return say(err, f);
}

/* ---- threads --------------------------------------------------------- */

/*
 * Shared by the caller and the recording's thread; the last of the two frees
 * it.
 */
struct thread_list {
	atomic_uint holders;
	struct measured_thread *thread;
	size_t n;
};

static void
drop(void *arg)
{
	struct thread_list *s = arg;

	/* acq_rel: the last holder frees what the other one made. */
	if (atomic_fetch_sub_explicit(&s->holders, 1, memory_order_acq_rel) !=
	    1)
		return;
	free(s->thread);
	free(s);
}

static int
add(struct thread_list *s, unsigned sub, const uint32_t *thread, size_t n)
{
	struct measured_thread *grown =
	    realloc(s->thread, (s->n + n + 1) * sizeof *grown);

	if (!grown)
		return -ENOMEM;
	s->thread = grown;
	for (size_t i = 0; i < n; i++)
		grown[s->n++] = (struct measured_thread){ sub, thread[i] };
	return 0;
}

static int
search(void *arg, struct recording *rec)
{
	unsigned subs = recording_facts(rec)->subs;
	uint32_t thread[THREADS_MOST];
	struct thread_list *s = arg;
	int n, err = 0;

	for (unsigned sub = 0; sub < subs && !err; sub++) {
		n = view_threads(rec, sub, thread, THREADS_MOST);
		err = n < 0 ? n : add(s, sub, thread, (size_t)n);
	}
	return err;
}

int
measure_threads(struct open_recordings *set, const struct tree_file *f,
		struct measured_thread **list, size_t *n)
{
	struct thread_list *s = calloc(1, sizeof *s);
	struct open_recording_facts facts;
	struct open_recording *op;
	int err;

	if (!s)
		return -ENOMEM;
	s->holders = 1;
	err = get(set, f, &op, &facts);
	if (!err) {
		atomic_fetch_add(&s->holders, 1);
		err = open_recording_run(op, search, drop, s);
		open_recording_put(op);
	}
	if (!err) {
		*list = s->thread;
		*n = s->n;
		s->thread = NULL;
	}
	drop(s);
	return say(err, f);
}

/* ---- the text of .info files -------------------------------------------- */

void
info_counts(struct open_recordings *set, const char *name,
	    struct info_counts *c)
{
	struct open_recording_counts counts;

	*c = (struct info_counts){ 0 };
	if (!open_recording_counts(set, name, &counts))
		return;
	c->disks = counts.disk_bytes;
	c->memory = counts.live_bytes;
	c->unreadable = counts.unreadable_bytes;
	c->filled = counts.filled_bytes;
	c->healed = counts.healed;
	c->damaged = counts.damaged_bytes;
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
job_drop(void *arg)
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
	int err = info ? loss_add_json(rec, info) : -ENOMEM;

	if (err)
		json_decref(info);
	else
		job->info = info;
	return err;
}

static int
ask(struct open_recordings *set, const char *name, json_t **info,
    struct fault *fault)
{
	struct telling_job *job = calloc(1, sizeof *job);
	struct open_recording *op;
	int err;

	if (!job)
		return -ENOMEM;
	job->holders = 1;
	err = open_recording_get(set, name, &op, fault);
	if (!err) {
		open_recording_refresh(op, 0);
		atomic_fetch_add(&job->holders, 1);
		err = open_recording_run(op, tell, job_drop, job);
		open_recording_put(op);
		if (err)
			fault_set(fault, err, "io", "cannot read %s", name);
		if (err)
			fault_why(fault, "%s", strerror(-err));
	}
	/*
	 * After open_recording_run() the thread only drops the job, so the
	 * result can be taken.
	 */
	if (!err) {
		*info = job->info;
		job->info = NULL;
	}
	job_drop(job);
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
	    info,
	    json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "read_from_disks",
		      (json_int_t)c->disks, "read_from_memory",
		      (json_int_t)c->memory, "unreadable_bytes",
		      (json_int_t)c->unreadable, "filled_bytes",
		      (json_int_t)c->filled, "healed", (json_int_t)c->healed,
		      "damaged_bytes", (json_int_t)c->damaged));
}

static int
print(json_t *info, const struct info_about *about, const struct info_counts *c,
      char **text, uint64_t *bytes)
{
	char *line = NULL, *longer;

	if (info && !json_object_set_new(info, "views", views_json(about)) &&
	    !add_counts(info, c))
		line = json_dumps(info, JSON_INDENT(1));
	json_decref(info);
	if (!line)
		return -ENOMEM;
	*bytes = strlen(line) + 1;
	longer = realloc(line, *bytes + 1);
	if (!longer) {
		free(line);
		return -ENOMEM;
	}
	*text = longer;
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
info_text(struct open_recordings *set, const struct info_about *about,
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
