# Addresses as users write them: once for the programs, once for the plugins.
NET_SOURCES = \
	%D%/address.c %D%/address.h \
	%D%/allow.c %D%/allow.h \
	%D%/endpoint.c %D%/endpoint.h \
	%D%/url.c %D%/url.h
noinst_LIBRARIES += libnet.a
libnet_a_SOURCES = $(NET_SOURCES)
libnet_a_CFLAGS = $(AM_CFLAGS)
noinst_LTLIBRARIES += libnet.la
libnet_la_SOURCES = $(NET_SOURCES)
libnet_la_LDFLAGS = $(AM_LDFLAGS)
