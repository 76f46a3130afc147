# Built with everything, so that scripts/bench finds it; never a test.
noinst_PROGRAMS += %D%/receive_loop
%C%_receive_loop_SOURCES = %D%/receive_loop.c
EXTRA_DIST += %D%/common.py %D%/receive.py %D%/record.py \
	%D%/spead2_loop.py %D%/streams.py
