/* SPDX-License-Identifier: MIT */
/*
 * The configuration of spate comes first, then the environment, then
 * the files of AWS: so a station that has a profile for this purpose is not
 * confused by what somebody's shell had exported when the daemon began.
 *
 * Keys of an instance's metadata service, of web identities and of other
 * programs (credential_process) are not looked for: a recorder is no instance.
 */
#include "account.h"

#include <errno.h>
#include <pwd.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AT(member) offsetof(struct s3_options, member)

const struct option_key s3_options[] = {
	{ .name = "endpoint",
	  .type = OPTION_TEXT,
	  .offset = AT(endpoint),
	  .help = "URL of a server that is not Amazon's, as "
		  "http://minio:9000; else AWS_ENDPOINT_URL or a file of AWS "
		  "says it" },
	{ .name = "region",
	  .type = OPTION_TEXT,
	  .offset = AT(region),
	  .help = "region of the bucket; else AWS_REGION or a file of AWS says "
		  "it, else it is us-east-1" },
	{ .name = "profile",
	  .type = OPTION_TEXT,
	  .offset = AT(profile),
	  .help = "part of the files of AWS that has the keys; else "
		  "AWS_PROFILE, else default" },
	{ .name = "credentials_file",
	  .type = OPTION_TEXT,
	  .offset = AT(credentials_file),
	  .help = "file with the keys, as ~/.aws/credentials" },
	{ .name = "style",
	  .type = OPTION_CHOICE,
	  .offset = AT(style),
	  .choices = "auto|path|host",
	  .fallback = "auto",
	  .help = "where the bucket stands in a URL: in the path, or in the "
		  "host's name; auto: host for Amazon, else path" },
	{ .name = "part",
	  .type = OPTION_BYTES,
	  .offset = AT(part),
	  .fallback = "64M",
	  .min = 5 << 20,
	  .max = 1 << 30,
	  .help = "longer files are sent in parts of this size, of which each "
		  "connection keeps one in memory" },
	{ .name = "ca_file",
	  .type = OPTION_TEXT,
	  .offset = AT(ca_file),
	  .help = "certificates of the authorities that https trusts, instead "
		  "of the system's" },
	{ .name = NULL },
};

/* ---- URLs ------------------------------------------------------------ */

#define UNRESERVED                                                             \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"

int
s3_escape(char *to, uint32_t bytes, const char *text, bool slash)
{
	uint32_t n = 0;

	for (; *text; text++) {
		bool plain =
		    strchr(UNRESERVED, *text) || (slash && *text == '/');

		if (n + 4 > bytes)
			return -E2BIG;
		n += (uint32_t)snprintf(to + n, bytes - n,
					plain ? "%c" : "%%%02X",
					(unsigned char)*text);
	}
	to[n] = '\0';
	return 0;
}

/* True if a bucket may have this name; others would not survive a URL. */
static bool
bucket_good(const char *name, size_t n)
{
	return n >= 3 && n < 64 && name[0] != '.' && name[0] != '-' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789.-"
			    "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") >= n;
}

int
s3_url_read(struct s3_account *a, const char *url, char *why,
	    uint32_t why_bytes)
{
	const char *bucket = url + strlen("s3://"), *prefix;
	size_t n, tail;

	*a = (struct s3_account){ 0 };
	if (strncmp(url, "s3://", strlen("s3://")) != 0)
		goto bad;
	n = strcspn(bucket, "/");
	prefix = bucket + n + strspn(bucket + n, "/");
	tail = strlen(prefix);
	while (tail && prefix[tail - 1] == '/')
		tail--;
	if (!bucket_good(bucket, n) || tail + 2 > sizeof a->prefix ||
	    strchr(prefix, '?') || strchr(prefix, '#'))
		goto bad;
	snprintf(a->bucket, sizeof a->bucket, "%.*s", (int)n, bucket);
	snprintf(a->prefix, sizeof a->prefix, "%.*s%s", (int)tail, prefix,
		 tail ? "/" : "");
	return 0;
bad:
	snprintf(why, why_bytes,
		 "'%.200s' names no bucket, as s3://bucket or "
		 "s3://bucket/prefix do",
		 url);
	return -EINVAL;
}

/* ---- the files of AWS ------------------------------------------------- */

struct s3_wanted { /* a key of a file, and where its value goes, if it is "" */
	const char *name;
	char *to;
	size_t bytes;
};

/* Copies a value that nothing came before.  -E2BIG: there is no room for it. */
static int
take(char *to, size_t bytes, const char *text)
{
	if (*to || !text)
		return 0;
	if (strlen(text) >= bytes)
		return -E2BIG;
	strcpy(to, text);
	return 0;
}

