/* SPDX-License-Identifier: MIT */
#include "lib/hang_fs.h"

static void
hang_fs_answer(struct hang_fs *h, uint64_t unique, int err, const void *data,
	       size_t bytes)
{
	struct fuse_out_header out = {
		.len = (uint32_t)(sizeof out + (err ? 0 : bytes)),
		.error = -err,
		.unique = unique,
	};
	static char all[HANG_FS_BUFFER + 4096];

	memcpy(all, &out, sizeof out);
	if (!err && bytes)
		memcpy(all + sizeof out, data, bytes);
	if (write(h->fd, all, out.len) < 0 && errno == ENODEV)
		_exit(0);
}

static const char *
hang_fs_path(const struct hang_fs *h, uint64_t node, const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof path, "%s%s%s%s", h->from, h->node[node],
		 name ? "/" : "", name ? name : "");
	return path;
}

static struct fuse_attr
hang_fs_attr(const struct stat *st, uint64_t node)
{
	return (struct fuse_attr){
		.ino = node,
		.size = (uint64_t)st->st_size,
		.blocks = (uint64_t)st->st_blocks,
		.mtime = (uint64_t)st->st_mtim.tv_sec,
		.mtimensec = (uint32_t)st->st_mtim.tv_nsec,
		.mode = st->st_mode,
		.nlink = (uint32_t)st->st_nlink,
		.blksize = 4096,
	};
}

static void
hang_fs_lookup(struct hang_fs *h, const struct fuse_in_header *in,
	       const char *name)
{
	struct fuse_entry_out e = { .entry_valid = 60, .attr_valid = 60 };
	struct stat st;
	unsigned i;

	if (stat(hang_fs_path(h, in->nodeid, name), &st) < 0) {
		hang_fs_answer(h, in->unique, errno, NULL, 0);
		return;
	}
	name = hang_fs_path(h, in->nodeid, name) + strlen(h->from);
	for (i = 1; i < h->nodes && strcmp(h->node[i], name); i++)
		;
	if (i == h->nodes && i < HANG_FS_NODES)
		h->node[h->nodes++] = strdup(name);
	e.nodeid = i;
	e.attr = hang_fs_attr(&st, i);
	hang_fs_answer(h, in->unique, 0, &e, sizeof e);
}

static void
hang_fs_getattr(struct hang_fs *h, const struct fuse_in_header *in)
{
	struct fuse_attr_out a = { .attr_valid = 60 };
	struct stat st;

	if (stat(hang_fs_path(h, in->nodeid, NULL), &st) < 0) {
		hang_fs_answer(h, in->unique, errno, NULL, 0);
		return;
	}
	a.attr = hang_fs_attr(&st, in->nodeid);
	hang_fs_answer(h, in->unique, 0, &a, sizeof a);
}

static void
hang_fs_read(struct hang_fs *h, const struct fuse_in_header *in,
	     const struct fuse_read_in *r)
{
	bool fails = r->offset < atomic_load(&h->told->fail_to) &&
		     r->offset + r->size > atomic_load(&h->told->fail_from);
	int err = fails ? EIO : 0;
	ssize_t got = 0;
	int fd;

	fd = open(hang_fs_path(h, in->nodeid, NULL), O_RDONLY | O_CLOEXEC);
	if (!err && fd >= 0)
		got = pread(fd, h->out,
			    r->size < HANG_FS_BUFFER ? r->size : HANG_FS_BUFFER,
			    (off_t)r->offset);
	if (!err && (fd < 0 || got < 0))
		err = EIO;
	if (fd >= 0)
		close(fd);
	hang_fs_answer(h, in->unique, err, h->out, err ? 0 : (size_t)got);
}

/* What the kernel asks for from an offset on: entries, counted. */
static void
hang_fs_readdir(struct hang_fs *h, const struct fuse_in_header *in,
		const struct fuse_read_in *r)
{
	DIR *dir = opendir(hang_fs_path(h, in->nodeid, NULL));
	struct dirent *found;
	uint64_t n = 0;
	size_t at = 0;

	while (dir && (found = readdir(dir))) {
		size_t length = strlen(found->d_name);
		struct fuse_dirent e = {
			.ino = found->d_ino,
			.off = ++n,
			.namelen = (uint32_t)length,
			.type = found->d_type,
		};
		size_t bytes = FUSE_DIRENT_ALIGN(sizeof e + length);

		if (n <= r->offset)
			continue;
		if (at + bytes > r->size || at + bytes > HANG_FS_BUFFER)
			break;
		memset(h->out + at, 0, bytes);
		memcpy(h->out + at, &e, sizeof e);
		memcpy(h->out + at + sizeof e, found->d_name, length);
		at += bytes;
	}
	hang_fs_answer(h, in->unique, dir ? 0 : ENOENT, h->out, at);
	if (dir)
		closedir(dir);
}

