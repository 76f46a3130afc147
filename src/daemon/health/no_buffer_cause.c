/* SPDX-License-Identifier: MIT */
/*
 * Memory fills for seconds before a packet is dropped, and a disk that stalled
 * may answer again before the queue is empty.  So a stall counts for as long as
 * it lasted, PAST at most, after its end.
 *
 * A disk counts as stalled after STALL: a large write to a slow disk takes less,
 * and long before the daemon calls it hung (five seconds) memory can be full.
 *
 * A program that writes to the kernel's cache has to wait when what is dirty
 * there is more than half way from the background limit to the limit (Linux:
 * dirty_freerun_ceiling).  A disk is busy with that also where spate itself
 * goes round the cache.
 */
#include "daemon/health/no_buffer_cause.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "store/recording/recording_info.h"

#define STALL NS_SECOND
#define PAST  (10 * NS_SECOND)

/* ---- what there is to know ------------------------------------------------ */

/* True if the kernel holds up those who write to its cache. */
static bool
writes_back(void)
{
	FILE *f = fopen("/proc/vmstat", "re");
	uint64_t dirty = 0, limits = 0, n;
	char name[64];

	while (f && fscanf(f, "%63s %" SCNu64, name, &n) == 2) {
		if (!strcmp(name, "nr_dirty") || !strcmp(name, "nr_writeback"))
			dirty += n;
		else if (!strcmp(name, "nr_dirty_threshold") ||
			 !strcmp(name, "nr_dirty_background_threshold"))
			limits += n;
	}
	if (f)
		fclose(f);
	return limits && dirty > limits / 2;
}

static void
writer_look(struct no_buffer_facts *facts, const char *path, struct writer *w,
	    double *speed)
{
	struct writer_facts f;

	writer_facts(w, &f);
	if (f.silent_ns > facts->stall_ns) {
		facts->stalled = path;
		facts->stall_ns = f.silent_ns;
	}
	if (f.state == WRITER_HUNG)
		return;
	if (f.state > WRITER_WRITING) {
		facts->gone = path;
		return;
	}
	facts->takers = true;
	if (f.benched)
		facts->slow = path;
	if (!facts->slowest || f.speed < *speed) {
		facts->slowest = path;
		*speed = f.speed;
	}
}

static struct no_buffer_facts
facts_look(const struct disk_set *disks, const struct block_pool *pool)
{
	struct no_buffer_facts f = { .filled = block_pool_filled(pool) };
	double speed = 0;

	for (unsigned i = 0; i < disks->n; i++) {
		struct writer *w = disk_set_writer(disks, i);

		if (w)
			writer_look(&f, disk_set_path(disks, i), w, &speed);
	}
	return f;
}

/* ---- causes --------------------------------------------------------------- */

static const char *
no_buffer_cause_name(enum no_buffer_cause cause)
{
	static const char *const name[] = { "stalled",	 "gone", "memory",
					    "writeback", "slow", "behind" };

	return name[cause];
}

enum no_buffer_cause
no_buffer_cause_of(const struct no_buffer_facts *f, const char **disk)
{
	*disk = f->stalled;
	if (f->stalled && f->stall_ns >= STALL)
		return NO_BUFFER_STALLED;
	*disk = f->gone;
	if (!f->takers)
		return NO_BUFFER_GONE;
	*disk = NULL;
	if (!f->filled)
		return NO_BUFFER_MEMORY;
	*disk = f->slow ? f->slow : f->slowest;
	if (f->writes_back)
		return NO_BUFFER_WRITEBACK;
	return f->slow ? NO_BUFFER_SLOW : NO_BUFFER_BEHIND;
}

const char *
no_buffer_why(const struct no_buffer_account *a, char *text, size_t bytes)
{
	const char *disk = a->disk ? a->disk : "a disk";

	switch (a->cause) {
	case NO_BUFFER_STALLED:
		snprintf(text, bytes, "%s has not answered for %.1f s", disk,
			 (double)a->stall_ns / 1e9);
		break;
	case NO_BUFFER_GONE:
		snprintf(text, bytes, "no disk takes blocks");
		break;
	case NO_BUFFER_MEMORY:
		snprintf(text, bytes, "another recording has its memory yet");
		break;
	case NO_BUFFER_WRITEBACK:
		snprintf(text, bytes,
			 "the kernel has to write what is in its cache, and "
			 "%s is slow",
			 disk);
		break;
	case NO_BUFFER_SLOW: snprintf(text, bytes, "%s is slow", disk); break;
	default: snprintf(text, bytes, "disks take less than comes");
	}
	return text;
}

/* ---- accounts ------------------------------------------------------------- */

static struct no_buffer_account *
account_of(struct no_buffer_watch *w, enum no_buffer_cause cause,
	   const char *disk)
{
	struct no_buffer_account *a = w->account;

	for (; a < w->account + w->accounts; a++) {
		if (a->cause == cause && a->disk == disk)
			return a;
	}
	if (w->accounts == NO_BUFFER_ACCOUNTS)
		return a - 1;
	w->accounts++;
	*a = (struct no_buffer_account){ .cause = cause, .disk = disk };
	return a;
}

/* Notes a disk that stalls; puts one that did so a moment ago into the facts. */
static void
stall_note(struct no_buffer_watch *w, struct no_buffer_facts *f, int64_t now)
{
	int64_t past = w->stall_ns < PAST ? w->stall_ns : PAST;

	if (f->stalled && f->stall_ns >= STALL) {
		w->stalled = f->stalled;
		w->stall_ns = f->stall_ns;
		w->stalled_at = now;
	} else if (w->stalled && now - w->stalled_at <= past) {
		f->stalled = w->stalled;
		f->stall_ns = w->stall_ns;
	}
}

const struct no_buffer_account *
no_buffer_watch_add(struct no_buffer_watch *w, uint64_t packets,
		    const struct no_buffer_facts *facts, int64_t now)
{
	uint64_t more = packets - w->packets;
	struct no_buffer_facts f = *facts;
	struct no_buffer_account *a;
	enum no_buffer_cause cause;
	const char *disk;

	stall_note(w, &f, now);
	w->packets = packets;
	if (!more)
		return NULL;
	cause = no_buffer_cause_of(&f, &disk);
	a = account_of(w, cause, disk);
	a->packets += more;
	a->last = clock_now();
	if (cause == NO_BUFFER_STALLED && f.stall_ns > a->stall_ns)
		a->stall_ns = f.stall_ns;
	return a;
}

const struct no_buffer_account *
no_buffer_watch_look(struct no_buffer_watch *w, uint64_t packets,
		     const struct disk_set *disks,
		     const struct block_pool *pool, int64_t now)
{
	struct no_buffer_facts f = facts_look(disks, pool);
	bool filled = f.filled;

	/* Memory that was lacking at the last look may have come just after the
	 * packets were dropped: they are still due to its lack. */
	f.filled = filled && !w->lacked;
	w->lacked = !filled;
	f.writes_back = packets != w->packets && writes_back();
	return no_buffer_watch_add(w, packets, &f, now);
}

json_t *
no_buffer_watch_json(const struct no_buffer_watch *w)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < w->accounts; i++) {
		const struct no_buffer_account *a = &w->account[i];
		struct info_no_buffer row = {
			.cause = no_buffer_cause_name(a->cause),
			.packets = a->packets,
			.disk = a->disk,
			.stall_ms =
			    a->stall_ns ? (double)a->stall_ns / 1e6 : NAN,
			.last = a->last,
		};

		json_array_append_new(
		    list, keys_json(info_no_buffer_keys, &row, INFO));
	}
	return list;
}
