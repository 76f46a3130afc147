/* SPDX-License-Identifier: MIT */
/*
 * Cubes of several channels are written as pipelines behind a correlator read
 * them:
 *
 *   <name>_t0002-0009_c0000-0003.dat            for each time, for each
 *                                               channel: one item
 *   <name>_t0002-0009_c0000-0003.presence.json  what of it is there
 *
 * Both pairs of numbers are the first and the last; times are absolute,
 * channels are substreams.  Files of times begin at multiples of
 * --times-per-file.  A span that is not the first (see store/read/cube.h) has
 * its number in the name, as <name>_r1_t0002-....
 *
 * Missing items are holes in the file and read as zeros; the presence file
 * tells them from zeros that were sent.  It is written while the file is written;
 * memory holds one number for each channel, however long the recording is.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/export.h"
#include "store/disk/file.h"
#include "store/read/cube.h"

/* ---- presence --------------------------------------------------------- */

/*
 * The presence file tells which items of an exported cube file are data.  It is
 * one JSON object:
 *
 *   {"missing":[
 *    {"channel":3,"times":[2,5]},
 *    {"channel":1,"times":[7,7],"bytes":[[1432,2864]]},
 *    {"channel":2,"times":[8,8],"unknown":true}],
 *    "spate":1,"recording":NAME,"file":FILE,"times":[2,9],"channels":[0,3],
 *    "item_bytes":4465152,"whole":26,"part":2,"absent":4}
 *
 * An entry without "bytes" lacks the whole item; "bytes" lists offsets and
 * lengths within the item; "unknown" means that something is missing and it is
 * not known what.  Items that are not listed are complete.
 */
struct presence {
	unsigned first, channels;
	uint64_t item_bytes;

	/* Used by the functions below; the counts may be read. */
	FILE *to;
	/*
	 * for each channel: the first time of the present stretch of absent
	 * items
	 */
	uint64_t *since;
	const char *between;
	uint64_t whole, part, absent; /* counts of items */
};

#define NONE UINT64_MAX

/* Closes an unfinished presence file and frees its memory. */
static void
presence_drop(struct presence *m)
{
	if (m->to)
		fclose(m->to);
	free(m->since);
	m->to = NULL;
	m->since = NULL;
}

/*
 * Begins a presence file; the fields down to item_bytes must be set.  The
 * descriptor stays the caller's.  Returns 0 or -ENOMEM.
 */
static int
presence_begin(struct presence *m, int fd)
{
	int own = dup(fd);

	m->since = malloc(m->channels * sizeof *m->since);
	m->to = own < 0 ? NULL : fdopen(own, "w");
	if (!m->to && own >= 0)
		close(own);
	if (!m->to || !m->since) {
		presence_drop(m);
		return -ENOMEM;
	}
	for (unsigned c = 0; c < m->channels; c++)
		m->since[c] = NONE;
	m->between = "\n ";
	m->whole = m->part = m->absent = 0;
	fputs("{\"missing\":[", m->to);
	return 0;
}

static void
entry(struct presence *m, unsigned channel, uint64_t first, uint64_t last)
{
	fprintf(m->to, "%s{\"channel\":%u,\"times\":[%" PRIu64 ",%" PRIu64 "]",
		m->between, channel, first, last);
	m->between = ",\n ";
}

/* Writes the stretch of absent items that ended before `time`. */
static void
present(struct presence *m, unsigned channel, uint64_t time)
{
	uint64_t *since = &m->since[channel - m->first];

	if (*since == NONE)
		return;
	entry(m, channel, *since, time - 1);
	putc('}', m->to);
	*since = NONE;
}

/*
 * Notes an absent item. presence_absent() and presence_item() are called once
 * for each item, for each channel in order of time.
 */
static void
presence_absent(struct presence *m, unsigned channel, uint64_t time)
{
	uint64_t *since = &m->since[channel - m->first];

	m->absent++;
	if (*since == NONE)
		*since = time;
}

/*
 * Writes the missing ranges of an item; `lacking` bytes at its end are one
 * more.
 */