static char *
trimmed(char *text)
{
	size_t n;

	text += strspn(text, " \t");
	n = strlen(text);
	while (n && strchr(" \t\r\n", text[n - 1]))
		text[--n] = '\0';
	return text;
}

/* True if a line is the head of this part: "[name]", "[profile name]". */
static bool
is_part(char *line, const char *profile)
{
	char *name = line + 1, *end = strchr(line, ']');

	if (end)
		*end = '\0';
	name = trimmed(name);
	if (!strncmp(name, "profile ", strlen("profile ")))
		name = trimmed(name + strlen("profile "));
	return !strcmp(name, profile);
}

static int
line_take(char *line, const struct s3_wanted *wanted)
{
	char *value = strchr(line, '='), *name;
	int err = 0;

	if (!value)
		return 0;
	*value++ = '\0';
	name = trimmed(line);
	value = trimmed(value);
	for (; wanted->name && !err; wanted++) {
		if (!strcmp(wanted->name, name))
			err = take(wanted->to, wanted->bytes, value);
	}
	return err;
}

/* Reads what is wanted from the part of this name.  0, also if the file does
 * not exist, or -errno. */
static int
file_read(const char *path, const char *profile, const struct s3_wanted *wanted)
{
	FILE *file = fopen(path, "re");
	char line[8192], *text;
	bool ours = false;
	int err = 0;

	if (!file)
		return errno == ENOENT ? 0 : -errno;
	while (!err && fgets(line, sizeof line, file)) {
		text = trimmed(line);
		if (*text == '[')
			ours = is_part(text, profile);
		else if (ours && *text != '#' && *text != ';')
			err = line_take(text, wanted);
	}
	explicit_bzero(line, sizeof line);
	fclose(file);
	return err;
}

/* Returns the path of a file of AWS; `told` and the variable come first. */
static const char *
path_of(char *path, size_t bytes, const char *told, const char *variable,
	const char *name)
{
	const char *home = getenv("HOME");
	struct passwd user, *is = NULL;
	char text[4096];

	if (!told)
		told = getenv(variable);
	if (told && *told) {
		snprintf(path, bytes, "%s", told);
		return path;
	}
	if (!home || !*home) {
		getpwuid_r(getuid(), &user, text, sizeof text, &is);
		home = is ? is->pw_dir : "";
	}
	snprintf(path, bytes, "%s/.aws/%s", home, name);
	return path;
}

/* Says why a file of AWS cannot be used.  Returns the error. */
static int
file_trouble(char *why, uint32_t why_bytes, const char *what, const char *path,
	     int err)
{
	if (err == -E2BIG)
		snprintf(why, why_bytes,
			 "%s%.200s has a value that is too long", what, path);
	else
		snprintf(why, why_bytes, "%s%.200s cannot be read: %s", what,
			 path, strerror(-err));
	return err;
}

/* ---- the account ------------------------------------------------------ */

static int
keys_read(struct s3_account *a, const struct s3_options *o, char *endpoint,
	  size_t endpoint_bytes, char *why, uint32_t why_bytes)
{
	const struct s3_wanted wanted[] = {
		{ "aws_access_key_id", a->key, sizeof a->key },
		{ "aws_secret_access_key", a->secret, sizeof a->secret },
		{ "aws_session_token", a->token, sizeof a->token },
		{ "region", a->region, sizeof a->region },
		{ "endpoint_url", endpoint, endpoint_bytes },
		{ NULL, NULL, 0 },
	};
	const char *profile = o->profile ? o->profile : getenv("AWS_PROFILE");
	char path[1024], config[1024];
	bool ours = o->profile || o->credentials_file;
	int err = 0;

	if (!profile || !*profile)
		profile = "default";
	if (!ours && getenv("AWS_ACCESS_KEY_ID") &&
	    getenv("AWS_SECRET_ACCESS_KEY")) {
		err = take(a->key, sizeof a->key, getenv("AWS_ACCESS_KEY_ID"));
		if (!err)
			err = take(a->secret, sizeof a->secret,
				   getenv("AWS_SECRET_ACCESS_KEY"));
		if (!err)
			err = take(a->token, sizeof a->token,
				   getenv("AWS_SESSION_TOKEN"));
	}
	if (err) {
		snprintf(why, why_bytes,
			 "the keys in AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY "
			 "and AWS_SESSION_TOKEN are too long");
		return err;
	}
	/* Keys of the environment: files give only region and endpoint. */
	path_of(path, sizeof path, o->credentials_file,
		"AWS_SHARED_CREDENTIALS_FILE", "credentials");
	path_of(config, sizeof config, NULL, "AWS_CONFIG_FILE", "config");
	err = o->credentials_file && access(path, F_OK) < 0
		  ? -errno
		  : file_read(path, profile, *a->key ? wanted + 3 : wanted);
	if (err)
		return file_trouble(
		    why, why_bytes,
		    o->credentials_file ? "credentials_file " : "", path, err);
	err = file_read(config, profile, *a->key ? wanted + 3 : wanted);
	if (err)
		return file_trouble(why, why_bytes, "", config, err);
	if (*a->key && *a->secret)
		return 0;
	snprintf(why, why_bytes,
		 "there are no keys for s3://%s: neither AWS_ACCESS_KEY_ID and "
		 "AWS_SECRET_ACCESS_KEY nor [%.40s] in %.120s",
		 a->bucket, profile, path);
	return -EACCES;
}

