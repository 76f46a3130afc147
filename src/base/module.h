/* SPDX-License-Identifier: MIT */
#ifndef SPATE_BASE_MODULE_H
#define SPATE_BASE_MODULE_H

#include <stddef.h>

#include "base/fault.h"
#include "contract/disk.h"
#include "contract/format.h"
#include "contract/receive.h"
#include "contract/send.h"
#include "contract/write.h"

/*
 * Modules are loaded plugins.  Each is loaded once and stays until the process
 * ends, so the returned ops are valid for ever.
 *
 * The search goes through $SPATE_PLUGINS (folders separated by ':') if it is
 * set; else beside the running program (plugins/.libs, in a build tree); else
 * in the folder of the installation.
 *
 * Each function returns 0, or -errno with a fault that names the file and says
 * what is wrong with it: missing (and which names exist), another ABI number,
 * no such symbol, or which mandatory callback is missing.  Any thread may call;
 * a lock inside protects the list.
 */
int module_receive(const char *name, const struct receive_ops **ops,
		   struct fault *fault);
int module_write(const char *name, const struct write_ops **ops,
		 struct fault *fault);
int module_send(const char *name, const struct send_ops **ops,
		struct fault *fault);
int module_format(const char *name, const struct format_ops **ops,
		  struct fault *fault);
int module_disk(const char *name, const struct disk_ops **ops,
		struct fault *fault);

/*
 * Writes the names of all available plugins of a kind ("receive", "write",
 * "send", "format" or "disk") into `names`, as "direct, null".
 */
void module_names(const char *kind, char *names, size_t bytes);

#endif
