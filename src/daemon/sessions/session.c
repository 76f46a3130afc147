/* SPDX-License-Identifier: MIT */
/*
 * A recording begins with memory and sockets, because those can be refused.
 * Then it asks the writers for folders, and takes in blocks from the first
 * packet on while the disks still make them: each writer does the begin job
 * before any block.  An armed recording is received already, but its blocks
 * wait until it begins.
 *
 * A recording during which a daemon was killed goes on if the stream still
 * records the same.  All of it on the disks is looked at before anything is
 * opened for writing.  A disk that is known to hang counts as missing.  One
 * that begins to hang just then holds a thread of its own, not the event loop:
 * the order is refused for now, and may come again when the writers know the
 * disk.
 *
 * A recording ends in the order in which data flow: the receivers let go of the
 * stream and close open blocks; the last block in flight reaches a disk; every
 * disk syncs, or fails, or does not answer.  Only then the totals are known,
 * and every writer puts them at the end of its index.
 *
 * A split stream makes one session per part, all fed by the same recording
 * input, so they all stop when one is stopped.
 */
#include "daemon/sessions/session.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"
#include "base/worker.h"
#include "daemon/sessions/report.h"
#include "store/disk/remote.h"
#include "store/record/meta.h"
#include "store/finish/resume.h"
#include "flow/memory/arena.h"

/* The event loop waits so long, in ns, for the disks of a recording that is to
 * go on; 10 000 chunks are two megabytes to read. */
#define LOOK_PATIENCE (3 * NS_SECOND)
#define LOOK_END      NS_SECOND

/*
 * A look at what the disks have of an interrupted recording.  Its thread owns
 * all of it until the round has ended that reads the disks, and again from
 * worker_stop() on: closing a file may hang too.
 */
struct look {
	struct worker *worker;
	uint64_t poke;
	bool asked[DISK_SET_MOST]; /* disks of the disk set, at its start */
	const char *name;	   /* behind the struct */
	struct disks disks;
	unsigned number[DISK_SET_MOST]; /* of each disk in the disk set */
	struct resume *resume;
	struct fault fault;
	int err;
	bool looked;
	/* Set by the thread when it has read the disks, and by the event loop
	 * when it waits no longer; whoever comes second sees that. */
	atomic_bool over;
	struct look *next; /* looks_left */
};

/* Looks that the event loop waits for no longer, and whose threads hang, or
 * have closed their disks since.  Used by the event loop. */
static struct look *looks_left;

static void
look_close(struct look *l)
{
	resume_free(l->resume);
	l->resume = NULL;
	disks_clear(&l->disks);
}

/* Opens the disks, and leaves out those that cannot be opened. */
static void
look_open(struct look *l)
{
	unsigned n = 0;

	for (unsigned i = 0; i < l->disks.n; i++) {
		struct disk *disk = &l->disks.disk[i];

		if (disk_open(disk)) {
			free(disk->path);
			continue;
		}
		if (n < i)
			l->disks.disk[n] = *disk;
		l->number[n++] = l->number[i];
	}
	l->disks.n = n;
}

static int64_t
look_round(void *arg)
{
	struct look *l = arg;

	if (worker_stops(l->worker)) {
		look_close(l);
	} else if (!l->looked) {
		look_open(l);
		l->err = resume_look(&l->resume, &l->disks, l->name, &l->fault);
		l->looked = true;
		if (atomic_exchange(&l->over, true))
			look_close(l);
	}
	return WORKER_RESTS;
}

/* Ends a look whose round is over.  If closing the disks hangs, the thread is
 * left behind with it. */
static void
look_end(struct look *l)
{
	if (worker_stop(l->worker, LOOK_END))
		free(l);
}

/* Ends the looks that hang no longer. */
static void
looks_end(void)
{
	struct look **at = &looks_left, *l;

	while ((l = *at)) {
		if (worker_wait(l->worker, l->poke, 0)) {
			*at = l->next;
			look_end(l);
		} else {
			at = &l->next;
		}
	}
}

/* True if a look hangs and all its disks would be asked again: none of them is
 * known to hang yet. */
static bool
would_hang(const struct look *l)
{
	for (const struct look *p = looks_left; p; p = p->next) {
		unsigned i = 0;

		while (i < DISK_SET_MOST && (!p->asked[i] || l->asked[i]))
			i++;
		if (i == DISK_SET_MOST)
			return true;
	}
	return false;
}

/* True if the disks have been read; false: the look is left to its thread. */
static bool
look_wait(struct look *l)
{
	l->poke = worker_poke(l->worker);
	if (worker_wait(l->worker, l->poke, LOOK_PATIENCE) ||
	    atomic_exchange(&l->over, true))
		return true;
	l->next = looks_left;
	looks_left = l;
	return false;
}

