/* SPDX-License-Identifier: MIT */
#include "base/secret.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/suite.h"

static char file[64];
static struct secret s;
static struct fault fault;

static void
file_make(const void *bytes, size_t n, mode_t mode)
{
	FILE *f;

	snprintf(file, sizeof file, "/tmp/spate-secret.%d", (int)getpid());
	unlink(file);
	f = fopen(file, "w");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(bytes, 1, n, f), n);
	fclose(f);
	ck_assert_int_eq(chmod(file, mode), 0);
	fault = (struct fault){ 0 };
	memset(&s, 0xa5, sizeof s);
}

static void
is_refused(int err, const char *why)
{
	char line[1024];

	ck_assert_int_eq(secret_read(&s, file, &fault), err);
	fault_line(&fault, line, sizeof line);
	ck_assert_msg(strstr(line, why), "'%s', expected '%s'", line, why);
	ck_assert_msg(strstr(line, file), "'%s' does not name the file", line);
	ck_assert_uint_eq(s.n, 0);
	for (size_t i = 0; i < sizeof s.bytes; i++)
		ck_assert_uint_eq(s.bytes[i], 0);
	unlink(file);
}

START_TEST(a_line_without_its_end)
{
	static const mode_t good[] = { 0600, 0400, 0640, 0440 };

	for (unsigned i = 0; i < sizeof good / sizeof *good; i++) {
		file_make("open, sesame, open \r\n\n", 22, good[i]);
		ck_assert_int_eq(secret_read(&s, file, &fault), 0);
		ck_assert_uint_eq(s.n, 18);
		ck_assert_mem_eq(s.bytes, "open, sesame, open", 18);
		unlink(file);
	}
	file_make("\0 binary\0 binary", 16, 0600);
	ck_assert_int_eq(secret_read(&s, file, &fault), 0);
	ck_assert_uint_eq(s.n, 16);
	unlink(file);
}
END_TEST

START_TEST(one_that_others_can_read_is_none)
{
	static const mode_t bad[] = { 0644, 0604, 0660, 0601, 0602 };

	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
		file_make("open, sesame, open\n", 19, bad[i]);
		memset(&s, 0, sizeof s);
		is_refused(-EPERM, "chmod 600");
	}
}
END_TEST

START_TEST(nothing_is_no_secret)
{
	uint8_t long_one[SECRET_MOST + 1];

	file_make("", 0, 0600);
	is_refused(-EINVAL, "is empty");
	file_make(" \n\t\n", 4, 0600);
	is_refused(-EINVAL, "is empty");
	file_make("fifteen letters\n\n", 17, 0600);
	is_refused(-EINVAL, "too short");
	memset(long_one, 'x', sizeof long_one);
	file_make(long_one, SECRET_MOST, 0600);
	ck_assert_int_eq(secret_read(&s, file, &fault), 0);
	ck_assert_uint_eq(s.n, SECRET_MOST);
	file_make(long_one, sizeof long_one, 0600);
	is_refused(-EFBIG, "too long");
	memset(&s, 0, sizeof s);
	is_refused(-ENOENT, "cannot be read");
	snprintf(file, sizeof file, "/tmp");
	ck_assert_int_eq(secret_read(&s, file, &fault), -EINVAL);
	ck_assert_ptr_nonnull(strstr(fault.what, "is no file"));
}
END_TEST

/* RFC 4231, cases 1, 2 and 6. */
START_TEST(hmac_as_others_make_it)
{
	static const struct {
		const char *key, *text;
		uint8_t fill, fills;
		uint8_t mac[4];
	} known[] = {
		{ NULL, "Hi There", 0x0b, 20, { 0xb0, 0x34, 0x4c, 0x61 } },
		{ "Jefe",
		  "what do ya want for nothing?",
		  0,
		  0,
		  { 0x5b, 0xdc, 0xc1, 0x46 } },
		{ NULL,
		  "Test Using Larger Than Block-Size Key - Hash Key First",
		  0xaa,
		  131,
		  { 0x60, 0xe4, 0x31, 0x59 } },
	};
	uint8_t key[131], mac[32];

	for (unsigned i = 0; i < sizeof known / sizeof *known; i++) {
		const char *k = known[i].key;
		uint32_t n = k ? (uint32_t)strlen(k) : known[i].fills;

		memset(key, known[i].fill, sizeof key);
		if (k)
			memcpy(key, k, n);
		hmac_sha256(key, n, known[i].text, strlen(known[i].text), mac);
		ck_assert_mem_eq(mac, known[i].mac, 4);
	}
}
END_TEST

START_TEST(a_plugin_is_told_in_a_sentence)
{
	uint32_t n = 4;
	uint8_t bytes[64];
	char why[256];

	file_make("open, sesame, open\n", 19, 0600);
	ck_assert_int_eq(secret_host(file, bytes, &n, why, sizeof why), -EFBIG);
	n = sizeof bytes;
	ck_assert_int_eq(secret_host(file, bytes, &n, why, sizeof why), 0);
	ck_assert_uint_eq(n, 18);
	ck_assert_mem_eq(bytes, "open, sesame, open", 18);
	chmod(file, 0644);
	ck_assert_int_eq(secret_host(file, bytes, &n, why, sizeof why), -EPERM);
	ck_assert_ptr_nonnull(strstr(why, "others may read it"));
	unlink(file);
}
END_TEST

SUITE("secret", a_line_without_its_end, one_that_others_can_read_is_none,
      nothing_is_no_secret, hmac_as_others_make_it,
      a_plugin_is_told_in_a_sentence)
