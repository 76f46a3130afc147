/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_CONF_STREAM_VARY_H
#define SPATE_DAEMON_CONF_STREAM_VARY_H

#include "daemon/conf/stream.h"

/*
 * A stream as the configuration has it, but for a few keys: what the one who
 * orders a recording knows better.  It is a configuration of its own, made of
 * text, so that it is read and checked like any other.
 */
enum { STREAM_VARY_LISTEN = 64 };

struct stream_vary {
	const char *name;   /* NULL: the stream's */
	const char *format; /* NULL: the stream's */
	bool tcp;	    /* received with TCP, as plain bytes */
	const struct option_texts *allow; /* with tcp: who may send; or NULL */
	uint32_t payload;		  /* 0: the stream's */
	int legacy;	    /* VDIF headers of 16 bytes; -1: as it is */
	int prefix;	    /* -1: the stream's */
	uint64_t buffer;    /* of sockets, at least; 0: the stream's */
	const char *layout; /* NULL: the stream's */
	bool by_thread;	    /* split = "thread" */
	char (*listen)[128];
	unsigned listens; /* 0: the stream's */
};

/*
 * The text of a stream like `s`, malloc'ed; `*text` NULL: nothing differs, so
 * `s` itself will do.  What makes no sense any more is left out: with another
 * format, say, its keys.  0 or -errno with a fault.
 */
int stream_vary_text(char **text, const struct stream *s,
		     const struct stream_vary *v, struct fault *fault);

/* Such a stream, which the caller holds; or -errno with a fault. */
int stream_vary_make(struct stream **stream, const char *text, unsigned disks,
		     struct fault *fault);

/* The host and port of an entry of `listen`: "eth2@0.0.0.0:46227" has host
 * "eth2@0.0.0.0".  The port, 0: it has none. */
uint16_t stream_vary_port(const char *listen, size_t *host);

#endif
