package org.holdfast.flink;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Stream;
import org.apache.flink.util.FileUtils;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A directory of state has one for each process, `process-PID-ID`, with a file that the process has locked as long as it
 * lives. What a process left that was killed, the next one to use the directory removes: between checkpoints state counts for
 * nothing.
 *
 * <p>Threads: any.
 */
final class StateDirectories {
  private static final Logger LOG = LoggerFactory.getLogger(StateDirectories.class);
  private static final String LOCK = "lock";
  private static final String PROCESS = "process-";
  private static final String STARTING = "starting-";
  // With the process's number; another class loader of this process must not touch its lock, which closing would end.
  private static final String OURS = PROCESS + ProcessHandle.current().pid() + "-";
  private static final Map<Path, Path> KNOWN = new HashMap<>();
  // Never closed: the locks are held as long as the process lives.
  private static final Map<Path, FileLock> LOCKS = new HashMap<>();

  private StateDirectories() {}

  /** This process's directory in `region`; both are made where they are not there. */
  static synchronized Path ofThisProcess(Path region) throws IOException {
    final Path absolute = region.toAbsolutePath().normalize();
    final Path known = KNOWN.get(absolute);
    // Somebody may have removed all below the region. Without its lock another process would take it for a dead one's.
    if (known != null && Files.exists(known.resolve(LOCK))) return known;
    Files.createDirectories(absolute);
    removeDead(absolute);
    // It has its name once it is locked: before that another process would take it for a dead one's.
    final String id = UUID.randomUUID().toString();
    final Path unlocked = Files.createDirectory(absolute.resolve(STARTING + id));
    final FileLock lock =
        FileChannel.open(
                unlocked.resolve(LOCK), StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)
            .lock();
    final Path own =
        Files.move(unlocked, absolute.resolve(OURS + id), StandardCopyOption.ATOMIC_MOVE);
    LOCKS.put(own, lock);
    KNOWN.put(absolute, own);
    own.toFile().deleteOnExit();
    own.resolve(LOCK).toFile().deleteOnExit(); // Goes first: in reverse order.
    return own;
  }

  private static void removeDead(Path region) throws IOException {
    final List<Path> others;
    try (Stream<Path> all = Files.list(region)) {
      others =
          all.filter(one -> one.getFileName().toString().startsWith(PROCESS))
              .filter(one -> !isOurs(one))
              .toList();
    }
    for (Path other : others) {
      try {
        if (isLocked(other.resolve(LOCK))) continue;
        FileUtils.deleteDirectory(other.toFile());
        LOG.info("removed {}: the process that used it for state is gone", other);
      } catch (IOException failure) {
        // Of another user, or removed by another process meanwhile. It is in nobody's way.
        LOG.warn("{}, which a process left that is gone, could not be removed", other, failure);
      }
    }
  }

  /** Processes in containers have the same number, one after the other: it is ours only if it is locked by us. */
  private static boolean isOurs(Path directory) {
    return LOCKS.containsKey(directory);
  }

  private static boolean isLocked(Path lock) throws IOException {
    if (!Files.exists(lock)) return false;
    if (lock.getParent().getFileName().toString().startsWith(OURS) && isLockedByThisProcess(lock)) {
      return true;
    }
    try (FileChannel channel = FileChannel.open(lock, StandardOpenOption.WRITE);
        FileLock taken = channel.tryLock()) {
      return taken == null;
    } catch (OverlappingFileLockException exception) {
      return true; // Of this process.
    }
  }

  /** By what the kernel says, without opening the file. */
  private static boolean isLockedByThisProcess(Path lock) throws IOException {
    final Object inode = Files.getAttribute(lock, "unix:ino");
    final String holder = " " + ProcessHandle.current().pid() + " ";
    try (Stream<String> locks = Files.lines(Path.of("/proc/locks"))) {
      return locks.anyMatch(line -> line.contains(holder) && line.contains(":" + inode + " "));
    }
  }
}
