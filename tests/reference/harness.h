// Loads a small checkpoint of tests/data and runs it teacher-forced, for comparison with reference logits.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "exec/local.h"
#include "gtest/gtest.h"
#include "model/model.h"
#include "npy.h"

namespace motley::testing {

// One entry of tests/data/reference/manifest.json.
struct Reference {
  std::string name;
  std::string model;
  std::string logits;
  std::vector<std::string> overrides;  // KEY=VALUE
  std::vector<int32_t> ids;
  double tolerance = 0;  // of the range of the reference logits
};

// The name of a parameterised test: letters, digits and underscores of the reference's name.
std::string reference_name(const ::testing::TestParamInfo<Reference>& test);

// All of its entries.
std::vector<Reference> all_references();

std::shared_ptr<const model::Model> load_model(const std::string& path, std::vector<std::string> overrides = {});

std::unique_ptr<exec::Runner> make_runner(std::shared_ptr<const model::Model> model, exec::Precision precision,
                                          std::string instruction_set = "", uint32_t threads = 2);

// Logits [T, V] of `ids`, prefilled in chunks of `chunk` tokens.
Matrix run_logits(exec::Runner& runner, const std::vector<int32_t>& ids, uint32_t chunk);

// Largest difference over the range (largest minus smallest) of the reference; infinity when shapes differ.
double relative_difference(const Matrix& reference, const Matrix& got);

// The first row where they differ by more than `tolerance` of the range; the number of rows when none does.
size_t first_differing_row(const Matrix& reference, const Matrix& got, double tolerance);

// Mean over rows of the Kullback-Leibler divergence of softmax(got) from softmax(reference), in nats.
double mean_divergence(const Matrix& reference, const Matrix& got);

// Share of rows with the same largest logit.
double top1_agreement(const Matrix& reference, const Matrix& got);

}  // namespace motley::testing
