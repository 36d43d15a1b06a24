#include "convert/plan.h"

#include "quant/stored_matrix.h"

namespace motley::convert {

void store_as(PlannedWeight& weight, const tensor::StorageFormat& format) {
  const bool whole_rows =
      quant::rows_lie_apart(format) && !weight.source->input_order && !(is_vector(weight) && weight.rows.moves_rows());
  weight.format = format;
  weight.method = whole_rows && weight.source->format == format ? Method::kCarryRows : Method::kRound;
}

}  // namespace motley::convert
