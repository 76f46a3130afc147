/* SPDX-License-Identifier: MIT */
/*
 * After each command that is no query, the settings are handed to spated if
 * they have changed (`keep`), in one JSON value for all runtimes:
 *
 *   [{"name","transient","set":{...},"list":[...],"recordings","name","scan"}]
 *
 * What was recorded is no part of it: spated says which recordings run that
 * were ordered `by` "vsi ADDRESS", or "vsi ADDRESS NAME" for a runtime of that
 * name.  ADDRESS is the first that commands come in on, so that several
 * spate-vsi may give orders to one spated.
 *
 * Before spated has been asked what it kept, only queries are answered: what it
 * kept would replace what a command sets.
 */
#include "vsi/vsi_runtimes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "vsi/vsi.h"
#include "vsi/vsi_host.h"

enum { RUNTIMES = 32, RUNTIME_NAME = 32, LIST_KEPT = 32, NAME = 64 };

struct runtime {
	struct vsi_asker asker; /* first: the host's argument */
	struct vsi_runtimes *of;
	uint32_t number; /* a different one for each; 0: the default runtime */
	char name[RUNTIME_NAME];
	uint32_t owner; /* client that it ends with ("transient"); 0: none */
	struct vsi v;
	struct runtime *next; /* links vsi_runtimes::list or ::ended */
};

struct vsi_runtimes {
	/* "vsi ADDRESS": the name of the value that spated keeps, and the
	 * beginning of `by` in orders */
	char name[NAME];
	const struct vsi_conf *conf;
	const struct option_texts *inbox;
	struct spated *spated;
	struct runtime *list;  /* newest first; the last one is the default
				* runtime, number 0 */
	struct runtime *ended; /* to be freed after the command: a runtime may
				* delete itself */
	uint32_t numbers;
	bool leaving;  /* the program ends */
	bool restored; /* spated was asked for what survived */
	bool unsure;   /* an order was not answered: it may have been carried
			* out */
	char *kept;    /* text that spated keeps; or NULL */
	unsigned life; /* spated_life() of the spated that keeps it */
};

/* Finds a runtime by name; jive5ab calls the first one "default", or "0". */
static struct runtime *
runtime_named(struct vsi_runtimes *all, const char *name)
{
	struct runtime *t = all->list;

	while (t && strcmp(t->name, strcmp(name, "0") ? name : "default"))
		t = t->next;
	return t;
}

static struct runtime *
runtime_of(struct vsi_runtimes *all, const struct vsi_command *c)
{
	struct runtime *t = all->list;

	while (t->next && t->number != *c->runtime)
		t = t->next;
	*c->runtime = t->number;
	return t;
}

static void runtime_do(void *arg, const struct vsi_command *c,
		       struct vsi_reply *r);

/* Adds a runtime in front of the list; NULL without memory. */
static struct runtime *
runtime_make(struct vsi_runtimes *all, const char *name)
{
	struct vsi_host host = { .runtime = runtime_do };
	struct runtime *t = calloc(1, sizeof *t);

	if (!t)
		return NULL;
	t->of = all;
	t->asker = (struct vsi_asker){ .spated = all->spated,
				       .conf = all->conf,
				       .inbox = all->inbox,
				       .v = &t->v };
	if (all->list)
		t->number = ++all->numbers;
	snprintf(t->name, sizeof t->name, "%s", name);
	snprintf(t->asker.by, sizeof t->asker.by, "%s%s%s", all->name,
		 all->list ? " " : "", all->list ? name : "");
	vsi_host_set(&host, &t->asker);
	vsi_init(&t->v, &host);
	t->next = all->list;
	all->list = t;
	return t;
}

