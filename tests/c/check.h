/* check.h: what the tests in C99 share. A failed check says where, what, and the last error. */
#ifndef HOLDFAST_TESTS_C_CHECK_H
#define HOLDFAST_TESTS_C_CHECK_H

#include <holdfast/c/holdfast.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const char* scratch_directory; /* Empty when the program begins; its name has room behind. */

void path_in_scratch(char* path, size_t capacity, const char* name);

#define CHECK(condition)                                                                           \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "%s:%d: %s does not hold; last error: %s\n", __FILE__, __LINE__, #condition, \
              hf_last_error());                                                                    \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)
#define OK(call) CHECK((call) == HF_OK)
/* The call fails with the code, and the last error has the words. */
#define FAILS(call, code, words)                   \
  do {                                             \
    CHECK((call) == (code));                       \
    CHECK(strstr(hf_last_error(), words) != NULL); \
  } while (0)

/* A new store whose files are one segment each: valgrind 3.19 ends itself where two parts of a file
   lie side by side in memory that were mapped under two names, before and after it was renamed. */
hf_store* create_in_small_files(const char* path);
/* Of texts. */
int32_t put(hf_store* store, const char* key, const char* value);
/* "" where there is none. */
const char* get(hf_store* store, const char* key);

/* One for each group of holdfast.h. */
void library_and_options(void);
void single_records(void);
void several_records(void);
void snapshots_and_order(void);
void checkpoints(void);
void restores(void);
void marks(void);
void backups(void);
void keyspaces(void);
void pipelines(void);
void events(void);
void expiry_and_upkeep(void);
void arguments(void);
void children_of_a_store(void);
void random_operations(void);
void threads(void);
void ends_of_threads(void);

#endif
