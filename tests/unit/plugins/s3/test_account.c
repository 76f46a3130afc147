/* SPDX-License-Identifier: MIT */
/* Where a bucket is and which keys sign for it: URLs, environment, files. */
#include "s3/account.c"

#include "lib/suite.h"

static char why[320];
static struct s3_account a;

static void
environment_clear(void)
{
	static const char *const names[] = {
		"AWS_ACCESS_KEY_ID",
		"AWS_SECRET_ACCESS_KEY",
		"AWS_SESSION_TOKEN",
		"AWS_PROFILE",
		"AWS_SHARED_CREDENTIALS_FILE",
		"AWS_CONFIG_FILE",
		"AWS_REGION",
		"AWS_DEFAULT_REGION",
		"AWS_ENDPOINT_URL",
		"AWS_ENDPOINT_URL_S3",
		"AWS_CA_BUNDLE",
	};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		unsetenv(names[i]);
	setenv("HOME", "/nonexistent", 1);
}

static void
check_url(const char *url, const char *bucket, const char *prefix)
{
	ck_assert_msg(!s3_url_read(&a, url, why, sizeof why), "%s", why);
	ck_assert_str_eq(a.bucket, bucket);
	ck_assert_str_eq(a.prefix, prefix);
}

START_TEST(urls_are_read)
{
	static const char *const bad[] = {
		"s3://",	   "s3:///x",
		"s3://ab",	   "s3://a b/x",
		"s3://bucket/x?y", "s3://.bucket",
		"http://bucket",   "s3://user:word@bucket/x"
	};

	check_url("s3://bucket", "bucket", "");
	check_url("s3://bucket/", "bucket", "");
	check_url("s3://bu.ck-et/a", "bu.ck-et", "a/");
	check_url("s3://bucket//a/b//", "bucket", "a/b/");
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ck_assert_msg(s3_url_read(&a, bad[i], why, sizeof why) ==
				  -EINVAL,
			      "%s is no bucket", bad[i]);
}
END_TEST

START_TEST(endpoints_are_urls)
{
	static const char *const bad[] = { "minio:9000",   "htp://minio",
					   "http://",	   "https:///x",
					   "http://:9000", "https://me:word@x",
					   "httpx://minio" };

	ck_assert_int_eq(
	    s3_endpoint_check("http://minio:9000", why, sizeof why), 0);
	ck_assert_int_eq(s3_endpoint_check("https://s3.x/", why, sizeof why),
			 0);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ck_assert_msg(s3_endpoint_check(bad[i], why, sizeof why) ==
				  -EINVAL,
			      "%s is no URL", bad[i]);
}
END_TEST

START_TEST(text_is_escaped)
{
	char to[32];

	ck_assert_int_eq(s3_escape(to, sizeof to, "a/b+c d~", true), 0);
	ck_assert_str_eq(to, "a/b%2Bc%20d~");
	ck_assert_int_eq(s3_escape(to, sizeof to, "a/\xc3\xa4", false), 0);
	ck_assert_str_eq(to, "a%2F%C3%A4");
	ck_assert_int_eq(s3_escape(to, 6, "++", false), -E2BIG);
}
END_TEST

static void
file_write(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	fclose(file);
}

/* Checks the account that these options make. */
static void
check_account(const struct s3_options *o, const char *key, const char *secret,
	      const char *token, const char *region, const char *base)
{
	int err = s3_account_make(&a, o, "s3://bucket/x", why, sizeof why);

	ck_assert_msg(!err, "%s", why);
	ck_assert_str_eq(a.key, key);
	ck_assert_str_eq(a.secret, secret);
	ck_assert_str_eq(a.token, token);
	ck_assert_str_eq(a.region, region);
	ck_assert_str_eq(a.base, base);
}

