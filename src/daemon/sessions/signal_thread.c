/* SPDX-License-Identifier: MIT */
/*
 * A watch has what it saw in two pieces, of PIECE each: one is being filled, the
 * other one is that before it.  Both together are judged once a second, so that
 * a defect is seen within seconds, and seen to go away.  A stream of which only
 * a few frames can be looked at has longer pieces, since a frame of a thread
 * says nothing about the next one.
 *
 * Frames are chosen by number, so that all threads and substreams are seen at
 * the same times.  With the time that a frame takes, as measured, and the frames
 * per second of the stream the number follows from what the thread may need.
 *
 * What each piece had is added up for INTERVAL, and becomes the lines of the
 * quality file.  The event loop fetches these.
 *
 * A watch belongs to the signal thread from signal_watch_begin() on until it has
 * set `done`; only what is under its lock is shared.  The event loop frees it
 * then, because the stream that it holds is the event loop's.
 */
#include "daemon/sessions/signal_thread.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"
#include "base/worker.h"
#include "daemon/sessions/session.h"
#include "signal/finding.h"
#include "signal/quality.h"

enum {
	PLACES = 64,	   /* of a ring, at least */
	PLACES_MOST = 512, /* for streams of many substreams */
	SHARE =
	    1000, /* frames, and looks at them, need a part in so many of the time */
	SPECTRUM = 8192, /* samples of a frame */
	ENOUGH = 4,	 /* frames of a thread that say something */
	EVERY_FIRST = 1009,
	EVERY_MOST = 1 << 24,
	SECONDS_MOST = 60,
	GONE = 3, /* looks without a finding until it is called gone */
	LINES_MOST = 4 << 20, /* bytes of lines that wait */
	KEPT_MOST = 4 << 20,  /* bytes of signal.json */
	DIGITS = 6,	      /* of numbers in lines */
	TURN = 64, /* frames of a watch before it is the next one's turn */
};

#define ROUND	   (NS_SECOND / 10)
#define LOOK	   NS_SECOND
#define LOOK_MOST  (5 * NS_SECOND)
#define PIECE	   (5 * NS_SECOND / 2)
#define PIECE_MOST (10 * NS_SECOND)
#define DRIFT_DB   1.0 /* of 2 bits less than the signal's own */
#define DRIFT_NS   0.2
#define DRIFT_SURE 5		   /* standard deviations */
#define COST_FIRST INT64_C(150000) /* ns of a frame, until it is measured */
#define INTERVAL   (10 * NS_SECOND)
#define END	   (2 * NS_SECOND)

/* Faults of the signal of a stream, or of a part of a split stream. */
struct signal_part {
	unsigned channels;		/* that were seen */
	unsigned found[FINDING_COUNT];	/* channels with each finding */
	unsigned logged[FINDING_COUNT]; /* 0, or looks until it is gone */
};

struct signal_watch {
	struct signal_thread *thread;
	struct signal_watch *next; /* under signal_thread::lock */
	atomic_bool ends;	   /* set by the event loop, and... */
	atomic_bool done;	   /* ...by the signal thread (release) */

	/* Constant. */
	struct stream *stream; /* a reference of the event loop's */
	char name[160];
	struct frame_ring **ring;
	unsigned rings, parts;

	/* The signal thread's. */
	struct format_shape shape;
	struct quality *piece[2]; /* the one that is filled, and the last */
	struct quality *sum, *interval;
	int64_t interval_at;
	bool refused; /* its samples cannot be judged */
	int64_t piece_at, look_at;
	int64_t cost; /* ns of a frame */
	uint64_t judged, chosen_at;
	unsigned threads; /* threads and substreams that were seen */

	/* Under the lock, for the event loop. */
	pthread_mutex_t lock;
	struct signal_part *part;
	json_t *lines;
	uint64_t frames;
	char **text; /* of each part: lines that wait; NULL: none */

	/* The event loop's. */
	bool *silent; /* of each part: its lines could not be written */
	bool over;    /* `done` was seen, and no more lines come */
};

