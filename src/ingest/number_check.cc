#include "ingest/number_check.h"

#include <algorithm>
#include <cmath>

#include "ingest/weight_reader.h"

namespace motley::ingest {
namespace {

// Rows that a thread takes at once: enough work to outweigh taking them.
constexpr uint64_t kRowsAtOnce = 16;

StatusOr<NumberStatistics> check_weight(const model::Weight& weight, ThreadPool& pool) {
  TRY(const WeightReader reader, WeightReader::open(weight));
  std::vector<NumberStatistics> of_thread(pool.size());
  pool.for_ranges(weight.rows, kRowsAtOnce, ThreadPool::Share::kDynamic,
                  [&](uint64_t begin, uint64_t end, uint32_t thread) {
                    std::vector<float> row(weight.cols);
                    for (uint64_t n = begin; n < end; ++n) {
                      reader.read_row(n, row);
                      for (const float value : row) of_thread[thread].add(value);
                    }
                  });
  NumberStatistics total;
  for (const NumberStatistics& part : of_thread) total.merge(part);
  return total;
}

// "layer 3 attention K weight" -> the part alone.
std::string part_text(model::Part part) {
  const std::string text = model::describe(model::Role{.part = part});
  const std::string first = text.substr(0, text.rfind(' '));
  constexpr std::string_view kLayer = "layer 0 ";
  return first.starts_with(kLayer) ? first.substr(kLayer.size()) : first;
}

}  // namespace

void NumberStatistics::add(float value) {
  ++numbers;
  if (!std::isfinite(value)) {
    ++not_finite;
    return;
  }
  sum += value;
  sum_of_squares += static_cast<double>(value) * value;
  smallest = std::min(smallest, value);
  largest = std::max(largest, value);
}

void NumberStatistics::merge(const NumberStatistics& other) {
  numbers += other.numbers;
  not_finite += other.not_finite;
  sum += other.sum;
  sum_of_squares += other.sum_of_squares;
  smallest = std::min(smallest, other.smallest);
  largest = std::max(largest, other.largest);
}

double NumberStatistics::mean() const {
  const uint64_t finite = numbers - not_finite;
  return finite == 0 ? 0 : sum / static_cast<double>(finite);
}

double NumberStatistics::rms() const {
  const uint64_t finite = numbers - not_finite;
  return finite == 0 ? 0 : std::sqrt(sum_of_squares / static_cast<double>(finite));
}

StatusOr<NumberCheck> check_numbers(const model::Model& model, ThreadPool& pool,
                                    const std::function<void(uint64_t bytes)>& progress) {
  NumberCheck check;
  uint64_t bytes = 0;
  for (const auto& [role, weight] : model.weights) {
    TRY(const NumberStatistics statistics, check_weight(weight, pool));
    ++check.tensors;
    check.all.merge(statistics);
    check.parts[role.part].merge(statistics);
    if (statistics.not_finite != 0)
      check.findings.push_back(fmt::format("{} tensor {} ({}): {} of {} numbers are NaN or infinite",
                                           weight.codes.source->name(), weight.codes.tensor, model::describe(role),
                                           statistics.not_finite, statistics.numbers));
    bytes += weight.stored_bytes();
    progress(bytes);
  }
  return check;
}

Json to_json(const NumberCheck& check) {
  Json::Array parts;
  for (const auto& [part, statistics] : check.parts)
    parts.push_back(Json::Object{{"part", part_text(part)},
                                 {"numbers", statistics.numbers},
                                 {"not_finite", statistics.not_finite},
                                 {"smallest", static_cast<double>(statistics.smallest)},
                                 {"largest", static_cast<double>(statistics.largest)},
                                 {"mean", statistics.mean()},
                                 {"rms", statistics.rms()}});
  return Json::Object{{"mode", "all"},
                      {"tensors", check.tensors},
                      {"numbers", check.all.numbers},
                      {"not_finite", check.all.not_finite},
                      {"result", check.all.not_finite == 0 ? "finite" : "not finite"},
                      {"findings", Json(Json::Array(check.findings.begin(), check.findings.end()))},
                      {"parts", Json(std::move(parts))}};
}

}  // namespace motley::ingest
