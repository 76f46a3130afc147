/* SPDX-License-Identifier: MIT */
/* Sizes are those that a reader gets, of whatever view; and what is said of a
 * recording in its text. */
#include "config.h"

#include "store/recording/loss.h"
#include "store/recording/recording.h"
#include "lib/tree_bench.h"

static struct tree_bench b;
static struct bench_list l;

/* Blocks of MADE_NAME, of which the second lacks five packets. */
static void
begin(unsigned blocks, unsigned subs)
{
	static struct made_block mb;

	b = (struct tree_bench){ .choice.thread = -1, .m.subs = subs };
	made_begin(&b.m);
	for (unsigned i = 0; i < blocks; i++) {
		b.m.sub = (uint16_t)(subs > 1 ? i % subs : 0);
		if (i < MADE_DISKS)
			made_run(&b.m, i, 0, MADE_BASE);
		made_block(&b.m, &mb, i,
			   (uint64_t)i / (subs > 1 ? subs : 1) * MADE_SLOTS,
			   MADE_SLOTS);
		for (unsigned k = 0; i == 1 && k < 5; k++)
			made_lose(&mb, 10 + k);
		made_write(&b.m, i % MADE_DISKS, &mb);
	}
}

/* As who opens it would have it. */
static uint64_t
measured(const char *path)
{
	struct tree_attr a = bench_see(&b, path);
	struct measured m;
	struct tree_file f;

	ck_assert_int_eq(tree_open(b.t, a.id, &f), 0);
	ck_assert_int_eq(measure_file(b.opened, &b.choice, &f, &m), 0);
	tree_forget(b.t, a.id, 1);
	return m.bytes;
}

/* What follows from the entry is what is there. */
START_TEST(sizes)
{
	static const struct {
		uint32_t strip;
		enum view_fill fill;
		uint64_t bytes;
	} view[] = {
		{ 0, VIEW_STORED, 4 * MADE_BLOCK },
		{ 8, VIEW_STORED, 4 * MADE_SLOTS * (MADE_PAYLOAD - 8) },
		{ 0, VIEW_ZERO, 4 * MADE_BLOCK },
		{ 0, VIEW_SKIP, 4 * MADE_BLOCK - 5 * MADE_PAYLOAD },
		{ 8, VIEW_SKIP,
		  (4 * MADE_SLOTS - 5) * (uint64_t)(MADE_PAYLOAD - 8) },
	};

	begin(4, 1);
	made_end(&b.m, 4);
	for (unsigned i = 0; i < sizeof view / sizeof *view; i++) {
		b.choice.strip = view[i].strip;
		b.choice.fill = view[i].fill;
		bench_mount(&b);
		ck_assert_uint_eq(bench_size(&b, "rec.vdif"), view[i].bytes);
		ck_assert_uint_eq(bench_open(&b), 0);
		ck_assert_uint_eq(measured("rec.vdif"), view[i].bytes);
		bench_unmount(&b);
	}
	made_finish(&b.m);
}
END_TEST

/* A disk is not there, and what it had is filled, or left out. */
START_TEST(sizes_without_a_disk)
{
	char away[512];

	begin(4, 1);
	made_end(&b.m, 4);
	snprintf(away, sizeof away, "%s.away", b.m.disks.disk[1].path);
	ck_assert_int_eq(rename(b.m.disks.disk[1].path, away), 0);
	made_hide(&b.m, 1);
	bench_mount(&b);
	ck_assert_uint_eq(bench_size(&b, "rec.vdif"), 4 * MADE_BLOCK);
	ck_assert_uint_eq(measured("rec.vdif"), 4 * MADE_BLOCK);
	bench_unmount(&b);
	b.choice.fill = VIEW_SKIP;
	bench_mount(&b);
	ck_assert_uint_eq(bench_size(&b, "rec.vdif"), 3 * MADE_BLOCK);
	ck_assert_uint_eq(measured("rec.vdif"), 3 * MADE_BLOCK);
	bench_finish(&b);
}
END_TEST

