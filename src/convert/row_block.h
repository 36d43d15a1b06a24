// A run of rows on its way: read from the source, made into the target's bytes, and decoded again to see what changed.
#pragma once

#include "convert/plan.h"
#include "ingest/weight_reader.h"
#include "quant/stored_matrix.h"

namespace motley::convert {

using ingest::WeightReader;

// How far the decoded target is from the decoded source. Sums, so that runs can be added up.
struct Difference {
  bool exact = true;  // every number equal; 0 and -0 count as equal
  double largest = 0;
  double squares = 0, source_squares = 0;
  void add(const Difference& other);
  double relative_rms() const;
};

struct RowBlock {
  quant::EncodedMatrix bytes;
  Difference difference;
};

// Rows [first, first + count) of the target. Rejects ("convert.overflow") a number that becomes infinite or NaN in the
// target's format and was not, naming the weight. Threads: any number at once.
StatusOr<RowBlock> make_rows(const PlannedWeight& weight, const WeightReader& source, uint64_t first, uint64_t count);

// Whether formats and parts are such that rows of the target lie one after another in each part.
bool rows_follow(const tensor::StorageFormat& format);

// Bytes of a row of the target in each part, where rows_follow().
StatusOr<quant::RowBytes> target_row_bytes(const PlannedWeight& weight);

}  // namespace motley::convert
