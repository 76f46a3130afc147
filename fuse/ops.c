/* SPDX-License-Identifier: MIT */
/*
 * Answers requests for names, attributes and lists.
 *
 * The kernel checks modes itself (default_permissions), and refuses all changes
 * before it asks, because the mount is read-only.  For requests without a
 * callback here (xattr, locks, poll, ioctl) it takes "not supported" as the
 * answer after it has asked once; it handles locks alone.
 */
#include "fuse/ops.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fuse/interrupt.h"
#include "fuse/tree/tree.h"

static struct ops *
ops_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

void
ops_init(struct ops *ops)
{
	memset(ops, 0, sizeof *ops);
	pthread_mutex_init(&ops->lock, NULL);
}

void
ops_handle_add(struct ops *ops, struct ops_handle *h)
{
	pthread_mutex_lock(&ops->lock);
	h->before = NULL;
	h->next = ops->handles;
	if (h->next)
		h->next->before = h;
	ops->handles = h;
	pthread_mutex_unlock(&ops->lock);
}

void
ops_handle_remove(struct ops *ops, struct ops_handle *h)
{
	pthread_mutex_lock(&ops->lock);
	if (h->before)
		h->before->next = h->next;
	else
		ops->handles = h->next;
	if (h->next)
		h->next->before = h->before;
	pthread_mutex_unlock(&ops->lock);
}

void
ops_finish(struct ops *ops)
{
	struct ops_handle *h;

	while ((h = ops->handles)) {
		ops_handle_remove(ops, h);
		h->close(h);
	}
	pthread_mutex_destroy(&ops->lock);
}

/*
 * Sets limits when the kernel greets. max_background is the number of
 * read-ahead requests under way for all files together; beyond it, readers wait
 * for each other.  With 12, the default, four readers of a file each had three.
 */
static void
greet(void *data, struct fuse_conn_info *conn)
{
	(void)data;
	conn->max_readahead = OPS_READ_AHEAD;
	conn->max_background = 256;
	conn->congestion_threshold = 192;
}

static struct fuse_entry_param
entry_of(const struct tree_attr *a)
{
	return (struct fuse_entry_param){
		.ino = a->id,
		.attr = a->st,
		.attr_timeout = a->keep_ms / 1e3,
		.entry_timeout = a->keep_ms / 1e3,
	};
}

static void
lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct tree *tree = ops_of(req)->tree;
	struct fuse_entry_param entry;
	struct interrupt interrupt;
	struct tree_attr a;
	bool known = true;
	int err;

	if (!interrupt_watch(&interrupt, req))
		return;
	err = tree_lookup(tree, parent, name, &a);
	if (!interrupt_settle(&interrupt)) {
		known = false;
	} else if (err) {
		fuse_reply_err(req, -err);
	} else {
		entry = entry_of(&a);
		known = fuse_reply_entry(req, &entry) != -ENOENT;
	}
	/* The kernel was not told of the node, and will not forget it. */
	if (!err && !known)
		tree_forget(tree, a.id, 1);
}

static void
forget(fuse_req_t req, fuse_ino_t id, uint64_t n)
{
	tree_forget(ops_of(req)->tree, id, n);
	fuse_reply_none(req);
}

static void
forget_multi(fuse_req_t req, size_t n, struct fuse_forget_data *all)
{
	for (size_t i = 0; i < n; i++)
		tree_forget(ops_of(req)->tree, all[i].ino, all[i].nlookup);
	fuse_reply_none(req);
}

/* The tree may know a smaller size than the open file has. */
static void
getattr(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
	struct interrupt interrupt;
	struct tree_attr a;
	uint64_t bytes;
	int err;

	if (!interrupt_watch(&interrupt, req))
		return;
	err = tree_get(ops_of(req)->tree, id, &a);
	if (!interrupt_settle(&interrupt))
		return;
	if (err) {
		fuse_reply_err(req, -err);
		return;
	}
	bytes = fi ? ops_file_bytes(fi) : 0;
	if (a.growing && bytes > (uint64_t)a.st.st_size)
		a.st.st_size = (off_t)bytes;
	fuse_reply_attr(req, &a.st, a.keep_ms / 1e3);
}

