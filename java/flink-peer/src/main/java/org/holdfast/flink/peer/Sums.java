package org.holdfast.flink.peer;

import java.util.ArrayList;
import java.util.List;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.api.connector.sink2.WriterInitContext;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.binary.BinaryStringData;
import org.apache.flink.table.types.logical.DecimalType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.types.RowKind;

/**
 * What is left of the rows of a NEXMark query that came and went: how many, and the sum of each column modulo 2^64; of a text
 * its bytes are counted, of a decimal its digits, NULL is 0.
 */
final class Sums {
  private static final List<Sums> ALL = new ArrayList<>();

  private long rows;
  private final long[] columns;

  private Sums(int columns) {
    this.columns = new long[columns];
  }

  static synchronized void clear() {
    ALL.clear();
  }

  private static synchronized Sums begin(int columns) {
    final Sums sums = new Sums(columns);
    ALL.add(sums);
    return sums;
  }

  /** Of all subtasks: the number of rows, then the columns, as numbers without a sign. */
  static synchronized String json(int columns) {
    final long[] all = new long[1 + columns];
    for (Sums sums : ALL) {
      all[0] += sums.rows;
      for (int i = 0; i < columns; ++i) all[1 + i] += sums.columns[i];
    }
    final StringBuilder text = new StringBuilder("[[");
    for (long number : all) {
      text.append(text.length() > 2 ? ", \"" : "\"").append(Long.toUnsignedString(number)).append('"');
    }
    return text.append("]]").toString();
  }

  /** A column as a number. */
  private interface Number {
    long of(RowData row);
  }

  private static Number number(int column, LogicalType type) {
    switch (type.getTypeRoot()) {
      case VARCHAR:
      case CHAR:
        return row -> ((BinaryStringData) row.getString(column)).getSizeInBytes();
      case BIGINT:
        return row -> row.getLong(column);
      case INTEGER:
        return row -> row.getInt(column);
      case TIMESTAMP_WITHOUT_TIME_ZONE:
        return row -> row.getTimestamp(column, 3).getMillisecond();
      case DECIMAL:
        final DecimalType decimal = (DecimalType) type;
        return row ->
            row.getDecimal(column, decimal.getPrecision(), decimal.getScale())
                .toBigDecimal()
                .unscaledValue()
                .longValue();
      default:
        throw new IllegalArgumentException("column " + column + " is of " + type);
    }
  }

  /** The sink. */
  static final class OfRows implements Sink<RowData> {
    private static final long serialVersionUID = 1L;
    private final List<LogicalType> types;

    OfRows(List<LogicalType> types) {
      this.types = new ArrayList<>(types);
    }

    @Override
    public SinkWriter<RowData> createWriter(WriterInitContext context) {
      final Sums sums = begin(types.size());
      final Number[] numbers = new Number[types.size()];
      for (int i = 0; i < numbers.length; ++i) numbers[i] = number(i, types.get(i));
      return new SinkWriter<>() {
        @Override
        public void write(RowData row, Context ignored) {
          final RowKind kind = row.getRowKind();
          final long sign = kind == RowKind.INSERT || kind == RowKind.UPDATE_AFTER ? 1 : -1;
          sums.rows += sign;
          for (int i = 0; i < numbers.length; ++i) {
            if (!row.isNullAt(i)) sums.columns[i] += sign * numbers[i].of(row);
          }
        }

        @Override
        public void flush(boolean endOfInput) {
          if (endOfInput) Answer.ENDED_NS.accumulateAndGet(System.nanoTime(), Math::max);
        }

        @Override
        public void close() {}
      };
    }
  }
}
