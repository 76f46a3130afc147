/* SPDX-License-Identifier: MIT */
#include "reply.h"

#include <errno.h>
#include <expat.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

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
	bool over; /* stopped: expat tells of an empty element's end even then */
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