/* Channels of a stream as its last recording left them; the signal thread's. */
struct signal_last {
	char *stream;
	json_t *lines; /* QUALITY_KEYS, only of channels that were good */
	struct signal_last *next;
};

struct signal_thread {
	struct signal_hooks hooks;
	struct signal_last *last;
	char *state, *kept; /* folder and file of `last`, or NULL */
	struct worker *worker;
	pthread_mutex_t lock; /* over the list */
	struct signal_watch *watches;
	atomic_uint running; /* watches with frames; set by the thread */
};

/* ---- the quality of a watch -------------------------------------------- */

static void
qualities_close(struct signal_watch *w)
{
	quality_close(w->piece[0]);
	quality_close(w->piece[1]);
	quality_close(w->sum);
	quality_close(w->interval);
	w->piece[0] = w->piece[1] = w->sum = w->interval = NULL;
}

static int
qualities_open(struct signal_watch *w)
{
	const struct stream_options *o = &w->stream->o;
	struct quality_args args = {
		.format = w->stream->format,
		.shape = &w->shape,
		.bits = o->sample_bits,
		.channels = o->sample_channels,
		.sample_rate = o->sample_rate,
		.tones = w->shape.fps || o->sample_rate ? o->tones : 0,
		.tone_offset = o->tone_offset,
		.spectrum = SPECTRUM,
	};
	struct quality **to[] = { &w->piece[0], &w->piece[1], &w->sum,
				  &w->interval };
	char why[320];
	int err = 0;

	for (unsigned i = 0; i < 4 && !err; i++)
		err = quality_open(to[i], &args, why, sizeof why);
	return err;
}

static void
refuse(struct signal_watch *w, const char *why)
{
	w->refused = true;
	log_line(LEVEL_INFO, w->name, "its signal is not looked at: %s", why);
}

/* Begins anew with the frames per second, without which samples have no time. */
static void
fps_set(struct signal_watch *w, uint32_t fps)
{
	w->shape.fps = fps;
	qualities_close(w);
	if (qualities_open(w))
		refuse(w, "out of memory");
}

/* Tells whether the layout of the samples is known, from the header or the
 * configuration. */
static bool
is_laid_out(struct signal_watch *w, const void *frame)
{
	const struct stream *s = w->stream;
	struct format_samples layout;
	struct format_packet p;

	s->format->parse(&w->shape, NULL, frame, &p);
	if (!(p.has & FORMAT_READABLE))
		return true;
	s->format->samples(&w->shape, frame, &layout);
	return (layout.bits || s->o.sample_bits) &&
	       (layout.channels || s->o.sample_channels);
}

static void
frame_judge(struct signal_watch *w, const struct frame_place *f)
{
	char why[320] = "out of memory";

	if (f->fps && !w->shape.fps)
		fps_set(w, f->fps);
	if (!w->judged && !is_laid_out(w, f->data))
		refuse(w, "headers of its format do not say how many channels "
			  "there are and of how many bits; `sample_channels` "
			  "and `sample_bits` of the stream would");
	if (!w->refused &&
	    quality_add(w->piece[0], f->sub, f->data, why, sizeof why))
		refuse(w, why);
	w->judged++;
}

/* ---- which frames ------------------------------------------------------ */

static int64_t
cpu_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * NS_SECOND + t.tv_nsec;
}

static void
choose(struct signal_watch *w, uint64_t every, uint64_t seconds)
{
	if (every > EVERY_MOST)
		every = EVERY_MOST;
	if (seconds > SECONDS_MOST)
		seconds = SECONDS_MOST;
	for (unsigned i = 0; i < w->rings; i++)
		frame_ring_choose(w->ring[i], every ? (uint32_t)every : 1,
				  seconds ? (uint32_t)seconds : 1);
}

/*
 * Chooses as many frames as the thread has time for.  Each number is that of a
 * frame of each thread and substream, so with many of them one number per
 * second may be too much: then only some seconds are looked at.
 */
