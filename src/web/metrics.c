/* SPDX-License-Identifier: MIT */
/*
 * A metric is a key of an object that spated answers with (control/answer.h), so
 * it cannot differ from what `spate status --json` says.  The key's kind is its
 * unit; names follow Prometheus: base units, _total for what never falls while
 * the same spated runs, which for rate() is a restart like any other.
 *
 * A value that is not known has no line.  The few metrics that are no key of an
 * object have a function each, at the end.
 */
#include "web/metrics.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "config.h"
#include "control/answer.h"
#include "store/disk/disk_keys.h"

enum metric_type { COUNTER, GAUGE, INFO };

/* An object whose keys are metrics: where it is, and what tells it from its
 * like. */
struct metric_object {
	const struct key *keys;
	const char *member; /* of the answer to `status`; NULL: itself */
	const char *label;  /* NULL: there is one such object */
	const char *named;  /* key that is the value of the label */
};

static const struct metric_object of_status = { status_keys, NULL, NULL, NULL };
static const struct metric_object of_memory = { memory_keys, "memory", NULL,
						NULL };
static const struct metric_object of_space = { space_keys, "space", NULL,
					       NULL };
static const struct metric_object of_catalogue = { catalogue_keys, "catalogue",
						   NULL, NULL };
static const struct metric_object of_disk = { disk_keys, "disks", "disk",
					      "path" };
static const struct metric_object of_stream = { stream_keys, "streams",
						"stream", "name" };

struct metric {
	const struct metric_object *of;
	enum metric_type type;
	const char *name; /* without _total */
	size_t offset;	  /* of the key in its struct */
	const char *help;
};

#define STATUS(type, name, key, help)                                          \
	{                                                                      \
		&of_status, type, "spate_" name,                               \
		    offsetof(struct answer_status, key), help                  \
	}
#define MEMORY(type, name, key, help)                                          \
	{                                                                      \
		&of_memory, type, "spate_" name,                               \
		    offsetof(struct answer_memory, key), help                  \
	}
#define SPACE(type, name, key, help)                                           \
	{                                                                      \
		&of_space, type, "spate_" name,                                \
		    offsetof(struct answer_space, key), help                   \
	}
#define CATALOGUE(type, name, key, help)                                       \
	{                                                                      \
		&of_catalogue, type, "spate_" name,                            \
		    offsetof(struct answer_catalogue, key), help               \
	}
#define DISK(type, name, key, help)                                            \
	{                                                                      \
		&of_disk, type, "spate_disk_" name,                            \
		    offsetof(struct disk_report, key), help                    \
	}
#define STREAM(type, name, key, help)                                          \
	{                                                                      \
		&of_stream, type, "spate_stream_" name,                        \
		    offsetof(struct answer_stream, key), help                  \
	}

