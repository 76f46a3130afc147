/* SPDX-License-Identifier: MIT */
/* Answers clients that read a recording while it is made (`map`).  A client
 * asks again and again, so the answer is cheap: no disk, no list of blocks, and
 * only those losses that the client does not know yet. */
#include "daemon/requests/verbs.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "daemon/sessions/mapping.h"
#include "flow/memory/map.h"
#include "flow/output/output.h"

enum { LOST_MOST = 1024 };

/* Finds the session or the incoming copy of that name. */
static bool
of_name(struct daemon *d, const char *name, struct mapping_of *of)
{
	for (const struct session *s = d->r.sessions; s; s = s->next) {
		if (strcmp(s->name, name) != 0 || s->state == SESSION_ARMED ||
		    s->state == SESSION_ENDED || s->cancelled)
			continue;
		*of = (struct mapping_of){ .id = s->id,
					   .output = s->output,
					   .stock = s->supply->stock };
		return true;
	}
	return inbox_find(d->inbox, name, of);
}

static json_t *
facts(const struct mapping_of *of, uint64_t from)
{
	struct output *o = of->output;
	struct output_stretch lost[LOST_MOST];
	uint64_t floor, end;
	unsigned n = output_floor(o, from, &floor, lost, LOST_MOST);
	bool over = output_over(o, &end);
	json_t *list = json_array();

	for (unsigned i = 0; i < n; i++)
		json_array_append_new(list, json_pack("[I, I]",
						      (json_int_t)lost[i].from,
						      (json_int_t)lost[i].to));
	return json_pack(
	    "{s:I, s:I, s:o, s:b, s:o}", "first", (json_int_t)o->first_number,
	    "floor", (json_int_t)floor, "end",
	    of->copied ? json_null() : json_integer((json_int_t)end), "over",
	    (int)over, "lost", list);
}

static void
answer(struct daemon *d, struct server_ticket ticket,
       const struct mapping_of *of, json_t *result)
{
	const struct map *map = d->r.mappings.map;
	int fd[2] = { -1, -1 };
	uint64_t bytes;

	json_object_set_new(result, "recording", json_integer(of->id));
	if (map) {
		pool_arena(d->r.pool, &bytes);
		fd[0] = pool_arena_fd(d->r.pool);
		fd[1] = map_fd(map);
		json_object_set_new(result, "arena_bytes",
				    json_integer((json_int_t)bytes));
		json_object_set_new(result, "page_bytes",
				    json_integer((json_int_t)map_bytes(map)));
	}
	server_answer_fds(d->r.server, ticket, result, fd, map ? 2 : 0);
}

int
verb_map(struct daemon *d, struct server_ticket ticket, const json_t *request,
	 struct fault *fault)
{
	const char *name = json_string_value(json_object_get(request, "name"));
	const json_t *from = json_object_get(request, "from");
	struct mapping_of of;
	int err;

	if (!name || (from && !json_is_integer(from)) ||
	    json_integer_value(from) < 0)
		return fault_set(fault, -EINVAL, "usage",
				 "map takes a name, and a number to begin "
				 "from");
	if (!of_name(d, name, &of))
		return fault_set(fault, -ENOENT, "not-found",
				 "'%.80s' is not being recorded", name);
	err = mapping_ask(&d->r, &of, ticket, clock_steady());
	if (err)
		return fault_set(fault, err, "no-memory",
				 "cannot follow '%.80s': %s", name,
				 strerror(-err));
	answer(d, ticket, &of, facts(&of, (uint64_t)json_integer_value(from)));
	return 0;
}
