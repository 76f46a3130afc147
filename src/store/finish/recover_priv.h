/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_FINISH_RECOVER_PRIV_H
#define SPATE_STORE_FINISH_RECOVER_PRIV_H

#include "store/recording/recording_priv.h"
#include "store/finish/leftovers.h"
#include "store/finish/recover.h"
#include "store/record/sums.h"

/*
 * Declarations shared by the files of recover.
 *
 *   recover.c          the order of it all; lines of metadata, records, ends
 *   recover_find.c     what is there: records, chunks without one, twins
 *   recover_chunk.c    makes the record of a chunk from its contents
 *   recover_data.c     the end of a file that all blocks of a disk share
 *   recover_foreign.c  recordings of other programs
 *   recover_parity.c   parity blocks that no list names
 */

/* A chunk that no index names. */
struct orphan {
	uint64_t number;
	unsigned disk;
	struct leftover left; /* what lines say of it, and where it is */
	uint64_t bytes;	      /* bytes of its data in its file */
	bool taken;	      /* true: the chunk got a record, */
	uint64_t kept;	      /* with this many bytes */
};

/* A recording under recovery.  Its indexes are locked by this process. */
struct recovery {
	struct recording *rec;
	const struct disks *disks;
	const struct format_ops *format;
	struct recover_report *report;
	const struct recover_args *args;
	bool dry;
	struct append_file *index; /* locked; one per disk; fd -1: none */
	struct leftovers *left;	   /* one per disk */
	struct orphan *orphan;
	size_t orphans;
	/* All known records: first those of the indexes, disk by disk, then
	 * those made by recover. */
	struct index_record *known;
	size_t knowns;
	unsigned subs; /* at least as many as records name */
	/* Writer's notes of chunks that are in no index, sorted by number;
	 * without times, unless they were written. */
	struct index_record *note;
	size_t notes;
	struct sums_list *sums; /* one per disk; empty unless all chunks are
				   looked at */
	/* The last path that could not be opened; RECOVER_PATH bytes. */
	char *refused;
};
enum { RECOVER_PATH = 512 };

__attribute__((format(printf, 2, 3))) void recover_say(const struct recovery *r,
						       const char *format, ...);

/* Opens a file in a recording's folder.  Returns the descriptor, or an error as
 * disk_open_at(), and follows no links. */
int recover_open(const struct recovery *r, unsigned disk, const char *file,
		 int flags);

/* Keeps the path of a file that an error is about, if it has a hint; returns the
 * error. */
int recover_refused(const struct recovery *r, unsigned disk, const char *file,
		    int err);

/* Appends a line to a disk's metadata, durably, behind its last whole line.
 * Returns 0 or -errno. */
int recover_note(const struct recovery *r, unsigned disk, const json_t *line);

/* Appends a record to an index, durably; replaces an end record there. */
int recover_add(struct recovery *r, unsigned disk,
		const struct index_record *record);
/* Writes an index anew from the records of its part, without an end. */
int recover_rewrite(struct recovery *r, unsigned disk);

/* Opens the folders again, following no links, because they will be written to.
 * Returns 0 or -errno. */
int recover_folders(struct recovery *r);

/* Renames a chunk to a name that readers ignore; writes that to `aside`
 * (LAYOUT_FILE bytes).  Returns 0 or -errno. */
int recover_rename(struct recovery *r, unsigned disk, uint64_t number,
		   char *aside);
/* Renames a chunk, because disk `kept` has a better one of its number. */
int recover_aside(struct recovery *r, unsigned disk, uint64_t number,
		  unsigned kept);

/* Makes indexes and metadata for another program's recording. */
int recover_foreign(struct recovery *r, struct fault *fault);

/* Sets the fault for an error; returns err. */
int recover_explain(struct fault *fault, const char *name, int err);

/* Adds a record to `known`, and its packets to the report. */
int recover_know(struct recovery *r, const struct index_record *record);

/* Cuts torn indexes, and fills `known` and `orphan`.  Returns 0 or -errno. */
int recover_find(struct recovery *r);

void recover_sums_clear(struct recovery *r);

/* Sets the checksum of a record made from packets, if the chunk still has it.
 * If part of the chunk is missing, or of its checksums, takes new ones. */
void recover_add_sum(struct recovery *r, const struct orphan *o,
		     struct index_record *record);

/* Cuts the file that all blocks of a disk share behind the last one that an
 * index names, or that got its record. */
int recover_data_end(struct recovery *r, unsigned disk);

/* Opens the file that holds a block.  Returns the descriptor or -errno. */
int recover_chunk_open(const struct recovery *r, unsigned disk, uint64_t number,
		       int flags);
/* Adds a note: it tells where the chunk of its number belongs.  They are sorted
 * before recover_noted() is called.  Returns 0 or -ENOMEM. */
int recover_remember(struct recovery *r, const struct index_record *record);
void recover_sort_notes(struct recovery *r);
const struct index_record *recover_noted(const struct recovery *r,
					 uint64_t number);

/* True if the chunk is what its line says: whole, and with its checksum. */
bool recover_is_written(const struct recovery *r, const struct orphan *o);

/*
 * Makes a chunk's record: from its line if recover_is_written(), else from its
 * own packets, with a torn end cut off.  The chunk and the line with its holes
 * are durable then.  Returns 0; 1 if the chunk had no packet and was removed or
 * put aside, or if its substream is unknown; or -errno.
 */
int recover_chunk(struct recovery *r, const struct orphan *o,
		  struct index_record *record);

/* Lists parity blocks again that no list names.  0 or -errno. */
int recover_parity(struct recovery *r);

#endif
