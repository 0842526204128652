// Keyspaces.
#include <holdfast/c/boundary.hpp>
#include <holdfast/c/handles.hpp>

using namespace holdfast;
using c::boundary;

namespace holdfast::c {
namespace {

// A verb on a key of a space: `verb(space, key, options)` returns a Result, which goes to `out`.
template <class Out, class Verb>
std::int32_t on_key(hf_space* space, const void* key, std::size_t key_bytes, std::uint32_t flags,
                    Out* out, Verb&& verb) {
  return boundary([&]() -> Status {
    HF_NEEDS(space);
    HF_NEEDS_KEY(key, key_bytes);
    HF_ASSIGN_OR_RETURN(const kv::WriteOptions options, write_options(flags));
    HF_ASSIGN_OR_RETURN(const auto result, verb(space->space, text_of(key, key_bytes), options));
    if (out != nullptr) *out = static_cast<Out>(result);
    return {};
  });
}

// One more handle.
Status give(Result<kv::Space> of, hf_space** space) {
  if (!of) return std::move(of).pass_on();
  *space = new hf_space{std::move(*of)};
  return {};
}

}  // namespace
}  // namespace holdfast::c

int32_t hf_space_create(hf_store* store, const char* name, hf_space** space) {
  return boundary([&]() -> Status {
    HF_NEEDS(store);
    HF_NEEDS(name);
    HF_NEEDS(space);
    *space = nullptr;
    return c::give(store->store.create_space(name), space);
  });
}

int32_t hf_space_open(hf_store* store, const char* name, hf_space** space) {
  return boundary([&]() -> Status {
    HF_NEEDS(store);
    HF_NEEDS(name);
    HF_NEEDS(space);
    *space = nullptr;
    return c::give(store->store.space(name), space);
  });
}

int32_t hf_space_drop(hf_store* store, const char* name) {
  return boundary([&]() -> Status {
    HF_NEEDS(store);
    HF_NEEDS(name);
    return store->store.drop_space(name);
  });
}

int32_t hf_space_name(hf_store* store, size_t number, char* buffer, size_t capacity,
                      size_t* length) {
  return boundary([&]() -> Status {
    HF_NEEDS(store);
    HF_NEEDS_BYTES(buffer, capacity);
    HF_NEEDS(length);
    HF_RETURN_IF_ERROR(c::check_open(store));
    const std::vector<std::string> names = store->store.spaces();
    if (number >= names.size())
      return Error{Errc::kNotFound, "number=" + std::to_string(number) + "; the store has " +
                                        std::to_string(names.size()) + " keyspaces, from 0 on"};
    c::copy_text(names[number], buffer, capacity, length);
    return {};
  });
}

int32_t hf_space_count(hf_space* space, uint64_t* records) {
  return boundary([&]() -> Status {
    HF_NEEDS(space);
    HF_NEEDS(records);
    HF_RETURN_IF_ERROR(space->space.check_open());
    *records = space->space.count();
    return {};
  });
}

int32_t hf_space_put(hf_space* space, const void* key, size_t key_bytes, const void* value,
                     size_t value_bytes, uint32_t flags, int32_t* outcome) {
  return c::on_key(space, key, key_bytes, flags, outcome,
                   [&](kv::Space& of, std::string_view name,
                       kv::WriteOptions options) -> Result<kv::PutOutcome> {
                     HF_NEEDS_BYTES(value, value_bytes);
                     return of.put(name, c::text_of(value, value_bytes), options);
                   });
}

int32_t hf_space_get(hf_space* space, const void* key, size_t key_bytes, void* buffer,
                     size_t capacity, uint64_t* value_bytes) {
  return c::on_key(
      space, key, key_bytes, 0, value_bytes,
      [&](kv::Space& of, std::string_view name, kv::WriteOptions) -> Result<std::uint64_t> {
        HF_NEEDS_BYTES(buffer, capacity);
        HF_NEEDS(value_bytes);
        return of.get(name, std::span(static_cast<std::byte*>(buffer), capacity));
      });
}

int32_t hf_space_erase(hf_space* space, const void* key, size_t key_bytes, uint32_t flags,
                       int32_t* existed) {
  return c::on_key(space, key, key_bytes, flags, existed,
                   [](kv::Space& of, std::string_view name, kv::WriteOptions options) {
                     return of.erase(name, options);
                   });
}

int32_t hf_space_append(hf_space* space, const void* key, size_t key_bytes, const void* bytes,
                        size_t count, uint32_t flags, uint64_t* version) {
  return c::on_key(
      space, key, key_bytes, flags, version,
      [&](kv::Space& of, std::string_view name, kv::WriteOptions options) -> Result<kv::Version> {
        HF_NEEDS_BYTES(bytes, count);
        return of.append(name, c::text_of(bytes, count), options);
      });
}

int32_t hf_space_merge(hf_space* space, const void* key, size_t key_bytes, int32_t function,
                       const void* operand, size_t operand_bytes, uint32_t flags,
                       uint64_t* version) {
  return c::on_key(
      space, key, key_bytes, flags, version,
      [&](kv::Space& of, std::string_view name, kv::WriteOptions options) -> Result<kv::Version> {
        HF_NEEDS_BYTES(operand, operand_bytes);
        if (function < HF_MERGE_APPEND || function > HF_MERGE_OR)
          return c::unknown_number("function", function, "HF_MERGE_APPEND (0) to HF_MERGE_OR (7)");
        return of.merge(name, static_cast<kv::MergeFunction>(function),
                        c::text_of(operand, operand_bytes), options);
      });
}

int32_t hf_batch_put_in(hf_batch* batch, hf_space* space, const void* key, size_t key_bytes,
                        const void* value, size_t value_bytes) {
  return boundary([&]() -> Status {
    HF_NEEDS(batch);
    HF_NEEDS(space);
    HF_NEEDS_KEY(key, key_bytes);
    HF_NEEDS_VALUE(value, value_bytes);
    batch->batch.put(space->space, c::text_of(key, key_bytes), c::text_of(value, value_bytes));
    return {};
  });
}

int32_t hf_batch_erase_in(hf_batch* batch, hf_space* space, const void* key, size_t key_bytes) {
  return boundary([&]() -> Status {
    HF_NEEDS(batch);
    HF_NEEDS(space);
    HF_NEEDS_KEY(key, key_bytes);
    batch->batch.erase(space->space, c::text_of(key, key_bytes));
    return {};
  });
}

void hf_space_close(hf_space* space) { delete space; }