static void
share_set(struct signal_watch *w)
{
	uint64_t frames = (uint64_t)(NS_SECOND / SHARE / w->cost);
	unsigned running =
	    atomic_load_explicit(&w->thread->running, memory_order_relaxed);
	uint64_t numbers;

	if (running > 1)
		frames /= running;
	if (!frames)
		frames = 1;
	if (!w->shape.fps || !w->threads)
		return;
	numbers = frames / w->threads;
	if (numbers)
		choose(w, (w->shape.fps + numbers - 1) / numbers, 1);
	else
		choose(w, w->shape.fps, (w->threads + frames - 1) / frames);
}

/* ---- findings ---------------------------------------------------------- */

static struct signal_part *
part_of(struct signal_watch *w, struct signal_part *part, const json_t *line)
{
	json_int_t sub = json_integer_value(json_object_get(line, "sub"));

	return w->parts > 1 && sub < w->parts ? &part[sub] : part;
}

/* Counts channels and findings; returns how many threads there are. */
static unsigned
lines_count(struct signal_watch *w, const json_t *lines,
	    struct signal_part *part)
{
	const json_t *line, *name;
	unsigned threads = 0;
	size_t i, k;

	json_array_foreach(lines, i, line) {
		struct signal_part *p = part_of(w, part, line);

		p->channels++;
		threads +=
		    !json_integer_value(json_object_get(line, "channel"));
		json_array_foreach(json_object_get(line, "findings"), k, name)
			p->found[finding_of(json_string_value(name))]++;
	}
	return threads;
}

static bool
has_finding(const json_t *line, enum finding f)
{
	const json_t *name;
	size_t i;

	json_array_foreach(json_object_get(line, "findings"), i, name) {
		if (finding_of(json_string_value(name)) == f)
			return true;
	}
	return false;
}

static json_int_t
number(const json_t *line, const char *key)
{
	return json_integer_value(json_object_get(line, key));
}

/* ---- drift ------------------------------------------------------------- */

static json_t *
line_of(const json_t *lines, const json_t *like)
{
	static const char *const keys[] = { "sub",  "thread",  "channel",
					    "bits", "complex", "sample_rate" };
	json_t *line;
	size_t i;

	json_array_foreach(lines, i, line) {
		unsigned k = 0;

		while (k < sizeof keys / sizeof *keys &&
		       json_equal(json_object_get(line, keys[k]),
				  json_object_get(like, keys[k])))
			k++;
		if (k == sizeof keys / sizeof *keys)
			return line;
	}
	return NULL;
}

static double
real(const json_t *line, const char *key)
{
	const json_t *value = json_object_get(line, key);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

/* Tells whether a channel is not what it was: comparisons with what is not known
 * are false. */
static bool
has_drifted(const struct signal_watch *w, const json_t *line, const json_t *was)
{
	double by = real(line, "delay_ns") - real(was, "delay_ns");
	double error =
	    hypot(real(line, "delay_error_ns"), real(was, "delay_error_ns"));
	double level = 20 * log10(real(line, "rms") / real(was, "rms"));

	/* a delay is known up to one by the spacing */
	if (w->stream->o.tones)
		by = remainder(by, 1e9 / w->stream->o.tones);
	return fabs(level) > DRIFT_DB ||
	       fabs(by) > fmax(DRIFT_SURE * error, DRIFT_NS);
}

static struct signal_last *
last_of(const struct signal_watch *w)
{
	struct signal_last *l = w->thread->last;

	while (l && strcmp(l->stream, w->stream->name) != 0)
		l = l->next;
	return l;
}

/* Adds drift to the findings of lines that have no other one. */
static void
drift_find(const struct signal_watch *w, const json_t *lines)
{
	const struct signal_last *last = last_of(w);
	json_t *line, *findings;
	size_t i;

	if (!last)
		return;
	json_array_foreach(lines, i, line) {
		const json_t *was = line_of(last->lines, line);

		findings = json_object_get(line, "findings");
		if (was && !json_array_size(findings) &&
		    has_drifted(w, line, was))
			json_array_append_new(
			    findings, json_string(finding_name(FINDING_DRIFT)));
	}
}

/* Returns the lines with no more than drift needs, as a new reference. */
static json_t *
lines_short(const json_t *lines)
{
	static const char *const keys[] = {
		"sub",	       "thread",   "channel",	     "bits", "complex",
		"sample_rate", "delay_ns", "delay_error_ns", "rms",
	};
	json_t *list = json_array(), *line;
	size_t i;

	json_array_foreach(lines, i, line) {
		json_t *brief = json_object();

		for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
			json_t *value = json_object_get(line, keys[k]);

			if (value)
				json_object_set(brief, keys[k], value);
		}
		json_array_append_new(list, brief);
	}
	return list;
}

