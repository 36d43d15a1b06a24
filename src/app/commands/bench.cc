#include <algorithm>
#include <chrono>
#include <memory>

#include "app/bandwidth.h"
#include "app/commands.h"
#include "app/exit_status.h"
#include "app/interrupt.h"
#include "app/model_options.h"
#include "app/output.h"
#include "app/status_line.h"
#include "base/memory.h"
#include "engine/sequence.h"

namespace motley::app {
namespace {

struct BenchOptions {
  ModelOptions model;
  ComputeOptions compute;
  uint32_t prompt_tokens = 512, decode_tokens = 64, repetitions = 3;
  bool json = false;
};

// Tokens a second of one repetition each, sorted when complete.
struct Speeds {
  std::vector<double> tokens_per_s;

  double median() const {
    const size_t middle = tokens_per_s.size() / 2;
    if (tokens_per_s.size() % 2 == 1) return tokens_per_s[middle];
    return (tokens_per_s[middle - 1] + tokens_per_s[middle]) / 2;
  }
  double min() const { return tokens_per_s.front(); }
  double max() const { return tokens_per_s.back(); }
};

struct Measurement {
  Speeds prefill, decode;
};

Status check(const BenchOptions& options) {
  const auto positive = [](const char* name, uint32_t value) {
    return value > 0 ? absl::OkStatus() : usage_error(fmt::format("{}: expected at least 1, got 0", name));
  };
  TRY(positive("-p", options.prompt_tokens));
  TRY(positive("-n", options.decode_tokens));
  return positive("-r", options.repetitions);
}

// Ids that look like a text's to the hardware: spread over the embedding, the same every time (Knuth's multiplicative
// hash).
std::vector<int32_t> synthetic_prompt(uint32_t tokens, uint32_t vocabulary, uint32_t repetition) {
  std::vector<int32_t> ids(tokens);
  for (uint32_t i = 0; i < tokens; ++i)
    ids[i] = static_cast<int32_t>((uint64_t{i + 1} * 2654435761u + repetition * 40503u) % vocabulary);
  return ids;
}

double tokens_per_s(uint32_t tokens, std::chrono::steady_clock::time_point start) {
  return tokens / std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// One prompt and its greedy continuation; end tokens are tokens like others.
Status repeat_once(exec::Runner& runner, const BenchOptions& options, uint32_t repetition, Measurement& into) {
  sample::Settings greedy;
  greedy.temperature = 0;
  engine::Sequence sequence(runner);
  const auto ids = synthetic_prompt(options.prompt_tokens, runner.facts().vocabulary, repetition);
  auto start = std::chrono::steady_clock::now();
  TRY(const engine::Prefill prefill, sequence.prefill(ids, greedy, InterruptGuard::raised(), nullptr));
  into.prefill.tokens_per_s.push_back(tokens_per_s(options.prompt_tokens, start));
  std::optional<int32_t> token = prefill.token;
  start = std::chrono::steady_clock::now();
  for (uint32_t i = 0; i < options.decode_tokens && token; ++i) {
    if (InterruptGuard::raised()) return quiet_end(ExitCode::kInterrupted);
    TRY(token, sequence.step(*token, greedy));
  }
  if (!token) return quiet_end(ExitCode::kInterrupted);
  into.decode.tokens_per_s.push_back(tokens_per_s(options.decode_tokens, start));
  return absl::OkStatus();
}

StatusOr<Measurement> measure(exec::Runner& runner, const BenchOptions& options) {
  const InterruptGuard guard;
  Measurement result, warm_up;
  for (uint32_t repetition = 0; repetition <= options.repetitions; ++repetition) {
    show_status(fmt::format("Measuring … {} of {}", repetition, options.repetitions));
    TRY(repeat_once(runner, options, repetition, repetition == 0 ? warm_up : result));
  }
  show_status("");
  std::sort(result.prefill.tokens_per_s.begin(), result.prefill.tokens_per_s.end());
  std::sort(result.decode.tokens_per_s.begin(), result.decode.tokens_per_s.end());
  return result;
}

// What decoding one token reads on average: the weights, and the KV cache as it is half-way through the answer.
double decode_bytes_per_token(const exec::Facts& facts, const BenchOptions& options) {
  const double tokens = options.prompt_tokens + options.decode_tokens / 2.0;
  return static_cast<double>(facts.step_weight_bytes) + static_cast<double>(facts.kv_bytes_per_token) * tokens;
}

Json spread(const Speeds& speeds) { return Json::Object{{"min", speeds.min()}, {"max", speeds.max()}}; }

struct Report {
  Measurement measured;
  exec::Facts facts;
  double bytes_per_token = 0;
  double bandwidth_bytes_per_s = 0;
  uint64_t peak_bytes = 0;

  double decode_bytes_per_s() const { return bytes_per_token * measured.decode.median(); }
};

Json to_json(const Report& report, const BenchOptions& options) {
  return Json::Object{{"model", options.model.path},
                      {"device", report.facts.device},
                      {"precision", precision_name(report.facts.precision)},
                      {"prompt_tokens", options.prompt_tokens},
                      {"decode_tokens", options.decode_tokens},
                      {"repetitions", options.repetitions},
                      {"prefill_tokens_per_s", report.measured.prefill.median()},
                      {"decode_tokens_per_s", report.measured.decode.median()},
                      {"prefill_spread", spread(report.measured.prefill)},
                      {"decode_spread", spread(report.measured.decode)},
                      {"decode_bytes_per_token", report.bytes_per_token},
                      {"decode_gb_per_s", report.decode_bytes_per_s() / 1e9},
                      {"read_gb_per_s", report.bandwidth_bytes_per_s / 1e9},
                      {"decode_share_of_read", report.decode_bytes_per_s() / report.bandwidth_bytes_per_s},
                      {"peak_memory_bytes", report.peak_bytes}};
}

std::string to_text(const Report& report, const BenchOptions& options) {
  const auto line = [](const char* name, uint32_t tokens, const Speeds& speeds) {
    return fmt::format("{} {:>5} tokens  {:>9.1f} tokens/s  ({:.1f} to {:.1f})", name, tokens, speeds.median(),
                       speeds.min(), speeds.max());
  };
  return fmt::format(
      "{}\n{}\n{}\nreading  {:.1f} MB a token, {:.2f} GB/s: {:.0f} % of the {:.2f} GB/s that these threads read here\n",
      report.facts.device, line("prefill", options.prompt_tokens, report.measured.prefill),
      line("decode ", options.decode_tokens, report.measured.decode), report.bytes_per_token / 1e6,
      report.decode_bytes_per_s() / 1e9, 100 * report.decode_bytes_per_s() / report.bandwidth_bytes_per_s,
      report.bandwidth_bytes_per_s / 1e9);
}

Status bench(const BenchOptions& options) {
  TRY(check(options));
  TRY(exec::LocalOptions local, local_options(options.compute));
  TRY(const auto model, load_model(options.model));
  local.context_tokens = options.prompt_tokens + options.decode_tokens;
  TRY(const auto runner, exec::make_local_runner(model, local));
  Report report;
  TRY(report.measured, measure(*runner, options));
  report.facts = runner->facts();
  report.bytes_per_token = decode_bytes_per_token(report.facts, options);
  report.peak_bytes = peak_memory_bytes();  // before the next line takes memory of its own
  TRY(report.bandwidth_bytes_per_s, read_bandwidth_bytes_per_s(local.threads));
  return options.json ? print_json(to_json(report, options)) : print(to_text(report, options));
}

}  // namespace

void add_bench(CommandLine& line) {
  Arguments command = line.root().command("bench", "Measure speed on a made-up prompt");
  auto options = std::make_shared<BenchOptions>();
  add_model_options(command, options->model);
  command.value("-p,--prompt-tokens N", options->prompt_tokens, "Tokens of the prompt");
  command.value("-n,--decode-tokens N", options->decode_tokens, "Tokens to generate");
  command.value("-r,--repetitions N", options->repetitions, "Repetitions, after one to warm up; medians are shown");
  add_compute_options(command, options->compute);
  command.value("--json", options->json, "Print one JSON object instead of text");
  command.examples(R"(  motley bench model.gguf -p 512 -n 64 -r 3 --threads 2 --json)");
  command.action([options] { return bench(*options); });
}

}  // namespace motley::app
