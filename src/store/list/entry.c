/* SPDX-License-Identifier: MIT */
/*
 * Three things are read of a recording, however long it is: from each disk the
 * last 64 bytes of its index, and from one disk the first and the last line of
 * the metadata.  In this way 10 000 recordings of a night's scans are read in a
 * second from memory, and in minutes from a spinning disk; their names are
 * known before that.
 *
 * Where it has parity, its lists are read, too: 64 bytes for each block and
 * row.  They say which blocks have how much, but neither where these are nor
 * whether their parity is good: `spate info` sees the one, and scrub the other.
 *
 * A block that two disks have and one that no disk has add up to the right
 * number of records.  That mistake is accepted here; `spate info` sees it.
 *
 * The lines between the first and the last are not read: for a night with 1 %
 * loss they are hundreds of megabytes.
 *
 * A folder's modification time changes when a file comes or goes, but not when
 * a file grows.  If a recording is one file, the length of that file is part of
 * the stamp.
 *
 * As JSON the keys are those of recording_info() where both have them; null
 * means unknown (yet).  Entries go through the socket as arrays, because keys
 * would be two thirds of the bytes, and more of the time.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/shape.h"
#include "base/text.h"
#include "base/units.h"
#include "store/disk/file.h"
#include "store/foreign/foreign.h"
#include "store/list/entry.h"
#include "store/parity/parity.h"
#include "store/record/index.h"
#include "store/recording/loss.h"
#include "store/recording/recording.h"

enum { HEAD_FIRST = 8 << 10, TAIL_FIRST = 4 << 10, LINE_MOST = 16 << 20 };

static const char tail_begin[] = "{\"end\":";

/* A number that changes when a recording changes on one disk. */
struct disk_stamp {
	uint64_t stamp;
	int64_t changed_ns; /* modification time of folder or file */
};

/* State of reading one entry. */
struct entry_look {
	struct entry *entry;
	const char *name;
	bool ended;
	struct index_record end;
	uint64_t records; /* on all disks, without the end records */
	bool locked;	  /* a writer holds the lock on an index */
	bool indexed;	  /* there is an index */
	json_t *head, *tail;
};

/* ---- stamps ------------------------------------------------------------ */

/* Opens the recording's folder on a disk, for stamp_look(); the caller closes
 * it.  Returns the descriptor or -errno. */
static int
stamp_dir(const struct disks *disks, unsigned disk, const char *name)
{
	if (disks->disk[disk].fd < 0)
		return -ENODEV;
	return layout_dir_open(disks->disk[disk].fd, name, DISK_LINKS);
}

/* Makes the stamp of that folder or, if dir is negative, of the file that
 * another program has instead.  False if the recording is not on this disk. */
static bool
stamp_look(struct disk_stamp *s, const struct disks *disks, unsigned disk,
	   const char *name, int dir)
{
	int fd = disks->disk[disk].fd;
	struct stat st;

	if (dir >= 0 ? file_stat(dir, &st) < 0
		     : fd < 0 || !foreign_stat(fd, name, &st))
		return false;
	s->changed_ns = st.st_mtim.tv_sec * NS_SECOND + st.st_mtim.tv_nsec;
	s->stamp = (uint64_t)s->changed_ns + st.st_ino;
	if (S_ISREG(st.st_mode))
		s->stamp += (uint64_t)st.st_size;
	return true;
}

uint64_t
entry_stamp(const struct disks *disks, const char *name)
{
	uint64_t stamp = 0;
	struct disk_stamp s;

	for (unsigned i = 0; i < disks->n && i < ENTRY_DISKS; i++) {
		int dir = stamp_dir(disks, i, name);

		if (stamp_look(&s, disks, i, name, dir))
			stamp += s.stamp;
		if (dir >= 0)
			file_close(dir);
	}
	return stamp;
}

