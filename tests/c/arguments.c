/* What no function may crash on: a NULL for each pointer that must be there. */
#include "check.h"

#define REFUSES(call, name) FAILS(call, HF_INVALID_OPTION, name " is NULL")

static int32_t no_run(void* context, const hf_run* run, void* to) {
  (void)context, (void)run, (void)to;
  return HF_NOT_FOUND;
}

static void of_a_store(hf_store* store) {
  uint64_t number = 0;
  size_t size = 0;
  uint32_t one_length = 1;
  uint64_t long_length = 1;
  int32_t code = 0;
  char byte = 0;
  hf_key_range range = {NULL, 1, NULL, 0};

  REFUSES(hf_durable_up_to(store, NULL), "version");
  REFUSES(hf_count(store, NULL), "records");
  REFUSES(hf_stats_get(store, NULL), "stats");
  REFUSES(hf_stats_json(store, NULL, 1, &size), "buffer");
  REFUSES(hf_stats_json(store, &byte, 1, NULL), "length");
  REFUSES(hf_put(store, NULL, 1, "v", 1, 0, NULL), "key");
  REFUSES(hf_put(store, "k", 1, NULL, 1, 0, NULL), "value");
  REFUSES(hf_put_if_absent(store, "k", 1, NULL, 1, 0, NULL), "value");
  REFUSES(hf_compare_and_put(store, NULL, 1, 0, "v", 1, 0, NULL), "key");
  REFUSES(hf_compare_and_put(store, "k", 1, 0, NULL, 1, 0, NULL), "value");
  REFUSES(hf_get(store, NULL, 1, &byte, 1, &number), "key");
  REFUSES(hf_get(store, "k", 1, NULL, 1, &number), "buffer");
  REFUSES(hf_get(store, "k", 1, &byte, 1, NULL), "value_bytes");
  REFUSES(hf_erase(store, NULL, 1, 0, NULL), "key");
  REFUSES(hf_append(store, "k", 1, NULL, 1, 0, NULL), "bytes");
  REFUSES(hf_merge(store, "k", 1, HF_MERGE_OR, NULL, 1, 0, NULL), "operand");
  REFUSES(hf_update_word(store, NULL, 1, 0, HF_WORD_SET, 0, 0, NULL), "key");
  REFUSES(hf_get_pinned(store, "k", 1, NULL, NULL), "view");
  REFUSES(hf_put_many(store, 1, "k", NULL, "v", &long_length, 0), "key_bytes");
  REFUSES(hf_put_many(store, 1, "k", &one_length, "v", NULL, 0), "value_bytes");
  REFUSES(hf_put_many(store, 1, NULL, &one_length, "v", &long_length, 0), "keys");
  REFUSES(hf_put_many(store, 1, "k", &one_length, NULL, &long_length, 0), "values");
  REFUSES(hf_get_many(store, 1, NULL, &one_length, &byte, 1, &number, &code, &size), "keys");
  REFUSES(hf_get_many(store, 1, "k", NULL, &byte, 1, &number, &code, &size), "key_bytes");
  REFUSES(hf_get_many(store, 1, "k", &one_length, NULL, 1, &number, &code, &size), "buffer");
  REFUSES(hf_get_many(store, 1, "k", &one_length, &byte, 1, NULL, &code, &size), "value_bytes");
  REFUSES(hf_get_many(store, 1, "k", &one_length, &byte, 1, &number, NULL, &size), "codes");
  REFUSES(hf_get_many(store, 1, "k", &one_length, &byte, 1, &number, &code, NULL), "answered");
  REFUSES(hf_batch_write(store, NULL, 0, NULL), "batch");
  REFUSES(hf_snapshot_open(store, NULL), "snapshot");
  REFUSES(hf_iter_open(store, NULL), "iter");
  REFUSES(hf_count_prefix(store, NULL, 1, &number), "prefix");
  REFUSES(hf_count_prefix(store, "p", 1, NULL), "keys");
  REFUSES(hf_erase_prefix(store, NULL, 1, 0, NULL), "prefix");
  REFUSES(hf_erase_range(store, "a", 1, NULL, 1, 0, NULL), "to");
  REFUSES(hf_checkpoint_begin(store, NULL), "checkpoint");
  REFUSES(hf_import_checkpoint(store, NULL, 1, no_run, NULL, NULL, 0, NULL), "private_part");
  REFUSES(hf_import_checkpoint(store, NULL, 0, NULL, NULL, NULL, 0, NULL), "read");
  REFUSES(hf_import_checkpoint(store, NULL, 0, no_run, NULL, NULL, 1, NULL), "ranges");
  REFUSES(hf_import_checkpoint(store, NULL, 0, no_run, NULL, &range, 1, NULL), "ranges[i].from");
  REFUSES(hf_backup(store, NULL, 0, NULL), "directory");
  REFUSES(hf_expire(store, NULL, 1, 0, 8, 0, 1), "prefix");
  REFUSES(hf_clock(store, NULL), "now");
  REFUSES(hf_pipeline_open(store, 8, 0, NULL), "pipeline");
  REFUSES(hf_next_event(store, NULL), "event");
}

