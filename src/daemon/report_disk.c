/* SPDX-License-Identifier: MIT */
/* What the daemon says of its disks; the keys are in verbs.h. */
#include "daemon/report.h"

static json_t *
disk_json(const struct fleet_disk *d)
{
	static const char *const state[] = {
		[WRITER_IDLE] = "idle",	      [WRITER_WRITING] = "writing",
		[WRITER_FULL] = "full",	      [WRITER_FAILED] = "failed",
		[WRITER_MISSING] = "missing", [WRITER_HUNG] = "hung",
	};
	struct writer_facts f;

	writer_facts(d->writer, &f);
	return json_pack(
	    "{s:s, s:s, s:s?, s:I, s:I, s:I, s:I, s:f, s:s?, s:I}", "path",
	    d->disk.path, "state", state[f.state], "why",
	    f.why[0] ? f.why : NULL, "total", (json_int_t)f.space.total, "free",
	    (json_int_t)f.space.free, "written", (json_int_t)f.written,
	    "chunks", (json_int_t)f.chunks, "rate", d->rate, "writer", f.way,
	    "errors", (json_int_t)f.errors);
}

json_t *
report_disks(const struct fleet *fleet)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < fleet->n; i++) {
		if (fleet_writer(fleet, i))
			json_array_append_new(list, disk_json(&fleet->disk[i]));
	}
	return list;
}

/* Of the disks before it, is one on the same file system? */
static bool
counted_already(const struct fleet *fleet, unsigned i)
{
	const struct disk *disk = &fleet->disk[i].disk;

	for (unsigned k = 0; k < i && disk->device; k++) {
		if (fleet_writer(fleet, k) &&
		    fleet->disk[k].disk.device == disk->device)
			return true;
	}
	return false;
}

json_t *
report_space(const struct fleet *fleet)
{
	uint64_t free_bytes = 0, total = 0;
	double rate = 0;

	for (unsigned i = 0; i < fleet->n; i++) {
		struct writer_facts f;

		if (!fleet_writer(fleet, i))
			continue;
		rate += fleet->disk[i].rate;
		if (counted_already(fleet, i))
			continue;
		writer_facts(fleet_writer(fleet, i), &f);
		free_bytes += f.space.free;
		total += f.space.total;
	}
	return json_pack("{s:I, s:I, s:f, s:o}", "free", (json_int_t)free_bytes,
			 "total", (json_int_t)total, "rate", rate, "full_s",
			 rate > 0 ? json_real((double)free_bytes / rate)
				  : json_null());
}