uint64_t
entry_noted(const struct disks *disks, const char *name)
{
	char file[LAYOUT_FILE];
	uint64_t bytes = 0;
	struct stat st;

	for (unsigned i = 0; i < disks->n && i < ENTRY_DISKS; i++) {
		int dir = stamp_dir(disks, i, name);

		if (dir < 0)
			continue;
		if (!file_stat_at(dir, layout_index(file, name), &st,
				  AT_SYMLINK_NOFOLLOW))
			bytes += (uint64_t)st.st_size;
		file_close(dir);
	}
	return bytes;
}

/* ---- two lines of metadata --------------------------------------------- */

json_t *
entry_head(int fd)
{
	size_t room = HEAD_FIRST;
	json_t *head = NULL;
	char *text = NULL, *grown, *newline = NULL;
	ssize_t got;

	while (!newline && room <= LINE_MOST) {
		grown = realloc(text, room);
		if (!grown)
			break;
		text = grown;
		got = read_whole(fd, text, room, 0);
		if (got <= 0)
			break;
		newline = memchr(text, '\n', (size_t)got);
		if (!newline && (size_t)got < room)
			break;
		room *= 4;
	}
	if (newline)
		head = json_loadb(text, (size_t)(newline - text), 0, NULL);
	free(text);
	return head;
}

/* The last line of the text, if all of it is there; `all`: the text begins with
 * the file. */
static const char *
last_line(const char *text, size_t bytes, bool all, size_t *length)
{
	const char *begin;

	if (!bytes || text[bytes - 1] != '\n')
		return NULL;
	begin = memrchr(text, '\n', bytes - 1);
	if (!begin && !all)
		return NULL;
	begin = begin ? begin + 1 : text;
	*length = (size_t)(text + bytes - 1 - begin);
	return begin;
}

/* Parses the last line of an open metadata file, if that is the end line.  A
 * new reference; NULL if the line is missing or torn. */
static json_t *
entry_tail(int fd)
{
	const char *line = NULL;
	char *text = NULL, *grown;
	uint64_t want, size;
	json_t *tail = NULL;
	size_t length = 0;
	struct stat st;

	if (file_stat(fd, &st) < 0)
		return NULL;
	size = (uint64_t)st.st_size;
	for (want = TAIL_FIRST; !line && want <= LINE_MOST; want *= 8) {
		uint64_t from = size > want ? size - want : 0;
		ssize_t got;

		grown = realloc(text, want);
		if (!grown)
			break;
		text = grown;
		got = read_whole(fd, text, want, from);
		if (got <= 0 || text[got - 1] != '\n')
			break;
		line = last_line(text, (size_t)got, !from, &length);
		if (!from)
			break;
	}
	if (line && length >= sizeof tail_begin &&
	    !memcmp(line, tail_begin, sizeof tail_begin - 1))
		tail = json_loadb(line, length, 0, NULL);
	free(text);
	return tail;
}

/* ---- one disk ---------------------------------------------------------- */

static bool
has_file(int dir, const char *file)
{
	return !file_access_at(dir, file, F_OK, AT_SYMLINK_NOFOLLOW);
}

/* Reads the end of a disk's index.  A writer holds a lock on it; the lock is
 * tried before the end is read, so that a recording that is closed just now
 * does not look interrupted. */
static void
look_index(struct entry_look *l, int dir)
{
	uint8_t raw[INDEX_BYTES];
	char file[LAYOUT_FILE];
	struct index_record r;
	struct stat st;
	uint64_t n;
	int fd = disk_open_at(dir, layout_index(file, l->name), O_RDONLY,
			      DISK_NO_LINKS);

	if (fd < 0)
		return;
	l->indexed = true;
	if (file_lock(fd, LOCK_SH | LOCK_NB) < 0)
		l->locked = true;
	else
		file_lock(fd, LOCK_UN);
	if (file_stat(fd, &st) < 0)
		goto out;
	l->entry->noted += (uint64_t)st.st_size;
	n = (uint64_t)st.st_size / INDEX_BYTES;
	l->records += n;
	if (!n || st.st_size % INDEX_BYTES ||
	    read_whole(fd, raw, sizeof raw, (n - 1) * INDEX_BYTES) !=
		INDEX_BYTES ||
	    index_unpack(&r, raw) || r.kind != INDEX_END)
		goto out;
	l->records--;
	if (!l->ended || r.number > l->end.number)
		l->end = r;
	l->ended = true;
out:
	file_close(fd);
}

