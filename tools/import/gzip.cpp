#include "gzip.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <climits>
#include <new>
#include <utility>

#include <holdfast/base/check.hpp>
#include <holdfast/base/units.hpp>

namespace holdfast::tools {
namespace {

constexpr std::size_t kBufferBytes = 64 * KiB;
constexpr int kGzipWindow = 15 + 16;  // zlib: the largest window, and a header of gzip.
constexpr int kMemoryLevel = 8;       // zlib's default.
constexpr std::string_view kMagic = "\x1f\x8b";

Bytef* as_input(std::string_view bytes) {  // zlib does not write to it.
  return reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
}

}  // namespace

struct GzipReader::Inflation {
  Inflation() {
    if (::inflateInit2(&stream, kGzipWindow) != Z_OK) throw std::bad_alloc();
  }
  ~Inflation() { ::inflateEnd(&stream); }
  Inflation(const Inflation&) = delete;
  Inflation& operator=(const Inflation&) = delete;

  // Passes on what the next bytes of a member hold. False: `take` said stop.
  Result<bool> run(Take take) {
    do {
      stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
      stream.avail_out = static_cast<uInt>(buffer.size());
      const auto before = stream.avail_in;
      const int code = ::inflate(&stream, Z_NO_FLUSH);
      read_bytes += before - stream.avail_in;
      const std::string_view text{buffer.data(), buffer.size() - stream.avail_out};
      if (!text.empty() && !take(text)) return false;
      if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) {
        return Error{
            Errc::kIo,
            fmt::format("not intact gzip at byte {}: {}; text before it may be damaged, too",
                        read_bytes, stream.msg != nullptr ? stream.msg : "it needs a dictionary")};
      }
      ended = code == Z_STREAM_END;
    } while (!ended && (stream.avail_in > 0 || stream.avail_out == 0));
    return true;
  }

  z_stream stream{};
  std::uint64_t read_bytes = 0;  // Of the compressed text.
  bool ended = false;            // A member, and no other has begun.
  std::string buffer = std::string(kBufferBytes, '\0');
};

GzipReader::GzipReader() = default;
GzipReader::~GzipReader() = default;

Result<bool> GzipReader::feed(std::string_view bytes, Take take) {
  if (bytes.empty()) return true;
  if (!decided_) {
    if (held_.empty() && bytes == kMagic.substr(0, 1)) {
      held_ = bytes;
      return true;
    }
    decided_ = true;
    const std::string earlier = std::exchange(held_, {});
    if (bytes.starts_with(kMagic.substr(earlier.size())))
      inflation_ = std::make_unique<Inflation>();
    const auto more = feed(earlier, take);
    if (!more || !*more) return more;
  }
  return inflation_ ? inflate(bytes, take) : take(bytes);
}

Result<bool> GzipReader::inflate(std::string_view bytes, Take take) {
  auto& stream = inflation_->stream;
  while (!bytes.empty()) {
    if (inflation_->ended) {  // Zeros may fill a block; else another member begins.
      bytes.remove_prefix(std::min(bytes.find_first_not_of('\0'), bytes.size()));
      if (bytes.empty()) break;
      if (bytes[0] != kMagic[0]) {
        return Error{Errc::kIo, fmt::format("not intact gzip: after byte {} follows what is none",
                                            inflation_->read_bytes)};
      }
      ::inflateReset(&stream);
      inflation_->ended = false;
    }
    stream.next_in = as_input(bytes);
    stream.avail_in = static_cast<uInt>(std::min<std::size_t>(bytes.size(), UINT_MAX));
    const auto given = stream.avail_in;
    const auto more = inflation_->run(take);
    if (!more || !*more) return more;
    bytes.remove_prefix(given - stream.avail_in);
  }
  return true;
}

Result<bool> GzipReader::finish(Take take) {
  if (!held_.empty()) return take(held_);
  if (inflation_ && !inflation_->ended) {
    return Error{Errc::kIo, fmt::format("not intact gzip: it is cut short after byte {}",
                                        inflation_->read_bytes)};
  }
  return true;
}

struct GzipWriter::Deflation {
  Deflation() {
    if (::deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, kMemoryLevel,
                       Z_DEFAULT_STRATEGY) != Z_OK)
      throw std::bad_alloc();
  }
  ~Deflation() { ::deflateEnd(&stream); }
  Deflation(const Deflation&) = delete;
  Deflation& operator=(const Deflation&) = delete;

  z_stream stream{};
  std::string buffer = std::string(kBufferBytes, '\0');
};

GzipWriter::GzipWriter() : deflation_(std::make_unique<Deflation>()) {}
GzipWriter::~GzipWriter() = default;

void GzipWriter::run(int flush, std::string& out) {
  auto& [stream, buffer] = *deflation_;
  do {
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream.avail_out = static_cast<uInt>(buffer.size());
    HF_CHECK(::deflate(&stream, flush) != Z_STREAM_ERROR);
    out.append(buffer.data(), buffer.size() - stream.avail_out);
  } while (stream.avail_out == 0);
}

void GzipWriter::append(std::string_view text, std::string& out) {
  while (!text.empty()) {
    const auto piece = text.substr(0, UINT_MAX);
    deflation_->stream.next_in = as_input(piece);
    deflation_->stream.avail_in = static_cast<uInt>(piece.size());
    run(Z_NO_FLUSH, out);
    text.remove_prefix(piece.size());
  }
}

void GzipWriter::finish(std::string& out) { run(Z_FINISH, out); }

}  // namespace holdfast::tools
