#include "convert/carry.h"

#include "ingest/weight_reader.h"

namespace motley::convert {
namespace {

using tensor::DType;

bool fits_f16(float value) { return tensor::f16_to_f32(tensor::f32_to_f16(value)) == value; }
bool fits_bf16(float value) { return tensor::bf16_to_f32(tensor::f32_to_bf16(value)) == value; }

void look_at(const IntegerRow& row, IntegerGrid grid, Carry& carry) {
  for (size_t g = 0; g < row.scales.size(); ++g) {
    const float scale = row.scales[g], bias = stored_bias(row, g);
    carry.scales_fit_f16 = carry.scales_fit_f16 && fits_f16(scale);
    carry.scales_fit_bf16 = carry.scales_fit_bf16 && fits_bf16(scale);
    carry.biases_fit_f16 = carry.biases_fit_f16 && fits_f16(bias);
    carry.biases_fit_bf16 = carry.biases_fit_bf16 && fits_bf16(bias);
    carry.zeros_fit_gptq = carry.zeros_fit_gptq && row.biases[g] == 0 && row.zeros[g] >= 1 && row.zeros[g] <= 15;
    carry.symmetric = carry.symmetric && row.zeros[g] == 1 << (grid.bits - 1);
  }
}

}  // namespace

StatusOr<Carry> try_carry(const model::Weight& weight, IntegerGrid grid) {
  TRY(const ingest::WeightReader reader, ingest::WeightReader::open(weight));
  Carry carry;
  IntegerRow row;
  for (uint64_t n = 0; n < weight.rows && carry.possible; ++n) {
    carry.possible = read_integers(reader.matrix(), n, grid, row);
    if (carry.possible) look_at(row, grid, carry);
  }
  return carry;
}

DType mlx_scale_dtype(const Carry& carry) {
  if (carry.scales_fit_f16 && carry.biases_fit_f16) return DType::kF16;
  return carry.scales_fit_bf16 && carry.biases_fit_bf16 ? DType::kBF16 : DType::kF32;
}

}  // namespace motley::convert
