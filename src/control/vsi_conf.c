/* SPDX-License-Identifier: MIT */
#include "control/vsi_conf.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "control/listener.h"

#define AT_VSI(member) offsetof(struct vsi_conf, member)

const struct option_key vsi_conf_options[] = {
	{ .name = "listen",
	  .type = OPTION_TEXTS,
	  .offset = AT_VSI(listen),
	  .help = "addresses and ports where VSI-S commands come in; none: "
		  "nowhere" },
	{ .name = "streams",
	  .type = OPTION_TEXTS,
	  .offset = AT_VSI(streams),
	  .help = "streams that record=on records; none: the only one" },
	{ .name = "allow",
	  .type = OPTION_TEXTS,
	  .offset = AT_VSI(allow),
	  .fallback = "[ \"127.0.0.0/8\", \"::1\" ]",
	  .help = "networks that commands may come from" },
	{ .name = "files",
	  .type = OPTION_TEXTS,
	  .offset = AT_VSI(files),
	  .help = "folders below which files may be read and written by "
		  "disk2file, net2file, file2net and file_check; none: no "
		  "files" },
	{ .name = "version",
	  .type = OPTION_TEXT,
	  .offset = AT_VSI(version),
	  .help = "program and version that version? tells, as \"jive5ab "
		  "3.1.0\", for programs that ask for that; none: spate's" },
	{ .name = NULL },
};

static int
files_check(struct vsi_conf *c, struct conf *conf,
	    const config_setting_t *group, struct fault *fault)
{
	for (unsigned i = 0; i < c->files.n; i++) {
		const char *folder = c->files.text[i];

		if (*folder == '/' && folder[1] && strlen(folder) < 512)
			continue;
		fault_set(fault, -EINVAL, "conf",
			  "vsi: files = \"%.80s\" is no folder", folder);
		fault_hint(fault, "files = \"/data/fringe\"; with its whole "
				  "path, and not /");
		return conf_blame_key(conf, group, "files", fault);
	}
	return 0;
}

static int
version_check(struct vsi_conf *c, struct conf *conf,
	      const config_setting_t *group, struct fault *fault)
{
	const char *text = c->version;
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
	return conf_blame_key(conf, group, "version", fault);
}

/* `streams` may be left out where there is only one. */
static int
streams_check(struct vsi_conf *c, struct conf *conf,
	      const config_setting_t *group, struct fault *fault)
{
	const config_setting_t *all =
	    config_setting_get_member(conf_root(conf), "streams");
	int n = all ? config_setting_length(all) : 0;
	struct option_texts *names = &c->streams;
	const config_setting_t *first =
	    n ? config_setting_get_elem(all, 0) : NULL;

	if (!names->n && n == 1) {
		c->only = config_setting_name(first);
		*names = (struct option_texts){ &c->only, 1 };
		return 0;
	}
	if (!names->n || names->n > VSI_CONF_STREAMS) {
		fault_set(fault, -EINVAL, "conf",
			  "vsi: which of the %d streams does record=on record?",
			  n);
		fault_hint(fault, "streams = [ \"%s\" ]; up to %d of them",
			   first ? config_setting_name(first) : "dbbc3",
			   VSI_CONF_STREAMS);
		return conf_blame_key(conf, group, "streams", fault);
	}
	for (unsigned i = 0; i < names->n; i++) {
		const char *name = names->text[i];

		for (unsigned k = 0; k < i; k++) {
			if (strcmp(names->text[k], name))
				continue;
			fault_set(fault, -EINVAL, "conf",
				  "vsi: stream '%s' is named twice", name);
			return conf_blame_key(conf, group, "streams", fault);
		}
		if (all && config_setting_get_member(all, name))
			continue;
		fault_set(fault, -ENOENT, "conf",
			  "vsi: there is no stream '%s'", name);
		return conf_blame_key(conf, group, "streams", fault);
	}
	return 0;
}

int
vsi_conf_read(struct vsi_conf *c, struct conf *conf, struct fault *fault)
{
	config_setting_t *group =
	    config_setting_get_member(conf_root(conf), "vsi");
	struct conf_part part = { vsi_conf_options, c };
	int err;

	if (!group)
		return 0;
	err = conf_fill(conf, group, &part, 1, NULL, fault);
	if (err)
		return err;
	err = listener_conf_check(conf, group, "127.0.0.1:2620", &c->listen,
				  &c->allow, fault);
	if (!err)
		err = streams_check(c, conf, group, fault);
	if (!err)
		err = files_check(c, conf, group, fault);
	return err ? err : version_check(c, conf, group, fault);
}
