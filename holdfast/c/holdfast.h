/* holdfast.h: the store of Holdfast for C, and by it for every other language. C99.
 *
 *   hf_store* store;
 *   if (hf_open("/mnt/pmem/users", NULL, &store) != HF_OK) puts(hf_last_error());
 *   hf_put(store, "ada", 3, "lovelace", 8, 0, NULL);
 *   char name[64];
 *   uint64_t bytes;
 *   if (hf_get(store, "ada", 3, name, sizeof name, &bytes) == HF_OK) …
 *   hf_close(store);
 *
 * Link with -lholdfast. docs/c_api.md is the guide; what a verb guarantees stands with that of C++
 * (holdfast/kv/store.hpp), since each function here is one of those.
 *
 * Codes      What can fail returns HF_OK or another code of hf_code. Codes never change their
 *            numbers; new ones may come. hf_last_error() says in words what the last failure of
 *            this thread was. A function that fails has not written to what it was given to fill,
 *            but where it says otherwise.
 * Bytes      are a pointer and a length, of any contents; NULL with length 0 is empty, NULL with
 *            another length is HF_INVALID_OPTION, as is a NULL handle. The library keeps no pointer
 *            that it was given after it returned, but for the buffer of hf_pipeline_get.
 * Buffers    of the caller are filled as far as they go, and the full length is returned beside: a
 *            length above the capacity says that the rest is missing.
 * Handles    Each hf_*_open, _new or _begin has one _close, _free or _end, which takes NULL too. A
 *            store outlives what was opened of it: hf_close is HF_BUSY before. Spaces and pipelines
 *            may be closed later, and are HF_CLOSED until then.
 * Threads    A store and a space from any thread. All else from one at a time, any.
 * Callbacks  run in the thread that called, before the function returns.
 * fork       In a child the handles of its parent are HF_CLOSED, but for those of a store that was
 *            opened read-only.
 */
#ifndef HOLDFAST_H
#define HOLDFAST_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HF_API __attribute__((visibility("default")))
#else
#define HF_API
#endif

/* What hf_abi_version() returns. It changes when a program must be compiled anew. */
#define HF_ABI_VERSION 1

typedef enum hf_code {
  HF_OK = 0,
  HF_INVALID_OPTION = 1,    /* An argument is out of what is allowed. */
  HF_NOT_FOUND = 2,         /* No such key, or no such thing. */
  HF_ALREADY_EXISTS = 3,    /* What was to be new is there. */
  HF_BUSY = 4,              /* Locked by another process, or still in use. */
  HF_NOT_HOLDFAST = 5,      /* Something else lies there. */
  HF_NEWER_FORMAT = 6,      /* A newer build wrote it. */
  HF_WRONG_TYPE = 7,        /* Of other types than it was created with. */
  HF_CORRUPT = 8,           /* The medium contradicts itself. */
  HF_NO_SPACE = 9,          /* Medium or memory is full; reads and erases go on. */
  HF_READ_ONLY = 10,        /* Opened so, or made so by a failed sync. */
  HF_IO = 11,               /* A system call failed. */
  HF_UNSUPPORTED = 12,      /* This machine, kernel or medium cannot do it. */
  HF_TOO_LARGE = 13,        /* A key or value beyond its limit, or a buffer below what is needed. */
  HF_VERSION_MISMATCH = 14, /* hf_compare_and_put: the record has another version. */
  HF_CLOSED = 15
} hf_code;

typedef struct hf_options hf_options;
typedef struct hf_store hf_store;
typedef struct hf_pin hf_pin;
typedef struct hf_batch hf_batch;
typedef struct hf_snapshot hf_snapshot;
typedef struct hf_iter hf_iter;
typedef struct hf_checkpoint hf_checkpoint;
typedef struct hf_space hf_space;
typedef struct hf_pipeline hf_pipeline;

/* ---- Library ---- */

HF_API uint32_t hf_abi_version(void);
HF_API const char* hf_version_string(void); /* "0.1.0" */
/* What the last failure in this thread was, with its code's name: "HF_NOT_FOUND: …". Valid until
 * the thread's next call of a function of this header. Empty before the first one. */
HF_API const char* hf_last_error(void);
/* "HF_BUSY"; "HF_?" for a number that is no code. */
HF_API const char* hf_code_name(int32_t code);

