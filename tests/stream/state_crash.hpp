// state_crash.hpp: the state of a query in kv, over a region under the crash checker.
#pragma once

#include <holdfast/stream_kv/kv_state_store.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "../kv/kv_crash.hpp"

namespace holdfast::stream {

using Entries = std::multiset<std::string>;  // "slice:key=state"

struct Found {
  std::uint64_t epoch = 0;  // 0: no checkpoint.
  std::string metadata;
  Entries entries;
  bool operator==(const Found&) const = default;
};

inline kv::StoreOptions ordered_options() {
  kv::StoreOptions options = kv::small_options();
  options.order = true;
  options.durability = kv::Durability::kDefault;  // As the command opens it.
  return options;
}

// A query's state over a region under the checker; it goes as a process dies.
class Query {
 public:
  explicit Query(Region&& region)
      : store_(std::make_shared<kv::Store<>>(
            kv::Store<>::open(std::move(region), ordered_options()).value())),
        state_(store_, 1),
        checkpoint_(state_.open().value()) {}
  ~Query() { kv::ForTests::abandon(*store_); }

  KvStateStore& state() { return state_; }
  std::uint64_t epoch() const { return checkpoint_ ? checkpoint_->epoch : 0; }

  Found found() {
    Found all{epoch(), checkpoint_ ? checkpoint_->metadata : "", {}};
    const auto slices = state_.slices().value();
    for (const auto slice : slices) {
      const auto keep = [&](std::string_view key, std::string_view state) -> Status {
        all.entries.insert(std::to_string(slice) + ":" + std::string(key) + "=" +
                           std::string(state));
        return {};
      };
      state_.for_each(slice, keep).value();
    }
    return all;
  }

 private:
  std::shared_ptr<kv::Store<>> store_;
  KvStateStore state_;
  std::optional<Checkpoint> checkpoint_;
};

class StateCrash : public kv::OnEveryMedium {
 protected:
  // `images`: so many per run, unless all is to be looked at.
  static crash::Options check_options(std::uint64_t images) {
    crash::Options check{.size_bytes = 64 * KiB,
                         .unit_bytes = 64 * KiB,
                         .max_size_bytes = 1 * MiB,
                         .images_per_run = kv::thorough() ? 15'000u : images};
    check.model = GetParam();
    // Of a file the table of blocks may follow.
    check.durable_at_acknowledge = GetParam().granularity != Granularity::kPage;
    return check;
  }
};

}  // namespace holdfast::stream
