#include <holdfast/bench/memory/access_list.hpp>

#include <sys/mman.h>

#include <algorithm>

#include <holdfast/base/random.hpp>
#include <holdfast/bench/engine/team.hpp>

namespace holdfast::bench::memory {
namespace {

// A piece has a seed of its own, so the list does not depend on how many threads fill it.
constexpr std::uint64_t kPiece = std::uint64_t{1} << 16;

void fill_piece(std::span<std::uint32_t> piece, SlotRange slots, Distribution distribution,
                const Zipf* zipf, std::uint64_t seed) {
  Random random(seed);
  for (auto& slot : piece) {
    const auto draw =
        distribution == Distribution::kZipf ? zipf->scrambled(random) : random.below(slots.count);
    slot = static_cast<std::uint32_t>(slots.first + draw);
  }
}

}  // namespace

AccessList::AccessList(std::uint64_t length, SlotRange slots, Distribution distribution,
                       double alpha, std::uint64_t seed, unsigned threads)
    : size_(std::clamp<std::uint64_t>(length, 1, kListMax)), range_(slots) {
  constexpr std::uint64_t kPadding = 16;
  slots_.reset(new std::uint32_t[size_ + kPadding]);
  std::fill_n(slots_.get() + size_, kPadding, 0u);
  const auto bytes = size_ * sizeof(std::uint32_t);
  const auto begin = reinterpret_cast<std::uintptr_t>(slots_.get());
  const auto page = begin & ~std::uintptr_t{4095};
  // Large pages for the list, so that reading it costs no TLB entries of the measured range.
  if (bytes >= (std::uint64_t{4} << 20))
    ::madvise(reinterpret_cast<void*>(page), bytes, MADV_HUGEPAGE);
  std::unique_ptr<Zipf> zipf;
  if (distribution == Distribution::kZipf) zipf = std::make_unique<Zipf>(slots.count, alpha);
  in_parallel((size_ + kPiece - 1) / kPiece, threads, [&](std::uint64_t piece) {
    const auto first = piece * kPiece;
    fill_piece({slots_.get() + first, std::min(kPiece, size_ - first)}, slots, distribution,
               zipf.get(), mix64(seed ^ mix64(piece + 1)));
  });
}

}  // namespace holdfast::bench::memory
