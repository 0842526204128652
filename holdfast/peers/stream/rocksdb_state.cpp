// What the module of RocksDB offers to streams (stream_rocksdb/rocksdb_state.hpp).
#include <holdfast/modules/modules.hpp>
#include <holdfast/stream_rocksdb/rocksdb_state.hpp>

namespace holdfast::bench::stream {
namespace {

const modules::Offer offer{"rocksdb", holdfast::stream::open_rocksdb_state};

}  // namespace
}  // namespace holdfast::bench::stream
