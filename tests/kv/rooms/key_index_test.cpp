// From a key to its newest record: what counts as live, and what readers see of a batch that is
// being published.
#include <holdfast/kv/key_index.hpp>

#include "rooms_support.hpp"

namespace holdfast::kv {
namespace {

class KeyIndexes : public OnRecords {
 protected:
  KeyIndexes() {
    index_.adopt(OffsetMap::create(rooms_.epochs, {}).value());
    own_.participant = rooms_.epochs.join();
    own_.tally = &index_.map().new_tally();
  }

  Live find(std::string_view key) { return find_at(index_.hash(ForTests::bytes(key)), key); }
  Live find_at(std::uint64_t hash, std::string_view key) {
    const auto guard = rooms_.epochs.enter(own_.participant);
    return index_.find(index_.place(hash), ForTests::bytes(key), guard);
  }
  void publish(std::string_view key, Line line) {
    publish_at(index_.hash(ForTests::bytes(key)), key, line);
  }
  void publish_at(std::uint64_t hash, std::string_view key, Line line) {
    const auto guard = rooms_.epochs.enter(own_.participant);
    Place place = index_.place(hash);
    auto home = index_.latch(place, own_);
    if (const Entry entry = home.find(index_.matches(ForTests::bytes(key))))
      home.replace(entry, line);
    else
      ASSERT_TRUE(home.insert(line));
  }

  ExpiryRules expiry_;
  KeyIndex index_{rooms_.records, expiry_, KeyHash(), /*verify_reads=*/false};
  Session own_;  // Of this index, not of the store's.
};

TEST_F(KeyIndexes, AKeyThatIsNotThereIsNotFound) {
  const Live live = find("k");
  EXPECT_FALSE(live);
  EXPECT_EQ(live.outcome, Errc::kNotFound);
  EXPECT_EQ(index_.error(live).code, Errc::kNotFound);
  EXPECT_EQ(index_.count(), 0u);
}

TEST_F(KeyIndexes, AKeyLeadsToWhatWasPublishedLast) {
  const Line first = put("k", "1"), second = put("k", "2");
  publish("k", first);
  EXPECT_EQ(find("k").line, first);
  publish("k", second);
  const Live live = find("k");
  ASSERT_TRUE(live);
  EXPECT_EQ(live.line, second);
  EXPECT_EQ(live.record.value(), "2");
  EXPECT_EQ(index_.count(), 1u);
  const auto guard = rooms_.epochs.enter(own_.participant);
  EXPECT_TRUE(index_.leads_to(index_.hash(ForTests::bytes("k")), second, guard));
  EXPECT_FALSE(index_.leads_to(index_.hash(ForTests::bytes("k")), first, guard));
}

TEST_F(KeyIndexes, KeysOfOneHashAreToldApartByTheKey) {
  constexpr std::uint64_t kHash = 0x1234'5678'9abc'def0;
  const Line a = put("a", "1"), b = put("b", "2");
  publish_at(kHash, "a", a);
  publish_at(kHash, "b", b);
  EXPECT_EQ(find_at(kHash, "a").line, a);
  EXPECT_EQ(find_at(kHash, "b").line, b);
  EXPECT_FALSE(find_at(kHash, "c"));
  EXPECT_FALSE(find_at(kHash, "aa"));
}

TEST_F(KeyIndexes, ATombstoneIsNotFoundAndIsNoRecord) {
  publish("k", put("k", "1"));
  publish("k", tombstone("k"));
  index_.count_tombstone(1);
  EXPECT_EQ(find("k").outcome, Errc::kNotFound);
  EXPECT_EQ(index_.count(), 0u);
  publish("k", put("k", "2"));
  index_.count_tombstone(-1);
  EXPECT_TRUE(find("k"));
  EXPECT_EQ(index_.count(), 1u);
}

TEST_F(KeyIndexes, ARecordOfUnknownKindIsDamage) {
  const Line line = put("k", "1");
  publish("k", line);
  RecordHeader& own = header(line);
  own.key_bytes_and_kind = own.key_bytes() | 5u << 24;
  const Live live = find("k");
  EXPECT_EQ(live.outcome, Errc::kCorrupt);
  EXPECT_TRUE(mentions(index_.error(live), "unknown kind"));
  EXPECT_TRUE(mentions(index_.error(live), std::to_string(offset_of(line))));
}

TEST_F(KeyIndexes, ARecordThatReachesBeyondItsRunIsDamage) {
  const Line line = put("k", "1");
  publish("k", line);
  const std::uint64_t room = rooms_.table.room_at(offset_of(line));
  const std::uint64_t value_at = rooms_.records.at(line).value_at();
  header(line).size_word = room - value_at;
  EXPECT_TRUE(find("k")) << "to the last byte of its run";
  header(line).size_word = room - value_at + 1;
  const Live live = find("k");
  EXPECT_EQ(live.outcome, Errc::kCorrupt);
  EXPECT_TRUE(mentions(index_.error(live), "longer than its run"));
  header(line).size_word = kValueBytesMask;
  EXPECT_EQ(find("k").outcome, Errc::kCorrupt);
}

TEST_F(KeyIndexes, AChecksumIsAskedWhereReadsAreVerified) {
  const Line line = put("k", text_of(1, 100));
  publish("k", line);
  KeyIndex verifying(rooms_.records, expiry_, KeyHash(), true);
  EXPECT_TRUE(verifying.judge(line));
  ForTests::rooms(store_).records.at(line).value_data()[50] ^= std::byte{1};
  EXPECT_TRUE(find("k"));
  const Live live = verifying.judge(line);
  EXPECT_EQ(live.outcome, Errc::kCorrupt);
  EXPECT_TRUE(mentions(verifying.error(live), "checksum"));
}

TEST_F(KeyIndexes, WhileABatchIsPublishedReadersSeeWhatWasBeforeIt) {
  const Line old = put("old", "1");
  publish("old", old);
  const Line newer = put("old", "2"), fresh = put("new", "3");
  BatchUnderWay batch;
  batch.previous.emplace(newer, old);
  batch.previous.emplace(fresh, kNoLine);
  {
    const Lock publishing(index_.batch_mutex());
    index_.begin_batch(batch);
    publish("old", newer);
    publish("new", fresh);
    EXPECT_EQ(find("old").line, old);
    EXPECT_EQ(find("new").outcome, Errc::kNotFound);
    index_.end_batch();
  }
  EXPECT_EQ(find("old").line, newer);
  EXPECT_EQ(find("new").line, fresh);
}

TEST_F(KeyIndexes, TheHorizonHoldsBackWhatIsNotNewer) {
  const std::uint64_t hash = index_.hash(ForTests::bytes("k"));
  const auto guard = rooms_.epochs.enter(own_.participant);
  const Place place = index_.place(hash);
  EXPECT_FALSE(index_.behind_horizon(place, 1));
  index_.raise_horizon(hash, 10);
  EXPECT_TRUE(index_.behind_horizon(place, 9));
  EXPECT_TRUE(index_.behind_horizon(place, 10)) << "the tombstone's own";
  EXPECT_FALSE(index_.behind_horizon(place, 11));
  index_.raise_horizon(hash, 5);
  EXPECT_TRUE(index_.behind_horizon(place, 10)) << "it never falls";
  const Place elsewhere = index_.place(~hash);
  EXPECT_FALSE(index_.behind_horizon(elsewhere, 1)) << "another partition's";
}

}  // namespace
}  // namespace holdfast::kv
