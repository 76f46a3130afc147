/* SPDX-License-Identifier: MIT */
/*
 * The text about a recording that its peer is told, and the number by which it
 * recognises the transfer: both depend only on the recording, so a transfer
 * that is started again, even by another daemon, continues where the peer says.
 */
#include "contract/bytes.h"
#include "daemon/transfers/transfer.h"

#include <string.h>

#include "daemon/sessions/report.h"

struct identity {
	char stream[ENTRY_TEXT], format[ENTRY_TEXT];
	int64_t start_ns;
};

static void
of_session(struct identity *i, const struct session *s)
{
	snprintf(i->stream, sizeof i->stream, "%.79s", s->stream->name);
	snprintf(i->format, sizeof i->format, "%.79s", s->stream->o.format);
	i->start_ns = s->start_ns;
}

static void
identify(struct transfers *all, const struct transfer_order *o,
	 struct identity *i)
{
	const struct session *s =
	    o->relay ? NULL : transfer_session(all, o->name);
	struct stream *stream =
	    o->relay ? setup_stream(&all->r->setup, o->name) : NULL;
	struct entry e;

	*i = (struct identity){ .start_ns = 0 };
	if (s) {
		of_session(i, s);
	} else if (stream) {
		snprintf(i->stream, sizeof i->stream, "%.79s", stream->name);
		snprintf(i->format, sizeof i->format, "%.79s",
			 stream->o.format);
	} else if (catalogue_find(keeper_catalogue(all->r->keeper), o->name,
				  &e)) {
		memcpy(i->stream, e.stream, sizeof i->stream);
		memcpy(i->format, e.format, sizeof i->format);
		i->start_ns = e.start_ns;
	}
}

uint64_t
transfer_number(struct transfers *all, const struct transfer_order *o)
{
	uint64_t hash = BYTES_HASH;
	struct identity i;

	identify(all, o, &i);
	if (!i.start_ns)
		return 0;
	hash = bytes_hash(hash, o->name, strlen(o->name) + 1);
	hash = bytes_hash(hash, i.stream, strlen(i.stream) + 1);
	hash = bytes_hash(hash, &i.start_ns, sizeof i.start_ns);
	return hash ? hash : 1;
}

char *
transfer_about(struct transfers *all, const struct transfer_order *o)
{
	struct identity i;
	json_t *about;
	char *text;

	identify(all, o, &i);
	about =
	    json_pack("{s:s, s:s, s:s, s:o, s:b}", "name", o->name, "stream",
		      i.stream, "format", i.format, "start",
		      report_time(i.start_ns), "copy", transfer_is_whole(o));
	text = json_dumps(about, JSON_COMPACT);
	json_decref(about);
	return text;
}
