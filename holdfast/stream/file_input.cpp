#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <holdfast/memory/system.hpp>
#include <holdfast/stream/input.hpp>

namespace holdfast::stream {
namespace {

using memory_detail::FileDescriptor;
using memory_detail::system_error;

Error shorter(const std::string& path, std::uint64_t bytes, std::uint64_t offset) {
  return Error{Errc::kInvalidOption,
               path + " has " + std::to_string(bytes) + " bytes, and was read up to byte " +
                   std::to_string(offset) + " before; it is not the file it was"};
}

class FileInput final : public Input {
 public:
  FileInput(FileDescriptor file, std::string path)
      : file_(std::move(file)), path_(std::move(path)) {}

  Result<std::size_t> read(char* to, std::size_t size) override {
    for (;;) {
      const ssize_t got = ::read(file_.get(), to, size);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return system_error("read", path_, errno);
      return static_cast<std::size_t>(got);
    }
  }
  bool at_end() const override { return true; }
  Status seek(std::uint64_t offset) override {
    struct stat status{};
    if (::fstat(file_.get(), &status) != 0) return system_error("stat", path_, errno);
    const auto bytes = static_cast<std::uint64_t>(status.st_size);
    if (offset > bytes) return shorter(path_, bytes, offset);
    if (::lseek(file_.get(), static_cast<off_t>(offset), SEEK_SET) < 0)
      return system_error("seek", path_, errno);
    return {};
  }
  const std::string& name() const override { return path_; }

 private:
  FileDescriptor file_;
  std::string path_;
};

class GzipInput final : public Input {
 public:
  explicit GzipInput(FileInput file) : file_(std::move(file)) {}
  ~GzipInput() override {
    if (begun_) ::inflateEnd(&stream_);
  }
  GzipInput(const GzipInput&) = delete;
  GzipInput& operator=(const GzipInput&) = delete;

  Result<std::size_t> read(char* to, std::size_t size) override {
    if (!begun_) HF_RETURN_IF_ERROR(begin());
    if (!wrong_.empty()) return broken(wrong_);
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = static_cast<uInt>(std::min(size, std::size_t{1} << 30));
    const auto room = stream_.avail_out;
    while (stream_.avail_out == room) {
      if (stream_.avail_in == 0) HF_RETURN_IF_ERROR(fill());
      if (behind_member_) skip_zeros();
      if (stream_.avail_in == 0 && !at_end_of_file_) continue;
      if (stream_.avail_in == 0) {
        if (within_) return broken("it ends within its data");
        return std::size_t{0};
      }
      const int code = ::inflate(&stream_, Z_NO_FLUSH);
      if (code == Z_MEM_ERROR) return Error{Errc::kNoSpace, "inflate " + name() + ": no memory"};
      if (code != Z_OK && code != Z_STREAM_END) {
        wrong_ = stream_.msg != nullptr ? stream_.msg : "its data are damaged";
        if (stream_.avail_out == room) return broken(wrong_);
        break;  // What comes before the damage is whole.
      }
      within_ = code != Z_STREAM_END;
      behind_member_ = !within_;
      // A file may have several members, one behind the other.
      if (!within_ && ::inflateReset(&stream_) != Z_OK) return broken("inflate cannot go on");
    }
    return std::size_t{room - stream_.avail_out};
  }
  bool at_end() const override { return true; }
  Status seek(std::uint64_t offset) override {
    if (begun_) ::inflateEnd(&stream_);
    begun_ = within_ = behind_member_ = at_end_of_file_ = false;
    wrong_.clear();
    HF_RETURN_IF_ERROR(file_.seek(0));
    std::string skipped(1 << 16, '\0');
    for (std::uint64_t at = 0; at < offset;) {
      const auto wanted = std::min<std::uint64_t>(skipped.size(), offset - at);
      HF_ASSIGN_OR_RETURN(const auto got, read(skipped.data(), wanted));
      if (got == 0) return shorter(name(), at, offset);
      at += got;
    }
    return {};
  }
  const std::string& name() const override { return file_.name(); }

 private:
  Status begin() {
    stream_ = {};
    // 15 bits of window, and 16: the head of gzip.
    if (::inflateInit2(&stream_, 15 + 16) != Z_OK)
      return Error{Errc::kNoSpace, "inflate " + name() + ": no memory"};
    begun_ = true;
    return {};
  }
  Status fill() {
    HF_ASSIGN_OR_RETURN(const auto got, file_.read(packed_.data(), packed_.size()));
    stream_.next_in = reinterpret_cast<Bytef*>(packed_.data());
    stream_.avail_in = static_cast<uInt>(got);
    at_end_of_file_ = got == 0;
    return {};
  }
  // As gzip does: tapes and some programs fill the last block up.
  void skip_zeros() {
    while (stream_.avail_in > 0 && *stream_.next_in == 0)
      ++stream_.next_in, --stream_.avail_in;
  }
  Error broken(const std::string& what) const {
    return Error{Errc::kCorrupt, name() + " is a damaged gzip file: " + what};
  }

  FileInput file_;
  z_stream stream_{};
  bool begun_ = false;
  bool within_ = false;         // Of a member that has not ended.
  bool behind_member_ = false;  // Of one that has, and before the next.
  bool at_end_of_file_ = false;
  std::string wrong_;  // Of the bytes that come next.
  std::string packed_ = std::string(1 << 16, '\0');
};

}  // namespace

Result<std::unique_ptr<Input>> open_file_input(const std::string& path) {
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return system_error("open", path, errno);
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return system_error("stat", path, errno);
  if (!S_ISREG(status.st_mode))
    return Error{Errc::kUnsupported,
                 path + " is neither a regular file nor a directory of such files"};
  unsigned char magic[2] = {};
  const bool packed = ::pread(file.get(), magic, 2, 0) == 2 && magic[0] == 0x1f && magic[1] == 0x8b;
  FileInput plain(std::move(file), path);
  if (packed) return std::unique_ptr<Input>(std::make_unique<GzipInput>(std::move(plain)));
  return std::unique_ptr<Input>(std::make_unique<FileInput>(std::move(plain)));
}

}  // namespace holdfast::stream
