// store_guide.cpp: what a program does with a store, from open() to close(). docs/guide_store.md.
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include <holdfast/kv/store.hpp>

using holdfast::Errc;
using holdfast::Result;
using holdfast::Status;
using holdfast::kv::Store;
using holdfast::kv::Version;
using holdfast::kv::WriteBatch;

// Money goes from one account to another: both records change, or none. Two transfers of the same
// accounts at a time need a lock of the program's own.
Status transfer(Store<>& accounts, const std::string& from, const std::string& to, int amount) {
  std::string from_text, to_text;
  HF_RETURN_IF_ERROR(accounts.get(from, from_text));
  HF_RETURN_IF_ERROR(accounts.get(to, to_text));
  WriteBatch batch;
  batch.put(from, std::to_string(std::stoi(from_text) - amount));
  batch.put(to, std::to_string(std::stoi(to_text) + amount));
  HF_RETURN_IF_ERROR(accounts.write(batch));
  return {};
}

// Several threads count in one record. compare_and_put writes only over the version it was given.
Status count_one(Store<>& store) {
  for (;;) {
    std::string text = "0";
    Version version = 0;  // Of an absent record.
    if (const auto found = store.get("visits", text)) {
      version = *found;
    } else if (found.code() != Errc::kNotFound) {
      return found.error();
    }
    const auto written =
        store.compare_and_put("visits", version, std::to_string(std::stoi(text) + 1));
    if (written) return {};
    if (written.code() != Errc::kVersionMismatch) return written.error();
  }
}

Status run(const std::string& path) {
  holdfast::kv::StoreOptions options;
  options.initial_bytes = options.segment_bytes = 4 * holdfast::MiB;  // A small store.
  HF_ASSIGN_OR_RETURN(auto store, Store<>::open(path, options));

  HF_RETURN_IF_ERROR(store.put("account/ada", "100"));
  HF_RETURN_IF_ERROR(store.put("account/grace", "20"));
  HF_RETURN_IF_ERROR(transfer(store, "account/ada", "account/grace", 30));

  const auto second = store.put_if_absent("account/ada", "0");
  std::printf("a second account of ada: %s\n", std::string(name(second.code())).c_str());

  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 25; ++n)
        count_one(store).value();
    });
  }
  for (auto& thread : threads)
    thread.join();

  {
    const auto snapshot = store.snapshot();                   // Everything as it is now.
    HF_RETURN_IF_ERROR(store.put("account/ada", "1000000"));  // The snapshot does not see it.
    HF_RETURN_IF_ERROR(snapshot.for_each([](auto key, auto value, Version) {
      std::printf("%.*s = %.*s\n", int(key.size()), key.data(), int(value.size()), value.data());
      return true;  // Go on.
    }));
  }

  HF_ASSIGN_OR_RETURN(const bool erased, store.erase("account/grace"));
  std::printf("grace was there: %s\n", erased ? "yes" : "no");
  HF_RETURN_IF_ERROR(
      store.sync());  // From here on all of it survives a power loss, if the medium can.
  return store.close();
}

int main(int count, char** arguments) {
  const auto status = run(count > 1 ? arguments[1] : "./guide.store");
  if (!status) std::fprintf(stderr, "%s\n", status.error().message().c_str());
  return status ? 0 : 1;
}
