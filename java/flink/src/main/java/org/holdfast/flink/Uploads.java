package org.holdfast.flink;

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
  private final SortedMap<Long, Map<Pack, StreamStateHandle>> packs = new TreeMap<>();
  private long completed = -1;

  synchronized void taken(long checkpoint, Map<Pack, StreamStateHandle> its) {
    packs.put(checkpoint, Map.copyOf(its));
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

  synchronized Map<Pack, StreamStateHandle> reusable() {
    final Map<Pack, StreamStateHandle> confirmed = packs.get(completed);
    if (confirmed == null) return Map.of();
    final Map<Pack, StreamStateHandle> reusable = new HashMap<>(confirmed);
    for (Map<Pack, StreamStateHandle> later : packs.tailMap(completed + 1).values()) {
      reusable.keySet().retainAll(later.keySet());
    }
    return reusable;
  }
}
