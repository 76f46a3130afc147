/* SPDX-License-Identifier: MIT */
/*
 * The table of commands, with rules that many share: some exist as query only,
 * and some that set things are refused during a recording, as in jive5ab.  The
 * table has all keywords that jive5ab knows on any machine: those that mean
 * nothing here are answered with code 2, unknown words with code 7.
 *
 * An allowed client may send garbage by the thousand; no more than LOG_MOST
 * lines per second are logged.
 *
 * Commands that describe the recorder, its state, and its disks.
 */
#include "config.h"

#include "vsi/vsi.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

enum { LOG_MOST = 10 };

#define CORNER "channels are not taken apart here"
#define MARK5  "there are no boards or disk packs of a Mark 5"

enum rule {
	ASKS = 1, /* exists as a query only */
	IDLE = 2, /* the command is refused during a recording */
};

static const struct {
	const char *keyword;
	vsi_act *act; /* NULL: not implemented here */
	unsigned rules;
	const char *instead; /* replacement, or why there is none */
} table[] = {
	/* The recorder itself. */
	{ "version", vsi_do_version, ASKS, NULL },
	{ "dts_id", vsi_do_dts_id, ASKS, NULL },
	{ "os_rev", vsi_do_os_rev, ASKS, NULL },
	{ "status", vsi_do_status, ASKS, NULL },
	{ "error", vsi_do_error, ASKS, NULL },
	{ "runtime", vsi_do_runtime, 0, NULL },
	{ "echo", vsi_do_echo, 0, NULL },
	/* Settings of what is received, and how. */
	{ "mode", vsi_do_mode, IDLE, NULL },
	{ "net_protocol", vsi_do_net_protocol, IDLE, NULL },
	{ "net_port", vsi_do_net_port, IDLE, NULL },
	{ "mtu", vsi_do_mtu, IDLE, NULL },
	{ "ipd", vsi_do_ipd, 0, NULL },
	{ "ack", vsi_do_ack, 0, NULL },
	{ "itcp_id", vsi_do_itcp_id, 0, NULL },
	{ "trackmask", vsi_do_trackmask, 0, NULL },
	{ "clock_set", vsi_do_clock_set, 0, NULL },
	{ "play_rate", vsi_do_clock_set, 0, NULL },
	{ "constraints", vsi_do_constraints, ASKS, NULL },
	{ "datastream", vsi_do_datastream, IDLE, NULL },
	/* Recording. */
	{ "record", vsi_do_record, 0, NULL },
	{ "evlbi", vsi_do_evlbi, 0, NULL },
	{ "tstat", vsi_do_tstat, 0, NULL },
	{ "transfermode", vsi_do_transfermode, ASKS, NULL },
	{ "task_id", vsi_do_task_id, 0, NULL },
	{ "bufsize", vsi_do_bufsize, ASKS, NULL },
	{ "memstat", vsi_do_memstat, ASKS, NULL },
	/* Disks and scans. */
	{ "rtime", vsi_do_rtime, ASKS, NULL },
	{ "dir_info", vsi_do_dir_info, ASKS, NULL },
	{ "set_disks", vsi_do_set_disks, IDLE, NULL },
	{ "group_def", vsi_do_group_def, 0, NULL },
	{ "protect", vsi_do_protect, 0, NULL },
	{ "scan_set", vsi_do_scan_set, 0, NULL },
	{ "scan_check", vsi_do_scan_check, 0, NULL },
	/* Copies. */
	{ "disk2file", vsi_do_disk2file, 0, NULL },
	{ "disk2net", vsi_do_disk2net, 0, NULL },
	{ "file_check", vsi_do_file_check, ASKS, NULL },
	{ "file2net", vsi_do_file2net, 0, NULL },
	{ "net2file", vsi_do_net2file, 0, NULL },
	{ "net2disk", vsi_do_net2disk, 0, NULL },
	{ "vbs2net", vsi_do_vbs2net, 0, NULL },
	{ "net2vbs", vsi_do_net2vbs, 0, NULL },
	{ "reset", vsi_do_reset, 0, NULL },
	/* Keywords that are not implemented here. */
	{ "disk2etransfer", NULL, 0, "'spate send --to etd://' does it" },
	{ "net2mem", NULL, 0, "a mount shows what is being recorded" },
	{ "mem2net", NULL, 0, "'spate send --follow' does it" },
	{ "mem2file", NULL, 0, "'spate export' does it" },
	{ "mem2vbs", NULL, 0, NULL },
	{ "mem2time", NULL, 0, NULL },
	{ "mem2sfxc", NULL, 0, NULL },
	{ "net2sfxc", NULL, 0, NULL },
	{ "net2sfxcfork", NULL, 0, NULL },
	{ "net2check", NULL, 0, "'spate probe' does it" },
	{ "net2out", NULL, 0, NULL },
	{ "net2fork", NULL, 0, NULL },
	{ "file2check", NULL, 0, "'spate verify' does it" },
	{ "file2mem", NULL, 0, NULL },
	{ "file2disk", NULL, 0, NULL },
	{ "fill2net", NULL, 0, "'spate gen' does it" },
	{ "fill2file", NULL, 0, "'spate gen' does it" },
	{ "fill2vbs", NULL, 0, "'spate gen' does it" },
	{ "fill2disk", NULL, 0, NULL },
	{ "fill2out", NULL, 0, NULL },
	{ "fill_pattern", NULL, 0, NULL },
	{ "in2net", NULL, 0, "'spate relay' does it" },
	{ "in2file", NULL, 0, NULL },
	{ "in2mem", NULL, 0, NULL },
	{ "in2fork", NULL, 0, NULL },
	{ "in2memfork", NULL, 0, NULL },
	{ "spif2net", NULL, 0, CORNER },
	{ "spif2file", NULL, 0, CORNER },
	{ "spid2net", NULL, 0, CORNER },
	{ "spid2file", NULL, 0, CORNER },
	{ "spin2net", NULL, 0, CORNER },
	{ "spin2file", NULL, 0, CORNER },
	{ "spbs2net", NULL, 0, CORNER },
	{ "spbs2file", NULL, 0, CORNER },
	{ "splet2net", NULL, 0, CORNER },
	{ "splet2file", NULL, 0, CORNER },
	{ "spill2net", NULL, 0, CORNER },
	{ "spill2file", NULL, 0, CORNER },
	{ "debug", NULL, 0, NULL },
	{ "dbglev", NULL, 0, NULL },
	/* Keywords for disk packs and boards of a Mark 5. */
	{ "1pps_source", NULL, 0, MARK5 },
	{ "bank_info", NULL, 0, MARK5 },
	{ "bank_set", NULL, 0, MARK5 },
	{ "bank_switch", NULL, 0, MARK5 },
	{ "cascade", NULL, 0, MARK5 },
	{ "clock", NULL, 0, MARK5 },
	{ "data_check", NULL, 0, "scan_check? does it" },
	{ "diag", NULL, 0, MARK5 },
	{ "disk_model", NULL, 0, "'spate disks' does it" },
	{ "disk_serial", NULL, 0, "'spate disks' does it" },
	{ "disk_size", NULL, 0, "'spate disks' does it" },
	{ "disk_state", NULL, 0, "'spate disks' does it" },
	{ "disk_state_mask", NULL, 0, MARK5 },
	{ "dot", NULL, 0, MARK5 },
	{ "dot_inc", NULL, 0, MARK5 },
	{ "dot_set", NULL, 0, MARK5 },
	{ "get_stats", NULL, 0, "'spate disks' does it" },
	{ "layout", NULL, 0, MARK5 },
	{ "led", NULL, 0, MARK5 },
	{ "mount", NULL, 0, "'spate disks add' does it" },
	{ "os_rev1", NULL, 0, MARK5 },
	{ "os_rev2", NULL, 0, MARK5 },
	{ "packet", NULL, 0, "`prefix` of the stream" },
	{ "personality", NULL, 0, MARK5 },
	{ "play", NULL, 0, MARK5 },
	{ "pointers", NULL, 0, MARK5 },
	{ "position", NULL, 0, "record? tells the bytes" },
	{ "pps", NULL, 0, MARK5 },
	{ "pps_source", NULL, 0, MARK5 },
	{ "recover", NULL, 0, "'spate recover' does it" },
	{ "replaced_blks", NULL, 0, MARK5 },
	{ "scan_play", NULL, 0, MARK5 },
	{ "scandir", NULL, 0, "'spate ls' does it" },
	{ "skip", NULL, 0, MARK5 },
	{ "ss_rev", NULL, 0, MARK5 },
	{ "ss_rev1", NULL, 0, MARK5 },
	{ "ss_rev2", NULL, 0, MARK5 },
	{ "start_stats", NULL, 0, MARK5 },
	{ "track_check", NULL, 0, MARK5 },
	{ "track_set", NULL, 0, MARK5 },
	{ "tvr", NULL, 0, MARK5 },
	{ "unmount", NULL, 0, "'spate disks drop' does it" },
	{ "vsn", NULL, 0, MARK5 },
};

