/* SPDX-License-Identifier: MIT */
/*
 * Mounts are read from /proc/self/mountinfo:
 *
 *   36 25 0:52 / /recordings ro,nosuid - fuse.spatefs /etc/spate/spate.conf ro
 *         device point                   type
 *
 * Blanks in a path are written as \040.  Of several mounts on one point the
 * last line is the visible one.
 *
 * For reads through the page cache the kernel reads 128 KiB ahead in one
 * request, until /sys/class/bdi/<device>/read_ahead_kb says more.  With libfuse
 * 3.14 on two cores, dd bs=4M of data in the server's memory: 128 KiB 0.6 to
 * 2.3 GB/s, 4096 KiB 4.1 GB/s.  The value may be raised before the kernel has
 * greeted the server, because the greeting only lowers it to the server's
 * maximum (greet() in ops.c).
 */
#include "fuse/point.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "store/disk/disk.h"

enum { READ_AHEAD_KB = 4096 };

static int
folder_fault(const char *folder, int err, struct fault *fault)
{
	fault_set(fault, err, err == -ENOENT ? "not-found" : "io",
		  "cannot mount on %s", folder);
	fault_why(fault, "%s", strerror(-err));
	if (err == -ENOENT)
		fault_hint(fault, "mkdir %s", folder);
	else if (err == -ENOTDIR)
		fault_hint(fault, "name a folder");
	return err;
}

/*
 * Makes a path absolute, without links.  A dead mount cannot be resolved, but
 * the folder that it is in can.
 */
static int
resolve(const char *folder, char path[PATH_MAX])
{
	char above[PATH_MAX], last[PATH_MAX], *slash;
	size_t n = strlen(folder);

	if (realpath(folder, path))
		return 0;
	if (errno != ENOTCONN)
		return -errno;
	while (n > 1 && folder[n - 1] == '/')
		n--;
	if (n >= sizeof above)
		return -ENAMETOOLONG;
	memcpy(above, folder, n);
	above[n] = '\0';
	slash = strrchr(above, '/');
	strcpy(last, slash ? slash + 1 : above);
	if (!slash)
		strcpy(above, ".");
	else
		slash[slash == above] = '\0';
	if (!realpath(above, path))
		return -errno;
	n = strlen(path);
	if (n + strlen(last) + 2 > PATH_MAX)
		return -ENAMETOOLONG;
	if (n > 1)
		path[n++] = '/';
	strcpy(path + n, last);
	return 0;
}

/* Replaces \040 and the like, in place. */
static char *
unescape(char *text)
{
	char *to = text;

	for (const char *s = text; *s; to++) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] &&
		    s[3]) {
			*to = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 |
				     (s[3] - '0'));
			s += 4;
		} else {
			*to = *s++;
		}
	}
	*to = '\0';
	return text;
}

static void
line_look(struct point *p, char *line)
{
	char *rest = line, *device, *path, *type;

	strsep(&rest, " ");
	strsep(&rest, " ");
	device = strsep(&rest, " ");
	strsep(&rest, " ");
	path = strsep(&rest, " ");
	type = rest ? strstr(rest, " - ") : NULL;
	if (!type || strcmp(unescape(path), p->path) != 0)
		return;
	type += 3;
	snprintf(p->device, sizeof p->device, "%s", device);
	snprintf(p->type, sizeof p->type, "%.*s", (int)strcspn(type, " "),
		 type);
}

int
point_look(struct point *p)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	char *line = NULL;
	size_t room = 0;

	if (!file)
		return -errno;
	p->device[0] = p->type[0] = '\0';
	while (getline(&line, &room, file) > 0)
		line_look(p, line);
	free(line);
	fclose(file);
	return p->device[0] ? 0 : -ENOENT;
}

/*
 * Unmounts lazily.  Without the right to do it itself, it asks fusermount3,
 * which unmounts an ordinary user's own mounts.
 */
static int
take_away(const struct point *p)
{
	int status;
	pid_t pid;

	if (umount2(p->path, MNT_DETACH) == 0)
		return 0;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		execlp("fusermount3", "fusermount3", "-u", "-z", "-q", "--",
		       p->path, NULL);
		_exit(127);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return status ? -EPERM : 0;
}

