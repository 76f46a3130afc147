/* SPDX-License-Identifier: MIT */
/* The states of a copy that comes in.  The threads of its connections wait for
 * the event loop; the event loop never waits for them, but is woken, acts on
 * the state and goes on. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/module.h"
#include "base/shape.h"
#include "flow/copy/copy_in.h"
#include "store/disk/layout.h"
#include "store/record/geometry.h"
#include "store/recording/recording.h"
#include "store/repair/verify.h"
#include "store/write/copy_origin.h"
#include "flow/memory/arena.h"

int
copy_in_make(struct copy_in **copy, const struct copy_in_host *host,
	     const char *name, const char *from)
{
	struct copy_in *c = calloc(1, sizeof *c);

	if (!c)
		return -ENOMEM;
	c->host = host;
	strncpy(c->name, name, sizeof c->name - 1);
	strncpy(c->from, from, sizeof c->from - 1);
	c->start_ns = clock_now();
	c->idle = clock_steady();
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->moved, NULL);
	*copy = c;
	return 0;
}

static void
here_free(struct copy_in_disks *h)
{
	for (unsigned i = 0; h && i < h->disks.n; i++)
		disk_close(&h->disk[i]);
	free(h);
}

/* Blocks that writers still hold keep the arena's memory until they are
 * dropped. */
