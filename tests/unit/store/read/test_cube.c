/* SPDX-License-Identifier: MIT */
/* Items by channel and time: aligned, and told from what is not there. */
#include "config.h"

#include <errno.h>

#include "store/read/cube.h"
#include "lib/made_read.h"
#include "lib/suite.h"

static struct made m;
static struct recording *rec;

static struct made_block mb;
static struct cube *cube;

/* `used` items of a channel, from `first` of a run on. */
static void
add(uint64_t number, unsigned sub, uint32_t run, uint64_t first, uint32_t used)
{
	m.sub = (uint16_t)sub;
	made_block(&m, &mb, number, first, used);
	mb.b.run = run;
	made_write(&m, (unsigned)number % MADE_DISKS, &mb);
}

/* With holes in its bytes; NULL: and no line that says which. */
static void
add_part(uint64_t number, unsigned sub, uint64_t first, const char *holes)
{
	struct index_record r;
	char text[200];
	json_t *line;

	m.sub = (uint16_t)sub;
	made_block(&m, &mb, number, first, MADE_SLOTS);
	made_chunk(&m, 0, &mb);
	r = made_record(&mb.b);
	r.missing = 5;
	snprintf(text, sizeof text,
		 "{\"block\":%d,\"holes\":%s,\"unit\":\"byte\"}", (int)number,
		 holes ? holes : "");
	line = json_loads(text, 0, NULL);
	if (line)
		ck_assert_int_eq(folder_note(m.folder[0], line), 0);
	json_decref(line);
	made_index(&m, 0, &r);
}

static void
base(unsigned sub, uint32_t run, uint64_t sequence)
{
	m.sub = (uint16_t)sub;
	made_run(&m, 0, run, sequence);
}

static void
begin(unsigned subs)
{
	m.subs = subs;
	m.store = HEAP_CUBE;
	made_begin(&m);
}

static const struct cube_span *
cubed(uint64_t numbers, size_t *n)
{
	made_end(&m, numbers);
	opened(&m, &rec);
	ck_assert_int_eq(cube_open(&cube, rec), 0);
	return cube_spans(cube, n);
}

static void
end(void)
{
	cube_close(cube);
	done(&m, rec);
}

/* Is an item there, and the one that its channel had at this place? */
static void
is_item(size_t span, unsigned channel, uint64_t time, uint64_t sequence)
{
	uint8_t is[MADE_PAYLOAD], want[MADE_PAYLOAD];
	struct cube_item item;

	ck_assert_int_eq(cube_find(cube, span, channel, time, &item), 0);
	ck_assert_int_eq(item.state, CUBE_WHOLE);
	recording_select(rec, channel);
	ck_assert_int_eq(recording_read(rec, is, sizeof is, item.offset, NULL),
			 MADE_PAYLOAD);
	m.sub = (uint16_t)channel;
	made_frame(&m, sequence, want);
	ck_assert_mem_eq(is, want, sizeof is);
}

static struct cube_item
item_is(size_t span, unsigned channel, uint64_t time, enum cube_state state)
{
	struct cube_item item;

	ck_assert_int_eq(cube_find(cube, span, channel, time, &item), 0);
	ck_assert_int_eq(item.state, state);
	return item;
}

/* Channel 1 begins 3 later, loses 10 in between, and ends earlier. */
START_TEST(aligned)
{
	const struct cube_span *span;
	size_t n;

	begin(3);
	base(0, 0, 100);
	base(1, 0, 103);
	add(0, 0, 0, 0, MADE_SLOTS);
	add(1, 1, 0, 0, 20);
	add(2, 1, 0, 30, 20);
	span = cubed(3, &n);
	ck_assert_uint_eq(n, 1);
	ck_assert_uint_eq(span->first, 100);
	ck_assert_uint_eq(span->last, 100 + MADE_SLOTS - 1);
	is_item(0, 0, 100, 0);
	is_item(0, 0, 163, 63);
	item_is(0, 0, 99, CUBE_ABSENT);
	item_is(0, 0, 164, CUBE_ABSENT);
	item_is(0, 1, 102, CUBE_ABSENT);
	is_item(0, 1, 103, 0);
	is_item(0, 1, 122, 19);
	item_is(0, 1, 123, CUBE_ABSENT);
	item_is(0, 1, 132, CUBE_ABSENT);
	is_item(0, 1, 133, 30);
	is_item(0, 1, 152, 49);
	item_is(0, 1, 153, CUBE_ABSENT);
	item_is(0, 2, 103, CUBE_ABSENT);
	item_is(1, 0, 103, CUBE_ABSENT);
	ck_assert(cube_any(cube, 0, 160, 200));
	ck_assert(!cube_any(cube, 0, 164, 200));
	ck_assert(cube_any(cube, 0, 0, 100));
	ck_assert(!cube_any(cube, 0, 0, 99));
	ck_assert(!cube_any(cube, 1, 0, 200));
	end();
}
END_TEST

