/* SPDX-License-Identifier: MIT */
/*
 * libcurl 7.88 signs every header that it is given, also "Expect:", which would
 * switch the header of that name off and then is not sent: a wrong signature.
 * So "Expect: 100-continue" stays, and is waited for a moment only, as some
 * servers never answer it.
 */
#include "request.h"

#include <errno.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "contract/bytes.h"
#include "reply.h"

enum {
	TEXT_MOST = 4 << 20, /* a page of a list has 1000 keys */
	EXPECT_MS = 1,
	CONNECT_S = 10,
	SENT =
	    1 << 16, /* bytes that are copied to libcurl while in the cache */
	READ = 1 << 17,
};

/* Slower than S3_SLOW for so many seconds is gone; a unit waits less. */
#ifndef SILENT_S
#define SILENT_S 30
#endif

/* ---- checksums -------------------------------------------------------- */

static const char base64[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void
s3_crc_write(char to[S3_CRC], uint32_t crc)
{
	uint64_t bits = (uint64_t)crc << 16; /* 48 bits: 8 characters */

	for (int i = 0; i < 6; i++)
		to[i] = base64[bits >> (42 - 6 * i) & 63];
	strcpy(to + 6, "==");
}

bool
s3_crc_read(const char *text, uint32_t *crc)
{
	char again[S3_CRC];
	uint64_t bits = 0;

	for (int i = 0; i < 6; i++) {
		const char *at = text[i] ? strchr(base64, text[i]) : NULL;

		if (!at)
			return false;
		bits |= (uint64_t)(at - base64) << (42 - 6 * i);
	}
	*crc = (uint32_t)(bits >> 16);
	s3_crc_write(again, *crc);
	return !strcmp(text, again);
}

/* ---- what goes, and what comes ----------------------------------------- */

/* Copies bytes of the body from r->at on. */
static size_t
body_copy(struct s3_request *r, char *to, uint64_t most)
{
	uint64_t skip = r->at, n, done = 0;

	for (unsigned i = 0; i < r->of_n && done < most; i++) {
		if (skip >= r->of[i].bytes) {
			skip -= r->of[i].bytes;
			continue;
		}
		n = r->of[i].bytes - skip;
		if (n > most - done)
			n = most - done;
		memcpy(to + done, r->of[i].data + skip, n);
		done += n;
		skip = 0;
	}
	return done;
}

static size_t
give(char *to, size_t size, size_t n, void *arg)
{
	struct s3_request *r = arg;
	uint64_t left = r->bytes - r->at;
	size_t bytes = body_copy(r, to, left < size * n ? left : size * n);

	r->at += bytes;
	if (r->sent)
		*r->sent = r->at;
	return bytes;
}

/* libcurl begins again when a connection that it kept turns out to be gone. */
static int
rewound(void *arg, curl_off_t to, int origin)
{
	struct s3_request *r = arg;

	if (origin != SEEK_SET || to < 0 || (uint64_t)to > r->bytes)
		return CURL_SEEKFUNC_FAIL;
	r->at = (uint64_t)to;
	return CURL_SEEKFUNC_OK;
}

static size_t
text_take(struct s3_request *r, const char *data, size_t bytes)
{
	char *grown;

	if (bytes > TEXT_MOST - r->text_bytes)
		return 0;
	grown = realloc(r->text, r->text_bytes + bytes + 1);
	if (!grown)
		return 0;
	r->text = grown;
	memcpy(grown + r->text_bytes, data, bytes);
	r->text_bytes += bytes;
	grown[r->text_bytes] = '\0';
	return bytes;
}

/* Takes the body of a reply; that of an error is a text.  A server that knows
 * no ranges says 200, and gives the object from its first byte on. */
static size_t
take(char *data, size_t size, size_t n, void *arg)
{
	struct s3_request *r = arg;
	size_t bytes = size * n;
	long code = 0;

	curl_easy_getinfo(r->easy, CURLINFO_RESPONSE_CODE, &code);
	if (!r->into || code >= 300)
		return text_take(r, data, bytes);
	if (r->from && code != 206)
		r->refused = "the server gives no ranges of objects";
	else if (code == 206 && !r->ranged)
		r->refused = "the server gives another range of the object "
			     "than was asked for";
	else if (bytes > r->room - r->got)
		r->refused = "the server gives more than was asked for";
	if (r->refused)
		return 0;
	memcpy(r->into + r->got, data, bytes);
	r->got += bytes;
	return bytes;
}

static void
header_read(const char *line, size_t n, const char *name, char *to,
	    size_t bytes)
{
	size_t length = strlen(name);

	if (n <= length || line[length] != ':' ||
	    strncasecmp(line, name, length) != 0)
		return;
	line += length + 1;
	n -= length + 1;
	while (n && (*line == ' ' || *line == '"')) {
		line++;
		n--;
	}
	while (n && strchr("\r\n \"", line[n - 1]))
		n--;
	if (n < bytes)
		snprintf(to, bytes, "%.*s", (int)n, line);
}

/* Tells whether the range that a server gives, "bytes 0-99/1000", is what was
 * asked for, up to the object's end: a cut one would look like the end. */
static bool
range_is(const struct s3_request *r, const char *text)
{
	uint64_t from, to, total, last = r->from + r->room - 1;
	int n = sscanf(text, "bytes %" SCNu64 "-%" SCNu64 "/%" SCNu64, &from,
		       &to, &total);

	if (n == 3 && total && last > total - 1)
		last = total - 1;
	return n >= 2 && from == r->from && to == last;
}

static size_t
header_take(char *line, size_t size, size_t n, void *arg)
{
	struct s3_request *r = arg;
	char length[24] = "", range[80] = "";

	n *= size;
	header_read(line, n, "etag", r->etag, sizeof r->etag);
	header_read(line, n, "x-amz-checksum-crc32c", r->crc32c,
		    sizeof r->crc32c);
	header_read(line, n, "x-amz-meta-spate-crc32c", r->whole_crc,
		    sizeof r->whole_crc);
	header_read(line, n, "last-modified", r->changed, sizeof r->changed);
	header_read(line, n, "x-amz-bucket-region", r->region,
		    sizeof r->region);
	header_read(line, n, "content-length", length, sizeof length);
	if (*length)
		r->length = strtoull(length, NULL, 10);
	header_read(line, n, "content-range", range, sizeof range);
	if (*range)
		r->ranged = range_is(r, range);
	return n;
}

/* ---- making it --------------------------------------------------------- */

static int
url_make(char *url, size_t bytes, const struct s3_account *a, const char *key,
	 const char *query)
{
	char path[3 * S3_KEY];
	int n;

	if (s3_escape(path, sizeof path, key, true))
		return -E2BIG;
	n = snprintf(url, bytes, "%s%s%s%s", a->base, path, query ? "?" : "",
		     query ? query : "");
	return n < (int)bytes ? 0 : -E2BIG;
}

static void
method_set(struct s3_request *r, const char *method)
{
	r->head = !strcmp(method, "HEAD");
	if (r->head)
		curl_easy_setopt(r->easy, CURLOPT_NOBODY, 1L);
	else if (!strcmp(method, "PUT"))
		curl_easy_setopt(r->easy, CURLOPT_UPLOAD, 1L);
	else if (!strcmp(method, "POST"))
		curl_easy_setopt(r->easy, CURLOPT_POST, 1L);
	else
		curl_easy_setopt(r->easy, CURLOPT_CUSTOMREQUEST, method);
}

static void
signature_set(struct s3_request *r)
{
	const struct s3_account *a = r->account;
	char provider[100];

	snprintf(provider, sizeof provider, "aws:amz:%s:s3", a->region);
	curl_easy_setopt(r->easy, CURLOPT_AWS_SIGV4, provider);
	curl_easy_setopt(r->easy, CURLOPT_USERNAME, a->key);
	curl_easy_setopt(r->easy, CURLOPT_PASSWORD, a->secret);
}

static void
limits_set(struct s3_request *r)
{
	curl_easy_setopt(r->easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(r->easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(r->easy, CURLOPT_HTTP_VERSION,
			 (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(r->easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	curl_easy_setopt(r->easy, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_S);
	curl_easy_setopt(r->easy, CURLOPT_LOW_SPEED_LIMIT, (long)S3_SLOW);
	curl_easy_setopt(r->easy, CURLOPT_LOW_SPEED_TIME, (long)SILENT_S);
	curl_easy_setopt(r->easy, CURLOPT_EXPECT_100_TIMEOUT_MS,
			 (long)EXPECT_MS);
	curl_easy_setopt(r->easy, CURLOPT_UPLOAD_BUFFERSIZE, (long)SENT);
	curl_easy_setopt(r->easy, CURLOPT_BUFFERSIZE, (long)READ);
}

int
s3_request_make(struct s3_request *r, const struct s3_account *a,
		const char *method, const char *key, const char *query)
{
	return s3_request_again(r, curl_easy_init(), a, method, key, query);
}

int
s3_request_again(struct s3_request *r, CURL *easy, const struct s3_account *a,
		 const char *method, const char *key, const char *query)
{
	char url[S3_URL];
	int err;

	*r = (struct s3_request){ .account = a, .easy = easy };
	if (!r->easy)
		return -ENOMEM;
	err = -E2BIG;
	if (!key ||
	    snprintf(r->key, sizeof r->key, "%s%s", a->prefix, key) < S3_KEY)
		err = url_make(url, sizeof url, a, r->key, query);
	if (!err)
		err = s3_request_header(
		    r, "x-amz-content-sha256: UNSIGNED-PAYLOAD");
	/* libcurl would call the body of a POST a form. */
	if (!err && !strcmp(method, "POST"))
		err = s3_request_header(
		    r, "Content-Type: application/octet-stream");
	if (!err && *a->token)
		err =
		    s3_request_header(r, "x-amz-security-token: %s", a->token);
	if (err) {
		s3_request_clear(r);
		return err;
	}
	curl_easy_setopt(r->easy, CURLOPT_URL, url);
	curl_easy_setopt(r->easy, CURLOPT_PATH_AS_IS, 1L);
	curl_easy_setopt(r->easy, CURLOPT_ERRORBUFFER, r->trouble);
	curl_easy_setopt(r->easy, CURLOPT_WRITEFUNCTION, take);
	curl_easy_setopt(r->easy, CURLOPT_WRITEDATA, r);
	curl_easy_setopt(r->easy, CURLOPT_HEADERFUNCTION, header_take);
	curl_easy_setopt(r->easy, CURLOPT_HEADERDATA, r);
	if (*a->ca_file)
		curl_easy_setopt(r->easy, CURLOPT_CAINFO, a->ca_file);
	limits_set(r);
	signature_set(r);
	method_set(r, method);
	/* Without a body a PUT or POST would be sent in chunks. */
	if (!strcmp(method, "PUT") || !strcmp(method, "POST"))
		s3_request_body(r, NULL, 0);
	return 0;
}

int
s3_request_header(struct s3_request *r, const char *format, ...)
{
	char line[sizeof r->account->token + 64];
	struct curl_slist *grown;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(line, sizeof line, format, args);
	va_end(args);
	if (n >= (int)sizeof line)
		return -E2BIG;
	grown = curl_slist_append(r->headers, line);
	if (!grown)
		return -ENOMEM;
	r->headers = grown;
	curl_easy_setopt(r->easy, CURLOPT_HTTPHEADER, grown);
	return 0;
}

int
s3_request_range(struct s3_request *r, uint64_t from, uint64_t bytes,
		 void *into)
{
	r->from = from;
	r->into = into;
	r->room = bytes;
	return s3_request_header(r, "Range: bytes=%" PRIu64 "-%" PRIu64, from,
				 from + bytes - 1);
}

void
s3_request_bodies(struct s3_request *r, const struct object_bytes *of,
		  unsigned n, uint64_t bytes)
{
	r->of = of;
	r->of_n = n;
	r->bytes = bytes;
	r->at = 0;
	curl_easy_setopt(r->easy, CURLOPT_READFUNCTION, give);
	curl_easy_setopt(r->easy, CURLOPT_READDATA, r);
	curl_easy_setopt(r->easy, CURLOPT_SEEKFUNCTION, rewound);
	curl_easy_setopt(r->easy, CURLOPT_SEEKDATA, r);
	curl_easy_setopt(r->easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)bytes);
	curl_easy_setopt(r->easy, CURLOPT_POSTFIELDSIZE_LARGE,
			 (curl_off_t)bytes);
}

void
s3_request_body(struct s3_request *r, const void *data, uint64_t bytes)
{
	r->one = (struct object_bytes){ data, bytes };
	s3_request_bodies(r, &r->one, bytes ? 1 : 0, bytes);
}

/* x-amz-content-sha256 is the first header, and is replaced. */
int
s3_request_sign_body(struct s3_request *r)
{
	char line[128] = "x-amz-content-sha256: ";
	char *to = line + strlen(line);
	struct curl_slist *headers;
	uint8_t sum[EVP_MAX_MD_SIZE];
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	unsigned n = 0;
	bool good = ctx && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL);

	for (unsigned i = 0; i < r->of_n && good; i++)
		good = EVP_DigestUpdate(ctx, r->of[i].data, r->of[i].bytes);
	good = good && EVP_DigestFinal_ex(ctx, sum, &n);
	EVP_MD_CTX_free(ctx);
	for (unsigned i = 0; i < n; i++)
		to += sprintf(to, "%02x", sum[i]);
	headers = good ? curl_slist_append(NULL, line) : NULL;
	if (!headers)
		return -ENOMEM;
	headers->next = r->headers->next;
	r->headers->next = NULL;
	curl_slist_free_all(r->headers);
	r->headers = headers;
	r->body_signed = true;
	curl_easy_setopt(r->easy, CURLOPT_HTTPHEADER, headers);
	return 0;
}

CURL *
s3_request_keep(struct s3_request *r)
{
	CURL *easy = r->easy;

	if (easy)
		curl_easy_reset(easy);
	r->easy = NULL;
	return easy;
}

void
s3_request_clear(struct s3_request *r)
{
	if (r->easy)
		curl_easy_cleanup(r->easy);
	curl_slist_free_all(r->headers);
	free(r->text);
	r->easy = NULL;
	r->headers = NULL;
	r->text = NULL;
}

/* ---- what became of it -------------------------------------------------- */

/* S3's own words about an error. */
struct words {
	char code[64], message[160], region[64];
};

/* Copies a text; what is no ASCII, and could be cut in its middle, is left out
 * of a sentence. */
static void
word_copy(char *to, size_t bytes, const char *text)
{
	snprintf(to, bytes, "%s", text);
	for (; *to; to++) {
		if (*to < ' ' || *to > '~')
			*to = '?';
	}
}

static void
word_take(void *arg, const char *around, const char *name, const char *text)
{
	struct words *w = arg;

	if (strcmp(around, "Error") != 0)
		return;
	if (!strcmp(name, "Code"))
		word_copy(w->code, sizeof w->code, text);
	else if (!strcmp(name, "Message"))
		word_copy(w->message, sizeof w->message, text);
	else if (!strcmp(name, "Region"))
		word_copy(w->region, sizeof w->region, text);
}

/* Says what would help, if that is known; else "". */
static const char *
help_of(const struct words *w, long code)
{
	static const struct {
		const char *code, *help;
	} helps[] = {
		{ "RequestTimeTooSkewed",
		  "; this machine's clock is not right: is it synchronised?" },
		{ "SignatureDoesNotMatch",
		  "; the secret key is wrong, or this machine's clock" },
		{ "InvalidAccessKeyId", "; the server does not know the key" },
		{ "ExpiredToken", "; keys with a session token have an end" },
		{ "QuotaExceeded",
		  "; the user or the bucket may have no more" },
		{ "NoSuchBucket", "; a bucket has to be made first" },
		{ "AccessDenied",
		  "; the keys need s3:PutObject, s3:GetObject, s3:ListBucket, "
		  "s3:AbortMultipartUpload there" },
	};

	for (size_t i = 0; i < sizeof helps / sizeof *helps; i++) {
		if (!strcmp(helps[i].code, w->code))
			return helps[i].help;
	}
	/* Nobody says why of a HEAD. */
	return code == 403 && !*w->code ? "; the keys may not do that" : "";
}

static int
error_of(const struct words *w, long code)
{
	if (code == 404)
		return -ENOENT;
	if (!strcmp(w->code, "RequestTimeout") ||
	    !strcmp(w->code, "BadDigest") ||
	    !strcmp(w->code, "XAmzContentSHA256Mismatch"))
		return -EAGAIN;
	if (code == 401 || code == 403)
		return -EACCES;
	if (code == 412)
		return -EEXIST;
	if (code == 501)
		return -ENOSYS;
	if (code >= 500 || code == 429 || code == 408 || code == 409)
		return -EAGAIN;
	return -EPROTO;
}

/* Takes an error of the connection. */
static int
broke(const struct s3_request *r, CURLcode code, char *why, uint32_t why_bytes)
{
	snprintf(why, why_bytes, "%s: s3://%s/%s: %s", r->account->host,
		 r->account->bucket, r->key,
		 r->refused    ? r->refused
		 : *r->trouble ? r->trouble
			       : curl_easy_strerror(code));
	switch (code) {
	case CURLE_OUT_OF_MEMORY: return -ENOMEM;
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_UNSUPPORTED_PROTOCOL:
	case CURLE_URL_MALFORMAT:
	case CURLE_WRITE_ERROR: return -EPROTO;
	default: return -EAGAIN;
	}
}

int
s3_request_result(struct s3_request *r, CURLcode code, char *word, char *why,
		  uint32_t why_bytes)
{
	const struct s3_account *a = r->account;
	struct words w = { "", "", "" };
	long number = 0;
	int n;

	*word = '\0';
	if (code)
		return broke(r, code, why, why_bytes);
	curl_easy_getinfo(r->easy, CURLINFO_RESPONSE_CODE, &number);
	if (r->text_bytes)
		s3_reply_read(r->text, r->text_bytes, word_take, &w);
	/* CompleteMultipartUpload may say 200, and then what went wrong. */
	if (number >= 200 && number < 300 && !*w.code)
		return 0;
	if (number == 200)
		number = 500;
	strcpy(word, w.code);
	if (!*w.region)
		strcpy(w.region, r->region);
	n = snprintf(why, why_bytes, "%s: s3://%s/%s: HTTP %ld%s%s%s%s%s",
		     a->host, a->bucket, r->key, number, *w.code ? " " : "",
		     w.code, *w.message ? " (" : "", w.message,
		     *w.message ? ")" : "");
	if (n < 0 || n >= (int)why_bytes)
		n = (int)why_bytes - 1;
	if (*w.region && strcmp(w.region, a->region) != 0)
		snprintf(why + n, why_bytes - (uint32_t)n,
			 "; the bucket is in region %s, not in %s", w.region,
			 a->region);
	else
		snprintf(why + n, why_bytes - (uint32_t)n, "%s",
			 help_of(&w, number));
	return error_of(&w, number);
}

bool
s3_request_expired(const struct s3_request *r, const char *word, int err)
{
	if (!strcmp(word, "ExpiredToken"))
		return true;
	return r->head && !*word && *r->account->token &&
	       (err == -EACCES || err == -EPROTO);
}