/* Ends a runtime and what it does; ended_free() frees it later. */
static void
runtime_end(struct vsi_runtimes *all, struct runtime *t)
{
	struct runtime **at = &all->list;
	const char *away;

	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	if (!all->leaving && vsi_is_on(&t->v)) {
		t->v.host.stop(t->v.host.arg, t->v.name);
		away = spated_away(all->spated);
		log_line(LEVEL_WARN, "vsi",
			 "runtime %s has gone: its recording %s %s%s", t->name,
			 t->v.name,
			 away ? "was not stopped, because " : "is stopped",
			 away ? away : "");
	}
	t->asker.leaving = all->leaving;
	vsi_finish(&t->v);
	vsi_host_clear(&t->asker);
	t->next = all->ended;
	all->ended = t;
}

static void
ended_free(struct vsi_runtimes *all)
{
	struct runtime *t;

	while ((t = all->ended)) {
		all->ended = t->next;
		free(t);
	}
}

static void
runtime_ask(struct vsi_runtimes *all, const struct runtime *own,
	    struct vsi_reply *r)
{
	unsigned n = 0;

	for (const struct runtime *t = all->list; t; t = t->next)
		n++;
	vsi_say(r, VSI_DONE, "%s : %u", own->name, n);
	for (const struct runtime *t = all->list; t; t = t->next) {
		if (t != own)
			vsi_more(r, "%s", t->name);
	}
}

static bool
runtime_name_good(const char *name)
{
	size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz"
				     "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.");

	return length && !name[length] && length < RUNTIME_NAME;
}

static struct runtime *
runtime_new(struct vsi_runtimes *all, const struct vsi_command *c,
	    struct vsi_reply *r, const char **why)
{
	const char *name = vsi_field(c, 0);
	struct runtime *t;
	unsigned n = 0;

	(void)r;
	for (t = all->list; t; t = t->next)
		n++;
	*why = "a runtime's name has up to 31 letters, digits, '_', '-', '.'";
	if (!runtime_name_good(name))
		return NULL;
	*why = "there are 32 runtimes already";
	if (n == RUNTIMES)
		return NULL;
	*why = "out of memory";
	t = runtime_make(all, name);
	if (t && !strcmp(vsi_field(c, 1), "transient"))
		t->owner = c->client;
	return t;
}

/*
 * Handles runtime=NAME[:new|exists|transient|delete]; without the second field
 * the runtime is made if it does not exist.
 */
static void
runtime_do(void *arg, const struct vsi_command *c, struct vsi_reply *r)
{
	struct runtime *own = arg, *t;
	struct vsi_runtimes *all = own->of;
	const char *name = vsi_field(c, 0), *how = vsi_field(c, 1);
	const char *why = "";

	if (c->query) {
		runtime_ask(all, own, r);
		return;
	}
	t = runtime_named(all, name);
	if (*how && strcmp(how, "new") && strcmp(how, "exists") &&
	    strcmp(how, "transient") && strcmp(how, "delete")) {
		vsi_refuse(&own->v, c, r, VSI_PARAMETER,
			   "a runtime is new, exists, transient or delete");
		return;
	}
	if (t && (!strcmp(how, "new") || !strcmp(how, "transient"))) {
		vsi_refuse(&own->v, c, r, VSI_CONFLICT,
			   "'%.40s' already exists", name);
		return;
	}
	if (!t && (!strcmp(how, "exists") || !strcmp(how, "delete"))) {
		vsi_refuse(&own->v, c, r, VSI_CONFLICT, "'%.40s' doesn't exist",
			   name);
		return;
	}
	if (!strcmp(how, "delete")) {
		if (!t->next) {
			vsi_refuse(&own->v, c, r, VSI_CONFLICT,
				   "cannot delete the default runtime");
			return;
		}
		runtime_end(all, t);
		t = runtime_of(all, c);
	} else if (!t) {
		t = runtime_new(all, c, r, &why);
	}
	if (!t) {
		vsi_refuse(&own->v, c, r, VSI_CONFLICT, "%s", why);
		return;
	}
	*c->runtime = t->number;
	vsi_say(r, VSI_DONE, "%s", t->name);
}

