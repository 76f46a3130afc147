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
	STATUS(COUNTER, "transfers_failed", sends_failed,
	       "Transfers that have failed"),
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
	     "Bytes written since spated was started"),
	DISK(COUNTER, "written_blocks", chunks,
	     "Blocks written since spated was started"),
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
	STREAM(
	    COUNTER, "overruns", overrun_causes,
	    "Losses in the sockets of this machine, as the kernel counts, by "
	    "what held up the receiver"),
	STREAM(COUNTER, "clock_steps", clock_steps,
	       "How often the clock of the data stepped, by half a millisecond "
	       "or more"),
	STREAM(COUNTER, "written_bytes", bytes, "Bytes written to the disks"),
	STREAM(COUNTER, "dropped_packets", drops,
	       "Packets that came and were not stored, by cause"),
};

/* ---- lines ----------------------------------------------------------- */

/*
 * There are ten thousand lines of some hundred streams, so that they are put
 * together in one piece of memory, without stdio.
 */
struct metrics_out {
	char *text; /* NULL: without memory */
	size_t bytes, room;
	const struct figures *figures;
	json_t *recordings; /* lists of those that run, by stream */
	bool open;	    /* OpenMetrics */
	char name[96];	    /* what each line of the metric begins with */
	size_t name_bytes;
};

/* Makes room for so many bytes; NULL: there is no memory. */
static char *
room(struct metrics_out *o, size_t bytes)
{
	size_t want = 2 * (o->room + bytes);
	char *grown;

	if (o->text && o->bytes + bytes > o->room) {
		grown = realloc(o->text, want);
		if (!grown)
			free(o->text);
		o->text = grown;
		o->room = want;
	}
	return o->text ? o->text + o->bytes : NULL;
}

static void
put(struct metrics_out *o, const char *text, size_t bytes)
{
	char *to = room(o, bytes);

	if (!to)
		return;
	memcpy(to, text, bytes);
	o->bytes += bytes;
}

static void
put_text(struct metrics_out *o, const char *text)
{
	put(o, text, strlen(text));
}

/* Begins a metric: what it is, for people and programs. */
static void
begin(struct metrics_out *o, const char *name, enum metric_type type,
      const char *help)
{
	static const char *const types[] = { "counter", "gauge", "info" };
	static const char *const each[] = { "_total", "", "_info" };
	/* OpenMetrics names the family, the older format each line. */
	const char *suffix = o->open ? "" : each[type];
	char text[512];

	snprintf(text, sizeof text, "# HELP %s%s %s\n# TYPE %s%s %s\n", name,
		 suffix, help, name, suffix,
		 !o->open && type == INFO ? types[GAUGE] : types[type]);
	put_text(o, text);
	o->name_bytes =
	    (size_t)snprintf(o->name, sizeof o->name, "%s%s", name, each[type]);
}

static void
put_label(struct metrics_out *o, const char *text)
{
	size_t plain = strcspn(text, "\n\"\\");

	for (; text[plain]; plain = strcspn(text, "\n\"\\")) {
		put(o, text, plain);
		put(o, "\\", 1);
		put(o, text[plain] == '\n' ? "n" : &text[plain], 1);
		text += plain + 1;
	}
	put(o, text, plain);
}

/* Counts are whole up to 2^53, and there are thousands of them. */
static void
put_value(struct metrics_out *o, double value)
{
	char text[40], *at = text + sizeof text;
	bool whole = value == floor(value) && fabs(value) < 1LL << 53;
	uint64_t n = whole ? (uint64_t)fabs(value) : 0;

	if (!whole) {
		put(o, text,
		    (size_t)snprintf(text, sizeof text, "%.15g\n", value));
		return;
	}
	*--at = '\n';
	do
		*--at = (char)('0' + n % 10);
	while (n /= 10);
	if (value < 0)
		*--at = '-';
	put(o, at, (size_t)(text + sizeof text - at));
}

