/* SPDX-License-Identifier: MIT */
/*
 * Folders in which all blocks share a file: what is in it, whatever happens
 * on the way.  A block here is 4 packets of 1024 bytes, and all its bytes are
 * its number.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/finish/resume.h"
#include "store/record/meta.h"
#include "store/disk/sg.h"
#include "lib/dice.h"
#include "lib/noise.h"
#include "lib/scratch.h"
#include "lib/suite.h"

enum { PACKET = 1024, SLOTS = 4, BLOCK = PACKET * SLOTS };

static struct scratch s;
static struct disk disk;
static json_t *head;
static struct folder *folder;

static void
begin_with(const char *layout, int packet)
{
	scratch_make(&s);
	disk = (struct disk){ .path = s.path };
	ck_assert_int_eq(disk_open(&disk), 0);
	head = json_pack("{s:i, s:s, s:s, s:s, s:{s:i, s:i, s:i}}", "spate", 1,
			 "layout", layout, "format", "vdif", "extension",
			 "vdif", "geometry", "payload", packet, "parts", 1,
			 "block_bytes", packet * SLOTS);
	ck_assert_ptr_nonnull(head);
	ck_assert_int_eq(folder_create(&folder, &disk, "rec", head), 0);
	ck_assert(folder_serial(folder));
}

static void
begin(const char *layout)
{
	begin_with(layout, PACKET);
}

static void
end(void)
{
	json_decref(head);
	close(disk.fd);
	scratch_remove(&s);
}

static struct index_record
record(uint64_t number, uint64_t bytes)
{
	return (struct index_record){ .number = number,
				      .bytes = bytes,
				      .kind = INDEX_BLOCK };
}

/* As a writer does it: all that it is told to. */
static void
write_target(const struct folder_target *p, const uint8_t *data)
{
	size_t bytes = p->before_bytes + p->bytes + p->pad;
	uint8_t *all;

	ck_assert_int_eq(posix_memalign((void **)&all, 4096, bytes), 0);
	if (p->before_bytes)
		memcpy(all, p->before, p->before_bytes);
	memcpy(all + p->before_bytes, data, p->bytes);
	memset(all + p->before_bytes + p->bytes, 0, p->pad);
	ck_assert_int_eq(pwrite(p->fd, all, bytes, (off_t)p->offset),
			 (ssize_t)bytes);
	free(all);
}

static struct folder_target
place(uint64_t number, uint64_t bytes, int flags)
{
	struct folder_target p;
	uint8_t data[BLOCK];

	memset(data, (int)number, BLOCK);
	ck_assert_int_eq(folder_target_make(folder, number, bytes, flags, &p),
			 0);
	ck_assert(!p.own);
	ck_assert_uint_ge(p.bytes, bytes);
	write_target(&p, data);
	folder_target_wrote(folder, &p, data);
	return p;
}

static void
write_block(uint64_t number, uint64_t bytes)
{
	struct index_record r = record(number, bytes);

	place(number, bytes, 0);
	ck_assert_int_eq(folder_sync(folder, &r, 1), 0);
}

static void
close_with_end(void)
{
	const struct index_record over = { .kind = INDEX_END };

	ck_assert_int_eq(folder_close(folder, &over, NULL), 0);
}

static uint64_t
length(const char *name)
{
	struct stat st;

	if (stat(scratch_path(&s, name), &st))
		return UINT64_MAX;
	return (uint64_t)st.st_size;
}

static void
look_at(const char *name, void *data, size_t bytes, uint64_t at)
{
	int fd = open(scratch_path(&s, name), O_RDONLY);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pread(fd, data, bytes, (off_t)at), (ssize_t)bytes);
	close(fd);
}

/* Block i of a Mark6 file. */
static void
is_block(unsigned i, uint64_t number, uint32_t bytes)
{
	const struct sg_header h = { .version = 2,
				     .block_bytes = BLOCK + SG_BLOCK };
	uint64_t at = SG_HEADER + (uint64_t)i * (BLOCK + SG_BLOCK);
	uint8_t raw[SG_BLOCK + 1];
	struct sg_block b;

	look_at("rec", raw, sizeof raw, at);
	ck_assert_int_eq(sg_block_read(&h, raw, length("rec") - at, &b), 0);
	ck_assert_uint_eq(b.number, number);
	ck_assert_uint_eq(b.bytes, bytes);
	ck_assert_uint_eq(b.cut, 0);
	ck_assert_uint_eq(raw[SG_BLOCK], number);
}

