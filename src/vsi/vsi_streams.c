/* SPDX-License-Identifier: MIT */
/*
 * Turns ports into streams:
 *
 *   none                     the streams of `vsi.streams`, as configured
 *   as many as streams       one each, in this order
 *   several, of one stream   with suffixes, a stream for each, and so a
 *                            recording NAME_ds<suffix>, as jive5ab makes it;
 *                            without, all of them in one recording
 *
 * A port without a host is received where the stream listens, be that an
 * address, an interface or a multicast group: only the port changes.
 *
 * With TCP it is one port, one recording, and bytes as they come: so m5copy
 * transfers files and recordings (format "raw").
 */
#include "vsi/vsi_streams.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/units.h"
#include "daemon/conf/stream_vary.h"

enum { MARK5B_HALF = 5008, TCP_PORT = 2630 };

/* Parameters of one stream to be made. */
struct make {
	struct stream *base;
	const struct vsi_settings *set;
	const struct vsi_port *port;
	unsigned ports;
	unsigned disks;
	const struct option_texts *allow;
};

/* ---- where it listens ------------------------------------------------ */

static bool
is_group(const char *host)
{
	int first = atoi(host);

	return first >= 224 && first < 240;
}

/*
 * Writes the `listen` entry.  TCP knows no groups, and listens on all addresses
 * unless a host is given; else a group is joined on the stream's interface.
 */
static void
listen_show(char text[128], const struct vsi_port *p, const char *base,
	    bool tcp)
{
	const char *at = strchr(base, '@');
	size_t host;

	if (tcp)
		snprintf(text, 128, "%s:%u",
			 p->host[0] && !is_group(p->host) ? p->host : "0.0.0.0",
			 p->port);
	else if (!p->host[0] && stream_vary_port(base, &host) != p->port)
		snprintf(text, 128, "%.*s:%u", (int)(host < 100 ? host : 100),
			 base, p->port);
	else if (!p->host[0])
		snprintf(text, 128, "%.127s", base);
	else
		snprintf(text, 128, "%.*s%s:%u",
			 at && is_group(p->host) && at - base < 16
			     ? (int)(at - base + 1)
			     : 0,
			 base, p->host, p->port);
}

/* ---- one stream ------------------------------------------------------ */

static void
mode_take(struct stream_vary *v, const struct vsi_settings *set,
	  const struct stream *base)
{
	v->legacy = -1;
	if (set->mode.format == VSI_VDIF) {
		v->format = "vdif";
		v->payload = vsi_mode_frame(&set->mode);
		v->legacy = set->mode.legacy;
	}
	/*
	 * A stream configured as mark5b keeps its size, whole frames or halves.
	 */
	if (set->mode.format == VSI_MARK5B) {
		v->format = "mark5b";
		if (strcmp(base->o.format, "mark5b"))
			v->payload = MARK5B_HALF;
	}
}

static bool
is_tcp(const struct vsi_settings *set)
{
	return !strcmp(set->protocol, "tcp");
}

/*
 * Sets up a stream of bytes over TCP: all bytes are kept in order, whatever
 * times and threads they contain.  The packet size is the frame of the mode,
 * else that of the configured stream, which is likely.
 */
static void
tcp_take(struct stream_vary *v, const struct vsi_settings *set)
{
	v->legacy = -1;
	v->format = "raw";
	v->payload = vsi_mode_frame(&set->mode);
}

static int
text_make(char **text, const struct make *m, struct fault *fault)
{
	char listen[STREAM_VARY_LISTEN][128];
	struct stream_vary v = { .prefix = m->set->prefix,
				 .buffer = m->set->buffer,
				 .by_thread = m->set->by_thread,
				 .tcp = is_tcp(m->set),
				 .listens = m->ports };
	const char *base = m->base->listen.n ? m->base->listen.text[0] : "";

	if (is_tcp(m->set))
		tcp_take(&v, m->set);
	else
		mode_take(&v, m->set, m->base);
	if (m->set->sg >= 0 && !v.tcp)
		v.layout = m->set->sg ? "mark6" : "vbs";
	if (m->ports == 1 && m->port->suffix[0])
		v.name = m->port->suffix;
	for (unsigned i = 0; i < m->ports; i++)
		listen_show(listen[i], &m->port[i], base, v.tcp);
	if (v.tcp && !m->ports) {
		snprintf(listen[0], sizeof *listen, "0.0.0.0:%d", TCP_PORT);
		v.listens = 1;
	}
	for (unsigned i = 0; i < v.listens; i++)
		v.listen[i] = listen[i];
	for (; v.allows < m->allow->n && v.allows < STREAM_VARY_LISTEN;
	     v.allows++)
		v.allow[v.allows] = m->allow->text[v.allows];
	return stream_vary_text(text, m->base, &v, fault);
}

static struct stream *
find(const struct vsi_streams *was, const char *text)
{
	for (unsigned i = 0; i < was->n; i++) {
		if (was->text[i] && !strcmp(was->text[i], text))
			return stream_hold(was->stream[i]);
	}
	return NULL;
}

