/* SPDX-License-Identifier: MIT */
/*
 * The thread of an upload reads the recording's index itself, and gets the bytes
 * of each block into a stage, of which there is one per connection: parcels of
 * the source, which the stage holds until the store has the piece, and puts
 * again if that failed.  When the recorder wants its memory, they are copied
 * and returned at once, as they are where a piece is a part of a block, or large
 * beside what the source has.
 *
 * Nothing here begins anew: libcurl makes connections, so an error of a request
 * is one of this request, which waits a little and is asked again.  The upload
 * gives up when no request has succeeded for `patience`.
 */
#include "flow/upload/upload.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/log.h"
#include "contract/object.h"
#include "flow/send/pacer.h"
#include "flow/send/sender_thread.h"
#include "flow/source/block_reader.h"
#include "flow/upload/upload_files.h"
#include "store/record/sums.h"
#include "store/recording/recording.h"
#include "store/write/copy_lines.h"
#include "store/write/copy_origin.h"

enum {
	STAGES = 16,
	STAGES_USUAL = 4,
	PATIENCE_S = 60,
	QUANTUM = BLOCK_QUANTUM,
	PARCELS = 64,	     /* most of a piece that is not copied */
	STEP = 1 << 16,	     /* bytes that are copied and summed in the cache */
	HEAD_MOST = 1 << 20, /* bytes that are read of metadata */
	ANEW = 3,	     /* times that an object is begun again */
};

#define AGAIN	   (NS_SECOND / 4) /* until a request is asked again */
#define AGAIN_MOST (5 * NS_SECOND)
#define GROW	   (NS_SECOND * 3 / 10) /* between looks at a live recording */
#define WAIT	   (NS_SECOND / 20)	/* the longest sleep */
#define NAP	   (NS_SECOND / 500)	/* while the source has no data */
/* Between two puts of index and metadata; they take a twentieth of the time at
 * most. */
#define PUBLISH	      (10 * NS_SECOND)
#define PUBLISH_SHARE 20

/* States of a block. */
enum block_step {
	BLOCK_NEW,
	BLOCK_ASKED, /* whether the store has it */
	BLOCK_SENT,  /* it is being sent */
	BLOCK_DONE,  /* the store has it */
	BLOCK_LEFT,  /* it cannot be read, and is left out */
};

struct upload_block {
	uint8_t step;
	bool asked;	/* the store was asked for it once */
	bool filed;	/* it is in the files */
	uint8_t anew;	/* times that it was begun again */
	uint64_t put;	/* bytes of the pieces that the store has taken */
	uint32_t crc;	/* of the pieces so far */
	uint32_t *sums; /* CRC32C of each QUANTUM; NULL: not known */
};

/* A chunk that was in the store when the upload began. */
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
	struct object_bytes of[PARCELS];
	struct parcel parcel[PARCELS];
	unsigned parcels; /* 0: it is copied */
	bool copies;
	bool lost; /* the block was begun again since */
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
	struct upload_stage stage[STAGES];
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
	bool listed_all;	  /* there was memory for the list */
	unsigned others;	  /* other objects */

	int64_t ill_since; /* steady ns of the first request that failed since
			    * one succeeded; 0: none has */
	int64_t again;	   /* steady ns: no request is begun before that */
	int64_t wait;	   /* ns until the next, if another one fails */
};

/* ---- what is said ------------------------------------------------------- */

static void
say(struct upload *u, enum sender_state state, const char *why)
{
	u->base.facts.state = state;
	if (why != u->base.facts.why)
		snprintf(u->base.facts.why, sizeof u->base.facts.why, "%s",
			 why);
	sender_show(&u->base, clock_steady());
}

/* Sets state FAILED and why.  Returns -EPROTO. */
static int __attribute__((format(printf, 2, 3)))
fail(struct upload *u, const char *format, ...)
{
	char why[SEND_SENTENCE];
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof why, format, args);
	va_end(args);
	say(u, SENDER_FAILED, why);
	return -EPROTO;
}

static void
show(struct upload *u)
{
	bool pause = atomic_load_explicit(&u->base.pause, memory_order_relaxed);
	struct sender_facts *f = &u->base.facts;
	enum sender_state state = f->state;
	int64_t now = clock_steady();

	if (pause && state == SENDER_SENDING)
		state = SENDER_PAUSED;
	else if (!pause && state == SENDER_PAUSED)
		state = SENDER_SENDING;
	if (state == f->state && now < u->base.show_at)
		return;
	f->state = state;
	f->bytes = u->done_bytes;
	for (unsigned i = 0; i < u->stages; i++) {
		if (u->stage[i].step == STAGE_ASKS &&
		    u->stage[i].r.verb == OBJECT_PUT)
			f->bytes += u->stage[i].r.sent;
	}
	u->ops->facts(u->store, &f->send);
	u->a.source->ops->facts(u->a.source, &f->source);
	f->send.bytes = f->bytes;
	f->send.why[0] = '\0';
	f->asked = atomic_load_explicit(&u->base.rate, memory_order_relaxed);
	sender_show(&u->base, now);
}

/* ---- memory of the source ------------------------------------------------- */

/* Returns the source's memory of a piece, which is not needed any more. */
static void
stage_drop(struct upload_stage *s)
{
	while (s->parcels)
		source_put(&s->parcel[--s->parcels]);
}

/* Makes room for a copy of the piece.  0 or -ENOMEM. */
static int
stage_room(struct upload_stage *s)
{
	if (s->data && s->room >= s->r.bytes)
		return 0;
	free(s->data);
	s->room = s->r.bytes;
	s->data = malloc(s->room + 1);
	if (!s->data)
		s->room = 0;
	return s->data ? 0 : -ENOMEM;
}

