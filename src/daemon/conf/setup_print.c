/* SPDX-License-Identifier: MIT */
/* Prints a setup for `spated -n`, with what depends on the machine: NUMA node,
 * free space. */
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/units.h"
#include "daemon/conf/node.h"
#include "daemon/conf/setup.h"

static int
node_of(const struct setup *c, char why[NODE_WHY])
{
	struct option_texts *listen;
	int node;

	why[0] = 0;
	if (!c->o.memory_node)
		return NODE_ANY;
	listen = calloc(c->streams + 1, sizeof *listen);
	if (!listen)
		return NODE_ANY;
	for (unsigned i = 0; i < c->streams; i++)
		listen[i] = c->stream[i]->listen;
	node = node_find(c->o.memory_node, listen, c->streams, why);
	free(listen);
	return node;
}

int
setup_node(const struct setup *c)
{
	char why[NODE_WHY];
	int node = node_of(c, why);

	if (why[0])
		log_line(LEVEL_WARN, NULL,
			 "memory_node = \"%s\": %s; memory is on any node",
			 c->o.memory_node, why);
	return node;
}

static void
disk_print(const struct disk *d)
{
	char free_text[UNITS_TEXT], reserve[UNITS_TEXT];
	struct disk_space space;

	if (d->fd < 0) {
		printf("  %-24s not there\n", d->path);
		return;
	}
	if (disk_space(d, &space) < 0) {
		printf("  %-24s cannot be asked for its space\n", d->path);
		return;
	}
	printf("  %-24s %s free above a reserve of %s\n", d->path,
	       units_show_bytes(free_text, space.free),
	       units_show_bytes(reserve, d->reserve));
}

static void
memory_print(const struct setup *c)
{
	char text[UNITS_TEXT], why[NODE_WHY];
	int node = node_of(c, why);

	printf("memory   %s", units_show_bytes(text, c->o.memory));
	if (node >= 0)
		printf(" on NUMA node %d", node);
	else if (c->o.memory_node)
		printf(" on any NUMA node: %s", why);
	printf("%s\n", c->o.share ? ", shared with live readers" : "");
}

static void
receivers_print(const struct setup *c)
{
	printf("receive  %u thread%s", c->o.receivers,
	       c->o.receivers > 1 ? "s" : "");
	if (c->o.receiver_priority)
		printf(", priority %u", c->o.receiver_priority);
	for (unsigned i = 0; i < c->o.receiver_cpus.n; i++)
		printf("%s%u", i ? ", " : ", on CPUs ",
		       c->o.receiver_cpus.count[i]);
	printf("\n");
}

static void
vsi_print(const struct setup_vsi *v)
{
	for (unsigned i = 0; i < v->listen.n; i++)
		printf("%s %s", i ? "," : "vsi     ", v->listen.text[i]);
	for (unsigned i = 0; i < v->streams.n; i++)
		printf("%s %s", i ? "," : ", records", v->streams.text[i]);
	for (unsigned i = 0; i < v->allow.n; i++)
		printf("%s %s", i ? "," : ", for", v->allow.text[i]);
	if (v->listen.n)
		printf("\n");
}

static void
send_print(const struct setup_send *s)
{
	printf("send     %u at a time:", s->o.max_sends);
	for (unsigned i = 0; i < s->ways; i++)
		printf(" %s", s->way[i].ops->head.name);
	printf("%s\n", s->secret.n ? "; with a secret" : "");
}

static void
inbox_print(const struct setup_inbox *in)
{
	for (unsigned i = 0; i < in->listen.n; i++)
		printf("%s %s", i ? "," : "inbox   ", in->listen.text[i]);
	for (unsigned i = 0; i < in->allow.n; i++)
		printf("%s %s", i ? "," : ", for", in->allow.text[i]);
	if (in->listen.n)
		printf("%s\n", in->secret.n ? ", who know the secret" : "");
}

void
setup_print(const struct setup *c)
{
	char line[1024];

	printf("%s is good\n", c->path);
	printf("socket   %s\n", c->control.socket);
	vsi_print(&c->vsi);
	inbox_print(&c->inbox);
	memory_print(c);
	receivers_print(c);
	printf("writer  ");
	for (unsigned i = 0; i < c->plugins; i++)
		printf(" %s", c->plugin[i].ops->head.name);
	printf("%s\n", c->plugins > 1 ? " (the first that works)" : "");
	send_print(c->send);
	printf("disks    %u\n", c->disks.n);
	for (unsigned i = 0; i < c->disks.n; i++)
		disk_print(&c->disks.disk[i]);
	if (c->disks.twins)
		printf("  %u more paths name one of these folders, and do not "
		       "count\n",
		       c->disks.twins);
	if (!c->disks.n && c->no_disk.code) {
		fault_line(&c->no_disk, line, sizeof line);
		printf("  %s\n", line);
	}
	for (unsigned i = 0; i < c->streams; i++)
		stream_print(c->stream[i]);
}
