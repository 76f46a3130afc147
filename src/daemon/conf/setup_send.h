/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_CONF_SETUP_SEND_H
#define SPATE_DAEMON_CONF_SETUP_SEND_H

#include <stdint.h>

#include "base/conf.h"
#include "base/secret.h"
#include "contract/send.h"

/*
 * What the configuration says of sending: which plugins there are, and what
 * each was told.  A transfer holds what it was begun with, so that the
 * configuration may change meanwhile.  The event loop's thread.
 */
enum { SETUP_SEND_WAYS = 16 };

struct setup_send_options {
	uint32_t max_sends;
	uint64_t memory;
	const char *rate; /* NULL: SETUP_SEND_USUAL */
	int64_t patience;
	const char *secret_file; /* NULL: none */
};

struct setup_send_way {
	const struct send_ops *ops;
	void *options;
};

struct setup_send {
	unsigned holders;
	struct conf *conf; /* held: options point into it */
	struct setup_send_options o;
	uint64_t rate; /* of `rate`, as sender_rate() has it, or */
	struct secret secret;
	struct setup_send_way way[SETUP_SEND_WAYS];
	unsigned ways;
};

/* Another rate: by the plugin, SEND_RATE_DATA of one whose receiver cannot
 * make it wait, and SEND_RATE_FREE of others. */
#define SETUP_SEND_USUAL (UINT64_MAX - 1)

extern const struct option setup_send_options[];

/* Of the file's root: `options` were filled from it.  0 or -errno with a
 * fault. */
int setup_send_make(struct setup_send **send, struct conf *conf,
		    const struct setup_send_options *options,
		    struct fault *fault);
struct setup_send *setup_send_hold(struct setup_send *send);
void setup_send_drop(struct setup_send *send); /* NULL: nothing */

/*
 * The plugin of a URL, which is its scheme.  NULL with a fault.  With the
 * others there are, for who asks for one that is not.
 */
const struct setup_send_way *setup_send_way(const struct setup_send *send,
					    const char *url,
					    struct fault *fault);

/* "8Gbps", "data" (as fast as it came), "free"; as sender_rate() has it.  0
 * or -EINVAL. */
int setup_send_rate(const char *text, uint64_t *rate);

#endif