static void
ranges(struct presence *m, const struct cube_item *item, uint64_t lacking)
{
	uint64_t there = m->item_bytes - lacking;
	const char *between = "";

	fputs(",\"bytes\":[", m->to);
	for (size_t i = 0; i < item->n; i++) {
		if (item->missing[i].at >= there)
			continue;
		fprintf(m->to, "%s[%" PRIu64 ",%" PRIu64 "]", between,
			item->missing[i].at, item->missing[i].bytes);
		between = ",";
	}
	if (lacking)
		fprintf(m->to, "%s[%" PRIu64 ",%" PRIu64 "]", between, there,
			lacking);
	putc(']', m->to);
}

/* Notes an item that is there; `lacking` bytes at its end could not be read. */
static void
presence_item(struct presence *m, unsigned channel, uint64_t time,
	      const struct cube_item *item, uint64_t lacking)
{
	present(m, channel, time);
	if (item->state == CUBE_WHOLE && !lacking) {
		m->whole++;
		return;
	}
	m->part++;
	entry(m, channel, time, time);
	if (item->state == CUBE_UNKNOWN)
		fputs(",\"unknown\":true", m->to);
	else
		ranges(m, item, lacking);
	putc('}', m->to);
}

/*
 * Ends the presence file, with `last` as its last time.  Adds the keys of
 * `head`, and takes it over.  Returns 0 or -errno.
 */
static int
presence_end(struct presence *m, uint64_t last, json_t *head)
{
	char *text;
	int err = 0;

	for (unsigned c = m->first; c < m->first + m->channels; c++)
		present(m, c, last + 1);
	text = json_dumps(head, JSON_COMPACT);
	json_decref(head);
	if (!text) {
		presence_drop(m);
		return -ENOMEM;
	}
	fprintf(m->to, "],\n %s\n", text + 1); /* without the opening brace */
	free(text);
	if (ferror(m->to))
		err = -EIO;
	if (fclose(m->to) != 0 && !err)
		err = -errno;
	m->to = NULL;
	presence_drop(m);
	return err;
}

/* One file and its presence file. */
struct cube_file {
	struct exporter *e;
	struct cube *cube;
	size_t span;
	uint64_t t0, t1; /* first and last time, both included */
	unsigned c0, c1;
	char path[EXPORT_PATH], presence_path[EXPORT_PATH];
	struct export_file file, presence_file;
	struct presence presence;
	uint64_t filled;
	char *piece; /* PIECE bytes: a part of an item */
};

enum { PIECE = 8 << 20 };

static uint32_t
item_bytes(const struct cube_file *p)
{
	return recording_facts(p->e->rec)->payload;
}

/* ---- the items ---------------------------------------------------------- */

/*
 * Copies an item to a place in the file; *lacking counts the bytes that could
 * not be read.
 */
static int
copy_item(struct cube_file *p, uint64_t from, uint64_t to, uint64_t *lacking,
	  struct fault *fault)
{
	struct exporter *e = p->e;
	uint64_t left = item_bytes(p);
	int err = 0;

	while (left && !err) {
		size_t want = left < PIECE ? left : PIECE;
		ssize_t n =
		    recording_read(e->rec, p->piece, want, from, lacking);

		if (n <= 0) {
			n = n ? n : -EIO;
			fault_set(fault, (int)n, "io", "cannot read %s",
				  recording_facts(e->rec)->name);
			fault_why(fault, "%s", strerror(-(int)n));
			return (int)n;
		}
		err = write_whole(p->file.fd, p->piece, (size_t)n, to);
		if (err)
			export_fault(p->path, err, fault);
		from += (uint64_t)n;
		to += (uint64_t)n;
		left -= (uint64_t)n;
		e->read += (uint64_t)n;
	}
	progress_show(&e->progress, e->read);
	return err;
}

