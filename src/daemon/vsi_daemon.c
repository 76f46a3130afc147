/* SPDX-License-Identifier: MIT */
/*
 * What VSI-S orders is an order like any other: it shares streams with what
 * the schedule records, is listed by `spate status`, and `spate stop` ends it.
 *
 * The streams are made when something is set, and kept: one that learned its
 * frame rate, or is still being flushed, is the same one for the next scan.
 * After the configuration was read again they are made anew, with the next
 * recording.
 */
#include "daemon/vsi_daemon.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/daemon.h"
#include "daemon/order.h"
#include "daemon/stream_vary.h"
#include "daemon/vsi_facts.h"
#include "daemon/vsi_server.h"
#include "daemon/vsi_streams.h"

struct vsi_daemon {
	struct daemon *d;
	struct conf *conf; /* held: the server's texts are in it */
	struct vsi v;
	struct vsi_server *server;
	struct vsi_streams made;
	struct vsi_facts_kept kept;
};

/* ---- recording ------------------------------------------------------- */

static int
host_settle(void *arg, const struct vsi_settings *set, struct fault *fault)
{
	struct vsi_daemon *vsi = arg;
	struct vsi_streams made;
	int err = vsi_streams_make(&made, &vsi->made, &vsi->d->setup, set,
				   fleet_writers(&vsi->d->fleet), fault);

	if (err)
		return err;
	vsi_streams_clear(&vsi->made);
	vsi->made = made;
	return 0;
}

/* Is there one that has ports and memory for moments only? */
static bool
is_ending(const struct daemon *d)
{
	for (const struct session *s = d->sessions; s; s = s->next) {
		if (s->state > SESSION_RECORDING && s->state < SESSION_ENDED)
			return true;
	}
	return false;
}

/* Who only looks at such a stream has its ports, for seconds. */
static void
probes_end(struct daemon *d)
{
	const struct option_texts *streams = &d->setup.vsi.streams;

	for (unsigned i = 0; i < streams->n; i++) {
		struct stream *s = setup_stream(&d->setup, streams->text[i]);

		if (s)
			daemon_probes(d, s);
	}
}

static int
host_record(void *arg, char name[VSI_NAME], bool rename, struct fault *fault)
{
	struct vsi_daemon *vsi = arg;
	struct daemon *d = vsi->d;
	struct order o = { .flags = ORDER_SHARE };
	int err = 0;

	if (d->stopping)
		return fault_set(fault, -ESHUTDOWN, "busy",
				 "the daemon is stopping");
	if (!vsi->made.n || vsi->made.conf != d->setup.conf)
		err = host_settle(vsi, &vsi->v.set, fault);
	if (err)
		return err;
	if (rename)
		o.flags |= ORDER_RENAME;
	o.streams = vsi->made.n;
	memcpy(o.stream, vsi->made.stream, o.streams * sizeof *o.stream);
	snprintf(o.name, sizeof o.name, "%s", name);
	err = order_check(&o, d, fault);
	if (!err)
		probes_end(d);
	if (!err)
		err = order_begin(d, &o, fault);
	if (!err) {
		snprintf(name, VSI_NAME, "%s", o.name);
		vsi_streams_tell(&vsi->made, name);
	}
	return (err == -EADDRINUSE || err == -ENOMEM) && is_ending(d) ? -EAGAIN
								      : err;
}

static void
host_stop(void *arg, const char *name)
{
	const struct vsi_daemon *vsi = arg;

	for (struct session *s = vsi->d->sessions; s; s = s->next) {
		if (!strcmp(s->group, name))
			session_stop(s, "record=off");
	}
}

static bool
host_runs(void *arg, const char *name)
{
	const struct vsi_daemon *vsi = arg;

	for (const struct session *s = vsi->d->sessions; s; s = s->next) {
		if (!strcmp(s->group, name) && s->state <= SESSION_RECORDING)
			return true;
	}
	return false;
}

static void
host_facts(void *arg, const char *name, struct vsi_facts *f)
{
	struct vsi_daemon *vsi = arg;

	vsi_facts_take(&vsi->kept, vsi->d, name, f);
}

/* ---- disks and streams ----------------------------------------------- */

