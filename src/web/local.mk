# libweb.a is everything but main(), for the unit tests.
EXTRA_DIST += %D%/page.html
CLEANFILES += %D%/page_made.c
%D%/page_made.c: %D%/page.html
	$(AM_V_GEN)$(MKDIR_P) %D% && { echo '#include "web/page.h"' && \
		echo 'const char page_html[] =' && \
		sed 's/\\/&&/g; s/"/\\"/g; s/.*/"&\\n"/' '$(srcdir)/%D%/page.html' && \
		echo ';'; } >$@.new && mv $@.new $@

if HAVE_MICROHTTPD
noinst_LIBRARIES += libweb.a
libweb_a_SOURCES = \
	%D%/events.c %D%/events.h \
	%D%/figures.c %D%/figures.h \
	%D%/history.c %D%/history.h \
	%D%/metrics.c %D%/metrics.h \
	%D%/page.h \
	%D%/web_host.c %D%/web_host.h \
	%D%/web_server.c %D%/web_server.h
nodist_libweb_a_SOURCES = %D%/page_made.c
libweb_a_CFLAGS = $(AM_CFLAGS) $(MICROHTTPD_CFLAGS)
sbin_PROGRAMS += spate-web
spate_web_SOURCES = %D%/main.c
spate_web_LDADD = libweb.a $(STORE_LIBS) $(MICROHTTPD_LIBS)
endif
