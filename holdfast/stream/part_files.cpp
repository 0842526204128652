#include "part_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <vector>

namespace holdfast::stream {
namespace {

constexpr std::size_t kBufferBytes = 1 << 16;

// The number in "part-0000000012.csv", whatever its suffix, or ".part-0000000012.inprogress"; 0:
// another file.
std::uint64_t number_of(const std::string& name, bool& hidden) {
  hidden = name.starts_with(".part-");
  const std::size_t begin = hidden ? 6 : 5;
  if (!hidden && !name.starts_with("part-")) return 0;
  const auto end = name.find('.', begin);
  if (end == std::string::npos || (hidden && name.substr(end) != ".inprogress")) return 0;
  const auto digits = name.substr(begin, end - begin);
  if (digits.empty() || digits.size() > 18 ||
      digits.find_first_not_of("0123456789") != std::string::npos)
    return 0;
  return std::stoull(digits);
}

std::string with_number(const char* format, std::uint64_t number) {
  char text[64];
  std::snprintf(text, sizeof text, format, static_cast<unsigned long long>(number));
  return text;
}

}  // namespace

std::string PartFiles::finished(std::uint64_t number) const {
  return with_number("part-%010llu", number) + suffix_;
}
std::string PartFiles::hidden(std::uint64_t number) {
  return with_number(".part-%010llu.inprogress", number);
}

Status PartFiles::open_folder() {
  if (folder_) return {};
  std::error_code code;
  std::filesystem::create_directories(directory_, code);
  if (code) return Error{Errc::kIo, "mkdir " + directory_ + ": " + code.message()};
  HF_ASSIGN_OR_RETURN(folder_, locked_directory(directory_));
  return {};
}

Status PartFiles::begin(std::uint64_t epoch, std::uint64_t base) {
  HF_RETURN_IF_ERROR(open_folder());
  std::error_code code;
  std::vector<std::uint64_t> hidden_ones;
  std::uint64_t newest = 0;
  for (std::filesystem::directory_iterator at(directory_, code), end; !code && at != end;
       at.increment(code)) {
    bool is_hidden = false;
    const auto number = number_of(at->path().filename().string(), is_hidden);
    if (number == 0) continue;
    if (is_hidden)
      hidden_ones.push_back(number);
    else
      newest = std::max(newest, number);
  }
  if (code) return Error{Errc::kIo, "read " + directory_ + ": " + code.message()};
  const std::uint64_t given = number_ == 0 ? 0 : number_ - 1;
  base_ = epoch == 0 ? std::max(newest, given) : base;
  for (const auto number : hidden_ones) {
    if (number > base_ && number <= base_ + epoch) {
      HF_RETURN_IF_ERROR(finish(number));
    } else if (::unlinkat(folder_.get(), hidden(number).c_str(), 0) != 0 && errno != ENOENT) {
      return memory_detail::system_error("unlink", path_of(hidden(number)), errno);
    }
  }
  number_ = base_ + epoch + 1;
  return memory_detail::sync_directory(folder_.get(), directory_);
}

Status PartFiles::write(std::string_view bytes) {
  buffer_ += bytes;
  return buffer_.size() < kBufferBytes ? Status() : flush();
}

Status PartFiles::flush() {
  if (buffer_.empty()) return {};
  if (!file_) {
    const auto name = hidden(number_);
    HF_ASSIGN_OR_RETURN(file_, create_file(folder_.get(), name, path_of(name)));
    written_bytes_ = 0;
  }
  HF_RETURN_IF_ERROR(write_at(file_, buffer_, written_bytes_, path_of(hidden(number_))));
  written_bytes_ += buffer_.size();
  buffer_.clear();
  return {};
}

Status PartFiles::prepare(std::uint64_t epoch) {
  HF_RETURN_IF_ERROR(flush());
  number_ = base_ + epoch;
  if (!file_) return {};
  HF_RETURN_IF_ERROR(memory_detail::sync_data(file_.get(), path_of(hidden(number_))));
  file_ = FileDescriptor();
  return memory_detail::sync_directory(folder_.get(), directory_);
}

Status PartFiles::commit(std::uint64_t epoch) {
  const auto number = base_ + epoch;
  number_ = number + 1;
  const bool written = ::faccessat(folder_.get(), hidden(number).c_str(), F_OK, 0) == 0;
  if (!written) return {};
  HF_RETURN_IF_ERROR(finish(number));
  return memory_detail::sync_directory(folder_.get(), directory_);
}

Status PartFiles::finish(std::uint64_t number) {
  const auto to = finished(number);
  if (::faccessat(folder_.get(), to.c_str(), F_OK, 0) == 0)
    return Error{Errc::kAlreadyExists,
                 path_of(to) + " is there; another query writes to this directory"};
  return memory_detail::rename_at(folder_.get(), hidden(number), to, directory_);
}

}  // namespace holdfast::stream
