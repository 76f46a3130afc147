/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_CONF_SETUP_SEND_H
#define SPATE_DAEMON_CONF_SETUP_SEND_H

#include <stdint.h>

#include "base/conf.h"
#include "base/secret.h"
#include "contract/send.h"

/*
 * The configuration of sending: the send plugins that are installed, and the
 * options of each.  Each transfer holds a reference to the object it was begun
 * with, so that the configuration may change meanwhile.  The event loop's
 * thread.
 */
enum { SETUP_SEND_WAYS = 16 };

/* Keys of sending in the file's root; filled by setup_send_options[]. */
struct setup_send_options {
	uint32_t max_sends;
	uint64_t memory;
	const char *rate; /* as text; NULL: SETUP_SEND_USUAL */
	int64_t patience;
	const char *secret_file; /* NULL: none */
};

/* A send plugin with its options. */
struct setup_send_way {
	const struct send_ops *ops;
	void *options;
};

/* Everything about sending, counted by references. */
struct setup_send {
	unsigned holders;
	struct conf *conf; /* held, because the options point into it */
	struct setup_send_options o;
	/* bits per second; SEND_RATE_DATA, SEND_RATE_FREE or
	 * SETUP_SEND_USUAL */
	uint64_t rate;
	struct secret secret;
	struct setup_send_way way[SETUP_SEND_WAYS];
	unsigned ways;
};

/* No rate is configured, so the plugin decides: SEND_RATE_DATA if its receiver
 * cannot slow it down (UDP), else SEND_RATE_FREE. */
#define SETUP_SEND_USUAL (UINT64_MAX - 1)

extern const struct option_key setup_send_options[];

/* Makes *send, with one reference, from the file's root and the `options` read
 * from it; loads all send plugins.  Returns 0, or -errno with a fault. */
int setup_send_make(struct setup_send **send, struct conf *conf,
		    const struct setup_send_options *options,
		    struct fault *fault);
/* Adds a reference and returns `send`. */
struct setup_send *setup_send_hold(struct setup_send *send);
void setup_send_drop(struct setup_send *send); /* NULL: does nothing */

/*
 * Returns the plugin named by the scheme of `url`, or NULL with a fault that
 * lists the plugins there are.
 */
const struct setup_send_way *setup_send_way(const struct setup_send *send,
					    const char *url,
					    struct fault *fault);

/* Reads a rate: "8Gbps", "data" (as fast as the data came) or "free", into the
 * form that sender_rate() takes.  Returns 0 or -EINVAL. */
int setup_send_rate(const char *text, uint64_t *rate);

#endif
