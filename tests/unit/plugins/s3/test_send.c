/* SPDX-License-Identifier: MIT */
/* Requests of the core, and a server that answers as it is told. */
#include "s3/reply.c"
#define take account_take
#include "s3/account.c"
#undef take
#define take request_take
#include "s3/request.c"
#undef take
#include "s3/send.c"

#include "lib/s3_server.h"

static struct object_state *state;
static struct host host;
static struct s3_options options;
static char why[SEND_SENTENCE];

/* Begins a server with these answers, and a transfer to it. */
static void
begin(unsigned n)
{
	const struct send_args args = { .host = &host,
					.options = &options,
					.to = "s3://bucket/x",
					.why = why,
					.why_bytes = sizeof why };
	uint32_t piece;

	setenv("HOME", "/nonexistent", 1);
	setenv("AWS_ACCESS_KEY_ID", "K", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "S", 1);
	options = (struct s3_options){ .endpoint = serve(n), .part = 5 * MIB };
	ck_assert_msg(!s3_open(&state, &args, &piece), "%s", why);
}

static void
finish(void)
{
	served();
	s3_close(state);
}

/* Carries a request out. */
static int
carried_out(struct object_request *r)
{
	struct pollfd fd;

	ck_assert_int_eq(s3_begin(state, r), 0);
	while (!r->over) {
		int64_t until = steady() + NS_SECOND / 10, now = steady();
		unsigned n = s3_poll(state, &fd, 1, &until);

		poll(&fd, n, until > now ? (int)((until - now) / NS_MS) : 0);
		s3_step(state);
	}
	return r->err;
}

/* ---- tests ------------------------------------------------------------------ */

START_TEST(a_read_is_asked_again_as_it_was)
{
	uint8_t data[100];
	struct object_request r = { .verb = OBJECT_READ,
				    .key = "a",
				    .data = data,
				    .bytes = sizeof data };

	answers[0] = REPLY("503 Busy", "Content-Length: 0\r\n", "");
	answers[1] = REPLY("206 Part",
			   "Content-Length: 9\r\n"
			   "Content-Range: bytes 0-8/9\r\n",
			   "cut");
	answers[2] = REPLY("206 Part",
			   "Content-Length: 5\r\n"
			   "Content-Range: bytes 0-4/5\r\n",
			   "hello");
	begin(3);
	ck_assert_int_eq(carried_out(&r), -EAGAIN);
	ck_assert_int_eq(carried_out(&r), -EAGAIN);
	ck_assert_int_eq(carried_out(&r), 0);
	ck_assert_uint_eq(r.bytes, 5);
	ck_assert_mem_eq(data, "hello", 5);
	finish();
	ck_assert_uint_eq(asked_n, 3);
	ck_assert_ptr_nonnull(strstr(asked[2], "Range: bytes=0-99\r\n"));
}
END_TEST

START_TEST(a_range_is_not_the_whole)
{
	uint8_t data[100];
	struct object_request r = { .verb = OBJECT_READ,
				    .key = "a",
				    .data = data,
				    .at = 7,
				    .bytes = sizeof data };

	answers[0] = REPLY("200 OK", "Content-Length: 5\r\n", "hello");
	begin(1);
	ck_assert_int_eq(carried_out(&r), -EPROTO);
	ck_assert_ptr_nonnull(strstr(state->why, "gives no ranges"));
	finish();
}
END_TEST

START_TEST(keys_that_expired_are_read_again)
{
	struct object_request r = { .verb = OBJECT_STAT, .key = "a" };

	answers[0] = REPLY("400 Bad", "", "");
	answers[1] = REPLY("200 OK", "Content-Length: 5\r\n", "");
	setenv("AWS_SESSION_TOKEN", "T", 1);
	begin(2);
	setenv("AWS_ACCESS_KEY_ID", "K2", 1);
	ck_assert_int_eq(carried_out(&r), -EAGAIN);
	ck_assert_int_eq(carried_out(&r), 0);
	ck_assert_uint_eq(r.total, 5);
	finish();
	ck_assert_ptr_nonnull(strstr(asked[1], "Credential=K2/"));
	/* Keys without an end do not expire. */
	unsetenv("AWS_SESSION_TOKEN");
	begin(1);
	setenv("AWS_ACCESS_KEY_ID", "K2", 1);
	ck_assert_int_eq(carried_out(&r), -EPROTO);
	finish();
}
END_TEST

static void
bytes_add(struct object_request *r, const char *key, uint64_t bytes)
{
	(void)key;
	*(uint64_t *)r->arg += bytes;
}

