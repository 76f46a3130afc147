/* SPDX-License-Identifier: MIT */
#include "flow/upload/upload_thread.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"

#define AGAIN_MOST (5 * NS_SECOND)

/* ---- what is said ------------------------------------------------------- */

void
upload_say(struct upload *u, enum sender_state state, const char *why)
{
	u->base.facts.state = state;
	if (why != u->base.facts.why)
		snprintf(u->base.facts.why, sizeof u->base.facts.why, "%s",
			 why);
	sender_show(&u->base, clock_steady());
}

int __attribute__((format(printf, 2, 3)))
upload_fail(struct upload *u, const char *format, ...)
{
	char why[SEND_SENTENCE];
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof why, format, args);
	va_end(args);
	upload_say(u, SENDER_FAILED, why);
	return -EPROTO;
}

void
upload_show(struct upload *u)
{
	bool pause = atomic_load_explicit(&u->base.pause, memory_order_relaxed);
	struct sender_facts *f = &u->base.facts;
	enum sender_state state = f->state;
	int64_t now = clock_steady();

	if (pause && state == SENDER_SENDING)
		state = SENDER_PAUSED;
	else if (!pause && state == SENDER_PAUSED)
		state = SENDER_SENDING;
	if (state == f->state && now < u->base.show_at)
		return;
	f->state = state;
	f->bytes = u->done_bytes;
	for (unsigned i = 0; i < u->stages; i++) {
		if (u->stage[i].step == STAGE_ASKS &&
		    u->stage[i].r.verb == OBJECT_PUT)
			f->bytes += u->stage[i].r.sent;
	}
	u->ops->facts(u->store, &f->send);
	u->a.source->ops->facts(u->a.source, &f->source);
	f->send.bytes = f->bytes;
	f->send.why[0] = '\0';
	f->asked = atomic_load_explicit(&u->base.rate, memory_order_relaxed);
	sender_show(&u->base, now);
}

/* ---- requests ------------------------------------------------------------ */

int
upload_turn(struct upload *u, int64_t until)
{
	struct pollfd fd[8] = { { .fd = u->base.wake, .events = POLLIN },
				{ .fd = upload_source_fd(u),
				  .events = POLLIN } };
	struct timespec t = { 0 };
	int64_t now = clock_steady();
	unsigned n = 2 + u->ops->poll(u->store, fd + 2, 6, &until);

	if (until > now) {
		t.tv_sec = (until - now) / NS_SECOND;
		t.tv_nsec = (until - now) % NS_SECOND;
	}
	ppoll(fd, n, &t, NULL);
	if (fd[0].revents)
		sender_wake_read(&u->base);
	if (atomic_load_explicit(&u->base.stop, memory_order_relaxed))
		return -ECANCELED;
	u->ops->step(u->store);
	upload_show(u);
	return upload_stages_yield(u);
}

const char *
upload_trouble(struct upload *u, struct send_facts *f)
{
	u->ops->facts(u->store, f);
	return f->why;
}

void
upload_well(struct upload *u)
{
	u->ill_since = u->again = 0;
	u->wait = UPLOAD_AGAIN;
	if (u->base.facts.state == SENDER_CONNECTING)
		upload_say(u, SENDER_SENDING, "");
}

int
upload_ill(struct upload *u, int err)
{
	int64_t now = clock_steady();
	struct send_facts f;

	if (err != -EAGAIN)
		return upload_fail(u, "%s", upload_trouble(u, &f));
	/* All connections break together: they wait once. */
	if (now >= u->again) {
		u->again = now + u->wait;
		u->wait = u->wait < AGAIN_MOST / 2 ? 2 * u->wait : AGAIN_MOST;
	}
	if (!u->ill_since)
		u->ill_since = now;
	if (now - u->ill_since > u->a.patience)
		return upload_fail(u, "%s", upload_trouble(u, &f));
	upload_say(u, SENDER_CONNECTING, upload_trouble(u, &f));
	return 0;
}

int
upload_ask(struct upload *u)
{
	int err;

	for (;;) {
		err = 0;
		while (!err && clock_steady() < u->again)
			err = upload_turn(u, u->again);
		if (err)
			return err;
		if (u->ops->begin(u->store, &u->ask))
			return upload_fail(u, "out of memory");
		while (!err && !u->ask.over)
			err = upload_turn(u, clock_steady() + NS_SECOND);
		if (err)
			return err;
		if (!u->ask.err ||
		    (u->ask.err == -ENOENT && u->ask.verb == OBJECT_READ) ||
		    (u->ask.err == -ESTALE && u->ask.verb == OBJECT_PUT) ||
		    (u->ask.err == -EEXIST && u->ask.fresh)) {
			upload_well(u);
			return u->ask.err;
		}
		err = upload_ill(u, u->ask.err);
		if (err)
			return err;
	}
}

const char *
upload_name(const struct upload *u)
{
	return u->a.as ? u->a.as : u->a.name;
}

static void
key_make(const struct upload *u, char key[OBJECT_KEY],
	 const char *(*file)(char *file, const char *name))
{
	char name[LAYOUT_FILE];

	snprintf(key, OBJECT_KEY, "%s/%s", upload_name(u),
		 file(name, upload_name(u)));
}

int
upload_file_put(struct upload *u, const struct upload_file *f,
		const char *(*name)(char *file, const char *name), bool fresh)
{
	uint32_t whole = crc32c(0, f->data, f->bytes);
	unsigned anew = 0;
	struct send_facts facts;
	uint64_t at = 0;
	bool ends = false;
	int err = 0;

	do {
		uint64_t left = f->bytes - at;

		u->ask = (struct object_request){
			.verb = OBJECT_PUT,
			.of = &u->ask_of,
			.of_n = 1,
			.at = at,
			.bytes = left < u->piece_most ? (uint32_t)left
						      : u->piece_most,
			.total = f->bytes,
			.whole_crc = whole,
			.summed = true,
			.fresh = fresh,
		};
		key_make(u, u->ask.key, name);
		u->ask_of = (struct object_bytes){ f->data + at, u->ask.bytes };
		u->ask.crc = crc32c(0, f->data + at, u->ask.bytes);
		err = upload_ask(u);
		at += u->piece_most;
		ends = !err && at >= f->bytes;
		if (err == -ESTALE && anew == UPLOAD_ANEW)
			err = upload_fail(u, "%s", upload_trouble(u, &facts));
		if (err == -ESTALE) {
			anew++;
			at = 0;
			err = 0;
		}
	} while (!err && !ends);
	return err;
}

int
upload_file_get(struct upload *u, uint32_t most,
		const char *(*name)(char *file, const char *name))
{
	u->ask = (struct object_request){ .verb = OBJECT_READ,
					  .data = malloc(most),
					  .bytes = most };
	if (!u->ask.data)
		return upload_fail(u, "out of memory");
	key_make(u, u->ask.key, name);
	return upload_ask(u);
}

void
upload_file_free(struct upload *u)
{
	free(u->ask.data);
	u->ask.data = NULL;
}
