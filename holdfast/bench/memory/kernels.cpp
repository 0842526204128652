// The kernels without vectors.
#include <holdfast/bench/memory/kernels.hpp>

#include <holdfast/bench/memory/vector_lines.hpp>

namespace holdfast::bench::memory {
namespace {

// Volatile: each word is loaded by an instruction of its own, as the benchmark says.
template <bool kSlots>
void read_words(const Accesses& accesses) {
  const auto words = accesses.lines;
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < accesses.count; ++i) {
    const auto* at = reinterpret_cast<const volatile std::uint64_t*>(accesses.base +
                                                                     byte_of<kSlots>(accesses, i));
    for (std::uint64_t word = 0; word < words; ++word)
      sum += at[word];
  }
  accesses.lanes->sum[0] += sum;
}

template <bool kSlots, Flush kFlush, bool kFence>
void write_words(const Accesses& accesses) {
  const auto words = accesses.lines;
  for (std::uint64_t i = 0; i < accesses.count; ++i) {
    const auto byte = byte_of<kSlots>(accesses, i);
    auto* at = accesses.base + byte;
    for (std::uint64_t word = 0; word < words; ++word)
      write_word<kFlush>(at + word * 8, content_of_word(byte / 8 + word) + accesses.tag);
    flush_line<kFlush>(at);
    if constexpr (kFence) x86_64::store_fence();
  }
}

template <bool kSlots>
std::uint64_t* last_word(const Accesses& accesses, std::uint64_t i) {
  return reinterpret_cast<std::uint64_t*>(accesses.base + byte_of<kSlots>(accesses, i)) +
         accesses.lines - 1;
}

template <bool kSlots>
void compare_and_swap(const Accesses& accesses) {
  for (std::uint64_t i = 0; i < accesses.count; ++i) {
    auto* word = last_word<kSlots>(accesses, i);
    auto expected = __atomic_load_n(word, __ATOMIC_RELAXED);
    // Until it succeeds: an operation that changed nothing is none.
    while (!__atomic_compare_exchange_n(word, &expected, expected + 1, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_RELAXED)) {
    }
  }
}

template <bool kSlots>
void fetch_and_add(const Accesses& accesses) {
  for (std::uint64_t i = 0; i < accesses.count; ++i)
    __atomic_fetch_add(last_word<kSlots>(accesses, i), 1, __ATOMIC_SEQ_CST);
}

}  // namespace

const Kernel kReadWords[2] = {&read_words<false>, &read_words<true>};
const Kernel kWriteWords[2][kFlushCount][2] = {
    {{&write_words<false, Flush::kNone, false>, &write_words<false, Flush::kNone, true>},
     {&write_words<false, Flush::kClwb, false>, &write_words<false, Flush::kClwb, true>},
     {&write_words<false, Flush::kClflushopt, false>,
      &write_words<false, Flush::kClflushopt, true>},
     {&write_words<false, Flush::kClflush, false>, &write_words<false, Flush::kClflush, true>},
     {&write_words<false, Flush::kNonTemporal, false>,
      &write_words<false, Flush::kNonTemporal, true>},
     {&write_words<false, Flush::kFenceOnly, false>, &write_words<false, Flush::kFenceOnly, true>}},
    {{&write_words<true, Flush::kNone, false>, &write_words<true, Flush::kNone, true>},
     {&write_words<true, Flush::kClwb, false>, &write_words<true, Flush::kClwb, true>},
     {&write_words<true, Flush::kClflushopt, false>, &write_words<true, Flush::kClflushopt, true>},
     {&write_words<true, Flush::kClflush, false>, &write_words<true, Flush::kClflush, true>},
     {&write_words<true, Flush::kNonTemporal, false>,
      &write_words<true, Flush::kNonTemporal, true>},
     {&write_words<true, Flush::kFenceOnly, false>, &write_words<true, Flush::kFenceOnly, true>}}};
const Kernel kCompareAndSwap[2] = {&compare_and_swap<false>, &compare_and_swap<true>};
const Kernel kFetchAndAdd[2] = {&fetch_and_add<false>, &fetch_and_add<true>};

std::uint64_t chase(const std::byte* base, std::uint64_t at_byte, std::uint64_t hops) {
  for (std::uint64_t i = 0; i < hops; ++i)
    at_byte = *reinterpret_cast<const volatile std::uint64_t*>(base + at_byte);
  return at_byte;
}

void fence() { x86_64::store_fence(); }

}  // namespace holdfast::bench::memory