static void
look_meta(struct entry_look *l, int dir)
{
	char file[LAYOUT_FILE];
	int fd;

	if (l->head && (l->tail || !l->ended))
		return;
	fd = disk_open_at(dir, layout_meta(file, l->name), O_RDONLY,
			  DISK_NO_LINKS);
	if (fd < 0)
		return;
	if (!l->head)
		l->head = entry_head(fd);
	if (l->ended && !l->tail)
		l->tail = entry_tail(fd);
	file_close(fd);
}

static void
add_stamp(struct entry *e, const struct disk_stamp *stamp)
{
	if (!e->stamp)
		e->first = stamp->stamp;
	e->stamp += stamp->stamp;
	if (stamp->changed_ns > e->changed_ns)
		e->changed_ns = stamp->changed_ns;
}

static void
look_marks(struct entry *e, int dir, const char *name)
{
	char file[LAYOUT_FILE];

	e->protected |= has_file(dir, layout_protect(file, name));
	if (has_file(dir, layout_removing(file, name)))
		e->state = ENTRY_REMOVING;
}

static void
look_disk(struct entry_look *l, const struct disks *disks, unsigned disk)
{
	int dir = stamp_dir(disks, disk, l->name);
	struct entry *e = l->entry;
	struct disk_stamp stamp;

	if (stamp_look(&stamp, disks, disk, l->name, dir))
		add_stamp(e, &stamp);
	if (dir < 0)
		return;
	e->disk[disk / 64] |= UINT64_C(1) << disk % 64;
	look_marks(e, dir, l->name);
	look_index(l, dir);
	look_meta(l, dir);
	file_close(dir);
}

/* ---- what it adds up to ------------------------------------------------ */

static void
take_text(char to[ENTRY_TEXT], const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	snprintf(to, ENTRY_TEXT, "%s", text ? text : "");
}

static uint64_t
number_of(const json_t *object, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(object, key));

	return n > 0 ? (uint64_t)n : 0;
}

int64_t
entry_begun(const json_t *head)
{
	const char *start = json_string_value(json_object_get(head, "start"));
	int64_t ns;

	return !start || units_time(start, 0, &ns) ? 0 : ns;
}

/* Takes what a list needs of the head; whether the rest is right is for
 * recording_open() to judge. */
static void
take_form(struct entry *e, const json_t *head)
{
	const json_t *shape = json_object_get(head, "shape");
	const char *store = json_string_value(json_object_get(shape, "store"));
	const char *extension =
	    json_string_value(json_object_get(head, "extension"));

	if (extension && layout_extension_good(extension))
		strcpy(e->extension, extension);
	e->payload = (uint32_t)number_of(shape, "payload");
	e->store = HEAP_NONE;
	if (store && shape_store_parse(&e->store, store))
		e->store = HEAP_NONE;
}

static void
take_head(struct entry *e, const json_t *head)
{
	take_text(e->stream, head, "stream");
	take_text(e->format, head, "format");
	take_text(e->layout, head, "layout");
	take_form(e, head);
	e->begun_ns = e->start_ns = e->end_ns = entry_begun(head);
	if (number_of(head, "subs") > 1 &&
	    number_of(head, "subs") <= UINT16_MAX)
		e->subs = (unsigned)number_of(head, "subs");
}

static void
take_failure(struct entry *e, bool failed, const char *reason)
{
	if (e->state != ENTRY_COMPLETE || !failed)
		return;
	e->state = ENTRY_FAILED;
	snprintf(e->why, sizeof e->why, "%s", reason ? reason : "");
}

/* Returns how many rows of parity the block has that has the least, by the
 * lists: the recording has that many blocks, and all of them are here. */
static unsigned
parity_least(const struct parity_table *t, uint64_t blocks, unsigned rows)
{
	uint64_t last = UINT64_MAX, seen = 0;

	for (size_t i = 0; i < t->numbers; i++) {
		const struct parity_member *m = &t->by_number[i];
		unsigned has;

		if (m->number == last) /* of an older group */
			continue;
		last = m->number;
		seen++;
		has = parity_rows(t, m);
		rows = has < rows ? has : rows;
	}
	return seen < blocks ? 0 : rows;
}

