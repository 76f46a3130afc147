/* SPDX-License-Identifier: MIT */
/*
 * Continues a recording during which a daemon was killed.  All of it on the
 * disks is looked at before anything is opened for writing, and the stream must
 * still record the same.  A disk that hangs now counts as missing.  Disks are
 * read on the event loop's thread.
 */
#include "daemon/sessions/session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/units.h"
#include "store/write/resume.h"

/* The disks that answer, with their numbers in the fleet. */
struct here {
	struct disk disk[FLEET_MOST];
	unsigned writer[FLEET_MOST];
	struct disks disks;
};

static struct here *
here_find(const struct fleet *fleet)
{
	struct here *h = calloc(1, sizeof *h);

	for (unsigned i = 0; h && i < fleet->n; i++) {
		struct writer *w = fleet_writer(fleet, i);
		struct writer_facts f;
		struct disk *disk = &h->disk[h->disks.n];

		if (!w)
			continue;
		writer_facts(w, &f);
		if (f.state == WRITER_HUNG)
			continue;
		/* the path is borrowed from the fleet */
		*disk = fleet->disk[i].disk;
		disk->fd = -1;
		if (disk_open(disk))
			continue;
		h->writer[h->disks.n++] = i;
	}
	if (h)
		h->disks.disk = h->disk;
	return h;
}

static void
here_free(struct here *h)
{
	for (unsigned i = 0; h && i < h->disks.n; i++)
		disk_close(&h->disk[i]);
	free(h);
}

static json_t *
paths_json(const struct fleet *fleet)
{
	json_t *paths = json_array();

	for (unsigned i = 0; i < fleet->n; i++) {
		if (fleet_writer(fleet, i))
			json_array_append_new(
			    paths, json_string(fleet_path(fleet, i)));
	}
	return paths;
}

static void
say(const struct session *s, const struct resume *r)
{
	char bytes[UNITS_TEXT], span[UNITS_TEXT];

	log_line(LEVEL_WARN, s->name,
		 "goes on, %s after it was interrupted: %u chunks, %s, %" PRIu64
		 " packets are there%s",
		 units_show_span(span, r->at_ns - r->stopped_ns),
		 r->facts->chunks, units_show_bytes(bytes, r->bytes),
		 r->facts->packets,
		 r->missing ? "; not all of its disks are" : "");
	if (!r->absent)
		return;
	log_line(LEVEL_WARN, s->name,
		 "%" PRIu64 " chunks %s; when it has ended, spate recover %s "
		 "gets what can be got of them",
		 r->absent,
		 r->missing ? "are on none of the disks that are here"
			    : "were on their way to the disks",
		 s->name);
}

static int
output_open(struct session *s, const struct resume *r, struct output_args *args)
{
	json_t *paths = paths_json(s->host->fleet);
	json_t *line = paths ? resume_line(r, paths) : NULL;
	json_t *head = json_deep_copy(r->facts->head);
	int err = line && head ? 0 : -ENOMEM;

	args->resume = r;
	args->resume_line = line;
	args->head = r->facts->head;
	if (!err)
		err = output_make(&s->output, args);
	json_decref(line);
	json_decref(paths);
	if (err) {
		json_decref(head);
		return err;
	}
	/* A copy each for session and output: any thread may free the output,
	 * and releasing a JSON value orders nothing between threads. */
	json_decref(s->head);
	s->head = head;
	s->start_ns = r->facts->start_ns;
	say(s, r);
	return 0;
}

int
session_resume(struct session *s, struct output_args *args, struct fault *fault)
{
	struct here *h = here_find(s->host->fleet);
	struct resume *r = NULL;
	int err = -ENOMEM;

	if (h)
		err = resume_look(&r, &h->disks, s->name, fault);
	if (!err)
		err = resume_fits(r, s->head, fault);
	if (!err) {
		args->resume_disk = h->writer;
		err = output_open(s, r, args);
	}
	resume_free(r);
	here_free(h);
	return err;
}
