package org.holdfast.flink;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.apache.flink.runtime.state.StreamStateHandle;

/**
 * Which packs each checkpoint has, and which of them the next one may name again instead of writing them: those of the last
 * completed checkpoint that every later one names, too. The JobManager may have dropped others already: it completes a
 * checkpoint, and drops the files of those before, some time before this is told.
 *
 * <p>Threads: any.
 */
final class Uploads {
  /** A pack's file in the checkpoint folder, and its copy on this machine; null: there is none. */
  record File(StreamStateHandle remote, Path local) {}

  private final SortedMap<Long, Map<Pack, File>> packs = new TreeMap<>();
  private long completed = -1;

  /** It will name nothing that an earlier one has. One that begins before it is written must not either. */
  synchronized void begun(long checkpoint) {
    packs.put(checkpoint, Map.of());
  }

  synchronized void taken(long checkpoint, Map<Pack, File> its) {
    packs.put(checkpoint, Map.copyOf(its));
  }

  /** The checkpoint that the store was restored from, with its runs: it is complete. */
  synchronized void restored(long checkpoint, Map<Pack, File> its) {
    taken(checkpoint, its);
    completed = checkpoint;
  }

  /** Of savepoints nothing is known here, and their numbers change nothing. */
  synchronized void completed(long checkpoint) {
    if (checkpoint <= completed || !packs.containsKey(checkpoint)) return;
    packs.headMap(checkpoint).clear();
    completed = checkpoint;
  }

  synchronized void aborted(long checkpoint) {
    packs.remove(checkpoint);
  }

  synchronized Map<Pack, File> reusable() {
    final Map<Pack, File> confirmed = packs.get(completed);
    if (confirmed == null) return Map.of();
    final Map<Pack, File> reusable = new HashMap<>(confirmed);
    for (Map<Pack, File> later : packs.tailMap(completed + 1).values()) {
      reusable.keySet().retainAll(later.keySet());
    }
    return reusable;
  }
}