/* Writes signal.json, a line for each stream, the latest first: for a daemon that
 * starts later.  A file that cannot be written is as none. */
static void
last_write(const struct signal_thread *t)
{
	char *path;
	size_t bytes = 0;
	FILE *f;

	if (!t->kept || asprintf(&path, "%s.new", t->kept) < 0)
		return;
	mkdir(t->state, 0755);
	unlink(path);
	f = fopen(path, "wxe");
	for (const struct signal_last *l = t->last; f && l; l = l->next) {
		json_t *entry = json_pack("{s:s, s:o}", "stream", l->stream,
					  "lines", lines_short(l->lines));
		char *text = entry ? json_dumps(entry, JSON_COMPACT) : NULL;

		bytes += text ? strlen(text) + 1 : 0;
		if (text && bytes <= KEPT_MOST)
			fprintf(f, "%s\n", text);
		free(text);
		json_decref(entry);
	}
	if (f) {
		bool good = !fflush(f) && !fdatasync(fileno(f));

		if (!fclose(f) && good)
			rename(path, t->kept);
	}
	free(path);
}

/* Reads signal.json, as far as it is one. */
static void
last_read(struct signal_thread *t)
{
	int fd = open(t->kept, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	struct signal_last **end = &t->last;
	struct stat st;
	json_t *entry;

	if (!f || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    st.st_size > KEPT_MOST)
		goto close;
	while ((entry = json_loadf(f, JSON_DISABLE_EOF_CHECK, NULL))) {
		json_t *name = json_object_get(entry, "stream");
		json_t *lines = json_object_get(entry, "lines");
		struct signal_last *l = calloc(1, sizeof *l);

		if (l && json_is_string(name) && json_is_array(lines))
			l->stream = strdup(json_string_value(name));
		if (l && l->stream) {
			l->lines = json_incref(lines);
			*end = l;
			end = &l->next;
		} else {
			free(l);
		}
		json_decref(entry);
	}
close:
	if (f)
		fclose(f);
	else if (fd >= 0)
		close(fd);
}

/* Keeps the channels that are good for the next recording of the stream. */
static void
last_keep(struct signal_watch *w)
{
	struct signal_last *l = last_of(w);
	json_t *lines = json_array(), *line;
	size_t i;

	if (!l) {
		l = calloc(1, sizeof *l);
		if (l)
			l->stream = strdup(w->stream->name);
		if (!l || !l->stream || !lines) {
			free(l);
			json_decref(lines);
			return;
		}
		l->next = w->thread->last;
		w->thread->last = l;
	}
	pthread_mutex_lock(&w->lock);
	json_array_foreach(w->lines, i, line) {
		const json_t *list = json_object_get(line, "findings");

		/* what has drifted is what it is from now on */
		if (!json_array_size(list) || has_finding(line, FINDING_DRIFT))
			json_array_append_new(lines, json_deep_copy(line));
	}
	pthread_mutex_unlock(&w->lock);
	json_array_foreach(l->lines, i, line) {
		if (!line_of(lines, line))
			json_array_append(lines, line);
	}
	json_decref(l->lines);
	l->lines = lines;
	last_write(w->thread);
}

static void
last_free(struct signal_thread *t)
{
	struct signal_last *l;

	while ((l = t->last)) {
		t->last = l->next;
		json_decref(l->lines);
		free(l->stream);
		free(l);
	}
}

/* ---- what is said ------------------------------------------------------ */

/* Logs that a finding began, with the first channel that has it. */
static void
finding_began(struct signal_watch *w, const struct signal_part *to,
	      const json_t *lines, enum finding f)
{
	const struct signal_part *part = w->part;
	const json_t *line;
	size_t i;

	json_array_foreach(lines, i, line) {
		if (part_of(w, w->part, line) != to || !has_finding(line, f))
			continue;
		log_line(LEVEL_WARN, w->name,
			 "signal: %s in %u of %u channels (substream "
			 "%" JSON_INTEGER_FORMAT ", thread "
			 "%" JSON_INTEGER_FORMAT ", channel "
			 "%" JSON_INTEGER_FORMAT "%s): %s",
			 finding_name(f), part[to - part].found[f],
			 part[to - part].channels, number(line, "sub"),
			 number(line, "thread"), number(line, "channel"),
			 to->found[f] > 1 ? ", ..." : "", finding_sentence(f));
		return;
	}
}

/* Logs each finding once when it begins, and once when it is gone. */
static void
findings_log(struct signal_watch *w, struct signal_part *p, const json_t *lines)
{
	for (unsigned f = 0; f < FINDING_COUNT; f++) {
		if (p->found[f] && !p->logged[f])
			finding_began(w, p, lines, f);
		if (p->found[f])
			p->logged[f] = GONE;
		else if (p->channels && p->logged[f] && !--p->logged[f])
			log_line(LEVEL_INFO, w->name,
				 "signal: %s is gone from all channels",
				 finding_name(f));
	}
}

/* Shows the event loop what was found. */
static void
lines_show(struct signal_watch *w, json_t *lines)
{
	struct signal_part *part = calloc(w->parts, sizeof *part);
	json_t *old = lines;

	if (part) {
		w->threads = lines_count(w, lines, part);
		pthread_mutex_lock(&w->lock);
		for (unsigned i = 0; i < w->parts; i++) {
			memcpy(part[i].logged, w->part[i].logged,
			       sizeof part[i].logged);
			w->part[i] = part[i];
			findings_log(w, &w->part[i], lines);
		}
		old = w->lines;
		w->lines = lines;
		w->frames = w->judged;
		pthread_mutex_unlock(&w->lock);
	}
	json_decref(old);
	free(part);
}

static void
look(struct signal_watch *w)
{
	json_t *lines = json_array();
	unsigned findings = 0;
	int err = lines ? 0 : -ENOMEM;

	quality_clear(w->sum);
	for (unsigned i = 0; i < 2 && !err; i++)
		err = quality_merge(w->sum, w->piece[i]);
	if (!err)
		err = quality_json(w->sum, w->name, lines, &findings);
	if (err) {
		json_decref(lines);
		return;
	}
	drift_find(w, lines);
	lines_show(w, lines);
}

/* ---- the quality file -------------------------------------------------- */

/* Makes a line that of a part's recording. */
static void
line_name(struct signal_watch *w, json_t *line, unsigned part, const char *time)
{
	char name[SESSION_NAME];

	session_name(name, w->name, w->stream, part);
	json_object_set_new(line, "name", json_string(name));
	json_object_set_new(line, "time", json_string(time));
	if (w->parts > 1)
		json_object_set_new(line, "sub", json_integer(0));
}

/* Adds a line to those that wait; if there are too many it is left out. */
static void
text_add(char **text, const json_t *line)
{
	char *one =
	    json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(DIGITS));
	size_t had = *text ? strlen(*text) : 0, bytes = one ? strlen(one) : 0;
	char *more = NULL;

	if (one && had < LINES_MOST)
		more = realloc(*text, had + bytes + 2);
	if (more) {
		memcpy(more + had, one, bytes);
		memcpy(more + had + bytes, "\n", 2);
		*text = more;
	}
	free(one);
}