START_TEST(mark6)
{
	struct sg_header h;
	uint8_t raw[SG_HEADER];

	begin("mark6");
	ck_assert_uint_eq(length("rec"), SG_HEADER);
	ck_assert_uint_eq(length("rec.spate/rec.index"), 0);
	write_block(3, BLOCK);
	write_block(5, PACKET); /* closed early: as long as the others */
	write_block(6, BLOCK);
	write_block(9, 2 * PACKET);
	is_block(1, 5, BLOCK);
	is_block(3, 9, BLOCK);
	close_with_end();
	look_at("rec", raw, sizeof raw, 0);
	ck_assert_int_eq(sg_header_read(&h, raw), 0);
	ck_assert_uint_eq(h.block_bytes, BLOCK + SG_BLOCK);
	ck_assert_uint_eq(h.packet_bytes, PACKET);
	ck_assert_uint_eq(h.format, SG_VDIF);
	is_block(0, 3, BLOCK);
	is_block(1, 5, BLOCK);
	is_block(2, 6, BLOCK);
	is_block(3, 9, 2 * PACKET); /* but the last */
	ck_assert_uint_eq(length("rec"), SG_HEADER + 3 * (BLOCK + SG_BLOCK) +
					     SG_BLOCK + 2 * PACKET);
	end();
}
END_TEST

/* Numbers of bytes in a file, as 3 3 3 3 5 ... for every packet. */
static void
file_is(const char *want)
{
	char have[64] = "";
	uint64_t bytes = length("rec/rec.vdif");
	uint8_t byte;

	ck_assert_uint_eq(bytes % PACKET, 0);
	for (uint64_t at = 0; at < bytes; at += PACKET) {
		look_at("rec/rec.vdif", &byte, 1, at);
		have[at / PACKET] = (char)('0' + byte);
	}
	ck_assert_str_eq(have, want);
}

START_TEST(file)
{
	begin("file");
	write_block(3, BLOCK);
	write_block(5, PACKET);
	write_block(6, BLOCK);
	close_with_end();
	file_is("333356666");
	end();
}
END_TEST

