/* SPDX-License-Identifier: MIT */
/*
 * Prints a setup for `spated -n`, with what depends on the machine: NUMA node,
 * free space.
 *
 * Prints a stream for `spated -n`: the keys, and what was derived from them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/shape.h"
#include "base/units.h"
#include "daemon/conf/node.h"
#include "daemon/conf/setup.h"
#include "daemon/conf/stream.h"
#include "store/disk/sg.h"

const char *
stream_blocks_show(const struct stream *s, char text[STREAM_BLOCKS_TEXT])
{
	unsigned parts = s->plan.subs * s->keys;
	int at = snprintf(text, STREAM_BLOCKS_TEXT, "%u blocks", s->blocks);

	if (parts > 1 && !s->o.blocks)
		snprintf(text + at, STREAM_BLOCKS_TEXT - (size_t)at,
			 " (2 x %u %s + 2 x %u disks + 4)", parts,
			 s->keys > 1 ? "parts" : "substreams", s->disks);
	return text;
}

static void
listen_print(const struct stream *s)
{
	printf("stream %s: %s", s->name, s->o.receive);
	for (unsigned i = 0; i < s->listen.n; i++)
		printf(" %s", s->listen.text[i]);
	printf("\n");
	if (s->plan.subs > 1)
		printf("  from      %u substreams\n", s->plan.subs);
	if (s->plan.threads > 1)
		printf("  threads   %u share every one's packets\n",
		       s->plan.threads);
	if (s->keys > 1 || s->split)
		printf("  split     by %s: %u recordings\n", s->o.split,
		       s->keys);
}

static void
heap_print(const struct stream *s)
{
	const struct format_shape *shape = &s->shape;
	const struct geometry *g = &s->geometry;

	if (shape->store == HEAP_ROW) {
		printf("  heaps     %s, whole, up to %llu bytes each\n",
		       s->o.format, (unsigned long long)g->block_bytes);
		printf("  block     %llu bytes\n",
		       (unsigned long long)g->block_bytes);
		return;
	}
	printf("  heaps     %s, %u bytes of item 0x%x of each\n", s->o.format,
	       g->payload, shape->item);
	if (shape->time_item)
		printf("  time      item 0x%x", shape->time_item);
	else
		printf("  time      the count of the heap");
	if (shape->time_step)
		printf(", in steps of %llu",
		       (unsigned long long)shape->time_step);
	printf("\n  block     %u heaps, %llu bytes\n", g->slots,
	       (unsigned long long)g->block_bytes);
}

static void
packet_print(const struct stream *s)
{
	char sequence[SHAPE_SEQUENCE_TEXT];
	const struct geometry *g = &s->geometry;

	printf("  packet    %u + %u bytes, %s, sequence %s\n", s->shape.prefix,
	       g->payload, s->o.format,
	       shape_sequence_show(&s->shape, sequence));
	if (g->parts > 1)
		printf("  frame     %u packets\n", g->parts);
	if (s->shape.fps)
		printf("  frames    %u per second and thread\n", s->shape.fps);
	printf(
	    "  block     %u packets, %llu bytes; the quantum is %u packets\n",
	    g->slots, (unsigned long long)g->block_bytes, g->quantum);
}

/* Prints the layout on disk, unless it is the default. */
static void
layout_print(const struct stream *s)
{
	const struct geometry *g = &s->geometry;

	if (s->layout == LAYOUT_MARK6)
		printf("  layout    mark6: one file per disk, blocks of %llu "
		       "bytes with 8 of header, packets of %u\n",
		       (unsigned long long)g->block_bytes + SG_BLOCK,
		       g->payload * g->parts);
	if (s->layout == LAYOUT_SINGLE)
		printf("  layout    file: one file per disk, NAME/NAME.%s\n",
		       s->format->extension);
}

/* Prints the stream for `spated -n`. */
static void
stream_print(const struct stream *s)
{
	char a[UNITS_TEXT], b[UNITS_TEXT], blocks[STREAM_BLOCKS_TEXT];

	listen_print(s);
	if (s->shape.store == HEAP_NONE)
		packet_print(s);
	else
		heap_print(s);
	layout_print(s);
	if (s->o.channels_per_file > 1)
		printf("  files     %u substreams in each\n",
		       s->o.channels_per_file);
	if (s->o.rate)
		printf("  at %s  %.1f blocks per second\n",
		       units_show_rate(a, (double)s->o.rate),
		       (double)s->o.rate / 8 / (double)s->geometry.block_bytes);
	printf("  memory    %s, %s\n", stream_blocks_show(s, blocks),
	       units_show_bytes(b, stream_memory(s)));
}

/* ---- the setup ------------------------------------------------------- */

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
vsi_print(const struct vsi_conf *v)
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
	for (unsigned i = 0; i < in->beside.n && in->listen.n; i++)
		printf("%s %s", i ? "," : ", also by", in->beside.text[i]);
	if (in->listen.n)
		printf("%s\n", in->secret.n ? ", who know the secret" : "");
}

void
setup_print(const struct setup *c)
{
	char line[1024];

	printf("%s is good\n", c->path);
	printf("socket   %s\n", c->control.socket);
	if (c->o.station)
		printf("station  %s\n", c->o.station);
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
