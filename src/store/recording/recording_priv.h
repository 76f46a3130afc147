/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_RECORDING_RECORDING_PRIV_H
#define SPATE_STORE_RECORDING_RECORDING_PRIV_H

#include <stdatomic.h>

#include "contract/format.h"
#include "store/record/fill.h"
#include "store/disk/layout.h"
#include "store/foreign/foreign.h"
#include "store/parity/heal.h"
#include "store/parity/parity.h"
#include "store/recording/recording.h"
#include "store/record/heap_chunk.h"
#include "store/record/sums.h"
#include "store/disk/file.h"

/* The inside of a recording, for this room and for the rooms of store that read
 * it block by block. */

/* The part of a recording on one disk. */
struct recording_part {
	/* descriptor of its folder; -1: not on this disk */
	int dir;
	struct index_record *record; /* without the end record */
	size_t records;
	uint64_t index_bytes; /* bytes of the index that were read */
	uint64_t torn;
	uint64_t parity_bytes; /* bytes of the list of parity that were read */
	/* bytes of the metadata that were read, in whole lines */
	uint64_t meta_bytes;
	int meta_err;  /* -errno: they could not be read to their end; 0 */
	size_t beyond; /* records with implausible numbers, left out */
	/* the number from which on a daemon last resumed here; 0: never */
	uint64_t resumed;
	bool other;   /* it is of another recording of this name */
	bool indexed; /* there is an index */
	bool ended;
	bool locked; /* a writer holds the lock on the index */
	/* The disk does not answer, so nothing on it is touched.  Set by the
	 * thread that reads chunks, read by any thread that looks at the
	 * recording; no ordering is needed, a late look only costs a delay. */
	atomic_bool hangs;
	/* Descriptor of the index, or the metadata, with our lock on it; 0:
	 * none. */
	int held;
	struct index_record end;
	struct sums_list sums; /* read where there is parity */
};

/* Position of a line with the holes of one block. */
struct recording_line {
	uint64_t number, offset;
	size_t bytes;
	unsigned disk;
};

/* The base of a run: the absolute sequence of its slot 0. */
struct recording_base {
	uint32_t sub, run;
	uint64_t base;
	int64_t arrival_ns; /* arrival of its first packet; 0: unknown */
};

/* A second chunk with the same number, which is not used. */
struct recording_duplicate {
	uint64_t number;
	unsigned disk;
};

enum { RECORDING_SUBS = 65536 }; /* most substreams */
enum { RECORDING_PATH = FOREIGN_PATH };

/* Notes in rec->refused that a file on a disk is implausibly long, and was not
 * read. */
void recording_refuse(struct recording *rec, unsigned disk, const char *file,
		      uint64_t bytes);

/* `bytes` of a block whose length was not looked up yet. */
#define RECORDING_UNSEEN UINT64_MAX

/* An open chunk, in the slot number % RECORDING_OPEN; if all blocks of a disk
 * share a file, in the slot disk % RECORDING_OPEN. */
enum { RECORDING_OPEN = 64 };

struct recording_chunk {
	uint64_t number;
	int fd;		 /* -1: none */
	uint64_t offset; /* position of the block in the file */
};

struct recording {
	const struct disks *disks;
	char name[LAYOUT_FILE];
	struct recording_part *part; /* one per disk */
	json_t *head, *tail, *resumed, *described;
	json_t *controlled; /* set of the lines of control heaps */
	json_t *learned;    /* the first line with frames per second */
	struct format_shape shape;
	uint32_t slots; /* slots of a full block */
	bool by_index;	/* rows are as long as the index says */
	struct layout_plan plan;
	struct foreign *foreign; /* another program's recording; NULL: ours */
	/* bytes of a packet in a chunk, with the bytes before its payload; 0:
	 * payloads only */
	uint32_t stored;
	uint32_t before; /* bytes of a stored packet before its payload */
	/* A sentence about the last file that was implausibly long and not
	 * read; "": none. */
	char refused[RECORDING_PATH + 128];
	uint64_t settled; /* set by recording_settle() */

	/* lines of holes, sorted by number, then disk */
	struct recording_line *line;
	size_t lines;
	/* bases of runs, sorted by substream and run */
	struct recording_base *base;
	size_t bases;

	/* The parity blocks that the disks have. */
	struct parity_table parity;

