// Long stretches of malformed records: a source gives none of them, and pauses now and then.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <variant>

#include <holdfast/sql/parser.hpp>
#include <holdfast/stream/malformed.hpp>
#include <holdfast/stream/source.hpp>
#include <holdfast/stream_kv/kv_connector.hpp>

#include "kept_stores.hpp"

namespace holdfast::stream {
namespace {

constexpr int kMalformedRecords = 3 * Malformed::kAtOnce;

// A source of a table with these options, with the table.
struct OpenedSource {
  explicit OpenedSource(const std::string& options) {
    const auto statements = sql::parse(
                                "CREATE TABLE t (n BIGINT) WITH ('format' = 'json', "
                                "'json.ignore-parse-errors' = 'true', " +
                                options + ")")
                                .value();
    catalog.add(std::get<sql::syntax::CreateTable>(statements.front())).value();
    source = open_source(*catalog.find("t", {}).value()).value();
  }
  sql::Catalog catalog;
  std::unique_ptr<Source> source;
};

// All but the last record are malformed; it is {"n": 7}.
void expect_pauses(Source& source) {
  sql::Row row(1);
  bool got = false;
  for (std::uint64_t before = 0; !got; before = source.malformed()) {
    got = source.next(row).value();
    EXPECT_LE(source.malformed() - before, std::uint64_t{Malformed::kAtOnce});
    ASSERT_TRUE(got || !source.ended()) << "it ends before its last record";
  }
  EXPECT_EQ(static_cast<int>(row[0].number), 7);
  EXPECT_EQ(source.malformed(), std::uint64_t{kMalformedRecords});
  EXPECT_FALSE(source.next(row).value());
  while (!source.ended())
    EXPECT_FALSE(source.next(row).value());
}

TEST(MalformedRecords, OfAStoreKeepNothingWaiting) {
  const Place place;
  offer_kv_connector();
  {
    const auto store = KvStateStore::open_region(place / "table").value();
    for (int i = 0; i < kMalformedRecords; ++i)
      store->put("a" + std::to_string(i), "none").value();
    store->put("b", "{\"n\": 7}").value();
  }
  OpenedSource opened("'connector' = 'kv', 'path' = '" + place / "table" + "'");
  expect_pauses(*opened.source);
}

TEST(MalformedRecords, OfASocketKeepNothingWaiting) {
  std::string all;
  for (int i = 0; i < kMalformedRecords; ++i)
    all += "none\n";
  all += "{\"n\": 7}\n";
  const int server = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(server, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(server, 1), 0);
  ASSERT_EQ(::getsockname(server, reinterpret_cast<sockaddr*>(&address), &size), 0);
  OpenedSource opened("'connector' = 'socket', 'hostname' = '127.0.0.1', 'port' = '" +
                      std::to_string(ntohs(address.sin_port)) + "'");
  const int client = ::accept(server, nullptr, nullptr);
  ASSERT_EQ(::send(client, all.data(), all.size(), 0), static_cast<ssize_t>(all.size()));
  ::close(client);
  ::close(server);
  expect_pauses(*opened.source);
}

}  // namespace
}  // namespace holdfast::stream