int
s3_endpoint_check(const char *endpoint, char *why, uint32_t why_bytes)
{
	const char *host = NULL;

	if (!strncmp(endpoint, "http://", strlen("http://")))
		host = endpoint + strlen("http://");
	else if (!strncmp(endpoint, "https://", strlen("https://")))
		host = endpoint + strlen("https://");
	/* Endpoints are in sentences and facts, where no password may be. */
	if (strchr(endpoint, '@'))
		snprintf(why, why_bytes,
			 "the endpoint has a user's name in it ('@'): keys "
			 "belong into ~/.aws/credentials");
	else if (!host || !*host || strchr("/?#:", *host))
		snprintf(
		    why, why_bytes,
		    "the endpoint '%.200s' is no URL, as http://minio:9000",
		    endpoint);
	else
		return 0;
	return -EINVAL;
}

/* Makes the URL of the bucket.  Amazon wants it in the host's name, where its
 * certificates know no further dots; other servers mostly have no such names.
 */
static int
base_make(struct s3_account *a, const struct s3_options *o, char *endpoint,
	  size_t endpoint_bytes, char *why, uint32_t why_bytes)
{
	bool amazon = !*endpoint, host;
	char *at;
	int n;

	if (amazon)
		snprintf(endpoint, endpoint_bytes,
			 "https://s3.%s.amazonaws.com", a->region);
	if (s3_endpoint_check(endpoint, why, why_bytes))
		return -EINVAL;
	at = strstr(endpoint, "://");
	*at = '\0';
	at += strlen("://");
	at[strcspn(at, "/?#")] = '\0';
	host = amazon && !strchr(a->bucket, '.');
	if (o->style && strcmp(o->style, "auto") != 0)
		host = !strcmp(o->style, "host");
	snprintf(a->host, sizeof a->host, "%s", at);
	if (host)
		n = snprintf(a->base, sizeof a->base, "%s://%s.%s/", endpoint,
			     a->bucket, at);
	else
		n = snprintf(a->base, sizeof a->base, "%s://%s/%s/", endpoint,
			     at, a->bucket);
	return n < (int)sizeof a->base ? 0 : -E2BIG;
}

int
s3_account_make(struct s3_account *a, const struct s3_options *o,
		const char *url, char *why, uint32_t why_bytes)
{
	char endpoint[300] = "";
	int err = s3_url_read(a, url, why, why_bytes);

	if (err)
		return err;
	take(a->region, sizeof a->region, o->region);
	take(a->region, sizeof a->region, getenv("AWS_REGION"));
	take(a->region, sizeof a->region, getenv("AWS_DEFAULT_REGION"));
	take(endpoint, sizeof endpoint, o->endpoint);
	take(endpoint, sizeof endpoint, getenv("AWS_ENDPOINT_URL_S3"));
	take(endpoint, sizeof endpoint, getenv("AWS_ENDPOINT_URL"));
	take(a->ca_file, sizeof a->ca_file, o->ca_file);
	take(a->ca_file, sizeof a->ca_file, getenv("AWS_CA_BUNDLE"));
	err = keys_read(a, o, endpoint, sizeof endpoint, why, why_bytes);
	if (err)
		return err;
	take(a->region, sizeof a->region, "us-east-1");
	return base_make(a, o, endpoint, sizeof endpoint, why, why_bytes);
}

bool
s3_account_renew(struct s3_account *a, const struct s3_options *o,
		 const char *url)
{
	struct s3_account now = { 0 };
	char why[320];
	bool other = !s3_account_make(&now, o, url, why, sizeof why) &&
		     strcmp(now.key, a->key) != 0;

	if (other) {
		strcpy(a->key, now.key);
		strcpy(a->secret, now.secret);
		strcpy(a->token, now.token);
	}
	s3_account_clear(&now);
	return other;
}

void
s3_account_clear(struct s3_account *a)
{
	explicit_bzero(a, sizeof *a);
}
