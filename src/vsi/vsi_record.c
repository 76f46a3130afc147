/* SPDX-License-Identifier: MIT */
/*
 * record=on answers when everything that can be refused has been checked, as
 * `spate record` does, but does not wait for the folders: a Field System goes
 * on with its schedule.  Later failures are shown by status? and error?.
 *
 * record=off answers that stopping has begun: the rest is written within
 * moments.  If the next scan needs ports or memory that the last one still
 * holds, record=on is put off until they are free.
 *
 * Commands of jive5ab that set or show things spate has no use for.  They are
 * answered in jive5ab's form, since programs that send them give up when
 * refused; settings are remembered, shown, and have no effect.
 *
 * scan_set= and scan_check?: the scan that scan_check? is about is the last one
 * recorded, or another that scan_set= named, however it was recorded.
 *
 * jive5ab reads a piece of the scan to check it, which takes time and disk
 * bandwidth.  Here everything was counted during recording, so the answer is
 * immediate and covers the whole scan; what was not counted is left empty.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "vsi/vsi.h"

/* ---- record ---------------------------------------------------------- */

static void
list_add(struct vsi *v)
{
	char *at = v->list[v->recordings++ % VSI_RECORDINGS];

	snprintf(at, VSI_NAME, "%s", v->name);
	v->on = true;
}

static enum vsi_code
code_of(const struct fault *fault)
{
	static const struct {
		const char *word;
		enum vsi_code code;
	} codes[] = { { "exists", VSI_CONFLICT },
		      { "busy", VSI_BUSY },
		      { "bad-name", VSI_PARAMETER },
		      { "conf", VSI_PARAMETER },
		      { "usage", VSI_PARAMETER } };

	for (size_t i = 0; fault->code && i < sizeof codes / sizeof *codes;
	     i++) {
		if (!strcmp(codes[i].word, fault->code))
			return codes[i].code;
	}
	return VSI_FAILED;
}

static void
record_on(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	const char *label = vsi_field(c, 1), *wrong;
	struct fault fault = { 0 };
	char name[VSI_NAME];
	int err;

	if (vsi_is_on(v)) {
		vsi_refuse(v, c, r, VSI_CONFLICT,
			   "Already doing vbsrecord, of %s", v->name);
		return;
	}
	if (v->set.sg == 1 && !strcmp(v->set.protocol, "tcp")) {
		vsi_refuse(
		    v, c, r, VSI_CONFLICT,
		    "nothing says where packets begin in what comes over "
		    "TCP, so it is not written as a Mark 6 does - "
		    "record=mk6.0, or vbs.// for m5copy");
		return;
	}
	wrong = vsi_label_name(name, label);
	if (wrong) {
		vsi_refuse(v, c, r, *label ? VSI_PARAMETER : VSI_CONFLICT, "%s",
			   wrong);
		return;
	}
	err = v->host.record(v->host.arg, name, v->rename, &fault);
	v->later = err == -EAGAIN && c->tries < VSI_TRIES;
	if (v->later)
		return;
	if (err) {
		vsi_refuse_fault(v, c, r, code_of(&fault), &fault);
		if (!vsi_is_away(v))
			vsi_error_add(v, code_of(&fault), fault.what);
		return;
	}
	snprintf(v->name, sizeof v->name, "%s", name);
	list_add(v);
	if (strcmp(name, label))
		vsi_say(r, VSI_DONE, "%s", name);
	else
		vsi_say(r, VSI_DONE, NULL);
}

/* Stops the recording, and makes it the scan of the next scan_check?. */
static void
record_off(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	if (!vsi_is_on(v)) {
		vsi_refuse(v, c, r, VSI_CONFLICT, "Not doing record");
		return;
	}
	v->host.stop(v->host.arg, v->name);
	if (vsi_is_away(v))
		return;
	v->on = false;
	snprintf(v->scan, sizeof v->scan, "%s", v->name);
	v->scan_at = v->recordings;
	v->scan_start = v->scan_end = 0;
	vsi_say(r, VSI_BEGUN, NULL);
}