/* ---- what survives --------------------------------------------------- */

static json_t *
ports_json(const struct vsi_settings *set)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < set->ports; i++)
		json_array_append_new(list,
				      json_pack("[s, i, s]", set->port[i].host,
						(int)set->port[i].port,
						set->port[i].suffix));
	return list;
}

static void
ports_read(struct vsi_settings *set, const json_t *list)
{
	json_t *one;
	size_t i;

	set->ports = 0;
	json_array_foreach(list, i, one) {
		struct vsi_port *p = &set->port[set->ports];
		const char *host, *suffix;
		int port;

		if (set->ports == VSI_PORTS ||
		    json_unpack(one, "[s, i, s]", &host, &port, &suffix))
			return;
		snprintf(p->host, sizeof p->host, "%.63s", host);
		snprintf(p->suffix, sizeof p->suffix, "%.31s", suffix);
		p->port = (uint16_t)port;
		set->ports++;
	}
}

static json_t *
list_json(const struct vsi *v)
{
	uint64_t n = v->recordings > LIST_KEPT ? v->recordings - LIST_KEPT : 0;
	json_t *list = json_array();

	while (n < v->recordings)
		json_array_append_new(list, json_string(vsi_listed(v, ++n)));
	return list;
}

static json_t *
runtime_json(const struct runtime *t)
{
	const struct vsi *v = &t->v;
	const struct vsi_mode *m = &v->set.mode;
	char mask[24];

	snprintf(mask, sizeof mask, "0x%llx", (unsigned long long)m->mask);
	return json_pack(
	    "{s:s, s:b, s:s, s:s, s:i, s:s, s:i, s:I, s:I, s:i, s:i, s:i, s:b, "
	    "s:b, s:o, s:I, s:o, s:s, s:[s, I, I, I]}",
	    "runtime", t->name, "transient", t->owner != 0, "mode", m->text,
	    "mask", m->mask ? mask : "", "decimation", (int)m->decimation,
	    "protocol", v->set.protocol, "prefix", v->set.prefix, "buffer",
	    (json_int_t)v->set.buffer, "workbuf", (json_int_t)v->workbuf,
	    "blocks", (int)v->blocks, "mtu", (int)v->mtu, "sg", v->set.sg,
	    "by_thread", v->set.by_thread, "rename", v->rename, "ports",
	    ports_json(&v->set), "recordings", (json_int_t)v->recordings,
	    "list", list_json(v), "name", v->name, "scan", v->scan,
	    (json_int_t)v->scan_at, (json_int_t)v->scan_start,
	    (json_int_t)v->scan_end);
}

/* Hands spated what shall survive, if it has changed. */
static void
keep(struct vsi_runtimes *all)
{
	json_t *value = json_array(), *answer;
	struct fault fault = { 0 };
	char *text;
	int err;

	for (const struct runtime *t = all->list; t; t = t->next)
		json_array_insert_new(value, 0, runtime_json(t));
	text = json_dumps(value, JSON_COMPACT);
	if (!text || (all->kept && !strcmp(text, all->kept) &&
		      all->life == spated_life(all->spated))) {
		json_decref(value);
		free(text);
		return;
	}
	free(all->kept);
	all->kept = text;
	err = spated_ask(
	    all->spated, "keep",
	    json_pack("{s:s, s:o}", "name", all->name, "value", value), -1,
	    &answer, &fault);
	all->life = err ? 0 : spated_life(all->spated);
	json_decref(answer);
	if (err && !spated_away(all->spated))
		log_line(LEVEL_WARN, "vsi",
			 "a restart of spate-vsi would lose its settings: %s",
			 fault.what);
}

static void
text_take(char *to, size_t bytes, const char *text)
{
	snprintf(to, bytes, "%s", text ? text : "");
}