void
vsi_init(struct vsi *v, const struct vsi_host *host)
{
	*v = (struct vsi){ .host = *host,
			   .set = { .prefix = -1, .sg = -1 },
			   .readers = 1,
			   .writers = 1,
			   .blocks = 8,
			   .rename = true,
			   .ack = 10,
			   .task = "none" };
}

/* ---- replies and errors ---------------------------------------------- */

void
vsi_log(struct vsi *v, const char *format, ...)
{
	int64_t second = clock_steady() / NS_SECOND;
	char text[2 * VSI_TEXT];
	va_list args;

	if (second != v->log_second) {
		if (v->log_lines > LOG_MOST)
			log_line(LEVEL_WARN, "vsi", "%u more lines like that",
				 v->log_lines - LOG_MOST);
		v->log_lines = 0;
	}
	v->log_second = second;
	if (++v->log_lines > LOG_MOST)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	log_line(LEVEL_WARN, "vsi", "%s", text);
}

void
vsi_clean(char *text)
{
	for (; *text; text++) {
		if (*text == ';')
			*text = ',';
		else if (*text == ':')
			*text = '.';
		else if (*text < ' ' || *text > '~')
			*text = '?';
	}
}

/* Writes the command as it came, cut at the end of the buffer. */
static void
command_show(char *text, size_t bytes, const struct vsi_command *c)
{
	size_t at = (size_t)snprintf(text, bytes, "%s%c", c->keyword,
				     c->query ? '?' : '=');

	for (unsigned i = 0; i < c->fields && at < bytes; i++)
		at += (size_t)snprintf(text + at, bytes - at, "%s%s",
				       i ? ":" : "", c->field[i]);
}

