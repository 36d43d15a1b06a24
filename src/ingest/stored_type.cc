#include "ingest/stored_type.h"

#include <array>

#include "fmt/format.h"

namespace motley::ingest {
namespace {

// ggml.h (enum ggml_type) and ggml-common.h (block sizes). Withdrawn numbers are absent.
constexpr std::array kRows = {
    GgmlTypeRow{0, "F32", 1, 4},         GgmlTypeRow{1, "F16", 1, 2},         GgmlTypeRow{2, "Q4_0", 32, 18},
    GgmlTypeRow{3, "Q4_1", 32, 20},      GgmlTypeRow{6, "Q5_0", 32, 22},      GgmlTypeRow{7, "Q5_1", 32, 24},
    GgmlTypeRow{8, "Q8_0", 32, 34},      GgmlTypeRow{9, "Q8_1", 32, 36},      GgmlTypeRow{10, "Q2_K", 256, 84},
    GgmlTypeRow{11, "Q3_K", 256, 110},   GgmlTypeRow{12, "Q4_K", 256, 144},   GgmlTypeRow{13, "Q5_K", 256, 176},
    GgmlTypeRow{14, "Q6_K", 256, 210},   GgmlTypeRow{15, "Q8_K", 256, 292},   GgmlTypeRow{16, "IQ2_XXS", 256, 66},
    GgmlTypeRow{17, "IQ2_XS", 256, 74},  GgmlTypeRow{18, "IQ3_XXS", 256, 98}, GgmlTypeRow{19, "IQ1_S", 256, 50},
    GgmlTypeRow{20, "IQ4_NL", 32, 18},   GgmlTypeRow{21, "IQ3_S", 256, 110},  GgmlTypeRow{22, "IQ2_S", 256, 82},
    GgmlTypeRow{23, "IQ4_XS", 256, 136}, GgmlTypeRow{24, "I8", 1, 1},         GgmlTypeRow{25, "I16", 1, 2},
    GgmlTypeRow{26, "I32", 1, 4},        GgmlTypeRow{27, "I64", 1, 8},        GgmlTypeRow{28, "F64", 1, 8},
    GgmlTypeRow{29, "IQ1_M", 256, 56},   GgmlTypeRow{30, "BF16", 1, 2},       GgmlTypeRow{34, "TQ1_0", 256, 54},
    GgmlTypeRow{35, "TQ2_0", 256, 66},   GgmlTypeRow{39, "MXFP4", 32, 17},    GgmlTypeRow{40, "NVFP4", 64, 36},
    GgmlTypeRow{41, "Q1_0", 128, 18},    GgmlTypeRow{42, "Q2_0", 64, 18},
};

}  // namespace

const GgmlTypeRow* find_ggml_type(uint32_t id) {
  for (const GgmlTypeRow& row : kRows)
    if (row.id == id) return &row;
  return nullptr;
}

std::optional<tensor::DType> plain_ggml_dtype(uint32_t id) {
  using tensor::DType;
  switch (id) {
    case 0:
      return DType::kF32;
    case 1:
      return DType::kF16;
    case 24:
      return DType::kI8;
    case 25:
      return DType::kI16;
    case 26:
      return DType::kI32;
    case 27:
      return DType::kI64;
    case 28:
      return DType::kF64;
    case 30:
      return DType::kBF16;
    default:
      return std::nullopt;
  }
}

std::string describe(const StoredType& type) {
  if (const auto* dtype = std::get_if<tensor::DType>(&type)) return std::string(tensor::name(*dtype));
  const uint32_t id = std::get<GgmlType>(type).id;
  const GgmlTypeRow* row = find_ggml_type(id);
  return row != nullptr ? std::string(row->name) : fmt::format("ggml type {}", id);
}

}  // namespace motley::ingest
