/* SPDX-License-Identifier: MIT */
/*
 * Makes hints for a user who sees nothing recorded.  If the length of packets
 * is not the configured one, other prefixes are tried: if the format then finds
 * a header that agrees with the length, that is what the configuration should
 * say.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "flow/receive/sample_priv.h"

enum { SENTENCE = 240 };

static __attribute__((format(printf, 2, 3))) void
hint(json_t *list, const char *sentence, ...)
{
	char text[SENTENCE];
	va_list args;

	va_start(args, sentence);
	vsnprintf(text, sizeof text, sentence, args);
	va_end(args);
	json_array_append_new(list, json_string(text));
}

static uint64_t
expected_of(const struct sample *s)
{
	uint32_t whole = s->a.shape->prefix + s->a.shape->payload;

	for (unsigned i = 0; i < s->sizes; i++) {
		if (s->size[i].bytes == whole)
			return s->size[i].datagrams;
	}
	return 0;
}

/* True if the format finds a header behind `prefix` bytes that agrees with the
 * length. */
static bool
fits(const struct sample *s, const struct sample_size *size, uint32_t prefix)
{
	struct format_shape shape = *s->a.shape;
	struct format_packet p = { .has = 0 };
	char why[8];

	if (prefix + SAMPLE_HEAD / 4 > size->kept || size->bytes <= prefix)
		return false;
	shape.prefix = prefix;
	shape.payload = size->bytes - prefix;
	shape.sequence = prefix ? SEQUENCE_LE64 : SEQUENCE_TIME;
	shape.sequence_at = 0;
	shape.fps = 0;
	if (s->a.format->shape(&shape, why, sizeof why) != 0)
		return false;
	s->a.format->parse(&shape, size->head, size->head + prefix, &p);
	return p.has & FORMAT_READABLE && p.has & FORMAT_TIME;
}

static void
size_hint(const struct sample *s, json_t *list)
{
	static const uint32_t usual[] = { 0, 8, 4, 16, 12 };
	const struct format_shape *shape = s->a.shape;
	const struct sample_size *most = &s->size[0];

	if (fits(s, most, shape->prefix)) {
		hint(list, "payload is %u, configured %u: set payload = %u",
		     most->bytes - shape->prefix, shape->payload,
		     most->bytes - shape->prefix);
		return;
	}
	for (unsigned i = 0; i < sizeof usual / sizeof *usual; i++) {
		if (!fits(s, most, usual[i]))
			continue;
		hint(list,
		     "prefix is %u and payload %u, configured %u and %u: set "
		     "prefix = %u and payload = %u",
		     usual[i], most->bytes - usual[i], shape->prefix,
		     shape->payload, usual[i], most->bytes - usual[i]);
		return;
	}
	hint(list,
	     "datagrams have %u bytes, configured are prefix %u + payload %u = "
	     "%u",
	     most->bytes, shape->prefix, shape->payload,
	     shape->prefix + shape->payload);
}

static void
packets_hint(const struct sample *s, json_t *list)
{
	uint64_t right = expected_of(s), read = 0;

	if (right * 2 < s->datagrams - s->foreign) {
		size_hint(s, list);
		return;
	}
	for (unsigned i = 0; i < s->a.subs; i++)
		read += s->line[i].seen;
	for (unsigned i = 0; i < s->trails; i++)
		read += s->trail[i].frames;
	if (!read && s->a.shape->sequence != SEQUENCE_ARRIVAL)
		hint(list, "no packet has a header that makes sense: is "
			   "`format` right, and `prefix`?");
}

static bool
thread_known(const struct format_shape *shape, uint32_t thread)
{
	for (uint32_t i = 0; i < shape->threads_n; i++) {
		if (shape->threads[i] == thread)
			return true;
	}
	return !shape->threads_n;
}

static void
threads_hint(const struct sample *s, json_t *list)
{
	const struct format_shape *shape = s->a.shape;

	for (unsigned i = 0; i < s->trails; i++) {
		if (thread_known(shape, s->trail[i].thread))
			continue;
		hint(list, "thread %u comes and is not in `threads`",
		     s->trail[i].thread);
		return;
	}
}

static void
heaps_hint(const struct sample *s, json_t *list)
{
	const struct format_shape *shape = s->a.shape;
	uint64_t bytes = sample_heaps_item(s->heaps, shape->item);

	if (!sample_heaps_pieces(s->heaps))
		hint(list, "no packet is a piece of a heap: is `format` "
			   "right?");
	if (shape->store != HEAP_CUBE || !sample_heaps_pieces(s->heaps))
		return;
	if (!bytes)
		hint(list, "item 0x%x of the cube is in no heap that began",
		     shape->item);
	else if (bytes != shape->payload)
		hint(list,
		     "item 0x%x has %llu bytes, configured %u: set payload = "
		     "%llu",
		     shape->item, (unsigned long long)bytes, shape->payload,
		     (unsigned long long)bytes);
}

json_t *
sample_hints(const struct sample *s)
{
	json_t *list = json_array();

	if (!s->datagrams) {
		hint(list, "nothing came: is the sender on, is this its "
			   "address and port, does a firewall stand between?");
		return list;
	}
	if (s->foreign == s->datagrams) {
		hint(list, "all packets come from senders that are not in "
			   "`allow`");
		return list;
	}
	if (s->senders > s->a.subs)
		hint(list, "%s%u senders send to the same ports",
		     s->senders == SAMPLE_SENDERS ? "at least " : "",
		     s->senders);
	if (s->heaps)
		heaps_hint(s, list);
	else
		packets_hint(s, list);
	threads_hint(s, list);
	return list;
}
