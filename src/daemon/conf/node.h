/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_CONF_NODE_H
#define SPATE_DAEMON_CONF_NODE_H

#include <stdint.h>

#include "contract/option.h"

/*
 * A NUMA node is a part of the machine's memory that is near to some of its
 * CPUs and cards.  Memory on the network card's node spares each packet a way
 * between processors.
 */
enum { NODE_ANY = -1, NODE_WHY = 160 };

/*
 * Returns the node that `text` (memory_node) names: a number, an interface, or
 * "auto".  "auto" is the node of the interfaces in `listen` (an array of
 * `lists` lists), or, if these name none, the only node with network cards.
 * Returns NODE_ANY with a sentence in `why` if it cannot be told.
 */
int node_find(const char *text, const struct option_texts *listen,
	      unsigned lists, char why[NODE_WHY]);

#endif
