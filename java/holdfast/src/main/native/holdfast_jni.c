/* holdfast_jni.c: org.holdfast.Native over holdfast.h, a line each. Bytes are addresses outside of
 * the Java heap and lengths; arrays only where they are large: docs/java.md says why.
 *
 * What returns a number returns it, or a code of hf_code below zero. A store is behind a gate, so
 * that it may be closed beside a call: gate.h. */
#include <jni.h>
#include <stdlib.h>
#include <string.h>

#include "gate.h"

#define NATIVE(type, name) JNIEXPORT type JNICALL Java_org_holdfast_Native_##name
#define UNUSED (void)env, (void)type

#define BYTES(address) ((void*)(intptr_t)(address))
#define GATE(handle) ((Gate*)(intptr_t)(handle))
#define SNAPSHOT(handle) ((hf_snapshot*)(intptr_t)(handle))
#define ITER(handle) ((hf_iter*)(intptr_t)(handle))
#define CHECKPOINT(handle) ((hf_checkpoint*)(intptr_t)(handle))
#define OPTIONS(handle) ((hf_options*)(intptr_t)(handle))

static jlong value_or(int32_t code, uint64_t value) {
  return code == HF_OK ? (jlong)value : -(jlong)code;
}
static jlong handle_or(int32_t code, const void* handle) {
  return code == HF_OK ? (jlong)(intptr_t)handle : -(jlong)code;
}

/* A call on a store: `call` uses `store`. */
#define IN_STORE(gate, code, call)                   \
  do {                                               \
    hf_store* const store_ = gate_enter(GATE(gate)); \
    if (store_ == NULL) {                            \
      code = HF_CLOSED;                              \
    } else {                                         \
      code = call;                                   \
      gate_leave();                                  \
    }                                                \
  } while (0)

/* A new handle for Java; HF_NO_SPACE: there was no memory for it. */
static jlong gate_or(int32_t code, hf_store* store) {
  Gate* gate;
  if (code != HF_OK) return -(jlong)code;
  gate = gate_new(store);
  if (gate != NULL) return (jlong)(intptr_t)gate;
  hf_close(store);
  return -HF_NO_SPACE;
}

/* ---- Library ---- */

NATIVE(jint, abiVersion)(JNIEnv* env, jclass type) {
  UNUSED;
  return (jint)hf_abi_version();
}
/* Of a direct buffer; 0: it is none. */
NATIVE(jlong, addressOf)(JNIEnv* env, jclass type, jobject buffer) {
  (void)type;
  return (jlong)(intptr_t)(*env)->GetDirectBufferAddress(env, buffer);
}
NATIVE(jint, lastError)(JNIEnv* env, jclass type, jlong buffer, jint capacity) {
  const char* text = hf_last_error();
  const size_t bytes = strlen(text), room = (size_t)capacity;
  UNUSED;
  memcpy(BYTES(buffer), text, bytes < room ? bytes : room);
  return (jint)(bytes < room ? bytes : room);
}

/* ---- Memory of large values, which is not the JVM's: it has a limit for its own ---- */

/* 0: there is none. */
NATIVE(jlong, allocate)(JNIEnv* env, jclass type, jlong bytes) {
  UNUSED;
  return (jlong)(intptr_t)malloc((size_t)bytes);
}
NATIVE(void, release)(JNIEnv* env, jclass type, jlong address) {
  UNUSED;
  free(BYTES(address));
}
/* Of the whole array. A copy of a megabyte does not feel what an array costs beside it. */
NATIVE(void, copyIn)(JNIEnv* env, jclass type, jbyteArray from, jlong to) {
  (void)type;
  (*env)->GetByteArrayRegion(env, from, 0, (*env)->GetArrayLength(env, from), BYTES(to));
}
NATIVE(void, copyOut)(JNIEnv* env, jclass type, jlong from, jbyteArray to) {
  (void)type;
  (*env)->SetByteArrayRegion(env, to, 0, (*env)->GetArrayLength(env, to), BYTES(from));
}

/* ---- Options and stores ---- */

