// verbs.hpp: the hot verbs of a store, as they were compiled for its CPU and medium. Chosen once,
// when it opens; a call is one jump.
#pragma once

#include <span>
#include <string>

#include <holdfast/kv/byte_spans.hpp>
#include <holdfast/kv/rooms.hpp>
#include <holdfast/kv/store.hpp>

namespace holdfast::kv {

struct Verbs {
  using Change = FunctionRef<std::uint64_t(std::uint64_t)>;

  // With the durability of the store: so its arguments fit into registers.
  Result<PutOutcome> (*put)(StoreCore&, std::string_view key, std::string_view value);
  Result<bool> (*erase)(StoreCore&, std::string_view key, Durability);
  Result<std::uint64_t> (*update_word)(StoreCore&, std::string_view key, std::uint32_t offset_bytes,
                                       Change change, Durability);
  Status (*put_many)(StoreCore&, const ByteSpans& keys, const ByteSpans& values, WriteOptions);
  // Both copy as much as fits. The second returns the length of the whole value.
  Result<Version> (*get)(StoreCore&, std::string_view key, std::span<std::byte> buffer);
  Result<std::uint64_t> (*get_length)(StoreCore&, std::string_view key,
                                      std::span<std::byte> buffer);
  Status (*get_texts)(StoreCore&, const ByteSpans& keys, std::string* values,
                      std::span<Errc> outcomes);
  Status (*get_objects)(StoreCore&, const ByteSpans& keys, std::byte* values,
                        std::size_t value_bytes, std::span<Errc> outcomes);
};

// The best instances that this CPU and this store allow. `at_most`: for tests.
Verbs verbs_for(const Rooms& rooms, RecordIsa at_most = record_isa());

// Of one instruction set each: the CPU has it, the medium is not paged, and keys are hashed by
// instruction. kSome is none of theirs.
Verbs verbs_avx512(LineWay way, Patchable patchable);
Verbs verbs_avx2(LineWay way, Patchable patchable);
// Of any store.
Verbs verbs_of_any();

}  // namespace holdfast::kv
