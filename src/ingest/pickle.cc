#include "ingest/pickle.h"

#include <algorithm>
#include <array>
#include <bit>
#include <unordered_map>

namespace motley::ingest {
namespace {

using Ref = Pickle::Ref;

constexpr size_t kMostValues = 1 << 21;  // a tensor takes about 15; published checkpoints have up to 100 thousand
constexpr size_t kLongestLine = 256;     // of a module's or a function's name
constexpr uint8_t kNewestProtocol = 5;
constexpr std::string_view kOrderedDict = "collections.OrderedDict";

class Reader;

// An opcode takes `values` from the stack, or everything behind a mark and `values` from before it.
enum class Takes : uint8_t { kValues, kMarked };
struct Opcode {
  uint8_t code;
  Takes takes;
  uint8_t values;
  Status (*run)(Reader& reader);
};

class Reader {
 public:
  Reader(BoundedReader& in, std::span<const std::string_view> callables) : in_(in), callables_(callables) {}

  StatusOr<Pickle> read() {
    while (!stopped_) {
      TRY(const auto code, in_.number<uint8_t>());
      TRY(step(code));
    }
    return std::move(pickle_);
  }

  BoundedReader& in() { return in_; }

  Status push(Pickle::Value value) {
    REJECT_IF(pickle_.values.size() >= kMostValues, "pickle.values", in_.where(),
              fmt::format("at most {} values", kMostValues), "more");
    pickle_.values.push_back(std::move(value));
    return push_again(static_cast<Ref>(pickle_.values.size() - 1));
  }

  Status push_again(Ref ref) {
    REJECT_IF(stack_.size() >= kMostValues, "pickle.stack", in_.where(),
              fmt::format("a stack of at most {} values", kMostValues), "a higher one");
    stack_.push_back(ref);
    return absl::OkStatus();
  }

  Ref pop() {
    const Ref ref = stack_.back();
    stack_.pop_back();
    return ref;
  }

  Status mark() {
    REJECT_IF(marks_.size() >= kMostValues, "pickle.marks", in_.where(), fmt::format("at most {} marks", kMostValues),
              "more");
    marks_.push_back(stack_.size());
    return absl::OkStatus();
  }

