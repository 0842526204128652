// Fields under the crash checker at depth 2, 1 to 9 lines, and what a killed process leaves.
#include <gtest/gtest.h>

#include <cstring>

#include <holdfast/blocks/field/cow_field.hpp>
#include <holdfast/blocks/field/fam_field.hpp>
#include <holdfast/blocks/field/field_group.hpp>
#include <holdfast/blocks/field/log_field.hpp>

#include "crash_support.hpp"
#include "log_support.hpp"

namespace holdfast::blocks {
namespace {

template <std::size_t N>
struct Bytes {
  std::uint8_t bytes[N];
};
template <std::size_t N>
Bytes<N> value_of(std::uint64_t number) {
  Bytes<N> value{};
  if (number != 0) std::memcpy(&value, pattern(number, N).data(), N);
  return value;
}
template <std::size_t N>
std::string text_of(const Bytes<N>& value) {
  return {reinterpret_cast<const char*>(&value), N};
}

// How each technique opens, updates and reads `count` fields on a region.
template <std::size_t N>
struct Fam {
  static constexpr unsigned kFences = 1;
  static constexpr bool kLogged = false, kSelector = false;
  static std::string text(std::uint64_t number) { return text_of(value_of<N>(number)); }
  struct alignas(64) Place {
    FamField<Bytes<N>> field;
  };
  Fam(Region& region, bool) : region_(region) {}
  static void create(Region&) {}
  Status recover(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      HF_RETURN_IF_ERROR(at(i).recover(region_.persist()));
    return {};
  }
  void update(std::size_t i, std::uint64_t number) {
    at(i).update(region_.persist(), value_of<N>(number));
  }
  std::string read(std::size_t i) { return text_of(at(i).read()); }
  FamField<Bytes<N>>& at(std::size_t i) {
    return reinterpret_cast<Place*>(region_.data())[i].field;
  }
  Region& region_;
};

template <std::size_t N>
struct Cow {
  static constexpr unsigned kFences = 2;
  static constexpr bool kLogged = false, kSelector = true;
  static std::string text(std::uint64_t number) { return text_of(value_of<N>(number)); }
  struct alignas(64) Place {
    CowField<Bytes<N>> field;
  };
  Cow(Region& region, bool) : region_(region) {}
  static void create(Region&) {}
  Status recover(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      HF_RETURN_IF_ERROR(at(i).recover(region_.persist()));
    return {};
  }
  void update(std::size_t i, std::uint64_t number) {
    at(i).update(region_.persist(), value_of<N>(number));
  }
  std::string read(std::size_t i) { return text_of(at(i).read()); }
  CowField<Bytes<N>>& at(std::size_t i) {
    return reinterpret_cast<Place*>(region_.data())[i].field;
  }
  Region& region_;
};

template <std::size_t N>
struct Logged {
  static constexpr unsigned kFences = 2;
  static constexpr bool kLogged = true, kSelector = false;
  static std::string text(std::uint64_t number) { return text_of(value_of<N>(number)); }
  static constexpr Extent kLog{4 * KiB, 12 * KiB};
  Logged(Region& region, bool)
      : log_(Log::open(region, kLog).value()), redo_(region, log_), region_(region) {}
  static void create(Region& region) {
    (void)Log::create(region, kLog, LogKind{}.options(4 * KiB, 1)).value();
  }
  Status recover(std::size_t) { return redo_.recover(); }
  void update(std::size_t i, std::uint64_t number) {
    at(i).update(redo_, value_of<N>(number)).value();
  }
  std::string read(std::size_t i) { return text_of(at(i).read()); }
  LogField<Bytes<N>>& at(std::size_t i) {
    return *reinterpret_cast<LogField<Bytes<N>>*>(region_.data() + i * round_up(N, 64));
  }
  Log log_;
  FieldLog redo_;
  Region& region_;
};

template <class Technique>
class FieldCrash : public testing::Test {};
using Techniques = testing::Types<Fam<16>, Fam<32>, Fam<64>, Fam<100>, Fam<128>, Fam<256>, Cow<16>,
                                  Cow<32>, Cow<64>, Cow<128>, Cow<256>, Logged<16>, Logged<64>,
                                  Logged<72>, Logged<128>, Logged<256>>;
TYPED_TEST_SUITE(FieldCrash, Techniques);

std::vector<crash::Model> media() { return {crash::kLine, crash::kLineStreaming, crash::kByte}; }

// Two fields; operations 1, 2, 3 update field 0, 1, 0 with values of their number.
constexpr std::size_t kFields = 2;
std::size_t field_of(std::uint64_t id) { return id == 2 ? 1 : 0; }

template <class Technique>
crash::Protocol<Texts> protocol_of() {
  crash::Protocol<Texts> protocol;
  protocol.setup = [](Region& region) {
    Technique::create(region);
    Technique technique(region, true);
    technique.update(0, 90);
    technique.update(1, 91);
  };
  protocol.recover = [](Region& region) -> Result<Texts> {
    Technique technique(region, false);
    HF_RETURN_IF_ERROR(technique.recover(kFields));
    return Texts{technique.read(0), technique.read(1)};
  };
  protocol.check = [](const crash::Past<Texts>& past, const Texts& seen) -> std::string {
    Texts expected = past.base;
    for (const auto& operation : past.operations) {
      if (!operation.acknowledged() && seen == expected) return "";
      expected[field_of(operation.id)] = Technique::text(operation.id);
    }
    return seen == expected ? "" : "a field is torn, lost or old";
  };
  protocol.print = print_texts;
  return protocol;
}

TYPED_TEST(FieldCrash, UpdatesAreThereOrNotAndCountTheirFences) {
  for (const auto& model : media()) {
    auto protocol = protocol_of<TypeParam>();
    protocol.initial = {TypeParam::text(90), TypeParam::text(91)};
    protocol.workload = [](Region& region, crash::Workload& run) {
      TypeParam technique(region, false);
      technique.recover(kFields).value();
      for (std::uint64_t id = 1; id <= 3; ++id)
        run.perform(id, [&] { technique.update(field_of(id), id); });
    };
    protocol.then = [](Region& region, crash::Workload& run, const Texts&) {
      TypeParam technique(region, false);
      technique.recover(kFields).value();
      run.perform(4, [&] { technique.update(0, 4); });
    };
    const auto report = crash::check(protocol, crash_options(model, 16 * KiB));
    ASSERT_TRUE(report.ok()) << crash::name(model) << "\n" << report;
    EXPECT_GT(report.images_in_all(), 5u);
    EXPECT_EQ(report.operation(3).barriers(), TypeParam::kFences);
    EXPECT_EQ(report.operation(3).redundant_fences, 0u);
  }
}

// A process that is killed in an update leaves its stores in the cache, not written back. What a
// recovery shows must be durable: the checker demands it at the acknowledgement of operation 1,
// which is the recovery. Killed in the middle, it leaves one block of FAM that is to be rolled
// back.
TYPED_TEST(FieldCrash, WhatAKilledProcessLeftIsDurableAfterRecovery) {
  constexpr bool kRollsBack = !TypeParam::kSelector && !TypeParam::kLogged;
  for (const bool half : {false, true}) {
    if (half && !kRollsBack) continue;
    auto protocol = protocol_of<TypeParam>();
    protocol.initial = {TypeParam::text(90), TypeParam::text(91)};
    protocol.workload = [=](Region& region, crash::Workload& run) {
      {
        const auto quiet = run.quiet();
        auto twin = dram(64 * KiB);
        std::memcpy(twin.data(), region.data(), region.size_bytes());
        TypeParam technique(twin, false);
        technique.update(0, 1);
        // A redo record and a copy are durable before the value or the selector, at 0, changes.
        for (auto at = region.size_bytes(); at > 0;) {
          at -= 8;
          auto* const to = reinterpret_cast<std::uint64_t*>(region.data() + at);
          const auto word = *reinterpret_cast<const std::uint64_t*>(twin.data() + at);
          if (*to == word) continue;
          region.persist().store(to, word);
          if (at >= 4 * KiB || (TypeParam::kSelector && at != 0)) region.persist().persist(to, 8);
          if (half) break;
        }
      }
      run.perform(1, [&] {
        TypeParam technique(region, false);
        technique.recover(kFields).value();
      });
    };
    protocol.check = [=](const crash::Past<Texts>& past, const Texts& seen) -> std::string {
      const bool changed = seen[0] == TypeParam::text(1), old = seen[0] == TypeParam::text(90);
      const bool recovered = past.operations[0].acknowledged();
      const bool right = half ? old : TypeParam::kLogged ? changed : changed || (old && !recovered);
      return right && seen[1] == TypeParam::text(91) ? "" : "not what the killed process left";
    };
    const auto report = crash::check(protocol, crash_options(crash::kLine, 16 * KiB));
    EXPECT_TRUE(report.ok()) << report;
  }
}

// Operation 1 fills the redo log, so that 2 truncates it first; or, after a crash in 1, the
// operation after the recovery does, when what the log held has only just been put in place.
TEST(FieldLogCrash, AnUpdateThatFindsItsLogFullLosesNoFieldsValue) {
  using Technique = Logged<16>;
  const auto fill = [](Region& region, std::uint64_t updates) {
    Technique::create(region);
    Technique technique(region, true);
    technique.update(0, 90);
    const auto head = technique.log_.head();
    std::uint64_t done = 0;
    while (done < updates && technique.log_.head() == head)
      technique.update(1, 100 + done++);
    return done;
  };
  auto probe = dram(16 * KiB);
  const auto room = fill(probe, 1'000) - 1;  // The last one truncated.
  for (const auto& model : media()) {
    auto protocol = protocol_of<Technique>();
    protocol.setup = [&](Region& region) { fill(region, room - 1); };
    protocol.initial = {Technique::text(90), Technique::text(100 + room - 2)};
    const auto update = [](Region& region, crash::Workload& run, std::uint64_t id) {
      Technique technique(region, false);
      technique.recover(kFields).value();
      run.perform(id, [&] { technique.update(1, id); });
      return technique.log_.head();
    };
    protocol.workload = [&](Region& region, crash::Workload& run) {
      const auto head = update(region, run, 1);
      EXPECT_GT(update(region, run, 2), head) << "it was not full";
    };
    protocol.then = [&](Region& region, crash::Workload& run, const Texts&) {
      update(region, run, 3);
    };
    protocol.check = [](const crash::Past<Texts>& past, const Texts& seen) -> std::string {
      auto expected = past.base;
      for (const auto& operation : past.operations) {
        if (!operation.acknowledged() && seen == expected) return "";
        expected[1] = Technique::text(operation.id);
      }
      return seen == expected ? "" : "a field is torn, lost or old";
    };
    const auto report = crash::check(protocol, crash_options(model, 16 * KiB));
    ASSERT_TRUE(report.ok()) << crash::name(model) << "\n" << report;
  }
}

TEST(FieldGroupCrash, EachFieldOfAGroupIsOldOrNewAndNothingIsAcknowledgedBeforeTheFence) {
  using Field = FamField<Bytes<16>>;
  crash::Protocol<Texts> protocol;
  protocol.initial = {text_of(value_of<16>(0)), text_of(value_of<16>(0))};
  const auto field = [](Region& region, std::size_t i) -> Field& {
    return *reinterpret_cast<Field*>(region.data() + 64 * i);
  };
  protocol.workload = [=](Region& region, crash::Workload& run) {
    FieldGroup group(region.persist());
    for (std::uint64_t id = 1; id <= 3; ++id) {
      run.begin(id, static_cast<std::uint32_t>(id));
      group.update(field(region, field_of(id)), value_of<16>(id));
    }
    group.commit();
    for (std::uint64_t id = 1; id <= 3; ++id)
      run.acknowledge(id);
  };
  protocol.recover = [=](Region& region) -> Result<Texts> {
    Texts found;
    for (std::size_t i = 0; i < 2; ++i) {
      HF_RETURN_IF_ERROR(field(region, i).recover(region.persist()));
      found.push_back(text_of(field(region, i).read()));
    }
    return found;
  };
  protocol.check = [](const crash::Past<Texts>& past, const Texts& seen) -> std::string {
    // Field 0 takes 1, then 3; field 1 takes 2.
    const auto is = [&](std::size_t i, std::uint64_t n) {
      return seen[i] == text_of(value_of<16>(n));
    };
    const bool all = past.operations.back().acknowledged() && past.operations.size() == 3;
    if (all) return is(0, 3) && is(1, 2) ? "" : "an acknowledged update is lost";
    return (is(0, 0) || is(0, 1) || is(0, 3)) && (is(1, 0) || is(1, 2)) ? "" : "a torn field";
  };
  for (const auto& model : media()) {
    const auto report = crash::check(protocol, crash_options(model, 4 * KiB));
    EXPECT_TRUE(report.ok()) << report;
  }
}

}  // namespace
}  // namespace holdfast::blocks
