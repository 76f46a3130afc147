/* SPDX-License-Identifier: MIT */
/*
 * Names are restricted to what jive5ab can read back: it refuses every chunk of
 * a name with a '.', and "_ds" is its mark for one stream of several.  Names of
 * digits alone would be taken for an ID by our own commands.  Character classes
 * are spelled out because isalnum() depends on the locale.
 *
 * Mark6 files are written for their strictest reader, sg_access of DiFX.  It
 * does not walk from block to block but computes where each packet is from one
 * block length; only the last block of a file may be shorter.  So
 *
 *   - A block in memory is one block of the file: whole frames, at most
 *     10 000 000 bytes, all blocks of one length.  Several blocks of the file
 *     in one block in memory were rejected: nothing is aligned in such a file,
 *     so all data is copied on its way to the disk anyhow (writes_in_flight.c)
 *     and nothing would be saved, and every position would be computed in two
 *     levels.
 *   - A block that closes early in mid-recording (a new run, a pause) is
 *     written in full: fill goes on to its end, as frames that never came.
 *     The index does not count that fill, so our own readers do not see it;
 *     other readers see frames marked invalid.  The format allows a short
 *     block there, but sg_access gives up on the file.
 *   - The last block of each file is cut to its data when the recording ends
 *     (folder.c).
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
 * Through the page cache the header of a block is written before its data, so a
 * crash leaves a short block whose header has the full length.  Readers cut
 * such a block.  With O_DIRECT the file is grown before the block is written,
 * and its parts reach the disk in any order: a crash leaves a block with holes,
 * or one without a header, which ends jive5ab as the end of the file
 * does.  Both are behind all blocks that were written whole, and recover mends
 * or cuts them.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/disk/layout.h"
#include "store/disk/file.h"

#define DIGITS	   "0123456789"
#define ALNUM	   DIGITS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#define NAME_CHARS ALNUM "_+-"

static const char stream_mark[] = "_ds";
/* suffix of a Mark6 recording's folder */
static const char beside[] = ".spate";
static const char *const words[LAYOUTS] = { "vbs", "mark6", "file" };

const char *
layout_name_fault(const char *name)
{
	size_t length = strlen(name);

	if (!length)
		return "it is empty";
	if (!strchr(ALNUM, name[0]))
		return "it must begin with a letter or a digit";
	if (name[strspn(name, NAME_CHARS)])
		return "only letters, digits, '_', '+' and '-' may be in it";
	if (length > LAYOUT_NAME)
		return "it is longer than 64 characters";
	if (!name[strspn(name, DIGITS)])
		return "it has only digits, like an ID";
	if (strstr(name, stream_mark))
		return "it has \"_ds\" in it, which is reserved for streams "
		       "recorded together";
	return NULL;
}

bool
layout_name_good(const char *name)
{
	return !layout_name_fault(name);
}

bool
layout_folder_good(const char *folder)
{
	const char *mark = strstr(folder, stream_mark);
	char name[LAYOUT_NAME + 1];
	size_t length, stream;

	if (!mark)
		return layout_name_good(folder);
	length = (size_t)(mark - folder);
	if (length > LAYOUT_NAME)
		return false;
	memcpy(name, folder, length);
	name[length] = '\0';
	mark += sizeof stream_mark - 1;
	stream = strspn(mark, NAME_CHARS);
	return layout_name_good(name) && stream && stream <= LAYOUT_NAME &&
	       !mark[stream];
}

const char *
layout_word(enum layout layout)
{
	return words[layout];
}

bool
layout_parse(const char *word, enum layout *layout)
{
	for (int i = 0; i < LAYOUTS; i++) {
		if (strcmp(word, words[i]))
			continue;
		*layout = (enum layout)i;
		return true;
	}
	return false;
}

const char *
layout_dir(char *file, const char *name, enum layout layout)
{
	snprintf(file, LAYOUT_FILE, "%s%s", name,
		 layout == LAYOUT_MARK6 ? beside : "");
	return file;
}

bool
layout_dir_name(const char *dir, char *name, enum layout *layout)
{
	size_t length = strlen(dir), tail = sizeof beside - 1;

	if (length >= LAYOUT_FILE)
		return false;
	*layout = LAYOUT_VBS;
	memcpy(name, dir, length + 1);
	if (length > tail && !strcmp(dir + length - tail, beside)) {
		*layout = LAYOUT_MARK6;
		name[length - tail] = '\0';
	}
	return layout_folder_good(name);
}

/* True if both descriptors are the same folder.  A recording's folder may be
 * a link to the disk itself; "../NAME" would then be a file outside of the
 * disk. */
