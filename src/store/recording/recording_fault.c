/* SPDX-License-Identifier: MIT */
/* Errors of opening a recording, as sentences for people. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "store/recording/recording_priv.h"

void
recording_refuse(struct recording *rec, unsigned disk, const char *file,
		 uint64_t bytes)
{
	char size[UNITS_TEXT];

	snprintf(rec->refused, sizeof rec->refused,
		 "%s/%s/%s has %s, more than can be right, and is not read",
		 rec->disks->disk[disk].path, rec->name, file,
		 units_show_bytes(size, bytes));
}

int
recording_fault(struct fault *fault, const char *name, int err)
{
	switch (err) {
	case -ENOENT:
		fault_set(fault, err, "not-found", "no recording %s", name);
		fault_why(fault, "no disk has a folder of that name");
		fault_hint(fault, "spate ls shows the recordings there are");
		break;
	case -ENODATA:
		fault_set(fault, err, "io", "cannot read recording %s", name);
		fault_why(fault, "no disk has readable metadata of it");
		fault_hint(fault, "another disk of it may have: mount that, or "
				  "name it among the disks");
		break;
	case -EIDRM:
		fault_set(fault, err, "io", "cannot read recording %s", name);
		fault_why(fault, "it is being removed, or its removal was cut "
				 "short");
		fault_hint(fault, "spate rm %s ends what was begun", name);
		break;
	case -ENOTSUP:
		fault_set(fault, err, "io", "cannot read recording %s", name);
		fault_why(fault, "it is one file on each of several disks, and "
				 "nothing in them tells their order");
		fault_hint(fault, "one disk alone can be read: --disks PATH");
		break;
	case -EFBIG:
		fault_set(fault, err, "refused", "cannot read recording %s",
			  name);
		break;
	case -ENOMEM:
		fault_set(fault, err, "no-memory",
			  "cannot open recording %s: no memory", name);
		break;
	case -EBADMSG:
		fault_set(fault, err, "io", "cannot read recording %s", name);
		fault_why(fault, "its indexes contradict each other, or its "
				 "files have not one whole packet");
		fault_hint(fault, "a disk may hold another recording of the "
				  "same name: leave that disk out");
		break;
	case -ELOOP:
	case -EXDEV:
		fault_set(fault, err, "refused", "cannot read recording %s",
			  name);
		fault_why(fault, "%s", disk_why(err));
		fault_hint(fault, "%s", disk_hint(err));
		break;
	default:
		fault_set(fault, err, "io", "cannot read recording %s: %s",
			  name, strerror(-err));
	}
	return err;
}
