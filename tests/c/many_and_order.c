#include "check.h"

#define COUNT 200 /* More than one group of look-ups. */

/* A batch copies what it is given, and a length beyond the limits is refused before that: here no
 * such bytes lie behind the pointers. */
static void a_batch_that_refused_a_put(hf_store* store) {
  const size_t too_many[] = {~(size_t)0, (size_t)1 << 62, ((size_t)4 << 30) + 1};
  size_t i;
  hf_batch* batch = NULL;
  hf_space* space = NULL;
  OK(hf_batch_new(&batch));
  OK(hf_space_create(store, "batch", &space));
  for (i = 0; i < 3; ++i) {
    FAILS(hf_batch_put(batch, "lost", 4, "v", too_many[i]), HF_TOO_LARGE, "value_bytes=");
    FAILS(hf_batch_put(batch, "lost", too_many[i], "v", 1), HF_TOO_LARGE, "key_bytes=");
    FAILS(hf_batch_erase(batch, "lost", too_many[i]), HF_TOO_LARGE, "key_bytes=");
    FAILS(hf_batch_put_in(batch, space, "lost", 4, "v", too_many[i]), HF_TOO_LARGE, "value_bytes=");
    FAILS(hf_batch_put_in(batch, space, "lost", too_many[i], "v", 1), HF_TOO_LARGE, "key_bytes=");
    FAILS(hf_batch_erase_in(batch, space, "lost", too_many[i]), HF_TOO_LARGE, "key_bytes=");
  }
  hf_space_close(space);
  OK(hf_space_drop(store, "batch"));
  OK(hf_batch_put(batch, "batch:kept", 10, "value", 5));
  OK(hf_batch_write(store, batch, 0, NULL));
  CHECK(strcmp(get(store, "batch:kept"), "value") == 0);
  CHECK(strcmp(get(store, "lost"), "") == 0);
  OK(hf_erase(store, "batch:kept", 10, 0, NULL));
  hf_batch_free(batch);
}

void several_records(void) {
  char path[512], keys[COUNT * 4], values[COUNT * 300], buffer[COUNT * 300];
  uint32_t key_bytes[COUNT + 1];
  uint64_t value_bytes[COUNT + 1], found_bytes[COUNT + 1];
  int32_t codes[COUNT + 1];
  size_t i, answered = 0, used = 0, all = 0, done = 0;
  uint64_t version = 0, count = 0;
  hf_store* store = NULL;
  hf_batch* batch = NULL;

  path_in_scratch(path, sizeof path, "many");
  OK(hf_open(path, NULL, &store));
  for (i = 0; i < COUNT; ++i) {
    char key[8];
    snprintf(key, sizeof key, "k%03u", (unsigned)i);
    memcpy(keys + 4 * i, key, 4);
    key_bytes[i] = 4;
    value_bytes[i] = i; /* Of 0 bytes and more. */
    memset(values + all, (int)i, i);
    all += i;
  }
  OK(hf_put_many(store, COUNT, keys, key_bytes, values, value_bytes, 0));
  OK(hf_put_many(store, 0, NULL, NULL, NULL, NULL, 0));
  OK(hf_count(store, &count));
  CHECK(count == COUNT);

  OK(hf_get_many(store, COUNT, keys, key_bytes, buffer, sizeof buffer, found_bytes, codes,
                 &answered));
  CHECK(answered == COUNT);
  CHECK(memcmp(buffer, values, all) == 0);
  for (i = 0; i < COUNT; ++i)
    CHECK(codes[i] == HF_OK && found_bytes[i] == i);
  OK(hf_get_many(store, 0, NULL, NULL, NULL, 0, NULL, NULL, &answered));
  CHECK(answered == 0);

  /* A buffer for a part of them, call by call. */
  for (done = 0, all = 0; done < COUNT; done += answered) {
    OK(hf_get_many(store, COUNT - done, keys + 4 * done, key_bytes + done, buffer, 1000,
                   found_bytes, codes, &answered));
    CHECK(answered > 0);
    for (i = 0, used = 0; i < answered; ++i) {
      CHECK(codes[i] == HF_OK && found_bytes[i] == done + i);
      used += found_bytes[i];
    }
    CHECK(used <= 1000 && memcmp(buffer, values + all, used) == 0);
    all += used;
  }
  FAILS(hf_get_many(store, 1, "k199", key_bytes, buffer, 198, found_bytes, codes, &answered),
        HF_TOO_LARGE, "199 bytes");
  CHECK(answered == 0 && found_bytes[0] == 199);

  /* Those that are not there take no room. */
  OK(hf_erase(store, "k007", 4, 0, NULL));
  OK(hf_get_many(store, 3, "k006k007k008", key_bytes, buffer, 14, found_bytes, codes, &answered));
  CHECK(answered == 3 && codes[1] == HF_NOT_FOUND && found_bytes[1] == 0);
  CHECK(codes[0] == HF_OK && codes[2] == HF_OK && found_bytes[2] == 8 && buffer[6] == 8);

  OK(hf_batch_new(&batch));
  OK(hf_batch_put(batch, "a", 1, "thrown away", 11));
  OK(hf_batch_clear(batch));
  OK(hf_batch_put(batch, "b", 1, "1", 1));
  OK(hf_batch_erase(batch, "k001", 4));
  OK(hf_batch_put(batch, "b", 1, "2", 1));
  CHECK(strcmp(get(store, "b"), "") == 0);
  OK(hf_batch_write(store, batch, 0, &version));
  CHECK(version > 0);
  CHECK(strcmp(get(store, "b"), "2") == 0);
  CHECK(hf_get(store, "k001", 4, NULL, 0, &count) == HF_NOT_FOUND);
  CHECK(hf_get(store, "a", 1, NULL, 0, &count) == HF_NOT_FOUND);
  hf_batch_free(batch);
  hf_batch_free(NULL);
  a_batch_that_refused_a_put(store);
  OK(hf_close(store));
}

