/* Every function of holdfast.h, from C99. `c_api_test DIRECTORY`: an empty one for its stores. */
#include "check.h"

const char* scratch_directory;

void path_in_scratch(char* path, size_t capacity, const char* name) {
  CHECK((size_t)snprintf(path, capacity, "%s/%s", scratch_directory, name) < capacity);
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

int main(int count, char** arguments_of_program) {
  if (count != 2) {
    fprintf(stderr, "use: c_api_test DIRECTORY\n");
    return 2;
  }
  scratch_directory = arguments_of_program[1];
  library_and_options();
  single_records();
  several_records();
  snapshots_and_order();
  checkpoints_and_backups();
  expiry_and_upkeep();
  arguments();
  children_of_a_store();
  random_operations();
  threads();
  puts("every function of holdfast.h held");
  return 0;
}