/* Remembers numbers of threads, which have no effect here. */
static void
record_threads(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	const char *read = vsi_field(c, 1), *write = vsi_field(c, 2);
	uint64_t readers = v->readers, writers = v->writers;

	if ((*read && (!vsi_number(read, 4096, &readers) || !readers)) ||
	    (*write && (!vsi_number(write, 4096, &writers) || !writers))) {
		vsi_refuse(v, c, r, VSI_PARAMETER,
			   "a number of threads from 1 on");
		return;
	}
	v->readers = (uint32_t)readers;
	v->writers = (uint32_t)writers;
	vsi_say(r, VSI_DONE, NULL);
}

static void
record_layout(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	struct vsi_settings set = v->set;
	struct fault fault = { 0 };
	uint64_t sg;

	if (!vsi_number(vsi_field(c, 1), 1, &sg)) {
		vsi_refuse(v, c, r, VSI_PARAMETER, "mk6 takes 0 or 1");
		return;
	}
	set.sg = (int)sg;
	if (vsi_is_on(v))
		vsi_say(r, VSI_CONFLICT, "not whilst vbsrecord is in progress");
	else if (v->host.settle(v->host.arg, &set, &fault) < 0)
		vsi_refuse_fault(v, c, r, VSI_PARAMETER, &fault);
	else {
		v->set.sg = set.sg;
		vsi_say(r, VSI_DONE, NULL);
	}
}

static void
record_unique(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	uint64_t is;

	if (!vsi_number(vsi_field(c, 1), 1, &is)) {
		vsi_refuse(v, c, r, VSI_PARAMETER,
			   "check_unique_recording_names takes 0 or 1");
		return;
	}
	v->rename = is;
	vsi_say(r, VSI_DONE, NULL);
}

static void
record_ask(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	const char *what = vsi_field(c, 0);
	struct vsi_facts f;

	if (!strcmp(what, "nthread")) {
		vsi_say(r, VSI_DONE, "%u : %u", v->readers, v->writers);
	} else if (!strcmp(what, "mk6")) {
		vsi_say(r, VSI_DONE, "%d", v->set.sg == 1);
	} else if (!strcmp(what, "check_unique_recording_names")) {
		vsi_say(r, VSI_DONE, "%d", v->rename);
	} else if (!vsi_is_on(v)) {
		vsi_say(r, VSI_DONE, "off");
	} else {
		v->host.facts(v->host.arg, v->name, &f);
		vsi_say(r, VSI_DONE, "on : %llu : %s : %llu",
			(unsigned long long)v->recordings, v->name,
			(unsigned long long)f.received * f.payload);
	}
}

void
vsi_do_record(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	static const struct {
		const char *word;
		vsi_act *act;
	} orders[] = {
		{ "on", record_on },
		{ "off", record_off },
		{ "nthread", record_threads },
		{ "mk6", record_layout },
		{ "check_unique_recording_names", record_unique },
	};

	if (c->query) {
		record_ask(v, c, r);
		return;
	}
	for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
		if (!strcmp(orders[i].word, vsi_field(c, 0))) {
			orders[i].act(v, c, r);
			return;
		}
	}
	vsi_refuse(v, c, r, VSI_NEVER, "record takes on, off, nthread or mk6");
}

/* ---- progress -------------------------------------------------------- */

static double
percent(uint64_t part, const struct vsi_facts *f)
{
	uint64_t all = f->received + f->lost;

	return all ? (double)part * 100 / (double)all : 0;
}

/*
 * Replaces one letter of evlbi's format; counters that spate does not have are
 * 0.
 */
