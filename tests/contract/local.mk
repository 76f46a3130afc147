# One harness per kind of plugin, run over every plugin that was built.
if HAVE_CHECK

# Those that take longest begin first.
check_PROGRAMS += tests/contract/test_receive_sizes
TESTS += tests/contract/test_receive_sizes
tests_contract_test_receive_sizes_SOURCES = %D%/test_receive_sizes.c \
	%D%/receive_bench.c %D%/receive_bench.h
tests_contract_test_receive_sizes_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_contract_test_receive_sizes_LDADD = $(BASE_LIBS) $(SUITE_LIBS)

if HAVE_UCX
check_PROGRAMS += tests/contract/test_send_ucx
TESTS += tests/contract/test_send_ucx
tests_contract_test_send_ucx_SOURCES = %D%/test_send_ucx.c \
	%D%/send_tcp_bench.h %D%/send_tcp_turns.h \
	%D%/spt1_bench.h %D%/tcp_bench.h %D%/receive_bench.c %D%/receive_bench.h
tests_contract_test_send_ucx_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_contract_test_send_ucx_LDADD = $(BASE_LIBS) $(SUITE_LIBS)

check_PROGRAMS += tests/contract/test_receive_ucx_bad
TESTS += tests/contract/test_receive_ucx_bad
tests_contract_test_receive_ucx_bad_SOURCES = %D%/test_receive_ucx_bad.c \
	plugins/ucx/worker.c plugins/ucx/worker.h \
	%D%/spt1_bench.h %D%/tcp_bench.h %D%/receive_bench.c %D%/receive_bench.h
tests_contract_test_receive_ucx_bad_CPPFLAGS = $(UNIT_CPPFLAGS)
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
tests_contract_test_receive_SOURCES = %D%/test_receive.c %D%/receive_bench.c %D%/receive_bench.h
tests_contract_test_receive_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_contract_test_receive_LDFLAGS = -export-dynamic
tests_contract_test_receive_LDADD = $(BASE_LIBS) $(SUITE_LIBS)

check_PROGRAMS += tests/contract/test_receive_gen
TESTS += tests/contract/test_receive_gen
tests_contract_test_receive_gen_SOURCES = %D%/test_receive_gen.c \
	%D%/receive_bench.c %D%/receive_bench.h
tests_contract_test_receive_gen_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_contract_test_receive_gen_LDADD = $(BASE_LIBS) $(SUITE_LIBS)

check_PROGRAMS += tests/contract/test_receive_stamps
TESTS += tests/contract/test_receive_stamps
tests_contract_test_receive_stamps_SOURCES = %D%/test_receive_stamps.c \
	%D%/receive_bench.c %D%/receive_bench.h
tests_contract_test_receive_stamps_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_contract_test_receive_stamps_LDADD = $(BASE_LIBS) $(SUITE_LIBS)

check_PROGRAMS += tests/contract/test_receive_listen
TESTS += tests/contract/test_receive_listen
tests_contract_test_receive_listen_SOURCES = %D%/test_receive_listen.c \
	%D%/receive_bench.c %D%/receive_bench.h
tests_contract_test_receive_listen_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_contract_test_receive_listen_LDADD = $(BASE_LIBS) $(SUITE_LIBS)

check_PROGRAMS += tests/contract/test_receive_rings
TESTS += tests/contract/test_receive_rings
tests_contract_test_receive_rings_SOURCES = %D%/test_receive_rings.c \
	%D%/receive_bench.c %D%/receive_bench.h
tests_contract_test_receive_rings_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_contract_test_receive_rings_LDADD = $(BASE_LIBS) $(SUITE_LIBS)

check_PROGRAMS += tests/contract/test_receive_groups
TESTS += tests/contract/test_receive_groups
tests_contract_test_receive_groups_SOURCES = %D%/test_receive_groups.c \
	%D%/receive_bench.c %D%/receive_bench.h
tests_contract_test_receive_groups_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_contract_test_receive_groups_LDADD = $(BASE_LIBS) $(SUITE_LIBS)

check_PROGRAMS += tests/contract/test_receive_spt1
TESTS += tests/contract/test_receive_spt1
tests_contract_test_receive_spt1_SOURCES = %D%/test_receive_spt1.c \
	%D%/spt1_bench.h %D%/tcp_bench.h %D%/receive_bench.c %D%/receive_bench.h
