// kv_connector.hpp: 'connector' = 'kv': a store of `kv` as a table.
//
//   CREATE TABLE totals (name STRING, total BIGINT, PRIMARY KEY (name) NOT ENFORCED)
//   WITH ('connector' = 'kv', 'path' = '/var/totals', 'format' = 'json');
//
// Key     The columns of the primary key: one text as it is, so that `holdfast kv /var/totals get
//         ada` finds it; others as CSV, unless 'key.format' says otherwise.
// Value   All columns, as JSON unless 'format' says otherwise.
// Sink    A row that comes is put, one that goes is erased. The changes since the last checkpoint
//         wait in memory and in the next checkpoint, the last one of each key alone. When that is
//         complete they are written as one atomic batch, durably: readers see the state of a
//         checkpoint, never one between two.
// Source  The records as they are when the table is opened, in the order of their keys. A join
//         FOR SYSTEM_TIME AS OF a processing time reads them all at its begin.
// A crash leaves  the state of the last checkpoint or of the one before. A run that resumes writes
//         its checkpoint's batch again, which changes nothing if it had been written.
// Threads As sources and sinks; all tables of a path share one open store in a process.
// Errors  kInvalidOption: no primary key, NULL in it, an option. kNotFound: nothing to read there.
//         kCorrupt: a record is no row. Those of the store.
#pragma once

namespace holdfast::stream {

// Tables may ask for 'kv' from here on.
void offer_kv_connector();

}  // namespace holdfast::stream
