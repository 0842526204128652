// The copies of persist.hpp in three widths, chosen once by what the CPU has.
//
// All keep one rule: memory between two boundaries of an aligned 8-byte word is written by a single
// store instruction, so that no crash and no other thread sees half of a word. memcpy promises
// nothing of the kind (libc may copy a tail twice at odd offsets, or byte by byte).
#include <immintrin.h>

#include <atomic>
#include <cstring>

#include <holdfast/base/sanitizer.hpp>
#include <holdfast/memory/copy.hpp>
#include <holdfast/memory/cpu.hpp>

namespace holdfast {
namespace memory_detail {
namespace {

template <class T>
T load_as(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// One store instruction of sizeof(T), to an address aligned to it.
template <class T>
void store_as(std::byte* to, const std::byte* from) {
  std::atomic_ref<T>(*reinterpret_cast<T*>(to)).store(load_as<T>(from), std::memory_order_relaxed);
}

// Fewer than 8 bytes, up to or starting at a boundary of 8: each store aligned to its size.
void copy_below_word(std::byte*& to, const std::byte*& from, std::size_t bytes) {
  while (bytes > 0) {
    const auto address = reinterpret_cast<std::uintptr_t>(to);
    std::size_t step = 1;
    if (bytes >= 4 && address % 4 == 0) {
      store_as<std::uint32_t>(to, from), step = 4;
    } else if (bytes >= 2 && address % 2 == 0) {
      store_as<std::uint16_t>(to, from), step = 2;
    } else {
      store_as<std::uint8_t>(to, from);
    }
    to += step, from += step, bytes -= step;
  }
}

// Bytes before the first boundary of `alignment` in a range of `bytes`.
std::size_t head_bytes(const std::byte* to, std::size_t bytes, std::size_t alignment) {
  const auto head = (0 - reinterpret_cast<std::uintptr_t>(to)) % alignment;
  return head < bytes ? head : bytes;
}

}  // namespace

void copy_portable(std::byte* to, const std::byte* from, std::size_t bytes) {
  const auto head = head_bytes(to, bytes, 8);
  copy_below_word(to, from, head);
  bytes -= head;
  for (; bytes >= 8; to += 8, from += 8, bytes -= 8)
    store_as<std::uint64_t>(to, from);
  copy_below_word(to, from, bytes);
}

__attribute__((target("avx2"))) void copy_avx2(std::byte* to, const std::byte* from,
                                               std::size_t bytes) {
  const auto head = head_bytes(to, bytes, 8);
  if (head != 0) copy_below_word(to, from, head);
  bytes -= head;
  // From here `to` is a multiple of 8, so vectors hold whole words. Up to a boundary of 32 by
  // words: then no vector crosses a line.
  while (bytes >= 8 && reinterpret_cast<std::uintptr_t>(to) % 32 != 0) {
    store_as<std::uint64_t>(to, from);
    to += 8, from += 8, bytes -= 8;
  }
  for (; bytes >= 32; to += 32, from += 32, bytes -= 32) {
    _mm256_store_si256(reinterpret_cast<__m256i*>(to),
                       _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  }
  for (; bytes >= 8; to += 8, from += 8, bytes -= 8)
    store_as<std::uint64_t>(to, from);
  if (bytes != 0) copy_below_word(to, from, bytes);
}

// One store per line touched: byte masks cut the first and the last to the range, and lanes outside
// the mask neither fault nor are written. A few words go one by one: a masked load of bytes that
// were stored just now waits until they have left the store buffer, which made 8 and 16 bytes,
// written back and fenced, 5 to 17 ns slower (of 165).
__attribute__((target("avx512f,avx512bw"))) void copy_avx512(std::byte* to, const std::byte* from,
                                                             std::size_t bytes) {
  if (bytes <= 32 && reinterpret_cast<std::uintptr_t>(to) % 8 == 0) {
    for (; bytes >= 8; to += 8, from += 8, bytes -= 8)
      store_as<std::uint64_t>(to, from);
    if (bytes != 0) copy_below_word(to, from, bytes);
    return;
  }
  const auto head = head_bytes(to, bytes, kCacheLineBytes);
  if (head != 0) {
    const __mmask64 mask = ~std::uint64_t{0} >> (64 - head);
    _mm512_mask_storeu_epi8(to, mask, _mm512_maskz_loadu_epi8(mask, from));
    to += head, from += head, bytes -= head;
  }
  for (; bytes >= 64; to += 64, from += 64, bytes -= 64) {
    _mm512_store_si512(to, _mm512_loadu_si512(from));
  }
  if (bytes != 0) {
    const __mmask64 mask = ~std::uint64_t{0} >> (64 - bytes);
    _mm512_mask_storeu_epi8(to, mask, _mm512_maskz_loadu_epi8(mask, from));
  }
}

void stream_portable(std::byte* to, const std::byte* from, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += 16) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + at),
                     _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at)));
  }
}

