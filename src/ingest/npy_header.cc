#include "ingest/npy_header.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/bounded_reader.h"
#include "base/checked.h"

namespace motley::ingest {
namespace {

using tensor::DType;

// numpy/lib/format.py: magic, version, length of the text, a dict as Python prints it.
constexpr std::string_view kMagic = "\x93NUMPY";
constexpr uint64_t kHeaderBudgetBytes = 64 << 10;
constexpr size_t kMostDimensions = 8;  // largest published: 5

struct TypeRow {
  std::string_view text;  // without its byte order
  DType dtype;
};
constexpr std::array kTypes = {TypeRow{"f8", DType::kF64},  TypeRow{"f4", DType::kF32}, TypeRow{"f2", DType::kF16},
                               TypeRow{"V2", DType::kBF16},  // NumPy has no bf16: MLX and ml_dtypes write two raw bytes
                               TypeRow{"i8", DType::kI64},  TypeRow{"i4", DType::kI32}, TypeRow{"i2", DType::kI16},
                               TypeRow{"i1", DType::kI8},   TypeRow{"u8", DType::kU64}, TypeRow{"u4", DType::kU32},
                               TypeRow{"u2", DType::kU16},  TypeRow{"u1", DType::kU8},  TypeRow{"b1", DType::kBool}};

// What stands behind 'KEY': in the text, up to `end`; empty when there is no such key.
std::string_view value_of(std::string_view text, std::string_view key, std::string_view end) {
  const std::string quoted = fmt::format("'{}': ", key);
  const size_t at = text.find(quoted);
  if (at == std::string_view::npos) return "";
  const std::string_view rest = text.substr(at + quoted.size());
  return rest.substr(0, std::min(rest.size(), rest.find(end)));
}

StatusOr<DType> read_dtype(std::string_view text, const std::string& where) {
  std::string_view descr = value_of(text, "descr", ",");
  if (descr.size() >= 2 && descr.front() == '\'' && descr.back() == '\'') descr = descr.substr(1, descr.size() - 2);
  const bool ours = descr.starts_with('<') || descr.starts_with('|');
  const auto row = std::find_if(kTypes.begin(), kTypes.end(),
                                [&](const TypeRow& known) { return ours && known.text == descr.substr(1); });
  if (row == kTypes.end())
    return reject({.site = "npy.dtype",
                   .where = where,
                   .expected = "plain little-endian numbers",
                   .got = fmt::format("\"{}\"", descr)});
  return row->dtype;
}

// "(512, 256)", "(512,)", "()".
StatusOr<std::vector<uint64_t>> read_shape(std::string_view text, const std::string& where) {
  std::string_view list = value_of(text, "shape", ")");
  const auto bad = [&] {
    return reject({.site = "npy.shape",
                   .where = where,
                   .expected = fmt::format("a shape of at most {} dimensions, none of zero", kMostDimensions),
                   .got = fmt::format("\"{}\"", list)});
  };
  if (!list.starts_with('(')) return bad();
  std::vector<uint64_t> shape;
  for (std::string_view rest = list.substr(1); !rest.empty();) {
    uint64_t size = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), size);
    if (error != std::errc() || size == 0 || shape.size() >= kMostDimensions) return bad();
    shape.push_back(size);
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
    if (!rest.empty() && rest.front() != ',') return bad();
    rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(", ")));
  }
  return shape;
}

StatusOr<std::string> read_text(BoundedReader& in, const std::string& where) {
  in.enter("the header of an array", "npy.cut");
  TRY(const std::string magic, in.text(kMagic.size()));
  REJECT_IF(magic != kMagic, "npy.magic", where, "a NumPy array", "something else");
  TRY(const auto version, in.number<uint8_t>());
  TRY(in.skip(1));
  REJECT_IF(version < 1 || version > 3, "npy.version", where, "version 1, 2 or 3", version);
  uint32_t size_bytes = 0;
  if (version == 1) {
    TRY(size_bytes, in.number<uint16_t>());
  } else {
    TRY(size_bytes, in.number<uint32_t>());
  }
  return in.text(size_bytes);
}

}  // namespace

StatusOr<NpyHeader> read_npy_header(const ByteSource& source, ByteRange range, const std::string& where) {
  const uint64_t head_bytes = std::min(range.size_bytes, kHeaderBudgetBytes);
  TRY(auto bytes, read_range(source, {range.offset, head_bytes}, kHeaderBudgetBytes));
  const auto head = memory_source(where, std::move(bytes));
  BoundedReader in(*head, kHeaderBudgetBytes);
  TRY(const std::string text, read_text(in, where));
  NpyHeader header;
  TRY(header.dtype, read_dtype(text, where));
  TRY(header.shape, read_shape(text, where));
  // A list is row-major and column-major at once, and MLX calls it the latter.
  const auto wide = std::count_if(header.shape.begin(), header.shape.end(), [](uint64_t size) { return size > 1; });
  const std::string_view order = value_of(text, "fortran_order", ",");
  REJECT_IF(order != "False" && (order != "True" || wide > 1), "npy.order", where, "rows one after the other",
            "columns one after the other");
  const auto elements = checked_product(header.shape);
  const auto size_bytes = elements ? checked_multiply(*elements, tensor::size_bytes(header.dtype)) : std::nullopt;
  const uint64_t left = range.size_bytes - in.position();
  if (size_bytes != left)
    return reject({.site = "npy.size",
                   .where = where,
                   .expected = fmt::format("{} bytes for its shape and type", size_bytes.value_or(kMaxSize)),
                   .got = fmt::format("{}", left)});
  header.data = {range.offset + in.position(), left};
  return header;
}

}  // namespace motley::ingest
