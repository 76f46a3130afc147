/* SPDX-License-Identifier: MIT */
/*
 * All send plugins are loaded with the configuration.  Loading one when a
 * transfer begins would read a disk from the event loop, and a mistake in its
 * keys would show only then.  A plugin that cannot be loaded is reported when a
 * URL asks for it.
 */
#include "daemon/conf/setup_send.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/module.h"
#include "base/units.h"
#include "flow/send/sender.h"

#define AT(member) offsetof(struct setup_send_options, member)

const struct option_key setup_send_options[] = {
	{ .name = "max_sends",
	  .type = OPTION_COUNT,
	  .offset = AT(max_sends),
	  .fallback = "4",
	  .min = 1,
	  .max = 256,
	  .help = "transfers that run at a time; others wait in a queue" },
	{ .name = "send_memory",
	  .type = OPTION_BYTES,
	  .offset = AT(memory),
	  .fallback = "256M",
	  .min = 1 << 20,
	  .help = "what a transfer reads ahead from disks; not of `memory`" },
	{ .name = "send_rate",
	  .type = OPTION_TEXT,
	  .offset = AT(rate),
	  .help = "rate of a transfer that asks for none: \"8Gbps\", \"data\" "
		  "(as fast as the data came), \"free\"; none: data over "
		  "UDP, else free" },
	{ .name = "send_patience",
	  .type = OPTION_SPAN,
	  .offset = AT(patience),
	  .fallback = "1m",
	  .help = "how long a peer may be away before a transfer gives up" },
	{ .name = "secret_file",
	  .type = OPTION_TEXT,
	  .offset = AT(secret_file),
	  .help = "file with the secret that a peer has to know, and has us "
		  "prove; only its owner may read it" },
	{ .name = NULL },
};

/* ---- rates ----------------------------------------------------------- */

int
setup_send_rate(const char *text, uint64_t *rate)
{
	if (!strcmp(text, "data"))
		*rate = SEND_RATE_DATA;
	else if (!strcmp(text, "free") || !strcmp(text, "max"))
		*rate = SEND_RATE_FREE;
	else if (units_rate(text, rate) < 0 || !*rate ||
		 *rate >= SETUP_SEND_USUAL)
		return -EINVAL;
	return 0;
}

static int
rate_read(struct setup_send *s, struct fault *fault)
{
	s->rate = SETUP_SEND_USUAL;
	if (!s->o.rate || !setup_send_rate(s->o.rate, &s->rate))
		return 0;
	fault_set(fault, -EINVAL, "conf",
		  "send_rate = \"%.80s\" is none of \"8Gbps\" (any rate), "
		  "\"data\", \"free\"",
		  s->o.rate);
	return conf_blame(
	    s->conf, config_setting_get_member(conf_root(s->conf), "send_rate"),
	    -EINVAL, fault);
}

/* ---- plugins --------------------------------------------------------- */

static int
way_fill(struct setup_send *s, config_setting_t *group,
	 const struct send_ops *ops, struct fault *fault)
{
	struct setup_send_way *way = &s->way[s->ways];
	struct conf_part part = { ops->head.options, NULL };
	char why[SEND_SENTENCE] = "";
	const char *key;
	int err;

	*way = (struct setup_send_way){
		.ops = ops,
		.options = calloc(1, ops->head.options_bytes + 1),
	};
	if (!way->options)
		return fault_no_memory(fault);
	s->ways++;
	part.out = way->options;
	err = conf_fill(s->conf, group, &part, 1, NULL, fault);
	key = !err && group && ops->option_wrong
		  ? ops->option_wrong(way->options, why, sizeof why)
		  : NULL;
	if (!key)
		return err;
	fault_set(fault, -EINVAL, "conf", "send: %s: %s", ops->head.name, why);
	return conf_blame_key(s->conf, group, key, fault);
}

static config_setting_t *
group_of(const struct setup_send *s, const char *name)
{
	config_setting_t *all =
	    config_setting_get_member(conf_root(s->conf), "send");

	return all ? config_setting_get_member(all, name) : NULL;
}

static int
way_add(struct setup_send *s, const char *name, struct fault *fault)
{
	config_setting_t *group = group_of(s, name);
	const struct send_ops *ops;
	char line[1024];
	int err =
	    s->ways < SETUP_SEND_WAYS ? module_send(name, &ops, fault) : -E2BIG;

	if (!err)
		return way_fill(s, group, ops, fault);
	if (group && err != -E2BIG)
		return conf_blame(s->conf, group, err, fault);
	fault_line(fault, line, sizeof line);
	log_line(LEVEL_INFO, NULL, "%s; going on without", line);
	return 0;
}

