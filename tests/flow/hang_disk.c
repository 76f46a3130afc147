/* SPDX-License-Identifier: MIT */
/*
 * hang_disk FROM AT: shows the folder FROM at AT as the files of a disk that
 * does what it is told on the standard input, a line for each thing:
 *
 *   hang            answers nothing from now on
 *   hang closing    and files cannot be closed, either
 *   answer          answers again
 *   fail FROM TO    reads of these bytes of any file get EIO
 *   mend            they do not
 *
 * Each is answered by "done".  It ends with the input; what still waits for an
 * answer then gets an error.
 */
#include "config.h"

#include <err.h>
#include <inttypes.h>

#include "lib/hang_fs.h"

static struct hang_fs fs;

static bool
obey(const char *line)
{
	uint64_t from, to;

	if (sscanf(line, "fail %" SCNu64 " %" SCNu64, &from, &to) == 2) {
		atomic_store(&fs.told->fail_from, from);
		atomic_store(&fs.told->fail_to, to);
	} else if (!strcmp(line, "mend\n")) {
		atomic_store(&fs.told->fail_to, 0);
	} else if (!strncmp(line, "hang", 4)) {
		atomic_store(&fs.told->hang_close,
			     !strcmp(line + 4, " closing\n"));
		atomic_store(&fs.told->hang, true);
	} else if (!strcmp(line, "answer\n")) {
		atomic_store(&fs.told->hang, false);
	} else {
		return false;
	}
	return true;
}

int
main(int argc, char **argv)
{
	char line[100];
	int err;

	if (argc != 3)
		errx(2, "usage: hang_disk FROM AT");
	err = hang_fs_mount(&fs, argv[1], argv[2]);
	if (err)
		errx(77, "%s: %s", argv[2], strerror(-err));
	puts("done");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		if (!obey(line)) {
			warnx("what is this? %s", line);
			continue;
		}
		puts("done");
		fflush(stdout);
	}
	hang_fs_unmount(&fs);
	return 0;
}