/* ---- Options ----
 *
 * By the names of kv::StoreOptions, as text. Sizes: "4096", "64M", "1.5GiB". Switches: "true",
 * "false". Used when the store is created: block_bytes, segment_bytes, initial_bytes,
 * patchable_words ("0,8,24"). At every open: file_bytes, access (open_or_create, open, create,
 * read_only), durability (default, process, power), max_bytes, verify_reads, order, at_mark,
 * prefault, recovery_threads, sync_interval_ms, background, reclaim.background,
 * reclaim.space_amplification, reclaim.bytes_per_second. */
HF_API int32_t hf_options_new(hf_options** options); /* Those of C++. */
/* Errors: HF_INVALID_OPTION: no such name, or no such value; says what is allowed. Whether values
 * fit together is seen at hf_open. */
HF_API int32_t hf_options_set(hf_options* options, const char* name, const char* value);
/* The value as a text with a zero behind it, where `capacity` has room for both. `*length`: of the
 * text alone. */
HF_API int32_t hf_options_get(const hf_options* options, const char* name, char* buffer,
                              size_t capacity, size_t* length);
HF_API void hf_options_free(hf_options* options);

/* ---- Store ---- */

/* `spec`: a path, or another region (docs/kv.md). `options` may be NULL and is not kept. Errors:
 * those of kv::Store::open; `*store` is NULL then. */
HF_API int32_t hf_open(const char* spec, const hf_options* options, hf_store** store);
/* HF_BUSY: pins, iterators, snapshots or checkpoints of it are open, or imports under way; says how
 * many, and the store stays open. With any other code it is closed, and the handle is gone. */
HF_API int32_t hf_close(hf_store* store);
/* What was acknowledged before survives a loss of power when it returns. */
HF_API int32_t hf_sync(hf_store* store);
/* Records up to this version survive a loss of power. */
HF_API int32_t hf_durable_up_to(hf_store* store, uint64_t* version);
HF_API int32_t hf_count(hf_store* store, uint64_t* records);

/* `size` is sizeof(hf_stats), set by the caller: later versions have more fields behind these. What
 * they mean: kv::StoreStats. */
typedef struct hf_stats {
  uint64_t size;
  uint64_t records, live_bytes, medium_bytes, used_bytes;
  uint64_t blocks, free_blocks, open_blocks;
  uint64_t dram_index_bytes, dram_other_bytes;
  uint64_t sessions, snapshots_open;
  uint64_t fences, lines_written_back, syncs;
  uint64_t reclaimed_blocks, relocated_bytes, tombstones_dropped, expired_records;
  uint64_t index_rehashes, displaced_records, newest_version, events_dropped;
  uint64_t mark_version, mark_held_bytes;
} hf_stats;
HF_API int32_t hf_stats_get(hf_store* store, hf_stats* stats);
/* The same fields as one JSON object, with a zero behind it as for hf_options_get(). */
HF_API int32_t hf_stats_json(hf_store* store, char* buffer, size_t capacity, size_t* length);

/* ---- Single records ----
 *
 * `flags`: 0, or of one write HF_DURABLE_PROCESS or HF_DURABLE_POWER instead of the store's
 * durability; with HF_RENEW an append, merge or update makes the record's stamp of expiry new.
 * `version`, `outcome`, `existed`: may be NULL. Keys have up to 64 KiB, values up to 4 GiB; a longer
 * one is HF_TOO_LARGE, also to what reads or erases. */
#define HF_DURABLE_PROCESS 1u
#define HF_DURABLE_POWER 2u
#define HF_RENEW 4u

enum {
  HF_INSERTED = 1,
  HF_OVERWROTE = 2,
  HF_WRITTEN = 3 /* On plain files: which is not known. */
};

HF_API int32_t hf_put(hf_store* store, const void* key, size_t key_bytes, const void* value,
                      size_t value_bytes, uint32_t flags, int32_t* outcome);
/* HF_ALREADY_EXISTS: nothing was written. */
HF_API int32_t hf_put_if_absent(hf_store* store, const void* key, size_t key_bytes,
                                const void* value, size_t value_bytes, uint32_t flags,
                                uint64_t* version);
/* `expected` 0: absent. HF_VERSION_MISMATCH: nothing was written. */
HF_API int32_t hf_compare_and_put(hf_store* store, const void* key, size_t key_bytes,
                                  uint64_t expected, const void* value, size_t value_bytes,
                                  uint32_t flags, uint64_t* version);