/* Copies what a stage has in parcels, and returns them.  0 or -ENOMEM. */
static int
stage_detach(struct upload_stage *s)
{
	uint64_t at = 0;

	if (s->copies)
		return 0;
	if (stage_room(s))
		return -ENOMEM;
	for (unsigned i = 0; i < s->parcels; i++) {
		memcpy(s->data + at, s->of[i].data, s->of[i].bytes);
		at += s->of[i].bytes;
	}
	s->of[0] = (struct object_bytes){ s->data, s->r.bytes };
	s->r.of_n = 1;
	s->copies = true;
	stage_drop(s);
	return 0;
}

/* Returns all memory of the source, if the recorder wants it. */
static int
stages_yield(struct upload *u)
{
	const struct source_ops *ops = u->a.source->ops;
	int err = 0;

	if (!ops->wanted || !ops->wanted(u->a.source))
		return 0;
	block_reader_drop(&u->reader);
	for (unsigned i = 0; i < u->stages && !err; i++) {
		if (u->stage[i].parcels)
			err = stage_detach(&u->stage[i]);
	}
	return err ? fail(u, "out of memory") : 0;
}

/* The descriptor that says that the recorder wants memory; -1: it cannot, since
 * no stage has any of its. */
static int
source_fd(const struct upload *u)
{
	const struct source_ops *ops = u->a.source->ops;

	for (unsigned i = 0; i < u->stages && ops->wanted; i++) {
		if (u->stage[i].parcels)
			return ops->fd(u->a.source);
	}
	return -1;
}

/* ---- requests ------------------------------------------------------------ */

/* Waits until `until` (steady ns), an order, or news of a request, and moves all
 * requests on.  0; -ECANCELED: told to stop; or -EPROTO. */
static int
turn(struct upload *u, int64_t until)
{
	struct pollfd fd[8] = { { .fd = u->base.wake, .events = POLLIN },
				{ .fd = source_fd(u), .events = POLLIN } };
	struct timespec t = { 0 };
	int64_t now = clock_steady();
	unsigned n = 2 + u->ops->poll(u->store, fd + 2, 6, &until);

	if (until > now) {
		t.tv_sec = (until - now) / NS_SECOND;
		t.tv_nsec = (until - now) % NS_SECOND;
	}
	ppoll(fd, n, &t, NULL);
	if (fd[0].revents)
		sender_wake_read(&u->base);
	if (atomic_load_explicit(&u->base.stop, memory_order_relaxed))
		return -ECANCELED;
	u->ops->step(u->store);
	show(u);
	return stages_yield(u);
}

/* The plugin's sentence about the last error. */
static const char *
trouble(struct upload *u, struct send_facts *f)
{
	u->ops->facts(u->store, f);
	return f->why;
}

/* A request succeeded. */
static void
well(struct upload *u)
{
	u->ill_since = u->again = 0;
	u->wait = AGAIN;
	if (u->base.facts.state == SENDER_CONNECTING)
		say(u, SENDER_SENDING, "");
}

/* A request failed: 0 if it may be asked again, at u->again; or the error of the
 * upload. */
static int
ill(struct upload *u, int err)
{
	int64_t now = clock_steady();
	struct send_facts f;

	if (err != -EAGAIN)
		return fail(u, "%s", trouble(u, &f));
	/* All connections break together: they wait once. */
	if (now >= u->again) {
		u->again = now + u->wait;
		u->wait = u->wait < AGAIN_MOST / 2 ? 2 * u->wait : AGAIN_MOST;
	}
	if (!u->ill_since)
		u->ill_since = now;
	if (now - u->ill_since > u->a.patience)
		return fail(u, "%s", trouble(u, &f));
	say(u, SENDER_CONNECTING, trouble(u, &f));
	return 0;
}

/* Asks u->ask, and waits for the answer.  0; -ENOENT: there is no such object;
 * -ESTALE: its pieces have to be put again; or an error of the upload. */
static int
asked(struct upload *u)
{
	int err;

	for (;;) {
		err = 0;
		while (!err && clock_steady() < u->again)
			err = turn(u, u->again);
		if (err)
			return err;
		if (u->ops->begin(u->store, &u->ask))
			return fail(u, "out of memory");
		while (!err && !u->ask.over)
			err = turn(u, clock_steady() + NS_SECOND);
		if (err)
			return err;
		if (!u->ask.err ||
		    (u->ask.err == -ENOENT && u->ask.verb == OBJECT_READ) ||
		    (u->ask.err == -ESTALE && u->ask.verb == OBJECT_PUT)) {
			well(u);
			return u->ask.err;
		}
		err = ill(u, u->ask.err);
		if (err)
			return err;
	}
}

static const char *
name_of(const struct upload *u)
{
	return u->a.as ? u->a.as : u->a.name;
}

static void
key_make(const struct upload *u, char key[OBJECT_KEY],
	 const char *(*file)(char *file, const char *name))
{
	char name[LAYOUT_FILE];

	snprintf(key, OBJECT_KEY, "%s/%s", name_of(u), file(name, name_of(u)));
}

/* Puts a file that is in memory. */
static int
file_put(struct upload *u, const struct upload_file *f,
	 const char *(*name)(char *file, const char *name))
{
	uint32_t whole = crc32c(0, f->data, f->bytes);
	unsigned anew = 0;
	struct send_facts facts;
	uint64_t at = 0;
	bool ends = false;
	int err = 0;

	do {
		uint64_t left = f->bytes - at;

		u->ask = (struct object_request){
			.verb = OBJECT_PUT,
			.of = &u->ask_of,
			.of_n = 1,
			.at = at,
			.bytes = left < u->piece_most ? (uint32_t)left
						      : u->piece_most,
			.total = f->bytes,
			.whole_crc = whole,
			.summed = true,
		};
		key_make(u, u->ask.key, name);
		u->ask_of = (struct object_bytes){ f->data + at, u->ask.bytes };
		u->ask.crc = crc32c(0, f->data + at, u->ask.bytes);
		err = asked(u);
		at += u->piece_most;
		ends = !err && at >= f->bytes;
		if (err == -ESTALE && anew == ANEW)
			err = fail(u, "%s", trouble(u, &facts));
		if (err == -ESTALE) {
			anew++;
			at = 0;
			err = 0;
		}
	} while (!err && !ends);
	return err;
}

