// line_buffer.hpp: private memory that begins on a line, as the kernels that make records store.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

#include <holdfast/base/units.hpp>

namespace holdfast::kv {

struct FreeLines {
  void operator()(std::byte* lines) const { std::free(lines); }
};
using LineBuffer = std::unique_ptr<std::byte, FreeLines>;

// `bytes` is a multiple of a line. Null: the system has no memory.
inline LineBuffer make_line_buffer(std::size_t bytes) {
  return LineBuffer(static_cast<std::byte*>(std::aligned_alloc(kCacheLineBytes, bytes)));
}

}  // namespace holdfast::kv