static void
host_space(void *arg, struct vsi_space *s)
{
	const struct vsi_daemon *vsi = arg;
	struct catalogue_facts facts;
	struct fleet_space space;

	fleet_space(&vsi->d->fleet, &space);
	catalogue_facts(keeper_catalogue(vsi->d->keeper), &facts);
	*s = (struct vsi_space){ .total = space.total,
				 .free = space.free,
				 .disks = space.disks,
				 .recordings = facts.recordings };
	for (unsigned i = 0; i < vsi->made.n; i++)
		s->rate += (double)vsi->made.stream[i]->o.rate;
	if (s->rate <= 0)
		s->rate = space.rate * 8;
}

static const char *
host_disk(void *arg, unsigned n)
{
	const struct fleet *f = &((struct vsi_daemon *)arg)->d->fleet;

	for (unsigned i = 0; i < f->n; i++) {
		if (fleet_writer(f, i) && n-- == 0)
			return fleet_path(f, i);
	}
	return NULL;
}

/* Of the first stream. */
static const char *
host_format(void *arg, uint32_t *payload, uint32_t *prefix, uint16_t *port)
{
	struct vsi_daemon *vsi = arg;
	struct setup *setup = &vsi->d->setup;
	struct stream *s = setup_stream(setup, setup->vsi.streams.text[0]);
	size_t host;

	*payload = s ? s->o.payload : 0;
	*prefix = s ? s->o.prefix : 0;
	*port =
	    s && s->listen.n ? stream_vary_port(s->listen.text[0], &host) : 0;
	return s ? s->o.format : "";
}

/* ---- the server ------------------------------------------------------ */

static bool
command(void *arg, const struct vsi_command *c, struct vsi_reply *r)
{
	struct vsi_daemon *vsi = arg;

	return vsi_command(&vsi->v, c, r);
}

static void
ready(void *arg, short revents)
{
	struct vsi_daemon *vsi = arg;

	(void)revents;
	vsi_server_step(vsi->server);
}

static int
listen_begin(struct vsi_daemon *vsi, struct fault *fault)
{
	const struct setup_vsi *o = &vsi->d->setup.vsi;
	const struct vsi_server_args args = { .listen = o->listen,
					      .allow = o->allow,
					      .command = command,
					      .arg = vsi };
	struct daemon_fd fd = { .events = POLLIN, .ready = ready, .arg = vsi };
	int err = vsi_server_open(&vsi->server, &args, fault);

	if (err)
		return err;
	fd.fd = vsi_server_fd(vsi->server);
	if (daemon_fds_add(&vsi->d->fds, &fd) < 0)
		return fault_set(fault, -ENOMEM, "no-memory", "out of memory");
	for (unsigned i = 0; i < o->listen.n; i++)
		log_line(LOG_INFO, "vsi", "takes commands on %s",
			 o->listen.text[i]);
	return 0;
}

int
vsi_daemon_open(struct vsi_daemon **out, struct daemon *d, struct fault *fault)
{
	struct vsi_host host = { host_record, host_stop,   host_runs,
				 host_facts,  host_space,  host_disk,
				 host_settle, host_format, NULL };
	struct vsi_daemon *vsi;
	int err;

	*out = NULL;
	if (!d->setup.vsi.listen.n)
		return 0;
	vsi = calloc(1, sizeof *vsi);
	if (!vsi)
		return fault_set(fault, -ENOMEM, "no-memory", "out of memory");
	host.arg = vsi;
	vsi->d = d;
	vsi->conf = conf_hold(d->setup.conf);
	vsi_init(&vsi->v, &host);
	err = listen_begin(vsi, fault);
	if (!err)
		err = host_settle(vsi, &vsi->v.set, fault);
	if (err) {
		vsi_daemon_close(vsi);
		return err;
	}
	*out = vsi;
	return 0;
}

void
vsi_daemon_close(struct vsi_daemon *vsi)
{
	if (!vsi)
		return;
	if (vsi->server)
		daemon_fds_remove(&vsi->d->fds, vsi_server_fd(vsi->server));
	vsi_server_close(vsi->server);
	vsi_streams_clear(&vsi->made);
	conf_close(vsi->conf);
	free(vsi);
}
