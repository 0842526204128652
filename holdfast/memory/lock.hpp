// lock.hpp: which process may use a file, a directory or a device. Internal.
//
// Guarantee  One process with the exclusive lock, or any number with the shared one. The kernel
//            drops the lock when its last holder ends, however it ends, so no lock is ever stale;
//            nothing is written, so a medium that cannot be written to can be locked too.
// How        flock on the file, device or directory itself: not on a file beside it, which somebody
//            could delete while the lock is held, nor on a name: links, mounts and renames lead to
//            the same lock. In a directory the first segment is locked too, since hard links make
//            another directory of the same files. The owner is read from /proc/locks.
// Limits     A child forked while a region is open shares its lock until it ends or execs (what a
//            store does about that: kv/store_core.hpp, leave_to_parent). On file systems that keep
//            locks on each host (some network ones), only this host is excluded.
#pragma once

#include <string_view>

#include <holdfast/base/result.hpp>

namespace holdfast::memory_detail {

// Locks the open file `fd` until every copy of it is closed; never waits.
// `advice`: what to do about another owner, appended to the owner's name; empty: as for a region.
// Errors: kBusy (names the owner's pid where the kernel tells it), kUnsupported, kIo.
Status lock_file(int fd, bool exclusive, std::string_view target, std::string_view advice = {});

}  // namespace holdfast::memory_detail
