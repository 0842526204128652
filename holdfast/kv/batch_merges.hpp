// batch_merges.hpp: append() and merge() in atomic batches.
//
// What stands behind a put or an erase of the same batch is folded into it when the batch is taken
// apart. The rest depends on the store: it is decided under the latches of all keys, before the
// frame is appended. Pieces that are full are put before the frame that counts them, and are
// durable before it; if the batch fails, they are garbage.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include <holdfast/base/mutant.hpp>
#include <holdfast/kv/byte_spans.hpp>
#include <holdfast/kv/writes.hpp>

namespace holdfast::kv {

struct MergesOfBatch {
  struct One {
    std::string key;
    std::uint16_t space;
    Merged merged;
  };
  std::deque<One> all;  // Members of the batch have spans of them.
  bool wants_pieces = false;

  void give_up(Pieces& pieces) const {
    for (const One& one : all)
      if (!one.merged.piece.empty())
        pieces.end({one.key, one.space, one.merged.lineage, one.merged.pieces});
  }
};

// The operations of a batch, one member for each key.
class FoldedBatch {
 public:
  std::vector<BatchMember> members;
  // As the members: what is to be done to what the key has; empty for the usual put or erase.
  std::vector<std::vector<Operand>> operands;

  void reserve(std::size_t count) { members.reserve(count), operands.reserve(count); }
  void add(const WriteBatch::View& one, std::uint64_t hash, std::uint16_t space) {
    members.push_back(
        {{RecordKind::kPut, hash, bytes_of(one.key), bytes_of(one.value)}, {}, space});
    operands.emplace_back();
    set(members.size() - 1, one);
  }
  // Another operation on the key of member `at`. Errors: kInvalidOption.
  Status add_to(std::size_t at, const WriteBatch::View& one) {
    if (one.kind != WriteBatch::Kind::kMerge || !operands[at].empty()) {
      set(at, one);
      return {};
    }
    NewRecord& record = members[at].record;
    std::optional<std::string_view> value;
    if (record.kind == RecordKind::kPut)
      value.emplace(reinterpret_cast<const char*>(record.value.data()), record.value.size());
    HF_ASSIGN_OR_RETURN(std::string made, merge_value(value, {one.function, bytes_of(one.value)}));
    values_.push_back(std::move(made));
    record.kind = RecordKind::kPut;
    record.value = std::as_bytes(std::span(values_.back()));
    return {};
  }

 private:
  void set(std::size_t at, const WriteBatch::View& one) {
    if (one.kind == WriteBatch::Kind::kMerge) {
      operands[at].push_back({one.function, bytes_of(one.value)});
      return;
    }
    operands[at].clear();
    members[at].record.kind =
        one.kind == WriteBatch::Kind::kErase ? RecordKind::kErase : RecordKind::kPut;
    members[at].record.value = bytes_of(one.value);
  }

  std::deque<std::string> values_;
};

template <class R>
template <class Attempt>
Result<Version> BasicWrites<R>::write_with_merges(const Attempt& attempt) {
  for (;;) {
    MergesOfBatch made;
    auto outcome = attempt(made);
    if (!outcome) HF_MUTANT("K129", made.give_up(rooms_.pieces), void());
    if (!made.wants_pieces) return outcome;
    HF_RETURN_IF_ERROR(rooms_.pieces.begin());
  }
}

}  // namespace holdfast::kv
