#include <holdfast/results/output.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

namespace holdfast::results {
namespace {

namespace fs = std::filesystem;

Error io_error(const std::string& path, const char* call) {
  return {Errc::kIo,
          path + ": " + call + ": " + std::strerror(errno) + "; give a path that can be written"};
}

// A file descriptor that is closed at the end.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  bool open() const { return number_ >= 0; }
  int number() const { return number_; }

 private:
  int number_;
};

enum class Kind { kStandardStream, kNamedPipe, kDevice, kFile };

struct Destination {
  Kind kind = Kind::kFile;
  std::string path;  // Of a file: with all links followed.
  int stream = -1;   // Of a standard stream: 1 or 2.
  bool exists = false;
  struct stat now = {};
};

bool is_same(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// What `path` names once its links are followed; a last link may lead to a file that is not there
// yet.
Result<std::string> follow_links(std::string path) {
  constexpr int kLinksMax = 40;  // As the kernel allows.
  for (int links = 0; links < kLinksMax; ++links) {
    std::error_code error;
    const auto to = fs::read_symlink(path, error);
    if (error) return path;
    path = (to.is_absolute() ? to : fs::path(path).parent_path() / to).string();
  }
  errno = ELOOP;
  return io_error(path, "open");
}

Result<Destination> find(const std::string& path) {
  Destination found;
  found.path = path;
  if (path == "-") {
    found.kind = Kind::kStandardStream;
    found.stream = STDOUT_FILENO;
    return found;
  }
  found.exists = ::stat(path.c_str(), &found.now) == 0;
  if (!found.exists && errno != ENOENT) return io_error(path, "open");
  if (found.exists) {
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
      struct stat there = {};
      // Of /dev/null a run may have several; what is written to it is gone either way.
      if (::fstat(stream, &there) != 0 || !is_same(there, found.now)) continue;
      found.kind = Kind::kStandardStream;
      found.stream = stream;
      return found;
    }
    const auto mode = found.now.st_mode;
    if (S_ISDIR(mode)) return Error{Errc::kInvalidOption, path + " is a directory"};
    if (S_ISBLK(mode))
      return Error{Errc::kInvalidOption,
                   path + " is a block device; what it holds would be overwritten"};
    if (S_ISSOCK(mode)) return Error{Errc::kInvalidOption, path + " is a socket"};
    if (S_ISFIFO(mode)) found.kind = Kind::kNamedPipe;
    if (S_ISCHR(mode)) found.kind = Kind::kDevice;
    if (!S_ISREG(mode)) return found;
  }
  HF_ASSIGN_OR_RETURN(found.path, follow_links(path));
  return found;
}

Status write_all(int to, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const auto written = ::write(to, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EPIPE && to == STDOUT_FILENO)
      return {};  // The reader has what it wanted (`... | head`).
    if (written < 0) return io_error(path, "write");
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

// A new file beside `path`, whose name no other process has.
Descriptor make_temporary(const std::string& path, std::string& name) {
  const auto directory = fs::path(path).parent_path();
  name = (directory / ("." + fs::path(path).filename().string() + ".XXXXXX")).string();
  return Descriptor(::mkostemp(name.data(), O_CLOEXEC));
}

// In a directory where no file may be made, the file itself may be open to us all the same.
Descriptor open_in_place(const Destination& destination, int flags) {
  return Descriptor(::open(destination.path.c_str(), O_WRONLY | O_CLOEXEC | flags));
}

// Rights and owner of the file that is replaced, or those that any new file gets.
void give_rights(int file, const Destination& destination) {
  if (destination.exists) {
    (void)!::fchown(file, destination.now.st_uid, destination.now.st_gid);
    (void)::fchmod(file, destination.now.st_mode & 07777);
    return;
  }
  const auto mask = ::umask(0);
  ::umask(mask);
  (void)::fchmod(file, 0666 & ~mask);
}

Status replace_file(std::string_view text, const Destination& destination) {
  std::string name;
  const auto temporary = make_temporary(destination.path, name);
  if (!temporary.open()) {
    const auto why = io_error(destination.path, "open");
    if (!destination.exists) return why;
    const auto file = open_in_place(destination, O_TRUNC);
    return file.open() ? write_all(file.number(), text, destination.path) : Status(why);
  }
  give_rights(temporary.number(), destination);
  auto status = write_all(temporary.number(), text, destination.path);
  if (status && ::rename(name.c_str(), destination.path.c_str()) != 0)
    status = io_error(destination.path, "rename");
  if (!status) ::unlink(name.c_str());
  return status;
}

}  // namespace

Status check_writable(const std::string& path) {
  HF_ASSIGN_OR_RETURN(const auto destination, find(path));
  switch (destination.kind) {
    case Kind::kStandardStream: return {};
    case Kind::kNamedPipe:  // Opening it would wait for its reader.
      return ::access(path.c_str(), W_OK) == 0 ? Status() : Status(io_error(path, "open"));
    case Kind::kDevice:
      return open_in_place(destination, O_NOCTTY).open() ? Status()
                                                         : Status(io_error(path, "open"));
    case Kind::kFile: break;
  }
  std::string name;
  if (make_temporary(destination.path, name).open()) {
    ::unlink(name.c_str());
    return {};
  }
  const auto why = io_error(destination.path, "open");
  if (destination.exists && open_in_place(destination, 0).open()) return {};
  return why;
}

bool is_standard_output(const std::string& path) {
  const auto destination = find(path);
  return destination && destination->kind == Kind::kStandardStream &&
         destination->stream == STDOUT_FILENO;
}

Status write_file(std::string_view text, const std::string& path) {
  HF_ASSIGN_OR_RETURN(const auto destination, find(path));
  if (destination.kind == Kind::kFile) return replace_file(text, destination);
  if (destination.kind == Kind::kStandardStream) {
    if (destination.stream == STDOUT_FILENO) (void)std::fflush(stdout);
    return write_all(destination.stream, text, path == "-" ? "standard output" : path);
  }
  const auto file = open_in_place(destination, O_NOCTTY);
  if (!file.open()) return io_error(path, "open");
  return write_all(file.number(), text, path);
}

Result<std::string> read_file(const std::string& path, std::uint64_t bytes_max) {
  // Opening a named pipe would wait for its writer, for ever where there is none.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.open()) return Error{Errc::kIo, path + ": open: " + std::strerror(errno)};
  struct stat status = {};
  if (::fstat(file.number(), &status) == 0 && S_ISFIFO(status.st_mode)) {
    constexpr int kWaitMilliseconds = 5000;
    pollfd writer{file.number(), POLLIN, 0};
    if (::poll(&writer, 1, kWaitMilliseconds) == 0)
      return Error{Errc::kIo, path + ": is a named pipe that nobody writes into"};
  }
  ::fcntl(file.number(), F_SETFL, O_RDONLY);  // From here on reading may wait.
  std::string text;
  // In pieces: a device or a pipe tells no size, and a directory opens but does not read.
  char piece[1 << 16];
  while (true) {
    const auto got = ::read(file.number(), piece, sizeof piece);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error{Errc::kIo, path + ": read: " + std::strerror(errno)};
    if (got == 0) return text;
    text.append(piece, static_cast<std::size_t>(got));
    if (text.size() > bytes_max) {
      return Error{Errc::kTooLarge, path + ": is larger than " + std::to_string(bytes_max) +
                                        " bytes; is it the right file?"};
    }
  }
}

}  // namespace holdfast::results
