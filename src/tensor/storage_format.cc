#include "tensor/storage_format.h"

#include <string_view>

#include "fmt/format.h"

namespace motley::tensor {
namespace {

constexpr std::string_view kNames[] = {
#define MOTLEY_STORAGE_FORMAT(kind, text) text,
#include "tensor/storage_formats.def"
#undef MOTLEY_STORAGE_FORMAT
};

}  // namespace

std::string describe(const StorageFormat& format) {
  const std::string_view text = kNames[static_cast<size_t>(format.kind)];
  if (format.kind != StorageKind::kMlxAffine) return std::string(text);
  return fmt::format("{} {}-bit, groups of {}, {} scales", text, format.bits, format.group_size,
                     name(format.scale_dtype));
}

}  // namespace motley::tensor
