#include "ingest/safetensors_file.h"

#include <span>

#include "base/bounded_reader.h"
#include "base/checked.h"
#include "base/json.h"
#include "ingest/layout.h"

namespace motley::ingest {
namespace {

// The format allows 100 MB; the longest published headers take 5. A tree of JSON takes several times its text.
constexpr uint64_t kLongestHeader = 32 << 20;
constexpr size_t kMostDimensions = 8;  // largest published: 5
constexpr std::string_view kMetadataKey = "__metadata__";

// Where a tensor's fields are checked.
struct Context {
  std::string where;  // "FILE tensor NAME"
  uint64_t data_begin;
  const ByteSource& source;
};

StatusOr<tensor::DType> read_dtype(const Json& entry, const Context& context) {
  const Json* value = entry.find("dtype");
  const std::string* text = value == nullptr ? nullptr : value->as_string();
  REJECT_IF(text == nullptr, "safetensors.dtype_missing", context.where, "a dtype", "none");
  const auto dtype = tensor::dtype_from_safetensors(text == nullptr ? "" : *text);
  if (!dtype)
    return reject({.site = "safetensors.dtype",
                   .where = context.where,
                   .expected = "a dtype that motley knows",
                   .got = fmt::format("\"{}\"", text == nullptr ? "" : *text)});
  return *dtype;
}

StatusOr<std::vector<uint64_t>> read_shape(const Json& entry, const Context& context) {
  const Json* value = entry.find("shape");
  const Json::Array* items = value == nullptr ? nullptr : value->as_array();
  REJECT_IF(items == nullptr || items->size() > kMostDimensions, "safetensors.shape", context.where,
            fmt::format("a shape of at most {} dimensions", kMostDimensions), items == nullptr ? "none" : "more");
  std::vector<uint64_t> shape;
  for (size_t i = 0; items != nullptr && i < items->size(); ++i) {
    const auto size = (*items)[i].as_uint();
    REJECT_IF(!size, "safetensors.dimension", context.where, "whole numbers as dimensions", (*items)[i].dump());
    REJECT_IF(size == 0, "safetensors.zero_dimension", context.where, "no dimension of zero", value->dump());
    shape.push_back(size.value_or(0));
  }
  return shape;
}

StatusOr<ByteRange> read_offsets(const Json& entry, const Context& context) {
  const Json* value = entry.find("data_offsets");
  const Json::Array* items = value == nullptr ? nullptr : value->as_array();
  const bool two = items != nullptr && items->size() == 2 && (*items)[0].as_uint() && (*items)[1].as_uint();
  if (!two)
    return reject({.site = "safetensors.offsets",
                   .where = context.where,
                   .expected = "two data_offsets",
                   .got = value == nullptr ? "none" : value->dump()});
  const uint64_t begin = *(*items)[0].as_uint();
  const uint64_t end = *(*items)[1].as_uint();
  REJECT_IF(begin > end, "safetensors.offset_order", context.where, "data_offsets in order", value->dump());
  const uint64_t data_bytes = context.source.size_bytes() - context.data_begin;
  REJECT_IF(end > data_bytes, "safetensors.tensor_range", context.where,
            fmt::format("an end inside the {} bytes of data", data_bytes), end);
  if (begin > end || end > data_bytes) return absl::OutOfRangeError(context.where);
  return ByteRange{context.data_begin + begin, end - begin};
}

StatusOr<Tensor> read_tensor(std::string_view name, const Json& entry, const Context& context) {
  Tensor tensor;
  tensor.name = name;
  TRY(const auto dtype, read_dtype(entry, context));
  tensor.type = dtype;
  TRY(tensor.shape, read_shape(entry, context));
  TRY(tensor.range, read_offsets(entry, context));
  const auto elements = checked_product(tensor.shape);
  const auto size_bytes = elements ? checked_multiply(*elements, tensor::size_bytes(dtype)) : std::nullopt;
  REJECT_IF(!size_bytes, "safetensors.tensor_product", context.where, "a size below 2^63 bytes", "a larger one");
  REJECT_IF(tensor.range.size_bytes != size_bytes.value_or(0), "safetensors.tensor_size", context.where,
            fmt::format("{} bytes for its shape and dtype", size_bytes.value_or(0)), tensor.range.size_bytes);
  return tensor;
}

struct Header {
  Json json;
  uint64_t data_begin = 0;
};

StatusOr<Header> read_header(const ByteSource& source) {
  BoundedReader in(source, kLongestHeader + sizeof(uint64_t));
  in.enter("the header's length", "safetensors.cut_length");
  TRY(const auto header_bytes, in.number<uint64_t>());
  REJECT_IF(header_bytes > kLongestHeader, "safetensors.header_length", source.name(),
            fmt::format("a header of at most {} bytes", kLongestHeader), header_bytes);
  in.enter("the header", "safetensors.cut_header");
  TRY(const std::string text, in.text(header_bytes));
  TRY(Json json, parse_json(text, fmt::format("{} header", source.name())));
  REJECT_IF(json.as_object() == nullptr, "safetensors.header", source.name(), "an object as header", json.kind_name());
  return Header{std::move(json), in.position()};
}

}  // namespace

Status read_safetensors(const std::shared_ptr<const ByteSource>& source, std::vector<Tensor>& out) {
  TRY(const Header header, read_header(*source));
  const size_t first = out.size();
  const Json::Object none;
  for (const auto& [name, entry] : header.json.as_object() == nullptr ? none : *header.json.as_object()) {
    if (name == kMetadataKey) continue;
    const Context context{fmt::format("{} tensor {}", source->name(), name), header.data_begin, *source};
    TRY(Tensor tensor, read_tensor(name, entry, context));
    tensor.source = source;
    out.push_back(std::move(tensor));
  }
  return check_layout(std::span(out).subspan(first),
                      {.data_begin = header.data_begin,
                       .file_size_bytes = source->size_bytes(),
                       .alignment = 1,
                       .overlap_site = "safetensors.tensor_overlap",
                       .gap_site = "safetensors.tensor_gap",
                       .trailing_site = "safetensors.trailing_bytes"},
                      source->name());
}

}  // namespace motley::ingest
