// snapshot_store.hpp: state in DRAM; each checkpoint is one file with all of it.
//
// The file is replaced atomically (durable_file.hpp) and ends with a hash of its bytes.
#pragma once

#include <map>
#include <utility>

#include <holdfast/stream/bytes.hpp>
#include <holdfast/stream/state_store.hpp>

namespace holdfast::stream {

class SnapshotStore : public StateStore {
 public:
  explicit SnapshotStore(std::string path) : path_(std::move(path)) {}

  Result<std::optional<Checkpoint>> open() override;
  Result<std::vector<std::int64_t>> slices() override;
  Status for_each(std::int64_t slice, Visit visit) override;
  Status put(std::int64_t slice, std::string_view key, std::string_view state) override;
  Status replace(std::int64_t slice, std::string_view key, std::string_view state,
                 std::uint64_t&) override {
    return put(slice, key, state);
  }
  Status for_each_version(std::int64_t slice, VisitVersion visit) override {
    return for_each(
        slice, [&](std::string_view key, std::string_view state) { return visit(key, state, 0); });
  }
  void remove_version(std::int64_t, std::string_view, std::uint64_t) override {}
  void drop(std::int64_t) override {}
  Status complete(const Checkpoint& checkpoint) override;
  bool keeps_entries() const override { return false; }
  std::uint64_t bytes() const override { return bytes_; }

 private:
  std::string path_;
  // What open() found, until the first checkpoint.
  std::map<std::int64_t, std::vector<std::pair<std::string, std::string>>> found_;
  ByteWriter entries_;
  std::uint64_t count_ = 0;
  std::uint64_t bytes_ = 0;  // Of the file.
};

}  // namespace holdfast::stream
