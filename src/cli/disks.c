/* SPDX-License-Identifier: MIT */
/* spate disks: as the daemon sees them; without one, how full they are. */
#include <errno.h>

#include "cli/cli.h"
#include "cli/site.h"
#include "cli/show.h"

static json_t *
look(const struct disk *disk)
{
	struct disk_space space;

	if (disk->fd < 0 || disk_space(disk, &space) < 0)
		return json_pack("{s:s s:s s:n s:n}", "path", disk->path,
				 "state", "missing", "total", "free");
	return json_pack("{s:s s:s s:I s:I}", "path", disk->path, "state",
			 "idle", "total", (json_int_t)space.total, "free",
			 (json_int_t)space.free);
}

static int
offline(const struct cli *cli, json_t **result, struct fault *fault)
{
	json_t *list = json_array();
	struct disks disks;
	int err = site_disks(cli, &disks, fault);

	if (err) {
		json_decref(list);
		return err;
	}
	for (unsigned i = 0; i < disks.n; i++)
		json_array_append_new(list, look(&disks.disk[i]));
	disks_clear(&disks);
	*result = json_pack("{s:o}", "disks", list);
	return 0;
}

static int
run(const struct cli *cli, const void *values, char **operand)
{
	const json_t *disks, *disk;
	struct fault fault;
	json_t *result = NULL;
	size_t i;
	int err = -ENOENT;

	(void)values;
	(void)operand;
	if (!cli->disks)
		err = site_ask(cli, "disks", NULL, &result, &fault);
	if (err)
		err = offline(cli, &result, &fault);
	if (err)
		return cli_fail(&fault);
	disks = json_object_get(result, "disks");
	if (cli->json) {
		json_array_foreach(disks, i, disk)
			cli_print_json(disk);
	} else {
		show_disks(disks, 0);
	}
	json_decref(result);
	return CLI_DONE;
}

const struct command command_disks = {
	.name = "disks",
	.operands = "",
	.help = "List the disks, and how full they are",
	.run = run,
};