void
vsi_refuse(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r,
	   enum vsi_code code, const char *format, ...)
{
	char text[VSI_TEXT], command[100];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	command_show(command, sizeof command, c);
	vsi_log(v, "%s: %s", command, text);
	vsi_clean(text);
	vsi_say(r, code, "%s", text);
}

void
vsi_refuse_fault(struct vsi *v, const struct vsi_command *c,
		 struct vsi_reply *r, enum vsi_code code,
		 const struct fault *fault)
{
	char line[1024];

	fault_line(fault, line, sizeof line);
	vsi_refuse(v, c, r, code, "%s", line);
}

/* Drops the oldest error if the list is full: the newest ones tell more. */
void
vsi_error_add(struct vsi *v, int number, const char *text)
{
	struct vsi_error *e;
	int64_t now = clock_now();

	for (unsigned i = 0; i < v->errors; i++) {
		e = &v->error[i];
		if (e->number == number && !strcmp(e->text, text)) {
			e->last = now;
			e->times++;
			return;
		}
	}
	if (v->errors == VSI_ERRORS)
		memmove(v->error, v->error + 1, --v->errors * sizeof *v->error);
	e = &v->error[v->errors++];
	*e = (struct vsi_error){
		.number = number, .first = now, .last = now, .times = 1
	};
	snprintf(e->text, sizeof e->text, "%s", text);
	vsi_clean(e->text);
}

bool
vsi_is_away(const struct vsi *v)
{
	return v->host.away && v->host.away(v->host.arg);
}

