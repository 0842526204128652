// members.hpp: processes that share a query out, each running the splits that it holds.
//
//   DIR/members/NAME    a member; it holds a lock on this file while it lives
//   DIR/splits/NAME     a split; the member that runs it holds a lock on this file
//
// Guarantee  A split has one holder at most. A lock (flock) goes with its process, however that
//            ends, so that another member can take the split and go on from its checkpoint. A
//            member that is stopped (SIGSTOP) or hangs keeps its splits until it is killed.
// Place      A directory of one machine, or a shared one whose locks hold between machines (NFS
//            from version 4 on).
// Threads    One at a time.
// Errors     kIo, kNoSpace: the call and the path.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/stream/durable_file.hpp>

namespace holdfast::stream {

class Membership {
 public:
  static Result<Membership> join(const std::string& directory);

  const std::string& name() const { return name_; }
  // Those that live, this one among them, in order. Removes the files of those that do not.
  Result<std::vector<std::string>> members();
  // How many of `splits` this member is to hold: all have as many, or one more.
  Result<std::size_t> fair_share(std::size_t splits);
  // False: another member holds it.
  Result<bool> take(const std::string& split);
  void give_back(const std::string& split) { held_.erase(split); }
  std::size_t held() const { return held_.size(); }

 private:
  std::string directory_, name_;
  FileDescriptor file_;
  std::map<std::string, FileDescriptor> held_;
};

}  // namespace holdfast::stream
