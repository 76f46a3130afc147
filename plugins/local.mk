# A plugin is one .c and becomes <kind>-<name>.so in $pkglibdir/plugins.
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

# Those of optional libraries.
if HAVE_LIBURING
plugins_LTLIBRARIES += %D%/write-uring.la
endif
if HAVE_UCX
plugins_LTLIBRARIES += %D%/receive-ucx.la %D%/send-ucx.la
endif
if HAVE_LIBAIO
plugins_LTLIBRARIES += %D%/write-aio.la
endif

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
# What plugins that read datagram sockets share.
RECEIVE_SOCKETS = \
	%D%/receive/address.c %D%/receive/address.h \
	%D%/receive/allow.c %D%/receive/allow.h \
	%D%/receive/endpoint.c %D%/receive/endpoint.h \
	%D%/receive/packet.h \
	%D%/receive/socket.c %D%/receive/socket.h \
	%D%/receive/sockets.c %D%/receive/sockets.h \
	%D%/receive/source.c %D%/receive/source.h \
	%D%/receive/stamp.h \
	%D%/receive/train.c %D%/receive/train.h
%C%_receive_fanout_la_SOURCES = %D%/receive/fanout.c $(RECEIVE_SOCKETS) \
	%D%/receive/datagram.c %D%/receive/datagram.h \
	%D%/receive/ring.c %D%/receive/ring.h %D%/receive/ring_open.c \
	%D%/receive/rings.c %D%/receive/rings.h
%C%_receive_fanout_la_LDFLAGS = $(PLUGIN_FLAGS)
%C%_receive_gen_la_SOURCES = %D%/receive/gen.c
%C%_receive_gen_la_LDFLAGS = $(PLUGIN_FLAGS)
%C%_receive_tcp_la_SOURCES = %D%/receive/tcp.c \
	%D%/receive/address.c %D%/receive/address.h \
	%D%/receive/allow.c %D%/receive/allow.h \
	%D%/receive/door.c %D%/receive/door.h \
	%D%/receive/endpoint.c %D%/receive/endpoint.h \
	%D%/receive/framed.c %D%/receive/framed.h \
	%D%/receive/framed_greet.c \
	%D%/receive/inlet.c %D%/receive/inlet.h \
	%D%/receive/packet.h \
	%D%/receive/peer.c %D%/receive/peer.h \
	%D%/receive/plain.c %D%/receive/plain.h \
	%D%/receive/told.c %D%/receive/told.h \
	%D%/receive/transfer.c %D%/receive/transfer.h
%C%_receive_tcp_la_LDFLAGS = $(PLUGIN_FLAGS)
%C%_receive_ucx_la_SOURCES = %D%/receive/ucx.c \
	%D%/receive/address.c %D%/receive/address.h \
	%D%/receive/allow.c %D%/receive/allow.h \
	%D%/receive/door.c %D%/receive/door.h \
	%D%/receive/endpoint.c %D%/receive/endpoint.h \
	%D%/receive/framed.c %D%/receive/framed.h \
	%D%/receive/framed_greet.c \
	%D%/receive/inlet.c %D%/receive/inlet.h \
	%D%/receive/packet.h \
	%D%/receive/peer.c %D%/receive/peer.h \
	%D%/receive/told.c %D%/receive/told.h \
	%D%/receive/transfer.c %D%/receive/transfer.h \
	%D%/receive/ucx_fetch.c %D%/receive/ucx_fetch.h \
	%D%/send/ucx_worker.c %D%/send/ucx_worker.h
%C%_receive_ucx_la_LDFLAGS = $(PLUGIN_FLAGS)
%C%_receive_udp_la_SOURCES = %D%/receive/udp.c $(RECEIVE_SOCKETS)
%C%_receive_udp_la_LDFLAGS = $(PLUGIN_FLAGS)
# What plugins that send to a host share.
SEND_URL = \
	%D%/receive/endpoint.c %D%/receive/endpoint.h \
	%D%/send/resolve.c %D%/send/resolve.h \
	%D%/send/url.c %D%/send/url.h
%C%_send_etd_la_SOURCES = %D%/send/etd.c %D%/send/etd.h $(SEND_URL) \
	%D%/send/etd_push.c \
	%D%/send/bytes.c %D%/send/bytes.h \
	%D%/send/zerocopy.c %D%/send/zerocopy.h \
	%D%/send/etd_file.c %D%/send/etd_file.h \
	%D%/send/given.c %D%/send/given.h \
	%D%/send/line.c %D%/send/line.h \
	%D%/send/talk.c %D%/send/talk.h
%C%_send_etd_la_LDFLAGS = $(PLUGIN_FLAGS)
%C%_send_null_la_SOURCES = %D%/send/null.c
%C%_send_null_la_LDFLAGS = $(PLUGIN_FLAGS)
%C%_send_ucx_la_SOURCES = %D%/send/ucx.c $(SEND_URL) \
	%D%/send/channel.c %D%/send/channel.h \
	%D%/send/framed.c %D%/send/framed.h \
	%D%/send/line.c %D%/send/line.h \
	%D%/send/ucx_frame.c \
	%D%/send/ucx_way.c %D%/send/ucx_way.h \
	%D%/send/ucx_worker.c %D%/send/ucx_worker.h
%C%_send_ucx_la_LDFLAGS = $(PLUGIN_FLAGS)
%C%_send_udp_la_SOURCES = $(SEND_URL) \
	%D%/send/udp.c %D%/send/udp.h %D%/send/udp_go.c %D%/send/udp_ports.c \
	%D%/send/udp_qdisc.c %D%/send/udp_train.c
%C%_send_udp_la_LDFLAGS = $(PLUGIN_FLAGS)
%C%_send_tcp_la_SOURCES = %D%/send/tcp.c $(SEND_URL) \
	%D%/send/bytes.c %D%/send/bytes.h \
	%D%/send/zerocopy.c %D%/send/zerocopy.h \
	%D%/send/channel.c %D%/send/channel_frame.c %D%/send/channel.h \
	%D%/send/framed.c %D%/send/framed.h \
	%D%/send/line.c %D%/send/line.h \
	%D%/send/plain.c %D%/send/plain.h
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

# Nobody links with a plugin: libtool's own file is not installed, and so
# libtool cannot uninstall.  Plugins of others lie in the same folder.
PLUGINS_NAMES = for la in $(plugins_LTLIBRARIES); do \
	name=$(DESTDIR)$(pluginsdir)/`basename $$la .la`;
install-data-hook:
	$(PLUGINS_NAMES) rm -f "$$name.la"; done
uninstall-hook:
	$(PLUGINS_NAMES) rm -f "$$name.so"; done