/* Adds a recording to the list, as record=on does. */
static void
list_take(struct vsi *v, const char *name)
{
	text_take(v->list[v->recordings++ % VSI_RECORDINGS], VSI_NAME, name);
}

/* Gives a vsi the settings that spated kept; what makes no sense is left. */
static void
vsi_take(struct vsi *v, const json_t *from)
{
	const char *mode, *mask, *protocol, *name, *scan, *why;
	json_t *ports, *list, *one;
	int decimation, blocks, mtu, rename, by_thread;
	json_int_t buffer, workbuf, recordings, at, start, end;
	char text[16];
	size_t i;

	if (json_unpack((json_t *)from,
			"{s:s, s:s, s:i, s:s, s:i, s:I, s:I, s:i, s:i, s:i, "
			"s:b, s:b, s:o, s:I, s:o, s:s, s:[s, I, I, I]}",
			"mode", &mode, "mask", &mask, "decimation", &decimation,
			"protocol", &protocol, "prefix", &v->set.prefix,
			"buffer", &buffer, "workbuf", &workbuf, "blocks",
			&blocks, "mtu", &mtu, "sg", &v->set.sg, "by_thread",
			&by_thread, "rename", &rename, "ports", &ports,
			"recordings", &recordings, "list", &list, "name", &name,
			"scan", &scan, &at, &start, &end)) {
		log_line(LEVEL_WARN, "vsi",
			 "the settings of before are not understood, and left");
		return;
	}
	snprintf(text, sizeof text, "%d", decimation);
	if (*mode &&
	    vsi_mode_parse(&v->set.mode,
			   (const char *const[]){ *mask ? "ext" : mode, mask,
						  *mask ? text : "" },
			   &why))
		log_line(LEVEL_WARN, "vsi", "mode=%s of before is left: %s",
			 mode, why);
	text_take(v->set.protocol, sizeof v->set.protocol, protocol);
	v->set.buffer = (uint64_t)buffer;
	v->set.by_thread = by_thread;
	ports_read(&v->set, ports);
	v->workbuf = (uint64_t)workbuf;
	v->blocks = (uint32_t)blocks;
	v->mtu = (uint32_t)mtu;
	v->rename = rename;
	v->recordings = (uint64_t)recordings - json_array_size(list);
	json_array_foreach(list, i, one)
		list_take(v, json_string_value(one));
	text_take(v->name, sizeof v->name, name);
	text_take(v->scan, sizeof v->scan, scan);
	v->scan_at = (uint64_t)at;
	v->scan_start = start;
	v->scan_end = end;
}

static struct runtime *
runtime_get(struct vsi_runtimes *all, const char *name)
{
	struct runtime *t = runtime_named(all, name);

	return t ? t : runtime_make(all, name);
}

/* Goes on with a recording that was ordered by the spate-vsi of before. */
static void
recording_take(struct vsi_runtimes *all, const json_t *info)
{
	const char *by = json_string_value(json_object_get(info, "by"));
	const char *name = json_string_value(json_object_get(info, "name"));
	const char *state = json_string_value(json_object_get(info, "state"));
	const char *parts = name ? strstr(name, "_ds") : NULL;
	size_t length = parts  ? (size_t)(parts - name)
			: name ? strlen(name)
			       : 0;
	size_t own = strlen(all->name);
	struct runtime *t;
	struct vsi *v;

	if (!by || !state || !length || length >= VSI_NAME ||
	    strncmp(by, all->name, own) || (by[own] && by[own] != ' ') ||
	    !strcmp(state, "stopping"))
		return;
	t = runtime_get(all, by[own] ? by + own + 1 : "default");
	if (!t || t->v.on)
		return;
	v = &t->v;
	v->on = true;
	if (strlen(v->name) != length || strncmp(v->name, name, length)) {
		snprintf(v->name, sizeof v->name, "%.*s", (int)length, name);
		list_take(v, v->name);
	}
	log_line(LEVEL_INFO, "vsi", "goes on with the recording %s", v->name);
}

