/* SPDX-License-Identifier: MIT */
/*
 * spate verify: reads a recording back and compares it with its indexes and
 * checksums.  Each error is a line, and makes the command fail.  A name that
 * several streams share stands for all of them.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/show/cli.h"
#include "cli/show/site.h"
#include "cli/show/terminal.h"
#include "store/finish/recover.h"
#include "store/repair/verify.h"

/* Recordings that a command could mend: how many, up to 2, and the name of the
 * last. */
struct verify_helped {
	unsigned n;
	char name[LAYOUT_FILE];
};

struct verify_run {
	const struct cli *cli;
	const struct disks *disks;
	const char *name; /* recording being read */
	bool part;	  /* one of several recordings */
	struct progress_bar progress;
	unsigned parts, broken;
	uint64_t wrong;
	struct verify_helped recover, scrub, rebuild;
	/* what parity does about findings of the one that is read */
	bool scrubs, rebuilds;
};

/* ---- findings -------------------------------------------------------- */

static void
set_integer(json_t *line, const char *key, uint64_t n)
{
	json_object_set_new(line, key, json_integer((json_int_t)n));
}

static void
set_place(json_t *line, const struct verify_finding *f)
{
	char from[UNITS_TEXT], to[UNITS_TEXT];

	set_integer(line, "sub", f->sub);
	set_integer(line, "offset", f->offset);
	set_integer(line, "end", f->end);
	if (f->packets) {
		set_integer(line, "run", f->run);
		set_integer(line, "first", f->first);
		set_integer(line, "last", f->last);
	}
	json_object_set_new(line, "from",
			    json_string(units_show_time_ns(from, f->first_ns)));
	json_object_set_new(line, "to",
			    json_string(units_show_time_ns(to, f->last_ns)));
	json_object_set_new(line, "time",
			    json_string(f->data_time ? "data" : "arrival"));
}

static void
print_json(const struct verify_run *c, const struct verify_finding *f)
{
	json_t *line = json_pack("{s:s, s:s, s:s, s:s?}", "name", c->name,
				 "found", verify_word(f->kind), "what",
				 f->sentence, "disk", f->disk);

	if (!line)
		return;
	if (f->chunks) {
		set_integer(line, "chunks", f->chunks);
		set_integer(line, "number", f->number);
		set_integer(line, "last_number", f->last_number);
		set_integer(line, "at", f->at);
		set_integer(line, "bytes", f->bytes);
	}
	if (f->filed)
		set_place(line, f);
	cli_print_json(line);
	json_decref(line);
}

static void
found(void *arg, const struct verify_finding *f)
{
	struct verify_run *c = arg;

	c->scrubs |= f->mend == VERIFY_SCRUBS;
	c->rebuilds |= f->mend == VERIFY_REBUILDS;
	progress_hide(&c->progress);
	if (c->cli->json)
		print_json(c, f);
	else if (c->part)
		printf("%s: %s\n", c->name, f->sentence);
	else
		printf("%s\n", f->sentence);
}

static void
progress(void *arg, uint64_t done, uint64_t of)
{
	struct verify_run *c = arg;

	c->progress.total = of;
	progress_show(&c->progress, done);
}

/* ---- the sum --------------------------------------------------------- */

static const char *
checksums(const struct verify_report *r)
{
	if (!r->summed)
		return "none";
	return r->unsummed ? "some" : "all";
}

/* Chunks of a recording that has ended which do not have the parity that was
 * configured: disks were too few or too slow, are away, or lost it. */
static unsigned
unprotected(const struct recording_facts *f)
{
	return f->parity && f->state != RECORDING_LIVE
		   ? f->chunks - f->protected
		   : 0;
}

static void
sum_json(const struct recording *rec, const struct verify_report *r, int wrong)
{
	const struct recording_facts *facts = recording_facts(rec);
	json_t *line;
	size_t blocks;

	recording_blocks(rec, &blocks);
	line =
	    json_pack("{s:s s:I s:i s:I s:s s:i s:i}", "name", facts->name,
		      "blocks", (json_int_t)blocks, "wrong", wrong, "bytes",
		      (json_int_t)r->bytes, "checksums", checksums(r), "summed",
		      (int)r->summed, "unsummed", (int)r->unsummed);
	if (!line)
		return;
	if (facts->parity)
		set_integer(line, "unprotected", unprotected(facts));
	if (facts->store == HEAP_ROW) {
		set_integer(line, "heaps", r->heaps);
		set_integer(line, "heaps_incomplete", r->incomplete);
	}
	cli_print_json(line);
	json_decref(line);
}

static void
sum_text(const struct recording *rec, const struct verify_report *r, int wrong)
{
	const struct recording_facts *facts = recording_facts(rec);
	char read[UNITS_TEXT];
	size_t blocks;

	recording_blocks(rec, &blocks);
	printf("%s: %zu blocks in %u chunks", facts->name, blocks,
	       facts->chunks);
	if (facts->subs > 1)
		printf(" of %u substreams", facts->subs);
	if (facts->store == HEAP_ROW)
		printf(", %" PRIu64 " heaps (%" PRIu64 " incomplete)", r->heaps,
		       r->incomplete);
	if (r->bytes)
		printf(", %s read back", units_show_bytes(read, r->bytes));
	if (wrong)
		printf(", %d finding%s", wrong, wrong > 1 ? "s" : "");
	else
		printf(", nothing is wrong");
	if (r->unsummed && !r->summed)
		printf("; it has no checksums, so its data was not read");
	else if (r->unsummed)
		printf("; %u chunks have no checksums, and were not read",
		       r->unsummed);
	printf("\n");
	if (unprotected(facts))
		printf("%s: %u of %u chunks lack parity for the loss of %u "
		       "disk%s, as was configured; spate rebuild %s makes it, "
		       "if enough disks are there\n",
		       facts->name, unprotected(facts), facts->chunks,
		       facts->parity, facts->parity > 1 ? "s" : "",
		       facts->name);
}