static const struct metric metrics[] = {
	STATUS(GAUGE, "start_time_seconds", started,
	       "When spated was started, in seconds since 1970"),
	STATUS(GAUGE, "transfers_running", sends_n, "Transfers that run"),
	MEMORY(GAUGE, "memory_bytes", bytes, "Memory for blocks"),
	MEMORY(GAUGE, "memory_used_bytes", borrowed,
	       "Memory for blocks that is in use"),
	MEMORY(GAUGE, "memory_lent_bytes", lent,
	       "Memory in use beyond the blocks that streams have a right to"),
	MEMORY(GAUGE, "memory_ready_bytes", ready,
	       "Memory for blocks that was touched and can be used"),
	MEMORY(GAUGE, "memory_locked", locked,
	       "1 if the memory for blocks cannot be swapped out"),
	SPACE(GAUGE, "space_disks", disks, "Disks that work"),
	SPACE(GAUGE, "space_size_bytes", total,
	      "Size of all file systems, each counted once"),
	SPACE(GAUGE, "space_free_bytes", free,
	      "Free space above the reserve, on all disks"),
	SPACE(GAUGE, "space_full_seconds", full_s,
	      "Time until all disks are full, at the last minute's rate"),
	CATALOGUE(GAUGE, "catalogue_recordings", recordings,
		  "Recordings on the disks"),
	CATALOGUE(GAUGE, "catalogue_unread_recordings", unread,
		  "Recordings on the disks that are known by name alone"),
	DISK(GAUGE, "free_bytes", free, "Free space above the reserve"),
	DISK(GAUGE, "size_bytes", total, "Size of the file system"),
	DISK(GAUGE, "full_seconds", full_s,
	     "Time until the disk is full, at the last minute's rate"),
	DISK(COUNTER, "written_bytes", written,
	     "Bytes written since the disk takes part"),
	DISK(COUNTER, "written_blocks", chunks,
	     "Blocks written since the disk takes part"),
	DISK(COUNTER, "errors", errors, "Errors of writing"),
	DISK(GAUGE, "queued_blocks", queued, "Blocks that wait for the disk"),
	DISK(GAUGE, "latency_seconds", latency_ms,
	     "Time that the last block took to be written"),
	DISK(GAUGE, "latency_p99_seconds", latency_p99_ms,
	     "Time that 99 of 100 blocks took at most to be written"),
	DISK(GAUGE, "speed_bytes_per_second", speed,
	     "Speed of the disk while it writes"),
	STREAM(COUNTER, "recordings", recordings,
	       "Recordings begun since spated was started"),
	STREAM(COUNTER, "datagrams", datagrams, "Datagrams that came"),
	STREAM(COUNTER, "packets", packets, "Packets stored, each once"),
	STREAM(COUNTER, "lost_packets", packets_lost,
	       "Packets that never came, as the numbers of the others say"),
	STREAM(COUNTER, "reordered_packets", packets_reordered,
	       "Packets stored behind a later one"),
	STREAM(COUNTER, "unreadable_packets", packets_unreadable,
	       "Packets stored whose frame header is not sane"),
	STREAM(COUNTER, "at_risk_packets", packets_at_risk,
	       "Packets on a disk that failed before they were durable"),
	STREAM(COUNTER, "overruns", overruns,
	       "Losses in the sockets of this machine, as the kernel counts"),
	STREAM(COUNTER, "written_bytes", bytes, "Bytes written to the disks"),
	STREAM(COUNTER, "dropped_packets", drops,
	       "Packets that came and were not stored, by cause"),
};

/* ---- lines ----------------------------------------------------------- */

struct metrics_out {
	FILE *file;
	const struct figures *figures;
	bool open;	  /* OpenMetrics */
	const char *name; /* of the metric whose lines are written */
	enum metric_type type;
};

/* Begins a metric: what it is, for people and programs. */
static void
begin(struct metrics_out *o, const char *name, enum metric_type type,
      const char *help)
{
	static const char *const types[] = { "counter", "gauge", "info" };
	/* OpenMetrics names the family, the older format each line. */
	const char *suffix = o->open	       ? ""
			     : type == COUNTER ? "_total"
			     : type == INFO    ? "_info"
					       : "";

	o->name = name;
	o->type = type;
	fprintf(o->file, "# HELP %s%s %s\n# TYPE %s%s %s\n", name, suffix, help,
		name, suffix,
		!o->open && type == INFO ? types[GAUGE] : types[type]);
}

static void
label_print(FILE *file, const char *text)
{
	size_t plain = strcspn(text, "\n\"\\");

	for (; text[plain]; plain = strcspn(text, "\n\"\\")) {
		fwrite(text, 1, plain, file);
		fputc('\\', file);
		fputc(text[plain] == '\n' ? 'n' : text[plain], file);
		text += plain + 1;
	}
	fwrite(text, 1, plain, file);
}