static int
stream_add(struct vsi_streams *s, const struct vsi_streams *was,
	   const struct make *m, struct fault *fault)
{
	struct stream *stream;
	char *text;
	int err = text_make(&text, m, fault);

	if (err)
		return err;
	if (text) {
		stream = was->conf == s->conf ? find(was, text) : NULL;
		if (!stream)
			err = stream_vary_make(&stream, text, m->disks, fault);
	} else {
		stream = stream_hold(m->base);
	}
	if (err) {
		free(text);
		return err;
	}
	s->text[s->n] = text;
	s->stream[s->n++] = stream;
	return 0;
}

/* ---- all of them ----------------------------------------------------- */

static int
ports_fit(unsigned streams, const struct vsi_settings *set, struct fault *fault)
{
	if (is_tcp(set) && set->ports > 1)
		return fault_set(fault, -EINVAL, "conf",
				 "TCP comes in on one port, not %u",
				 set->ports);
	if (is_tcp(set) || !set->ports || streams == 1 || set->ports == streams)
		return 0;
	fault_set(fault, -EINVAL, "conf",
		  "%u ports do not match %u streams (vsi.streams)", set->ports,
		  streams);
	fault_hint(fault, "name as many ports as streams, or use one stream");
	return -EINVAL;
}

static int
streams_add(struct vsi_streams *s, const struct vsi_streams *was,
	    struct setup *setup, struct make *m, struct fault *fault)
{
	const struct option_texts *name = &setup->vsi.streams;
	const struct vsi_settings *set = m->set;
	unsigned base_n = is_tcp(set) ? 1 : name->n;
	bool each = set->ports && (base_n > 1 || set->port[0].suffix[0]);
	unsigned n = each ? set->ports : base_n;
	int err = 0;

	for (unsigned i = 0; i < n && i < VSI_STREAMS && !err; i++) {
		const char *base = name->text[base_n > 1 ? i : 0];

		m->base = setup_stream(setup, base);
		m->port = each ? &set->port[i] : set->port;
		m->ports = each ? 1 : set->ports;
		if (!m->base)
			err = fault_set(fault, -ENOENT, "not-found",
					"stream %s is no longer configured",
					base);
		else
			err = stream_add(s, was, m, fault);
	}
	return err;
}

/* Checks that memory and receivers suffice for all streams at the same time. */
static int
room_check(const struct vsi_streams *s, const struct setup *setup,
	   struct fault *fault)
{
	char is[UNITS_TEXT], need[UNITS_TEXT];
	uint64_t memory = 0;
	unsigned threads = 1;

	for (unsigned i = 0; i < s->n; i++) {
		memory += stream_memory(s->stream[i]);
		if (s->stream[i]->plan.threads > threads)
			threads = s->stream[i]->plan.threads;
	}
	if (memory > setup->o.memory) {
		fault_set(fault, -ENOMEM, "no-memory",
			  "memory = %s is too small for these streams, which "
			  "need %s",
			  units_show_bytes(is, setup->o.memory),
			  units_show_bytes(need, memory));
		return -ENOMEM;
	}
	if (threads > setup->o.receivers)
		return fault_set(fault, -EINVAL, "conf",
				 "%u receivers are too few for these streams",
				 setup->o.receivers);
	return 0;
}

int
vsi_streams_make(struct vsi_streams *s, const struct vsi_streams *was,
		 struct setup *setup, const struct vsi_settings *set,
		 unsigned disks, struct fault *fault)
{
	struct make m = { .set = set,
			  .disks = disks,
			  .allow = &setup->vsi.allow };
	int err;

	*s = (struct vsi_streams){ .conf = conf_hold(setup->conf) };
	err = ports_fit(setup->vsi.streams.n, set, fault);
	if (!err)
		err = streams_add(s, was, setup, &m, fault);
	if (!err)
		err = room_check(s, setup, fault);
	if (err)
		vsi_streams_clear(s);
	return err;
}

void
vsi_streams_tell(const struct vsi_streams *list, const char *name)
{
	for (unsigned i = 0; i < list->n; i++) {
		const struct stream *s = list->stream[i];

		if (!list->text[i])
			continue;
		log_line(
		    LEVEL_INFO, name,
		    "stream %s has settings from VSI-S: %s, %u + %u bytes, "
		    "layout %s, from %s%s",
		    s->name, s->o.format, s->o.prefix, s->o.payload,
		    s->o.layout, s->listen.n ? s->listen.text[0] : s->o.receive,
		    s->listen.n > 1 ? ", ..." : "");
	}
}

void
vsi_streams_clear(struct vsi_streams *s)
{
	for (unsigned i = 0; i < s->n; i++) {
		stream_drop(s->stream[i]);
		free(s->text[i]);
	}
	conf_close(s->conf);
	*s = (struct vsi_streams){ .n = 0 };
}
