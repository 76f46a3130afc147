/* SPDX-License-Identifier: MIT */
/*
 * Copies the stream's group setting by setting, without the keys that differ,
 * adds those, and has libconfig write the text:
 *
 *   dbbc3 : { format = "mark5b"; payload = 5008; listen = [ ... ]; ... };
 *   name = "1v";
 *
 * A new name stands beside the group, because libconfig may not allow it as the
 * name of a group.
 *
 * Rejected: changing the structs of the plugins.  It would be shorter, but the
 * values would not be checked, and texts must live as long as the stream, as
 * they do in its configuration.
 */
#include "daemon/conf/stream_vary.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Flags of the keys that differ between `s` and `v`. */
struct change {
	const struct stream *s;
	const struct stream_vary *v;
	bool format, payload, prefix, legacy, layout, split, buffer, listen,
	    name, receive;
};

/* ---- the request ----------------------------------------------------- */

static int
wrong(struct fault *fault, const char *key)
{
	return fault_set(fault, -EINVAL, "usage",
			 "a stream's `%s` is of the wrong type or size", key);
}

/* Reads a whole number from `least` to `most`; leaves *n as it is if the key is
 * missing. */
static int
number_read(const json_t *request, const char *key, int64_t most, int64_t *n,
	    struct fault *fault)
{
	const json_t *value = json_object_get(request, key);

	if (!value)
		return 0;
	*n = json_integer_value(value);
	return json_is_integer(value) && *n >= 0 && *n <= most
		   ? 0
		   : wrong(fault, key);
}

static int
text_read(const json_t *request, const char *key, const char **text,
	  struct fault *fault)
{
	const json_t *value = json_object_get(request, key);

	*text = json_string_value(value);
	return !value || *text ? 0 : wrong(fault, key);
}

/* Reads a list of texts. */
static int
list_read(const json_t *request, const char *key, const json_t **list,
	  struct fault *fault)
{
	const json_t *item;
	size_t i;

	*list = json_object_get(request, key);
	if (*list && !json_is_array(*list))
		return wrong(fault, key);
	json_array_foreach(*list, i, item) {
		if (!json_is_string(item) || json_string_length(item) > 127)
			return wrong(fault, key);
	}
	return 0;
}

/* Refuses keys that do not exist, or that have no effect. */
static int
keys_check(const json_t *request, struct fault *fault)
{
	static const char *const known[] = {
		"stream",	 "name",   "format",  "payload",
		"prefix",	 "legacy", "layout",  "split",
		"socket_buffer", "listen", "receive", "allow",
	};
	size_t i, n = sizeof known / sizeof *known;
	const json_t *value;
	const char *key;

	json_object_foreach((json_t *)request, key, value) {
		for (i = 0; i < n && strcmp(known[i], key); i++)
			;
		if (i == n)
			return fault_set(fault, -EINVAL, "usage",
					 "a recording cannot have a stream "
					 "with another `%.80s`",
					 key);
	}
	if (json_object_get(request, "allow") &&
	    !json_object_get(request, "receive"))
		return fault_set(fault, -EINVAL, "usage",
				 "a stream's `allow` can differ only with "
				 "receive = \"tcp\"");
	return 0;
}

/* Accepts what may become part of a recording's name. */
static bool
is_name(const char *name)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz"
				"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+");

	return n && !name[n] && n < 64;
}

int
stream_vary_read(struct stream_vary *v, const json_t *request,
		 struct fault *fault)
{
	const json_t *legacy = json_object_get(request, "legacy");
	const char *split, *receive;
	int64_t payload = 0, prefix = -1, buffer = 0;
	int err = keys_check(request, fault);

	if (!err)
		err = text_read(request, "name", &v->name, fault);
	if (!err && v->name && !is_name(v->name))
		err = wrong(fault, "name");
	if (!err)
		err = text_read(request, "format", &v->format, fault);
	if (!err)
		err = text_read(request, "layout", &v->layout, fault);
	if (!err)
		err = text_read(request, "split", &split, fault);
	if (!err && split && strcmp(split, "thread"))
		err = wrong(fault, "split");
	if (!err)
		err = text_read(request, "receive", &receive, fault);
	if (!err && receive && strcmp(receive, "tcp"))
		err = wrong(fault, "receive");
	if (!err && legacy && !json_is_boolean(legacy))
		err = wrong(fault, "legacy");
	if (!err)
		err = number_read(request, "payload", 1 << 30, &payload, fault);
	if (!err)
		err = number_read(request, "prefix", 4096, &prefix, fault);
	if (!err)
		err = number_read(request, "socket_buffer", INT32_MAX, &buffer,
				  fault);
	if (!err)
		err = list_read(request, "listen", &v->listen, fault);
	if (!err)
		err = list_read(request, "allow", &v->allow, fault);
	if (err)
		return err;
	v->by_thread = split;
	v->tcp = receive;
	v->legacy = legacy ? json_is_true(legacy) : -1;
	v->payload = (uint32_t)payload;
	v->prefix = (int)prefix;
	v->buffer = (uint64_t)buffer;
	return 0;
}