/* Prints a line with pairs of label and value, of which the last is NULL. */
static void
line(struct metrics_out *o, double value, ...)
{
	const char *label, *text, *before = "{";
	va_list pairs;

	if (!isfinite(value))
		return;
	put(o, o->name, o->name_bytes);
	va_start(pairs, value);
	while ((label = va_arg(pairs, const char *)) != NULL) {
		text = va_arg(pairs, const char *);
		put(o, before, 1);
		put_text(o, label);
		put(o, "=\"", 2);
		put_label(o, text ? text : "");
		put(o, "\"", 1);
		before = ",";
	}
	va_end(pairs);
	put(o, *before == ',' ? "} " : " ", *before == ',' ? 2 : 1);
	put_value(o, value);
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

/* Prints the lines of one object; where it counts by cause, one for each. */
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

/* Sorts the recordings that run by their streams. */
static json_t *
recordings_sort(const json_t *all)
{
	json_t *lists = json_object(), *list, *recording;
	size_t i;

	json_array_foreach(all, i, recording) {
		const char *name = text_of(recording, "stream");

		if (!name)
			continue;
		list = json_object_get(lists, name);
		if (!list) {
			list = json_array();
			json_object_set_new(lists, name, list);
		}
		json_array_append(list, recording);
	}
	return lists;
}

/* The recordings of a stream that run; NULL: none. */
static const json_t *
recordings_of(const struct metrics_out *o, const json_t *stream)
{
	const char *name = text_of(stream, "name");

	return name ? json_object_get(o->recordings, name) : NULL;
}

/* Prints blocks of the recordings that run, summed by stream. */
static void
blocks_print(struct metrics_out *o, const char *which)
{
	const json_t *stream, *recording;
	size_t i, k;

	json_array_foreach(o->figures->streams, i, stream) {
		double sum = 0;

		json_array_foreach(recordings_of(o, stream), k, recording)
			sum += json_number_value(json_object_get(
			    json_object_get(recording, "blocks"), which));
		line(o, sum, "stream", text_of(stream, "name"), NULL);
	}
}

/* Tells whether a link of a stream holds in all of its recordings. */
static bool
link_holds(const json_t *recordings, const char *link)
{
	const json_t *recording, *one;
	size_t i, k;

	json_array_foreach(recordings, i, recording) {
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
	const json_t *stream, *one;
	size_t i, k;

	json_array_foreach(o->figures->streams, i, stream) {
		const json_t *all = recordings_of(o, stream);
		const json_t *links =
		    json_object_get(json_array_get(all, 0), "links");

		json_array_foreach(links, k, one) {
			const char *link = text_of(one, "link");

			if (link)
				line(o, link_holds(all, link), "stream",
				     text_of(stream, "name"), "link", link,
				     NULL);
		}
	}
}

/* Returns the first recording of a stream that knows the clock of its data;
 * NULL: there is none. */
static const json_t *
clocked(const struct metrics_out *o, const json_t *stream)
{
	const json_t *recording;
	size_t i;

	json_array_foreach(recordings_of(o, stream), i, recording) {
		if (json_is_number(json_object_get(recording, "clock_s")))
			return recording;
	}
	return NULL;
}

/* Prints a number of the clock of each stream that is recorded, where it is
 * known; `other`: what stands for it where only the clock is known. */
static void
clock_print(struct metrics_out *o, const char *key, double other)
{
	const json_t *stream, *recording, *value;
	size_t i;

	json_array_foreach(o->figures->streams, i, stream) {
		recording = clocked(o, stream);
		if (!recording)
			continue;
		value = json_object_get(recording, key);
		line(o,
		     json_is_number(value) ? json_number_value(value) : other,
		     "stream", text_of(stream, "name"), NULL);
	}
}

/* Prints what is wrong with the clock of each stream that is recorded, or with
 * `ok` whether nothing is. */
static void
clock_faults_print(struct metrics_out *o, bool ok)
{
	const json_t *stream, *recording;
	size_t i;

	json_array_foreach(o->figures->streams, i, stream) {
		const char *fault;

		recording = clocked(o, stream);
		fault = text_of(recording, "clock_fault");
		if (ok && recording)
			line(o, !fault, "stream", text_of(stream, "name"),
			     NULL);
		if (!ok && fault)
			line(o, 1, "stream", text_of(stream, "name"), "fault",
			     fault, NULL);
	}
}

/* Prints how far the pulse per second of a sampler is from that of outside, of
 * the channel with which it is farthest. */
static void
pulses_print(struct metrics_out *o)
{
	const json_t *stream, *channel, *pps;
	size_t i, k;

	json_array_foreach(o->figures->streams, i, stream) {
		double far = NAN;

		json_array_foreach(json_object_get(stream, "channels"), k,
				   channel) {
			pps = json_object_get(channel, "pps_ns");
			if (json_is_number(pps) &&
			    !(fabs(json_number_value(pps)) <= fabs(far)))
				far = json_number_value(pps);
		}
		line(o, far / 1e9, "stream", text_of(stream, "name"), NULL);
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

/* Prints packets that the machine lost before a socket of spated had them. */
static void
kernel_print(struct metrics_out *o)
{
	const json_t *kernel = json_object_get(o->figures->status, "kernel");
	const json_t *device, *count, *part;
	const char *cause;
	size_t i;

	begin(o, "spate_interface_dropped_packets", COUNTER,
	      "Packets that a network card or its driver lost, as the kernel "
	      "counts by cause, since spated was started");
	json_array_foreach(json_object_get(kernel, "interfaces"), i, device) {
		json_object_foreach((json_t *)(uintptr_t)device, cause, count) {
			if (json_is_number(count))
				line(o, json_number_value(count), "interface",
				     text_of(device, "device"), "cause", cause,
				     NULL);
		}
	}
	part = json_object_get(kernel, "backlog");
	begin(o, "spate_backlog_dropped_packets", COUNTER,
	      "Packets lost because the queue of a CPU was full "
	      "(net.core.netdev_max_backlog)");
	line(o, json_number_value(json_object_get(part, "dropped")), NULL);
	begin(o, "spate_backlog_squeezes", COUNTER,
	      "How often a CPU left packets for later, which is no loss");
	line(o, json_number_value(json_object_get(part, "squeezed")), NULL);
	part = json_object_get(kernel, "udp");
	begin(o, "spate_udp_errors", COUNTER,
	      "Datagrams that UDP lost, of all programs, by cause");
	json_object_foreach((json_t *)(uintptr_t)part, cause, count)
		line(o, json_number_value(count), "cause", cause, NULL);
}

/* Adds one to the count of a text; NULL: does nothing. */
static void
count_up(json_t *counts, const char *text)
{
	json_int_t n;

	if (!text)
		return;
	n = json_integer_value(json_object_get(counts, text));
	json_object_set_new(counts, text, json_integer(n + 1));
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
				   finding)
			count_up(counts, json_string_value(finding));
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
	json_t *counts = json_object(), *n;
	const json_t *object;
	const char *text;
	size_t i;

	json_array_foreach(objects, i, object)
		count_up(counts, text_of(object, key));
	json_object_foreach(counts, text, n)
		line(o, json_number_value(n), key, text, NULL);
	json_decref(counts);
}

/* Prints when the next scan begins that is ahead; no line if none is. */
static void
next_print(struct metrics_out *o)
{
	const json_t *scan;
	double next = NAN;
	size_t i;

	json_array_foreach(o->figures->scans, i, scan) {
		const char *state = text_of(scan, "state");
		const char *start = text_of(scan, "start");
		int64_t ns;

		if (!state || !start ||
		    (strcmp(state, "waiting") && strcmp(state, "armed")) ||
		    units_time(start, 0, &ns))
			continue;
		if (!((double)ns / 1e9 >= next))
			next = (double)ns / 1e9;
	}
	line(o, next, NULL);
}

static void
others_print(struct metrics_out *o)
{
	const json_t *status = o->figures->status;
	const char *station = text_of(status, "station");

	begin(o, "spate_build", INFO,
	      "Version of spated, and its station if it has one");
	line(o, 1, "version", text_of(status, "version"),
	     station ? "station" : NULL, station, NULL);
	disk_states_print(o);
	kernel_print(o);
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
	clock_print(o, "clock_s", NAN);
	begin(
	    o, "spate_stream_clock_ok", GAUGE,
	    "1 if nothing is wrong with that clock: it is no farther from ours "
	    "than max_clock, no thread is apart, and it does not drift");
	clock_faults_print(o, true);
	begin(
	    o, "spate_stream_clock_fault", GAUGE,
	    "1 for what is wrong with that clock, and no line for what is not: "
	    "far, epoch, apart, drift");
	clock_faults_print(o, false);
	begin(o, "spate_stream_clock_drift_ratio", GAUGE,
	      "Seconds in a second by which the data fall behind");
	clock_print(o, "clock_drift", NAN);
	begin(o, "spate_stream_clock_apart_seconds", GAUGE,
	      "How far a thread is behind the others; 0: none is apart");
	clock_print(o, "clock_apart_s", 0);
	begin(o, "spate_stream_clock_spread_seconds", GAUGE,
	      "Standard deviation of that clock from second to second: less "
	      "cannot be told");
	clock_print(o, "clock_spread_s", NAN);
	begin(o, "spate_stream_pps_seconds", GAUGE,
	      "How much later a pulse per second from outside is than the "
	      "sampler's own, as headers say, of the channel that is farthest");
	pulses_print(o);
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
	begin(o, "spate_schedule_next_start_time_seconds", GAUGE,
	      "When the next scan begins that waits or is armed");
	next_print(o);
}

/* ---- the whole ------------------------------------------------------- */

char *
metrics_text(const struct figures *f, const struct metrics_web *web, bool open,
	     size_t *bytes)
{
	enum { FIRST = 64 << 10 };
	struct metrics_out o = { .figures = f, .open = open, .room = FIRST };

	o.text = malloc(o.room);
	o.recordings =
	    recordings_sort(json_object_get(f->status, "recordings"));
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
		put_text(&o, "# EOF\n");
	put(&o, "", 1); /* the end of the text */
	json_decref(o.recordings);
	*bytes = o.text ? o.bytes - 1 : 0;
	return o.text;
}
