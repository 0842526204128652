package org.holdfast.flink.peer;

import java.util.Set;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.connector.datagen.source.DataGeneratorSource;
import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.table.connector.sink.DynamicTableSink;
import org.apache.flink.table.connector.sink.SinkV2Provider;
import org.apache.flink.table.connector.source.DynamicTableSource;
import org.apache.flink.table.connector.source.ScanTableSource;
import org.apache.flink.table.connector.source.SourceProvider;
import org.apache.flink.table.connector.source.abilities.SupportsProjectionPushDown;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.table.factories.DynamicTableSinkFactory;
import org.apache.flink.table.factories.DynamicTableSourceFactory;
import org.apache.flink.table.types.DataType;
import org.apache.flink.table.types.logical.LogicalType;

/**
 * The connector {@code memory}: {@link Events} as a table, of which only the columns are made that the query reads; and as
 * sinks {@link Answer} (the table {@code answer}) and {@link Sums} (any other). All in Flink's own form of rows, so that
 * nothing is converted on the way.
 */
public final class MemoryTables implements DynamicTableSourceFactory, DynamicTableSinkFactory {
  /** How many subtasks the sources of the next job have. */
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
    return new EventTable(
        context.getObjectIdentifier().getObjectName(),
        DataType.getFieldNames(context.getPhysicalRowDataType()).get(0),
        context.getPhysicalRowDataType());
  }

  @Override
  public DynamicTableSink createDynamicTableSink(Context context) {
    final boolean answer = context.getObjectIdentifier().getObjectName().equals("answer");
    return answer ? new AnswerTable() : new SumTable(context.getPhysicalRowDataType());
  }

  /** Of one column. */
  private interface Field {
    Object of(int event);
  }

  private static final class EventRows extends Events.Reader<RowData> {
    private static final long serialVersionUID = 1L;
    private final String table;
    private final String[] names;
    private final LogicalType[] types;
    private transient Field[] fields;

    EventRows(String table, int events, DataType type) {
      super(events, subtasks);
      this.table = table;
      names = DataType.getFieldNames(type).toArray(new String[0]);
      types = type.getLogicalType().getChildren().toArray(new LogicalType[0]);
    }

    @Override
    public void open(SourceReaderContext context) {
      final Events events = Events.of(table);
      fields = new Field[names.length];
      for (int i = 0; i < names.length; ++i) fields[i] = field(events, names[i], types[i]);
      super.open(context);
    }

    private static Field field(Events events, String name, LogicalType type) {
      switch (type.getTypeRoot()) {
        case VARCHAR:
          return events.texts(name)::get;
        case TIMESTAMP_WITHOUT_TIME_ZONE:
          final long[] times = events.numbers(name);
          return event -> TimestampData.fromEpochMillis(times[event]);
        case BIGINT:
          final long[] numbers = events.numbers(name);
          return event -> numbers[event];
        default:
          throw new IllegalArgumentException(name + " is a column of " + type);
      }
    }

    @Override
    RowData read(int event) {
      final GenericRowData row = new GenericRowData(fields.length);
      for (int i = 0; i < fields.length; ++i) row.setField(i, fields[i].of(event));
      return row;
    }
  }

  private static final class EventTable implements ScanTableSource, SupportsProjectionPushDown {
    private final String table;
    private final String first; // Its first column, whatever the query reads.
    private DataType type;

    EventTable(String table, String first, DataType type) {
      this.table = table;
      this.first = first;
      this.type = type;
    }

    @Override
    public ChangelogMode getChangelogMode() {
      return ChangelogMode.insertOnly();
    }

    @Override
    public ScanRuntimeProvider getScanRuntimeProvider(ScanContext context) {
      final TypeInformation<RowData> rows = context.createTypeInformation(type);
      final int events = Events.of(table).count(first);
      return SourceProvider.of(
          new DataGeneratorSource<>(new EventRows(table, events, type), events, rows));
    }

    @Override
    public boolean supportsNestedProjection() {
      return false;
    }

    @Override
    public void applyProjection(int[][] columns, DataType produced) {
      type = produced;
    }

    @Override
    public DynamicTableSource copy() {
      return new EventTable(table, first, type);
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

  private record SumTable(DataType type) implements DynamicTableSink {
    @Override
    public ChangelogMode getChangelogMode(ChangelogMode requested) {
      return ChangelogMode.all();
    }

    @Override
    public SinkRuntimeProvider getSinkRuntimeProvider(Context context) {
      return SinkV2Provider.of(new Sums.OfRows(type.getLogicalType().getChildren()));
    }

    @Override
    public DynamicTableSink copy() {
      return this;
    }

    @Override
    public String asSummaryString() {
      return "sums of the answer";
    }
  }
}
