/* SPDX-License-Identifier: MIT */
#ifndef SPATE_PLUGINS_S3_ACCOUNT_H
#define SPATE_PLUGINS_S3_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "contract/option.h"

/*
 * An account is all that a request to a bucket needs: where the bucket is, and
 * the keys that sign for it.  Keys come from where the tools of AWS look for
 * them:
 *
 *   AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN
 *   ~/.aws/credentials and ~/.aws/config, the profile AWS_PROFILE
 *   (AWS_SHARED_CREDENTIALS_FILE, AWS_CONFIG_FILE: other files)
 *
 * Keys are never part of a sentence.
 */
struct s3_options {
	const char *endpoint, *region, *profile, *credentials_file, *ca_file;
	const char *style;
	uint64_t part;
};

extern const struct option_key s3_options[];

enum { S3_KEY = 1024, S3_URL = 4096 };

struct s3_account {
	char bucket[64];
	char prefix[512]; /* of all keys, "" or with a '/' at its end */
	char region[64];
	char host[256];	   /* for users: the endpoint without its scheme */
	char base[700];	   /* URL of the bucket, with a '/' at its end */
	char ca_file[512]; /* "": the system's */
	/* Secrets.  The key's name is none, but is nobody's business. */
	char key[160], secret[256], token[4096];
};

/* Reads s3://bucket/prefix into the account, without looking anywhere else.
 * 0, or -EINVAL with a sentence. */
int s3_url_read(struct s3_account *a, const char *url, char *why,
		uint32_t why_bytes);

/* Checks the URL of a server.  0, or -EINVAL with a sentence. */
int s3_endpoint_check(const char *endpoint, char *why, uint32_t why_bytes);

/* Makes an account: the URL, and what options, environment and files say.  0,
 * or -errno with a sentence.  Reads files.  Clear it in either case. */
int s3_account_make(struct s3_account *a, const struct s3_options *o,
		    const char *url, char *why, uint32_t why_bytes);

/* Reads the keys again, which somebody renews where they lie.  True if they are
 * other ones. */
bool s3_account_renew(struct s3_account *a, const struct s3_options *o,
		      const char *url);
void s3_account_clear(struct s3_account *a);

/* Writes text as part of a URL (RFC 3986); `slash`: '/' stays.  Returns -E2BIG
 * if it does not fit. */
int s3_escape(char *to, uint32_t bytes, const char *text, bool slash);

#endif