/* Makes the lines of an interval, and begins the next one. */
static void
interval_end(struct signal_watch *w)
{
	json_t *lines = json_array(), *line;
	char time[UNITS_TEXT];
	unsigned findings = 0;
	size_t i;

	units_show_time_ns(time, clock_now());
	if (lines && !quality_json(w->interval, w->name, lines, &findings)) {
		drift_find(w, lines);
		pthread_mutex_lock(&w->lock);
		json_array_foreach(lines, i, line) {
			unsigned part =
			    (unsigned)(part_of(w, w->part, line) - w->part);

			line_name(w, line, part, time);
			text_add(&w->text[part], line);
		}
		pthread_mutex_unlock(&w->lock);
	}
	json_decref(lines);
	quality_clear(w->interval);
	w->interval_at = clock_steady();
	w->thread->hooks.wake(w->thread->hooks.arg);
}

/* ---- pieces ------------------------------------------------------------ */

/* Begins a new piece when the old one is long enough and says something. */
static void
piece_turn(struct signal_watch *w, int64_t now)
{
	struct quality *last = w->piece[1];
	uint64_t frames = quality_counts(w->piece[0]).frames;

	if (now - w->piece_at < PIECE ||
	    (frames && frames < (uint64_t)ENOUGH * w->threads &&
	     now - w->piece_at < PIECE_MOST))
		return;
	if (quality_merge(w->interval, w->piece[0]))
		log_line(LEVEL_WARN, w->name,
			 "signal: out of memory for its quality file");
	if (now - w->interval_at >= INTERVAL)
		interval_end(w);
	w->piece[1] = w->piece[0];
	w->piece[0] = last;
	quality_clear(last);
	w->piece_at = now;
}