static void key_is(const hf_iter* iter, const char* key, const char* value) {
  hf_record record;
  OK(hf_iter_record(iter, &record));
  CHECK(record.key_bytes == strlen(key) && memcmp(record.key, key, record.key_bytes) == 0);
  CHECK(record.value_bytes == strlen(value));
  CHECK(memcmp(record.value, value, record.value_bytes) == 0);
  CHECK(record.version > 0);
}

void snapshots_and_order(void) {
  char path[512];
  uint64_t packed[32], bytes = 0, count = 0, version = 0, newest = 0, lengths[2];
  uint32_t key_length = 0;
  char value[16];
  size_t used = 0;
  hf_options* options = NULL;
  hf_store* store = NULL;
  hf_snapshot* snapshot = NULL;
  hf_iter *iter = NULL, *frozen = NULL;
  hf_record record;

  path_in_scratch(path, sizeof path, "hashed");
  OK(hf_open(path, NULL, &store));
  FAILS(hf_iter_open(store, &iter), HF_INVALID_OPTION, "order");
  CHECK(iter == NULL);
  OK(hf_close(store));

  path_in_scratch(path, sizeof path, "ordered?granularity=line");
  OK(hf_options_new(&options));
  OK(hf_options_set(options, "order", "true"));
  OK(hf_open(path, options, &store));
  hf_options_free(options);
  OK(put(store, "user:bob", "2"));
  OK(put(store, "user:ada", "1"));
  OK(put(store, "zoo", "4"));
  OK(put(store, "user:eve", "3"));

  OK(hf_snapshot_open(store, &snapshot));
  OK(put(store, "user:bob", "changed"));
  OK(hf_snapshot_get(snapshot, "user:bob", 8, value, sizeof value, &bytes));
  CHECK(bytes == 1 && value[0] == '2');
  OK(hf_snapshot_get(snapshot, "user:bob", 8, NULL, 0, &bytes));
  CHECK(bytes == 1);
  CHECK(hf_snapshot_get(snapshot, "nobody", 6, value, sizeof value, &bytes) == HF_NOT_FOUND);
  OK(hf_snapshot_version(snapshot, &version));
  CHECK(version > 0);
  OK(hf_snapshot_count(snapshot, &count));
  CHECK(count == 4);

  OK(hf_iter_open(store, &iter));
  FAILS(hf_iter_record(iter, &record), HF_NOT_FOUND, "HF_NOT_FOUND");
  OK(hf_iter_first(iter, "user:", 5));
  key_is(iter, "user:ada", "1");
  OK(hf_iter_next(iter));
  key_is(iter, "user:bob", "changed");
  OK(hf_iter_next(iter));
  key_is(iter, "user:eve", "3");
  CHECK(hf_iter_next(iter) == HF_NOT_FOUND);
  OK(hf_iter_last(iter, "user:", 5));
  key_is(iter, "user:eve", "3");
  OK(hf_iter_prev(iter));
  key_is(iter, "user:bob", "changed");
  OK(hf_iter_seek(iter, "user:c", 6));
  key_is(iter, "user:eve", "3");
  OK(hf_iter_seek_below(iter, "user:c", 6));
  key_is(iter, "user:bob", "changed");
  CHECK(hf_iter_seek(iter, "zzz", 3) == HF_NOT_FOUND);
  OK(hf_iter_first(iter, NULL, 0));

  /* Packed records, by the letter of the header. */
  OK(hf_iter_fill(iter, packed, sizeof packed, 2, &used));
  CHECK(used == 2 * 40);
  memcpy(&key_length, packed, 4);
  memcpy(lengths, packed + 1, 16);
  CHECK(key_length == 8 && lengths[0] == 1 && lengths[1] > 0);
  CHECK(memcmp(packed + 3, "user:ada1", 9) == 0);
  key_is(iter, "user:eve", "3");
  FAILS(hf_iter_fill(iter, packed, 16, 0, &used), HF_TOO_LARGE, "40");
  OK(hf_iter_fill(iter, packed, sizeof packed, 0, &used));
  CHECK(used == 40 + 32);
  OK(hf_iter_fill(iter, packed, sizeof packed, 0, &used));
  CHECK(used == 0);
  hf_iter_close(iter);
  hf_iter_close(NULL);

  /* An iterator of a snapshot keeps it. */
  OK(hf_iter_open_snapshot(snapshot, &frozen));
  hf_snapshot_close(snapshot);
  hf_snapshot_close(NULL);
  OK(hf_iter_seek(frozen, "user:b", 6));
  key_is(frozen, "user:bob", "2");
  FAILS(hf_close(store), HF_BUSY, "1 iterator, 1 snapshot");
  hf_iter_close(frozen);

  OK(hf_count_prefix(store, "user:", 5, &count));
  CHECK(count == 3);
  OK(hf_erase_range(store, "user:b", 6, "user:c", 6, 0, &count));
  CHECK(count == 1);
  FAILS(hf_erase_range(store, "b", 1, "a", 1, 0, &count), HF_INVALID_OPTION, "below");
  OK(hf_erase_prefix(store, "user:", 5, 0, &count));
  CHECK(count == 2);
  OK(hf_count(store, &count));
  CHECK(count == 1);
  OK(hf_sync(store));
  OK(hf_durable_up_to(store, &newest));
  CHECK(newest > version);
  OK(hf_close(store));
  OK(hf_close(NULL));
}
