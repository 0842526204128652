// thread_kept.hpp: an object that each thread keeps from call to call, for its memory.
//
// Guarantee  get() may be called by a thread that ends: by destructors of its thread-local objects
//            and by those of pthread keys. An object of `thread_local` would be gone by then, and
//            be used all the same. Here a new one is made, and freed in its turn.
// Space      On the heap: a library that is loaded at run time has little thread-local memory.
// Errors     get(): std::bad_alloc. Where all 1,024 keys of pthreads are taken, or a thread goes on
//            for more than the four rounds of destructors that pthreads has, its object stays.
#pragma once

#include <pthread.h>

#include <memory>

namespace holdfast {

template <class T>
class ThreadKept {
 public:
  static T& get() {
    if (object_ == nullptr) [[unlikely]]
      make();
    return *object_;
  }
  // Null: this thread has none now.
  static T* peek() { return object_; }

 private:
  class Key {  // Its destructor, where the library is unloaded: no thread comes back to it.
   public:
    Key() : valid_(pthread_key_create(&key_, end) == 0) {}
    ~Key() {
      if (valid_) pthread_key_delete(key_);
    }
    Key(const Key&) = delete;
    Key& operator=(const Key&) = delete;
    void set(T* object) const {
      if (valid_) (void)pthread_setspecific(key_, object);
    }

   private:
    pthread_key_t key_{};
    const bool valid_;
  };

  static void make() {
    static const Key key;
    auto made = std::unique_ptr<T>(new T);
    key.set(made.get());
    object_ = made.release();
  }
  static void end(void* object) {
    object_ = nullptr;
    delete static_cast<T*>(object);
  }

  static inline constinit thread_local T* object_ = nullptr;
};

}  // namespace holdfast