static int
part_item(struct cube_file *p, unsigned c, uint64_t time, struct fault *fault)
{
	uint64_t channels = p->c1 - p->c0 + 1, lacking = 0;
	uint64_t place = (time - p->t0) * channels + (c - p->c0);
	struct cube_item item;
	int err = cube_find(p->cube, p->span, c, time, &item);

	if (err)
		return fault_set(fault, err, "no-memory", "no memory");
	if (item.state == CUBE_ABSENT) {
		presence_absent(&p->presence, c, time);
		return 0;
	}
	recording_select(p->e->rec, c);
	err = copy_item(p, item.offset, place * item_bytes(p), &lacking, fault);
	p->filled += lacking;
	if (lacking >= item_bytes(p))
		presence_absent(&p->presence, c, time);
	else
		presence_item(&p->presence, c, time, &item, lacking);
	return err;
}

/* ---- the files ---------------------------------------------------------- */

static int
digits(uint64_t n)
{
	char text[24];
	int width = snprintf(text, sizeof text, "%" PRIu64, n);

	return width > 4 ? width : 4;
}

static int
part_name(struct cube_file *p, uint64_t last_time)
{
	const struct recording_facts *facts = recording_facts(p->e->rec);
	int tw = digits(last_time), cw = digits(facts->subs - 1), n;
	char run[24] = "";

	if (p->span)
		snprintf(run, sizeof run, "_r%zu", p->span);
	n = snprintf(p->path, sizeof p->path - sizeof ".presence.json",
		     "%s/%s%s_t%0*" PRIu64 "-%0*" PRIu64 "_c%0*u-%0*u.dat",
		     p->e->file, facts->name, run, tw, p->t0, tw, p->t1, cw,
		     p->c0, cw, p->c1);
	if (n >= (int)(sizeof p->path - sizeof ".presence.json"))
		return -ENAMETOOLONG;
	snprintf(p->presence_path, sizeof p->presence_path,
		 "%.*s.presence.json", n - 4, p->path);
	return 0;
}

static int
part_open(struct cube_file *p, struct fault *fault)
{
	bool force = p->e->args->force;
	int err = export_open(&p->file, p->path, force, fault);

	if (err)
		return err;
	err = export_open(&p->presence_file, p->presence_path, force, fault);
	if (err) {
		export_drop(&p->file);
		return err;
	}
	p->presence = (struct presence){ .first = p->c0,
					 .channels = p->c1 - p->c0 + 1,
					 .item_bytes = item_bytes(p) };
	err = presence_begin(&p->presence, p->presence_file.fd);
	if (!err)
		return 0;
	export_drop(&p->file);
	export_drop(&p->presence_file);
	return fault_set(fault, err, "no-memory", "no memory");
}

/* Returns the facts that both the presence file and the --json line have. */
static json_t *
part_json(const struct cube_file *p)
{
	return json_pack(
	    "{s:[I,I] s:[i,i] s:I s:I s:I}", "times", (json_int_t)p->t0,
	    (json_int_t)p->t1, "channels", (int)p->c0, (int)p->c1, "whole",
	    (json_int_t)p->presence.whole, "part", (json_int_t)p->presence.part,
	    "absent", (json_int_t)p->presence.absent);
}

static json_t *
presence_json(const struct cube_file *p)
{
	json_t *head = part_json(p);

	json_object_set_new(head, "spate", json_integer(1));
	json_object_set_new(head, "recording",
			    json_string(recording_facts(p->e->rec)->name));
	json_object_set_new(head, "file", text_json(strrchr(p->path, '/') + 1));
	json_object_set_new(head, "item_bytes", json_integer(item_bytes(p)));
	return head;
}

static int
part_close(struct cube_file *p, struct fault *fault)
{
	uint64_t items = (p->t1 - p->t0 + 1) * (p->c1 - p->c0 + 1);
	int err = presence_end(&p->presence, p->t1, presence_json(p));

	if (err)
		return export_fault(p->presence_path, err, fault);
	if (ftruncate(p->file.fd, (off_t)(items * item_bytes(p))) < 0)
		return export_fault(p->path, -errno, fault);
	p->e->bytes += items * item_bytes(p);
	p->e->filled += p->filled;
	p->e->files++;
	err = export_close(&p->file, fault);
	return err ? err : export_close(&p->presence_file, fault);
}