/* Fills `buffer` as far as it goes; `*value_bytes` is the full length. */
HF_API int32_t hf_get(hf_store* store, const void* key, size_t key_bytes, void* buffer,
                      size_t capacity, uint64_t* value_bytes);
/* HF_OK too where there is none: `*existed` tells. */
HF_API int32_t hf_erase(hf_store* store, const void* key, size_t key_bytes, uint32_t flags,
                        int32_t* existed);
/* Adds behind the value; an absent key gets `bytes`. */
HF_API int32_t hf_append(hf_store* store, const void* key, size_t key_bytes, const void* bytes,
                         size_t count, uint32_t flags, uint64_t* version);

/* Of kv::MergeFunction; numbers are of 8 bytes, little-endian. */
enum {
  HF_MERGE_APPEND = 0,
  HF_MERGE_ADD = 1,
  HF_MERGE_ADD_DOUBLE = 2,
  HF_MERGE_MIN = 3,
  HF_MERGE_MAX = 4,
  HF_MERGE_MIN_UNSIGNED = 5,
  HF_MERGE_MAX_UNSIGNED = 6,
  HF_MERGE_OR = 7
};
/* Replaces the value by function(value, operand); an absent key gets the operand. */
HF_API int32_t hf_merge(hf_store* store, const void* key, size_t key_bytes, int32_t function,
                        const void* operand, size_t operand_bytes, uint32_t flags,
                        uint64_t* version);

/* What hf_update_word makes of the word. */
enum { HF_WORD_SET = 0, HF_WORD_ADD = 1, HF_WORD_MIN_UNSIGNED = 2, HF_WORD_MAX_UNSIGNED = 3 };
/* Of the 8 bytes at `offset_bytes` of the value, a multiple of 8; in place where patchable_words
 * has it. `*old_word` may be NULL. HF_NOT_FOUND: no such key. */
HF_API int32_t hf_update_word(hf_store* store, const void* key, size_t key_bytes,
                              uint32_t offset_bytes, int32_t operation, uint64_t operand,
                              uint32_t flags, uint64_t* old_word);

/* ---- Values in place ---- */

typedef struct hf_view {
  const void* data;
  uint64_t bytes;
  uint64_t version;
} hf_view;
/* The value where it lies. While the pin lives its bytes stay as they were; it holds back
 * reclamation, so keep it briefly. */
HF_API int32_t hf_get_pinned(hf_store* store, const void* key, size_t key_bytes, hf_view* view,
                             hf_pin** pin);
HF_API void hf_unpin(hf_pin* pin);

/* ---- Several records ----
 *
 * Keys and values lie packed, one behind the other without gaps; `key_bytes` and `value_bytes` have
 * `count` lengths. */

/* Puts that share fences; not atomic: an error leaves a part of them. */
HF_API int32_t hf_put_many(hf_store* store, size_t count, const void* keys,
                           const uint32_t* key_bytes, const void* values,
                           const uint64_t* value_bytes, uint32_t flags);
/* Looks up the first `*answered` keys: as many as have room for their values in `buffer`, packed.
 * Call again with the rest. `codes[i]`: HF_OK or HF_NOT_FOUND; then `value_bytes[i]` is 0.
 * Errors: HF_TOO_LARGE: not even the first value has room; value_bytes[0] says how much it takes.
 * HF_CORRUPT. */
HF_API int32_t hf_get_many(hf_store* store, size_t count, const void* keys,
                           const uint32_t* key_bytes, void* buffer, size_t capacity,
                           uint64_t* value_bytes, int32_t* codes, size_t* answered);

/* Puts and erases that become visible and durable at once, or not at all. */
HF_API int32_t hf_batch_new(hf_batch** batch);
HF_API int32_t hf_batch_put(hf_batch* batch, const void* key, size_t key_bytes, const void* value,
                            size_t value_bytes);
HF_API int32_t hf_batch_erase(hf_batch* batch, const void* key, size_t key_bytes);
HF_API int32_t hf_batch_clear(hf_batch* batch);
/* The batch stays as it is. */
HF_API int32_t hf_batch_write(hf_store* store, const hf_batch* batch, uint32_t flags,
                              uint64_t* version);
HF_API void hf_batch_free(hf_batch* batch);

/* ---- Snapshots ---- */

HF_API int32_t hf_snapshot_open(hf_store* store, hf_snapshot** snapshot);
HF_API int32_t hf_snapshot_get(const hf_snapshot* snapshot, const void* key, size_t key_bytes,
                               void* buffer, size_t capacity, uint64_t* value_bytes);
