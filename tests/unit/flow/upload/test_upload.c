/* SPDX-License-Identifier: MIT */
/* An upload into a store in memory, which is busy, forgets, or has something
 * already. */
#include "flow/upload/upload.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crc32c.h"
#include "contract/object.h"
#include "flow/source/source_disk.h"
#include "lib/made_read.h"

/* ---- the store ----------------------------------------------------------- */

enum { KEPT = 64, ASKED = 16, BLOCKS = 20, PIECE = 1 << 20, ROOM = 65536 };

/* All of it belongs to the upload's thread, or to the test while there is
 * none. */
static struct kept {
	char key[OBJECT_KEY];
	uint8_t data[ROOM];
	uint64_t bytes;
	uint32_t crc;
} kept[KEPT];
static unsigned kept_n;
static struct object_request *asked[ASKED];
static unsigned asks, ends, chunks_put, wrong;
static unsigned busy_each;  /* every such request fails once; 0: none */
static bool unanswered;	    /* the next piece is put, and nobody told */
static const char *forgets; /* a key that it takes, and does not keep */
static const char *loses;   /* a key whose pieces get lost so many times */
static unsigned loses_n;
/* Called before the first piece of an object whose key has this in it. */
static void (*happens)(void);
static const char *happens_at;

static struct kept *
kept_of(const char *key)
{
	for (unsigned i = 0; i < kept_n; i++) {
		if (!strcmp(kept[i].key, key))
			return &kept[i];
	}
	return NULL;
}

/* Whatever the index names is there, as it says. */
static void
index_look(const struct kept *k)
{
	struct index_record r;
	const struct kept *chunk;
	char key[OBJECT_KEY];

	for (uint64_t at = 0; at < k->bytes; at += INDEX_BYTES) {
		wrong += index_unpack(&r, k->data + at) != 0;
		if (r.kind != INDEX_BLOCK)
			continue;
		snprintf(key, sizeof key, "copy/copy.%08u", (unsigned)r.number);
		if (forgets && !strcmp(forgets, key))
			continue;
		chunk = kept_of(key);
		wrong +=
		    !chunk || chunk->bytes != r.bytes || chunk->crc != r.crc;
	}
}

static void
put(const struct object_request *r)
{
	struct kept *k = kept_of(r->key);
	uint64_t bytes = 0;

	chunks_put += strstr(r->key, "/copy.0") != NULL;
	if (forgets && !strcmp(forgets, r->key))
		return;
	if (!k)
		k = &kept[kept_n++];
	snprintf(k->key, sizeof k->key, "%s", r->key);
	for (unsigned i = 0; i < r->of_n; i++) {
		if (bytes + r->of[i].bytes > sizeof k->data) {
			wrong++;
			return;
		}
		memcpy(k->data + bytes, r->of[i].data, r->of[i].bytes);
		bytes += r->of[i].bytes;
	}
	k->bytes = bytes;
	k->crc = crc32c(0, k->data, bytes);
	wrong += bytes != r->bytes || bytes != r->total || k->crc != r->crc ||
		 !r->summed || r->whole_crc != r->crc;
	if (strstr(r->key, ".index"))
		index_look(k);
}

static int
carry_out(struct object_request *r)
{
	struct kept *k;

	if (r->verb == OBJECT_PUT && happens && strstr(r->key, happens_at)) {
		happens();
		happens = NULL;
	}
	k = kept_of(r->key);
	if (r->verb == OBJECT_PUT && r->fresh && k)
		return -EEXIST;
	if (r->verb == OBJECT_PUT && loses && !strcmp(loses, r->key) &&
	    loses_n) {
		loses_n--;
		return -ESTALE;
	}
	if (r->verb == OBJECT_PUT)
		put(r);
	if (r->verb == OBJECT_PUT && unanswered) {
		unanswered = false;
		return -EAGAIN;
	}
	for (unsigned i = 0; r->verb == OBJECT_LIST && i < kept_n; i++) {
		if (!strncmp(kept[i].key, r->key, strlen(r->key)))
			r->found(r, kept[i].key, kept[i].bytes);
	}
	ends += r->verb == OBJECT_END;
	if (r->verb == OBJECT_PUT || r->verb == OBJECT_LIST ||
	    r->verb == OBJECT_END)
		return 0;
	if (!k)
		return -ENOENT;
	if (r->verb == OBJECT_READ) {
		r->bytes = r->bytes < k->bytes ? r->bytes : (uint32_t)k->bytes;
		memcpy(r->data, k->data, r->bytes);
	}
	r->total = k->bytes;
	r->whole_crc = k->crc;
	r->summed = true;
	return 0;
}