static void of_a_space(hf_store* store) {
  uint64_t number = 0;
  size_t size = 0;
  char byte = 0;
  hf_space* space = NULL;
  hf_batch* batch = NULL;
  hf_pipeline* pipeline = NULL;

  REFUSES(hf_space_create(store, NULL, &space), "name");
  REFUSES(hf_space_create(store, "s", NULL), "space");
  REFUSES(hf_space_open(store, NULL, &space), "name");
  REFUSES(hf_space_open(store, "s", NULL), "space");
  REFUSES(hf_space_drop(store, NULL), "name");
  REFUSES(hf_space_name(store, 0, NULL, 1, &size), "buffer");
  REFUSES(hf_space_name(store, 0, &byte, 1, NULL), "length");
  OK(hf_space_create(store, "s", &space));
  REFUSES(hf_space_count(space, NULL), "records");
  REFUSES(hf_space_put(space, NULL, 1, "v", 1, 0, NULL), "key");
  REFUSES(hf_space_put(space, "k", 1, NULL, 1, 0, NULL), "value");
  REFUSES(hf_space_get(space, NULL, 1, &byte, 1, &number), "key");
  REFUSES(hf_space_get(space, "k", 1, NULL, 1, &number), "buffer");
  REFUSES(hf_space_get(space, "k", 1, &byte, 1, NULL), "value_bytes");
  REFUSES(hf_space_erase(space, NULL, 1, 0, NULL), "key");
  REFUSES(hf_space_append(space, "k", 1, NULL, 1, 0, NULL), "bytes");
  REFUSES(hf_space_merge(space, "k", 1, HF_MERGE_OR, NULL, 1, 0, NULL), "operand");
  OK(hf_batch_new(&batch));
  REFUSES(hf_batch_put_in(batch, NULL, "k", 1, "v", 1), "space");
  REFUSES(hf_batch_put_in(batch, space, NULL, 1, "v", 1), "key");
  REFUSES(hf_batch_put_in(batch, space, "k", 1, NULL, 1), "value");
  REFUSES(hf_batch_erase_in(batch, NULL, "k", 1), "space");
  REFUSES(hf_batch_erase_in(batch, space, NULL, 1), "key");
  hf_batch_free(batch);
  hf_space_close(space);
  OK(hf_pipeline_open(store, 8, 0, &pipeline));
  REFUSES(hf_pipeline_put(pipeline, NULL, 1, "v", 1, NULL), "key");
  REFUSES(hf_pipeline_put(pipeline, "k", 1, NULL, 1, NULL), "value");
  REFUSES(hf_pipeline_erase(pipeline, NULL, 1, NULL), "key");
  REFUSES(hf_pipeline_get(pipeline, "k", 1, NULL, 1, NULL), "buffer");
  REFUSES(hf_pipeline_in_flight(pipeline, NULL), "operations");
  OK(hf_pipeline_close(pipeline));
}

