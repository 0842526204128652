package org.holdfast.flink.peer;

import java.util.Set;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.connector.datagen.source.DataGeneratorSource;
import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.table.connector.sink.DynamicTableSink;
import org.apache.flink.table.connector.sink.SinkV2Provider;
import org.apache.flink.table.connector.source.DynamicTableSource;
import org.apache.flink.table.connector.source.ScanTableSource;
import org.apache.flink.table.connector.source.SourceProvider;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.table.factories.DynamicTableSinkFactory;
import org.apache.flink.table.factories.DynamicTableSourceFactory;
import org.apache.flink.table.types.DataType;

/**
 * The connector {@code memory}: {@link Events} as a table, and {@link Answer} as one, in Flink's own form of rows, so that
 * nothing is converted on the way.
 */
public final class MemoryTables implements DynamicTableSourceFactory, DynamicTableSinkFactory {
  /** How many subtasks the source of the next job has. */
  static int subtasks = 1;

  @Override
  public String factoryIdentifier() {
    return "memory";
  }

  @Override
  public Set<ConfigOption<?>> requiredOptions() {
    return Set.of();
  }

  @Override
  public Set<ConfigOption<?>> optionalOptions() {
    return Set.of();
  }

  @Override
  public DynamicTableSource createDynamicTableSource(Context context) {
    return new EventTable(context.getPhysicalRowDataType());
  }

  @Override
  public DynamicTableSink createDynamicTableSink(Context context) {
    return new AnswerTable();
  }

  private static final class EventRows extends Events.Reader<RowData> {
    private static final long serialVersionUID = 1L;

    EventRows(int subtasks) {
      super(subtasks);
    }

    @Override
    RowData read(int event) {
      return GenericRowData.of(
          TimestampData.fromEpochMillis(Events.ts[event]), Events.sensor[event], Events.value[event]);
    }
  }

  private record EventTable(DataType type) implements ScanTableSource {
    @Override
    public ChangelogMode getChangelogMode() {
      return ChangelogMode.insertOnly();
    }

    @Override
    public ScanRuntimeProvider getScanRuntimeProvider(ScanContext context) {
      final TypeInformation<RowData> rows = context.createTypeInformation(type);
      return SourceProvider.of(
          new DataGeneratorSource<>(new EventRows(subtasks), Events.ts.length, rows));
    }

    @Override
    public DynamicTableSource copy() {
      return this;
    }

    @Override
    public String asSummaryString() {
      return "events in memory";
    }
  }

  private static final class AnswerTable implements DynamicTableSink {
    @Override
    public ChangelogMode getChangelogMode(ChangelogMode requested) {
      return ChangelogMode.insertOnly();
    }

    @Override
    public SinkRuntimeProvider getSinkRuntimeProvider(Context context) {
      return SinkV2Provider.of(
          new AnswerSink<RowData>(
              (row, rows) ->
                  rows.add(row.getTimestamp(0, 3).getMillisecond(), row.getLong(1), row.getLong(2))));
    }

    @Override
    public DynamicTableSink copy() {
      return this;
    }

    @Override
    public String asSummaryString() {
      return "the answer, in memory";
    }
  }
}
