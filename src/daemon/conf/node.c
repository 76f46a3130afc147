/* SPDX-License-Identifier: MIT */
/*
 * sysfs has the node of each card in /sys/class/net/eth2/device/numa_node; it
 * is -1 on machines with one node.  Interfaces without a card, such as a bridge
 * or the loopback, have no such file.
 */
#include "daemon/conf/node.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *net = "/sys/class/net"; /* a variable for tests */

enum { DEVICE = 16, NONE = -2 };

/* Returns the node of an interface; NODE_ANY: the machine has only one; NONE:
 * not a network card. */
static int
device_node(const char *device)
{
	char path[300];
	int node = NONE;
	FILE *f;

	snprintf(path, sizeof path, "%s/%.15s/device/numa_node", net, device);
	f = fopen(path, "re");
	if (!f)
		return NONE;
	if (fscanf(f, "%d", &node) != 1)
		node = NONE;
	fclose(f);
	return node;
}

/* Adds a node to the common one, *all.  Returns false if it differs. */
static bool
agree(int *all, int node)
{
	if (node == NONE)
		return true;
	if (*all == NONE)
		*all = node;
	return *all == node;
}

/* Takes the interface from "eth2@0.0.0.0:46227"; false: none is named. */
static bool
listen_device(const char *listen, char device[DEVICE])
{
	const char *at = strchr(listen, '@');
	size_t n = at ? (size_t)(at - listen) : 0;

	if (!n || n >= DEVICE)
		return false;
	memcpy(device, listen, n);
	device[n] = 0;
	return true;
}

static bool
listens_agree(const struct option_texts *listen, unsigned lists, int *node)
{
	char device[DEVICE];

	for (unsigned i = 0; i < lists; i++)
		for (unsigned k = 0; k < listen[i].n; k++)
			if (listen_device(listen[i].text[k], device) &&
			    !agree(node, device_node(device)))
				return false;
	return true;
}

static bool
cards_agree(int *node)
{
	DIR *dir = opendir(net);
	struct dirent *e;
	bool same = true;

	while (dir && same && (e = readdir(dir)))
		if (e->d_name[0] != '.')
			same = agree(node, device_node(e->d_name));
	if (dir)
		closedir(dir);
	return same;
}

static int
auto_find(const struct option_texts *listen, unsigned lists, char why[NODE_WHY])
{
	int node = NONE;

	if (!listens_agree(listen, lists, &node) ||
	    (node == NONE && !cards_agree(&node))) {
		snprintf(why, NODE_WHY,
			 "network cards are on several nodes; name the "
			 "interface, or the number of one");
		return NODE_ANY;
	}
	if (node < 0)
		snprintf(why, NODE_WHY, "no network card says which is its");
	return node < 0 ? NODE_ANY : node;
}

int
node_find(const char *text, const struct option_texts *listen, unsigned lists,
	  char why[NODE_WHY])
{
	int node;

	why[0] = 0;
	if (!strcmp(text, "auto"))
		return auto_find(listen, lists, why);
	if (*text && strspn(text, "0123456789") == strlen(text) &&
	    strlen(text) < 5)
		return atoi(text);
	node = device_node(text);
	if (node < 0)
		snprintf(why, NODE_WHY, "%.32s %s", text,
			 node == NONE ? "is no network card"
				      : "does not say which is its");
	return node < 0 ? NODE_ANY : node;
}
