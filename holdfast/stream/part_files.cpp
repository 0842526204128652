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

constexpr std::string_view kWritten = ".inprogress", kSynced = ".synced";

// Digits only, as many as a number of ours may have; 0: none.
std::uint64_t number_of(std::string_view digits) {
  const bool all = !digits.empty() && digits.size() <= 18 &&
                   digits.find_first_not_of("0123456789") == std::string_view::npos;
  return all ? std::stoull(std::string(digits)) : 0;
}

// Of "part-0000000012.csv", whatever its suffix.
std::uint64_t number_of_part(std::string_view name) {
  if (!name.starts_with("part-")) return 0;
  name.remove_prefix(5);
  return number_of(name.substr(0, name.find('.')));
}

// Of ".part-RUN-0000000012.synced"; `run` ends with it.
std::string hidden_prefix(std::string_view run) { return ".part-" + std::string(run) + "-"; }
std::uint64_t epoch_of(std::string_view name, std::string_view run) {
  const auto prefix = hidden_prefix(run);
  if (!name.starts_with(prefix) || !name.ends_with(kSynced)) return 0;
  name.remove_prefix(prefix.size());
  return number_of(name.substr(0, name.find('.')));
}

std::string ten_digits(std::uint64_t number) {
  char text[32];
  std::snprintf(text, sizeof text, "%010llu", static_cast<unsigned long long>(number));
  return text;
}

}  // namespace

std::string PartFiles::finished(std::uint64_t number) const {
  return "part-" + ten_digits(number) + suffix_;
}
std::string PartFiles::written() const { return ".part-" + run_ + std::string(kWritten); }
std::string PartFiles::synced(std::uint64_t epoch) const {
  return hidden_prefix(run_) + ten_digits(epoch) + std::string(kSynced);
}

Status PartFiles::open_folder() {
  if (folder_) return {};
  HF_RETURN_IF_ERROR(make_directories(directory_));
  HF_ASSIGN_OR_RETURN(folder_, locked_directory(directory_));
  return {};
}

Result<std::vector<std::string>> PartFiles::all_names() const {
  std::vector<std::string> names;
  std::error_code code;
  for (std::filesystem::directory_iterator at(directory_, code), end; !code && at != end;
       at.increment(code))
    names.push_back(at->path().filename().string());
  if (code) return Error{Errc::kIo, "read " + directory_ + ": " + code.message()};
  return names;
}

Status PartFiles::begin(std::uint64_t epoch, std::string_view run) {
  HF_RETURN_IF_ERROR(open_folder());
  run_ = run.empty() ? random_name() : run;
  HF_ASSIGN_OR_RETURN(const auto names, all_names());
  std::vector<std::string> goes;
  std::vector<std::uint64_t> own;
  for (const auto& name : names) {
    newest_ = std::max(newest_, number_of_part(name));
    if (name.starts_with(".part-") && name.ends_with(kWritten)) goes.push_back(name);
    if (const auto of = epoch_of(name, run_); of > epoch) {
      goes.push_back(name);
    } else if (of != 0) {
      own.push_back(of);
    }
  }
  for (const auto& name : goes) {
    if (::unlinkat(folder_.get(), name.c_str(), 0) != 0 && errno != ENOENT)
      return memory_detail::system_error("unlink", path_of(name), errno);
  }
  std::sort(own.begin(), own.end());
  for (const auto of : own)
    HF_RETURN_IF_ERROR(show(of));
  return memory_detail::sync_directory(folder_.get(), directory_);
}

Status PartFiles::begin_behind(std::uint64_t epoch, std::uint64_t base) {
  HF_RETURN_IF_ERROR(open_folder());
  HF_ASSIGN_OR_RETURN(const auto names, all_names());
  for (const auto& name : names) {
    const bool hidden = name.starts_with(".part-") && name.ends_with(kWritten);
    const auto number =
        hidden ? number_of(std::string_view(name).substr(6, name.size() - 6 - kWritten.size())) : 0;
    if (number > base && number - base <= epoch)
      HF_RETURN_IF_ERROR(
          memory_detail::rename_at(folder_.get(), name, finished(number), directory_));
  }
  return begin(0, {});
}

Status PartFiles::write(std::string_view bytes) {
  buffer_ += bytes;
  return buffer_.size() < kBufferBytes ? Status() : flush();
}

Status PartFiles::flush() {
  if (buffer_.empty()) return {};
  if (!file_) {
    HF_ASSIGN_OR_RETURN(file_, create_file(folder_.get(), written(), path_of(written())));
    written_bytes_ = 0;
  }
  HF_RETURN_IF_ERROR(write_at(file_, buffer_, written_bytes_, path_of(written())));
  written_bytes_ += buffer_.size();
  buffer_.clear();
  return {};
}

Status PartFiles::prepare(std::uint64_t epoch) {
  HF_RETURN_IF_ERROR(flush());
  if (!file_) return {};
  HF_RETURN_IF_ERROR(memory_detail::sync_data(file_.get(), path_of(written())));
  file_ = FileDescriptor();
  HF_RETURN_IF_ERROR(memory_detail::rename_at(folder_.get(), written(), synced(epoch), directory_));
  return memory_detail::sync_directory(folder_.get(), directory_);
}

Status PartFiles::commit(std::uint64_t epoch) {
  if (!is_there(synced(epoch))) return {};  // Without rows there is no part.
  HF_RETURN_IF_ERROR(show(epoch));
  return memory_detail::sync_directory(folder_.get(), directory_);
}

bool PartFiles::is_there(const std::string& name) const {
  return ::faccessat(folder_.get(), name.c_str(), F_OK, 0) == 0;
}

Status PartFiles::show(std::uint64_t epoch) {
  do
    ++newest_;
  while (is_there(finished(newest_)));  // Others write here, on a file system without locks.
  return memory_detail::rename_at(folder_.get(), synced(epoch), finished(newest_), directory_);
}

}  // namespace holdfast::stream
