/* SPDX-License-Identifier: MIT */
/*
 * One scan by itself: its words, its memory, and its JSON.
 *
 * A schedule file is parsed as a whole, but each of its scans is checked by
 * itself: a slip in one of a thousand entries must not cost a station its
 * weekend, while a text that ends in the middle of a group is a file that is
 * still being written.
 *
 * Times in files are absolute.  "+30s" would be another time each time the file
 * is read.
 */
#include "daemon/schedule/scan.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "store/disk/layout.h"

/* Describes an action: whether it takes streams, and a URL to send to. */
struct scan_kind {
	const char *word;
	bool streams, to;
};

static const struct scan_kind scan_kinds[SCAN_ACTIONS] = {
	[SCAN_RECORD] = { "record", true, false },
	[SCAN_SEND] = { "send", false, true },
	[SCAN_RELAY] = { "relay", true, true },
};

static const char *const states[SCAN_STATES] = {
	[SCAN_WAITING] = "waiting",	[SCAN_ARMED] = "armed",
	[SCAN_RUNNING] = "running",	[SCAN_DONE] = "done",
	[SCAN_FAILED] = "failed",	[SCAN_MISSED] = "missed",
	[SCAN_CANCELLED] = "cancelled", [SCAN_REFUSED] = "refused",
};

const char *
scan_action_word(enum scan_action action)
{
	return scan_kinds[action].word;
}

const char *
scan_state_word(enum scan_state state)
{
	return states[state];
}

bool
scan_action_parse(const char *word, enum scan_action *action)
{
	for (int i = 0; i < SCAN_ACTIONS; i++) {
		if (strcmp(scan_kinds[i].word, word))
			continue;
		*action = (enum scan_action)i;
		return true;
	}
	return false;
}

bool
scan_state_parse(const char *word, enum scan_state *state)
{
	for (int i = 0; i < SCAN_STATES; i++) {
		if (strcmp(states[i], word))
			continue;
		*state = (enum scan_state)i;
		return true;
	}
	return false;
}

bool
scan_is_entry(const struct scan *a, const struct scan *b)
{
	return a->action == b->action && !strcmp(a->name, b->name) &&
	       !strcmp(a->to ? a->to : "", b->to ? b->to : "");
}

bool
scan_is_ahead(const struct scan *s)
{
	return s->state <= SCAN_RUNNING;
}

bool
scan_is_candidate(const struct scan *s)
{
	return (s->state == SCAN_WAITING || s->state == SCAN_REFUSED) &&
	       !s->wrong && !s->barred;
}

struct scan *
scan_new(void)
{
	struct scan *s = calloc(1, sizeof *s);

	if (s)
		s->stop = s->end = INT64_MAX;
	return s;
}

void
scan_free(struct scan *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < s->streams; i++)
		free(s->stream[i]);
	free(s->stream);
	free(s->to);
	free(s->send);
	free(s->unsent);
	free(s->file);
	free(s);
}

int
scan_list_add(struct scan_list *list, struct scan *s)
{
	unsigned room = list->room ? 2 * list->room : 16;
	struct scan **scan;

	if (list->n == list->room) {
		scan = realloc(list->scan, room * sizeof(struct scan *));
		if (!scan)
			return -ENOMEM;
		list->scan = scan;
		list->room = room;
	}
	list->scan[list->n++] = s;
	return 0;
}

void
scan_list_clear(struct scan_list *list)
{
	for (unsigned i = 0; i < list->n; i++)
		scan_free(list->scan[i]);
	free(list->scan);
	*list = (struct scan_list){ 0 };
}

int
scan_stream_add(struct scan *s, const char *stream)
{
	size_t bytes = (s->streams + 1) * sizeof(char *);
	char **more = realloc(s->stream, bytes);

	if (!more)
		return -ENOMEM;
	s->stream = more;
	more[s->streams] = strdup(stream);
	if (!more[s->streams])
		return -ENOMEM;
	s->streams++;
	return 0;
}

static bool
is_good(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("_+-", c));
}

