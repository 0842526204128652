package org.holdfast;

import java.nio.ByteBuffer;

/**
 * Gives the runs of a checkpoint back to a restore or an import. Called by the thread that restores. What it throws ends
 * the restore, and is thrown there.
 */
@FunctionalInterface
public interface RunReader {
  /** Fills `to`, all of it, with the bytes of the run of this name. The buffer is valid during the call. */
  void read(long origin, long generation, ByteBuffer to);
}
