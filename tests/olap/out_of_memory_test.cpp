// Allocations that find no memory, on threads of ours: errors, and no end of the process.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <new>
#include <thread>

#include <holdfast/olap/background_merge.hpp>
#include <holdfast/olap/in_order.hpp>

#include "mart/mart_support.hpp"

namespace {

std::atomic<bool> no_memory{false};
thread_local bool has_memory = false;  // Of the thread of the test.

void* taken(std::size_t bytes) {
  constexpr std::size_t kLarge = 32 * 1024;
  void* const memory =
      no_memory && !has_memory && bytes >= kLarge ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) { return taken(bytes); }
void* operator new[](std::size_t bytes) { return taken(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace holdfast::olap {
namespace {

template <class Condition>
bool comes(Condition holds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!holds() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return holds();
}

// It ended the process.
TEST(OlapMemory, AMergeInTheBackgroundThatFindsNoneIsDoneAgain) {
  has_memory = true;
  auto star = mart::empty_mart();
  const mart::SalesData data(1, 200);
  mart::load_data(*star.store, data).value();
  for (unsigned round = 0; round < 40; ++round)
    mart::append_lines(*star.store, 0, data.tables[0]).value();
  no_memory = true;
  const auto merge = BackgroundMerge::start(*star.store, 4).value();
  const bool failed = comes([&] { return merge->last_error().code() == Errc::kNoSpace; });
  no_memory = false;
  EXPECT_TRUE(failed);
  EXPECT_EQ(merge->last_error().error().detail, "out of memory");
  merge->notice();
  EXPECT_TRUE(comes([&] {
    return mart::small_blocks(star.store->version()->catalogue()) < 4 && merge->last_error();
  }));
  EXPECT_EQ(star.store->version()->catalogue().fact_rows(), 41u * 200);
  EXPECT_TRUE(star.store->version()->verify().empty());
}

// The threads that made the pieces were left behind, which ended the process.
TEST(OlapMemory, PiecesThatAreTakenWhereThereIsNoneAreAnError) {
  for (const unsigned threads : {1u, 4u}) {
    int taken = 0;
    const auto status = in_order<int>(
        50, threads, [](std::uint64_t i) -> Result<int> { return static_cast<int>(i); },
        [&](int piece) -> Status {
          EXPECT_EQ(piece, taken++);
          if (piece == 20) throw std::bad_alloc();
          return {};
        });
    EXPECT_EQ(status.code(), Errc::kNoSpace);
    EXPECT_EQ(taken, 21);
  }
}

TEST(OlapMemory, PiecesComeInTheirOrder) {
  for (const unsigned threads : {1u, 2u, 7u}) {
    std::uint64_t next = 0;
    in_order<std::uint64_t>(
        1'000, threads,
        [](std::uint64_t i) -> Result<std::uint64_t> {
          if (i % 7 == 0) std::this_thread::yield();
          return i;
        },
        [&](std::uint64_t piece) -> Status {
          EXPECT_EQ(piece, next++);
          return {};
        })
        .value();
    EXPECT_EQ(next, 1'000u);
  }
}

}  // namespace
}  // namespace holdfast::olap
