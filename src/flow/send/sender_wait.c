/* SPDX-License-Identifier: MIT */
/*
 * The sleep of a sender.  The cause of a wake-up is not looked at: orders,
 * source and plugin are asked in every round anyway, which is cheap.
 *
 * Descriptors that stay readable although there is no news, as those of a peer
 * that refuses at once may, would make the thread spin.  So after some rounds
 * in which nothing was done it sleeps a little in each, and longer after more.
 */
#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>

#include "flow/send/sender_priv.h"

/* After so many rounds without a packet sent, each sleeps so many ns. */
static const struct {
	unsigned rounds;
	int64_t ns;
} naps[] = { { 1024, 10000000 }, { 64, 1000000 } };

enum { SLEPT = 500000 }; /* ns; a shorter sleep counts as none */

static int64_t
nap(unsigned idle)
{
	for (unsigned i = 0; i < sizeof naps / sizeof *naps; i++)
		if (idle > naps[i].rounds)
			return naps[i].ns;
	return 0;
}

static void
sleep_until(struct pollfd *fd, unsigned n, int64_t until)
{
	int64_t left = until - clock_steady();
	struct timespec t;

	if (left < 0)
		left = 0;
	t.tv_sec = left / 1000000000;
	t.tv_nsec = left % 1000000000;
	ppoll(fd, n, &t, NULL);
}

/* Empties the eventfd; orders are read after this, so none is missed. */
static void
wake_read(struct sender *s, const struct pollfd *fd)
{
	eventfd_t n;

	if (fd->revents)
		eventfd_read(s->wake, &n);
}

void
sender_wait(struct sender *s, int64_t until, bool plugin)
{
	struct pollfd fd[SENDER_FDS] = { { .fd = s->wake, .events = POLLIN } };
	int64_t now = clock_steady(), least = nap(s->idle);
	int source = s->source->ops->fd ? s->source->ops->fd(s->source) : -1;
	unsigned n = 1;

	if (!until || until > now + SENDER_NAP)
		until = now + SENDER_NAP;
	if (least) {
		sleep_until(fd, 1, now + least);
		wake_read(s, fd);
	}
	fd[n++] = (struct pollfd){ .fd = source, .events = POLLIN };
	if (plugin && s->plugin)
		n += s->args.ops->poll(s->plugin, fd + n, SENDER_FDS - n,
				       &until);
	now = clock_steady();
	sleep_until(fd, n, until);
	wake_read(s, fd);
	s->idle = clock_steady() - now < SLEPT ? s->idle + 1 : 0;
}

void
sender_there(struct sender *s)
{
	s->away = 0;
	s->back = SENDER_BACK;
}

int
sender_away(struct sender *s)
{
	int64_t now = clock_steady(), until;

	if (!s->away)
		s->away = now;
	if (now - s->away > s->args.patience)
		return -ETIMEDOUT;
	until = now + s->back;
	sender_show(s, SENDER_CONNECTING);
	sender_wait(s, until, true);
	/* The time ran out without a connection: wait longer before the next
	 * attempt. */
	if (clock_steady() >= until)
		s->back = 2 * s->back < SENDER_BACK_MOST ? 2 * s->back
							 : SENDER_BACK_MOST;
	return 0;
}