static int
ways_add(struct setup_send *s, struct fault *fault)
{
	char names[1024], *rest = names, *name;
	int err = 0;

	module_names("send", names, sizeof names);
	while (!err && (name = strsep(&rest, ", ")))
		if (*name)
			err = way_add(s, name, fault);
	return err;
}

static bool
has_way(const struct setup_send *s, const char *name, size_t n)
{
	for (unsigned i = 0; i < s->ways; i++) {
		const char *is = s->way[i].ops->head.name;

		if (!strncmp(is, name, n) && !is[n])
			return true;
	}
	return false;
}

static void
names_list(const struct setup_send *s, char *names, size_t bytes)
{
	size_t at = 0;

	names[0] = 0;
	for (unsigned i = 0; i < s->ways && at < bytes; i++)
		at += (size_t)snprintf(names + at, bytes - at, "%s%s://",
				       i ? ", " : "", s->way[i].ops->head.name);
}

/* Refuses a group in `send` that names no loaded plugin: it is a typing
 * error. */
static int
groups_check(struct setup_send *s, struct fault *fault)
{
	config_setting_t *all =
	    config_setting_get_member(conf_root(s->conf), "send");
	char names[300];

	if (!all)
		return 0;
	if (!config_setting_is_group(all)) {
		fault_set(fault, -EINVAL, "conf", "`send` has to be a group");
		fault_hint(fault, "send : { udp : { }; };");
		return conf_blame(s->conf, all, -EINVAL, fault);
	}
	for (int i = 0; i < config_setting_length(all); i++) {
		config_setting_t *of =
		    config_setting_get_elem(all, (unsigned)i);
		const char *name = config_setting_name(of);

		if (has_way(s, name, strlen(name)))
			continue;
		names_list(s, names, sizeof names);
		fault_set(fault, -EINVAL, "conf",
			  "send: there is no plugin '%.80s'", name);
		fault_hint(fault, "these are there: %s", names);
		return conf_blame(s->conf, of, -EINVAL, fault);
	}
	return 0;
}

const struct setup_send_way *
setup_send_way(const struct setup_send *s, const char *url, struct fault *fault)
{
	size_t n = strcspn(url, ":");
	char names[300];

	for (unsigned i = 0; i < s->ways; i++) {
		const char *name = s->way[i].ops->head.name;

		if (!strncmp(url + n, "://", 3) && !strncmp(name, url, n) &&
		    !name[n])
			return &s->way[i];
	}
	names_list(s, names, sizeof names);
	fault_set(fault, -EINVAL, "usage", "'%.200s' is no URL to send to",
		  url);
	if (!strncmp(url + n, "://", 3))
		fault_why(fault, "there is no send plugin '%.*s'",
			  n < 40 ? (int)n : 40, url);
	fault_hint(fault, "as in tcp://correlator:2631; there are %s", names);
	return NULL;
}

static int
secret_take(struct setup_send *s, struct fault *fault)
{
	int err = s->o.secret_file
		      ? secret_read(&s->secret, s->o.secret_file, fault)
		      : 0;

	return err ? conf_blame(s->conf,
				config_setting_get_member(conf_root(s->conf),
							  "secret_file"),
				err, fault)
		   : 0;
}

/* ---- all of it ------------------------------------------------------- */

int
setup_send_make(struct setup_send **send, struct conf *conf,
		const struct setup_send_options *options, struct fault *fault)
{
	struct setup_send *s = calloc(1, sizeof *s);
	int err;

	if (!s)
		return fault_no_memory(fault);
	s->holders = 1;
	s->conf = conf_hold(conf);
	s->o = *options;
	err = rate_read(s, fault);
	if (!err)
		err = secret_take(s, fault);
	if (!err)
		err = ways_add(s, fault);
	if (!err)
		err = groups_check(s, fault);
	if (err)
		setup_send_drop(s);
	else
		*send = s;
	return err;
}

struct setup_send *
setup_send_hold(struct setup_send *s)
{
	s->holders++;
	return s;
}

void
setup_send_drop(struct setup_send *s)
{
	if (!s || --s->holders)
		return;
	for (unsigned i = 0; i < s->ways; i++)
		free(s->way[i].options);
	conf_close(s->conf);
	secret_clear(&s->secret);
	free(s);
}
