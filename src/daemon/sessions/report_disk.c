/* SPDX-License-Identifier: MIT */
/* Reports of disks; verbs.h has the keys. */
#include <stdio.h>
#include <sys/sysmacros.h>

#include "daemon/sessions/report.h"

static const char *
state_name(const struct fleet_disk *d, const struct writer_facts *f)
{
	static const char *const state[] = {
		[WRITER_IDLE] = "idle",	      [WRITER_WRITING] = "writing",
		[WRITER_FULL] = "full",	      [WRITER_FAILED] = "failed",
		[WRITER_MISSING] = "missing", [WRITER_HUNG] = "hung",
	};

	if (d->leaving)
		return "leaving";
	return f->benched && f->state < WRITER_FULL ? "slow" : state[f->state];
}

static json_t *
known(double n)
{
	return n < 0 ? json_null() : json_real(n);
}

static json_t *
ms(int64_t ns)
{
	return ns ? json_real((double)ns / 1e6) : json_null();
}

static void
load_set(json_t *to, const struct fleet_disk *d, const struct writer_facts *f)
{
	json_object_set_new(to, "rate", json_real(d->rate));
	json_object_set_new(to, "queued", json_integer(f->queued));
	json_object_set_new(to, "latency_ms", ms(f->latency));
	json_object_set_new(to, "latency_p99_ms", ms(f->latency_p99));
	json_object_set_new(to, "speed",
			    f->speed > 0 ? json_real(f->speed) : json_null());
}

json_t *
report_disk(const struct fleet *fleet, unsigned i)
{
	const struct fleet_disk *d = &fleet->disk[i];
	struct writer_facts f;
	char device[32];
	json_t *disk;

	writer_facts(d->writer, &f);
	snprintf(device, sizeof device, "%u:%u", major(f.device),
		 minor(f.device));
	disk = json_pack(
	    "{s:s, s:s, s:s?, s:I, s:I, s:I, s:I, s:s?, s:I, s:s?, s:o}",
	    "path", d->disk.path, "state", state_name(d, &f), "why",
	    f.why[0] ? f.why : NULL, "total", (json_int_t)f.space.total, "free",
	    (json_int_t)f.space.free, "written", (json_int_t)f.written,
	    "chunks", (json_int_t)f.chunks, "writer", f.plugin, "errors",
	    (json_int_t)f.errors, "device", f.device ? device : NULL, "full_s",
	    known(fleet_forecast(fleet, i)));
	if (disk)
		load_set(disk, d, &f);
	return disk;
}

json_t *
report_disks(const struct fleet *fleet)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < fleet->n; i++) {
		if (fleet->disk[i].writer)
			json_array_append_new(list, report_disk(fleet, i));
	}
	return list;
}

json_t *
report_space(const struct fleet *fleet)
{
	struct fleet_space s;

	fleet_space(fleet, &s);
	return json_pack("{s:i, s:I, s:I, s:I, s:f, s:o}", "disks",
			 (int)s.disks, "total", (json_int_t)s.total, "free",
			 (json_int_t)s.free, "written", (json_int_t)s.written,
			 "rate", s.rate, "full_s", known(s.forecast));
}
