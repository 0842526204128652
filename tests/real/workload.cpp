#include "workload.hpp"

#include <algorithm>
#include <cstring>

#include <holdfast/base/check.hpp>
#include <holdfast/kv/pipeline.hpp>

namespace holdfast::real {
namespace {

// Bijective mixing of 64 bits (the finaliser of SplitMix64): neighbours become unrelated.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Numbers that follow from a seed, one after the other.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : state_(seed) {}
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(next() % bound); }

 private:
  std::uint64_t next() { return state_ = mix(state_); }
  std::uint64_t state_;
};

constexpr std::size_t kStampsBytes = 2 * sizeof(Stamp);

std::size_t value_bytes(Stamp writer) {
  const std::uint64_t r = mix(writer);
  // Mostly small; one in 16 spans several pages, one in 16 has no filler at all.
  switch (r % 16) {
    case 0: return kStampsBytes;
    case 1: return kStampsBytes + 1024 + (r >> 8) % 5120;
    default: return kStampsBytes + (r >> 8) % 300;
  }
}

}  // namespace

Stamp make_stamp(std::uint32_t round, unsigned thread, std::uint64_t number, std::size_t member) {
  HF_CHECK(round < (1u << 12) && thread < (1u << 6) && number < (1ull << 38) && member < (1u << 7));
  return 1ull << 63 | std::uint64_t{round} << 51 | std::uint64_t{thread} << 45 | number << 7 |
         member;
}

std::string describe(Stamp stamp) {
  return "round " + std::to_string(stamp >> 51 & 0xfff) + ", thread " +
         std::to_string(stamp >> 45 & 0x3f) + ", operation " +
         std::to_string(stamp >> 7 & ((1ull << 38) - 1)) + ", member " +
         std::to_string(stamp & 0x7f);
}

Operation Workload::operation(unsigned thread, std::uint64_t number) const {
  Draw draw{mix(seed) ^ mix(std::uint64_t{thread} << 40 | number)};
  // Every other draw is from an eighth of the keys: those see long histories; of the rest the
  // last operation is often long ago, so that a loss anywhere in a run stays visible at its end.
  const auto skewed_below = [&](std::uint32_t bound) {
    return draw.below(draw.below(2) == 0 ? (bound + 7) / 8 : bound);
  };
  const auto any_key = [&] {
    const bool shared = shared_keys > 0 && draw.below(2) == 0;
    return shared ? threads * private_keys + skewed_below(shared_keys)
                  : thread * private_keys + skewed_below(private_keys);
  };
  const auto is_private = [&](std::uint32_t key) { return key < threads * private_keys; };

  Operation operation;
  const auto add = [&](std::uint32_t key, bool erase) {
    const bool seen = std::any_of(operation.members.begin(), operation.members.end(),
                                  [&](const Member& member) { return member.key == key; });
    if (!seen) operation.members.push_back({key, erase});
  };
  const std::uint32_t dice = draw.below(100);
  if (dice < 45) {
    operation.kind = Kind::kPut;
    add(any_key(), false);
  } else if (dice < 65) {
    operation.kind = Kind::kUpdateWord;
    add(any_key(), false);
  } else if (dice < 80) {
    operation.kind = Kind::kErase;
    add(any_key(), true);
  } else if (dice < 92) {
    operation.kind = Kind::kBatch;
    for (std::uint32_t i = 2 + draw.below(5); i > 0; --i) {
      const std::uint32_t key = any_key();
      add(key, is_private(key) && draw.below(4) == 0);
    }
  } else {
    operation.kind = Kind::kPutMany;
    for (std::uint32_t i = 2 + draw.below(15); i > 0; --i) {
      add(any_key(), false);
    }
  }
  return operation;
}

std::string key_name(std::uint32_t key) {
  // Lengths from a few bytes to more than a cache line; all keys differ in their number.
  return "key/" + std::to_string(key) + "/" +
         std::string(mix(key) % 90, static_cast<char>('a' + key % 26));
}

std::string value_of(Stamp writer) {
  std::string value(value_bytes(writer), '\0');
  std::memcpy(value.data(), &writer, sizeof writer);
  std::memcpy(value.data() + sizeof writer, &writer, sizeof writer);
  std::uint64_t filler = writer;
  for (std::size_t i = kStampsBytes; i < value.size(); ++i) {
    if (i % 8 == 0) filler = mix(filler);
    value[i] = static_cast<char>(filler >> i % 8 * 8);
  }
  return value;
}

std::optional<RecordState> decode_value(std::string_view value) {
  if (value.size() < kStampsBytes) return std::nullopt;
  RecordState state;
  std::memcpy(&state.updater, value.data(), sizeof state.updater);
  std::memcpy(&state.writer, value.data() + sizeof state.updater, sizeof state.writer);
  if (value.substr(sizeof state.updater) !=
      std::string_view{value_of(state.writer)}.substr(sizeof state.updater)) {
    return std::nullopt;
  }
  return state;
}

Performed perform(kv::Store<>& store, const Operation& operation, std::uint32_t round,
                  unsigned thread, std::uint64_t number, std::atomic<std::uint64_t>& previous) {
  const auto finish = [](const auto& result) {
    return result ? Performed{} : Performed{result.code(), result.error().message()};
  };
  const auto stamp = [&](std::size_t member) { return make_stamp(round, thread, number, member); };
  const std::string key = key_name(operation.members[0].key);
  switch (operation.kind) {
    case Kind::kPut: return finish(store.put(key, value_of(stamp(0))));
    case Kind::kUpdateWord:
      return finish(store.update_word(key, 0, [&](std::uint64_t word) {
        previous.store(word, std::memory_order_release);
        return stamp(0);
      }));
    case Kind::kErase: {
      const auto erased = store.erase(key);
      if (erased && !erased.value()) return {Errc::kNotFound, {}};
      return finish(erased);
    }
    case Kind::kBatch: {
      kv::WriteBatch batch;
      for (std::size_t i = 0; i < operation.members.size(); ++i) {
        const Member& member = operation.members[i];
        if (member.erase) {
          batch.erase(key_name(member.key));
        } else {
          batch.put(key_name(member.key), value_of(stamp(i)));
        }
      }
      return finish(store.write(batch));
    }
    case Kind::kPutMany: {
      std::vector<std::string> keys, values;
      for (std::size_t i = 0; i < operation.members.size(); ++i) {
        keys.push_back(key_name(operation.members[i].key));
        values.push_back(value_of(stamp(i)));
      }
      if (number % 2 == 1) {  // In flight at most eight at a time; all are acknowledged here.
        auto pipeline = kv::Pipeline<>::open(store, {.window = 8}).value();
        for (std::size_t i = 0; i < keys.size(); ++i)
          pipeline.put(keys[i], values[i]);
        const Status status = pipeline.flush();
        return status ? Performed{} : Performed{status.code(), status.error().message()};
      }
      const std::vector<std::string_view> key_views(keys.begin(), keys.end());
      const std::vector<std::string_view> value_views(values.begin(), values.end());
      const Status status = store.put_many(key_views, value_views);
      return status ? Performed{} : Performed{status.code(), status.error().message()};
    }
  }
  return {Errc::kInvalidOption, "no such kind"};
}

}  // namespace holdfast::real