/* Prints a line with pairs of label and value, of which the last is NULL. */
static void
line(struct metrics_out *o, double value, ...)
{
	static const char *const suffix[] = { "_total", "", "_info" };
	const char *label, *text, *before = "{";
	va_list pairs;

	if (!isfinite(value))
		return;
	fputs(o->name, o->file);
	fputs(suffix[o->type], o->file);
	va_start(pairs, value);
	while ((label = va_arg(pairs, const char *)) != NULL) {
		text = va_arg(pairs, const char *);
		fputs(before, o->file);
		fputs(label, o->file);
		fputs("=\"", o->file);
		label_print(o->file, text ? text : "");
		fputc('"', o->file);
		before = ",";
	}
	va_end(pairs);
	fputs(*before == ',' ? "} " : " ", o->file);
	/* Counts are whole up to 2^53, and printed fast: there are thousands. */
	if (value == floor(value) && fabs(value) < 1LL << 53)
		fprintf(o->file, "%" PRId64 "\n", (int64_t)value);
	else
		fprintf(o->file, "%.15g\n", value);
}

/* ---- keys ------------------------------------------------------------ */

/* Converts a value to base units; NAN: it is not known, or no number. */
static double
value_of(const struct key *key, const json_t *value)
{
	int64_t ns;

	if (json_is_boolean(value))
		return json_is_true(value);
	if (key->kind == KEY_TIME)
		return json_is_string(value) &&
			       units_time(json_string_value(value), 0, &ns) == 0
			   ? (double)ns / 1e9
			   : NAN;
	if (!json_is_number(value))
		return NAN;
	return json_number_value(value) / (key->kind == KEY_MS ? 1000 : 1);
}

static const struct key *
key_of(const struct metric *m)
{
	const struct key *key = m->of->keys;

	while (key->offset != m->offset)
		key++;
	return key;
}

/* Prints the lines of one object; of drops, one for each cause. */
static void
object_print(struct metrics_out *o, const struct metric *m,
	     const json_t *object)
{
	const struct key *key = key_of(m);
	json_t *value = json_object_get(object, key->name);
	const char *label = m->of->label, *cause;
	const char *name =
	    label ? json_string_value(json_object_get(object, m->of->named))
		  : NULL;
	json_t *count;

	if (key->kind != KEY_JSON) {
		line(o, value_of(key, value), label, name, NULL);
		return;
	}
	json_object_foreach(value, cause, count)
		line(o, value_of(key, count), label, name, "cause", cause,
		     NULL);
}

static void
metric_print(struct metrics_out *o, const struct metric *m)
{
	const struct figures *f = o->figures;
	const json_t *objects, *object;
	size_t i;

	begin(o, m->name, m->type, m->help);
	objects = m->of == &of_stream ? f->streams
		  : m->of->member ? json_object_get(f->status, m->of->member)
				  : f->status;
	if (!m->of->label)
		object_print(o, m, objects);
	json_array_foreach(objects, i, object)
		object_print(o, m, object);
}

/* ---- metrics that are no key ----------------------------------------- */

static const char *
text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static void
disk_states_print(struct metrics_out *o)
{
	const json_t *disk;
	size_t i;

	begin(o, "spate_disk_state", GAUGE,
	      "1 for the state that the disk is in, and no line for others");
	json_array_foreach(json_object_get(o->figures->status, "disks"), i,
			   disk)
		line(o, 1, "disk", text_of(disk, "path"), "state",
		     text_of(disk, "state"), NULL);
}

/* Prints whether the streams have a recording in this key. */
static void
streams_busy_print(struct metrics_out *o, const char *key)
{
	const json_t *stream;
	size_t i;

	json_array_foreach(o->figures->streams, i, stream)
		line(o, json_is_string(json_object_get(stream, key)), "stream",
		     text_of(stream, "name"), NULL);
}

/* Prints blocks of the recordings that run, summed by stream. */
static void
blocks_print(struct metrics_out *o, const char *which)
{
	const json_t *stream, *recording, *all;
	size_t i, k;

	all = json_object_get(o->figures->status, "recordings");
	json_array_foreach(o->figures->streams, i, stream) {
		const char *name = text_of(stream, "name");
		double sum = 0;

		json_array_foreach(all, k, recording) {
			const char *of = text_of(recording, "stream");

			if (name && of && !strcmp(of, name))
				sum += json_number_value(json_object_get(
				    json_object_get(recording, "blocks"),
				    which));
		}
		line(o, sum, "stream", name, NULL);
	}
}

