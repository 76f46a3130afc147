/* SPDX-License-Identifier: MIT */
/*
 * A name must be free on every disk, and a disk may hang just when it is asked.
 * So a thread looks at the disks (seek.h), with a time limit.  For disks that
 * do not answer, the catalogue decides: it is a few seconds old at most, and
 * knows what was recorded here.  Should it be wrong, that disk refuses to make
 * a second folder of the name and takes no part.
 */
#include "daemon/sessions/order_name.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/disks/seek.h"
#include "store/disk/layout.h"

void
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
disks_split(struct recorder *r, const char *name, struct seek_disks *disks)
{
	struct catalogue *known = keeper_catalogue(r->keeper);

	disks->n = 0;
	for (unsigned i = 0; i < r->fleet.n; i++) {
		struct writer *w = fleet_writer(&r->fleet, i);
		struct writer_facts f;

		if (!w)
			continue;
		writer_facts(w, &f);
		if (f.state != WRITER_HUNG)
			disks->path[disks->n++] = fleet_path(&r->fleet, i);
		else if (catalogue_has(known, name, fleet_path(&r->fleet, i)))
			return fleet_path(&r->fleet, i);
	}
	return NULL;
}

const char *
order_name_disk(struct recorder *r, const char *name)
{
	struct catalogue *known = keeper_catalogue(r->keeper);
	struct seek_disks disks;
	bool has[FLEET_MOST];
	const char *hung = disks_split(r, name, &disks);
	unsigned looked = hung ? 0 : seek_name(r->seek, &disks, name, has);

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
 * asked: session_resume looks at them. */
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

int
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
