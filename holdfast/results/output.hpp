// output.hpp: where a result, a report or a converted file goes.
//
//   path                         what is done
//   "-"                          written to standard output
//   standard output or error     the same, under whatever name: /dev/stdout, the file it was
//                                redirected to
//   a link                       what it points to is written; the link stays
//   a file, or nothing yet       replaced as a whole, by a temporary file beside it: a reader sees
//                                the old text or the new one, never a piece
//   a pipe, a terminal, a device written into; nothing is replaced
//   a block device, a directory  refused
//
// Errors  kIo: it cannot be written. kInvalidOption: it is none of what may be written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <holdfast/base/result.hpp>

namespace holdfast::results {

// Whether write_file() would work now. Nothing is written, and an existing file is not touched:
// call it before hours are spent on what `path` is to hold.
Status check_writable(const std::string& path);

// True where a text for `path` arrives on standard output: then nothing else should go there.
bool is_standard_output(const std::string& path);

// Writes all of `text`, or says why not. Waits at a named pipe for its reader.
Status write_file(std::string_view text, const std::string& path);

// Refuses directories, what is larger than `bytes_max`, and a named pipe that nobody writes into
// for a few seconds. Errors: kIo, kTooLarge.
Result<std::string> read_file(const std::string& path, std::uint64_t bytes_max);

}  // namespace holdfast::results
