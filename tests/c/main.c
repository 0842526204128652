/* Every function of holdfast.h, from C99. `c_api_test [GROUP] DIRECTORY`: an empty
 * one for its stores. */
#include "check.h"

const char* scratch_directory;

void path_in_scratch(char* path, size_t capacity, const char* name) {
  CHECK((size_t)snprintf(path, capacity, "%s/%s", scratch_directory, name) < capacity);
}

hf_store* create_in_small_files(const char* path) {
  hf_options* options = NULL;
  hf_store* store = NULL;
  OK(hf_options_new(&options));
  OK(hf_options_set(options, "file_bytes", "4M"));
  OK(hf_options_set(options, "access", "create"));
  OK(hf_open(path, options, &store));
  hf_options_free(options);
  return store;
}

int32_t put(hf_store* store, const char* key, const char* value) {
  return hf_put(store, key, strlen(key), value, strlen(value), 0, NULL);
}

const char* get(hf_store* store, const char* key) {
  static char buffer[256];
  uint64_t bytes = 0;
  if (hf_get(store, key, strlen(key), buffer, sizeof buffer - 1, &bytes) != HF_OK) return "";
  CHECK(bytes < sizeof buffer);
  buffer[bytes] = 0;
  return buffer;
}

typedef struct Group {
  const char* name;
  void (*run)(void);
} Group;
#define GROUP(name) {#name, name}
static const Group groups[] = {GROUP(library_and_options),
                               GROUP(single_records),
                               GROUP(several_records),
                               GROUP(snapshots_and_order),
                               GROUP(checkpoints),
                               GROUP(restores),
                               GROUP(marks),
                               GROUP(backups),
                               GROUP(keyspaces),
                               GROUP(pipelines),
                               GROUP(events),
                               GROUP(expiry_and_upkeep),
                               GROUP(arguments),
                               GROUP(children_of_a_store),
                               GROUP(random_operations),
                               GROUP(threads),
                               GROUP(ends_of_threads)};

int main(int count, char** words) {
  const char* wanted = count == 3 ? words[1] : NULL;
  size_t i, ran = 0;
  if (count < 2 || count > 3) {
    fprintf(stderr, "use: c_api_test [GROUP] DIRECTORY\n");
    return 2;
  }
  scratch_directory = words[count - 1];
  for (i = 0; i < sizeof groups / sizeof groups[0]; ++i) {
    if (wanted != NULL && strcmp(wanted, groups[i].name) != 0) continue;
    groups[i].run();
    printf("%s held\n", groups[i].name);
    ++ran;
  }
  if (ran == 0) fprintf(stderr, "there is no group %s\n", wanted);
  return ran == 0 ? 2 : 0;
}