HF_API int32_t hf_snapshot_version(const hf_snapshot* snapshot, uint64_t* version);
HF_API int32_t hf_snapshot_count(const hf_snapshot* snapshot, uint64_t* records); /* O(records) */
HF_API void hf_snapshot_close(hf_snapshot* snapshot);

/* ---- Records in the order of their keys ----
 *
 * Of a store with the option order=true; else HF_INVALID_OPTION. An iterator stands at a record or
 * at none. Moves return HF_OK (at a record), HF_NOT_FOUND (at none: there are no more) or an
 * error. One of a snapshot goes before the snapshot does. */

typedef struct hf_record { /* In the iterator until it moves. */
  const void* key;
  uint64_t key_bytes;
  const void* value;
  uint64_t value_bytes;
  uint64_t version;
} hf_record;

HF_API int32_t hf_iter_open(hf_store* store, hf_iter** iter);
HF_API int32_t hf_iter_open_snapshot(const hf_snapshot* snapshot, hf_iter** iter);
/* To the first record whose key is not below `key`; to the last one whose key is. */
HF_API int32_t hf_iter_seek(hf_iter* iter, const void* key, size_t key_bytes);
HF_API int32_t hf_iter_seek_below(hf_iter* iter, const void* key, size_t key_bytes);
/* To the first or last record whose key begins with `prefix`. The iterator ends with these. */
HF_API int32_t hf_iter_first(hf_iter* iter, const void* prefix, size_t prefix_bytes);
HF_API int32_t hf_iter_last(hf_iter* iter, const void* prefix, size_t prefix_bytes);
HF_API int32_t hf_iter_next(hf_iter* iter);
HF_API int32_t hf_iter_prev(hf_iter* iter);
HF_API int32_t hf_iter_record(const hf_iter* iter, hf_record* record);
/* Packs the record that the iterator is at and those behind it, as many as fit and at most `most`
 * (0: any number), and moves behind them; `*used` bytes, 0 at none. Each record is
 *   uint32_t key_bytes, zero; uint64_t value_bytes, version;   24 bytes
 *   the key, the value, zeros up to a multiple of 8.
 * HF_TOO_LARGE: not even one fits; says how many bytes it needs. */
HF_API int32_t hf_iter_fill(hf_iter* iter, void* buffer, size_t capacity, size_t most,
                            size_t* used);
HF_API void hf_iter_close(hf_iter* iter);

HF_API int32_t hf_count_prefix(hf_store* store, const void* prefix, size_t prefix_bytes,
                               uint64_t* keys);
/* Not at once: an error leaves a part. `*erased` may be NULL. */
HF_API int32_t hf_erase_prefix(hf_store* store, const void* prefix, size_t prefix_bytes,
                               uint32_t flags, uint64_t* erased);
HF_API int32_t hf_erase_range(hf_store* store, const void* from, size_t from_bytes, const void* to,
                              size_t to_bytes, uint32_t flags, uint64_t* erased);

/* ---- Checkpoints ----
 *
 * A store at one moment, as runs that never change and a small private part
 * (holdfast/kv/checkpoint.hpp). The runs are held until hf_checkpoint_end. */

typedef struct hf_run {
  uint64_t origin, generation; /* Its name: never given to other bytes. */
  uint64_t bytes, records;
} hf_run;

HF_API int32_t hf_checkpoint_begin(hf_store* store, hf_checkpoint** checkpoint);
HF_API int32_t hf_checkpoint_version(const hf_checkpoint* checkpoint, uint64_t* version);
/* The first `capacity` runs; `*count`: of all. */
HF_API int32_t hf_checkpoint_runs(const hf_checkpoint* checkpoint, hf_run* runs, size_t capacity,
                                  size_t* count);
/* `capacity` is the run's bytes. From several threads. */
HF_API int32_t hf_checkpoint_read(const hf_checkpoint* checkpoint, size_t run, void* buffer,
                                  size_t capacity);
/* As far as it has room. */
HF_API int32_t hf_checkpoint_private(const hf_checkpoint* checkpoint, void* buffer, size_t capacity,
                                     size_t* bytes);
HF_API void hf_checkpoint_end(hf_checkpoint* checkpoint);

/* ---- The mark: a savepoint in the store itself ----
 *
 * hf_open with the option at_mark finds the store as it was. `version`: may be NULL. */
