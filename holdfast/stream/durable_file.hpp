// durable_file.hpp: files that are there wholly or not at all.
//
// All writes, syncs and renames go through memory/system.hpp, where tests let them fail.
//
// Errors  kIo, kNoSpace: name the call, the path and the reason.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <holdfast/base/result.hpp>
#include <holdfast/memory/system.hpp>

namespace holdfast::stream {

using memory_detail::FileDescriptor;

// Empty, for writing; replaces what is there. `name` is relative to `directory`; `path` is for the
// error.
Result<FileDescriptor> create_file(int directory, const std::string& name, const std::string& path);
Result<FileDescriptor> open_directory(const std::string& path);
// The same, for one run at a time: it is locked until all copies of it are closed. A file system
// without locks gives none. Errors: kBusy, kIo.
Result<FileDescriptor> locked_directory(const std::string& path);
// The directory and all above it that are not there: durable when it returns.
Status make_directories(const std::string& path);
// 16 hexadecimal digits: no other run has the same, on whatever machine.
std::string random_name();
bool is_random_name(std::string_view name);
Status write_at(const FileDescriptor& file, std::string_view bytes, std::uint64_t offset,
                const std::string& path);
// `path` holds `bytes` when it returns, durably; a crash or an error leaves what was there, or all
// of them.
Status replace_file(const std::string& path, std::string_view bytes);
// kNotFound where there is none.
Result<std::string> read_file(const std::string& path);

}  // namespace holdfast::stream
