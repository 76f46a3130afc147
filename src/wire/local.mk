# The frames of spate's own connections: once for the programs, once for the
# plugins.
WIRE_SOURCES = \
	%D%/copy.c %D%/copy.h \
	%D%/frame.c %D%/frame.h \
	%D%/handshake.c %D%/handshake.h \
	%D%/refuse.c %D%/refuse.h
noinst_LIBRARIES += libwire.a
libwire_a_SOURCES = $(WIRE_SOURCES)
libwire_a_CFLAGS = $(AM_CFLAGS)
noinst_LTLIBRARIES += libwire.la
libwire_la_SOURCES = $(WIRE_SOURCES)
libwire_la_LIBADD = $(JANSSON_LIBS)
libwire_la_LDFLAGS = $(AM_LDFLAGS)