/* Channel 0 counts anew, 1 leaps, 2 goes on in a second run. */
START_TEST(spans)
{
	const struct cube_span *span;
	size_t n;

	begin(3);
	for (unsigned i = 0; i < 3; i++)
		base(i, 0, 50);
	base(0, 1, 50);
	base(1, 1, 60 + CUBE_LEAP + 1);
	base(2, 1, 60 + CUBE_LEAP);
	for (unsigned i = 0; i < 3; i++)
		add(i, i, 0, 0, 10);
	for (unsigned i = 0; i < 3; i++)
		add(3 + i, i, 1, 0, 10);
	span = cubed(6, &n);
	ck_assert_uint_eq(n, 2);
	ck_assert_uint_eq(span[0].first, 50);
	ck_assert_uint_eq(span[0].last, 60 + CUBE_LEAP + 9);
	ck_assert_uint_eq(span[1].first, 50);
	ck_assert_uint_eq(span[1].last, 60 + CUBE_LEAP + 10);
	is_item(1, 0, 59, 9);
	is_item(1, 1, 61 + CUBE_LEAP, 0);
	is_item(0, 2, 60 + CUBE_LEAP, 0);
	item_is(0, 1, 61 + CUBE_LEAP, CUBE_ABSENT);
	item_is(1, 2, 60 + CUBE_LEAP, CUBE_ABSENT);
	end();
}
END_TEST

/* Items 1 and 2 lack some, 3 lacks all, 4 its first byte. */
START_TEST(in_part)
{
	enum { P = MADE_PAYLOAD };
	struct cube_item item;
	char holes[100];
	size_t n;

	begin(2);
	snprintf(holes, sizeof holes, "[[%d,3],[%d,4],[%d,%d]]", P + 5, P + 60,
		 3 * P - 1, P + 2);
	add_part(0, 1, 0, holes);
	add_part(1, 0, 0, NULL);
	cubed(2, &n);
	item_is(0, 1, 0, CUBE_WHOLE);
	item = item_is(0, 1, 1, CUBE_PART);
	ck_assert_uint_eq(item.n, 2);
	ck_assert_uint_eq(item.missing[0].at, 5);
	ck_assert_uint_eq(item.missing[0].bytes, 3);
	ck_assert_uint_eq(item.missing[1].at, 60);
	ck_assert_uint_eq(item.missing[1].bytes, 4);
	item = item_is(0, 1, 2, CUBE_PART);
	ck_assert_uint_eq(item.n, 1);
	ck_assert_uint_eq(item.missing[0].at, P - 1);
	ck_assert_uint_eq(item.missing[0].bytes, 1);
	item_is(0, 1, 3, CUBE_ABSENT);
	item = item_is(0, 1, 4, CUBE_PART);
	ck_assert_uint_eq(item.missing[0].at, 0);
	ck_assert_uint_eq(item.missing[0].bytes, 1);
	item_is(0, 1, 5, CUBE_WHOLE);
	item_is(0, 0, 5, CUBE_UNKNOWN);
	item_is(0, 1, 1, CUBE_PART);
	end();
}
END_TEST

START_TEST(nothing)
{
	size_t n;

	begin(2);
	cubed(0, &n);
	ck_assert_uint_eq(n, 0);
	item_is(0, 1, 0, CUBE_ABSENT);
	end();
	made_begin(&m);
	made_end(&m, 0);
	opened(&m, &rec);
	ck_assert_int_eq(cube_open(&cube, rec), -ENOTSUP);
	done(&m, rec);
}
END_TEST

SUITE("cube", aligned, spans, in_part, nothing)
