# One harness per kind of plugin, run over every plugin that was built.
if HAVE_CHECK

# What tests of one kind share, each with what it builds on.
RECEIVE_BENCH = %D%/receive_bench.c %D%/receive_bench.h
TCP_BENCH = %D%/tcp_bench.c %D%/tcp_bench.h $(RECEIVE_BENCH)
SPT1_BENCH = %D%/spt1_bench.c %D%/spt1_bench.h $(TCP_BENCH)
SEND_TCP_BENCH = %D%/send_tcp_bench.c %D%/send_tcp_bench.h $(SPT1_BENCH)
SEND_TCP_TURNS = %D%/send_tcp_turns.c %D%/send_tcp_turns.h $(SEND_TCP_BENCH)
SEND_UDP_BENCH = %D%/send_udp_bench.c %D%/send_udp_bench.h
WRITE_BENCH = %D%/write_bench.c %D%/write_bench.h

# Those that take longest begin first.
check_PROGRAMS += tests/contract/test_receive_sizes
TESTS += tests/contract/test_receive_sizes
tests_contract_test_receive_sizes_SOURCES = %D%/test_receive_sizes.c $(RECEIVE_BENCH)
tests_contract_test_receive_sizes_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_contract_test_receive_sizes_LDADD = $(BASE_LIBS) $(SUITE_LIBS)

if HAVE_UCX
check_PROGRAMS += tests/contract/test_send_ucx
TESTS += tests/contract/test_send_ucx
tests_contract_test_send_ucx_SOURCES = %D%/test_send_ucx.c $(SEND_TCP_TURNS)
tests_contract_test_send_ucx_CPPFLAGS = $(UNIT_CPPFLAGS) -DBENCH_UCX
tests_contract_test_send_ucx_LDADD = $(BASE_LIBS) $(SUITE_LIBS)

check_PROGRAMS += tests/contract/test_receive_ucx_bad
TESTS += tests/contract/test_receive_ucx_bad
tests_contract_test_receive_ucx_bad_SOURCES = %D%/test_receive_ucx_bad.c \
	plugins/ucx/worker.c plugins/ucx/worker.h \
	$(SPT1_BENCH)
tests_contract_test_receive_ucx_bad_CPPFLAGS = $(UNIT_CPPFLAGS) -DBENCH_UCX
tests_contract_test_receive_ucx_bad_LDADD = $(BASE_LIBS) $(SUITE_LIBS)
endif

check_PROGRAMS += tests/contract/test_format
TESTS += tests/contract/test_format
tests_contract_test_format_SOURCES = %D%/test_format.c %D%/formats.h
tests_contract_test_format_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_contract_test_format_LDADD = $(SUITE_LIBS) -ldl

check_PROGRAMS += tests/contract/test_heap_format
TESTS += tests/contract/test_heap_format
tests_contract_test_heap_format_SOURCES = %D%/test_heap_format.c %D%/formats.h
tests_contract_test_heap_format_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_contract_test_heap_format_LDADD = $(SUITE_LIBS) -ldl

check_PROGRAMS += tests/contract/test_receive
TESTS += tests/contract/test_receive
tests_contract_test_receive_SOURCES = %D%/test_receive.c $(RECEIVE_BENCH)
tests_contract_test_receive_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_contract_test_receive_LDFLAGS = -export-dynamic
tests_contract_test_receive_LDADD = $(BASE_LIBS) $(SUITE_LIBS)

check_PROGRAMS += tests/contract/test_receive_gen
TESTS += tests/contract/test_receive_gen
tests_contract_test_receive_gen_SOURCES = %D%/test_receive_gen.c $(RECEIVE_BENCH)
tests_contract_test_receive_gen_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_contract_test_receive_gen_LDADD = $(BASE_LIBS) $(SUITE_LIBS)

check_PROGRAMS += tests/contract/test_receive_stamps
TESTS += tests/contract/test_receive_stamps
tests_contract_test_receive_stamps_SOURCES = %D%/test_receive_stamps.c $(RECEIVE_BENCH)
tests_contract_test_receive_stamps_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_contract_test_receive_stamps_LDADD = $(BASE_LIBS) $(SUITE_LIBS)

check_PROGRAMS += tests/contract/test_receive_listen
TESTS += tests/contract/test_receive_listen
tests_contract_test_receive_listen_SOURCES = %D%/test_receive_listen.c $(RECEIVE_BENCH)
tests_contract_test_receive_listen_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_contract_test_receive_listen_LDADD = $(BASE_LIBS) $(SUITE_LIBS)

check_PROGRAMS += tests/contract/test_receive_rings
TESTS += tests/contract/test_receive_rings
tests_contract_test_receive_rings_SOURCES = %D%/test_receive_rings.c $(RECEIVE_BENCH)
tests_contract_test_receive_rings_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_contract_test_receive_rings_LDADD = $(BASE_LIBS) $(SUITE_LIBS)

