# libfusetree.a, the names and sizes of a mount, is tested without libfuse.
FUSE_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
noinst_LIBRARIES += libfusetree.a
libfusetree_a_CPPFLAGS = $(FUSE_CPPFLAGS)
libfusetree_a_SOURCES = \
	%D%/tree/measure.c %D%/tree/measure.h \
	%D%/live/live.c %D%/live/live.h \
	%D%/tree/mount_source.c %D%/tree/mount_source.h \
	%D%/tree/names.c %D%/tree/names.h \
	%D%/tree/nodes.c %D%/tree/nodes.h \
	%D%/tree/span.c %D%/tree/span.h \
	%D%/tree/tree.c %D%/tree/tree.h %D%/tree/tree_priv.h \
	%D%/tree/tree_attr.c \
	%D%/tree/tree_worker.c
FUSE_TREE_LIBS = libfusetree.a $(STORE_LIBS)

if HAVE_FUSE
bin_PROGRAMS += spatefs
SPATEFS_CPPFLAGS = $(FUSE_CPPFLAGS) $(FUSE_CFLAGS) -DFUSE_USE_VERSION=312
spatefs_CPPFLAGS = $(SPATEFS_CPPFLAGS)
spatefs_SOURCES = \
	%D%/main.c \
	%D%/ops.c %D%/ops.h \
	%D%/point.c %D%/point.h \
	%D%/session.c %D%/session.h \
	%D%/tree/options.c %D%/tree/options.h
if HAVE_FUSE_URING
spatefs_SOURCES += %D%/uring.c
else
spatefs_SOURCES += %D%/nouring.c
endif
spatefs_LDADD = $(FUSE_TREE_LIBS) $(FUSE_LIBS)
endif
EXTRA_DIST += %D%/uring.c %D%/nouring.c
