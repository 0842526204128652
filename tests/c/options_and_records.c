#include "check.h"

static void option_is(const hf_options* options, const char* name, const char* value) {
  char text[64];
  size_t length = 0;
  OK(hf_options_get(options, name, text, sizeof text, &length));
  CHECK(length == strlen(value));
  CHECK(strcmp(text, value) == 0);
}

void library_and_options(void) {
  hf_options* options = NULL;
  char text[4];
  size_t length = 0;

  CHECK(hf_abi_version() == HF_ABI_VERSION);
  CHECK(strchr(hf_version_string(), '.') != NULL);
  CHECK(strcmp(hf_last_error(), "") == 0);
  CHECK(strcmp(hf_code_name(HF_VERSION_MISMATCH), "HF_VERSION_MISMATCH") == 0);
  CHECK(strcmp(hf_code_name(HF_OK), "HF_OK") == 0);
  CHECK(strcmp(hf_code_name(HF_CLOSED), "HF_CLOSED") == 0);
  CHECK(strcmp(hf_code_name(HF_CLOSED + 1), "HF_?") == 0);
  CHECK(strcmp(hf_code_name(-1), "HF_?") == 0);

  OK(hf_options_new(&options));
  option_is(options, "access", "open_or_create");
  OK(hf_options_set(options, "block_bytes", "64KiB"));
  option_is(options, "block_bytes", "65536");
  OK(hf_options_set(options, "segment_bytes", "1M"));
  option_is(options, "segment_bytes", "1048576");
  OK(hf_options_set(options, "patchable_words", "0,8,24"));
  option_is(options, "patchable_words", "0,8,24");
  OK(hf_options_set(options, "patchable_words", ""));
  option_is(options, "patchable_words", "");
  OK(hf_options_set(options, "order", "true"));
  option_is(options, "order", "true");
  OK(hf_options_set(options, "reclaim.background", "false"));
  option_is(options, "reclaim.background", "false");
  option_is(options, "background", "true");
  OK(hf_options_set(options, "reclaim.space_amplification", "1.5"));
  option_is(options, "reclaim.space_amplification", "1.5");
  OK(hf_options_set(options, "reclaim.bytes_per_second", "1G"));
  option_is(options, "reclaim.bytes_per_second", "1073741824");
  OK(hf_options_set(options, "durability", "process"));
  option_is(options, "durability", "process");
  OK(hf_options_set(options, "recovery_threads", "2"));
  option_is(options, "recovery_threads", "2");
  OK(hf_options_set(options, "sync_interval_ms", "0"));
  option_is(options, "sync_interval_ms", "0");
  /* A buffer that is too small is filled and says how much is missing. */
  OK(hf_options_get(options, "durability", text, sizeof text, &length));
  CHECK(length == 7 && memcmp(text, "proc", 4) == 0);
  OK(hf_options_get(options, "durability", NULL, 0, &length));
  CHECK(length == 7);

  FAILS(hf_options_set(options, "blok_bytes", "1"), HF_INVALID_OPTION,
        "did you mean 'block_bytes'");
  FAILS(hf_options_set(options, "block_bytes", "many"), HF_INVALID_OPTION, "block_bytes='many'");
  FAILS(hf_options_set(options, "block_bytes", "8G"), HF_INVALID_OPTION, "block_bytes");
  FAILS(hf_options_set(options, "order", "yes"), HF_INVALID_OPTION, "true or false");
  FAILS(hf_options_set(options, "access", "write"), HF_INVALID_OPTION, "read_only");
  FAILS(hf_options_set(options, "patchable_words", "0,"), HF_INVALID_OPTION, "commas");
  FAILS(hf_options_set(options, "patchable_words", "a"), HF_INVALID_OPTION, "commas");
  FAILS(hf_options_set(options, "sync_interval_ms", "-1"), HF_INVALID_OPTION, "whole number");
  FAILS(hf_options_set(options, "reclaim.space_amplification", "1.5x"), HF_INVALID_OPTION, "1.05");
  FAILS(hf_options_set(options, "reclaim.space_amplification", "nan"), HF_INVALID_OPTION, "1.05");
  FAILS(hf_options_set(options, "reclaim.space_amplification", "inf"), HF_INVALID_OPTION, "1.05");
  FAILS(hf_options_get(options, "nothing", text, sizeof text, &length), HF_INVALID_OPTION,
        "no option 'nothing'");
  CHECK(strncmp(hf_last_error(), "HF_INVALID_OPTION: ", 19) == 0);
  option_is(options, "block_bytes", "65536");
  hf_options_free(options);
  hf_options_free(NULL);
}

