/* SPDX-License-Identifier: MIT */
/*
 * Prints the list of all keys from the same tables that read them, those of
 * plugins included, so the list is never out of date:
 *
 *   beside receive = "udp"
 *     listen         a list of texts, as [ "a", "b" ]
 *                    addresses to receive on: ...
 *
 * A key begins a line after two blanks, and no other line does.
 */
#include "daemon/main/options.h"

#include <stdio.h>
#include <string.h>

#include "base/module.h"
#include "daemon/schedule/scan_read.h"
#include "daemon/conf/setup.h"

static void
table_print(const char *place, const struct option_key *o)
{
	char form[CONF_FORM];

	if (!o || !o->name)
		return;
	printf("%s\n", place);
	for (; o->name; o++) {
		printf("  %-14s %s", o->name, conf_form(form, o));
		if (o->fallback)
			printf("; default %s", o->fallback);
		printf("\n  %-14s %s\n", "", o->help ? o->help : "");
	}
}

/* Returns the head of a plugin's ops, or NULL (told on stderr) if it cannot be
 * loaded. */
static const struct plugin *
plugin_load(const char *kind, const char *name)
{
	const struct receive_ops *receive;
	const struct send_ops *send;
	const struct format_ops *format;
	const struct write_ops *write;
	struct fault fault = { 0 };
	char line[1024];

	if (!strcmp(kind, "receive") && !module_receive(name, &receive, &fault))
		return &receive->head;
	if (!strcmp(kind, "format") && !module_format(name, &format, &fault))
		return &format->head;
	if (!strcmp(kind, "write") && !module_write(name, &write, &fault))
		return &write->head;
	if (!strcmp(kind, "send") && !module_send(name, &send, &fault))
		return &send->head;
	fault_line(&fault, line, sizeof line);
	fprintf(stderr, "spated: %s\n", line);
	return NULL;
}

/* Prints the keys of all plugins of a kind: they stand beside the key that
 * chose the plugin, or in a group of its name.  Returns an exit status. */
static int
plugins_print(const char *kind, const char *before, const char *after)
{
	char names[1024], title[128], *rest = names, *name;
	const struct plugin *head;
	int status = 0;

	module_names(kind, names, sizeof names);
	while ((name = strsep(&rest, ", "))) {
		if (!*name)
			continue;
		head = plugin_load(kind, name);
		snprintf(title, sizeof title, "%s%s%s", before, name, after);
		if (head)
			table_print(title, head->options);
		else
			status = 1;
	}
	return status;
}

int
options_print(void)
{
	int status;

	table_print("in the file itself", setup_options);
	status = plugins_print("write", "beside writer = \"", "\"");
	table_print("in the file itself, of sending", setup_send_options);
	status |= plugins_print("send", "in send.", "");
	table_print("in control", setup_control_options);
	table_print("in vsi", setup_vsi_options);
	table_print("in inbox", setup_inbox_options);
	table_print("in streams.NAME", stream_options);
	table_print("in a scan of the schedule", scan_options);
	status |= plugins_print("receive", "beside receive = \"", "\"");
	status |= plugins_print("format", "beside format = \"", "\"");
	return status;
}
