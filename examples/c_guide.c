/* c_guide.c: the store from C: records, a scan in order, and errors. docs/c_api.md. */
#include <holdfast.h>
#include <stdio.h>
#include <string.h>

static int stop(const char* what) {
  fprintf(stderr, "%s: %s\n", what, hf_last_error());
  return 1;
}

int main(int count, char** words) {
  hf_options* options;
  hf_store* store;
  hf_iter* iter;
  hf_record record;
  uint64_t bytes;
  char name[32];
  if (count != 2) return fprintf(stderr, "use: c_guide PATH\n"), 2;

  if (hf_options_new(&options) != HF_OK) return stop("options");
  if (hf_options_set(options, "order", "true") != HF_OK) return stop("order");
  if (hf_open(words[1], options, &store) != HF_OK) return stop("open");
  hf_options_free(options);

  if (hf_put(store, "user:ada", 8, "lovelace", 8, 0, NULL) != HF_OK) return stop("put");
  if (hf_put(store, "user:grace", 10, "hopper", 6, 0, NULL) != HF_OK) return stop("put");
  if (hf_append(store, "visits", 6, "|", 1, 0, NULL) != HF_OK) return stop("append");

  /* At most 32 bytes are copied; `bytes` is how long the value is. */
  if (hf_get(store, "visits", 6, name, sizeof name, &bytes) != HF_OK) return stop("get");
  printf("visit number %u\n", (unsigned)bytes);
  if (hf_get(store, "user:alan", 9, name, sizeof name, &bytes) == HF_NOT_FOUND) puts("no alan");

  if (hf_iter_open(store, &iter) != HF_OK) return stop("iter");
  for (int32_t at = hf_iter_first(iter, "user:", 5); at == HF_OK; at = hf_iter_next(iter)) {
    if (hf_iter_record(iter, &record) != HF_OK) return stop("record");
    printf("%.*s = %.*s\n", (int)record.key_bytes, (const char*)record.key,
           (int)record.value_bytes, (const char*)record.value);
  }
  hf_iter_close(iter); /* Before its store: hf_close would be HF_BUSY. */
  if (hf_close(store) != HF_OK) return stop("close");
  return 0;
}