/* Tells whether a runtime of that name has a recording among `infos`. */
static bool
has_recording(const struct vsi_runtimes *all, const json_t *infos,
	      const char *runtime)
{
	char by[VSI_BY];
	const json_t *info;
	size_t i;

	snprintf(by, sizeof by, "%s %.31s", all->name, runtime);
	json_array_foreach(infos, i, info) {
		const char *has =
		    json_string_value(json_object_get(info, "by"));

		if (has && !strcmp(has, by))
			return true;
	}
	return false;
}

void
vsi_runtimes_restore(struct vsi_runtimes *all)
{
	json_t *kept, *status = NULL, *infos, *values, *one;
	struct fault fault = { 0 };
	struct runtime *t;
	size_t i;

	if (spated_ask(all->spated, "keep",
		       json_pack("{s:s}", "name", all->name), -1, &kept,
		       &fault) ||
	    spated_ask(all->spated, "status", json_object(), -1, &status,
		       &fault))
		goto out;
	infos = json_object_get(status, "recordings");
	values = all->restored ? NULL : json_object_get(kept, "value");
	json_array_foreach(values, i, one) {
		const char *name =
		    json_string_value(json_object_get(one, "runtime"));

		/* A transient one ended with its client, unless it records. */
		if (!name || (json_is_true(json_object_get(one, "transient")) &&
			      !has_recording(all, infos, name)))
			continue;
		t = runtime_get(all, name);
		if (t)
			vsi_take(&t->v, one);
	}
	json_array_foreach(infos, i, one)
		recording_take(all, one);
	all->restored = true;
	all->unsure = false;
out:
	json_decref(kept);
	json_decref(status);
}

/* ---- for the server -------------------------------------------------- */

bool
vsi_runtimes_command(void *arg, const struct vsi_command *c,
		     struct vsi_reply *r)
{
	struct vsi_runtimes *all = arg;
	const char *away;
	bool done;

	spated_begin(all->spated);
	if (!all->restored || all->unsure)
		vsi_runtimes_restore(all);
	away = spated_away(all->spated);
	if (!all->restored && !c->query && away) {
		vsi_refuse(&runtime_of(all, c)->v, c, r, VSI_FAILED, "%s",
			   away);
		return true;
	}
	spated_begin(all->spated);
	done = vsi_command(&runtime_of(all, c)->v, c, r);
	all->unsure |= spated_away(all->spated) != NULL;
	if (done && !c->query)
		keep(all);
	ended_free(all);
	return done;
}

void
vsi_runtimes_gone(void *arg, uint32_t client)
{
	struct vsi_runtimes *all = arg;
	struct runtime *t, *next;

	spated_begin(all->spated);
	for (t = all->list; t; t = next) {
		next = t->next;
		if (t->owner == client && !all->leaving)
			runtime_end(all, t);
	}
	ended_free(all);
	all->unsure |= spated_away(all->spated) != NULL;
}

int
vsi_runtimes_open(struct vsi_runtimes **out, const struct vsi_conf *conf,
		  const struct option_texts *inbox, struct spated *spated)
{
	struct vsi_runtimes *all = calloc(1, sizeof *all);

	if (!all)
		return -ENOMEM;
	snprintf(all->name, sizeof all->name, "vsi %.59s",
		 conf->listen.text[0]);
	all->conf = conf;
	all->inbox = inbox;
	all->spated = spated;
	if (!runtime_make(all, "default")) {
		free(all);
		return -ENOMEM;
	}
	*out = all;
	return 0;
}

void
vsi_runtimes_leave(struct vsi_runtimes *all)
{
	all->leaving = true;
}

void
vsi_runtimes_close(struct vsi_runtimes *all)
{
	if (!all)
		return;
	all->leaving = true;
	while (all->list)
		runtime_end(all, all->list);
	ended_free(all);
	free(all->kept);
	free(all);
}
