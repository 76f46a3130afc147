/* SPDX-License-Identifier: MIT */
/*
 * Parity against a model that multiplies bit by bit, every pair of losses in
 * groups of all sizes, and files that are away, short, torn or damaged.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "lib/dice.h"
#include "lib/scratch.h"
#include "lib/suite.h"
#include "store/parity/code.h"
#include "store/parity/heal.h"
#include "store/parity/parity.h"
#include "store/parity/parity_file.h"

enum { MEMBERS = 7, MOST = 3 << 20 };

/* ---- the arithmetic ------------------------------------------------------ */

/* a * b in the field of x^8 + x^4 + x^3 + x^2 + 1, which is ISA-L's. */
static uint8_t
times(uint8_t a, uint8_t b)
{
	unsigned sum = 0, x = a;

	for (int i = 0; i < 8; i++) {
		if (b >> i & 1)
			sum ^= x;
		x = x << 1 ^ (x & 0x80 ? 0x11d : 0);
	}
	return (uint8_t)sum;
}

START_TEST(coefficients_are_those_of_the_header)
{
	bool seen[256] = { false };

	for (unsigned j = 0; j < PARITY_MEMBERS; j++) {
		uint8_t c = parity_coefficient(1, j);

		ck_assert_uint_eq(parity_coefficient(0, j), 1);
		ck_assert_uint_eq(times(c, (uint8_t)(254 ^ j)), 255 ^ j);
		/* Any two columns can be solved for: 1 * c(j) - 1 * c(k) is not
		 * 0. */
		ck_assert(!seen[c]);
		seen[c] = true;
	}
	ck_assert(!seen[0]);
}
END_TEST

START_TEST(parity_is_what_the_model_says)
{
	static const size_t length[] = {
		1, 131072, 32, 200001, 100, 4096, 65537
	};
	static uint8_t all[MEMBERS][200001], row[2][200001], model[2][200001];
	static uint8_t again[2][200001];
	uint8_t *const to[] = { row[0], row[1] };
	uint8_t *const at_once[] = { again[0], again[1] };
	struct parity_data member[MEMBERS];
	struct dice dice = { 1 };
	uint32_t crc[2];

	for (unsigned j = 0; j < MEMBERS; j++) {
		size_t n = length[j];
		uint8_t *data = all[j];

		for (size_t i = 0; i < n; i++)
			data[i] = (uint8_t)dice_bits(&dice);
		parity_add(to, 2, j, data, n);
		for (unsigned r = 0; r < 2; r++) {
			uint8_t c = parity_coefficient(r, j);

			for (size_t i = 0; i < n; i++)
				model[r][i] ^= times(c, data[i]);
		}
	}
	ck_assert_mem_eq(row, model, sizeof row);

	/* At once, into what was there before, and in another order. */
	memset(again, 0xff, sizeof again);
	for (unsigned j = 0; j < MEMBERS; j++)
		member[MEMBERS - 1 - j] =
		    (struct parity_data){ j, all[j], length[j] };
	parity_encode(at_once, 2, crc, member, MEMBERS, sizeof again[0]);
	ck_assert_mem_eq(again, model, sizeof again);
	for (unsigned r = 0; r < 2; r++)
		ck_assert_uint_eq(crc[r], crc32c(0, again[r], sizeof again[r]));
}
END_TEST

/* ---- files --------------------------------------------------------------- */

static struct scratch s;
static uint8_t data[MEMBERS][MOST], row[2][MOST];
static size_t bytes_of[MEMBERS];
static int dir;

static void
file_put(const char *name, const void *from, size_t bytes)
{
	int fd = openat(dir, name, O_CREAT | O_TRUNC | O_WRONLY, 0644);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, from, bytes), (ssize_t)bytes);
	close(fd);
}

