# Each plugin becomes <kind>-<name>.so in $pkglibdir/plugins.
pluginsdir = $(pkglibdir)/plugins
PLUGIN_FLAGS = -module -avoid-version -shared $(SPATE_SANITIZE)

plugins_LTLIBRARIES = \
	%D%/format-mark5b.la \
	%D%/format-raw.la \
	%D%/format-spead.la \
	%D%/format-udpmon.la \
	%D%/format-vdif.la \
	%D%/receive-fanout.la \
	%D%/receive-gen.la \
	%D%/receive-tcp.la \
	%D%/receive-udp.la \
	%D%/send-etd.la \
	%D%/send-null.la \
	%D%/send-tcp.la \
	%D%/send-udp.la \
	%D%/write-direct.la \
	%D%/write-null.la \
	%D%/write-writev.la

# Plugins that need optional libraries.
if HAVE_LIBURING
plugins_LTLIBRARIES += %D%/write-uring.la
endif
if HAVE_UCX
plugins_LTLIBRARIES += %D%/receive-ucx.la %D%/send-ucx.la
endif
if HAVE_S3
plugins_LTLIBRARIES += %D%/disk-s3.la %D%/send-s3.la
endif
if HAVE_RADOS
plugins_LTLIBRARIES += %D%/disk-rados.la
endif
if HAVE_LIBAIO
plugins_LTLIBRARIES += %D%/write-aio.la
endif

%C%_disk_rados_la_SOURCES = %D%/disk/rados.c %D%/disk/rados.h \
	%D%/disk/rados_data.c %D%/disk/rados_lock.c %D%/disk/rados_names.c
%C%_disk_rados_la_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
%C%_disk_rados_la_LIBADD = -lrados $(JANSSON_LIBS)
%C%_disk_rados_la_LDFLAGS = $(PLUGIN_FLAGS)
%C%_format_mark5b_la_SOURCES = %D%/format/mark5b.c
%C%_format_mark5b_la_LDFLAGS = $(PLUGIN_FLAGS)
%C%_format_raw_la_SOURCES = %D%/format/raw.c
%C%_format_raw_la_LDFLAGS = $(PLUGIN_FLAGS)
%C%_format_spead_la_SOURCES = %D%/format/spead.c \
	%D%/format/spead_packet.c %D%/format/spead_packet.h
%C%_format_spead_la_LDFLAGS = $(PLUGIN_FLAGS)
%C%_format_udpmon_la_SOURCES = %D%/format/udpmon.c
%C%_format_udpmon_la_LDFLAGS = $(PLUGIN_FLAGS)
%C%_format_vdif_la_SOURCES = %D%/format/vdif.c
%C%_format_vdif_la_LDFLAGS = $(PLUGIN_FLAGS)
# Files shared by plugins that read datagram sockets.
RECEIVE_SOCKETS = \
	%D%/receive/packet.h \
	%D%/receive/udp/socket.c %D%/receive/udp/socket.h \
	%D%/receive/udp/sockets.c %D%/receive/udp/sockets.h \
	%D%/receive/udp/stamp.h \
	%D%/receive/udp/train.c %D%/receive/udp/train.h
%C%_receive_fanout_la_SOURCES = %D%/receive/udp/fanout.c $(RECEIVE_SOCKETS) \
	%D%/receive/udp/datagram.c %D%/receive/udp/datagram.h \
	%D%/receive/udp/ring.c %D%/receive/udp/ring.h
%C%_receive_fanout_la_LIBADD = libnet.la
%C%_receive_fanout_la_LDFLAGS = $(PLUGIN_FLAGS)
%C%_receive_gen_la_SOURCES = %D%/receive/gen.c
%C%_receive_gen_la_LDFLAGS = $(PLUGIN_FLAGS)
%C%_receive_tcp_la_SOURCES = %D%/receive/tcp/tcp.c \
	%D%/receive/tcp/door.c %D%/receive/tcp/door.h \
	%D%/receive/tcp/framed.c %D%/receive/tcp/framed.h \
	%D%/receive/packet.h \
	%D%/receive/tcp/transfer.c %D%/receive/tcp/transfer.h
%C%_receive_tcp_la_LIBADD = libnet.la libwire.la
%C%_receive_tcp_la_LDFLAGS = $(PLUGIN_FLAGS)
%C%_receive_ucx_la_SOURCES = %D%/ucx/receive.c \
	%D%/receive/tcp/door.c %D%/receive/tcp/door.h \
	%D%/receive/tcp/framed.c %D%/receive/tcp/framed.h \
	%D%/receive/packet.h \
	%D%/receive/tcp/transfer.c %D%/receive/tcp/transfer.h \
	%D%/ucx/fetch.c %D%/ucx/fetch.h \
	%D%/ucx/worker.c %D%/ucx/worker.h
