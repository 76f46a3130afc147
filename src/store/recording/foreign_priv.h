/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_RECORDING_FOREIGN_PRIV_H
#define SPATE_STORE_RECORDING_FOREIGN_PRIV_H

#include "store/recording/foreign.h"
#include "store/record/foreign_form.h"
#include "store/recording/recording_priv.h"
#include "store/disk/sg.h"

enum { FOREIGN_THREADS = 1024 };

enum foreign_kind { FOREIGN_CHUNKS, FOREIGN_SINGLE, FOREIGN_SG };

/* One block: a chunk, a block of a scatter/gather file, or a stretch of one
 * large file. */
struct foreign_piece {
	uint64_t number; /* of the block */
	uint64_t file;	 /* number in the name of its file */
	uint64_t offset; /* of its first packet in the file */
	uint64_t stored; /* bytes there, up to the next block */
	uint64_t bytes;	 /* of data in whole packets */
	int64_t changed_ns;
	unsigned disk;
	/* What foreign_time.c finds. */
	uint64_t first; /* sequence of its first packet */
	uint64_t lost;	/* packets that should be in it, or right behind */
	int64_t first_ns, last_ns;
	bool timed; /* these are the data's own */
	/* What foreign_fill.c finds. */
	uint64_t before; /* packets in the pieces before */
	uint64_t filled; /* of its packets, those that are fill */
};

struct foreign {
	enum foreign_kind kind;
	const char *made_by;
	struct foreign_cfg cfg;
	struct foreign_form form;
	uint32_t parts;	     /* packets of a frame */
	uint64_t full_bytes; /* stored in a full block */
	struct foreign_piece *piece;
	size_t pieces;
	struct foreign_double *twin;
	size_t twins;
	json_t *notes;
	/* What packets say. */
	const struct format_ops *format; /* NULL: of nothing that is known */
	struct format_shape shape;
	bool counted; /* before packets are counters, and they count */
	uint32_t thread[FOREIGN_THREADS];
	uint64_t base;	  /* absolute sequence of slot 0 */
	bool estimated;	  /* how much is fill */
	uint64_t *filler; /* a bit for each packet of all pieces; NULL: they
			     were not all looked at */
};

/* Looks at packets here and there.  An open file is kept. */
struct glance {
	const struct recording *rec;
	struct foreign *f;
	size_t piece; /* whose file is open */
	int fd;	      /* -1: none */
};

/* Reads what a packet says; false where it cannot be read. */
bool foreign_glance(struct glance *g, size_t piece, uint64_t slot,
		    struct format_packet *p);
void foreign_glance_end(struct glance *g);

/* The sequence that packet `slot` of a piece makes its first one's, if it
 * tells: relative to nothing, see foreign::base. */
bool foreign_sequence(const struct foreign *f, const struct format_packet *p,
		      uint64_t slot, uint64_t *sequence);

__attribute__((format(printf, 2, 3))) void
foreign_note(struct foreign *f, const char *format, ...);

/* Room doubles.  0 or -ENOMEM. */
int foreign_add(struct foreign *f, const struct foreign_piece *piece);

/* Lists what is there; sets kind, made_by and the parts' folders.  0, -ENOENT
 * or -errno. */
int foreign_find(struct recording *rec, struct foreign *f);

/* The blocks of a scatter/gather file in each part's folder. */
int foreign_sg(struct recording *rec, struct foreign *f);

/* Sorts the pieces, settles which of two of a number stays, and gives them
 * numbers that can be. */
int foreign_settle(const struct recording *rec, struct foreign *f);

/* Learns the format, and measures the pieces; those without a packet go. */
int foreign_learn(const struct recording *rec, struct foreign *f);

/* Finds how many threads and frames per second there are. */
void foreign_rate(struct glance *g);

/* Finds sequences and times of the pieces. */
int foreign_time(const struct recording *rec, struct foreign *f);

/* Finds the packets that jive5ab put where none came.  0 or -ENOMEM. */
int foreign_fill(const struct recording *rec, struct foreign *f);

/* The piece that became the block of a number; NULL. */
const struct foreign_piece *foreign_piece_find(const struct foreign *f,
					       uint64_t number);

/* Cuts the one file of each disk into pieces, and numbers them. */
int foreign_single(const struct recording *rec, struct foreign *f);

/* Opens the file of a piece, by links within its disk, too; the descriptor or
 * -errno. */
int foreign_piece_open(const struct recording *rec, const struct foreign *f,
		       const struct foreign_piece *piece);

static inline uint32_t
foreign_payload(const struct foreign *f)
{
	return f->form.packet - f->form.prefix;
}

#endif