NATIVE(jlong, optionsNew)(JNIEnv* env, jclass type) {
  hf_options* options = NULL;
  const int32_t code = hf_options_new(&options);
  UNUSED;
  return handle_or(code, options);
}
NATIVE(jint, optionsSet)(JNIEnv* env, jclass type, jlong options, jlong name, jlong value) {
  UNUSED;
  return -hf_options_set(OPTIONS(options), BYTES(name), BYTES(value));
}
NATIVE(void, optionsFree)(JNIEnv* env, jclass type, jlong options) {
  UNUSED;
  hf_options_free(OPTIONS(options));
}
NATIVE(jlong, open)(JNIEnv* env, jclass type, jlong spec, jlong options) {
  hf_store* store = NULL;
  const int32_t code = hf_open(BYTES(spec), OPTIONS(options), &store);
  UNUSED;
  return gate_or(code, store);
}
NATIVE(jint, close)(JNIEnv* env, jclass type, jlong store) {
  UNUSED;
  return -gate_close(GATE(store));
}
NATIVE(jint, sync)(JNIEnv* env, jclass type, jlong store) {
  int32_t code;
  UNUSED;
  IN_STORE(store, code, hf_sync(store_));
  return -code;
}
NATIVE(jlong, count)(JNIEnv* env, jclass type, jlong store) {
  uint64_t records = 0;
  int32_t code;
  UNUSED;
  IN_STORE(store, code, hf_count(store_, &records));
  return value_or(code, records);
}
/* `stats`: an hf_stats whose size is set. */
NATIVE(jint, stats)(JNIEnv* env, jclass type, jlong store, jlong stats) {
  int32_t code;
  UNUSED;
  IN_STORE(store, code, hf_stats_get(store_, BYTES(stats)));
  return -code;
}
NATIVE(jint, reclaim)(JNIEnv* env, jclass type, jlong store) {
  int32_t code;
  UNUSED;
  IN_STORE(store, code, hf_reclaim(store_));
  return -code;
}
NATIVE(jint, verify)(JNIEnv* env, jclass type, jlong store) {
  int32_t code;
  UNUSED;
  IN_STORE(store, code, hf_verify(store_));
  return -code;
}

/* ---- Records ---- */

NATIVE(jint, put)(JNIEnv* env, jclass type, jlong store, jlong key, jint key_bytes, jlong value,
                  jint value_bytes, jint flags) {
  int32_t outcome = 0;
  int32_t code;
  UNUSED;
  IN_STORE(store, code,
           hf_put(store_, BYTES(key), (size_t)key_bytes, BYTES(value), (size_t)value_bytes,
                  (uint32_t)flags, &outcome));
  return code == HF_OK ? outcome : -code;
}
NATIVE(jint, erase)(JNIEnv* env, jclass type, jlong store, jlong key, jint key_bytes, jint flags) {
  int32_t existed = 0;
  int32_t code;
  UNUSED;
  IN_STORE(store, code, hf_erase(store_, BYTES(key), (size_t)key_bytes, (uint32_t)flags, &existed));
  return code == HF_OK ? existed : -code;
}
NATIVE(jint, append)(JNIEnv* env, jclass type, jlong store, jlong key, jint key_bytes, jlong bytes,
                     jint count, jint flags) {
  int32_t code;
  UNUSED;
  IN_STORE(store, code,
           hf_append(store_, BYTES(key), (size_t)key_bytes, BYTES(bytes), (size_t)count,
                     (uint32_t)flags, NULL));
  return -code;
}
NATIVE(jint, merge)(JNIEnv* env, jclass type, jlong store, jlong key, jint key_bytes, jint function,
                    jlong operand, jint count, jint flags) {
  int32_t code;
  UNUSED;
  IN_STORE(store, code,
           hf_merge(store_, BYTES(key), (size_t)key_bytes, function, BYTES(operand), (size_t)count,
                    (uint32_t)flags, NULL));
  return -code;
}
NATIVE(jint, putMany)(JNIEnv* env, jclass type, jlong store, jint count, jlong keys,
                      jlong key_bytes, jlong values, jlong value_bytes, jint flags) {
  int32_t code;
  UNUSED;
  IN_STORE(store, code,
           hf_put_many(store_, (size_t)count, BYTES(keys), BYTES(key_bytes), BYTES(values),
                       BYTES(value_bytes), (uint32_t)flags));
  return -code;
}
NATIVE(jlong, getMany)(JNIEnv* env, jclass type, jlong store, jint count, jlong keys,
                       jlong key_bytes, jlong buffer, jint capacity, jlong value_bytes,
                       jlong codes) {
  size_t answered = 0;
  int32_t code;
  UNUSED;
  IN_STORE(store, code,
           hf_get_many(store_, (size_t)count, BYTES(keys), BYTES(key_bytes), BYTES(buffer),
                       (size_t)capacity, BYTES(value_bytes), BYTES(codes), &answered));
  return value_or(code, answered);
}
NATIVE(jlong, countPrefix)(JNIEnv* env, jclass type, jlong store, jlong prefix, jint bytes) {
  uint64_t keys = 0;
  int32_t code;
  UNUSED;
  IN_STORE(store, code, hf_count_prefix(store_, BYTES(prefix), (size_t)bytes, &keys));
  return value_or(code, keys);
}
NATIVE(jlong, erasePrefix)(JNIEnv* env, jclass type, jlong store, jlong prefix, jint bytes,
                           jint flags) {
  uint64_t erased = 0;
  int32_t code;
  UNUSED;
  IN_STORE(store, code,
           hf_erase_prefix(store_, BYTES(prefix), (size_t)bytes, (uint32_t)flags, &erased));
  return value_or(code, erased);
}

