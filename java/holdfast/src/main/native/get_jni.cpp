// get_jni.cpp: org.holdfast.Native.get, which has what hf_get() nearly always does in itself. Each
// instruction between one get and the next is in the way of the overlap of their cache misses:
// docs/java.md.
#include <jni.h>

#include <span>
#include <string_view>

#include <holdfast/c/boundary.hpp>
#include <holdfast/c/handles.hpp>

#include "gate.h"

namespace {

// The first call of a thread, a store that is being closed, and what hf_get() refuses.
[[gnu::cold, gnu::noinline]] jlong get_slowly(Gate* gate, jlong key, jint key_bytes, jlong buffer,
                                              jint capacity) {
  hf_store* const store = gate_enter(gate);
  if (store == nullptr) return -HF_CLOSED;
  std::uint64_t bytes = 0;
  const std::int32_t code =
      hf_get(store, reinterpret_cast<const void*>(key), static_cast<std::size_t>(key_bytes),
             reinterpret_cast<void*>(buffer), static_cast<std::size_t>(capacity), &bytes);
  gate_leave();
  return code == HF_OK ? static_cast<jlong>(bytes) : -jlong{code};
}

// The full length of the value, or a code below zero.
jlong get(const hf_store& store, std::string_view key, std::span<std::byte> buffer) noexcept {
  try {
    auto found = store.store.get(key, buffer);
    if (found) [[likely]]
      return static_cast<jlong>(*found);
    return -jlong{holdfast::c::failed(std::move(found).pass_on().release())};
  } catch (...) {
    return -jlong{holdfast::c::caught()};
  }
}

}  // namespace

extern "C" JNIEXPORT jlong JNICALL Java_org_holdfast_Native_get(JNIEnv*, jclass, jlong gate,
                                                                jlong key, jint key_bytes,
                                                                jlong buffer, jint capacity) {
  Visitor* const me = gate_visitor;
  auto* const gate_of_store = reinterpret_cast<Gate*>(gate);
  const auto key_count = static_cast<std::size_t>(key_bytes);
  if (!gate_enter_at_once(gate_of_store, me) || key == 0 || buffer == 0 ||
      key_count > holdfast::kv::kMaxKeyBytes) [[unlikely]]
    return get_slowly(gate_of_store, key, key_bytes, buffer, capacity);
  const jlong found =
      get(*gate_of_store->store, {reinterpret_cast<const char*>(key), key_count},
          {reinterpret_cast<std::byte*>(buffer), static_cast<std::size_t>(capacity)});
  gate_leave_as(me);
  return found;
}
