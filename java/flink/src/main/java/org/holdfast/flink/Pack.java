package org.holdfast.flink;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32C;
import org.apache.flink.core.memory.DataInputView;
import org.apache.flink.core.memory.DataOutputView;
import org.holdfast.Run;

/**
 * Runs of a store in one file of a checkpoint, one behind the other. `name` is never given to another file.
 *
 * @param sums of the bytes of each run; empty where the checkpoint is of format 1, which had none
 */
record Pack(String name, List<Run> runs, List<Integer> sums) {
  /** Of the bytes of a run: a store that is made of runs reads none of their records. */
  static int sum(byte[] run) {
    final CRC32C sum = new CRC32C();
    sum.update(run, 0, run.length);
    return (int) sum.getValue();
  }

  long bytes() {
    return runs.stream().mapToLong(Run::bytes).sum();
  }

  /** Packs of a checkpoint of format 1 are named by later ones, too. */
  void write(DataOutputView output) throws IOException {
    output.writeUTF(name);
    output.writeInt(runs.size());
    output.writeBoolean(!sums.isEmpty());
    for (int i = 0; i < runs.size(); ++i) {
      final Run run = runs.get(i);
      output.writeLong(run.origin());
      output.writeLong(run.generation());
      output.writeLong(run.bytes());
      output.writeLong(run.records());
      if (!sums.isEmpty()) output.writeInt(sums.get(i));
    }
  }

  /** `format`: of the checkpoint. */
  static Pack read(DataInputView input, int format) throws IOException {
    final String name = input.readUTF();
    final int count = input.readInt();
    final boolean summed = format > 1 && input.readBoolean();
    final List<Run> runs = new ArrayList<>();
    final List<Integer> sums = new ArrayList<>();
    for (int i = 0; i < count; ++i) {
      runs.add(new Run(input.readLong(), input.readLong(), input.readLong(), input.readLong()));
      if (summed) sums.add(input.readInt());
    }
    return new Pack(name, runs, sums);
  }
}
