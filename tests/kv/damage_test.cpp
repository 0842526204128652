// Damage: made from good stores, found and named by open and verify, and never a crash or an older
// value.
#include "damage.hpp"

#include <holdfast/base/random.hpp>
#include <holdfast/kv/pieces.hpp>
#include <holdfast/kv/sealed_run.hpp>

namespace holdfast::kv {
namespace {

class Damage : public testing::Test {
 protected:
  // Several segments, overwritten and erased records, a batch, a large value; closed in order or
  // not.
  Image good(bool clean) {
    const std::string directory = scratch_.path("good");
    std::filesystem::remove_all(directory);
    auto store = Store<>::open(directory, tiny()).value();
    expected_.clear();
    const auto put = [&](const std::string& key, const std::string& value) {
      store.put(key, value).value();
      expected_[key] = value;
    };
    for (int i = 0; i < 300; ++i)
      put("key" + std::to_string(i), text_of(i, 200));
    for (int i = 0; i < 300; i += 3)
      put("key" + std::to_string(i), text_of(i + 1000, 200));
    for (int i = 0; i < 300; i += 10)
      expected_.erase("key" + std::to_string(i)), store.erase("key" + std::to_string(i)).value();
    put("large", text_of(7, 30000));
    WriteBatch batch;
    for (int i = 0; i < 5; ++i)
      batch.put("batch" + std::to_string(i), text_of(i, 50)),
          expected_["batch" + std::to_string(i)] = text_of(i, 50);
    store.write(batch).value();
    if (clean) {
      store.close().value();
      return Image::of(directory);
    }
    std::filesystem::copy(directory, scratch_.path("copy"),
                          std::filesystem::copy_options::recursive);
    Image image = Image::of(scratch_.path("copy"));
    std::filesystem::remove_all(scratch_.path("copy"));
    return image;
  }
  std::string spoilt() const { return scratch_.path("spoilt"); }
  Result<Store<>> open(const Image& image, RegionAccess access) {
    image.write_to(spoilt());
    return Store<>::open(spoilt(), with_access(access));
  }
  // A writing open refuses and says where; a read-only open names the defect, verify too, and
  // whatever it gives is right. Returns how many records it does not give.
  std::uint64_t expect_found(const Image& image, std::string_view what) {
    const auto refused = open(image, RegionAccess::kOpen);
    EXPECT_EQ(refused.code(), Errc::kCorrupt) << what;
    if (!refused) {
      EXPECT_TRUE(mentions(refused.error(), what)) << refused.error().detail;
      EXPECT_TRUE(mentions(refused.error(), "read-only open")) << refused.error().detail;
    }
    EXPECT_TRUE(Image::of(spoilt()).bytes() == image.bytes()) << "a refused open wrote";
    auto store = open(image, RegionAccess::kOpenReadOnly);
    EXPECT_TRUE(store) << (store ? "" : store.error().message());
    if (!store) return ~0ull;
    EXPECT_FALSE(store->recovery().defects.empty());
    const auto report = store->verify();
    EXPECT_FALSE(report.ok());
    bool named = false;
    for (const Defect& defect : report.defects)
      named = named || defect.what.find(what) != std::string::npos;
    EXPECT_TRUE(named) << what << " is not among: "
                       << (report.ok() ? "nothing" : report.defects.front().what);
    return missing(*store);
  }
  std::uint64_t missing(const Store<>& store) {
    std::uint64_t missing = 0;
    std::string value;
    for (const auto& [key, wanted] : expected_) {
      const auto got = store.get(key, value);
      missing += !got;
      EXPECT_TRUE(!got || value == wanted) << key << " has a value that is not its newest";
    }
    return missing;
  }