/* ---- what is there -------------------------------------------------------- */

static void
chunk_found(struct upload *u, uint64_t number, uint64_t bytes)
{
	struct upload_there *grown = u->there;

	if (u->there_n == u->there_room) {
		size_t room = u->there_room ? 2 * u->there_room : 256;

		grown = realloc(grown, room * sizeof *grown);
		if (!grown) {
			u->listed_all = false;
			return;
		}
		u->there = grown;
		u->there_room = room;
	}
	grown[u->there_n++] = (struct upload_there){ number, bytes };
}

static void
found(struct object_request *r, const char *key, uint64_t bytes)
{
	struct upload *u = r->arg;
	size_t folder = strlen(u->ask.key);
	const char *file = key + folder, *name = name_of(u);
	char own[LAYOUT_FILE];
	uint64_t number;

	if (strncmp(key, u->ask.key, folder) != 0)
		return;
	if (layout_chunk_number(file, name, &number))
		chunk_found(u, number, bytes);
	else if (!strcmp(file, layout_meta(own, name)))
		u->meta_bytes = bytes;
	else if (!strcmp(file, layout_sums(own, name)))
		u->sums_bytes = bytes;
	else if (!strcmp(file, layout_index(own, name)))
		u->index_bytes = bytes;
	else
		u->others++;
}

