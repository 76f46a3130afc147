/* SPDX-License-Identifier: MIT */
/*
 * Every fault that a configuration can have is found here, before the first
 * packet: unknown plugins, shapes that cannot be, blocks that do not fit into
 * the memory.  Only what may change while the daemon runs is checked later:
 * whether disks are mounted, and ports free.
 */
#include "daemon/conf/setup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control/control.h"
#include "base/log.h"
#include "base/module.h"
#include "base/units.h"

#define AT(member) offsetof(struct setup_options, member)

const struct option_key setup_options[] = {
	{ .name = "disks",
	  .type = OPTION_TEXTS,
	  .offset = AT(disks),
	  .help = "folders to record on; a wildcard takes mount points" },
	{ .name = "reserve",
	  .type = OPTION_BYTES,
	  .offset = AT(reserve),
	  .help = "space that stays free on each disk; none: 1 %, at least "
		  "256M" },
	{ .name = "memory",
	  .type = OPTION_BYTES,
	  .offset = AT(memory),
	  .min = 1 << 20,
	  .help = "the arena that all blocks come from; a hard limit; none: "
		  "what the blocks of all streams take, at least 1G, at most "
		  "half of the machine's memory" },
	{ .name = "share",
	  .type = OPTION_FLAG,
	  .offset = AT(share),
	  .help = "memory that live readers can be given, to read; of huge "
		  "pages it always is" },
	{ .name = "schedule",
	  .type = OPTION_TEXT,
	  .offset = AT(schedule),
	  .help = "folder whose files say what is recorded when; none: only "
		  "what is typed" },
	{ .name = "state",
	  .type = OPTION_TEXT,
	  .offset = AT(state),
	  .help = "folder for what is to be remembered of the schedule; none: "
		  "$STATE_DIRECTORY, else .spate-state in the schedule's "
		  "folder" },
	{ .name = "writer",
	  .type = OPTION_TEXT,
	  .offset = AT(writer),
	  .help = "write plugin; none: the first of uring, direct, writev "
		  "that works on the disk" },
	{ .name = "durable",
	  .type = OPTION_TEXT,
	  .offset = AT(durable),
	  .fallback = "5s",
	  .help = "\"5s\": all is on the disk at the latest after that; "
		  "\"block\": each block at once; \"end\": at the end" },
	{ .name = "receivers",
	  .type = OPTION_COUNT,
	  .offset = AT(receivers),
	  .fallback = "1",
	  .min = 1,
	  .max = 256,
	  .help = "receiver threads" },
	{ .name = "receiver_priority",
	  .type = OPTION_COUNT,
	  .offset = AT(receiver_priority),
	  .max = 99,
	  .help = "real-time priority (SCHED_FIFO) of the receivers; "
		  "none: like any other" },
	{ .name = "receiver_cpus",
	  .type = OPTION_COUNTS,
	  .offset = AT(receiver_cpus),
	  .max = 1023,
	  .help = "CPUs that are dealt out to the receivers in turn; "
		  "none: all" },
	{ .name = "memory_node",
	  .type = OPTION_TEXT,
	  .offset = AT(memory_node),
	  .help = "NUMA node of the memory: a number, an interface, or "
		  "\"auto\", that of the streams' interfaces; none: any" },
	{ .name = NULL },
};

const struct option_key setup_control_options[] = {
	{ .name = "socket",
	  .type = OPTION_TEXT,
	  .offset = offsetof(struct setup_control, socket),
	  .fallback = CONTROL_SOCKET,
	  .help = "where spate finds the daemon" },
	{ .name = "group",
	  .type = OPTION_TEXT,
	  .offset = offsetof(struct setup_control, group),
	  .help = "members may give orders; none: the daemon's own user" },
	{ .name = NULL },
};

/* Groups of the design that do nothing yet.  A warning says so, so that nobody
 * relies on them. */
static const char *const later[] = { "metrics", NULL };
static const char *const groups[] = { "control", "streams", "metrics", "vsi",
				      "send",	 "inbox",   NULL };

static void
later_say(struct setup *c)
{
	config_setting_t *root = conf_root(c->conf);

	for (int i = 0; later[i]; i++) {
		config_setting_t *s = config_setting_get_member(root, later[i]);

		if (s)
			log_line(LEVEL_WARN, NULL,
				 "%s: `%s` does nothing in this version",
				 conf_where(c->conf, s), later[i]);
	}
}

static int
durable_read(struct setup *c, struct fault *fault)
{
	if (!strcmp(c->o.durable, "block"))
		c->durable = 0;
	else if (!strcmp(c->o.durable, "end"))
		c->durable = INT64_MAX / 2;
	else if (units_span(c->o.durable, &c->durable) < 0)
		return conf_blame(
		    c->conf,
		    config_setting_get_member(conf_root(c->conf), "durable"),
		    fault_set(fault, -EINVAL, "conf",
			      "durable = \"%s\" is none of \"5s\" (any time), "
			      "\"block\", \"end\"",
			      c->o.durable),
		    fault);
	return 0;
}

