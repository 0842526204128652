#include "cache.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <string_view>

#include <holdfast/base/hash.hpp>
#include <holdfast/stream/compile/runtime_headers.hpp>
#include <holdfast/stream/durable_file.hpp>

namespace holdfast::stream::compile {
namespace {

namespace fs = std::filesystem;

Error failed(const std::string& what, int code) {
  return {code == ENOSPC ? Errc::kNoSpace : Errc::kIo, what + ": " + std::strerror(code)};
}

// 128 bits: two hashes of one text.
constexpr std::size_t kHashDigits = 32;
std::string hash_text(const std::string& text) {
  char digits[kHashDigits + 1];
  std::snprintf(digits, sizeof digits, "%016llx%016llx",
                static_cast<unsigned long long>(hash64(text)),
                static_cast<unsigned long long>(hash64(text + "2")));
  return digits;
}

// What is compiled of a source: its first lines are a comment, which shows the plan with the names
// of its files. The same query of other files is the same code.
std::string_view code_of(std::string_view source) {
  while (source.starts_with("//"))
    source.remove_prefix(std::min(source.find('\n'), source.size() - 1) + 1);
  return source;
}

Result<std::string> usual_directory() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && cache[0] == '/') return std::string(cache) + "/holdfast/stream";
  const char* const home = std::getenv("HOME");
  if (home != nullptr && home[0] == '/') return std::string(home) + "/.cache/holdfast/stream";
  return Error{Errc::kInvalidOption,
               "there is no place for compiled queries: $HOME is not set; name one with --cache"};
}

Status check_owner(const std::string& directory) {
  struct stat found{};
  if (::lstat(directory.c_str(), &found) != 0) return failed(directory, errno);
  if (S_ISDIR(found.st_mode) && found.st_uid == ::geteuid() && (found.st_mode & 0077) == 0)
    return {};
  return Error{Errc::kInvalidOption, directory +
                                         " is no directory of yours alone (mode 0700): libraries "
                                         "in it would be loaded"};
}

// How long a file stays that nobody reads. Zero: it is none of ours.
std::chrono::hours most_age(const std::string& name) {
  constexpr std::chrono::hours kOfUse{30 * 24};
  if (name.starts_with("own-")) return std::chrono::hours(1);
  if (name.starts_with("runtime-") || name.starts_with("headers-")) return kOfUse;
  const auto digits = name.find_first_not_of("0123456789abcdef");
  if (digits != kHashDigits) return {};
  return name.compare(digits, name.npos, ".cpp") == 0 || name.compare(digits, name.npos, ".so") == 0
             ? kOfUse
             : std::chrono::hours();
}

// Since it was written or read. File systems that note no reading (noatime) have a file of use made
// anew now and then.
std::chrono::seconds age_of(const std::string& path) {
  struct stat found{};
  if (::lstat(path.c_str(), &found) != 0) return {};
  return std::chrono::seconds(std::time(nullptr) - std::max(found.st_atime, found.st_mtime));
}

std::string all_headers() {
  std::string text;
  for (const auto& header : kRuntimeHeaders)
    text += header.text;
  return text;
}

}  // namespace

OwnFile::~OwnFile() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

Result<Cache> Cache::open(std::string directory) {
  if (directory.empty()) {
    HF_ASSIGN_OR_RETURN(directory, usual_directory());
  }
  std::error_code code;
  const auto absolute = fs::absolute(directory, code);
  if (!code) fs::create_directories(absolute.parent_path(), code);
  if (code) return failed(directory, code.value());
  if (::mkdir(absolute.c_str(), 0700) != 0 && errno != EEXIST) return failed(directory, errno);
  HF_RETURN_IF_ERROR(check_owner(absolute.string()));
  Cache cache;
  cache.directory_ = absolute.string();
  cache.headers_ = cache.directory_ + "/runtime-" + hash_text(all_headers());
  cache.remove_old();
  HF_RETURN_IF_ERROR(cache.write_headers());
  return cache;
}

void Cache::remove_old() const {
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(directory_, code)) {
    const auto path = entry.path().string();
    const auto most = most_age(entry.path().filename().string());
    if (most.count() != 0 && age_of(path) > most && path != headers_)
      fs::remove_all(entry.path(), code);
  }
}

std::string Cache::own_name(const std::string& ending) const {
  // Those of other machines, or of containers, may have the same number.
  return directory_ + "/own-" + std::to_string(::getpid()) + "-" + random_name() + ending;
}

Status Cache::write_headers() {
  std::error_code code;
  if (fs::is_directory(headers_, code)) return {};
  const auto own = own_name(".headers");
  for (const auto& header : kRuntimeHeaders) {
    const auto path = fs::path(own) / header.path;
    fs::create_directories(path.parent_path(), code);
    if (code) return failed(path.parent_path().string(), code.value());
    HF_RETURN_IF_ERROR(replace_file(path.string(), std::string(header.text)));
  }
  const bool renamed = ::rename(own.c_str(), headers_.c_str()) == 0;
  const int why = errno;
  if (!renamed) fs::remove_all(own, code);
  // Another process may have been first.
  return renamed || why == EEXIST || why == ENOTEMPTY ? Status() : Status(failed(headers_, why));
}

Result<std::string> Cache::place_of(const std::string& source, const std::string& identity) const {
  const std::string code(code_of(source));
  const auto place = directory_ + "/" + hash_text(identity + "\n" + headers_ + "\n" + code);
  const auto kept = read_file(place + ".cpp");
  if (!kept || code_of(*kept) != code) {
    ::unlink((place + ".so").c_str());
    const auto own = own_file(".cpp");
    const auto path = place + ".cpp";
    HF_RETURN_IF_ERROR(replace_file(own.path(), source));
    if (::rename(own.path().c_str(), path.c_str()) != 0) return failed(path, errno);
  }
  return place;
}

Status Cache::publish(const std::string& path, const std::string& place) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return failed(path, errno);
  const int code = ::fsync(file) == 0 ? 0 : errno;
  ::close(file);
  if (code != 0) return failed(path, code);
  if (::rename(path.c_str(), place.c_str()) != 0) return failed(place, errno);
  return {};
}

std::string Cache::headers_place(const std::string& identity) const {
  return directory_ + "/headers-" + hash_text(identity + "\n" + headers_) + ".hpp";
}

}  // namespace holdfast::stream::compile