	/* Visible blocks; the number is the index. */
	struct recording_block *block;
	size_t blocks;
	/* records behind the visible ones, by number */
	struct recording_block *pending;
	size_t pendings;
	/* how many numbers are visible in another handle of the same
	 * recording */
	uint64_t shown;
	/* more was read than blocks, files and runs were made from */
	bool stale;
	struct recording_duplicate *duplicate;
	size_t duplicates;
	uint32_t *order; /* numbers, file by file */
	/* index in `order` where each substream's file begins, and the end */
	size_t *from;
	struct recording_run *run;
	struct recording_sub *sub;
	struct recording_facts facts;

	/* State of reading. */
	unsigned selected;
	struct recording_chunk chunk[RECORDING_OPEN];
	struct fill fill;
	bool filling; /* `fill` is initialised */
	bool fps_sought;
	/* the block that `fill` is prepared for */
	const struct recording_block *filled;
	uint8_t *slot; /* one payload */
	/* The block that was computed last, and its data; NULL: it cannot be.
	 */
	uint64_t healed_number;
	uint8_t *healed;
	bool healing; /* healed_number is valid */
	/* The quantum whose checksum was looked at last. */
	uint64_t quantum_number, quantum_at;
	uint8_t *quantum;
	size_t quantum_bytes; /* 0: none */
	struct recording_mended mended;
};

/* The block at a position of the order. */
static inline struct recording_block *
recording_at(const struct recording *rec, size_t place)
{
	return &rec->block[rec->order[place]];
}

/* Swaps two handles of the same recording, except for the fill, which is made
 * anew. */
void recording_exchange(struct recording *a, struct recording *b);

/*
 * Says of a block of another program's recording what our metadata would: *line
 * is a line about the slots that are fill, or NULL, and the caller drops
 * it.  Where the slots are not known, the record counts all as present.  0 or
 * -ENOMEM.
 */
int recording_foreign_note(const struct recording *rec,
			   struct index_record *record, json_t **line);

/* Opens what another program recorded, even if files of ours are beside it.  0,
 * -ENOENT or another -errno. */
int recording_open_foreign(struct recording **rec, const struct disks *disks,
			   const char *name);

/* Reads what is new in the metadata of all disks.  0 or -ENOMEM. */
int recording_meta(struct recording *rec);

/* The line with the holes of a block, from its own disk if that has one, else
 * from another one; a new reference, or NULL.  recording_has_line(): has this
 * disk one? */
json_t *recording_line(const struct recording *rec, uint64_t number);
bool recording_has_line(const struct recording *rec, uint64_t number,
			unsigned disk);

/* Opens the folders again, following no links, because they will be written to.
 * Returns 0, or -errno and *disk. */
int recording_no_links(struct recording *rec, unsigned *disk);

/* The number below which everything is settled: what no disk has of it will not
 * come any more, even while the recording is live. */
uint64_t recording_settled(const struct recording *rec);
/* True if the number was skipped when a daemon resumed the recording. */
bool recording_unused(const struct recording *rec, uint64_t number);

/* Sets the facts that the head and the end line tell, and the state. */
void recording_describe(struct recording *rec);
/* Sets when the recording began and ended. */
void recording_date(struct recording *rec);
/* The end record with the highest number of all disks; false if none has
 * one. */
bool recording_end(const struct recording *rec, struct index_record *end);

/* Merges the parts into blocks, and lays these out.  0, -EBADMSG or -ENOMEM. */
int recording_merge(struct recording *rec);

/* Lays the blocks out in files, one per substream, and counts the runs of each
 * file and what each lost.  0; -EBADMSG if a file would be too long;
 * -ENOMEM. */
int recording_place(struct recording *rec);

/* The end line's object for a substream; NULL if there is none. */
const json_t *recording_sub_end(const struct recording *rec, unsigned sub);

/* The number of packets that `gap` slots had, computed from the block behind
 * them. */
uint64_t recording_gap(const struct recording *rec, uint64_t gap,
		       const struct index_record *r);

/* Loads the recording's format, and checks that it accepts the shape.  0 or
 * -errno with a fault. */
int recording_format(const struct recording *rec,
		     const struct format_ops **format, struct fault *fault);

/* Absolute sequence of slot 0 of a run; 0 if no disk says. */
uint64_t recording_base(const struct recording *rec, unsigned sub,
			uint32_t run);

/* Arrival of the first packet of a run, ns UTC; 0 if no disk says. */
int64_t recording_arrival(const struct recording *rec, unsigned sub,
			  uint32_t run);

/* Looks at the first `most` packets of a block of a row.  0 or -errno. */
int recording_heap_chunk(struct recording *rec, const struct recording_block *b,
			 const struct format_ops *format, uint64_t most,
			 struct heap_chunk *row);

