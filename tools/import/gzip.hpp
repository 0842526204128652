// gzip.hpp: texts that come or go as gzip.
//
// Both are fed pieces of any size and hold some hundred kilobytes, whatever they are fed.
// Threads: one at a time.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <holdfast/base/function_ref.hpp>
#include <holdfast/base/result.hpp>

namespace holdfast::tools {

// Passes on what it is fed. If that begins as gzip does, passes on what was compressed: of one
// member after the other, where there are several.
class GzipReader {
 public:
  // False: stop.
  using Take = FunctionRef<bool(std::string_view)>;

  GzipReader();
  ~GzipReader();

  // False once `take` has said stop. Errors: kIo, naming the byte of the compressed text at which it
  // is seen not to be intact. What was passed on before may be damaged, too: a member has its sum
  // at its end.
  Result<bool> feed(std::string_view bytes, Take take);
  // The input is over. Errors: kIo, if that cuts a member short.
  Result<bool> finish(Take take);

 private:
  struct Inflation;
  Result<bool> inflate(std::string_view bytes, Take take);

  std::string held_;                      // The first byte, until the second tells what this is.
  bool decided_ = false;                  // Whether it is gzip.
  std::unique_ptr<Inflation> inflation_;  // Null: it is not.
};

class GzipWriter {
 public:
  GzipWriter();
  ~GzipWriter();

  // Appends to `out` what is ready of the compressed text.
  void append(std::string_view text, std::string& out);
  // The end. Nothing is to be appended behind it.
  void finish(std::string& out);

 private:
  struct Deflation;
  void run(int flush, std::string& out);

  std::unique_ptr<Deflation> deflation_;
};

}  // namespace holdfast::tools
