/* SPDX-License-Identifier: MIT */
/* Modes, labels and networks: what is taken, and what is not. */
#include <arpa/inet.h>

#include "vsi/vsi_mode.c"
#include "net/allow.h"
#include "lib/suite.h"

static struct vsi_mode m;
static const char *said; /* about the last one that was refused */

static int
mode(const char *a, const char *b, const char *c)
{
	const char *const field[3] = { a, b, c };
	const char *why = NULL;
	int err = vsi_mode_parse(&m, field, &why);

	ck_assert(!err || why);
	/* A reply cannot have these, and an example with dots is none. */
	ck_assert(!err || !strpbrk(why, ":;"));
	said = why;
	return err;
}

START_TEST(vdif)
{
	ck_assert_int_eq(mode("VDIF_8000-512-16-2", "", ""), 0);
	ck_assert_int_eq(m.format, VSI_VDIF);
	ck_assert_uint_eq(m.payload, 8000);
	ck_assert_uint_eq(m.tracks, 32);
	ck_assert_uint_eq(vsi_mode_frame(&m), 8032);
	ck_assert_double_eq(m.mbps, 512);
	ck_assert_double_eq_tol(vsi_mode_rate(&m), 514.048, 1e-9);
	ck_assert_str_eq(vsi_mode_name(&m), "VDIF");
	ck_assert_int_eq(mode("vdif_8000-1024-8-2", "", ""), 0);
	ck_assert_int_eq(mode("VDIFL_8192-4096-32-2", "", ""), 0);
	ck_assert_uint_eq(vsi_mode_frame(&m), 8208);
	ck_assert_str_eq(vsi_mode_name(&m), "VDIF (legacy)");
	ck_assert_int_eq(mode("VDIFC_8000-512-16-2/4", "", ""), 0);
	ck_assert_uint_eq(m.tracks, 64);
	ck_assert_uint_eq(vsi_mode_frame(&m), 8032);
	ck_assert_int_eq(mode("VDIFCL_8000-1/8-1-1", "", ""), 0);
	ck_assert_double_eq(m.mbps, 0.125);
}
END_TEST

START_TEST(mark5b)
{
	ck_assert_int_eq(mode("Mark5B-1024-16-2", "", ""), 0);
	ck_assert_int_eq(m.format, VSI_MARK5B);
	ck_assert_uint_eq(vsi_mode_frame(&m), 10016);
	ck_assert_int_eq(mode("mark5b-512-16-2", "", ""), 0);
	ck_assert_int_eq(mode("ext", "0xffffffff", "2"), 0);
	ck_assert_int_eq(m.format, VSI_MARK5B);
	ck_assert_uint_eq(m.tracks, 32);
	ck_assert_double_eq(m.mbps, 512);
	ck_assert_int_eq(mode("ext", "0xffffffffffffffff", ""), 0);
	ck_assert_double_eq(m.mbps, 2048);
	ck_assert_int_eq(mode("ext", "ff", "1"), 0);
	ck_assert_int_eq(mode("none", "", ""), 0);
	ck_assert_int_eq(m.format, VSI_AS_CONFIGURED);
	ck_assert_double_eq(vsi_mode_rate(&m), 0);
}
END_TEST

START_TEST(no_mode)
{
	static const char *const wrong[] = {
		"",
		"VDIF",
		"VDIF_",
		"VDIF-512-16-2",
		"VDIF_8000",
		"VDIF_8001-512-16-2",
		"VDIF_0-512-16-2",
		"VDIF_8000-0-16-2",
		"VDIF_8000-512-0-2",
		"VDIF_8000-512-16-0",
		"VDIF_8000-512-16-2x",
		"VDIF_8000-512-16-2/",
		"VDIF_8000-512-16-33",
		"VDIFLL_8000-512-16-2",
		"VDIFX_8000-512-16-2",
		"VDIF_99999999999999999999-1-1-1",
		"VDIF_-8000-512-16-2",
		"VDIF_8000-512/0-16-2",
		"Mark5B-512-16",
		"Mark5B",
		"VLBA1_4-512-8-2",
		"MKIV1_4-512-8-2",
		"unk",
		"mark4",
		"VDIF_8000-512-16-2-000000000000000000000000000000000000000000",
	};

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		ck_assert_msg(mode(wrong[i], "", "") == -EINVAL, "%s",
			      wrong[i]);
	mode("VDIF_8001-512-16-2", "", "");
	ck_assert_ptr_nonnull(strstr(said, "a multiple of 8"));
	mode("VDIF_8000-512", "", "");
	ck_assert_ptr_nonnull(strstr(said, "VDIF_8000-512-16-2"));
	ck_assert_int_eq(mode("ext", "0x7", "1"), -EINVAL);
	ck_assert_ptr_nonnull(strstr(said, "mask"));
	ck_assert_int_eq(mode("ext", "0x0", "1"), -EINVAL);
	ck_assert_int_eq(mode("ext", "0xfg", "1"), -EINVAL);
	ck_assert_int_eq(mode("ext", "-1", "1"), -EINVAL);
	ck_assert_int_eq(mode("ext", "0x1ffffffffffffffff", "1"), -EINVAL);
	ck_assert_int_eq(mode("ext", "0xff", "3"), -EINVAL);
	ck_assert_int_eq(mode("ext", "0xff", "0"), -EINVAL);
	ck_assert_int_eq(mode("mark4", "64", ""), -EINVAL);
	ck_assert_int_eq(mode("VDIF_8000-512-16-2", "x", ""), -EINVAL);
}
END_TEST

