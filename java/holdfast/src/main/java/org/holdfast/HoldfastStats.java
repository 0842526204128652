package org.holdfast;

/** What a store knows of itself; the fields of hf_stats that programs ask for most. */
public final class HoldfastStats {
  private final Bytes fields;

  HoldfastStats(Bytes fields) {
    this.fields = fields;
  }

  private long field(int number) {
    return fields.buffer().getLong(8 * number);
  }

  public long records() {
    return field(1);
  }

  public long liveBytes() {
    return field(2);
  }

  /** What the store takes from the system. */
  public long mediumBytes() {
    return field(3);
  }

  /** Blocks that are not free. */
  public long usedBytes() {
    return field(4);
  }

  /** Memory of the index, and of all else. */
  public long dramBytes() {
    return field(8) + field(9);
  }

  /** By reclamation, since the store was opened. */
  public long relocatedBytes() {
    return field(16);
  }

  public long snapshotsOpen() {
    return field(11);
  }

  public long newestVersion() {
    return field(21);
  }
}
