/* SPDX-License-Identifier: MIT */
#ifndef SPATE_BASE_MODULE_H
#define SPATE_BASE_MODULE_H

#include <stddef.h>

#include "base/fault.h"
#include "contract/format.h"
#include "contract/receive.h"
#include "contract/send.h"
#include "contract/write.h"

/*
 * Modules are plugins that were loaded.  Each is loaded once and stays until
 * the process ends, so the ops that are returned are good for ever.
 *
 * They are looked for in $SPATE_PLUGINS (folders, split at ':') if it is
 * set; else beside the running program (plugins/.libs: a build tree); else
 * in the folder of the installation.
 *
 * 0, or -errno with a fault that says which file, and what is wrong with it:
 * not there (and which names are), another ABI number, no such symbol, or
 * the mandatory callback that is missing.  Any thread; a lock inside.
 */
int module_receive(const char *name, const struct receive_ops **ops,
		   struct fault *fault);
int module_write(const char *name, const struct write_ops **ops,
		 struct fault *fault);
int module_send(const char *name, const struct send_ops **ops,
		struct fault *fault);
int module_format(const char *name, const struct format_ops **ops,
		  struct fault *fault);

/* Writes the names of those that there are of a kind ("receive", "write",
 * "send" or "format"), as "direct, null", into `names`. */
void module_names(const char *kind, char *names, size_t bytes);

#endif