/* Tells whether a link of a stream holds in all of its recordings. */
static bool
link_holds(const struct metrics_out *o, const char *stream, const char *link)
{
	const json_t *recording, *one;
	size_t i, k;

	json_array_foreach(json_object_get(o->figures->status, "recordings"), i,
			   recording) {
		const char *of = text_of(recording, "stream");

		if (!of || strcmp(of, stream) != 0)
			continue;
		json_array_foreach(json_object_get(recording, "links"), k,
				   one) {
			const char *name = text_of(one, "link");

			if (name && !strcmp(name, link) &&
			    json_is_false(json_object_get(one, "well")))
				return false;
		}
	}
	return true;
}

/* Prints the links of each stream that is recorded; its recordings have the
 * same ones, so those of the first are named. */
static void
links_print(struct metrics_out *o)
{
	const json_t *stream, *all, *recording, *one;
	size_t i, k, m;

	all = json_object_get(o->figures->status, "recordings");
	json_array_foreach(o->figures->streams, i, stream) {
		const char *name = text_of(stream, "name");
		const json_t *links = NULL;

		json_array_foreach(all, k, recording) {
			const char *of = text_of(recording, "stream");

			if (!links && name && of && !strcmp(of, name))
				links = json_object_get(recording, "links");
		}
		json_array_foreach(links, m, one) {
			const char *link = text_of(one, "link");

			if (link)
				line(o, link_holds(o, name, link), "stream",
				     name, "link", link, NULL);
		}
	}
}

/* Prints how far the data of each stream that is recorded are behind; of several
 * recordings the first one that knows it. */
static void
clocks_print(struct metrics_out *o)
{
	const json_t *stream, *all, *recording, *behind;
	size_t i, k;

	all = json_object_get(o->figures->status, "recordings");
	json_array_foreach(o->figures->streams, i, stream) {
		const char *name = text_of(stream, "name");

		json_array_foreach(all, k, recording) {
			const char *of = text_of(recording, "stream");

			behind = json_object_get(recording, "clock_s");
			if (!name || !of || strcmp(of, name) != 0 ||
			    !json_is_number(behind))
				continue;
			line(o, json_number_value(behind), "stream", name,
			     NULL);
			break;
		}
	}
}

/* Prints whether the signal of a stream is as it should be; no line where it is
 * not looked at. */
static void
signals_print(struct metrics_out *o)
{
	const json_t *stream;
	size_t i;

	json_array_foreach(o->figures->streams, i, stream) {
		const char *quality = text_of(stream, "quality");

		if (quality)
			line(o, !strcmp(quality, "ok"), "stream",
			     text_of(stream, "name"), NULL);
	}
}

/* Counts how often each finding is in the lists of all channels. */
static json_t *
findings_count(const json_t *channels)
{
	const json_t *channel, *finding;
	json_t *counts = json_object();
	size_t i, k;

	json_array_foreach(channels, i, channel) {
		json_array_foreach(json_object_get(channel, "findings"), k,
				   finding) {
			const char *name = json_string_value(finding);
			json_int_t n;

			if (!name)
				continue;
			n = json_integer_value(json_object_get(counts, name));
			json_object_set_new(counts, name, json_integer(n + 1));
		}
	}
	return counts;
}

static void
findings_print(struct metrics_out *o)
{
	const json_t *stream;
	size_t i;

	json_array_foreach(o->figures->streams, i, stream) {
		json_t *counts =
		    findings_count(json_object_get(stream, "channels"));
		const char *finding;
		json_t *n;

		json_object_foreach(counts, finding, n)
			line(o, json_number_value(n), "stream",
			     text_of(stream, "name"), "finding", finding, NULL);
		json_decref(counts);
	}
}

