/* SPDX-License-Identifier: MIT */
/*
 * What can be seen of a recording, one thing after the other; every way to
 * see any recording is in test_view_storm.c.
 */
#include "config.h"

#include "lib/made_row.h"
#include "lib/made_view.h"

static struct view *view;
static struct fault fault;
static uint8_t is[PLAY_BYTES], want[PLAY_BYTES];

/* Nothing chosen is the recording's file, in a span for each block. */
START_TEST(whole)
{
	struct play *p = play_make(play_plain(), 6);
	struct view_span s;

	ck_assert_int_eq(
	    play_view(p, &view, &fault, (struct view_choice){ ALL }), 0);
	ck_assert_uint_eq(view_bytes(view), p->slots * MADE_PAYLOAD);
	for (unsigned i = 0; i < view_bytes(view); i++) {
		ck_assert_int_eq(view_find(view, i, &s), 0);
		ck_assert_int_eq(s.kind, VIEW_DATA);
		ck_assert_uint_eq(s.number, i / MADE_BLOCK);
		ck_assert_uint_eq(s.at, i % MADE_BLOCK);
		ck_assert_uint_eq(s.offset, i);
		ck_assert_uint_eq(s.bytes, MADE_BLOCK - i % MADE_BLOCK);
		ck_assert_uint_eq(s.step, 0);
		ck_assert_uint_eq(s.lead, 0);
	}
	ck_assert_int_eq(view_find(view, view_bytes(view), &s), -ENODATA);
	ck_assert_int_eq(view_find(view, UINT64_MAX, &s), -ENODATA);
	view_free(view);
	/* A substream that is not there is empty. */
	ck_assert_int_eq(
	    play_view(p, &view, &fault, (struct view_choice){ ALL, .sub = 4 }),
	    0);
	ck_assert_uint_eq(view_bytes(view), 0);
	ck_assert_int_eq(view_find(view, 0, &s), -ENODATA);
	ck_assert_int_eq(view_refresh(view), 0);
	view_free(view);
	play_end(p);
}
END_TEST

static bool
span_same(const struct view_span *a, const struct view_span *b)
{
	return a->kind == b->kind && a->number == b->number && a->at == b->at &&
	       a->offset == b->offset && a->bytes == b->bytes &&
	       a->step == b->step && a->take == b->take &&
	       a->passed == b->passed && a->lead == b->lead;
}

/* What is said of a span: how much it takes of the block, and where it goes
 * on. */
START_TEST(spans)
{
	struct play *p = play_make(play_plain(), 4);
	struct view_choice c = { ALL, .strip = 24 };
	struct view_span s, t, u;

	ck_assert_int_eq(play_view(p, &view, &fault, c), 0);
	for (unsigned i = 0; i < 40 * 64; i++) {
		ck_assert_int_eq(view_find(view, i, &s), 0);
		ck_assert_uint_eq(s.take, 40);
		ck_assert_uint_eq(s.step, 64);
		ck_assert_uint_eq(s.passed, i % 40);
		ck_assert_uint_eq(s.at, i / 40 * 64 + 24 + i % 40);
		ck_assert_uint_eq(s.lead, 24 + i % 40);
		ck_assert_uint_eq(view_reach(&s, 0), 0);
		for (unsigned n = 1; n < 200 && n < s.bytes; n++) {
			u = s;
			view_pass(&u, n);
			ck_assert_int_eq(view_find(view, i + n, &t), 0);
			ck_assert(span_same(&u, &t));
			view_find(view, i + n - 1, &t);
			ck_assert_uint_eq(view_reach(&s, n), t.at + 1 - s.at);
		}
	}
	view_free(view);
	play_end(p);
}
END_TEST

/* A packet size that divides nothing, spans that are cut anywhere. */
START_TEST(gathered)
{
	static uint8_t data[5000], to[5000];
	struct view_span s = { .step = 37, .take = 11, .bytes = 1000 };

	for (unsigned i = 0; i < sizeof data; i++)
		data[i] = (uint8_t)(i * 31 + i / 256);
	for (s.passed = 0; s.passed < 11; s.passed++)
		for (unsigned n = 0; n < 200; n++)
			for (unsigned most = 1; most < 40; most++) {
				size_t got = view_gather(&s, data, n, to, most);
				size_t k = 0;

				for (unsigned i = 0; i < n && k < most; i++)
					if ((i + s.passed) % 37 < 11)
						ck_assert_uint_eq(to[k++],
								  data[i]);
				ck_assert_uint_eq(got, k);
			}
	s.bytes = 5;
	s.passed = 0;
	ck_assert_uint_eq(view_gather(&s, data, sizeof data, to, 100), 5);
	s.step = 0;
	ck_assert_uint_eq(view_gather(&s, data, sizeof data, to, 100), 5);
	ck_assert_uint_eq(view_gather(&s, data, 3, to, 100), 3);
}
END_TEST

