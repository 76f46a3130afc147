/* SPDX-License-Identifier: MIT */
/* Makes what a copy that comes in needs: a ledger of its blocks, memory for
 * those on their way, and an output. */
#include "base/clock.h"
#include "flow/copy/copy_in.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/module.h"
#include "base/shape.h"
#include "store/write/copy_origin.h"
#include "store/record/geometry.h"
#include "store/disk/layout.h"

enum { BLOCKS_LEAST = 3, SUBS_MOST = 65536 };

static int
no_memory(struct fault *fault)
{
	return fault_set(fault, -ENOMEM, "no-memory", "out of memory");
}

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
head_take(struct copy_in *c, struct ledger_args *args, struct fault *fault)
{
	const json_t *head = c->told_head;
	struct layout_map map;
	int err = shape_from_json(&c->shape, json_object_get(head, "shape"));

	c->threads = (uint32_t *)(uintptr_t)c->shape.threads;
	c->shape.threads = NULL;
	c->shape.threads_n = 0;
	args->block_most = number_of(head, "geometry", "block_bytes");
	args->subs = (unsigned)number_of(head, NULL, "subs");
	args->subs += !args->subs;
	if (err || number_of(head, NULL, "spate") != 1 || !args->block_most ||
	    args->block_most > UINT32_MAX || args->subs > SUBS_MOST ||
	    layout_map_make(&map, c->name, head)) {
		fault_set(fault, -EBADMSG, "bad",
			  "the head of the recording makes no sense");
		return -EBADMSG;
	}
	return 0;
}

/* Borrows at most a quarter of the free memory, so that recordings have the
 * rest; but never less than BLOCKS_LEAST blocks. */
static int
stock_borrow(struct copy_in *c, uint64_t block, struct fault *fault)
{
	struct pool_facts f = pool_facts(c->host->pool);
	char who[80];
	struct stock_args a = {
		.blocks = 2 * c->here->disks.n + c->connections + 4,
		.slots =
		    (uint32_t)((block + GEOMETRY_PAGE - 1) / GEOMETRY_PAGE),
		.slot_bytes = GEOMETRY_PAGE,
		.quantum = BLOCK_QUANTUM,
		.who = who,
	};

	snprintf(who, sizeof who, "the copy of %.60s", c->name);
	while (a.blocks > BLOCKS_LEAST &&
	       pool_need(&a) > (f.bytes - f.borrowed) / 4)
		a.blocks--;
	return pool_borrow(c->host->pool, &c->stock, &a, fault);
}

static void
ledger_freed(void *arg)
{
	ledger_drop(arg);
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
		.fate = ledger_settled,
		.freed = ledger_freed,
		.fate_arg = c->ledger,
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
		return no_memory(fault);
	ledger_hold(c->ledger);
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

int
copy_in_ledger(struct copy_in *c, struct ledger_args *args, struct fault *fault)
{
	int err = head_take(c, args, fault);

	if (err)
		return err;
	return ledger_make(&c->ledger, args) ? no_memory(fault) : 0;
}

int
copy_in_output(struct copy_in *c, const struct ledger_args *args,
	       const json_t *head, struct fault *fault)
{
	int err;

	c->head = head ? json_deep_copy(head) : head_make(c);
	if (!c->head)
		return no_memory(fault);
	err = stock_borrow(c, args->block_most, fault);
	return err ? err : output_open(c, args->subs, fault);
}
