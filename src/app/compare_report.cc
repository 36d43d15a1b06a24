#include "app/compare_report.h"

#include <algorithm>
#include <cmath>

#include "app/model_options.h"
#include "fmt/ranges.h"
#include "text/utf8.h"

namespace motley::app {
namespace {

constexpr size_t kWorstShown = 5;
// Ids before a bad position that are shown with it: about a line.
constexpr size_t kShownBefore = 12;

// A token as a person reads it, always UTF-8: what it adds to a text, or its spelling in the vocabulary where that is
// but a part of a character. nullopt without a tokenizer.
std::optional<std::string> shown_token(const ComparedText& text, int32_t id) {
  if (!text.tokenizer) return std::nullopt;
  auto bytes = text.tokenizer->token_bytes(id);
  if (bytes && !text::first_invalid_utf8(*bytes)) return bytes;
  return text.tokenizer->token(id);
}

struct WorstPosition {
  size_t position = 0;  // of all
  size_t window = 0;
  const PositionDifference* difference = nullptr;
  std::optional<std::string> text_before;  // up to this position; nullopt without a tokenizer
};

StatusOr<std::optional<std::string>> text_before(const ComparedText& text, size_t window, size_t index) {
  if (!text.tokenizer) return std::nullopt;
  const size_t begin = index + 1 - std::min(index + 1, kShownBefore);
  const auto ids = std::span(text.windows[window]).subspan(begin, index + 1 - begin);
  TRY(std::string decoded, text.tokenizer->decode(ids, text::SpecialTokens::kKeep));
  return decoded;
}

StatusOr<std::vector<WorstPosition>> worst(const Comparison& comparison) {
  std::vector<WorstPosition> result;
  for (const size_t position : worst_positions(comparison.positions, kWorstShown)) {
    WorstPosition& entry = result.emplace_back();
    entry.position = position;
    entry.difference = &comparison.positions[position];
    size_t index = position;  // in its window
    while (index >= comparison.text.windows[entry.window].size())
      index -= comparison.text.windows[entry.window++].size();
    TRY(entry.text_before, text_before(comparison.text, entry.window, index));
  }
  return result;
}

Json text_or_null(const std::optional<std::string>& text) { return text ? Json(*text) : Json(); }

Json side_json(const ComparedSide& side) {
  return Json::Object{{"model", side.path},
                      {"overrides", Json::Array(side.overrides.begin(), side.overrides.end())},
                      {"device", side.facts.device},
                      {"precision", precision_name(side.facts.precision)},
                      {"weight_bytes", side.facts.weight_bytes}};
}

Json kl_json(const KlSummary& kl) {
  return Json::Object{{"mean", kl.mean}, {"median", kl.median}, {"p99", kl.p99}, {"p99_9", kl.p99_9}, {"max", kl.max}};
}

Json perplexity_json(const std::optional<Perplexity>& perplexity) {
  if (!perplexity) return nullptr;
  return Json::Object{
      {"tokens", perplexity->tokens}, {"a", perplexity->a}, {"b", perplexity->b}, {"ratio", perplexity->ratio}};
}

Json histogram_json(const std::vector<PositionDifference>& positions) {
  Json::Array bins;
  for (const KlBin& bin : kl_histogram(positions))
    bins.push_back(Json::Object{{"from", bin.from}, {"to", bin.to}, {"count", bin.count}});
  return bins;
}

Json top_json(const ComparedText& text, const TopToken& top) {
  return Json::Object{{"id", top.id},
                      {"token", text_or_null(shown_token(text, top.id))},
                      {"probability", std::exp(top.log_probability)}};
}

Json next_json(const ComparedText& text, const std::optional<NextToken>& next) {
  if (!next) return nullptr;
  return Json::Object{{"id", next->id},
                      {"token", text_or_null(shown_token(text, next->id))},
                      {"probability_a", std::exp(next->log_probability_a)},
                      {"probability_b", std::exp(next->log_probability_b)}};
}

Json worst_json(const ComparedText& text, const std::vector<WorstPosition>& worst) {
  Json::Array entries;
  for (const WorstPosition& entry : worst)
    entries.push_back(Json::Object{{"position", entry.position},
                                   {"window", entry.window},
                                   {"kl_nats", entry.difference->kl_nats},
                                   {"text_before", text_or_null(entry.text_before)},
                                   {"top_a", top_json(text, entry.difference->top_a)},
                                   {"top_b", top_json(text, entry.difference->top_b)},
                                   {"next", next_json(text, entry.difference->next)}});
  return entries;
}

std::string side_line(const char* name, const ComparedSide& side) {
  std::string line =
      fmt::format("{}             {} ({}, {} arithmetic, {:.1f} MB of weights", name, side.path, side.facts.device,
                  precision_name(side.facts.precision), static_cast<double>(side.facts.weight_bytes) / 1e6);
  if (!side.overrides.empty()) line += fmt::format(", {}", fmt::join(side.overrides, ", "));
  return line + ")\n";
}

std::string figures(const DifferenceSummary& summary) {
  const KlSummary& kl = summary.kl_nats;
  std::string text = fmt::format(
      "KL(A||B)      mean {:.3g} nats, median {:.3g}, 99 % {:.3g}, 99.9 % {:.3g}, largest {:.3g}\n"
      "same top-1    {:.2f} % ({} of {} positions)\n",
      kl.mean, kl.median, kl.p99, kl.p99_9, kl.max, 100 * summary.same_top1_share(), summary.same_top1,
      summary.positions);
  if (summary.perplexity)
    text += fmt::format("perplexity    A {:.4f}, B {:.4f}, B/A {:.6f} ({} tokens)\n", summary.perplexity->a,
                        summary.perplexity->b, summary.perplexity->ratio, summary.perplexity->tokens);
  return text + fmt::format("logits        RMS difference {:.3g}, largest {:.3g}: {:.3g} of A's range\n",
                            summary.rms_difference, summary.largest_difference, summary.largest_difference_share());
}

std::string bin_label(const KlBin& bin) {
  if (bin.from == 0) return fmt::format("under {:.0e}", bin.to);
  if (std::isinf(bin.to)) return fmt::format("{:.0e} and more", bin.from);
  return fmt::format("{:.0e} to {:.0e}", bin.from, bin.to);
}

std::string histogram(const std::vector<PositionDifference>& positions) {
  constexpr uint64_t kBarColumns = 40;
  const std::vector<KlBin> all = kl_histogram(positions);
  const auto bins = occupied(all);
  uint64_t most = 0;
  for (const KlBin& bin : bins) most = std::max(most, bin.count);
  std::string text = "\npositions by KL, nats\n";
  for (const KlBin& bin : bins) {
    std::string bar;
    // Rounded up: a single position must show.
    for (uint64_t column = 0; column < (bin.count * kBarColumns + most - 1) / most; ++column) bar += "█";
    text += fmt::format("  {:<16}  {:>7} {}\n", bin_label(bin), bin.count, bar);
  }
  return text;
}

// Quoted, with escapes: one line that shows spaces and newlines.
std::string quoted_token(const ComparedText& text, int32_t id) {
  const auto shown = shown_token(text, id);
  return shown ? Json(*shown).dump() : fmt::format("id {}", id);
}

std::string worst_lines(const ComparedText& text, const WorstPosition& entry) {
  const PositionDifference& at = *entry.difference;
  std::string lines = fmt::format("  position {}: {:.3g} nats", entry.position, at.kl_nats);
  if (entry.text_before) lines += ", after " + Json(*entry.text_before).dump();
  lines += fmt::format("\n    A says {} ({:.1f} %), B says {} ({:.1f} %)", quoted_token(text, at.top_a.id),
                       100 * std::exp(at.top_a.log_probability), quoted_token(text, at.top_b.id),
                       100 * std::exp(at.top_b.log_probability));
  if (at.next)
    lines += fmt::format(", the text {} ({:.1f} and {:.1f} %)", quoted_token(text, at.next->id),
                         100 * std::exp(at.next->log_probability_a), 100 * std::exp(at.next->log_probability_b));
  return lines + "\n";
}

}  // namespace

StatusOr<Json> compare_json(const Comparison& comparison) {
  TRY(const auto worst_ones, worst(comparison));
  const DifferenceSummary& summary = comparison.summary;
  return Json::Object{{"a", side_json(comparison.a)},
                      {"b", side_json(comparison.b)},
                      {"text", comparison.text.name},
                      {"tokens", comparison.text.tokens},
                      {"windows", comparison.text.windows.size()},
                      {"positions", summary.positions},
                      {"kl_nats", kl_json(summary.kl_nats)},
                      {"same_top1", summary.same_top1_share()},
                      {"perplexity", perplexity_json(summary.perplexity)},
                      {"logits", Json::Object{{"rms_difference", summary.rms_difference},
                                              {"largest_difference", summary.largest_difference},
                                              {"range_a", summary.range_a},
                                              {"largest_difference_of_range", summary.largest_difference_share()}}},
                      {"histogram", histogram_json(comparison.positions)},
                      {"worst", worst_json(comparison.text, worst_ones)}};
}

StatusOr<std::string> compare_report(const Comparison& comparison) {
  TRY(const auto worst_ones, worst(comparison));
  const ComparedText& text = comparison.text;
  std::string report = side_line("A", comparison.a) + side_line("B", comparison.b);
  report += fmt::format("text          {}, {} tokens in {} window{}\n", text.name, text.tokens, text.windows.size(),
                        text.windows.size() == 1 ? "" : "s");
  report += figures(comparison.summary) + histogram(comparison.positions) + "\nlargest KL\n";
  for (const WorstPosition& entry : worst_ones) report += worst_lines(text, entry);
  return report;
}

}  // namespace motley::app
