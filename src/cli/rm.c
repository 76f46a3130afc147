/* SPDX-License-Identifier: MIT */
/*
 * spate rm: removes recordings, one after the other.  With a pattern, or to
 * show what would happen, it looks at all of them first.  A recording that
 * cannot be removed is reported, and the others are removed.
 *
 * spate protect: keeps recordings from being removed, also by patterns.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/show/field.h"
#include "cli/show/listing.h"
#include "cli/show/site.h"
#include "cli/show/table.h"
#include "control/control.h"
#include "store/repair/protect.h"
#include "store/repair/removal.h"

/*
 * Removes recordings: the daemon does it, with its rights; without a daemon
 * this process does.
 */
struct remover {
	struct control *control; /* NULL: there is no daemon */
	struct disks disks;
};

/* ---- removing ---------------------------------------------------------- */

/*
 * Connects to the daemon, or else finds the disks.  Returns 0, or -errno with a
 * fault; the caller calls remover_close() in either case.
 */
static int
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

static void
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

/*
 * Gets what a removal would remove, as removal_json() says; the caller drops
 * *facts.  Returns 0, or -errno with a fault.
 */
static int
remover_look(struct remover *r, const char *name, json_t **facts,
	     struct fault *fault)
{
	if (!r->control)
		return here(r, name, true, false, facts, fault);
	return control_ask(r->control, "rm",
			   json_pack("{s:s, s:b}", "name", name, "look", 1),
			   facts, fault);
}

/* Removes a recording; *facts gets what was removed. */
static int
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

/* Protects a recording, or ends its protection. */
static int
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

/*
 * Returns the names that operands stand for, as a new array; NULL with a fault.
 * A pattern stands for all that match.  A name stands for itself, or, if there
 * is no recording of that name, for its streams <name>_ds<stream>. An unknown
 * name is kept; removing it will report that.  *patterns: an operand was a
 * pattern.
 */
static json_t *
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

/* ---- spate rm ------------------------------------------------------ */

struct rm_args {
	bool dry, yes, force;
};

static bool
is_set(const json_t *facts, const char *key)
{
	return json_is_true(json_object_get(facts, key));
}

/* Returns why a recording will not be removed; NULL: it will. */
static const char *
obstacle(const json_t *facts, bool force)
{
	if (field_known(facts, "why"))
		return field_text(facts, "why");
	if (is_set(facts, "protected"))
		return "stays: protected";
	if (is_set(facts, "live"))
		return "stays: being recorded";
	if (is_set(facts, "read") && !force)
		return "stays: being read";
	if (field_number(facts, "extras") && !force)
		return "stays: other files in its folder";
	return NULL;
}

/*
 * Looks at each recording; one that cannot be looked at gets the reason as
 * "why".
 */
static json_t *
look(struct remover *r, const json_t *names)
{
	json_t *all = json_array(), *facts;
	const json_t *name;
	size_t i;

	json_array_foreach(names, i, name) {
		const char *text = json_string_value(name);
		struct fault fault;
		char line[256];

		if (remover_look(r, text, &facts, &fault)) {
			snprintf(line, sizeof line, "stays: %.200s",
				 fault.what);
			facts =
			    json_pack("{s:s, s:s}", "name", text, "why", line);
		}
		json_array_append_new(all, facts);
	}
	return all;
}

/* Returns how many would be removed; *bytes is what that frees. */
static size_t
count(const json_t *all, bool force, uint64_t *bytes)
{
	const json_t *facts;
	size_t i, n = 0;

	*bytes = 0;
	json_array_foreach(all, i, facts) {
		if (obstacle(facts, force))
			continue;
		*bytes += field_number(facts, "bytes");
		n++;
	}
	return n;
}

static const char *
note(const json_t *facts, bool force)
{
	const char *stays = obstacle(facts, force);

	if (stays)
		return stays;
	if (json_array_size(json_object_get(facts, "away")))
		return "parts of it are on disks that are not there";
	return is_set(facts, "begun") ? "its removal was cut short" : "";
}

static void
show(const json_t *all, bool force)
{
	static const struct table_column columns[] = { { "name", false },
						       { "frees", true },
						       { "files", true },
						       { "disks", true },
						       { "", false } };
	struct table *t = table_open(columns, sizeof columns / sizeof *columns);
	char text[UNITS_TEXT];
	const json_t *facts;
	uint64_t bytes;
	size_t i, n = count(all, force, &bytes);

	json_array_foreach(all, i, facts) {
		table_cell(t, "%s", field_text(facts, "name"));
		table_cell(
		    t, "%s",
		    units_show_bytes(text, field_number(facts, "bytes")));
		table_cell(t, "%" PRIu64, field_number(facts, "files"));
		table_cell(t, "%zu",
			   json_array_size(json_object_get(facts, "disks")));
		table_cell(t, "%s", note(facts, force));
	}
	table_print(t, 0, stdout);
	table_close(t);
	printf("%zu of %zu would be removed, which frees %s\n", n,
	       json_array_size(all), units_show_bytes(text, bytes));
}

static int
dry(const struct cli *cli, const json_t *all, bool force)
{
	const json_t *facts;
	size_t i;

	if (!cli->json)
		show(all, force);
	json_array_foreach(all, i, facts) {
		if (cli->json)
			cli_print_json(facts);
	}
	return CLI_DONE;
}

/*
 * Asks for confirmation, because a pattern may match more than its user thinks.
 */
