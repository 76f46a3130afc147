# libvsi.a is everything but main(), for the unit tests.
noinst_LIBRARIES += libvsi.a
libvsi_a_SOURCES = \
	%D%/vsi.c %D%/vsi.h \
	%D%/vsi_copy.c \
	%D%/vsi_file.c %D%/vsi_file.h \
	%D%/vsi_host.c %D%/vsi_host.h \
	%D%/vsi_line.c %D%/vsi_line.h \
	%D%/vsi_mode.c %D%/vsi_mode.h \
	%D%/vsi_net.c \
	%D%/vsi_record.c \
	%D%/vsi_runtimes.c %D%/vsi_runtimes.h \
	%D%/vsi_server.c %D%/vsi_server.h \
	%D%/vsi_streams.c %D%/vsi_streams.h
sbin_PROGRAMS += spate-vsi
spate_vsi_SOURCES = %D%/main.c
spate_vsi_LDADD = libvsi.a $(STORE_LIBS)