static unsigned
parity_left(const struct entry_look *l, const struct disks *disks)
{
	unsigned rows = (unsigned)number_of(l->head, "parity");
	struct parity_table t = { 0 };
	char file[LAYOUT_FILE];
	int err = 0;

	layout_parity_list(file, l->name);
	for (unsigned i = 0; rows && i < disks->n && i < ENTRY_DISKS; i++) {
		int dir = entry_has(l->entry, i) ? stamp_dir(disks, i, l->name)
						 : -ENOENT;
		int fd = dir < 0
			     ? dir
			     : disk_open_at(dir, file, O_RDONLY, DISK_NO_LINKS);
		uint64_t at = 0;

		/* Parity that cannot be read counts as none. */
		if (fd >= 0 && parity_read(&t, fd, i, &at) == -ENOMEM)
			err = -ENOMEM;
		if (fd >= 0)
			file_close(fd);
		if (dir >= 0)
			file_close(dir);
	}
	if (rows && !err)
		err = parity_sort(&t);
	if (rows && !err)
		rows = parity_least(&t, l->records, rows);
	parity_clear(&t);
	return err ? 0 : rows;
}

/* Takes the totals that the daemon wrote into the end line.  False if they do
 * not hold: records are missing here, or some are gaps. */
static bool
take_totals(struct entry_look *l, const struct disks *disks)
{
	const json_t *end = json_object_get(l->tail, "end");
	struct entry *e = l->entry;

	if (!l->ended || !l->head || l->records != l->end.number ||
	    !json_is_integer(json_object_get(end, "bytes")) ||
	    number_of(end, "chunks") != l->records)
		return false;
	e->state = ENTRY_COMPLETE;
	take_failure(e, recording_failed(l->tail),
		     json_string_value(json_object_get(end, "reason")));
	e->counted = true;
	e->bytes = number_of(end, "bytes");
	e->packets = number_of(end, "packets");
	e->missing = loss_count(end, e->packets, 0);
	e->parity = parity_left(l, disks);
	if (json_array_size(json_object_get(end, "subs")))
		e->subs =
		    (unsigned)json_array_size(json_object_get(end, "subs"));
	e->start_ns = l->end.first_ns ? l->end.first_ns : e->start_ns;
	e->end_ns = l->end.last_ns ? l->end.last_ns : e->start_ns;
	return true;
}

static void
take_facts(struct entry *e, const struct recording_facts *f)
{
	static const enum entry_state state[] = {
		[RECORDING_COMPLETE] = ENTRY_COMPLETE,
		[RECORDING_LIVE] = ENTRY_LIVE,
		[RECORDING_INTERRUPTED] = ENTRY_INTERRUPTED,
	};

	e->state = state[f->state];
	take_failure(e, f->failed, f->reason);
	e->counted = true;
	snprintf(e->stream, sizeof e->stream, "%s", f->stream);
	snprintf(e->format, sizeof e->format, "%s", f->format);
	take_text(e->layout, f->head, "layout");
	snprintf(e->extension, sizeof e->extension, "%s", f->extension);
	e->payload = f->payload;
	e->store = f->store;
	e->begun_ns = entry_begun(f->head);
	e->foreign = f->notes != NULL;
	e->start_ns = f->start_ns;
	e->end_ns = f->end_ns;
	e->bytes = f->bytes;
	e->packets = f->packets;
	e->missing = f->missing;
	e->absent = f->absent;
	e->subs = f->subs;
	/* The recording has as much parity as its chunk with the least. */
	if (f->protected == f->chunks)
		e->parity = f->parity;
	else
		e->parity = f->protected + f->weakened == f->chunks;
}

