/* SPDX-License-Identifier: MIT */
/* What bytes tell of packets, and a .cfg; and reading what lies apart. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "contract/bytes.h"
#include "store/foreign/packet_form.h"
#include "store/foreign/vbs_cfg.h"
#include "store/disk/file.h"
#include "lib/scratch.h"
#include "lib/suite.h"

static uint8_t data[1 << 18];

/* VDIF frames of so many bytes, each behind a counter. */
static size_t
frames(uint32_t prefix, uint32_t frame, unsigned n)
{
	uint8_t *at = data;

	memset(data, 0x5a, sizeof data);
	for (unsigned i = 0; i < n; i++, at += prefix + frame) {
		if (prefix >= 8)
			write_le64(at, 18841270355 + i);
		write_le32(at + prefix, 20003599);
		write_le32(at + prefix + 4, 50u << 24 | i);
		write_le32(at + prefix + 8, frame / 8 | 1u << 29);
		write_le32(at + prefix + 12, 0x4566);
	}
	return (size_t)(at - data);
}

/* Halves of Mark5B frames from half `first` on. */
static size_t
halves(uint32_t prefix, unsigned first, unsigned n)
{
	uint8_t *at = data;

	memset(data, 0x5a, sizeof data);
	for (unsigned i = first; i < first + n; i++, at += prefix + 5008) {
		if (i % 2 == 0)
			write_le32(at + prefix, 0xabaddeed);
	}
	return (size_t)(at - data);
}

static void
is_form(size_t bytes, uint32_t said, const char *format, uint32_t packet,
	uint32_t prefix)
{
	struct packet_form form;

	ck_assert(packet_form_find(&form, data, bytes, said));
	ck_assert_str_eq(form.format, format);
	ck_assert_uint_eq(form.packet, packet);
	ck_assert_uint_eq(form.prefix, prefix);
}

static void
is_nothing(size_t bytes, uint32_t said)
{
	struct packet_form form;

	ck_assert(!packet_form_find(&form, data, bytes, said));
}

START_TEST(vdif)
{
	is_form(frames(0, 8032, 20), 0, "vdif", 8032, 0);
	is_form(frames(8, 8032, 20), 0, "vdif", 8040, 8);
	is_form(frames(8, 8032, 20), 8040, "vdif", 8040, 8);
	is_form(frames(28, 1032, 3), 0, "vdif", 1060, 28);
	is_form(frames(0, 8032, 1), 0, "vdif", 8032, 0);
	is_form(frames(8, 1032, 5) + 500, 0, "vdif", 1040, 8);
	is_nothing(frames(8, 8032, 20), 8032);
}
END_TEST

START_TEST(mark5b)
{
	is_form(halves(0, 0, 20), 0, "mark5b", 10016, 0);
	is_form(halves(0, 0, 20), 5008, "mark5b", 5008, 0);
	is_form(halves(8, 0, 20), 0, "mark5b", 5016, 8);
	is_form(halves(8, 1, 20), 0, "mark5b", 5016, 8);
	is_form(halves(0, 0, 2), 0, "mark5b", 10016, 0);
	is_nothing(halves(0, 0, 20) - 4, 5016);
}
END_TEST

/* What is the same throughout, random, or too short. */
START_TEST(nothing)
{
	uint32_t dice = 1;

	memset(data, 0, sizeof data);
	is_nothing(sizeof data, 0);
	for (size_t i = 0; i < sizeof data; i += 4)
		write_le32(data + i, 1032 / 8);
	is_nothing(sizeof data, 0);
	for (size_t i = 0; i < sizeof data; i += 4)
		write_le32(data + i, 0x11223344);
	is_nothing(sizeof data, 0);
	for (size_t i = 0; i < sizeof data; i++)
		data[i] = (uint8_t)((dice = dice * 1664525 + 1013904223) >> 24);
	is_nothing(sizeof data, 0);
	is_nothing(frames(0, 8032, 1) - 1, 0);
	is_nothing(0, 0);
}
END_TEST

/* One frame that lies among good ones. */
START_TEST(not_all)
{
	size_t bytes = frames(0, 8032, 20);

	write_le32(data + 5 * 8032 + 8, 77);
	is_nothing(bytes, 0);
}
END_TEST

static bool
cfg(struct vbs_cfg *c, const char *text)
{
	return vbs_cfg_read(c, text, strlen(text));
}

START_TEST(configuration)
{
	struct vbs_cfg c;

	ck_assert(cfg(&c, "packet_size = 5016L;\nbuf_division = 8;\n"
			  "  cumul\t= 1234L;\ntotal_packets : 33018138L;"));
	ck_assert_uint_eq(c.packet, 5016);
	ck_assert_uint_eq(c.files, 1234);
	ck_assert_uint_eq(c.packets, 33018138);
	ck_assert(!cfg(&c, ""));
	ck_assert(!cfg(&c, "packet_size = ;\ncumul = -3;\npacket_sizes = 7;"));
	ck_assert(!cfg(&c, "packet_size = 99999999999999999999L;"));
	ck_assert(!cfg(&c, "packet_size = 2000000;"));
	ck_assert(!vbs_cfg_read(&c, "packet_size = 5016", 14));
	ck_assert(!vbs_cfg_read(&c, "packet\0size = 5016", 18));
}
END_TEST

/* Every piece of what is read through gaps, at any place and length. */
START_TEST(through_gaps)
{
	enum { PACKETS = 700, PREFIX = 5, PAYLOAD = 11 };
	struct stride s = { 3, PREFIX, PAYLOAD };
	static uint8_t want[PACKETS * PAYLOAD], got[sizeof want];
	struct scratch dir;
	uint8_t *at = data;
	ssize_t n;
	int fd;

	scratch_make(&dir);
	memset(data, 0xee, sizeof data);
	at += s.offset;
	for (size_t i = 0; i < sizeof want; i++)
		want[i] = (uint8_t)(i * 7);
	for (size_t i = 0; i < PACKETS; i++, at += PREFIX + PAYLOAD)
		memcpy(at + PREFIX, want + i * PAYLOAD, PAYLOAD);
	fd = open(scratch_path(&dir, "f"), O_RDWR | O_CREAT, 0644);
	ck_assert_int_eq(write(fd, data, (size_t)(at - data)), at - data);
	for (uint64_t from = 0; from < sizeof want; from += 13) {
		size_t bytes = (from * 31 + 1) % sizeof want, done = 0;

		if (bytes > sizeof want - from)
			bytes = sizeof want - from;
		while (done < bytes) {
			n = stride_read(fd, &s, got + done, bytes - done,
					from + done);
			ck_assert_int_gt(n, 0);
			done += (size_t)n;
		}
		ck_assert_mem_eq(got, want + from, bytes);
	}
	ck_assert_int_eq(stride_read(fd, &s, got, 9, sizeof want), 0);
	/* Cut within a payload, and before one. */
	ck_assert_int_eq(ftruncate(fd, 3 + 16 + 5 + 4), 0);
	ck_assert_int_eq(stride_read(fd, &s, got, 100, 0), 11 + 4);
	ck_assert_int_eq(ftruncate(fd, 3 + 16 + 2), 0);
	ck_assert_int_eq(stride_read(fd, &s, got, 100, 0), 11);
	close(fd);
	scratch_remove(&dir);
}
END_TEST

SUITE("packet_form", vdif, mark5b, nothing, not_all, configuration,
      through_gaps)
