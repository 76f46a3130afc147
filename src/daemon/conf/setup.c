/* SPDX-License-Identifier: MIT */
/*
 * Every fault that a configuration can have is found here, before the first
 * packet: unknown plugins, shapes that cannot be, blocks that do not fit into
 * the memory.  Only what may change while the daemon runs is checked later:
 * whether disks are mounted, and ports free.
 *
 * A missing disk is no error, because it may be mounted later.  A path that can
 * never be a disk is an error.
 */
#include "daemon/conf/setup.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/module.h"
#include "base/units.h"
#include "control/listener.h"
#include "control/control.h"
#include "daemon/conf/stream_vary.h"
#include "flow/memory/arena.h"
#include "net/allow.h"
#include "store/disk/configured.h"
#include "store/disk/remote.h"

/* Refuses relative paths, which the disk watch would wait for for ever, and
 * URLs that can never be disks. */
static int
paths_check(const struct setup *c, struct fault *fault)
{
	config_setting_t *disks =
	    config_setting_get_member(conf_root(c->conf), "disks");

	for (unsigned i = 0; i < c->o.disks.n; i++) {
		const char *path = c->o.disks.text[i];
		config_setting_t *one = config_setting_get_elem(disks, i);
		int err = remote_check(path, true, fault);

		if (!err && disk_is_absolute(path))
			continue;
		if (!err) {
			err = fault_set(fault, -EINVAL, "conf",
					"\"%s\" in `disks` is no absolute path",
					path);
			fault_hint(fault, "disks = [ \"/mnt/disk*\" ];");
		}
		return conf_blame(c->conf, one ? one : disks, err, fault);
	}
	return 0;
}

/* Parts of setup_load (setup.c): setup_disks_check checks the paths in
 * `disks`, setup_disks_read finds the disks that are there.  They return 0, or
 * -errno with a fault. */
static int
setup_disks_check(const struct setup *c, struct fault *fault)
{
	if (c->o.disks.n)
		return paths_check(c, fault);
	fault_set(fault, -EINVAL, "conf", "%s: `disks` is missing", c->path);
	fault_hint(fault, "disks = [ \"/mnt/disk*\" ];");
	return -EINVAL;
}

/* Refuses files.  A path that does not exist is accepted, because a folder may
 * appear there. */
static int
folders_check(const struct setup *c, struct fault *fault)
{
	const config_setting_t *disks =
	    config_setting_get_member(conf_root(c->conf), "disks");

	for (unsigned i = 0; i < c->disks.n; i++) {
		const char *path = c->disks.disk[i].path;
		struct stat st;

		if (c->disks.disk[i].fd >= 0 || stat(path, &st) < 0 ||
		    S_ISDIR(st.st_mode))
			continue;
		fault_set(fault, -ENOTDIR, "conf",
			  "%s: \"%s\" in `disks` is a file, and no folder",
			  conf_where(c->conf, disks), path);
		fault_hint(fault, "name the folder that a disk is mounted at");
		return -ENOTDIR;
	}
	return 0;
}

static int
setup_disks_read(struct setup *c, struct fault *fault)
{
	int err = disks_find(&c->disks, &c->o.disks, &c->no_disk);

	if (err) {
		*fault = c->no_disk;
		return err;
	}
	for (unsigned i = 0; c->o.reserve && i < c->disks.n; i++) {
		c->disks.disk[i].reserve = c->o.reserve;
		c->disks.disk[i].reserve_asked = c->o.reserve;
	}
	return folders_check(c, fault);
}

/* ---- the group vsi --------------------------------------------------- */

/* Refuses streams that do not fit into `memory` together, because record=on
 * records all of them at once. */
static int
memory_check(struct setup *c, const config_setting_t *group,
	     struct fault *fault)
{
	char is[UNITS_TEXT], need[UNITS_TEXT];
	uint64_t memory = 0;

