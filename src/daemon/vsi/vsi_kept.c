/* SPDX-License-Identifier: MIT */
/*
 * Commands of jive5ab that set or show things spate has no use for.  They are
 * answered in jive5ab's form, since programs that send them give up when
 * refused; settings are remembered, shown, and have no effect.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/vsi/vsi.h"

/*
 * Returns the first field; if there is none, NULL, and the command is refused.
 */
static const char *
argument(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	if (*vsi_field(c, 0))
		return vsi_field(c, 0);
	vsi_refuse(v, c, r, VSI_PARAMETER, "Command must have argument");
	return NULL;
}

static bool
whole_number(const char *text, int64_t least, int64_t most, int64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoll(text, &end, 0);
	return *text && !*end && !errno && *number >= least && *number <= most;
}

/* ---- the network ----------------------------------------------------- */

/*
 * Reads microseconds, or nanoseconds with an 'n'; -1 leaves it to the sender.
 */
static bool
ipd_read(const char *text, int64_t *ns)
{
	char *end;
	double n = strtod(text, &end), scale = *end == 'n' ? 1 : 1000;

	if (end == text || !*text || !strchr("nu", *end) || !isfinite(n) ||
	    n < -1 || n * scale > INT_MAX)
		return false;
	*ns = n < 0 ? -1 : (int64_t)(n * scale);
	return true;
}

void
vsi_do_ipd(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	const char *text;

	if (c->query && v->ipd_ns < 0)
		vsi_say(r, VSI_DONE, "-1 : 0");
	else if (c->query && v->ipd_ns % 1000)
		vsi_say(r, VSI_DONE, "%f", (double)v->ipd_ns / 1000);
	else if (c->query)
		vsi_say(r, VSI_DONE, "%lld", (long long)v->ipd_ns / 1000);
	else if ((text = argument(v, c, r)) && ipd_read(text, &v->ipd_ns))
		vsi_say(r, VSI_DONE, NULL);
	else if (text)
		vsi_refuse(v, c, r, VSI_CONFLICT,
			   "a delay is written as 12, 12us or 12000ns, or -1");
}

void
vsi_do_ack(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	const char *text;
	int64_t n;

	if (c->query) {
		vsi_say(r, VSI_DONE, "%d", v->ack);
		return;
	}
	text = argument(v, c, r);
	if (text && whole_number(text, INT_MIN, INT_MAX, &n)) {
		v->ack = (int32_t)n;
		vsi_say(r, VSI_DONE, NULL);
	} else if (text) {
		vsi_refuse(v, c, r, VSI_CONFLICT, "'%.20s' is no number", text);
	}
}

void
vsi_do_itcp_id(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	if (c->query) {
		vsi_say(r, VSI_DONE, "%s", v->itcp);
		return;
	}
	snprintf(v->itcp, sizeof v->itcp, "%.63s", vsi_field(c, 0));
	vsi_say(r, VSI_DONE, NULL);
}

/* ---- the data -------------------------------------------------------- */

/* Accepts only masks that keep all channels. */
void
vsi_do_trackmask(struct vsi *v, const struct vsi_command *c,
		 struct vsi_reply *r)
{
	const char *text;
	uint64_t mask;
	char *end;

	if (!c->query) {
		text = argument(v, c, r);
		if (!text)
			return;
		errno = 0;
		mask = strtoull(text, &end, 0);
		if (*end || errno) {
			vsi_refuse(v, c, r, VSI_FAILED,
				   "'%.20s' is no mask of tracks", text);
			return;
		}
		if (mask && mask != UINT64_MAX) {
			vsi_refuse(v, c, r, VSI_NEVER,
				   "no tracks are dropped here");
			return;
		}
	}
	vsi_say(r, VSI_DONE, "0x0000000000000000 : 0");
}

double
vsi_track_mhz(const struct vsi *v)
{
	const struct vsi_mode *m = &v->set.mode;

	return m->tracks ? m->mbps / m->tracks : 0;
}