/* Opens the recording, which reads every record of every disk. */
static void
look_whole(struct entry_look *l, const struct disks *disks)
{
	struct entry *e = l->entry;
	const struct recording_block *block;
	struct recording *rec;
	struct fault fault;
	size_t n;

	if (recording_open(&rec, disks, l->name, &fault) < 0) {
		e->state = ENTRY_UNREADABLE;
		snprintf(e->what, sizeof e->what, "%.159s", fault.what);
		snprintf(e->why, sizeof e->why, "%.159s", fault.why);
		return;
	}
	take_facts(e, recording_facts(rec));
	block = recording_blocks(rec, &n);
	for (size_t i = 0; i < n; i++) {
		if (block[i].disk >= 0 && !block[i].computed &&
		    block[i].disk < ENTRY_DISKS)
			e->disk[block[i].disk / 64] |= UINT64_C(1)
						       << block[i].disk % 64;
	}
	recording_close(rec);
}

static void
add_up(struct entry_look *l, const struct disks *disks, enum entry_live live,
       struct entry_work *work)
{
	struct entry *e = l->entry;

	take_head(e, l->head);
	work->entries++;
	if (e->state == ENTRY_REMOVING)
		return;
	if (!l->ended &&
	    (live == ENTRY_BY_SESSION || (live == ENTRY_SKIP && l->locked))) {
		e->state = ENTRY_LIVE;
		return;
	}
	if (take_totals(l, disks))
		return;
	work->whole++;
	look_whole(l, disks);
}

/* Looks for another program's recording, if there is neither index nor
 * metadata. */
static bool
find_foreign(struct entry_look *l, const struct disks *disks)
{
	uint64_t has[ENTRY_DISKS / 64] = { 0 };
	bool any = false;

	for (unsigned i = 0; i < disks->n && i < ENTRY_DISKS; i++) {
		if (disks->disk[i].fd < 0 ||
		    !foreign_on(disks->disk[i].fd, l->name))
			continue;
		has[i / 64] |= UINT64_C(1) << i % 64;
		any = true;
	}
	if (any)
		memcpy(l->entry->disk, has, sizeof has);
	return any;
}

static void
stamp_all(struct entry *e, const struct disks *disks, const char *name)
{
	struct disk_stamp stamp;

	for (unsigned i = 0; i < disks->n && i < ENTRY_DISKS; i++) {
		int dir = stamp_dir(disks, i, name);

		if (stamp_look(&stamp, disks, i, name, dir))
			add_stamp(e, &stamp);
		if (dir < 0)
			continue;
		look_marks(e, dir, name);
		file_close(dir);
	}
}

/* Reads another program's recording that is a file and not a folder. */
static bool
look_file(struct entry_look *l, const struct disks *disks,
	  struct entry_work *work)
{
	struct entry *e = l->entry;

	look_whole(l, disks);
	if (e->state == ENTRY_UNREADABLE)
		return false;
	work->entries++;
	work->whole++;
	return true;
}

int
entry_read(struct entry *e, const struct disks *disks, const char *name,
	   enum entry_live live, struct entry_work *work)
{
	struct entry_look l = { .entry = e, .name = name };
	struct entry_work none = { 0 };
	bool any = false;

	*e = (struct entry){ .subs = 1 };
	if (!layout_folder_good(name) && !foreign_name_good(name))
		return -ENOENT;
	strcpy(e->name, name);
	for (unsigned i = 0; i < disks->n && i < ENTRY_DISKS; i++) {
		if (!layout_folder_good(name))
			break;
		look_disk(&l, disks, i);
		any |= entry_has(e, i);
	}
	if (!layout_folder_good(name))
		stamp_all(e, disks, name);
	if (!l.indexed && !l.head && live != ENTRY_BY_SESSION &&
	    find_foreign(&l, disks))
		any = true;
	if (any)
		add_up(&l, disks, live, work ? work : &none);
	else
		any = look_file(&l, disks, work ? work : &none);
	json_decref(l.head);
	json_decref(l.tail);
	return any ? 0 : -ENOENT;
}

/* ---- as objects -------------------------------------------------------- */

