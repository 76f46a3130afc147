/* SPDX-License-Identifier: MIT */
/*
 * Everything that can refuse a recording is checked before anything begins:
 * first the request itself, then memory and sockets for each of its streams.
 * After that nothing can fail.
 *
 * A name must be free on every disk, and a disk may hang just when it is asked.
 * So a thread looks at the disks (lookup.h), with a time limit.  For disks that
 * do not answer, the catalogue decides: it is a few seconds old at most, and
 * knows what was recorded here.  Should it be wrong, that disk refuses to make
 * a second folder of the name and takes no part.  If it is one that recorders
 * share, another one was faster, and the recording ends (session.c).
 */
#include "daemon/sessions/order.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"
#include "daemon/disks/name_lookup.h"
#include "daemon/sessions/report.h"
#include "net/address.h"
#include "store/disk/layout.h"

/* Writes the name of the recording of stream `i`, without the part of a split
 * stream: <name>, or <name>_ds<stream> with several streams. */
static void
order_base_name(const struct order *o, unsigned i, char name[SESSION_NAME])
{
	if (o->streams == 1)
		snprintf(name, SESSION_NAME, "%.79s", o->name);
	else
		snprintf(name, SESSION_NAME, "%.64s_ds%.70s", o->name,
			 o->stream[i]->name);
}

static int
taken(struct fault *fault, const char *name, const char *where)
{
	fault_set(fault, -EEXIST, "exists",
		  "cannot record %s: the name is taken", name);
	fault_why(fault, "%s", where);
	fault_hint(fault, "choose another name, or move that recording away");
	return -EEXIST;
}

/* True if a session uses the name.  A cancelled session leaves nothing on disk
 * and is about to go. */
static bool
is_recorded(const struct recorder *r, const char *name)
{
	for (const struct session *s = r->sessions; s; s = s->next) {
		if (!s->cancelled &&
		    (!strcmp(s->name, name) || !strcmp(s->group, name)))
			return true;
	}
	return false;
}

/* Lists the disks that do not hang.  Returns the path of a hung disk that has
 * the name according to the catalogue, or NULL. */
static const char *
disks_split(struct recorder *r, const char *name,
	    struct name_lookup_disks *disks)
{
	struct catalogue *known = catalogue_thread_get(r->catalogue);

	disks->n = 0;
	for (unsigned i = 0; i < r->disks.n; i++) {
		struct writer *w = disk_set_writer(&r->disks, i);
		struct writer_facts f;

		if (!w)
			continue;
		writer_facts(w, &f);
		if (f.state != WRITER_HUNG)
			disks->path[disks->n++] = disk_set_path(&r->disks, i);
		else if (catalogue_has(known, name,
				       disk_set_path(&r->disks, i)))
			return disk_set_path(&r->disks, i);
	}
	return NULL;
}

const char *
order_name_disk(struct recorder *r, const char *name)
{
	struct catalogue *known = catalogue_thread_get(r->catalogue);
	struct name_lookup_disks disks;
	bool has[DISK_SET_MOST];
	const char *hung = disks_split(r, name, &disks);
	unsigned looked =
	    hung ? 0 : name_lookup_find(r->lookup, &disks, name, has);

	for (unsigned i = 0; i < disks.n && !hung; i++) {
		if (i >= looked)
			has[i] = catalogue_has(known, name, disks.path[i]);
		if (has[i])
			return disks.path[i];
	}
	return hung;
}

/* Checks that the name is on no disk, and is neither recorded nor copied now
 * (then the folder may not be there yet).  With ORDER_RESUME the disks are not
 * asked: session_open looks at them. */
static int
name_free(struct recorder *r, const struct order *o, const char *name,
	  struct fault *fault)
{
	char where[4096];
	const char *disk;

	if (is_recorded(r, name))
		return taken(fault, name, "it is being recorded");
	if (r->hooks.comes(r->hooks.arg, name))
		return taken(fault, name, "a copy of that name comes in");
	disk = o->flags & ORDER_RESUME ? NULL : order_name_disk(r, name);
	if (!disk)
		return 0;
	snprintf(where, sizeof where, "it is on %s", disk);
	return taken(fault, name, where);
}

