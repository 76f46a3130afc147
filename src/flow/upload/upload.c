/* SPDX-License-Identifier: MIT */
/*
 * The thread of an upload reads the recording's index itself, and gets the
 * bytes of each block into a stage, of which there is one per connection.
 *
 * Nothing here begins anew: libcurl makes connections, so an error of a request
 * is one of this request, which waits a little and is asked again.  The upload
 * gives up when no request has succeeded for `patience`.
 */
#include "flow/upload/upload.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "flow/upload/upload_thread.h"
#include "store/write/copy_origin.h"

enum { STAGES_USUAL = 4, PATIENCE_S = 60 };

#define GROW (NS_SECOND * 3 / 10) /* between looks at a live recording */
/* Between two puts of index and metadata; they take a twentieth of the time at
 * most. */
#define PUBLISH	      (10 * NS_SECOND)
#define PUBLISH_SHARE 20

/* ---- files --------------------------------------------------------------- */

/* Adds the blocks that came since to the files. */
static int
files_grow(struct upload *u)
{
	for (size_t i = 0; i < u->blocks; i++) {
		struct upload_block *b = &u->block[i];
		const struct index_record *r = upload_record(u, i);
		const struct upload_sums sums = {
			b->sums, (uint32_t)((r->bytes + BLOCK_QUANTUM - 1) /
					    BLOCK_QUANTUM)
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
			return upload_fail(u, "out of memory");
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
			err = upload_fail(u, "out of memory");
		free(lines);
	}
	if (!err && u->files.sums.bytes)
		err = upload_file_put(u, &u->files.sums, layout_sums, false);
	if (!err)
		err = upload_file_put(u, &u->files.meta, layout_meta, false);
	if (!err)
		err = upload_file_put(u, &u->files.index, layout_index, false);
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

/* ---- all of it ----------------------------------------------------------- */

/* Sends all blocks that there are, and waits until the store has them. */
static int
blocks_send(struct upload *u)
{
	int64_t until;
	bool busy = true;
	int err = 0;

	if (u->base.facts.state != SENDER_CONNECTING)
		upload_say(u, SENDER_SENDING, "");
	while (!err && (busy || upload_has_more(u))) {
		err = upload_stages_step(u, &until, &busy);
		if (!err)
			err = upload_turn(u, until);
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

/* Refreshes the recording. */
static int
look(struct upload *u)
{
	int err;

	block_reader_drop(&u->reader);
	sender_into(&u->base);
	disk_list_open(u->a.list, &u->disks);
	err = recording_refresh(u->rec);
	if (!err)
		err = recording_hold(u->rec, NULL);
	if (!err)
		err = copy_lines_refresh(u->lines);
	sender_out(&u->base);
	if (err == -EIDRM || err == -ENOENT)
		return upload_fail(u, "%s was removed", u->a.name);
	return err ? upload_fail(u, "%s cannot be read: %s", u->a.name,
				 strerror(-err))
		   : 0;
}

/* Waits a little, and refreshes the recording. */
static int
grow(struct upload *u)
{
	int64_t until = clock_steady() + GROW;
	int err = 0;

	upload_say(u, SENDER_WAITING, "");
	block_reader_drop(&u->reader);
	while (!err && clock_steady() < until)
		err = upload_turn(u, until);
	return err ? err : look(u);
}

/* Tells whether some blocks could not be read, or are on no disk. */
static bool
lacks(const struct upload *u)
{
	bool any = u->left_n;

	for (size_t i = 0; i < u->blocks && !any; i++)
		any = upload_record(u, i)->kind == RECORDING_ABSENT;
	return any;
}

/* Looks once more at the disks, and sends what could not be read before. */
static int
late_send(struct upload *u)
{
	const struct source_ops *ops = u->a.source->ops;
	int err;

	if (!lacks(u))
		return 0;
	err = look(u);
	if (!err)
		err = upload_blocks_grow(u);
	if (err)
		return err;
	upload_blocks_again(u);
	if (ops->settled)
		ops->settled(u->a.source, u->blocks);
	return blocks_send(u);
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
		err = upload_blocks_grow(u);
		if (!err)
			err = blocks_send(u);
		if (!err && looks && is_due(u))
			err = publish(u, false);
		if (!err && looks)
			err = grow(u);
	} while (!err && looks);
	return err;
}

/* Lists the store again, and checks that it has every block that was sent, with
 * its length.  Numbers that no disk has count as left out. */
static int
verify(struct upload *u)
{
	uint64_t missing = 0;
	int err = upload_list(u);

	for (size_t i = 0; !err && i < u->blocks; i++) {
		const struct index_record *r = upload_record(u, i);

		u->left_n += r->kind == RECORDING_ABSENT;
		missing += r->kind == INDEX_BLOCK &&
			   u->block[i].step < BLOCK_LATE &&
			   (u->block[i].step != BLOCK_DONE ||
			    !upload_has(u, i, r->bytes));
	}
	if (!err &&
	    (missing || u->meta_bytes != u->files.meta.bytes ||
	     u->index_bytes != u->files.index.bytes ||
	     (u->files.sums.bytes && u->sums_bytes != u->files.sums.bytes)))
		return upload_fail(
		    u,
		    "%s does not keep what it is sent: of %s, %llu "
		    "chunks are missing there",
		    u->a.to, upload_name(u), (unsigned long long)missing);
	return err;
}

static int
head_make(struct upload *u)
{
	char host[256] = "";
	const struct copy_origin origin = { .name = upload_name(u),
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
		return upload_fail(u, "out of memory");
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
		upload_say(u, SENDER_WAITING, "");
		err = 0;
		until = clock_steady() + GROW;
		while (!err && clock_steady() < until)
			err = upload_turn(u, until);
		if (err)
			return err;
	}
	if (err && !fault.code)
		return upload_fail(u, "the metadata of %s cannot be read: %s",
				   u->a.name, strerror(-err));
	if (err) {
		fault_line(&fault, line, sizeof line);
		return upload_fail(u, "%s", line);
	}
	if (is_live(u) && !u->a.follow)
		return upload_fail(
		    u,
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

	return err ? upload_fail(u, "%s", why) : 0;
}

static void
close_all(struct upload *u)
{
	sender_into(&u->base);
	block_reader_drop(&u->reader);
	if (u->store)
		u->ops->close(u->store);
	if (u->ask.verb == OBJECT_READ)
		upload_file_free(u);
	copy_lines_free(u->lines);
	if (u->rec)
		recording_close(u->rec);
	for (unsigned i = 0; i < u->disks.n; i++)
		disk_close(&u->disks.disk[i]);
	for (unsigned i = 0; i < u->stages; i++) {
		upload_stage_drop(&u->stage[i]);
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
		err = upload_name_take(u);
	if (!err)
		err = follow(u);
	if (!err)
		err = late_send(u);
	/* Parts of blocks that could not be read to their end. */
	if (!err && u->left_n)
		err = upload_rest_end(u);
	if (!err) {
		upload_say(u, SENDER_FINISHING, "");
		err = publish(u, true);
	}
	if (!err)
		err = verify(u);
	if (u->store)
		upload_show(u);
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
	if (u->stages > UPLOAD_STAGES)
		u->stages = UPLOAD_STAGES;
	u->ops = a->ops->objects;
	u->wait = UPLOAD_AGAIN;
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
