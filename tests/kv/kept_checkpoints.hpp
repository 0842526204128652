// kept_checkpoints.hpp: what a user of checkpoints keeps: each run once, whichever checkpoint it
// came with, and the newest private part.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <holdfast/kv/checkpoint.hpp>

namespace holdfast::kv {

struct Kept {
  std::map<RunName, std::vector<std::byte>> runs;
  std::vector<std::byte> private_part;
  std::uint64_t copied_bytes = 0, copied_runs = 0;

  // Copies what an earlier checkpoint has not.
  void take(const Checkpoint& checkpoint) {
    copied_bytes = copied_runs = 0;
    for (std::size_t i = 0; i < checkpoint.runs().size(); ++i) {
      const CheckpointRun& run = checkpoint.runs()[i];
      std::vector<std::byte> bytes(run.bytes);
      ASSERT_TRUE(checkpoint.read(i, bytes));
      const auto [at, fresh] = runs.try_emplace(run.name, bytes);
      EXPECT_TRUE(at->second == bytes) << "a name stands for the same bytes for ever";
      copied_bytes += fresh ? run.bytes : 0;
      copied_runs += fresh;
    }
    private_part = checkpoint.private_part().value();
  }
  // As restore() and import_checkpoint() ask for them.
  auto reader() const {
    return [this](const CheckpointRun& run, std::span<std::byte> to) -> Status {
      const auto found = runs.find(run.name);
      if (found == runs.end() || found->second.size() != to.size())
        return Error{Errc::kNotFound, "run " + std::to_string(run.name.generation)};
      std::copy(found->second.begin(), found->second.end(), to.begin());
      return {};
    };
  }
  Status restore_to(const std::string& spec) const {
    const auto read = reader();
    return restore(spec, private_part, read);
  }
};

}  // namespace holdfast::kv