bool
scan_name_mend(char good[SCAN_NAME], const char *name)
{
	const char *from = name;
	char *ds;
	size_t n = 0;

	while (*from && !isalnum((unsigned char)*from))
		from++;
	/*
	 * A name needs a letter: prefix digits alone, also if the name is cut
	 * after digits.
	 */
	if (strspn(from, "0123456789") >= strnlen(from, LAYOUT_NAME) && *from)
		n = (size_t)snprintf(good, SCAN_NAME, "scan-");
	for (; *from && n < LAYOUT_NAME; from++)
		good[n++] = is_good(*from) ? *from : '-';
	good[n] = 0;
	while ((ds = strstr(good, "_ds")))
		*ds = '-';
	return strcmp(good, name) != 0;
}

/* Returns the seconds until its start or stop; NAN if nothing is to come. */
static double
next_s(const struct scan *s, int64_t utc)
{
	int64_t at = s->state == SCAN_RUNNING ? s->stop : s->start;

	return scan_is_ahead(s) && at != INT64_MAX ? (double)(at - utc) / 1e9
						   : NAN;
}

static json_t *
streams_json(const struct scan *s)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < s->streams; i++)
		json_array_append_new(list, text_json(s->stream[i]));
	return list;
}

void
scan_answer(struct answer_scan *a, const struct scan *s, int64_t utc)
{
	bool open = s->stop == INT64_MAX;

	*a = (struct answer_scan){
		.id = s->id,
		.name = s->name,
		.action = scan_kinds[s->action].word,
		.streams = streams_json(s),
		.start = s->start,
		.stop = open ? 0 : s->stop,
		.data = s->data,
		.duration_s = open ? NAN : (double)(s->stop - s->start) / 1e9,
		.backlog_s = (double)s->backlog / 1e9,
		.arm_s = (double)s->arm / 1e9,
		.priority = s->priority,
		.state = states[s->state],
		.why = s->why,
		.unsent = s->unsent,
		.recording = s->recording[0] ? s->recording : NULL,
		.file = s->file,
		.line = s->line,
		.to = s->to,
		.send = s->send,
		.next_s = next_s(s, utc),
	};
}

json_t *
scan_json(const struct scan *s, int64_t utc)
{
	struct answer_scan a;

	scan_answer(&a, s, utc);
	return keys_json(scan_keys, &a, ANSWER);
}

/* ---- reading --------------------------------------------------------- */

#define YEAR (365 * 86400 * NS_SECOND)

/* The values of a group, as written. */
struct said {
	const char *name, *action, *stream, *start, *stop, *send, *to;
	struct option_texts streams, stations;
	int64_t duration, arm, backlog; /* ns; duration -1: none given */
	uint32_t priority;
};

#define AT(member) offsetof(struct said, member)

const struct option_key scan_options[] = {
	{ .name = "name",
	  .type = OPTION_TEXT,
	  .offset = AT(name),
	  .help = "of the recording; none: the name of the group" },
	{ .name = "action",
	  .type = OPTION_CHOICE,
	  .offset = AT(action),
	  .fallback = "record",
	  .choices = "record|send|relay",
	  .help = "what is done: a stream is recorded or relayed, a recording "
		  "is sent" },
	{ .name = "stream",
	  .type = OPTION_TEXT,
	  .offset = AT(stream),
	  .help = "what is recorded" },
	{ .name = "streams",
	  .type = OPTION_TEXTS,
	  .offset = AT(streams),
	  .help = "the same of several; each makes NAME_dsSTREAM" },
	{ .name = "station",
	  .type = OPTION_TEXTS,
	  .offset = AT(stations),
	  .help = "whose it is: the recorder of that `station`, or of these; "
		  "none: everybody's" },
	{ .name = "start",
	  .type = OPTION_TEXT,
	  .offset = AT(start),
	  .help = "when it begins, UTC; with @ by the clock of the data" },
	{ .name = "stop",
	  .type = OPTION_TEXT,
	  .offset = AT(stop),
	  .help = "when it ends" },
	{ .name = "duration",
	  .type = OPTION_SPAN,
	  .offset = AT(duration),
	  .help = "how long it takes, instead of stop" },
	{ .name = "priority",
	  .type = OPTION_COUNT,
	  .offset = AT(priority),
	  .max = 1000000,
	  .help = "the higher one is kept where memory or disks do not "
		  "suffice for both" },
	{ .name = "arm",
	  .type = OPTION_SPAN,
	  .offset = AT(arm),
	  .fallback = "10s",
	  .max = 3600 * NS_SECOND,
	  .help = "how long before its start it opens its sockets" },
	{ .name = "backlog",
	  .type = OPTION_SPAN,
	  .offset = AT(backlog),
	  .help = "what came so long before its start is recorded, too" },
	{ .name = "send",
	  .type = OPTION_TEXT,
	  .offset = AT(send),
	  .help = "a URL that the recording is sent to while it is made" },
	{ .name = "to",
	  .type = OPTION_TEXT,
	  .offset = AT(to),
	  .help = "the URL that send and relay go to" },
	{ .name = NULL },
};