/* ---- keys that differ ----------------------------------------------- */

static const struct option_key *
option_find(const struct option_key *o, const char *name)
{
	while (o && o->name && strcmp(o->name, name))
		o++;
	return o && o->name ? o : NULL;
}

static bool
legacy_of(const struct stream *s)
{
	const struct option_key *o =
	    option_find(s->format->head.options, "legacy");

	return o && *(bool *)((char *)s->format_options + o->offset);
}

static uint64_t
buffer_of(const struct stream *s, bool *has)
{
	const struct option_key *o =
	    option_find(s->receive->head.options, "socket_buffer");
	uint64_t bytes;

	*has = o;
	bytes = o ? *(uint64_t *)((char *)s->receive_options + o->offset) : 0;
	return bytes ? bytes : RECEIVE_BUFFER / s->plan.subs;
}

static bool
listen_differs(const struct stream *s, const struct stream_vary *v)
{
	const json_t *text;
	size_t i;

	if (json_array_size(v->listen) &&
	    json_array_size(v->listen) != s->listen.n)
		return true;
	json_array_foreach(v->listen, i, text) {
		if (strcmp(json_string_value(text), s->listen.text[i]))
			return true;
	}
	return false;
}

static void
change_find(struct change *c)
{
	const struct stream_vary *v = c->v;
	const struct stream *s = c->s;
	bool has_buffer;

	c->format = v->format && strcmp(v->format, s->o.format);
	c->payload = v->payload && v->payload != s->o.payload;
	c->prefix = v->prefix >= 0 && (uint32_t)v->prefix != s->o.prefix;
	c->legacy = v->legacy >= 0 &&
		    (v->legacy != legacy_of(s) || (c->format && v->legacy));
	c->layout = v->layout && strcmp(v->layout, s->o.layout);
	c->split = v->by_thread && s->split != SPLIT_THREAD;
	c->buffer =
	    v->buffer > buffer_of(s, &has_buffer) && has_buffer && !v->tcp;
	c->listen = listen_differs(s, v);
	c->name = v->name && strcmp(v->name, s->name);
	c->receive = v->tcp && strcmp(s->o.receive, "tcp");
}

static bool
is_any(const struct change *c)
{
	return c->format || c->payload || c->prefix || c->legacy || c->layout ||
	       c->split || c->buffer || c->listen || c->name || c->receive;
}

/* ---- the copy -------------------------------------------------------- */

/* True if the copy leaves out this key of the stream. */
static bool
is_left_out(const struct change *c, const char *key)
{
	static const struct {
		const char *key;
		/* offset of the flag in struct change that removes the key */
		unsigned offset;
	} table[] = {
#define GOES(key, why) { key, offsetof(struct change, why) }
		GOES("format", format),	  GOES("fps", format),
		GOES("threads", format),  GOES("sequence", format),
		GOES("split", format),	  GOES("stations", format),
		GOES("payload", payload), GOES("fps", payload),
		GOES("prefix", prefix),	  GOES("sequence", prefix),
		GOES("legacy", legacy),	  GOES("layout", layout),
		GOES("split", split),	  GOES("stations", split),
		GOES("sequence", split),  GOES("socket_buffer", buffer),
		GOES("listen", listen),	  GOES("receive", receive),
#undef GOES
	};

	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		if (!strcmp(table[i].key, key) &&
		    *((const bool *)c + table[i].offset))
			return true;
	}
	if (c->receive && strcmp(key, "listen") &&
	    option_find(c->s->receive->head.options, key))
		return true;
	return c->format && option_find(c->s->format->head.options, key);
}

/* Copies a value with its elements.  Lists of a stream hold no named groups. */
static bool
value_copy(config_setting_t *to, const config_setting_t *from)
{
	int type = config_setting_type(from);
	config_setting_t *s =
	    config_setting_add(to, config_setting_name(from), type);
	bool good = s;

	if (s && config_setting_is_scalar(from)) {
		config_setting_set_format(s, config_setting_get_format(from));
		if (type == CONFIG_TYPE_STRING)
			config_setting_set_string(
			    s, config_setting_get_string(from));
		else if (type == CONFIG_TYPE_FLOAT)
			config_setting_set_float(
			    s, config_setting_get_float(from));
		else if (type == CONFIG_TYPE_BOOL)
			config_setting_set_bool(s,
						config_setting_get_bool(from));
		else if (type == CONFIG_TYPE_INT64)
			config_setting_set_int64(
			    s, config_setting_get_int64(from));
		else
			config_setting_set_int(s, config_setting_get_int(from));
		return true;
	}
	for (int i = 0; good && i < config_setting_length(from); i++)
		good = value_copy(s, config_setting_get_elem(from, i));
	return good;
}

