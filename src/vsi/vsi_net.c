/* SPDX-License-Identifier: MIT */
/*
 * Settings of what is received, and how.  Each command makes new settings from
 * the present ones and asks the host whether streams can be made with them;
 * only then are they kept.  So a refused command changes nothing, and record=on
 * never finds impossible settings.
 *
 * Size and number of blocks (the last two fields of net_protocol) and the MTU
 * are only stored and shown: memory and chunks are set in the configuration,
 * and datagrams of any length are received.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "vsi/vsi.h"

enum { MTU_MOST = 9000, MTU_LEAST = 64, IP_UDP = 28 };

/* Keeps the settings, or refuses the command with the reason. */
static bool
settle(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r,
       const struct vsi_settings *set)
{
	struct fault fault = { 0 };

	if (v->host.settle(v->host.arg, set, &fault) < 0) {
		vsi_refuse_fault(v, c, r, VSI_PARAMETER, &fault);
		return false;
	}
	v->set = *set;
	vsi_say(r, VSI_DONE, NULL);
	return true;
}

/* ---- mode ------------------------------------------------------------ */

/* Shows the mode; unknown fields are empty. */
static void
mode_ask(struct vsi *v, struct vsi_reply *r)
{
	const struct vsi_mode *m = &v->set.mode;
	uint32_t payload, prefix;
	uint16_t port;

	if (m->mask) {
		vsi_say(r, VSI_DONE, "ext : 0x%llx : %u : %.6g",
			(unsigned long long)m->mask, m->decimation,
			m->mbps / m->tracks);
	} else if (m->format) {
		vsi_say(r, VSI_DONE, "%s : %s : %u : %.3f", m->text,
			vsi_mode_name(m), m->tracks, m->mbps * 1e6 / m->tracks);
		if (m->format == VSI_VDIF)
			vsi_more(r, "%u", m->payload);
	} else {
		vsi_say(r, VSI_DONE, "none : %s :  : ",
			vsi_format_name(v->host.format(v->host.arg, &payload,
						       &prefix, &port)));
		vsi_more(r, "%u", payload);
	}
}

void
vsi_do_mode(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	const char *const field[3] = { vsi_field(c, 0), vsi_field(c, 1),
				       vsi_field(c, 2) };
	struct vsi_settings set = v->set;
	const char *why;

	if (c->query)
		mode_ask(v, r);
	else if (vsi_mode_parse(&set.mode, field, &why) < 0)
		vsi_refuse(v, c, r, VSI_FAILED, "%s", why);
	else
		settle(v, c, r, &set);
}

/* ---- net_protocol ---------------------------------------------------- */

/* Returns the bytes before the data of each datagram; -1: unknown protocol. */
static int
prefix_of(const char *protocol)
{
	static const struct {
		const char *name;
		int prefix;
	} known[] = { { "udp", 8 }, { "udps", 8 }, { "udpsnor", 8 },
		      { "vtp", 8 }, { "pudp", 0 }, { "tcp", 0 } };

	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		if (!strcmp(known[i].name, protocol))
			return known[i].prefix;
	}
	return -1;
}

static void
protocol_ask(struct vsi *v, struct vsi_reply *r)
{
	const char *name = v->set.protocol;
	uint32_t payload, prefix;
	uint16_t port;

	v->host.format(v->host.arg, &payload, &prefix, &port);
	if (!*name)
		name = prefix ? "udps" : "pudp";
	vsi_say(r, VSI_DONE, "%s : %llu : %llu : %u", name,
		(unsigned long long)v->set.buffer,
		(unsigned long long)v->workbuf, v->blocks);
}

/* Returns 0, or the code of a refusal with its reason in `why`. */
static int
protocol_read(struct vsi *v, const struct vsi_command *c,
	      struct vsi_settings *set, const char **why)
{
	const char *name = vsi_field(c, 0), *field;
	uint64_t blocks = v->blocks;