static void
part_tell(const struct cube_file *p)
{
	json_t *line = part_json(p);
	uint64_t items = (p->t1 - p->t0 + 1) * (p->c1 - p->c0 + 1);
	struct recording_mended mended = recording_mended(p->e->rec);

	p->e->damaged = mended.damaged;
	json_object_set_new(line, "file", text_json(p->path));
	json_object_set_new(line, "presence", text_json(p->presence_path));
	json_object_set_new(line, "bytes",
			    json_integer((json_int_t)(items * item_bytes(p))));
	json_object_set_new(line, "filled",
			    json_integer((json_int_t)p->filled));
	json_object_set_new(line, "healed",
			    json_integer((json_int_t)mended.healed));
	json_object_set_new(line, "damaged",
			    json_integer((json_int_t)mended.damaged));
	export_tell(p->e, line);
}

static int
part_write(struct cube_file *p, struct fault *fault)
{
	int err = part_open(p, fault);

	if (err)
		return err;
	for (uint64_t t = p->t0; t <= p->t1 && !err; t++)
		for (unsigned c = p->c0; c <= p->c1 && !err; c++)
			err = part_item(p, c, t, fault);
	progress_hide(&p->e->progress);
	if (!err)
		err = part_close(p, fault);
	if (!err) {
		part_tell(p);
		return 0;
	}
	presence_drop(&p->presence);
	export_drop(&p->file);
	export_drop(&p->presence_file);
	return err;
}

/* Writes the files of all channels for times t0 to t1. */
static int
write_times(struct cube_file *p, unsigned channels, uint64_t last_time,
	    struct fault *fault)
{
	unsigned subs = recording_facts(p->e->rec)->subs;
	int err = 0;

	for (p->c0 = 0; p->c0 < subs && !err; p->c0 += channels) {
		unsigned left = subs - p->c0;

		p->c1 = p->c0 + (left < channels ? left : channels) - 1;
		p->filled = 0;
		err = part_name(p, last_time);
		if (err)
			return export_fault(p->e->file, err, fault);
		err = part_write(p, fault);
	}
	return err;
}

/*
 * Writes the files of a span.  Each begins at a multiple of --times-per-file; a
 * file without any data is left out.
 */
static int
write_span(struct cube_file *p, const struct cube_span *span, unsigned channels,
	   struct fault *fault)
{
	uint64_t step = p->e->args->times_per_file;
	int err = 0;

	for (p->t0 = span->first; !err; p->t0 = p->t1 + 1) {
		p->t1 = step ? p->t0 - p->t0 % step + step - 1 : span->last;
		if (p->t1 > span->last || p->t1 < p->t0)
			p->t1 = span->last;
		if (cube_any(p->cube, p->span, p->t0, p->t1))
			err = write_times(p, channels, span->last, fault);
		if (p->t1 == span->last)
			break;
	}
	return err;
}

static unsigned
channels_of(const struct exporter *e)
{
	const struct recording_facts *facts = recording_facts(e->rec);
	uint64_t n = e->args->channels_per_file;

	if (!n)
		n = facts->channels_per_file;
	return n < facts->subs ? (unsigned)n : facts->subs;
}

int
export_cube(struct exporter *e, struct fault *fault)
{
	struct cube_file p = { .e = e, .piece = malloc(PIECE) };
	const struct cube_span *span;
	size_t spans;
	int err = p.piece ? cube_open(&p.cube, e->rec) : -ENOMEM;

	if (err) {
		free(p.piece);
		return fault_set(fault, err, "no-memory", "no memory");
	}
	span = cube_spans(p.cube, &spans);
	err = export_folder(e->file, e->args->force, fault);
	for (; p.span < spans && !err; p.span++)
		err = write_span(&p, &span[p.span], channels_of(e), fault);
	cube_close(p.cube);
	free(p.piece);
	return err;
}
