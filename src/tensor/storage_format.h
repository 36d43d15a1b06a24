// The ways a weight matrix [N out, K in] may lie in a checkpoint. An id and its parameters only: geometry, decoding and
// encoding of each are in quant, fast arithmetic in kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tensor/dtype.h"

namespace motley::tensor {

// Rows come from storage_formats.def: one line a format.
enum class StorageKind : uint8_t {
#define MOTLEY_STORAGE_FORMAT(kind, text) kind,
#include "tensor/storage_formats.def"
#undef MOTLEY_STORAGE_FORMAT
};
inline constexpr size_t kStorageKinds = 0
#define MOTLEY_STORAGE_FORMAT(kind, text) +1
#include "tensor/storage_formats.def"
#undef MOTLEY_STORAGE_FORMAT
    ;

struct StorageFormat {
  StorageKind kind = StorageKind::kF32;
  // kMlxAffine only; zero elsewhere.
  uint8_t bits = 0;
  uint16_t group_size = 0;
  DType scale_dtype = DType::kF32;

  bool operator==(const StorageFormat&) const = default;
};

// "f16", "Q4_1", "MLX affine 4-bit, groups of 64, f16 scales".
std::string describe(const StorageFormat& format);

}  // namespace motley::tensor
