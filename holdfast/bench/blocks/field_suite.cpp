// Suite field: what it costs to replace a small value in place so that a crash leaves the old or
// the new one, and to read it, beside one bare persist of the same bytes and libpmemobj's
// transactions.
#include <holdfast/bench/blocks/field_suite.hpp>

#include <cstring>
#include <optional>
#include <string>

#include <holdfast/blocks/field/cow_field.hpp>
#include <holdfast/blocks/field/fam_field.hpp>
#include <holdfast/blocks/field/log_field.hpp>
#include <holdfast/blocks/log/log.hpp>

namespace holdfast::bench::blocks {
namespace {

using holdfast::blocks::CowField;
using holdfast::blocks::FamField;
using holdfast::blocks::FieldLog;
using holdfast::blocks::Log;
using holdfast::blocks::LogField;
using holdfast::blocks::LogOptions;
using holdfast::blocks::field_detail::fam_kernels;
using holdfast::blocks::field_detail::FamKernels;

// Fields of type Field, each on lines of its own, from the beginning of the region on.
template <class Field, std::uint32_t kFieldBytes>
class InRegion : public FieldAccessDefaults {
 public:
  static constexpr std::uint32_t kBytes = kFieldBytes;
  struct alignas(kCacheLineBytes) Cell {
    Field field;
  };
  static constexpr std::uint64_t kStrideBytes = sizeof(Cell);
  using Value = FieldValue<kBytes>;

  InRegion(const Context& context, const FieldShape& shape)
      : context_(context), shape_(shape), cells_(reinterpret_cast<Cell*>(context.region.data())) {}
  Status create() {
    HF_CHECK(shape_.fields * kStrideBytes <= shape_.area_bytes);
    std::memset(context_.region.data(), 0, shape_.fields * kStrideBytes);
    return {};
  }
  void settle() { persist().persist(cells_, shape_.fields * kStrideBytes); }

 protected:
  const Persist& persist() const { return context_.region.persist(); }
  Field& field(std::uint64_t index) const { return cells_[index].field; }

  const Context& context_;
  const FieldShape shape_;

 private:
  Cell* const cells_;
};

// A field that replaces and reads itself: FamField, CowField.
template <template <class> class Field, std::uint32_t kBytes>
class OwnField : public InRegion<Field<FieldValue<kBytes>>, kBytes> {
 public:
  using Base = InRegion<Field<FieldValue<kBytes>>, kBytes>;
  using Value = typename Base::Value;
  using Base::Base;
  void set(std::uint64_t index, const Value& value) {
    this->field(index).update(Persist::none(), value);
  }
  Status update(unsigned, std::uint64_t index, const Value& value) {
    this->field(index).update(this->persist(), value);
    return {};
  }
  Value read(std::uint64_t index) const { return this->field(index).read(); }
};

// By vectors of a width that it does not choose itself.
template <std::uint32_t kBytes, VectorWidth kWidth>
class FamOf : public OwnField<FamField, kBytes> {
 public:
  using Base = OwnField<FamField, kBytes>;
  using Base::Base;
  Status update(unsigned, std::uint64_t index, const typename Base::Value& value) {
    this->field(index).update_with(kernels_, this->persist(), value);
    return {};
  }

 private:
  const FamKernels kernels_ = fam_kernels(kWidth);
};

// The same as the authors' code writes it: by whole lines that are streamed. Through
// Persist::stream, so it is durable also where a non-temporal store to a line that is in a cache
// stays there, as those of a field that was read do.
template <std::uint32_t kBytes>
struct StreamedCow {
  static constexpr bool kOneLine = 8 + 2 * kBytes <= kCacheLineBytes;
  static constexpr std::uint32_t kCopyBytes =
      kOneLine ? kBytes : (kBytes + kCacheLineBytes - 1) / kCacheLineBytes * kCacheLineBytes;
  static constexpr std::uint32_t kCopiesAt = kOneLine ? 8 : kCacheLineBytes;
  // Selector, first copy, second copy.
  alignas(kCacheLineBytes)
      std::byte lines[kOneLine ? kCacheLineBytes : kCacheLineBytes + 2 * kCopyBytes];