static void
evlbi_letter(struct vsi_reply *r, char letter, const struct vsi_facts *f)
{
	static const char counts[] = "tlod";
	const uint64_t count[] = { f->received, f->lost, f->reordered,
				   f->dropped };
	const char *at = strchr(counts, letter);
	int64_t now = clock_now();
	char text[VSI_TIME] = "";

	if (at && *at)
		snprintf(text, sizeof text, "%llu",
			 (unsigned long long)count[at - counts]);
	else if (letter == 'L' || letter == 'O' || letter == 'D')
		snprintf(
		    text, sizeof text, "%5.2f%%",
		    percent(count[strchr(counts, letter + 32) - counts], f));
	else if (letter == 'R' || letter == 'G' || letter == 'C')
		snprintf(text, sizeof text, "0seqnr/%s",
			 letter == 'R'	 ? "pkt"
			 : letter == 'G' ? "gap"
					 : "discontinuity");
	else if (letter == 'r' || letter == 'c')
		snprintf(text, sizeof text, "0");
	else if (letter == 'u')
		snprintf(text, sizeof text, "%.3f", (double)now / 1e9);
	else if (letter == 'U')
		vsi_time(text, now);
	else
		snprintf(text, sizeof text, "%%%c", letter);
	vsi_text(r, "%s", text);
}

static void
evlbi_print(struct vsi_reply *r, const char *format, const struct vsi_facts *f)
{
	for (; *format; format++) {
		if (*format == '%' && format[1])
			evlbi_letter(r, *++format, f);
		else
			vsi_text(r, "%c", *format);
	}
}

void
vsi_do_evlbi(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	struct vsi_facts f = { 0 };

	if (v->name[0])
		v->host.facts(v->host.arg, v->name, &f);
	vsi_say(r, VSI_DONE, "%s", "");
	if (c->query)
		evlbi_print(r,
			    "total : %t : loss : %l (%L) : out-of-order : %o "
			    "(%O) : extent : %R",
			    &f);
	for (unsigned i = 0; i < c->fields && !c->query; i++) {
		vsi_text(r, "%s", i ? " : " : "");
		evlbi_print(r, c->field[i], &f);
	}
}

/*
 * Shows the progress of a copy: m5copy asks here how far vbs2net is, and
 * whether it has ended.
 */
static void
tstat_copy(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	struct vsi_sent now;
	const char *copies = vsi_copy_runs(v, &now);

	if (!copies)
		vsi_say(r, VSI_DONE, "0.0 : no_transfer");
	else if (now.failed)
		vsi_refuse(v, c, r, VSI_FAILED, "%s", now.why);
	else
		vsi_say(r, VSI_DONE,
			"%.3f : %s : bytes : %llu : FIFOLength : 0",
			(double)clock_now() / 1e9, copies,
			(unsigned long long)now.bytes);
}

void
vsi_do_tstat(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	struct vsi_facts f;

	if (!vsi_is_on(v)) {
		tstat_copy(v, c, r);
		return;
	}
	v->host.facts(v->host.arg, v->name, &f);
	if (c->query)
		vsi_say(r, VSI_DONE,
			"1.00s : vbsrecord : net %.2fMbps : F%4.1f%%",
			f.rate / 1e6, 100 * f.queue);
	else
		vsi_say(r, VSI_DONE,
			"%.3f : vbsrecord : net : %llu : FIFOLength : %llu",
			(double)clock_now() / 1e9,
			(unsigned long long)f.received * f.payload, 0ull);
}

/* ---- kept ------------------------------------------------------------ */

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

/* Returns the MHz (Mb/s) of one track, from `mode=`; 0: unknown. */
static double
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

/* ---- scans ----------------------------------------------------------- */

enum { END_BYTES = 1000000, PAST_BYTES = 65536 };

/* ---- scan_set -------------------------------------------------------- */

/* Returns the number of the first remembered recording. */
static uint64_t
first(const struct vsi *v)
{
	return v->recordings > VSI_RECORDINGS
		   ? v->recordings - VSI_RECORDINGS + 1
		   : 1;
}

/* Returns the next number, wrapping around; 0 if there are no recordings. */
static uint64_t
neighbour(const struct vsi *v, uint64_t n, int step)
{
	if (!v->recordings)
		return 0;
	if (step > 0)
		return n >= first(v) && n < v->recordings ? n + 1 : first(v);
	return n > first(v) && n <= v->recordings ? n - 1 : v->recordings;
}

