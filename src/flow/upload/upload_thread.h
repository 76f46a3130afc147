/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_UPLOAD_UPLOAD_THREAD_H
#define SPATE_FLOW_UPLOAD_UPLOAD_THREAD_H

#include <jansson.h>

#include "base/clock.h"
#include "base/log.h"
#include "contract/object.h"
#include "flow/send/pacer.h"
#include "flow/send/sender_thread.h"
#include "flow/source/block_reader.h"
#include "flow/upload/upload.h"
#include "flow/upload/upload_files.h"
#include "store/record/sums.h"
#include "store/recording/recording.h"
#include "store/write/copy_lines.h"

/*
 * The thread of an upload, for the files that it is made of:
 *
 *   upload.c           all of it: the recording, its files, the end
 *   upload_stages.c    blocks, by stages, into requests
 *   upload_store.c     the store's side: requests, errors, its list, the name
 *
 * A function that returns an int returns 0; -ECANCELED: told to stop; or
 * another -errno, when the upload is in state FAILED and its facts say why.
 */
enum {
	UPLOAD_STAGES = 16,
	UPLOAD_PARCELS = 64, /* most of a piece that is not copied */
	UPLOAD_ANEW = 3,     /* times that an object is begun again */
};

#define UPLOAD_AGAIN (NS_SECOND / 4) /* until a request is asked again */

/* States of a block. */
enum block_step {
	BLOCK_NEW,
	BLOCK_ASKED, /* whether the store has it */
	BLOCK_SENT,  /* it is being sent */
	BLOCK_DONE,  /* the store has it */
	BLOCK_LATE,  /* it cannot be read now, and is tried once more */
	BLOCK_LEFT,  /* it cannot be read, and is left out */
};

struct upload_block {
	uint8_t step;
	bool asked;	/* the store was asked for it once */
	bool filed;	/* it is in the files */
	bool tried;	/* it was left out once, and begun again */
	uint8_t anew;	/* times that it was begun again */
	uint64_t put;	/* bytes of the pieces that the store has taken */
	uint32_t crc;	/* of the pieces so far */
	uint32_t *sums; /* CRC32C of each BLOCK_QUANTUM; NULL: not known */
};

/* A chunk that the last list of the store has. */
struct upload_there {
	uint64_t number, bytes;
};

enum stage_step {
	STAGE_FREE,
	STAGE_FILLS, /* its piece is being copied out of the source */
	STAGE_READY, /* its request has to be begun */
	STAGE_ASKS,  /* the plugin has its request */
};

struct upload_stage {
	enum stage_step step;
	struct object_request r;
	/* The piece: parcels of the source, or one copy of its bytes. */
	struct object_bytes of[UPLOAD_PARCELS];
	struct parcel parcel[UPLOAD_PARCELS];
	unsigned parcels; /* 0: it is copied */
	bool copies;
	bool lost;   /* the block was begun again since */
	bool summed; /* the source gave the checksums of all bytes so far */
	uint8_t *data;
	size_t room;
	uint64_t number; /* of the block */
	uint32_t have;	 /* bytes of the piece that are there */
};

struct upload {
	struct sender base;   /* must be first: sender_thread.h */
	struct upload_args a; /* its texts are copies */
	struct disks disks;   /* opened by the thread */

	/* Only the thread uses these fields. */
	struct host host;
	struct recording *rec;
	struct copy_lines *lines;
	json_t *head;  /* the first line of the copy's metadata */
	bool was_live; /* its writer's lock was seen */
	struct block_reader reader;
	const struct object_ops *ops;
	struct object_state *store;
	uint32_t piece_most;
	struct object_request ask; /* one whose answer is waited for */
	struct object_bytes ask_of;
	struct upload_stage stage[UPLOAD_STAGES];
	unsigned stages;
	struct pacer pacer;
	uint64_t asked_rate;

	struct upload_block *block;
	size_t blocks, room;
	size_t low;		/* all blocks before it are past BLOCK_NEW */
	uint64_t number;	/* the block whose pieces are being filled, */
	uint32_t piece, pieces; /* its next piece, and how many it has */
	uint64_t left_n;
	uint64_t done_bytes; /* of pieces that the store has taken */

