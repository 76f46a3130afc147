# libweb.a is everything but main(), for the unit tests.
if HAVE_MICROHTTPD
noinst_LIBRARIES += libweb.a
libweb_a_SOURCES = \
	%D%/figures.c %D%/figures.h \
	%D%/metrics.c %D%/metrics.h \
	%D%/web_host.c %D%/web_host.h \
	%D%/web_server.c %D%/web_server.h
libweb_a_CFLAGS = $(AM_CFLAGS) $(MICROHTTPD_CFLAGS)
sbin_PROGRAMS += spate-web
spate_web_SOURCES = %D%/main.c
spate_web_LDADD = libweb.a $(STORE_LIBS) $(MICROHTTPD_LIBS)
endif