tests_contract_test_receive_spt1_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_contract_test_receive_spt1_LDADD = $(BASE_LIBS) $(SUITE_LIBS)

check_PROGRAMS += tests/contract/test_receive_spt1_bad
TESTS += tests/contract/test_receive_spt1_bad
tests_contract_test_receive_spt1_bad_SOURCES = %D%/test_receive_spt1_bad.c \
	%D%/spt1_bench.h %D%/tcp_bench.h %D%/receive_bench.c %D%/receive_bench.h
tests_contract_test_receive_spt1_bad_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_contract_test_receive_spt1_bad_LDADD = $(BASE_LIBS) $(SUITE_LIBS)

check_PROGRAMS += tests/contract/test_receive_tcp
TESTS += tests/contract/test_receive_tcp
tests_contract_test_receive_tcp_SOURCES = %D%/test_receive_tcp.c \
	%D%/tcp_bench.h %D%/receive_bench.c %D%/receive_bench.h
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
tests_contract_test_send_udp_SOURCES = %D%/test_send_udp.c %D%/send_udp_bench.c \
	%D%/send_udp_bench.h
tests_contract_test_send_udp_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_contract_test_send_udp_LDFLAGS = -export-dynamic
tests_contract_test_send_udp_LDADD = $(BASE_LIBS) $(SUITE_LIBS)

check_PROGRAMS += tests/contract/test_send_udp_net
TESTS += tests/contract/test_send_udp_net
tests_contract_test_send_udp_net_SOURCES = %D%/test_send_udp_net.c %D%/send_udp_bench.c \
	%D%/send_udp_bench.h
tests_contract_test_send_udp_net_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_contract_test_send_udp_net_LDFLAGS = -export-dynamic
tests_contract_test_send_udp_net_LDADD = $(BASE_LIBS) $(SUITE_LIBS)

check_PROGRAMS += tests/contract/test_send_tcp
TESTS += tests/contract/test_send_tcp
tests_contract_test_send_tcp_SOURCES = %D%/test_send_tcp.c \
	%D%/send_tcp_bench.h %D%/send_tcp_turns.h \
	%D%/spt1_bench.h %D%/tcp_bench.h %D%/receive_bench.c %D%/receive_bench.h
tests_contract_test_send_tcp_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_contract_test_send_tcp_LDADD = $(BASE_LIBS) $(SUITE_LIBS)

check_PROGRAMS += tests/contract/test_send_tcp_bad
TESTS += tests/contract/test_send_tcp_bad
tests_contract_test_send_tcp_bad_SOURCES = %D%/test_send_tcp_bad.c \
	%D%/send_tcp_bench.h %D%/spt1_bench.h %D%/tcp_bench.h \
	%D%/receive_bench.c %D%/receive_bench.h
tests_contract_test_send_tcp_bad_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_contract_test_send_tcp_bad_LDADD = $(BASE_LIBS) $(SUITE_LIBS)

check_PROGRAMS += tests/contract/test_send_etd
TESTS += tests/contract/test_send_etd
tests_contract_test_send_etd_SOURCES = %D%/test_send_etd.c
tests_contract_test_send_etd_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_contract_test_send_etd_LDADD = $(BASE_LIBS) $(SUITE_LIBS)

check_PROGRAMS += tests/contract/test_write
TESTS += tests/contract/test_write
tests_contract_test_write_SOURCES = %D%/test_write.c \
	%D%/write_bench.c %D%/write_bench.h
tests_contract_test_write_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_contract_test_write_LDADD = $(SUITE_LIBS) -ldl

check_PROGRAMS += tests/contract/test_write_many
TESTS += tests/contract/test_write_many
tests_contract_test_write_many_SOURCES = %D%/test_write_many.c \
	%D%/write_bench.c %D%/write_bench.h
tests_contract_test_write_many_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_contract_test_write_many_LDADD = $(SUITE_LIBS) -ldl

check_PROGRAMS += tests/contract/test_write_break
TESTS += tests/contract/test_write_break
tests_contract_test_write_break_SOURCES = %D%/test_write_break.c \
	%D%/write_bench.c %D%/write_bench.h
tests_contract_test_write_break_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_contract_test_write_break_LDADD = $(SUITE_LIBS) -ldl

endif