/* Checks `base` and the names of all parts of a split stream. */
static int
parts_free(struct recorder *r, const struct order *o, const char *base,
	   const struct stream *stream, struct fault *fault)
{
	char name[SESSION_NAME];
	int err = name_free(r, o, base, fault);

	for (unsigned i = 0; stream->split && i < stream->keys && !err; i++)
		err =
		    name_free(r, o, session_name(name, base, stream, i), fault);
	return err;
}

/* Checks the names of all streams. */
static int
names_free(struct recorder *r, const struct order *o, struct fault *fault)
{
	char name[SESSION_NAME];
	int err = 0;

	for (unsigned i = 0; i < o->streams && !err; i++) {
		order_base_name(o, i, name);
		err = parts_free(r, o, name, o->stream[i], fault);
	}
	return err;
}

/* Appends the first letter that makes the name free; in a name of full length
 * it replaces the last character. */
static int
name_letter(struct recorder *r, struct order *o, struct fault *fault)
{
	static const char letter[] = "abcdefghijklmnopqrstuvwxyz"
				     "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t at = strlen(o->name);
	char last;

	if (at == LAYOUT_NAME)
		at--;
	last = o->name[at];
	for (const char *c = letter; *c; c++) {
		struct fault one = { 0 };

		o->name[at] = *c;
		o->name[at + 1] = '\0';
		if (names_free(r, o, &one) != -EEXIST)
			return 0;
	}
	o->name[at] = last;
	fault_hint(fault,
		   "all of %s, %sa ... %sZ are taken: choose another "
		   "name",
		   o->name, o->name, o->name);
	return -EEXIST;
}

/*
 * Checks that the name is valid, and free for all streams and their parts.
 * With ORDER_RENAME a taken name is changed to a free one.  Returns 0, or
 * -errno with a fault.
 */
static int
order_name(struct order *o, struct recorder *r, struct fault *fault)
{
	const char *wrong = layout_name_fault(o->name);
	int err;

	if (wrong) {
		fault_set(fault, -EINVAL, "bad-name",
			  "cannot record under the name '%.80s'", o->name);
		fault_why(fault, "%s", wrong);
		fault_hint(fault, "a name is up to 64 of A-Z a-z 0-9 _ + -, "
				  "as in r4123_wz_123-0456");
		return -EINVAL;
	}
	err = names_free(r, o, fault);
	if (err == -EEXIST && o->flags & ORDER_RENAME)
		err = name_letter(r, o, fault);
	return err;
}

/* ---- checking -------------------------------------------------------- */

static int
usage(struct fault *fault, const char *what)
{
	return fault_set(fault, -EINVAL, "usage", "%s", what);
}

/* Returns a key's text, or NULL if the key is missing.  Any other type is
 * refused: ignoring a `for` that is a number would record for ever. */
static int
text_of(const json_t *request, const char *key, const char **text,
	struct fault *fault)
{
	const json_t *value = json_object_get(request, key);

	*text = json_string_value(value);
	if (!value || *text || json_is_null(value))
		return 0;
	return fault_set(fault, -EINVAL, "usage", "`%s` has to be a text", key);
}

static int
order_time(const json_t *request, struct order *o, struct fault *fault)
{
	const char *span, *until;
	int64_t now = clock_now(), ns = 0;

	if (text_of(request, "for", &span, fault) < 0 ||
	    text_of(request, "until", &until, fault) < 0)
		return -EINVAL;
	if (span && until)
		return usage(fault, "either `for` or `until`, not both");
	if (span && units_span(span, &ns) < 0) {
		fault_set(fault, -EINVAL, "usage", "'%s' is no span of time",
			  span);
		fault_hint(fault, "write it as 30s, 5m or 1h30m");
		return -EINVAL;
	}
	if (until && units_time(until, now, &ns) < 0) {
		fault_set(fault, -EINVAL, "usage", "'%s' is no time", until);
		fault_hint(fault, "write it as 2026-11-20T10:00:00Z, "
				  "2026y324d10h00m00s or +30s");
		return -EINVAL;
	}
	if (until)
		ns -= now;
	if ((span || until) && ns <= 0)
		return usage(fault, "that would be over before it begins");
	if (ns > INT64_MAX / 2)
		return usage(fault, "that is too far ahead");
	o->when.stop = span || until ? clock_steady() + ns : 0;
	return 0;
}

static int
order_streams(struct recorder *r, const json_t *request, struct order *o,
	      struct fault *fault)
{
	const json_t *list = json_object_get(request, "streams"), *item;
	bool varied = false;
	size_t i;