static bool
is_same(int a, int b)
{
	struct stat x, y;

	return !file_stat(a, &x) && !file_stat(b, &y) && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

int
layout_dir_open(int disk, const char *name, enum disk_links links)
{
	static const enum layout looks[] = { LAYOUT_VBS, LAYOUT_MARK6 };
	char dir[LAYOUT_FILE];
	int fd = -1, err = -ENOENT;

	for (unsigned i = 0; i < sizeof looks / sizeof *looks && fd < 0; i++) {
		fd = disk_open_at(disk, layout_dir(dir, name, looks[i]),
				  O_RDONLY | O_DIRECTORY, links);
		if (fd >= 0 && is_same(fd, disk)) {
			file_close(fd);
			fd = -EXDEV;
		}
		if (fd < 0 && fd != -ENOENT && fd != -ENOTDIR)
			err = fd;
	}
	return fd < 0 ? err : fd;
}

const char *
layout_data(char *file, const char *name, enum layout layout,
	    const char *extension)
{
	if (layout == LAYOUT_MARK6)
		snprintf(file, LAYOUT_FILE, "../%s", name);
	else
		snprintf(file, LAYOUT_FILE, "%s.%s", name, extension);
	return file;
}

bool
layout_extension_good(const char *extension)
{
	static const char *const ours[] = { "index",   "meta",	 "sums",
					    "protect", "parity", "removing",
					    "cfg" };
	size_t length = strlen(extension);

	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
		if (!strcmp(extension, ours[i]))
			return false;
	}
	return length && length < LAYOUT_EXTENSION &&
	       !extension[strspn(extension, ALNUM)] &&
	       extension[strspn(extension, DIGITS)];
}

const char *
layout_chunk(char *file, const char *name, uint64_t number)
{
	snprintf(file, LAYOUT_FILE, "%s.%08" PRIu64, name, number);
	return file;
}

const char *
layout_cfg(char *file, const char *name)
{
	snprintf(file, LAYOUT_FILE, "%s.cfg", name);
	return file;
}

const char *
layout_index(char *file, const char *name)
{
	snprintf(file, LAYOUT_FILE, "%s.index", name);
	return file;
}

const char *
layout_index_new(char *file, const char *name)
{
	snprintf(file, LAYOUT_FILE, "%s.index.new", name);
	return file;
}

const char *
layout_meta(char *file, const char *name)
{
	snprintf(file, LAYOUT_FILE, "%s.meta.jsonl", name);
	return file;
}

const char *
layout_sums(char *file, const char *name)
{
	snprintf(file, LAYOUT_FILE, "%s.sums", name);
	return file;
}

const char *
layout_protect(char *file, const char *name)
{
	snprintf(file, LAYOUT_FILE, "%s.protect", name);
	return file;
}

const char *
layout_parity(char *file, const char *name, uint64_t group, uint64_t generation)
{
	int length =
	    snprintf(file, LAYOUT_FILE, "%s.parity.%08" PRIu64, name, group);

	if (generation && length < LAYOUT_FILE)
		snprintf(file + length, (size_t)(LAYOUT_FILE - length),
			 ".%016" PRIx64, generation);
	return file;
}

bool
layout_parity_number(const char *file, const char *name, uint64_t *group,
		     uint64_t *generation)
{
	char list[LAYOUT_FILE], made[LAYOUT_FILE];
	size_t length = strlen(layout_parity_list(list, name));

	if (strncmp(file, list, length) || file[length] != '.')
		return false;
	*group = *generation = 0;
	if (sscanf(file + length, ".%8" SCNu64 ".%16" SCNx64, group,
		   generation) < 1)
		return false;
	return !strcmp(file, layout_parity(made, name, *group, *generation));
}

const char *
layout_parity_list(char *file, const char *name)
{
	snprintf(file, LAYOUT_FILE, "%s.parity", name);
	return file;
}

const char *
layout_parity_new(char *file, const char *name)
{
	snprintf(file, LAYOUT_FILE, "%s.parity.new", name);
	return file;
}

const char *
layout_parity_aside(char *aside, const char *file, unsigned n)
{
	if (n)
		snprintf(aside, LAYOUT_FILE, "%.174s.aside%u", file, n);
	else
		snprintf(aside, LAYOUT_FILE, "%.174s.aside", file);
	return aside;
}

bool
layout_is_parity(const char *file, const char *name)
{
	const char *mark = strstr(file, ".aside");
	char list[LAYOUT_FILE], new[LAYOUT_FILE], block[LAYOUT_FILE];
	uint64_t group, generation;

	if (mark && mark - file < LAYOUT_FILE &&
	    !mark[strlen(".aside") + strspn(mark + strlen(".aside"), DIGITS)]) {
		memcpy(block, file, (size_t)(mark - file));
		block[mark - file] = '\0';
		file = block;
	}
	return !strcmp(file, layout_parity_list(list, name)) ||
	       !strcmp(file, layout_parity_new(new, name)) ||
	       layout_parity_number(file, name, &group, &generation);
}

const char *
layout_quality(char *file, const char *name)
{
	snprintf(file, LAYOUT_FILE, "%s.quality.jsonl", name);
	return file;
}