/*
 * Returns the first recording behind number `after` with the text in its name.
 */
static uint64_t
search(const struct vsi *v, const char *text, uint64_t after)
{
	uint64_t n = after;

	for (unsigned i = 0; i < VSI_RECORDINGS && v->recordings; i++) {
		n = neighbour(v, n, 1);
		if (strcasestr(vsi_listed(v, n), text))
			return n;
	}
	return 0;
}

/*
 * Chooses a scan: its number; or 0, if the word may be a name.  False, with
 * `why`, if nothing can be meant.
 */
static bool
scan_choose(struct vsi *v, const char *word, uint64_t *n, const char **why)
{
	*why = "there are no scans recorded in this session";
	*n = v->recordings;
	if (!*word)
		return *n;
	if (!strcmp(word, "inc") || !strcmp(word, "dec")) {
		*n = v->scan_at;
		if (*n)
			*n = neighbour(v, *n, *word == 'i' ? 1 : -1);
		return *n;
	}
	if (vsi_number(word, v->recordings, n) && *n)
		return true;
	*why = "no search string given yet";
	if (!strcmp(word, "next")) {
		*n = v->search[0] ? search(v, v->search, v->scan_at) : 0;
		return *n;
	}
	snprintf(v->search, sizeof v->search, "%.127s", word);
	*n = search(v, word, 0);
	return true;
}

/* Reads where to begin or end, in bytes: "+100", "-100", or a letter. */
static bool
pointer_read(const char *word, int64_t from, int64_t length, int64_t *at)
{
	uint64_t n;

	if (!*word || !strcmp(word, "s"))
		return true;
	if (!strcmp(word, "c"))
		*at = length / 2;
	else if (!strcmp(word, "e"))
		*at = length - END_BYTES;
	else if (!strcmp(word, "s+"))
		*at = PAST_BYTES;
	else if ((*word != '+' && *word != '-') ||
		 !vsi_number(word + 1, INT64_MAX / 2, &n))
		return false;
	else
		*at = *word == '+' ? from + (int64_t)n : length - (int64_t)n;
	return true;
}

static void
scan_set(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	const char *word = vsi_field(c, 0), *name, *why;
	struct vsi_facts f = { 0 };
	int64_t start = 0, end;
	uint64_t n;

	if (!scan_choose(v, word, &n, &why)) {
		vsi_refuse(v, c, r, VSI_CONFLICT, "%s", why);
		return;
	}
	name = n ? vsi_listed(v, n) : word;
	if (name)
		v->host.facts(v->host.arg, name, &f);
	if (!f.known) {
		vsi_refuse(v, c, r, VSI_FAILED, "there is no recording '%s'",
			   name ? name : word);
		return;
	}
	end = (int64_t)f.bytes;
	if (!pointer_read(vsi_field(c, 1), 0, end, &start) ||
	    !pointer_read(vsi_field(c, 2), start, end, &end)) {
		vsi_refuse(v, c, r, VSI_PARAMETER,
			   "only relative byte numbers allowed in this "
			   "command, as +1000000");
		return;
	}
	if (start < 0 || end < start || end > (int64_t)f.bytes) {
		vsi_refuse(v, c, r, VSI_PARAMETER,
			   "scan pointer offset(s) are out of bound");
		return;
	}
	v->scan_at = n;
	snprintf(v->scan, sizeof v->scan, "%.127s", name);
	v->scan_start = start;
	v->scan_end = end;
	vsi_say(r, VSI_DONE, NULL);
}

void
vsi_do_scan_set(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	if (!c->query) {
		scan_set(v, c, r);
		return;
	}
	vsi_say(r, VSI_DONE, "%lld : %s : %lld : %lld",
		v->scan_at ? (long long)v->scan_at : -1, v->scan,
		(long long)v->scan_start, (long long)v->scan_end);
}

/* ---- scan_check ------------------------------------------------------ */

