/* SPDX-License-Identifier: MIT */
/*
 * spate info --quality: whether the signal of a recording is good, by a share of
 * its frames.
 *
 *   recording -> frames (store/list) -> quality (signal) -> a line per channel
 *
 * Each substream is judged on its own.  The lines of all are printed as one
 * table, and each finding once more as a sentence.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/info_quality.h"
#include "cli/show/field.h"
#include "cli/show/site.h"
#include "cli/show/table.h"
#include "signal/finding.h"
#include "signal/quality.h"
#include "store/list/frames.h"

enum { WHY = 320 };

struct quality_run {
	const struct cli *cli;
	const struct info_quality_args *args;
	const struct disks *disks;
	unsigned findings;
	char first[WHY]; /* the first of them */
};

/* One substream on its way from frames to lines. */
struct judged {
	struct quality *quality;
	unsigned sub;
	char why[WHY];
};

static int
frame_take(void *arg, const void *frame)
{
	struct judged *j = arg;

	return quality_add(j->quality, j->sub, frame, j->why, sizeof j->why);
}

static int
refuse(const char *name, int err, const char *why, struct fault *fault)
{
	fault_set(fault, err, err == -EINVAL ? "usage" : "no-memory",
		  "cannot judge the signal of %s", name);
	fault_why(fault, "%s", err == -EINVAL ? why : strerror(-err));
	return err;
}

/* ---- for people -------------------------------------------------------- */

/* Writes the shares of few states. */
static const char *
states_show(char text[TABLE_CELL], const json_t *states)
{
	size_t i, n = json_array_size(states), at = 0;
	double sum = 0;
	const json_t *count;

	*text = 0;
	json_array_foreach(states, i, count)
		sum += json_number_value(count);
	if (n > 4 || sum <= 0)
		return text;
	json_array_foreach(states, i, count)
		at += (size_t)snprintf(text + at, TABLE_CELL - at, "%s%.1f",
				       i ? " " : "",
				       100 * json_number_value(count) / sum);
	return text;
}

static const char *
tones_show(char text[TABLE_CELL], const json_t *tones)
{
	size_t i, there = 0;
	const json_t *tone;

	*text = 0;
	json_array_foreach(tones, i, tone)
		there += json_is_true(json_object_get(tone, "there"));
	if (json_array_size(tones))
		snprintf(text, TABLE_CELL, "%zu of %zu", there,
			 json_array_size(tones));
	return text;
}

static const char *
cell(char text[TABLE_CELL], const struct key *key, const json_t *line)
{
	const json_t *value = json_object_get(line, key->name);

	if (KEY_IS(key, struct quality_line, states))
		return states_show(text, value);
	if (KEY_IS(key, struct quality_line, tones))
		return tones_show(text, value);
	if (KEY_IS(key, struct quality_line, findings))
		return json_array_size(value) ? NULL : "good";
	if (key->kind != KEY_REAL || !json_is_real(value))
		return NULL;
	snprintf(text, TABLE_CELL,
		 KEY_IS(key, struct quality_line, dc) ? "%+.3f" : "%.3f",
		 json_real_value(value));
	return text;
}

/* Calls say() with a sentence for each finding of the lines. */
static void
findings_tell(struct quality_run *r, const json_t *lines)
{
	const json_t *line, *list;
	char text[WHY];
	size_t i;

	json_array_foreach(lines, i, line) {
		list = json_object_get(line, "findings");
		for (size_t k = 0; k < json_array_size(list); k++) {
			enum finding f = finding_of(
			    json_string_value(json_array_get(list, k)));

			snprintf(text, sizeof text,
				 "thread %" PRIu64 ", channel %" PRIu64 ": %s",
				 field_number(line, "thread"),
				 field_number(line, "channel"),
				 finding_sentence(f));
			if (!*r->first)
				snprintf(r->first, sizeof r->first, "%s", text);
			if (!r->cli->json)
				printf("  WRONG: %s\n", text);
		}
	}
}

static void
head_show(const struct recording_facts *f, unsigned sub,
	  const struct quality_counts *c, const struct frames_counts *read)
{
	char text[UNITS_TEXT];

	printf("%s", f->name);
	if (f->subs > 1)
		printf(", substream %u", sub);
	printf(": %" PRIu64 " frames looked at", c->frames);
	if (read->missing)
		printf(", %" PRIu64 " with missing packets left out",
		       read->missing);
	if (c->invalid)
		printf(", %" PRIu64 " marked invalid left out", c->invalid);
	if (c->odd)
		printf(", %" PRIu64 " of another kind left out", c->odd);
	if (read->unreadable)
		printf(", %s cannot be read",
		       units_show_bytes(text, read->unreadable));
	putchar('\n');
}

