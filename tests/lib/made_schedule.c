/* SPDX-License-Identifier: MIT */
#include "lib/made_schedule.h"

static int
made_arm(void *arg, struct scan *scan, const struct schedule_when *when,
	 struct fault *fault)
{
	struct made *m = arg;
	struct made_session *of = &m->session[m->sessions];

	if (m->arm_err)
		return fault_set(fault, m->arm_err, "busy", "cannot record %s",
				 scan->name);
	ck_assert_uint_lt(m->sessions, MADE_SESSIONS);
	*of = (struct made_session){ .scan = scan->id,
				     .start = when->start,
				     .stop = when->stop,
				     .data = when->data,
				     .resume = scan->resume };
	m->sessions++;
	if (!scan->resume)
		snprintf(scan->recording, SCAN_NAME, "%s", scan->name);
	snprintf(of->name, sizeof of->name, "%s", scan->recording);
	of->begun = !when->data && when->start <= m->now.steady;
	return of->begun;
}

void
made_stop(void *arg, struct scan *scan, const char *why)
{
	struct made *m = arg;

	for (unsigned i = 0; i < m->sessions; i++) {
		if (m->session[i].scan == scan->id && !m->session[i].ended) {
			m->session[i].ended = true;
			m->session[i].why = why;
		}
	}
}

struct made_session *
made_session(struct made *m, unsigned scan)
{
	for (unsigned i = m->sessions; i--;) {
		if (m->session[i].scan == scan)
			return &m->session[i];
	}
	return NULL;
}

static void
made_stop_at(void *arg, struct scan *scan, int64_t stop)
{
	made_session(arg, scan->id)->stop = stop;
}

static void
made_move(void *arg, struct scan *scan, const struct schedule_when *when)
{
	struct made *m = arg;
	struct made_session *of = made_session(m, scan->id);

	m->moves++;
	of->start = when->start;
	of->stop = when->stop;
}

static const char *
made_no_way(void *arg, const char *url, bool relay)
{
	(void)arg, (void)relay;
	return strncmp(url, "foo:", 4) ? NULL : "there is no foo";
}

static const char *
made_fault(void *arg, const char *stream)
{
	const struct made *m = arg;
	size_t n = strlen(stream);

	for (const char *at = m->streams; at && *at;
	     at += strcspn(at, ","), at += *at == ',') {
		if (strcspn(at, ",") == n && !strncmp(at, stream, n))
			return NULL;
	}
	return "there is no such stream";
}

void
made_reopen(struct made *m)
{
	struct schedule_args args = {
		.folder = m->with_folder ? m->folder : NULL,
		.state = m->with_state ? m->state : NULL,
		.hooks = &m->hooks,
	};
	struct fault fault = { 0 };

	ck_assert_int_eq(schedule_open(&m->s, &args, m->now, &fault), 0);
}

void
made_restart(struct made *m)
{
	schedule_close(m->s);
	m->sessions = 0;
	made_reopen(m);
	schedule_step(m->s, m->now);
}

struct made *
made_new(bool with_folder, bool with_state)
{
	struct made *m = calloc(1, sizeof *m);

	log_level_set(LEVEL_ERROR);
	m->now = (struct schedule_now){ TEN, STEADY0 };
	m->streams = "s,t";
	m->with_folder = with_folder;
	m->with_state = with_state;
	m->hooks = (struct schedule_hooks){ .arm = made_arm,
					    .stop = made_stop,
					    .stop_at = made_stop_at,
					    .move = made_move,
					    .stream_fault = made_fault,
					    .url_fault = made_no_way,
					    .arg = m };
	scratch_make(&m->scratch);
	snprintf(m->folder, sizeof m->folder, "%s", m->scratch.path);
	snprintf(m->state, sizeof m->state, "%.200s/.state", m->folder);
	made_reopen(m);
	return m;
}

void
made_free(struct made *m)
{
	schedule_close(m->s);
	scratch_remove(&m->scratch);
	free(m);
}

void
made_sessions(struct made *m)
{
	for (unsigned i = 0; i < m->sessions; i++) {
		struct made_session *of = &m->session[i];

		if (of->ended || of->data)
			continue;
		if (!of->begun && of->start <= m->now.steady) {
			of->begun = true;
			schedule_began(m->s, of->scan, m->now);
		}
		if (of->begun && of->stop <= m->now.steady) {
			of->ended = true;
			schedule_ended(m->s, of->scan, false, "time", m->now);
		}
	}
}

void
made_pass(struct made *m, int64_t ns)
{
	int64_t end = m->now.steady + ns;

	while (m->now.steady < end) {
		m->now.steady += S / 10;
		m->now.utc += S / 10;
		made_sessions(m);
		if (m->now.steady >= schedule_next(m->s))
			schedule_step(m->s, m->now);
	}
}

void
made_set_clock(struct made *m, int64_t by)
{
	m->now.utc += by;
	schedule_step(m->s, m->now);
}

struct scan *
made_scan(int64_t from, int64_t to, const char *name)
{
	struct scan *scan = scan_new();

	snprintf(scan->name, SCAN_NAME, "%s", name);
	scan_stream_add(scan, "s");
	scan->start = TEN + from;
	scan->stop = to == INT64_MAX ? to : TEN + to;
	scan->arm = 10 * S;
	return scan;
}

unsigned
made_add(struct made *m, int64_t from, int64_t to, const char *name)
{
	struct fault fault = { 0 };
	struct scan *scan = made_scan(from, to, name);
	int id = schedule_add(m->s, scan, m->now, &fault);

	ck_assert_msg(id > 0, "%s: %s %s", name, fault.what, fault.why);
	return (unsigned)id;
}

const char *
made_state(const struct made *m, unsigned id)
{
	const struct scan *scan = schedule_find(m->s, id);

	return scan ? scan_state_word(scan->state) : "none";
}

struct scan *
made_find(const struct made *m, const char *name)
{
	const struct scan_list *all = schedule_scans(m->s);
	struct scan *found = NULL;

	for (unsigned i = 0; i < all->n; i++) {
		if (all->scan[i]->gone || strcmp(all->scan[i]->name, name))
			continue;
		ck_assert_ptr_null(found);
		found = all->scan[i];
	}
	return found;
}

void
made_scan_file(const struct made *m, const char *file, const char *text)
{
	char path[512];
	int fd;

	snprintf(path, sizeof path, "%s/%s", m->folder, file);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

void
made_file(struct made *m, const char *file, const char *text)
{
	made_scan_file(m, file, text);
	schedule_look(m->s, m->now);
	schedule_step(m->s, m->now);
}

void
made_unlink(struct made *m, const char *file)
{
	char path[512];

	snprintf(path, sizeof path, "%s/%s", m->folder, file);
	ck_assert_int_eq(unlink(path), 0);
	schedule_look(m->s, m->now);
}

const char *
made_entry(char text[512], const char *name, int64_t from, int64_t span,
	   const char *more)
{
	char start[UNITS_TEXT];

	snprintf(text, 512,
		 "%s : { stream = \"s\"; start = \"%s\"; "
		 "duration = \"%lldms\"; %s };\n",
		 name, units_show_time(start, TEN + from),
		 (long long)(span / 1000000), more);
	return text;
}
