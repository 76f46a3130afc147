/* SPDX-License-Identifier: MIT */
#ifndef SPATE_PLUGINS_S3_REPLY_H
#define SPATE_PLUGINS_S3_REPLY_H

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

#endif