static bool
group_copy(config_setting_t *to, const struct change *c)
{
	const config_setting_t *from = c->s->group;

	for (int i = 0; i < config_setting_length(from); i++) {
		const config_setting_t *one = config_setting_get_elem(from, i);

		if (!is_left_out(c, config_setting_name(one)) &&
		    !value_copy(to, one))
			return false;
	}
	return true;
}

static bool
text_add(config_setting_t *to, const char *key, const char *text)
{
	config_setting_t *s = config_setting_add(to, key, CONFIG_TYPE_STRING);

	return s && config_setting_set_string(s, text);
}

static bool
number_add(config_setting_t *to, const char *key, int64_t n)
{
	config_setting_t *s = config_setting_add(to, key, CONFIG_TYPE_INT64);

	return s && config_setting_set_int64(s, n);
}

static bool
flag_add(config_setting_t *to, const char *key, int is)
{
	config_setting_t *s = config_setting_add(to, key, CONFIG_TYPE_BOOL);

	return s && config_setting_set_bool(s, is);
}

static bool
list_add(config_setting_t *to, const char *key, const json_t *texts)
{
	config_setting_t *list = config_setting_add(to, key, CONFIG_TYPE_ARRAY);
	const json_t *text;
	bool good = list;
	size_t i;

	json_array_foreach(texts, i, text)
		good = good && text_add(list, NULL, json_string_value(text));
	return good;
}

static bool
changes_add(config_setting_t *to, const struct change *c)
{
	const struct stream_vary *v = c->v;

	return (!c->format || text_add(to, "format", v->format)) &&
	       (!c->payload || number_add(to, "payload", v->payload)) &&
	       (!c->prefix || number_add(to, "prefix", v->prefix)) &&
	       (!c->legacy || flag_add(to, "legacy", v->legacy)) &&
	       (!c->layout || text_add(to, "layout", v->layout)) &&
	       (!c->split || text_add(to, "split", "thread")) &&
	       (!c->buffer ||
		number_add(to, "socket_buffer", (int64_t)v->buffer)) &&
	       (!c->listen || list_add(to, "listen", v->listen)) &&
	       (!c->receive || (text_add(to, "receive", "tcp") &&
				list_add(to, "allow", v->allow)));
}

/* ---- the text -------------------------------------------------------- */

static bool
config_make(config_t *config, const struct change *c)
{
	config_setting_t *root, *group;

	root = config_root_setting(config);
	group = config_setting_add(root, c->s->name, CONFIG_TYPE_GROUP);
	return group && group_copy(group, c) && changes_add(group, c) &&
	       (!c->name || text_add(root, "name", c->v->name));
}

static char *
config_text(const config_t *config)
{
	char *text = NULL;
	size_t bytes;
	FILE *f = open_memstream(&text, &bytes);

	if (!f)
		return NULL;
	config_write(config, f);
	fclose(f);
	return text;
}

int
stream_vary_text(char **text, const struct stream *s,
		 const struct stream_vary *v, struct fault *fault)
{
	struct change c = { .s = s, .v = v };
	config_t config;

	*text = NULL;
	change_find(&c);
	if (!is_any(&c))
		return 0;
	if (c.listen && !option_find(s->receive->head.options, "listen")) {
		fault_set(fault, -EINVAL, "conf",
			  "stream %s has no ports: receive = \"%s\"", s->name,
			  s->o.receive);
		return -EINVAL;
	}
	config_init(&config);
	if (config_make(&config, &c))
		*text = config_text(&config);
	config_destroy(&config);
	return *text ? 0 : fault_no_memory(fault);
}

int
stream_vary_make(struct stream **stream, const char *text, unsigned disks,
		 struct fault *fault)
{
	const config_setting_t *name;
	struct conf *conf;
	int err = conf_open_text(&conf, text, "the request", fault);

	if (err)
		return err;
	err = stream_make(stream, conf,
			  config_setting_get_elem(conf_root(conf), 0), disks,
			  fault);
	name = config_setting_get_elem(conf_root(conf), 1);
	if (!err && name)
		(*stream)->name = config_setting_get_string(name);
	conf_close(conf); /* the stream holds its own reference */
	return err;
}
