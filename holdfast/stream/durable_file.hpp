// durable_file.hpp: files that are there wholly or not at all.
//
// Errors  kIo, kNoSpace: name the call, the path and the reason.
#pragma once

#include <string>
#include <string_view>

#include <holdfast/base/result.hpp>

namespace holdfast::stream {

// Of errno.
Error system_error(std::string_view call, const std::string& path);
Status write_all(int file, std::string_view bytes, const std::string& path);
Status sync_directory(const std::string& directory);
// `path` holds `bytes` when it returns, durably; a crash leaves what was there or all of them.
Status replace_file(const std::string& path, std::string_view bytes);
// kNotFound where there is none.
Result<std::string> read_file(const std::string& path);

}  // namespace holdfast::stream
