/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_RECORD_META_H
#define SPATE_STORE_RECORD_META_H

#include <jansson.h>
#include <stdint.h>

#include "contract/block.h"
#include "contract/format.h"
#include "store/record/fill.h"
#include "store/record/geometry.h"
#include "store/record/index.h"
#include "store/disk/layout.h"
#include "store/record/notes.h"

/*
 * The metadata of a recording is lines of JSON, one object each, in
 * <name>.meta.jsonl on every disk; numbers that need 64 bits are decimal
 * strings, times are ISO 8601 UTC with nine digits.
 *
 *   {"spate":1,"software":"spate 0.1.0","name":..,"stream":..,"format":..,
 *    "extension":..,"layout":"vbs","fill":"invalid","start":..,
 *    "shape":{..},"geometry":{"payload","parts","quantum","slots",
 *    "block_bytes"},"disks":[..],"max_loss":0.01,["subs":432,]
 *    ["channels_per_file":4,]["vbs_cfg":true]}
 *                                                  always the first line
 *   {"run":0,["sub":3,]"base":"4812800702","time":..
 *    [,"fps":16000,"threads":[0]]}                 before its first block on
 *                                                  this disk; again, with what
 *                                                  was learned since
 *   {"block":12,"holes":[[4711,3],[5000,1]]}       first slot, count
 *   {"block":12,"holes":[[62,5000],[70000,1432]],"unit":"byte"}
 *                                                  of cubes: first, count
 *   {"descriptor":"UwQC..","id":24586,["sub":3,]"heap":"2"}
 *                                                  of an item of heaps: the
 *                                                  packet that it is; once
 *   {"control":"stop","time":..,["sub":3,]"heap":"9"}   a control heap:
 *                                                  start, reissue, stop or
 *                                                  update
 *   {"chunk":12,["sub":3,]"run":0,"first":"640","bytes":8388608,
 *    "present":..,"missing":..}                    before a chunk is written,
 *                                                  where itself it would not
 *                                                  tell, or where all blocks
 *                                                  share a file: for recover
 *   {"written":12,["sub":3,]"run":0,"first":"640","bytes":8388608,
 *    "present":..,"missing":..,"times":[..,..],"flags":..,"crc":..,
 *    ["gap":..]}                                  a chunk was written: all that
 *                                                  its record will say, which
 *                                                  the index has after the
 *                                                  next round; for who goes on
 *                                                  after a crash in between
 *   {"resumed":"..","stopped":"..","seen":14,"number":14,"missing":0,
 *    "disks":[..]}                                  the daemon stopped at about
 *                                                  that time, and another went
 *                                                  on; see resume.h
 *   {"cut":"1048596"}                             the file that all blocks
 *                                                  share was cut to so many
 *                                                  bytes: chunks that were
 *                                                  noted and ended behind it
 *                                                  are not there; for recover
 *   {"error":"...","time":..}                      something about this disk
 *   {"end":{..}}                                   the totals, see session
 *
 * A line that does not parse (a torn tail) is passed over by readers, unless
 * it is the first.
 */
struct meta_head {
	const char *name, *stream, *format, *extension;
	enum layout layout;
	enum fill_kind fill;
	int64_t start_ns;
	const struct format_shape *shape;
	const struct geometry *geometry;
	unsigned subs, channels_per_file; /* 0 is 1, and 1 is left out */
	double max_loss;		  /* that it may have */
	bool vbs_cfg; /* NAME.cfg is written at the end, and else left out */
	const char *const *disks; /* their paths */
	unsigned disks_n;
};

/* New references; NULL without memory. */
json_t *meta_head(const struct meta_head *head);
/* That b begins, or of which more was learned; `shape` has the threads. */
json_t *meta_run(const struct block *b, unsigned subs,
		 const struct format_shape *shape);
/* Adds what was learned to a line.  0 or -ENOMEM. */
int meta_learned(json_t *line, uint32_t fps, const struct format_shape *shape);
json_t *meta_chunk(const struct block *b, unsigned subs); /* sealed */
json_t *meta_holes(const struct block *b); /* NULL too: b has none */
json_t *meta_cut(uint64_t bytes);
/* r->sub is left out where it is 0, and so is the gap before the block. */
json_t *meta_written(const struct index_record *r, uint64_t gap);
/* The other way: 0, or -EBADMSG. */
int meta_read_written(const json_t *line, struct index_record *r,
		      uint32_t *gap);
json_t *meta_error(const char *text, int64_t now_ns);

/* Of a sealed block of a cube; NULL too: nothing is missing.  A list without
 * holes says that what is missing is nothing that is stored. */
json_t *meta_heap_holes(const struct block *b);
/* The text of a descriptor back into the bytes that it was: *raw is malloc'ed.
 * 0, -EBADMSG, -ENOMEM. */
int meta_read_descriptor(const char *text, uint8_t **raw, uint32_t *bytes);
json_t *meta_heap_event(const struct block *b, unsigned subs,
			const struct notes_event *e);

/*
 * The most bytes that the metadata of a disk can have beside that index: its
 * lines tell of blocks, and holes take a quarter of the room of data at most.
 * More is not ours, or damaged, and is not read.
 */
uint64_t meta_most(const struct index_record *record, size_t records);

#endif
