// Single records.
#include <algorithm>

#include <holdfast/c/boundary.hpp>
#include <holdfast/c/handles.hpp>

using namespace holdfast;
using c::boundary;

namespace holdfast::c {
namespace {

// What the verbs below have in common: a store, a key and the flags of a write.
struct Write {
  kv::Store<>& store;
  std::string_view key;
  kv::WriteOptions options;
};
Result<Write> write_of(hf_store* store, const void* key, std::size_t key_bytes,
                       std::uint32_t flags) {
  HF_NEEDS(store);
  HF_NEEDS_KEY(key, key_bytes);
  kv::WriteOptions options;
  if (flags != 0) [[unlikely]] {
    HF_ASSIGN_OR_RETURN(options, write_options(flags));
  }
  return Write{store->store, text_of(key, key_bytes), options};
}

// Inlined by order: a call of its own would look at errors three times where there is none, 25
// instructions of a get's 218. They cost more than their cycles: they end the overlap of the cache
// misses of one get with those of the next (docs/measurements/2026-11-24-flink.md).
template <class Value, class Out>
[[gnu::always_inline]] inline Status give(Result<Value> result, Out* out) {
  if (!result) [[unlikely]]
    return std::move(result).pass_on();
  if (out != nullptr) *out = static_cast<Out>(*result);
  return {};
}

}  // namespace
}  // namespace holdfast::c

int32_t hf_put(hf_store* store, const void* key, size_t key_bytes, const void* value,
               size_t value_bytes, uint32_t flags, int32_t* outcome) {
  return boundary([&]() -> Status {
    HF_ASSIGN_OR_RETURN(const auto write, c::write_of(store, key, key_bytes, flags));
    HF_NEEDS_BYTES(value, value_bytes);
    return c::give(write.store.put(write.key, c::text_of(value, value_bytes), write.options),
                   outcome);
  });
}

int32_t hf_put_if_absent(hf_store* store, const void* key, size_t key_bytes, const void* value,
                         size_t value_bytes, uint32_t flags, uint64_t* version) {
  return boundary([&]() -> Status {
    HF_ASSIGN_OR_RETURN(const auto write, c::write_of(store, key, key_bytes, flags));
    HF_NEEDS_BYTES(value, value_bytes);
    return c::give(
        write.store.put_if_absent(write.key, c::text_of(value, value_bytes), write.options),
        version);
  });
}

int32_t hf_compare_and_put(hf_store* store, const void* key, size_t key_bytes, uint64_t expected,
                           const void* value, size_t value_bytes, uint32_t flags,
                           uint64_t* version) {
  return boundary([&]() -> Status {
    HF_ASSIGN_OR_RETURN(const auto write, c::write_of(store, key, key_bytes, flags));
    HF_NEEDS_BYTES(value, value_bytes);
    return c::give(write.store.compare_and_put(write.key, expected, c::text_of(value, value_bytes),
                                               write.options),
                   version);
  });
}

int32_t hf_get(hf_store* store, const void* key, size_t key_bytes, void* buffer, size_t capacity,
               uint64_t* value_bytes) {
  return boundary([&]() -> Status {
    HF_NEEDS(store);
    HF_NEEDS_KEY(key, key_bytes);
    HF_NEEDS_BYTES(buffer, capacity);
    HF_NEEDS(value_bytes);
    return c::give(store->store.get(c::text_of(key, key_bytes),
                                    std::span(static_cast<std::byte*>(buffer), capacity)),
                   value_bytes);
  });
}

int32_t hf_erase(hf_store* store, const void* key, size_t key_bytes, uint32_t flags,
                 int32_t* existed) {
  return boundary([&]() -> Status {
    HF_ASSIGN_OR_RETURN(const auto write, c::write_of(store, key, key_bytes, flags));
    return c::give(write.store.erase(write.key, write.options), existed);
  });
}