/* To hf_get a key beyond the limit was absent, and lengths that no memory can hold were copied or
 * hashed. */
static void keys_and_values_that_are_too_long(hf_store* store) {
  static const char key[64 * 1024 + 1];
  const size_t longer[2] = {sizeof key, ~(size_t)0 - 7};
  char buffer[8];
  uint64_t bytes = 0;
  hf_view view;
  hf_pin* pin = NULL;
  hf_snapshot* snapshot = NULL;
  hf_space* space = NULL;
  hf_pipeline* pipeline = NULL;
  size_t i;
  OK(hf_snapshot_open(store, &snapshot));
  OK(hf_space_create(store, "too long", &space));
  OK(hf_pipeline_open(store, 8, 0, &pipeline));
  for (i = 0; i < 2; ++i) {
    const size_t n = longer[i];
    FAILS(hf_put(store, key, n, "v", 1, 0, NULL), HF_TOO_LARGE, "at most 65536");
    FAILS(hf_put_if_absent(store, key, n, "v", 1, 0, NULL), HF_TOO_LARGE, "at most 65536");
    FAILS(hf_get(store, key, n, buffer, 8, &bytes), HF_TOO_LARGE, "at most 65536");
    FAILS(hf_erase(store, key, n, 0, NULL), HF_TOO_LARGE, "at most 65536");
    FAILS(hf_append(store, key, n, "v", 1, 0, NULL), HF_TOO_LARGE, "at most 65536");
    FAILS(hf_update_word(store, key, n, 0, 0, 1, 0, NULL), HF_TOO_LARGE, "at most 65536");
    FAILS(hf_get_pinned(store, key, n, &view, &pin), HF_TOO_LARGE, "at most 65536");
    FAILS(hf_snapshot_get(snapshot, key, n, buffer, 8, &bytes), HF_TOO_LARGE, "at most 65536");
    FAILS(hf_space_put(space, key, n, "v", 1, 0, NULL), HF_TOO_LARGE, "at most 65536");
    FAILS(hf_space_get(space, key, n, buffer, 8, &bytes), HF_TOO_LARGE, "at most 65536");
    FAILS(hf_pipeline_put(pipeline, key, n, "v", 1, NULL), HF_TOO_LARGE, "at most 65536");
    FAILS(hf_pipeline_get(pipeline, key, n, buffer, 8, NULL), HF_TOO_LARGE, "at most 65536");
    FAILS(hf_pipeline_erase(pipeline, key, n, NULL), HF_TOO_LARGE, "at most 65536");
  }
  {
    const uint32_t key_bytes = sizeof key, one = 1;
    const uint64_t value_bytes = ~(uint64_t)0 - 7;
    int32_t code = 0;
    size_t answered = 0;
    FAILS(hf_get_many(store, 1, key, &key_bytes, buffer, 8, &bytes, &code, &answered), HF_TOO_LARGE,
          "at most 65536");
    FAILS(hf_put_many(store, 1, "k", &one, "v", &value_bytes, 0), HF_TOO_LARGE,
          "at most 4294967296");
  }
  FAILS(hf_put(store, "k", 1, "v", longer[1], 0, NULL), HF_TOO_LARGE, "at most 4294967296");
  FAILS(hf_append(store, "k", 1, "v", longer[1], 0, NULL), HF_TOO_LARGE, "at most 4294967296");
  FAILS(hf_space_put(space, "k", 1, "v", longer[1], 0, NULL), HF_TOO_LARGE, "at most 4294967296");
  FAILS(hf_pipeline_put(pipeline, "k", 1, "v", longer[1], NULL), HF_TOO_LARGE,
        "at most 4294967296");
  OK(hf_pipeline_close(pipeline));
  hf_snapshot_close(snapshot);
  hf_space_close(space);
  OK(hf_space_drop(store, "too long"));
}

