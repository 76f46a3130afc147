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

enum { MARK5B_HALF = 5008, TCP_PORT = 2630 };

/* Parameters of one stream to be made. */
struct make {
	const json_t *base; /* the configured stream */
	const struct vsi_settings *set;
	const struct vsi_port *port;
	unsigned ports;
	const struct option_texts *allow;
};

uint16_t
vsi_streams_port(const char *listen, size_t *host)
{
	const char *colon = strrchr(listen, ':');
	unsigned long port = colon ? strtoul(colon + 1, NULL, 10) : 0;

	*host = colon ? (size_t)(colon - listen) : strlen(listen);
	return port <= UINT16_MAX ? (uint16_t)port : 0;
}

const json_t *
vsi_streams_find(const json_t *configured, const char *name)
{
	const json_t *stream;
	size_t i;

	json_array_foreach(configured, i, stream) {
		const char *has =
		    json_string_value(json_object_get(stream, "name"));

		if (has && !strcmp(has, name))
			return stream;
	}
	return NULL;
}

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
		snprintf(text, 128, "%.63s:%u",
			 p->host[0] && !is_group(p->host) ? p->host : "0.0.0.0",
			 p->port);
	else if (!p->host[0] && vsi_streams_port(base, &host) != p->port)
		snprintf(text, 128, "%.*s:%u", (int)(host < 100 ? host : 100),
			 base, p->port);
	else if (!p->host[0])
		snprintf(text, 128, "%.127s", base);
	else
		snprintf(text, 128, "%.*s%.63s:%u",
			 at && is_group(p->host) && at - base < 16
			     ? (int)(at - base + 1)
			     : 0,
			 base, p->host, p->port);
}

/* ---- one stream ------------------------------------------------------ */

static void
set_text(json_t *vary, const char *key, const char *text)
{
	json_object_set_new(vary, key, json_string(text));
}

static void
set_number(json_t *vary, const char *key, uint64_t n)
{
	json_object_set_new(vary, key, json_integer((json_int_t)n));
}

static void
mode_set(json_t *vary, const struct make *m)
{
	const char *format =
	    json_string_value(json_object_get(m->base, "format"));
	const struct vsi_mode *mode = &m->set->mode;

	if (mode->format == VSI_VDIF) {
		set_text(vary, "format", "vdif");
		set_number(vary, "payload", vsi_mode_frame(mode));
		json_object_set_new(vary, "legacy", json_boolean(mode->legacy));
	}
	/*
	 * A stream configured as mark5b keeps its size, whole frames or halves.
	 */
	if (mode->format == VSI_MARK5B) {
		set_text(vary, "format", "mark5b");
		if (!format || strcmp(format, "mark5b"))
			set_number(vary, "payload", MARK5B_HALF);
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
tcp_set(json_t *vary, const struct make *m)
{
	uint32_t frame = vsi_mode_frame(&m->set->mode);
	json_t *allow = json_array();

	set_text(vary, "receive", "tcp");
	set_text(vary, "format", "raw");
	if (frame)
		set_number(vary, "payload", frame);
	for (unsigned i = 0; i < m->allow->n; i++)
		json_array_append_new(allow, json_string(m->allow->text[i]));
	json_object_set_new(vary, "allow", allow);
}

static void
listen_set(json_t *vary, const struct make *m)
{
	const char *base = json_string_value(
	    json_array_get(json_object_get(m->base, "listen"), 0));
	json_t *listen = json_array();
	char text[128];

	for (unsigned i = 0; i < m->ports; i++) {
		listen_show(text, &m->port[i], base ? base : "",
			    is_tcp(m->set));
		json_array_append_new(listen, json_string(text));
	}
	if (is_tcp(m->set) && !m->ports) {
		snprintf(text, sizeof text, "0.0.0.0:%d", TCP_PORT);
		json_array_append_new(listen, json_string(text));
	}
	json_object_set_new(vary, "listen", listen);
}

/* Returns VARY of one stream, or NULL without memory. */
static json_t *
vary_make(const struct make *m)
{
	const struct vsi_settings *set = m->set;
	json_t *vary =
	    json_pack("{s:O}", "stream", json_object_get(m->base, "name"));

	if (!vary)
		return NULL;
	if (is_tcp(set))
		tcp_set(vary, m);
	else
		mode_set(vary, m);
	if (set->prefix >= 0)
		set_number(vary, "prefix", (uint64_t)set->prefix);
	if (set->buffer)
		set_number(vary, "socket_buffer", set->buffer);
	if (set->by_thread)
		set_text(vary, "split", "thread");
	if (set->sg >= 0 && !is_tcp(set))
		set_text(vary, "layout", set->sg ? "mark6" : "vbs");
	if (m->ports == 1 && m->port->suffix[0])
		set_text(vary, "name", m->port->suffix);
	if (m->ports || is_tcp(set))
		listen_set(vary, m);
	return vary;
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

int
vsi_streams_list(json_t **list, const struct vsi_conf *conf,
		 const json_t *configured, const struct vsi_settings *set,
		 struct fault *fault)
{
	const struct option_texts *name = &conf->streams;
	struct make m = { .set = set, .allow = &conf->allow };
	unsigned base_n = is_tcp(set) ? 1 : name->n;
	bool each = set->ports && (base_n > 1 || set->port[0].suffix[0]);
	unsigned n = each ? set->ports : base_n;
	int err = ports_fit(name->n, set, fault);

	if (err)
		return err;
	*list = json_array();
	for (unsigned i = 0; i < n && !err; i++) {
		const char *base = name->text[base_n > 1 ? i : 0];

		m.base = vsi_streams_find(configured, base);
		m.port = each ? &set->port[i] : set->port;
		m.ports = each ? 1 : set->ports;
		if (!m.base)
			err = fault_set(fault, -ENOENT, "not-found",
					"stream %s is no longer configured",
					base);
		else if (json_array_append_new(*list, vary_make(&m)))
			err = fault_no_memory(fault);
	}
	if (err)
		json_decref(*list);
	return err;
}