static int
look_start(struct look **look, const struct disk_set *set, const char *name,
	   struct fault *fault)
{
	struct look *l = calloc(1, sizeof *l + strlen(name) + 1);
	struct worker_args worker = { .name = "spate-resume",
				      .round = look_round,
				      .arg = l,
				      .first = WORKER_RESTS,
				      .finishes = true };
	int err = l ? disk_set_copy(set, &l->disks, l->number) : -ENOMEM;

	if (!err) {
		l->name = strcpy((char *)(l + 1), name);
		for (unsigned i = 0; i < l->disks.n; i++)
			l->asked[l->number[i]] = true;
		err = would_hang(l) ? -ETIMEDOUT
				    : worker_start(&l->worker, &worker);
	}
	if (err) {
		if (l)
			disks_clear(&l->disks);
		free(l);
		return err == -ETIMEDOUT
			   ? err
			   : fault_set(fault, err, "no-memory",
				       "cannot go on with %.80s: %s", name,
				       strerror(-err));
	}
	*look = l;
	return 0;
}

/* Looks what the disks have.  0: *look has to be ended; or as resume_look(), or
 * -ETIMEDOUT: a disk does not answer. */
static int
look_take(struct look **look, const struct disk_set *set, const char *name,
	  struct fault *fault)
{
	struct look *l = NULL;
	int err;

	looks_end();
	err = look_start(&l, set, name, fault);
	if (!err && !look_wait(l))
		err = -ETIMEDOUT;
	else if (!err && !l->err)
		*look = l;
	else if (!err) {
		err = l->err;
		*fault = l->fault;
		look_end(l);
	}
	if (err != -ETIMEDOUT)
		return err;
	fault_set(fault, -ETIMEDOUT, "busy", "cannot go on with %.80s now",
		  name);
	fault_why(fault, "one of the disks does not answer");
	fault_hint(fault, "try again: a disk that 'spate disks' shows as hung "
			  "is not waited for");
	return -ETIMEDOUT;
}

