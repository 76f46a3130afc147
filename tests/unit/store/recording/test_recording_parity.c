/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdlib.h>

#include "store/parity/parity_file.h"
#include "store/recording/recording_priv.h"
#include "lib/made_parity.h"
#include "lib/made_read.h"

/*
 * Blocks of a recording that follow from their group: two members on disks 0 and
 * 1, and their parity on disk 2.
 */
enum { BLOCKS = 6 };

static struct made m;
static struct recording *rec;

/* `number` may have a record of its own in the list of parity. */
static void
make(uint64_t number, const struct index_record *lie)
{
	static struct made_block mb;

	m.parity = 1;
	m.quantum = 512;
	made_begin(&m);
	for (unsigned i = 0; i < MADE_DISKS; i++)
		made_run(&m, i, 0, MADE_BASE);
	for (uint64_t i = 0; i < BLOCKS; i += 2) {
		struct index_record r[] = { made_parity_record(&m, i),
					    made_parity_record(&m, i + 1) };

		for (unsigned k = 0; k < 2; k++) {
			made_block(&m, &mb, i + k, (i + k) * MADE_SLOTS,
				   MADE_SLOTS);
			made_write(&m, k, &mb);
		}
		if (lie && number - i < 2)
			r[number - i] = *lie;
		made_parity(&m, i, 2, (unsigned[]){ 2 }, r);
	}
}

/* What is read of a block. */
static uint8_t read_of[MADE_BLOCK];

static ssize_t
block_read(uint64_t number)
{
	memset(read_of, 0, sizeof read_of);
	return recording_chunk_read(rec, &rec->block[number], read_of,
				    sizeof read_of, 0);
}

static struct made_block sent;

static void
block_as_sent(uint64_t number)
{
	made_block(&m, &sent, number, number * MADE_SLOTS, MADE_SLOTS);
}

static void
block_is(uint64_t number)
{
	ck_assert_int_eq(block_read(number), MADE_BLOCK);
	block_as_sent(number);
	ck_assert_mem_eq(read_of, sent.data, MADE_BLOCK);
}

static const char *
chunk(uint64_t number)
{
	static char file[LAYOUT_FILE];

	return layout_chunk(file, MADE_NAME, number);
}

START_TEST(a_disk_is_away)
{
	make(0, NULL);
	made_end(&m, BLOCKS);
	made_hide(&m, 1);
	opened(&m, &rec);
	ck_assert_uint_eq(recording_facts(rec)->computed, BLOCKS / 2);
	for (uint64_t i = 0; i < BLOCKS; i++)
		block_is(i);
	recording_close(rec);
	made_show(&m, 1);
	made_finish(&m);
}
END_TEST

/* Lists of parity know of blocks of which nothing is left: these are absent, and
 * none of their packets is counted. */
START_TEST(a_group_is_away)
{
	const struct recording_facts *f;

	make(0, NULL);
	made_end(&m, BLOCKS);
	made_hide(&m, 0);
	made_hide(&m, 1);
	f = opened(&m, &rec);
	ck_assert_uint_eq(f->computed, 0);
	ck_assert_uint_eq(f->chunks, 0);
	ck_assert_uint_eq(f->absent, BLOCKS);
	for (unsigned i = 0; i < f->runs; i++)
		ck_assert_uint_eq(rec->run[i].packets, 0);
	recording_close(rec);
	made_show(&m, 0);
	made_show(&m, 1);
	made_finish(&m);
}
END_TEST

/* A bit turned in a chunk: what is read of it is right, also a part.  Where parity
 * does not make up for it, bytes are given as they are, and counted. */
START_TEST(a_bit_turned)
{
	uint8_t some[20];

	make(0, NULL);
	made_end(&m, BLOCKS);
	made_spoil(&m, 0, chunk(2), 1030);
	opened(&m, &rec);
	block_as_sent(2);
	ck_assert_int_eq(
	    recording_chunk_read(rec, &rec->block[2], some, sizeof some, 1020),
	    sizeof some);
	ck_assert_mem_eq(some, sent.data + 1020, sizeof some);
	for (uint64_t i = 0; i < BLOCKS; i++)
		block_is(i);
	ck_assert_uint_eq(recording_mended(rec).healed, 1);
	ck_assert_uint_eq(recording_mended(rec).damaged, 0);
	recording_close(rec);

	made_spoil(&m, 1, chunk(3), 100);
	opened(&m, &rec);
	ck_assert_int_eq(block_read(2), MADE_BLOCK);
	block_as_sent(2);
	sent.data[1030] ^= 4;
	ck_assert_mem_eq(read_of, sent.data, MADE_BLOCK);
	ck_assert_uint_eq(recording_mended(rec).damaged, 512);
	block_is(4);
	done(&m, rec);
}
END_TEST

