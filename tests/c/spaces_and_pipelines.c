#include "check.h"

static void names_are(hf_store* store, const char* first, const char* second) {
  const char* wanted[2] = {first, second};
  char name[32];
  size_t length = 0, number;
  for (number = 0; number < 2 && wanted[number] != NULL; ++number) {
    OK(hf_space_name(store, number, name, sizeof name, &length));
    CHECK(strcmp(name, wanted[number]) == 0 && length == strlen(wanted[number]));
  }
  FAILS(hf_space_name(store, number, name, sizeof name, &length), HF_NOT_FOUND, "from 0 on");
}

static void verbs_of(hf_space* space) {
  char buffer[64];
  int32_t outcome = 0, existed = 0;
  uint64_t bytes = 0, version = 0, records = 0, number = 40, two = 2;
  OK(hf_space_put(space, "k", 1, "value", 5, 0, &outcome));
  CHECK(outcome == HF_INSERTED);
  OK(hf_space_put(space, "k", 1, "other", 5, HF_DURABLE_PROCESS, &outcome));
  CHECK(outcome == HF_OVERWROTE);
  OK(hf_space_get(space, "k", 1, buffer, 3, &bytes));
  CHECK(bytes == 5 && memcmp(buffer, "oth", 3) == 0);
  CHECK(hf_space_get(space, "l", 1, buffer, 3, &bytes) == HF_NOT_FOUND);
  OK(hf_space_append(space, "k", 1, "wise", 4, 0, &version));
  OK(hf_space_get(space, "k", 1, buffer, sizeof buffer, &bytes));
  CHECK(version > 0 && bytes == 9 && memcmp(buffer, "otherwise", 9) == 0);
  OK(hf_space_merge(space, "n", 1, HF_MERGE_ADD, &number, 8, 0, NULL));
  OK(hf_space_merge(space, "n", 1, HF_MERGE_ADD, &two, 8, 0, NULL));
  OK(hf_space_get(space, "n", 1, &number, 8, &bytes));
  CHECK(number == 42);
  FAILS(hf_space_merge(space, "n", 1, 8, &two, 8, 0, NULL), HF_INVALID_OPTION, "function=8");
  OK(hf_space_count(space, &records));
  CHECK(records == 2);
  OK(hf_space_erase(space, "n", 1, 0, &existed));
  CHECK(existed == 1);
  OK(hf_space_erase(space, "n", 1, 0, &existed));
  CHECK(existed == 0);
}

void keyspaces(void) {
  char path[512], buffer[8];
  hf_store* store = NULL;
  hf_space *users = NULL, *again = NULL, *visits = NULL, *none = NULL;
  hf_batch* batch = NULL;
  uint64_t bytes = 0, records = 0;

  path_in_scratch(path, sizeof path, "spaces");
  store = create_in_small_files(path);
  names_are(store, NULL, NULL);
  OK(hf_space_create(store, "visits", &visits));
  OK(hf_space_create(store, "users", &users));
  FAILS(hf_space_create(store, "users", &again), HF_ALREADY_EXISTS, "users");
  CHECK(again == NULL);
  FAILS(hf_space_create(store, "", &again), HF_INVALID_OPTION, "255");
  FAILS(hf_space_open(store, "nobody", &none), HF_NOT_FOUND, "nobody");
  OK(hf_space_open(store, "users", &again));
  names_are(store, "users", "visits");
  verbs_of(users);
  /* The store and another space know nothing of it, and a second handle everything. */
  CHECK(strcmp(get(store, "k"), "") == 0);
  CHECK(hf_space_get(visits, "k", 1, buffer, 8, &bytes) == HF_NOT_FOUND);
  OK(hf_space_get(again, "k", 1, buffer, 8, &bytes));

  OK(hf_batch_new(&batch));
  OK(hf_batch_put(batch, "of the store", 12, "1", 1));
  OK(hf_batch_put_in(batch, visits, "of a space", 10, "2", 1));
  OK(hf_batch_erase_in(batch, users, "k", 1));
  OK(hf_batch_write(store, batch, 0, NULL));
  hf_batch_free(batch);
  CHECK(strcmp(get(store, "of the store"), "1") == 0);
  OK(hf_space_get(visits, "of a space", 10, buffer, 8, &bytes));
  OK(hf_space_count(users, &records));
  CHECK(records == 0);

  OK(hf_space_drop(store, "users"));
  FAILS(hf_space_drop(store, "users"), HF_NOT_FOUND, "users");
  FAILS(hf_space_put(users, "k", 1, "v", 1, 0, NULL), HF_CLOSED, "HF_CLOSED");
  FAILS(hf_space_count(users, &records), HF_CLOSED, "dropped");
  hf_space_close(users);
  hf_space_close(again);
  hf_space_close(NULL);
  OK(hf_close(store));
  /* One may outlive its store. */
  CHECK(hf_space_get(visits, "of a space", 10, buffer, 8, &bytes) == HF_CLOSED);
  CHECK(hf_space_count(visits, &records) == HF_CLOSED);
  hf_space_close(visits);

  OK(hf_open(path, NULL, &store));
  OK(hf_space_open(store, "visits", &visits));
  OK(hf_space_get(visits, "of a space", 10, buffer, 8, &bytes));
  CHECK(bytes == 1 && buffer[0] == '2');
  hf_space_close(visits);
  OK(hf_close(store));
}

