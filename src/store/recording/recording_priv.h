/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_RECORDING_RECORDING_PRIV_H
#define SPATE_STORE_RECORDING_RECORDING_PRIV_H

#include <stdatomic.h>

#include "contract/format.h"
#include "store/record/fill.h"
#include "store/disk/layout_map.h"
#include "store/recording/recording.h"
#include "store/record/row.h"
#include "store/disk/stride.h"

/* What the sources of a recording, and those who check it, share. */

/* Its folder on one disk. */
struct recording_part {
	int dir;		     /* -1: not on this disk */
	struct index_record *record; /* without the end record */
	size_t records;
	uint64_t index_bytes; /* as far as it was read */
	uint64_t torn;
	uint64_t meta_bytes; /* as far as it was read, whole lines */
	size_t beyond;	     /* records whose numbers cannot be */
	uint64_t resumed;    /* the number from which on a daemon went on here
				the last time; 0: none did */
	bool indexed;	     /* there is an index */
	bool ended;
	bool locked; /* somebody writes */
	/* Its disk does not answer: nothing of it is looked at.  Said by who
	 * reads chunks, to whoever looks: of no order. */
	atomic_bool hangs;
	int held; /* its index, with a lock of ours; 0: not */
	/* Where a scatter/gather file of Mark6 is, seen from the disk. */
	const char *folder;
	struct index_record end;
};

/* A line with the holes of one block, and where it is. */
struct recording_line {
	uint64_t number, offset;
	size_t bytes;
	unsigned disk;
};

struct recording_base {
	uint32_t sub, run;
	uint64_t base;
	int64_t arrival_ns; /* of its first packet; 0: unknown */
};

/* A number's other chunk, which is not used. */
struct recording_duplicate {
	uint64_t number;
	unsigned disk;
};

enum { RECORDING_SUBS = 65536 }; /* there can be */
enum { RECORDING_PATH = 2 * LAYOUT_FILE };

/* Notes in rec->refused that a file on a disk was too long to be right. */
void recording_refuse(struct recording *rec, unsigned disk, const char *file,
		      uint64_t bytes);

/* A block's bytes, until they are looked for. */
#define RECORDING_UNSEEN UINT64_MAX

/* An open chunk, at its number modulo RECORDING_OPEN; its disk's, where all
 * blocks share a file. */
enum { RECORDING_OPEN = 64 };

struct recording_chunk {
	uint64_t number;
	int fd;		 /* -1: none */
	uint64_t offset; /* of the block in it */
};

struct recording {
	const struct disks *disks;
	char name[LAYOUT_FILE];
	struct recording_part *part; /* one per disk */
	json_t *head, *tail, *resumed, *described;
	json_t *learned; /* the first line with frames per second */
	struct format_shape shape;
	uint32_t slots; /* of a full block */
	bool by_index;	/* rows are as long as the index says */
	struct layout_map map;
	struct foreign *foreign; /* another program's; NULL: ours */
	uint32_t stored;	 /* bytes of a packet in a chunk, with what is
				    before its payload; 0: the payload alone */
	uint32_t before;	 /* that is before it */
	/* A sentence about the last file that was too long to be right, and
	 * was not read; "": none */
	char refused[RECORDING_PATH + 128];
	uint64_t settled; /* as somebody said; see recording_settle() */

	struct recording_line *line; /* by number, then disk */
	size_t lines;
	struct recording_base *base; /* by substream and run */
	size_t bases;

	struct recording_block *block;
	size_t blocks;
	struct recording_block *pending; /* by number: behind these */
	size_t pendings;
	uint64_t shown; /* numbers that another one, which has the same open,
			   was visible to */
	bool stale;	/* there is more than they were made from */
	struct recording_duplicate *duplicate;
	size_t duplicates;
	uint32_t *order; /* numbers, file by file */
	size_t *from;	 /* in order: where each file begins, and the end */
	struct recording_run *run;
	struct recording_sub *sub;
	struct recording_facts facts;

	/* The reader's. */
	unsigned selected;
	struct recording_chunk chunk[RECORDING_OPEN];
	struct fill fill;
	bool filling; /* fill is there */
	bool fps_sought;
	const struct recording_block *filled; /* that it is ready for */
	uint8_t *slot;			      /* one payload */
};

/* The block at a place in the order. */
static inline struct recording_block *
recording_at(const struct recording *rec, size_t place)
{
	return &rec->block[rec->order[place]];
}

/* Each becomes the other, but for the fill, which is made anew.  They are of
 * the same recording. */
