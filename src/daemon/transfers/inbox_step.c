/* SPDX-License-Identifier: MIT */
/*
 * The event loop's work for incoming copies: it knows the disks and their
 * writer threads.  It never waits for a connection's thread: a copy that has to
 * wait is looked at again in the next turn.
 *
 * A copy whose sender does not come back for a minute is closed as interrupted,
 * without an end record; it continues when the sender does.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"
#include "daemon/sessions/recorder.h"
#include "daemon/transfers/inbox_priv.h"

#define PATIENCE (60 * NS_SECOND)

/* ---- disks ----------------------------------------------------------- */

/*
 * Lists the disks for a copy.  The connection's thread opens them, since that
 * may take long.
 */
static struct copy_in_disks *
here_find(const struct fleet *fleet)
{
	struct copy_in_disks *h = calloc(1, sizeof *h);

	for (unsigned i = 0; h && i < fleet->n; i++) {
		struct writer *w = fleet_writer(fleet, i);
		struct disk *disk = &h->disk[h->disks.n];
		struct writer_facts f;

		if (!w)
			continue;
		writer_facts(w, &f);
		if (f.state == WRITER_HUNG)
			continue;
		*disk = fleet->disk[i].disk; /* the path is borrowed from the
					      * fleet */
		disk->fd = -1;
		h->disks.n++;
	}
	if (h)
		h->disks.disk = h->disk;
	return h;
}

static bool
is_recorded(const struct recorder *r, const char *name)
{
	for (const struct session *s = r->sessions; s; s = s->next) {
		if (!strcmp(s->name, name))
			return true;
	}
	return false;
}

static void
asked(struct inbox *in, struct copy_in *c)
{
	struct fault fault = { 0 };

	if (is_recorded(in->r, c->name)) {
		fault_set(&fault, -EEXIST, "exists", "cannot copy to %.80s",
			  c->name);
		fault_why(&fault, "a recording of that name is being made");
		fault_hint(&fault, "give the copy another name (--as)");
		copy_in_fail(c, &fault);
		return;
	}
	c->here = here_find(&in->r->fleet);
	if (!c->here || !c->here->disks.n) {
		fault_set(&fault, -ENODEV, "no-disk",
			  "there is no disk to copy to");
		copy_in_fail(c, &fault);
		return;
	}
	if (!c->id)
		c->id = ++in->r->last_id;
	copy_in_move(c, COPY_IN_LOOKING);
}

/* ---- folders --------------------------------------------------------- */

static void
folders_begin(struct inbox *in, struct copy_in *c)
{
	struct fleet *fleet = &in->r->fleet;

	copy_in_move(c, COPY_IN_BEGINNING);
	atomic_store(&c->output->jobs, fleet_writers(fleet));
	for (unsigned i = 0; i < fleet->n; i++) {
		struct writer *w = fleet_writer(fleet, i);

		if (w && writer_begin(w, c->output) < 0)
			abort(); /* out of a few bytes of memory, while other
				  * disks have begun */
	}
}

static bool
jobs_done(const struct copy_in *c)
{
	return atomic_load_explicit(&c->output->jobs, memory_order_acquire) ==
	       0;
}

static void
begin_look(struct inbox *in, struct copy_in *c)
{
	bool done = jobs_done(c); /* read before `folders`: all writers
				      * are counted then */
	struct fault fault = { 0 };

	if (atomic_load(&c->output->folders)) {
		log_line(LEVEL_INFO, c->name, "a copy comes in from %s",
			 c->from);
		copy_in_move(c, COPY_IN_TAKING);
		keeper_poke(in->r->keeper);
	} else if (done) {
		fault_set(&fault, -ENODEV, "no-disk",
			  "no disk could take %.80s", c->name);
		copy_in_fail(c, &fault);
	}
}

/* ---- the end of a copy ------------------------------------------------ */

static void
folders_end(struct inbox *in, struct copy_in *c)
{
	struct fleet *fleet = &in->r->fleet;

	atomic_store_explicit(&c->output->ended, true, memory_order_release);
	atomic_store(&c->output->jobs, fleet_writers(fleet));
	for (unsigned i = 0; i < fleet->n; i++) {
		struct writer *w = fleet_writer(fleet, i);

		if (w && writer_end(w, c->output, c->ended ? &c->end : NULL,
				    NULL) < 0)
			abort();
	}
}

static void
closing_look(struct inbox *in, struct copy_in *c)
{
	bool ended = atomic_load(&c->output->ended);

	if (!ended && fleet_takers(&in->r->fleet) == 0)
		fleet_abandon(&in->r->fleet, c->output);
	if (!ended && jobs_done(c) &&
	    atomic_load_explicit(&c->output->in_flight, memory_order_acquire) ==
		0)
		folders_end(in, c);
	else if (ended && jobs_done(c))
		copy_in_move(c, COPY_IN_CLOSED);
}

/*
 * Tells whether a copy has ended: no connection is left, and none is to be
 * expected.
 */
static bool
is_over(const struct copy_in *c, int64_t now)
{
	bool there = c->state >= COPY_IN_THERE;

	/* The disks' writers are making folders: wait for them. */
	if (c->links || c->state == COPY_IN_LOOKED ||
	    c->state == COPY_IN_BEGINNING)
		return false;
	return c->stopping || there || now - c->idle > PATIENCE;
}

