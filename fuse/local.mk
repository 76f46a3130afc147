# What a mount shows needs no libfuse, and is tested without.
FUSE_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
noinst_LIBRARIES += libfusetree.a
libfusetree_a_CPPFLAGS = $(FUSE_CPPFLAGS)
libfusetree_a_SOURCES = \
	%D%/info.c %D%/info.h \
	%D%/live.c %D%/live.h %D%/live_priv.h \
	%D%/live_memory.c \
	%D%/live_talk.c \
	%D%/measure.c %D%/measure.h \
	%D%/names.c %D%/names.h \
	%D%/nodes.c %D%/nodes.h \
	%D%/span.c %D%/span.h \
	%D%/tree.c %D%/tree.h %D%/tree_priv.h \
	%D%/tree_attr.c \
	%D%/tree_child.c \
	%D%/tree_dir.c \
	%D%/tree_keep.c
FUSE_TREE_LIBS = libfusetree.a $(STORE_LIBS)

if HAVE_FUSE
bin_PROGRAMS += spatefs
SPATEFS_CPPFLAGS = $(FUSE_CPPFLAGS) $(FUSE_CFLAGS) -DFUSE_USE_VERSION=312
spatefs_CPPFLAGS = $(SPATEFS_CPPFLAGS)
spatefs_SOURCES = \
	%D%/detach.c %D%/detach.h \
	%D%/interrupt.c %D%/interrupt.h \
	%D%/main.c \
	%D%/ops.c %D%/ops_file.c %D%/ops.h \
	%D%/options.c %D%/options.h \
	%D%/point.c %D%/point.h \
	%D%/session.c %D%/session.h \
	%D%/source.c %D%/source.h \
	%D%/uring.h \
	%D%/user.c %D%/user.h
if HAVE_FUSE_URING
spatefs_SOURCES += %D%/uring.c
else
spatefs_SOURCES += %D%/nouring.c
endif
spatefs_LDADD = $(FUSE_TREE_LIBS) $(FUSE_LIBS)
endif
EXTRA_DIST += %D%/uring.c %D%/nouring.c
