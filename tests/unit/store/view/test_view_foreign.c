/* SPDX-License-Identifier: MIT */
/* Views of what jive5ab recorded: no metadata, a chunk that is missing, and one
 * that ends in the middle of a frame. */
#include "config.h"

#include "lib/made_view.h"

static struct view *view;
static struct fault fault;
static uint8_t is[PLAY_BYTES];

enum { FRAME = 1032, CHUNK = 40, THREADS = 2, FPS = 20, SHORT = 7 };

static const unsigned chunks[] = { 0, 1, 3, 4 };

static void
frame_make(const struct format_ops *format, const struct format_shape *shape,
	   unsigned i, uint8_t *to)
{
	struct format_packet p = {
		.has = FORMAT_TIME | FORMAT_VALID | FORMAT_READABLE,
		.second = MADE_SECOND + i / THREADS / FPS,
		.frame = i / THREADS % FPS,
		.thread = i % THREADS ? 5 : 2,
	};

	for (unsigned k = 0; k < FRAME; k++)
		to[k] = (uint8_t)(i * 3 + k);
	format->model(shape, to);
	format->stamp(shape, &p, NULL, to);
}

static void
chunk_write(const struct format_ops *format, const struct format_shape *shape,
	    const char *dir, unsigned number)
{
	uint8_t frame[FRAME];
	char path[512];
	unsigned n = number == 4 ? SHORT : CHUNK;
	int fd;

	snprintf(path, sizeof path, "%s/%s.%08u", dir, MADE_NAME, number);
	fd = open(path, O_CREAT | O_WRONLY, 0644);
	ck_assert_int_ge(fd, 0);
	for (unsigned i = 0; i < n; i++) {
		frame_make(format, shape, number * CHUNK + i, frame);
		ck_assert_int_eq(write(fd, frame, FRAME), FRAME);
	}
	if (number == 4)
		ck_assert_int_eq(write(fd, frame, 100), 100);
	close(fd);
}

/* The list of slots, as of a recording of ours. */
static struct play *
foreign_new(void)
{
	struct play *p = play_plain();
	struct format_shape shape = { .payload = FRAME,
				      .fps = FPS,
				      .around = MADE_SECOND };
	char why[256], dir[300];

	made_begin(&p->m);
	for (unsigned i = 0; i < MADE_DISKS; i++) {
		folder_close(p->m.folder[i], NULL, NULL);
		p->m.folder[i] = NULL;
		unlink(made_path(&p->m, i, MADE_NAME ".index"));
		unlink(made_path(&p->m, i, MADE_NAME ".meta.jsonl"));
	}
	ck_assert_int_eq(p->m.format->shape(&shape, why, sizeof why), 0);
	for (unsigned i = 0; i < 4; i++) {
		snprintf(dir, sizeof dir, "%s/%s",
			 p->m.disks.disk[i % MADE_DISKS].path, MADE_NAME);
		chunk_write(p->m.format, &shape, dir, chunks[i]);
	}
	play_open(p);
	ck_assert_str_eq(recording_facts(p->rec)->made_by, "jive5ab");
	return p;
}

START_TEST(flexbuff)
{
	enum { ALL_FRAMES = 4 * CHUNK + SHORT, FILES = 3 * CHUNK + SHORT };
	static uint8_t file[ALL_FRAMES * FRAME];
	struct play *p = foreign_new();
	struct view_choice c = { .thread = -1, .strip = 32 };
	uint64_t frames;

	ck_assert_int_eq(recording_read(p->rec, file, sizeof file, 0, NULL),
			 sizeof file);
	ck_assert_int_eq(play_view(p, &view, &fault, c), 0);
	ck_assert_int_eq(play_read(p, view, is, sizeof is, 0),
			 ALL_FRAMES * 1000);
	for (unsigned i = 0; i < ALL_FRAMES; i++)
		ck_assert_mem_eq(is + (size_t)i * 1000,
				 file + (size_t)i * FRAME + 32, 1000);
	view_free(view);
	c.fill = VIEW_SKIP;
	ck_assert_int_eq(play_view(p, &view, &fault, c), 0);
	ck_assert_int_eq(play_read(p, view, is, sizeof is, 0), FILES * 1000);
	ck_assert_mem_eq(is + (size_t)2 * CHUNK * 1000,
			 file + (size_t)3 * CHUNK * FRAME + 32, 1000);
	view_free(view);
	c = (struct view_choice){ .thread = 5 };
	ck_assert_int_eq(play_view(p, &view, &fault, c), 0);
	ck_assert_int_eq(play_read(p, view, is, sizeof is, 0),
			 ALL_FRAMES / 2 * FRAME);
	for (unsigned i = 0; i < ALL_FRAMES / 2; i++)
		ck_assert_mem_eq(is + (size_t)i * FRAME,
				 file + (size_t)(2 * i + 1) * FRAME, FRAME);
	view_free(view);
	/* Times go evenly through blocks. */
	c = (struct view_choice){ .thread = -1 };
	c.from_ns = (MADE_SECOND + 5) * 1000000000;
	ck_assert_int_eq(play_view(p, &view, &fault, c), 0);
	ck_assert_uint_eq(view_bytes(view), 0); /* it is 4.2 s */
	view_free(view);
	c.from_ns -= 2000000000;
	ck_assert_int_eq(play_view(p, &view, &fault, c), 0);
	frames = view_bytes(view) / FRAME;
	ck_assert_uint_ge(frames, ALL_FRAMES - 120 - THREADS);
	ck_assert_uint_le(frames, ALL_FRAMES - 120 + THREADS);
	ck_assert_int_eq(play_read(p, view, is, FRAME, 0), FRAME);
	ck_assert_mem_eq(is, file + (ALL_FRAMES - frames) * FRAME, FRAME);
	view_free(view);
	play_end(p);
}
END_TEST

SUITE("view_foreign", flexbuff)