bool
vsi_is_on(struct vsi *v)
{
	char text[2 * VSI_TEXT];
	struct vsi_facts f;

	if (!v->on || v->host.runs(v->host.arg, v->name) || vsi_is_away(v))
		return v->on;
	v->host.facts(v->host.arg, v->name, &f);
	if (vsi_is_away(v))
		return true;
	v->on = false;
	snprintf(text, sizeof text, "%s %s%s%s", v->name,
		 f.failed ? "failed" : "was stopped, not by record=off",
		 f.why[0] ? " - " : "", f.why);
	vsi_error_add(v, VSI_FAILED, text);
	return false;
}

const char *
vsi_listed(const struct vsi *v, uint64_t n)
{
	if (!n || n > v->recordings || n + VSI_RECORDINGS <= v->recordings)
		return NULL;
	return v->list[(n - 1) % VSI_RECORDINGS];
}

/* ---- texts and numbers ----------------------------------------------- */

const char *
vsi_time(char text[VSI_TIME], int64_t ns)
{
	time_t second = ns / NS_SECOND;
	struct tm tm;

	gmtime_r(&second, &tm);
	snprintf(text, VSI_TIME, "%04dy%03dd%02dh%02dm%02d.%04ds",
		 (tm.tm_year + 1900) % 10000, tm.tm_yday + 1, tm.tm_hour,
		 tm.tm_min, tm.tm_sec, (int)(ns % NS_SECOND / 100000));
	return text;
}

const char *
vsi_format_name(const char *format)
{
	if (!strcmp(format, "vdif"))
		return "VDIF";
	return strcmp(format, "mark5b") ? format : "Mark5B";
}

static bool
number_take(const char *text, uint64_t *number, char **end)
{
	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	*number = strtoull(text, end, text[1] == 'x' ? 16 : 10);
	return !errno;
}

bool
vsi_number(const char *text, uint64_t most, uint64_t *number)
{
	char *end;

	return number_take(text, number, &end) && !*end && *number <= most;
}

bool
vsi_bytes(const char *text, uint64_t most, uint64_t *bytes)
{
	unsigned shift = 0;
	char *end;

	if (!number_take(text, bytes, &end))
		return false;
	if (*end == 'k')
		shift = 10;
	else if (*end == 'M')
		shift = 20;
	else if (*end)
		return false;
	if ((shift && end[1]) || *bytes > most >> shift)
		return false;
	*bytes <<= shift;
	return true;
}

/* ---- one command ----------------------------------------------------- */

/* Replaces a reply that was made up without the recorder. */
static void
away_say(struct vsi *v, struct vsi_reply *r, size_t begun)
{
	char text[VSI_TEXT];

	snprintf(text, sizeof text, "%s", v->host.away(v->host.arg));
	vsi_clean(text);
	r->used = begun;
	v->later = false;
	vsi_say(r, VSI_FAILED, "%s", text);
}

bool
vsi_command(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	size_t i = 0, n = sizeof table / sizeof *table, begun = r->used;

	v->later = false;
	while (i < n && strcmp(table[i].keyword, c->keyword))
		i++;
	if (i == n)
		vsi_refuse(v, c, r, VSI_UNKNOWN, "no such keyword");
	else if (!table[i].act)
		vsi_refuse(v, c, r, VSI_NEVER, "not done by this recorder%s%s",
			   table[i].instead ? " - " : "",
			   table[i].instead ? table[i].instead : "");
	else if (table[i].rules & ASKS && !c->query)
		vsi_say(r, VSI_NEVER, "only available as query");
	else if (table[i].rules & IDLE && !c->query && vsi_is_on(v))
		vsi_say(r, VSI_CONFLICT, "not whilst vbsrecord is in progress");
	else
		table[i].act(v, c, r);
	if (vsi_is_away(v))
		away_say(v, r, begun);
	return !v->later;
}

/* ---- about ----------------------------------------------------------- */

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
	else /* asks, because a recorder that is away is not ready */
		v->host.runs(v->host.arg, v->name);
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
	if (vsi_is_away(v))
		return;
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
