// Reads every number of a model: are all of them finite, and how are they spread? What headers cannot say.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "model/model.h"

namespace motley::ingest {

struct NumberStatistics {
  uint64_t numbers = 0, not_finite = 0;
  double sum = 0, sum_of_squares = 0;  // of the finite ones
  float smallest = 0, largest = 0;

  void add(float value);
  void merge(const NumberStatistics& other);
  double mean() const;
  double rms() const;
};

struct NumberCheck {
  uint64_t tensors = 0;
  NumberStatistics all;
  std::map<model::Part, NumberStatistics> parts;  // matrices and vectors of one part together
  std::vector<std::string> findings;              // a line for each weight with numbers that are not finite
};

// `progress` is told the bytes that were read so far. Threads: those of `pool`.
StatusOr<NumberCheck> check_numbers(const model::Model& model, ThreadPool& pool,
                                    const std::function<void(uint64_t bytes)>& progress);

// {"mode": "all", "tensors": 12, "numbers": …, "not_finite": 0, "findings": […], "parts": [{"part": …, "rms": …}, …]}
Json to_json(const NumberCheck& check);

}  // namespace motley::ingest