START_TEST(grows)
{
	static struct made_block mb;
	struct tree_attr a;
	struct tree_file f;
	uint64_t id;

	begin(2, 1);
	bench_mount(&b);
	a = bench_see(&b, "rec.vdif");
	id = a.id;
	ck_assert(a.growing && !a.keep_ms);
	ck_assert_int_eq(a.st.st_size, 2 * MADE_BLOCK);
	made_block(&b.m, &mb, 2, 2 * MADE_SLOTS, MADE_SLOTS);
	made_write(&b.m, 2, &mb);
	bench_await(!tree_get(b.t, id, &a) && a.st.st_size == 3 * MADE_BLOCK);
	ck_assert_int_eq(a.st.st_mtim.tv_sec,
			 MADE_SECOND + (3 * MADE_SLOTS - 1) / MADE_FPS);
	ck_assert_int_eq(tree_open(b.t, id, &f), 0);
	ck_assert(f.growing);
	bench_list(&b, "", true, &l);
	ck_assert_str_eq(l.text, ". .. .info by-thread rec.vdif ");
	ck_assert_uint_eq(l.last.id, id);
	made_end(&b.m, 3);
	bench_await(!tree_get(b.t, id, &a) && !a.growing);
	ck_assert_int_eq(a.st.st_size, 3 * MADE_BLOCK);
	ck_assert_int_eq(a.st.st_mtim.tv_sec, MADE_SECOND + 7);
	ck_assert(a.keep_ms);
	bench_finish(&b);
}
END_TEST

/* A file for each, as export calls it. */
START_TEST(substreams)
{
	struct tree_attr a;

	begin(12, 11);
	made_end(&b.m, 12);
	bench_mount(&b);
	a = bench_see(&b, "rec");
	ck_assert_uint_eq(a.st.st_mode, S_IFDIR | 0555);
	ck_assert_int_eq(bench_error(&b, "rec.vdif"), -ENOENT);
	bench_list(&b, "rec", true, &l);
	ck_assert_str_eq(l.text,
			 ". .. rec_00.vdif rec_01.vdif rec_02.vdif "
			 "rec_03.vdif rec_04.vdif rec_05.vdif rec_06.vdif "
			 "rec_07.vdif rec_08.vdif rec_09.vdif rec_10.vdif ");
	ck_assert_uint_eq(bench_size(&b, "rec/rec_00.vdif"), 2 * MADE_BLOCK);
	ck_assert_uint_eq(bench_size(&b, "rec/rec_10.vdif"), MADE_BLOCK);
	ck_assert_int_eq(bench_error(&b, "rec/rec_0.vdif"), -ENOENT);
	ck_assert_int_eq(bench_error(&b, "rec/rec_11.vdif"), -ENOENT);
	ck_assert_int_eq(bench_error(&b, "rec/rec_+1.vdif"), -ENOENT);
	ck_assert_int_eq(bench_error(&b, "rec/r"), -ENOENT);
	ck_assert_int_eq(bench_error(&b, "rec/rec_00.vdif/x"), -ENOTDIR);
	bench_list(&b, "rec", true, &l);
	ck_assert_uint_ge(l.counted, 0);
	bench_list(&b, "by-thread/rec", false, &l);
	ck_assert_uint_eq(l.n, 13);
	ck_assert_ptr_nonnull(strstr(l.text, " 03_3.vdif "));
	ck_assert_uint_eq(bench_size(&b, "by-thread/rec/03_3.vdif"),
			  MADE_BLOCK);
	ck_assert_int_eq(bench_error(&b, "by-thread/rec/3_3.vdif"), -ENOENT);
	ck_assert_int_eq(bench_error(&b, "by-thread/rec/03.vdif"), -ENOENT);
	bench_finish(&b);
}
END_TEST