static int
dead(struct point *p, struct fault *fault)
{
	bool ours = strcmp(p->type, "fuse.spatefs") == 0;

	if (ours && take_away(p) == 0) {
		log_line(LEVEL_WARN, p->path,
			 "removed the mount of a spatefs that was killed");
		return 0;
	}
	fault_set(fault, -ENOTCONN, "busy", "cannot mount on %.200s", p->path);
	fault_why(fault, "the program that was mounted there (%s) is dead",
		  p->type);
	fault_hint(fault, "%sumount -l %.200s", ours ? "as root: " : "",
		   p->path);
	return -ENOTCONN;
}

/* Tells whether `path` is `above`, or below it. */
static bool
is_in(const char *path, const char *above)
{
	size_t n = strlen(above);

	return strcmp(above, "/") == 0 ||
	       (strncmp(path, above, n) == 0 && (!path[n] || path[n] == '/'));
}

/*
 * Refuses a mount point above, on or below one of the disks: the mount would
 * look into itself.
 */
static int
disks_check(const struct point *p, const struct disks *disks,
	    struct fault *fault)
{
	char path[PATH_MAX];

	for (unsigned i = 0; i < disks->n; i++) {
		if (!realpath(disks->disk[i].path, path) ||
		    (!is_in(path, p->path) && !is_in(p->path, path)))
			continue;
		fault_set(fault, -EINVAL, "usage", "cannot mount on %.200s",
			  p->path);
		fault_why(fault, "%s",
			  strcmp(path, p->path) == 0 ? "it is one of the disks"
			  : is_in(path, p->path)     ? "a disk is below it"
						 : "it is on one of the disks");
		fault_hint(fault, "mount on a folder elsewhere");
		return -EINVAL;
	}
	return 0;
}

static int
busy(const struct point *p, struct fault *fault)
{
	fault_set(fault, -EBUSY, "busy", "cannot mount on %.200s", p->path);
	fault_why(fault, "a spatefs is mounted there already");
	fault_hint(fault, "umount %.200s", p->path);
	return -EBUSY;
}

/*
 * Tells whether a mount's program has died. statvfs asks it each time, while
 * attributes may be cached.
 */
static bool
is_dead(const struct point *p)
{
	struct statvfs vfs;

	return strncmp(p->type, "fuse", 4) == 0 && statvfs(p->path, &vfs) < 0 &&
	       (errno == ENOTCONN || errno == ECONNABORTED);
}

static int
mounted_check(struct point *p, struct fault *fault)
{
	int err = 0;

	/* Each spatefs that was killed while mounted over another left one. */
	for (int i = 0; i < 16 && !err; i++) {
		err = point_look(p);
		if (err)
			break;
		if (is_dead(p))
			err = dead(p, fault);
		else if (strcmp(p->type, "fuse.spatefs") == 0)
			err = busy(p, fault);
		else
			return 0;
		if (err)
			return err;
	}
	return err == -ENOENT ? 0 : folder_fault(p->path, err, fault);
}

int
point_find(struct point *p, const char *folder, const struct disks *disks,
	   struct fault *fault)
{
	struct stat st;
	int err = resolve(folder, p->path);

	if (err)
		return folder_fault(folder, err, fault);
	err = mounted_check(p, fault);
	if (err)
		return err;
	if (stat(p->path, &st) < 0)
		return folder_fault(folder, -errno, fault);
	if (!S_ISDIR(st.st_mode))
		return folder_fault(folder, -ENOTDIR, fault);
	return disks_check(p, disks, fault);
}

void
point_read_ahead(const struct point *p)
{
	char path[80], text[16];
	int n = snprintf(text, sizeof text, "%d\n", READ_AHEAD_KB), err = 0;
	int fd;

	snprintf(path, sizeof path, "/sys/class/bdi/%s/read_ahead_kb",
		 p->device);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, (size_t)n) != n)
		err = errno;
	if (fd >= 0)
		close(fd);
	if (err)
		log_line(LEVEL_INFO, p->path,
			 "requests are 128 KiB each, which is slow; as root: "
			 "echo %d >%s",
			 READ_AHEAD_KB, path);
}
