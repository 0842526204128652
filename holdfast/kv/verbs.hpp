// verbs.hpp: the verbs of a store that were compiled for its CPU and medium. Chosen once, when it
// opens.
#pragma once

#include <span>
#include <string>

#include <holdfast/kv/byte_spans.hpp>
#include <holdfast/kv/rooms.hpp>
#include <holdfast/kv/store.hpp>
#include <holdfast/kv/verb_table.hpp>

namespace holdfast::index::ordered {
class Cursor;
}

namespace holdfast::kv {

struct Operation;
struct Packed;
struct Packing;
struct RecordAt;

struct Verbs : HotVerbs {
  Exchangeable<Status(StoreCore&, const ByteSpans& keys, const ByteSpans& values, WriteOptions)>
      put_many;
  // The stages of a group (groups_at_once.hpp). Each does the first operations, as many as are
  // usual, and returns how many. Verbs of AnyPath do none. The caller holds the lane and the guard
  // of `own`.
  using SomeOf = std::size_t(Rooms&, Session& own, std::span<Operation>);
  Exchangeable<SomeOf> append_some, publish_some;
  Exchangeable<bool(Rooms&, std::span<Operation>)> look_at_all;  // All of them, or false.
  Exchangeable<Status(StoreCore&, const ByteSpans& keys, std::string* values,
                      std::span<Errc> outcomes)>
      get_texts;
  // BasicReads::pack().
  Exchangeable<Packed(StoreCore&, index::ordered::Cursor& keys, Packing&, RecordAt& next)> pack;
  Exchangeable<Status(StoreCore&, const ByteSpans& keys, std::byte* values, std::size_t value_bytes,
                      std::span<Errc> outcomes)>
      get_objects;
};

// The best instances that this CPU and this store allow. `at_most`: for tests.
Verbs verbs_for(const Rooms& rooms, RecordIsa at_most = record_isa());

// Each for one instruction set: the CPU has it, the medium is not paged, and keys are hashed by
// instruction. They do not take kSome.
Verbs verbs_avx512(LineWay way, Patchable patchable, bool ordered);
Verbs verbs_avx2(LineWay way, Patchable patchable, bool ordered);
// For any store.
Verbs verbs_of_any();

}  // namespace holdfast::kv