/* One group while it is read. */
struct scan_reading {
	struct conf *conf;
	config_setting_t *group;
	struct said said;
	const char *station; /* of this recorder; NULL: it does not know */
	struct scan *scan;
	struct fault *fault;
};

/* ---- names ----------------------------------------------------------- */

/* Finds a name to show for a scan that could not be read. */
static void
name_guess(struct scan_reading *r)
{
	const char *group = config_setting_name(r->group), *name = NULL;

	config_setting_lookup_string(r->group, "name", &name);
	if (!name || !*name)
		name = group;
	if (name)
		scan_name_mend(r->scan->name, name);
	if (!r->scan->name[0])
		snprintf(r->scan->name, SCAN_NAME, "line-%u", r->scan->line);
}

static int
name_take(struct scan_reading *r)
{
	const char *group = config_setting_name(r->group);
	const char *name = r->said.name ? r->said.name : group;

	if (!name || !scan_name_mend(r->scan->name, name)) {
		if (name)
			return 0;
		fault_set(r->fault, -EINVAL, "conf", "`name` is missing");
		fault_hint(r->fault, "name = \"r4123_wz_123-0456\";");
		return -EINVAL;
	}
	if (!r->scan->name[0])
		return fault_set(r->fault, -EINVAL, "bad-name",
				 "'%.80s' makes no name", name);
	snprintf(r->scan->why, SCAN_WHY,
		 "the name is '%.80s' there, which no recording can have",
		 name);
	return 0;
}

/* ---- times ----------------------------------------------------------- */

static int
time_take(struct scan_reading *r, const char *key, const char *text,
	  int64_t *ns, bool *data)
{
	const char *plain = text + (*text == '@');
	int err = *plain == '+' || !strcmp(plain, "now")
		      ? -EINVAL
		      : units_time_data(text, 0, ns, data);

	if (!err)
		return 0;
	fault_set(r->fault, -EINVAL, "conf", "%s = \"%.80s\" is no time", key,
		  text);
	if (*plain == '+')
		fault_why(r->fault, "times in a file have to be absolute");
	fault_hint(r->fault,
		   "write it as 2026-11-20T10:00:00Z or 2026y324d10h00m00s");
	return -EINVAL;
}

static int
wrong(struct scan_reading *r, const char *what)
{
	return fault_set(r->fault, -EINVAL, "conf", "%s", what);
}

static int
stop_take(struct scan_reading *r)
{
	struct scan *s = r->scan;
	bool data;
	int err;

	/* Sending a recording ends by itself. */
	if (!r->said.stop && r->said.duration < 0 && s->action == SCAN_SEND)
		return 0;
	if (!r->said.stop == (r->said.duration < 0))
		return wrong(r, r->said.stop ? "it has both a stop and a "
					       "duration"
					     : "it has no end: `duration` or "
					       "`stop` is missing");
	if (!r->said.stop) {
		if (r->said.duration >= INT64_MAX - s->start)
			return wrong(r, "its end is too far away");
		s->stop = s->start + r->said.duration;
		return r->said.duration
			   ? 0
			   : wrong(r, "its duration is no time at all");
	}
	err = time_take(r, "stop", r->said.stop, &s->stop, &data);
	if (err)
		return err;
	if (data != s->data)
		return wrong(r, "start and stop have to be both of the data "
				"(with @), or none");
	if (s->stop == s->start)
		return wrong(r, "it ends when it begins");
	return s->stop > s->start ? 0 : wrong(r, "it ends before it begins");
}

