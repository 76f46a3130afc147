/* SPDX-License-Identifier: MIT */
/* A bucket that is read, and a server that answers as it is told. */
#include "s3/reply.c"
#define take account_take
#include "s3/account.c"
#undef take
#include "s3/disk.c"
#include "s3/request.c"

#include "lib/s3_server.h"

static unsigned lines;

static void __attribute__((format(printf, 3, 4)))
line_count(void *ctx, enum log_level level, const char *format, ...)
{
	(void)ctx, (void)level, (void)format;
	lines++;
}

static int64_t
no_time(void *ctx)
{
	(void)ctx;
	return 1;
}

static int
name_count(void *arg, const char *name, bool folder)
{
	(void)name, (void)folder;
	++*(unsigned *)arg;
	return 0;
}

static struct disk_store *store;
static const struct host host = { .log = line_count, .now = no_time };

#define LIST(more) REPLY("200 OK", "", "<R>" more "</R>")
#define FILE_A	   "<Contents><Key>a%2F1</Key></Contents>"

static void
begin(unsigned n)
{
	char why[SENTENCE];
	const struct disk_args args = { .host = &host,
					.place = "bucket",
					.why = why,
					.why_bytes = sizeof why };

	setenv("HOME", "/nonexistent", 1);
	setenv("AWS_ACCESS_KEY_ID", "K", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "S", 1);
	answers[0] = LIST("");
	setenv("AWS_ENDPOINT_URL", serve(n), 1);
	ck_assert_msg(!s3_open(&store, &args), "%s", why);
	lines = 0;
}

static void
finish(void)
{
	served();
	while (store->idles)
		curl_easy_cleanup(store->idle[--store->idles]);
	pthread_mutex_destroy(&store->lock);
	free(store);
}

START_TEST(a_list_has_an_end)
{
	static const char *const page =
	    LIST("<IsTruncated>true</IsTruncated>" FILE_A
		 "<NextContinuationToken>t</NextContinuationToken>");
	unsigned names = 0;
	struct disk_file *folder;

	answers[1] = LIST(FILE_A);
	answers[2] = answers[3] = page;
	begin(4);
	ck_assert_int_eq(s3_file_open(store, "a", DISK_FOLDER, &folder), 0);
	ck_assert_int_eq(s3_list(folder, name_count, &names), -EBADMSG);
	ck_assert_uint_eq(lines, 1);
	s3_file_close(folder);
	finish();
	ck_assert_uint_eq(asked_n, 4);
}
END_TEST

#define PART(range, body)                                                      \
	REPLY("206 Part", "Content-Range: bytes " range "\r\n", body)

START_TEST(a_range_is_the_one_that_was_asked_for)
{
	uint8_t data[10];
	struct disk_file *file;

	answers[1] = REPLY("200 OK", "Content-Length: 100\r\n", "");
	answers[2] = PART("5-14/100", "0123456789");
	answers[3] = PART("0-9/100", "0123456789");
	answers[4] = PART("5-8/100", "0123");
	answers[5] = REPLY("206 Part", "", "0123456789");
	answers[6] = PART("95-99/100", "01234");
	begin(7);
	ck_assert_int_eq(s3_file_open(store, "a", DISK_READ, &file), 0);
	ck_assert_int_eq(s3_read(file, data, 10, 5), 10);
	ck_assert_mem_eq(data, "0123456789", 10);
	ck_assert_int_eq(s3_read(file, data, 10, 5), -EIO);
	ck_assert_int_eq(s3_read(file, data, 10, 5), -EIO);
	ck_assert_int_eq(s3_read(file, data, 10, 5), -EIO);
	ck_assert_uint_eq(lines, 3);
	ck_assert_int_eq(s3_read(file, data, 10, 95), 5);
	s3_file_close(file);
	finish();
	ck_assert_uint_eq(asked_n, 7);
}
END_TEST

START_TEST(keys_that_expired_are_read_again)
{
	uint8_t data[10];
	struct disk_file *file;

	answers[1] = REPLY("400 Bad", "", "");
	answers[2] = REPLY("200 OK", "Content-Length: 100\r\n", "");
	answers[3] =
	    REPLY("400 Bad", "", "<Error><Code>ExpiredToken</Code></Error>");
	answers[4] = PART("5-14/100", "0123456789");
	answers[5] = answers[3];
	setenv("AWS_SESSION_TOKEN", "T", 1);
	begin(6);
	setenv("AWS_ACCESS_KEY_ID", "K2", 1);
	ck_assert_int_eq(s3_file_open(store, "a", DISK_READ, &file), 0);
	ck_assert_ptr_nonnull(strstr(asked[2], "Credential=K2/"));
	setenv("AWS_ACCESS_KEY_ID", "K3", 1);
	setenv("AWS_SESSION_TOKEN", "T3", 1);
	ck_assert_int_eq(s3_read(file, data, 10, 5), 10);
	ck_assert_ptr_nonnull(strstr(asked[4], "Credential=K3/"));
	ck_assert_ptr_nonnull(strstr(asked[4], "x-amz-security-token: T3\r"));
	ck_assert_uint_eq(lines, 0);
	/* Nobody has renewed them. */
	ck_assert_int_eq(s3_read(file, data, 10, 5), -EIO);
	ck_assert_uint_eq(lines, 1);
	s3_file_close(file);
	finish();
	unsetenv("AWS_SESSION_TOKEN");
	ck_assert_uint_eq(asked_n, 6);
}
END_TEST

SUITE_THREADS("disk", NULL, a_list_has_an_end,
	      a_range_is_the_one_that_was_asked_for,
	      keys_that_expired_are_read_again)
