/* SPDX-License-Identifier: MIT */
/* Commands that describe the recorder, its state, and its disks. */
#include "config.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "daemon/vsi/vsi.h"

enum status_bit {
	IS_READY = 1 << 0,
	HAS_ERROR = 1 << 1,
	IS_BUSY = 3 << 3,
	IS_RECORDING = 1 << 6,
};

static void
host_name(char name[64])
{
	if (gethostname(name, 64) < 0)
		snprintf(name, 64, "-");
	name[63] = '\0';
	name[strcspn(name, ".")] = '\0';
}

/*
 * Shows program, version, word size, kind of build, and where, when and with
 * what it was built, as m5copy parses them: it demands that the first word
 * begins with "jive5".
 */
void
vsi_do_version(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	const char *as =
	    v->host.version ? v->host.version : "spate " PACKAGE_VERSION;
	int program = (int)strcspn(as, " ");
	char name[64];

	(void)c;
	vsi_say(r, VSI_DONE, "%.*s : %s : %zubit", program, as,
		as + program + 1, 8 * sizeof(void *));
	if (!v->host.version)
		return;
	host_name(name);
	vsi_more(r, "Release : %s : - : - : spate %s : ", name,
		 PACKAGE_VERSION);
}

void
vsi_do_dts_id(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	char name[64];

	(void)v;
	(void)c;
	host_name(name);
	/*
	 * Fields: system, date of the software, medium, serial number, inputs,
	 * outputs, revisions of commands, inputs and outputs.
	 */
	vsi_say(r, VSI_DONE, "- : spate %s : 1 : %s : 0 : 0 : - : - : -",
		PACKAGE_VERSION, name);
}

void
vsi_do_os_rev(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	char text[4 * sizeof(((struct utsname *)0)->release)];
	struct utsname u;

	(void)v;
	(void)c;
	uname(&u);
	snprintf(text, sizeof text, "%s version %s %s", u.sysname, u.release,
		 u.machine);
	vsi_clean(text);
	vsi_say(r, VSI_DONE, "%s", text);
}

void
vsi_do_runtime(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	v->host.runtime(v->host.arg, c, r);
}

void
vsi_do_status(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	unsigned bits = IS_READY;
	char at[VSI_TIME];

	(void)c;
	if (vsi_is_on(v))
		bits |= IS_RECORDING | IS_BUSY;
	if (v->errors)
		bits |= HAS_ERROR;
	vsi_say(r, VSI_DONE, "0x%08x", bits);
	if (v->errors)
		vsi_more(r, "%d : %s : %s", v->error[0].number,
			 v->error[0].text, vsi_time(at, v->error[0].first));
}

/* Shows the oldest error, and forgets it. */
void
vsi_do_error(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	char first[VSI_TIME], last[VSI_TIME];
	struct vsi_error *e = v->error;

	(void)c;
	vsi_is_on(v);
	if (!v->errors) {
		vsi_say(r, VSI_DONE, " :  :  :  : ");
		return;
	}
	vsi_say(r, VSI_DONE, "%d : %s : %s", e->number, e->text,
		vsi_time(first, e->first));
	if (e->times > 1)
		vsi_more(r, "%s : %u", vsi_time(last, e->last), e->times);
	else
		vsi_more(r, " : ");
	memmove(e, e + 1, --v->errors * sizeof *e);
}

/* ---- disks ----------------------------------------------------------- */

void
vsi_do_dir_info(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	struct vsi_space s;

	(void)c;
	v->host.space(v->host.arg, &s);
	vsi_say(r, VSI_DONE, "%llu : %llu : %llu",
		(unsigned long long)s.recordings,
		(unsigned long long)(s.total - s.free),
		(unsigned long long)s.total);
}

/*
 * Shows how long the free space lasts, at the rate that `mode` set, else at
 * that of the streams.
 */
void
vsi_do_rtime(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	double mbps = vsi_mode_rate(&v->set.mode);
	struct vsi_space s;

	(void)c;
	v->host.space(v->host.arg, &s);
	if (mbps <= 0)
		mbps = s.rate / 1e6;
	if (mbps > 0)
		vsi_say(r, VSI_DONE, "%.6gs", (double)s.free * 8 / 1e6 / mbps);
	else
		vsi_say(r, VSI_DONE, "<unknown> (no mode set yet)");
	vsi_more(r, "%.6gGB", (double)s.free / 1e9);
	vsi_more(r, "%.6g%%",
		 s.total ? (double)s.free * 100 / (double)s.total : 0);
	vsi_more(r, "%s : %u : 0MHz",
		 v->set.mode.format ? vsi_mode_name(&v->set.mode) : "<unknown>",
		 v->set.mode.tracks);
	if (mbps > 0)
		vsi_more(r, "%.6gMbps", mbps);
	else
		vsi_more(r, "<unknown> Mbps");
}

/*
 * Tells whether a disk matches a folder, a pattern, or what jive5ab calls a
 * group of disks.
 */
static bool
disk_matches(const char *path, const char *pattern)
{
	if (!strcmp(pattern, "flexbuf"))
		pattern = "/mnt/disk[0-9]*";
	else if (!strcmp(pattern, "mk6"))
		pattern = "/mnt/disks/[1-4]/[0-7]/data";
	else if (*pattern && strspn(pattern, "1234") == strlen(pattern))
		return !strncmp(path, "/mnt/disks/", 11) && path[11] &&
		       strchr(pattern, path[11]);
	return fnmatch(pattern, path, FNM_PATHNAME) == 0;
}

static void
disks_set(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	unsigned all = 0, matched = 0;
	const char *path;

	for (; (path = v->host.disk(v->host.arg, all)); all++) {
		bool is = false;

		for (unsigned i = 0; i < c->fields; i++)
			is |= disk_matches(path, c->field[i]);
		matched += is;
	}
	if (!c->fields)
		vsi_refuse(v, c, r, VSI_CONFLICT,
			   "requires at least one argument");
	else if (!matched)
		vsi_refuse(v, c, r, VSI_PARAMETER,
			   "none of the %u disks that are recorded on match "
			   "that - 'spate disks add' takes one in",
			   all);
	else if (matched < all)
		vsi_refuse(v, c, r, VSI_PARAMETER,
			   "only %u of %u disks match, and all of them are "
			   "recorded on - 'spate disks drop' takes one away",
			   matched, all);
	else
		vsi_say(r, VSI_DONE, "%u", all);
}

void
vsi_do_set_disks(struct vsi *v, const struct vsi_command *c,
		 struct vsi_reply *r)
{
	unsigned n = 0;

	if (!c->query) {
		disks_set(v, c, r);
		return;
	}
	while (v->host.disk(v->host.arg, n))
		n++;
	vsi_say(r, VSI_DONE, "%u", n);
	for (unsigned i = 0; i < n; i++)
		vsi_more(r, "%s", v->host.disk(v->host.arg, i));
}