	for (unsigned i = 0; i < c->vsi.streams.n; i++)
		memory +=
		    stream_memory(setup_stream(c, c->vsi.streams.text[i]));
	if (memory <= c->o.memory)
		return 0;
	fault_set(fault, -ENOMEM, "no-memory",
		  "vsi: memory = %s is too small for its streams, which need "
		  "%s together",
		  units_show_bytes(is, c->o.memory),
		  units_show_bytes(need, memory));
	fault_hint(fault, "set memory to at least %lluM, or name fewer streams",
		   (unsigned long long)((memory >> 20) + 1));
	conf_blame_key(c->conf, group, "streams", fault);
	return -ENOMEM;
}

/* Reads the group `vsi`, which spate-vsi serves, after the streams.  Returns 0,
 * or -errno with a fault. */
static int
setup_vsi_read(struct setup *c, struct fault *fault)
{
	const config_setting_t *group =
	    config_setting_get_member(conf_root(c->conf), "vsi");
	int err = vsi_conf_read(&c->vsi, c->conf, fault);

	return err || !group ? err : memory_check(c, group, fault);
}

/* ---- the group inbox ------------------------------------------------- */

#define AT_INBOX(member) offsetof(struct setup_inbox, member)

const struct option_key setup_inbox_options[] = {
	{ .name = "listen",
	  .type = OPTION_TEXTS,
	  .offset = AT_INBOX(listen),
	  .help = "addresses and ports where copies come in; none: nowhere" },
	{ .name = "secret_file",
	  .type = OPTION_TEXT,
	  .offset = AT_INBOX(secret_file),
	  .help = "file with the secret that a sender has to know; none: "
		  "loopback alone" },
	{ .name = "allow",
	  .type = OPTION_TEXTS,
	  .offset = AT_INBOX(allow),
	  .help = "networks that copies may come from; none: any" },
	{ .name = "connections",
	  .type = OPTION_COUNT,
	  .offset = AT_INBOX(connections),
	  .fallback = "64",
	  .min = 1,
	  .max = 1024,
	  .help = "most connections at a time, of all copies together" },
	{ .name = "beside",
	  .type = OPTION_TEXTS,
	  .offset = AT_INBOX(beside),
	  .help = "[ \"ucx\" ]: receive plugins that may fetch the data of "
		  "copies sent to ucx://; none: TCP alone" },
	{ .name = NULL },
};

/* Without a secret an inbox listens on loopback alone. */
static int
loopback_check(struct setup *c, const config_setting_t *group,
	       struct fault *fault)
{
	const struct option_texts *listen = &c->inbox.listen;
	union endpoint address;

	for (unsigned i = 0; i < listen->n && !c->inbox.secret_file; i++) {
		if (!endpoint_read(&address, listen->text[i]) &&
		    endpoint_is_loopback(&address))
			continue;
		fault_set(fault, -EINVAL, "conf",
			  "inbox: without a secret it listens on loopback "
			  "alone, which %s is not",
			  listen->text[i]);
		fault_hint(fault, "secret_file = \"/etc/spate/secret\";");
		return conf_blame_key(c->conf, group, "listen", fault);
	}
	return 0;
}

/* Every plugin of `beside` is there, and fetches payloads. */
static int
beside_check(struct setup *c, const config_setting_t *group,
	     struct fault *fault)
{
	const struct option_texts *beside = &c->inbox.beside;
	const struct receive_ops *ops;

	for (unsigned i = 0; i < beside->n; i++) {
		if (module_receive(beside->text[i], &ops, fault))
			return conf_blame_key(c->conf, group, "beside", fault);
		if (ops->beside)
			continue;
		fault_set(fault, -EINVAL, "conf",
			  "inbox: the receive plugin %s carries no copies",
			  beside->text[i]);
		return conf_blame_key(c->conf, group, "beside", fault);
	}
	return 0;
}

/* Reads the group `inbox` (setup.c).  Returns 0, or -errno with a
 * fault. */