check_PROGRAMS += tests/contract/test_receive_groups
TESTS += tests/contract/test_receive_groups
tests_contract_test_receive_groups_SOURCES = %D%/test_receive_groups.c $(RECEIVE_BENCH)
tests_contract_test_receive_groups_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_contract_test_receive_groups_LDADD = $(BASE_LIBS) $(SUITE_LIBS)

check_PROGRAMS += tests/contract/test_receive_spt1
TESTS += tests/contract/test_receive_spt1
tests_contract_test_receive_spt1_SOURCES = %D%/test_receive_spt1.c $(SPT1_BENCH)
tests_contract_test_receive_spt1_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_contract_test_receive_spt1_LDADD = $(BASE_LIBS) $(SUITE_LIBS)

check_PROGRAMS += tests/contract/test_receive_spt1_bad
TESTS += tests/contract/test_receive_spt1_bad
tests_contract_test_receive_spt1_bad_SOURCES = %D%/test_receive_spt1_bad.c $(SPT1_BENCH)
tests_contract_test_receive_spt1_bad_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_contract_test_receive_spt1_bad_LDADD = $(BASE_LIBS) $(SUITE_LIBS)

check_PROGRAMS += tests/contract/test_receive_tcp
TESTS += tests/contract/test_receive_tcp
tests_contract_test_receive_tcp_SOURCES = %D%/test_receive_tcp.c $(TCP_BENCH)
tests_contract_test_receive_tcp_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_contract_test_receive_tcp_LDADD = $(BASE_LIBS) $(SUITE_LIBS)

check_PROGRAMS += tests/contract/test_send
TESTS += tests/contract/test_send
tests_contract_test_send_SOURCES = %D%/test_send.c
tests_contract_test_send_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_contract_test_send_LDFLAGS = -export-dynamic
tests_contract_test_send_LDADD = $(BASE_LIBS) $(SUITE_LIBS)

check_PROGRAMS += tests/contract/test_send_udp
TESTS += tests/contract/test_send_udp
tests_contract_test_send_udp_SOURCES = %D%/test_send_udp.c $(SEND_UDP_BENCH)
tests_contract_test_send_udp_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_contract_test_send_udp_LDFLAGS = -export-dynamic
tests_contract_test_send_udp_LDADD = $(BASE_LIBS) $(SUITE_LIBS)

check_PROGRAMS += tests/contract/test_send_udp_net
TESTS += tests/contract/test_send_udp_net
tests_contract_test_send_udp_net_SOURCES = %D%/test_send_udp_net.c $(SEND_UDP_BENCH)
tests_contract_test_send_udp_net_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_contract_test_send_udp_net_LDFLAGS = -export-dynamic
tests_contract_test_send_udp_net_LDADD = $(BASE_LIBS) $(SUITE_LIBS)

check_PROGRAMS += tests/contract/test_send_tcp
TESTS += tests/contract/test_send_tcp
tests_contract_test_send_tcp_SOURCES = %D%/test_send_tcp.c $(SEND_TCP_TURNS)
tests_contract_test_send_tcp_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_contract_test_send_tcp_LDADD = $(BASE_LIBS) $(SUITE_LIBS)

check_PROGRAMS += tests/contract/test_send_tcp_bad
TESTS += tests/contract/test_send_tcp_bad
tests_contract_test_send_tcp_bad_SOURCES = %D%/test_send_tcp_bad.c $(SEND_TCP_BENCH)
tests_contract_test_send_tcp_bad_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_contract_test_send_tcp_bad_LDADD = $(BASE_LIBS) $(SUITE_LIBS)

check_PROGRAMS += tests/contract/test_send_etd
TESTS += tests/contract/test_send_etd
tests_contract_test_send_etd_SOURCES = %D%/test_send_etd.c
tests_contract_test_send_etd_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_contract_test_send_etd_LDADD = $(BASE_LIBS) $(SUITE_LIBS)

check_PROGRAMS += tests/contract/test_write
TESTS += tests/contract/test_write
tests_contract_test_write_SOURCES = %D%/test_write.c $(WRITE_BENCH)
tests_contract_test_write_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_contract_test_write_LDADD = $(SUITE_LIBS) -ldl

check_PROGRAMS += tests/contract/test_disk
TESTS += tests/contract/test_disk
tests_contract_test_disk_SOURCES = %D%/test_disk.c
tests_contract_test_disk_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_contract_test_disk_LDADD = $(STORE_LIBS) $(SUITE_LIBS)

check_PROGRAMS += tests/contract/test_write_many
TESTS += tests/contract/test_write_many
tests_contract_test_write_many_SOURCES = %D%/test_write_many.c $(WRITE_BENCH)
tests_contract_test_write_many_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_contract_test_write_many_LDADD = $(SUITE_LIBS) -ldl

check_PROGRAMS += tests/contract/test_write_break
TESTS += tests/contract/test_write_break
tests_contract_test_write_break_SOURCES = %D%/test_write_break.c $(WRITE_BENCH)
tests_contract_test_write_break_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_contract_test_write_break_LDADD = $(SUITE_LIBS) -ldl

endif
