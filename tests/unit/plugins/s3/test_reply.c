/* SPDX-License-Identifier: MIT */
/* The XML of S3, good and bad. */
#include "s3/account.c"
#include "s3/reply.c"

#include "lib/suite.h"

static char seen[4096];

static void
tell(void *arg, const char *around, const char *name, const char *text)
{
	size_t n = strlen(seen);

	ck_assert_ptr_eq(arg, seen);
	snprintf(seen + n, sizeof seen - n, "%s/%s=%.20s;", around, name, text);
}

static int
read_all(const char *xml)
{
	seen[0] = '\0';
	return s3_reply_read(xml, strlen(xml), tell, seen);
}

START_TEST(elements_are_told)
{
	ck_assert_int_eq(
	    read_all("<?xml version=\"1.0\"?>\n<R xmlns=\"http://x/\"><C><Key>"
		     "a&amp;b%2B</Key><Size>12</Size></C><T/></R>"),
	    0);
	ck_assert_str_eq(seen, "C/Key=a&b%2B;C/Size=12;R/C=;R/T=;/R=;");
}
END_TEST

START_TEST(rubbish_is_refused)
{
	char text[3 * TEXT];

	ck_assert_int_eq(read_all(""), -EBADMSG);
	ck_assert_int_eq(read_all("<html><body>Bad gateway"), -EBADMSG);
	ck_assert_int_eq(read_all("{\"json\":1}"), -EBADMSG);
	ck_assert_int_eq(
	    read_all("<a><a><a><a><a><a><a><a><a/></a></a></a></a></a>"
		     "</a></a></a>"),
	    -EBADMSG);
	ck_assert_str_eq(seen, "");
	/* expat tells of an empty element's end, though its begin stopped it. */
	text[0] = '<';
	memset(text + 1, 'a', NAME);
	strcpy(text + 1 + NAME, "/>");
	ck_assert_int_eq(read_all(text), -EBADMSG);
	ck_assert_str_eq(seen, "");
	/* A text that is too long is cut. */
	strcpy(text, "<R>");
	memset(text + 3, 'x', 2 * TEXT);
	strcpy(text + 3 + 2 * TEXT, "</R>");
	ck_assert_int_eq(read_all(text), 0);
	ck_assert_str_eq(seen, "/R=xxxxxxxxxxxxxxxxxxxx;");
}
END_TEST

START_TEST(pages_follow_each_other)
{
	struct s3_page page = { 0 };
	char query[S3_URL], xml[3000];

	ck_assert_int_eq(
	    s3_page_query(query, sizeof query, &page, "a/b", true, 2), 0);
	ck_assert_str_eq(query, "delimiter=%2F&encoding-type=url&list-type=2&"
				"max-keys=2&prefix=a%2Fb");
	ck_assert_int_eq(s3_page_query(query, 60, &page, "a/b", true, 2),
			 -E2BIG);
	strcpy(xml, "<L><IsTruncated>true</IsTruncated><K>k</K>"
		    "<NextContinuationToken>t=</NextContinuationToken></L>");
	seen[0] = '\0';
	ck_assert_int_eq(s3_page_read(&page, xml, strlen(xml), tell, seen), 0);
	ck_assert_str_eq(seen, "L/K=k;/L=;");
	ck_assert(page.more);
	ck_assert_int_eq(
	    s3_page_query(query, sizeof query, &page, "", false, 0), 0);
	ck_assert_str_eq(query, "continuation-token=t%3D&encoding-type=url&"
				"list-type=2&prefix=");
	/* The same again, none, or one that is too long: it would never end. */
	ck_assert_int_eq(s3_page_read(&page, xml, strlen(xml), tell, seen),
			 -ESPIPE);
	strcpy(xml, "<L><IsTruncated>true</IsTruncated></L>");
	ck_assert_int_eq(s3_page_read(&page, xml, strlen(xml), tell, seen),
			 -ESPIPE);
	snprintf(xml, sizeof xml,
		 "<L><IsTruncated>true</IsTruncated><NextContinuationToken>"
		 "%02500d</NextContinuationToken></L>",
		 7);
	ck_assert_int_eq(s3_page_read(&page, xml, strlen(xml), tell, seen),
			 -ESPIPE);
	strcpy(xml, "<L><IsTruncated>false</IsTruncated></L>");
	ck_assert_int_eq(s3_page_read(&page, xml, strlen(xml), tell, seen), 0);
	ck_assert(!page.more);
}
END_TEST

SUITE("reply", elements_are_told, rubbish_is_refused, pages_follow_each_other)
