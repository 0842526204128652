/* Random programs beside a dull model, and threads that share a store. */
#include "check.h"

#include <pthread.h>

#define KEYS 500
#define LONGEST 600

static uint64_t random_state = 20261123;
static uint64_t random_below(uint64_t bound) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state % bound;
}

typedef struct Model {
  int there[KEYS];
  size_t bytes[KEYS];
  char value[KEYS][2 * LONGEST];
} Model;

static void same_as_model(hf_store* store, const Model* model) {
  char buffer[2 * LONGEST];
  uint64_t bytes = 0, count = 0, there = 0;
  uint32_t key;
  for (key = 0; key < KEYS; ++key) {
    const int32_t code = hf_get(store, &key, sizeof key, buffer, sizeof buffer, &bytes);
    CHECK(code == (model->there[key] ? HF_OK : HF_NOT_FOUND));
    if (!model->there[key]) continue;
    ++there;
    CHECK(bytes == model->bytes[key] && memcmp(buffer, model->value[key], bytes) == 0);
  }
  OK(hf_count(store, &count));
  CHECK(count == there);
}

/* Large enough from the beginning: valgrind 3.19 fails an assertion of its own (segnames.c) when a
 * file that grew is unmapped. */
static hf_store* open_large(const char* path, const char* order) {
  hf_options* options = NULL;
  hf_store* store = NULL;
  OK(hf_options_new(&options));
  OK(hf_options_set(options, "initial_bytes", "32M"));
  OK(hf_options_set(options, "order", order));
  OK(hf_open(path, options, &store));
  hf_options_free(options);
  return store;
}

void random_operations(void) {
  static Model model;
  char path[512], value[LONGEST];
  hf_store* store = NULL;
  hf_batch* batch = NULL;
  unsigned step;
  int32_t existed = 0;

  path_in_scratch(path, sizeof path, "random");
  store = open_large(path, "false");
  OK(hf_batch_new(&batch));
  for (step = 0; step < 300000; ++step) {
    const uint32_t key = (uint32_t)random_below(KEYS);
    const size_t bytes = (size_t)random_below(LONGEST);
    memset(value, (int)random_below(256), bytes);
    switch (random_below(8)) {
      case 0:
        OK(hf_erase(store, &key, sizeof key, 0, &existed));
        CHECK(existed == model.there[key]);
        model.there[key] = 0;
        break;
      case 1: /* Beyond the model's room: begin anew. */
        if (!model.there[key]) model.bytes[key] = 0;
        if (model.bytes[key] + bytes > sizeof model.value[key]) break;
        OK(hf_append(store, &key, sizeof key, value, bytes, 0, NULL));
        memcpy(model.value[key] + model.bytes[key], value, bytes);
        model.bytes[key] += bytes;
        model.there[key] = 1;
        break;
      case 2:
        OK(hf_batch_clear(batch));
        OK(hf_batch_put(batch, &key, sizeof key, value, bytes));
        OK(hf_batch_write(store, batch, 0, NULL));
        goto replaced;
      case 3:
        if (model.there[key]) {
          CHECK(hf_put_if_absent(store, &key, sizeof key, value, bytes, 0, NULL) ==
                HF_ALREADY_EXISTS);
          break;
        }
        OK(hf_put_if_absent(store, &key, sizeof key, value, bytes, 0, NULL));
        goto replaced;
      default:
        OK(hf_put(store, &key, sizeof key, value, bytes, 0, NULL));
      replaced:
        memcpy(model.value[key], value, bytes);
        model.bytes[key] = bytes;
        model.there[key] = 1;
    }
    if (step % 60000 == 30000) { /* Closed and opened in between. */
      OK(hf_close(store));
      OK(hf_open(path, NULL, &store));
      same_as_model(store, &model);
    }
  }
  same_as_model(store, &model);
  OK(hf_verify(store));
  hf_batch_free(batch);
  OK(hf_close(store));
}

#define THREADS 4
#define ADDITIONS 2000

typedef struct Shared {
  hf_store* store;
  unsigned number;
} Shared;