START_TEST(refused)
{
	struct play *p = play_make(play_plain(), 3);
	struct view_choice c = { ALL, .strip = MADE_PAYLOAD };

	ck_assert_int_eq(play_view(p, &view, &fault, c), -EINVAL);
	ck_assert_ptr_nonnull(strstr(fault.why, "64"));
	c.strip = UINT32_MAX;
	ck_assert_int_eq(play_view(p, &view, &fault, c), -EINVAL);
	c.strip = MADE_PAYLOAD - 1;
	ck_assert_int_eq(play_view(p, &view, &fault, c), 0);
	play_shows(p, view, c);
	view_free(view);
	c = (struct view_choice){ .thread = 4 };
	ck_assert_int_eq(play_view(p, &view, &fault, c), -EINVAL);
	ck_assert_str_eq(fault.why, "it has no thread 4");
	c = (struct view_choice){ .thread = 3, .fill = VIEW_SKIP };
	ck_assert_int_eq(play_view(p, &view, &fault, c), -EINVAL);
	ck_assert_ptr_nonnull(strstr(fault.why, "filled"));
	ck_assert_str_eq(view_settle(&c, HEAP_NONE), fault.why);
	ck_assert_int_eq(play_view(p, &view, &fault, c), 0);
	play_shows(p, view, c);
	view_free(view);
	play_end(p);
}
END_TEST

/* Zeros on disk, frames marked invalid in the view. */
START_TEST(filled_anew)
{
	struct play *p = play_plain();
	struct view_choice c = { ALL, .fill = VIEW_INVALID, .strip = 5 };
	uint8_t frame[MADE_PAYLOAD];
	unsigned anew = 0;

	p->m.fill = FILL_ZERO;
	p->lossy = 10;
	p->gappy = 30;
	p->gone = 20;
	play_make(p, 20);
	ck_assert_int_eq(play_view(p, &view, &fault, c), 0);
	ck_assert_int_eq(play_read(p, view, is, sizeof is, 0),
			 p->slots * (MADE_PAYLOAD - 5));
	for (unsigned i = 0; i < p->slots; i++) {
		const struct slot *s = &p->slot[i];

		play_frame(p, s->frame, s->present ? FORMAT_VALID : 0, frame);
		for (unsigned k = 32; k < MADE_PAYLOAD && !s->present; k += 4)
			write_le32(frame + k, FILL_PATTERN);
		ck_assert_mem_eq(is + i * (MADE_PAYLOAD - 5), frame + 5,
				 MADE_PAYLOAD - 5);
		anew += !s->present;
	}
	ck_assert_uint_gt(anew, 100);
	view_free(view);
	play_end(p);
}
END_TEST

/* A disk lost the line that tells what lacks: what was skipped nobody knows,
 * and other fill is as it was. */
START_TEST(holes_lost)
{
	struct play *p = play_plain();
	struct view_choice c = { ALL, .fill = VIEW_SKIP };
	struct view_span s;

	p->lossy = 10;
	play_begin(p);
	play_script(p, 5);
	play_go(p, p->events);
	made_end(&p->m, p->events);
	ck_assert_int_eq(
	    truncate(made_path(&p->m, 1, MADE_NAME ".meta.jsonl"), 0), 0);
	play_open(p);
	play_list(p, 0);
	ck_assert_int_eq(play_view(p, &view, &fault, c), 0);
	ck_assert_uint_eq(view_bytes(view), play_expect(p, &c, want));
	ck_assert_int_eq(view_find(view, 0, &s), 0);
	ck_assert_int_eq(s.kind, VIEW_DATA);
	ck_assert_int_eq(view_find(view, view_bytes(view) / 3, &s), 0);
	ck_assert_uint_eq(s.number, 1);
	ck_assert_int_eq(s.kind, VIEW_LOST);
	view_free(view);
	c.fill = VIEW_ZERO;
	ck_assert_int_eq(play_view(p, &view, &fault, c), 0);
	ck_assert_int_eq(play_read(p, view, is, sizeof is, 0),
			 p->slots * MADE_PAYLOAD);
	ck_assert_mem_eq(is + MADE_BLOCK, p->base + MADE_BLOCK, MADE_BLOCK);
	view_free(view);
	play_end(p);
}
END_TEST