	if (*name) {
		*why = "only udp, udps, udpsnor, vtp (8 bytes before the "
		       "data), pudp (none) and tcp are done here";
		if (!strcmp(name, "udt"))
			*why = "udt is not done here - tcp is (m5copy without "
			       "-udt)";
		set->prefix = prefix_of(name);
		if (set->prefix < 0)
			return VSI_CONFLICT;
		/* jive5ab shows udps after net_protocol=udp. */
		snprintf(set->protocol, sizeof set->protocol, "%s",
			 strcmp(name, "udp") ? name : "udps");
	}
	*why = "a size is written as 32M, 128k or 33554432";
	field = vsi_field(c, 1);
	if (*field && !vsi_bytes(field, INT32_MAX, &set->buffer))
		return VSI_CONFLICT;
	field = vsi_field(c, 2);
	if (*field && !vsi_bytes(field, 1 << 30, &v->workbuf))
		return VSI_CONFLICT;
	*why = "the number of blocks is no number from 1 on";
	field = vsi_field(c, 3);
	if (*field && (!vsi_number(field, UINT32_MAX, &blocks) || !blocks))
		return VSI_PARAMETER;
	v->blocks = (uint32_t)blocks;
	return 0;
}

void
vsi_do_net_protocol(struct vsi *v, const struct vsi_command *c,
		    struct vsi_reply *r)
{
	struct vsi_settings set = v->set;
	const char *why;
	int code;

	if (c->query) {
		protocol_ask(v, r);
		return;
	}
	code = protocol_read(v, c, &set, &why);
	if (code)
		vsi_refuse(v, c, r, (enum vsi_code)code, "%s", why);
	else
		settle(v, c, r, &set);
}

/* ---- net_port -------------------------------------------------------- */

static void
port_ask(struct vsi *v, struct vsi_reply *r)
{
	uint32_t payload, prefix;
	uint16_t port;

	v->host.format(v->host.arg, &payload, &prefix, &port);
	if (!v->set.ports) {
		vsi_say(r, VSI_DONE, "%u", port);
		return;
	}
	vsi_say(r, VSI_DONE, NULL);
	for (unsigned i = 0; i < v->set.ports; i++) {
		const struct vsi_port *p = &v->set.port[i];

		vsi_more(r, "%s%s%u%s%s", p->host, p->host[0] ? "@" : "",
			 p->port, p->suffix[0] ? "=" : "", p->suffix);
	}
}

/* Reads the suffix of a recording's name. */
static bool
suffix_read(struct vsi_port *p, const char *text)
{
	size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz"
				     "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-+");

	if (!length || text[length] || length >= sizeof p->suffix)
		return false;
	memcpy(p->suffix, text, length + 1);
	return true;
}

/* Reads [host@]port[=suffix]; port 0 means the configured one. */
static bool
port_read(struct vsi_port *p, const char *field)
{
	char text[128], *at, *equal;
	uint64_t port;

	*p = (struct vsi_port){ .port = 0 };
	if (strlen(field) >= sizeof text)
		return false;
	snprintf(text, sizeof text, "%s", field);
	equal = strchr(text, '=');
	if (equal) {
		*equal = '\0';
		if (!suffix_read(p, equal + 1))
			return false;
	}
	at = strchr(text, '@');
	if (at) {
		*at = '\0';
		if (!*text || strlen(text) >= sizeof p->host ||
		    text[strspn(text, "0123456789.")])
			return false;
		snprintf(p->host, sizeof p->host, "%.63s", text);
	}
	if (!vsi_number(at ? at + 1 : text, UINT16_MAX, &port))
		return false;
	p->port = (uint16_t)port;
	return true;
}

/*
 * Tells whether a port or a suffix is given twice: two recordings cannot have
 * the same name, nor two sockets the same port.
 */
static bool
is_twice(const struct vsi_settings *set)
{
	for (unsigned i = 0; i < set->ports; i++) {
		const struct vsi_port *a = &set->port[i];

		for (unsigned k = 0; k < i; k++) {
			const struct vsi_port *b = &set->port[k];

			if (a->suffix[0] && !strcmp(a->suffix, b->suffix))
				return true;
			if (a->port == b->port && !strcmp(a->host, b->host))
				return true;
		}
	}
	return false;
}

