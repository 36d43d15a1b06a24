#include "convert/convert.h"

#include <algorithm>
#include <array>

#include "fmt/ranges.h"

namespace motley::convert {

namespace targets_internal {
#define MOTLEY_TARGET(name) Target name();
#include "convert/targets/targets.def"
#undef MOTLEY_TARGET
}  // namespace targets_internal

std::span<const Target> targets() {
  static const std::array rows = {
#define MOTLEY_TARGET(name) targets_internal::name(),
#include "convert/targets/targets.def"
#undef MOTLEY_TARGET
  };
  return rows;
}

StatusOr<const Target*> find_target(std::string_view name) {
  std::vector<std::string_view> known;
  for (const Target& target : targets()) {
    if (target.name == name) return &target;
    known.push_back(target.name);
  }
  return reject({.site = "convert.target",
                 .where = "--to",
                 .expected = fmt::format("{}", fmt::join(known, ", ")),
                 .got = fmt::format("\"{}\"", name)});
}

namespace {

std::vector<std::string_view> given(const Options& options) {
  std::vector<std::string_view> names;
  if (options.dtype) names.emplace_back("dtype");
  if (options.type) names.emplace_back("type");
  if (options.fallback) names.emplace_back("fallback");
  if (options.bits) names.emplace_back("bits");
  if (options.group_size) names.emplace_back("group-size");
  if (options.version) names.emplace_back("version");
  if (options.shard_size_bytes) names.emplace_back("shard-size");
  if (!options.modules.empty()) names.emplace_back("module");
  if (options.force) names.emplace_back("force");
  return names;
}

Status check_options(const Target& target, const Options& options) {
  for (const std::string_view name : given(options))
    REJECT_IF(std::find(target.options.begin(), target.options.end(), name) == target.options.end(), "convert.option",
              fmt::format("--{}", name),
              fmt::format("an option that {} takes ({})", target.name,
                          target.options.empty() ? "none" : fmt::format("--{}", fmt::join(target.options, ", --"))),
              "it");
  return absl::OkStatus();
}

Status require_exact(const std::vector<WeightReport>& weights) {
  for (const WeightReport& weight : weights)
    if (!weight.difference.exact)
      return absl::FailedPreconditionError(
          fmt::format("{}: expected {} to hold {} exactly (--require-exact), got numbers that differ by up to {:.3g}",
                      weight.name, weight.to, weight.from, weight.difference.largest));
  return absl::OkStatus();
}

}  // namespace

StatusOr<Report> convert(const model::Model& model, const Request& request, const OnProgress& on_progress) {
  TRY(const Target* target, find_target(request.target));
  TRY(check_options(*target, request.options));
  TRY(check_free(request.path, request.existing));
  TRY(const Plan plan, target->plan(model, request.options));
  ThreadPool pool(request.threads);
  if (request.require_exact) {
    TRY(const auto weights, execute(plan, nullptr, pool, on_progress));
    TRY(require_exact(weights));
  }
  Report report{.shape = plan.shape, .files = {}, .bytes = 0, .weights = {}, .notes = plan.notes};
  TRY(const auto out, OutputSet::create(request.path, plan, request.existing));
  TRY(report.weights, execute(plan, out.get(), pool, on_progress));
  TRY(out->finish());
  for (const PlannedFile& file : plan.files) {
    report.files.push_back(file.name);
    report.bytes += file.size_bytes;
  }
  return report;
}

}  // namespace motley::convert