static int
times_take(struct scan_reading *r)
{
	int err;

	if (!r->said.start)
		return wrong(r, "`start` is missing");
	err = time_take(r, "start", r->said.start, &r->scan->start,
			&r->scan->data);
	if (!err)
		err = stop_take(r);
	if (!err && (r->said.arm > YEAR || r->said.backlog > YEAR))
		return wrong(r, "`arm` and `backlog` are a year at most");
	if (!err && r->scan->data && r->scan->action != SCAN_RECORD)
		return wrong(r, "what is sent and relayed goes by the clock "
				"of this machine: without @");
	if (!err && r->said.backlog && r->scan->action != SCAN_RECORD)
		return wrong(r, "`backlog` is of what is recorded");
	r->scan->arm = r->scan->action == SCAN_SEND ? 0 : r->said.arm;
	r->scan->backlog = r->said.backlog;
	return err;
}

/* ---- streams and actions --------------------------------------------- */

static int
stream_take(struct scan_reading *r, const char *stream)
{
	struct scan *s = r->scan;

	for (unsigned i = 0; i < s->streams; i++) {
		if (!strcmp(s->stream[i], stream))
			return fault_set(r->fault, -EINVAL, "conf",
					 "stream %.80s is there twice", stream);
	}
	if (s->streams == SCAN_STREAMS)
		return wrong(r, "these are too many streams");
	return scan_stream_add(s, stream) < 0 ? fault_no_memory(r->fault) : 0;
}

static int
streams_take(struct scan_reading *r)
{
	const struct scan_kind *kind = &scan_kinds[r->scan->action];
	const struct said *said = &r->said;
	int err = 0;

	if (said->stream && said->streams.n)
		return wrong(r, "it has both `stream` and `streams`");
	if (said->stream)
		err = stream_take(r, said->stream);
	for (unsigned i = 0; i < said->streams.n && !err; i++)
		err = stream_take(r, said->streams.text[i]);
	if (!err && r->scan->action == SCAN_RELAY && r->scan->streams > 1)
		return wrong(r, "one scan relays one stream");
	if (err || !kind->streams == !r->scan->streams)
		return err;
	return wrong(r, kind->streams ? "`stream` is missing"
				      : "what is sent is a recording, and has "
					"no stream");
}

static int
action_take(struct scan_reading *r)
{
	struct scan *s = r->scan;
	const struct scan_kind *kind;

	scan_action_parse(r->said.action, &s->action);
	kind = &scan_kinds[s->action];
	if (kind->to && !r->said.to)
		return wrong(r, "`to` is missing: a URL to send it to");
	if (!kind->to && r->said.to)
		return wrong(r, "`to` is of send and relay; what is recorded "
				"and sent has `send`");
	if (r->said.send && s->action != SCAN_RECORD)
		return wrong(r, "`send` is of what is recorded; send and relay "
				"have `to`");
	if (r->said.to)
		s->to = strdup(r->said.to);
	if (r->said.send)
		s->send = strdup(r->said.send);
	s->priority = (int)r->said.priority;
	return (r->said.to && !s->to) || (r->said.send && !s->send)
		   ? fault_no_memory(r->fault)
		   : 0;
}

/* ---- stations -------------------------------------------------------- */

/*
 * Tells whether an entry is for other stations alone.  It is looked at before
 * anything else of the entry, so that a slip in it is told of where it matters.
 */
static bool
is_of_others(const config_setting_t *group, const char *own)
{
	config_setting_t *s = config_setting_get_member(group, "station");
	int n = s && config_setting_is_aggregate(s) ? config_setting_length(s)
						    : !!s;

	for (int i = 0; own && i < n; i++) {
		const char *station = config_setting_is_aggregate(s)
					  ? config_setting_get_string_elem(s, i)
					  : config_setting_get_string(s);

		if (!station || !*station || !strcmp(station, own))
			return false;
	}
	return own && n;
}

static int
station_take(struct scan_reading *r)
{
	const struct option_texts *named = &r->said.stations;
	bool empty =
	    config_setting_get_member(r->group, "station") && !named->n;

	for (unsigned i = 0; i < named->n; i++)
		empty |= !named->text[i][0];
	if (empty)
		return wrong(r, "`station` names none");
	if (r->station || !named->n)
		return 0;
	fault_set(r->fault, -EINVAL, "conf",
		  "it is for station %.40s, and nobody said which this is",
		  named->text[0]);
	fault_hint(r->fault,
		   "station = \"%.40s\"; in spate.conf, or SPATE_STATION in "
		   "the environment of spated",
		   named->text[0]);
	return -EINVAL;
}