static void
file_spoil(const char *name, off_t at)
{
	int fd = openat(dir, name, O_RDWR);
	uint8_t byte;

	ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
	byte ^= 4;
	ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

/* Makes a group of n members of different lengths, of which the first is the
 * longest, and how to heal one of them. */
static struct parity_heal *
group_make(unsigned n, unsigned rows)
{
	uint8_t *const to[] = { row[0], row[1] };
	struct parity_heal *h = parity_heal_make(n);
	struct dice dice = { n };

	memset(row, 0, sizeof row);
	h->rows = rows;
	for (unsigned j = 0; j < n; j++) {
		struct parity_source *m = &h->member[j];

		bytes_of[j] = MOST - j * 100001;
		for (size_t i = 0; i < bytes_of[j]; i += 8) {
			uint64_t word = dice_bits(&dice);

			memcpy(data[j] + i, &word,
			       bytes_of[j] - i < 8 ? bytes_of[j] - i : 8);
		}
		parity_add(to, rows, j, data[j], bytes_of[j]);
		snprintf(m->file, sizeof m->file, "m%u", j);
		*m = (struct parity_source){ .dir = dir,
					     .offset = j,
					     .bytes = bytes_of[j],
					     .summed = true,
					     .crc = crc32c(0, data[j],
							   bytes_of[j]) };
		snprintf(m->file, sizeof m->file, "m%u", j);
	}
	for (unsigned r = 0; r < rows; r++) {
		struct parity_source *p = &h->parity[r];

		*p = (struct parity_source){ .dir = dir,
					     .bytes = MOST,
					     .summed = true,
					     .crc = crc32c(0, row[r], MOST) };
		snprintf(p->file, sizeof p->file, "p%u", r);
		file_put(p->file, row[r], MOST);
	}
	return h;
}

/* Writes the members again, each behind as many bytes as its offset. */
static void
members_write(unsigned n)
{
	static uint8_t shifted[MOST + MEMBERS];
	char name[16];

	for (unsigned j = 0; j < n; j++) {
		memset(shifted, 0xee, j);
		memcpy(shifted + j, data[j], bytes_of[j]);
		snprintf(name, sizeof name, "m%u", j);
		file_put(name, shifted, bytes_of[j] + j);
	}
}

static void
healed(struct parity_heal *h, unsigned wanted)
{
	uint8_t *got;

	h->wanted = wanted;
	ck_assert_int_eq(parity_heal(h, &got), 0);
	ck_assert_mem_eq(got, data[wanted], bytes_of[wanted]);
	free(got);
}

static void
refused(struct parity_heal *h, unsigned wanted, int err)
{
	uint8_t *got;

	h->wanted = wanted;
	ck_assert_int_eq(parity_heal(h, &got), err);
}

static void
setup(void)
{
	scratch_make(&s);
	dir = open(s.path, O_RDONLY | O_DIRECTORY);
}

static void
teardown(void)
{
	close(dir);
	scratch_remove(&s);
}

START_TEST(any_one_or_two_are_computed)
{
	setup();
	for (unsigned n = 1; n <= MEMBERS; n += 3) {
		struct parity_heal *h = group_make(n, 2);

		members_write(n);
		for (unsigned i = 0; i < n; i++) {
			h->member[i].dir = -1;
			for (unsigned k = 0; k < n; k++) {
				h->member[k].dir = -1;
				healed(h, i);
				h->member[k].dir = k == i ? -1 : dir;
			}
			/* One of them, and either parity block. */
			for (unsigned r = 0; r < 2; r++) {
				h->parity[r].dir = -1;
				healed(h, i);
				h->parity[r].dir = dir;
			}
			h->member[i].dir = dir;
		}
		free(h);
	}
	teardown();
}
END_TEST

START_TEST(more_are_refused)
{
	struct parity_heal *h;

	setup();
	h = group_make(4, 2);
	members_write(4);
	h->member[0].dir = h->member[1].dir = h->member[3].dir = -1;
	refused(h, 0, -ENODATA);
	h->member[3].dir = dir;
	h->parity[0].dir = -1;
	refused(h, 0, -ENODATA);
	free(h);
	h = group_make(4, 1);
	h->member[0].dir = -1;
	healed(h, 0);
	h->member[2].dir = -1;
	refused(h, 0, -ENODATA);
	h->member[2].dir = dir;
	h->parity[0].bytes = 0; /* never written */
	refused(h, 0, -ENODATA);
	h->parity[0].bytes = UINT64_MAX; /* made up */
	refused(h, 0, -ENODATA);
	free(h);
	teardown();
}
END_TEST

START_TEST(a_source_that_lies_is_not_used)
{
	struct parity_heal *h;

	setup();
	h = group_make(5, 2);
	members_write(5);
	file_spoil("m3", 1234567);
	healed(h, 1); /* m3 counts as lost, too */
	healed(h, 3);
	file_spoil("p0", MOST - 1);
	healed(h, 3);
	refused(h, 1, -ENODATA);
	members_write(5);
	healed(h, 1);
	/* Short, and gone. */
	file_put("m2", data[2], 1000);
	refused(h, 1, -ENODATA);
	file_put("p0", row[0], MOST);
	healed(h, 1);
	ck_assert_int_eq(unlinkat(dir, "m2", 0), 0);
	healed(h, 1);
	/* What is left contradicts the block's own checksum. */
	h->member[1].crc ^= 1;
	refused(h, 1, -EBADMSG);
	free(h);
	teardown();
}
END_TEST

/* ---- the list ------------------------------------------------------------ */

static struct index_record
record(uint64_t number)
{
	return (struct index_record){ .number = number,
				      .first = number * 1000,
				      .bytes = 1000 - number % 100,
				      .present = 990,
				      .missing = 10,
				      .crc = (uint32_t)number * 77,
				      .flags = INDEX_SUMMED,
				      .kind = INDEX_BLOCK };
}

static size_t
tail(uint8_t *raw, uint64_t group, uint16_t r, unsigned members)
{
	struct parity_record p = { .group = group,
				   .members = members,
				   .crc = 5,
				   .row = r,
				   .rows = 2 };
	struct index_record m[8];

	for (unsigned i = 0; i < members; i++) {
		m[i] = record(group + i);
		if (m[i].bytes > p.bytes)
			p.bytes = m[i].bytes;
	}
	parity_pack(raw, &p, m);
	return parity_tail_bytes(&p);
}

static void
list_read(struct parity_table *t, const void *raw, size_t bytes, unsigned disk)
{
	int fd;

	file_put("list", raw, bytes);
	fd = openat(dir, "list", O_RDONLY);
	ck_assert_int_eq(parity_read(t, fd, disk, &(uint64_t){ 0 }), 0);
	close(fd);
}

START_TEST(a_table_has_what_the_lists_say)
{
	const struct index_record three[] = { record(24), record(25),
					      record(26) };
	struct parity_table t = { 0 };
	struct parity_record lie;
	const struct parity_member *m;
	static uint8_t raw[1 << 20];
	size_t n = 0;

	setup();
	for (uint64_t g = 0; g < 1000; g++)
		n += tail(raw + n, 4000 - 4 * g, 0, 3);
	list_read(&t, raw, n, 1);
	n = tail(raw, 8, 1, 3);
	n += tail(raw + n, 12, 1, 3);
	raw[n - 1] ^= 1; /* the last member's check */
	n += tail(raw + n, 16, 1, 3);
	/* Parity that is longer than its members. */
	n += tail(raw + n, 24, 1, 3);
	lie = (struct parity_record){
		.group = 24, .bytes = UINT64_MAX, .members = 3, .rows = 2
	};
	parity_pack(raw + n, &lie, three);
	n += parity_tail_bytes(&lie);
	/* A torn tail. */
	n += tail(raw + n, 20, 1, 3) - 1;
	list_read(&t, raw, n, 2);
	ck_assert_int_eq(parity_sort(&t), 0);
	ck_assert_uint_eq(t.blocks, 1003);
	ck_assert_uint_eq(t.numbers, 3000);
	for (uint64_t number = 4; number < 4003; number++) {
		m = parity_find(&t, number);
		if (number % 4 == 3) {
			ck_assert_ptr_null(m);
			continue;
		}
		ck_assert_uint_eq(m->column, number % 4);
		ck_assert_uint_eq(parity_member_record(&t, m)->first,
				  number * 1000);
		ck_assert_uint_eq(t.block[m->block].record.group,
				  number - number % 4);
	}
	/* Both rows of a group lie one behind the other. */
	m = parity_find(&t, 9);
	ck_assert_uint_eq(t.block[m->block].disk, 1);
	ck_assert_uint_eq(t.block[m->block + 1].disk, 2);
	ck_assert_uint_eq(t.block[m->block + 1].record.group, 8);
	ck_assert_uint_eq(t.block[m->block + 1].record.row, 1);
	parity_clear(&t);
	teardown();
}
END_TEST

/* ---- generations, gaps, hostile sizes -------------------------------------- */

static size_t
tail_of(uint8_t *raw, const struct parity_record *p)
{
	struct index_record r[8];

	for (unsigned i = 0; i < p->members; i++)
		r[i] = record(p->group + 2 * i);
	for (unsigned i = 0; i < p->gaps; i++)
		r[p->members + i] = index_gap(&r[i + 1], 7);
	parity_pack(raw, p, r);
	return parity_tail_bytes(p);
}

START_TEST(groups_of_one_number_are_told_apart)
{
	struct parity_record p = {
		.group = 10, .bytes = 990, .members = 3, .gaps = 2, .rows = 2
	};
	struct parity_table t = { 0 };
	const struct parity_member *m;
	static uint8_t raw[1 << 16];
	size_t n;

	setup();
	n = tail_of(raw, &p);
	p.generation = 5;
	p.members = 2;
	p.gaps = 0;
	n += tail_of(raw + n, &p);
	list_read(&t, raw, n, 0);
	p.generation = 0;
	p.members = 3;
	p.gaps = 2;
	p.row = 1;
	list_read(&t, raw, tail_of(raw, &p), 1);
	ck_assert_int_eq(parity_sort(&t), 0);
	ck_assert_uint_eq(t.blocks, 3);
	/* What both have is of the later one. */
	for (uint64_t number = 10; number <= 14; number += 2) {
		m = parity_find(&t, number);
		ck_assert_uint_eq(t.block[m->block].record.generation,
				  number < 14 ? 5 : 0);
		ck_assert_uint_eq(parity_member_record(&t, m)->number, number);
	}
	ck_assert_ptr_eq(parity_first(&t, &t.block[1]), &t.block[0]);
	ck_assert_ptr_eq(parity_first(&t, &t.block[2]), &t.block[2]);
	ck_assert_ptr_eq(parity_on(&t, 10, 0, 1), &t.block[1]);
	ck_assert_ptr_eq(parity_on(&t, 10, 5, 0), &t.block[2]);
	ck_assert_ptr_null(parity_on(&t, 10, 5, 1));
	ck_assert_ptr_null(parity_on(&t, 11, 0, 0));
	/* Each gap once. */
	ck_assert_uint_eq(t.gaps, 2);
	ck_assert_uint_eq(parity_find_gap(&t, 11)->missing, 7);
	ck_assert_uint_eq(parity_find_gap(&t, 13)->missing, 7);
	ck_assert_ptr_null(parity_find_gap(&t, 12));
	ck_assert_ptr_null(parity_find(&t, 11));
	parity_clear(&t);
	teardown();
}
END_TEST

START_TEST(a_tail_that_cannot_be_is_refused)
{
	struct parity_record p = { .group = 10,
				   .bytes = PARITY_MOST,
				   .members = 3,
				   .rows = 1 },
			     got;
	static uint8_t raw[1 << 16];

	tail_of(raw, &p);
	ck_assert_int_eq(parity_unpack(&got, raw), 0);
	p.bytes++;
	tail_of(raw, &p);
	ck_assert_int_eq(parity_unpack(&got, raw), -EBADMSG);
	p.bytes = 1000;
	p.group = LAYOUT_CHUNKS;
	tail_of(raw, &p);
	ck_assert_int_eq(parity_unpack(&got, raw), -EBADMSG);
	p.group = 10;
	p.gaps = 4;
	tail_of(raw, &p);
	ck_assert_int_eq(parity_unpack(&got, raw), -EBADMSG);
}
END_TEST

/* ---- blocks and their list -------------------------------------------------- */

static struct parity_look
look(struct parity_table *t)
{
	struct parity_look l = { .table = t };
	int fd = openat(dir, "r.parity", O_RDONLY | O_CREAT, 0644);

	parity_clear(t);
	ck_assert_int_eq(parity_read(t, fd, 0, &(uint64_t){ 0 }), 0);
	ck_assert_int_eq(parity_sort(t), 0);
	close(fd);
	ck_assert_int_eq(parity_files_look(&l, dir, "r"), 0);
	return l;
}

START_TEST(blocks_and_their_list_mend_each_other)
{
	struct parity_record p = { .group = 3,
				   .generation = 77,
				   .bytes = 997,
				   .members = 1,
				   .rows = 1,
				   .crc = 0 };
	const struct index_record m = record(3);
	struct parity_table t = { 0 };
	struct parity_look l;
	char file[LAYOUT_FILE];

	setup();
	p.crc = crc32c(0, data[0], p.bytes);
	ck_assert_int_eq(parity_file_write(dir, "r", &p, &m, data[0]), 0);
	layout_parity(file, "r", 3, 77);
	ck_assert_str_eq(file, "r.parity.00000003.000000000000004d");
	l = look(&t);
	ck_assert_uint_eq(l.listed, 1);
	l = look(&t);
	ck_assert_uint_eq(t.blocks, 1);
	ck_assert_uint_eq(l.listed + l.tails + l.aside + l.failed, 0);

	/* A tail that is damaged, or too long, is as the list says. */
	file_spoil(file, 1100);
	l = look(&t);
	ck_assert_uint_eq(l.tails, 1);
	ck_assert_int_eq(faccessat(dir, file, F_OK, 0), 0);
	l = look(&t);
	ck_assert_uint_eq(l.tails, 0);

	/* One that nothing names and that is damaged is kept aside; and so is
	 * one under a name that is not its own. */
	unlinkat(dir, "r.parity", 0);
	file_spoil(file, 10);
	l = look(&t);
	ck_assert_uint_eq(l.aside, 1);
	ck_assert_int_eq(
	    faccessat(dir, "r.parity.00000003.000000000000004d.aside", F_OK, 0),
	    0);
	ck_assert(
	    layout_is_parity("r.parity.00000003.000000000000004d.aside", "r"));
	ck_assert_int_eq(parity_file_write(dir, "r", &p, &m, data[0]), 0);
	ck_assert_int_eq(renameat(dir, file, dir, "r.parity.00000004"), 0);
	l = look(&t);
	ck_assert_uint_eq(l.aside, 1);

	/* A list with a torn end is cut before it is appended to. */
	file_put("r.parity", data[1], 70);
	ck_assert_int_eq(parity_file_write(dir, "r", &p, &m, data[0]), 0);
	l = look(&t);
	ck_assert_uint_eq(l.listed, 1);
	l = look(&t);
	ck_assert_uint_eq(t.blocks, 1);
	parity_clear(&t);
	teardown();
}
END_TEST

/* A list that nobody reads, or that is mostly something else, is set aside, and what
 * it had that is good is listed anew; what a torn tail leaves is no such list. */
START_TEST(a_list_that_cannot_be_is_set_aside)
{
	struct parity_record p = {
		.group = 3, .bytes = 997, .members = 1, .rows = 1
	};
	const struct index_record m[] = { record(3), record(103) };
	static const uint8_t nothing[80000];
	struct parity_table t = { 0 };
	uint8_t raw[2 * INDEX_BYTES];
	struct parity_look l;
	struct stat st;
	int fd;

	setup();
	p.crc = crc32c(0, data[0], p.bytes);
	ck_assert_int_eq(parity_file_write(dir, "r", &p, m, data[0]), 0);
	l = look(&t);
	ck_assert_uint_eq(l.listed, 1);
	ck_assert_int_eq(
	    parity_list_append(dir, "r", nothing, PARITY_TAIL_MOST), 0);
	p.group = 103;
	ck_assert_int_eq(parity_file_write(dir, "r", &p, &m[1], data[0]), 0);
	parity_pack(raw, &p, &m[1]);
	ck_assert_int_eq(parity_list_append(dir, "r", raw, sizeof raw), 0);
	l = look(&t);
	ck_assert_uint_eq(l.lists + l.listed + l.aside, 0);

	/* Garbage between two that are good. */
	unlinkat(dir, "r.parity", 0);
	ck_assert_int_eq(parity_list_append(dir, "r", nothing, sizeof nothing),
			 0);
	ck_assert_int_eq(parity_list_append(dir, "r", raw, sizeof raw), 0);
	l = look(&t);
	ck_assert_uint_eq(l.lists, 1);
	ck_assert_uint_eq(l.aside, 1);
	ck_assert_uint_eq(l.listed, 1);
	ck_assert_int_eq(faccessat(dir, "r.parity.aside", F_OK, 0), 0);
	ck_assert(layout_is_parity("r.parity.aside", "r"));
	ck_assert_int_eq(fstatat(dir, "r.parity", &st, 0), 0);
	ck_assert_int_eq(st.st_size, 4 * INDEX_BYTES);
	l = look(&t);
	ck_assert_uint_eq(t.blocks, 2);
	ck_assert_uint_eq(l.lists + l.listed + l.aside, 0);

	/* One that is too long to be read. */
	fd = openat(dir, "r.parity", O_WRONLY);
	ck_assert_int_eq(ftruncate(fd, (off_t)5 << 30), 0);
	close(fd);
	parity_clear(&t);
	l = (struct parity_look){ .table = &t };
	ck_assert_int_eq(parity_files_look(&l, dir, "r"), 0);
	ck_assert_uint_eq(l.lists, 1);
	ck_assert_uint_eq(l.listed, 2);
	ck_assert_int_eq(faccessat(dir, "r.parity.aside1", F_OK, 0), 0);
	l = look(&t);
	ck_assert_uint_eq(t.blocks, 2);
	ck_assert_uint_eq(l.lists + l.listed + l.aside, 0);
	parity_clear(&t);
	teardown();
}
END_TEST

SUITE_THREADS("parity", NULL, coefficients_are_those_of_the_header,
	      parity_is_what_the_model_says, any_one_or_two_are_computed,
	      more_are_refused, a_source_that_lies_is_not_used,
	      a_table_has_what_the_lists_say,
	      groups_of_one_number_are_told_apart,
	      a_tail_that_cannot_be_is_refused,
	      blocks_and_their_list_mend_each_other,
	      a_list_that_cannot_be_is_set_aside)