START_TEST(a_list_ends_nothing)
{
	uint64_t bytes = 0;
	struct object_request r = { .verb = OBJECT_LIST,
				    .key = "a/",
				    .found = bytes_add,
				    .arg = &bytes };
	struct object_request end = { .verb = OBJECT_END, .key = "a/" };

	answers[0] = REPLY("200 OK", "",
			   "<R><Contents><Key>x%2Fa%2F1</Key><Size>7</Size>"
			   "</Contents><IsTruncated>false</IsTruncated></R>");
	answers[1] =
	    REPLY("200 OK", "",
		  "<R><Upload><Key>x%2Fa%2F1</Key><UploadId>u</UploadId>"
		  "</Upload></R>");
	answers[2] = REPLY("204 None", "", "");
	begin(3);
	ck_assert_int_eq(carried_out(&r), 0);
	ck_assert_uint_eq(bytes, 7);
	ck_assert_int_eq(carried_out(&end), 0);
	finish();
	ck_assert_uint_eq(asked_n, 3);
	ck_assert_int_eq(
	    strncmp(asked[2], "DELETE /bucket/x/a/1?uploadId=u ", 32), 0);
}
END_TEST

START_TEST(a_bad_list_is_told)
{
	static const char *const page =
	    REPLY("200 OK", "",
		  "<R><IsTruncated>true</IsTruncated>"
		  "<NextContinuationToken>t</NextContinuationToken></R>");
	uint64_t bytes = 0;
	struct object_request r = { .verb = OBJECT_LIST,
				    .key = "a/",
				    .found = bytes_add,
				    .arg = &bytes };

	answers[0] = REPLY("200 OK", "", "<html>Sign in<br>");
	answers[1] = answers[2] = page;
	begin(3);
	ck_assert_int_eq(carried_out(&r), -EAGAIN);
	ck_assert_ptr_nonnull(strstr(state->why, "list that came"));
	/* A list that goes on where it began would have no end. */
	ck_assert_int_eq(carried_out(&r), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(state->why, "how it goes on"));
	finish();
	ck_assert_uint_eq(asked_n, 3);
}
END_TEST

/* An object in two pieces. */
enum { FIRST = 5 * MIB, TOTAL = FIRST + 9 };
#define WHOLE_CRC 0x01020304
static uint8_t pieces[TOTAL];

static struct object_request
piece(unsigned number, const struct object_bytes *of)
{
	return (struct object_request){ .verb = OBJECT_PUT,
					.key = "a",
					.of = of,
					.of_n = 1,
					.at = number ? FIRST : 0,
					.bytes = (uint32_t)of->bytes,
					.total = TOTAL,
					.whole_crc = WHOLE_CRC,
					.summed = true };
}

#define CREATED REPLY("200 OK", "", "<R><UploadId>u1</UploadId></R>")
/* Of a server that compares checksums; the pieces say that theirs is 0. */
#define TAKEN                                                                  \
	REPLY("200 OK",                                                        \
	      "ETag: \"e\"\r\nx-amz-checksum-crc32c: AAAAAA==\r\n"             \
	      "Content-Length: 0\r\n",                                         \
	      "")
#define TAKEN_UNSEEN REPLY("200 OK", "Content-Length: 0\r\n", "")
#define DONE	     REPLY("200 OK", "", "<R/>")
#define UNKNOWN	     REPLY("404 Not", "", "<Error><Code>NoSuchUpload</Code></Error>")

/* Puts both pieces, whose upload gets no answer to its end, and the second one
 * again, which is answered with 404; then HEAD is answered with `head`. */
static int
put_twice(const char *head, unsigned more)
{
	const struct object_bytes of = { pieces + FIRST, 9 };
	struct object_request r;
	struct object_request first =
	    piece(0, &(const struct object_bytes){ pieces, FIRST });

	answers[0] = CREATED;
	answers[1] = answers[2] = TAKEN;
	answers[3] = NULL;
	answers[4] = UNKNOWN;
	answers[5] = head;
	begin(6 + more);
	ck_assert_int_eq(carried_out(&first), 0);
	r = piece(1, &of);
	ck_assert_int_eq(carried_out(&r), -EAGAIN);
	return carried_out(&r);
}

START_TEST(an_end_without_answer_is_looked_at)
{
	char head[200], crc[S3_CRC];

	s3_crc_write(crc, WHOLE_CRC);
	snprintf(head, sizeof head,
		 REPLY("200 OK",
		       "Content-Length: %u\r\nx-amz-meta-spate-crc32c: %s\r\n",
		       ""),
		 (unsigned)TOTAL, crc);
	ck_assert_int_eq(put_twice(head, 0), 0);
	ck_assert_ptr_null(state->uploads);
	finish();
	ck_assert_uint_eq(asked_n, 6);
	ck_assert_int_eq(strncmp(asked[5], "HEAD ", 5), 0);
}
END_TEST

