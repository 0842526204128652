// no_host.hpp: a host for tests of the runtime of compiled queries, which refuses all that it is
// asked for.
#pragma once

#include <holdfast/stream/compile/runtime/interface.hpp>

namespace holdfast::query {

class NoHost : public Host {
 public:
  bool evaluate(std::uint32_t, const Slot*, Slot&) override { return false; }
  bool average(std::uint32_t, Int128, std::int64_t, std::uint32_t, Int128&) override {
    return false;
  }
  bool call(std::uint32_t, const Slot*, Slot&) override { return false; }
  const UserAggregate* user_aggregate(std::uint32_t) override { return nullptr; }
  bool user_result(std::uint32_t, const void*, Slot&) override { return false; }
  void fail_user(std::uint32_t, const void*) override {}
  void forget_texts() override {}
  bool write(const Change*, const std::byte*, std::size_t) override { return false; }
  void fail(std::uint32_t) override {}
  bool put(std::int64_t, Text, Text) override { return false; }
  bool for_each(std::int64_t, VisitEntries&) override { return false; }
  void drop(std::int64_t) override {}
  void give(std::int64_t, Parcel*) override {}
  bool replace(std::int64_t, Text, Text, std::uint64_t&) override { return false; }
  bool keeps_entries() const override { return false; }
  bool takes_blocks(std::uint64_t&) const override { return false; }
  bool finds_groups(std::uint64_t&) const override { return false; }
  bool group_by(std::int64_t, Grouping) override { return false; }
  bool for_each_of_group(std::int64_t, Text, VisitVersions&) override { return false; }
  bool for_each_of_times(std::int64_t, std::int64_t, std::int64_t, VisitVersions&,
                         std::int64_t&) override {
    return false;
  }
  void ask_for_checkpoint() override {}
  std::int64_t idle_ms() const override { return 0; }
  std::int64_t now_ms() const override { return 0; }
  void end_idle(std::int64_t, std::int64_t, std::int64_t, std::int64_t) override {}
  bool put_block(std::int64_t, Text, bool, std::uint64_t&) override { return false; }
  void drop_older(std::int64_t, std::uint64_t) override {}
  bool next_generation(std::int64_t, std::uint64_t&, BlockPlace&) override { return false; }
  bool next_block(std::int64_t, std::uint64_t, BlockPlace&, Text&) override { return false; }
  void refuse_entry() override {}
  bool take_late(std::size_t, std::size_t, const Slot*, std::int64_t) override { return false; }
  void find_span(bool, std::int64_t, ZoneSpan&) const override {}
};

}  // namespace holdfast::query
