/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_FOREIGN_FOREIGN_PIECE_H
#define SPATE_STORE_FOREIGN_FOREIGN_PIECE_H

#include "contract/format.h"
#include "store/disk/layout.h"
#include "store/foreign/foreign.h"
#include "store/foreign/packet_form.h"
#include "store/foreign/vbs_cfg.h"

/*
 * The inside of a foreign recording, for the files of this room.  Its pieces
 * become blocks; each file adds what it finds out about them.
 */

/* most threads of a VDIF stream */
enum { FOREIGN_THREADS = 1024 };

enum foreign_kind { FOREIGN_CHUNKS, FOREIGN_SINGLE, FOREIGN_SG };

/* One block of a foreign recording: a chunk, a block of a scatter/gather file,
 * or a stretch of one large file. */
struct foreign_piece {
	uint64_t number; /* number of the block */
	uint64_t file;	 /* number in the name of its file */
	uint64_t offset; /* position of its first packet in the file */
	uint64_t stored; /* bytes in the file, up to the next block */
	/* length of its data, in whole packets without their prefix */
	uint64_t bytes;
	int64_t changed_ns;
	unsigned disk;
	/* Set by foreign_time(). */
	uint64_t first; /* sequence of its first packet */
	/* packets that should be in it, or between it and the next */
	uint64_t lost;
	int64_t first_ns, last_ns;
	bool timed; /* the times are the data's own */
	/* Set by foreign_fill(). */
	uint64_t before; /* packets in all pieces before it */
	uint64_t filled; /* packets of it that are fill */
};

/* The part of a foreign recording on one disk. */
struct foreign_part {
	int dir; /* descriptor of its folder; negative: not on this disk */
	/* folder of the scatter/gather file, relative to the disk; NULL: none */
	const char *folder;
};

/* Everything found of a foreign recording; freed when that is closed. */
struct foreign {
	const struct disks *disks;
	char name[LAYOUT_FILE];	   /* name of its files, with their extension */
	struct foreign_part *part; /* one per disk */
	json_t *head;		   /* first line of metadata, made up */
	enum foreign_kind kind;
	const char *made_by;
	struct vbs_cfg cfg;
	struct packet_form form;
	uint32_t parts;	     /* packets of a frame */
	uint64_t full_bytes; /* bytes stored in a full block */
	struct foreign_piece *piece;
	size_t pieces;
	struct foreign_double *twin;
	size_t twins;
	json_t *notes;
	/* Learned from the packets. */
	const struct format_ops *format; /* NULL: no known format */
	struct format_shape shape;
	bool counted; /* the prefix of packets is a counter that counts */
	uint32_t thread[FOREIGN_THREADS];
	uint64_t base;	/* absolute sequence of slot 0 */
	bool estimated; /* the number of fill packets is an estimate */
	/* a bit for each packet of all pieces; NULL: not all were looked at */
	uint64_t *filler;
};

/* A cursor over packets anywhere in the recording, which keeps the last file
 * open. */
struct packet_cursor {
	struct foreign *f;
	size_t piece; /* whose file is open */
	int fd;	      /* -1: no file is open */
};

/* Reads and parses the header of a packet.  False if it cannot be read. */
bool packet_read(struct packet_cursor *g, size_t piece, uint64_t slot,
		 struct format_packet *p);
/* Closes the cursor's file. */
void packet_cursor_close(struct packet_cursor *g);

/* Computes from packet `slot` of a piece the absolute sequence of the piece's
 * first packet.  False if the packet does not say. */
bool foreign_sequence(const struct foreign *f, const struct format_packet *p,
		      uint64_t slot, uint64_t *sequence);

/* Adds a sentence to the recording's notes. */
__attribute__((format(printf, 2, 3))) void
foreign_note(struct foreign *f, const char *format, ...);

/* Appends a piece.  0 or -ENOMEM. */
int foreign_add(struct foreign *f, const struct foreign_piece *piece);

/* Lists the recording's files; sets kind, made_by and the folders of the parts.
 * 0, -ENOENT or another -errno. */
int foreign_find(struct foreign *f);

/* Learns the format, and the bytes of each piece; removes pieces without a
 * packet.  0; -EBADMSG if none is left. */
int foreign_learn(struct foreign *f);

/* Sets sequences and times of the pieces.  Always 0. */
int foreign_time(struct foreign *f);

/* Counts the packets that jive5ab made up where none came.  0 or -ENOMEM. */
int foreign_fill(struct foreign *f);

/* The piece that became the block with this number; NULL if there is none. */
const struct foreign_piece *foreign_piece_find(const struct foreign *f,
					       uint64_t number);

/* Cuts the one file of each disk into numbered pieces.  0; -ENOTSUP if the
 * packets of several files do not say their order; or another -errno. */
int foreign_single(struct foreign *f);

/* Opens the file of a piece, also through links within its disk.  Returns the
 * descriptor or -errno. */
int foreign_piece_open(const struct foreign *f,
		       const struct foreign_piece *piece);

/* Packets of a piece, as they are stored. */
static inline uint64_t
foreign_slots(const struct foreign *f, const struct foreign_piece *p)
{
	return p->stored / f->form.packet;
}

/* Bytes of data in a packet, without its prefix. */
static inline uint32_t
foreign_payload(const struct foreign *f)
{
	return f->form.packet - f->form.prefix;
}

#endif