void single_records(void) {
  char path[512];
  hf_options* options = NULL;
  hf_store* store = NULL;
  hf_pin* pin = NULL;
  hf_view view;
  char value[8];
  uint64_t bytes = 0, version = 0, later = 0, word = 0, old_word = 0, count = 0;
  int32_t outcome = 0, existed = 2;
  double real = 0.5;

  path_in_scratch(path, sizeof path, "records?granularity=line");
  OK(hf_options_new(&options));
  OK(hf_options_set(options, "patchable_words", "0"));
  OK(hf_open(path, options, &store));
  hf_options_free(options); /* It was not kept. */

  OK(hf_put(store, "ada", 3, "lovelace", 8, 0, &outcome));
  CHECK(outcome == HF_INSERTED);
  OK(hf_put(store, "ada", 3, "countess of", 11, HF_DURABLE_PROCESS, &outcome));
  CHECK(outcome == HF_OVERWROTE || outcome == HF_WRITTEN);
  OK(hf_get(store, "ada", 3, value, sizeof value, &bytes));
  CHECK(bytes == 11 && memcmp(value, "countess", 8) == 0);
  OK(hf_get(store, "ada", 3, NULL, 0, &bytes));
  CHECK(bytes == 11);
  bytes = 77;
  CHECK(hf_get(store, "charles", 7, value, sizeof value, &bytes) == HF_NOT_FOUND);
  CHECK(bytes == 77 && memcmp(value, "countess", 8) == 0);
  CHECK(strncmp(hf_last_error(), "HF_NOT_FOUND", 12) == 0);

  /* Keys and values of no bytes. */
  OK(hf_put(store, NULL, 0, NULL, 0, 0, NULL));
  OK(hf_get(store, NULL, 0, value, sizeof value, &bytes));
  CHECK(bytes == 0);
  OK(hf_erase(store, NULL, 0, 0, &existed));
  CHECK(existed == 1);
  OK(hf_erase(store, NULL, 0, HF_DURABLE_POWER, &existed));
  CHECK(existed == 0);

  FAILS(hf_put_if_absent(store, "ada", 3, "x", 1, 0, NULL), HF_ALREADY_EXISTS, "HF_ALREADY_EXISTS");
  OK(hf_put_if_absent(store, "alan", 4, "turing", 6, 0, &version));
  CHECK(version > 0);
  OK(hf_compare_and_put(store, "alan", 4, version, "mathison", 8, 0, &later));
  CHECK(later > version);
  CHECK(hf_compare_and_put(store, "alan", 4, version, "x", 1, 0, NULL) == HF_VERSION_MISMATCH);
  CHECK(strcmp(get(store, "alan"), "mathison") == 0);

  OK(hf_get_pinned(store, "alan", 4, &view, &pin));
  CHECK(view.bytes == 8 && memcmp(view.data, "mathison", 8) == 0 && view.version == later);
  OK(put(store, "alan", "other"));
  CHECK(memcmp(view.data, "mathison", 8) == 0); /* As long as it is pinned. */
  hf_unpin(pin);
  hf_unpin(NULL);
  pin = (hf_pin*)&view; /* Anything. */
  CHECK(hf_get_pinned(store, "nobody", 6, &view, &pin) == HF_NOT_FOUND);
  CHECK(pin == NULL);

  OK(hf_append(store, "log", 3, "one\n", 4, 0, &version));
  OK(hf_append(store, "log", 3, "two\n", 4, 0, &later));
  CHECK(later > version);
  CHECK(strcmp(get(store, "log"), "one\ntwo\n") == 0);

  word = 40;
  OK(hf_merge(store, "n", 1, HF_MERGE_ADD, &word, 8, 0, &version));
  word = 2;
  OK(hf_merge(store, "n", 1, HF_MERGE_ADD, &word, 8, 0, NULL));
  OK(hf_get(store, "n", 1, &word, 8, &bytes));
  CHECK(word == 42);
  word = 7;
  OK(hf_merge(store, "n", 1, HF_MERGE_MIN_UNSIGNED, &word, 8, 0, NULL));
  OK(hf_get(store, "n", 1, &word, 8, &bytes));
  CHECK(word == 7);
  OK(hf_merge(store, "real", 4, HF_MERGE_ADD_DOUBLE, &real, 8, 0, NULL));
  OK(hf_merge(store, "real", 4, HF_MERGE_ADD_DOUBLE, &real, 8, 0, NULL));
  OK(hf_get(store, "real", 4, &real, 8, &bytes));
  CHECK(real == 1.0);
  FAILS(hf_merge(store, "n", 1, HF_MERGE_ADD, "short", 5, 0, NULL), HF_INVALID_OPTION, "8");
  FAILS(hf_merge(store, "n", 1, 8, &word, 8, 0, NULL), HF_INVALID_OPTION, "function=8");
  FAILS(hf_merge(store, "n", 1, -1, &word, 8, 0, NULL), HF_INVALID_OPTION, "function=-1");

  OK(hf_update_word(store, "n", 1, 0, HF_WORD_ADD, 3, 0, &old_word));
  CHECK(old_word == 7);
  OK(hf_update_word(store, "n", 1, 0, HF_WORD_MAX_UNSIGNED, 100, 0, &old_word));
  CHECK(old_word == 10);
  OK(hf_update_word(store, "n", 1, 0, HF_WORD_MIN_UNSIGNED, 50, 0, &old_word));
  CHECK(old_word == 100);
  OK(hf_update_word(store, "n", 1, 0, HF_WORD_SET, 9, 0, &old_word));
  CHECK(old_word == 50);
  OK(hf_get(store, "n", 1, &word, 8, &bytes));
  CHECK(word == 9);
  CHECK(hf_update_word(store, "none", 4, 0, HF_WORD_SET, 9, 0, NULL) == HF_NOT_FOUND);
  FAILS(hf_update_word(store, "n", 1, 4, HF_WORD_SET, 9, 0, NULL), HF_INVALID_OPTION, "4");
  FAILS(hf_update_word(store, "n", 1, 0, 4, 9, 0, NULL), HF_INVALID_OPTION, "operation=4");
  CHECK(strstr(hf_last_error(), "HF_WORD_MAX_UNSIGNED (3)") != NULL);

  FAILS(hf_put(store, "k", 1, "v", 1, 8, NULL), HF_INVALID_OPTION, "flags=8");
  FAILS(hf_put(store, "k", 1, "v", 1, HF_DURABLE_PROCESS | HF_DURABLE_POWER, NULL),
        HF_INVALID_OPTION, "flags=3");
  keys_and_values_that_are_too_long(store);
  OK(hf_count(store, &count));
  CHECK(count == 5); /* ada, alan, log, n, real. */
  OK(hf_close(store));

  /* It was durable, and read-only is read-only. */
  OK(hf_options_new(&options));
  OK(hf_options_set(options, "access", "read_only"));
  OK(hf_open(path, options, &store));
  CHECK(strcmp(get(store, "alan"), "other") == 0);
  FAILS(put(store, "alan", "x"), HF_READ_ONLY, "HF_READ_ONLY");
  OK(hf_close(store));
  OK(hf_options_set(options, "access", "create"));
  FAILS(hf_open(path, options, &store), HF_ALREADY_EXISTS, "records");
  CHECK(store == NULL);
  OK(hf_options_set(options, "access", "open"));
  path_in_scratch(path, sizeof path, "nothing");
  FAILS(hf_open(path, options, &store), HF_NOT_FOUND, "nothing");
  hf_options_free(options);
}