  std::uint64_t selector() const {
    std::uint64_t word;
    std::memcpy(&word, lines, sizeof word);
    return word & 1;
  }
  std::uint32_t copy_at(std::uint64_t copy) const {
    return kCopiesAt + static_cast<std::uint32_t>(copy) * kCopyBytes;
  }
};

template <std::uint32_t kBytes>
class CowStreamed : public InRegion<StreamedCow<kBytes>, kBytes> {
 public:
  using Field = StreamedCow<kBytes>;
  using Base = InRegion<Field, kBytes>;
  using Value = typename Base::Value;
  using Base::Base;
  void set(std::uint64_t index, const Value& value) {
    std::memcpy(this->field(index).lines + Field::kCopiesAt, &value, sizeof value);
  }
  Status update(unsigned, std::uint64_t index, const Value& value) {
    auto& field = this->field(index);
    const auto other = field.selector() ^ 1;
    const auto copy_at = field.copy_at(other);
    alignas(kCacheLineBytes) std::byte image[Field::kOneLine ? kCacheLineBytes : Field::kCopyBytes];
    if constexpr (Field::kOneLine) {
      std::memcpy(image, field.lines, sizeof image);
      std::memcpy(image + copy_at, &value, sizeof value);
      stream(field.lines, image, sizeof image);
    } else {
      std::memcpy(image, &value, sizeof value);
      std::memset(image + sizeof value, 0, sizeof image - sizeof value);
      stream(field.lines + copy_at, image, sizeof image);
      std::memset(image, 0, kCacheLineBytes);
    }
    std::memcpy(image, &other, sizeof other);
    stream(field.lines, image, kCacheLineBytes);
    return {};
  }
  Value read(std::uint64_t index) const {
    const auto& field = this->field(index);
    Value value;
    std::memcpy(&value, field.lines + field.copy_at(field.selector()), sizeof value);
    return value;
  }

 private:
  void stream(std::byte* to, const std::byte* from, std::size_t bytes) {
    this->persist().stream(to, from, bytes);
    this->persist().fence();
  }
};

template <std::uint32_t kBytes>
class Logged : public InRegion<LogField<FieldValue<kBytes>>, kBytes> {
 public:
  using Base = InRegion<LogField<FieldValue<kBytes>>, kBytes>;
  using Value = typename Base::Value;
  using Base::Base;
  Status create() {
    HF_RETURN_IF_ERROR(Base::create());
    const auto threads = this->context_.options.threads_most();
    LogOptions options;
    options.lanes = 1;
    logs_.reserve(threads);
    for (unsigned t = 0; t < threads; ++t) {
      HF_ASSIGN_OR_RETURN(auto log,
                          Log::replace(this->context_.region,
                                       {this->shape_.area_bytes + t * this->shape_.log_bytes,
                                        this->shape_.log_bytes},
                                       options));
      logs_.push_back(std::move(log));
      field_logs_.emplace_back(this->context_.region, logs_.back());
    }
    return {};
  }
  void destroy() { field_logs_.clear(), logs_.clear(); }
  // The field is the plain value.
  void set(std::uint64_t index, const Value& value) {
    std::memcpy(static_cast<void*>(&this->field(index)), &value, sizeof value);
  }
  Status update(unsigned thread, std::uint64_t index, const Value& value) {
    return this->field(index).update(field_logs_[thread], value);
  }
  Value read(std::uint64_t index) const { return this->field(index).read(); }

