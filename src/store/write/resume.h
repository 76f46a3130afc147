/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_WRITE_RESUME_H
#define SPATE_STORE_WRITE_RESUME_H

#include <jansson.h>
#include <stdint.h>

#include "base/fault.h"
#include "store/disk/disk.h"
#include "store/recording/recording.h"

/*
 * To resume is to go on with a recording whose daemon was killed: under the
 * same name, in new runs, and with numbers above all that were ever given.
 *
 *   resume_look    may it be, and what is there; nothing is written, and no
 *                  data are read, however much there is
 *   resume_fits    would the stream record the same?
 *   folder_resume  each disk's writer opens its folder again, and gives whole
 *                  blocks the records that they lack (adopt.h)
 *   resume_line    and puts this at the end of its metadata
 *
 * A disk that was there before and is not now may have numbers that nobody
 * here knows; so RESUME_SPARE of them are passed over for each.
 */
enum { RESUME_SPARE = 64 };

struct resume {
	struct recording *rec; /* with what will be adopted */
	const struct recording_facts *facts;
	const struct disks *disks; /* that were looked at */
	uint64_t records;	   /* that it has, gaps too */
	uint64_t bytes, absent;	   /* as recording_facts will have it, with what
				   was on its way at the end */
	uint64_t seen;		   /* above all numbers that are known */
	uint64_t next;		   /* the first to be given */
	uint32_t *run;		   /* the same of runs, by substream */
	unsigned missing;	   /* disks that are not here */
	int64_t at_ns, stopped_ns; /* now; about when it was killed */
};

/*
 * 0; -ENOENT: no disk has it; -EALREADY: it is complete; -EBUSY: it is being
 * written; -EPERM: it is protected; -EBADMSG: a disk has another recording of
 * the name, or what is there is not fit to go on with; -errno; each with a
 * fault.
 */
int resume_look(struct resume **resume, const struct disks *disks,
		const char *name, struct fault *fault);
void resume_free(struct resume *resume);

/* Is it of the stream that begins with such a head?  0, or -EINVAL with a
 * fault that says what differs. */
int resume_fits(const struct resume *resume, const json_t *head,
		struct fault *fault);

/* A new reference; NULL without memory.  `disks`: the paths of those that it
 * goes on with. */
json_t *resume_line(const struct resume *resume, json_t *disks);

#endif
