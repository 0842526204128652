package org.holdfast.flink;

import java.util.function.ToLongFunction;
import org.apache.flink.metrics.Gauge;
import org.apache.flink.metrics.MetricGroup;
import org.holdfast.HoldfastException;
import org.holdfast.HoldfastStats;

/** What a store knows of itself as metrics of its operator, in the group `holdfast`. Read by reporters, from any thread. */
final class StateMetrics {
  // All gauges that are read one after the other show one moment.
  private static final long SAME_NS = 100_000_000;

  private final StateStore store;
  private HoldfastStats last;
  private long at;

  private StateMetrics(StateStore store) {
    this.store = store;
  }

  static void register(StateStore store, MetricGroup operator) {
    final StateMetrics metrics = new StateMetrics(store);
    final MetricGroup group = operator.addGroup("holdfast");
    metrics.gauge(group, "records", HoldfastStats::records);
    metrics.gauge(group, "liveBytes", HoldfastStats::liveBytes);
    metrics.gauge(group, "mediumBytes", HoldfastStats::mediumBytes);
    metrics.gauge(group, "usedBytes", HoldfastStats::usedBytes);
    metrics.gauge(group, "dramBytes", HoldfastStats::dramBytes);
    metrics.gauge(group, "relocatedBytes", HoldfastStats::relocatedBytes);
    metrics.gauge(group, "snapshotsOpen", HoldfastStats::snapshotsOpen);
    group.gauge("slotBudgetBytes", () -> store.budget().mostBytes());
    group.gauge("slotBudgetUsedBytes", () -> store.budget().bytes());
  }

  private void gauge(MetricGroup group, String name, ToLongFunction<HoldfastStats> field) {
    group.gauge(name, (Gauge<Long>) () -> field.applyAsLong(stats()));
  }

  private synchronized HoldfastStats stats() {
    final long now = System.nanoTime();
    if (last != null && now - at < SAME_NS) return last;
    try {
      last = store.stats();
      at = now;
    } catch (HoldfastException closed) {
      if (last == null) throw closed; // The last ones stay.
    }
    return last;
  }
}
