// function_ref.hpp: a callable as a parameter, without a template and without owning it.
//
//   void visit(FunctionRef<bool(std::uint64_t)> want);
//
// Two words, no allocation; the callable must outlive the call it is passed to. std::function where
// it is kept.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include <holdfast/base/language.hpp>

namespace holdfast {

template <class Signature>
class FunctionRef;

template <class Returned, class... Arguments>
class FunctionRef<Returned(Arguments...)> {
 public:
  template <class Callable>
    requires(!std::is_same_v<std::remove_cvref_t<Callable>, FunctionRef> &&
             std::is_invocable_r_v<Returned, Callable&, Arguments...>)
  FunctionRef(Callable&& callable)  // NOLINT: implicit by design.
                                    // Also of functions, which POSIX lets a void* point to.
      : object_((void*)std::addressof(callable)),  // NOLINT: const is back before the call.
        call_([](void* object, Arguments... arguments) -> Returned {
          return (*reinterpret_cast<std::remove_reference_t<Callable>*>(object))(
              std::forward<Arguments>(arguments)...);
        }) {}

  Returned operator()(Arguments... arguments) const {
    return call_(object_, std::forward<Arguments>(arguments)...);
  }

 private:
  void* object_;
  Returned (*call_)(void*, Arguments...);
};

}  // namespace holdfast
