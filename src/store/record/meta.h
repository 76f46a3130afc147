/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_RECORD_META_H
#define SPATE_STORE_RECORD_META_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "store/record/block.h"
#include "contract/format.h"
#include "store/record/fill.h"
#include "store/record/geometry.h"
#include "store/record/index.h"
#include "store/disk/layout.h"
#include "store/record/notes.h"

/*
 * The metadata of a recording is lines of JSON, one object each, in
 * <name>.meta.jsonl on every disk.  Numbers that need 64 bits are decimal
 * strings; times are ISO 8601 UTC with nine digits.  Keys in [] are left out
 * where they do not apply.
 *
 *   {"spate":1,"software":"spate 0.1.0","name":..,"stream":..,"format":..,
 *    "extension":..,"layout":"vbs","fill":"invalid","start":..,
 *    "shape":{..},"geometry":{"payload","parts","quantum","slots",
 *    "block_bytes"},"disks":[..],"max_loss":0.01,["subs":432,]
 *    ["channels_per_file":4,]["vbs_cfg":true,]
 *    ["parity":1]}
 *                                                  always the first line
 *   {"run":0,["sub":3,]"base":"4812800702","time":..
 *    [,"fps":16000,"threads":[0]]}                 before the first block of a
 *                                                  run on this disk; again when
 *                                                  fps and threads are learned
 *   {"block":12,"holes":[[4711,3],[5000,1]]}       missing slots: first, count
 *   {"block":12,"holes":[[62,5000],[70000,1432]],"unit":"byte"}
 *                                                  missing bytes of a cube:
 *                                                  first, count
 *   {"descriptor":"UwQC..","id":24586,["sub":3,]"heap":"2"}
 *                                                  descriptor of item `id` of
 *                                                  heaps: its packet in base64,
 *                                                  once
 *   {"control":"stop","time":..,["sub":3,]"heap":"9"}   a control heap:
 *                                                  start, reissue, stop or
 *                                                  update
 *   {"chunk":12,["sub":3,]"run":0,"first":"640","bytes":8388608,
 *    "present":..,"missing":..}                    before a chunk
 *                                                  is written whose own bytes
 *                                                  do not say this, or if all
 *                                                  blocks share a file
 *   {"written":12,["sub":3,]"run":0,"first":"640","bytes":8388608,
 *    "present":..,"missing":..,"times":[..,..],"flags":..,"crc":..,
 *    ["gap":..]}                                   a chunk was written: the
 *                                                  content of its index record,
 *                                                  which follows with the next
 *                                                  sync; for going on after a
 *                                                  crash in between
 *   {"resumed":"..","stopped":"..","seen":14,"number":14,"missing":0,
 *    "disks":[..]}                                 the daemon stopped at about
 *                                                  `stopped`, another one went
 *                                                  on at `resumed`: resume.h
 *   {"cut":"1048596"}                              the file that
 *                                                  all blocks share was cut to
 *                                                  so many bytes; a chunk that
 *                                                  was noted before and ends
 *                                                  behind that is not there
 *   {"end":{..}}                                   the recording's totals
 *
 * A reader skips a line that does not parse (a torn tail), unless it is the
 * first one.
 */
struct meta_head {
	const char *name, *stream, *format, *extension;
	enum layout layout;
	enum fill_kind fill;
	int64_t start_ns;
	const struct format_shape *shape;
	const struct geometry *geometry;
	/* 0 counts as 1; 1 is left out of the line */
	unsigned subs, channels_per_file;
	/* share of its packets that may be lost before `spate check` calls the
	 * recording bad */
	double max_loss;
	unsigned parity; /* parity blocks of a group; 0: none */
	bool vbs_cfg;	 /* NAME.cfg is written at the end; left out if not */
	const char *const *disks; /* paths of the disks */
	unsigned disks_n;
	/* A random number, by which two recordings of one name differ; 0: none,
	 * as before there was one. */
	uint64_t id;
};

/* Lines of metadata.  Each function returns a new reference, or NULL without
 * memory. */
json_t *meta_head(const struct meta_head *head);
/* Tells whether these are first lines of two recordings, by their ids. */
bool meta_differs(const json_t *head, const json_t *other);
/* The line of the run of block b, at its beginning or when more was learned;
 * `shape` has the threads. */
json_t *meta_run(const struct block *b, unsigned subs,
		 const struct format_shape *shape);
/* Adds fps and threads to a line.  0 or -ENOMEM. */
int meta_learned(json_t *line, uint32_t fps, const struct format_shape *shape);
json_t *meta_chunk(const struct block *b, unsigned subs); /* b must be sealed */
json_t *meta_holes(const struct block *b); /* NULL also if b has no holes */
json_t *meta_cut(uint64_t bytes);
/* The line of a written chunk.  r->sub and `gap`, the slots of the gap record
 * before the block, are left out where they are 0. */
json_t *meta_written(const struct index_record *r, uint64_t gap);
/* Reads such a line.  0, or -EBADMSG. */
int meta_read_written(const json_t *line, struct index_record *r,
		      uint32_t *gap);

/* Reads the line of a chunk that was begun, without times.  0, or -EBADMSG. */
int meta_read_chunk(const json_t *line, struct index_record *r);
/* Reads the bytes of a line of meta_cut(); 0 if it has none. */
uint64_t meta_read_cut(const json_t *line);

/* The holes of a sealed block of a cube; NULL also if nothing is missing.  An
 * empty list of holes says that only packets are missing that would not have
 * been stored. */
json_t *meta_heap_holes(const struct block *b);
/* Decodes the base64 text of a descriptor into the bytes of its packet; the
 * caller frees *raw.  0, -EBADMSG or -ENOMEM. */
int meta_read_descriptor(const char *text, uint8_t **raw, uint32_t *bytes);
/* The line of a control heap or a descriptor in a sealed block. */
json_t *meta_heap_event(const struct block *b, unsigned subs,
			const struct notes_event *e);

/*
 * Cuts a torn last line off a file of metadata, which is open for reading, too:
 * what is behind its last newline.  meta->bytes is how many were read of it, in
 * whole lines, and how many it has then: lines behind those that were read stay.
 * 0; or -errno, and nothing is cut.
 */
int meta_cut_torn(struct append_file *meta);

/* Appends a line.  0 or -errno. */
int meta_append(struct append_file *to, const json_t *line);

/*
 * Upper limit for the bytes of a disk's metadata, given its index: the lines
 * tell of blocks, and holes take at most a quarter as much room as the data.  A
 * larger file is damaged or not ours, and is not read.
 */
uint64_t meta_most(const struct index_record *record, size_t records);

#endif
