#include "ingest/gguf_file.h"

#include <algorithm>
#include <array>

#include "base/bounded_reader.h"
#include "base/checked.h"
#include "ingest/layout.h"

namespace motley::ingest {
namespace {

// The longest published headers have 262 thousand tokens and 500 thousand merges in 15 MB, or a whole tokenizer.json of
// 33 MB.
constexpr uint64_t kHeaderBudgetBytes = 128ull << 20;
constexpr uint64_t kLongestKey = 65535;       // the format's own limit
constexpr uint64_t kLongestTreeArray = 4096;  // per-layer numbers; vocabularies are longer
constexpr uint64_t kSmallestKeyBytes = 8 + 4 + 1;
constexpr uint64_t kSmallestTensorBytes = 8 + 4 + 8 + 4 + 8;
constexpr uint64_t kMostElements = 1 << 20;  // of one array that is kept; largest published: 515 thousand merges
constexpr uint32_t kMostDimensions = 4;
constexpr uint64_t kDefaultAlignment = 32;
constexpr uint64_t kLargestAlignment = 1 << 20;

enum ValueType : uint32_t { kU8, kI8, kU16, kI16, kU32, kI32, kF32, kBool, kString, kArray, kU64, kI64, kF64 };

// Bytes of one element; a string at least its length field; 0 for arrays and unknown types.
uint64_t element_bytes(uint32_t type) {
  constexpr std::array<uint8_t, 13> kBytes = {1, 1, 2, 2, 4, 4, 4, 1, 8, 0, 8, 8, 8};
  return type < kBytes.size() ? kBytes[type] : 0;
}

StatusOr<std::string> read_string(BoundedReader& in) {
  TRY(const auto size_bytes, in.number<uint64_t>());
  return in.text(size_bytes);
}

StatusOr<Json> read_bool(BoundedReader& in) {
  TRY(const auto value, in.number<uint8_t>());
  REJECT_IF(value > 1, "gguf.bool", in.where(), "0 or 1 for a bool", value);
  return Json(value == 1);
}

template <typename T>
StatusOr<Json> read_number(BoundedReader& in) {
  TRY(const T value, in.number<T>());
  return Json(value);
}

StatusOr<Json> read_scalar(BoundedReader& in, uint32_t type) {
  switch (type) {
    case kU8:
      return read_number<uint8_t>(in);
    case kI8:
      return read_number<int8_t>(in);
    case kU16:
      return read_number<uint16_t>(in);
    case kI16:
      return read_number<int16_t>(in);
    case kU32:
      return read_number<uint32_t>(in);
    case kI32:
      return read_number<int32_t>(in);
    case kF32:
      return read_number<float>(in);
    case kU64:
      return read_number<uint64_t>(in);
    case kI64:
      return read_number<int64_t>(in);
    case kF64:
      return read_number<double>(in);
    case kBool:
      return read_bool(in);
    default:
      break;
  }
  REJECT_IF(type != kString, "gguf.value_type", in.where(), "a value type from 0 to 12", type);
  TRY(std::string text, read_string(in));
  return Json(std::move(text));
}

Status skip_elements(BoundedReader& in, const GgufArray& array) {
  if (array.element_type != kString) return in.skip(array.range.size_bytes);
  for (uint64_t i = 0; i < array.count; ++i) {
    TRY(const auto size_bytes, in.number<uint64_t>());
    TRY(in.skip(size_bytes));
  }
  return absl::OkStatus();
}

// An array goes into the tree when it is short and numeric, else into `file.arrays`.
Status read_array(BoundedReader& in, const std::string& key, GgufFile& file) {
  GgufArray array;
  TRY(array.element_type, in.number<uint32_t>());
  TRY(array.count, in.number<uint64_t>());
  const uint64_t bytes = element_bytes(array.element_type);
  REJECT_IF(bytes == 0, "gguf.element_type", in.where(), "arrays of numbers, bools or strings",
            fmt::format("element type {}", array.element_type));
  const auto size_bytes = checked_multiply(array.count, bytes);
  REJECT_IF(!size_bytes || *size_bytes > in.remaining(), "gguf.array_count", in.where(),
            fmt::format("elements that fit the {} bytes to the end of the file", in.remaining()), array.count);
  array.range = {in.position(), size_bytes.value_or(0)};
  if (array.element_type == kString || array.count > kLongestTreeArray) {
    TRY(skip_elements(in, array));
    array.range.size_bytes = in.position() - array.range.offset;
    file.arrays.emplace(key, array);
    return absl::OkStatus();
  }
  Json::Array items;
  for (uint64_t i = 0; i < array.count; ++i) {
    TRY(Json item, read_scalar(in, array.element_type));
    items.push_back(std::move(item));
  }
  // Numbers that a vocabulary has one of per token may be few in a small model.
  file.arrays.emplace(key, array);
  file.keys.set(key, Json(std::move(items)));
  return absl::OkStatus();
}

Status read_key(BoundedReader& in, GgufFile& file) {
  in.enter("keys", "gguf.cut_keys");
  TRY(const auto key_size, in.number<uint64_t>());
  REJECT_IF(key_size == 0 || key_size > kLongestKey, "gguf.key_length", in.where(),
            fmt::format("a key of 1 to {} bytes", kLongestKey), key_size);
  TRY(const std::string key, in.text(key_size));
  REJECT_IF(!std::all_of(key.begin(), key.end(), [](char c) { return c > 0x20 && c < 0x7f; }), "gguf.key_text",
            in.where(), "a key of printable characters", "another one");
  REJECT_IF(file.keys.find(key) != nullptr || file.arrays.contains(key), "gguf.key_twice", in.file(), "each key once",
            fmt::format("{} again", key));
  in.enter("values", "gguf.cut_values");
  TRY(const auto type, in.number<uint32_t>());
  if (type == kArray) return read_array(in, key, file);
  TRY(Json value, read_scalar(in, type));
  file.keys.set(key, std::move(value));
  return absl::OkStatus();
}

// Shape (outermost first) and type of a tensor; its range still counts from the beginning of the data.
StatusOr<Tensor> read_tensor(BoundedReader& in) {
  Tensor tensor;
  TRY(tensor.name, read_string(in));
  TRY(const auto dimensions, in.number<uint32_t>());
  const std::string where = fmt::format("{} tensor {}", in.file(), tensor.name);
  REJECT_IF(dimensions == 0 || dimensions > kMostDimensions, "gguf.dimensions", where,
            fmt::format("1 to {} dimensions", kMostDimensions), dimensions);
  for (uint32_t i = 0; i < std::min(dimensions, kMostDimensions); ++i) {
    TRY(const auto size, in.number<uint64_t>());
    REJECT_IF(size == 0, "gguf.zero_dimension", where, "no dimension of zero", "one");
    tensor.shape.insert(tensor.shape.begin(), size);
  }
  TRY(const auto type, in.number<uint32_t>());
  TRY(tensor.range.offset, in.number<uint64_t>());
  const GgmlTypeRow* row = find_ggml_type(type);
  if (row == nullptr)
    return reject(
        {.site = "gguf.tensor_type", .where = where, .expected = "a ggml type", .got = fmt::format("number {}", type)});
  const auto plain = plain_ggml_dtype(type);
  tensor.type = plain ? StoredType(*plain) : StoredType(GgmlType{type});
  const uint64_t columns = tensor.shape.empty() ? 0 : tensor.shape.back();
  REJECT_IF(columns % row->block_elements != 0, "gguf.row_blocks", where,
            fmt::format("rows of a multiple of {} elements for {}", row->block_elements, row->name), columns);
  const auto elements = checked_product(tensor.shape);
  const auto size_bytes = elements ? checked_multiply(*elements / row->block_elements, row->block_bytes) : std::nullopt;
  REJECT_IF(!size_bytes, "gguf.tensor_size", where, "a size below 2^63 bytes", "a larger one");
  tensor.range.size_bytes = size_bytes.value_or(kMaxSize);
  return tensor;
}

// Moves a tensor's range to its place in the file.
Status place_tensor(Tensor& tensor, uint64_t data_begin, uint64_t alignment, const GgufFile& file) {
  const std::string where = fmt::format("{} tensor {}", file.source->name(), tensor.name);
  REJECT_IF(tensor.range.offset % alignment != 0, "gguf.tensor_alignment", where,
            fmt::format("an offset that is a multiple of {}", alignment), tensor.range.offset);
  const auto begin = checked_add(data_begin, tensor.range.offset);
  const auto end = begin ? checked_add(*begin, tensor.range.size_bytes) : std::nullopt;
  REJECT_IF(!end || *end > file.source->size_bytes(), "gguf.tensor_range", where,
            fmt::format("{} bytes at data offset {} inside the file", tensor.range.size_bytes, tensor.range.offset),
            fmt::format("a file of {} bytes", file.source->size_bytes()));
  tensor.range.offset = begin.value_or(0);
  tensor.source = file.source;
  return absl::OkStatus();
}

StatusOr<uint64_t> read_alignment(const GgufFile& file) {
  const Json* value = file.keys.find("general.alignment");
  if (value == nullptr) return kDefaultAlignment;
  const auto alignment = value->as_uint().value_or(0);
  const bool power_of_two = alignment != 0 && (alignment & (alignment - 1)) == 0 && alignment <= kLargestAlignment;
  REJECT_IF(!power_of_two, "gguf.alignment", fmt::format("{} key general.alignment", file.source->name()),
            fmt::format("a power of two up to {}", kLargestAlignment), value->dump());
  return power_of_two ? alignment : kDefaultAlignment;
}

struct Counts {
  uint64_t tensors = 0;
  uint64_t keys = 0;
};

StatusOr<Counts> read_preamble(BoundedReader& in, GgufFile& file) {
  in.enter("the GGUF preamble", "gguf.cut_preamble");
  TRY(const auto magic, in.number<uint32_t>());
  REJECT_IF(magic != kGgufMagic, "gguf.magic", in.file(), "the letters GGUF", fmt::format("{:08x}", magic));
  TRY(file.version, in.number<uint32_t>());
  REJECT_IF((file.version & 0xffff) == 0, "gguf.endian", in.file(), "a little-endian file", "a big-endian one");
  REJECT_IF(file.version != 2 && file.version != 3, "gguf.version", in.file(), "GGUF version 2 or 3", file.version);
  Counts counts;
  TRY(counts.tensors, in.number<uint64_t>());
  TRY(counts.keys, in.number<uint64_t>());
  REJECT_IF(counts.tensors > in.remaining() / kSmallestTensorBytes, "gguf.tensor_count", in.where(),
            fmt::format("no more tensors than {} bytes can describe", in.remaining()), counts.tensors);
  REJECT_IF(counts.keys > in.remaining() / kSmallestKeyBytes, "gguf.key_count", in.where(),
            fmt::format("no more keys than {} bytes can hold", in.remaining()), counts.keys);
  return counts;
}

Status read_tensors(BoundedReader& in, uint64_t count, GgufFile& file) {
  in.enter("tensor descriptions", "gguf.cut_tensors");
  for (uint64_t i = 0; i < count; ++i) {
    TRY(Tensor tensor, read_tensor(in));
    file.tensors.push_back(std::move(tensor));
  }
  TRY(const uint64_t alignment, read_alignment(file));
  // A file without tensors (the first part of some splits) may end with its header.
  const uint64_t data_begin =
      count == 0 ? in.position() : checked_align_up(in.position(), alignment).value_or(kMaxSize);
  for (Tensor& tensor : file.tensors) TRY(place_tensor(tensor, data_begin, alignment, file));
  return check_layout(file.tensors,
                      {.data_begin = data_begin,
                       .file_size_bytes = file.source->size_bytes(),
                       .alignment = alignment,
                       .overlap_site = "gguf.tensor_overlap",
                       .gap_site = "gguf.tensor_gap",
                       .trailing_site = "gguf.trailing_bytes"},
                      file.source->name());
}

// A reader at the elements of `array`, of which there are not too many to keep.
StatusOr<BoundedReader> reader_at(const GgufFile& file, std::string_view key, const GgufArray& array) {
  REJECT_IF(array.count > kMostElements, "gguf.array_budget", fmt::format("{} key {}", file.source->name(), key),
            fmt::format("at most {} elements", kMostElements), array.count);
  BoundedReader in(*file.source, kHeaderBudgetBytes);
  TRY(in.skip(array.range.offset));
  in.enter("an array", "gguf.cut_array");
  return in;
}

template <typename T>
StatusOr<std::vector<T>> read_numbers(const GgufFile& file, std::string_view key, uint32_t type) {
  const auto found = file.arrays.find(key);
  if (found == file.arrays.end()) return std::vector<T>();
  const GgufArray& array = found->second;
  REJECT_IF(array.element_type != type, "gguf.number_array", fmt::format("{} key {}", file.source->name(), key),
            fmt::format("an array of element type {}", type), array.element_type);
  TRY(BoundedReader in, reader_at(file, key, array));
  std::vector<T> numbers;
  numbers.reserve(array.count);
  for (uint64_t i = 0; i < array.count; ++i) {
    TRY(const T number, in.number<T>());
    numbers.push_back(number);
  }
  return numbers;
}

}  // namespace

StatusOr<GgufFile> read_gguf(std::shared_ptr<const ByteSource> source) {
  GgufFile file;
  file.source = std::move(source);
  BoundedReader in(*file.source, kHeaderBudgetBytes);
  TRY(const Counts counts, read_preamble(in, file));
  for (uint64_t i = 0; i < counts.keys; ++i) TRY(read_key(in, file));
  TRY(read_tensors(in, counts.tensors, file));
  return file;
}

StatusOr<std::vector<std::string>> read_strings(const GgufFile& file, std::string_view key) {
  const auto found = file.arrays.find(key);
  if (found == file.arrays.end()) return std::vector<std::string>();
  const GgufArray& array = found->second;
  REJECT_IF(array.element_type != kString, "gguf.string_array", fmt::format("{} key {}", file.source->name(), key),
            "an array of strings", fmt::format("element type {}", array.element_type));
  TRY(BoundedReader in, reader_at(file, key, array));
  std::vector<std::string> strings;
  strings.reserve(array.count);
  for (uint64_t i = 0; i < array.count; ++i) {
    TRY(std::string text, read_string(in));
    strings.push_back(std::move(text));
  }
  return strings;
}

StatusOr<std::vector<float>> read_floats(const GgufFile& file, std::string_view key) {
  return read_numbers<float>(file, key, kF32);
}

StatusOr<std::vector<int32_t>> read_ints(const GgufFile& file, std::string_view key) {
  return read_numbers<int32_t>(file, key, kI32);
}

}  // namespace motley::ingest
