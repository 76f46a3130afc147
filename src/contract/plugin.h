/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CONTRACT_PLUGIN_H
#define SPATE_CONTRACT_PLUGIN_H

#include <stdint.h>

#include "contract/log.h"
#include "contract/option.h"

/*
 * A plugin is a shared object that exports one constant struct of callbacks,
 * named after its kind: spate_receive, spate_write, spate_send or spate_format,
 * of type struct receive_ops, write_ops, send_ops or format_ops.
 *
 * Every such struct begins with a struct plugin.  The loader refuses another
 * ABI number, copies the `bytes` that the plugin declares and zeroes the rest,
 * so that structs may grow at their end without a new number.  It names every
 * mandatory callback that is missing.
 *
 * The file is <kind>-<name>.so in $pkglibdir/plugins.  A plugin includes no
 * header of spate's core but those of src/contract (the bundled ones share
 * src/net and src/wire too), and gets what it needs of the core as a struct
 * host.  It starts no threads, but for a disk plugin, which has locks to renew.
 */
#define SPATE_ABI 1

struct plugin {
	uint32_t abi;	  /* SPATE_ABI */
	uint32_t bytes;	  /* sizeof the struct that this one begins */
	const char *name; /* name in the file name and in the configuration */
	const char *help; /* one line for users */
	const struct option_key *options; /* NULL: none */
	uint32_t options_bytes; /* sizeof the struct that the table fills */
	uint32_t flags;		/* flags of the plugin's kind, such as
				 * SEND_TIMED */
};

#define SPATE_PLUGIN __attribute__((visibility("default"), used))

#endif