 private:
  std::vector<Log> logs_;
  std::vector<FieldLog> field_logs_;
};

// The floor: the bytes in place and one fence. A crash may leave some of each.
template <std::uint32_t kBytes>
class Fence : public InRegion<FieldValue<kBytes>, kBytes> {
 public:
  using Base = InRegion<FieldValue<kBytes>, kBytes>;
  using Value = typename Base::Value;
  using Base::Base;
  void set(std::uint64_t index, const Value& value) { this->field(index) = value; }
  Status update(unsigned, std::uint64_t index, const Value& value) {
    auto* const place = &this->field(index);
    this->persist().copy(place, &value, sizeof value);
    this->persist().persist(place, sizeof value);
    return {};
  }
  Value read(std::uint64_t index) const { return this->field(index); }
};

template <std::uint32_t kBytes>
void add_subjects(const Context& context, const FieldShape& shape,
                  std::vector<SubjectEntry>& subjects) {
  subjects.push_back(field_entry<Fence<kBytes>>("fence", context, shape));
  subjects.push_back(field_entry<OwnField<FamField, kBytes>>("holdfast", context, shape));
  subjects.push_back(
      field_entry<FamOf<kBytes, VectorWidth::kPortable>>("fam-scalar", context, shape));
  if (cpu().avx2)
    subjects.push_back(field_entry<FamOf<kBytes, VectorWidth::kAvx2>>("fam-avx2", context, shape));
  if (cpu().avx512)
    subjects.push_back(
        field_entry<FamOf<kBytes, VectorWidth::kAvx512>>("fam-avx512", context, shape));
  subjects.push_back(field_entry<OwnField<CowField, kBytes>>("cow", context, shape));
  subjects.push_back(field_entry<CowStreamed<kBytes>>("cow-streamed", context, shape));
  subjects.push_back(field_entry<Logged<kBytes>>("log", context, shape));
  for (const auto* library : {"libpmem", "libpmemobj"})
    subjects.push_back(module_entry<const FieldShape&>(library, library, context, shape));
}

// The widest of what a field of this size takes in any subject.
constexpr std::uint64_t widest_stride(std::uint32_t bytes) {
  const std::uint64_t words = bytes / 4, blocks = words + (words + 30) / 31;
  return std::max(round_up(8 * blocks, kCacheLineBytes),
                  kCacheLineBytes + 2 * round_up(bytes, kCacheLineBytes));
}

}  // namespace

std::vector<Experiment> field_experiments(const Context& context) {
  std::vector<Experiment> experiments;
  const auto threads = context.options.threads_most();
  for (const bool random : {false, true}) {
    for (const std::uint32_t bytes : points(context.options, {16u, 32u, 64u, 128u, 256u})) {
      FieldShape shape;
      shape.field_bytes = bytes;
      shape.random = random;
      // Beyond the caches where the region allows it.
      shape.area_bytes = std::min<std::uint64_t>(context.options.region_bytes / 2, 512 * MiB);
      shape.fields = shape.area_bytes / widest_stride(bytes);
      shape.log_bytes = std::min<std::uint64_t>(
          64 * MiB,
          round_down((context.options.region_bytes - shape.area_bytes) / threads, 2 * MiB));
      if (shape.log_bytes == 0) shape.log_bytes = 64 * KiB;
      Experiment experiment;
      experiment.name =
          "field " + std::to_string(bytes) + " B " + (random ? "random" : "sequential");
      experiment.what =
          "Section 3.4.4, figure 10: updates, reads and dependent reads by size and order";
      experiment.part = random ? "fields at random" : "fields in order";
      experiment.parameters.set("field_bytes", bytes);
      experiment.parameters.set("order", random ? "random" : "sequential");
      auto& plan = experiment.plan;
      switch (bytes) {
#define HF_ADD_SUBJECTS(size) \
  case size: add_subjects<size>(context, shape, plan.subjects); break;
        HF_FIELD_SIZES(HF_ADD_SUBJECTS)
#undef HF_ADD_SUBJECTS
      }
      plan.operations = {{"update_field", {}}, {"read_field", {}}, {"read_field_dependent", {}}};
      plan.baseline = "fence";
      experiments.push_back(std::move(experiment));
    }
  }
  return experiments;
}

}  // namespace holdfast::bench::blocks
