/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_REPAIR_RECOVER_PRIV_H
#define SPATE_STORE_REPAIR_RECOVER_PRIV_H

#include "store/recording/recording_priv.h"
#include "store/repair/recover.h"
#include "store/record/sums.h"

/* What recover.c and recover_chunk.c share. */

/* A chunk that no index names. */
struct orphan {
	uint64_t number;
	unsigned disk;
	uint64_t bytes;
	/* Where blocks share a file: */
	uint64_t at;	/* of its data there; else 0 */
	uint64_t start; /* of all that is its own */
	bool whole;	/* all of it was written, be it fill */
	bool taken;	/* it has a record now, */
	uint64_t kept;	/* with so many bytes */
};

/* A recording under recovery, whose indexes we have locked. */
struct rescue {
	struct recording *rec;
	const struct disks *disks;
	const struct format_ops *format;
	struct recover_report *report;
	const struct recover_args *args;
	bool dry;
	int *index; /* locked; one per disk, -1: no folder */
	struct orphan *orphan;
	size_t orphans;
	/* All records there are, by number: those of the indexes first, then
	 * those that were made. */
	struct index_record *known;
	size_t knowns;
	unsigned subs; /* as many as there are records of, at least */
	/* What the writer noted of chunks before it wrote them, by number;
	 * without times. */
	struct index_record *note;
	size_t notes;
	struct sums_list *sums; /* one per disk, of those with orphans */
	/* The last path that could not be opened; RESCUE_PATH bytes. */
	char *refused;
};
enum { RESCUE_PATH = 512 };

__attribute__((format(printf, 2, 3))) void rescue_say(const struct rescue *r,
						      const char *format, ...);

/* Opens a file in a recording's folder; the descriptor, or as disk_open_at()
 * without links. */
int rescue_open(const struct rescue *r, unsigned disk, const char *file,
		int flags);

/* Puts a line at the end of a disk's metadata, durably, behind its last whole
 * line.  0 or -errno. */
int rescue_note(const struct rescue *r, unsigned disk, const json_t *line);

/* Opens and locks the index of a disk, made if need be.  0, -EBUSY, -errno. */
int rescue_lock(struct rescue *r, unsigned disk);
/* Puts a record behind the last one, where an end record may be, durably. */
int rescue_add(struct rescue *r, unsigned disk,
	       const struct index_record *record);
/* Makes an index what the records of its part are, without an end. */
int rescue_rewrite(struct rescue *r, unsigned disk);

/* Opens the folders of the recording again, by no link: they are written to.
 * 0 or -errno. */
int rescue_folders(struct rescue *r);

/* Do all disks hold the same recording?  0 or -EBADMSG with a fault. */
int rescue_heads(const struct rescue *r, struct fault *fault);

/* Renames a chunk, because disk `kept` has a better one of its number. */
int rescue_aside(struct rescue *r, unsigned disk, uint64_t number,
		 unsigned kept);

/* Makes the indexes of what another program recorded. */
int rescue_foreign(struct rescue *r, struct fault *fault);

/* Says why it failed; returns err. */
int rescue_explain(struct fault *fault, const char *name, int err);

/* Adds to the records that are known, and their packets to the report. */
int rescue_know(struct rescue *r, const struct index_record *record);

/* Cuts torn indexes, and fills known and orphan.  0 or -errno. */
int rescue_find(struct rescue *r);

/* What a chunk should add up to. */
struct rescue_sum {
	uint64_t at; /* in its file */
	uint64_t bytes;
	uint32_t crc;
};

/* Reads the checksums of all disks.  0 or -ENOMEM. */
int rescue_sums(struct rescue *r);
void rescue_sums_clear(struct rescue *r);
/* That of a number, if its disk has one. */
bool rescue_noted_sum(const struct rescue *r, unsigned disk, uint64_t number,
		      struct rescue_sum *sum);
/* Has the chunk as many bytes, and do they add up to that? */
bool rescue_has_sum(const struct rescue *r, unsigned disk, uint64_t number,
		    const struct rescue_sum *sum);
/* Gives a rebuilt record its checksum, if the chunk still has it; or a new one,
 * where what it lacks is on record. */
void rescue_add_sum(struct rescue *r, const struct orphan *o,
		    struct index_record *record);

/* The file that all blocks of a disk share: opens it; finds what is in it and
 * no index names; and leaves it as long as the blocks that are indexed. */
int rescue_data_open(const struct rescue *r, unsigned disk, int flags);
int rescue_data_find(struct rescue *r, unsigned disk);
int rescue_data_end(struct rescue *r, unsigned disk);

/* Leaves one chunk of each number.  0 or -errno. */
int rescue_twins(struct rescue *r);

/* Opens the file that a block is in; the descriptor or -errno. */
int rescue_chunk_open(const struct rescue *r, unsigned disk, uint64_t number,
		      int flags);
/* A number of a line of the metadata, be it text or not. */
uint64_t rescue_number(const json_t *line, const char *key);
/* Reads what was noted of chunks.  0 or -ENOMEM. */
int rescue_notes(struct rescue *r);
/* Takes a record that goes for a note: it tells where its chunk belongs. */
int rescue_remember(struct rescue *r, const struct index_record *record);
const struct index_record *rescue_noted(const struct rescue *r,
					uint64_t number);

/* Sets the substream, run and first of the record of a number, as far as
 * others tell; false when its substream is not known. */
bool rescue_place(const struct rescue *r, struct index_record *record);

/*
 * Makes a chunk's record from its own packets, cutting what is torn.  The
 * chunk, and the line with its holes, are durable then.  0; 1 when there was
 * not one packet, and the chunk is gone, or when it cannot be said where it
 * belongs; or -errno.
 */
int rescue_chunk(struct rescue *r, const struct orphan *o,
		 struct index_record *record);

/* ---- kinds of chunks: the file is open ---------------------------------- */

int rescue_slots(struct rescue *r, const struct orphan *o, int fd,
		 struct index_record *record);
int rescue_row(struct rescue *r, const struct orphan *o, int fd,
	       struct index_record *record);
int rescue_cube(struct rescue *r, const struct orphan *o, int fd,
		struct index_record *record);

/* Cuts a chunk to what its record says, durably. */
int rescue_cut(struct rescue *r, const struct orphan *o, int fd,
	       struct index_record *record);
/* Removes one without a packet; 1 or -errno. */
int rescue_remove(struct rescue *r, const struct orphan *o);
/* Were all these bytes of a chunk ever written?  What was not is a hole of
 * the file, until somebody reads it: the cache has it from then on. */
bool rescue_is_written(int fd, uint64_t at, uint64_t bytes);
/* Is it one 32-bit word over and over? */
bool rescue_is_all(const uint8_t *data, size_t bytes, uint32_t word);

#endif
