/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_REPAIR_RECOVER_PRIV_H
#define SPATE_STORE_REPAIR_RECOVER_PRIV_H

#include "store/recording/recording_priv.h"
#include "store/repair/recover.h"
#include "store/record/sums.h"

/* Declarations shared by the files of recover. */

/* A chunk that no index names. */
struct orphan {
	uint64_t number;
	unsigned disk;
	uint64_t bytes;
	/* Members for a file that blocks share: */
	uint64_t at;	/* offset of its data; 0 in a file of its own */
	uint64_t start; /* offset of its header, or of its data if it has
			   none */
	bool whole;	/* true: the whole block was written, even if as fill */
	bool taken;	/* true: the chunk got a record, */
	uint64_t kept;	/* with this many bytes */
};

/* A recording under recovery.  Its indexes are locked by this process. */
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
	/* All known records: first those of the indexes, disk by disk, then
	 * those made by recover. */
	struct index_record *known;
	size_t knowns;
	unsigned subs; /* at least as many as records name */
	/* Writer's notes of chunks that it began ({"chunk":..} lines), sorted
	 * by number; without times. */
	struct index_record *note;
	size_t notes;
	struct sums_list *sums; /* one per disk; empty unless all chunks are
				   looked at */
	/* The last path that could not be opened; RESCUE_PATH bytes. */
	char *refused;
};
enum { RESCUE_PATH = 512 };

__attribute__((format(printf, 2, 3))) void rescue_say(const struct rescue *r,
						      const char *format, ...);

/* Opens a file in a recording's folder.  Returns the descriptor, or an error as
 * disk_open_at(), and follows no links. */
int rescue_open(const struct rescue *r, unsigned disk, const char *file,
		int flags);

/* Appends a line to a disk's metadata, durably, behind its last whole line.
 * Returns 0 or -errno. */
int rescue_note(const struct rescue *r, unsigned disk, const json_t *line);

/* Opens and locks the index of a disk; makes an empty one if it has none.
 * Returns 0, -EBUSY or -errno. */
int rescue_lock(struct rescue *r, unsigned disk);
/* Appends a record to an index, durably; replaces an end record there. */
int rescue_add(struct rescue *r, unsigned disk,
	       const struct index_record *record);
/* Writes an index anew from the records of its part, without an end. */
int rescue_rewrite(struct rescue *r, unsigned disk);

/* Opens the folders again, following no links, because they will be written to.
 * Returns 0 or -errno. */
int rescue_folders(struct rescue *r);

/* Checks that all disks hold the same recording.  Returns 0, or -EBADMSG with a
 * fault. */
int rescue_heads(const struct rescue *r, struct fault *fault);

/* Renames a chunk, because disk `kept` has a better one of its number. */
int rescue_aside(struct rescue *r, unsigned disk, uint64_t number,
		 unsigned kept);

/* Makes indexes and metadata for another program's recording. */
int rescue_foreign(struct rescue *r, struct fault *fault);

/* Sets the fault for an error; returns err. */
int rescue_explain(struct fault *fault, const char *name, int err);

/* Adds a record to `known`, and its packets to the report. */
int rescue_know(struct rescue *r, const struct index_record *record);

/* Cuts torn indexes, and fills `known` and `orphan`.  Returns 0 or -errno. */
int rescue_find(struct rescue *r);

/* The checksum that a chunk should have. */
struct rescue_sum {
	uint64_t at; /* offset of the data in its file */
	uint64_t bytes;
	uint32_t crc;
};

/*
 * Reads the checksums of all disks, and cuts torn tails.  Returns 0 or -errno.
 */
int rescue_sums(struct rescue *r);
void rescue_sums_clear(struct rescue *r);
/* Gives the checksum that a disk has of a chunk.  False if it has none. */
bool rescue_noted_sum(const struct rescue *r, unsigned disk, uint64_t number,
		      struct rescue_sum *sum);
/* True if the chunk has that many bytes and that checksum. */
bool rescue_has_sum(const struct rescue *r, unsigned disk, uint64_t number,
		    const struct rescue_sum *sum);
/* Sets the checksum of a rebuilt record, if the chunk still has it.  If part of
 * the chunk is missing, takes new checksums. */
void rescue_add_sum(struct rescue *r, const struct orphan *o,
		    struct index_record *record);

/* The file that all blocks of a disk share: opens it; finds blocks in it that
 * no index names; and cuts it behind the last indexed block. */
int rescue_data_open(const struct rescue *r, unsigned disk, int flags);
int rescue_data_find(struct rescue *r, unsigned disk);
int rescue_data_end(struct rescue *r, unsigned disk);

/* Leaves one chunk of each number.  Returns 0 or -errno. */
int rescue_twins(struct rescue *r);

/* Opens the file that holds a block.  Returns the descriptor or -errno. */
int rescue_chunk_open(const struct rescue *r, unsigned disk, uint64_t number,
		      int flags);
/* Returns a number from a line of metadata, written as a number or as text. */
uint64_t rescue_number(const json_t *line, const char *key);
/* Reads the writer's notes of chunks.  Returns 0 or -ENOMEM. */
int rescue_notes(struct rescue *r);
/* Keeps a record that is dropped from its index as a note: it tells where the
 * chunk of the same number belongs.  Returns 0 or -ENOMEM. */
int rescue_remember(struct rescue *r, const struct index_record *record);
const struct index_record *rescue_noted(const struct rescue *r,
					uint64_t number);

/* Sets the substream, run and first sequence of a record from notes or from
 * neighbouring blocks.  False if its substream is unknown. */
bool rescue_place(const struct rescue *r, struct index_record *record);

/*
 * Makes a chunk's record from its own packets, and cuts off a torn end.  The
 * chunk and the line with its holes are durable then.  Returns 0; 1 if the
 * chunk had no packet and was removed, or if its substream is unknown; or
 * -errno.
 */
int rescue_chunk(struct rescue *r, const struct orphan *o,
		 struct index_record *record);

/* ---- kinds of chunks; `fd` is their open file ---------------------------- */

int rescue_slots(struct rescue *r, const struct orphan *o, int fd,
		 struct index_record *record);
int rescue_row(struct rescue *r, const struct orphan *o, int fd,
	       struct index_record *record);
int rescue_cube(struct rescue *r, const struct orphan *o, int fd,
		struct index_record *record);

/* Cuts a chunk to the length in its record, durably. */
int rescue_cut(struct rescue *r, const struct orphan *o, int fd,
	       struct index_record *record);
/* Removes a chunk without a packet.  Returns 1 or -errno. */
int rescue_remove(struct rescue *r, const struct orphan *o);
/*
 * True if all these bytes of a file were written, not a hole.  Ask before
 * anything reads the file: reading may fill holes with cached pages, after
 * which SEEK_HOLE no longer shows them.
 */
bool rescue_is_written(int fd, uint64_t at, uint64_t bytes);
/* True if the data is one 32-bit word repeated. */
bool rescue_is_all(const uint8_t *data, size_t bytes, uint32_t word);

#endif