void
copy_in_free(struct copy_in *c)
{
	if (c->blocks) {
		copy_blocks_forget(c->blocks);
		copy_blocks_drop(c->blocks);
	}
	if (c->output)
		output_drop(c->output);
	if (c->pool)
		block_pool_return(c->pool);
	here_free(c->here);
	json_decref(c->head);
	json_decref(c->told_head);
	free(c->threads);
	pthread_cond_destroy(&c->moved);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

enum copy_in_state
copy_in_is(struct copy_in *c)
{
	enum copy_in_state state;

	pthread_mutex_lock(&c->lock);
	state = c->state;
	pthread_mutex_unlock(&c->lock);
	return state;
}

void
copy_in_move(struct copy_in *c, enum copy_in_state state)
{
	pthread_mutex_lock(&c->lock);
	if (c->state < COPY_IN_CLOSED)
		c->state = state;
	pthread_cond_broadcast(&c->moved);
	pthread_mutex_unlock(&c->lock);
	c->host->wake(c->host->arg);
}

void
copy_in_fail(struct copy_in *c, const struct fault *fault)
{
	pthread_mutex_lock(&c->lock);
	if (c->state < COPY_IN_CLOSED) {
		c->state = COPY_IN_FAILED;
		c->fault = *fault;
	}
	pthread_cond_broadcast(&c->moved);
	pthread_mutex_unlock(&c->lock);
	c->host->wake(c->host->arg);
}

void
copy_in_cut(struct copy_in *c)
{
	pthread_mutex_lock(&c->lock);
	c->stopping = true;
	for (unsigned i = 0; i < COPY_IN_LINKS; i++) {
		if (c->link[i])
			eventfd_write(c->link[i]->link.stop, 1);
	}
	pthread_cond_broadcast(&c->moved);
	pthread_mutex_unlock(&c->lock);
}

/* ---- memory and output ------------------------------------------------- */

/* Makes what a copy that comes in needs: the list of its blocks, memory for
 * those on their way, and an output. */

enum { BLOCKS_LEAST = 3, SUBS_MOST = 65536 };

static uint64_t
number_of(const json_t *head, const char *object, const char *key)
{
	const json_t *in = object ? json_object_get(head, object) : head;
	json_int_t n = json_integer_value(json_object_get(in, key));

	return n > 0 ? (uint64_t)n : 0;
}

/* Checks the first line of the metadata, which may be damaged or forged, and
 * takes shape and sizes from it. */
static int
head_take(struct copy_in *c, struct copy_blocks_args *args, struct fault *fault)
{
	const json_t *head = c->told_head;
	struct layout_plan plan;
	int err = shape_from_json(&c->shape, json_object_get(head, "shape"));

	c->threads = (uint32_t *)(uintptr_t)c->shape.threads;
	c->shape.threads = NULL;
	c->shape.threads_n = 0;
	args->block_most = number_of(head, "geometry", "block_bytes");
	args->subs = (unsigned)number_of(head, NULL, "subs");
	args->subs += !args->subs;
	if (err || number_of(head, NULL, "spate") != 1 || !args->block_most ||
	    args->block_most > UINT32_MAX || args->subs > SUBS_MOST ||
	    layout_plan_make(&plan, c->name, head)) {
		fault_set(fault, -EBADMSG, "bad",
			  "the head of the recording lacks values or has "
			  "impossible ones");
		return -EBADMSG;
	}
	return 0;
}

/* Borrows at most a quarter of the free memory, so that recordings have the
 * rest; but never less than BLOCKS_LEAST blocks. */
static int
pool_borrow(struct copy_in *c, uint64_t block, struct fault *fault)
{
	struct arena_facts f = arena_facts(c->host->arena);
	char who[80];
	struct block_pool_args a = {
		.blocks = 2 * c->here->disks.n + c->connections + 4,
		.slots =
		    (uint32_t)((block + GEOMETRY_PAGE - 1) / GEOMETRY_PAGE),
		.slot_bytes = GEOMETRY_PAGE,
		.quantum = BLOCK_QUANTUM,
		.who = who,
	};

	snprintf(who, sizeof who, "the copy of %.60s", c->name);
	while (a.blocks > BLOCKS_LEAST &&
	       block_pool_need(&a) > (f.bytes - f.borrowed) / 4)
		a.blocks--;
	return block_pool_borrow(c->host->arena, &c->pool, &a, fault);
}

static void
copy_blocks_freed(void *arg)
{
	copy_blocks_drop(arg);
}

static int
output_open(struct copy_in *c, unsigned subs, struct fault *fault)
{
	const char *format =
	    json_string_value(json_object_get(c->head, "format"));
	struct output_args args = {
		.name = c->name,
		.head = c->head,
		.queue = c->host->queue,
		.disks = c->host->disks,
		.durable = c->host->durable,
		.changed = c->host->wake,
		.arg = c->host->arg,
		.subs = subs,
		.shape = &c->shape,
		.fate = copy_blocks_settled,
		.freed = copy_blocks_freed,
		.fate_arg = c->blocks,
	};
	const char *layout =
	    json_string_value(json_object_get(c->head, "layout"));
	int err = module_format(format ? format : "", &args.format, fault);

	if (err)
		return err;
	args.whole = layout && !strcmp(layout, layout_word(LAYOUT_MARK6));
	/* Both ends wait for these syncs at the end. */
	if (args.durable > NS_SECOND)
		args.durable = NS_SECOND;
	err = output_make(&c->output, &args);
	if (err)
		return fault_no_memory(fault);
	copy_blocks_hold(c->blocks);
	return 0;
}

static json_t *
head_make(const struct copy_in *c)
{
	const char *path[COPY_IN_DISKS];
	struct copy_origin how = { .name = c->name,
				   .from = c->from,
				   .time_ns = c->start_ns,
				   .disks = path,
				   .disks_n = c->here->disks.n };

	for (unsigned i = 0; i < how.disks_n; i++)
		path[i] = c->here->disk[i].path;
	return copy_origin_head(c->told_head, &how);
}

/* Makes an empty list of blocks for what the sender told.  0 or -errno with a
 * fault. */
static int
blocks_make(struct copy_in *c, struct copy_blocks_args *args,
	    struct fault *fault)
{
	int err = head_take(c, args, fault);

	if (err)
		return err;
	return copy_blocks_make(&c->blocks, args) ? fault_no_memory(fault) : 0;
}

/* Makes the output and its memory; `head`: first line of what is here, or
 * NULL.  0 or -errno with a fault. */
static int
writing_begin(struct copy_in *c, const struct copy_blocks_args *args,
	      const json_t *head, struct fault *fault)
{
	int err;

	c->head = head ? json_deep_copy(head) : head_make(c);
	if (!c->head)
		return fault_no_memory(fault);
	err = pool_borrow(c, args->block_most, fault);
	return err ? err : output_open(c, args->subs, fault);
}

/* ---- what is here already ---------------------------------------------- */

/*
 * Finds what is here of a recording that is about to be copied.  A block counts
 * only after it was read back and agreed with its checksum.  Damaged blocks of
 * an earlier copy are removed.  A recording that was made here, or is complete,
 * is not changed by a byte.
 */

/* State of the search. */
struct here_search {
	struct copy_in *c;
	struct recording *rec; /* NULL: no recording has the name */
	bool keeps;	       /* the recording here must stay as it is */
	/* The recording is here under another name, and good. */
	bool elsewhere;
	uint64_t *bad; /* sorted numbers of damaged blocks */
	size_t bads, room;
	bool starved; /* `bad` lacks some: there was no memory for them */
	void (*told)(void *arg);
	void *arg;
};

static int
taken(const struct copy_in *c, const char *why, struct fault *fault)
{
	fault_set(fault, -EEXIST, "exists", "cannot copy to %.80s", c->name);
	fault_why(fault, "%s", why);
	fault_hint(fault, "give the copy another name (--as)");
	return -EEXIST;
}

/* ---- what is there ------------------------------------------------------ */

static int
disks_open(struct copy_in_disks *h, struct fault *fault)
{
	unsigned n = h->disks.n;

	h->disks.n = 0;
	for (unsigned i = 0; i < n; i++) {
		struct disk *disk = &h->disk[h->disks.n];

		*disk = h->disk[i];
		h->disks.n += disk_open(disk) == 0;
	}
	return h->disks.n ? 0
			  : fault_set(fault, -ENODEV, "no-disk",
				      "there is no disk to copy to");
}

/* Checks each disk alone: two may have different recordings of one name. */
static int
disk_check(const struct copy_in *c, unsigned i, const json_t *head,
	   struct fault *fault)
{
	struct disks one = { .disk = &c->here->disks.disk[i], .n = 1 };
	struct fault quiet = { 0 };
	struct recording *rec;
	bool same;

	if (recording_open_by_index(&rec, &one, c->name, &quiet))
		return 0; /* nothing, or a folder without records yet */
	same = json_equal(recording_facts(rec)->head, head);
	recording_close(rec);
	return same ? 0
		    : taken(c,
			    "its disks have different recordings of that name",
			    fault);
}

static int
open_check(struct here_search *l, struct fault *fault)
{
	const struct recording_facts *f = recording_facts(l->rec);
	struct copy_in *c = l->c;
	int err = 0;

	if (strcmp(f->made_by, "spate") != 0)
		return taken(c, "another program's recording has that name",
			     fault);
	if (copy_origin_identity(f->head) != c->identity)
		return taken(c, "another recording has that name", fault);
	if (f->state == RECORDING_LIVE) {
		fault_set(fault, -EBUSY, "busy", "%.80s is being written here",
			  c->name);
		return -EBUSY;
	}
	l->keeps = f->state == RECORDING_COMPLETE ||
		   !json_object_get(f->head, "copied");
	for (unsigned i = 0; i < c->here->disks.n && !err; i++)
		err = disk_check(c, i, f->head, fault);
	return err;
}

static int
look_open(struct here_search *l, struct fault *fault)
{
	struct fault none = { 0 };
	int err =
	    recording_open(&l->rec, &l->c->here->disks, l->c->name, &none);

	/* Folders without records are left to the writers, which make them
	 * again. */
	if (err == -ENOENT || err == -ENODATA) {
		l->rec = NULL;
		return 0;
	}
	if (err) {
		l->rec = NULL;
		*fault = none;
		return err;
	}
	return open_check(l, fault);
}

/* ---- is it good --------------------------------------------------------- */

static void
bad_add(struct here_search *l, uint64_t number)
{
	uint64_t *grown = l->bad;

	if (l->bads == l->room) {
		size_t room = l->room ? 2 * l->room : 64;

		grown = realloc(grown, room * sizeof *grown);
		if (!grown) {
			l->starved = true;
			return;
		}
		l->bad = grown;
		l->room = room;
	}
	grown[l->bads++] = number;
}

static void
found(void *arg, const struct verify_finding *f)
{
	struct here_search *l = arg;

	switch (f->kind) {
	case VERIFY_DAMAGED:
	case VERIFY_UNREADABLE:
	case VERIFY_MISSING:
	case VERIFY_LENGTH:
	case VERIFY_MISPLACED:
	case VERIFY_DUPLICATE:
	case VERIFY_INDEX:
	case VERIFY_CONTENTS: break;
	default: return;
	}
	log_line(LEVEL_WARN, l->c->name, "%s", f->sentence);
	for (uint64_t n = f->number; f->chunks && n <= f->last_number; n++)
		bad_add(l, n);
}

static void
progress(void *arg, uint64_t done, uint64_t of)
{
	struct here_search *l = arg;

	(void)done;
	(void)of;
	l->told(l->arg);
}

static int
by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int
look_verify(struct here_search *l, struct fault *fault)
{
	const struct verify_hooks hooks = { found, progress, l };
	struct verify_report report = { 0 };
	int n = verify(l->rec, &l->c->here->disks, &hooks, &report);

	if (n < 0) {
		fault_set(fault, n, "io", "cannot read what is here of %.80s",
			  l->c->name);
		fault_why(fault, "%s", strerror(-n));
		return n;
	}
	if (l->starved)
		return fault_no_memory(fault);
	if (l->bads)
		qsort(l->bad, l->bads, sizeof *l->bad, by_value);
	return 0;
}

/* Looks for the recording under another name.  There it counts only if it is
 * complete and all of it is good. */
static void
look_elsewhere(struct here_search *l)
{
	const struct disks *disks = &l->c->here->disks;
	const struct recording_facts *f;
	struct fault none = { 0 };
	char name[LAYOUT_FILE];

	if (copy_origin_find(disks, l->c->identity, name) ||
	    recording_open(&l->rec, disks, name, &none)) {
		l->rec = NULL;
		return;
	}
	f = recording_facts(l->rec);
	l->elsewhere = f->state == RECORDING_COMPLETE && !f->absent &&
		       !look_verify(l, &none) && !l->bads;
	l->keeps = l->elsewhere;
	if (l->elsewhere) {
		log_line(LEVEL_INFO, l->c->name, "is here already, as %s",
			 name);
		return;
	}
	recording_close(l->rec);
	l->rec = NULL;
	l->bads = 0;
}

/* ---- going on ----------------------------------------------------------- */

static int
look_mend(struct here_search *l, struct fault *fault)
{
	const struct disks *disks = &l->c->here->disks;
	json_t *head = json_deep_copy(recording_facts(l->rec)->head);
	const char *path = "";
	int err = head ? 0 : -ENOMEM;

	recording_close(l->rec);
	l->rec = NULL;
	for (unsigned i = 0; i < disks->n && !err; i++) {
		err = copy_origin_mend(&disks->disk[i], l->c->name, head,
				       l->bad, l->bads);
		if (err == -ENOENT)
			err = 0;
		else if (err)
			path = disks->disk[i].path;
	}
	json_decref(head);
	if (err) {
		fault_set(fault, err, "io", "cannot go on with %.80s",
			  l->c->name);
		fault_why(fault, "%s/%.80s: %s", path, l->c->name,
			  disk_why(err));
		if (disk_hint(err))
			fault_hint(fault, "%s", disk_hint(err));
		return err;
	}
	err = recording_open_by_index(&l->rec, disks, l->c->name, fault);
	return err == -ENOENT || err == -ENODATA ? 0 : err;
}

/* True if the block is damaged. */
static bool
is_bad(const struct here_search *l, uint64_t number)
{
	return l->bads &&
	       bsearch(&number, l->bad, l->bads, sizeof number, by_value);
}

static int
look_list(struct here_search *l)
{
	const struct recording_block *b;
	size_t n = 0;
	int err = 0;

	b = l->rec ? recording_blocks(l->rec, &n) : NULL;
	for (size_t i = 0; i < n && !err; i++) {
		if (b[i].record.kind == INDEX_BLOCK && b[i].disk >= 0 &&
		    !is_bad(l, b[i].record.number))
			err = copy_blocks_there(l->c->blocks, &b[i].record);
	}
	return err;
}

static int
look_make(struct here_search *l, struct fault *fault)
{
	struct copy_blocks_args args;
	struct copy_in *c = l->c;
	int err = blocks_make(c, &args, fault);

	if (!err && look_list(l))
		err = fault_no_memory(fault);
	if (err || l->keeps)
		return err;
	return writing_begin(
	    c, &args, l->rec ? recording_facts(l->rec)->head : NULL, fault);
}

int
copy_in_look(struct copy_in *c, void (*told)(void *arg), void *arg,
	     struct fault *fault)
{
	struct here_search l = { .c = c, .told = told, .arg = arg };
	int err = disks_open(c->here, fault);

	if (!err)
		err = look_open(&l, fault);
	if (!err && !l.rec && !c->as)
		look_elsewhere(&l);
	if (!err && l.rec && !l.elsewhere)
		err = look_verify(&l, fault);
	if (!err && l.rec && !l.keeps)
		err = look_mend(&l, fault);
	if (!err)
		err = look_make(&l, fault);
	if (l.rec)
		recording_close(l.rec);
	free(l.bad);
	if (!err)
		copy_in_move(c, l.keeps ? COPY_IN_THERE : COPY_IN_LOOKED);
	return err;
}