const char *
layout_removing(char *file, const char *name)
{
	snprintf(file, LAYOUT_FILE, "%s.removing", name);
	return file;
}

const char *
layout_aside(char *file, const char *name, uint64_t number, unsigned n)
{
	int length =
	    snprintf(file, LAYOUT_FILE, "%s.%08" PRIu64 ".aside", name, number);

	if (n && length < LAYOUT_FILE)
		snprintf(file + length, (size_t)(LAYOUT_FILE - length), "%u",
			 n);
	return file;
}

bool
layout_chunk_number(const char *file, const char *name, uint64_t *number)
{
	size_t length = strlen(name);
	uint64_t value = 0;

	if (strncmp(file, name, length) || file[length] != '.')
		return false;
	file += length + 1;
	if (strspn(file, DIGITS) != 8 || file[8])
		return false;
	for (; *file; file++)
		value = value * 10 + (uint64_t)(*file - '0');
	*number = value;
	return true;
}

bool
layout_is_aside(const char *file, const char *name)
{
	const char *mark = strstr(file, ".aside");
	char chunk[LAYOUT_FILE];
	uint64_t number;

	if (!mark || mark - file >= LAYOUT_FILE)
		return false;
	memcpy(chunk, file, (size_t)(mark - file));
	chunk[mark - file] = '\0';
	mark += strlen(".aside");
	return layout_chunk_number(chunk, name, &number) &&
	       !mark[strspn(mark, DIGITS)];
}

/* ---- positions of blocks ---------------------------------------------- */

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
sg_make(struct layout_plan *plan, const json_t *head)
{
	uint64_t block = number_of(head, "geometry", "block_bytes");
	uint64_t payload = number_of(head, "geometry", "payload");
	uint64_t parts = number_of(head, "geometry", "parts");

	if (!block || block > LAYOUT_SG_MOST - SG_BLOCK || !payload ||
	    payload > block || !parts || parts > block / payload)
		return -EBADMSG;
	plan->sg = (struct sg_header){
		.version = 2,
		.block_bytes = (uint32_t)block + SG_BLOCK,
		.format = packets_of(text_of(head, "format")),
		.packet_bytes = (uint32_t)(payload * parts),
	};
	return 0;
}

int
layout_plan_make(struct layout_plan *plan, const char *name, const json_t *head)
{
	const char *word = text_of(head, "layout");
	const char *extension = text_of(head, "extension");

	*plan = (struct layout_plan){ .layout = LAYOUT_VBS };
	snprintf(plan->name, sizeof plan->name, "%s", name);
	if (*word && !layout_parse(word, &plan->layout))
		return -EBADMSG;
	if (!layout_extension_good(extension))
		extension = "data";
	snprintf(plan->extension, sizeof plan->extension, "%s", extension);
	if (plan->layout == LAYOUT_VBS &&
	    json_is_true(json_object_get(head, "vbs_cfg")))
		plan->cfg_packet = (uint32_t)json_integer_value(json_object_get(
		    json_object_get(head, "geometry"), "payload"));
	return plan->layout == LAYOUT_MARK6 ? sg_make(plan, head) : 0;
}

bool
layout_plan_shared(const struct layout_plan *plan)
{
	return plan->layout != LAYOUT_VBS;
}

unsigned
layout_plan_begin(const struct layout_plan *plan, uint8_t *raw)
{
	if (plan->layout != LAYOUT_MARK6)
		return 0;
	if (raw)
		sg_header_write(raw, &plan->sg);
	return SG_HEADER;
}

void
layout_plan_spot(const struct layout_plan *plan, uint64_t start,
		 uint64_t number, uint64_t bytes, struct layout_spot *spot)
{
	*spot = (struct layout_spot){ .start = start, .room = bytes };
	if (plan->layout == LAYOUT_VBS)
		layout_chunk(spot->file, plan->name, number);
	else
		layout_data(spot->file, plan->name, plan->layout,
			    plan->extension);
	if (plan->layout == LAYOUT_MARK6) {
		spot->prefix_bytes = SG_BLOCK;
		spot->room = plan->sg.block_bytes - SG_BLOCK;
		sg_block_write(spot->prefix, (uint32_t)number,
			       (uint32_t)spot->room);
	}
	if (plan->layout == LAYOUT_VBS)
		spot->start = 0;
	spot->offset = spot->start + spot->prefix_bytes;
	spot->end = spot->offset + spot->room;
}

int
layout_plan_back(const struct layout_plan *plan, const uint8_t *raw,
		 uint64_t left, uint64_t *number, uint64_t *bytes)
{
	struct sg_block b;
	int err;

	if (plan->layout != LAYOUT_MARK6)
		return -ENOTSUP;
	err = sg_block_read(&plan->sg, raw, left, &b);
	if (err)
		return err;
	*number = b.number;
	*bytes = b.bytes;
	return 0;
}
