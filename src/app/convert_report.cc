#include "app/convert_report.h"

#include <algorithm>
#include <map>

namespace motley::app {
namespace {

using convert::Difference;
using convert::WeightReport;

// Of several weights: added up, and how many of them are exact.
struct Sum {
  uint64_t tensors = 0, exact = 0;
  Difference difference;
  void add(const WeightReport& weight) {
    ++tensors;
    exact += weight.difference.exact ? 1 : 0;
    difference.add(weight.difference);
  }
};

Sum sum_of(const std::vector<WeightReport>& weights) {
  Sum sum;
  for (const WeightReport& weight : weights) sum.add(weight);
  return sum;
}

std::string error_text(const Difference& difference) {
  if (difference.exact) return "exact";
  return fmt::format("largest error {:.3g}, relative RMS {:.3g}", difference.largest, difference.relative_rms());
}

Json error_json(const Difference& difference) {
  return Json::Object{{"exact", difference.exact},
                      {"largest_error", difference.largest},
                      {"relative_rms_error", difference.relative_rms()}};
}

}  // namespace

Json convert_json(const Converted& converted) {
  Json::Array tensors;
  for (const WeightReport& weight : converted.report.weights) {
    Json tensor = error_json(weight.difference);
    tensor.set("name", weight.name);
    tensor.set("from", weight.from);
    tensor.set("to", weight.to);
    tensor.set("bytes", weight.bytes);
    tensors.push_back(std::move(tensor));
  }
  const Sum sum = sum_of(converted.report.weights);
  Json summary = error_json(sum.difference);
  summary.set("tensors", sum.tensors);
  summary.set("exact_tensors", sum.exact);
  return Json::Object{{"source", converted.source},
                      {"target", converted.target},
                      {"path", converted.path},
                      {"files", Json::Array(converted.report.files.begin(), converted.report.files.end())},
                      {"bytes", converted.report.bytes},
                      {"summary", std::move(summary)},
                      {"notes", Json::Array(converted.report.notes.begin(), converted.report.notes.end())},
                      {"tensors", std::move(tensors)}};
}

std::string convert_report(const Converted& converted, bool tensors) {
  std::string out;
  std::map<std::pair<std::string, std::string>, Sum> sums;
  for (const WeightReport& weight : converted.report.weights) {
    sums[{weight.from, weight.to}].add(weight);
    if (tensors)
      out += fmt::format("{}: {} -> {}: {}\n", weight.name, weight.from, weight.to, error_text(weight.difference));
  }
  for (const auto& [formats, sum] : sums)
    out += fmt::format("{} -> {}: {} tensor{}: {}\n", formats.first, formats.second, sum.tensors,
                       sum.tensors == 1 ? "" : "s", error_text(sum.difference));
  const Sum all = sum_of(converted.report.weights);
  for (const std::string& note : converted.report.notes) out += fmt::format("note: {}\n", note);
  return out + fmt::format("{}: {} of {} tensors exact, {:.1f} MB\n", converted.path, all.exact, all.tensors,
                           static_cast<double>(converted.report.bytes) / 1e6);
}

}  // namespace motley::app
