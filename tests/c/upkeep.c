#include "check.h"

#include <sys/wait.h>
#include <unistd.h>

/* A checkpoint's runs as the caller keeps them. */
typedef struct Kept {
  hf_run runs[64];
  char* bytes[64];
  size_t count;
  int calls, fail_with;
  hf_store* into; /* NULL, or what is imported into: it cannot be closed meanwhile. */
} Kept;

static int32_t read_kept(void* context, const hf_run* run, void* to) {
  Kept* kept = context;
  size_t i;
  ++kept->calls;
  if (kept->into != NULL) FAILS(hf_close(kept->into), HF_BUSY, "1 import");
  if (kept->fail_with != 0) return kept->fail_with;
  for (i = 0; i < kept->count; ++i) {
    if (kept->runs[i].origin != run->origin || kept->runs[i].generation != run->generation)
      continue;
    CHECK(kept->runs[i].bytes == run->bytes && kept->runs[i].records == run->records);
    memcpy(to, kept->bytes[i], run->bytes);
    return HF_OK;
  }
  return HF_NOT_FOUND;
}

/* A store with key000 to key999 but key500. */
static hf_store* thousand_keys(const char* path) {
  hf_store* store = NULL;
  char name[16];
  unsigned i;
  OK(hf_open(path, NULL, &store));
  for (i = 0; i < 1000; ++i) {
    snprintf(name, sizeof name, "key%03u", i);
    OK(put(store, name, name));
  }
  OK(hf_erase(store, "key500", 6, 0, NULL));
  return store;
}

static void is_as_it_was(const char* path) {
  hf_store* store = NULL;
  uint64_t count = 0;
  OK(hf_open(path, NULL, &store));
  OK(hf_count(store, &count));
  CHECK(count == 999);
  CHECK(strcmp(get(store, "key999"), "key999") == 0);
  CHECK(strcmp(get(store, "key500"), "") == 0);
  CHECK(strcmp(get(store, "later"), "") == 0);
  OK(hf_close(store));
}

/* Its private part, for the caller to free; `kept` has its runs. */
static void* take_checkpoint(hf_store* store, Kept* kept, size_t* bytes) {
  hf_checkpoint* checkpoint = NULL;
  void* private_part = NULL;
  uint64_t version = 0;
  size_t i;
  OK(hf_checkpoint_begin(store, &checkpoint));
  OK(put(store, "later", "is not in it"));
  OK(hf_checkpoint_version(checkpoint, &version));
  CHECK(version > 0);
  OK(hf_checkpoint_runs(checkpoint, NULL, 0, &kept->count));
  CHECK(kept->count > 0 && kept->count <= 64);
  OK(hf_checkpoint_runs(checkpoint, kept->runs, 64, &kept->count));
  for (i = 0; i < kept->count; ++i) {
    kept->bytes[i] = malloc(kept->runs[i].bytes);
    CHECK(kept->bytes[i] != NULL);
    OK(hf_checkpoint_read(checkpoint, i, kept->bytes[i], kept->runs[i].bytes));
  }
  FAILS(hf_checkpoint_read(checkpoint, kept->count, NULL, 0), HF_INVALID_OPTION, "from 0 on");
  FAILS(hf_checkpoint_read(checkpoint, 0, kept->bytes[0], kept->runs[0].bytes - 1),
        HF_INVALID_OPTION, "bytes");
  OK(hf_checkpoint_private(checkpoint, NULL, 0, bytes));
  private_part = malloc(*bytes);
  CHECK(private_part != NULL);
  OK(hf_checkpoint_private(checkpoint, private_part, *bytes, bytes));
  FAILS(hf_close(store), HF_BUSY, "1 checkpoint");
  hf_checkpoint_end(checkpoint);
  hf_checkpoint_end(NULL);
  return private_part;
}

static void forget(Kept* kept, void* private_part) {
  size_t i;
  for (i = 0; i < kept->count; ++i)
    free(kept->bytes[i]);
  free(private_part);
}