/* ---- the thread -------------------------------------------------------- */

/* Judges frames that wait; true: there may be more. */
static bool
frames_take(struct signal_watch *w)
{
	int64_t began = cpu_now();
	uint64_t judged = w->judged;
	const struct frame_place *f;
	unsigned n = 0;

	for (unsigned i = 0; i < w->rings && n < TURN; i++) {
		while (n < TURN && (f = frame_ring_get(w->ring[i]))) {
			if (!w->refused)
				frame_judge(w, f);
			frame_ring_drop(w->ring[i]);
			n++;
		}
	}
	if (w->judged - judged >= ENOUGH) {
		int64_t cost =
		    (cpu_now() - began) / (int64_t)(w->judged - judged);

		w->cost = (7 * w->cost + cost) / 8 + 1;
	}
	return n == TURN;
}

/* Looks at a watch; true: more frames wait. */
static bool
watch_step(struct signal_watch *w)
{
	int64_t now = clock_steady(), cpu;
	bool more = frames_take(w);

	if (w->refused || now < w->look_at)
		return more;
	cpu = cpu_now();
	look(w);
	piece_turn(w, now);
	share_set(w);
	/* thousands of channels take longer to judge than to count */
	cpu = SHARE * (cpu_now() - cpu);
	if (cpu < LOOK)
		cpu = LOOK;
	w->look_at = now + (cpu < LOOK_MOST ? cpu : LOOK_MOST);
	return more;
}

static struct signal_watch *
watch_next(struct signal_thread *t, const struct signal_watch *w)
{
	struct signal_watch *next;

	pthread_mutex_lock(&t->lock);
	next = w ? w->next : t->watches;
	while (next && atomic_load(&next->done))
		next = next->next;
	pthread_mutex_unlock(&t->lock);
	return next;
}

/* Makes the last lines, and gives the watch back to the event loop. */
static void
watch_end(struct signal_watch *w)
{
	struct signal_hooks hooks = w->thread->hooks;

	if (!w->refused && !quality_merge(w->interval, w->piece[0]))
		interval_end(w);
	if (!w->refused)
		last_keep(w);
	/* from here on the event loop may free it */
	atomic_store_explicit(&w->done, true, memory_order_release);
	hooks.wake(hooks.arg);
}

static int64_t
round_do(void *arg)
{
	struct signal_thread *t = arg;
	struct signal_watch *w, *next;
	unsigned running = 0;
	bool more = false;

	for (w = watch_next(t, NULL); w; w = next) {
		bool ends = atomic_load(&w->ends);

		next = watch_next(t, w);
		if (watch_step(w)) {
			more = true;
		} else if (ends) {
			watch_end(w);
			continue;
		}
		running += !w->refused;
	}
	atomic_store_explicit(&t->running, running, memory_order_relaxed);
	if (more)
		return 0;
	return running ? ROUND : WORKER_RESTS;
}