/* Closes a copy whose folders were made; drops any other. */
static void
give_up(struct copy_in *c, bool stopped)
{
	bool wrote = c->state == COPY_IN_TAKING;

	if (wrote)
		log_line(LEVEL_WARN, c->name,
			 stopped ? "the copy was stopped: it is interrupted"
				 : "the sender does not come back: the "
				   "copy is interrupted");
	copy_in_move(c, wrote ? COPY_IN_CLOSING : COPY_IN_CLOSED);
}

static void
over(struct inbox *in, struct copy_in *c)
{
	char bytes[UNITS_TEXT];
	struct ledger_facts f;

	if (c->ledger && c->whole) {
		ledger_facts(c->ledger, &f);
		log_line(f.left ? LEVEL_WARN : LEVEL_INFO, c->name,
			 "%s: %llu chunks, %s, from %s; %llu were here%s",
			 c->ended ? "copied" : "as far as it goes",
			 (unsigned long long)f.durable,
			 units_show_bytes(bytes, f.durable_bytes), c->from,
			 (unsigned long long)f.there,
			 f.left ? "; some could not be read there" : "");
	}
	if (c->output) {
		keeper_touch(in->r->keeper, c->name);
		keeper_poke(in->r->keeper);
	}
}

/* ---- a turn of the event loop ----------------------------------------- */

static void
full_look(struct inbox *in, struct copy_in *c)
{
	bool full = fleet_takers(&in->r->fleet) == 0;

	pthread_mutex_lock(&c->lock);
	if (full != c->full)
		log_line(LEVEL_WARN, c->name,
			 full ? "no disk takes any more: the sender waits"
			      : "the copy goes on");
	c->full = full;
	pthread_mutex_unlock(&c->lock);
}

static void
rate_sample(struct copy_in *c, int64_t now)
{
	double seconds = (double)(now - c->sampled) / 1e9;
	struct ledger_facts f;

	if (seconds < 1 || !c->ledger)
		return;
	ledger_facts(c->ledger, &f);
	if (c->sampled)
		c->rate =
		    (double)(f.came_bytes - c->sampled_bytes) * 8 / seconds;
	c->sampled = now;
	c->sampled_bytes = f.came_bytes;
}

static void
copy_step(struct inbox *in, struct copy_in *c, int64_t now)
{
	enum copy_in_state state = copy_in_is(c);
	bool stopped, end;

	if (state == COPY_IN_ASKED)
		asked(in, c);
	else if (state == COPY_IN_LOOKED)
		folders_begin(in, c);
	else if (state == COPY_IN_BEGINNING)
		begin_look(in, c);
	else if (state == COPY_IN_CLOSING)
		closing_look(in, c);
	if (state == COPY_IN_TAKING) {
		full_look(in, c);
		rate_sample(c, now);
	}
	pthread_mutex_lock(&c->lock);
	stopped = c->stopping;
	end = state < COPY_IN_CLOSING && c->state == state && is_over(c, now);
	c->stopping |= end; /* no connection may join any more */
	pthread_mutex_unlock(&c->lock);
	if (end)
		give_up(c, stopped);
}

static bool
is_gone(struct inbox *in, struct copy_in *c)
{
	bool gone;

	pthread_mutex_lock(&c->lock);
	gone = c->state >= COPY_IN_CLOSED && !c->links && !in->users;
	pthread_mutex_unlock(&c->lock);
	return gone;
}

static void
copies_free(struct inbox *in)
{
	struct copy_in **at, *c, *ended = NULL;

	pthread_mutex_lock(&in->lock);
	for (at = &in->copies; (c = *at);) {
		if (!is_gone(in, c)) {
			at = &c->next;
			continue;
		}
		*at = c->next;
		c->next = ended;
		ended = c;
	}
	pthread_mutex_unlock(&in->lock);
	while ((c = ended)) {
		ended = c->next;
		mapping_end(in->r, c->id);
		over(in, c);
		copy_in_free(c);
	}
}

void
inbox_step(struct inbox *in, int64_t now)
{
	struct copy_in *c;

	if (!in)
		return;
	inbox_callers_step(in);
	/*
	 * The list may be walked without the lock: connections add in front
	 * only, and only this thread removes.
	 */
	pthread_mutex_lock(&in->lock);
	c = in->copies;
	pthread_mutex_unlock(&in->lock);
	for (; c; c = c->next)
		copy_step(in, c, now);
	copies_free(in);
}

bool
inbox_find(struct inbox *in, const char *name, struct mapping_of *of)
{
	struct copy_in *c;
	bool comes = false;

	if (!in)
		return false;
	pthread_mutex_lock(&in->lock);
	for (c = in->copies; c && strcmp(c->name, name) != 0; c = c->next)
		;
	pthread_mutex_unlock(&in->lock);
	if (c) {
		enum copy_in_state state = copy_in_is(c);

		comes = state == COPY_IN_TAKING || state == COPY_IN_CLOSING;
	}
	if (comes)
		*of = (struct mapping_of){ .id = c->id,
					   .output = c->output,
					   .stock = c->stock,
					   .copied = true };
	return comes;
}

int
inbox_end(struct inbox *in, const char *name)
{
	/*
	 * A recording's name has at least one character that is no digit, so
	 * digits alone are a number.
	 */
	bool number = !name[strspn(name, "0123456789")];
	unsigned long id = number ? strtoul(name, NULL, 10) : 0;
	struct copy_in *c;

	if (!in)
		return -ENOENT;
	pthread_mutex_lock(&in->lock);
	for (c = in->copies; c; c = c->next) {
		if ((id && c->id == id) || !strcmp(c->name, name))
			break;
	}
	pthread_mutex_unlock(&in->lock);
	if (!c)
		return -ENOENT;
	copy_in_cut(c);
	return 0;
}
