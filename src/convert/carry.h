// Whether the integers of a weight can be carried over to another packing, found out by reading all of them once.
#pragma once

#include "convert/integer_rows.h"
#include "model/model.h"

namespace motley::convert {

struct Carry {
  bool possible = true;
  // Dtypes that hold every scale (and MLX's biases) exactly; f32 always does.
  bool scales_fit_f16 = true, scales_fit_bf16 = true;
  bool biases_fit_f16 = true, biases_fit_bf16 = true;
  bool zeros_fit_gptq = true;  // from 1 to 15, and no biases
  bool symmetric = true;       // every zero point is half the range
};

StatusOr<Carry> try_carry(const model::Weight& weight, IntegerGrid grid);

// The smallest dtype for MLX's scales and biases.
tensor::DType mlx_scale_dtype(const Carry& carry);

}  // namespace motley::convert
