/* SPDX-License-Identifier: MIT */
/* A server that takes connections, and says nothing. */
#define SILENT_S 1
#include "s3/reply.c"
#define take account_take
#include "s3/account.c"
#undef take
#include "s3/request.c"

#include <arpa/inet.h>
#include <sys/socket.h>

#include "lib/suite.h"

static struct s3_account account = { .bucket = "bucket",
				     .region = "r",
				     .host = "host",
				     .key = "K",
				     .secret = "S" };

/* Makes a request of that method, which is not answered. */
static void
check_silent(const char *method, const void *body, uint64_t bytes)
{
	struct s3_request r;
	char word[64], why[320];
	CURLcode code;

	ck_assert_int_eq(s3_request_make(&r, &account, method, "a", NULL), 0);
	if (body)
		s3_request_body(&r, body, bytes);
	/* Else it would never end. */
	curl_easy_setopt(r.easy, CURLOPT_TIMEOUT, 50L);
	code = curl_easy_perform(r.easy);
	ck_assert_int_eq(s3_request_result(&r, code, word, why, sizeof why),
			 -EAGAIN);
	ck_assert_msg(strstr(why, "too slow") != NULL, "%s", why);
	s3_request_clear(&r);
}

START_TEST(who_says_nothing_is_gone)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t bytes = sizeof at;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	enum { BODY = 64 << 20 }; /* more than a socket takes */
	void *body = calloc(1, BODY);

	ck_assert_ptr_nonnull(body);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&at, bytes), 0);
	ck_assert_int_eq(listen(fd, 8), 0);
	getsockname(fd, (struct sockaddr *)&at, &bytes);
	snprintf(account.base, sizeof account.base,
		 "http://127.0.0.1:%u/bucket/", ntohs(at.sin_port));
	check_silent("GET", NULL, 0);
	check_silent("PUT", body, BODY);
	close(fd);
	free(body);
}
END_TEST

SUITE("silent", NULL, who_says_nothing_is_gone)