/* What contradicts the record is not believed. */
START_TEST(holes_that_lie)
{
	static const char *const lies[] = {
		"[[60,9]]",
		"[[60,3],[4,1]]",
		"[[5,1],[5,1]]",
		"[[0,64]]",
		"[[9223372036854775807,9223372036854775807]]",
		"[[4294967295,1]]",
		"[[1,-1]]",
		"[7]",
		"\"none\"",
	};
	struct view_choice c = { ALL, .fill = VIEW_SKIP };
	struct play *p = play_plain();
	struct view_span s;
	char line[200];
	int fd;

	p->lossy = 20;
	play_begin(p);
	play_script(p, 5);
	play_go(p, p->events);
	made_end(&p->m, p->events);
	for (unsigned i = 0; i < sizeof lies / sizeof *lies; i++) {
		fd = open(made_path(&p->m, 1, MADE_NAME ".meta.jsonl"),
			  O_WRONLY | O_TRUNC);
		snprintf(line, sizeof line, "{\"block\":1,\"holes\":%s}\n",
			 lies[i]);
		ck_assert_int_eq(write(fd, line, strlen(line)), strlen(line));
		close(fd);
		play_open(p);
		ck_assert_int_eq(play_view(p, &view, &fault, c), 0);
		ck_assert_int_eq(view_find(view, view_bytes(view) / 3, &s), 0);
		ck_assert_uint_eq(s.number, 1);
		ck_assert_int_eq(s.kind, VIEW_LOST);
		view_free(view);
		recording_close(p->rec);
	}
	play_open(p);
	play_end(p);
}
END_TEST

/* Rows and cubes have no packets that a choice for many recordings could be
 * about; a row can be had for a time, by blocks. */
START_TEST(heaps)
{
	static struct made m;
	static struct made_row row[3];
	struct view_choice c = { ALL, .strip = 8, .fill = VIEW_SKIP };
	struct recording *rec;
	uint64_t bytes = 0;

	m = (struct made){ .store = HEAP_ROW };
	made_begin(&m);
	for (unsigned i = 0; i < 3; i++) {
		row[i] = (struct made_row){ .record.first_ns = 1000 * i + 1000,
					    .record.last_ns = 1000 * i + 1900 };
		made_heap(&row[i], i, 300 + 100 * i, 0, 300 + 100 * i);
		made_row_write(&m, i, i, &row[i]);
		bytes += row[i].bytes;
	}
	made_end(&m, 3);
	ck_assert_int_eq(recording_open(&rec, &m.disks, MADE_NAME, &fault), 0);
	ck_assert_int_eq(view_make(&view, rec, &c, &fault), -EINVAL);
	ck_assert_str_eq(fault.why, view_settle(&c, HEAP_ROW));
	ck_assert_ptr_null(view_settle(&c, HEAP_ROW));
	ck_assert_int_eq(view_make(&view, rec, &c, &fault), 0);
	ck_assert_uint_eq(view_bytes(view), bytes);
	view_free(view);
	c.from_ns = 1950;
	c.to_ns = 3000;
	ck_assert_int_eq(view_make(&view, rec, &c, &fault), 0);
	ck_assert_uint_eq(view_bytes(view), row[1].bytes);
	view_free(view);
	c.thread = 1;
	ck_assert_int_eq(view_make(&view, rec, &c, &fault), -EINVAL);
	recording_close(rec);
	made_finish(&m);
	c = (struct view_choice){ ALL, .fill = VIEW_INVALID };
	ck_assert_ptr_nonnull(strstr(view_settle(&c, HEAP_CUBE), "cube"));
	c = (struct view_choice){ ALL, .fill = VIEW_INVALID };
	ck_assert_ptr_null(view_settle(&c, HEAP_NONE));
	ck_assert_int_eq(c.fill, VIEW_INVALID);
}
END_TEST

/* Sizes without a view are those of views. */
START_TEST(sizes)
{
	struct play *p = play_plain();
	struct view_counts n = { .payload = MADE_PAYLOAD };
	uint64_t bytes;

	p->lossy = p->early = p->anew = 10;
	p->gappy = p->gone = 20;
	play_make(p, 30);
	n.bytes = recording_facts(p->rec)->bytes;
	n.packets = recording_facts(p->rec)->packets;
	for (unsigned i = 0; i < 16; i++) {
		struct view_choice c = { ALL, .strip = i / 4 * 9,
					 .fill = i % 4 };

		ck_assert_int_eq(play_view(p, &view, &fault, c), 0);
		ck_assert_int_eq(view_size(&n, &c, &bytes), 0);
		ck_assert_uint_eq(bytes, view_bytes(view));
		view_free(view);
	}
	ck_assert_int_eq(
	    view_size(&n, &(struct view_choice){ .thread = 3 }, &bytes),
	    -ENODATA);
	ck_assert_int_eq(
	    view_size(&n, &(struct view_choice){ ALL, .to_ns = 1 }, &bytes),
	    -ENODATA);
	ck_assert_int_eq(
	    view_size(&n, &(struct view_choice){ ALL, .strip = 64 }, &bytes),
	    -EINVAL);
	n.store = HEAP_ROW;
	n.bytes = 12345;
	ck_assert_int_eq(
	    view_size(&n, &(struct view_choice){ ALL, .strip = 99 }, &bytes),
	    0);
	ck_assert_uint_eq(bytes, 12345);
	n.store = HEAP_NONE;
	ck_assert_int_eq(
	    view_size(&n, &(struct view_choice){ ALL, .strip = 9 }, &bytes),
	    -ENODATA);
	play_end(p);
}
END_TEST

SUITE("view", whole, spans, gathered, refused, filled_anew, holes_lost,
      holes_that_lie, heaps, sizes)