static void without_a_handle(void) {
  uint64_t number = 0;
  size_t size = 0;
  char byte = 0;
  hf_view view;
  hf_record record;
  hf_stats stats;
  hf_store* store = NULL;
  hf_snapshot* snapshot = NULL;
  hf_iter* iter = NULL;
  hf_checkpoint* checkpoint = NULL;
  hf_pin* pin = NULL;

  REFUSES(hf_options_new(NULL), "options");
  REFUSES(hf_options_set(NULL, "order", "true"), "options");
  REFUSES(hf_options_get(NULL, "order", &byte, 1, &size), "options");
  REFUSES(hf_open(NULL, NULL, &store), "spec");
  REFUSES(hf_open("x", NULL, NULL), "store");
  REFUSES(hf_sync(NULL), "store");
  REFUSES(hf_durable_up_to(NULL, &number), "store");
  REFUSES(hf_count(NULL, &number), "store");
  REFUSES(hf_stats_get(NULL, &stats), "store");
  REFUSES(hf_stats_json(NULL, &byte, 1, &size), "store");
  REFUSES(hf_put(NULL, "k", 1, "v", 1, 0, NULL), "store");
  REFUSES(hf_put_if_absent(NULL, "k", 1, "v", 1, 0, NULL), "store");
  REFUSES(hf_compare_and_put(NULL, "k", 1, 0, "v", 1, 0, NULL), "store");
  REFUSES(hf_get(NULL, "k", 1, &byte, 1, &number), "store");
  REFUSES(hf_erase(NULL, "k", 1, 0, NULL), "store");
  REFUSES(hf_append(NULL, "k", 1, "v", 1, 0, NULL), "store");
  REFUSES(hf_merge(NULL, "k", 1, 0, "v", 1, 0, NULL), "store");
  REFUSES(hf_update_word(NULL, "k", 1, 0, 0, 0, 0, NULL), "store");
  REFUSES(hf_get_pinned(NULL, "k", 1, &view, &pin), "store");
  REFUSES(hf_put_many(NULL, 0, NULL, NULL, NULL, NULL, 0), "store");
  REFUSES(hf_get_many(NULL, 0, NULL, NULL, NULL, 0, NULL, NULL, &size), "store");
  REFUSES(hf_batch_new(NULL), "batch");
  REFUSES(hf_batch_put(NULL, "k", 1, "v", 1), "batch");
  REFUSES(hf_batch_erase(NULL, "k", 1), "batch");
  REFUSES(hf_batch_clear(NULL), "batch");
  REFUSES(hf_batch_write(NULL, NULL, 0, NULL), "store");
  REFUSES(hf_snapshot_open(NULL, &snapshot), "store");
  REFUSES(hf_snapshot_get(NULL, "k", 1, &byte, 1, &number), "snapshot");
  REFUSES(hf_snapshot_version(NULL, &number), "snapshot");
  REFUSES(hf_snapshot_count(NULL, &number), "snapshot");
  REFUSES(hf_iter_open(NULL, &iter), "store");
  REFUSES(hf_iter_open_snapshot(NULL, &iter), "snapshot");
  REFUSES(hf_iter_seek(NULL, "k", 1), "iter");
  REFUSES(hf_iter_seek_below(NULL, "k", 1), "iter");
  REFUSES(hf_iter_first(NULL, "k", 1), "iter");
  REFUSES(hf_iter_last(NULL, "k", 1), "iter");
  REFUSES(hf_iter_next(NULL), "iter");
  REFUSES(hf_iter_prev(NULL), "iter");
  REFUSES(hf_iter_record(NULL, &record), "iter");
  REFUSES(hf_iter_fill(NULL, &byte, 1, 0, &size), "iter");
  REFUSES(hf_count_prefix(NULL, "p", 1, &number), "store");
  REFUSES(hf_erase_prefix(NULL, "p", 1, 0, NULL), "store");
  REFUSES(hf_erase_range(NULL, "a", 1, "b", 1, 0, NULL), "store");
  REFUSES(hf_checkpoint_begin(NULL, &checkpoint), "store");
  REFUSES(hf_mark(NULL, NULL), "store");
  REFUSES(hf_drop_mark(NULL), "store");
  REFUSES(hf_checkpoint_version(NULL, &number), "checkpoint");
  REFUSES(hf_checkpoint_runs(NULL, NULL, 0, &size), "checkpoint");
  REFUSES(hf_checkpoint_read(NULL, 0, &byte, 1), "checkpoint");
  REFUSES(hf_checkpoint_private(NULL, &byte, 1, &size), "checkpoint");
  REFUSES(hf_private_runs(NULL, 1, NULL, 0, &size), "private_part");
  REFUSES(hf_restore(NULL, NULL, 0, no_run, NULL, NULL), "spec");
  REFUSES(hf_restore("x", NULL, 0, NULL, NULL, NULL), "read");
  REFUSES(hf_import_checkpoint(NULL, NULL, 0, no_run, NULL, NULL, 0, NULL), "store");
  REFUSES(hf_backup(NULL, "d", 0, NULL), "store");
  REFUSES(hf_verify_backup(NULL), "directory");
  REFUSES(hf_restore_backup(NULL, "s", 0, NULL), "directory");
  REFUSES(hf_restore_backup("d", NULL, 0, NULL), "spec");
  REFUSES(hf_expire(NULL, "p", 1, 0, 8, 0, 1), "store");
  REFUSES(hf_set_clock(NULL, 1), "store");
  REFUSES(hf_clock(NULL, &number), "store");
  REFUSES(hf_reserve(NULL, 1), "store");
  REFUSES(hf_reclaim(NULL), "store");
  REFUSES(hf_verify(NULL), "store");
}