/* ---- Snapshots and iterators ---- */

NATIVE(jlong, snapshotOpen)(JNIEnv* env, jclass type, jlong store) {
  hf_snapshot* snapshot = NULL;
  int32_t code;
  UNUSED;
  IN_STORE(store, code, hf_snapshot_open(store_, &snapshot));
  return handle_or(code, snapshot);
}
NATIVE(jlong, snapshotGet)(JNIEnv* env, jclass type, jlong snapshot, jlong key, jint key_bytes,
                           jlong buffer, jint capacity) {
  uint64_t bytes = 0;
  const int32_t code = hf_snapshot_get(SNAPSHOT(snapshot), BYTES(key), (size_t)key_bytes,
                                       BYTES(buffer), (size_t)capacity, &bytes);
  UNUSED;
  return value_or(code, bytes);
}
NATIVE(void, snapshotClose)(JNIEnv* env, jclass type, jlong snapshot) {
  UNUSED;
  hf_snapshot_close(SNAPSHOT(snapshot));
}
NATIVE(jlong, iterOpen)(JNIEnv* env, jclass type, jlong store) {
  hf_iter* iter = NULL;
  int32_t code;
  UNUSED;
  IN_STORE(store, code, hf_iter_open(store_, &iter));
  return handle_or(code, iter);
}
NATIVE(jlong, iterOpenSnapshot)(JNIEnv* env, jclass type, jlong snapshot) {
  hf_iter* iter = NULL;
  const int32_t code = hf_iter_open_snapshot(SNAPSHOT(snapshot), &iter);
  UNUSED;
  return handle_or(code, iter);
}
NATIVE(jint, iterFirst)(JNIEnv* env, jclass type, jlong iter, jlong prefix, jint bytes) {
  UNUSED;
  return -hf_iter_first(ITER(iter), BYTES(prefix), (size_t)bytes);
}
NATIVE(jint, iterSeek)(JNIEnv* env, jclass type, jlong iter, jlong key, jint bytes) {
  UNUSED;
  return -hf_iter_seek(ITER(iter), BYTES(key), (size_t)bytes);
}
NATIVE(jlong, iterFill)(JNIEnv* env, jclass type, jlong iter, jlong buffer, jint capacity,
                        jint most) {
  size_t used = 0;
  const int32_t code =
      hf_iter_fill(ITER(iter), BYTES(buffer), (size_t)capacity, (size_t)most, &used);
  UNUSED;
  return value_or(code, used);
}
/* Bytes that the record takes packed, at which the iterator is. */
NATIVE(jlong, iterRecordBytes)(JNIEnv* env, jclass type, jlong iter) {
  hf_record record = {NULL, 0, NULL, 0, 0};
  const int32_t code = hf_iter_record(ITER(iter), &record);
  UNUSED;
  return value_or(code, (24 + record.key_bytes + record.value_bytes + 7) / 8 * 8);
}
NATIVE(void, iterClose)(JNIEnv* env, jclass type, jlong iter) {
  UNUSED;
  hf_iter_close(ITER(iter));
}

/* ---- Checkpoints ---- */