/* Ten frames are a second, as nearly as the times of blocks tell it. */
START_TEST(spans)
{
	struct tree_attr a, whole;
	struct tree_file f;

	begin(4, 1);
	made_end(&b.m, 4);
	bench_mount(&b);
	whole = bench_see(&b, "rec.vdif");
	a = bench_see(&b, "rec.vdif@2025-11-20T10:00:02Z.."
			  "2025-11-20T10:00:05Z");
	ck_assert_int_ge(a.st.st_size, 25 * MADE_PAYLOAD);
	ck_assert_int_le(a.st.st_size, 35 * MADE_PAYLOAD);
	ck_assert_uint_eq(measured("rec.vdif@2025-11-20T10:00:02Z.."
				   "2025-11-20T10:00:05Z"),
			  (uint64_t)a.st.st_size);
	ck_assert_uint_ne(a.st.st_ino, whole.st.st_ino);
	ck_assert_int_eq(tree_open(b.t, a.id, &f), 0);
	ck_assert_int_eq(f.from_ns, (MADE_SECOND + 2) * 1000000000);
	ck_assert_int_eq(f.to_ns, (MADE_SECOND + 5) * 1000000000);
	ck_assert_uint_eq(bench_size(&b, "rec.vdif@2025y324d10h00m02s.."),
			  bench_size(&b, "rec.vdif@2025-11-20T10:00:02Z.."));
	ck_assert_uint_eq(bench_size(&b, "rec.vdif@..+2s") +
			      bench_size(&b, "rec.vdif@+2s.."),
			  4 * MADE_BLOCK);
	ck_assert_int_eq(bench_error(&b, "rec.vdif@+2s..+1s"), -EINVAL);
	ck_assert_int_eq(bench_error(&b, "x.vdif@+1s..+2s"), -ENOENT);
	ck_assert_int_eq(bench_error(&b, "rec.vdif@"), -EINVAL);
	ck_assert_int_eq(bench_error(&b, ".info/rec.json@+1s.."), -ENOENT);
	ck_assert_int_eq(bench_error(&b, "by-thread@+1s.."), -ENOENT);
	ck_assert_uint_eq(bench_size(&b, "by-thread/rec/0.vdif@+0s..+1s"),
			  bench_size(&b, "rec.vdif@+0s..+1s"));
	bench_list(&b, "", true, &l);
	ck_assert_str_eq(l.text, ". .. .info by-thread rec.vdif ");
	bench_finish(&b);
}
END_TEST

START_TEST(threads)
{
	begin(4, 1);
	made_end(&b.m, 4);
	bench_mount(&b);
	bench_list(&b, "by-thread", true, &l);
	ck_assert_str_eq(l.text, ". .. rec ");
	ck_assert_uint_eq(bench_open(&b), 0);
	bench_list(&b, "by-thread/rec", false, &l);
	ck_assert_str_eq(l.text, ". .. 0.vdif ");
	ck_assert_uint_eq(bench_size(&b, "by-thread/rec/0.vdif"),
			  4 * MADE_BLOCK);
	ck_assert_int_eq(bench_error(&b, "by-thread/rec/1.vdif"), -ENOENT);
	ck_assert_int_eq(bench_error(&b, "by-thread/rec/00.vdif"), -ENOENT);
	ck_assert_int_eq(bench_error(&b, "by-thread/rec/-1.vdif"), -ENOENT);
	ck_assert_int_eq(bench_error(&b, "by-thread/rec/0.m5b"), -ENOENT);
	bench_unmount(&b);
	b.choice.fill = VIEW_SKIP;
	bench_mount(&b);
	ck_assert_uint_eq(bench_size(&b, "by-thread/rec/0.vdif"),
			  4 * MADE_BLOCK);
	bench_finish(&b);
}
END_TEST

/* All that `spate info` says of it, word by word, and more. */
static void
compare(const json_t *is)
{
	struct recording *rec;
	struct fault fault;
	const char *key;
	json_t *want, *value;

	ck_assert_int_eq(recording_open(&rec, &b.m.disks, MADE_NAME, &fault),
			 0);
	want = recording_info(rec);
	ck_assert_int_eq(loss_add_json(rec, want), 0);
	json_object_foreach(want, key, value)
		ck_assert_msg(json_equal(value, json_object_get(is, key)), "%s",
			      key);
	json_decref(want);
	recording_close(rec);
}

