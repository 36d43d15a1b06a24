#include "harness.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

#include "base/json.h"
#include "ingest/load.h"

namespace motley::testing {
namespace {

// Constant-initialised: references are listed while other files are still being initialised.
constexpr std::string_view kData = "tests/data/";
constexpr const char* kManifest = "tests/data/reference/manifest.json";

std::string data_path(const Json& name) { return std::string(kData) + *name.as_string(); }

Reference read_entry(const Json& entry) {
  Reference reference{.name = *entry.find("name")->as_string(),
                      .model = data_path(*entry.find("model")),
                      .logits = data_path(*entry.find("logits")),
                      .overrides = {},
                      .ids = {},
                      .tolerance = *entry.find("tolerance")->as_double()};
  for (const auto& [key, value] : *entry.find("overrides")->as_object())
    reference.overrides.push_back(key + "=" + (value.as_string() ? *value.as_string() : value.dump()));
  for (const Json& id : *entry.find("ids")->as_array()) reference.ids.push_back(static_cast<int32_t>(*id.as_int()));
  return reference;
}

double range(const Matrix& matrix) {
  const auto [least, most] = std::minmax_element(matrix.values.begin(), matrix.values.end());
  return double{*most} - double{*least};
}

std::vector<double> log_softmax(const float* logits, size_t count) {
  const double largest = *std::max_element(logits, logits + count);
  double sum = 0;
  for (size_t i = 0; i < count; ++i) sum += std::exp(logits[i] - largest);
  std::vector<double> result(count);
  for (size_t i = 0; i < count; ++i) result[i] = logits[i] - largest - std::log(sum);
  return result;
}

}  // namespace

std::string reference_name(const ::testing::TestParamInfo<Reference>& test) {
  std::string name = test.param.name;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}

std::vector<Reference> all_references() {
  std::vector<Reference> references;
  std::stringstream text;
  text << std::ifstream(kManifest).rdbuf();
  const auto json = parse_json(text.str(), kManifest);
  if (!json.ok()) ADD_FAILURE() << json.status();
  for (const Json& entry : *json->as_array()) references.push_back(read_entry(entry));
  return references;
}

std::shared_ptr<const model::Model> load_model(const std::string& path, std::vector<std::string> overrides) {
  auto model = ingest::load(path, {.overrides = std::move(overrides), .chat_template_file = {}});
  if (!model.ok()) {
    ADD_FAILURE() << model.status();
    return nullptr;
  }
  return std::make_shared<const model::Model>(*std::move(model));
}

std::unique_ptr<exec::Runner> make_runner(std::shared_ptr<const model::Model> model, exec::Precision precision,
                                          std::string instruction_set, uint32_t threads) {
  auto runner = exec::make_local_runner(std::move(model), {.threads = threads,
                                                           .precision = precision,
                                                           .context_tokens = {},
                                                           .instruction_set = std::move(instruction_set)});
  if (!runner.ok()) {
    ADD_FAILURE() << runner.status();
    return nullptr;
  }
  return *std::move(runner);
}

Matrix run_logits(exec::Runner& runner, const std::vector<int32_t>& ids, uint32_t chunk) {
  Matrix result{.rows = ids.size(), .cols = runner.facts().vocabulary, .values = {}};
  const auto sequence = runner.create(static_cast<uint32_t>(ids.size()));
  EXPECT_TRUE(sequence.ok()) << sequence.status();
  for (size_t first = 0; first < ids.size(); first += chunk) {
    exec::Row row{.sequence = *sequence,
                  .position = static_cast<uint32_t>(first),
                  .ids = {ids.begin() + static_cast<ptrdiff_t>(first),
                          ids.begin() + static_cast<ptrdiff_t>(std::min(first + chunk, ids.size()))},
                  .outputs = exec::Outputs::kAll,
                  .kind = exec::OutputKind::kLogits,
                  .sampling = {},
                  .report_top = {},
                  .history = {},
                  .mask = {}};
    const auto results = runner.step({.rows = {std::move(row)}}).get();
    EXPECT_TRUE(results.ok()) << results.status();
    if (!results.ok()) return result;
    const auto& logits = results->rows[0].logits;
    result.values.insert(result.values.end(), logits.begin(), logits.end());
  }
  EXPECT_TRUE(runner.drop(*sequence).ok());
  return result;
}

double relative_difference(const Matrix& reference, const Matrix& got) {
  if (reference.values.size() != got.values.size()) return std::numeric_limits<double>::infinity();
  double largest = 0;
  for (size_t i = 0; i < got.values.size(); ++i) {
    const double difference = std::abs(double{got.values[i]} - double{reference.values[i]});
    if (!(difference <= largest)) largest = difference;  // a NaN counts
  }
  return largest / range(reference);
}

size_t first_differing_row(const Matrix& reference, const Matrix& got, double tolerance) {
  const double allowed = tolerance * range(reference);
  for (size_t row = 0; row < reference.rows; ++row)
    for (size_t col = 0; col < reference.cols; ++col)
      if (!(std::abs(got.row(row)[col] - reference.row(row)[col]) <= allowed)) return row;
  return reference.rows;
}

double mean_divergence(const Matrix& reference, const Matrix& got) {
  double total = 0;
  for (size_t row = 0; row < reference.rows; ++row) {
    const auto p = log_softmax(reference.row(row), reference.cols), q = log_softmax(got.row(row), got.cols);
    for (size_t i = 0; i < p.size(); ++i) total += std::exp(p[i]) * (p[i] - q[i]);
  }
  return total / static_cast<double>(reference.rows);
}

double top1_agreement(const Matrix& reference, const Matrix& got) {
  const auto best = [](const Matrix& matrix, size_t row) {
    return std::max_element(matrix.row(row), matrix.row(row) + matrix.cols) - matrix.row(row);
  };
  size_t same = 0;
  for (size_t row = 0; row < reference.rows; ++row) same += best(reference, row) == best(got, row) ? 1 : 0;
  return static_cast<double>(same) / static_cast<double>(reference.rows);
}

}  // namespace motley::testing
