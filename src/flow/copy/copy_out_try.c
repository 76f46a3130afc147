/* SPDX-License-Identifier: MIT */
/*
 * One attempt tells what the recording has and sends what the peer wants, again
 * and again as long as the recording grows.  Then both ends compare what they
 * have, and blocks that differ are sent once more.  The attempt fails when
 * three rounds of that have gained nothing.
 */
#include "flow/copy/copy_out_priv.h"

#include <errno.h>
#include <string.h>

enum { GROW_MS = 300, ROUNDS = 3 };

static bool
is_live(const struct copy_out *c)
{
	return recording_facts(c->rec)->state == RECORDING_LIVE;
}

/* Waits a little, listening to the connection, and refreshes the recording.  0,
 * whether it grew or not; or an error of the attempt. */
static int
grow(struct copy_out *c)
{
	int err;

	copy_out_say(c, SENDER_WAITING, "");
	err = link_pause(&c->lane[0].link, GROW_MS);
	if (err)
		return copy_out_broke(c, err);
	err = copy_out_listen(c);
	if (err)
		return err;
	err = recording_refresh(c->rec);
	if (err == -EIDRM || err == -ENOENT)
		return copy_out_fail(c, "%s was removed", c->a.name);
	if (!err)
		err = recording_hold(c->rec, NULL);
	if (!err)
		err = copy_lines_refresh(c->lines);
	return err ? copy_out_fail(c, "%s: %s", c->a.name, strerror(-err)) : 0;
}

/* Sends everything up to the end of the recording. */
static int
follow(struct copy_out *c)
{
	bool live;
	int err;

	do {
		live = is_live(c);
		err = copy_out_ask(c);
		if (!err)
			err = copy_out_send(c);
		if (!err && live)
			err = grow(c);
	} while (!err && live);
	return err;
}

/* Sends what the peer lacks until both ends have the same. */
static int
agree(struct copy_out *c)
{
	size_t least = SIZE_MAX;
	unsigned rounds = 0;
	bool same = false;
	int err;

	do {
		copy_out_say(c, SENDER_FINISHING, "");
		err = copy_out_agree(c, &same);
		if (err || same)
			break;
		if (!c->wants)
			return copy_out_fail(
			    c, "%s has other chunks than this, and wants none",
			    c->a.to);
		rounds = c->wants < least ? 0 : rounds + 1;
		least = c->wants < least ? c->wants : least;
		err = copy_out_send(c);
	} while (!err && rounds < ROUNDS);
	if (!err && !same)
		return copy_out_fail(c,
				     "%s does not keep what it is sent: %zu "
				     "chunks or more are missing there",
				     c->a.to, c->wants);
	return err;
}

int
copy_out_try(struct copy_out *c)
{
	int err = copy_out_connect(c, 0);

	c->told = 0;
	c->waiting = 0;
	if (!err)
		err = copy_out_head(c);
	for (unsigned i = 1; i < c->lanes && !err; i++)
		err = copy_out_connect(c, i);
	if (!err)
		err = follow(c);
	if (!err)
		err = agree(c);
	return err ? err : copy_out_close(c);
}