static bool
ports_read(struct vsi_settings *set, const struct vsi_command *c,
	   const char **why)
{
	unsigned suffixes = 0;

	set->ports = 0;
	for (unsigned i = 0; i < c->fields; i++) {
		if (!*c->field[i])
			continue;
		*why = "more than 64 ports";
		if (set->ports == VSI_PORTS)
			return false;
		*why = "write a port as 46227, 10.1.1.2@46227 or "
		       "239.1.2.3@46227=suffix";
		if (!port_read(&set->port[set->ports], c->field[i]))
			return false;
		suffixes += set->port[set->ports++].suffix[0] != '\0';
	}
	*why = "Missing argument to command";
	if (!set->ports)
		return false;
	*why = "either all of several ports have a suffix, or none";
	if (suffixes && (suffixes < set->ports || set->ports == 1))
		return false;
	*why = "a port or a suffix is there twice";
	if (is_twice(set))
		return false;
	*why = "port 0 is none";
	if (set->ports == 1 && !set->port[0].port)
		set->ports = 0;
	for (unsigned i = 0; i < set->ports; i++) {
		if (!set->port[i].port)
			return false;
	}
	return true;
}

void
vsi_do_net_port(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	struct vsi_settings set = v->set;
	const char *why;

	if (c->query)
		port_ask(v, r);
	else if (!ports_read(&set, c, &why))
		vsi_refuse(v, c, r, VSI_PARAMETER, "%s", why);
	else
		settle(v, c, r, &set);
}

/* ---- mtu ------------------------------------------------------------- */

/*
 * Logs a packet size above the MTU.  Such packets are received all the same;
 * but if the network cannot carry them either, nothing will come.
 */
static void
mtu_look(struct vsi *v, unsigned mtu)
{
	uint32_t payload, prefix, frame = vsi_mode_frame(&v->set.mode);
	uint16_t port;

	v->host.format(v->host.arg, &payload, &prefix, &port);
	if (v->set.mode.format == VSI_MARK5B)
		frame = frame / 2; /* a Mark5B frame is sent in two halves */
	if (!frame)
		frame = payload;
	if (v->set.prefix >= 0)
		prefix = (uint32_t)v->set.prefix;
	if (frame + prefix + IP_UDP > mtu)
		vsi_log(v,
			"mtu=%u: a packet of this stream needs %u; it is taken "
			"in all the same, where the network lets it through",
			mtu, frame + prefix + IP_UDP);
}

void
vsi_do_mtu(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	uint64_t mtu;

	if (c->query) {
		vsi_say(r, VSI_DONE, "%u", v->mtu ? v->mtu : MTU_MOST);
		return;
	}
	if (!vsi_number(vsi_field(c, 0), MTU_MOST, &mtu) || mtu < MTU_LEAST) {
		vsi_refuse(v, c, r,
			   *vsi_field(c, 0) ? VSI_CONFLICT : VSI_PARAMETER,
			   "an MTU is from %d to %d", MTU_LEAST, MTU_MOST);
		return;
	}
	if (strcmp(v->set.protocol, "tcp"))
		mtu_look(v, (unsigned)mtu);
	if (vsi_is_away(v))
		return; /* it is refused, so it is not set */
	v->mtu = (uint32_t)mtu;
	vsi_say(r, VSI_DONE, NULL);
}

/* ---- datastream ------------------------------------------------------ */

static void
datastream_add(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	struct vsi_settings set = v->set;

	if (strcmp(vsi_field(c, 1), "{thread}") || c->fields != 3 ||
	    strcmp(vsi_field(c, 2), "*")) {
		vsi_refuse(v, c, r, VSI_PARAMETER,
			   "only add:{thread}:*, a recording for each thread; "
			   "what else is to be told apart is a stream of its "
			   "own in the configuration");
		return;
	}
	set.by_thread = true;
	settle(v, c, r, &set);
}

void
vsi_do_datastream(struct vsi *v, const struct vsi_command *c,
		  struct vsi_reply *r)
{
	const char *what = vsi_field(c, 0);
	struct vsi_settings set = v->set;

	if (c->query) {
		vsi_say(r, VSI_DONE, "%s",
			set.by_thread ? "1 : {thread}" : "0");
	} else if (!strcmp(what, "add")) {
		datastream_add(v, c, r);
	} else if (!strcmp(what, "clear") || !strcmp(what, "reset") ||
		   !strcmp(what, "remove")) {
		/*
		 * In jive5ab reset forgets the threads seen, clear and remove
		 * the rule.
		 */
		if (*what != 'r' || what[2] == 'm')
			set.by_thread = false;
		settle(v, c, r, &set);
	} else {
		vsi_refuse(v, c, r, *what ? VSI_NEVER : VSI_PARAMETER,
			   "datastream takes add, remove, clear or reset");
	}
}
