// field_guide.cpp: a small structure of a program's own on the medium, with fields that a crash
// leaves old or new, never mixed. docs/guide_fields.md.
#include <cstdint>
#include <cstdio>
#include <string>

#include <holdfast/blocks/field/fam_field.hpp>
#include <holdfast/blocks/field/field_group.hpp>
#include <holdfast/memory/region.hpp>

using holdfast::Region;
using holdfast::RegionOptions;
using holdfast::Status;
using holdfast::blocks::FamField;
using holdfast::blocks::FieldGroup;

struct Position {  // Trivially copyable, 16 to 256 bytes. No pointers: the region moves.
  double x = 0, y = 0;
  std::uint64_t steps = 0;
};

struct Robots {  // On the medium, at the start of the region. Zeros are valid: nothing to create.
  alignas(64) FamField<Position> first;
  alignas(64) FamField<Position> second;
};

Status run(const std::string& spec) {
  RegionOptions size;
  size.size_bytes = size.unit_bytes = 64 * holdfast::KiB;
  HF_ASSIGN_OR_RETURN(auto region, Region::open(spec, size));
  auto& robots = *reinterpret_cast<Robots*>(region.data());
  const auto& persist = region.persist();

  // After every opening, before anything else.
  HF_RETURN_IF_ERROR(robots.first.recover(persist));
  HF_RETURN_IF_ERROR(robots.second.recover(persist));

  Position first = robots.first.read();
  first.x += 1.5;
  ++first.steps;
  robots.first.update(persist, first);  // Durable on return. One fence.

  Position second = robots.second.read();
  second.y -= 1;
  ++second.steps;
  FieldGroup group(persist);  // Several fields, one fence.
  group.update(robots.first, first);
  group.update(robots.second, second);
  group.commit();  // A crash before this keeps or loses each field on its own.

  std::printf("first %.1f,%.1f second %.1f,%.1f after %llu steps\n", first.x, first.y, second.x,
              second.y, static_cast<unsigned long long>(robots.first.read().steps));
  return {};
}

int main(int count, char** arguments) {
  const auto status = run(count > 1 ? arguments[1] : "/dev/shm/guide.fields?granularity=line");
  if (!status) std::fprintf(stderr, "%s\n", status.error().message().c_str());
  return status ? 0 : 1;
}