HF_API int32_t hf_mark(hf_store* store, uint64_t* version);
HF_API int32_t hf_drop_mark(hf_store* store); /* HF_NOT_FOUND: there is none. */

/* Fills `to` with the run's bytes: HF_OK, or the code that the restore ends with. */
typedef int32_t (*hf_read_run)(void* context, const hf_run* run, void* to);
/* The runs that a private part names, as hf_checkpoint_runs(). Errors: HF_CORRUPT. */
HF_API int32_t hf_private_runs(const void* private_part, size_t bytes, hf_run* runs,
                               size_t capacity, size_t* count);
/* Makes the store anew, and closes it. Nothing may be there but what a restore that did not end has
 * left. No record is rewritten. */
HF_API int32_t hf_restore(const char* spec, const void* private_part, size_t bytes,
                          hf_read_run read, void* context, const hf_options* options);
/* The same, and opens it: of use where what is closed is gone ("dram"). */
HF_API int32_t hf_restore_open(const char* spec, const void* private_part, size_t bytes,
                               hf_read_run read, void* context, const hf_options* options,
                               hf_store** store);
typedef struct hf_key_range { /* From the one on, below the other; `to_bytes` 0: no end. */
  const void* from;
  size_t from_bytes;
  const void* to;
  size_t to_bytes;
} hf_key_range;
/* Puts the records of a checkpoint whose keys lie in one of the ranges (count 0: all) into a store,
 * over what it has. Not at once. `*records` may be NULL. */
HF_API int32_t hf_import_checkpoint(hf_store* store, const void* private_part, size_t bytes,
                                    hf_read_run read, void* context, const hf_key_range* ranges,
                                    size_t count, uint64_t* records);

/* ---- Backups in a directory (docs/backups.md) ---- */

/* Copies what no earlier backup there has, beside writers. `keep`: backups that stay, this one
 * included; 0: all. `*number` may be NULL. */
HF_API int32_t hf_backup(hf_store* store, const char* directory, uint32_t keep, uint32_t* number);
/* Reads everything; HF_CORRUPT names the first defect. */
HF_API int32_t hf_verify_backup(const char* directory);
/* `number` 0: the newest. `spec` as for hf_restore(). */
HF_API int32_t hf_restore_backup(const char* directory, const char* spec, uint32_t number,
                                 const hf_options* options);

/* ---- Keyspaces: sets of keys of their own within a store (docs/keyspaces.md) ----
 *
 * Names are texts of 1 to 255 bytes. A handle of a space that was dropped, or whose store was
 * closed, is HF_CLOSED. `flags` as for the verbs of a store. */

HF_API int32_t hf_space_create(hf_store* store, const char* name, hf_space** space);
HF_API int32_t hf_space_open(hf_store* store, const char* name, hf_space** space);
/* Its records are gone when it returns. */
HF_API int32_t hf_space_drop(hf_store* store, const char* name);
/* The name of number `number` in their order, as hf_options_get(). HF_NOT_FOUND: there are fewer. */
HF_API int32_t hf_space_name(hf_store* store, size_t number, char* buffer, size_t capacity,
                             size_t* length);
HF_API int32_t hf_space_count(hf_space* space, uint64_t* records);
HF_API int32_t hf_space_put(hf_space* space, const void* key, size_t key_bytes, const void* value,
                            size_t value_bytes, uint32_t flags, int32_t* outcome);
HF_API int32_t hf_space_get(hf_space* space, const void* key, size_t key_bytes, void* buffer,
                            size_t capacity, uint64_t* value_bytes);
HF_API int32_t hf_space_erase(hf_space* space, const void* key, size_t key_bytes, uint32_t flags,
                              int32_t* existed);
HF_API int32_t hf_space_append(hf_space* space, const void* key, size_t key_bytes,
                               const void* bytes, size_t count, uint32_t flags, uint64_t* version);
HF_API int32_t hf_space_merge(hf_space* space, const void* key, size_t key_bytes, int32_t function,
                              const void* operand, size_t operand_bytes, uint32_t flags,
                              uint64_t* version);
/* In a batch with what the store's own keys get, and other spaces. */
HF_API int32_t hf_batch_put_in(hf_batch* batch, hf_space* space, const void* key, size_t key_bytes,
                               const void* value, size_t value_bytes);
HF_API int32_t hf_batch_erase_in(hf_batch* batch, hf_space* space, const void* key,
                                 size_t key_bytes);
