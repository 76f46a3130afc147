# Connections of sends: once for the programs, once for the plugins.
CHANNEL_SOURCES = \
	%D%/channel.c %D%/channel.h \
	%D%/line.c %D%/line.h
noinst_LIBRARIES += libchannel.a
libchannel_a_SOURCES = $(CHANNEL_SOURCES)
libchannel_a_CFLAGS = $(AM_CFLAGS)
noinst_LTLIBRARIES += libchannel.la
libchannel_la_SOURCES = $(CHANNEL_SOURCES)
libchannel_la_LDFLAGS = $(AM_LDFLAGS)