static void
format_say(struct vsi *v, struct vsi_reply *r, const struct vsi_facts *f)
{
	const struct vsi_mode *m = &v->set.mode;

	if (!strcmp(f->format, "vdif") && m->format == VSI_VDIF)
		vsi_more(r, "%s", vsi_mode_name(m));
	else
		vsi_more(r, "%s", vsi_format_name(f->format));
	if (m->tracks)
		vsi_more(r, "%u", m->tracks);
	else
		vsi_more(r, "%s", "");
}

/*
 * Returns the Mb/s of one track if `mode` gave their number, else of everything
 * received.
 */
static double
rate_of(const struct vsi *v, const struct vsi_facts *f)
{
	double seconds = (double)(f->end_ns - f->start_ns) / 1e9;
	double bytes = (double)(f->received + f->lost) * f->payload;

	if (v->set.mode.tracks)
		return v->set.mode.mbps / v->set.mode.tracks;
	return seconds > 0 ? bytes * 8 / 1e6 / seconds : 0;
}

static void
check_say(struct vsi *v, struct vsi_reply *r, const struct vsi_facts *f)
{
	char start[VSI_TIME], why[VSI_TEXT];

	vsi_say(r, VSI_DONE, "%s : %s", "?", v->scan);
	format_say(v, r, f);
	vsi_more(r, "%s", vsi_time(start, f->start_ns));
	vsi_more(r, "%.4fs", (double)(f->end_ns - f->start_ns) / 1e9);
	/* m5copy understands whole numbers only. */
	vsi_more(r, v->set.mode.tracks ? "%.6gMbps" : "%.0fMbps",
		 rate_of(v, f));
	vsi_more(r, "%llu", (unsigned long long)f->lost * f->payload);
	if (!strcmp(f->format, "vdif"))
		vsi_more(r, "%u", f->payload);
	if (f->failed) {
		strcpy(why, f->why);
		vsi_clean(why);
		vsi_more(r, "failed - %s", why);
	}
}

static void
check_set(struct vsi *v, const struct vsi_command *c, struct vsi_reply *r)
{
	const char *what = vsi_field(c, 0), *value = vsi_field(c, 1);

	if (strcmp(what, "verbose") && strcmp(what, "strict") &&
	    strcmp(what, "bytes_to_read"))
		vsi_say(r, VSI_NEVER, "only available as query");
	else if (!*value)
		vsi_refuse(v, c, r, VSI_PARAMETER, "%s needs an argument",
			   what);
	else
		vsi_say(r, VSI_DONE, NULL);
}

void
vsi_do_scan_check(struct vsi *v, const struct vsi_command *c,
		  struct vsi_reply *r)
{
	const char *strict = vsi_field(c, 0), *bytes = vsi_field(c, 1);
	struct vsi_facts f;
	uint64_t n;

	if (!c->query) {
		check_set(v, c, r);
		return;
	}
	if (!strcmp(strict, "verbose")) {
		vsi_say(r, VSI_DONE, "verbose : false");
		return;
	}
	if ((*strict && strcmp(strict, "0") && strcmp(strict, "1")) ||
	    (*bytes && (!vsi_bytes(bytes, 2ull << 30, &n) || n < 8))) {
		vsi_refuse(v, c, r, VSI_PARAMETER,
			   "write it as scan_check?1:256k, strict or not, and "
			   "bytes up to 2G");
		return;
	}
	if (!v->scan[0]) {
		vsi_refuse(v, c, r, VSI_PARAMETER, "no scan name given");
		return;
	}
	v->host.facts(v->host.arg, v->scan, &f);
	if (!f.known)
		vsi_refuse(v, c, r, VSI_FAILED, "there is no recording '%s'",
			   v->scan);
	else if (f.unread)
		vsi_refuse(v, c, r, VSI_BUSY,
			   "'%s' was not read since spated began; ask again",
			   v->scan);
	else if (!f.received)
		vsi_refuse(v, c, r, VSI_CONFLICT,
			   "scan too short to check, nothing was received");
	else
		check_say(v, r, &f);
}
