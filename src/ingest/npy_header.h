// The header of a NumPy array (.npy): its type and shape. Only what can be used in place: little-endian numbers, rows
// one after the other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/byte_source.h"
#include "base/status.h"
#include "tensor/dtype.h"

namespace motley::ingest {

struct NpyHeader {
  tensor::DType dtype = tensor::DType::kF32;
  std::vector<uint64_t> shape;
  ByteRange data;  // as long as the type and shape ask for, up to the end of the array's bytes
};

// The array that fills `range` of `source`; `where` names it in errors. Rejects ("npy.*") what cannot be used in place.
StatusOr<NpyHeader> read_npy_header(const ByteSource& source, ByteRange range, const std::string& where);

}  // namespace motley::ingest
