/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_MADE_H
#define SPATE_TESTS_MADE_H

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/module.h"
#include "store/record/fill.h"
#include "store/finish/resume.h"
#include "store/disk/layout.h"
#include "store/record/meta.h"
#include "lib/scratch.h"
#include "lib/suite.h"

/*
 * A made recording is written as a disk's writer would, block by block, onto
 * folders of a scratch: VDIF frames of 64 bytes, one thread, ten a second,
 * whose every byte follows from its sequence.
 */
enum {
	MADE_PAYLOAD = 64,
	MADE_SLOTS = 64,
	MADE_FPS = 10,
	MADE_DISKS = 3,
	MADE_BLOCK = MADE_PAYLOAD * MADE_SLOTS,
};
#define MADE_SECOND INT64_C(1763632800)
#define MADE_BASE   UINT64_C(4812800702)
#define MADE_NAME   "rec"

struct made {
	struct scratch scratch;
	struct disks disks;
	struct folder *folder[MADE_DISKS];
	const struct format_ops *format;
	struct format_shape shape;
	struct geometry geometry;
	enum fill_kind fill;
	bool fps_unknown; /* in the metadata */
	unsigned subs, channels_per_file;
	enum heap_store store; /* HEAP_ROW, HEAP_CUBE: of format spead */
	uint16_t sub;	       /* whose frames and blocks are made */
	uint32_t quantum;      /* of checksums; 0: none */
	unsigned parity;       /* of its head; see made_parity.h */
	json_t *head;
};

/* The frame of a sequence, as it was sent. */
void made_frame(const struct made *m, uint64_t sequence, uint8_t *frame);

/* The same as fill would write it. */
void made_fill(const struct made *m, uint64_t sequence, uint8_t *frame);

void made_head(struct made *m);

/* Folders on three disks, ready for blocks. */
void made_begin(struct made *m);

void made_run(struct made *m, unsigned disk, uint32_t run, uint64_t base);

/* A block with memory of its own. */
struct made_block {
	struct block b;
	uint64_t present[MADE_SLOTS / 64];
	uint8_t data[MADE_BLOCK];
};

/* All packets of `first` on; take some out with made_lose. */
void made_block(const struct made *m, struct made_block *mb, uint64_t number,
		uint64_t first, uint32_t used);

void made_lose(struct made_block *mb, uint32_t slot);

/* Its chunk alone, as after a crash before the index was written. */
void made_chunk(struct made *m, unsigned disk, struct made_block *mb);

struct index_record made_record(const struct block *b);

void made_index(struct made *m, unsigned disk, const struct index_record *r);

/* As quanta.c does it, which is not at hand here. */
void made_sum(struct made *m, unsigned disk, struct made_block *mb,
	      struct index_record *r);

/* Chunk, holes and record. */
void made_write(struct made *m, unsigned disk, struct made_block *mb);

/* n full blocks of run 0, on the disks in turn, and their run line. */
void made_blocks(struct made *m, unsigned n);

/* Ends it with such a line, which it takes over; `numbers` 0: as a crash does,
 * without. */
void made_end_as(struct made *m, uint64_t numbers, json_t *tail);

void made_end(struct made *m, uint64_t numbers);

void made_finish(struct made *m);

/* The path of a file of the recording on a disk. */
const char *made_path(const struct made *m, unsigned disk, const char *file);

/* Hides a whole disk, as if it were not mounted; and shows it again. */
void made_hide(struct made *m, unsigned disk);

void made_show(struct made *m, unsigned disk);

#endif
