/* SPDX-License-Identifier: MIT */
/*
 * Mark6 files are written for their strictest reader, sg_access of DiFX.  It
 * does not walk from block to block but computes where each packet is from one
 * block length; only the last block of a file may be shorter.  So
 *
 *   - A block in memory is one block of the file: whole frames, at most
 *     10 000 000 bytes, all blocks of one length.  Several blocks of the file
 *     in one block in memory were rejected: nothing is aligned in such a file,
 *     so the page cache is between us and the disk anyhow and nothing would be
 *     saved, and every position would be computed in two levels.
 *   - A block that closes early in mid-recording (a new run, a pause) is
 *     written in full: fill goes on to its end, as frames that never came.
 *     The index does not count that fill, so our own readers do not see it;
 *     other readers see frames marked invalid.  The format allows a short
 *     block there, but sg_access gives up on the file.
 *   - The last block of each file is cut to its data when the recording ends
 *     (folder_place.c).
 *   - Block numbers are those of the recording: unique over the disks, in
 *     order of time, and ascending in each file.  The exception is a block
 *     that another disk failed to write and gave back; readers sort by number.
 *   - A stretch without any packet has a number of its own in the recording
 *     and no data, so its number is missing in the files.  Readers by time
 *     (sg_access, mark6gather) see the gap in the frames.  Readers by number
 *     join what is before the gap to what is behind it (jive5ab, as with
 *     anything that is missing), or count one missing block (mark6sg).
 *     Writing the gap as fill was rejected: it may be longer than all data.
 *
 * The header of a block is written before its data, so a crash leaves a short
 * block whose header has the full length.  Readers cut such a block; a length
 * of zero would end jive5ab.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "store/disk/layout_map.h"

static const char *
text_of(const json_t *head, const char *key)
{
	const char *text = json_string_value(json_object_get(head, key));

	return text ? text : "";
}

static uint64_t
number_of(const json_t *head, const char *object, const char *key)
{
	const json_t *in = json_object_get(head, object);
	json_int_t n = json_integer_value(json_object_get(in, key));

	return n > 0 ? (uint64_t)n : 0;
}

/* Mark6's number for a format. */
static uint32_t
packets_of(const char *format)
{
	if (!strcmp(format, "vdif"))
		return SG_VDIF;
	return strcmp(format, "mark5b") ? SG_UNKNOWN : SG_MARK5B;
}

static int
sg_make(struct layout_map *map, const json_t *head)
{
	uint64_t block = number_of(head, "geometry", "block_bytes");
	uint64_t payload = number_of(head, "geometry", "payload");
	uint64_t parts = number_of(head, "geometry", "parts");

	if (!block || block > LAYOUT_SG_MOST - SG_BLOCK || !payload ||
	    payload > block || !parts || parts > block / payload)
		return -EBADMSG;
	map->sg = (struct sg_header){
		.version = 2,
		.block_bytes = (uint32_t)block + SG_BLOCK,
		.format = packets_of(text_of(head, "format")),
		.packet_bytes = (uint32_t)(payload * parts),
	};
	return 0;
}

int
layout_map_make(struct layout_map *map, const char *name, const json_t *head)
{
	const char *word = text_of(head, "layout");
	const char *extension = text_of(head, "extension");

	*map = (struct layout_map){ .layout = LAYOUT_VBS };
	snprintf(map->name, sizeof map->name, "%s", name);
	if (*word && !layout_parse(word, &map->layout))
		return -EBADMSG;
	if (!layout_extension_good(extension))
		extension = "data";
	snprintf(map->extension, sizeof map->extension, "%s", extension);
	if (map->layout == LAYOUT_VBS &&
	    json_is_true(json_object_get(head, "vbs_cfg")))
		map->cfg_packet = (uint32_t)json_integer_value(json_object_get(
		    json_object_get(head, "geometry"), "payload"));
	return map->layout == LAYOUT_MARK6 ? sg_make(map, head) : 0;
}

bool
layout_map_shared(const struct layout_map *map)
{
	return map->layout != LAYOUT_VBS;
}

unsigned
layout_map_begin(const struct layout_map *map, uint8_t *raw)
{
	if (map->layout != LAYOUT_MARK6)
		return 0;
	if (raw)
		sg_header_write(raw, &map->sg);
	return SG_HEADER;
}

void
layout_map_spot(const struct layout_map *map, uint64_t start, uint64_t number,
		uint64_t bytes, struct layout_spot *spot)
{
	*spot = (struct layout_spot){ .start = start, .room = bytes };
	if (map->layout == LAYOUT_VBS)
		layout_chunk(spot->file, map->name, number);
	else
		layout_data(spot->file, map->name, map->layout, map->extension);
	if (map->layout == LAYOUT_MARK6) {
		spot->prefix_bytes = SG_BLOCK;
		spot->room = map->sg.block_bytes - SG_BLOCK;
		sg_block_write(spot->prefix, (uint32_t)number,
			       (uint32_t)spot->room);
	}
	if (map->layout == LAYOUT_VBS)
		spot->start = 0;
	spot->offset = spot->start + spot->prefix_bytes;
	spot->end = spot->offset + spot->room;
}

int
layout_map_back(const struct layout_map *map, const uint8_t *raw, uint64_t left,
		uint64_t *number, uint64_t *bytes)
{
	struct sg_block b;
	int err;

	if (map->layout != LAYOUT_MARK6)
		return -ENOTSUP;
	err = sg_block_read(&map->sg, raw, left, &b);
	if (err)
		return err;
	*number = b.number;
	*bytes = b.bytes;
	return 0;
}
