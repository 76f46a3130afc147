/* SPDX-License-Identifier: MIT */
/*
 * spate ls: lists the recordings on the disks.  Recordings that cannot be read
 * are listed, too, because users look for them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/show/cli.h"
#include "cli/show/listing.h"

struct ls_args {
	bool more, reverse;
	const char *sort;
};

/* ---- order ----------------------------------------------------------- */

static int
sign(double a, double b)
{
	return a < b ? -1 : a > b;
}

static int
by_name(const struct entry *a, const struct entry *b)
{
	(void)a;
	(void)b;
	return 0;
}

static int
by_start(const struct entry *a, const struct entry *b)
{
	return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

static int
by_end(const struct entry *a, const struct entry *b)
{
	return a->end_ns < b->end_ns ? -1 : a->end_ns > b->end_ns;
}

static int
by_length(const struct entry *a, const struct entry *b)
{
	return sign((double)(a->end_ns - a->start_ns),
		    (double)(b->end_ns - b->start_ns));
}

static int
by_size(const struct entry *a, const struct entry *b)
{
	return a->bytes < b->bytes ? -1 : a->bytes > b->bytes;
}

static double
loss(const struct entry *e)
{
	double lost = (double)e->missing;

	return lost > 0 ? lost / (lost + (double)e->packets) : 0;
}

static int
by_loss(const struct entry *a, const struct entry *b)
{
	return sign(loss(a), loss(b));
}

struct sort_key {
	const char *name;
	int (*compare)(const struct entry *a, const struct entry *b);
};

static const struct sort_key keys[] = {
	{ "name", by_name },	 { "start", by_start }, { "end", by_end },
	{ "length", by_length }, { "size", by_size },	{ "loss", by_loss },
};

/* Compares entries; equal ones stay in the order of their names. */
static int
compare(const void *a, const void *b, void *key)
{
	const struct entry *x = a, *y = b;
	int order = ((const struct sort_key *)key)->compare(x, y);

	return order ? order : strcmp(x->name, y->name);
}

static void
turn(struct listing *l)
{
	for (size_t i = 0; i < l->n / 2; i++) {
		struct entry e = l->entry[i];

		l->entry[i] = l->entry[l->n - 1 - i];
		l->entry[l->n - 1 - i] = e;
	}
}

static int
order(struct listing *l, const struct ls_args *args, struct fault *fault)
{
	const char *name = args->sort ? args->sort : "name";

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		struct sort_key key = keys[i];

		if (strcmp(key.name, name))
			continue;
		if (i && l->n)
			qsort_r(l->entry, l->n, sizeof *l->entry, compare,
				&key);
		if (args->reverse)
			turn(l);
		return 0;
	}
	fault_set(fault, -EINVAL, "usage", "cannot sort by '%.40s'", name);
	fault_hint(fault, "--sort name, start, end, length, size or loss");
	return -EINVAL;
}

/* ---- the command ------------------------------------------------------- */

static int
none_found(const struct listing *l, const char *const *pattern,
	   struct fault *fault)
{
	if (!*pattern || l->n)
		return 0;
	fault_set(fault, -ENOENT, "not-found",
		  "no recording is called %.100s%s", *pattern,
		  pattern[1] ? ", or as any other of these" : "");
	if (l->listed < l->disks.n)
		fault_hint(fault, "spated is still reading the disks: try "
				  "again in a moment");
	else
		fault_hint(fault, "spate ls lists all of them");
	return -ENOENT;
}

static void
print(const struct cli *cli, const struct listing *l, bool more)
{
	if (!cli->json) {
		listing_table(l, more);
		if (!cli->quiet)
			listing_total(l);
		return;
	}
	for (size_t i = 0; i < l->n; i++) {
		json_t *json = entry_json(&l->entry[i], &l->disks);

		cli_print_json(json);
		json_decref(json);
	}
}

static int
run(const struct cli *cli, const void *values, char **operand)
{
	const struct ls_args *args = values;
	const char *const *pattern = (const char *const *)operand;
	struct fault fault;
	struct listing l;
	int err = listing_get(&l, cli, pattern, &fault);

	if (err)
		return cli_fail(&fault);
	err = none_found(&l, pattern, &fault);
	if (!err)
		err = order(&l, args, &fault);
	if (!err) {
		print(cli, &l, args->more);
		listing_warn(&l, cli);
	}
	listing_clear(&l);
	return err ? cli_fail(&fault) : CLI_DONE;
}

static const struct args_option options[] = {
	{ "long", 'l', ARGS_FLAG, offsetof(struct ls_args, more), NULL,
	  "stream, format, layout, packets and disks, too" },
	{ "sort", 's', ARGS_TEXT, offsetof(struct ls_args, sort), "KEY",
	  "by name, start, end, length, size or loss" },
	{ "reverse", 'r', ARGS_FLAG, offsetof(struct ls_args, reverse), NULL,
	  "the other way round" },
	{ .name = NULL },
};

const struct command command_ls = {
	.name = "ls",
	.operands = "[PATTERN...]",
	.help = "List recordings",
	.most = 64,
	.options = options,
	.bytes = sizeof(struct ls_args),
	.run = run,
};
