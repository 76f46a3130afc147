/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CONTROL_WEB_CONF_H
#define SPATE_CONTROL_WEB_CONF_H

#include "base/conf.h"

/*
 * The group `web` of the configuration: spated checks it, spate-web does what it
 * says.  Without the group spate-web listens on loopback.
 */
struct web_conf {
	struct option_texts listen, allow, hosts;
};

extern const struct option_key web_conf_options[];

/*
 * Reads and checks the group, or sets the defaults where there is none.  The
 * struct must not be moved afterwards.  0, or -errno with a fault.
 */
int web_conf_read(struct web_conf *c, struct conf *conf, struct fault *fault);

#endif