static void
lines_show(struct quality_run *r, const json_t *lines)
{
	static const struct table_keys t = {
		.keys = quality_keys,
		.groups = KEY_COLUMN,
		.cell = cell,
		.sparse = true,
	};
	const json_t *line;
	size_t i;

	if (!r->cli->json && json_array_size(lines))
		table_objects(&t, lines, 2);
	if (r->cli->json)
		json_array_foreach(lines, i, line)
			cli_print_json(line);
	findings_tell(r, lines);
}

/* ---- a recording ------------------------------------------------------- */

/* More than a header could say is as refused as any other nonsense. */
static uint32_t
count_of(uint64_t n)
{
	return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

/* Results from the frames of a substream. */
struct sub_said {
	struct quality_counts counts;
	struct frames_counts read;
	unsigned findings;
};

/* Reads frames of a substream, and appends an object for each of its
 * channels to `lines`. */
static int
sub_look(const struct info_quality_args *of, struct recording *rec,
	 unsigned sub, json_t *lines, struct sub_said *said,
	 struct fault *fault)
{
	const struct recording_facts *facts = recording_facts(rec);
	struct judged j = { .sub = sub, .why = "" };
	struct frames_reader reader = { .sub = sub,
					.most = of->read / facts->subs,
					.frame = frame_take,
					.arg = &j };
	struct quality_args args = {
		.bits = count_of(of->bits),
		.channels = count_of(of->channels),
		.sample_rate = of->sample_rate,
		.tones = of->tones,
		.tone_offset = of->tone_offset,
	};
	int err = frames_of(rec, &reader, fault);

	*said = (struct sub_said){ 0 };
	if (err)
		return err;
	args.format = reader.format;
	args.shape = reader.shape;
	err = quality_open(&j.quality, &args, j.why, sizeof j.why);
	if (!err)
		err = frames_read(rec, &reader, &said->read);
	if (!err)
		err = quality_json(j.quality, facts->name, lines,
				   &said->findings);
	if (err)
		refuse(facts->name, err, j.why, fault);
	else
		said->counts = quality_counts(j.quality);
	quality_close(j.quality);
	return err;
}

int
info_quality_lines(const struct info_quality_args *args, struct recording *rec,
		   json_t *lines, struct fault *fault)
{
	struct sub_said said;
	int err = 0;

	for (unsigned i = 0; i < recording_facts(rec)->subs && !err; i++)
		err = sub_look(args, rec, i, lines, &said, fault);
	return err;
}

static int
sub_judge(struct quality_run *r, struct recording *rec, unsigned sub,
	  struct fault *fault)
{
	const struct recording_facts *facts = recording_facts(rec);
	json_t *lines = json_array();
	struct sub_said said;
	int err = sub_look(r->args, rec, sub, lines, &said, fault);

	if (err)
		goto end;
	r->findings += said.findings;
	if (!r->cli->json)
		head_show(facts, sub, &said.counts, &said.read);
	lines_show(r, lines);
	if (!said.counts.frames) {
		err = fault_set(fault, -ENODATA, "bad",
				"no frame of %s can be judged", facts->name);
		fault_why(
		    fault,
		    "none that was looked at is whole, valid and readable");
	}
end:
	json_decref(lines);
	return err;
}

static int
recording_judge(struct quality_run *r, const char *name, struct fault *fault)
{
	struct recording *rec;
	int err = recording_open_by_index(&rec, r->disks, name, fault);

	if (err)
		return err;
	for (unsigned i = 0; i < recording_facts(rec)->subs && !err; i++)
		err = sub_judge(r, rec, i, fault);
	recording_close(rec);
	return err;
}

/* Judges the recordings <name>_ds<stream> of several streams. */
static int
streams_judge(struct quality_run *r, const char *name, struct fault *fault)
{
	size_t n = 0, length = strlen(name);
	struct fault missing = *fault;
	char **names = NULL;
	unsigned found = 0;
	int err = recording_list(r->disks, &names, &n);

	for (size_t i = 0; !err && i < n; i++) {
		if (strncmp(names[i], name, length) != 0 ||
		    strncmp(names[i] + length, "_ds", 3) != 0)
			continue;
		err = recording_judge(r, names[i], fault);
		found++;
	}
	free(names);
	if (!err && !found) {
		*fault = missing;
		err = -ENOENT;
	}
	return err;
}

int
info_quality(const struct cli *cli, const struct info_quality_args *args,
	     const char *name, struct fault *fault)
{
	struct quality_run r = { .cli = cli, .args = args };
	struct disks disks;
	int err = site_disks(cli, &disks, fault);

	if (err)
		return err;
	r.disks = &disks;
	err = recording_judge(&r, name, fault);
	if (err == -ENOENT)
		err = streams_judge(&r, name, fault);
	disks_clear(&disks);
	if (err || !r.findings)
		return err;
	fault_set(fault, -EBADMSG, "bad", "the signal of %s is not good", name);
	fault_why(fault, "%s", r.first);
	return -EBADMSG;
}
