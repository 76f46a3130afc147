/* SPDX-License-Identifier: MIT */
/*
 * A reload reads the file into a new setup and checks it as at the start.  Only
 * if all of it is good, the parts that can change move over.  The old parts are
 * freed with their last reference: recordings that run keep their old stream
 * and its sockets until they end.
 *
 * Keys that need a restart are found by comparing the two files, not values.
 * So this code need not know them, and a new key cannot be forgotten.
 */
#include "daemon/conf/setup.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Keys of the root that a reload takes over; every other key needs a
 * restart. */
static const char *const live[] = { "disks",	     "reserve",	    "durable",
				    "streams",	     "max_sends",   "send_rate",
				    "send_patience", "send_memory", "send",
				    "secret_file",   NULL };

static void __attribute__((format(printf, 2, 3)))
tell(json_t *list, const char *format, ...)
{
	char line[512];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof line, format, args);
	va_end(args);
	json_array_append_new(list, json_string(line));
}

static bool
is_live(const char *key)
{
	for (int i = 0; live[i]; i++) {
		if (!strcmp(live[i], key))
			return true;
	}
	return false;
}

/* ---- keys that need a restart ---------------------------------------- */

static void
key_compare(struct setup *c, struct setup *new, const char *key,
	    json_t *restart)
{
	config_setting_t *was, *is;
	const char *of;

	was = config_setting_get_member(conf_root(c->first), key);
	is = config_setting_get_member(conf_root(new->conf), key);
	if (is_live(key) || conf_same(was, is))
		return;
	/* spated only opens its control socket for these programs, and does so
	 * in a reload. */
	of = !strcmp(key, "vsi")   ? " of spate-vsi"
	     : !strcmp(key, "web") ? " of spate-web"
				   : "";
	if (is)
		tell(restart, "%s: `%s` takes a restart%s",
		     conf_where(new->conf, is), key, of);
	else
		tell(restart, "%s: to be without `%s` takes a restart%s",
		     c->path, key, of);
}

static void
keys_compare(struct setup *c, struct setup *new, json_t *restart)
{
	config_setting_t *was = conf_root(c->first), *is = conf_root(new->conf);
	const char *key;

	for (int i = 0; i < config_setting_length(is); i++) {
		key = config_setting_name(
		    config_setting_get_elem(is, (unsigned)i));
		key_compare(c, new, key, restart);
	}
	for (int i = 0; i < config_setting_length(was); i++) {
		key = config_setting_name(
		    config_setting_get_elem(was, (unsigned)i));
		if (!config_setting_get_member(is, key))
			key_compare(c, new, key, restart);
	}
}

/* ---- keys that take effect now --------------------------------------- */

static bool
live_differs(struct setup *c, struct setup *new, const char *key)
{
	return !conf_same(config_setting_get_member(conf_root(c->conf), key),
			  config_setting_get_member(conf_root(new->conf), key));
}

/* Keeps the old stream object if its group did not change: it has learned its
 * frame rate, and a recording may hold its sockets, which later recordings
 * share. */
static void
stream_take(struct setup *c, struct stream **new, json_t *changes)
{
	struct stream *was = setup_stream(c, (*new)->name);

	if (!was) {
		tell(changes, "stream %s is new", (*new)->name);
	} else if (conf_same(was->group, (*new)->group)) {
		stream_drop(*new);
		*new = stream_hold(was);
	} else {
		tell(changes, "stream %s is another%s", was->name,
		     was->input ? "; what is recorded or armed keeps the "
				  "old one"
				: "");
	}
}

static void
streams_take(struct setup *c, struct setup *new, json_t *changes)
{
	struct stream **list = c->stream;
	unsigned n = c->streams;

	for (unsigned i = 0; i < new->streams; i++)
		stream_take(c, &new->stream[i], changes);
	for (unsigned i = 0; i < n; i++) {
		if (!setup_stream(new, list[i]->name))
			tell(changes, "stream %s is gone%s", list[i]->name,
			     list[i]->input ? " when its recordings end" : "");
	}
	c->stream = new->stream;
	c->streams = new->streams;
	new->stream = list;
	new->streams = n;
}

/* Takes the new options of sending for later transfers; a running transfer
 * keeps its own.  Taken over even if no key changed, because the file with the
 * secret may have. */
static void
send_take(struct setup *c, struct setup *new, json_t *changes)
{
	static const char *const key[] = { "max_sends",	  "send_rate",
					   "send_memory", "send_patience",
					   "secret_file", "send" };
	struct setup_send *send = c->send;

	for (size_t i = 0; i < sizeof key / sizeof *key; i++) {
		if (live_differs(c, new, key[i]))
			tell(changes,
			     "`%s` is another, from the next transfer "
			     "on",
			     key[i]);
	}
	c->send = new->send;
	new->send = send;
}

static void
rest_take(struct setup *c, struct setup *new, json_t *changes)
{
	struct conf *conf = c->conf;

	if (live_differs(c, new, "disks"))
		tell(changes, "`disks` are others");
	if (live_differs(c, new, "reserve"))
		tell(changes, "`reserve` is another, on each disk from its "
			      "next recording on");
	if (live_differs(c, new, "durable"))
		tell(changes, "`durable` is another, from the next recording "
			      "on");
	send_take(c, new, changes);
	c->o.disks = new->o.disks;
	c->o.reserve = new->o.reserve;
	c->o.durable = new->o.durable;
	c->durable = new->durable;
	c->conf = new->conf;
	new->conf = conf;
}

int
setup_reload(struct setup *c, unsigned disks, json_t *changes, json_t *restart,
	     struct fault *fault)
{
	struct setup new;
	int err = setup_load_again(&new, c, disks, fault);

	if (!err) {
		keys_compare(c, &new, restart);
		streams_take(c, &new, changes);
		rest_take(c, &new, changes);
		setup_vary_forget(c);
	}
	setup_unload(&new);
	return err;
}