/* Counts objects by one of their texts. */
static void
counts_print(struct metrics_out *o, const json_t *objects, const char *key)
{
	const json_t *object, *other;
	size_t i, k;

	json_array_foreach(objects, i, object) {
		const char *text = text_of(object, key);
		bool first = text;
		unsigned n = 0;

		json_array_foreach(objects, k, other) {
			const char *same = text_of(other, key);

			if (!text || !same || strcmp(same, text))
				continue;
			first = first && k >= i;
			n++;
		}
		if (first)
			line(o, n, key, text, NULL);
	}
}

static void
others_print(struct metrics_out *o)
{
	const json_t *status = o->figures->status;

	begin(o, "spate_build", INFO, "Version of spated");
	line(o, 1, "version", text_of(status, "version"), NULL);
	disk_states_print(o);
	begin(o, "spate_stream_recording", GAUGE,
	      "1 if a recording of the stream runs");
	streams_busy_print(o, "recording");
	begin(o, "spate_stream_armed", GAUGE,
	      "1 if a recording of the stream waits for its start");
	streams_busy_print(o, "armed");
	begin(o, "spate_stream_blocks", GAUGE,
	      "Blocks of memory of the recordings of the stream");
	blocks_print(o, "total");
	begin(o, "spate_stream_free_blocks", GAUGE,
	      "Blocks of memory that wait for packets of the stream");
	blocks_print(o, "free");
	begin(o, "spate_stream_link_well", GAUGE,
	      "1 if the link from the wire to the disk holds, of a stream that "
	      "is recorded: arrive, place, write, durable");
	links_print(o);
	begin(o, "spate_stream_clock_seconds", GAUGE,
	      "How far the time of the data that are recorded is behind their "
	      "arrival; negative: ahead");
	clocks_print(o);
	begin(o, "spate_stream_signal_ok", GAUGE,
	      "1 if nothing is wrong with the signal that is recorded");
	signals_print(o);
	begin(o, "spate_stream_channel_findings", GAUGE,
	      "Channels with which this is wrong, by finding");
	findings_print(o);
	begin(o, "spate_recordings", GAUGE,
	      "Recordings that are armed or run, by state");
	counts_print(o, json_object_get(status, "recordings"), "state");
	begin(o, "spate_transfers", GAUGE,
	      "Transfers that wait or run, by state");
	counts_print(o, json_object_get(status, "sends"), "state");
	begin(o, "spate_incoming_copies", GAUGE,
	      "Copies that come in, by state");
	counts_print(o, json_object_get(status, "inbox"), "state");
	begin(o, "spate_schedule_scans", GAUGE,
	      "Scans that are ahead, run, or ended within a day, by state");
	counts_print(o, o->figures->scans, "state");
}

/* ---- the whole ------------------------------------------------------- */

char *
metrics_text(const struct figures *f, const struct metrics_web *web, bool open,
	     size_t *bytes)
{
	struct metrics_out o = { .figures = f, .open = open };
	char *text = NULL;

	o.file = open_memstream(&text, bytes);
	if (!o.file)
		return NULL;
	__fsetlocking(o.file, FSETLOCKING_BYCALLER);
	begin(&o, "spate_up", GAUGE,
	      "1 if spated answers; 0 if not, and then all else of it is "
	      "missing");
	line(&o, f->up, NULL);
	for (size_t i = 0; f->up && i < sizeof metrics / sizeof *metrics; i++)
		metric_print(&o, &metrics[i]);
	if (f->up)
		others_print(&o);
	begin(&o, "spate_web_build", INFO, "Version of spate-web");
	line(&o, 1, "version", PACKAGE_VERSION, NULL);
	begin(&o, "spate_web_questions", COUNTER,
	      "How often spate-web asked spated");
	line(&o, (double)f->asked, NULL);
	begin(&o, "spate_web_requests", COUNTER,
	      "Requests that spate-web answered or refused, up to the last "
	      "question");
	line(&o, (double)web->answered, "result", "answered", NULL);
	line(&o, (double)web->refused, "result", "refused", NULL);
	if (open)
		fputs("# EOF\n", o.file);
	if (fclose(o.file) == 0)
		return text;
	free(text);
	return NULL;
}