static int
store_open(struct object_state **state, const struct send_args *args,
	   uint32_t *piece)
{
	(void)args;
	*state = NULL;
	*piece = PIECE;
	return 0;
}

static int
store_begin(struct object_state *state, struct object_request *r)
{
	unsigned i = 0;

	(void)state;
	while (asked[i])
		i++;
	asked[i] = r;
	r->over = false;
	return 0;
}

/* Memory that the source lent and wants back; `yields`: it wants it each time
 * that it has lent two parcels. */
static unsigned lent, given_back, due, returned;
static bool yields, wants;

static void
store_step(struct object_state *state)
{
	(void)state;
	if (yields && lent > 1 && !wants) {
		wants = true;
		due = given_back + lent;
		return;
	}
	if (wants) {
		wrong += given_back < due;
		returned++;
	}
	wants = false;
	for (unsigned i = 0; i < ASKED; i++) {
		struct object_request *r = asked[i];

		if (!r)
			continue;
		asked[i] = NULL;
		r->err = busy_each && ++asks % busy_each == 0 ? -EAGAIN
							      : carry_out(r);
		r->over = true;
	}
}

static unsigned
store_poll(struct object_state *state, struct pollfd *fd, unsigned most,
	   int64_t *until)
{
	(void)state, (void)fd, (void)most;
	for (unsigned i = 0; i < ASKED; i++) {
		if (asked[i])
			*until = 0;
	}
	return 0;
}

static void
store_facts(struct object_state *state, struct send_facts *facts)
{
	(void)state;
	snprintf(facts->why, sizeof facts->why, "it is busy");
}

static void
store_rate(struct object_state *state, uint64_t bits)
{
	(void)state, (void)bits;
}

static void
store_close(struct object_state *state)
{
	(void)state;
	memset(asked, 0, sizeof asked);
}

static const struct object_ops objects = {
	.open = store_open,
	.begin = store_begin,
	.step = store_step,
	.poll = store_poll,
	.facts = store_facts,
	.rate = store_rate,
	.close = store_close,
};
static const struct send_ops ops = { .objects = &objects };

/* ---- an upload ------------------------------------------------------------ */

static struct made m;
static struct sender_facts facts;
static struct disk_list *list;
static unsigned away; /* disk that the upload is not told of */

/* A recording that is followed, and whether its source says that it grows.
 * While an upload runs, they are its thread's. */
static bool follows, lives;
static struct source_ops ours;
static void (*disk_facts)(struct source *source, struct source_facts *f);

/* What is done with each parcel, and bytes of the source's memory. */
static int (*disk_next)(struct source *source, struct parcel *p, int64_t until);
static void (*told)(struct parcel *p);
static void (*disk_put)(struct source *source, struct parcel *p);
static struct parcel rest; /* comes next, if it has data */
static uint64_t memory;

static void
facts_told(struct source *source, struct source_facts *f)
{
	disk_facts(source, f);
	f->live = lives;
}

static int
next_told(struct source *source, struct parcel *p, int64_t until)
{
	int err;

	if (rest.data) {
		*p = rest;
		rest.data = NULL;
		return 0;
	}
	err = disk_next(source, p, until);
	if (!err && !p->err)
		told(p);
	return err;
}

/* Lends a copy, which is worth nothing when it was put back. */
static void
tell_lent(struct parcel *p)
{
	uint8_t *data = malloc(p->bytes);

	ck_assert_ptr_nonnull(data);
	memcpy(data, p->data, p->bytes);
	p->data = data;
	lent++;
}

static void
put_lent(struct source *source, struct parcel *p)
{
	memset((uint8_t *)p->data, 0xee, p->bytes);
	free((uint8_t *)p->data);
	lent--;
	given_back++;
	disk_put(source, p);
}

static bool
wants_back(struct source *source)
{
	(void)source;
	return wants;
}

/* A recording of BLOCKS blocks on three disks, and an empty store. */
static void
begin_live(void)
{
	made_begin(&m);
	m.quantum = 1024;
	made_blocks(&m, BLOCKS);
	kept_n = asks = ends = chunks_put = wrong = busy_each = 0;
	forgets = loses = NULL;
	happens = NULL;
	follows = lives = yields = wants = false;
	lent = given_back = returned = 0;
	rest.data = NULL;
	told = NULL;
	memory = 1 << 20;
	away = MADE_DISKS;
}