NATIVE(jlong, checkpointBegin)(JNIEnv* env, jclass type, jlong store) {
  hf_checkpoint* checkpoint = NULL;
  int32_t code;
  UNUSED;
  IN_STORE(store, code, hf_checkpoint_begin(store_, &checkpoint));
  return handle_or(code, checkpoint);
}
NATIVE(jlong, checkpointRuns)(JNIEnv* env, jclass type, jlong checkpoint, jlong runs,
                              jint capacity) {
  size_t count = 0;
  const int32_t code =
      hf_checkpoint_runs(CHECKPOINT(checkpoint), BYTES(runs), (size_t)capacity, &count);
  UNUSED;
  return value_or(code, count);
}
NATIVE(jint, checkpointRead)(JNIEnv* env, jclass type, jlong checkpoint, jint run, jlong buffer,
                             jlong bytes) {
  UNUSED;
  return -hf_checkpoint_read(CHECKPOINT(checkpoint), (size_t)run, BYTES(buffer), (size_t)bytes);
}
NATIVE(jlong, checkpointPrivate)(JNIEnv* env, jclass type, jlong checkpoint, jlong buffer,
                                 jlong capacity) {
  size_t bytes = 0;
  const int32_t code =
      hf_checkpoint_private(CHECKPOINT(checkpoint), BYTES(buffer), (size_t)capacity, &bytes);
  UNUSED;
  return value_or(code, bytes);
}
NATIVE(void, checkpointEnd)(JNIEnv* env, jclass type, jlong checkpoint) {
  UNUSED;
  hf_checkpoint_end(CHECKPOINT(checkpoint));
}
NATIVE(jlong, privateRuns)(JNIEnv* env, jclass type, jlong part, jlong bytes, jlong runs,
                           jint capacity) {
  size_t count = 0;
  const int32_t code =
      hf_private_runs(BYTES(part), (size_t)bytes, BYTES(runs), (size_t)capacity, &count);
  UNUSED;
  return value_or(code, count);
}

/* A reader of runs in Java: void read(long origin, long generation, ByteBuffer to). What it throws
 * waits in the JVM, and is thrown when the native method returns. */
typedef struct Reader {
  JNIEnv* env;
  jobject object;
  jmethodID read;
} Reader;

static int32_t read_run(void* context, const hf_run* run, void* to) {
  const Reader* reader = context;
  JNIEnv* env = reader->env;
  jobject buffer = (*env)->NewDirectByteBuffer(env, to, (jlong)run->bytes);
  if (buffer == NULL) return HF_NO_SPACE;
  (*env)->CallVoidMethod(env, reader->object, reader->read, (jlong)run->origin,
                         (jlong)run->generation, buffer);
  (*env)->DeleteLocalRef(env, buffer);
  return (*env)->ExceptionCheck(env) ? HF_IO : HF_OK;
}
static int reader_of(JNIEnv* env, jobject object, Reader* reader) {
  jclass type = (*env)->GetObjectClass(env, object);
  reader->env = env;
  reader->object = object;
  reader->read = (*env)->GetMethodID(env, type, "read", "(JJLjava/nio/ByteBuffer;)V");
  return reader->read != NULL;
}

NATIVE(jint, restore)(JNIEnv* env, jclass type, jlong spec, jlong part, jlong bytes, jobject runs,
                      jlong options) {
  Reader reader;
  (void)type;
  if (!reader_of(env, runs, &reader)) return -HF_INVALID_OPTION;
  return -hf_restore(BYTES(spec), BYTES(part), (size_t)bytes, read_run, &reader, OPTIONS(options));
}
NATIVE(jlong, importCheckpoint)(JNIEnv* env, jclass type, jlong store, jlong part, jlong bytes,
                                jobject runs, jlong ranges, jint count) {
  Reader reader;
  hf_store* into;
  uint64_t records = 0;
  int32_t code;
  (void)type;
  if (!reader_of(env, runs, &reader)) return -HF_INVALID_OPTION;
  into = gate_hold(GATE(store)); /* The reader may call the store. */
  if (into == NULL) return -HF_CLOSED;
  code = hf_import_checkpoint(into, BYTES(part), (size_t)bytes, read_run, &reader, BYTES(ranges),
                              (size_t)count, &records);
  gate_release(GATE(store));
  return value_or(code, records);
}
NATIVE(jlong, restoreOpen)(JNIEnv* env, jclass type, jlong spec, jlong part, jlong bytes,
                           jobject runs, jlong options) {
  Reader reader;
  hf_store* store = NULL;
  int32_t code;
  (void)type;
  if (!reader_of(env, runs, &reader)) return -HF_INVALID_OPTION;
  code = hf_restore_open(BYTES(spec), BYTES(part), (size_t)bytes, read_run, &reader,
                         OPTIONS(options), &store);
  return gate_or(code, store);
}

/* ---- Expiry ---- */

NATIVE(jint, expire)(JNIEnv* env, jclass type, jlong store, jlong prefix, jint prefix_bytes,
                     jint offset, jint width, jint byte_order, jlong ttl) {
  int32_t code;
  UNUSED;
  IN_STORE(store, code,
           hf_expire(store_, BYTES(prefix), (size_t)prefix_bytes, (uint32_t)offset, (uint32_t)width,
                     byte_order, (uint64_t)ttl));
  return -code;
}
NATIVE(jint, setClock)(JNIEnv* env, jclass type, jlong store, jlong now) {
  int32_t code;
  UNUSED;
  IN_STORE(store, code, hf_set_clock(store_, (uint64_t)now));
  return -code;
}