static int
confirm(const struct cli *cli, const json_t *all, bool force,
	struct fault *fault)
{
	char answer[16] = "";

	if (cli->json || !isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		fault_set(fault, -EINVAL, "usage",
			  "a pattern removes nothing without --yes");
		fault_hint(fault, "--dry-run shows what it means");
		return -EINVAL;
	}
	show(all, force);
	printf("Remove them? Type yes: ");
	fflush(stdout);
	if (fgets(answer, sizeof answer, stdin) && !strcmp(answer, "yes\n"))
		return 0;
	fault_set(fault, -ECANCELED, "busy", "nothing was removed");
	fault_why(fault, "the answer was not \"yes\"");
	return -ECANCELED;
}

static void
tell(const struct cli *cli, const json_t *facts)
{
	const json_t *away = json_object_get(facts, "away"), *path;
	char text[UNITS_TEXT];
	size_t i;

	if (cli->json) {
		cli_print_json(facts);
	} else {
		printf("%s removed, %s on %zu disks\n",
		       field_text(facts, "name"),
		       units_show_bytes(text, field_number(facts, "bytes")),
		       json_array_size(json_object_get(facts, "disks")));
		fflush(stdout);
	}
	json_array_foreach(away, i, path)
		fprintf(stderr,
			"spate: %s is not there: what it has of %s stays\n",
			json_string_value(path), field_text(facts, "name"));
}

static int
remove_all(const struct cli *cli, struct remover *r, const json_t *names,
	   bool force)
{
	int status = CLI_DONE;
	const json_t *name;
	json_t *facts;
	size_t i;

	json_array_foreach(names, i, name) {
		struct fault fault;

		if (remover_remove(r, json_string_value(name), force, &facts,
				   &fault)) {
			status = cli_fail(&fault);
			continue;
		}
		tell(cli, facts);
		json_decref(facts);
	}
	return status;
}

static int
act(const struct cli *cli, const struct rm_args *args, struct remover *r,
    const json_t *names, bool patterns)
{
	struct fault fault;
	json_t *all = NULL;
	int status;

	if (args->dry || (patterns && !args->yes))
		all = look(r, names);
	if (args->dry)
		status = dry(cli, all, args->force);
	else if (all && confirm(cli, all, args->force, &fault) != 0)
		status = cli_fail(&fault);
	else
		status = remove_all(cli, r, names, args->force);
	json_decref(all);
	return status;
}

static int
rm_run(const struct cli *cli, const void *values, char **operand)
{
	const struct rm_args *args = values;
	struct fault fault;
	struct remover r;
	bool patterns;
	json_t *names = names_meant(cli, operand, &patterns, &fault);
	int status;

	if (!names)
		return cli_fail(&fault);
	if (remover_open(&r, cli, &fault))
		status = cli_fail(&fault);
	else
		status = act(cli, args, &r, names, patterns);
	remover_close(&r);
	json_decref(names);
	return status;
}

static const struct args_option rm_options[] = {
	{ "dry-run", 'n', ARGS_FLAG, offsetof(struct rm_args, dry), NULL,
	  "show what would go, and what that frees; remove nothing" },
	{ "yes", 'y', ARGS_FLAG, offsetof(struct rm_args, yes), NULL,
	  "do not ask: patterns need this where there is no terminal" },
	{ "force", 0, ARGS_FLAG, offsetof(struct rm_args, force), NULL,
	  "also what is being read, and other files in its folder" },
	{ .name = NULL },
};

const struct command command_rm = {
	.name = "rm",
	.operands = "NAME|PATTERN...",
	.help = "Remove recordings from all disks",
	.least = 1,
	.most = 64,
	.options = rm_options,
	.bytes = sizeof(struct rm_args),
	.eased = true,
	.run = rm_run,
};

/* ---- spate protect ------------------------------------------------- */

struct protect_args {
	bool off;
};

static int
protect(const struct cli *cli, struct remover *r, const char *name, bool on)
{
	struct fault fault;
	json_t *done;

	if (remover_protect(r, name, on, &done, &fault))
		return cli_fail(&fault);
	if (cli->json)
		cli_print_json(done);
	else
		printf("%s is %s\n", name,
		       on ? "protected" : "not protected any more");
	json_decref(done);
	return CLI_DONE;
}

static int
protect_run(const struct cli *cli, const void *values, char **operand)
{
	const struct protect_args *args = values;
	struct fault fault;
	struct remover r;
	bool patterns;
	json_t *names = names_meant(cli, operand, &patterns, &fault), *name;
	int status = CLI_DONE;
	size_t i;

	if (!names)
		return cli_fail(&fault);
	if (remover_open(&r, cli, &fault)) {
		status = cli_fail(&fault);
		goto out;
	}
	json_array_foreach(names, i, name) {
		int one = protect(cli, &r, json_string_value(name), !args->off);

		status = one == CLI_DONE ? status : one;
	}
out:
	remover_close(&r);
	json_decref(names);
	return status;
}

static const struct args_option protect_options[] = {
	{ "off", 0, ARGS_FLAG, offsetof(struct protect_args, off), NULL,
	  "let rm remove them again" },
	{ .name = NULL },
};

const struct command command_protect = {
	.name = "protect",
	.operands = "NAME|PATTERN...",
	.help = "Let no rm remove recordings",
	.least = 1,
	.most = 64,
	.options = protect_options,
	.bytes = sizeof(struct protect_args),
	.run = protect_run,
};