/* Handles play_rate, too. */
void
vsi_do_clock_set(struct vsi *v, const struct vsi_command *c,
		 struct vsi_reply *r)
{
	if (c->query)
		vsi_say(r, VSI_DONE, "%.3f", vsi_track_mhz(v));
	else
		vsi_refuse(v, c, r, VSI_CONFLICT,
			   "the rate is set with mode=, as "
			   "VDIF_8000-512-16-2");
}

void
vsi_do_constraints(struct vsi *v, const struct vsi_command *c,
		   struct vsi_reply *r)
{
	const struct vsi_mode *m = &v->set.mode;

	(void)c;
	vsi_say(r, VSI_DONE, "%utr : %s : %.0fbps/tr : []", m->tracks,
		m->format ? vsi_mode_name(m) : "<unknown>",
		vsi_track_mhz(v) * 1e6);
}

/* ---- the machine ----------------------------------------------------- */

void
vsi_do_bufsize(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	(void)c;
	vsi_say(r, VSI_DONE, "%llu",
		(unsigned long long)v->workbuf * v->blocks);
}

void
vsi_do_memstat(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	(void)v;
	(void)c;
	vsi_say(r, VSI_DONE, "no memstat available");
}

void
vsi_do_transfermode(struct vsi *v, const struct vsi_command *c,
		    struct vsi_reply *r)
{
	struct vsi_sent now;
	const char *copies = vsi_copy_runs(v, &now);

	(void)c;
	vsi_say(r, VSI_DONE, "%s",
		vsi_is_on(v) ? "vbsrecord"
		: copies     ? copies
			     : "no_transfer");
}

void
vsi_do_task_id(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	const char *text;

	if (c->query) {
		vsi_say(r, VSI_DONE, "%s", v->task);
		return;
	}
	text = argument(v, c, r);
	if (!text)
		return;
	if (!strcmp(text, "none"))
		snprintf(v->task, sizeof v->task, "none");
	else
		snprintf(v->task, sizeof v->task, "%u",
			 (unsigned)strtoul(text, NULL, 0));
	vsi_say(r, VSI_DONE, NULL);
}

/*
 * Protects the medium in jive5ab; here recordings are protected one by one,
 * with `spate protect`.
 */
void
vsi_do_protect(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	const char *text = vsi_field(c, 0);

	if (c->query)
		vsi_say(r, VSI_DONE, "off");
	else if (!strcmp(text, "off"))
		vsi_say(r, VSI_DONE, NULL);
	else if (!strcmp(text, "on"))
		vsi_refuse(v, c, r, VSI_NEVER,
			   "disks are not protected here - 'spate protect' "
			   "protects a recording");
	else
		vsi_refuse(v, c, r, VSI_PARAMETER,
			   "argument must be 'on' or 'off'");
}

void
vsi_do_group_def(struct vsi *v, const struct vsi_command *c,
		 struct vsi_reply *r)
{
	const char *name = vsi_field(c, 0);

	if (!c->query)
		vsi_refuse(v, c, r, VSI_NEVER,
			   "disks are named in the configuration");
	else if (!*name)
		vsi_say(r, VSI_DONE,
			"1 : 2 : 3 : 4 : flexbuf : flexbuff : mk6");
	else if (!strncmp(name, "flexbuf", 7))
		vsi_say(r, VSI_DONE, "/mnt/disk[0-9]*");
	else if (!strcmp(name, "mk6") || strspn(name, "1234") == strlen(name))
		vsi_say(r, VSI_DONE, "/mnt/disks/%s/[0-7]/data",
			strcmp(name, "mk6") ? name : "[1-4]");
	else
		vsi_refuse(v, c, r, VSI_CONFLICT, "undefined group %.40s",
			   name);
}

/* Does nothing: commands are not printed. */
void
vsi_do_echo(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	(void)v;
	(void)c;
	vsi_say(r, VSI_DONE, NULL);
}