/* Adds to common counters and keeps keys of its own, with snapshots, iterators and errors. */
static void* one_thread(void* argument) {
  const Shared* shared = argument;
  hf_store* store = shared->store;
  const uint64_t one = 1;
  uint32_t i;
  for (i = 0; i < ADDITIONS; ++i) {
    const uint32_t mine[2] = {shared->number, i};
    const char common[2] = {'c', (char)(i % 4)};
    uint64_t bytes = 0, seen = 0;
    OK(hf_merge(store, common, 2, HF_MERGE_ADD, &one, 8, 0, NULL));
    OK(hf_put(store, mine, sizeof mine, &i, sizeof i, 0, NULL));
    OK(hf_get(store, mine, sizeof mine, &seen, sizeof i, &bytes));
    CHECK(bytes == sizeof i && (uint32_t)seen == i);
    if (i % 200 == 0) {
      hf_snapshot* snapshot = NULL;
      hf_iter* iter = NULL;
      OK(hf_snapshot_open(store, &snapshot));
      OK(hf_iter_open_snapshot(snapshot, &iter));
      OK(hf_iter_first(iter, &shared->number, sizeof shared->number));
      hf_iter_close(iter);
      hf_snapshot_close(snapshot);
      /* The last error is this thread's own. */
      CHECK(hf_get(store, "none", 4, NULL, 0, &bytes) == HF_NOT_FOUND);
      CHECK(strncmp(hf_last_error(), "HF_NOT_FOUND", 12) == 0);
    }
  }
  return NULL;
}

void threads(void) {
  char path[512];
  hf_store* store = NULL;
  pthread_t running[THREADS];
  Shared shared[THREADS];
  uint64_t count = 0, sum = 0;
  unsigned i;

  path_in_scratch(path, sizeof path, "threads");
  store = open_large(path, "true");
  for (i = 0; i < THREADS; ++i) {
    shared[i].store = store;
    shared[i].number = i;
    CHECK(pthread_create(&running[i], NULL, one_thread, &shared[i]) == 0);
  }
  for (i = 0; i < THREADS; ++i)
    CHECK(pthread_join(running[i], NULL) == 0);
  OK(hf_count(store, &count));
  CHECK(count == THREADS * ADDITIONS + 4);
  for (i = 0; i < 4; ++i) {
    const char common[2] = {'c', (char)i};
    uint64_t counted = 0, bytes = 0;
    OK(hf_get(store, common, 2, &counted, 8, &bytes));
    sum += counted;
  }
  CHECK(sum == THREADS * ADDITIONS);
  OK(hf_close(store));
}

/* What a thread does once more at its very end: the destructor of a key comes behind those of all
 * thread-local objects of the library. */
static void all_kinds_of_calls(void* argument) {
  hf_store* store = argument;
  const uint32_t key_bytes = 1;
  char buffer[64];
  uint64_t value_bytes = 0;
  int32_t code = -1;
  size_t answered = 0;
  OK(hf_put(store, "k", 1, "value", 5, 0, NULL));
  OK(hf_get_many(store, 1, "k", &key_bytes, buffer, sizeof buffer, &value_bytes, &code, &answered));
  CHECK(answered == 1 && code == HF_OK && value_bytes == 5 && memcmp(buffer, "value", 5) == 0);
  FAILS(hf_get(NULL, "k", 1, buffer, sizeof buffer, &value_bytes), HF_INVALID_OPTION, "store");
}
static pthread_key_t at_end;
static void* thread_with_an_end(void* store) {
  CHECK(pthread_setspecific(at_end, store) == 0);
  all_kinds_of_calls(store);
  return NULL;
}

void ends_of_threads(void) {
  char path[512];
  hf_store* store = NULL;
  hf_stats stats;
  pthread_t running;
  int i;
  path_in_scratch(path, sizeof path, "ends");
  store = create_in_small_files(path);
  CHECK(pthread_key_create(&at_end, all_kinds_of_calls) == 0);
  for (i = 0; i < 3; ++i) {
    CHECK(pthread_create(&running, NULL, thread_with_an_end, store) == 0);
    CHECK(pthread_join(running, NULL) == 0);
  }
  CHECK(pthread_key_delete(at_end) == 0);
  /* They are given back. One that writes owns a block of the medium. */
  stats.size = sizeof stats;
  OK(hf_stats_get(store, &stats));
  CHECK(stats.sessions == 0);
  OK(hf_close(store));
}
