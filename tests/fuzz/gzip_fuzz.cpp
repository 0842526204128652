// Any bytes, cut anywhere, go through the reader of gzip. What must hold for every input:
//   - where it is cut changes nothing, neither the text nor whether there is an error;
//   - it comes back as itself after it was compressed.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "../../tools/import/gzip.hpp"

namespace {

using namespace holdfast::tools;

constexpr std::size_t kMost = 1 << 20;  // Of what is looked at; a few bytes may hold gigabytes.

std::string read(std::string_view bytes, std::size_t chunk_bytes) {
  GzipReader reader;
  std::string text;
  const auto take = [&](std::string_view piece) {
    text += piece.substr(0, kMost - text.size());
    return text.size() < kMost;
  };
  while (!bytes.empty()) {
    const auto fed = reader.feed(bytes.substr(0, chunk_bytes), take);
    if (!fed) return text + "\nERROR";
    if (!*fed) return text;
    bytes.remove_prefix(std::min(chunk_bytes, bytes.size()));
  }
  const auto done = reader.finish(take);
  return done ? text : text + "\nERROR";
}

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "gzip_fuzz: %s\n", what);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string_view bytes{reinterpret_cast<const char*>(data) + 1, size - 1};
  const auto whole = read(bytes, bytes.size() + 1);
  require(read(bytes, data[0] + 1u) == whole, "cut elsewhere, it says something else");

  GzipWriter writer;
  std::string compressed;
  writer.append(bytes.substr(0, bytes.size() / 2), compressed);
  writer.append(bytes.substr(bytes.size() / 2), compressed);
  writer.finish(compressed);
  require(read(compressed, data[0] + 1u) == bytes.substr(0, kMost), "it does not come back");
  return 0;
}
