# What a mount shows needs no libfuse, and is tested without.
FUSE_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
noinst_LIBRARIES += libfusetree.a
libfusetree_a_CPPFLAGS = $(FUSE_CPPFLAGS)
libfusetree_a_SOURCES = \
	%D%/tree.h
FUSE_TREE_LIBS = libfusetree.a $(STORE_LIBS)