/* False: no tmpfs before Linux 6.6 has O_DIRECT. */
static bool
has_direct(void)
{
	int fd = open(s.path, O_TMPFILE | O_WRONLY | O_DIRECT, 0600);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Past the page cache, wherever blocks begin and end. */
START_TEST(direct)
{
	struct folder_target p;

	begin("file");
	if (!has_direct()) {
		close_with_end();
		end();
		return;
	}
	ck_assert_int_eq(folder_target_make(folder, 0, BLOCK, O_DIRECT, &p), 0);
	ck_assert_int_ne(fcntl(p.fd, F_GETFL) & O_DIRECT, 0);
	ck_assert_uint_eq(p.before_bytes + p.pad, 0); /* nothing to copy */
	ck_assert_int_eq(folder_target_undo(folder, &p), 0);
	place(1, BLOCK, O_DIRECT);
	p = place(2, PACKET, O_DIRECT);
	ck_assert_uint_eq(p.offset, BLOCK);
	ck_assert_uint_eq(p.pad, BLOCK - PACKET);
	p = place(3, BLOCK, O_DIRECT);
	ck_assert_int_ne(fcntl(p.fd, F_GETFL) & O_DIRECT, 0);
	ck_assert_uint_eq(p.offset, BLOCK);
	ck_assert_uint_eq(p.before_bytes, PACKET);
	close_with_end();
	file_is("111123333");
	end();
}
END_TEST

/* A recording by chance, with blocks that are taken back and a folder that is
 * closed amid; returns its file.  `share`: percent of blocks that are written
 * past the page cache. */
static uint8_t *
story(const char *layout, int packet, uint64_t seed, unsigned share,
      size_t *bytes)
{
	const char *name = *layout == 'm' ? "rec" : "rec/rec.vdif";
	struct dice chance = { seed }, way = { seed };
	uint8_t data[BLOCK], *whole;
	struct folder_target p;
	struct index_record r;

	begin_with(layout, packet);
	if (!has_direct())
		share = 0;
	for (uint64_t number = 0; number < 40; number++) {
		unsigned slots = dice_chance(&chance, 70)
				     ? SLOTS
				     : 1 + dice_roll(&chance, SLOTS);

		r = record(number, (uint64_t)slots * (unsigned)packet);
		noise_fill(number + dice_roll(&chance, 2), 0, data, BLOCK);
		ck_assert_int_eq(
		    folder_target_make(folder, number, r.bytes,
				       dice_chance(&way, share) ? O_DIRECT : 0,
				       &p),
		    0);
		write_target(&p, data);
		if (dice_chance(&chance, 80))
			folder_target_wrote(folder, &p, data);
		if (dice_chance(&chance, 20))
			ck_assert_int_eq(folder_target_undo(folder, &p), 0);
		else
			ck_assert_int_eq(folder_sync(folder, &r, 1), 0);
		if (dice_chance(&chance, 10)) {
			ck_assert_int_eq(folder_close(folder, NULL, NULL), 0);
			ck_assert_int_eq(
			    folder_resume(&folder, &disk, "rec", head, 0), 0);
		}
	}
	close_with_end();
	*bytes = (size_t)length(name);
	whole = malloc(*bytes + 1);
	look_at(name, whole, *bytes, 0);
	end();
	return whole;
}

/* The file is the same to the byte as through the page cache: with blocks of
 * less than a page and of more, and with a header across two pages (1016). */
START_TEST(direct_is_the_same)
{
	static const int packet[] = { 1024, 1016, 1000, 333, 10 };

	for (unsigned i = 0; i < 2 * sizeof packet / sizeof *packet; i++) {
		const char *layout = i % 2 ? "mark6" : "file";
		size_t want_bytes, bytes;
		uint8_t *want, *is;

		want = story(layout, packet[i / 2], i, 0, &want_bytes);
		for (unsigned share = 50; share <= 100; share += 50) {
			is = story(layout, packet[i / 2], i, share, &bytes);
			ck_assert_uint_eq(bytes, want_bytes);
			ck_assert_int_eq(memcmp(is, want, bytes), 0);
			free(is);
		}
		free(want);
	}
}
END_TEST

START_TEST(taken_back)
{
	struct index_record r[2] = { record(1, BLOCK), record(2, PACKET) };
	struct folder_target p;
	char text[512] = "";

	begin("file");
	place(1, BLOCK, 0);
	place(2, PACKET, 0);
	p = place(3, BLOCK, 0);
	ck_assert_int_eq(folder_target_undo(folder, &p), 0);
	ck_assert_uint_eq(length("rec/rec.vdif"), BLOCK + PACKET);
	ck_assert_int_eq(folder_sync(folder, r, 2), 0);
	p = place(4, PACKET, 0);
	ck_assert_uint_eq(p.offset, BLOCK + PACKET);
	/* What comes back is not what was placed last. */
	p.number = 2;
	ck_assert_int_lt(folder_target_undo(folder, &p), 0);
	ck_assert_int_eq(folder_target_make(folder, 5, BLOCK, 0, &p), -EIO);
	close_with_end();
	file_is("11112"); /* what the index has */
	look_at("rec/rec.meta.jsonl", text,
		(size_t)length("rec/rec.meta.jsonl"), 0);
	ck_assert_ptr_nonnull(strstr(text, "\n{\"cut\":\"5120\"}\n"));
	end();
}
END_TEST

/* The index is gone.  The data stay, and the file takes no more. */
START_TEST(round_lost)
{
	struct index_record r = record(1, BLOCK);
	struct folder_target p;

	begin("mark6");
	write_block(0, BLOCK);
	place(1, BLOCK, 0);
	ck_assert_int_eq(rename(scratch_path(&s, "rec.spate/rec.index"),
				scratch_path(&s, "rec.spate/moved")),
			 0);
	unlink(scratch_path(&s, "rec.spate/moved"));
	unlink(scratch_path(&s, "rec.spate/rec.meta.jsonl"));
	ck_assert_int_eq(rmdir(scratch_path(&s, "rec.spate")), 0);
	ck_assert_int_eq(folder_sync(folder, &r, 1), -ENOENT);
	ck_assert_uint_eq(length("rec"), SG_HEADER + 2 * (BLOCK + SG_BLOCK));
	ck_assert_int_eq(folder_target_make(folder, 2, BLOCK, 0, &p), -EIO);
	folder_close(folder, NULL, NULL);
	end();
}
END_TEST

/* A round while a block is on its way: that is not cut off under it. */
START_TEST(round_amid)
{
	struct index_record r = record(1, BLOCK), last = record(2, BLOCK);

	begin("file");
	place(1, BLOCK, 0);
	place(2, BLOCK, 0);
	ck_assert_int_eq(folder_sync(folder, &r, 1), 0);
	ck_assert_int_eq(folder_sync(folder, &last, 1), 0);
	close_with_end();
	file_is("11112222");
	end();
}
END_TEST

START_TEST(nothing_written)
{
	begin("mark6");
	close_with_end();
	ck_assert_uint_eq(length("rec"), UINT64_MAX);
	ck_assert_uint_eq(length("rec.spate/rec.index"), INDEX_BYTES);
	end();
}
END_TEST

static void
again(int err)
{
	ck_assert_int_eq(folder_close(folder, NULL, NULL), 0);
	ck_assert_int_eq(folder_resume(&folder, &disk, "rec", head, 0), err);
}

START_TEST(comes_back)
{
	begin("mark6");
	write_block(1, BLOCK);
	write_block(4, PACKET);
	place(6, BLOCK, 0); /* not durable: it goes elsewhere */
	again(0);
	ck_assert_uint_eq(length("rec"), SG_HEADER + 2 * (BLOCK + SG_BLOCK));
	write_block(7, BLOCK);
	again(0);
	write_block(8, PACKET);
	close_with_end();
	is_block(0, 1, BLOCK);
	is_block(1, 4, BLOCK);
	is_block(2, 7, BLOCK);
	is_block(3, 8, PACKET);
	end();
}
END_TEST

static struct folder_target
note_block_with(uint64_t number, uint64_t bytes, bool written, int flags)
{
	struct block b = { .number = number,
			   .slot_bytes = PACKET,
			   .used = (uint32_t)(bytes / PACKET),
			   .filled = (uint32_t)(bytes / PACKET) };
	struct index_record r = record(number, bytes);
	json_t *line = meta_chunk(&b, 1);
	struct folder_target p;

	r.present = b.filled;
	ck_assert_int_eq(folder_note(folder, line), 0);
	json_decref(line);
	p = place(number, bytes, flags);
	line = meta_written(&r, 0);
	if (written)
		ck_assert_int_eq(folder_note(folder, line), 0);
	json_decref(line);
	return p;
}

static struct folder_target
note_block(uint64_t number, uint64_t bytes, bool written)
{
	return note_block_with(number, bytes, written, 0);
}

/* A round failed: whether the data are on the disk nobody knows, and no other
 * disk has them.  So they stay, out of the way of what follows. */
static void
round_failed(const char *layout, const char *data, const char *aside)
{
	struct index_record r = record(2, BLOCK);
	const struct rlimit none = { 0, RLIM_INFINITY };
	struct rlimit was;
	uint64_t whole;

	begin(layout);
	write_block(1, BLOCK);
	note_block(2, BLOCK, true);
	whole = length(data);
	getrlimit(RLIMIT_FSIZE, &was);
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &none), 0);
	ck_assert_int_eq(folder_sync(folder, &r, 1), -EFBIG);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &was), 0);
	ck_assert_uint_eq(length(data), whole);
	again(0);
	ck_assert_uint_lt(length(data), whole);
	ck_assert_uint_ge(length(aside), BLOCK);
	write_block(3, BLOCK);
	close_with_end();
	end();
}