START_TEST(a_lost_upload_is_made_anew)
{
	const struct object_bytes a = { pieces, FIRST },
				  b = { pieces + FIRST, 9 };
	struct object_request r;

	answers[6] = CREATED;
	answers[7] = answers[8] = TAKEN;
	answers[9] = DONE;
	ck_assert_int_eq(
	    put_twice(REPLY("404 Not", "Content-Length: 0\r\n", ""), 4),
	    -ESTALE);
	ck_assert_ptr_null(state->uploads);
	r = piece(0, &a);
	ck_assert_int_eq(carried_out(&r), 0);
	r = piece(1, &b);
	ck_assert_int_eq(carried_out(&r), 0);
	finish();
	ck_assert_uint_eq(asked_n, 10);
}
END_TEST

START_TEST(a_fresh_object_overwrites_none)
{
	const struct object_bytes of = { pieces, 9 };
	struct object_request r = { .verb = OBJECT_PUT,
				    .key = "a",
				    .of = &of,
				    .of_n = 1,
				    .bytes = 9,
				    .total = 9,
				    .fresh = true };

	answers[0] = REPLY("412 No", "",
			   "<Error><Code>PreconditionFailed</Code></Error>");
	answers[1] = REPLY("409 Busy", "", "");
	answers[2] = TAKEN;
	begin(3);
	ck_assert_int_eq(carried_out(&r), -EEXIST);
	ck_assert_int_eq(carried_out(&r), -EAGAIN);
	ck_assert_int_eq(carried_out(&r), 0);
	finish();
	for (unsigned i = 0; i < 3; i++)
		ck_assert_ptr_nonnull(strstr(asked[i], "If-None-Match: *\r"));
	/* A server that knows no conditions is not asked for them again. */
	answers[0] = REPLY("501 No", "", "");
	answers[1] = answers[2] = TAKEN;
	begin(3);
	ck_assert_int_eq(carried_out(&r), 0);
	ck_assert_int_eq(carried_out(&r), 0);
	finish();
	ck_assert_uint_eq(asked_n, 3);
	ck_assert_ptr_nonnull(strstr(asked[0], "If-None-Match: *\r"));
	ck_assert_ptr_null(strstr(asked[1], "If-None-Match"));
	ck_assert_ptr_null(strstr(asked[2], "If-None-Match"));
}
END_TEST

START_TEST(a_server_that_compares_nothing_gets_a_sum_that_it_must)
{
	const struct object_bytes parts[] = { { (const uint8_t *)"he", 2 },
					      { (const uint8_t *)"llo", 3 } };
	struct object_request r = { .verb = OBJECT_PUT,
				    .key = "a",
				    .of = parts,
				    .of_n = 2,
				    .bytes = 5,
				    .total = 5 };
	/* echo -n hello | sha256sum */
	static const char *const sum =
	    "x-amz-content-sha256: 2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa"
	    "7425e73043362938b9824\r\n";

	answers[0] = answers[1] = TAKEN_UNSEEN;
	answers[2] = REPLY("400 Bad", "",
			   "<Error><Code>XAmzContentSHA256Mismatch</Code>"
			   "</Error>");
	answers[3] = TAKEN_UNSEEN;
	begin(4);
	ck_assert_int_eq(carried_out(&r), 0);
	ck_assert_uint_eq(r.sent, 5);
	/* From now on at once; and what it refuses is put again. */
	ck_assert_int_eq(carried_out(&r), -EAGAIN);
	ck_assert_int_eq(carried_out(&r), 0);
	finish();
	ck_assert_uint_eq(asked_n, 4);
	ck_assert_ptr_nonnull(strstr(asked[0], "256: UNSIGNED-PAYLOAD\r\n"));
	for (unsigned i = 1; i < 4; i++) {
		ck_assert_ptr_nonnull(strstr(asked[i], sum));
		ck_assert_ptr_null(strstr(asked[i], "UNSIGNED"));
	}
}
END_TEST

SUITE_THREADS("send", NULL, a_fresh_object_overwrites_none,
	      a_read_is_asked_again_as_it_was, a_range_is_not_the_whole,
	      keys_that_expired_are_read_again, a_list_ends_nothing,
	      a_bad_list_is_told, an_end_without_answer_is_looked_at,
	      a_lost_upload_is_made_anew,
	      a_server_that_compares_nothing_gets_a_sum_that_it_must)
