package org.holdfast.flink;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.flink.core.memory.DataInputView;
import org.apache.flink.core.memory.DataOutputView;
import org.holdfast.Run;

/** Runs of a store in one file of a checkpoint, one behind the other. `name` is never given to another file. */
record Pack(String name, List<Run> runs) {
  long bytes() {
    return runs.stream().mapToLong(Run::bytes).sum();
  }

  void write(DataOutputView output) throws IOException {
    output.writeUTF(name);
    output.writeInt(runs.size());
    for (Run run : runs) {
      output.writeLong(run.origin());
      output.writeLong(run.generation());
      output.writeLong(run.bytes());
      output.writeLong(run.records());
    }
  }

  static Pack read(DataInputView input) throws IOException {
    final String name = input.readUTF();
    final int count = input.readInt();
    final List<Run> runs = new ArrayList<>();
    for (int i = 0; i < count; ++i) {
      runs.add(new Run(input.readLong(), input.readLong(), input.readLong(), input.readLong()));
    }
    return new Pack(name, runs);
  }
}