%C%_receive_ucx_la_LIBADD = libnet.la libwire.la
%C%_receive_ucx_la_LDFLAGS = $(PLUGIN_FLAGS)
%C%_receive_udp_la_SOURCES = %D%/receive/udp/udp.c $(RECEIVE_SOCKETS)
%C%_receive_udp_la_LIBADD = libnet.la
%C%_receive_udp_la_LDFLAGS = $(PLUGIN_FLAGS)
%C%_send_etd_la_SOURCES = %D%/send/etd/etd.c \
	%D%/send/tcp/bytes.c %D%/send/tcp/bytes.h \
	%D%/send/etd/etd_file.c %D%/send/etd/etd_file.h \
	%D%/send/etd/given.c %D%/send/etd/given.h
%C%_send_etd_la_LIBADD = libchannel.la libnet.la libwire.la
%C%_send_etd_la_LDFLAGS = $(PLUGIN_FLAGS)
%C%_send_null_la_SOURCES = %D%/send/null.c
%C%_send_null_la_LDFLAGS = $(PLUGIN_FLAGS)
# Files shared by plugins that ask a bucket of S3.
S3_REQUESTS = \
	%D%/s3/account.c %D%/s3/account.h \
	%D%/s3/reply.c %D%/s3/reply.h \
	%D%/s3/request.c %D%/s3/request.h
%C%_disk_s3_la_SOURCES = %D%/s3/disk.c $(S3_REQUESTS)
%C%_disk_s3_la_CFLAGS = $(AM_CFLAGS) $(CURL_CFLAGS) $(EXPAT_CFLAGS) $(LIBCRYPTO_CFLAGS)
%C%_disk_s3_la_LIBADD = $(CURL_LIBS) $(EXPAT_LIBS) $(LIBCRYPTO_LIBS)
%C%_disk_s3_la_LDFLAGS = $(PLUGIN_FLAGS)
%C%_send_s3_la_SOURCES = %D%/s3/send.c $(S3_REQUESTS)
%C%_send_s3_la_CFLAGS = $(AM_CFLAGS) $(CURL_CFLAGS) $(EXPAT_CFLAGS) $(LIBCRYPTO_CFLAGS)
%C%_send_s3_la_LIBADD = $(CURL_LIBS) $(EXPAT_LIBS) $(LIBCRYPTO_LIBS)
%C%_send_s3_la_LDFLAGS = $(PLUGIN_FLAGS)
%C%_send_ucx_la_SOURCES = %D%/ucx/send.c \
	%D%/send/tcp/framed.c %D%/send/tcp/framed.h \
	%D%/ucx/way.c %D%/ucx/way.h \
	%D%/ucx/worker.c %D%/ucx/worker.h
%C%_send_ucx_la_LIBADD = libchannel.la libnet.la libwire.la
%C%_send_ucx_la_LDFLAGS = $(PLUGIN_FLAGS)
%C%_send_udp_la_SOURCES = \
	%D%/send/udp/udp.c %D%/send/udp/qdisc.c %D%/send/udp/qdisc.h
%C%_send_udp_la_LIBADD = libnet.la
%C%_send_udp_la_LDFLAGS = $(PLUGIN_FLAGS)
%C%_send_tcp_la_SOURCES = %D%/send/tcp/tcp.c \
	%D%/send/tcp/bytes.c %D%/send/tcp/bytes.h \
	%D%/send/tcp/channel_frame.c \
	%D%/send/tcp/framed.c %D%/send/tcp/framed.h
%C%_send_tcp_la_LIBADD = libchannel.la libnet.la libwire.la
%C%_send_tcp_la_LDFLAGS = $(PLUGIN_FLAGS)
%C%_write_aio_la_SOURCES = %D%/write/aio.c
%C%_write_aio_la_LIBADD = -laio
%C%_write_aio_la_LDFLAGS = $(PLUGIN_FLAGS)
%C%_write_direct_la_SOURCES = %D%/write/direct.c
%C%_write_direct_la_LDFLAGS = $(PLUGIN_FLAGS)
%C%_write_null_la_SOURCES = %D%/write/null.c
%C%_write_null_la_LDFLAGS = $(PLUGIN_FLAGS)
%C%_write_uring_la_SOURCES = %D%/write/uring.c
%C%_write_uring_la_CFLAGS = $(AM_CFLAGS) $(LIBURING_CFLAGS)
%C%_write_uring_la_LIBADD = $(LIBURING_LIBS)
%C%_write_uring_la_LDFLAGS = $(PLUGIN_FLAGS)
%C%_write_writev_la_SOURCES = %D%/write/writev.c
%C%_write_writev_la_LDFLAGS = $(PLUGIN_FLAGS)

# No program links with a plugin, so libtool's .la files are not installed, and
# libtool cannot uninstall the plugins.  The folder may hold other plugins, too.
PLUGINS_NAMES = for la in $(plugins_LTLIBRARIES); do \
	name=$(DESTDIR)$(pluginsdir)/`basename $$la .la`;
install-data-hook:
	$(PLUGINS_NAMES) rm -f "$$name.la"; done
uninstall-hook:
	$(PLUGINS_NAMES) rm -f "$$name.so"; done
