/* SPDX-License-Identifier: MIT */
/*
 * Checks choices, and makes and frees views.
 *
 * The combination of one thread and VIEW_SKIP is refused: the length of such a
 * file depends on the holes of every block, so missing packets of one thread
 * are filled.  Rows and cubes are shown as they are stored: a row has no
 * packets of one length, and in a cube the place of an item tells its time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/view/view_priv.h"

const char *
view_settle(struct view_choice *c, enum heap_store store)
{
	if (store == HEAP_NONE && c->thread >= 0 && c->fill == VIEW_SKIP) {
		c->fill = VIEW_STORED;
		return "how many packets of one thread are missing is in no "
		       "index: they are filled, not left out";
	}
	if (store == HEAP_NONE || (!c->strip && c->fill == VIEW_STORED))
		return NULL;
	c->strip = 0;
	c->fill = VIEW_STORED;
	return store == HEAP_ROW
		   ? "heaps have no packets of one length: strip and fill do "
		     "not apply to them"
		   : "in a cube the place of an item tells its time: strip and "
		     "fill do not apply to it";
}

static bool
is_ranged(const struct view_choice *c)
{
	return c->from_ns || c->to_ns;
}

static int
refuse(const struct view *v, struct fault *fault)
{
	return fault_set(fault, -EINVAL, "usage", "cannot show %s so",
			 v->rec->name);
}

static int
check_thread(const struct view *v, struct fault *fault)
{
	const struct format_shape *s = &v->rec->shape;

	if (s->store == HEAP_NONE && s->header && s->parts == 1)
		return 0;
	refuse(v, fault);
	fault_why(fault, "its packets do not say which thread they are of");
	return -EINVAL;
}

static int
check(const struct view *v, struct fault *fault)
{
	struct view_choice fits = v->choice;
	const char *why = view_settle(&fits, v->rec->shape.store);

	if (why) {
		refuse(v, fault);
		fault_why(fault, "%s", why);
		return -EINVAL;
	}
	if (v->choice.strip && v->choice.strip >= v->payload) {
		refuse(v, fault);
		fault_why(fault,
			  "packets of %u bytes have nothing left without "
			  "their first %u",
			  v->payload, v->choice.strip);
		return -EINVAL;
	}
	return view_threaded(v) ? check_thread(v, fault) : 0;
}

/* Derives the view's flags from the choice. */
static void
settle(struct view *v)
{
	enum view_fill as = v->choice.fill;

	v->stored = recording_fill_kind(v->rec);
	if (as == (v->stored == FILL_ZERO ? VIEW_ZERO : VIEW_INVALID) &&
	    !v->rec->foreign)
		as = VIEW_STORED; /* the recording's own fill is already of
				     this kind */
	/* Fill written by another recorder carries no thread. */
	v->picks = as != VIEW_STORED || (v->rec->foreign && view_threaded(v));
	v->ranged = is_ranged(&v->choice);
	v->take = v->payload - v->choice.strip;
	v->whole = v->rec->shape.store == HEAP_ROW ||
		   (as == VIEW_STORED && !v->choice.strip && !v->ranged &&
		    !view_threaded(v));
}

/* Finds the format plugin.  A view of a range can do without: times are then
 * interpolated.  A view of one thread cannot. */
static int
find_format(struct view *v, struct fault *fault)
{
	struct fault none = { 0 };
	int err = 0;

	if (!view_threaded(v) && !v->ranged)
		return 0;
	err = recording_format(v->rec, &v->format,
			       view_threaded(v) ? fault : &none);
	if (err)
		v->format = NULL;
	return view_threaded(v) ? err : 0;
}

/* Refuses a view whose thread is not in the recording, or whose packets of the
 * thread cannot be told from others. */
static int
check_turn(const struct view *v, struct fault *fault)
{
	size_t lost = 0;

	if (!v->turn.known)
		return 0;
	while (lost < v->pieces && v->piece[lost].kind == VIEW_LOST)
		lost++;
	if (!v->pieces && v->turn.what == TURN_NONE) {
		refuse(v, fault);
		fault_why(fault, "it has no thread %d", v->choice.thread);
		return -EINVAL;
	}
	if (!v->pieces || lost < v->pieces)
		return 0;
	fault_set(fault, -EIO, "io", "cannot tell the threads of %s apart",
		  v->rec->name);
	fault_why(fault, "its first packets cannot be read, or their threads "
			 "do not take turns");
	return -EIO;
}

int
view_make(struct view **view, struct recording *rec,
	  const struct view_choice *choice, struct fault *fault)
{
	struct view *v = calloc(1, sizeof *v);
	int err;

	if (!v)
		return fault_set(fault, -ENOMEM, "no-memory", "cannot show %s",
				 rec->name);
	v->rec = rec;
	v->choice = *choice;
	v->payload = rec->shape.payload;
	err = check(v, fault);
	if (!err) {
		settle(v);
		err = find_format(v, fault);
	}
	if (!err) {
		if (v->ranged)
			view_range_begin(v);
		err = view_lay(v);
		if (err)
			fault_set(fault, err, "no-memory", "cannot show %s",
				  rec->name);
	}
	if (!err)
		err = check_turn(v, fault);
	if (err)
		view_free(v);
	else
		*view = v;
	return err;
}

void
view_free(struct view *v)
{
	if (!v)
		return;
	free(v->piece);
	free(v->hole);
	free(v);
}

const struct view_choice *
view_choice(const struct view *v)
{
	return &v->choice;
}

int
view_refresh(struct view *v)
{
	v->holed = false;
	return view_lay(v);
}

uint64_t
view_bytes(const struct view *v)
{
	return v->bytes;
}

int
view_size(const struct view_counts *c, const struct view_choice *choice,
	  uint64_t *bytes)
{
	struct view_choice is = *choice;
	uint64_t packets = c->packets;

	view_settle(&is, c->store);
	if (is_ranged(&is) || is.thread >= 0 || !c->payload)
		return -ENODATA;
	if (is.strip && is.strip >= c->payload)
		return -EINVAL;
	if (!is.strip && is.fill == VIEW_STORED) {
		*bytes = c->bytes;
		return 0;
	}
	if (is.fill != VIEW_SKIP) {
		if (c->bytes % c->payload)
			return -ENODATA; /* a block that is cut short: length
					    unknown here */
		packets = c->bytes / c->payload;
	}
	*bytes = packets * (c->payload - is.strip);
	return 0;
}