START_TEST(keys_are_found)
{
	char folder[] = "/tmp/spate-unit-XXXXXX", path[64], other[64];
	char token[5000] = "", line[5100];
	struct s3_options o = { .style = "auto" };

	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/credentials", folder);
	snprintf(other, sizeof other, "%s/config", folder);
	environment_clear();
	ck_assert_int_eq(
	    s3_account_make(&a, &o, "s3://bucket/x", why, sizeof why), -EACCES);
	ck_assert_ptr_nonnull(strstr(why, "AWS_ACCESS_KEY_ID"));
	ck_assert_ptr_nonnull(strstr(why, "/nonexistent/.aws/credentials"));
	o.credentials_file = "/nope";
	ck_assert_int_eq(
	    s3_account_make(&a, &o, "s3://bucket/x", why, sizeof why), -ENOENT);
	ck_assert_str_eq(why, "credentials_file /nope cannot be read: No such "
			      "file or directory");
	o.credentials_file = NULL;

	/* A token that is cut would look like a wrong key. */
	memset(token, 'x', sizeof token - 1);
	setenv("AWS_ACCESS_KEY_ID", "K", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "S", 1);
	setenv("AWS_SESSION_TOKEN", token, 1);
	ck_assert_int_eq(
	    s3_account_make(&a, &o, "s3://bucket/x", why, sizeof why), -E2BIG);
	ck_assert_ptr_nonnull(strstr(why, "too long"));
	environment_clear();
	snprintf(line, sizeof line, "[default]\naws_session_token=%s\n", token);
	file_write(path, line);
	o.credentials_file = path;
	ck_assert_int_eq(
	    s3_account_make(&a, &o, "s3://bucket/x", why, sizeof why), -E2BIG);
	ck_assert_ptr_nonnull(strstr(why, "has a value that is too long"));
	o.credentials_file = NULL;

	file_write(path, "# comment\n"
			 "[default]\r\n"
			 "aws_access_key_id = K1\r\n"
			 "aws_secret_access_key=S1==\r\n"
			 "[ station ]\n"
			 "aws_access_key_id=K2\n"
			 "aws_secret_access_key = S2\n"
			 "aws_session_token = T2\n"
			 "[default]\n"
			 "aws_access_key_id = K9\n");
	file_write(other, "[default]\nregion=eu-central-1\n"
			  "[profile station]\nregion = sa-east-1\n"
			  "endpoint_url = http://10.0.0.1:9000/\n");
	setenv("AWS_SHARED_CREDENTIALS_FILE", path, 1);
	setenv("AWS_CONFIG_FILE", other, 1);
	check_account(&o, "K1", "S1==", "", "eu-central-1",
		      "https://bucket.s3.eu-central-1.amazonaws.com/");
	setenv("AWS_PROFILE", "station", 1);
	check_account(&o, "K2", "S2", "T2", "sa-east-1",
		      "http://10.0.0.1:9000/bucket/");
	o.profile = "default";
	o.region = "us-west-2";
	o.endpoint = "https://minio";
	check_account(&o, "K1", "S1==", "", "us-west-2",
		      "https://minio/bucket/");
	o.style = "host";
	check_account(&o, "K1", "S1==", "", "us-west-2",
		      "https://bucket.minio/");

	/* Keys of the environment are not mixed with a file's token, and give
	 * way to a profile that was asked for. */
	setenv("AWS_ACCESS_KEY_ID", "K3", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "S3", 1);
	check_account(&o, "K1", "S1==", "", "us-west-2",
		      "https://bucket.minio/");
	o = (struct s3_options){ 0 };
	check_account(&o, "K3", "S3", "", "sa-east-1",
		      "http://10.0.0.1:9000/bucket/");
	s3_account_clear(&a);
	ck_assert_str_eq(a.secret, "");
	unlink(path);
	unlink(other);
	rmdir(folder);
}
END_TEST

START_TEST(an_endpoint_has_no_password)
{
	static const char *const bad[] = { "http://user:word@minio:9000",
					   "user:word@minio" };
	struct s3_options o = { .style = "auto" };

	environment_clear();
	setenv("AWS_ACCESS_KEY_ID", "K", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "S", 1);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		o.endpoint = bad[i];
		ck_assert_int_eq(
		    s3_account_make(&a, &o, "s3://bucket/x", why, sizeof why),
		    -EINVAL);
		ck_assert_ptr_nonnull(strstr(why, "'@'"));
		ck_assert_ptr_null(strstr(why, "word"));
	}
}
END_TEST

SUITE("account", an_endpoint_has_no_password, endpoints_are_urls, urls_are_read,
      text_is_escaped, keys_are_found)