/* Sets b->at for a block that starts at `start` in its disk's file; returns
 * where the next block starts. */
uint64_t recording_block_at(const struct recording *rec,
			    struct recording_block *b, uint64_t start);

/* Bytes of a block that are on its disk; for a chunk file its length, which may
 * be more than the record says; or -errno. */
int64_t recording_chunk_bytes(const struct recording *rec,
			      const struct recording_block *b);

/* UTC ns when the file of a block was written last; 0: nobody knows, or all
 * share one. */
int64_t recording_chunk_written(const struct recording *rec,
				const struct recording_block *b);

/* Position of a block's data: a file relative to the folder of its disk's
 * part; in another program's recording relative to the disk, possibly
 * through links. */
struct recording_where {
	char file[RECORDING_PATH];
	uint64_t offset;
	enum disk_links links;
};
/* Finds the data of a block.  0; -ENOENT if it is on no disk. */
int recording_where(const struct recording *rec,
		    const struct recording_block *b, struct recording_where *w);

/* Opens the file with the data of a block, which begins at b->at.  Returns the
 * descriptor, which the caller closes, or -errno. */
int recording_chunk_open(const struct recording *rec,
			 const struct recording_block *b);

/* ---- parity ------------------------------------------------------------ */

/* Reads what is new in the lists of parity.  0 or -ENOMEM. */
int recording_parity(struct recording *rec);

/* Forgets what the lists of parity said, because one was written anew; the next
 * refresh reads them from their beginnings. */
void recording_parity_forget(struct recording *rec);

/* Makes of an absent block what its group says of it, if it has one. */
void recording_compute(const struct recording *rec, struct recording_block *b);

/* True if a block is in a group with parity on some disk. */
bool recording_protects(const struct recording *rec, uint64_t number);

/* The number behind the last block that is in a group. */
uint64_t recording_parity_end(const struct recording *rec);

/* True if its group makes up for as many disks as it has parity blocks: all of
 * them are there, and all members as the group knows them, each on another
 * disk. */
bool recording_is_safe(const struct recording *rec, uint64_t number);

/* True if all members of its group are there, and no disk has two blocks of the
 * group: what it may lack is parity blocks. */
bool recording_is_whole(const struct recording *rec, uint64_t number);

/* False for a block that is on no disk, and of whose group too much is not
 * there either: its record is known, by a list of parity, and nothing of its
 * data. */
bool recording_gives(const struct recording *rec,
		     const struct recording_block *b);

/* How many further disks may go, whichever they are, before a block cannot be
 * computed. */
unsigned recording_margin(const struct recording *rec, uint64_t number);

/* Says how a block follows from its groups, for parity_heal(); the caller ends
 * with parity_heal_free().  The folders are borrowed from the recording; those
 * of disks that hang are left out.  NULL: it is in no group, or these have
 * another block of this number, or without memory. */
struct parity_heal *recording_heal_plan(const struct recording *rec,
					uint64_t number);

/* Copies bytes (0: none) of a block, computed from its group; all of it is
 * computed at once, and kept until another block is.  0 or -errno. */
int recording_heal(struct recording *rec, const struct recording_block *b,
		   void *data, size_t bytes, uint64_t at);

/* Opens the data of a block, computed from its group, as a file without a name.
 * Returns the descriptor, which the caller closes, or -errno. */
int recording_heal_open(struct recording *rec, const struct recording_block *b);

/* True if the error means that this chunk cannot be read on this disk for now,
 * so that it is filled; false for errors of the system. */
bool recording_lost_chunk(int err);

/* Reads bytes of a block from its chunk, or where that cannot give them or, by
 * their checksums, gives wrong ones, from its group.  Returns how many there
 * are, maybe fewer; or -errno. */
ssize_t recording_chunk_read(struct recording *rec,
			     const struct recording_block *b, void *data,
			     size_t bytes, uint64_t at);

/* Fills bytes from `at` on of the block at a position of the order, or of the
 * stretch behind it; heaps take FILL_ZERO alone.  0 or -errno. */
int recording_fill_as(struct recording *rec, size_t place, enum fill_kind kind,
		      void *data, size_t bytes, uint64_t at);
/* The kind of fill that the recording has on disk. */
enum fill_kind recording_fill_kind(const struct recording *rec);

/* Undoes recording_hold(). */
void recording_release(struct recording *rec);

/* Closes open chunks and frees the fill. */
void recording_read_finish(struct recording *rec);
void recording_fill_finish(struct recording *rec);

#endif