  std::vector<Ref> pop_marked() {
    const auto begin = stack_.begin() + static_cast<ptrdiff_t>(marks_.back());
    std::vector<Ref> items(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return items;
  }

  Status put(uint32_t index) {
    REJECT_IF(memo_.size() >= kMostValues, "pickle.memo", in_.where(),
              fmt::format("at most {} memorised values", kMostValues), "more");
    memo_[index] = stack_.back();
    return absl::OkStatus();
  }
  Status memorise() { return put(static_cast<uint32_t>(memo_.size())); }

  Status get(uint32_t index) {
    const auto found = memo_.find(index);
    if (found == memo_.end())
      return reject({.site = "pickle.memo_index",
                     .where = in_.where(),
                     .expected = "a value that was memorised before",
                     .got = fmt::format("number {}", index)});
    return push_again(found->second);
  }

  Status tuple(size_t count) {
    const std::vector<Ref> items(stack_.end() - static_cast<ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return push(Pickle::Sequence{items});
  }

  // Keys and values by turns.
  Status set_items(const std::vector<Ref>& items) {
    auto* dict = std::get_if<Pickle::Dict>(&pickle_.values[stack_.back()]);
    if (dict == nullptr || items.size() % 2 != 0)
      return reject({.site = "pickle.dict",
                     .where = in_.where(),
                     .expected = "pairs that are put into a dict",
                     .got = "something else"});
    for (size_t i = 0; i + 1 < items.size(); i += 2) dict->items.emplace_back(items[i], items[i + 1]);
    return absl::OkStatus();
  }

  Status append(const std::vector<Ref>& items) {
    auto* list = std::get_if<Pickle::Sequence>(&pickle_.values[stack_.back()]);
    if (list == nullptr)
      return reject({.site = "pickle.list",
                     .where = in_.where(),
                     .expected = "items that are put into a list",
                     .got = "something else"});
    list->items.insert(list->items.end(), items.begin(), items.end());
    return absl::OkStatus();
  }

  Status call() {
    const Ref arguments_ref = pop();
    const auto* arguments = pickle_.get<Pickle::Sequence>(arguments_ref);
    const auto* function = pickle_.get<Pickle::Global>(pop());
    if (function == nullptr || arguments == nullptr)
      return reject({.site = "pickle.call",
                     .where = in_.where(),
                     .expected = "a function by its name, and a tuple of arguments",
                     .got = "something else"});
    if (function->name == kOrderedDict) {
      REJECT_IF(!arguments->items.empty(), "pickle.ordered_dict", in_.where(), "an OrderedDict made empty",
                "one made of arguments");
      return push(Pickle::Dict{});
    }
    REJECT_IF(std::find(callables_.begin(), callables_.end(), function->name) == callables_.end(), "pickle.global",
              in_.where(), "only calls that make tensors and plain values", function->name);
    return push(Pickle::Call{function->name, arguments_ref});
  }

  // Attributes of an OrderedDict (torch's versions of modules); nothing else may have any.
  Status build() {
    pop();
    REJECT_IF(pickle_.get<Pickle::Dict>(stack_.back()) == nullptr, "pickle.build", in_.where(),
              "attributes of an OrderedDict", "those of another object");
    return absl::OkStatus();
  }

  Status stack_global() {
    const auto* name = pickle_.get<std::string>(pop());
    const auto* module = pickle_.get<std::string>(pop());
    if (name == nullptr || module == nullptr)
      return reject({.site = "pickle.global_name",
                     .where = in_.where(),
                     .expected = "a module and a name in it",
                     .got = "something else"});
    REJECT_IF(module->size() + name->size() > 2 * kLongestLine, "pickle.long_name", in_.where(),
              fmt::format("a name of at most {} characters", 2 * kLongestLine), "a longer one");
    return push(Pickle::Global{fmt::format("{}.{}", *module, *name)});
  }

  Status stop() {
    pickle_.root = pop();
    REJECT_IF(!stack_.empty() || !marks_.empty(), "pickle.leftover", in_.where(), "one value at the end",
              fmt::format("{} more", stack_.size() + marks_.size()));
    stopped_ = true;
    return absl::OkStatus();
  }

  StatusOr<std::string> line() {
    std::string text;
    while (true) {
      TRY(const auto c, in_.number<char>());
      if (c == '\n') return text;
      REJECT_IF(text.size() >= kLongestLine, "pickle.line", in_.where(),
                fmt::format("a name of at most {} characters", kLongestLine), "a longer one");
      text += c;
    }
  }

 private:
  Status step(uint8_t code);

  // Values that may be taken: those above the floor that the last mark sets.
  Status check_stack(const Opcode& opcode) const {
    const bool marked = opcode.takes == Takes::kMarked;
    REJECT_IF(marked && marks_.empty(), "pickle.mark", in_.where(), "a mark", "none");
    const size_t height = marked ? marks_.back() : stack_.size();
    const size_t above = marked ? 1 : 0;  // marks that are used up
    const size_t floor = marks_.size() > above ? marks_[marks_.size() - 1 - above] : 0;
    REJECT_IF(height - floor < opcode.values, "pickle.underflow", in_.where(),
              fmt::format("{} values on the stack", opcode.values), height - floor);
    return absl::OkStatus();
  }

  BoundedReader& in_;
  std::span<const std::string_view> callables_;
  Pickle pickle_;
  std::vector<Ref> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint32_t, Ref> memo_;
  bool stopped_ = false;
};

// --- What the opcodes do (CPython, Lib/pickletools.py), one function each where a line is not enough.

template <typename Size>
Status push_text(Reader& reader) {
  TRY(const auto size_bytes, reader.in().number<Size>());
  TRY(std::string text, reader.in().text(size_bytes));
  return reader.push(std::move(text));
}

template <typename T>
Status push_integer(Reader& reader) {
  TRY(const auto value, reader.in().number<T>());
  return reader.push(int64_t{value});
}

Status push_long(Reader& reader) {
  TRY(const auto size_bytes, reader.in().number<uint8_t>());
  TRY(std::string bytes, reader.in().text(size_bytes));
  if (size_bytes > sizeof(int64_t)) return reader.push(Pickle::Long{std::move(bytes)});
  const bool negative = !bytes.empty() && (static_cast<uint8_t>(bytes.back()) & 0x80) != 0;
  uint64_t value = negative ? ~uint64_t{0} : 0;
  for (size_t i = bytes.size(); i-- > 0;) value = (value << 8) | static_cast<uint8_t>(bytes[i]);
  return reader.push(static_cast<int64_t>(value));
}

Status push_float(Reader& reader) {
  TRY(const auto bits, reader.in().number<uint64_t>());
  return reader.push(std::bit_cast<double>(__builtin_bswap64(bits)));  // the only big-endian number there is
}

Status push_global(Reader& reader) {
  TRY(const std::string module, reader.line());
  TRY(const std::string name, reader.line());
  return reader.push(Pickle::Global{fmt::format("{}.{}", module, name)});
}

template <typename Index>
Status put(Reader& reader) {
  TRY(const auto index, reader.in().number<Index>());
  return reader.put(index);
}

template <typename Index>
Status get(Reader& reader) {
  TRY(const auto index, reader.in().number<Index>());
  return reader.get(index);
}

Status protocol(Reader& reader) {
  TRY(const auto version, reader.in().number<uint8_t>());
  REJECT_IF(version > kNewestProtocol, "pickle.protocol", reader.in().where(),
            fmt::format("a protocol up to {}", kNewestProtocol), version);
  return absl::OkStatus();
}

Status set_item(Reader& reader) {
  const Ref value = reader.pop();
  const Ref key = reader.pop();
  return reader.set_items({key, value});
}

constexpr auto kValues = Takes::kValues, kMarked = Takes::kMarked;

constexpr std::array kOpcodes = {
    Opcode{0x80, kValues, 0, protocol},
    Opcode{0x95, kValues, 0, [](Reader& r) { return r.in().skip(8); }},  // FRAME: only a hint
    Opcode{'(', kValues, 0, [](Reader& r) { return r.mark(); }},
    Opcode{'.', kValues, 1, [](Reader& r) { return r.stop(); }},
    // Plain values
    Opcode{'N', kValues, 0, [](Reader& r) { return r.push(Pickle::None{}); }},
    Opcode{0x88, kValues, 0, [](Reader& r) { return r.push(true); }},
    Opcode{0x89, kValues, 0, [](Reader& r) { return r.push(false); }},
    Opcode{'J', kValues, 0, push_integer<int32_t>},
    Opcode{'K', kValues, 0, push_integer<uint8_t>},
    Opcode{'M', kValues, 0, push_integer<uint16_t>},
    Opcode{0x8a, kValues, 0, push_long},
    Opcode{'G', kValues, 0, push_float},
    Opcode{'X', kValues, 0, push_text<uint32_t>},
    Opcode{0x8c, kValues, 0, push_text<uint8_t>},
    Opcode{0x8d, kValues, 0, push_text<uint64_t>},
    Opcode{'T', kValues, 0, push_text<uint32_t>},
    Opcode{'U', kValues, 0, push_text<uint8_t>},
    Opcode{'B', kValues, 0, push_text<uint32_t>},
    Opcode{'C', kValues, 0, push_text<uint8_t>},
    // Collections
    Opcode{')', kValues, 0, [](Reader& r) { return r.push(Pickle::Sequence{}); }},
    Opcode{']', kValues, 0, [](Reader& r) { return r.push(Pickle::Sequence{}); }},
    Opcode{0x8f, kValues, 0, [](Reader& r) { return r.push(Pickle::Sequence{}); }},
    Opcode{'}', kValues, 0, [](Reader& r) { return r.push(Pickle::Dict{}); }},
    Opcode{'t', kMarked, 0, [](Reader& r) { return r.push(Pickle::Sequence{r.pop_marked()}); }},
    Opcode{0x85, kValues, 1, [](Reader& r) { return r.tuple(1); }},
    Opcode{0x86, kValues, 2, [](Reader& r) { return r.tuple(2); }},
    Opcode{0x87, kValues, 3, [](Reader& r) { return r.tuple(3); }},
    Opcode{'a', kValues, 2, [](Reader& r) { return r.append({r.pop()}); }},
    Opcode{'e', kMarked, 1, [](Reader& r) { return r.append(r.pop_marked()); }},
    Opcode{0x90, kMarked, 1, [](Reader& r) { return r.append(r.pop_marked()); }},
    Opcode{'s', kValues, 3, set_item},
    Opcode{'u', kMarked, 1, [](Reader& r) { return r.set_items(r.pop_marked()); }},
    // The memo
    Opcode{'q', kValues, 1, put<uint8_t>},
    Opcode{'r', kValues, 1, put<uint32_t>},
    Opcode{0x94, kValues, 1, [](Reader& r) { return r.memorise(); }},
    Opcode{'h', kValues, 0, get<uint8_t>},
    Opcode{'j', kValues, 0, get<uint32_t>},
    // Objects
    Opcode{'c', kValues, 0, push_global},
    Opcode{0x93, kValues, 2, [](Reader& r) { return r.stack_global(); }},
    Opcode{'R', kValues, 2, [](Reader& r) { return r.call(); }},
    Opcode{0x81, kValues, 2, [](Reader& r) { return r.call(); }},
    Opcode{'b', kValues, 2, [](Reader& r) { return r.build(); }},
    Opcode{'Q', kValues, 1, [](Reader& r) { return r.push(Pickle::Persistent{r.pop()}); }},
};

Status Reader::step(uint8_t code) {
  const auto* opcode =
      std::find_if(kOpcodes.begin(), kOpcodes.end(), [&](const Opcode& row) { return row.code == code; });
  if (opcode == kOpcodes.end())
    return reject({.site = "pickle.opcode",
                   .where = in_.where(),
                   .expected = "an opcode that plain data needs",
                   .got = fmt::format("{:#04x}", code)});
  TRY(check_stack(*opcode));
  return opcode->run(*this);
}

}  // namespace

StatusOr<Pickle> read_pickle(BoundedReader& in, std::span<const std::string_view> callables) {
  return Reader(in, callables).read();
}

}  // namespace motley::ingest
