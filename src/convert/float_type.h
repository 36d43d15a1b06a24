// The float type of what a target does not pack.
#pragma once

#include "convert/plan.h"
#include "convert/target.h"

namespace motley::convert {

// f32, f16 or bf16 as --dtype says; without it the one that all of the source's float matrices have, and f16 where they
// differ or where everything is packed. Rejects another word ("convert.dtype").
StatusOr<tensor::DType> float_type(const model::Model& model, const Options& options);

tensor::StorageFormat float_format(tensor::DType dtype);

}  // namespace motley::convert