void checkpoints(void) {
  char path[512];
  Kept kept = {.calls = 0};
  hf_run named[64];
  size_t bytes = 0, count = 0;
  hf_store* store;
  void* private_part;

  path_in_scratch(path, sizeof path, "checkpointed");
  store = thousand_keys(path);
  private_part = take_checkpoint(store, &kept, &bytes);
  OK(hf_private_runs(private_part, bytes, named, 64, &count));
  CHECK(count == kept.count && memcmp(named, kept.runs, count * sizeof(hf_run)) == 0);
  FAILS(hf_private_runs(private_part, bytes - 1, named, 64, &count), HF_CORRUPT, "HF_CORRUPT");
  FAILS(hf_private_runs(NULL, 0, named, 64, &count), HF_CORRUPT, "HF_CORRUPT");
  OK(hf_close(store));
  forget(&kept, private_part);
}

/* The store at its mark, looked at and set back to. */
void marks(void) {
  char path[512];
  uint64_t version = 0, count = 0;
  hf_options* options;
  hf_store* store;

  path_in_scratch(path, sizeof path, "marked");
  store = thousand_keys(path);
  FAILS(hf_drop_mark(store), HF_NOT_FOUND, "no mark");
  OK(hf_mark(store, NULL));
  OK(hf_mark(store, &version));
  CHECK(version >= 1000);
  OK(hf_count(store, &count));
  OK(hf_put(store, "later", 5, "1", 1, 0, NULL));
  OK(hf_close(store));
  OK(hf_options_new(&options));
  OK(hf_options_set(options, "at_mark", "true"));
  OK(hf_open(path, options, &store));
  FAILS(hf_get(store, "later", 5, NULL, 0, &version), HF_NOT_FOUND, "HF_NOT_FOUND");
  OK(hf_count(store, &version));
  CHECK(version == count);
  OK(hf_drop_mark(store));
  OK(hf_close(store));
  FAILS(hf_open(path, options, &store), HF_NOT_FOUND, "no mark");
  hf_options_free(options);
}

void restores(void) {
  char path[512], again[512], third[512];
  Kept kept = {.calls = 0};
  hf_run named[64];
  hf_checkpoint* checkpoint = NULL;
  size_t bytes = 0, count = 0;
  uint64_t imported = 0;
  hf_key_range range = {"key010", 6, "key020", 6};
  hf_store *store, *other = NULL;
  void* private_part;

  path_in_scratch(path, sizeof path, "original");
  path_in_scratch(again, sizeof again, "again");
  path_in_scratch(third, sizeof third, "third");
  store = thousand_keys(path);
  private_part = take_checkpoint(store, &kept, &bytes);
  OK(hf_close(store));
  OK(hf_restore(again, private_part, bytes, read_kept, &kept, NULL));
  CHECK(kept.calls == (int)kept.count);
  is_as_it_was(again);
  FAILS(hf_restore(again, private_part, bytes, read_kept, &kept, NULL), HF_ALREADY_EXISTS, "again");

  /* Into memory, and open: it goes on, and a checkpoint of it has the same runs and newer ones. */
  OK(hf_restore_open("dram", private_part, bytes, read_kept, &kept, NULL, &other));
  CHECK(strcmp(get(other, "key999"), "key999") == 0 && strcmp(get(other, "key500"), "") == 0);
  OK(put(other, "key500", "back"));
  OK(hf_checkpoint_begin(other, &checkpoint));
  OK(hf_checkpoint_runs(checkpoint, named, 64, &count));
  CHECK(count == kept.count + 1 && memcmp(named, kept.runs, kept.count * sizeof(hf_run)) == 0);
  hf_checkpoint_end(checkpoint);
  OK(hf_close(other));
  FAILS(hf_restore_open("dram", private_part, bytes - 1, read_kept, &kept, NULL, &other),
        HF_CORRUPT, "HF_CORRUPT");
  CHECK(other == NULL);

  /* What the caller's function says ends the restore. */
  kept.fail_with = HF_NO_SPACE;
  FAILS(hf_restore(third, private_part, bytes, read_kept, &kept, NULL), HF_NO_SPACE, "returned 9");
  kept.fail_with = -5;
  path_in_scratch(third, sizeof third, "imported");
  OK(hf_open(third, NULL, &other));
  FAILS(hf_import_checkpoint(other, private_part, bytes, read_kept, &kept, NULL, 0, &imported),
        HF_IO, "returned -5");
  kept.fail_with = 0;
  kept.into = other;
  OK(hf_import_checkpoint(other, private_part, bytes, read_kept, &kept, &range, 1, &imported));
  CHECK(imported == 10);
  CHECK(strcmp(get(other, "key010"), "key010") == 0 && strcmp(get(other, "key020"), "") == 0);
  OK(hf_import_checkpoint(other, private_part, bytes, read_kept, &kept, NULL, 0, NULL));
  OK(hf_close(other));
  is_as_it_was(third);
  forget(&kept, private_part);
}