static void without_a_space(void) {
  uint64_t number = 0;
  size_t size = 0;
  char byte = 0;
  hf_store* store = NULL;
  hf_space* space = NULL;
  hf_pipeline* pipeline = NULL;
  hf_event event;

  REFUSES(hf_restore_open(NULL, NULL, 0, no_run, NULL, NULL, &store), "spec");
  REFUSES(hf_restore_open("x", NULL, 1, no_run, NULL, NULL, &store), "private_part");
  REFUSES(hf_restore_open("x", NULL, 0, NULL, NULL, NULL, &store), "read");
  REFUSES(hf_restore_open("x", NULL, 0, no_run, NULL, NULL, NULL), "store");
  REFUSES(hf_space_create(NULL, "s", &space), "store");
  REFUSES(hf_space_open(NULL, "s", &space), "store");
  REFUSES(hf_space_drop(NULL, "s"), "store");
  REFUSES(hf_space_name(NULL, 0, &byte, 1, &size), "store");
  REFUSES(hf_space_count(NULL, &number), "space");
  REFUSES(hf_space_put(NULL, "k", 1, "v", 1, 0, NULL), "space");
  REFUSES(hf_space_get(NULL, "k", 1, &byte, 1, &number), "space");
  REFUSES(hf_space_erase(NULL, "k", 1, 0, NULL), "space");
  REFUSES(hf_space_append(NULL, "k", 1, "v", 1, 0, NULL), "space");
  REFUSES(hf_space_merge(NULL, "k", 1, 0, "v", 1, 0, NULL), "space");
  REFUSES(hf_batch_put_in(NULL, NULL, "k", 1, "v", 1), "batch");
  REFUSES(hf_batch_erase_in(NULL, NULL, "k", 1), "batch");
  REFUSES(hf_pipeline_open(NULL, 8, 0, &pipeline), "store");
  REFUSES(hf_pipeline_put(NULL, "k", 1, "v", 1, NULL), "pipeline");
  REFUSES(hf_pipeline_erase(NULL, "k", 1, NULL), "pipeline");
  REFUSES(hf_pipeline_get(NULL, "k", 1, &byte, 1, NULL), "pipeline");
  REFUSES(hf_pipeline_wait(NULL, 1, NULL), "pipeline");
  REFUSES(hf_pipeline_in_flight(NULL, &size), "pipeline");
  REFUSES(hf_pipeline_flush(NULL), "pipeline");
  REFUSES(hf_options_keep_events(NULL, 1), "options");
  REFUSES(hf_next_event(NULL, &event), "store");
}

void arguments(void) {
  char path[512];
  hf_store* store = NULL;
  without_a_handle();
  without_a_space();
  path_in_scratch(path, sizeof path, "arguments");
  OK(hf_open(path, NULL, &store));
  of_a_store(store);
  of_a_space(store);
  OK(hf_close(store));
}