  Scratch scratch_ = Scratch::tmpfs();
  Contents expected_;
};

TEST_F(Damage, GoodStoresAreFoundGood) {
  for (const bool clean : {true, false}) {
    auto store = open(good(clean), RegionAccess::kOpenReadOnly).value();
    EXPECT_EQ(store.recovery().clean, clean);
    expect_contents(store, expected_);
    EXPECT_TRUE(store.recovery().defects.empty());
  }
}

// What was handed out before a clean close is not handed out again.
TEST_F(Damage, TheCleanMarkLiesAboveAllThatWasHandedOut) {
  const Image image = good(true);
  const auto mark = image.read<CleanMark>(kCleanMarkAt);
  std::uint64_t generation = 0, sequence = 0;
  for (std::uint64_t block = 0; block < image.blocks(); ++block) {
    if (!image.geometry().is_table_block(block))
      generation = std::max(generation, image.word(block).generation);
  }
  for (const Image::Run& run : image.runs(BlockState::kSealed))
    sequence = std::max(sequence, run.footer.max_sequence);
  EXPECT_EQ(mark.next_generation, generation + 1);
  EXPECT_GT(mark.next_sequence, sequence);
  EXPECT_EQ(mark.records, expected_.size());
}

// A write that went astray: a record that is whole, and of this run, where another one lay.
TEST_F(Damage, AWholeRecordInThePlaceOfAnotherIsFound) {
  const std::string directory = scratch_.path("astray");
  auto store = Store<>::open(directory, tiny()).value();
  for (int i = 10; i < 30; ++i)
    ASSERT_TRUE(store.put("key" + std::to_string(i),
                          expected_["key" + std::to_string(i)] = text_of(i, 200)));
  Image image = Image::of(directory);
  ASSERT_EQ(image.runs(BlockState::kSealed).size(), 0u);
  const auto record_at = [&](int i) { return image.bytes().find(text_of(i, 200)) - 40; };
  ASSERT_EQ(record_at(15) - record_at(12), 3 * 256u);
  image.bytes().replace(record_at(15), 256, image.bytes().substr(record_at(12), 256));
  EXPECT_EQ(expect_found(image, "is not whole any more"), 1u);
}

std::uint64_t synced_mark_at(const Image& image) {
  const auto run = image.runs(BlockState::kOpen).at(0);
  return run.at + run.bytes - sizeof(SyncedMark);
}

// A block that was open when its process ended has no footer that vouches for it. Its records say
// themselves whether what lies before them was durable: so a bit that the medium lost is no torn
// end, and what lies behind it is found.
TEST_F(Damage, OfARecordInAnOpenBlockHidesNothingBehindIt) {
  for (const char* granularity : {"", "?granularity=line", "?granularity=page"}) {
    SCOPED_TRACE(granularity);
    const std::string directory = scratch_.path("open"), died = scratch_.path("died");
    std::filesystem::remove_all(directory);
    std::filesystem::remove_all(died);
    expected_.clear();
    StoreOptions options = tiny();
    options.sync_interval_ms = 0;
    auto store = Store<>::open(directory + granularity, options).value();
    for (int i = 0; i < 20; ++i) {
      ASSERT_TRUE(store.put("key" + std::to_string(i),
                            expected_["key" + std::to_string(i)] = text_of(i, 200)));
      ASSERT_TRUE(store.sync());
    }
    std::filesystem::copy(directory, died, std::filesystem::copy_options::recursive);
    const Image image = Image::of(died);
    ASSERT_EQ(image.runs(BlockState::kSealed).size(), 0u);
    const std::uint64_t first = image.bytes().find(text_of(0, 200));
    for (const int record : {0, 7, 18}) {
      for (const std::uint64_t byte : {0, 40, 199}) {
        Image spoilt_image = image;
        spoilt_image.flip(image.bytes().find(text_of(record, 200), first) + byte, 3);
        EXPECT_EQ(expect_found(spoilt_image, "is not whole any more"), 1u) << record << " " << byte;
      }
    }
    Image zeros = image;
    zeros.zero(image.bytes().find(text_of(3, 200)) - 40, 256 * 5);
    EXPECT_EQ(expect_found(zeros, "is not whole any more"), 5u);
    // The last one is as a crash would leave it: nothing behind it says that it was durable. On
    // page media the mark of the last sync does.
    Image torn = image;
    torn.flip(image.bytes().find(text_of(19, 200)) + 100);
    if (std::string_view(granularity).ends_with("page")) {
      EXPECT_EQ(expect_found(torn, "is not whole any more"), 1u);
      torn.zero(synced_mark_at(torn), sizeof(SyncedMark));
    }
    auto opened = open(torn, RegionAccess::kOpen);
    ASSERT_TRUE(opened) << opened.error().message();
    EXPECT_EQ(missing(*opened), 1u);
  }
}

// KV-1: 900 records and one sync, a bit of the first of them flipped. No group came behind, so no
// record said that the first ones were durable: all of them were dropped as a torn end.
TEST_F(Damage, OfTheOnlyGroupThatWasSyncedIsNoTornEnd) {
  const std::string directory = scratch_.path("open"), died = scratch_.path("died");
  StoreOptions options = tiny();
  options.sync_interval_ms = 0;
  auto store = Store<>::open(directory + "?granularity=page", options).value();
  const auto put = [&](int i) {
    const std::string key = "key" + std::to_string(i);
    return store.put(key, expected_[key] = text_of(i, 200));
  };
  for (int i = 0; i < 10; ++i)
    ASSERT_TRUE(put(i));
  ASSERT_TRUE(store.sync());
  for (int i = 10; i < 13; ++i)  // Not synced: of these a power failure keeps what it likes.
    ASSERT_TRUE(put(i));
  std::filesystem::copy(directory, died, std::filesystem::copy_options::recursive);
  const Image image = Image::of(died);
  ASSERT_EQ(image.runs(BlockState::kSealed).size(), 0u);
  for (const int record : {0, 4, 9}) {
    Image spoilt_image = image;
    spoilt_image.flip(image.bytes().find(text_of(record, 200)) + 100);
    EXPECT_EQ(expect_found(spoilt_image, "is not whole any more"), 1u) << record;
  }
  // Where the mark itself does not hold nothing is known.
  for (std::uint64_t byte = 0; byte < sizeof(SyncedMark); ++byte) {
    Image spoilt_image = image;
    spoilt_image.flip(synced_mark_at(image) + byte, 1);
    auto opened = open(spoilt_image, RegionAccess::kOpen);
    ASSERT_TRUE(opened) << opened.error().message();
    EXPECT_EQ(missing(*opened), 0u);
  }
}

// Several records of one group share a fence: a crash may keep any of them.
TEST_F(Damage, OfAGroupThatWasNotFencedYetIsATornEnd) {
  const std::string directory = scratch_.path("open"), died = scratch_.path("died");
  auto store = Store<>::open(directory, tiny()).value();
  std::vector<std::string> keys, values;
  for (int i = 0; i < 10; ++i) {
    keys.push_back("key" + std::to_string(i));
    values.push_back(text_of(i, 200));
  }
  ASSERT_TRUE(store.put_many(std::vector<std::string_view>(keys.begin(), keys.end()),
                             std::vector<std::string_view>(values.begin(), values.end())));
  std::filesystem::copy(directory, died, std::filesystem::copy_options::recursive);
  Image image = Image::of(died);
  image.flip(image.bytes().find(text_of(4, 200)) + 10);
  auto opened = open(image, RegionAccess::kOpen);
  ASSERT_TRUE(opened) << opened.error().message();
  EXPECT_EQ(opened->count(), 4u);
  EXPECT_GT(opened->recovery().torn_bytes_dropped, 0u);
}

TEST_F(Damage, SuperblockWithAnotherMagicIsNotAStore) {
  Image image = good(true);
  image.flip(3);
  const auto refused = open(image, RegionAccess::kOpen);
  ASSERT_EQ(refused.code(), Errc::kNotHoldfast);
  EXPECT_TRUE(mentions(refused.error(), "not a Holdfast store")) << refused.error().detail;
  EXPECT_EQ(open(image, RegionAccess::kOpenOrCreate).code(), Errc::kNotHoldfast);
}

TEST_F(Damage, SuperblockPageOfZerosIsNoEmptyStore) {
  Image image = good(true);
  image.zero(0, kSuperblockPageBytes);
  const auto refused = open(image, RegionAccess::kOpenOrCreate);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.code(), Errc::kCorrupt);
  EXPECT_TRUE(mentions(refused.error(), "first page")) << refused.error().detail;
  EXPECT_TRUE(Image::of(spoilt()).bytes() == image.bytes()) << "a new store was made over records";
}

TEST_F(Damage, EveryBitOfTheSuperblockCounts) {
  const Image image = good(true);
  std::vector<std::uint64_t> bytes;
  for (std::uint64_t at = 0; at < 8; ++at)
    bytes.insert(bytes.end(), {at, kVersionWordAt + at});  // The magic; version and block size.
  for (std::uint64_t at = 0; at < sizeof(Superblock); at += at < 144 ? 1 : 17)
    bytes.push_back(kSuperblockAt + at);
  for (const std::uint64_t at : bytes) {
    Image spoilt_image = image;
    spoilt_image.flip(at, static_cast<int>(at % 8));
    for (const auto access : {RegionAccess::kOpen, RegionAccess::kOpenReadOnly}) {
      const auto refused = open(spoilt_image, access);
      ASSERT_FALSE(refused) << "byte " << at;
      EXPECT_TRUE(refused.code() == Errc::kCorrupt || refused.code() == Errc::kNotHoldfast ||
                  refused.code() == Errc::kNewerFormat)
          << at << ": " << refused.error().message();
    }
  }
}

TEST_F(Damage, NewerFormatIsRefusedWithBothVersions) {
  Image image = good(true);
  image.write<std::uint32_t>(kVersionWordAt, 7);
  const auto refused = open(image, RegionAccess::kOpenReadOnly);
  ASSERT_EQ(refused.code(), Errc::kNewerFormat);
  EXPECT_TRUE(mentions(refused.error(), "version 7")) << refused.error().detail;
  EXPECT_TRUE(mentions(refused.error(), "newer build")) << refused.error().detail;
}

TEST_F(Damage, BlockWord) {
  const Image image = good(false);
  const auto run = image.runs(BlockState::kSealed).front();
  for (const int bit : {0, 13, 39, 40, 47, 48, 63}) {
    Image spoilt_image = image;
    spoilt_image.flip(
        image.geometry().table_word_at(run.at / image.geometry().block_bytes) + bit / 8, bit % 8);
    EXPECT_GT(expect_found(spoilt_image, "table word of block"), 0u) << bit;
  }
}

TEST_F(Damage, FooterOfASealedBlock) {
  const Image image = good(false);
  const auto runs = image.runs(BlockState::kSealed);
  ASSERT_GE(runs.size(), 5u);
  for (const std::uint64_t byte : {0, 8, 16, 24, 32, 40, 48, 52, 63}) {
    Image spoilt_image = image;
    spoilt_image.flip(runs[2].at + runs[2].bytes - sizeof(RunFooter) + byte, 5);
    EXPECT_GT(expect_found(spoilt_image, "footer of sealed block"), 0u) << byte;
  }
}

// Under a good checksum: what is live of the run was counted below zero.
TEST_F(Damage, FramesThatAreLongerThanTheirRun) {
  Image image = good(false);
  auto run = image.runs(BlockState::kSealed)[2];
  const std::uint64_t end = run.at + run.bytes, tail = end - run_tail_bytes(run.footer.records);
  run.footer.frame_bytes = run.footer.used_bytes + 1;
  image.write(end - sizeof run.footer, run.footer);
  run.footer.checksum =
      run_tail_checksum(reinterpret_cast<const std::byte*>(image.bytes().data()) + tail,
                        run.footer.records, image.geometry().seed(run.footer.generation));
  image.write(end - sizeof run.footer, run.footer);
  EXPECT_GT(expect_found(image, "footer of sealed block"), 0u);
}

TEST_F(Damage, SummaryOfASealedBlock) {
  const Image image = good(false);
  const auto run = image.runs(BlockState::kSealed)[2];
  for (std::uint64_t entry = 0; entry < run.footer.records; entry += 3) {
    Image spoilt_image = image;
    const std::uint64_t at = run.at + run.bytes - run_tail_bytes(run.footer.records) +
                             dead_bits_bytes(run.footer.records);
    spoilt_image.flip(at + entry * sizeof(SummaryEntry) + entry % 16, static_cast<int>(entry % 8));
    EXPECT_GT(expect_found(spoilt_image, "footer of sealed block"), 0u) << entry;
  }
}

TEST_F(Damage, BlockOfZeros) {
  Image image = good(false);
  const auto run = image.runs(BlockState::kSealed)[1];
  image.zero(run.at, run.bytes);
  EXPECT_GT(expect_found(image, "footer of sealed block"), 0u);
}

TEST_F(Damage, EveryByteOfARecordIsCheckedByVerify) {
  for (const bool clean : {true, false}) {
    const Image image = good(clean);
    const auto run = image.runs(BlockState::kSealed)[3];
    const auto header = image.read<RecordHeader>(run.at);
    const std::uint64_t bytes =
        image.geometry().record_bytes(header.key_bytes(), header.value_bytes());
    for (std::uint64_t byte = 0; byte < bytes; byte += byte < 48 ? 1 : 29) {
      Image spoilt_image = image;
      spoilt_image.flip(run.at + byte, static_cast<int>(byte % 8));
      auto store = open(spoilt_image, RegionAccess::kOpenReadOnly);
      if (!store) continue;  // Found even earlier.
      const auto report = store->verify();
      ASSERT_FALSE(report.ok()) << byte;
      EXPECT_NE(report.defects.front().what.find("record 0 of block"), std::string::npos)
          << report.defects.front().what;
      EXPECT_GE(report.defects.front().offset, run.at);
    }
  }
}

// A crash while closing may tear it, so it is no defect: the index is rebuilt.
// Nobody needs a superseded record any more. Whatever became of its header, the newer one counts,
// the key can be erased, and no other record pays for it: its length had left two entries of the
// key in the index, its sequence had let it win, its ordinal had marked a neighbour dead.
TEST_F(Damage, OfASupersededRecordHarmsNobody) {
  const std::string directory = scratch_.path("good"), died = scratch_.path("died");
  Contents expected;
  {
    auto store = Store<>::open(directory, tiny()).value();
    for (int i = 0; i < 60; ++i) {
      ASSERT_TRUE(store.put("key" + std::to_string(i), text_of(i, 200)));
      expected["key" + std::to_string(i)] = text_of(i, 200);
    }
    for (int i = 0; i < 60; i += 3)
      ASSERT_TRUE(store.put("key" + std::to_string(i),
                            expected["key" + std::to_string(i)] = text_of(i + 1000, 200)));
    seal_blocks(store);
    expected["seal"] = std::string(6 * KiB, 's');
    std::filesystem::copy(directory, died, std::filesystem::copy_options::recursive);
  }
  const Image image = Image::of(died);
  // The header of the first "key9" of the medium.
  const std::uint64_t at = image.bytes().find("key9" + std::string(4, '\0')) - sizeof(RecordHeader);
  ASSERT_EQ(at % kCacheLineBytes, 0u);
  ASSERT_EQ(image.read<RecordHeader>(at).value_bytes(), 200u);
  const auto with = [&](const auto& change) {
    Image spoilt_image = image;
    auto header = spoilt_image.read<RecordHeader>(at);
    change(header);
    spoilt_image.write(at, header);
    return spoilt_image;
  };
  const std::pair<const char*, Image> cases[] = {
      {"longer", with([](RecordHeader& header) { header.size_word = 1 << 20; })},
      {"newer", with([](RecordHeader& header) { header.sequence += 1 << 20; })},
      {"older", with([](RecordHeader& header) { header.sequence = 0; })},
      {"neighbour", with([](RecordHeader& header) { header.ordinal += 1; })},
      {"far", with([](RecordHeader& header) { header.ordinal = ~0u; })},
      {"kind", with([](RecordHeader& header) { header.key_bytes_and_kind ^= 3u << 24; })},
  };
  for (const auto& [name, spoilt_image] : cases) {
    auto store = open(spoilt_image, RegionAccess::kOpen).value();
    std::string value;
    for (const auto& [key, wanted] : expected)
      EXPECT_EQ(get(store, key), wanted) << name << ": " << key;
    EXPECT_EQ(store.count(), expected.size()) << name;
    EXPECT_TRUE(store.erase("key9").value());
    EXPECT_EQ(get(store, "key9"), "<kNotFound>") << name;
    for (int i = 0; i < 3; ++i)
      (void)store.reclaim();  // May refuse to move the damaged one.
    for (const auto& [key, wanted] : expected) {
      EXPECT_EQ(get(store, key), key == "key9" ? "<kNotFound>" : wanted) << name << ": " << key;
    }
    EXPECT_TRUE(store.close());
    auto again = Store<>::open(spoilt(), tiny()).value();
    for (const auto& [key, wanted] : expected) {
      EXPECT_EQ(get(again, key), key == "key9" ? "<kNotFound>" : wanted) << name << ": " << key;
    }
  }
}

// The index image leads to records of a block whose word is damaged, so that it belongs to no run.
TEST_F(Damage, OfALengthInABlockThatIsInNoRunLeadsNowhere) {
  Image image = good(true);
  const std::uint64_t at = image.bytes().find(text_of(1, 200)) - 40;
  auto header = image.read<RecordHeader>(at);
  ASSERT_EQ(header.value_bytes(), 200u);
  header.size_word = std::uint64_t{1} << 33;
  image.write(at, header);
  image.flip(image.geometry().table_word_at(at / image.geometry().block_bytes));
  auto store = open(image, RegionAccess::kOpenReadOnly).value();
  EXPECT_TRUE(store.recovery().clean);
  EXPECT_EQ(get(store, "key1"), "<kCorrupt>");
  EXPECT_EQ(store.get_pinned("key1").code(), Errc::kCorrupt);
  EXPECT_FALSE(store.snapshot().for_each([](auto...) { return true; }));
}

// What an opening sweeps behind a kill are the keys of pieces. One that is said to be longer than the
// medium was read beyond its end.
TEST_F(Damage, OfTheKeyOfAPieceLeadsNowhereWhenAnOpeningSweeps) {
  const std::string directory = scratch_.path("pieces");
  auto store = Store<>::open(directory, tiny()).value();
  for (int i = 0; i < 8; ++i)
    store.append("list", std::string(400, static_cast<char>('a' + i))).value();
  // Seals the block of the pieces: an open one's records are looked at.
  for (int i = 0; i < 300; ++i)
    store.append("of another lineage", std::string(400, 'x')).value();
  store.put("other", "value").value();
  std::filesystem::copy(directory, scratch_.path("killed"));
  Image image = Image::of(scratch_.path("killed"));
  // A piece's key begins with the key itself.
  std::uint64_t pieces = 0;
  for (std::uint64_t at = 0; (at = image.bytes().find("list", at)) != std::string::npos; ++at) {
    auto header = image.read<RecordHeader>(at - sizeof(RecordHeader));
    if (header.key_bytes() != 4 + kPieceSuffixBytes) continue;
    ++pieces;
    header.key_bytes_and_kind |= 0xffffff;
    image.write(at - sizeof(RecordHeader), header);
  }
  ASSERT_GT(pieces, 0u);
  const auto opened = open(image, RegionAccess::kOpen);
  if (opened) {
    EXPECT_EQ(get(*opened, "other"), "value");
  }
}

// With verify_reads no verb gives a value that the medium has changed; without, some do.
TEST_F(Damage, OfAValueIsSeenByEveryReadThatVerifies) {
  const auto key = [](int i) { return "of words " + std::to_string(i); };
  const std::string seven = key(7);
  // On a line medium the usual verbs are others, which do not ask; for keys of 8 to 16 bytes.
  for (const int which : {0, 1, 2, 3}) {
    const bool words = which % 2 != 0;
    const char* const as_lines = which < 2 ? "" : "?granularity=line";
    StoreOptions options = words ? with_words({0, 16}) : tiny();
    const std::string directory = scratch_.path("store" + std::to_string(which));
    {
      auto store = Store<>::open(directory + as_lines, options).value();
      for (int i = 0; i < 100; ++i)
        ASSERT_TRUE(store.put(key(i), text_of(i, 200)));
      ASSERT_TRUE(store.close());
    }
    Image image = Image::of(directory);
    image.flip(image.bytes().find(text_of(7, 200)) + 100);
    image.write_to(spoilt());
    options.verify_reads = true;
    auto store = Store<>::open(spoilt() + as_lines, options).value();
    std::string value;
    std::byte buffer[10];
    EXPECT_EQ(store.get(seven, value).code(), Errc::kCorrupt);
    EXPECT_TRUE(mentions(store.get(seven, value).error(), "checksum does not hold"));
    EXPECT_EQ(store.get(seven, std::span(buffer)).code(), Errc::kCorrupt);
    EXPECT_EQ(store.get_pinned(seven).code(), Errc::kCorrupt);
    const std::string_view keys[] = {seven, seven};
    std::string values[2];
    Errc outcomes[2];
    EXPECT_EQ(store.get_many(keys, values, outcomes).code(), Errc::kCorrupt);
    EXPECT_EQ(store.update(seven, [](std::string&) {}).code(), Errc::kCorrupt);
    EXPECT_EQ(store.update_word(seven, 8, [](std::uint64_t w) { return w; }).code(),
              Errc::kCorrupt);
    {
      const Snapshot snapshot = store.snapshot();
      EXPECT_EQ(snapshot.get(seven, value).code(), Errc::kCorrupt);
      EXPECT_EQ(snapshot.for_each([](auto...) { return true; }).code(), Errc::kCorrupt);
    }
    for (int i = 0; i < 100; ++i) {
      if (i == 7) continue;
      EXPECT_EQ(get(store, key(i)), text_of(i, 200));
    }
    // A record that was updated in place holds its checksum all the same.
    ASSERT_TRUE(store.update_word(key(8), 16, [](std::uint64_t word) { return word + 1; }));
    EXPECT_TRUE(store.get(key(8), value));
    EXPECT_TRUE(store.put(seven, "mended"));
    EXPECT_EQ(get(store, seven), "mended");
  }
}

// As OfASupersededRecordHarmsNobody, while the store runs: an overwrite believes the ordinal of
// what it supersedes.
TEST_F(Damage, OfAnOrdinalDoesNotCostTheNeighbourItsLife) {
  auto store = Store<>::open(spoilt(), tiny()).value();
  Contents expected;
  for (int i = 0; i < 60; ++i) {
    ASSERT_TRUE(store.put("key" + std::to_string(i), text_of(i, 200)));
    expected["key" + std::to_string(i)] = text_of(i, 200);
  }
  {
    const auto pinned = store.get_pinned("key9").value();
    auto* const header = reinterpret_cast<RecordHeader*>(const_cast<char*>(pinned.value().data()) -
                                                         40);  // 4 bytes of key, 4 of padding.
    ASSERT_EQ(header->value_bytes(), 200u);
    header->ordinal += 1;
  }
  for (int i = 0; i < 60; ++i) {
    if (i == 10) continue;
    expected["key" + std::to_string(i)] = text_of(i + 99, 200);
    ASSERT_TRUE(store.put("key" + std::to_string(i), text_of(i + 99, 200)));
  }
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(store.reclaim());
  for (int i = 0; i < 60; ++i)
    ASSERT_TRUE(store.put("other" + std::to_string(i), text_of(i, 200)));
  for (const auto& [key, wanted] : expected)
    EXPECT_EQ(get(store, key), wanted) << key;
}

TEST_F(Damage, CleanMarkThatDoesNotHoldCostsNothingButTheIndex) {
  const Image image = good(true);
  for (std::uint64_t byte = 0; byte < sizeof(CleanMark); byte += 7) {
    Image spoilt_image = image;
    spoilt_image.flip(kCleanMarkAt + byte, 1);
    for (const auto access : {RegionAccess::kOpenReadOnly, RegionAccess::kOpen}) {
      auto store = open(spoilt_image, access).value();
      EXPECT_FALSE(store.recovery().clean) << byte;
      expect_contents(store, expected_);
    }
  }
}

TEST_F(Damage, IndexImage) {
  Image image = good(true);
  const auto mark = image.read<CleanMark>(kCleanMarkAt);
  ASSERT_NE(mark.image_block, 0u);
  image.flip(mark.image_block * image.geometry().block_bytes + mark.image_bytes / 2, 3);
  EXPECT_EQ(expect_found(image, "index image"), 0u);
}

TEST_F(Damage, SwappedSegmentFiles) {
  Image image = good(true);
  image.write_to(spoilt());
  std::filesystem::rename(Image::path(spoilt(), 0), spoilt() + "/x");
  std::filesystem::rename(Image::path(spoilt(), 1), Image::path(spoilt(), 0));
  std::filesystem::rename(spoilt() + "/x", Image::path(spoilt(), 1));
  EXPECT_FALSE(Store<>::open(spoilt(), with_access(RegionAccess::kOpen)));
  // Two that hold records only.
  image.write_to(spoilt());
  std::filesystem::rename(Image::path(spoilt(), 2), spoilt() + "/x");
  std::filesystem::rename(Image::path(spoilt(), 1), Image::path(spoilt(), 2));
  std::filesystem::rename(spoilt() + "/x", Image::path(spoilt(), 1));
  expect_found(Image::of(spoilt()), "");
}

TEST_F(Damage, SegmentOfAnotherStore) {
  const Image other = good(true);
  Image image = good(true);  // A second store with another identity.
  ASSERT_NE(image.geometry().store_id, other.geometry().store_id);
  const std::uint64_t segment = image.geometry().segment_bytes;
  image.bytes().replace(segment, segment, other.bytes().substr(segment, segment));
  expect_found(image, "footer of sealed block");
}

TEST_F(Damage, MissingAndShortFilesAreNamed) {
  const Image image = good(true);
  const std::uint64_t last = image.size() / image.geometry().segment_bytes - 1;
  ASSERT_GE(last, 2u);
  for (const std::uint64_t segment : {std::uint64_t{0}, std::uint64_t{1}, last}) {
    for (const bool cut : {false, true}) {
      image.write_to(spoilt());
      const std::string path = Image::path(spoilt(), segment);
      if (cut)
        std::filesystem::resize_file(path, 5000);
      else
        std::filesystem::remove(path);
      const auto refused = Store<>::open(spoilt(), with_access(RegionAccess::kOpen));
      ASSERT_EQ(refused.code(), Errc::kCorrupt) << segment << cut;
      const bool named =
          mentions(refused.error(), "segment-") || mentions(refused.error(), "a file is missing");
      EXPECT_TRUE(named) << refused.error().detail;
      auto store = Store<>::open(spoilt(), with_access(RegionAccess::kOpenReadOnly));
      if (segment == 0 && !cut) {
        EXPECT_FALSE(store);  // Nothing says any more what the rest means.
      } else if (store) {
        missing(*store);
        EXPECT_FALSE(store->verify().ok());
      } else {
        EXPECT_EQ(segment, 0u) << store.error().message();
      }
    }
  }
}

TEST_F(Damage, FilesThatAreNoStoreAreRefused) {
  std::filesystem::create_directory(spoilt());
  std::ofstream(spoilt() + "/notes.txt") << "hello";
  const auto foreign = Store<>::open(spoilt(), tiny());
  ASSERT_EQ(foreign.code(), Errc::kAlreadyExists);
  EXPECT_TRUE(mentions(foreign.error(), "notes.txt")) << foreign.error().detail;
  std::ofstream(scratch_.path("file")) << std::string(100000, 'x');
  const auto file = Store<>::open(scratch_.path("file"), tiny());
  ASSERT_FALSE(file);
  EXPECT_TRUE(file.code() == Errc::kNotHoldfast || file.code() == Errc::kCorrupt)
      << file.error().message();
  std::filesystem::remove_all(spoilt());
  EXPECT_EQ(Store<>::open(spoilt(), with_access(RegionAccess::kOpenReadOnly)).code(),
            Errc::kNotFound);
}

TEST_F(Damage, DirectoryThatVanishesIsToldByTheGrowth) {
  auto store = Store<>::open(spoilt(), tiny()).value();
  ASSERT_TRUE(store.put("k", "v"));
  std::filesystem::remove_all(spoilt());
  Result<PutOutcome> put = PutOutcome::kInserted;
  for (int i = 0; i < 1000 && put; ++i)
    put = store.put("key" + std::to_string(i), std::string(1000, 'v'));
  ASSERT_EQ(put.code(), Errc::kIo);
  EXPECT_TRUE(mentions(put.error(), "removed while in use")) << put.error().detail;
  EXPECT_EQ(get(store, "k"), "v");
}

TEST_F(Damage, RandomDamageCrashesNothingAndGivesNoWrongKey) {
  for (const bool clean : {true, false}) {
    const Image image = good(clean);
    Random random(clean ? 1 : 2);
    for (int round = 0; round < 150; ++round) {
      Image spoilt_image = image;
      for (std::uint64_t i = random.below(8) + 1; i > 0; --i) {
        const std::uint64_t at = random.below(spoilt_image.size());
        switch (random.below(4)) {
          case 0: spoilt_image.flip(at, static_cast<int>(random.below(8))); break;
          case 1:
            spoilt_image.zero(at, std::min(random.below(5000), spoilt_image.size() - at));
            break;
          case 2: spoilt_image.write(at / 8 * 8, random.next()); break;
          default:
            spoilt_image.bytes().replace(
                at, 64, spoilt_image.bytes().substr(random.below(spoilt_image.size() - 64), 64));
            spoilt_image.bytes().resize(image.size());
        }
      }
      for (const auto access : {RegionAccess::kOpenReadOnly, RegionAccess::kOpen}) {
        auto store = open(spoilt_image, access);
        if (!store) continue;
        std::string value;
        for (const auto& [key, wanted] : expected_)
          (void)store->get(key, value);
        (void)store->snapshot().for_each(
            [&](std::string_view key, std::string_view, Version) { return key.size() < 100; });
        (void)store->verify();
        if (access != RegionAccess::kOpen) continue;
        for (int i = 0; i < 300; i += 5)
          (void)store->put("key" + std::to_string(i), "new");
        for (int i = 1; i < 300; i += 5)
          (void)store->erase("key" + std::to_string(i));
        (void)store->reclaim();
        for (int i = 0; i < 300; i += 5)
          EXPECT_EQ(get(*store, "key" + std::to_string(i)), "new") << "round " << round;
      }
    }
  }
}

// Found by reading: nothing checks these words, and one that was all ones made the store count from
// zero again: versions that were used before, and a put that could not tell why it failed.
TEST_F(Damage, LimitsThatNoStoreCanHaveReached) {
  for (const bool close : {false, true}) {
    for (const auto& [at, what] : {std::pair{kSequenceLimitWordAt, "sequence limit"},
                                   std::pair{kGenerationLimitWordAt, "generation limit"}}) {
      for (const std::uint64_t word :
           {~std::uint64_t{0}, ~std::uint64_t{0} - 70, kMaxSequence + 1}) {
        Image image = good(close);
        image.write(at, word);
        EXPECT_EQ(expect_found(image, what), 0u) << word;
      }
    }
  }
}

// A walk ended at the first damaged record, wherever that stood in the index: an export of what is
// intact had none of what came behind it.
TEST_F(Damage, AWalkVisitsAllThatIsIntactAndSaysThatSomeIsNot) {
  Image image = good(/*clean=*/true);
  image.flip(image.bytes().find(expected_["key41"].substr(20, 100)), 3);
  image.flip(image.bytes().find(expected_["key152"].substr(20, 100)), 3);
  image.write_to(spoilt());
  StoreOptions options = with_access(RegionAccess::kOpenReadOnly);
  options.verify_reads = true;
  auto store = Store<>::open(spoilt(), options).value();
  Contents seen;
  const auto walked =
      store.snapshot().for_each([&](std::string_view key, std::string_view value, Version) {
        seen.emplace(key, value);
        return true;
      });
  EXPECT_EQ(walked.code(), Errc::kCorrupt);
  expected_.erase("key41"), expected_.erase("key152");
  EXPECT_EQ(seen, expected_);
}

}  // namespace
}  // namespace holdfast::kv