static json_t *
paths_json(const struct disk_set *set)
{
	json_t *paths = json_array();

	for (unsigned i = 0; i < set->n; i++) {
		if (disk_set_writer(set, i))
			json_array_append_new(
			    paths, json_string(disk_set_path(set, i)));
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
output_resume(struct session *s, const struct resume *r,
	      struct output_args *args)
{
	json_t *paths = paths_json(s->host->disks);
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

/*
 * Makes the output of a recording that goes on from what the disks have
 * (session.c); s->head and s->start_ns become those of that recording.
 * Returns 0; -ENOENT: no disk has it; or -errno; each with a fault.
 */
static int
session_resume(struct session *s, struct output_args *args, struct fault *fault)
{
	struct look *l = NULL;
	int err = look_take(&l, s->host->disks, s->name, fault);

	if (err)
		return err;
	err = resume_fits(l->resume, s->head, fault);
	if (!err) {
		args->resume_disk = l->number;
		err = output_resume(s, l->resume, args);
	}
	look_end(l);
	return err;
}

/* ---- opening --------------------------------------------------------- */

static void
changed(void *arg)
{
	const struct session_host *host = arg;

	host->wake(host->arg);
}

static int
head_make(struct session *s)
{
	const struct stream *stream = s->stream;
	struct meta_head head = { .name = s->name,
				  .stream = stream->name,
				  .format = stream->o.format,
				  .extension = stream->format->extension,
				  .layout = stream->layout,
				  .fill = stream->fill,
				  .start_ns = s->start_ns,
				  .shape = s->shape,
				  .geometry = &stream->geometry,
				  .subs = stream->plan.subs,
				  .channels_per_file =
				      stream->o.channels_per_file,
				  .max_loss = stream->o.max_loss,
				  .vbs_cfg = stream->o.vbs_cfg,
				  .parity =
				      s->input->parity ? stream->o.parity : 0 };
	const struct disk_set *set = s->host->disks;
	const char *path[DISK_SET_MOST];

	for (unsigned i = 0; i < set->n; i++) {
		if (disk_set_writer(set, i))
			path[head.disks_n++] = disk_set_path(set, i);
	}
	head.disks = path;
	/* Without one, time and disks tell recordings of one name apart. */
	if (getrandom(&head.id, sizeof head.id, GRND_NONBLOCK) < 0)
		head.id = 0;
	s->head = meta_head(&head);
	return s->head ? 0 : -ENOMEM;
}

static int
output_open(struct session *s, bool resume, struct fault *fault)
{
	struct output_args args = { .name = s->name,
				    .head = s->head,
				    .queue = s->host->queue,
				    .disks = DISK_SET_MOST,
				    .durable = s->host->durable,
				    .changed = changed,
				    .arg = (void *)s->host,
				    .subs = s->stream->plan.subs,
				    .fill = s->stream->fill,
				    .whole = s->stream->layout == LAYOUT_MARK6,
				    .format = s->stream->format,
				    .shape = s->shape,
				    .parity = s->stream->o.parity,
				    .parity_pool = s->input->parity,
				    .hold = stream_holds(s->stream)
						? s->input->pool
						: NULL };
	int err = resume ? session_resume(s, &args, fault) : -ENOENT;

	if (err == -ENOENT)
		err = output_make(&s->output, &args);
	return err;
}

static int
session_make(struct session *s, bool resume, struct fault *fault)
{
	int err;

	if (s->stream->plan.subs > 1) {
		s->sub = calloc(s->stream->plan.subs, sizeof *s->sub);
		if (!s->sub)
			return fault_no_memory(fault);
	}
	err = head_make(s);
	if (err)
		return fault_no_memory(fault);
	err = output_open(s, resume, fault);
	return err == -ENOMEM ? fault_no_memory(fault) : err;
}

const char *
session_name(char name[SESSION_NAME], const char *base,
	     const struct stream *stream, unsigned part)
{
	if (stream->split == SPLIT_STATION)
		snprintf(name, SESSION_NAME, "%.137s_ds%.8s", base,
			 stream->o.stations.text[part]);
	else if (stream->split == SPLIT_THREAD)
		snprintf(name, SESSION_NAME, "%.137s_ds%u", base,
			 stream->key[part]);
	else
		snprintf(name, SESSION_NAME, "%.137s", base);
	return name;
}

/* Sets start, end and first state. */
static void
times_set(struct session *s, int64_t now)
{
	const struct session_when *when = &s->when;

	s->start_ns = clock_now();
	s->started = s->sampled = now;
	s->state = SESSION_BEGINNING;
	health_begin(&s->health, now, s->host->durable);
	if (when->data || when->start > now)
		s->state = SESSION_ARMED;
	if (when->data) {
		s->start_ns = when->start;
		return;
	}
	s->stop_at = when->stop;
	if (s->state == SESSION_ARMED) {
		s->start_ns += when->start - now;
		s->started = when->start;
	}
}

/* Makes a session, with one more user of the recording input. */
static struct session *
session_new(const struct session_host *host, struct recording_input *input,
	    const struct session_args *args, unsigned part)
{
	struct session *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->host = host;
	s->stream = input->in->stream;
	s->in = input->in;
	s->input = input;
	input->users++;
	s->part = part;
	s->shape = stream_input_shape(s->in, part);
	session_name(s->name, input->name, s->stream, part);
	s->scan = args->scan;
	s->when = args->when;
	times_set(s, clock_steady());
	kernel_look(&s->kernel);
	return s;
}

/* Returns the time window of a recording.  A recording that joins others on an
 * open stream takes only packets that arrive from now on. */
static struct time_window
window_of(const struct session_when *when, bool joins)
{
	struct time_window g = { .open = INT64_MIN,
				 .close = when->stop ? when->stop : INT64_MAX,
				 .data = when->data };

	if (when->start)
		g.open = when->start;
	else if (joins && !when->data)
		g.open = clock_steady();
	return g;
}

static int
sessions_make(struct session **list, const struct session_host *host,
	      struct recording_input *input, const struct session_args *args,
	      struct fault *fault)
{
	struct recording_input_out out[STREAM_KEYS];
	struct recording_input_args from = {
		.time_window = window_of(&args->when, input->in->begun),
		.backlog = args->when.backlog,
		.signal = host->signal,
		.changed = changed,
		.arg = (void *)host,
	};
	int err = 0;

	for (unsigned i = input->in->stream->keys; i-- && !err;) {
		struct session *s = session_new(host, input, args, i);

		if (!s)
			return fault_no_memory(fault);
		s->next = *list;
		*list = s;
		from.waits = s->state == SESSION_ARMED;
		err = session_make(s, args->resume, fault);
		out[i] = (struct recording_input_out){ output_put, s->output };
	}
	if (err)
		return err;
	err = recording_input_feed(input, &from, out);
	return err ? fault_no_memory(fault) : 0;
}

/* Borrows more blocks if disks have come since the configuration was read. */
static void
disks_count(struct stream *stream, const struct session_host *host)
{
	struct arena_facts f = arena_facts(host->arena);
	unsigned disks = disk_set_writers(host->disks);

	stream_disks(stream, disks, f.bytes - (f.borrowed - f.lent));
	if (!stream->o.blocks && stream->disks < disks)
		log_line(LEVEL_INFO, stream->name,
			 "is recorded with %u blocks, enough for %u disks, but "
			 "there are %u: `memory` has no room for more",
			 stream->blocks, stream->disks, disks);
}

/* Refuses a start by the data's time if packet headers do not carry it; heaps
 * have their times elsewhere. */
static int
when_check(const struct session_args *args, struct fault *fault)
{
	if (!args->when.data || args->stream->format->parse)
		return 0;
	fault_set(fault, -EINVAL, "usage",
		  "stream %s cannot begin or end by the time of its data",
		  args->stream->name);
	fault_why(fault, "packets of format %s carry no time",
		  args->stream->o.format);
	fault_hint(
	    fault,
	    "leave out the '@' of the time: then the time of arrival counts");
	return -EINVAL;
}

/* Returns a reference to the stream's open input; opens it if this is the only
 * recording. */
static int
stream_input_take(struct stream_input **in, const struct session_host *host,
		  const struct session_args *args, struct fault *fault)
{
	*in = args->stream->input;
	if (!*in)
		return stream_input_open(in, args->stream, args->name,
					 host->receivers->n, fault);
	stream_input_hold(*in);
	return 0;
}

int
session_open(struct session **list, const struct session_host *host,
	     const struct session_args *args, struct fault *fault)
{
	struct stream_input *in;
	struct recording_input *input;
	int err = when_check(args, fault);

	*list = NULL;
	if (err)
		return err;
	disks_count(args->stream, host);
	err = stream_input_take(&in, host, args, fault);
	if (err)
		return err;
	err = recording_input_open(&input, in, host->arena, args->name,
				   args->later, fault);
	stream_input_put(in); /* the recording input holds its own reference */
	if (err)
		return err;
	err = sessions_make(list, host, input, args, fault);
	if (!err)
		return 0;
	if (!*list)
		recording_input_put(input);
	session_drop(*list);
	*list = NULL;
	return err;
}

/* Gives every writer the begin job, also one whose disk is away now. */
static void
folders_begin(struct session *s)
{
	struct disk_set *set = s->host->disks;

	atomic_store(&s->output->jobs, disk_set_writers(set));
	for (unsigned i = 0; i < set->n; i++) {
		struct writer *w = disk_set_writer(set, i);

		if (w && writer_begin(w, s->output) < 0)
			/* no memory for a few bytes, and other writers have
			 * begun */
			abort();
	}
}

/* Makes the head of the metadata anew at the start: the time, what was learned,
 * and the disks were not known before. */
static void
head_renew(struct session *s)
{
	json_t *was = s->head;

	if (head_make(s) < 0) {
		s->head = was;
		return;
	}
	json_decref(was);
	output_head(s->output, s->head);
}

/* Has the folders made when the start is due; called by session_step
 * (session.c). */
static void
session_start(struct session *s)
{
	int64_t now = clock_steady();

	s->state = SESSION_BEGINNING;
	if (s->when.data)
		s->started = now;
	/* a resumed recording keeps its first start */
	if (!s->output->resumed) {
		s->start_ns = clock_now() + s->started - now;
		head_renew(s);
	}
	kernel_clear(&s->kernel);
	kernel_look(&s->kernel);
	folders_begin(s);
	recording_input_release(s->input, s->part);
}

/* Watches the receiver threads of a recording. */
static void
overruns_begin(struct session *s)
{
	struct stream_input *in = s->in;
	pid_t *thread = calloc(in->shares, sizeof *thread);

	for (unsigned k = 0; thread && k < in->shares; k++)
		thread[k] = receiver_thread(in->share[k].member->receiver);
	overrun_watch_open(&s->overruns, s->host->overruns, thread,
			   thread ? in->shares : 0);
	free(thread);
}

void
session_begin(struct session *list)
{
	struct recording_input *input = list->input;

	for (struct session *s = list; s && s->input == input; s = s->next) {
		if (s->state == SESSION_BEGINNING)
			folders_begin(s);
	}
	recording_input_begin(input, list->host->receivers);
	for (struct session *s = list; s && s->input == input; s = s->next)
		overruns_begin(s);
}

void
session_drop(struct session *list)
{
	struct session *next;

	for (; list; list = next) {
		next = list->next;
		session_free(list);
	}
}

void
session_free(struct session *s)
{
	if (s->output) {
		/* closes an output that may never have begun */
		output_end(s->output);
		output_drop(s->output);
	}
	free(s->send);
	free(s->sub);
	kernel_clear(&s->kernel);
	overrun_watch_close(&s->overruns);
	json_decref(s->kernel_lost);
	json_decref(s->head);
	recording_input_put(s->input);
	free(s);
}

/* ---- states ---------------------------------------------------------- */

/* Ends an armed session: no folders exist, so there is nothing to wait for. */
static void
session_cancel(struct session *s, const char *reason)
{
	s->reason = reason;
	s->state = SESSION_STOPPING;
	s->cancelled = true;
	recording_input_cancel(s->input, reason);
	s->end_ns = clock_now();
	log_line(LEVEL_INFO, s->name, "cancelled (%s) before it began", reason);
}

void
session_stop(struct session *s, const char *reason)
{
	if (s->state > SESSION_RECORDING)
		return;
	if (s->state == SESSION_ARMED) {
		session_cancel(s, reason);
		return;
	}
	s->reason = reason;
	s->state = SESSION_STOPPING;
	s->end_ns = clock_now();
	if (s->stop_at && s->stop_at < clock_steady())
		s->end_ns -= clock_steady() - s->stop_at;
	recording_input_stop(s->input, reason);
}

void
session_stop_at(struct session *s, int64_t at)
{
	struct time_window time_window = s->input->time_window;

	if (s->state > SESSION_RECORDING || s->input->stopped)
		return;
	s->when.stop = at;
	if (!time_window.data)
		s->stop_at = at;
	time_window.close = at ? at : INT64_MAX;
	recording_input_gate(s->input, &time_window);
}

void
session_start_at(struct session *s, int64_t at)
{
	struct time_window time_window = s->input->time_window;

	if (s->state != SESSION_ARMED || time_window.data)
		return;
	s->when.start = s->started = time_window.open = at;
	s->start_ns = clock_now() + at - clock_steady();
	recording_input_gate(s->input, &time_window);
}

/* True if all writers have done their job.  The acquire pairs with the writers'
 * release (output.h). */
static bool
jobs_done(struct session *s)
{
	return atomic_load_explicit(&s->output->jobs, memory_order_acquire) ==
	       0;
}

static void
folders_sync(struct session *s)
{
	struct disk_set *set = s->host->disks;

	atomic_store(&s->output->jobs, disk_set_writers(set));
	for (unsigned i = 0; i < set->n; i++) {
		struct writer *w = disk_set_writer(set, i);

		if (w && writer_sync(w, s->output) < 0)
			/* no memory for a few bytes, and no way back */
			abort();
	}
}

/* Logs who had the CPU that a receiver waited for, when that is known. */
static void
culprit_tell(const struct session *s)
{
	const struct overrun_watch *w = &s->overruns;

	if (!w->named)
		return;
	log_line(LEVEL_WARN, s->name,
		 "%s had most of the CPU time in the second after its receiver "
		 "waited%s",
		 w->named->process,
		 w->named == &w->account[OVERRUN_WRITEBACK]
		     ? ": the kernel writes to disks what programs left in its "
		       "cache"
		     : "");
}

/* Logs new overruns with their cause, once for all parts of a stream. */
static void
overruns_tell(struct session *s, int64_t now)
{
	static const char *const met[OVERRUN_CAUSES] = {
		[OVERRUN_THROTTLED] =
		    "the control group of spated, or one above it, had no CPU "
		    "time left for %.0f ms; raise CPUQuota= of the service, or "
		    "of its slice",
		[OVERRUN_STOLEN] = "the host of this virtual machine gave its "
				   "CPUs to others for %.0f ms",
		[OVERRUN_PAGED] = "its receiver waited for memory that was "
				  "read from a disk",
		[OVERRUN_WAITED] = "its receiver waited %.0f ms for a CPU",
		[OVERRUN_BUSY] = "its receiver had no rest: too much comes for "
				 "one thread, or for this CPU",
		[OVERRUN_UNKNOWN] = "its receiver had time: a burst was longer "
				    "than the buffer",
	};
	enum overrun_cause cause;
	int64_t lost_ns;
	uint64_t n =
	    overrun_watch_look(&s->overruns, recording_input_overruns(s->input),
			       now, &cause, &lost_ns);
	char why[200];

	if (s->part)
		return;
	culprit_tell(s);
	if (!n)
		return;
	snprintf(why, sizeof why, met[cause], (double)lost_ns / 1e6);
	log_line(LEVEL_WARN, s->name,
		 "%" PRIu64 " overruns of a socket's buffer; in the last two "
		 "seconds %s",
		 n, why);
}

/* Finds why packets were dropped, and logs it at once, so that a disk can be
 * mended or the next scan saved; at most once a second.  The line at the end
 * has the rest. */
static void
no_buffer_tell(struct session *s, const struct counts *c, int64_t now)
{
	uint64_t n = c->drop[DROP_NO_BUFFER];
	const struct no_buffer_account *a = no_buffer_watch_look(
	    &s->no_buffer, n, s->host->disks, s->input->pool, now);
	char why[PATH_MAX + 120];

	if (a)
		s->no_buffer_last = a;
	if (n == s->no_buffer_told || now - s->no_buffer_at < NS_SECOND)
		return;
	log_line(LEVEL_WARN, s->name,
		 "%" PRIu64 " packets were dropped (no_buffer), %" PRIu64
		 " in all: %u of its %u blocks are free; %s",
		 n - s->no_buffer_told, n,
		 block_pool_free_blocks(s->input->pool),
		 block_pool_blocks(s->input->pool),
		 no_buffer_why(s->no_buffer_last, why, sizeof why));
	s->no_buffer_told = n;
	s->no_buffer_at = now;
}

static void
folders_end(struct session *s)
{
	struct index_record end = {
		.number = atomic_load(&s->output->records),
		.first = atomic_load(&s->output->packets),
		.first_ns = s->start_ns,
		.last_ns = s->end_ns,
		.kind = INDEX_END,
	};
	struct disk_set *set = s->host->disks;
	struct counts c;
	json_t *tail;

	/* Nothing comes any more: each drop and each overrun has its cause in
	 * the metadata. */
	recording_input_counts(s->input, s->part, &c);
	no_buffer_tell(s, &c, clock_steady());
	overruns_tell(s, clock_steady());
	tail = report_tail(s);

	output_end(s->output);
	/* Release: a hung disk that gets to its begin job later makes no
	 * folder. */
	atomic_store_explicit(&s->output->ended, true, memory_order_release);

	/* A copy for each writer: the reference count of a JSON value orders
	 * nothing between threads, so the last owner might free it while
	 * another still reads. */
	atomic_store(&s->output->jobs, disk_set_writers(set));
	for (unsigned i = 0; i < set->n; i++) {
		struct writer *w = disk_set_writer(set, i);

		if (w &&
		    writer_end(w, s->output, &end, json_deep_copy(tail)) < 0)
			/* no memory for a few bytes, and no way back */
			abort();
	}
	json_decref(tail);
}

/* Logs once when no disk takes blocks any more, and once when disks do
 * again. */
static void
disks_look(struct session *s)
{
	const struct block_pool *pool = s->input->pool;
	bool none = !disk_set_serves(s->host->disks, s->output);

	if (none && !s->diskless)
		log_line(LEVEL_ERROR, s->name,
			 "no disk takes blocks: they wait in memory, which has "
			 "room for %u more of %u",
			 block_pool_free_blocks(pool), block_pool_blocks(pool));
	if (!none && s->diskless)
		log_line(LEVEL_WARN, s->name, "disks take blocks again");
	s->diskless = none;
}

/* While no disk takes blocks, no writer frees what parity holds in memory, and
 * parity has no disk either. */
static void
protect_look(struct session *s)
{
	if (!block_pool_roomy(s->input->pool) &&
	    !disk_set_serves(s->host->disks, s->output))
		output_protect_give_up(s->output);
}

/* ns that an answer waits for a disk that recorders share */
#define SHARED_PATIENCE (2 * NS_SECOND)

/* True if a disk takes part that other recorders may share. */
static bool
is_shared(const struct disk_set *set)
{
	for (unsigned i = 0; i < set->n; i++) {
		if (disk_set_writer(set, i) &&
		    remote_is_path(disk_set_path(set, i)))
			return true;
	}
	return false;
}

/*
 * One folder is enough to record, and a hung disk is not waited for; but one
 * that others share is, for two seconds, as it may say that another recorder
 * has the name.  If no disk could make a folder, a client's order fails, since
 * the client is there to see it.  A scan of the schedule begins all the same: a
 * disk may come back while it lasts.
 */
static void
begin_look(struct session *s, int64_t now)
{
	/* the folders of these disks are counted */
	bool done = jobs_done(s);

	if (!done && is_shared(s->host->disks) &&
	    now - s->started < SHARED_PATIENCE)
		return;
	if (atomic_load(&s->output->folders) || (done && s->scan)) {
		s->state = SESSION_RECORDING;
	} else if (done) {
		s->failed = true;
		session_stop(s, "no disk could take it");
	}
}

/* Ends a recording whose name another recorder has on a disk that both use: of
 * two that begin at the same time the second is refused, a moment later than
 * others. */
static void
taken_look(struct session *s)
{
	if (s->state != SESSION_BEGINNING ||
	    !atomic_load_explicit(&s->output->taken, memory_order_relaxed))
		return;
	s->failed = s->taken = true;
	atomic_store_explicit(&s->output->refused, true, memory_order_relaxed);
	session_stop(s, "another recorder has its name");
}

/* Gives up blocks that no disk takes.  The recording has failed if that loses
 * data, and no disk is left. */
static void
rest_abandon(struct session *s, unsigned left)
{
	struct output *o = s->output;
	struct disk_set *disks = s->host->disks;
	uint64_t lost = atomic_load(&o->lost_packets);
	bool refused = disk_set_takers(disks) && !disk_set_serves(disks, o);

	disk_set_abandon(disks, o);
	if (atomic_load(&o->lost_packets) == lost) {
		log_line(LEVEL_WARN, s->name,
			 "no disk takes the last of its parity");
		return;
	}
	log_line(LEVEL_ERROR, s->name,
		 "no disk takes its last %u blocks: they are lost", left);
	if (refused || !disk_set_works(disks)) {
		s->failed = true;
		s->reason = refused ? "another recorder has it, or ended it"
				    : "no disk is left";
	}
}

/* Waits until no block is in flight, and no parity is to come of them.  Gives
 * the rest up if no disk takes blocks and their number has not changed for
 * SESSION_PATIENCE. */
static void
writing_look(struct session *s, int64_t now)
{
	unsigned left =
	    atomic_load_explicit(&s->output->in_flight, memory_order_acquire);
	bool late;

	if (left != s->left) {
		s->left = left;
		s->left_since = now;
	}
	late = now - s->left_since >= SESSION_PATIENCE;
	if (left && s->taken)
		disk_set_abandon(s->host->disks, s->output);
	else if (left && late && !disk_set_serves(s->host->disks, s->output))
		rest_abandon(s, left);
	if (atomic_load_explicit(&s->output->in_flight, memory_order_acquire))
		return;
	/* The last groups end with the last block, and are written, too: first
	 * none of them is left, then all their blocks are in flight. */
	if (!output_protect_end(s->output)) {
		if (late)
			output_protect_give_up(s->output);
		return;
	}
	if (atomic_load_explicit(&s->output->in_flight, memory_order_acquire))
		return;
	s->state = SESSION_SYNCING;
	folders_sync(s);
}

/* Logs once that blocks are recorded without parity, and at the end how many
 * were. */
static void
parity_tell(struct session *s, bool end)
{
	struct output *o = s->output;
	uint64_t lost = atomic_load(&o->parity_lost), without;
	unsigned disks = disk_set_takers(s->host->disks);

	if (!o->groups || (s->unprotected && !end))
		return;
	without = parity_groups_counts(o->groups).unprotected;
	if (!without && !lost)
		return;
	s->unprotected = true;
	if (end)
		log_line(LEVEL_WARN, s->name,
			 "%" PRIu64 " blocks were recorded without parity, and "
			 "%" PRIu64 " parity blocks are on no disk",
			 without, lost);
	else if (disks <= s->stream->o.parity)
		log_line(LEVEL_WARN, s->name,
			 "blocks are recorded without parity: %u disks take "
			 "blocks, and it needs %u",
			 disks, s->stream->o.parity + 1);
	else
		log_line(LEVEL_WARN, s->name,
			 "blocks are recorded without parity: disks take less "
			 "than comes, or have failed");
}

/* Closes the folders, unless blocks that could not be made durable are on their
 * way again.  That happens twice at most: where all disks take blocks but make
 * none durable, a recording has to end, too. */
static void
syncing_look(struct session *s, int64_t now)
{
	enum { AGAIN = 2 };
	struct output *o = s->output;

	if (!atomic_load_explicit(&o->in_flight, memory_order_acquire)) {
		if (disk_set_leaves(s->host->disks))
			return;
		output_hold_end(o);
	}
	if (!atomic_load_explicit(&o->in_flight, memory_order_acquire)) {
		s->state = SESSION_CLOSING;
		folders_end(s);
		return;
	}
	if (++s->again >= AGAIN)
		output_hold_end(o);
	s->state = SESSION_WRITING;
	s->left_since = now;
}

static void
ended(struct session *s)
{
	struct counts c;

	s->state = SESSION_ENDED;
	recording_input_counts(s->input, s->part, &c);
	if (!s->cancelled)
		no_buffer_tell(s, &c, clock_steady());
	parity_tell(s, true);
	if (!s->in->own)
		stream_learned(s->stream, s->shape);
	report_sample(s, clock_steady());
	report_summary(s);
}

void
session_subs_sample(struct session *s, int64_t now)
{
	for (unsigned i = 0; s->sub && i < s->stream->plan.subs; i++) {
		struct session_sub *sub = &s->sub[i];
		struct counts c;

		recording_input_sub_counts(s->input, i, &c);
		if (c.datagrams != sub->datagrams)
			sub->last = now;
		sub->datagrams = c.datagrams;
	}
}

/* Ends a recording whose data have a wrong time from the beginning, where the
 * configuration wants that: a correlator could not use it, and somebody may
 * still set the formatter's clock and begin anew.  A clock that goes wrong
 * later ends nothing. */
static void
clock_refuse(struct session *s)
{
	enum { FIRST = 5 }; /* seconds with data */
	const struct clock_watch *w = &s->clock;

	if (!s->stream->o.refuse_clock || s->state != SESSION_RECORDING ||
	    w->clock.points > FIRST ||
	    (w->wrong != CLOCK_FAR && w->wrong != CLOCK_EPOCH))
		return;
	s->failed = true;
	session_stop(s, "the time of its data is wrong: refuse_clock");
}

/* Looks at the clock of the data, and logs what is wrong with it. */
static void
clock_tell(struct session *s)
{
	struct clock_watch *w = &s->clock;
	struct data_clock_window window = { 0 };
	int64_t utc = clock_now();
	bool stepped;

	data_clock_clear(&window);
	recording_input_clock(s->input, &window);
	clock_watch_tai(w, clock_tai(), utc);
	if (!clock_watch_look(w, &window, s->stream->o.max_clock, &stepped))
		return;
	if (stepped)
		log_line(LEVEL_WARN, s->name,
			 "the clock of the data stepped by %+.4f s%s",
			 -(double)w->clock.step_ns / 1e9,
			 clock_watch_step(w, utc));
	if (w->wrong != CLOCK_RIGHT)
		log_line(LEVEL_WARN, s->name, "%s", w->why);
	clock_refuse(s);
	if (w->wrong == CLOCK_RIGHT && !stepped)
		log_line(LEVEL_INFO, s->name, "the time of the data is right");
}

/* Looks at the links of a recording, and logs which broke or became whole.
 * disks_look() has logged already that no disk takes blocks. */
static void
health_tell(struct session *s, const struct counts *c, int64_t now)
{
	struct output *o = s->output;
	const struct health_counts counts = {
		.datagrams = c->datagrams,
		.placed = c->placed,
		.written = atomic_load(&o->chunks),
		.lost = atomic_load(&o->lost_packets),
		.waiting = atomic_load(&o->in_flight),
		.bytes = atomic_load(&o->bytes),
		.durable = atomic_load(&o->durable_bytes),
	};
	unsigned changed;

	if (s->state != SESSION_RECORDING) {
		health_begin(&s->health, now, s->host->durable);
		return;
	}
	changed = health_look(&s->health, &counts, now);
	for (unsigned i = 0; i < HEALTH_LINKS; i++) {
		const struct health_part *p = &s->health.link[i];

		if (!(changed & 1u << i) || (s->diskless && i == HEALTH_WRITE))
			continue;
		if (p->broken)
			log_line(LEVEL_WARN, s->name, "%s, for %.1f s",
				 health_why(i), (double)(now - p->since) / 1e9);
		else
			log_line(LEVEL_INFO, s->name, "is well again: %s",
				 health_well(i));
	}
}

static void
rate_sample(struct session *s, int64_t now)
{
	double seconds = (double)(now - s->sampled) / 1e9;
	struct counts c;
	uint64_t bytes;

	if (seconds < 1)
		return;
	recording_input_counts(s->input, s->part, &c);
	bytes = c.bytes - s->sampled_bytes;
	s->rate = (double)bytes * 8 / seconds;
	s->sampled = now;
	s->sampled_bytes = c.bytes;
	no_buffer_tell(s, &c, now);
	overruns_tell(s, now);
	clock_tell(s);
	health_tell(s, &c, now);
	report_sample(s, now);
	parity_tell(s, false);
	session_subs_sample(s, now);
}

/* Begins when the start is due, by the clock or by the data. */
static void
armed_look(struct session *s, int64_t now)
{
	recording_input_age(s->input, s->part, now);
	if (s->when.data ? atomic_load(&s->input->opened)
			 : now >= s->when.start)
		session_start(s);
}

/* Ends when its time is over, or when its recording input has ended: the time
 * window closed by itself, or another part was stopped. */
static void
end_look(struct session *s, int64_t now)
{
	if ((s->stop_at && now >= s->stop_at) ||
	    recording_input_flushed(s->input))
		session_stop(s, s->input->stopped ? s->input->stopped : "time");
	if (s->input->stopped)
		session_stop(s, s->input->stopped);
}

void
session_step(struct session *s, int64_t now)
{
	rate_sample(s, now);
	recording_input_fill(s->input);
	protect_look(s);
	if (s->state == SESSION_ARMED)
		armed_look(s, now);
	taken_look(s);
	if (s->state == SESSION_BEGINNING)
		begin_look(s, now);
	if (s->state == SESSION_RECORDING && jobs_done(s))
		disks_look(s);
	end_look(s, now);
	if (s->state == SESSION_STOPPING && jobs_done(s) &&
	    recording_input_flushed(s->input)) {
		s->state = s->cancelled ? SESSION_ENDED : SESSION_WRITING;
		s->left_since = now;
	}
	if (s->state == SESSION_WRITING)
		writing_look(s, now);
	if (s->state == SESSION_SYNCING && jobs_done(s))
		syncing_look(s, now);
	if (s->state == SESSION_CLOSING && jobs_done(s))
		ended(s);
}
