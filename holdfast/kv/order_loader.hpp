// order_loader.hpp: after an open, puts the keys of a store and of its keyspaces in order, beside
// those that use the store. A cursor waits for it (key_order.hpp).
//
// Threads    One calls; a thread of its own loads.
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <holdfast/kv/order_image.hpp>
#include <holdfast/kv/rooms.hpp>

namespace holdfast::kv {

class OrderLoader {
 public:
  explicit OrderLoader(Rooms& rooms) : rooms_(rooms) {}
  ~OrderLoader() { stop(); }
  OrderLoader(const OrderLoader&) = delete;

  // Once, after recovery. `stored`: the order that a close left behind, or null. Without background
  // work and on page media all is in order on return. Errors: kNoSpace.
  Status begin(std::unique_ptr<StoredOrder> stored);
  // Ends, whether all is in order or not.
  void stop();

 private:
  void load(const std::vector<SpaceRooms*>& spaces);

  Rooms& rooms_;
  std::unique_ptr<StoredOrder> stored_;  // Until it is loaded.
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace holdfast::kv
