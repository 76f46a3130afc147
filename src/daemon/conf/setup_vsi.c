/* SPDX-License-Identifier: MIT */
/* Reads the group `vsi`: who may order recordings as a Field System does, at
 * which addresses, and of which streams. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/units.h"
#include "daemon/conf/setup.h"
#include "daemon/loop/vsi_allow.h"

#define AT(member) offsetof(struct setup_vsi, member)

const struct option_key setup_vsi_options[] = {
	{ .name = "listen",
	  .type = OPTION_TEXTS,
	  .offset = AT(listen),
	  .help = "addresses and ports where VSI-S commands come in; none: "
		  "nowhere" },
	{ .name = "streams",
	  .type = OPTION_TEXTS,
	  .offset = AT(streams),
	  .help = "streams that record=on records; none: the only one" },
	{ .name = "allow",
	  .type = OPTION_TEXTS,
	  .offset = AT(allow),
	  .fallback = "[ \"127.0.0.0/8\", \"::1\" ]",
	  .help = "networks that commands may come from" },
	{ .name = "files",
	  .type = OPTION_TEXTS,
	  .offset = AT(files),
	  .help = "folders below which files may be read and written by "
		  "disk2file, net2file, file2net and file_check; none: no "
		  "files" },
	{ .name = "version",
	  .type = OPTION_TEXT,
	  .offset = AT(version),
	  .help = "program and version that version? tells, as \"jive5ab "
		  "3.1.0\", for programs that ask for that; none: spate's" },
	{ .name = NULL },
};

static int
blame(struct setup *c, const config_setting_t *group, const char *key,
      struct fault *fault)
{
	const config_setting_t *s =
	    config_setting_get_member((config_setting_t *)group, key);

	return conf_blame(c->conf, s ? s : group, -EINVAL, fault);
}

static int
networks_check(struct setup *c, const config_setting_t *group,
	       struct fault *fault)
{
	struct sockaddr_storage address;
	struct vsi_network network;

	for (unsigned i = 0; i < c->vsi.listen.n; i++) {
		if (vsi_address_parse(&address, c->vsi.listen.text[i]) > 0)
			continue;
		fault_set(fault, -EINVAL, "conf",
			  "vsi: '%s' is no address to listen on",
			  c->vsi.listen.text[i]);
		fault_hint(fault, "listen = [ \"127.0.0.1:2620\", "
				  "\"[::1]:2620\" ];");
		return blame(c, group, "listen", fault);
	}
	for (unsigned i = 0; i < c->vsi.allow.n; i++) {
		if (vsi_network_parse(&network, c->vsi.allow.text[i]) == 0)
			continue;
		fault_set(fault, -EINVAL, "conf", "vsi: '%s' is no network",
			  c->vsi.allow.text[i]);
		fault_hint(fault, "allow = [ \"10.0.0.0/8\", \"fd00::/8\" ];");
		return blame(c, group, "allow", fault);
	}
	return 0;
}

static int
files_check(struct setup *c, const config_setting_t *group, struct fault *fault)
{
	for (unsigned i = 0; i < c->vsi.files.n; i++) {
		const char *folder = c->vsi.files.text[i];

		if (*folder == '/' && folder[1] && strlen(folder) < 512)
			continue;
		fault_set(fault, -EINVAL, "conf",
			  "vsi: files = \"%.80s\" is no folder", folder);
		fault_hint(fault, "files = \"/data/fringe\"; with its whole "
				  "path, and not /");
		return blame(c, group, "files", fault);
	}
	return 0;
}

static int
version_check(struct setup *c, const config_setting_t *group,
	      struct fault *fault)
{
	const char *text = c->vsi.version;
	size_t program, rest;

	if (!text)
		return 0;
	program = strcspn(text, " ");
	rest = strcspn(text, ":;");
	if (program && text[program] && strlen(text) < 64 && !text[rest])
		return 0;
	fault_set(fault, -EINVAL, "conf",
		  "vsi: version = \"%s\" is no program and version", text);
	fault_hint(fault, "version = \"jive5ab 3.1.0\";");
	return blame(c, group, "version", fault);
}

static int
streams_check(struct setup *c, const config_setting_t *group,
	      struct fault *fault)
{
	struct option_texts *names = &c->vsi.streams;

	if (!names->n && c->streams == 1) {
		c->vsi.only = c->stream[0]->name;
		*names = (struct option_texts){ &c->vsi.only, 1 };
		return 0;
	}
	if (!names->n || names->n > SETUP_VSI_STREAMS) {
		fault_set(fault, -EINVAL, "conf",
			  "vsi: which of the %u streams does record=on record?",
			  c->streams);
		fault_hint(fault, "streams = [ \"%s\" ]; up to %d of them",
			   c->stream[0]->name, SETUP_VSI_STREAMS);
		return blame(c, group, "streams", fault);
	}
	for (unsigned i = 0; i < names->n; i++) {
		if (setup_stream(c, names->text[i]))
			continue;
		fault_set(fault, -ENOENT, "conf",
			  "vsi: there is no stream '%s'", names->text[i]);
		return blame(c, group, "streams", fault);
	}
	return 0;
}

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
	blame(c, group, "streams", fault);
	return -ENOMEM;
}

int
setup_vsi_read(struct setup *c, struct fault *fault)
{
	config_setting_t *group =
	    config_setting_get_member(conf_root(c->conf), "vsi");
	struct conf_part part = { setup_vsi_options, &c->vsi };
	int err;

	if (!group)
		return 0;
	err = conf_fill(c->conf, group, &part, 1, NULL, fault);
	if (err)
		return err;
	if (!c->vsi.listen.n) {
		fault_set(fault, -EINVAL, "conf",
			  "vsi: `listen` is missing: where do commands come "
			  "in?");
		fault_hint(fault, "listen = \"127.0.0.1:2620\";");
		return blame(c, group, "listen", fault);
	}
	err = networks_check(c, group, fault);
	if (!err)
		err = streams_check(c, group, fault);
	if (!err)
		err = files_check(c, group, fault);
	if (!err)
		err = version_check(c, group, fault);
	return err ? err : memory_check(c, group, fault);
}