const char *
entry_state_show(enum entry_state state)
{
	static const char *const text[] = {
		[ENTRY_UNREAD] = "unread",
		[ENTRY_COMPLETE] = "complete",
		[ENTRY_LIVE] = "recording",
		[ENTRY_INTERRUPTED] = "interrupted",
		[ENTRY_UNREADABLE] = "unreadable",
		[ENTRY_REMOVING] = "removing",
		[ENTRY_FAILED] = "failed",
	};

	return text[state];
}

#define X(...) KEY_ENTRY(struct entry_report, __VA_ARGS__)
const struct key entry_keys[] = { ENTRY_KEYS(X){ .name = NULL } };
#undef X

static json_t *
disks_json(const struct entry *e, const struct disks *disks)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < disks->n; i++) {
		if (entry_has(e, i))
			json_array_append_new(list,
					      text_json(disks->disk[i].path));
	}
	return list;
}

json_t *
entry_json(const struct entry *e, const struct disks *disks)
{
	bool failed = e->state == ENTRY_FAILED;
	bool unreadable = e->state == ENTRY_UNREADABLE;
	bool read = e->state != ENTRY_UNREAD && !unreadable;
	const struct entry_report report = {
		.name = e->name,
		.state = entry_state_show(e->state),
		.start = e->start_ns,
		.end = e->end_ns,
		.bytes = e->counted ? e->bytes : KEY_UNKNOWN,
		.packets = e->counted ? e->packets : KEY_UNKNOWN,
		.packets_lost = e->counted ? e->missing : KEY_UNKNOWN,
		.absent = e->counted ? e->absent : KEY_UNKNOWN,
		.disks = disks_json(e, disks),
		.protected = e->protected,
		.substreams = e->subs,
		.parity = e->parity,
		.stream = read ? e->stream : NULL,
		.format = read ? e->format : NULL,
		.layout = !read		 ? NULL
			  : e->layout[0] ? e->layout
					 : "vbs",
		.what = unreadable ? e->what : NULL,
		.why = unreadable || failed ? e->why : NULL,
	};

	return keys_json(entry_keys, &report, 1);
}

/* ---- as arrays --------------------------------------------------------- */

enum {
	AT_NAME,
	AT_STATE,
	AT_START,
	AT_END,
	AT_BYTES,
	AT_PACKETS,
	AT_MISSING,
	AT_ABSENT,
	AT_SUBS,
	AT_PROTECTED,
	AT_PARITY,
	AT_DISKS,
	AT_STREAM,
	AT_FORMAT,
	AT_LAYOUT,
	AT_WHAT,
	AT_WHY,
};

enum { WORDS = ENTRY_DISKS / 64, HEX = 16 };

static void
disks_show(char text[WORDS * HEX + 1], const uint64_t disk[WORDS])
{
	unsigned words = WORDS;
	size_t at;

	while (words > 1 && !disk[words - 1])
		words--;
	at = (size_t)sprintf(text, "%" PRIx64, disk[--words]);
	while (words--)
		at += (size_t)sprintf(text + at, "%016" PRIx64, disk[words]);
}

/* Parses a bit mask in hex.  False if it is none. */
static bool
disks_read(const char *text, uint64_t disk[WORDS])
{
	size_t length = strlen(text);

	memset(disk, 0, WORDS * sizeof *disk);
	if (!length || length > WORDS * HEX ||
	    text[strspn(text, "0123456789abcdef")])
		return false;
	for (unsigned word = 0; length; word++) {
		size_t n = length < HEX ? length : HEX;
		char part[HEX + 1] = "";

		length -= n;
		memcpy(part, text + length, n);
		disk[word] = strtoull(part, NULL, 16);
	}
	return true;
}

/* text_json() makes the text valid UTF-8: it comes from files, and may have
 * been cut. */
static int
add_text(json_t *row, const char *text)
{
	return json_array_append_new(row, text_json(text));
}

static const char *
text_at(const struct entry *e, unsigned at)
{
	switch (at) {
	case AT_STREAM: return e->stream;
	case AT_FORMAT: return e->format;
	case AT_LAYOUT: return e->layout;
	case AT_WHAT: return e->what;
	default: return e->why;
	}
}