START_TEST(round_failed_in_a_file)
{
	round_failed("file", "rec/rec.vdif", "rec/rec.00000002.aside");
}
END_TEST

START_TEST(round_failed_in_mark6)
{
	round_failed("mark6", "rec", "rec.spate/rec.00000002.aside");
}
END_TEST

/* The disk lost what the index names: nothing is put into the hole. */
START_TEST(comes_back_short)
{
	begin("file");
	write_block(1, BLOCK);
	ck_assert_int_eq(truncate(scratch_path(&s, "rec/rec.vdif"), PACKET), 0);
	again(-EIO);
	ck_assert_int_eq(unlink(scratch_path(&s, "rec/rec.vdif")), 0);
	ck_assert_int_eq(folder_resume(&folder, &disk, "rec", head, 0),
			 -ENOENT);
	end();
}
END_TEST

/* Somebody else's file of that name is not ours. */
START_TEST(taken)
{
	struct folder *f;
	int fd;

	begin("mark6");
	close_with_end();
	fd = open(scratch_path(&s, "other"), O_CREAT | O_WRONLY, 0644);
	ck_assert_int_ge(fd, 0);
	close(fd);
	ck_assert_int_eq(folder_create(&f, &disk, "other", head), -EEXIST);
	ck_assert_uint_eq(length("other"), 0);
	ck_assert_uint_eq(length("other.spate"), UINT64_MAX);
	end();
}
END_TEST