/* ---- the event loop ---------------------------------------------------- */

int
signal_thread_start(struct signal_thread **out,
		    const struct signal_hooks *hooks, const char *state)
{
	struct signal_thread *t = calloc(1, sizeof *t);
	struct worker_args worker = { .name = "spate-signal",
				      .round = round_do,
				      .arg = t,
				      .first = WORKER_RESTS,
				      .nice = true,
				      .finishes = true };
	int err;

	if (!t)
		return -ENOMEM;
	t->hooks = *hooks;
	t->state = state ? strdup(state) : NULL;
	if (t->state && asprintf(&t->kept, "%s/signal.json", state) < 0)
		t->kept = NULL;
	if (t->kept)
		last_read(t);
	pthread_mutex_init(&t->lock, NULL);
	err = worker_start(&t->worker, &worker);
	if (err) {
		last_free(t);
		free(t->kept);
		free(t->state);
		pthread_mutex_destroy(&t->lock);
		free(t);
		return err;
	}
	*out = t;
	return 0;
}

static void
watch_free(struct signal_watch *w)
{
	for (unsigned i = 0; w->ring && i < w->rings; i++)
		frame_ring_free(w->ring[i]);
	for (unsigned i = 0; w->text && i < w->parts; i++)
		free(w->text[i]);
	qualities_close(w);
	stream_drop(w->stream);
	json_decref(w->lines);
	pthread_mutex_destroy(&w->lock);
	free(w->part);
	free(w->text);
	free(w->silent);
	free(w->ring);
	free(w);
}

/* Gives the lines of a watch to the hook. */
static void
lines_give(struct signal_thread *t, struct signal_watch *w)
{
	for (unsigned i = 0; i < w->parts; i++) {
		char name[SESSION_NAME], *text;

		pthread_mutex_lock(&w->lock);
		text = w->text[i];
		w->text[i] = NULL;
		pthread_mutex_unlock(&w->lock);
		session_name(name, w->name, w->stream, i);
		if (text && !w->silent[i])
			t->hooks.lines(t->hooks.arg, name, text);
		else
			free(text);
	}
}

void
signal_thread_step(struct signal_thread *t)
{
	struct signal_watch **at = &t->watches, *w;

	/* Only this thread changes the list. */
	for (w = t->watches; w; w = w->next) {
		w->over = atomic_load_explicit(&w->done, memory_order_acquire);
		lines_give(t, w);
	}
	pthread_mutex_lock(&t->lock);
	while ((w = *at)) {
		if (w->over) {
			*at = w->next;
			watch_free(w);
		} else {
			at = &w->next;
		}
	}
	pthread_mutex_unlock(&t->lock);
}

void
signal_thread_refused(struct signal_thread *t, const char *name,
		      const char *why)
{
	for (struct signal_watch *w = t->watches; w; w = w->next) {
		for (unsigned i = 0; i < w->parts; i++) {
			char of[SESSION_NAME];

			session_name(of, w->name, w->stream, i);
			if (strcmp(of, name) != 0)
				continue;
			if (w->silent[i])
				return;
			w->silent[i] = true;
		}
	}
	log_line(LEVEL_WARN, name,
		 "no more lines are written to its quality file: %s", why);
}