static const char *
name_of(const char *label)
{
	static char name[VSI_LABEL + 3];

	ck_assert_ptr_null(vsi_label_name(name, label));
	return name;
}

START_TEST(labels)
{
	char name[VSI_LABEL + 3];

	ck_assert_str_eq(name_of("r4123_wz_123-0456"), "r4123_wz_123-0456");
	ck_assert_str_eq(name_of("r1_wz_a.b"), "r1_wz_a-b");
	ck_assert_str_eq(name_of("a/../b"), "a----b");
	ck_assert_str_eq(name_of("exp_ds_1"), "exp-ds_1");
	ck_assert_str_eq(name_of("_ds_ds"), "s-ds-ds");
	ck_assert_str_eq(name_of("12345"), "s12345");
	ck_assert_str_eq(name_of("123-456"), "123-456");
	ck_assert_str_eq(name_of(".x"), "s-x");
	ck_assert_str_eq(name_of("-x+y"), "s-x+y");
	ck_assert_ptr_nonnull(vsi_label_name(name, ""));
	ck_assert_uint_eq(
	    strlen(
		name_of("abcdefghijabcdefghijabcdefghijabcdefghijabcdefghij")),
	    50);
	ck_assert_uint_eq(
	    strlen(
		name_of("12345678901234567890123456789012345678901234567890")),
	    51);
	ck_assert_ptr_nonnull(vsi_label_name(
	    name, "abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijk"));
}
END_TEST

static bool
lets_in(const char *network, const char *address)
{
	struct sockaddr_storage from = { 0 };
	struct sockaddr_in *four = (struct sockaddr_in *)&from;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)&from;
	struct allow_network n;

	ck_assert_int_eq(allow_network_read(&n, network), 0);
	if (inet_pton(AF_INET, address, &four->sin_addr) == 1)
		four->sin_family = AF_INET;
	else if (inet_pton(AF_INET6, address, &six->sin6_addr) == 1)
		six->sin6_family = AF_INET6;
	else
		ck_abort();
	return allow_network_has(&n, (struct sockaddr *)&from);
}

START_TEST(networks)
{
	static const char *const wrong[] = { "",
					     "10",
					     "10.0.0.0/",
					     "10.0.0.0/33",
					     "::1/129",
					     "10.0.0.0/-1",
					     "10.0.0.0/8x",
					     "name",
					     "10.0.0.0/0x8" };
	struct allow_network n;

	ck_assert(lets_in("10.0.0.0/8", "10.255.1.2"));
	ck_assert(!lets_in("10.0.0.0/8", "11.0.0.1"));
	ck_assert(lets_in("10.1.2.3", "10.1.2.3"));
	ck_assert(!lets_in("10.1.2.3", "10.1.2.2"));
	ck_assert(lets_in("10.1.2.128/25", "10.1.2.129"));
	ck_assert(!lets_in("10.1.2.128/25", "10.1.2.127"));
	ck_assert(lets_in("0.0.0.0/0", "1.2.3.4"));
	ck_assert(!lets_in("0.0.0.0/0", "fd00::1"));
	ck_assert(lets_in("fd00::/8", "fd12::1"));
	ck_assert(!lets_in("fd00::/8", "fe80::1"));
	ck_assert(lets_in("10.0.0.0/8", "::ffff:10.1.1.1"));
	ck_assert(lets_in("::/0", "1.2.3.4"));
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		ck_assert_msg(allow_network_read(&n, wrong[i]) < 0, "%s",
			      wrong[i]);
}
END_TEST

START_TEST(addresses)
{
	static const char *const wrong[] = { "",
					     "2620",
					     "127.0.0.1",
					     "127.0.0.1:",
					     "127.0.0.1:0",
					     "[::1]",
					     "127.0.0.1:65536",
					     "::1:2620x",
					     "[::1:2620",
					     "host:2620" };
	union endpoint address;
	char text[ENDPOINT_TEXT];

	ck_assert_int_eq(endpoint_read(&address, "127.0.0.1:2620"), 0);
	ck_assert_str_eq(endpoint_show(&address, text), "127.0.0.1:2620");
	ck_assert_int_eq(endpoint_read(&address, "[::]:2620"), 0);
	ck_assert_str_eq(endpoint_show(&address, text), "[::]:2620");
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		ck_assert_msg(endpoint_read(&address, wrong[i]) < 0, "%s",
			      wrong[i]);
}
END_TEST

SUITE("vsi_mode", vdif, mark5b, no_mode, labels, networks, addresses)