	struct upload_files files;
	size_t done_n, filed; /* blocks that the store has; in the files */
	int64_t published;    /* steady ns of the last time; 0: never */
	int64_t publish_for;  /* ns that it took */

	/* The list of what is there. */
	struct upload_there *there;
	size_t there_n, there_room;
	uint64_t meta_bytes, sums_bytes, index_bytes; /* UINT64_MAX: no such */
	uint64_t index_was;	  /* index_bytes at the beginning; 0: no such */
	struct sums_list brought; /* the checksums that were there */
	bool unlisted;		  /* there was no memory for all of it */
	unsigned others;	  /* other objects */

	int64_t ill_since; /* steady ns of the first request that failed since
			    * one succeeded; 0: none has */
	int64_t again;	   /* steady ns: no request is begun before that */
	int64_t wait;	   /* ns until the next, if another one fails */
};

/* ---- upload_store.c ------------------------------------------------------ */

/* Shows a state, and why; "": nothing to say. */
void upload_say(struct upload *u, enum sender_state state, const char *why);

/* Sets state FAILED and why.  Returns -EPROTO. */
int upload_fail(struct upload *u, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Shows the facts, if it is time to. */
void upload_show(struct upload *u);

/* Waits until `until` (steady ns), an order, or news of a request, and moves
 * all requests on. */
int upload_turn(struct upload *u, int64_t until);

/* Returns the plugin's sentence about the last error. */
const char *upload_trouble(struct upload *u, struct send_facts *f);

/* Notes that a request succeeded. */
void upload_well(struct upload *u);

/* Notes that a request failed: 0 if it may be asked again, at u->again; or the
 * error of the upload. */
int upload_ill(struct upload *u, int err);

/* Asks u->ask, and waits for the answer.  Also -ENOENT: there is no such
 * object; -ESTALE: its pieces have to be put again; -EEXIST: it is there
 * already. */
int upload_ask(struct upload *u);

/* Returns the name that the recording gets in the store. */
const char *upload_name(const struct upload *u);

/* Puts a file that is in memory; `fresh`: if there is none of this name, else
 * -EEXIST. */
int upload_file_put(struct upload *u, const struct upload_file *f,
		    const char *(*name)(char *file, const char *name),
		    bool fresh);

/* Reads the first `most` bytes of a file that is there into u->ask.data, which
 * the caller frees, also after an error but -ECANCELED. */
int upload_file_get(struct upload *u, uint32_t most,
		    const char *(*name)(char *file, const char *name));
void upload_file_free(struct upload *u);

/* Lists what the store has of the recording. */
int upload_list(struct upload *u);

/* Ends what uploads of this name have left: parts of objects. */
int upload_rest_end(struct upload *u);

/* Tells whether the list has a chunk of this length. */
bool upload_has(const struct upload *u, uint64_t number, uint64_t bytes);

/*
 * Looks whether the name is free, or what is there the beginning of this.  Then
 * takes the name, by the metadata's first line: another upload of that name
 * finds it.
 */
int upload_name_take(struct upload *u);

/* ---- upload_stages.c ----------------------------------------------------- */

const struct index_record *upload_record(const struct upload *u,
					 uint64_t number);

/* Takes notice of blocks that came. */
int upload_blocks_grow(struct upload *u);

/* Begins those blocks again that were left out, but may be read by now. */
void upload_blocks_again(struct upload *u);

/* Tells whether a block, or a piece of one, waits for a stage. */
bool upload_has_more(struct upload *u);

/* Takes one step of all stages.  *until: when to go on, without news.  *busy:
 * there was something to do. */
int upload_stages_step(struct upload *u, int64_t *until, bool *busy);

/* Returns the source's memory of a piece, which is not needed any more. */
void upload_stage_drop(struct upload_stage *s);

/* Returns all memory of the source, if the recorder wants it. */
int upload_stages_yield(struct upload *u);

/* Returns the descriptor that says that the recorder wants memory; -1: it
 * cannot, since no stage has any of its. */
int upload_source_fd(const struct upload *u);

#endif
