/* SPDX-License-Identifier: MIT */
/* spate verify: holds a recording against its indexes.  Anything wrong is a
 * line, and makes it fail. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/site.h"
#include "cli/progress.h"
#include "store/verify.h"

struct check {
	const struct cli *cli;
	struct progress progress;
	json_t *found; /* sentences */
	uint64_t heaps, incomplete;
};

static void
found(void *arg, const char *sentence)
{
	struct check *c = arg;

	json_array_append_new(c->found, json_string(sentence));
	if (c->cli->json)
		return;
	progress_hide(&c->progress);
	printf("%s\n", sentence);
}

static void
progress(void *arg, size_t done, size_t of)
{
	struct check *c = arg;

	c->progress.total = of;
	progress_show(&c->progress, done);
}

static void
heaps_set(const struct check *c, json_t *line)
{
	json_object_set_new(line, "heaps", json_integer((json_int_t)c->heaps));
	json_object_set_new(line, "heaps_incomplete",
			    json_integer((json_int_t)c->incomplete));
}

static void
print(const struct check *c, const struct recording *rec, int wrong)
{
	const struct recording_facts *facts = recording_facts(rec);
	size_t blocks;
	json_t *line;

	recording_blocks(rec, &blocks);
	if (c->cli->json) {
		line = json_pack("{s:s s:I s:i s:O}", "name", facts->name,
				 "blocks", (json_int_t)blocks, "wrong", wrong,
				 "found", c->found);
		if (facts->store == HEAP_ROW)
			heaps_set(c, line);
		cli_print_json(line);
		json_decref(line);
		return;
	}
	if (wrong)
		return;
	printf("%s: %zu blocks in %u chunks", facts->name, blocks,
	       facts->chunks);
	if (facts->subs > 1)
		printf(" of %u substreams", facts->subs);
	if (facts->store == HEAP_ROW)
		printf(", %" PRIu64 " heaps (%" PRIu64 " incomplete)", c->heaps,
		       c->incomplete);
	printf(", nothing is wrong\n");
}

static int
check(struct check *c, const struct disks *disks, const char *name,
      struct fault *fault)
{
	const struct verify_hooks hooks = { found, progress, c, &c->heaps,
					    &c->incomplete };
	struct recording *rec;
	int wrong = recording_open(&rec, disks, name, fault);

	if (wrong < 0)
		return wrong;
	progress_start(&c->progress);
	wrong = verify(rec, disks, &hooks);
	progress_hide(&c->progress);
	if (wrong < 0) {
		fault_set(fault, wrong, "io", "cannot verify %s", name);
		fault_why(fault, "%s", strerror(-wrong));
	} else {
		print(c, rec, wrong);
	}
	if (wrong > 0) {
		fault_set(fault, -EBADMSG, "io", "%s is not whole", name);
		fault_why(fault, "%d thing%s wrong with it", wrong,
			  wrong > 1 ? "s are" : " is");
		fault_hint(fault,
			   "spate recover %s mends what can be mended; spate "
			   "export fills the rest",
			   name);
	}
	recording_close(rec);
	return wrong;
}

static int
run(const struct cli *cli, const void *values, char **operand)
{
	struct check c = { .cli = cli,
			   .progress = { .what = "verify",
					 .quiet = cli->quiet } };
	struct disks disks;
	struct fault fault;
	int wrong = site_disks(cli, &disks, &fault);

	(void)values;
	if (wrong)
		return cli_fail(&fault);
	c.found = json_array();
	wrong = check(&c, &disks, *operand, &fault);
	json_decref(c.found);
	disks_clear(&disks);
	return wrong ? cli_fail(&fault) : CLI_DONE;
}

const struct command command_verify = {
	.name = "verify",
	.operands = "NAME",
	.help = "Hold a recording's chunks against its indexes",
	.least = 1,
	.most = 1,
	.eased = true,
	.run = run,
};
