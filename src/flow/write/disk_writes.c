/* SPDX-License-Identifier: MIT */
/*
 * The plugin is found by trying it, not by asking: a file system may know
 * O_DIRECT and refuse it, a kernel may have io_uring and forbid it, and both
 * may change with the next mount.  A try writes one page; a disk pays it when a
 * recording begins.
 */
#include "flow/write/disk_writes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "store/record/geometry.h"
#include "store/disk/file.h"

void
disk_writes_init(struct disk_writes *w, const struct disk_writes_args *args)
{
	*w = (struct disk_writes){ .a = *args, .host = log_host(args->disk) };
}

static void
plugin_close(struct open_plugin *plugin)
{
	if (plugin->is) {
		plugin->is->ops->close(plugin->state);
		writes_finish(&plugin->writes);
	}
	*plugin = (struct open_plugin){ .is = NULL };
}

void
disk_writes_finish(struct disk_writes *w)
{
	plugin_close(&w->main);
}

static int
plugin_open(struct disk_writes *w, struct open_plugin *plugin,
	    const struct write_plugin *is)
{
	struct write_args args = { .host = &w->host,
				   .options = is->options,
				   .arena = w->a.arena,
				   .arena_bytes = w->a.arena_bytes,
				   .arena_ready = w->a.arena_ready };
	int err = is->ops->open(&plugin->state, &args);

	if (err)
		return err;
	plugin->is = is;
	writes_init(&plugin->writes, is->ops, plugin->state,
		    is == &write_remotely ? WRITES_REQUESTS : WRITES_LOCAL, 1,
		    w->a.beat);
	return 0;
}

static uint64_t
direct_align(int fd)
{
	struct statx s;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &s) == 0 &&
	    s.stx_mask & STATX_DIOALIGN && s.stx_dio_offset_align)
		return s.stx_dio_offset_align;
	return GEOMETRY_PAGE;
}

/* Opens a file without a name; where the file system has none, a file that is
 * unlinked at once, even if it could not be opened. */
static int
probe_open(const struct disk *disk, int flags)
{
	static const char name[] = ".spate-probe";
	int fd;

	flags |= O_WRONLY;
	fd = file_nameless_at(disk->fd, flags);
	if (fd >= 0)
		return fd;
	if (errno != EOPNOTSUPP)
		return -errno;
	fd = disk_open_at(disk->fd, name, O_CREAT | flags, DISK_NO_LINKS);
	file_remove_at(disk->fd, name, 0);
	return fd;
}

static int
page_write(struct writes_in_flight *f, int fd)
{
	struct file_write file = { .fd = fd, .bytes = GEOMETRY_PAGE };
	void *page;

	if (posix_memalign(&page, GEOMETRY_PAGE, GEOMETRY_PAGE))
		return -ENOMEM;
	memset(page, 0, GEOMETRY_PAGE);
	file.data = page;
	writes_add(f, &file);
	while (writes_push(f), !writes_done(f))
		writes_wait(f);
	free(page);
	return file.err;
}

static int
plugin_flags(const struct open_plugin *plugin)
{
	return plugin->is->ops->head.flags & WRITE_DIRECT ? O_DIRECT : 0;
}

static int
plugin_try(struct open_plugin *plugin, const struct disk *disk)
{
	const struct write_ops *ops = plugin->is->ops;
	int flags = plugin_flags(plugin), err = 0, fd;

	if (ops->head.flags & WRITE_NOTHING)
		return 0;
	fd = probe_open(disk, flags);
	if (fd < 0)
		return fd;
	plugin->writes.align = flags ? direct_align(fd) : 1;
	if (plugin->writes.align > GEOMETRY_PAGE)
		err = -EINVAL; /* blocks are aligned to a page, no more */
	if (!err)
		err = page_write(&plugin->writes, fd);
	if (ops->finish)
		ops->finish(plugin->state, fd);
	file_close(fd);
	return err;
}

/* Logs which plugin is used, if that changed, and why (`why`, -errno) the one
 * before it in the list is not. */
static void
tell(struct disk_writes *w, int why)
{
	const struct write_plugin *is = w->main.is;

	if (w->told == is)
		return;
	w->told = is;
	if (is == w->a.plugin || is == &write_remotely)
		log_line(LEVEL_INFO, w->a.disk, "writes with %s",
			 is->ops->head.name);
	else
		log_line(LEVEL_WARN, w->a.disk,
			 "writes with %s, since %s does not work here: %s",
			 is->ops->head.name, is[-1].ops->head.name,
			 why == -EINVAL ? "O_DIRECT is refused"
					: strerror(-why));
}

/* True for an error of the disk, not of the plugin.  Another plugin that
 * goes through the page cache would hide it until the data has to be made
 * durable. */
static bool
is_ill(int err)
{
	return err == -EIO || err == -EROFS || err == -ENOSPC || err == -EDQUOT;
}

/* Opens the write plugin of a remote disk: write_remotely, as the plugins of
 * the configuration need descriptors; or one of these if it stores nothing. */
static int
probe_remote(struct disk_writes *w, const struct disk *disk)
{
	const struct write_plugin *is = w->a.plugin;
	int err = 0;

	if (!(is->ops->head.flags & WRITE_NOTHING))
		is = &write_remotely;
	if (w->main.is != is) {
		plugin_close(&w->main);
		err = plugin_open(w, &w->main, is);
	}
	if (!err)
		err = plugin_try(&w->main, disk);
	if (err)
		disk_writes_finish(w);
	else
		tell(w, 0);
	return err;
}

int
disk_writes_probe(struct disk_writes *w, const struct disk *disk)
{
	int err = -EINVAL, why = 0;

	if (file_is_remote(disk->fd))
		return probe_remote(w, disk);
	if (w->main.is)
		err = plugin_try(&w->main, disk);
	for (unsigned i = 0; err && !is_ill(err) && i < w->a.n; i++) {
		plugin_close(&w->main);
		why = err;
		err = plugin_open(w, &w->main, &w->a.plugin[i]);
		if (!err)
			err = plugin_try(&w->main, disk);
	}
	if (err)
		disk_writes_finish(w);
	else
		tell(w, why);
	return err;
}

int
disk_writes_flags(const struct disk_writes *w)
{
	return plugin_flags(&w->main);
}