HF_API void hf_space_close(hf_space* space);

/* ---- Pipelines: operations one by one at the price of groups (kv/pipeline.hpp) ----
 *
 * An operation is in flight until `window` of them are (1 to 256), or until it is waited for. They
 * take effect in their order. Tickets rise by one from 1 on; `ticket` may be NULL. `flags`: of all
 * its writes, without HF_RENEW. */

HF_API int32_t hf_pipeline_open(hf_store* store, uint32_t window, uint32_t flags,
                                hf_pipeline** pipeline);
HF_API int32_t hf_pipeline_put(hf_pipeline* pipeline, const void* key, size_t key_bytes,
                               const void* value, size_t value_bytes, uint64_t* ticket);
HF_API int32_t hf_pipeline_erase(hf_pipeline* pipeline, const void* key, size_t key_bytes,
                                 uint64_t* ticket);
/* `buffer` is filled by the time the ticket is waited for, or the pipeline flushed, or closed. */
HF_API int32_t hf_pipeline_get(hf_pipeline* pipeline, const void* key, size_t key_bytes,
                               void* buffer, size_t capacity, uint64_t* ticket);
/* What the verb would return. `*outcome`, may be NULL: of a put HF_INSERTED and the like, of an erase
 * whether there was one, of a get the value's length. The last `window` outcomes are kept. */
HF_API int32_t hf_pipeline_wait(hf_pipeline* pipeline, uint64_t ticket, uint64_t* outcome);
HF_API int32_t hf_pipeline_in_flight(const hf_pipeline* pipeline, size_t* operations);
/* Executes all of it. The first failure that no wait told of; absence is none. */
HF_API int32_t hf_pipeline_flush(hf_pipeline* pipeline);
/* Flushes, and returns that. The handle is gone. */
HF_API int32_t hf_pipeline_close(hf_pipeline* pipeline);

/* ---- What a store tells of its own work (kv/events.hpp) ---- */

enum {
  HF_EVENT_RECOVERY = 1, /* records, seconds: it is open. */
  HF_EVENT_GROWTH = 2,   /* bytes_before, bytes_after: of the medium. */
  HF_EVENT_RECLAIM = 3,  /* freed_blocks, relocated_bytes, seconds, in_caller. */
  HF_EVENT_FAILURE = 4,  /* code, text: the medium refused; no more writes. */
  HF_EVENT_STALL = 5     /* seconds, made_room: a write found the medium full. */
};
/* `size` is sizeof(hf_event), set by the caller. What its kind does not name is 0. */
typedef struct hf_event {
  uint64_t size;
  int32_t kind, code;
  int32_t in_caller, made_room;
  uint64_t records, bytes_before, bytes_after, freed_blocks, relocated_bytes;
  double seconds;
  char text[192]; /* With a zero behind it; cut where it is longer. */
} hf_event;
/* Stores opened with the options keep their events for hf_next_event(), the newest 1024. */
HF_API int32_t hf_options_keep_events(hf_options* options, int32_t keep);
/* The oldest event that was not taken. HF_NOT_FOUND: there is none now. From any thread. Errors:
 * HF_INVALID_OPTION: the store was opened without hf_options_keep_events(). */
HF_API int32_t hf_next_event(hf_store* store, hf_event* event);

/* ---- Expiry and upkeep ---- */

/* Records whose key begins with `prefix` end when the clock reaches the stamp at `offset_bytes` of
 * the value + ttl. `width_bytes`: 4 or 8. docs/expiry.md. */
enum { HF_LITTLE_ENDIAN = 0, HF_BIG_ENDIAN = 1 };
HF_API int32_t hf_expire(hf_store* store, const void* prefix, size_t prefix_bytes,
                         uint32_t offset_bytes, uint32_t width_bytes, int32_t byte_order,
                         uint64_t ttl);
HF_API int32_t hf_set_clock(hf_store* store, uint64_t now);
HF_API int32_t hf_clock(hf_store* store, uint64_t* now);
/* Takes the memory of an index of so many records, before a load of known size. */
HF_API int32_t hf_reserve(hf_store* store, uint64_t records);
/* Reclaims in the caller until what is in use is near live data. */
HF_API int32_t hf_reclaim(hf_store* store);
/* Reads and checks all of the medium. HF_CORRUPT names the first defect. */
HF_API int32_t hf_verify(hf_store* store);

#ifdef __cplusplus
}
#endif

#endif
