/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_DISKS_NODE_H
#define SPATE_DAEMON_DISKS_NODE_H

#include <stdint.h>

#include "contract/option.h"

/*
 * A node is a part of a machine's memory that is near to some of its CPUs and
 * cards (NUMA).  Memory on the node of the network card spares each packet a
 * way between processors.
 */
enum { NODE_ANY = -1, NODE_WHY = 160 };

/*
 * What `memory_node` names: a number, an interface, or "auto", which is the
 * node of the interfaces that `listen` names, or, where it names none, of the
 * only node that cards are on.  NODE_ANY with a sentence in `why` where that
 * cannot be told.
 */
int node_find(const char *text, const struct option_texts *listen,
	      unsigned lists, char why[NODE_WHY]);

#endif