static void
begin(void)
{
	begin_live();
	made_end(&m, BLOCKS);
}

/* Uploads it as "copy", and checks how that ends. */
static void
upload(enum sender_state end)
{
	const struct source_disk_args from = { .list = list = disk_list_make(),
					       .name = MADE_NAME,
					       .follow = follows,
					       .memory = 1 << 20,
					       .verify = true,
					       .sub = -1 };
	struct upload_args a = { .name = MADE_NAME,
				 .to = "none://store",
				 .as = "copy",
				 .ops = &ops,
				 .list = list,
				 .follow = follows,
				 .memory = memory };
	struct sender *sender;
	struct fault fault;

	for (unsigned i = 0; i < MADE_DISKS; i++)
		ck_assert(
		    i == away ||
		    !disk_list_set(list, m.disks.disk[i].path, false, true));
	ck_assert_int_eq(source_disk_make(&a.source, &from), 0);
	ours = *a.source->ops;
	disk_facts = ours.facts;
	disk_next = ours.next;
	if (follows)
		ours.facts = facts_told;
	disk_put = ours.put;
	if (told)
		ours.next = next_told;
	if (yields) {
		ours.put = put_lent;
		ours.wanted = wants_back;
	}
	a.source->ops = &ours;
	ck_assert_int_eq(upload_start(&sender, &a, &fault), 0);
	for (unsigned n = 0; n < 6000 && !sender_ended(sender); n++)
		usleep(10000);
	ck_assert(sender_ended(sender));
	sender_facts(sender, &facts);
	ck_assert(sender_free(sender));
	disk_list_drop(list);
	ck_assert_msg(facts.state == end, "it ended as %d: %s", facts.state,
		      facts.why);
	ck_assert_uint_eq(wrong, 0);
}

static void
finish(void)
{
	made_finish(&m);
}

/* Counts the records of blocks in the index that is there. */
static unsigned
indexed(void)
{
	const struct kept *k = kept_of("copy/copy.index");
	struct index_record r = { 0 };
	unsigned n = 0;

	ck_assert_ptr_nonnull(k);
	for (uint64_t at = 0; at < k->bytes; at += INDEX_BYTES) {
		ck_assert_int_eq(index_unpack(&r, k->data + at), 0);
		n += r.kind == INDEX_BLOCK;
	}
	/* What was interrupted has no end there either. */
	ck_assert(follows || r.kind == INDEX_END);
	return n;
}

START_TEST(all_of_it_arrives)
{
	begin();
	upload(SENDER_DONE);
	ck_assert_uint_eq(kept_n, BLOCKS + 3);
	ck_assert_uint_eq(indexed(), BLOCKS);
	ck_assert_uint_eq(facts.bytes, BLOCKS * MADE_BLOCK);
	ck_assert_uint_eq(facts.packets, BLOCKS * MADE_SLOTS);
	ck_assert_uint_eq(ends, 1);
	/* Again, there is nothing to send. */
	chunks_put = 0;
	upload(SENDER_DONE);
	ck_assert_uint_eq(chunks_put, 0);
	ck_assert_uint_eq(facts.there, BLOCKS * MADE_BLOCK);
	finish();
}
END_TEST

START_TEST(a_store_may_be_busy)
{
	begin();
	busy_each = 5;
	upload(SENDER_DONE);
	ck_assert_uint_eq(kept_n, BLOCKS + 3);
	ck_assert_uint_eq(indexed(), BLOCKS);
	finish();
}
END_TEST

START_TEST(what_differs_is_sent_again)
{
	struct kept *k;

	begin();
	upload(SENDER_DONE);
	k = kept_of("copy/copy.00000007");
	k->data[5] ^= 1;
	k->crc = crc32c(0, k->data, k->bytes);
	kept_of("copy/copy.00000009")->bytes--;
	chunks_put = 0;
	upload(SENDER_DONE);
	ck_assert_uint_eq(chunks_put, 2);
	ck_assert_uint_eq(indexed(), BLOCKS);
	finish();
}
END_TEST

START_TEST(a_store_that_forgets_is_found_out)
{
	begin();
	forgets = "copy/copy.00000011";
	upload(SENDER_FAILED);
	ck_assert_ptr_nonnull(strstr(facts.why, "1 chunks are missing"));
	finish();
}
END_TEST