static void
statfs(fuse_req_t req, fuse_ino_t id)
{
	struct statvfs vfs = { .f_namemax = 255 };

	(void)id;
	tree_statfs(ops_of(req)->tree, &vfs);
	fuse_reply_statfs(req, &vfs);
}

/* ---- lists ------------------------------------------------------------ */

struct folder {
	struct ops_handle handle;
	struct tree_dir *dir;
};

struct list {
	fuse_req_t req;
	char *data;
	size_t used, room;
	bool plus;
};

static struct folder *
folder_of(const struct fuse_file_info *fi)
{
	return (struct folder *)(uintptr_t)fi->fh;
}

static bool
list_put(void *arg, const char *name, const struct tree_attr *a, uint64_t next)
{
	struct list *l = arg;
	struct fuse_entry_param entry = entry_of(a);
	size_t left = l->room - l->used, n;

	if (l->plus)
		n = fuse_add_direntry_plus(l->req, l->data + l->used, left,
					   name, &entry, (off_t)next);
	else
		n = fuse_add_direntry(l->req, l->data + l->used, left, name,
				      &a->st, (off_t)next);
	if (n > left)
		return false;
	l->used += n;
	return true;
}

static void
list(fuse_req_t req, size_t bytes, off_t at, struct fuse_file_info *fi,
     bool plus)
{
	struct list l = { .req = req, .room = bytes, .plus = plus };
	const struct tree_entry e = { list_put, &l, plus };
	int err;

	l.data = malloc(bytes);
	if (!l.data) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	err = tree_dir_read(folder_of(fi)->dir, (uint64_t)at, &e);
	if (err)
		fuse_reply_err(req, -err);
	else
		fuse_reply_buf(req, l.data, l.used);
	free(l.data);
}

static void
readdir(fuse_req_t req, fuse_ino_t id, size_t bytes, off_t at,
	struct fuse_file_info *fi)
{
	(void)id;
	list(req, bytes, at, fi, false);
}

static void
readdirplus(fuse_req_t req, fuse_ino_t id, size_t bytes, off_t at,
	    struct fuse_file_info *fi)
{
	(void)id;
	list(req, bytes, at, fi, true);
}

static void
folder_close(struct ops_handle *h)
{
	struct folder *folder = (struct folder *)h;

	tree_dir_close(folder->dir);
	free(folder);
}

static void
opendir(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
	struct folder *folder = calloc(1, sizeof *folder);
	struct ops *ops = ops_of(req);
	struct interrupt interrupt;
	int err = -ENOMEM;
	bool ours;

	if (!interrupt_watch(&interrupt, req)) {
		free(folder);
		return;
	}
	if (folder)
		err = tree_dir_open(ops->tree, id, &folder->dir);
	ours = interrupt_settle(&interrupt);
	if (err || !ours) {
		if (ours)
			fuse_reply_err(req, -err);
		if (!err)
			tree_dir_close(folder->dir);
		free(folder);
		return;
	}
	folder->handle.close = folder_close;
	ops_handle_add(ops, &folder->handle);
	fi->fh = (uintptr_t)folder;
	/*
	 * The request was interrupted: the kernel will not release the folder.
	 */
	if (fuse_reply_open(req, fi) == -ENOENT) {
		ops_handle_remove(ops, &folder->handle);
		folder_close(&folder->handle);
	}
}

static void
releasedir(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
	struct folder *folder = folder_of(fi);

	(void)id;
	ops_handle_remove(ops_of(req), &folder->handle);
	folder_close(&folder->handle);
	fuse_reply_err(req, 0);
}

const struct fuse_lowlevel_ops ops_table = {
	.init = greet,
	.lookup = lookup,
	.forget = forget,
	.forget_multi = forget_multi,
	.getattr = getattr,
	.open = ops_open,
	.read = ops_read,
	.release = ops_release,
	.opendir = opendir,
	.readdir = readdir,
	.readdirplus = readdirplus,
	.releasedir = releasedir,
	.statfs = statfs,
};