START_TEST(info)
{
	const json_t *views;
	struct tree_attr a;
	size_t bytes;
	json_t *json;
	char *text;

	begin(4, 1);
	made_end(&b.m, 4);
	b.choice.strip = 8;
	bench_mount(&b);
	bench_list(&b, ".info", true, &l);
	ck_assert_str_eq(l.text, ". .. rec.json ");
	a = bench_see(&b, ".info/rec.json");
	ck_assert(a.text && !a.keep_ms);
	ck_assert_uint_eq(a.st.st_mode, S_IFREG | 0444);
	ck_assert_int_eq(tree_text(b.t, a.id, &text, &bytes), 0);
	ck_assert_int_eq((off_t)bytes, a.st.st_size);
	ck_assert_uint_eq(strlen(text), bytes);
	json = json_loads(text, 0, NULL);
	compare(json);
	views = json_object_get(json, "views");
	ck_assert_str_eq(json_string_value(json_object_get(views, "file")),
			 "rec.vdif");
	ck_assert_str_eq(json_string_value(json_object_get(views, "by_thread")),
			 "by-thread/rec");
	ck_assert_int_eq(json_integer_value(json_object_get(views, "strip")),
			 8);
	ck_assert(json_is_integer(json_object_get(json, "unreadable_bytes")));
	ck_assert(json_is_integer(json_object_get(json, "filled_bytes")));
	ck_assert(json_is_integer(json_object_get(json, "healed")));
	ck_assert(json_is_integer(json_object_get(json, "damaged_bytes")));
	json_decref(json);
	free(text);
	ck_assert_int_eq(tree_text(b.t, TREE_ROOT, &text, &bytes), -EINVAL);
	bench_finish(&b);
}
END_TEST

/* There is a name, and nothing else to be read. */
START_TEST(info_of_ruins)
{
	struct tree_attr a;
	size_t bytes;
	json_t *json;
	char *text;

	begin(4, 1);
	made_end(&b.m, 4);
	for (unsigned i = 0; i < MADE_DISKS; i++)
		ck_assert_int_eq(
		    truncate(made_path(&b.m, i, MADE_NAME ".meta.jsonl"), 3),
		    0);
	bench_mount(&b);
	bench_list(&b, "", true, &l);
	ck_assert_str_eq(l.text, ". .. .info by-thread ");
	a = bench_see(&b, ".info/rec.json");
	ck_assert_int_eq(tree_text(b.t, a.id, &text, &bytes), 0);
	json = json_loads(text, 0, NULL);
	ck_assert_str_eq(json_string_value(json_object_get(json, "state")),
			 "unreadable");
	ck_assert(json_is_string(json_object_get(json, "what")));
	json_decref(json);
	free(text);
	bench_finish(&b);
}
END_TEST

/* A text grows with what it tells of. */
START_TEST(info_of_a_live_one)
{
	static struct made_block mb;
	struct tree_attr a;
	json_t *json;
	size_t bytes;
	char *text;

	begin(2, 1);
	bench_mount(&b);
	a = bench_see(&b, ".info/rec.json");
	ck_assert_int_eq(tree_text(b.t, a.id, &text, &bytes), 0);
	ck_assert_ptr_nonnull(strstr(text, "\"state\": \"recording\""));
	free(text);
	made_block(&b.m, &mb, 2, 2 * MADE_SLOTS, MADE_SLOTS);
	made_write(&b.m, 2, &mb);
	made_end(&b.m, 3);
	for (unsigned i = 0; i < 500; i++) {
		ck_assert_int_eq(tree_text(b.t, a.id, &text, &bytes), 0);
		if (strstr(text, "\"state\": \"complete\""))
			break;
		free(text);
		usleep(20000);
	}
	json = json_loads(text, 0, NULL);
	compare(json);
	json_decref(json);
	free(text);
	bench_finish(&b);
}
END_TEST

/* More of them than are kept. */
START_TEST(many_texts)
{
	enum { MANY = 80 };
	struct tree_attr a[MANY];
	char name[40], *text;
	size_t bytes;

	b = (struct tree_bench){ .choice.thread = -1 };
	made_bare(&b.m);
	for (unsigned i = 0; i < MANY; i++) {
		snprintf(name, sizeof name, "scan%02u", i);
		made_other(&b.m, name, 1, 1, MADE_ENDED);
	}
	bench_mount(&b);
	for (unsigned i = 0; i < MANY; i++) {
		snprintf(name, sizeof name, ".info/scan%02u.json", i);
		a[i] = bench_see(&b, name);
	}
	for (unsigned i = 0; i < MANY; i++) {
		ck_assert_int_eq(tree_text(b.t, a[i].id, &text, &bytes), 0);
		ck_assert_int_eq((off_t)bytes, a[i].st.st_size);
		snprintf(name, sizeof name, "\"scan%02u\"", i);
		ck_assert_ptr_nonnull(strstr(text, name));
		free(text);
	}
	bench_finish(&b);
}
END_TEST

SUITE_THREADS("tree_data", NULL, sizes, sizes_without_a_disk, grows, substreams,
	      spans, threads, info, info_of_ruins, info_of_a_live_one,
	      many_texts)
