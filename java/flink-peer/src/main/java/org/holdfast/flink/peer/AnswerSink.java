package org.holdfast.flink.peer;

import java.io.Serializable;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.api.connector.sink2.WriterInitContext;

/** A sink that keeps the rows of an answer. */
final class AnswerSink<T> implements Sink<T> {
  private static final long serialVersionUID = 1L;

  interface Add<T> extends Serializable {
    void add(T row, Answer.Rows rows);
  }

  private final Add<T> add;

  AnswerSink(Add<T> add) {
    this.add = add;
  }

  @Override
  public SinkWriter<T> createWriter(WriterInitContext context) {
    final Answer.Rows rows = Answer.begin();
    return new SinkWriter<>() {
      @Override
      public void write(T row, Context ignored) {
        add.add(row, rows);
      }

      @Override
      public void flush(boolean endOfInput) {
        if (endOfInput) rows.end();
      }

      @Override
      public void close() {}
    };
  }
}
