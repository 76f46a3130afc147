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

SUITE_THREADS("disk", NULL, a_list_has_an_end)
