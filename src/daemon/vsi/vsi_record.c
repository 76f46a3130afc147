/* SPDX-License-Identifier: MIT */
/*
 * record=on answers when everything that can be refused has been checked, as
 * `spate record` does, but does not wait for the folders: a Field System goes
 * on with its schedule.  Later failures are shown by status? and error?.
 *
 * record=off answers that stopping has begun: the rest is written within
 * moments.  If the next scan needs ports or memory that the last one still
 * holds, record=on is put off until they are free.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "daemon/vsi/vsi.h"

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

/* ---- progress --------------------------------------------------------- */

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
