#include "app/sampling_options.h"

#include <array>
#include <random>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "app/exit_status.h"
#include "base/folder.h"
#include "fmt/format.h"

namespace motley::app {
namespace {

constexpr std::string_view kFlagSource = "set by you";
constexpr std::string_view kMotleySource = "motley's default";

struct Fallback {
  sample::Settings settings;
  std::string source;
};

bool recommends_sampling(const model::GenerationDefaults& recommended) {
  return recommended.temperature || recommended.top_p || recommended.top_k || recommended.min_p ||
         recommended.do_sample;
}

// What holds for whatever nobody set: neutral beside a model's recommendation, else what most local runners use.
Fallback fallback(const model::GenerationDefaults& recommended) {
  if (recommends_sampling(recommended)) return {{}, "not in " + split_path(recommended.source).name};
  sample::Settings settings;
  settings.temperature = 0.8;
  settings.top_k = 40;
  settings.top_p = 0.95;
  settings.min_p = 0.05;
  return {settings, std::string(kMotleySource)};
}

class Resolver {
 public:
  explicit Resolver(const model::GenerationDefaults& recommended)
      : file_(split_path(recommended.source).name), fallback_(fallback(recommended)) {}

  // Decides one value: the flag, the file, or what the settings hold already.
  template <typename Value, typename Flag, typename File>
  void choose(const char* name, Value& value, const std::optional<Flag>& flag, const std::optional<File>& file) {
    if (flag)
      value = static_cast<Value>(*flag);
    else if (file)
      value = static_cast<Value>(*file);
    const std::string source(flag ? kFlagSource : file ? file_ : fallback_.source);
    result_.lines.push_back({name, fmt::format("{}", value), source});
  }

  void choose_seed(const std::optional<uint64_t>& flag) {
    std::random_device system;
    // 32 bits are plenty to be different, and short enough to be typed again.
    result_.settings.seed = flag ? *flag : system();
    const std::string source(flag ? kFlagSource : "drawn at random");
    result_.lines.push_back({"seed", fmt::format("{}", result_.settings.seed), source});
  }

  sample::Settings& settings() { return result_.settings; }
  void start() { result_.settings = fallback_.settings; }
  Sampling take() { return std::move(result_); }

 private:
  std::string file_;
  Fallback fallback_;
  Sampling result_;
};

StatusOr<int64_t> checked_top_k(const model::GenerationDefaults& recommended) {
  const int64_t top_k = recommended.top_k.value_or(0);
  REJECT_IF(top_k < -1 || top_k > int64_t{1} << 31, "app.top_k", recommended.source + ": top_k", "0 (all) or more",
            top_k);
  return std::max<int64_t>(top_k, 0);  // vLLM writes -1 for all
}

std::optional<double> recommended_temperature(const model::GenerationDefaults& recommended) {
  if (recommended.do_sample == false) return 0;
  return recommended.temperature;
}

template <typename Number>
Status parse_into(std::optional<Number>& target, std::string_view name, std::string_view text) {
  if (text == "default") {
    target.reset();
    return absl::OkStatus();
  }
  Number value{};
  bool parsed = false;
  if constexpr (std::is_same_v<Number, double>)
    parsed = absl::SimpleAtod({text.data(), text.size()}, &value);
  else
    parsed = absl::SimpleAtoi({text.data(), text.size()}, &value);
  if (!parsed)
    return absl::InvalidArgumentError(fmt::format("{}: expected a number or \"default\", got {}", name, text));
  target = value;
  return absl::OkStatus();
}

struct RealParameter {
  const char* flag;
  const char* name;
  std::optional<double> SamplingOptions::*member;
  const char* help;
};

constexpr std::array kRealParameters = {
    RealParameter{"--temperature", "temperature", &SamplingOptions::temperature,
                  "How freely tokens are drawn; 0 always takes the most probable one"},
    RealParameter{"--top-p", "top_p", &SamplingOptions::top_p,
                  "Keep the smallest set of tokens with at least this probability together (1: all)"},
    RealParameter{"--min-p", "min_p", &SamplingOptions::min_p,
                  "Keep tokens with at least this share of the largest probability (0: all)"},
    RealParameter{"--repeat-penalty", "repeat_penalty", &SamplingOptions::repeat_penalty,
                  "Make each of the last 64 tokens less likely by this factor (1: off)"},
    RealParameter{"--presence-penalty", "presence_penalty", &SamplingOptions::presence_penalty,
                  "Subtract this from the logit of each of the last 64 tokens (0: off)"},
    RealParameter{"--frequency-penalty", "frequency_penalty", &SamplingOptions::frequency_penalty,
                  "Subtract this once for every time a token is among the last 64 (0: off)"},
};

}  // namespace

void add_sampling_options(Arguments& command, SamplingOptions& options) {
  for (const RealParameter& parameter : kRealParameters)
    command.value(fmt::format("{} X", parameter.flag), options.*parameter.member, parameter.help);
  command.value("--top-k K", options.top_k, "Keep the K most probable tokens (0: all)");
  command.value("--seed N", options.seed,
                "Make draws repeatable (default: another one every time; --verbose shows it)");
}

Status set_sampling_option(SamplingOptions& options, std::string_view name, std::string_view value) {
  for (const RealParameter& parameter : kRealParameters)
    if (name == parameter.name) return parse_into(options.*parameter.member, name, value);
  if (name == "top_k") return parse_into(options.top_k, name, value);
  if (name == "seed") return parse_into(options.seed, name, value);
  const std::string names = absl::StrJoin(
      kRealParameters, ", ", [](std::string* out, const RealParameter& parameter) { out->append(parameter.name); });
  return absl::NotFoundError(fmt::format("expected one of {}, top_k, seed, got {}", names, name));
}

StatusOr<Sampling> resolve(const SamplingOptions& options, const model::GenerationDefaults& recommended) {
  TRY(const int64_t file_top_k, checked_top_k(recommended));
  const std::optional<double> silent;  // no file says anything about these
  Resolver resolver(recommended);
  resolver.start();
  sample::Settings& s = resolver.settings();
  resolver.choose("temperature", s.temperature, options.temperature, recommended_temperature(recommended));
  resolver.choose("top_k", s.top_k, options.top_k, recommended.top_k ? std::optional(file_top_k) : std::nullopt);
  resolver.choose("top_p", s.top_p, options.top_p, recommended.top_p);
  resolver.choose("min_p", s.min_p, options.min_p, recommended.min_p);
  resolver.choose("repeat_penalty", s.repeat_penalty, options.repeat_penalty, recommended.repetition_penalty);
  resolver.choose("presence_penalty", s.presence_penalty, options.presence_penalty, silent);
  resolver.choose("frequency_penalty", s.frequency_penalty, options.frequency_penalty, silent);
  resolver.choose_seed(options.seed);
  if (const Status valid = sample::check(s); !valid.ok()) return usage_error(std::string(valid.message()));
  return resolver.take();
}

std::string describe(const Sampling& sampling) {
  return absl::StrJoin(sampling.lines, ", ", [](std::string* out, const Sampling::Line& line) {
    out->append(fmt::format("{} {} ({})", line.name, line.value, line.source));
  });
}

}  // namespace motley::app