	json_array_foreach(list, i, item) {
		struct stream *s;
		int err;

		if (i >= sizeof o->stream / sizeof *o->stream)
			return usage(fault, "too many streams");
		err = setup_vary(&r->setup, item, disk_set_writers(&r->disks),
				 &s, fault);
		if (err)
			return err;
		varied |= json_is_object(item);
		for (unsigned k = 0; k < o->streams; k++) {
			if (o->stream[k] == s)
				return usage(fault, "the same stream twice");
		}
		o->stream[o->streams++] = s;
	}
	if (!o->streams)
		return usage(fault, "which stream? `streams` is missing");
	return varied
		   ? setup_streams_fit(&r->setup, o->stream, o->streams, fault)
		   : 0;
}

void
recorder_forget(struct recorder *r, const char *name)
{
	for (size_t i = json_array_size(r->ended); i--;) {
		const json_t *was =
		    json_object_get(json_array_get(r->ended, i), "name");

		if (!strcmp(json_string_value(was), name))
			json_array_remove(r->ended, i);
	}
}

/* Refuses a stream that is being recorded, unless it may be shared.  An armed
 * recording leaves its stream to others until it begins. */
static int
stream_free(struct recorder *r, const struct order *o,
	    const struct stream *stream, struct fault *fault)
{
	if (o->flags & ORDER_SHARE)
		return 0;
	for (const struct session *s = r->sessions; s; s = s->next) {
		/* Compare names: after a reload the stream may be another
		 * object. */
		if (strcmp(s->stream->name, stream->name) ||
		    s->state == SESSION_ARMED)
			continue;
		fault_set(fault, -EBUSY, "busy",
			  "stream %s is being recorded already", stream->name);
		fault_why(fault, "as %s", s->input->name);
		fault_hint(fault, "'spate stop %s' ends that", s->input->name);
		return -EBUSY;
	}
	return 0;
}

static int
disks_there(struct recorder *r, struct fault *fault)
{
	if (disk_set_writers(&r->disks))
		return 0;
	fault_set(fault, -ENODEV, "no-disk", "there is no disk to record on");
	fault_why(fault, "%s",
		  r->setup.no_disk.code ? r->setup.no_disk.what
					: "no pattern of `disks` matched");
	fault_hint(fault, "mount the disks: they join by themselves; or name a "
			  "folder to 'spate disks add'");
	return -ENODEV;
}

/* True if a running recording gives its memory back by the start of this scan,
 * or nearly so.  Then the scan is opened without memory: packets are counted
 * from its start on, and dropped until the memory is there.  Else an order
 * without memory is refused. */
static bool
memory_comes(const struct recorder *r, const struct order *o)
{
	int64_t begins = clock_steady();

	if (!o->scan)
		return false;
	if (o->when.start > begins && !o->when.data)
		begins = o->when.start;
	for (const struct session *s = r->sessions; s; s = s->next) {
		const struct time_window *g = &s->input->time_window;

		if (s->input->stopped ||
		    (!g->data && g->close <= begins + NS_SECOND))
			return true;
	}
	return false;
}

/* Returns the first address of `stream` that is also one of `other`; NULL: they
 * have none in common. */
static const char *
common_address(const struct stream *stream, const struct stream *other)
{
	struct address a, b;
	char why[256];

	for (unsigned i = 0; i < stream->listen.n; i++) {
		if (address_parse(&a, stream->listen.text[i], why, sizeof why))
			continue;
		for (unsigned k = 0; k < other->listen.n; k++) {
			if (!address_parse(&b, other->listen.text[k], why,
					   sizeof why) &&
			    address_overlaps(&a, &b))
				return stream->listen.text[i];
		}
	}
	return NULL;
}

/* Names the recording that has an address of `stream`, which is in use.  After
 * a reload it may be one of a stream of the same name. */
static void
address_blame(const struct recorder *r, const struct stream *stream,
	      struct fault *fault)
{
	for (const struct session *s = r->sessions; s; s = s->next) {
		const char *text = common_address(stream, s->stream);

		if (!text || s->stream == stream)
			continue;
		fault_why(fault, "recording %s receives on %s", s->name, text);
		fault_hint(fault, "'spate stop %s' ends that", s->group);
		return;
	}
}

