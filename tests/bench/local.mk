# Built with everything, so that scripts/bench finds it; never a test.
noinst_PROGRAMS += %D%/gather_loop %D%/pace_send %D%/pace_sink \
	%D%/read_loop %D%/cursor_loop %D%/receive_loop %D%/send_loop %D%/sum_cost %D%/ucx_loop %D%/write_loop
%C%_gather_loop_SOURCES = %D%/gather_loop.c
%C%_pace_send_SOURCES = %D%/pace_send.c
%C%_pace_send_LDFLAGS = -export-dynamic
%C%_pace_send_LDADD = $(FLOW_LIBS)
%C%_pace_sink_SOURCES = %D%/pace_sink.c
%C%_read_loop_SOURCES = %D%/read_loop.c
%C%_read_loop_LDADD = $(FLOW_LIBS)
%C%_cursor_loop_SOURCES = %D%/cursor_loop.c
%C%_cursor_loop_LDADD = $(STORE_LIBS)
%C%_receive_loop_SOURCES = %D%/receive_loop.c
%C%_send_loop_SOURCES = %D%/send_loop.c
%C%_send_loop_LDADD = $(BASE_LIBS)
%C%_sum_cost_SOURCES = %D%/sum_cost.c
%C%_sum_cost_LDADD = $(FLOW_LIBS)
%C%_ucx_loop_SOURCES = %D%/ucx_loop.c
%C%_ucx_loop_LDFLAGS = -export-dynamic
%C%_ucx_loop_LDADD = $(FLOW_LIBS)
%C%_write_loop_SOURCES = %D%/write_loop.c \
	%D%/write_disks.c %D%/write_disks.h
%C%_write_loop_LDADD = $(FLOW_LIBS)
if HAVE_S3
noinst_PROGRAMS += %D%/s3_loop
%C%_s3_loop_SOURCES = %D%/s3_loop.c
%C%_s3_loop_CFLAGS = $(AM_CFLAGS) $(CURL_CFLAGS)
%C%_s3_loop_LDADD = $(CURL_LIBS)
endif
EXTRA_DIST += %D%/catalogue.py %D%/ceph.py %D%/common.py %D%/duplex.py %D%/pacing.py \
	%D%/observe.py %D%/parity.py %D%/read.py %D%/receive.py %D%/record.py %D%/s3.py %D%/schedule.py %D%/send.py \
	%D%/spead2_loop.py %D%/streams.py %D%/write.py \
	%D%/ucx.py %D%/zerocopy.py %D%/fuse.py %D%/ladder.py
