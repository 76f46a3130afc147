/* SPDX-License-Identifier: MIT */
/*
 * Names are restricted to what jive5ab can read back: it refuses every chunk of
 * a name with a '.', and "_ds" is its mark for one stream of several.  Names of
 * digits alone would be taken for an ID by our own commands.  Character classes
 * are spelled out because isalnum() depends on the locale.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/disk/layout.h"

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
		return "it is all digits, as an ID";
	if (strstr(name, stream_mark))
		return "\"_ds\" in it is kept for streams recorded together";
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

	return !fstat(a, &x) && !fstat(b, &y) && x.st_dev == y.st_dev &&
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
			close(fd);
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
	static const char *const ours[] = { "index", "meta", "sums",
					    "protect" };
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
