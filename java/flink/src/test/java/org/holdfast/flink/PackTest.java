package org.holdfast.flink;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.List;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.holdfast.Run;
import org.junit.jupiter.api.Test;

/** What checkpoints say of their packs. */
final class PackTest {
  private static final List<Run> RUNS = List.of(new Run(5, 1, 4096, 7), new Run(5, 2, 128, 1));

  private static Pack read(DataOutputSerializer written, int format) throws IOException {
    return Pack.read(new DataInputDeserializer(written.getCopyOfBuffer()), format);
  }

  private static DataOutputSerializer written(Pack pack) throws IOException {
    final DataOutputSerializer output = new DataOutputSerializer(64);
    pack.write(output);
    return output;
  }

  @Test
  void aPackIsReadAsItWasWritten() throws IOException {
    final Pack pack = new Pack("a pack", RUNS, List.of(-1, 77));
    assertThat(read(written(pack), 2)).isEqualTo(pack);
  }

  /** Checkpoints of builds before the checksums are restored, and later ones name their packs. */
  @Test
  void aPackOfFormatOneHasNoSums() throws IOException {
    final DataOutputSerializer output = new DataOutputSerializer(64);
    output.writeUTF("a pack");
    output.writeInt(RUNS.size());
    for (Run run : RUNS) {
      output.writeLong(run.origin());
      output.writeLong(run.generation());
      output.writeLong(run.bytes());
      output.writeLong(run.records());
    }
    final Pack pack = read(output, 1);
    assertThat(pack).isEqualTo(new Pack("a pack", RUNS, List.of()));
    assertThat(read(written(pack), 2)).isEqualTo(pack);
  }
}
