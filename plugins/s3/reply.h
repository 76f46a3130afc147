/* SPDX-License-Identifier: MIT */
#ifndef SPATE_PLUGINS_S3_REPLY_H
#define SPATE_PLUGINS_S3_REPLY_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A reply of S3 is XML.  All that is asked of one are the texts of its
 * elements: `element` is called at the end of each, in the order in which they
 * end, with the name of the element around it ("": none).
 *
 * Returns 0, or -EBADMSG if it is no XML, or nested deeper than any reply.
 */
int s3_reply_read(const char *xml, size_t bytes,
		  void (*element)(void *arg, const char *around,
				  const char *name, const char *text),
		  void *arg);

/* A list of a bucket's keys comes in pages. */
struct s3_page {
	char token[2048]; /* of the page to ask for; "": of the first one */
	bool more;	  /* a page follows the one that was read */
	bool cut;	  /* its token is longer than there is room */
};

/* Writes the query for a page of the keys with this prefix; `folders`: those
 * with a '/' behind it count as one; `most` keys, 0: as many as fit.  0 or
 * -E2BIG. */
int s3_page_query(char *query, size_t bytes, const struct s3_page *page,
		  const char *prefix, bool folders, unsigned most);

/* Reads a page as s3_reply_read() does, and where the next one begins.  Also
 * -ESPIPE: one follows, and it does not say where that begins. */
int s3_page_read(struct s3_page *page, const char *xml, size_t bytes,
		 void (*element)(void *arg, const char *around,
				 const char *name, const char *text),
		 void *arg);

#endif