void recording_exchange(struct recording *a, struct recording *b);

/* Says why it cannot be opened; returns err. */
int recording_fault(struct fault *fault, const char *name, int err);

/* Opens what another program recorded, whatever of ours is beside it.  0,
 * -ENOENT, -errno. */
int recording_open_foreign(struct recording **rec, const struct disks *disks,
			   const char *name);

/* Reads what is new in the metadata of all disks.  0 or -ENOMEM. */
int recording_meta(struct recording *rec);

/* A line of the metadata of a disk, if it says that a daemon went on.  0 or
 * -ENOMEM. */
int recording_resumed_line(struct recording *rec, unsigned disk, json_t *line);
/* Numbers below are settled, though a disk may still write: what no disk has
 * of them will not come any more. */
uint64_t recording_settled(const struct recording *rec);
/* Was the number passed over when somebody went on? */
bool recording_unused(const struct recording *rec, uint64_t number);

/* The facts that its head tells, and its state. */
void recording_describe(struct recording *rec);
/* When it began and ended. */
void recording_date(struct recording *rec);
/* What the end records say, of whichever disks have one. */
bool recording_end(const struct recording *rec, struct index_record *end);

/* Makes blocks from the parts, and calls the two below.  0, -EBADMSG,
 * -ENOMEM. */
int recording_merge(struct recording *rec);

/* Lays the blocks out in files, one for each substream.  0 or -ENOMEM. */
int recording_place(struct recording *rec);

/* Counts the runs of each file, and what was lost of it.  0 or -ENOMEM. */
int recording_count(struct recording *rec);

/* What the end line says of a substream; NULL where there is none. */
const json_t *recording_said(const struct recording *rec, unsigned sub);

/* The packets that `gap` slots had, told by the block behind them. */
uint64_t recording_gap(const struct recording *rec, uint64_t gap,
		       const struct index_record *r);

/* Loads its format, which must agree to its shape.  0 or -errno. */
int recording_format(const struct recording *rec,
		     const struct format_ops **format, struct fault *fault);

/* Absolute sequence of a run's slot 0; 0 where no disk tells. */
uint64_t recording_base(const struct recording *rec, unsigned sub,
			uint32_t run);

/* When the first packet of a run came; 0 where no disk tells. */
int64_t recording_arrival(const struct recording *rec, unsigned sub,
			  uint32_t run);

/* Looks at the first packets of a block of a row.  0 or -errno. */
int recording_row(struct recording *rec, const struct recording_block *b,
		  const struct format_ops *format, uint64_t most,
		  struct row *row);

/* Says where a block of its disk is that starts at `start`, and returns where
 * the next one does. */
uint64_t recording_block_at(const struct recording *rec,
			    struct recording_block *b, uint64_t start);

/* How many bytes there are of a block: of a chunk its length, which may be
 * more than its record says; or -errno. */
int64_t recording_chunk_bytes(const struct recording *rec,
			      const struct recording_block *b);

/* Where the data of a block are: a file in the folder of its disk's part; of
 * another program's recording, seen from the disk, and maybe by links. */
struct recording_where {
	char file[RECORDING_PATH];
	uint64_t offset;
	enum disk_links links;
};
/* 0, or -ENOENT: on no disk. */
int recording_where(const struct recording *rec,
		    const struct recording_block *b, struct recording_where *w);

/* Opens the file that a block's data are in, from b->at on.  The descriptor
 * or -errno. */
int recording_chunk_open(const struct recording *rec,
			 const struct recording_block *b);

/* Is it an error that means: this chunk cannot be read, on this disk, today? */
bool recording_lost_chunk(int err);

/* Bytes of a block that its chunk gives, which may be fewer, or -errno. */
ssize_t recording_chunk_read(struct recording *rec,
			     const struct recording_block *b, void *data,
			     size_t bytes, uint64_t at);

/* Fills bytes of the file from `at` on, of the block at a place or the
 * stretch behind it.  0 or -errno. */
int recording_fill(struct recording *rec, size_t place, void *data,
		   size_t bytes, uint64_t at);

/* The same in another way than it was recorded with; not of heaps. */
int recording_fill_as(struct recording *rec, size_t place, enum fill_kind kind,
		      void *data, size_t bytes, uint64_t at);
/* How holes are filled on disk. */
enum fill_kind recording_fill_kind(const struct recording *rec);

/* Undoes recording_hold(). */
void recording_release(struct recording *rec);

/* Closes chunks and forgets the fill. */
void recording_read_finish(struct recording *rec);
void recording_fill_finish(struct recording *rec);

#endif