static int
way_add(struct setup *c, const char *name, struct fault *fault)
{
	const struct write_ops *ops;
	void *options;
	int err = module_write(name, &ops, fault);

	if (err)
		return err;
	options = calloc(1, ops->head.options_bytes + 1);
	if (!options)
		return fault_set(fault, -ENOMEM, "no-memory", "out of memory");
	c->plugin_options[c->plugins] = options;
	c->plugin[c->plugins++] = (struct write_plugin){ ops, options };
	return 0;
}

/* Loads all write plugins; each disk uses the first that works on it. */
static int
ways_load_all(struct setup *c, struct fault *fault)
{
	char line[sizeof fault->what];
	int err;

	/* Optional: not installed if it was built without liburing. */
	if (way_add(c, "uring", fault) < 0) {
		fault_line(fault, line, sizeof line);
		log_line(LEVEL_INFO, NULL, "%s; going on without", line);
	}
	err = way_add(c, "direct", fault);
	return err ? err : way_add(c, "writev", fault);
}

static int
ways_load(struct setup *c, struct fault *fault)
{
	config_setting_t *writer =
	    config_setting_get_member(conf_root(c->conf), "writer");
	const char *name = writer ? config_setting_get_string(writer) : NULL;
	int err;

	/* root_read refuses a `writer` that is no string. */
	if (!name)
		return ways_load_all(c, fault);
	err = way_add(c, name, fault);
	return err ? conf_blame(c->conf, writer, err, fault) : 0;
}

/* Reads the keys of the file's root.  The keys of a write plugin stand beside
 * `writer`, so the plugins are loaded first. */
static int
root_read(struct setup *c, struct fault *fault)
{
	struct conf_part part[2 + WRITER_PLUGINS] = {
		{ setup_options, &c->o },
		{ setup_send_options, &c->send_options },
	};
	unsigned n = 2;
	int err = ways_load(c, fault);

	if (err)
		return err;
	for (unsigned i = 0; i < c->plugins; i++)
		part[n++] = (struct conf_part){ c->plugin[i].ops->head.options,
						c->plugin_options[i] };
	return conf_fill(c->conf, conf_root(c->conf), part, n, groups, fault);
}

/* Returns the default of `memory` in bytes: enough to record all streams at
 * once on the disks that are there, at most half of the machine's memory. */
