/* SPDX-License-Identifier: MIT */
/*
 * Reports of recordings, streams and disks; verbs.h has the keys.  Totals of a
 * session come from three places:
 *
 *   datagrams, drops, reordered, unreadable   counters of the receivers
 *   packets, bytes, chunks, unwritten         counters of the writers, in the
 *                                             output
 *   runs, packets_lost                        numbers in the blocks, and losses
 *                                             that no block accounts for
 *
 * Once the session has ended, datagrams = packets + sum of drops.
 *
 * Four keys show where packets came from, to find the one silent port of
 * hundreds, or the one interface of two that loses packets:
 *
 *   kernel    losses before any socket; see kernel.h
 *   sources   one entry per socket; with several substreams one entry per
 *             interface, because every port is in `subs`
 *   subs      one entry per substream
 *   silent    substreams that bring nothing, by port
 *
 * A sender may pause between packets, so a substream is silent if it has
 * brought nothing at all, or nothing for QUIET.
 */
#include "daemon/sessions/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/shape.h"
#include "base/units.h"
#include "control/answer.h"
#include "daemon/sessions/recorder.h"
#include "store/disk/disk_keys.h"
#include "store/record/meta.h"
#include "store/recording/loss.h"
#include "store/recording/recording_info.h"
#include "flow/memory/arena.h"

static const char *
disk_state_name(const struct disk_set_disk *d, const struct writer_facts *f)
{
	static const char *const state[] = {
		[WRITER_IDLE] = "idle",	      [WRITER_WRITING] = "writing",
		[WRITER_FULL] = "full",	      [WRITER_FAILED] = "failed",
		[WRITER_MISSING] = "missing", [WRITER_HUNG] = "hung",
	};

	if (d->leaving)
		return "leaving";
	return f->benched && f->state < WRITER_FULL ? "slow" : state[f->state];
}

/* Returns ms; NAN, unknown, for 0. */
static double
ms(int64_t ns)
{
	return ns ? (double)ns / 1e6 : NAN;
}

json_t *
report_disk(const struct disk_set *set, unsigned i)
{
	const struct disk_set_disk *d = &set->disk[i];
	struct disk_report disk;
	struct writer_facts f;
	char device[32];

	writer_facts(d->writer, &f);
	snprintf(device, sizeof device, "%u:%u", major(f.device),
		 minor(f.device));
	disk = (struct disk_report){
		.path = d->disk.path,
		.state = disk_state_name(d, &f),
		.why = f.why[0] ? f.why : NULL,
		.total = f.space.total,
		.free = f.space.free,
		.written = d->before.written + f.written,
		.chunks = d->before.chunks + f.chunks,
		.writer = f.plugin,
		.errors = d->before.errors + f.errors,
		.device = f.device ? device : NULL,
		.full_s = disk_set_forecast(set, i),
		.rate = d->rate,
		.queued = f.queued,
		.latency_ms = ms(f.latency),
		.latency_p99_ms = ms(f.latency_p99),
		.speed = f.speed > 0 ? f.speed : NAN,
	};
	return keys_json(disk_keys, &disk, 1);
}

json_t *
report_disks(const struct disk_set *set)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < set->n; i++) {
		if (set->disk[i].writer)
			json_array_append_new(list, report_disk(set, i));
	}
	return list;
}

json_t *
report_space(const struct disk_set *set)
{
	struct disk_set_space s;
	struct answer_space space;

	disk_set_space(set, &s);
	space = (struct answer_space){ .disks = s.disks,
				       .total = s.total,
				       .free = s.free,
				       .written = s.written,
				       .rate = s.rate,
				       .full_s = s.forecast };
	return keys_json(space_keys, &space, ANSWER);
}

/* Returns how many packets of a run were lost, by the numbers in its blocks;
 * see store/recording/loss.h. */
static uint64_t
report_run_lost(const struct output_run *r)
{
	if (r->told)
		return r->missing;
	return loss_between(r->first, r->last, r->packets);
}

/* Return the UTC ns of a run's first and last packet: the data's own time if it
 * has one, else the time of arrival. */
static int64_t
report_run_first(const struct output_run *r)
{
	return r->data_first_ns ? r->data_first_ns : r->first_ns;
}

static int64_t
report_run_last(const struct output_run *r)
{
	return r->data_last_ns ? r->data_last_ns : r->last_ns;
}

/* ---- where packets came from ----------------------------------------- */

enum { BOUND = 64 /* interfaces of a stream, at most */ };

#define QUIET INT64_C(5000000000) /* ns */

/* Sums over all sources that feed one substream, and all of its runs. */
struct origin {
	char name[72]; /* address of the first source */
	uint64_t overruns;
	char sender[RECEIVE_SENDER];
	uint64_t lost;
	unsigned runs;
	int64_t first_ns, last_ns;
	int64_t arrived_ns; /* UTC ns of the last packet's arrival */
};

