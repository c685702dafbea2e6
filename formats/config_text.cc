#include "formats/config_text.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace wavetune {
namespace {

constexpr int kMostLevels = 64;
constexpr size_t kMostModuleBytes = 1024;
constexpr absl::string_view kPythonLiterals[] = {"NaN", "Infinity",
                                                 "-Infinity"};
// Fields of the model, or of its text model, that no layer follows from.
constexpr absl::string_view kDropped[] = {
    "\"id2label\"", "\"label2id\"", "\"auto_map\"", "\"task_specific_params\""};

// Returns the literal of Python that `text` begins with; empty: none.
absl::string_view PythonLiteral(absl::string_view text) {
  for (const absl::string_view literal : kPythonLiterals) {
    if (absl::StartsWith(text, literal)) return literal;
  }
  return {};
}

// Returns the end of the string that begins at `at`, behind its quote; npos
// where it does not end.
size_t EndOfString(absl::string_view text, size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] == '"') return at + 1;
    if (text[at] == '\\') ++at;
  }
  return absl::string_view::npos;
}

// Returns `"...mlp.experts.17.up_proj": {...}` without the number; empty where
// it begins with no such name, or is longer than what is said of a module.
std::string WithoutExpert(absl::string_view element) {
  constexpr absl::string_view kExperts = ".experts.";
  if (element.size() > kMostModuleBytes || element[0] != '"') return "";
  const size_t found =
      element.substr(0, EndOfString(element, 0)).find(kExperts);
  if (found == absl::string_view::npos) return "";
  size_t end = found + kExperts.size();
  while (absl::ascii_isdigit(static_cast<unsigned char>(element[end]))) ++end;
  return absl::StrCat(element.substr(0, found + kExperts.size()),
                      element.substr(end));
}

class Compactor {
 public:
  explicit Compactor(absl::string_view text) : text_(text) {}

  // False: it is no JSON.
  bool Run(std::string* out) {
    SkipBlanks();
    if (!At('{') || !Value(0)) return false;
    SkipBlanks();
    if (at_ != text_.size()) return false;
    *out = std::move(out_);
    return true;
  }

 private:
  void SkipBlanks() {
    while (at_ < text_.size() && absl::string_view(" \t\r\n").find(
                                     text_[at_]) != absl::string_view::npos) {
      ++at_;
    }
  }

  bool At(char c) const { return at_ < text_.size() && text_[at_] == c; }

  bool Take(char c) {
    if (!At(c)) return false;
    out_ += c;
    ++at_;
    return true;
  }

  bool String() {
    const size_t end = EndOfString(text_, at_);
    if (end == absl::string_view::npos) return false;
    absl::StrAppend(&out_, text_.substr(at_, end - at_));
    at_ = end;
    return true;
  }

  // A number or a literal, unread.
  bool Word() {
    if (const auto python = PythonLiteral(text_.substr(at_)); !python.empty()) {
      at_ += python.size();
      out_ += "null";
      return true;
    }
    const size_t begin = at_;
    while (at_ < text_.size() &&
           (absl::ascii_isalnum(static_cast<unsigned char>(text_[at_])) ||
            absl::string_view("+-.").find(text_[at_]) !=
                absl::string_view::npos)) {
      ++at_;
    }
    absl::StrAppend(&out_, text_.substr(begin, at_ - begin));
    return at_ > begin;
  }

  bool Value(int level) {
    if (level > kMostLevels) return false;
    if (At('{')) return Elements(level, '}');
    if (At('[')) return Elements(level, ']');
    return At('"') ? String() : Word();
  }

  // The members of an object, or the elements of a list, up to `close`.
  bool Elements(int level, char close) {
    out_ += text_[at_++];
    std::set<std::string> experts;  // That are there already.
    SkipBlanks();
    if (Take(close)) return true;
    const size_t first = out_.size();
    while (true) {
      const size_t begin = out_.size();
      if (begin > first) out_ += ',';
      if (!Element(level, close == '}')) return false;
      if (IsNeedless(level, begin + (begin > first ? 1 : 0), experts)) {
        out_.resize(begin);
      }
      SkipBlanks();
      if (Take(close)) return true;
      if (!At(',')) return false;
      ++at_;
      SkipBlanks();
    }
  }

  bool Element(int level, bool named) {
    if (named) {
      if (!At('"') || !String()) return false;
      SkipBlanks();
      if (!Take(':')) return false;
      SkipBlanks();
    }
    return Value(level + 1);
  }

  // Whether what was written from `begin` on says nothing of layers.
  bool IsNeedless(int level, size_t begin, std::set<std::string>& experts) {
    const absl::string_view element = absl::string_view(out_).substr(begin);
    if (level <= 1) {
      for (const absl::string_view name : kDropped) {
        if (absl::StartsWith(element, absl::StrCat(name, ":"))) return true;
      }
    }
    std::string alike = WithoutExpert(element);
    return !alike.empty() && !experts.insert(std::move(alike)).second;
  }

  const absl::string_view text_;
  size_t at_ = 0;
  std::string out_;
};

}  // namespace

std::string WithoutPythonLiterals(absl::string_view text) {
  std::string result;
  size_t copied = 0;
  for (size_t at = 0; at < text.size();) {
    if (text[at] == '"') {
      at = std::min(EndOfString(text, at), text.size());
      continue;
    }
    const absl::string_view python = PythonLiteral(text.substr(at));
    if (!python.empty()) {
      absl::StrAppend(&result, text.substr(copied, at - copied), "null");
      copied = at + python.size();
    }
    at += std::max<size_t>(1, python.size());
  }
  absl::StrAppend(&result, text.substr(copied));
  return result;
}

std::string CompactConfig(absl::string_view text) {
  std::string compact;
  if (!Compactor(text).Run(&compact)) return std::string(text);
  return compact;
}

}  // namespace wavetune