/* ---- a file ---------------------------------------------------------- */

static int
group_fill(struct scan_reading *r)
{
	struct conf_part part = { scan_options, &r->said };
	int err;

	r->said.duration = -1;
	err = conf_fill(r->conf, r->group, &part, 1, NULL, r->fault);
	if (err)
		return err;
	err = name_take(r);
	if (!err)
		err = station_take(r);
	if (!err)
		err = action_take(r);
	if (!err)
		err = streams_take(r);
	if (!err)
		err = times_take(r);
	return err ? conf_blame(r->conf, r->group, err, r->fault) : 0;
}

static int
group_read(struct scan_reading *r, const char *file)
{
	char line[sizeof *r->fault];
	int err;

	r->scan->line = config_setting_source_line(r->group);
	r->scan->file = strdup(file);
	if (!r->scan->file)
		return fault_no_memory(r->fault);
	err = group_fill(r);
	if (!err || err == -ENOMEM)
		return err;
	name_guess(r);
	fault_line(r->fault, line, sizeof line);
	snprintf(r->scan->why, SCAN_WHY, "%.*s", SCAN_WHY - 1, line);
	r->scan->state = SCAN_REFUSED;
	r->scan->wrong = true;
	return 0;
}

/* A file while it is read. */
struct scan_file {
	struct conf *conf;
	const char *name, *station; /* as scan_read() has them */
};

static int
group_add(struct scan_list *list, const struct scan_file *f,
	  config_setting_t *group, struct fault *fault)
{
	struct fault own = { 0 };
	struct scan_reading r = { .conf = f->conf,
				  .group = group,
				  .station = f->station,
				  .fault = &own };
	int err;

	if (is_of_others(group, f->station)) {
		list->others++;
		return 0;
	}
	r.scan = scan_new();
	err = r.scan ? group_read(&r, f->name) : -ENOMEM;
	if (!err)
		err = scan_list_add(list, r.scan);
	if (!err)
		return 0;
	scan_free(r.scan);
	return fault_no_memory(fault);
}

static int
no_scan(struct conf *conf, config_setting_t *s, struct fault *fault)
{
	const char *key = config_setting_name(s);

	fault_set(fault, -EINVAL, "conf", "%s: '%.80s' is no scan",
		  conf_where(conf, s), key ? key : "an element");
	fault_hint(fault, "a scan is a group, as r1 : { stream = \"dbbc3\"; "
			  "start = \"2026-11-20T10:00:00Z\"; duration = "
			  "\"5m\"; };");
	return -EINVAL;
}

/* Adds a group as a scan, or the groups of a list. */
static int
setting_add(struct scan_list *list, const struct scan_file *f,
	    config_setting_t *s, struct fault *fault)
{
	int n = config_setting_length(s), err = 0;

	if (config_setting_is_group(s))
		return group_add(list, f, s, fault);
	if (!config_setting_is_list(s))
		return no_scan(f->conf, s, fault);
	for (int i = 0; i < n && !err; i++) {
		config_setting_t *of = config_setting_get_elem(s, i);

		if (config_setting_is_group(of))
			err = group_add(list, f, of, fault);
		else
			err = no_scan(f->conf, of, fault);
	}
	return err;
}

static int
text_check(const char *file, const char *text, struct fault *fault)
{
	json_t *probe = json_string(text);

	json_decref(probe);
	return probe ? 0
		     : fault_set(fault, -EINVAL, "conf",
				 "%s: it is not text in UTF-8", file);
}

int
scan_read(struct scan_list *list, const char *file, const char *text,
	  const char *station, struct fault *fault)
{
	struct scan_file f = { .name = file, .station = station };
	config_setting_t *root;
	int err = text_check(file, text, fault);

	*list = (struct scan_list){ 0 };
	if (!err)
		err = conf_open_text(&f.conf, text, file, fault);
	if (err)
		return err;
	root = conf_root(f.conf);
	for (int i = 0; i < config_setting_length(root) && !err; i++)
		err = setting_add(list, &f, config_setting_get_elem(root, i),
				  fault);
	if (err)
		scan_list_clear(list);
	conf_close(f.conf);
	return err;
}
