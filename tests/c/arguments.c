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

void arguments(void) {
  char path[512];
  hf_store* store = NULL;
  without_a_handle();
  path_in_scratch(path, sizeof path, "arguments");
  OK(hf_open(path, NULL, &store));
  of_a_store(store);
  OK(hf_close(store));
}
