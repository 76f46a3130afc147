noinst_LIBRARIES += libflow.a
libflow_a_SOURCES = \
	%D%/memory/arena.c %D%/memory/arena.h \
	%D%/memory/block_pool.c %D%/memory/block_pool.h \
	%D%/memory/block_record.c %D%/memory/block_record.h \
	%D%/memory/checksums.c %D%/memory/checksums.h \
	%D%/memory/frame_ring.c %D%/memory/frame_ring.h \
	%D%/memory/heartbeat.h \
	%D%/memory/shm_page.c %D%/memory/shm_page.h \
	%D%/memory/hot_pages.c %D%/memory/hot_pages.h \
	%D%/memory/memfile.c %D%/memory/memfile.h \
	%D%/memory/tap.c %D%/memory/tap.h \
	%D%/place/counts.h \
	%D%/place/data_clock.c %D%/place/data_clock.h \
	%D%/place/learn.c %D%/place/learn.h \
	%D%/place/placement.c %D%/place/placement.h \
	%D%/place/prediction.c %D%/place/prediction.h \
	%D%/place/relocate.c %D%/place/relocate.h \
	%D%/place/time_window.c %D%/place/time_window.h \
	%D%/place/window.c %D%/place/window.h \
	%D%/slots/candidate.c %D%/slots/candidate.h \
	%D%/slots/shared.c %D%/slots/shared.h \
	%D%/slots/slots.c %D%/slots/slots.h \
	%D%/slots/slots_held.c \
	%D%/slots/slots_priv.h \
	%D%/slots/slots_run.c \
	%D%/heaps/cubes.c %D%/heaps/cubes.h \
	%D%/heaps/cubes_head.c \
	%D%/heaps/heap_candidate.c \
	%D%/heaps/heap_counter.c %D%/heaps/heap_counter.h \
	%D%/heaps/heaps.c %D%/heaps/heaps.h \
	%D%/heaps/heaps_priv.h \
	%D%/heaps/ranges.c %D%/heaps/ranges.h \
	%D%/heaps/row_block.c %D%/heaps/row_block.h \
	%D%/heaps/rows.c \
	%D%/receive/backlog.c %D%/receive/backlog.h \
	%D%/receive/intake.c %D%/receive/intake.h \
	%D%/receive/receiver.c %D%/receive/receiver.h \
	%D%/receive/sample.c %D%/receive/sample.h \
	%D%/receive/split.c %D%/receive/split.h \
	%D%/receive/subscriber.c %D%/receive/subscriber.h \
	%D%/output/disk_choice.c %D%/output/disk_choice.h \
	%D%/output/durable_set.c %D%/output/durable_set.h \
	%D%/output/output.c %D%/output/output.h \
	%D%/output/parity_groups.c %D%/output/parity_groups.h \
	%D%/output/queue.c %D%/output/queue.h \
	%D%/write/chunk.c %D%/write/chunk.h \
	%D%/write/remote_write.c %D%/write/disk_writes.c %D%/write/disk_writes.h \
	%D%/write/disk_recording.c %D%/write/disk_recording.h \
	%D%/write/disk_speed.c %D%/write/disk_speed.h \
	%D%/write/writer.c %D%/write/writer.h \
	%D%/write/writer_disk.c \
	%D%/write/writer_priv.h \
	%D%/write/writes_in_flight.c %D%/write/writes_in_flight.h \
	%D%/source/block_reader.c %D%/source/block_reader.h \
	%D%/source/source.h \
	%D%/source/source_disk.c %D%/source/source_disk.h \
	%D%/source/source_live.c %D%/source/source_live.h \
	%D%/source/source_relay.c %D%/source/source_relay.h \
	%D%/send/cut.c %D%/send/cut.h \
	%D%/send/cut_heaps.c %D%/send/cut_heaps.h \
	%D%/send/pacer.c %D%/send/pacer.h \
	%D%/send/sender.c %D%/send/sender.h \
	%D%/send/sender_thread.c %D%/send/sender_thread.h \
	%D%/copy/copy_blocks.c %D%/copy/copy_blocks.h \
	%D%/copy/copy_in.c %D%/copy/copy_in.h \
	%D%/copy/copy_in_serve.c \
	%D%/copy/copy_link.c %D%/copy/copy_link.h \
	%D%/copy/copy_out.c %D%/copy/copy_out.h \
	%D%/copy/copy_out_priv.h \
	%D%/copy/copy_out_send.c \
	%D%/upload/upload.c %D%/upload/upload.h \
	%D%/upload/upload_files.c %D%/upload/upload_files.h \
	%D%/upload/upload_stages.c \
	%D%/upload/upload_store.c %D%/upload/upload_thread.h
FLOW_LIBS = libflow.a libchannel.a $(STORE_LIBS)