/* Checks how an upload ends whose store loses the pieces of this object. */
static void
check_lost(const char *key, unsigned times, enum sender_state end)
{
	begin();
	loses = key;
	loses_n = times;
	upload(end);
	ck_assert_uint_eq(loses_n, 0);
	if (end == SENDER_DONE) {
		ck_assert_uint_eq(indexed(), BLOCKS);
		ck_assert_uint_eq(facts.bytes, BLOCKS * MADE_BLOCK);
	}
	finish();
}

START_TEST(what_is_lost_is_put_again)
{
	check_lost("copy/copy.00000003", 2, SENDER_DONE);
	check_lost("copy/copy.00000003", 4, SENDER_FAILED);
	check_lost("copy/copy.meta.jsonl", 2, SENDER_DONE);
	check_lost("copy/copy.meta.jsonl", 4, SENDER_FAILED);
}
END_TEST

START_TEST(a_damaged_block_is_left_out)
{
	FILE *file;

	begin();
	file = fopen(made_path(&m, 1, "rec.00000004"), "r+");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fseek(file, 100, SEEK_SET), 0);
	fputs("damage", file);
	fclose(file);
	upload(SENDER_DONE);
	ck_assert_ptr_nonnull(strstr(facts.why, "1 chunks could not be read"));
	ck_assert_uint_eq(indexed(), BLOCKS - 1);
	ck_assert_ptr_null(kept_of("copy/copy.00000004"));
	/* Once at the begin, and once for its pieces. */
	ck_assert_uint_eq(ends, 2);
	ck_assert_uint_eq(facts.unreadable, MADE_SLOTS);
	finish();
}
END_TEST

static const uint32_t wrong_sum = 4711;

static void
tell_wrong(struct parcel *p)
{
	p->sums = p->record.number == 4 ? &wrong_sum : NULL;
}

/* What the source has compared is not computed once more. */
START_TEST(checksums_that_are_known_are_taken)
{
	for (unsigned copies = 0; copies < 2; copies++) {
		begin();
		told = tell_wrong;
		if (copies) /* such a block is copied, piece by piece */
			memory = MADE_BLOCK;
		upload(SENDER_DONE);
		ck_assert_ptr_nonnull(strstr(facts.why, "1 chunks could not"));
		ck_assert_ptr_null(kept_of("copy/copy.00000004"));
		ck_assert_uint_eq(indexed(), BLOCKS - 1);
		finish();
	}
}
END_TEST

/* Makes two parcels of one, of which the second has no checksums. */
static void
tell_half(struct parcel *p)
{
	p->sums = &wrong_sum;
	rest = *p;
	p->bytes = MADE_PAYLOAD * 3;
	p->own = NULL;
	rest.at += p->bytes;
	rest.data += p->bytes;
	rest.bytes -= p->bytes;
	rest.sums = NULL;
}

START_TEST(checksums_that_are_known_in_part_are_computed)
{
	for (unsigned copies = 0; copies < 2; copies++) {
		begin();
		told = tell_half;
		if (copies)
			memory = MADE_BLOCK;
		upload(SENDER_DONE);
		ck_assert_uint_eq(indexed(), BLOCKS);
		ck_assert_uint_eq(facts.bytes, BLOCKS * MADE_BLOCK);
		finish();
	}
}
END_TEST

START_TEST(memory_that_is_wanted_is_returned)
{
	begin();
	yields = true;
	told = tell_lent;
	upload(SENDER_DONE);
	ck_assert_uint_gt(returned, 0);
	ck_assert_uint_eq(lent, 0);
	ck_assert_uint_eq(indexed(), BLOCKS);
	finish();
}
END_TEST

/* The disk that was away is back, and nothing is written any more. */
static void
returns(void)
{
	disk_list_set(list, m.disks.disk[away].path, false, true);
	lives = false;
}

START_TEST(what_comes_late_is_sent)
{
	begin_live();
	made_end(&m, 0);
	follows = lives = true;
	away = 1;
	happens = returns;
	happens_at = ".index";
	upload(SENDER_DONE);
	ck_assert_ptr_null(happens);
	ck_assert_str_eq(facts.why, "");
	ck_assert_uint_eq(facts.packets, BLOCKS * MADE_SLOTS);
	ck_assert_uint_eq(indexed(), BLOCKS);
	finish();
}
END_TEST