void backups(void) {
  char path[512], again[512], directory[512], file[600];
  uint32_t number = 0;
  hf_store *store, *other = NULL;
  FILE* damaged;

  path_in_scratch(path, sizeof path, "backed_up");
  path_in_scratch(directory, sizeof directory, "backups");
  store = thousand_keys(path);
  OK(hf_backup(store, directory, 0, &number));
  CHECK(number == 1);
  OK(put(store, "key500", "back"));
  OK(hf_backup(store, directory, 0, &number));
  CHECK(number == 2);
  OK(hf_close(store));
  OK(hf_verify_backup(directory));
  path_in_scratch(again, sizeof again, "of_backup_1");
  OK(hf_restore_backup(directory, again, 1, NULL));
  is_as_it_was(again);
  path_in_scratch(again, sizeof again, "of_the_newest");
  OK(hf_restore_backup(directory, again, 0, NULL));
  OK(hf_open(again, NULL, &other));
  CHECK(strcmp(get(other, "key500"), "back") == 0);
  OK(hf_close(other));
  FAILS(hf_restore_backup(directory, path, 0, NULL), HF_ALREADY_EXISTS, "backed_up");

  /* A damaged file is named. */
  CHECK((size_t)snprintf(file, sizeof file, "%s/runs-00000001-000", directory) < sizeof file);
  damaged = fopen(file, "r+b");
  CHECK(damaged != NULL);
  fseek(damaged, 5000, SEEK_SET);
  fputs("damage", damaged);
  fclose(damaged);
  FAILS(hf_verify_backup(directory), HF_CORRUPT, "runs-00000001-000");
}

void expiry_and_upkeep(void) {
  char path[512], text[1024];
  hf_store* store = NULL;
  hf_stats stats;
  size_t length = 0;
  uint64_t now = 0, stamp = 1000, bytes = 0, short_stats[3] = {24, 0, 77};
  const unsigned char big_stamp[8] = {0, 0, 0, 0, 0, 0, 4, 0}; /* 1024 */
  unsigned i;

  path_in_scratch(path, sizeof path, "upkeep");
  OK(hf_open(path, NULL, &store));
  OK(hf_reserve(store, 10000));
  OK(hf_expire(store, "s:", 2, 0, 8, HF_LITTLE_ENDIAN, 500));
  OK(hf_expire(store, "b:", 2, 0, 8, HF_BIG_ENDIAN, 500));
  FAILS(hf_expire(store, "s:", 2, 0, 8, HF_LITTLE_ENDIAN, 501), HF_ALREADY_EXISTS, "HF_");
  FAILS(hf_expire(store, "t:", 2, 0, 5, HF_LITTLE_ENDIAN, 1), HF_INVALID_OPTION, "width");
  FAILS(hf_expire(store, "t:", 2, 0xffffffff, 8, HF_LITTLE_ENDIAN, 1), HF_INVALID_OPTION,
        "offset_bytes=4294967295");
  FAILS(hf_expire(store, "t:", 2, 0, 8, 2, 1), HF_INVALID_OPTION, "byte_order=2");
  OK(hf_put(store, "s:1", 3, &stamp, 8, 0, NULL));
  OK(hf_put(store, "b:1", 3, big_stamp, 8, 0, NULL));
  OK(hf_set_clock(store, 1499));
  OK(hf_clock(store, &now));
  CHECK(now == 1499);
  OK(hf_get(store, "s:1", 3, NULL, 0, &bytes));
  /* Renewed: its stamp becomes the clock. */
  OK(hf_append(store, "s:1", 3, "more", 4, HF_RENEW, NULL));
  OK(hf_set_clock(store, 1510));
  OK(hf_get(store, "s:1", 3, &stamp, 8, &bytes));
  CHECK(stamp == 1499 && bytes == 12);
  OK(hf_set_clock(store, 1524));
  CHECK(hf_get(store, "b:1", 3, NULL, 0, &bytes) == HF_NOT_FOUND);
  OK(hf_set_clock(store, 1999));
  CHECK(hf_get(store, "s:1", 3, NULL, 0, &bytes) == HF_NOT_FOUND);
  FAILS(hf_set_clock(store, 1998), HF_INVALID_OPTION, "1998");

  for (i = 0; i < 2000; ++i)
    OK(put(store, "again and again", "a value that is superseded"));
  OK(hf_reclaim(store));
  OK(hf_verify(store));
  memset(&stats, 0xff, sizeof stats);
  stats.size = sizeof stats;
  OK(hf_stats_get(store, &stats));
  CHECK(stats.size == sizeof stats && stats.records == 1 && stats.medium_bytes > 0);
  CHECK(stats.newest_version >= 2000 && stats.events_dropped == 0 && stats.snapshots_open == 0);
  /* A program of an earlier version has a shorter struct; nothing behind it is touched. */
  OK(hf_stats_get(store, (hf_stats*)short_stats));
  CHECK(short_stats[0] == 24 && short_stats[1] == 1 && short_stats[2] == stats.live_bytes);
  stats.size = 7;
  FAILS(hf_stats_get(store, &stats), HF_INVALID_OPTION, "stats->size=7");
  OK(hf_stats_json(store, text, sizeof text, &length));
  CHECK(length < sizeof text && text[0] == '{' && text[length - 1] == '}');
  CHECK(strstr(text, "\"records\":1,") != NULL && strstr(text, "\"newest_version\":") != NULL);
  OK(hf_stats_json(store, NULL, 0, &length));
  CHECK(length > 100);
  OK(hf_close(store));
}