static void
helped_add(struct verify_helped *h, const char *name)
{
	h->n += h->n < 2;
	snprintf(h->name, sizeof h->name, "%s", name);
}

/* ---- recordings ------------------------------------------------------ */

static int
check_one(struct verify_run *c, const char *name, struct fault *fault)
{
	const struct verify_hooks hooks = { found, progress, c };
	struct verify_report report;
	struct recording *rec;
	int wrong = recording_open(&rec, c->disks, name, fault);

	if (wrong < 0)
		return wrong;
	/* keeps it from being removed meanwhile */
	wrong = recording_hold(rec, fault);
	if (wrong < 0) {
		recording_close(rec);
		return wrong;
	}
	c->name = name;
	c->scrubs = c->rebuilds = false;
	progress_start(&c->progress);
	wrong = verify(rec, c->disks, &hooks, &report);
	progress_hide(&c->progress);
	if (wrong < 0) {
		fault_set(fault, wrong, "io", "cannot verify %s", name);
		fault_why(fault, "%s", strerror(-wrong));
	} else {
		c->parts++;
		c->broken += wrong > 0;
		c->wrong += (uint64_t)wrong;
		if (c->cli->json)
			sum_json(rec, &report, wrong);
		else
			sum_text(rec, &report, wrong);
	}
	if (wrong > 0 && recording_facts(rec)->state != RECORDING_LIVE) {
		if (c->scrubs)
			helped_add(&c->scrub, name);
		if (c->rebuilds)
			helped_add(&c->rebuild, name);
	}
	recording_close(rec);
	if (wrong > 0 && c->recover.n < 2 && recover_helps(c->disks, name))
		helped_add(&c->recover, name);
	return wrong < 0 ? wrong : 0;
}

static bool
is_part(const char *name, const char *base)
{
	size_t length = strlen(base);

	return !strncmp(name, base, length) &&
	       !strncmp(name + length, "_ds", 3);
}

/*
 * Verifies the recordings <base>_ds<stream>. If there are none, `fault` keeps
 * what it said before.
 */
static int
check_parts(struct verify_run *c, const char *base, struct fault *fault)
{
	struct fault missing = *fault;
	char **names = NULL;
	size_t n = 0;
	int err = recording_list(c->disks, &names, &n);

	c->part = true;
	for (size_t i = 0; !err && i < n; i++) {
		if (is_part(names[i], base))
			err = check_one(c, names[i], fault);
	}
	free(names);
	if (!err && !c->parts) {
		*fault = missing;
		err = -ENOENT;
	}
	if (!err && c->cli->json) {
		json_t *line =
		    json_pack("{s:s s:i s:I}", "name", base, "parts",
			      (int)c->parts, "wrong", (json_int_t)c->wrong);

		cli_print_json(line);
		json_decref(line);
	}
	return err;
}

/* Adds what a command does to a hint, if it helps. */
static void
hint_add(char *text, size_t bytes, const struct verify_helped *h,
	 const char *command, const char *what)
{
	size_t n = strlen(text);

	if (h->n)
		snprintf(text + n, bytes - n, "%sspate %s%s%.180s %s",
			 n ? ", then " : "", command, h->n > 1 ? "" : " ",
			 h->n > 1 ? "" : h->name, what);
}

static int
conclude(const struct verify_run *c, const char *name, struct fault *fault)
{
	char text[sizeof fault->hint] = "";

	if (!c->wrong)
		return 0;
	fault_set(fault, -EBADMSG, "io", "%s is not whole", name);
	if (c->parts > 1)
		fault_why(fault, "%u of its %u parts have something wrong",
			  c->broken, c->parts);
	else
		fault_why(fault, "%" PRIu64 " thing%s wrong with it", c->wrong,
			  c->wrong > 1 ? "s are" : " is");
	hint_add(text, sizeof text, &c->recover, "recover",
		 "mends what can be mended");
	hint_add(text, sizeof text, &c->scrub, "scrub",
		 "mends what parity gives");
	hint_add(text, sizeof text, &c->rebuild, "rebuild",
		 "puts what parity gives onto the disks that are there");
	if (*text)
		fault_hint(fault, "%s; spate export fills the rest", text);
	else
		fault_hint(fault, "spate export fills what cannot be read");
	return -EBADMSG;
}

static int
run(const struct cli *cli, const void *values, char **operand)
{
	struct verify_run c = { .cli = cli,
				.progress = { .what = "verify",
					      .bytes = true,
					      .quiet = cli->quiet } };
	struct disks disks;
	struct fault fault;
	int err = site_disks(cli, &disks, &fault);

	(void)values;
	if (err)
		return cli_fail(&fault);
	c.disks = &disks;
	err = check_one(&c, *operand, &fault);
	if (err == -ENOENT)
		err = check_parts(&c, *operand, &fault);
	if (!err)
		err = conclude(&c, *operand, &fault);
	disks_clear(&disks);
	return err ? cli_fail(&fault) : CLI_DONE;
}

const struct command command_verify = {
	.name = "verify",
	.operands = "NAME",
	.help = "Read a recording back, against its indexes and checksums",
	.least = 1,
	.most = 1,
	.eased = true,
	.run = run,
};
