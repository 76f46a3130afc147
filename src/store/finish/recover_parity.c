/* SPDX-License-Identifier: MIT */
/*
 * Parity blocks that the list of their disk does not name, because a crash came
 * between them or the list is lost, and blocks whose tail is damaged.
 */
#include <errno.h>

#include "store/finish/recover_priv.h"
#include "store/parity/parity_file.h"

static void
say(void *arg, unsigned disk, const char *file, const char *what)
{
	const struct recovery *r = arg;

	recover_say(r, "%s on %s %s", file, r->disks->disk[disk].path, what);
}

int
recover_parity(struct recovery *r)
{
	struct recording *rec = r->rec;
	struct parity_look l = {
		.table = &rec->parity, .dry = r->dry, .say = say, .arg = r
	};
	int err = 0;

	if (!rec->facts.parity || r->args->look)
		return 0;
	for (; l.disk < r->disks->n && !err; l.disk++) {
		if (rec->part[l.disk].dir >= 0)
			err = parity_files_look(&l, rec->part[l.disk].dir,
						rec->name);
	}
	r->report->parity += l.listed + l.tails + l.aside;
	r->report->renamed |= l.aside > 0;
	if (err || !(l.listed || l.lists) || r->dry)
		return err;
	if (l.lists)
		recording_parity_forget(rec);
	/* blocks of disks that are away may be known by now */
	return recording_refresh(rec);
}
