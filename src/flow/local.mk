noinst_LIBRARIES += libflow.a
libflow_a_SOURCES = \
	%D%/aim.c %D%/aim.h \
	%D%/arena.c %D%/arena.h \
	%D%/arrival.c %D%/arrival.h \
	%D%/backlog.c %D%/backlog.h \
	%D%/bay.c %D%/bay.h \
	%D%/brought.h \
	%D%/candidate.c %D%/candidate.h \
	%D%/beat.h \
	%D%/choice.c %D%/choice.h \
	%D%/chunk.c %D%/chunk.h \
	%D%/copy_in.c %D%/copy_in_agree.c %D%/copy_in_look.c %D%/copy_in_make.c \
	%D%/copy_in_serve.c %D%/copy_in.h \
	%D%/copy_link.c %D%/copy_link.h \
	%D%/copy_out.c %D%/copy_out_link.c %D%/copy_out_send.c \
	%D%/copy_out_tell.c %D%/copy_out_try.c \
	%D%/copy_out.h %D%/copy_out_priv.h \
	%D%/counts.h \
	%D%/cubes.c %D%/cubes.h %D%/cubes_aim.c %D%/cubes_early.c %D%/cubes_head.c \
	%D%/cubes_place.c %D%/cubes_run.c %D%/cubes_side.c %D%/cubes_time.c \
	%D%/cut.c %D%/cut.h %D%/cut_heaps.c %D%/cut_heaps.h %D%/cut_priv.h \
	%D%/cut_fill.c %D%/cut_make.c %D%/cut_range.c %D%/cut_rows.c \
	%D%/cut_slots.c %D%/cut_threads.c \
	%D%/extents.c %D%/extents.h \
	%D%/feed.c %D%/feed_take.c %D%/feed.h \
	%D%/flight.c %D%/flight.h \
	%D%/gate.c %D%/gate.h \
	%D%/heaps.c %D%/heaps.h %D%/heaps_priv.h \
	%D%/heaps_aim.c %D%/heaps_live.c \
	%D%/intake.c %D%/intake.h \
	%D%/intake_feed.c %D%/intake_learn.c %D%/intake_priv.h \
	%D%/leaf.c %D%/leaf_record.c %D%/leaf_priv.h %D%/leaf.h \
	%D%/ledger.c %D%/ledger_piece.c %D%/ledger.h %D%/ledger_priv.h \
	%D%/learn.c %D%/learn.h \
	%D%/map.c %D%/map.h \
	%D%/memfile.c %D%/memfile.h \
	%D%/moves.c %D%/moves.h \
	%D%/output.c %D%/output.h %D%/output_priv.h \
	%D%/output_resume.c %D%/output_runs.c %D%/output_tap.c \
	%D%/output_told.c \
	%D%/pace.c %D%/pace.h \
	%D%/pacer.c %D%/pacer.h \
	%D%/parking.c %D%/parking.h \
	%D%/place.c %D%/place.h \
	%D%/pool.c %D%/pool.h %D%/pool_priv.h \
	%D%/quanta.c %D%/quanta.h \
	%D%/queue.c %D%/queue.h \
	%D%/ranges.c %D%/ranges.h \
	%D%/recent.h \
	%D%/rows.c %D%/rows.h %D%/rows_aim.c %D%/rows_items.c \
	%D%/rows_lay.c %D%/rows_move.c %D%/rows_run.c \
	%D%/sender.c %D%/sender.h %D%/sender_priv.h \
	%D%/sender_give.c %D%/sender_hold.c %D%/sender_open.c \
	%D%/sender_peer.c %D%/sender_run.c %D%/sender_show.c %D%/sender_wait.c \
	%D%/source.h \
	%D%/source_disk.c %D%/source_disk.h %D%/source_disk_priv.h \
	%D%/source_disk_give.c %D%/source_disk_open.c %D%/source_disk_seek.c \
	%D%/source_live.c %D%/source_live_give.c %D%/source_live_ops.c \
	%D%/source_live.h %D%/source_live_priv.h %D%/source_relay.c \
	%D%/source_relay.h %D%/source_relay_give.c %D%/source_relay_priv.h \
	%D%/shifts.c %D%/shifts.h \
	%D%/steps.c %D%/steps.h \
	%D%/receiver.c %D%/receiver_thread.c %D%/receiver.h %D%/receiver_priv.h \
	%D%/sample.c %D%/sample.h %D%/sample_hint.c %D%/sample_priv.h \
	%D%/sample_heaps.c %D%/sample_heaps.h \
	%D%/shared.c %D%/shared.h %D%/shared_priv.h \
	%D%/shared_give.c %D%/shared_order.c %D%/shared_put.c \
	%D%/slots.c %D%/slots.h %D%/slots_aim.c %D%/slots_held.c \
	%D%/slots_priv.h %D%/slots_run.c \
	%D%/spare.c %D%/spare.h \
	%D%/split.c %D%/split.h \
	%D%/settled.c %D%/settled.h \
	%D%/shelf.c %D%/shelf.h \
	%D%/stock.c %D%/tap.c %D%/tap.h %D%/tap_priv.h \
	%D%/way.c %D%/way.h \
	%D%/window.c %D%/window.h \
	%D%/writer.c %D%/writer.h %D%/writer_priv.h \
	%D%/writer_disk.c %D%/writer_doom.c %D%/writer_drop.c \
	%D%/writer_errand.c \
	%D%/writer_load.c %D%/writer_rank.c %D%/writer_watch.c
FLOW_LIBS = libflow.a $(STORE_LIBS)