/* A short chunk: from its group; without that, what there is. */
START_TEST(a_chunk_is_short)
{
	make(0, NULL);
	made_end(&m, BLOCKS);
	ck_assert_int_eq(truncate(made_path(&m, 1, chunk(1)), 1000), 0);
	opened(&m, &rec);
	block_is(1);
	recording_read_finish(rec);
	ck_assert_int_eq(unlink(made_path(&m, 0, chunk(0))), 0);
	ck_assert_int_eq(block_read(1), 1000);
	block_as_sent(1);
	ck_assert_mem_eq(read_of, sent.data, 1000);
	done(&m, rec);
}
END_TEST

/* The last blocks of a disk that is away, while the recording is live and when it
 * was cut short; but not one whose group is away, too, before its end. */
START_TEST(the_end_is_away)
{
	size_t n;

	make(0, NULL);
	made_hide(&m, 1);
	ck_assert_int_eq(opened(&m, &rec)->state, RECORDING_LIVE);
	recording_blocks(rec, &n);
	ck_assert_uint_eq(n, BLOCKS);
	for (uint64_t i = 0; i < BLOCKS; i++)
		block_is(i);
	recording_close(rec);
	made_hide(&m, 0);
	opened(&m, &rec);
	recording_blocks(rec, &n);
	ck_assert_uint_eq(n, 0);
	recording_close(rec);
	made_show(&m, 0);

	made_end(&m, 0); /* as a crash does */
	ck_assert_int_eq(opened(&m, &rec)->state, RECORDING_INTERRUPTED);
	recording_blocks(rec, &n);
	ck_assert_uint_eq(n, BLOCKS);
	for (uint64_t i = 0; i < BLOCKS; i++)
		block_is(i);
	recording_close(rec);
	made_show(&m, 1);
	made_finish(&m);
}
END_TEST

/* The head is foreign bytes, too. */
START_TEST(the_head_has_a_wild_number)
{
	m.parity = 1000;
	made_begin(&m);
	made_blocks(&m, 3);
	made_end(&m, 3);
	ck_assert_uint_le(opened(&m, &rec)->parity, PARITY_ROWS);
	done(&m, rec);
}
END_TEST

/* The list says something else of a block than the index: it has other bytes,
 * or is of another length.  Nothing is computed by it, and nothing is read
 * beyond what was computed. */
START_TEST(a_group_has_another_block)
{
	struct index_record lie;

	for (unsigned kind = 0; kind < 2; kind++) {
		make(0, NULL);
		lie = made_parity_record(&m, 2);
		block_as_sent(2);
		made_finish(&m);
		if (!kind)
			lie.bytes -= MADE_PAYLOAD;
		lie.crc = kind ? ~lie.crc : crc32c(0, sent.data, lie.bytes);
		make(2, &lie);
		made_end(&m, BLOCKS);
		opened(&m, &rec);
		ck_assert_int_eq(unlink(made_path(&m, 0, chunk(2))), 0);
		ck_assert_ptr_null(recording_heal_plan(rec, 2));
		ck_assert_int_eq(block_read(2), 0);
		block_is(3);
		/* Nor does the other member follow from it. */
		ck_assert_int_eq(unlink(made_path(&m, 1, chunk(3))), 0);
		recording_read_finish(rec);
		ck_assert_int_eq(block_read(3), 0);
		done(&m, rec);
	}
}
END_TEST

/* A later group of the same blocks, whose parity is damaged: the older one gives
 * them. */
START_TEST(an_older_group)
{
	static const uint8_t zeros[MADE_BLOCK];
	struct index_record members[2];
	const struct parity_record p = { .group = 2,
					 .generation = 7,
					 .bytes = MADE_BLOCK,
					 .members = 2,
					 .rows = 1,
					 .crc = 1 };
	const struct parity_member *found;
	uint8_t *tail;
	int dir;

	make(0, NULL);
	made_end(&m, BLOCKS);
	for (unsigned i = 0; i < 2; i++)
		members[i] = made_parity_record(&m, 2 + i);
	tail = parity_tail_make(&p, members);
	dir = open(made_path(&m, 2, "."), O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(parity_file_write(dir, MADE_NAME, &p, members, zeros),
			 0);
	ck_assert_int_eq(
	    parity_list_append(dir, MADE_NAME, tail, parity_tail_bytes(&p)), 0);
	close(dir);
	free(tail);
	made_hide(&m, 1);
	opened(&m, &rec);
	found = parity_find(&rec->parity, 3);
	ck_assert_uint_eq(rec->parity.block[found->block].record.generation, 7);
	for (uint64_t i = 0; i < BLOCKS; i++)
		block_is(i);
	recording_close(rec);
	made_show(&m, 1);
	made_finish(&m);
}
END_TEST

SUITE_THREADS("recording_parity", NULL, a_disk_is_away, a_group_is_away,
	      a_bit_turned, a_chunk_is_short, the_end_is_away,
	      the_head_has_a_wild_number, a_group_has_another_block,
	      an_older_group)