START_TEST(a_disk_may_come_back)
{
	begin();
	away = 1;
	happens = returns;
	happens_at = "copy.0";
	upload(SENDER_DONE);
	ck_assert_ptr_null(happens);
	ck_assert_str_eq(facts.why, "");
	ck_assert_uint_eq(facts.packets, BLOCKS * MADE_SLOTS);
	ck_assert_uint_eq(indexed(), BLOCKS);
	finish();
	/* It does not. */
	begin();
	away = 1;
	upload(SENDER_DONE);
	ck_assert_ptr_nonnull(strstr(facts.why, "7 chunks could not be read"));
	ck_assert_uint_eq(indexed(), BLOCKS - 7);
	finish();
}
END_TEST

static void
chunk_moves(const char *from, const char *to)
{
	char path[PATH_MAX];

	snprintf(path, sizeof path, "%s", made_path(&m, 1, from));
	ck_assert_int_eq(rename(path, made_path(&m, 1, to)), 0);
}

static void
chunk_is_back(void)
{
	chunk_moves("away", "rec.00000004");
}

START_TEST(what_cannot_be_read_is_tried_again)
{
	begin();
	chunk_moves("rec.00000004", "away");
	happens = chunk_is_back;
	happens_at = "copy.00000017";
	upload(SENDER_DONE);
	ck_assert_ptr_null(happens);
	ck_assert_str_eq(facts.why, "");
	ck_assert_uint_eq(facts.packets, BLOCKS * MADE_SLOTS);
	ck_assert_uint_eq(facts.unreadable, 0);
	ck_assert_uint_eq(indexed(), BLOCKS);
	finish();
	begin();
	chunk_moves("rec.00000004", "away");
	upload(SENDER_DONE);
	ck_assert_ptr_nonnull(strstr(facts.why, "1 chunks could not be read"));
	ck_assert_uint_eq(facts.unreadable, MADE_SLOTS);
	ck_assert_uint_eq(indexed(), BLOCKS - 1);
	finish();
}
END_TEST

START_TEST(an_end_is_looked_at_once_more)
{
	begin_live();
	made_end(&m, 0);
	follows = true;
	away = 1;
	happens = returns;
	happens_at = "copy.0";
	upload(SENDER_DONE);
	ck_assert_uint_eq(facts.packets + facts.unreadable,
			  BLOCKS * MADE_SLOTS);
	finish();
}
END_TEST

/* The writer dies, and the source does not notice it. */
static void
dies(void)
{
	made_end(&m, 0);
}

START_TEST(a_writer_may_die)
{
	begin_live();
	follows = lives = true;
	happens = dies;
	happens_at = ".index";
	upload(SENDER_DONE);
	ck_assert_uint_eq(facts.packets, BLOCKS * MADE_SLOTS);
	finish();
}
END_TEST

static const char other[] = "{\"spate\":1,\"name\":\"copy\"}\n";

static void
other_comes(void)
{
	kept[0] = (struct kept){ .key = "copy/copy.meta.jsonl",
				 .bytes = sizeof other - 1 };
	memcpy(kept[0].data, other, sizeof other - 1);
	kept_n = 1;
}

static void
check_other(void)
{
	upload(SENDER_FAILED);
	ck_assert_ptr_nonnull(strstr(facts.why, "has another recording copy"));
	ck_assert_uint_eq(kept_n, 1);
	ck_assert_mem_eq(kept[0].data, other, sizeof other - 1);
	finish();
}

START_TEST(another_recording_stays)
{
	begin();
	other_comes();
	check_other();
	ck_assert_uint_eq(ends, 0);
	/* It comes while the name is being taken. */
	begin();
	happens = other_comes;
	happens_at = ".meta";
	check_other();
	ck_assert_ptr_null(happens);
}
END_TEST

START_TEST(its_own_name_is_not_another_one)
{
	begin();
	unanswered = true;
	upload(SENDER_DONE);
	ck_assert(!unanswered);
	ck_assert_uint_eq(indexed(), BLOCKS);
	finish();
}
END_TEST

SUITE_THREADS("upload", NULL, all_of_it_arrives, a_store_may_be_busy,
	      what_differs_is_sent_again, a_store_that_forgets_is_found_out,
	      what_is_lost_is_put_again, a_damaged_block_is_left_out,
	      memory_that_is_wanted_is_returned,
	      checksums_that_are_known_are_taken,
	      checksums_that_are_known_in_part_are_computed,
	      what_comes_late_is_sent, a_disk_may_come_back,
	      what_cannot_be_read_is_tried_again, an_end_is_looked_at_once_more,
	      a_writer_may_die, another_recording_stays,
	      its_own_name_is_not_another_one)