static int
setup_inbox_read(struct setup *c, struct fault *fault)
{
	config_setting_t *group =
	    config_setting_get_member(conf_root(c->conf), "inbox");
	struct conf_part part = { setup_inbox_options, &c->inbox };
	int err;

	if (!group)
		return 0;
	err = conf_fill(c->conf, group, &part, 1, NULL, fault);
	if (err)
		return err;
	err = listener_conf_check(c->conf, group, "127.0.0.1:2631",
				  &c->inbox.listen, &c->inbox.allow, fault);
	if (!err)
		err = loopback_check(c, group, fault);
	if (!err)
		err = beside_check(c, group, fault);
	if (!err && c->inbox.secret_file)
		err =
		    secret_read(&c->inbox.secret, c->inbox.secret_file, fault);
	if (err && c->inbox.secret_file && err != -EINVAL)
		conf_blame_key(c->conf, group, "secret_file", fault);
	return err;
}

/* ---- the whole ------------------------------------------------------- */

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
		  "what the blocks of all streams take, at least 1G and an "
		  "eighth of the machine's memory, at most half of it" },
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
	{ .name = "station",
	  .type = OPTION_TEXT,
	  .offset = AT(station),
	  .help = "which station this is: scans that name others are theirs; "
		  "none: $SPATE_STATION, which goes before it" },
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

static const char *const groups[] = { "control", "streams", "vsi", "web",
				      "send",	 "inbox",   NULL };

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

/*
 * Takes the station of the environment, if it has one: the file may be the same
 * on all recorders, and the environment is this machine's own.
 */