void pipelines(void) {
  char path[512], key[16], value[16];
  hf_store* store = NULL;
  hf_pipeline* pipeline = NULL;
  uint64_t ticket = 0, other = 0, outcome = 0, records = 0;
  size_t in_flight = 0;
  unsigned i;

  path_in_scratch(path, sizeof path, "pipelined");
  OK(hf_open(path, NULL, &store));
  FAILS(hf_pipeline_open(store, 0, 0, &pipeline), HF_INVALID_OPTION, "window");
  FAILS(hf_pipeline_open(store, 8, HF_RENEW, &pipeline), HF_INVALID_OPTION, "flags=4");
  OK(hf_pipeline_open(store, 8, HF_DURABLE_PROCESS, &pipeline));
  OK(hf_pipeline_put(pipeline, "ada", 3, "lovelace", 8, &ticket));
  CHECK(ticket == 1);
  OK(hf_pipeline_in_flight(pipeline, &in_flight));
  CHECK(in_flight == 1 && strcmp(get(store, "ada"), "") == 0);
  memset(value, 0, sizeof value);
  OK(hf_pipeline_get(pipeline, "ada", 3, value, sizeof value, &other));
  OK(hf_pipeline_wait(pipeline, other, &outcome)); /* Behind the put: it sees it. */
  CHECK(outcome == 8 && strcmp(value, "lovelace") == 0);
  OK(hf_pipeline_wait(pipeline, ticket, &outcome));
  CHECK(outcome == HF_INSERTED);
  OK(hf_pipeline_erase(pipeline, "ada", 3, &ticket));
  OK(hf_pipeline_get(pipeline, "ada", 3, value, sizeof value, &other));
  OK(hf_pipeline_wait(pipeline, ticket, &outcome));
  CHECK(outcome == 1);
  CHECK(hf_pipeline_wait(pipeline, other, &outcome) == HF_NOT_FOUND);
  FAILS(hf_pipeline_wait(pipeline, 77, NULL), HF_INVALID_OPTION, "77");

  for (i = 0; i < 1000; ++i) {
    const int length = snprintf(key, sizeof key, "key%u", i);
    OK(hf_pipeline_put(pipeline, key, (size_t)length, &i, sizeof i, NULL));
  }
  OK(hf_pipeline_flush(pipeline));
  OK(hf_count(store, &records));
  CHECK(records == 1000);
  OK(hf_pipeline_put(pipeline, "last", 4, "one", 3, NULL));
  OK(hf_pipeline_close(pipeline));
  CHECK(strcmp(get(store, "last"), "one") == 0);
  OK(hf_pipeline_close(NULL));

  /* In flight when its store is closed: nothing of it was written. */
  OK(hf_pipeline_open(store, 8, 0, &pipeline));
  OK(hf_pipeline_put(pipeline, "late", 4, "v", 1, NULL));
  OK(hf_close(store));
  CHECK(hf_pipeline_close(pipeline) == HF_CLOSED);
  OK(hf_open(path, NULL, &store));
  CHECK(strcmp(get(store, "late"), "") == 0);
  OK(hf_close(store));
}

void events(void) {
  char path[512];
  static char large[100000];
  hf_options* options = NULL;
  hf_store* store = NULL;
  hf_event event;
  uint64_t short_event[3] = {16, 0, 77};
  int32_t code;
  unsigned i, growths = 0;

  path_in_scratch(path, sizeof path, "told");
  store = create_in_small_files(path);
  event.size = sizeof event;
  FAILS(hf_next_event(store, &event), HF_INVALID_OPTION, "hf_options_keep_events");
  OK(put(store, "k", "v"));
  OK(hf_close(store));
  OK(hf_options_new(&options));
  OK(hf_options_keep_events(options, 1));
  OK(hf_options_set(options, "file_bytes", "4M")); /* As create_in_small_files(). */
  OK(hf_open(path, options, &store));
  hf_options_free(options);
  /* A thread of the store's tells it soon. */
  while ((code = hf_next_event(store, (hf_event*)short_event)) == HF_NOT_FOUND) {
  }
  OK(code);
  CHECK(short_event[0] == 16 && (int32_t)short_event[1] == HF_EVENT_RECOVERY &&
        short_event[2] == 77);
  for (i = 0; i < 2000; ++i)
    OK(hf_put(store, &i, sizeof i, large, sizeof large, 0, NULL));
  while (growths == 0) {
    event.size = sizeof event;
    code = hf_next_event(store, &event);
    if (code == HF_NOT_FOUND) continue;
    OK(code);
    CHECK(event.size == sizeof event);
    if (event.kind != HF_EVENT_GROWTH) continue;
    CHECK(event.bytes_after > event.bytes_before && event.code == 0 && event.seconds == 0);
    ++growths;
  }
  event.size = 7;
  FAILS(hf_next_event(store, &event), HF_INVALID_OPTION, "event->size=7");
  OK(hf_close(store));
}