static int
by_number(const void *a, const void *b)
{
	const struct upload_there *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

/* Lists what the store has of the recording. */
static int
list(struct upload *u)
{
	int err;

	do {
		u->there_n = u->others = 0;
		u->meta_bytes = u->sums_bytes = u->index_bytes = UINT64_MAX;
		u->listed_all = true;
		u->ask = (struct object_request){ .verb = OBJECT_LIST,
						  .found = found,
						  .arg = u };
		snprintf(u->ask.key, sizeof u->ask.key, "%s/", name_of(u));
		err = asked(u);
	} while (!err && !u->listed_all);
	if (!err && u->there_n)
		qsort(u->there, u->there_n, sizeof *u->there, by_number);
	return err;
}

/* Tells whether the store has a chunk of this length. */
static bool
is_there(const struct upload *u, uint64_t number, uint64_t bytes)
{
	const struct upload_there key = { .number = number };
	const struct upload_there *t =
	    u->there_n
		? bsearch(&key, u->there, u->there_n, sizeof key, by_number)
		: NULL;

	return t && t->bytes == bytes;
}

/* Reads the first `most` bytes of a file that is there into u->ask.data, which
 * the caller frees, also after an error but -ECANCELED. */
static int
file_get(struct upload *u, uint32_t most,
	 const char *(*name)(char *file, const char *name))
{
	u->ask = (struct object_request){ .verb = OBJECT_READ,
					  .data = malloc(most),
					  .bytes = most };
	if (!u->ask.data)
		return fail(u, "out of memory");
	key_make(u, u->ask.key, name);
	return asked(u);
}

static void
file_free(struct upload *u)
{
	free(u->ask.data);
	u->ask.data = NULL;
}

/* Tells whether what the store has is the same recording, by the first line of
 * its metadata. */
static int
same_look(struct upload *u, bool *same)
{
	int err = file_get(u, HEAD_MOST, layout_meta);
	json_t *head = NULL;

	if (err == -ECANCELED)
		return err;
	if (!err)
		head = json_loadb((const char *)u->ask.data, u->ask.bytes,
				  JSON_DISABLE_EOF_CHECK, NULL);
	*same =
	    head && copy_origin_identity(head) == copy_origin_identity(u->head);
	json_decref(head);
	file_free(u);
	return err == -ENOENT ? 0 : err;
}

/* Reads the checksums that are there, of blocks which are not sent again.  The
 * upload is as good without. */
static int
sums_take(struct upload *u)
{
	int err = 0, fd;

	if (!u->sums_bytes || u->sums_bytes > SUMS_FILE)
		return 0;
	err = file_get(u, (uint32_t)u->sums_bytes, layout_sums);
	if (err == -ECANCELED)
		return err;
	fd = err ? -1 : memfd_create("spate-sums", MFD_CLOEXEC);
	if (fd >= 0) {
		if (!write_whole(fd, u->ask.data, u->ask.bytes, 0) &&
		    sums_read(fd, &u->brought))
			u->brought = (struct sums_list){ 0 };
		close(fd);
	}
	file_free(u);
	return err == -ENOENT ? 0 : err;
}

/* Ends what an earlier upload of this name has left: parts of objects. */
static int
rest_end(struct upload *u)
{
	u->ask = (struct object_request){ .verb = OBJECT_END };
	snprintf(u->ask.key, sizeof u->ask.key, "%s/", name_of(u));
	return asked(u);
}

/*
 * Looks whether the name is free, or what is there the beginning of this.  Then
 * takes the name, by the metadata's first line: another upload of that name
 * finds it.
 */
static int
name_take(struct upload *u)
{
	bool same = false;
	int err = list(u);

	if (!err && u->meta_bytes != UINT64_MAX) {
		err = same_look(u, &same);
	} else if (!err && !u->there_n && u->index_bytes == UINT64_MAX &&
		   !u->others) {
		err = rest_end(u);
		return err ? err : file_put(u, &u->files.meta, layout_meta);
	}
	if (!err && same) {
		err = rest_end(u);
		if (err)
			return err;
		u->index_was =
		    u->index_bytes == UINT64_MAX ? 0 : u->index_bytes;
		return sums_take(u);
	}
	if (!err)
		return fail(u,
			    "%s has another recording %s: send this one with "
			    "--as, or remove that one",
			    u->a.to, name_of(u));
	return err;
}

/* ---- blocks --------------------------------------------------------------- */

static const struct index_record *
record_of(const struct upload *u, uint64_t number)
{
	size_t n;

	return &recording_blocks(u->rec, &n)[number].record;
}

/* Takes notice of blocks that came. */
static int
blocks_grow(struct upload *u)
{
	const struct recording_block *b;
	struct upload_block *grown = u->block;
	uint64_t bytes = 0;
	size_t n;

	b = recording_blocks(u->rec, &n);
	if (n > u->room) {
		grown = realloc(grown, 2 * n * sizeof *grown);
		if (!grown)
			return fail(u, "out of memory");
		memset(grown + u->room, 0, (2 * n - u->room) * sizeof *grown);
		u->block = grown;
		u->room = 2 * n;
	}
	u->blocks = n;
	/* A number that no disk had may be a block now: its disk came back. */
	u->low = 0;
	for (size_t i = 0; i < n; i++)
		bytes +=
		    b[i].record.kind == INDEX_BLOCK ? b[i].record.bytes : 0;
	u->base.facts.total = bytes;
	return 0;
}

/* Marks a block as left out, since it cannot be read.  Pieces of it that were
 * put already become no object. */
static void
leave_out(struct upload *u, uint64_t number, int err)
{
	log_line(LEVEL_WARN, u->a.name, "chunk %llu is not uploaded: %s",
		 (unsigned long long)number,
		 err == -EBADMSG ? "its checksum is wrong" : strerror(-err));
	u->block[number].step = BLOCK_LEFT;
	u->left_n++;
	u->base.facts.unreadable += record_of(u, number)->present;
	u->piece = u->pieces = 0;
}

/* Finds the next block that the store may lack.  False: none. */
static bool
block_next(struct upload *u, uint64_t *number)
{
	for (; u->low < u->blocks; u->low++) {
		if (record_of(u, u->low)->kind != INDEX_BLOCK ||
		    u->block[u->low].step != BLOCK_NEW)
			continue;
		*number = u->low;
		return true;
	}
	return false;
}

static void
block_done(struct upload *u, uint64_t number)
{
	const struct index_record *r = record_of(u, number);

	u->block[number].step = BLOCK_DONE;
	u->done_n++;
	u->base.facts.packets += r->present;
	u->base.facts.missing += r->missing;
	u->base.facts.time_ns = r->last_ns;
}

/* ---- stages ---------------------------------------------------------------- */

static void
stage_key(struct upload *u, struct upload_stage *s)
{
	char file[LAYOUT_FILE];

	snprintf(s->r.key, sizeof s->r.key, "%s/%s", name_of(u),
		 layout_chunk(file, name_of(u), s->number));
}

/* Asks for the checksum of a chunk that is there. */
static void
stat_begin(struct upload *u, struct upload_stage *s, uint64_t number)
{
	s->number = number;
	s->lost = false;
	s->r = (struct object_request){ .verb = OBJECT_STAT };
	stage_key(u, s);
	s->step = STAGE_READY;
	u->block[number].asked = true;
	u->block[number].step = BLOCK_ASKED;
}

/* Begins a block: a piece of it is the next one. */
static int
block_begin(struct upload *u, uint64_t number)
{
	const struct index_record *r = record_of(u, number);
	struct upload_block *b = &u->block[number];

	b->step = BLOCK_SENT;
	b->crc = 0;
	b->put = 0;
	free(b->sums);
	b->sums = calloc(r->bytes / QUANTUM + 1, sizeof *b->sums);
	if (!b->sums)
		return fail(u, "out of memory");
	u->number = number;
	u->piece = 0;
	u->pieces = (uint32_t)((r->bytes + u->piece_most - 1) / u->piece_most);
	u->pieces += !u->pieces;
	return 0;
}

/* Begins to fill a stage with the next piece. */
static int
piece_begin(struct upload *u, struct upload_stage *s)
{
	const struct index_record *r = record_of(u, u->number);
	uint64_t at = (uint64_t)u->piece * u->piece_most;
	uint64_t bytes = r->bytes - at;

	if (bytes > u->piece_most)
		bytes = u->piece_most;
	s->number = u->number;
	s->have = 0;
	/* A source gives no more than half of its memory away for one piece;
	 * and a block in several pieces is one parcel in memory. */
	s->copies = bytes != r->bytes || bytes > u->a.memory / 2;
	s->lost = false;
	s->parcels = 0;
	s->r = (struct object_request){ .verb = OBJECT_PUT,
					.of = s->of,
					.of_n = 1,
					.at = at,
					.bytes = (uint32_t)bytes,
					.total = r->bytes,
					.whole_crc = r->crc,
					.summed = r->flags & INDEX_SUMMED };
	if (s->copies && stage_room(s))
		return fail(u, "out of memory");
	s->of[0] = (struct object_bytes){ s->data, bytes };
	stage_key(u, s);
	s->step = STAGE_FILLS;
	u->piece++;
	return 0;
}

/* Gives a free stage something to do, if there is anything. */
static int
stage_begin(struct upload *u, struct upload_stage *s)
{
	const struct index_record *r;
	uint64_t number;
	int err = 0;

	if (u->piece == u->pieces) {
		if (!block_next(u, &number))
			return 0;
		r = record_of(u, number);
		if (!u->block[number].asked && r->flags & INDEX_SUMMED &&
		    is_there(u, number, r->bytes)) {
			stat_begin(u, s, number);
			return 0;
		}
		err = block_begin(u, number);
	}
	return err ? err : piece_begin(u, s);
}

/* Gets the next bytes of a piece, by parcels, or a part of a QUANTUM that is
 * copied.  0; -ETIMEDOUT: there are none yet; or another -errno. */
static int
stage_more(struct upload *u, struct upload_stage *s, int64_t until)
{
	uint32_t left = s->r.bytes - s->have, step;
	struct parcel *p = &s->parcel[s->parcels];
	int err = -EXDEV;

	if (!s->copies && s->parcels < PARCELS)
		err = block_reader_take(&u->reader, s->number,
					s->r.at + s->have, left, p, until);
	if (!err) {
		s->of[s->parcels++] =
		    (struct object_bytes){ p->data, p->bytes };
		s->r.of_n = s->parcels;
		s->have += (uint32_t)p->bytes;
		return 0;
	}
	if (err != -EXDEV)
		return err;
	err = stage_detach(s);
	if (err)
		return err;
	step = STEP - s->have % STEP;
	return block_reader_copy(&u->reader, s->number, s->r.at,
				 s->have + (left < step ? left : step), s->data,
				 &s->have, until);
}

/* Takes the checksums of bytes that came: of the piece from `from` on. */
static void
stage_sum(struct upload *u, struct upload_stage *s, uint32_t from,
	  const uint8_t *data)
{
	uint32_t *sums = u->block[s->number].sums;

	while (from < s->have) {
		uint32_t to = (from / QUANTUM + 1) * QUANTUM, end, *sum;

		end = to < s->have ? to : s->have;
		sum = &sums[(s->r.at + from) / QUANTUM];
		*sum = crc32c(*sum, data, end - from);
		data += end - from;
		if (end == to || end == s->r.bytes)
			s->r.crc =
			    crc32c_join(crc32c_shift((end - 1) % QUANTUM + 1),
					s->r.crc, *sum);
		from = end;
	}
}

/* Gets what there is of the piece.  0: it is whole; -ETIMEDOUT: not yet; or
 * another -errno. */
static int
stage_fill(struct upload *u, struct upload_stage *s, int64_t until)
{
	int err = 0;

	while (!err && s->have < s->r.bytes) {
		uint32_t from = s->have;

		sender_into(&u->base);
		err = stage_more(u, s, until);
		sender_out(&u->base);
		if (s->have > from)
			stage_sum(u, s, from,
				  s->copies ? s->data + from
					    : s->of[s->parcels - 1].data);
	}
	return err;
}

/* The piece is whole.  -EBADMSG: so is the block, and its checksum is wrong. */
static int
stage_filled(struct upload *u, struct upload_stage *s)
{
	const struct index_record *r = record_of(u, s->number);
	struct upload_block *b = &u->block[s->number];

	b->crc = crc32c_join(crc32c_shift(s->r.bytes), b->crc, s->r.crc);
	if (s->r.at + s->r.bytes == r->bytes && r->flags & INDEX_SUMMED &&
	    b->crc != r->crc)
		return -EBADMSG;
	if (s->r.bytes == r->bytes) {
		s->r.whole_crc = s->r.crc;
		s->r.summed = true;
	}
	s->step = STAGE_READY;
	return 0;
}

/* Fills a stage as far as possible.  *until: when to go on. */
static int
fill_go(struct upload *u, struct upload_stage *s, bool busy, int64_t *until)
{
	int64_t now = clock_steady();
	int err = stage_fill(u, s, busy ? 0 : now + NS_SECOND / 50);

	if (err == -ETIMEDOUT) {
		*until = now + NAP < *until ? now + NAP : *until;
		return 0;
	}
	*until = 0;
	if (!err)
		err = stage_filled(u, s);
	if (!err) {
		pacer_went(&u->pacer, 1, s->r.bytes, clock_steady());
		return 0;
	}
	if (err == -ENOENT)
		return fail(u, "%s was removed", u->a.name);
	if (err == -ENOMEM)
		return fail(u, "out of memory");
	leave_out(u, s->number, err);
	stage_drop(s);
	s->step = STAGE_FREE;
	return 0;
}

/* Takes the checksums of a block that was there from those that were. */
static void
sums_bring(struct upload *u, uint64_t number)
{
	const struct index_record *r = record_of(u, number);
	const struct sums *s = sums_find(&u->brought, number);
	uint32_t *sums;

	if (!s || s->quantum != QUANTUM || s->bytes != r->bytes ||
	    s->crc != r->crc)
		return;
	sums = calloc(s->count + 1, sizeof *sums);
	for (uint32_t i = 0; sums && i < s->count; i++)
		sums[i] = sums_at(s, i);
	u->block[number].sums = sums;
}

/* Takes the answer to whether a chunk is there. */
static void
stat_take(struct upload *u, const struct upload_stage *s)
{
	const struct index_record *r = record_of(u, s->number);

	if (!s->r.err && s->r.total == r->bytes && s->r.summed &&
	    s->r.whole_crc == r->crc) {
		u->base.facts.there += r->bytes;
		sums_bring(u, s->number);
		block_done(u, s->number);
		return;
	}
	u->block[s->number].step = BLOCK_NEW;
	if (s->number < u->low)
		u->low = s->number;
}

/* The store has lost what was put of a block: begins it again.  Pieces that are
 * on their way go to what is lost. */
static int
block_anew(struct upload *u, uint64_t number)
{
	struct upload_block *b = &u->block[number];
	struct send_facts f;

	if (b->step != BLOCK_SENT)
		return 0;
	log_line(LEVEL_WARN, u->a.name, "chunk %llu is sent again: %s",
		 (unsigned long long)number, trouble(u, &f));
	if (b->anew++ == ANEW)
		return fail(u, "%s", trouble(u, &f));
	u->done_bytes -= b->put;
	b->step = BLOCK_NEW;
	if (number < u->low)
		u->low = number;
	if (u->number == number)
		u->piece = u->pieces = 0;
	for (unsigned i = 0; i < u->stages; i++) {
		struct upload_stage *s = &u->stage[i];

		if (s->step == STAGE_FREE || s->number != number)
			continue;
		s->lost = true;
		if (s->step == STAGE_ASKS)
			continue;
		stage_drop(s);
		s->step = STAGE_FREE;
	}
	return 0;
}

/* Takes an answer. */
static int
stage_take(struct upload *u, struct upload_stage *s)
{
	struct upload_block *b = &u->block[s->number];
	bool put = s->r.verb == OBJECT_PUT;

	if (s->lost || (put && s->r.err == -ESTALE)) {
		stage_drop(s);
		s->step = STAGE_FREE;
		return s->lost ? 0 : block_anew(u, s->number);
	}
	if (s->r.err && (put || s->r.err != -ENOENT)) {
		s->step = STAGE_READY;
		return ill(u, s->r.err);
	}
	well(u);
	s->step = STAGE_FREE;
	if (!put) {
		stat_take(u, s);
		return 0;
	}
	stage_drop(s);
	u->done_bytes += s->r.bytes;
	b->put += s->r.bytes;
	if (b->step == BLOCK_SENT && b->put >= s->r.total)
		block_done(u, s->number);
	return 0;
}

/* ---- all blocks ------------------------------------------------------------- */

static bool
is_paused(struct upload *u)
{
	bool pause = atomic_load_explicit(&u->base.pause, memory_order_relaxed);

	if (pause)
		pacer_rest(&u->pacer);
	return pause;
}

/* Obeys the rate that was ordered last.  Blocks have no clock of the data's own:
 * their pace is the recording's mean rate. */
static void
rate_obey(struct upload *u, int64_t now)
{
	const struct recording_facts *f = recording_facts(u->rec);
	double seconds = (double)(f->end_ns - f->start_ns) / 1e9;
	uint64_t rate =
	    atomic_load_explicit(&u->base.rate, memory_order_relaxed);

	if (rate != u->asked_rate)
		pacer_rate(&u->pacer, rate, now);
	u->asked_rate = rate;
	if (rate == SEND_RATE_DATA)
		rate = seconds > 0 ? (uint64_t)((double)f->bytes * 8 / seconds)
				   : SEND_RATE_FREE;
	u->pacer.rate = rate;
	u->ops->rate(u->store, rate);
}

/* Tells whether the next piece may begin; else *until is moved to when to ask
 * again. */
static bool
piece_may(struct upload *u, int64_t *until)
{
	int64_t now = clock_steady(), wake;

	if (is_paused(u))
		return false;
	rate_obey(u, now);
	if (pacer_may(&u->pacer, u->piece_most, 1, 0, now))
		return true;
	wake = pacer_wake(&u->pacer, 0, now);
	*until = wake < *until ? wake : *until;
	return false;
}

/* One step of all stages.  *until: when to go on, without news.  *busy: there
 * was something to do. */
static int
stages_step(struct upload *u, int64_t *until, bool *busy)
{
	struct upload_stage *fills = NULL, *free = NULL;
	int64_t now = clock_steady();
	bool asks = false;
	int err = 0;

	*until = now + WAIT;
	*busy = false;
	for (unsigned i = 0; i < u->stages && !err; i++) {
		struct upload_stage *s = &u->stage[i];

		if (s->step == STAGE_ASKS && s->r.over)
			err = stage_take(u, s);
		if (!err && s->step == STAGE_READY && now >= u->again) {
			s->step = STAGE_ASKS;
			if (u->ops->begin(u->store, &s->r))
				err = fail(u, "out of memory");
		}
		if (s->step == STAGE_FILLS)
			fills = s;
		else if (s->step == STAGE_FREE)
			free = s;
		*busy |= s->step != STAGE_FREE;
		asks |= s->step == STAGE_ASKS;
	}
	/* The block of a stage may have been begun again meanwhile. */
	if (fills && fills->step != STAGE_FILLS) {
		free = fills;
		fills = NULL;
	}
	if (!err && !fills && free && piece_may(u, until)) {
		err = stage_begin(u, free);
		fills = free->step == STAGE_FILLS ? free : NULL;
		*busy |= free->step != STAGE_FREE;
		if (free->step != STAGE_FREE)
			*until = 0;
	}
	return err || !fills ? err : fill_go(u, fills, asks, until);
}

static bool
has_more(struct upload *u)
{
	uint64_t number;

	return u->piece != u->pieces || block_next(u, &number);
}

/* ---- files ------------------------------------------------------------------- */

/* Adds the blocks that came since to the files. */
static int
files_grow(struct upload *u)
{
	for (size_t i = 0; i < u->blocks; i++) {
		struct upload_block *b = &u->block[i];
		const struct index_record *r = record_of(u, i);
		const struct upload_sums sums = {
			b->sums, (uint32_t)((r->bytes + QUANTUM - 1) / QUANTUM)
		};
		struct copy_lines_block of;
		int err;

		if (b->step != BLOCK_DONE || b->filed)
			continue;
		err = copy_lines_block(u->lines, r, &of);
		/* The block is there even if its lines cannot be read. */
		if (err)
			log_line(LEVEL_WARN, u->a.name,
				 "what the metadata says of chunk %zu cannot "
				 "be read: %s",
				 i, strerror(-err));
		if (b->sums && !(of.record.flags & INDEX_SUMMED)) {
			of.record.flags |= INDEX_SUMMED;
			of.record.crc = b->crc;
		}
		err = upload_files_add(&u->files, &of, &sums);
		free(of.lines);
		if (err)
			return fail(u, "out of memory");
		b->filed = true;
		free(b->sums);
		b->sums = NULL;
		u->filed++;
	}
	return 0;
}

/* Puts checksums, metadata and index, in this order: the index names only what
 * is there. */
static int
publish(struct upload *u, bool end)
{
	size_t filed = u->filed;
	struct index_record record;
	int64_t from = clock_steady();
	char *lines = NULL;
	int err = files_grow(u);

	if (err || (!end && u->filed == filed))
		return err;
	if (end) {
		bool ended = copy_lines_end(u->lines, &record, &lines);

		if (!lines ||
		    upload_files_end(&u->files, lines, ended ? &record : NULL))
			err = fail(u, "out of memory");
		free(lines);
	}
	if (!err && u->files.sums.bytes)
		err = file_put(u, &u->files.sums, layout_sums);
	if (!err)
		err = file_put(u, &u->files.meta, layout_meta);
	if (!err)
		err = file_put(u, &u->files.index, layout_index);
	u->published = clock_steady();
	u->publish_for = u->published - from;
	return err;
}

/*
 * True if index and metadata should be put although more is to be sent.  An
 * upload that goes on where another one broke leaves its index until it has
 * found as much.
 */
static bool
is_due(const struct upload *u)
{
	int64_t every = PUBLISH_SHARE * u->publish_for;

	if (every < PUBLISH)
		every = PUBLISH;
	return (!u->published || clock_steady() - u->published > every) &&
	       u->done_n > u->filed && u->done_n * INDEX_BYTES >= u->index_was;
}

/* ---- all of it ----------------------------------------------------------------- */

/* Sends all blocks that there are, and waits until the store has them. */
static int
blocks_send(struct upload *u)
{
	int64_t until;
	bool busy = true;
	int err = 0;

	if (u->base.facts.state != SENDER_CONNECTING)
		say(u, SENDER_SENDING, "");
	while (!err && (busy || has_more(u))) {
		err = stages_step(u, &until, &busy);
		if (!err)
			err = turn(u, until);
		if (!err && is_due(u))
			err = publish(u, false);
	}
	return err;
}

/* True while more may come.  A recording that has just begun is not seen to be
 * live on its disks, but its source knows.  Once its writer's lock was seen, it
 * counts: a source does not notice that the writer has died. */
static bool
is_live(struct upload *u)
{
	enum recording_state state = recording_facts(u->rec)->state;
	struct source_facts f = { 0 };

	u->was_live |= state == RECORDING_LIVE;
	if (u->was_live || state == RECORDING_COMPLETE)
		return state == RECORDING_LIVE;
	u->a.source->ops->facts(u->a.source, &f);
	return f.live;
}

/* Waits a little, and refreshes the recording. */
static int
grow(struct upload *u)
{
	int64_t until = clock_steady() + GROW;
	int err = 0;

	say(u, SENDER_WAITING, "");
	block_reader_drop(&u->reader);
	while (!err && clock_steady() < until)
		err = turn(u, until);
	if (err)
		return err;
	sender_into(&u->base);
	disk_list_open(u->a.list, &u->disks);
	err = recording_refresh(u->rec);
	if (!err)
		err = recording_hold(u->rec, NULL);
	if (!err)
		err = copy_lines_refresh(u->lines);
	sender_out(&u->base);
	if (err == -EIDRM || err == -ENOENT)
		return fail(u, "%s was removed", u->a.name);
	return err ? fail(u, "%s cannot be read: %s", u->a.name, strerror(-err))
		   : 0;
}

/* Sends everything up to the end of the recording.  Unless its end was seen, it
 * is looked at once more when nobody writes it any more: what its writer did
 * last came after the last look. */
static int
follow(struct upload *u)
{
	bool live = u->a.follow, looks;
	int err;

	do {
		looks = live;
		live = is_live(u);
		looks = (looks || live) &&
			recording_facts(u->rec)->state != RECORDING_COMPLETE;
		err = blocks_grow(u);
		if (!err)
			err = blocks_send(u);
		if (!err && looks && is_due(u))
			err = publish(u, false);
		if (!err && looks)
			err = grow(u);
	} while (!err && looks);
	return err;
}

/* Looks whether all blocks are in the list, as long as they should be, but those
 * that were left out.  Numbers that are on no disk are counted with these. */
static int
verify(struct upload *u)
{
	uint64_t lacks = 0;
	int err = list(u);

	for (size_t i = 0; !err && i < u->blocks; i++) {
		const struct index_record *r = record_of(u, i);

		u->left_n += r->kind == RECORDING_ABSENT;
		lacks += r->kind == INDEX_BLOCK &&
			 u->block[i].step != BLOCK_LEFT &&
			 (u->block[i].step != BLOCK_DONE ||
			  !is_there(u, i, r->bytes));
	}
	if (!err &&
	    (lacks || u->meta_bytes != u->files.meta.bytes ||
	     u->index_bytes != u->files.index.bytes ||
	     (u->files.sums.bytes && u->sums_bytes != u->files.sums.bytes)))
		return fail(u,
			    "%s does not keep what it is sent: of %s, %llu "
			    "chunks are missing there",
			    u->a.to, name_of(u), (unsigned long long)lacks);
	return err;
}

static int
head_make(struct upload *u)
{
	char host[256] = "";
	const struct copy_origin origin = { .name = name_of(u),
					    .from = host,
					    .time_ns = clock_now(),
					    .disks = &u->a.to,
					    .disks_n = 1 };
	json_t *head = copy_lines_head(u->lines);

	gethostname(host, sizeof host - 1);
	/* There are no parity blocks, no .cfg, and a file for each block. */
	json_object_del(head, "parity");
	json_object_del(head, "vbs_cfg");
	json_object_set_new(head, "layout",
			    json_string(layout_word(LAYOUT_VBS)));
	u->head = head ? copy_origin_head(head, &origin) : NULL;
	json_decref(head);
	if (!u->head || upload_files_begin(&u->files, u->head,
					   recording_facts(u->rec)->subs))
		return fail(u, "out of memory");
	return 0;
}

/* Opens the recording, and holds it. */
static int
recording_try(struct upload *u, struct fault *fault)
{
	int err;

	*fault = (struct fault){ 0 };
	sender_into(&u->base);
	disk_list_open(u->a.list, &u->disks);
	err = recording_open_by_index(&u->rec, &u->disks, u->a.name, fault);
	if (!err)
		err = recording_hold(u->rec, fault);
	if (!err)
		err = copy_lines_make(&u->lines, u->rec);
	sender_out(&u->base);
	return err;
}

/* Opens the recording; one that has just begun has no folder yet. */
static int
recording_take(struct upload *u)
{
	int64_t give_up = clock_steady() + u->a.patience, until;
	struct fault fault;
	char line[SEND_SENTENCE];
	int err;

	while ((err = recording_try(u, &fault)) == -ENOENT && u->a.follow &&
	       clock_steady() < give_up) {
		say(u, SENDER_WAITING, "");
		err = 0;
		until = clock_steady() + GROW;
		while (!err && clock_steady() < until)
			err = turn(u, until);
		if (err)
			return err;
	}
	if (err && !fault.code)
		return fail(u, "the metadata of %s cannot be read: %s",
			    u->a.name, strerror(-err));
	if (err) {
		fault_line(&fault, line, sizeof line);
		return fail(u, "%s", line);
	}
	if (is_live(u) && !u->a.follow)
		return fail(u,
			    "%s is being recorded: --follow sends it to its "
			    "end",
			    u->a.name);
	return head_make(u);
}

static int
store_open(struct upload *u)
{
	char why[SEND_SENTENCE] = "";
	const struct send_args args = {
		.host = &u->host,
		.options = u->a.options,
		.to = u->a.to,
		.subs = 1,
		.connections = u->stages,
		.ordered = true,
		.name = u->a.name,
		.why = why,
		.why_bytes = sizeof why,
	};
	int err = u->ops->open(&u->store, &args, &u->piece_most);

	return err ? fail(u, "%s", why) : 0;
}

static void
close_all(struct upload *u)
{
	sender_into(&u->base);
	block_reader_drop(&u->reader);
	if (u->store)
		u->ops->close(u->store);
	if (u->ask.verb == OBJECT_READ)
		file_free(u);
	copy_lines_free(u->lines);
	if (u->rec)
		recording_close(u->rec);
	for (unsigned i = 0; i < u->disks.n; i++)
		disk_close(&u->disks.disk[i]);
	for (unsigned i = 0; i < u->stages; i++) {
		stage_drop(&u->stage[i]);
		free(u->stage[i].data);
	}
	source_close(u->a.source);
	for (size_t i = 0; i < u->room; i++)
		free(u->block[i].sums);
	free(u->block);
	free(u->there);
	upload_files_free(&u->files);
	sums_clear(&u->brought);
	json_decref(u->head);
	sender_out(&u->base);
}

static enum sender_state
run(struct sender *sender)
{
	struct upload *u = (struct upload *)sender;
	char *why = u->base.facts.why;
	int err;

	sender_into(&u->base);
	err = store_open(u);
	sender_out(&u->base);
	if (!err)
		err = recording_take(u);
	if (!err)
		err = name_take(u);
	if (!err)
		err = follow(u);
	if (!err) {
		say(u, SENDER_FINISHING, "");
		err = publish(u, true);
	}
	if (!err)
		err = verify(u);
	if (u->store)
		show(u);
	close_all(u);
	if (err == -ECANCELED || !err)
		*why = '\0';
	if (err == -ECANCELED)
		return SENDER_STOPPED;
	if (err)
		return SENDER_FAILED;
	u->base.facts.bytes = u->done_bytes;
	if (u->left_n)
		snprintf(why, sizeof u->base.facts.why,
			 "%llu chunks could not be read, and were left out",
			 (unsigned long long)u->left_n);
	return SENDER_DONE;
}

static void
upload_free(struct sender *sender)
{
	struct upload *u = (struct upload *)sender;

	disks_clear(&u->disks);
	disk_list_drop(u->a.list);
	free((char *)u->a.name);
	free((char *)u->a.to);
	free((char *)u->a.as);
	free(u);
}

static const struct sender_work work = { .run = run, .free = upload_free };

static int
args_take(struct upload *u, const struct upload_args *a)
{
	u->a.name = strdup(a->name);
	u->a.to = strdup(a->to);
	u->a.as = a->as ? strdup(a->as) : NULL;
	if (!u->a.name || !u->a.to || (a->as && !u->a.as))
		return -ENOMEM;
	if (!u->a.patience)
		u->a.patience = PATIENCE_S * NS_SECOND;
	u->stages = a->connections ? a->connections : STAGES_USUAL;
	if (u->stages > STAGES)
		u->stages = STAGES;
	u->ops = a->ops->objects;
	u->wait = AGAIN;
	u->base.changed = a->changed;
	u->base.arg = a->arg;
	u->base.facts.asked = a->rate;
	u->host = log_host(u->a.name);
	pacer_init(&u->pacer, a->rate);
	block_reader_init(&u->reader, a->source);
	return disks_copy(&u->disks, NULL, DISK_LIST_MOST);
}

int
upload_start(struct sender **upload, const struct upload_args *a,
	     struct fault *fault)
{
	struct upload *u = calloc(1, sizeof *u);
	int err = -ENOMEM;

	if (!u) {
		source_close(a->source);
		return fault_set(fault, err, "no-memory", "out of memory");
	}
	u->a = *a;
	disk_list_share(a->list);
	u->a.name = u->a.to = u->a.as = NULL;
	err = args_take(u, a);
	if (!err)
		err = sender_run(&u->base, &work, a->rate);
	if (!err) {
		*upload = &u->base;
		return 0;
	}
	source_close(a->source);
	upload_free(&u->base);
	fault_set(fault, err, "internal", "cannot send %.80s to %.150s",
		  a->name, a->to);
	fault_why(fault, "%s", strerror(-err));
	return err;
}
