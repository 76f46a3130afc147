/* SPDX-License-Identifier: MIT */
/*
 * The disks of the configuration.  A missing disk is no error, because it may
 * be mounted later.  A path that can never be a disk is an error.
 */
#include "daemon/conf/setup.h"

#include <errno.h>
#include <sys/stat.h>

/* Refuses relative paths: the scout would wait for them for ever. */
static int
paths_check(const struct setup *c, struct fault *fault)
{
	const config_setting_t *disks =
	    config_setting_get_member(conf_root(c->conf), "disks");

	for (unsigned i = 0; i < c->o.disks.n; i++) {
		if (c->o.disks.text[i][0] == '/')
			continue;
		fault_set(fault, -EINVAL, "conf",
			  "%s: \"%s\" in `disks` is no absolute path",
			  conf_where(c->conf, disks), c->o.disks.text[i]);
		fault_hint(fault, "disks = [ \"/mnt/disk*\" ];");
		return -EINVAL;
	}
	return 0;
}

int
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

int
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