int32_t hf_append(hf_store* store, const void* key, size_t key_bytes, const void* bytes,
                  size_t count, uint32_t flags, uint64_t* version) {
  return boundary([&]() -> Status {
    HF_ASSIGN_OR_RETURN(const auto write, c::write_of(store, key, key_bytes, flags));
    HF_NEEDS_BYTES(bytes, count);
    return c::give(write.store.append(write.key, c::text_of(bytes, count), write.options), version);
  });
}

static_assert(static_cast<int>(kv::MergeFunction::kAppend) == HF_MERGE_APPEND &&
              static_cast<int>(kv::MergeFunction::kAdd) == HF_MERGE_ADD &&
              static_cast<int>(kv::MergeFunction::kAddDouble) == HF_MERGE_ADD_DOUBLE &&
              static_cast<int>(kv::MergeFunction::kMin) == HF_MERGE_MIN &&
              static_cast<int>(kv::MergeFunction::kMax) == HF_MERGE_MAX &&
              static_cast<int>(kv::MergeFunction::kMinUnsigned) == HF_MERGE_MIN_UNSIGNED &&
              static_cast<int>(kv::MergeFunction::kMaxUnsigned) == HF_MERGE_MAX_UNSIGNED &&
              static_cast<int>(kv::MergeFunction::kOr) == HF_MERGE_OR);

int32_t hf_merge(hf_store* store, const void* key, size_t key_bytes, int32_t function,
                 const void* operand, size_t operand_bytes, uint32_t flags, uint64_t* version) {
  return boundary([&]() -> Status {
    HF_ASSIGN_OR_RETURN(const auto write, c::write_of(store, key, key_bytes, flags));
    HF_NEEDS_BYTES(operand, operand_bytes);
    if (function < HF_MERGE_APPEND || function > HF_MERGE_OR)
      return c::unknown_number("function", function, "HF_MERGE_APPEND (0) to HF_MERGE_OR (7)");
    return c::give(write.store.merge(write.key, static_cast<kv::MergeFunction>(function),
                                     c::text_of(operand, operand_bytes), write.options),
                   version);
  });
}

int32_t hf_update_word(hf_store* store, const void* key, size_t key_bytes, uint32_t offset_bytes,
                       int32_t operation, uint64_t operand, uint32_t flags, uint64_t* old_word) {
  return boundary([&]() -> Status {
    HF_ASSIGN_OR_RETURN(const auto write, c::write_of(store, key, key_bytes, flags));
    if (operation < HF_WORD_SET || operation > HF_WORD_MAX_UNSIGNED)
      return c::unknown_number("operation", operation,
                               "HF_WORD_SET (0) to HF_WORD_MAX_UNSIGNED (3)");
    return c::give(write.store.update_word(
                       write.key, offset_bytes,
                       [&](std::uint64_t word) {
                         switch (operation) {
                           case HF_WORD_ADD: return word + operand;
                           case HF_WORD_MIN_UNSIGNED: return std::min(word, operand);
                           case HF_WORD_MAX_UNSIGNED: return std::max(word, operand);
                           default: return operand;
                         }
                       },
                       write.options),
                   old_word);
  });
}

int32_t hf_get_pinned(hf_store* store, const void* key, size_t key_bytes, hf_view* view,
                      hf_pin** pin) {
  return boundary([&]() -> Status {
    HF_NEEDS(store);
    HF_NEEDS_KEY(key, key_bytes);
    HF_NEEDS(view);
    HF_NEEDS(pin);
    *pin = nullptr;
    HF_ASSIGN_OR_RETURN(auto pinned, store->store.get_pinned(c::text_of(key, key_bytes)));
    *pin = new hf_pin(*store, std::move(pinned));
    const std::string_view value = (*pin)->pinned.value();
    *view = {value.data(), value.size(), (*pin)->pinned.version()};
    return {};
  });
}

void hf_unpin(hf_pin* pin) { delete pin; }