static json_t *
integer(uint64_t n)
{
	return json_integer((json_int_t)n);
}

/* ---- sources --------------------------------------------------------- */

static bool
same(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

/* Returns the entry of the list that counts this source, and adds one if there
 * is none. */
static json_t *
source_entry(json_t *list, const struct receive_counts *c, bool by_device)
{
	json_t *entry;
	size_t i;

	json_array_foreach(list, i, entry) {
		const char *device =
		    json_string_value(json_object_get(entry, "device"));

		if (by_device && same(device, c->device))
			return entry;
	}
	entry = json_pack("{s:s?, s:s?, s:i, s:i, s:s?}", "address",
			  by_device ? NULL : c->address, "device", c->device,
			  "datagrams", 0, "overruns", 0, "sender",
			  c->sender[0] ? c->sender : NULL);
	json_array_append_new(list, entry);
	return entry;
}

static void
entry_add(json_t *entry, const char *key, uint64_t n)
{
	json_int_t is = json_integer_value(json_object_get(entry, key));

	json_object_set_new(entry, key, integer((uint64_t)is + n));
}

static json_t *
sources_json(struct recording_input *from)
{
	bool by_device = from->in->stream->plan.subs > 1;
	unsigned n = stream_input_sources(from->in), sub;
	json_t *list = json_array();

	for (unsigned i = 0; i < n; i++) {
		struct receive_counts c;
		json_t *entry;

		recording_input_look(from, i, &c, &sub);
		entry = source_entry(list, &c, by_device);
		entry_add(entry, "datagrams", c.datagrams);
		entry_add(entry, "overruns", c.overruns);
	}
	return list;
}

/* Returns the kernel's losses on the interfaces that the sources are bound to;
 * without any, on all interfaces. */
static json_t *
kernel_json(struct session *s, const struct kernel *now)
{
	const char *bound[BOUND];
	unsigned n = stream_input_sources(s->in), devices = 0, sub;

	for (unsigned i = 0; i < n && devices < BOUND; i++) {
		struct receive_counts c;
		unsigned k = 0;

		recording_input_look(s->input, i, &c, &sub);
		while (k < devices && !same(bound[k], c.device))
			k++;
		if (c.device && k == devices)
			bound[devices++] = c.device;
	}
	return kernel_lost(&s->kernel, now, bound, devices);
}

/* Returns the kernel's losses, a new reference.  The machine's counters go on,
 * so a recording's are kept when it ends, and every later report is the same. */
static json_t *
kernel_report(struct session *s, const struct kernel *now)
{
	if (s->state < SESSION_CLOSING)
		return kernel_json(s, now);
	if (!s->kernel_lost)
		s->kernel_lost = kernel_json(s, NULL);
	return json_incref(s->kernel_lost);
}

/* ---- substreams ------------------------------------------------------ */

static struct origin *
origins_find(struct recording_input *from)
{
	struct origin *list = calloc(from->in->stream->plan.subs, sizeof *list);
	unsigned n = stream_input_sources(from->in), sub;

	for (unsigned i = 0; list && i < n; i++) {
		struct receive_counts c;
		struct origin *o;

		recording_input_look(from, i, &c, &sub);
		o = &list[sub];
		o->overruns += c.overruns;
		if (!o->name[0] && c.address)
			snprintf(o->name, sizeof o->name, "%s", c.address);
		if (!o->sender[0])
			memcpy(o->sender, c.sender, sizeof o->sender);
	}
	return list;
}

static void
runs_find(struct output *o, struct origin *list)
{
	pthread_mutex_lock(&o->lock);
	for (unsigned i = 0; i < o->runs; i++) {
		const struct output_run *r = &o->run[i];
		struct origin *to = &list[r->sub];

		to->lost += report_run_lost(r);
		if (!to->runs++)
			to->first_ns = report_run_first(r);
		to->last_ns = report_run_last(r);
		to->arrived_ns = r->last_ns;
	}
	pthread_mutex_unlock(&o->lock);
}

static json_t *
sub_json(struct session *s, unsigned i, const struct origin *o)
{
	struct output_sub *sub = &s->output->sub[i];
	struct info_sub info;
	struct counts c;

	if (s->sub)
		recording_input_sub_counts(s->input, i, &c);
	else
		recording_input_counts(s->input, s->part, &c);
	c.datagrams += sub->before;
	c.placed += sub->before;
	info = (struct info_sub){
		.sub = i,
		.address = o->name[0] ? o->name : NULL,
		.sender = o->sender[0] ? o->sender : NULL,
		.datagrams = c.datagrams,
		.packets = c.placed - atomic_load(&sub->lost_packets),
		.packets_lost = o->lost + c.outside,
		.bytes = atomic_load(&sub->bytes),
		.runs = o->runs,
		.overruns = o->overruns,
		.start = o->first_ns,
		.end = o->last_ns,
		.arrived_end = o->arrived_ns,
	};
	return keys_json(info_sub_keys, &info, INFO);
}

/* Returns the port of a substream's address, "41007" of "0.0.0.0:41007", or its
 * number. */
static json_t *
sub_name(const struct origin *o, unsigned i)
{
	const char *colon = strrchr(o->name, ':');
	char number[16];

	if (colon && colon[1])
		return json_string(colon + 1);
	snprintf(number, sizeof number, "%u", i);
	return json_string(number);
}

static bool
sub_silent(const struct session *s, unsigned i, int64_t now)
{
	const struct session_sub *sub = &s->sub[i];

	if (!sub->datagrams)
		return true;
	return s->state <= SESSION_RECORDING && now - sub->last > QUIET;
}

/* Lists the silent substreams; none if there is only one. */
static json_t *
silent_json(struct session *s, const struct origin *list, int64_t now)
{
	json_t *silent = json_array();

	if (!s->sub)
		return silent;
	for (unsigned i = 0; i < s->stream->plan.subs; i++) {
		if (sub_silent(s, i, now))
			json_array_append_new(silent, sub_name(&list[i], i));
	}
	return silent;
}

/* ---- senders ----------------------------------------------------------- */

/* Adds packets to those of an address; the entry is made if there is none. */
static void
sender_add(json_t *list, const char *address, int sub, int thread,
	   uint64_t packets, uint64_t lost)
{
	json_t *entry = NULL, *one;
	size_t i;

	json_array_foreach(list, i, one) {
		const char *is =
		    json_string_value(json_object_get(one, "address"));

		if (!strcmp(is ? is : "", address))
			entry = one;
	}
	if (!entry) {
		const struct info_sender new = { .address =
						     *address ? address : NULL,
						 .subs = json_array(),
						 .threads = json_array() };

		entry = keys_json(info_sender_keys, &new, INFO);
		json_array_append_new(list, entry);
	}
	one = json_object_get(entry, thread < 0 ? "subs" : "threads");
	json_array_append_new(one, json_integer(thread < 0 ? sub : thread));
	entry_add(entry, "packets", packets);
	entry_add(entry, "packets_lost", lost);
}

/* Packets and losses by the address of who sent them: by thread, where the number
 * of a packet says of which it is, else by substream. */
static json_t *
senders_json(const struct session *s, const json_t *subs)
{
	const struct output *o = s->output;
	json_t *list = json_array();
	const json_t *one;
	size_t i;

	for (unsigned k = 0; o->threads && k < o->subs * o->own.threads_n;
	     k++) {
		uint32_t sub = k / o->own.threads_n;
		uint32_t thread = o->own.threads[k % o->own.threads_n];

		sender_add(list, clock_watch_sender(&s->clock, sub, thread),
			   (int)sub, (int)thread, o->threads[k].packets,
			   o->threads[k].lost);
	}
	json_array_foreach(subs, i, one) {
		const char *address =
		    json_string_value(json_object_get(one, "sender"));

		if (!o->threads && json_array_size(subs) > 1)
			sender_add(list, address ? address : "", (int)i, -1,
				   (uint64_t)json_integer_value(
				       json_object_get(one, "packets")),
				   (uint64_t)json_integer_value(
				       json_object_get(one, "packets_lost")));
	}
	return list;
}

static void
clock_take(const struct session *s, struct info *info)
{
	const struct data_clock *clock = &s->clock.clock;
	const struct data_clock_apart *apart = data_clock_apart(clock);
	int64_t behind;
	double drift, error;

	info->clock_s =
	    data_clock_behind(clock, &behind) ? (double)behind / 1e9 : NAN;
	info->clock_drift =
	    data_clock_drift(clock, &drift, &error) ? drift : NAN;
	info->clock_steps = clock->steps;
	info->clock = s->clock.why[0] ? s->clock.why : NULL;
	info->clock_fault = clock_wrong_name(s->clock.wrong);
	info->clock_apart_s = apart ? (double)apart->ns / 1e9 : NAN;
	info->clock_spread_s = data_clock_spread(clock);
	if (clock->points)
		info->clock_stamps = !clock->stamped ? "read"
				     : clock->carded ? "card"
						     : "kernel";
}

/* Sets where packets came from and were lost. */
static void
report_from(struct session *s, struct info *info, const struct kernel *kernel)
{
	int64_t now = clock_steady();
	struct origin *list;

	info->sources = sources_json(s->input);
	info->kernel = kernel_report(s, kernel);
	list = origins_find(s->input);
	if (!list)
		return;
	runs_find(s->output, list);
	session_subs_sample(s, now);
	info->subs = json_array();
	for (unsigned i = 0; i < s->stream->plan.subs; i++)
		json_array_append_new(info->subs, sub_json(s, i, &list[i]));
	info->silent = silent_json(s, list, now);
	info->senders = senders_json(s, info->subs);
	free(list);
}

/* ---- recordings ------------------------------------------------------ */

json_t *
report_time(int64_t ns)
{
	char text[UNITS_TEXT];

	return ns ? json_string(units_show_time_ns(text, ns)) : json_null();
}

/* Returns how many lost packets of a substream no block accounts for; they
 * count with its newest run.  Call it without output::lock. */
static uint64_t
report_outside(struct session *s, unsigned sub)
{
	struct counts c;

	if (s->sub)
		recording_input_sub_counts(s->input, sub, &c);
	else
		recording_input_counts(s->input, s->part, &c);
	return c.outside;
}

static void
totals_take(struct session *s, struct session_totals *t)
{
	struct output *o = s->output;
	struct output_counts out;

	recording_input_counts(s->input, s->part, &t->c);
	output_counts(o, &out);
	t->c.drop[DROP_UNWRITTEN] += out.lost;
	t->packets = s->state >= SESSION_CLOSING
			 ? out.packets
			 : t->c.placed - out.lost + o->before;
	/* A resumed recording received at least the packets it has. */
	t->c.datagrams += o->before;
	t->bytes = atomic_load(&o->bytes);
	t->risk = out.risk;
	t->overruns = recording_input_overruns(s->input);
	for (int i = 0; i < OVERRUN_CAUSES; i++)
		t->causes[i] = s->overruns.account[i].overruns;
	t->clock_steps = s->clock.clock.steps;
	t->lost = t->c.outside;
	pthread_mutex_lock(&o->lock);
	for (unsigned i = 0; i < o->runs; i++)
		t->lost += report_run_lost(&o->run[i]);
	pthread_mutex_unlock(&o->lock);
}

static json_t *
drops_json(const struct counts *c)
{
	static const char *const key[] = {
#define X(name, word, help) word,
		DROPS(X)
#undef X
	};
	json_t *drops = json_object();

	for (int i = 0; i < DROP_KINDS; i++)
		json_object_set_new(drops, key[i], integer(c->drop[i]));
	return drops;
}

static json_t *
run_json(const struct output *o, const struct output_run *r, uint64_t lost)
{
	struct info_run run = { .run = r->run,
				.base = r->base,
				.first = r->first,
				.last = r->last,
				.packets = r->packets,
				.packets_lost = lost,
				.start = report_run_first(r),
				.end = report_run_last(r),
				.sub = r->sub };

	return keys_json(info_run_keys, &run,
			 INFO | (o->subs > 1 ? INFO_SUBS : 0));
}

static json_t *
runs_json(struct session *s)
{
	struct output *o = s->output;
	uint64_t *outside = calloc(o->subs, sizeof *outside);
	json_t *runs = json_array();

	for (unsigned i = 0; outside && i < o->subs; i++)
		outside[i] = report_outside(s, i);
	pthread_mutex_lock(&o->lock);
	for (unsigned i = 0; i < o->runs; i++) {
		const struct output_run *r = &o->run[i];
		uint64_t lost = report_run_lost(r);

		if (outside && o->sub[r->sub].run == r)
			lost += outside[r->sub];
		json_array_append_new(runs, run_json(o, r, lost));
	}
	pthread_mutex_unlock(&o->lock);
	free(outside);
	return runs;
}

static json_t *
disks_json(struct session *s)
{
	const struct disk_set *set = s->host->disks;
	json_t *disks = json_array();

	for (unsigned i = 0; i < set->n; i++) {
		struct output_disk *d = &s->output->disk[i];
		struct info_disk disk = { .path = disk_set_path(set, i),
					  .chunks = atomic_load(&d->chunks),
					  .bytes = atomic_load(&d->bytes) };

		if (disk_set_writer(set, i) || disk.chunks)
			json_array_append_new(
			    disks, keys_json(info_disk_keys, &disk, INFO));
	}
	return disks;
}

static const char *
state_name(const struct session *s)
{
	if (s->cancelled)
		return "cancelled";
	if (s->state == SESSION_ENDED)
		return s->failed ? "failed" : "complete";
	if (s->state == SESSION_ARMED)
		return "armed";
	return s->state <= SESSION_RECORDING ? "recording" : "stopping";
}

static const char *
store_name(const struct format_shape *shape)
{
	return shape->store == HEAP_NONE ? NULL
					 : shape_store_show(shape->store);
}

/* Returns the number of lost chunks: records without a chunk.  The null writer
 * stores none, and then there are no gaps. */
static uint64_t
gaps(struct output *o)
{
	uint64_t records = atomic_load(&o->records);
	uint64_t chunks = atomic_load(&o->chunks);

	return records > chunks ? records - chunks : 0;
}

/* Returns the chunks that have parity.  Of groups that are complete some members
 * may be lost with their disk, which are no chunks. */
static uint64_t
with_parity(const struct session *s)
{
	const struct output *o = s->output;
	uint64_t chunks = atomic_load(&o->chunks), members;

	if (!o->groups)
		return 0;
	members = atomic_load(&o->parity_members) / s->stream->o.parity;
	return members < chunks ? members : chunks;
}

/* Returns all interruptions after which the recording went on. */
static json_t *
resumed_json(const struct output *o)
{
	json_t *list = json_array();

	if (o->resumes)
		json_array_extend(list, o->resumes);
	return list;
}

/* Sets what may have hundreds of entries. */
static void
lists_take(struct session *s, struct info *info, const struct kernel *kernel)
{
	info->runs = runs_json(s);
	info->disks = disks_json(s);
	info->resumed = resumed_json(s->output);
	report_from(s, info, kernel);
}

/* Sets everything but these lists and the keys of INFO_LIVE. */
static void
info_take(struct session *s, struct info *info)
{
	struct output *o = s->output;
	struct session_totals t;

	totals_take(s, &t);
	*info = (struct info){
		.id = s->id,
		.name = s->name,
		.state = state_name(s),
		.stream = s->stream->name,
		.format = s->stream->o.format,
		.start = s->start_ns,
		.end = s->end_ns,
		.bytes = t.bytes,
		.payload = s->shape->payload,
		.datagrams = t.c.datagrams,
		.packets = t.packets,
		.packets_lost = t.lost,
		.packets_reordered = t.c.reordered,
		.packets_late = t.c.drop[DROP_LATE],
		.packets_duplicate = t.c.drop[DROP_DUPLICATE],
		.packets_unreadable = t.c.unreadable,
		.packets_moved = t.c.moved,
		.packets_at_risk = t.risk,
		.overruns = t.overruns,
		.heaps = t.c.heaps,
		.heaps_incomplete = t.c.heaps_incomplete,
		.drops = drops_json(&t.c),
		.chunks = atomic_load(&o->chunks),
		.gaps = gaps(o),
		.fill = s->stream->o.fill,
		.layout = s->stream->o.layout,
		.absent = atomic_load(&o->absent),
		.parity = s->stream->o.parity,
		.with_parity = with_parity(s),
		.store = store_name(s->shape),
	};
	pthread_mutex_lock(&o->lock);
	info->descriptors = o->described_n;
	info->controls = o->controls;
	pthread_mutex_unlock(&o->lock);
	if (s->failed)
		info->why = s->reason;
	else if (s->diskless && s->state != SESSION_ENDED)
		info->why = "no disk takes blocks: they wait in memory";
	clock_take(s, info);
	info->overrun_causes = overrun_watch_json(&s->overruns);
	info->no_buffer_causes = no_buffer_watch_json(&s->no_buffer);
}

static json_t *
links_json(const struct session *s, int64_t now)
{
	json_t *links = json_array();

	for (unsigned i = 0; i < HEALTH_LINKS; i++) {
		const struct health_part *p = &s->health.link[i];
		struct info_link link = {
			.link = health_name(i),
			.well = !p->broken,
			.since = p->since ? clock_now() + p->since - now : 0,
			.why = p->broken || health_doubts(&s->health, i, now)
				   ? health_why(i)
				   : NULL,
			.doubtful = health_doubts(&s->health, i, now),
		};

		json_array_append_new(links,
				      keys_json(info_link_keys, &link, INFO));
	}
	return links;
}

static void
live_take(struct session *s, struct info *info, struct signal_view *signal)
{
	int64_t now = clock_steady();
	double left = (double)(s->stop_at - now) / 1e9;
	double since = (double)(now - s->started) / 1e9;

	info->elapsed_s = since > 0 ? since : 0;
	info->scan = s->scan ? s->scan : KEY_UNKNOWN;
	info->left_s = s->stop_at ? (left > 0 ? left : 0) : NAN;
	info->stop_at = s->stop_at ? clock_now() + s->stop_at - now : 0;
	info->rate = s->rate;
	info->by = s->by[0] ? s->by : NULL;
	info->learning = stream_input_learning(s->in);
	info->quality_frames = info->quality_missed = KEY_UNKNOWN;
	if (s->input->watch) {
		signal_watch_look(s->input->watch, s->part, signal);
		info->quality = signal->text[0] ? signal->text : NULL;
		info->quality_frames = signal->frames;
		info->quality_missed = signal->missed;
	}
	info->blocks = json_pack("{s:i, s:i}", "total",
				 (int)block_pool_blocks(s->input->pool), "free",
				 (int)block_pool_free_blocks(s->input->pool));
	info->durable = atomic_load(&s->output->durable_bytes);
	info->well = health_is_well(&s->health);
	info->links = links_json(s, now);
}

static json_t *
info_json(struct session *s, bool brief, const struct kernel *kernel)
{
	unsigned groups = INFO | INFO_DAEMON;
	char strip[LOSS_STRIP_MOST + 1];
	struct signal_view signal;
	struct info info;

	info_take(s, &info);
	if (!brief)
		lists_take(s, &info, kernel);
	info.loss_strip = loss_strip_show(&s->strip, strip);
	if (s->shape->store != HEAP_NONE)
		groups |= INFO_HEAPS;
	if (s->state != SESSION_ENDED) {
		groups |= INFO_LIVE;
		live_take(s, &info, &signal);
	}
	return keys_json(info_keys, &info, brief ? INFO_BRIEF : groups);
}

json_t *
report_info(struct session *s, const struct kernel *kernel)
{
	return info_json(s, false, kernel);
}

json_t *
report_brief(struct session *s)
{
	return info_json(s, true, NULL);
}

json_t *
report_tail(struct session *s)
{
	unsigned groups = INFO_END;
	struct info info;
	json_t *end;

	info_take(s, &info);
	lists_take(s, &info, NULL);
	if (s->shape->store == HEAP_ROW)
		groups |= INFO_ROWS;
	end = keys_json(info_keys, &info, groups);
	json_object_set_new(end, "reason", json_string(s->reason));
	json_object_set_new(end, "failed", json_boolean(s->failed));
	if (s->output->fps)
		meta_learned(end, s->output->fps, s->output->shape);
	return json_pack("{s:o}", "end", end);
}

void
report_entry(struct session *s, struct entry *e)
{
	struct session_totals t;

	totals_take(s, &t);
	*e = (struct entry){ .state = ENTRY_LIVE,
			     .counted = true,
			     .start_ns = s->start_ns,
			     .end_ns = s->end_ns ? s->end_ns : clock_now(),
			     .bytes = t.bytes,
			     .packets = t.packets,
			     .missing = t.lost,
			     .absent = s->output->absent,
			     .subs = s->stream->plan.subs };
	snprintf(e->name, sizeof e->name, "%s", s->name);
	snprintf(e->stream, sizeof e->stream, "%s", s->stream->name);
	snprintf(e->format, sizeof e->format, "%s", s->stream->o.format);
	snprintf(e->layout, sizeof e->layout, "%s", s->stream->o.layout);
}

/* ---- totals of streams ----------------------------------------------- */

struct stream_totals {
	char *name;
	struct session_totals ended; /* sum over recordings that are freed */
	struct session_totals told;  /* highest sums that were reported */
};

/* Calls act(to, from) for each number of two totals. */
static void
totals_each(struct session_totals *to, const struct session_totals *from,
	    void (*act)(uint64_t *to, uint64_t from))
{
	act(&to->recordings, from->recordings);
	act(&to->c.datagrams, from->c.datagrams);
	act(&to->c.reordered, from->c.reordered);
	act(&to->c.unreadable, from->c.unreadable);
	for (int i = 0; i < DROP_KINDS; i++)
		act(&to->c.drop[i], from->c.drop[i]);
	act(&to->packets, from->packets);
	act(&to->lost, from->lost);
	act(&to->risk, from->risk);
	act(&to->bytes, from->bytes);
	act(&to->overruns, from->overruns);
	for (int i = 0; i < OVERRUN_CAUSES; i++)
		act(&to->causes[i], from->causes[i]);
	act(&to->clock_steps, from->clock_steps);
}

static void
sum(uint64_t *to, uint64_t from)
{
	*to += from;
}

static void
rest(uint64_t *to, uint64_t from)
{
	*to -= from < *to ? from : *to;
}

static void
most(uint64_t *to, uint64_t from)
{
	if (*to < from)
		*to = from;
}

/* Takes the totals of a recording since it began.  A disk that joins a resumed
 * one late brings packets of before. */
static void
totals_own(struct session *s, struct session_totals *t)
{
	s->before.packets = s->before.c.datagrams =
	    atomic_load(&s->output->before);
	totals_take(s, t);
	totals_each(t, &s->before, rest);
}

void
report_sample(struct session *s, int64_t now)
{
	int64_t since = now - s->started;
	struct session_totals t;

	if (s->state == SESSION_ARMED || s->cancelled)
		return;
	/* Blocks that are written behind the end belong to the last column. */
	if (s->end_ns && s->end_ns - s->start_ns < since)
		since = s->end_ns - s->start_ns;
	totals_own(s, &t);
	loss_strip_add(&s->strip, since, t.packets, t.lost);
}

/* Adds a recording's totals since it began.  The parts of a split stream share
 * their sockets and their clock, whose overruns and steps count once. */
static void
totals_add(struct session_totals *to, struct session *s)
{
	struct session_totals t = { 0 };

	if (s->state == SESSION_ARMED || s->cancelled)
		return;
	totals_own(s, &t);
	t.recordings = 1;
	if (s->part) {
		t.overruns = t.clock_steps = 0;
		memset(t.causes, 0, sizeof t.causes);
	}
	totals_each(to, &t, sum);
}

/* Returns the totals of a stream, empty at first; NULL without memory.  They
 * stay in their place until the next stream gets some. */
static struct stream_totals *
totals_of(struct recorder *r, const char *name)
{
	unsigned at = 0, to = r->streams;
	struct stream_totals *t;
	char *own;

	while (at < to) {
		unsigned middle = at + (to - at) / 2;
		int order = strcmp(r->totals[middle].name, name);

		if (!order)
			return &r->totals[middle];
		if (order < 0)
			at = middle + 1;
		else
			to = middle;
	}
	t = realloc(r->totals, (r->streams + 1) * sizeof *t);
	if (t)
		r->totals = t;
	own = t ? strdup(name) : NULL;
	if (!own)
		return NULL;
	t += at;
	memmove(t + 1, t, (r->streams++ - at) * sizeof *t);
	*t = (struct stream_totals){ .name = own };
	return t;
}

void
report_began(struct session *s)
{
	totals_take(s, &s->before);
}

void
report_ended(struct recorder *r, struct session *s)
{
	struct stream_totals *t = totals_of(r, s->stream->name);
	uint64_t unknown;

	if (!t)
		return;
	totals_add(&t->ended, s);
	/* Overruns of its last second get no cause any more. */
	unknown = t->ended.overruns;
	for (int i = 0; i < OVERRUN_CAUSES; i++)
		rest(&unknown, t->ended.causes[i]);
	t->ended.causes[OVERRUN_UNKNOWN] += unknown;
}

void
report_totals_free(struct recorder *r)
{
	for (unsigned i = 0; i < r->streams; i++)
		free(r->totals[i].name);
	free(r->totals);
	r->totals = NULL;
	r->streams = 0;
}

static json_t *
causes_json(const struct session_totals *t)
{
	json_t *causes = json_object();

	for (int i = 0; i < OVERRUN_CAUSES; i++)
		json_object_set_new(causes, overrun_cause_name(i),
				    integer(t->causes[i]));
	return causes;
}

/* Sessions that run, sorted by their streams. */
struct stream_session {
	struct session *s;
	unsigned place; /* in recorder::sessions */
};

struct stream_sessions {
	struct stream_session *of;
	unsigned n;
};

static int
by_stream(const void *a, const void *b)
{
	const struct stream_session *one = a, *other = b;
	int order = strcmp(one->s->stream->name, other->s->stream->name);

	return order ? order : (int)one->place - (int)other->place;
}

/* Sorts the sessions by their streams; 0 or -ENOMEM. */
static int
sessions_sort(struct recorder *r, struct stream_sessions *all)
{
	unsigned n = 0;

	for (struct session *s = r->sessions; s; s = s->next)
		n++;
	*all = (struct stream_sessions){ malloc(n * sizeof *all->of + 1), 0 };
	if (!all->of)
		return -ENOMEM;
	for (struct session *s = r->sessions; s; s = s->next, all->n++)
		all->of[all->n] = (struct stream_session){ s, all->n };
	qsort(all->of, n, sizeof *all->of, by_stream);
	return 0;
}

/* Returns the sessions of a stream, in the order of the recorder's list. */
static struct stream_sessions
sessions_of(const struct stream_sessions *all, const char *stream)
{
	unsigned from = 0, to = all->n;

	while (from < to) {
		unsigned middle = from + (to - from) / 2;

		if (strcmp(all->of[middle].s->stream->name, stream) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	while (to < all->n && !strcmp(all->of[to].s->stream->name, stream))
		to++;
	return (struct stream_sessions){ all->of + from, to - from };
}

/*
 * Sets the keys that count.  A recording's own numbers may fall: packets are no
 * longer lost when the block that has them is written late, and no longer stored
 * when a disk loses their block.  These are for monitoring, where a number that
 * falls means a restart, so each stays at the highest that was reported.
 */
static void
stream_totals_set(struct stream_totals *t,
		  const struct stream_sessions *sessions,
		  struct answer_stream *stream)
{
	struct stream_totals none = { 0 };
	struct session_totals now;

	if (!t)
		t = &none;
	now = t->ended;
	for (unsigned i = 0; i < sessions->n; i++)
		totals_add(&now, sessions->of[i].s);
	totals_each(&t->told, &now, most);
	now = t->told;
	stream->recordings = now.recordings;
	stream->datagrams = now.c.datagrams;
	stream->packets = now.packets;
	stream->packets_lost = now.lost;
	stream->packets_reordered = now.c.reordered;
	stream->packets_unreadable = now.c.unreadable;
	stream->packets_at_risk = now.risk;
	stream->overruns = now.overruns;
	stream->bytes = now.bytes;
	stream->drops = drops_json(&now.c);
	stream->overrun_causes = causes_json(&now);
	stream->clock_steps = now.clock_steps;
}

/* Sets what the samples of the stream's recordings say; of a split stream the
 * channels of all parts, and the first part that something is wrong with. */
static void
stream_signal_set(const struct stream_sessions *sessions,
		  struct answer_stream *stream, struct signal_view *view)
{
	struct signal_view one;
	json_t *lines;

	*view = (struct signal_view){ .frames = 0 };
	stream->channels = json_array();
	for (unsigned i = 0; i < sessions->n; i++) {
		const struct session *of = sessions->of[i].s;

		if (!of->input->watch)
			continue;
		signal_watch_look(of->input->watch, of->part, &one);
		lines = signal_watch_lines(of->input->watch, of->part);
		json_array_extend(stream->channels, lines);
		json_decref(lines);
		if (!view->text[0] || !strcmp(view->text, "ok"))
			*view = one;
	}
	stream->quality = view->text[0] ? view->text : NULL;
}

static json_t *
stream_json(const struct stream *s, struct stream_totals *totals,
	    const struct stream_sessions *sessions)
{
	struct signal_view signal;
	char sequence[SHAPE_SEQUENCE_TEXT];
	struct answer_stream stream = {
		.name = s->name,
		.format = s->o.format,
		.receive = s->o.receive,
		.listen = json_array(),
		.prefix = s->shape.prefix,
		.payload = s->shape.payload,
		.sequence = shape_sequence_show(&s->shape, sequence),
		.rate = s->o.rate,
		.block_bytes = s->geometry.block_bytes,
		.block_packets = s->geometry.slots,
		.blocks = s->blocks,
		.memory = stream_memory(s),
		.layout = s->o.layout,
		.fill = s->o.fill,
		.subs = s->plan.subs,
		.parts = s->keys,
		.recording = recording_input_recording(s),
		.armed = recording_input_armed(s),
		.store = store_name(&s->shape),
	};

	for (unsigned i = 0; i < s->listen.n; i++)
		json_array_append_new(stream.listen,
				      json_string(s->listen.text[i]));
	stream_totals_set(totals, sessions, &stream);
	stream_signal_set(sessions, &stream, &signal);
	return keys_json(stream_keys, &stream, ANSWER);
}

json_t *
report_streams(struct recorder *r, struct stream *const *stream, unsigned n)
{
	struct stream_sessions all, its;
	json_t *list;

	if (sessions_sort(r, &all))
		return NULL;
	list = json_array();
	for (unsigned i = 0; i < n; i++) {
		its = sessions_of(&all, stream[i]->name);
		json_array_append_new(
		    list, stream_json(stream[i], totals_of(r, stream[i]->name),
				      &its));
	}
	free(all.of);
	return list;
}

json_t *
report_memory(struct arena *arena)
{
	struct arena_facts f = arena_facts(arena);
	const struct answer_memory memory = { .bytes = f.bytes,
					      .borrowed = f.borrowed,
					      .lent = f.lent,
					      .ready = f.ready,
					      .pages = f.pages,
					      .locked = f.locked,
					      .shared = f.shared };

	return keys_json(memory_keys, &memory, ANSWER);
}

void
report_summary(struct session *s)
{
	char bytes[UNITS_TEXT];
	char early[64] = "";
	struct session_totals t;
	uint64_t dropped = 0, missed;
	enum log_level level = LEVEL_INFO;
	json_t *drops;

	totals_take(s, &t);
	drops = drops_json(&t.c);
	for (int i = 0; i < DROP_KINDS; i++)
		dropped += i == DROP_BEFORE_START ? 0 : t.c.drop[i];
	if (t.c.drop[DROP_BEFORE_START])
		snprintf(early, sizeof early,
			 "; %" PRIu64 " packets came before the start",
			 t.c.drop[DROP_BEFORE_START]);
	missed = loss_missed(drops, t.lost);
	json_decref(drops);
	if ((double)missed >
	    s->stream->o.max_loss * (double)(t.packets + missed))
		level = LEVEL_WARN;
	log_line(s->failed ? LEVEL_ERROR : level, s->name,
		 "%s (%s): %" PRIu64 " packets, %s; %" PRIu64 " lost, %" PRIu64
		 " dropped, %" PRIu64 " overruns%s",
		 s->failed ? "failed" : "recorded", s->reason, t.packets,
		 units_show_bytes(bytes, t.bytes), t.lost, dropped, t.overruns,
		 early);
}