static void
station_take(struct setup *c)
{
	const char *own = getenv("SPATE_STATION");

	if (own && *own)
		c->o.station = own;
	else if (c->o.station && !*c->o.station)
		c->o.station = NULL;
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
		return fault_no_memory(fault);
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
 * once on the disks that are there, and an eighth of the machine's memory, for
 * disks that pause; at most half of it.  A control group that is limited is a
 * machine of that size. */
static uint64_t
memory_default(const struct setup *c)
{
	uint64_t half = arena_may_have() / 2;
	uint64_t want = 0;

	for (unsigned i = 0; i < c->streams; i++)
		want += stream_memory(c->stream[i]);
	if (want < half / 4)
		want = half / 4;
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

/* Warns where parity does less than its name says: disks may come later, and layouts
 * have other reasons, so nothing is refused. */
static void
parity_warn(const struct setup *c, const struct stream *s, unsigned disks)
{
	unsigned parity = s->o.parity, needs = parity + 1;

	if (parity && disks < needs)
		log_line(LEVEL_WARN, NULL,
			 "%s: stream %s is recorded without parity until there "
			 "are %u disks: parity = %u, and there %s %u",
			 c->path, s->name, needs, parity,
			 disks == 1 ? "is" : "are", disks);
	else if (parity && disks == needs)
		log_line(LEVEL_WARN, NULL,
			 "%s: with %u disks, parity = %u of stream %s takes %u "
			 "of %u parts of their space and rate, and when one "
			 "dies blocks are recorded without parity; from %u "
			 "disks on it does better",
			 c->path, disks, parity, s->name, parity, disks,
			 needs + 1);
	if (parity && s->layout != LAYOUT_VBS)
		log_line(LEVEL_WARN, NULL,
			 "%s: stream %s has parity and layout = \"%s\": what "
			 "a dead disk had can be read and exported, and scrub "
			 "mends damage, but rebuild cannot put it onto other "
			 "disks; layout = \"%s\" can be rebuilt",
			 c->path, s->name, layout_word(s->layout),
			 layout_word(LAYOUT_VBS));
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
		return fault_no_memory(fault);
	for (unsigned i = 0; i < n && !err; i++) {
		err = stream_make(&c->stream[i], c->conf,
				  config_setting_get_elem(group, i), disks,
				  fault);
		c->streams += !err;
		if (!err)
			err = receivers_check(c, c->stream[i], fault);
		if (!err)
			parity_warn(c, c->stream[i], disks);
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
	err = disks_station(c->conf, fault);
	if (!err)
		err = root_read(c, fault);
	if (err)
		return err;
	station_take(c);
	group = config_setting_get_member(conf_root(c->conf), "control");
	err = conf_fill(c->conf, group, &control, 1, NULL, fault);
	if (!err)
		err = durable_read(c, fault);
	if (!err)
		err =
		    setup_send_make(&c->send, c->conf, &c->send_options, fault);
	if (!err)
		err = web_conf_read(&c->web, c->conf, fault);
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
	setup_vary_forget(c);
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

/* ---- streams with other values --------------------------------------- */

enum { VARIANTS_MOST = 512 };

struct stream_variant {
	char *text; /* as stream_vary_text() wrote it */
	struct stream *stream;
	struct stream_variant *next;
};

static void
variants_drop(struct stream_variant **at)
{
	struct stream_variant *v;

	while ((v = *at)) {
		*at = v->next;
		stream_drop(v->stream);
		free(v->text);
		free(v);
	}
}

void
setup_vary_forget(struct setup *c)
{
	variants_drop(&c->variants);
}

/* Finds the variant of this text and moves it to the front; NULL: none. */
static struct stream_variant *
variant_find(struct setup *c, const char *text)
{
	struct stream_variant **at = &c->variants, *v;
	unsigned n = 0;

	while ((v = *at) && strcmp(v->text, text)) {
		at = &v->next;
		if (++n == VARIANTS_MOST - 1)
			variants_drop(at);
	}
	if (!v)
		return NULL;
	*at = v->next;
	v->next = c->variants;
	c->variants = v;
	return v;
}

/* Makes a variant in front of the list.  Takes over `text`. */
static int
variant_make(struct setup *c, char *text, unsigned disks, struct fault *fault)
{
	struct stream_variant *v = calloc(1, sizeof *v);
	int err = v ? stream_vary_make(&v->stream, text, disks, fault)
		    : fault_no_memory(fault);

	if (err) {
		free(text);
		free(v);
		return err;
	}
	v->text = text;
	v->next = c->variants;
	c->variants = v;
	return 0;
}

int
setup_vary(struct setup *c, const json_t *request, unsigned disks,
	   struct stream **stream, struct fault *fault)
{
	const json_t *of = json_is_object(request)
			       ? json_object_get(request, "stream")
			       : request;
	const char *name = json_is_string(of) ? json_string_value(of) : "?";
	struct stream_vary vary = { 0 };
	char *text;
	int err;

	*stream = setup_stream(c, name);
	if (!*stream)
		return setup_stream_unknown(c, name, fault);
	if (!json_is_object(request))
		return 0;
	err = stream_vary_read(&vary, request, fault);
	if (!err)
		err = stream_vary_text(&text, *stream, &vary, fault);
	if (err || !text)
		return err;
	if (variant_find(c, text))
		free(text);
	else
		err = variant_make(c, text, disks, fault);
	if (!err)
		*stream = c->variants->stream;
	return err;
}

int
setup_streams_fit(const struct setup *c, struct stream *const *stream,
		  unsigned n, struct fault *fault)
{
	char is[UNITS_TEXT], need[UNITS_TEXT];
	uint64_t memory = 0;
	unsigned threads = 1;

	for (unsigned i = 0; i < n; i++) {
		memory += stream_memory(stream[i]);
		if (stream[i]->plan.threads > threads)
			threads = stream[i]->plan.threads;
	}
	if (memory > c->o.memory) {
		fault_set(fault, -ENOMEM, "no-memory",
			  "memory = %s is too small for these streams, which "
			  "need %s",
			  units_show_bytes(is, c->o.memory),
			  units_show_bytes(need, memory));
		return -ENOMEM;
	}
	if (threads > c->o.receivers)
		return fault_set(fault, -EINVAL, "conf",
				 "%u receivers are too few for these streams",
				 c->o.receivers);
	return 0;
}
