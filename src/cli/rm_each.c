/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/rm_each.h"
#include "cli/show/site.h"
#include "store/repair/protect.h"
#include "store/repair/removal.h"

/* ---- removing ---------------------------------------------------------- */

int
remover_open(struct remover *r, const struct cli *cli, struct fault *fault)
{
	struct fault none;

	*r = (struct remover){ 0 };
	if (!cli->disks && !site_connect(cli, &r->control, &none)) {
		control_wait(r->control, -1);
		return 0;
	}
	return site_disks(cli, &r->disks, fault);
}

void
remover_close(struct remover *r)
{
	control_close(r->control);
	disks_clear(&r->disks);
}

static int
here(struct remover *r, const char *name, bool look, bool force, json_t **facts,
     struct fault *fault)
{
	struct removal *removal;
	int err = removal_open(&removal, &r->disks, name, fault);

	if (err)
		return err;
	if (!look)
		err = removal_run(removal, force, NULL, fault);
	if (!err)
		*facts = removal_json(removal);
	removal_close(removal);
	return err;
}

int
remover_look(struct remover *r, const char *name, json_t **facts,
	     struct fault *fault)
{
	if (!r->control)
		return here(r, name, true, false, facts, fault);
	return control_ask(r->control, "rm",
			   json_pack("{s:s, s:b}", "name", name, "look", 1),
			   facts, fault);
}

int
remover_remove(struct remover *r, const char *name, bool force, json_t **facts,
	       struct fault *fault)
{
	if (!r->control)
		return here(r, name, false, force, facts, fault);
	return control_ask(
	    r->control, "rm",
	    json_pack("{s:s, s:b}", "name", name, "force", (int)force), facts,
	    fault);
}

int
remover_protect(struct remover *r, const char *name, bool on, json_t **done,
		struct fault *fault)
{
	if (!r->control)
		return protect_set(&r->disks, name, on, done, fault);
	return control_ask(r->control, "protect",
			   json_pack("{s:s, s:b}", "name", name, "off", !on),
			   done, fault);
}

/* ---- finding recordings ------------------------------------------------ */

static bool
is_pattern(const char *operand)
{
	return strpbrk(operand, "*?[");
}

static void
add_name(json_t *names, const char *name)
{
	const json_t *is;
	size_t i;

	json_array_foreach(names, i, is) {
		if (!strcmp(json_string_value(is), name))
			return;
	}
	json_array_append_new(names, json_string(name));
}

static int
add_matches(json_t *names, const struct cli *cli, const char *pattern,
	    struct fault *fault)
{
	const char *const patterns[] = { pattern, NULL };
	struct listing l;
	int err = listing_get(&l, cli, patterns, fault);

	if (err)
		return err;
	for (size_t i = 0; i < l.n; i++)
		add_name(names, l.entry[i].name);
	if (!l.n && is_pattern(pattern))
		err = fault_set(fault, -ENOENT, "not-found",
				"no recording is called %.100s", pattern);
	listing_warn(&l, cli);
	listing_clear(&l);
	return err;
}

static int
add_named(json_t *names, const struct cli *cli, const char *name,
	  struct fault *fault)
{
	const char *const itself[] = { name, NULL };
	size_t before = json_array_size(names);
	char streams[LAYOUT_FILE];
	struct listing l;
	bool is;
	int err = listing_get(&l, cli, itself, fault);

	if (err)
		return err;
	is = l.n > 0;
	listing_clear(&l);
	snprintf(streams, sizeof streams, "%.100s_ds?*", name);
	if (!is)
		err = add_matches(names, cli, streams, fault);
	if (err == -ENOENT)
		err = 0;
	if (!err && json_array_size(names) == before)
		add_name(names, name);
	return err;
}

json_t *
names_meant(const struct cli *cli, char **operand, bool *patterns,
	    struct fault *fault)
{
	json_t *names = json_array();
	int err = 0;

	*patterns = false;
	for (; *operand && !err; operand++) {
		*patterns |= is_pattern(*operand) != 0;
		if (is_pattern(*operand))
			err = add_matches(names, cli, *operand, fault);
		else
			err = add_named(names, cli, *operand, fault);
	}
	if (!err)
		return names;
	json_decref(names);
	return NULL;
}
