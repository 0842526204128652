// verify.hpp: everything on the medium, read and checked: words, footers, records, and that the
// index agrees. Finds damage; changes nothing.
#pragma once

#include <optional>

#include <holdfast/kv/rooms.hpp>
#include <holdfast/kv/sealed_run.hpp>

namespace holdfast::kv {

// The report on a store that is not read, and why.
VerifyReport nothing_verified(const Error& why);

class Verification {
 public:
  // `found_at_open`: what recovery noted. Nothing may be freed while it runs.
  // `space`: records of this keyspace only.
  Verification(Rooms& rooms, const std::vector<Defect>& found_at_open,
               std::optional<std::uint16_t> space = {});
  VerifyReport run();
  // A pass of reclamation keeps verify() out, and waits for verbs that are under way.
  static Error called_back() {
    return {Errc::kBusy, "a verb that is under way has called this; verify later"};
  }

 private:
  void check_run(std::uint64_t head);
  void check_record(const SealedRun& run, const BlockMeta& meta, std::uint32_t i);
  enum class IndexHas { kIt, kOlder, kNothing, kItThoughDead };
  void check_dead_bit(const SealedRun& run, std::uint32_t i, Line line, const std::string& name);
  IndexHas check_index(const RecordView& record, Line line, std::uint64_t hash,
                       const BlockMeta& meta, const std::string& name);
  void defect(std::uint64_t offset, std::string what);

  Rooms& rooms_;
  const bool found_at_open_;
  const std::optional<std::uint16_t> space_;
  Session& own_;
  VerifyReport report_;
};

}  // namespace holdfast::kv