/* Opens the parts of stream `i` and puts them before `list`. */
static int
stream_add(struct recorder *r, const struct order *o, unsigned i,
	   struct session **list, struct fault *fault)
{
	struct session *first, **end = &first;
	char name[SESSION_NAME];
	struct session_args args = { .name = name,
				     .when = o->when,
				     .scan = o->scan,
				     .later = memory_comes(r, o),
				     .resume = o->flags & ORDER_RESUME };
	int err;

	order_base_name(o, i, name);
	args.stream = o->stream[i];
	err = session_open(&first, &r->host, &args, fault);
	if (err == -EADDRINUSE)
		address_blame(r, args.stream, fault);
	if (err)
		return err;
	for (; *end; end = &(*end)->next) {
		snprintf((*end)->group, sizeof(*end)->group, "%.79s", o->name);
		(*end)->send = o->send ? strdup(o->send) : NULL;
		memcpy((*end)->by, o->by, sizeof o->by);
	}
	*end = *list;
	*list = first;
	return 0;
}

static void
ids_give(struct recorder *r, struct session *list)
{
	for (; list; list = list->next) {
		list->id = ++r->last_id;
		recorder_forget(r, list->name);
		if (list->state == SESSION_ARMED)
			log_line(LEVEL_INFO, list->name, "armed, of stream %s",
				 list->stream->name);
		else
			r->hooks.began(r->hooks.arg, list);
	}
}

/* Refuses an order with ORDER_RESUME if no disk has any of its recordings. */
static int
check_resumed(const struct order *o, const struct session *list,
	      struct fault *fault)
{
	if (!(o->flags & ORDER_RESUME))
		return 0;
	for (; list; list = list->next) {
		if (list->output->resumed)
			return 0;
	}
	fault_set(fault, -ENOENT, "not-found", "cannot go on with %s", o->name);
	fault_why(fault, "no disk has a recording of that name");
	fault_hint(fault, "record it without --resume");
	return -ENOENT;
}

/* Opens all streams before the first one begins, so that all are recorded or
 * none. */
int
order_begin(struct recorder *r, const struct order *o, struct fault *fault)
{
	struct session *new = NULL, **end = &new;
	const struct recording_input *input = NULL;
	int err = 0;

	for (unsigned i = 0; i < o->streams; i++)
		probes_step(r, o->stream[i]);
	for (unsigned i = o->streams; i-- && !err;)
		err = stream_add(r, o, i, &new, fault);
	if (!err)
		err = check_resumed(o, new, fault);
	if (err) {
		session_drop(new);
		if (err == -ENOMEM && r->hooks.yield(r->hooks.arg))
			fault_hint(
			    fault,
			    "relays were ended to free memory: try again");
		return err;
	}
	ids_give(r, new);
	for (; *end; end = &(*end)->next) {
		report_began(*end);
		if ((*end)->input != input)
			session_begin(*end);
		input = (*end)->input;
	}
	*end = r->sessions;
	r->sessions = new;
	return 0;
}

int
order_check(struct order *o, struct recorder *r, struct fault *fault)
{
	int err = 0;

	for (unsigned i = 0; i < o->streams && !err; i++)
		err = stream_free(r, o, o->stream[i], fault);
	if (!err)
		err = order_name(o, r, fault);
	return err ? err : disks_there(r, fault);
}

int
order_read(struct order *o, struct recorder *r, const json_t *request,
	   struct fault *fault)
{
	const char *name, *by;
	int err;

	*o = (struct order){ 0 };
	err = text_of(request, "name", &name, fault);
	if (!err)
		err = text_of(request, "by", &by, fault);
	if (!err && !name)
		err = usage(fault, "`name` is missing");
	if (!err)
		err = order_streams(r, request, o, fault);
	if (!err)
		err = order_time(request, o, fault);
	if (err)
		return err;
	snprintf(o->name, sizeof o->name, "%s", name);
	snprintf(o->by, sizeof o->by, "%s", by ? by : "");
	if (json_is_true(json_object_get(request, "resume")))
		o->flags |= ORDER_RESUME;
	if (json_is_true(json_object_get(request, "rename")))
		o->flags |= ORDER_RENAME;
	if (json_is_true(json_object_get(request, "share")))
		o->flags |= ORDER_SHARE;
	return text_of(request, "send", &o->send, fault);
}
