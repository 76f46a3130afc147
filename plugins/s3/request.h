/* SPDX-License-Identifier: MIT */
#ifndef SPATE_PLUGINS_S3_REQUEST_H
#define SPATE_PLUGINS_S3_REQUEST_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "account.h"
#include "contract/object.h"

/*
 * A request of HTTP to a bucket, signed by libcurl (AWS_SIGV4), and its reply:
 *
 *   s3_request_make -> [s3_request_header, s3_request_body] ->
 *   curl_easy_perform, or curl_multi -> s3_request_result -> s3_request_clear
 *
 * The body is not part of the signature (UNSIGNED-PAYLOAD), which would take
 * SHA-256 of every byte: a CRC32C is, in a header that the server compares.
 * For one that does not, s3_request_sign_body() takes that SHA-256.
 */
struct s3_request {
	CURL *easy;
	struct curl_slist *headers;
	const struct s3_account *account;
	char key[S3_KEY];

	/* The body that is sent. */
	const struct object_bytes *of;
	unsigned of_n;
	struct object_bytes one; /* `of` may be this */
	uint64_t bytes, at;
	uint64_t *sent;	  /* counts the bytes that libcurl took; or NULL */
	bool body_signed; /* the signature covers it */

	/* Room for the reply's bytes; NULL: `text` takes them. */
	uint8_t *into;
	uint64_t room, got;
	uint64_t from; /* offset of the range that is asked for */

	/* The reply: a text, XML mostly; and what its headers say. */
	char *text;
	size_t text_bytes;
	char etag[80], crc32c[32], whole_crc[16], region[64], changed[40];
	uint64_t length; /* Content-Length */
	bool ranged;	 /* it has a Content-Range, which is as asked for */
	bool head;	 /* its method is HEAD */
	char trouble[CURL_ERROR_SIZE];
	const char *refused; /* why its bytes were not taken; NULL: they were */
};

/*
 * Makes a request: "GET", "HEAD", "PUT", "POST" or "DELETE" of a key below the
 * account's prefix (NULL: of the bucket itself) with a query, whose names are
 * sorted and whose values are escaped, or NULL.  0 or -errno.
 */
int s3_request_make(struct s3_request *r, const struct s3_account *a,
		    const char *method, const char *key, const char *query);
int s3_request_header(struct s3_request *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Adds a body, which must outlive the request, for PUT and POST. */
void s3_request_body(struct s3_request *r, const void *data, uint64_t bytes);
void s3_request_bodies(struct s3_request *r, const struct object_bytes *of,
		       unsigned n, uint64_t bytes);
/* Puts the body's SHA-256 into the signature.  0 or -errno. */
int s3_request_sign_body(struct s3_request *r);

/*
 * Returns how the request ended: 0; -ENOENT: there is no such key or bucket;
 * -EACCES; -EAGAIN: it may succeed later; -EEXIST: a condition of its headers
 * is not met; -ENOSYS: the server cannot do that; or another -errno.  An error
 * comes with a sentence, which names bucket, key, number and the server's own
 * words.  `word`, 64 bytes, becomes S3's word for the error, or "".
 */
int s3_request_result(struct s3_request *r, CURLcode code, char *word,
		      char *why, uint32_t why_bytes);
void s3_request_clear(struct s3_request *r);

/* Asks for bytes from `from` on, into `into`, for GET. */
int s3_request_range(struct s3_request *r, uint64_t from, uint64_t bytes,
		     void *into);

/* Tells whether a request has failed with `err` since its keys have expired, or
 * may have: nobody says why of a HEAD. */
bool s3_request_expired(const struct s3_request *r, const char *word, int err);

/* Takes the easy handle out of a request, whose connection another request may
 * use, before it is cleared; and gives it to one that is made next. */
CURL *s3_request_keep(struct s3_request *r);
int s3_request_again(struct s3_request *r, CURL *easy,
		     const struct s3_account *a, const char *method,
		     const char *key, const char *query);

/* Bytes per second; a connection that is slower counts as gone. */
enum { S3_SLOW = 100 };

/* The CRC32C of a header, as number and as text (base64 of its four bytes). */
enum { S3_CRC = 9 };
void s3_crc_write(char to[S3_CRC], uint32_t crc);
bool s3_crc_read(const char *text, uint32_t *crc);

#endif