static uint64_t
memory_default(const struct setup *c)
{
	uint64_t half = (uint64_t)sysconf(_SC_PHYS_PAGES) / 2 *
			(uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t want = 0;

	for (unsigned i = 0; i < c->streams; i++)
		want += stream_memory(c->stream[i]);
	if (want < UINT64_C(1) << 30)
		want = UINT64_C(1) << 30;
	return want < half ? want : half;
}

static int
memory_refuse(const struct setup *c, const struct stream *s,
	      struct fault *fault)
{
	char need[UNITS_TEXT], is[UNITS_TEXT], block[UNITS_TEXT];
	char blocks[STREAM_BLOCKS_TEXT];

	fault_set(fault, -ENOMEM, "no-memory",
		  "%s: memory = %s is too small for stream %s, which needs %s",
		  c->path, units_show_bytes(is, c->o.memory), s->name,
		  units_show_bytes(need, stream_memory(s)));
	fault_why(fault, "%s of %s", stream_blocks_show(s, blocks),
		  units_show_bytes(block, s->geometry.block_bytes));
	fault_hint(fault,
		   "set memory to at least %lluM, or the stream's "
		   "`block` or `blocks` lower",
		   (unsigned long long)((stream_memory(s) >> 20) + 1));
	return -ENOMEM;
}

/* Makes the stream fit into `memory`.  Disks that were added must not keep the
 * daemon from starting, so it goes on with fewer blocks per disk, and a
 * warning. */
static int
memory_fit(const struct setup *c, struct stream *s, struct fault *fault)
{
	uint64_t need = stream_memory(s);
	unsigned disks = s->disks, blocks = s->blocks;

	if (need <= c->o.memory)
		return 0;
	stream_shrink(s, c->o.memory);
	if (stream_memory(s) > c->o.memory) {
		stream_disks(s, disks, UINT64_MAX);
		return memory_refuse(c, s, fault);
	}
	log_line(LEVEL_WARN, NULL,
		 "%s: stream %s has %u of the %u blocks that it would use on "
		 "%u disks, as that is what `memory` has room for: "
		 "memory = \"%lluM\";",
		 c->path, s->name, s->blocks, blocks, disks,
		 (unsigned long long)((need >> 20) + 1));
	return 0;
}

/* Refuses a stream whose packets are shared by more receiver threads than there
 * are: two parts of it on one thread gain nothing. */
static int
receivers_check(const struct setup *c, const struct stream *s,
		struct fault *fault)
{
	if (s->plan.threads <= c->o.receivers)
		return 0;
	fault_set(fault, -EINVAL, "conf",
		  "%s: stream %s is received by %u threads, and there are %u",
		  c->path, s->name, s->plan.threads, c->o.receivers);
	fault_hint(fault, "receivers = %u;", s->plan.threads);
	return -EINVAL;
}

static int
streams_read(struct setup *c, unsigned disks, struct fault *fault)
{
	config_setting_t *group =
	    config_setting_get_member(conf_root(c->conf), "streams");
	unsigned n = group ? (unsigned)config_setting_length(group) : 0;
	int err = 0;

	if (!n || !config_setting_is_group(group)) {
		fault_set(fault, -EINVAL, "conf", "%s: no streams", c->path);
		fault_hint(fault, "streams : { dbbc3 : { listen = [ "
				  "\"0.0.0.0:46227\" ]; format = \"vdif\"; "
				  "prefix = 8; payload = 8032; }; };");
		return -EINVAL;
	}
	c->stream = calloc(n, sizeof(struct stream *));
	if (!c->stream)
		return fault_set(fault, -ENOMEM, "no-memory", "out of memory");
	for (unsigned i = 0; i < n && !err; i++) {
		err = stream_make(&c->stream[i], c->conf,
				  config_setting_get_elem(group, i), disks,
				  fault);
		c->streams += !err;
		if (!err)
			err = receivers_check(c, c->stream[i], fault);
	}
	if (!err && !c->o.memory)
		c->o.memory = memory_default(c);
	for (unsigned i = 0; i < n && !err; i++)
		err = memory_fit(c, c->stream[i], fault);
	return err;
}

/* Reads all keys but the streams, `vsi` and `inbox`. */
static int
keys_read(struct setup *c, const char *path, struct fault *fault)
{
	struct conf_part control = { setup_control_options, &c->control };
	config_setting_t *group;
	int err;

	*c = (struct setup){ .path = path };
	err = conf_open(&c->conf, path, fault);
	if (err)
		return err;
	c->first = conf_hold(c->conf);
	err = root_read(c, fault);
	if (err)
		return err;
	group = config_setting_get_member(conf_root(c->conf), "control");
	err = conf_fill(c->conf, group, &control, 1, NULL, fault);
	if (!err)
		err = durable_read(c, fault);
	if (!err)
		err =
		    setup_send_make(&c->send, c->conf, &c->send_options, fault);
	return err ? err : setup_disks_check(c, fault);
}

int
setup_load(struct setup *c, const char *path, struct fault *fault)
{
	int err = keys_read(c, path, fault);

	if (!err)
		err = setup_disks_read(c, fault);
	if (!err)
		err = streams_read(c, c->disks.n, fault);
	if (!err)
		err = setup_vsi_read(c, fault);
	if (!err)
		err = setup_inbox_read(c, fault);
	if (!err)
		later_say(c);
	return err;
}

int
setup_load_again(struct setup *c, const struct setup *now, unsigned disks,
		 struct fault *fault)
{
	int err = keys_read(c, now->path, fault);

	if (err)
		return err;
	c->o.memory = now->o.memory;
	c->o.receivers = now->o.receivers;
	err = streams_read(c, disks, fault);
	if (!err)
		err = setup_vsi_read(c, fault);
	return err ? err : setup_inbox_read(c, fault);
}

void
setup_unload(struct setup *c)
{
	for (unsigned i = 0; i < c->streams; i++)
		stream_drop(c->stream[i]);
	free(c->stream);
	for (unsigned i = 0; i < c->plugins; i++)
		free(c->plugin_options[i]);
	disks_clear(&c->disks);
	setup_send_drop(c->send);
	conf_close(c->conf);
	conf_close(c->first);
}

struct stream *
setup_stream(struct setup *c, const char *name)
{
	for (unsigned i = 0; i < c->streams; i++) {
		if (!strcmp(c->stream[i]->name, name))
			return c->stream[i];
	}
	return NULL;
}

int
setup_stream_unknown(const struct setup *c, const char *name,
		     struct fault *fault)
{
	char names[256] = "";
	size_t at = 0;

	for (unsigned i = 0; i < c->streams && at < sizeof names; i++)
		at += (size_t)snprintf(names + at, sizeof names - at, "%s%s",
				       i ? ", " : "", c->stream[i]->name);
	fault_set(fault, -ENOENT, "not-found", "there is no stream '%s'", name);
	fault_hint(fault, "the configuration has %s", names);
	return -ENOENT;
}
