noinst_LIBRARIES += libstore.a
libstore_a_SOURCES = \
	%D%/disk.c %D%/disk.h \
	%D%/fill.c %D%/fill.h \
	%D%/folder.c %D%/folder.h \
	%D%/geometry.c %D%/geometry.h \
	%D%/index.c %D%/index.h \
	%D%/layout.c %D%/layout.h \
	%D%/meta.c %D%/meta.h
STORE_LIBS = libstore.a $(BASE_LIBS)