static void
hang_fs_run(struct hang_fs *h, const char *request)
{
	static const struct fuse_init_out init = {
		.major = FUSE_KERNEL_VERSION,
		.minor = 31,
		.max_readahead = HANG_FS_BUFFER,
		.flags = FUSE_ASYNC_READ | FUSE_MAX_PAGES | FUSE_ASYNC_DIO,
		.max_background = 64,
		.congestion_threshold = 64,
		.max_write = HANG_FS_BUFFER,
		.max_pages = HANG_FS_BUFFER / 4096,
	};
	static const struct fuse_open_out open_out = { .open_flags = 0 };
	static const struct fuse_statfs_out statfs_out = {
		.st = { .bsize = 4096, .frsize = 4096, .namelen = 255 },
	};
	const struct fuse_in_header *in = (const void *)request;
	const void *arg = request + sizeof *in;

	switch (in->opcode) {
	case FUSE_INIT:
		hang_fs_answer(h, in->unique, 0, &init, sizeof init);
		break;
	case FUSE_LOOKUP: hang_fs_lookup(h, in, arg); break;
	case FUSE_GETATTR: hang_fs_getattr(h, in); break;
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		hang_fs_answer(h, in->unique, 0, &open_out, sizeof open_out);
		break;
	case FUSE_READ: hang_fs_read(h, in, arg); break;
	case FUSE_READDIR: hang_fs_readdir(h, in, arg); break;
	case FUSE_STATFS:
		hang_fs_answer(h, in->unique, 0, &statfs_out,
			       sizeof statfs_out);
		break;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR: hang_fs_answer(h, in->unique, 0, NULL, 0); break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT: break;
	default: hang_fs_answer(h, in->unique, ENOSYS, NULL, 0);
	}
}

/* Closing does not wait for a disk, unless it is told to. */
static bool
hang_fs_holds(struct hang_fs *h, uint32_t opcode, size_t bytes)
{
	return atomic_load(&h->told->hang) && bytes <= HANG_FS_REQUEST &&
	       atomic_load(&h->told->held) < HANG_FS_HELD &&
	       (opcode == FUSE_READ || opcode == FUSE_LOOKUP ||
		opcode == FUSE_GETATTR || opcode == FUSE_OPEN ||
		opcode == FUSE_READDIR ||
		(opcode == FUSE_FLUSH && atomic_load(&h->told->hang_close)));
}

static void
hang_fs_serve(struct hang_fs *h)
{
	const struct fuse_in_header *in = (const void *)h->in;
	ssize_t got = read(h->fd, h->in, sizeof h->in);

	if (got < (ssize_t)sizeof *in) {
		if (errno == ENODEV)
			_exit(0);
		return;
	}
	if (hang_fs_holds(h, in->opcode, (size_t)got))
		memcpy(h->held[atomic_fetch_add(&h->told->held, 1)], h->in,
		       (size_t)got);
	else
		hang_fs_run(h, h->in);
}

static void
hang_fs_release(struct hang_fs *h)
{
	unsigned n = atomic_load(&h->told->held);

	if (!n || atomic_load(&h->told->hang))
		return;
	for (unsigned i = 0; i < n; i++)
		hang_fs_run(h, h->held[i]);
	atomic_store(&h->told->held, 0);
}

static void
hang_fs_child(struct hang_fs *h)
{
	struct pollfd fd = { .fd = h->fd, .events = POLLIN };

	/* A test that fails ends while its other threads wait for this disk, and
	 * so it is their parent for ever. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	h->node[1] = "";
	h->nodes = 2;
	while (getppid() != 1) {
		if (poll(&fd, 1, 10) > 0)
			hang_fs_serve(h);
		hang_fs_release(h);
	}
	_exit(0);
}

int
hang_fs_mount(struct hang_fs *h, const char *from, const char *at)
{
	char options[128];

	memset(h, 0, sizeof *h);
	h->from = from;
	h->at = at;
	h->fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (h->fd < 0)
		return -errno;
	h->told = mmap(NULL, sizeof *h->told, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	snprintf(options, sizeof options,
		 "fd=%d,rootmode=40000,user_id=0,group_id=0", h->fd);
	if (h->told == MAP_FAILED ||
	    mount("hang", at, "fuse", MS_NOSUID | MS_NODEV, options) < 0) {
		close(h->fd);
		return -errno;
	}
	h->child = fork();
	if (!h->child)
		hang_fs_child(h);
	close(h->fd); /* were the child to end, nothing would hang for ever */
	return h->child < 0 ? -errno : 0;
}

void
hang_fs_unmount(struct hang_fs *h)
{
	umount2(h->at, MNT_FORCE | MNT_DETACH);
	kill(h->child, SIGKILL);
	waitpid(h->child, NULL, 0);
	munmap(h->told, sizeof *h->told);
}

bool
hang_fs_can(struct hang_fs *h)
{
	char at[] = "/tmp/spate-test-XXXXXX";
	int err;

	if (!mkdtemp(at))
		return false;
	err = hang_fs_mount(h, "/tmp", at);
	if (!err)
		hang_fs_unmount(h);
	h->at = NULL;
	rmdir(at);
	return !err;
}
