/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_CONF_STREAM_VARY_H
#define SPATE_DAEMON_CONF_STREAM_VARY_H

#include <jansson.h>

#include "daemon/conf/stream.h"

/*
 * A stream like a configured one except for a few keys, for a recording ordered
 * with values of its own (as over VSI-S).  It is written as the text of a
 * configuration, so that it is read and checked like any other.
 */

/* The keys that may differ; all texts and lists are borrowed. */
struct stream_vary {
	const char *name;    /* NULL: unchanged */
	const char *format;  /* NULL: unchanged */
	bool tcp;	     /* received with TCP, as a plain byte stream */
	const json_t *allow; /* networks that may send with `tcp`; or NULL */
	uint32_t payload;    /* bytes; 0: unchanged */
	int legacy; /* VDIF legacy headers, of 16 bytes: 0, 1; -1: unchanged */
	int prefix; /* bytes; -1: unchanged */
	uint64_t buffer;      /* least socket buffer in bytes; 0: unchanged */
	const char *layout;   /* NULL: unchanged */
	bool by_thread;	      /* true: split = "thread" */
	const json_t *listen; /* NULL or empty: unchanged */
};

/* Reads VARY of a request (requests/verbs.h); the texts point into it.  Returns
 * 0, or -errno with a fault. */
int stream_vary_read(struct stream_vary *v, const json_t *request,
		     struct fault *fault);

/*
 * Writes the text of a stream like `s` into *text, malloc'ed; NULL if nothing
 * differs, so that `s` itself will do.  Keys that make no sense after a change
 * are left out, such as the format's keys with another format.  Returns 0, or
 * -errno with a fault.
 */
int stream_vary_text(char **text, const struct stream *s,
		     const struct stream_vary *v, struct fault *fault);

/* Makes the stream of such a text, with one reference.  Returns 0, or -errno
 * with a fault. */
int stream_vary_make(struct stream **stream, const char *text, unsigned disks,
		     struct fault *fault);

#endif
