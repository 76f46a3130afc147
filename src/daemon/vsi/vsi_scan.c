/* SPDX-License-Identifier: MIT */
/*
 * scan_set= and scan_check?: the scan that scan_check? is about is the last one
 * recorded, or another that scan_set= named, however it was recorded.
 *
 * jive5ab reads a piece of the scan to check it, which takes time and disk
 * bandwidth.  Here everything was counted during recording, so the answer is
 * immediate and covers the whole scan; what was not counted is left empty.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/vsi/vsi.h"

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
