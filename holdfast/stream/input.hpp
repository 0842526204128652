// input.hpp: the bytes that a source reads: of a file, of a file that gzip packed, of a socket.
//
// Threads  One at a time.
// Errors   kIo and kNotFound (the call, the name, the reason), kCorrupt (a damaged gzip file),
//          kUnsupported (no regular file).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <holdfast/base/result.hpp>

namespace holdfast::stream {

class Input {
 public:
  virtual ~Input() = default;
  // At most `size` of the bytes that follow. 0: the end, or none for now.
  virtual Result<std::size_t> read(char* to, std::size_t size) = 0;
  // True: what read() said with 0 is final.
  virtual bool at_end() const = 0;
  // `offset`: bytes from the beginning, of a packed file unpacked. Errors: kInvalidOption (there
  // are fewer), kUnsupported (a socket).
  virtual Status seek(std::uint64_t offset) = 0;
  virtual const std::string& name() const = 0;
};

// A file whose first bytes are those of gzip is unpacked; to seek in it is to read from its
// beginning.
Result<std::unique_ptr<Input>> open_file_input(const std::string& path);

// A client's end of a TCP connection. read() waits 100 ms at most. The end is where the other side
// closes.
Result<std::unique_ptr<Input>> open_socket_input(const std::string& host, std::uint16_t port);

}  // namespace holdfast::stream
