// Pipelines.
#include <holdfast/c/boundary.hpp>
#include <holdfast/c/handles.hpp>

using namespace holdfast;
using c::boundary;

namespace holdfast::c {
namespace {

template <class Verb>
std::int32_t submit(hf_pipeline* pipeline, const void* key, std::size_t key_bytes,
                    std::uint64_t* ticket, Verb&& verb) {
  return boundary([&]() -> Status {
    HF_NEEDS(pipeline);
    HF_NEEDS_KEY(key, key_bytes);
    HF_ASSIGN_OR_RETURN(const std::uint64_t number,
                        verb(pipeline->pipeline, text_of(key, key_bytes)));
    if (ticket != nullptr) *ticket = number;
    return {};
  });
}

}  // namespace
}  // namespace holdfast::c

int32_t hf_pipeline_open(hf_store* store, uint32_t window, uint32_t flags, hf_pipeline** pipeline) {
  return boundary([&]() -> Status {
    HF_NEEDS(store);
    HF_NEEDS(pipeline);
    *pipeline = nullptr;
    if ((flags & HF_RENEW) != 0)
      return c::unknown_number("flags", flags, "one of HF_DURABLE_PROCESS and HF_DURABLE_POWER");
    HF_ASSIGN_OR_RETURN(const kv::WriteOptions writes, c::write_options(flags));
    kv::PipelineOptions options;
    options.window = window;
    options.durability = writes.durability;
    HF_ASSIGN_OR_RETURN(auto opened, kv::Pipeline<>::open(store->store, options));
    *pipeline = new hf_pipeline{std::move(opened)};
    return {};
  });
}

int32_t hf_pipeline_put(hf_pipeline* pipeline, const void* key, size_t key_bytes, const void* value,
                        size_t value_bytes, uint64_t* ticket) {
  return c::submit(pipeline, key, key_bytes, ticket,
                   [&](kv::Pipeline<>& to, std::string_view name) -> Result<std::uint64_t> {
                     HF_NEEDS_VALUE(value, value_bytes);
                     return to.put(name, c::text_of(value, value_bytes)).number;
                   });
}

int32_t hf_pipeline_erase(hf_pipeline* pipeline, const void* key, size_t key_bytes,
                          uint64_t* ticket) {
  return c::submit(pipeline, key, key_bytes, ticket,
                   [](kv::Pipeline<>& to, std::string_view name) -> Result<std::uint64_t> {
                     return to.erase(name).number;
                   });
}

int32_t hf_pipeline_get(hf_pipeline* pipeline, const void* key, size_t key_bytes, void* buffer,
                        size_t capacity, uint64_t* ticket) {
  return c::submit(
      pipeline, key, key_bytes, ticket,
      [&](kv::Pipeline<>& to, std::string_view name) -> Result<std::uint64_t> {
        HF_NEEDS_BYTES(buffer, capacity);
        return to.get(name, std::span(static_cast<std::byte*>(buffer), capacity)).number;
      });
}

int32_t hf_pipeline_wait(hf_pipeline* pipeline, uint64_t ticket, uint64_t* outcome) {
  return boundary([&]() -> Status {
    HF_NEEDS(pipeline);
    HF_ASSIGN_OR_RETURN(const std::uint64_t result,
                        pipeline->pipeline.wait(kv::Ticket<std::uint64_t>{ticket}));
    if (outcome != nullptr) *outcome = result;
    return {};
  });
}

int32_t hf_pipeline_in_flight(const hf_pipeline* pipeline, size_t* operations) {
  return boundary([&]() -> Status {
    HF_NEEDS(pipeline);
    HF_NEEDS(operations);
    *operations = pipeline->pipeline.in_flight();
    return {};
  });
}

int32_t hf_pipeline_flush(hf_pipeline* pipeline) {
  return boundary([&]() -> Status {
    HF_NEEDS(pipeline);
    return pipeline->pipeline.flush();
  });
}

int32_t hf_pipeline_close(hf_pipeline* pipeline) {
  if (pipeline == nullptr) return HF_OK;
  return boundary([&]() -> Status {
    const std::unique_ptr<hf_pipeline> gone(pipeline);
    return gone->pipeline.flush();
  });
}
