// Several records by one call: packed keys and values, and atomic batches.
#include <cstdint>
#include <cstring>
#include <vector>

#include <holdfast/base/thread_kept.hpp>
#include <holdfast/c/boundary.hpp>
#include <holdfast/c/handles.hpp>

using namespace holdfast;
using c::boundary;

namespace holdfast::c {
namespace {

// `count` texts that lie one behind the other. A length that is too large is refused later, by whom
// it is given to: until then it is a number, and so is what lies behind it.
template <class Length>
std::vector<std::string_view> unpack(std::size_t count, const void* bytes, const Length* lengths) {
  std::vector<std::string_view> texts(count);
  auto next = reinterpret_cast<std::uintptr_t>(bytes);
  for (std::size_t i = 0; i < count; ++i) {
    texts[i] = {reinterpret_cast<const char*>(next), static_cast<std::size_t>(lengths[i])};
    next += lengths[i];
  }
  return texts;
}

// Where look-ups put a group of values, kept from call to call for the memory of its strings.
struct Group {
  static constexpr std::size_t kKeys = 64;
  static constexpr std::size_t kKeptBytes = 64 * KiB;  // Of a value's string.
  std::string values[kKeys];
  Errc outcomes[kKeys];

  void give_back_memory() {
    for (std::string& value : values) {
      if (value.capacity() > kKeptBytes) std::string().swap(value);
    }
  }
};

}  // namespace
}  // namespace holdfast::c

int32_t hf_put_many(hf_store* store, size_t count, const void* keys, const uint32_t* key_bytes,
                    const void* values, const uint64_t* value_bytes, uint32_t flags) {
  return boundary([&]() -> Status {
    HF_NEEDS(store);
    HF_NEEDS_BYTES(key_bytes, count);
    HF_NEEDS_BYTES(value_bytes, count);
    HF_ASSIGN_OR_RETURN(const kv::WriteOptions options, c::write_options(flags));
    std::uint64_t all_keys = 0, all_values = 0;
    for (std::size_t i = 0; i < count; ++i)
      all_keys += key_bytes[i], all_values += value_bytes[i];
    HF_NEEDS_BYTES(keys, all_keys);
    HF_NEEDS_BYTES(values, all_values);
    return store->store.put_many(c::unpack(count, keys, key_bytes),
                                 c::unpack(count, values, value_bytes), options);
  });
}

int32_t hf_get_many(hf_store* store, size_t count, const void* keys, const uint32_t* key_bytes,
                    void* buffer, size_t capacity, uint64_t* value_bytes, int32_t* codes,
                    size_t* answered) {
  return boundary([&]() -> Status {
    HF_NEEDS(store);
    HF_NEEDS_BYTES(key_bytes, count);
    HF_NEEDS_BYTES(buffer, capacity);
    HF_NEEDS_BYTES(value_bytes, count);
    HF_NEEDS_BYTES(codes, count);
    HF_NEEDS(answered);
    std::uint64_t all_keys = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (key_bytes[i] > kv::kMaxKeyBytes)
        return c::too_large("key_bytes[i]", key_bytes[i], kv::kMaxKeyBytes);
      all_keys += key_bytes[i];
    }
    HF_NEEDS_BYTES(keys, all_keys);

    *answered = 0;
    const auto texts = c::unpack(count, keys, key_bytes);
    c::Group& group = ThreadKept<c::Group>::get();
    std::size_t used = 0;
    while (*answered < count) {
      const std::size_t first = *answered;
      const std::size_t here = std::min(count - first, c::Group::kKeys);
      HF_RETURN_IF_ERROR(store->store.get_many(std::span(texts).subspan(first, here),
                                               std::span(group.values).first(here),
                                               std::span(group.outcomes).first(here)));
      bool room = true;
      for (std::size_t i = 0; i < here && room; ++i) {
        const bool there = group.outcomes[i] == Errc::kOk;
        const std::size_t bytes = there ? group.values[i].size() : 0;
        room = bytes <= capacity - used;
        if (!room && first + i != 0) break;
        value_bytes[first + i] = bytes;
        codes[first + i] = static_cast<int32_t>(group.outcomes[i]);
        if (!room) break;
        if (bytes != 0)
          std::memcpy(static_cast<char*>(buffer) + used, group.values[i].data(), bytes);
        used += bytes;
        ++*answered;
      }
      group.give_back_memory();
      if (room) continue;
      if (*answered != 0) return {};
      return Error{Errc::kTooLarge, "the first value takes " + std::to_string(value_bytes[0]) +
                                        " bytes, the buffer has " + std::to_string(capacity)};
    }
    return {};
  });
}

int32_t hf_batch_new(hf_batch** batch) {
  return boundary([&]() -> Status {
    HF_NEEDS(batch);
    *batch = nullptr;
    *batch = new hf_batch();
    return {};
  });
}

int32_t hf_batch_put(hf_batch* batch, const void* key, size_t key_bytes, const void* value,
                     size_t value_bytes) {
  return boundary([&]() -> Status {
    HF_NEEDS(batch);
    HF_NEEDS_KEY(key, key_bytes);
    HF_NEEDS_VALUE(value, value_bytes);
    batch->batch.put(c::text_of(key, key_bytes), c::text_of(value, value_bytes));
    return {};
  });
}

int32_t hf_batch_erase(hf_batch* batch, const void* key, size_t key_bytes) {
  return boundary([&]() -> Status {
    HF_NEEDS(batch);
    HF_NEEDS_KEY(key, key_bytes);
    batch->batch.erase(c::text_of(key, key_bytes));
    return {};
  });
}

int32_t hf_batch_clear(hf_batch* batch) {
  return boundary([&]() -> Status {
    HF_NEEDS(batch);
    batch->batch.clear();
    return {};
  });
}

int32_t hf_batch_write(hf_store* store, const hf_batch* batch, uint32_t flags, uint64_t* version) {
  return boundary([&]() -> Status {
    HF_NEEDS(store);
    HF_NEEDS(batch);
    HF_ASSIGN_OR_RETURN(const kv::WriteOptions options, c::write_options(flags));
    HF_ASSIGN_OR_RETURN(const kv::Version written, store->store.write(batch->batch, options));
    if (version != nullptr) *version = written;
    return {};
  });
}

void hf_batch_free(hf_batch* batch) { delete batch; }