void
signal_thread_stop(struct signal_thread *t)
{
	if (!t || !worker_stop(t->worker, END))
		return;
	for (struct signal_watch *w = t->watches; w; w = w->next) {
		while (frames_take(w))
			;
		if (!atomic_load(&w->done))
			watch_end(w);
	}
	signal_thread_step(t);
	last_free(t);
	free(t->kept);
	free(t->state);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

bool
signal_watch_can(const struct stream *s)
{
	return s->o.quality && s->format->parse && s->format->samples;
}

/* A burst is a frame of each substream. */
static unsigned
places_of(const struct signal_watch_args *a)
{
	unsigned n = 2 * a->stream->plan.subs * a->stream->keys;

	return n < PLACES ? PLACES : n < PLACES_MOST ? n : PLACES_MOST;
}

/* Returns how many threads and substreams there should be. */
static unsigned
threads_of(const struct signal_watch_args *a)
{
	unsigned threads = a->shape->threads_n ? a->shape->threads_n : 1;

	if (threads < a->stream->keys)
		threads = a->stream->keys;
	return threads * a->stream->plan.subs;
}

int
signal_watch_begin(struct signal_watch **watch, struct signal_thread *t,
		   const struct signal_watch_args *args)
{
	struct signal_watch *w = calloc(1, sizeof *w);
	uint32_t frame = args->shape->payload * args->shape->parts;
	int err = 0;

	if (!w)
		return -ENOMEM;
	w->thread = t;
	w->stream = stream_hold(args->stream);
	w->shape = *args->shape;
	/* learned lists of threads move; headers are read without */
	w->shape.threads = NULL;
	w->shape.threads_n = 0;
	w->parts = args->stream->keys;
	w->cost = COST_FIRST;
	pthread_mutex_init(&w->lock, NULL);
	snprintf(w->name, sizeof w->name, "%s", args->name);
	w->part = calloc(w->parts, sizeof *w->part);
	w->text = calloc(w->parts, sizeof(char *));
	w->silent = calloc(w->parts, sizeof *w->silent);
	w->ring = calloc(args->rings, sizeof(struct frame_ring *));
	if (!w->part || !w->ring || !w->text || !w->silent)
		err = -ENOMEM;
	for (unsigned i = 0; i < args->rings && !err; i++) {
		err = frame_ring_make(&w->ring[i], frame, places_of(args));
		w->rings += !err;
	}
	if (!err)
		err = qualities_open(w);
	if (err) {
		watch_free(w);
		return err;
	}
	w->threads = threads_of(args);
	choose(w, EVERY_FIRST, 1);
	share_set(w);
	w->piece_at = w->interval_at = clock_steady();
	pthread_mutex_lock(&t->lock);
	w->next = t->watches;
	t->watches = w;
	pthread_mutex_unlock(&t->lock);
	worker_poke(t->worker);
	*watch = w;
	return 0;
}

struct frame_ring *
signal_watch_ring(struct signal_watch *w, unsigned ring)
{
	return w->ring[ring];
}

void
signal_watch_end(struct signal_watch *w)
{
	atomic_store(&w->ends, true);
	worker_poke(w->thread->worker);
}

/* Writes "ok", or "dead 2, same 4". */
static void
part_show(const struct signal_part *p, char *text, size_t bytes)
{
	size_t at = 0;

	snprintf(text, bytes, "%s", p->channels ? "ok" : "");
	for (unsigned f = 0; f < FINDING_COUNT && at < bytes; f++) {
		if (p->found[f])
			at += (size_t)snprintf(text + at, bytes - at, "%s%s %u",
					       at ? ", " : "", finding_name(f),
					       p->found[f]);
	}
}

void
signal_watch_look(struct signal_watch *w, unsigned part,
		  struct signal_view *view)
{
	*view = (struct signal_view){ 0 };
	for (unsigned i = 0; i < w->rings; i++)
		view->missed += frame_ring_missed(w->ring[i]);
	pthread_mutex_lock(&w->lock);
	view->frames = w->frames;
	part_show(&w->part[part], view->text, sizeof view->text);
	pthread_mutex_unlock(&w->lock);
}

json_t *
signal_watch_lines(struct signal_watch *w, unsigned part)
{
	json_t *lines = json_array();

	pthread_mutex_lock(&w->lock);
	for (size_t i = 0; i < json_array_size(w->lines); i++) {
		const json_t *line = json_array_get(w->lines, i);

		if (part_of(w, w->part, line) == &w->part[part])
			json_array_append_new(lines, json_deep_copy(line));
	}
	pthread_mutex_unlock(&w->lock);
	return lines;
}
