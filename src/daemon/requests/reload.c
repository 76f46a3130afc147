/* SPDX-License-Identifier: MIT */
/*
 * Reloads the configuration, on SIGHUP or for a client (`spate reload`).  Every
 * change is one line, in the log and in the client's answer.
 */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include "base/log.h"
#include "daemon/schedule/schedule.h"
#include "daemon/requests/verbs.h"

static void
log_each(const json_t *lines, enum log_level level)
{
	const json_t *line;
	size_t i;

	json_array_foreach(lines, i, line)
		log_line(level, NULL, "%s", json_string_value(line));
}

/* Returns the group that may use the control socket; NULL: none.  Without one
 * that is configured, the services spate-vsi and spate-web use it as members of
 * the group that the service spated has; a group of any other name is of
 * people. */
static const char *
socket_group(const struct setup *setup)
{
	const config_setting_t *root = conf_root(setup->conf);
	const struct group *spate;

	if (setup->control.group || (!config_setting_get_member(root, "vsi") &&
				     !config_setting_get_member(root, "web")))
		return setup->control.group;
	spate = getgrnam("spate");
	return spate && spate->gr_gid == getegid() ? "spate" : NULL;
}

/* Returns the user of a service, 0 if it has none of its own. */
static uid_t
service_user(const char *name)
{
	const struct passwd *user = getpwnam(name);

	return user && user->pw_uid != geteuid() ? user->pw_uid : 0;
}

void
daemon_clients(struct daemon *d)
{
	d->vsi_user = service_user("spate-vsi");
	d->web_user = service_user("spate-web");
	server_group(d->r.server, socket_group(&d->r.setup));
}

/* Hands the new values to the parts of the daemon that keep their own copy. */
static void
spread(struct daemon *d)
{
	d->r.host.durable = d->r.setup.durable;
	disk_set_reserve(&d->r.disks, d->r.setup.o.reserve);
	if (disk_set_patterns(&d->r.disks) < 0)
		log_line(LEVEL_ERROR, NULL,
			 "cannot look for the disks that are configured now: "
			 "out of memory");
	schedule_changed(d->host.schedule);
	daemon_clients(d);
}

static int
reload(struct daemon *d, json_t *changes, json_t *restart, struct fault *fault)
{
	int err = setup_reload(&d->r.setup, disk_set_writers(&d->r.disks),
			       changes, restart, fault);
	char line[1024];

	if (err) {
		fault_line(fault, line, sizeof line);
		log_line(LEVEL_ERROR, NULL,
			 "the configuration stays as it was: %s", line);
		return err;
	}
	spread(d);
	log_line(LEVEL_INFO, NULL, "%s was read again%s", d->r.setup.path,
		 json_array_size(changes) + json_array_size(restart)
		     ? ""
		     : ": nothing has changed");
	log_each(changes, LEVEL_INFO);
	log_each(restart, LEVEL_WARN);
	return 0;
}

int
daemon_reload(struct daemon *d, json_t **result, struct fault *fault)
{
	json_t *changes = json_array(), *restart = json_array();
	int err;

	service_reloading(d);
	err = changes && restart ? reload(d, changes, restart, fault)
				 : fault_no_memory(fault);
	service_reloaded(d);
	if (!err && result) {
		*result = json_pack("{s:s, s:O, s:O}", "conf", d->r.setup.path,
				    "changes", changes, "restart", restart);
	}
	json_decref(changes);
	json_decref(restart);
	return err;
}

int
verb_reload(struct daemon *d, struct server_ticket ticket,
	    const json_t *request, struct fault *fault)
{
	json_t *result = NULL;
	int err;

	(void)request;
	if (d->r.stopping)
		return fault_set(fault, -ESHUTDOWN, "busy",
				 "the daemon is stopping");
	err = daemon_reload(d, &result, fault);
	if (!err)
		server_answer(d->r.server, ticket, result);
	return err;
}
