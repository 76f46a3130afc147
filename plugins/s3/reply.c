/* SPDX-License-Identifier: MIT */
#include "reply.h"

#include <errno.h>
#include <expat.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "account.h"

enum { DEEP = 8, NAME = 64, TEXT = 4096 };

struct reading {
	void (*element)(void *arg, const char *around, const char *name,
			const char *text);
	void *arg;
	XML_Parser parser;
	char name[DEEP + 1][NAME]; /* name[0] is "" */
	int deep;
	char text[TEXT];
	size_t n;
	/* Stopped: expat tells of an empty element's end even then. */
	bool over;
};

static void
begins(void *arg, const char *name, const char **attributes)
{
	struct reading *r = arg;

	(void)attributes;
	if (r->deep == DEEP || strlen(name) >= NAME) {
		r->over = true;
		XML_StopParser(r->parser, XML_FALSE);
		return;
	}
	strcpy(r->name[++r->deep], name);
	r->n = 0;
}

static void
ends(void *arg, const char *name)
{
	struct reading *r = arg;

	(void)name;
	if (r->over)
		return;
	r->text[r->n] = '\0';
	r->element(r->arg, r->name[r->deep - 1], r->name[r->deep], r->text);
	r->deep--;
	r->n = 0;
}

/* Longer texts than any that is asked for are cut. */
static void
takes(void *arg, const char *text, int bytes)
{
	struct reading *r = arg;
	size_t n = (size_t)bytes;

	if (n > TEXT - 1 - r->n)
		n = TEXT - 1 - r->n;
	memcpy(r->text + r->n, text, n);
	r->n += n;
}

int
s3_reply_read(const char *xml, size_t bytes,
	      void (*element)(void *arg, const char *around, const char *name,
			      const char *text),
	      void *arg)
{
	struct reading r = { .element = element, .arg = arg };
	int err = 0;

	r.parser = XML_ParserCreate(NULL);
	if (!r.parser)
		return -ENOMEM;
	XML_SetUserData(r.parser, &r);
	XML_SetElementHandler(r.parser, begins, ends);
	XML_SetCharacterDataHandler(r.parser, takes);
	if (XML_Parse(r.parser, xml, (int)bytes, XML_TRUE) != XML_STATUS_OK)
		err = -EBADMSG;
	XML_ParserFree(r.parser);
	return err;
}

/* ---- pages of a list ----------------------------------------------------- */

int
s3_page_query(char *query, size_t bytes, const struct s3_page *page,
	      const char *prefix, bool folders, unsigned most)
{
	char key[3 * S3_KEY], from[3 * sizeof page->token], keys[32] = "";
	int n;

	if (s3_escape(key, sizeof key, prefix, false) ||
	    s3_escape(from, sizeof from, page->token, false))
		return -E2BIG;
	if (most)
		snprintf(keys, sizeof keys, "&max-keys=%u", most);
	/* In the order of the alphabet, in which a signature has them. */
	n = snprintf(query, bytes,
		     "%s%s%s%sencoding-type=url&list-type=2%s&prefix=%s",
		     *from ? "continuation-token=" : "", from, *from ? "&" : "",
		     folders ? "delimiter=%2F&" : "", keys, key);
	return n < (int)bytes ? 0 : -E2BIG;
}

struct paging {
	struct s3_page *page;
	void (*element)(void *arg, const char *around, const char *name,
			const char *text);
	void *arg;
};

static void
page_element(void *arg, const char *around, const char *name, const char *text)
{
	struct paging *r = arg;
	struct s3_page *p = r->page;

	if (!strcmp(name, "NextContinuationToken"))
		p->cut = snprintf(p->token, sizeof p->token, "%s", text) >=
			 (int)sizeof p->token;
	else if (!strcmp(name, "IsTruncated"))
		p->more = !strcmp(text, "true");
	else
		r->element(r->arg, around, name, text);
}

int
s3_page_read(struct s3_page *page, const char *xml, size_t bytes,
	     void (*element)(void *arg, const char *around, const char *name,
			     const char *text),
	     void *arg)
{
	struct paging r = { .page = page, .element = element, .arg = arg };
	char was[sizeof page->token];
	int err;

	strcpy(was, page->token);
	page->more = page->cut = false;
	err = s3_reply_read(xml, bytes, page_element, &r);
	if (!err && page->more && (page->cut || !strcmp(was, page->token)))
		err = -ESPIPE;
	return err;
}