/* Blocks of another length than that of all have no place. */
START_TEST(too_long)
{
	struct folder_target p;

	begin("mark6");
	ck_assert_int_eq(folder_target_make(folder, 0, BLOCK + 1, 0, &p),
			 -EFBIG);
	ck_assert_uint_eq(length("rec"), SG_HEADER);
	close_with_end();
	end();
}
END_TEST

/* Killed: two blocks had no round, one was on its way. */
static void
killed(const char *layout, const char *data)
{
	uint64_t whole;

	begin(layout);
	write_block(1, BLOCK);
	note_block(2, BLOCK, true);
	note_block(4, PACKET, true);
	whole = length(data);
	note_block(6, BLOCK, false);
	ck_assert_int_eq(folder_close(folder, NULL, NULL), 0);
	ck_assert_int_eq(folder_resume(&folder, &disk, "rec", head, 7), 0);
	ck_assert_uint_eq(length(data), whole);
}

START_TEST(goes_on_after_a_crash)
{
	killed("file", "rec/rec.vdif");
	ck_assert_uint_eq(length("rec/rec.00000006.aside"), BLOCK);
	ck_assert_uint_eq(length("rec/rec.index"), 3 * INDEX_BYTES);
	write_block(7, BLOCK);
	close_with_end();
	ck_assert_uint_eq(length("rec/rec.vdif"), 3 * BLOCK + PACKET);
	end();
}
END_TEST

START_TEST(goes_on_after_a_crash_in_mark6)
{
	killed("mark6", "rec");
	ck_assert_uint_eq(length("rec.spate/rec.00000006.aside"),
			  SG_BLOCK + BLOCK);
	write_block(7, PACKET);
	close_with_end();
	is_block(0, 1, BLOCK);
	is_block(1, 2, BLOCK);
	is_block(2, 4, BLOCK);
	is_block(3, 7, PACKET);
	end();
}
END_TEST

/* Killed: zeros up to the end of a page are nothing to put aside, and a block
 * that was on its way is. */
START_TEST(direct_goes_on_after_a_crash)
{
	char kept[64];
	int fd;

	begin("mark6");
	if (!has_direct()) {
		close_with_end();
		end();
		return;
	}
	note_block_with(1, BLOCK, true, O_DIRECT);
	snprintf(kept, sizeof kept, "%s", scratch_path(&s, "rec"));
	ck_assert_uint_eq(length("rec"), 2 * BLOCK);
	ck_assert_int_eq(folder_close(folder, NULL, NULL), 0);
	ck_assert_uint_eq(length("rec"), SG_HEADER + SG_BLOCK + BLOCK);
	fd = open(kept, O_WRONLY); /* as it was before it was closed */
	ck_assert_int_eq(ftruncate(fd, 2 * BLOCK), 0);
	close(fd);
	ck_assert_int_eq(folder_resume(&folder, &disk, "rec", head, 2), 0);
	ck_assert_uint_eq(length("rec.spate/rec.00000002.aside"), UINT64_MAX);
	ck_assert_uint_eq(length("rec"), SG_HEADER + SG_BLOCK + BLOCK);
	note_block_with(3, BLOCK, false, O_DIRECT);
	again(0);
	ck_assert_uint_ge(length("rec.spate/rec.00000003.aside"), BLOCK);
	place(4, PACKET, O_DIRECT);
	close_with_end();
	is_block(0, 1, BLOCK);
	is_block(1, 4, PACKET);
	end();
}
END_TEST

/* What was written and cut off again is not there, whatever was noted. */
START_TEST(goes_on_without_what_was_cut)
{
	struct folder_target p;

	begin("file");
	note_block(2, BLOCK, true);
	p = note_block(3, BLOCK, true);
	ck_assert_int_eq(folder_target_undo(folder, &p), 0);
	note_block(5, PACKET, true);
	ck_assert_int_eq(folder_close(folder, NULL, NULL), 0);
	ck_assert_int_eq(folder_resume(&folder, &disk, "rec", head, 6), 0);
	ck_assert_uint_eq(length("rec/rec.index"), 2 * INDEX_BYTES);
	ck_assert_uint_eq(length("rec/rec.vdif"), BLOCK + PACKET);
	close_with_end();
	end();
}
END_TEST

SUITE("folder_data", mark6, file, direct, direct_is_the_same,
      direct_goes_on_after_a_crash, taken_back, round_lost, round_amid,
      nothing_written, goes_on_after_a_crash, goes_on_after_a_crash_in_mark6,
      goes_on_without_what_was_cut, round_failed_in_a_file,
      round_failed_in_mark6, comes_back, comes_back_short, taken, too_long)
