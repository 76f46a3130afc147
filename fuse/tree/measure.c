/* SPDX-License-Identifier: MIT */
/*
 * Makes the same view that a reader gets, and asks it for its length, so that
 * both agree whatever is missing.
 */
#include "config.h"

#include "fuse/tree/measure.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "store/read/open_file.h"

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
get(struct opened_set *set, const struct tree_file *f, struct opened **op,
    struct opened_facts *facts)
{
	struct fault fault;
	int err = opened_get(set, f->name, op, &fault);

	if (err)
		return err;
	opened_facts(*op, facts);
	if (facts->begun_ns != f->begun_ns) {
		opened_put(*op);
		return -ESTALE;
	}
	if (facts->state != RECORDING_LIVE)
		return 0;
	opened_refresh(*op, fresh);
	opened_facts(*op, facts);
	return 0;
}

int
measure_file(struct opened_set *set, const struct view_choice *mounted,
	     const struct tree_file *f, struct measured *m)
{
	struct opened_facts facts;
	struct view_choice choice;
	struct reading *reading;
	struct opened *op;
	struct fault fault;
	int err = get(set, f, &op, &facts);

	if (err)
		return say(err, f);
	choice = measure_choice(mounted, f, facts.store);
	err = reading_open(&reading, op, &choice, &fault);
	if (!err) {
		m->bytes = reading_bytes(reading);
		m->end_ns = facts.end_ns;
		reading_close(reading);
	}
	opened_put(op);
	return say(err, f);
}

/* ---- threads --------------------------------------------------------- */

/*
 * Shared by the caller and the recording's thread; the last of the two frees
 * it.
 */
struct search {
	atomic_uint holders;
	struct measured_thread *thread;
	size_t n;
};

static void
drop(void *arg)
{
	struct search *s = arg;

	/* acq_rel: the last holder frees what the other one made. */
	if (atomic_fetch_sub_explicit(&s->holders, 1, memory_order_acq_rel) !=
	    1)
		return;
	free(s->thread);
	free(s);
}

static int
add(struct search *s, unsigned sub, const uint32_t *thread, size_t n)
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
	struct search *s = arg;
	int n, err = 0;

	for (unsigned sub = 0; sub < subs && !err; sub++) {
		n = view_threads(rec, sub, thread, THREADS_MOST);
		err = n < 0 ? n : add(s, sub, thread, (size_t)n);
	}
	return err;
}

int
measure_threads(struct opened_set *set, const struct tree_file *f,
		struct measured_thread **list, size_t *n)
{
	struct search *s = calloc(1, sizeof *s);
	struct opened_facts facts;
	struct opened *op;
	int err;

	if (!s)
		return -ENOMEM;
	s->holders = 1;
	err = get(set, f, &op, &facts);
	if (!err) {
		atomic_fetch_add(&s->holders, 1);
		err = opened_run(op, search, drop, s);
		opened_put(op);
	}
	if (!err) {
		*list = s->thread;
		*n = s->n;
		s->thread = NULL;
	}
	drop(s);
	return say(err, f);
}