__attribute__((target("avx2"))) void stream_avx2(std::byte* to, const std::byte* from,
                                                 std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += 32) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + at),
                        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at)));
  }
}

__attribute__((target("avx512f"))) void stream_avx512(std::byte* to, const std::byte* from,
                                                      std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += 64) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + at), _mm512_loadu_si512(from + at));
  }
}

// Behind the last whole word there is no further word, so the rest may be read in pieces.
void read_portable(std::byte* to, const std::byte* from, std::size_t bytes) {
  for (; bytes >= 8; to += 8, from += 8, bytes -= 8) {
    const std::uint64_t word = std::atomic_ref<std::uint64_t>(
                                   *reinterpret_cast<std::uint64_t*>(const_cast<std::byte*>(from)))
                                   .load(std::memory_order_relaxed);
    std::memcpy(to, &word, sizeof word);
  }
  for (; bytes > 0; ++to, ++from, --bytes)
    *to = *from;
}

__attribute__((target("avx2"))) void read_avx2(std::byte* to, const std::byte* from,
                                               std::size_t bytes) {
  for (; bytes >= 32; to += 32, from += 32, bytes -= 32) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  }
  read_portable(to, from, bytes);
}

__attribute__((target("avx512f,avx512bw"))) void read_avx512(std::byte* to, const std::byte* from,
                                                             std::size_t bytes) {
  for (; bytes >= 64; to += 64, from += 64, bytes -= 64)
    _mm512_storeu_si512(to, _mm512_loadu_si512(from));
  if (bytes != 0) {
    const __mmask64 mask = ~std::uint64_t{0} >> (64 - bytes);
    _mm512_mask_storeu_epi8(to, mask, _mm512_maskz_loadu_epi8(mask, from));
  }
}

CopyKernels kernels(VectorWidth width) {
  switch (width) {
    case VectorWidth::kAvx512: return {&copy_avx512, &stream_avx512, &read_avx512};
    case VectorWidth::kAvx2: return {&copy_avx2, &stream_avx2, &read_avx2};
    case VectorWidth::kPortable: break;
  }
  return {&copy_portable, &stream_portable, &read_portable};
}

namespace {

void choose_and_copy(std::byte* to, const std::byte* from, std::size_t bytes);
void choose_and_stream(std::byte* to, const std::byte* from, std::size_t bytes);
void choose_and_read(std::byte* to, const std::byte* from, std::size_t bytes);

// Chosen at the first call, whichever static initializer makes it: hence no initializer of our own.
constinit std::atomic<CopyKernel> chosen_copy{&choose_and_copy};
constinit std::atomic<CopyKernel> chosen_stream{&choose_and_stream};
constinit std::atomic<CopyKernel> chosen_read{&choose_and_read};

void choose() {
  const auto best = kernels(cpu().vectors);
  chosen_copy.store(best.copy, std::memory_order_relaxed);
  chosen_stream.store(best.stream, std::memory_order_relaxed);
#ifdef HF_TSAN
  chosen_read.store(&read_portable, std::memory_order_relaxed);  // It takes a vector for a race.
#else
  chosen_read.store(best.read, std::memory_order_relaxed);
#endif
}
void choose_and_copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  choose();
  chosen_copy.load(std::memory_order_relaxed)(to, from, bytes);
}
void choose_and_stream(std::byte* to, const std::byte* from, std::size_t bytes) {
  choose();
  chosen_stream.load(std::memory_order_relaxed)(to, from, bytes);
}
void choose_and_read(std::byte* to, const std::byte* from, std::size_t bytes) {
  choose();
  chosen_read.load(std::memory_order_relaxed)(to, from, bytes);
}

}  // namespace
}  // namespace memory_detail

void copy_words(void* to, const void* from, std::size_t bytes) {
  memory_detail::chosen_copy.load(std::memory_order_relaxed)(
      static_cast<std::byte*>(to), static_cast<const std::byte*>(from), bytes);
}
void stream_lines(void* to, const void* from, std::size_t bytes) {
  memory_detail::chosen_stream.load(std::memory_order_relaxed)(
      static_cast<std::byte*>(to), static_cast<const std::byte*>(from), bytes);
}

void read_words(void* to, const void* from, std::size_t bytes) {
  memory_detail::chosen_read.load(std::memory_order_relaxed)(
      static_cast<std::byte*>(to), static_cast<const std::byte*>(from), bytes);
}

}  // namespace holdfast
