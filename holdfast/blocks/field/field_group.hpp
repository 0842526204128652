// field_group.hpp: updates of several fields that share one fence.
// Public header.
//
//   FieldGroup group(persist);
//   for (auto& [account, next] : changes) group.update(account->balance, next);
//   group.commit();                             // Only now are they acknowledged.
//
// Guarantee  After commit() (or the destructor) all updates are durable. A crash before that keeps
//            or loses each field on its own: a group is not a transaction.
// Invariant  A field has at most one update without a fence: before a field is updated again, the
//            group is fenced.
// Threads    One. The fields must not be updated in any other way while they are in the group.
// Costs      One fence per group. Each update searches the fields of the group: meant for some
//            dozens.
#pragma once

#include <vector>

#include <holdfast/blocks/field/fam_field.hpp>
#include <holdfast/memory/persist.hpp>

namespace holdfast::blocks {

class FieldGroup {
 public:
  explicit FieldGroup(const Persist& persist) : persist_(persist) {}
  ~FieldGroup();
  FieldGroup(const FieldGroup&) = delete;
  FieldGroup& operator=(const FieldGroup&) = delete;

  template <class T>
  void update(FamField<T>& field, const T& value) {
    HF_CHECK(persist_.mapping() == Mapping::kWritable && "a field is stored to: see recover()");
    enter(&field);
    field.store(persist_, value, field_detail::default_fam_kernels());
  }
  void commit();

 private:
  void enter(const void* field);

  const Persist persist_;
  std::vector<const void*> fields_;
};

}  // namespace holdfast::blocks
