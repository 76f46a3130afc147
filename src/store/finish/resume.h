/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_FINISH_RESUME_H
#define SPATE_STORE_FINISH_RESUME_H

#include <jansson.h>
#include <stdint.h>

#include "base/fault.h"
#include "store/disk/disk.h"
#include "store/recording/recording.h"
#include "store/write/folder.h"

/*
 * To resume is to go on with a recording whose daemon was killed: under the
 * same name, in new runs, and with block numbers above all that were ever
 * given.
 *
 *   resume_look    may it be resumed, and what is there?  Writes nothing and
 *                  reads no data, however much there is
 *   resume_fits    would the stream record the same?
 *   folder_resume  each disk's writer opens its folder again, and gives whole
 *                  blocks the records that they lack (leftovers.h)
 *   resume_line    made once, and appended to the metadata of each disk
 *
 * A disk that was there before and is missing now may hold numbers that no
 * other disk knows; RESUME_SPARE numbers are skipped for each such disk.
 */
enum { RESUME_SPARE = 64 };

struct resume {
	struct recording *rec; /* includes the blocks that will be adopted */
	const struct recording_facts *facts;
	const struct disks *disks; /* the disks that were looked at; borrowed */
	uint64_t records;	   /* number of records in the indexes, and
				      adopted; gaps too */
	uint64_t bytes, absent;	   /* as recording_facts() will count them,
				      with the blocks that were being written
				      at the end */
	uint64_t seen;		   /* above all known numbers */
	uint64_t next;		   /* number of the first new block */
	uint32_t *run;		   /* first new run, by substream */
	unsigned missing;	   /* disks that are not here */
	int64_t at_ns, stopped_ns; /* now; about when the daemon was killed */
};

/*
 * Looks at a recording.  Returns 0; -ENOENT: no disk has it; -EALREADY: it is
 * complete; -EBUSY: it is being written; -EPERM: it is protected; -EBADMSG: a
 * disk has another recording of that name, or what is there is damaged; or
 * -errno; each with a fault.
 */
int resume_look(struct resume **resume, const struct disks *disks,
		const char *name, struct fault *fault);
void resume_free(struct resume *resume);

/* Checks that a stream whose metadata would begin with `head` records the same.
 * Returns 0, or -EINVAL with a fault that says what differs. */
int resume_fits(const struct resume *resume, const json_t *head,
		struct fault *fault);

/* Makes the line that says that the recording was resumed.  `disks`: paths of
 * the disks used from now on.  Returns a new reference; NULL without memory. */
json_t *resume_line(const struct resume *resume, json_t *disks);

/* ---- one disk ------------------------------------------------------------ */

/*
 * Opens the folder of a recording whose disk was away (`below` 0) or whose
 * daemon was killed.  A torn index record or line of metadata is cut off, and
 * writing goes on behind it.  `head` must equal the first line there: else it
 * is another recording of the same name.
 *
 * Blocks with numbers below `below` that are whole but not in the index get
 * their records (leftovers.h).  Other blocks that no index record names
 * stay if they have a file of their own; from a shared file they are moved to a
 * file aside.
 *
 * Returns 0; -ENOENT: no such folder, or it has no index: call folder_create(),
 * which knows whether that was left half made; -EEXIST: another
 * recording; -EALREADY: it has an end record; -EBUSY: another process, or an
 * older struct folder of this one, kept it locked for half a second; or -errno.
 */
int folder_resume(struct folder **folder, const struct disk *disk,
		  const char *name, const json_t *head, uint64_t below);

/* Gives the records that folder_resume() found or made, once.  Returns how
 * many; the caller frees *record, which is NULL if there are none. */
size_t folder_found(struct folder *folder, struct index_record **record);

#endif
