#include "app/line_editor.h"

#include <histedit.h>

#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace motley::app {
namespace {

namespace fs = std::filesystem;

constexpr int kHistoryLines = 1000;

struct HistoryEnd {
  void operator()(History* history) const { history_end(history); }
};
struct EditorEnd {
  void operator()(EditLine* editor) const { el_end(editor); }
};

// Typed text is UTF-8 whatever the environment says; in the "C" locale libedit would take it apart.
void use_utf8() {
  std::setlocale(LC_CTYPE, "");
  if (MB_CUR_MAX == 1) std::setlocale(LC_CTYPE, "C.UTF-8");
}

// Nobody else should read what somebody asks a model. Failing to keep a history is no reason not to chat.
void make_private_file(const std::string& path) {
  std::error_code ignored;
  fs::create_directories(fs::path(path).parent_path(), ignored);
  if (std::FILE* file = std::fopen(path.c_str(), "a")) std::fclose(file);
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write, ignored);
}

}  // namespace

struct LineEditor::State {
  std::string history_file;
  std::string prompt;
  bool interrupted = false;
  std::unique_ptr<History, HistoryEnd> history;
  std::unique_ptr<EditLine, EditorEnd> editor;

  static State* of(EditLine* editor) {
    void* state = nullptr;
    el_get(editor, EL_CLIENTDATA, &state);
    return static_cast<State*>(state);
  }
  static char* prompt_of(EditLine* editor) { return of(editor)->prompt.data(); }
  static unsigned char on_interrupt(EditLine* editor, int /*key*/) {
    of(editor)->interrupted = true;
    return CC_EOF;
  }

  void configure();
  void open_history();
};

void LineEditor::State::configure() {
  EditLine* el = editor.get();
  el_set(el, EL_CLIENTDATA, this);
  el_set(el, EL_PROMPT, &State::prompt_of);
  el_set(el, EL_EDITOR, "emacs");
  el_set(el, EL_SIGNAL, 1);  // window size changes
  el_set(el, EL_HIST, ::history, history.get());
  el_set(el, EL_BIND, "^R", "em-inc-search-prev", nullptr);
  el_source(el, nullptr);  // the person's ~/.editrc
  // Ctrl-C is an ordinary key while a line is edited.
  el_set(el, EL_ADDFN, "motley-interrupt", "Give the line up", &State::on_interrupt);
  el_set(el, EL_SETTY, "-d", "-isig", nullptr);
  el_set(el, EL_BIND, "^C", "motley-interrupt", nullptr);
}

void LineEditor::State::open_history() {
  HistEvent event;
  ::history(history.get(), &event, H_SETSIZE, kHistoryLines);
  ::history(history.get(), &event, H_SETUNIQUE, 1);
  if (history_file.empty()) return;
  make_private_file(history_file);
  ::history(history.get(), &event, H_LOAD, history_file.c_str());
}

LineEditor::LineEditor(std::string history_file) : state_(std::make_unique<State>()) {
  use_utf8();
  state_->history_file = std::move(history_file);
  state_->history.reset(history_init());
  state_->editor.reset(el_init("motley", stdin, stdout, stderr));
  state_->open_history();
  state_->configure();
}

LineEditor::~LineEditor() = default;

LineEditor::Line LineEditor::read(const std::string& prompt) {
  state_->prompt = prompt;
  state_->interrupted = false;
  int count = 0;
  // libedit itself does this only after it has shown the prompt, and who types that fast meets the terminal's own echo
  // and its own Ctrl-C and Ctrl-D.
  el_set(state_->editor.get(), EL_PREP_TERM, 1);
  errno = 0;
  const char* typed = el_gets(state_->editor.get(), &count);
  // Ctrl-C is a key here, but the signal may come from elsewhere, or from a Ctrl-C that was still meant for the answer.
  const bool signalled = typed == nullptr && count < 0 && errno == EINTR;
  if (state_->interrupted || signalled) {
    el_reset(state_->editor.get());
    return {Line::Kind::kInterrupted, ""};
  }
  if (typed == nullptr || count <= 0) return {Line::Kind::kEnd, ""};
  std::string text(typed, static_cast<size_t>(count));
  if (text.ends_with('\n')) text.pop_back();
  if (!text.empty()) {
    HistEvent event;
    ::history(state_->history.get(), &event, H_ENTER, text.c_str());
    // At once, so that a chat which is killed loses nothing.
    if (!state_->history_file.empty()) ::history(state_->history.get(), &event, H_SAVE, state_->history_file.c_str());
  }
  return {Line::Kind::kText, std::move(text)};
}

}  // namespace motley::app