/* The store stays the parent's: a child is told so, whatever it asks. */
static void a_child_of_fork(hf_store* store) {
  int status = 0;
  const pid_t pid = fork();
  if (pid == 0) {
    uint64_t number = 0;
    size_t length = 0;
    hf_snapshot* snapshot = NULL;
    hf_stats stats;
    stats.size = sizeof stats;
    FAILS(hf_get(store, "k", 1, NULL, 0, &number), HF_CLOSED, "open the store after the fork");
    FAILS(put(store, "k", "child"), HF_CLOSED, "open the store after the fork");
    FAILS(hf_verify(store), HF_CLOSED, "open the store after the fork");
    FAILS(hf_count(store, &number), HF_CLOSED, "open the store after the fork");
    FAILS(hf_clock(store, &number), HF_CLOSED, "open the store after the fork");
    FAILS(hf_space_name(store, 0, NULL, 0, &length), HF_CLOSED, "open the store after the fork");
    FAILS(hf_durable_up_to(store, &number), HF_CLOSED, "open the store after the fork");
    FAILS(hf_stats_get(store, &stats), HF_CLOSED, "open the store after the fork");
    FAILS(hf_snapshot_open(store, &snapshot), HF_CLOSED, "open the store after the fork");
    FAILS(hf_close(store), HF_CLOSED, "open the store after the fork");
    /* Under valgrind an exit would count what the parent's threads had, which are not here. */
    execl("/bin/true", "true", (char*)NULL);
    _exit(1);
  }
  CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
  CHECK(strcmp(get(store, "k"), "v") == 0);
}

void children_of_a_store(void) {
  char path[512];
  hf_options* options = NULL;
  hf_store *store = NULL, *other = NULL;
  hf_pin* pin = NULL;
  hf_view view;
  hf_iter* iter = NULL;
  hf_snapshot *one = NULL, *two = NULL;
  hf_checkpoint* checkpoint = NULL;

  path_in_scratch(path, sizeof path, "children");
  OK(hf_options_new(&options));
  OK(hf_options_set(options, "order", "true"));
  OK(hf_open(path, options, &store));
  FAILS(hf_open(path, options, &other), HF_BUSY, "children");
  hf_options_free(options);
  OK(put(store, "k", "v"));
  a_child_of_fork(store);
  OK(hf_get_pinned(store, "k", 1, &view, &pin));
  OK(hf_iter_open(store, &iter));
  OK(hf_snapshot_open(store, &one));
  OK(hf_snapshot_open(store, &two));
  OK(hf_checkpoint_begin(store, &checkpoint));
  FAILS(hf_close(store), HF_BUSY, "1 pin, 1 iterator, 2 snapshots, 1 checkpoint");
  CHECK(strcmp(get(store, "k"), "v") == 0); /* It is still open. */
  hf_unpin(pin);
  hf_iter_close(iter);
  hf_snapshot_close(one);
  hf_checkpoint_end(checkpoint);
  FAILS(hf_close(store), HF_BUSY, "1 snapshot");
  hf_snapshot_close(two);
  OK(hf_close(store));
}