static int
add_texts(json_t *row, const struct entry *e)
{
	unsigned end = AT_WHY + 1;
	int err = 0;

	while (end > AT_STREAM && !*text_at(e, end - 1))
		end--;
	for (unsigned at = AT_STREAM; at < end && !err; at++)
		err = add_text(row, text_at(e, at));
	return err;
}

json_t *
entry_row(const struct entry *e)
{
	char disks[WORDS * HEX + 1];
	json_t *row;

	disks_show(disks, e->disk);
	row = json_pack(
	    "[o, i, I, I, o, I, I, I, i, i, i, s]", text_json(e->name),
	    (int)e->state, (json_int_t)e->start_ns, (json_int_t)e->end_ns,
	    e->counted ? json_integer((json_int_t)e->bytes) : json_null(),
	    (json_int_t)e->packets, (json_int_t)e->missing,
	    (json_int_t)e->absent, (int)e->subs, (int)e->protected,
	    (int)e->parity, disks);
	if (row && !add_texts(row, e))
		return row;
	json_decref(row);
	return NULL;
}

static int64_t
read_number(const json_t *row, unsigned at)
{
	return json_integer_value(json_array_get(row, at));
}

static void
read_text(char *to, size_t room, const json_t *row, unsigned at)
{
	const char *text = json_string_value(json_array_get(row, at));

	snprintf(to, room, "%s", text ? text : "");
}

int
entry_from_row(struct entry *e, const json_t *row)
{
	const char *disks = json_string_value(json_array_get(row, AT_DISKS));
	int64_t state = read_number(row, AT_STATE);

	*e = (struct entry){ 0 };
	if (state < ENTRY_UNREAD || state >= ENTRY_STATES || !disks ||
	    !disks_read(disks, e->disk))
		return -EINVAL;
	e->state = (enum entry_state)state;
	e->start_ns = read_number(row, AT_START);
	e->end_ns = read_number(row, AT_END);
	e->counted = json_is_integer(json_array_get(row, AT_BYTES));
	e->bytes = (uint64_t)read_number(row, AT_BYTES);
	e->packets = (uint64_t)read_number(row, AT_PACKETS);
	e->missing = (uint64_t)read_number(row, AT_MISSING);
	e->absent = (uint64_t)read_number(row, AT_ABSENT);
	e->subs = (unsigned)read_number(row, AT_SUBS);
	e->protected = read_number(row, AT_PROTECTED);
	e->parity = (unsigned)read_number(row, AT_PARITY);
	read_text(e->name, sizeof e->name, row, AT_NAME);
	read_text(e->stream, sizeof e->stream, row, AT_STREAM);
	read_text(e->format, sizeof e->format, row, AT_FORMAT);
	read_text(e->layout, sizeof e->layout, row, AT_LAYOUT);
	read_text(e->what, sizeof e->what, row, AT_WHAT);
	read_text(e->why, sizeof e->why, row, AT_WHY);
	return 0;
}

static bool
same_texts(const struct entry *a, const struct entry *b)
{
	return !strcmp(a->name, b->name) && !strcmp(a->stream, b->stream) &&
	       !strcmp(a->format, b->format) && !strcmp(a->layout, b->layout) &&
	       !strcmp(a->what, b->what) && !strcmp(a->why, b->why) &&
	       !strcmp(a->extension, b->extension);
}

static bool
same_counts(const struct entry *a, const struct entry *b)
{
	return a->counted == b->counted && a->start_ns == b->start_ns &&
	       a->end_ns == b->end_ns && a->bytes == b->bytes &&
	       a->packets == b->packets && a->missing == b->missing &&
	       a->absent == b->absent && a->subs == b->subs;
}

bool
entry_same(const struct entry *a, const struct entry *b)
{
	return a->state == b->state && same_texts(a, b) && same_counts(a, b) &&
	       a->protected == b->protected && a->parity == b->parity &&
	       !memcmp(a->disk, b->disk, sizeof a->disk) &&
	       a->stamp == b->stamp && a->first == b->first &&
	       a->changed_ns == b->changed_ns && a->begun_ns == b->begun_ns &&
	       a->foreign == b->foreign && a->payload == b->payload &&
	       a->store == b->store;
}
