#include "server/rpc/authorization_policy.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/printable_text.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"

namespace wavetune {
namespace {

using Json = nlohmann::json;
using Patterns = AuthorizationPolicy::Patterns;
using Rule = AuthorizationPolicy::Rule;

// Of a name or method in a refusal: both are a peer's.
constexpr size_t kMostNameBytes = 256;

absl::Status Wrong(absl::string_view where, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(where, " ", what));
}

// Checks that `object` is one, with no other fields than these: a rule with a
// misspelt restriction would allow more than its author meant.
absl::Status CheckFields(const Json& object, absl::string_view where,
                         std::initializer_list<const char*> fields) {
  if (!object.is_object()) return Wrong(where, "is no object {...}");
  for (const auto& [key, unused] : object.items()) {
    if (std::find(fields.begin(), fields.end(), key) != fields.end()) continue;
    return Wrong(where, absl::StrCat("has a field \"", key, "\"; legal are ",
                                     absl::StrJoin(fields, ", ")));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> Name(const Json& object, absl::string_view where) {
  const auto name = object.find("name");
  if (name != object.end() && name->is_string() &&
      !name->get_ref<const std::string&>().empty()) {
    return name->get<std::string>();
  }
  return Wrong(where, "has no \"name\"");
}

absl::StatusOr<Patterns> ParsePatterns(const Json& list,
                                       const std::string& where) {
  if (!list.is_array() || list.empty()) {
    return Wrong(where, "is no list of texts");
  }
  Patterns patterns;
  for (const Json& pattern : list) {
    if (!pattern.is_string()) return Wrong(where, "is no list of texts");
    const auto text = pattern.get<std::string>();
    const size_t star = text.find('*');
    const bool at_an_end = star == 0 || star + 1 == text.size();
    if (text.empty() || text.rfind('*') != star ||
        (star != std::string::npos && !at_an_end)) {
      return Wrong(where, absl::StrCat("has \"", text,
                                       "\": a text with at most one *, at its "
                                       "beginning or its end"));
    }
    patterns.push_back(text);
  }
  return patterns;
}

absl::StatusOr<Rule> ParseRule(const Json& json, const std::string& where) {
  RETURN_IF_ERROR(CheckFields(json, where, {"name", "source", "request"}));
  Rule rule;
  ASSIGN_OR_RETURN(rule.name, Name(json, where));
  const std::string at = absl::StrCat(where, " (\"", rule.name, "\")");
  if (const auto source = json.find("source"); source != json.end()) {
    RETURN_IF_ERROR(CheckFields(*source, at + " source", {"principals"}));
    if (const auto list = source->find("principals"); list != source->end()) {
      ASSIGN_OR_RETURN(rule.principals,
                       ParsePatterns(*list, at + " principals"));
    }
  }
  if (const auto request = json.find("request"); request != json.end()) {
    RETURN_IF_ERROR(CheckFields(*request, at + " request", {"paths"}));
    if (const auto list = request->find("paths"); list != request->end()) {
      ASSIGN_OR_RETURN(rule.paths, ParsePatterns(*list, at + " paths"));
    }
  }
  return rule;
}

absl::StatusOr<std::vector<Rule>> ParseRules(const Json& policy,
                                             const char* field) {
  std::vector<Rule> rules;
  const auto list = policy.find(field);
  if (list == policy.end()) return rules;
  if (!list->is_array()) return Wrong(field, "is no list of rules");
  for (const Json& json : *list) {
    ASSIGN_OR_RETURN(
        Rule rule,
        ParseRule(json, absl::StrCat(field, "[", rules.size(), "]")));
    rules.push_back(std::move(rule));
  }
  return rules;
}

// A key that comes twice would take the place of the first: of two lists of
// deny_rules one would be gone.
absl::StatusOr<Json> ParseJson(absl::string_view text) {
  std::vector<std::set<std::string>> open;  // Keys of each open object.
  std::string twice;
  const auto look = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key) {
      const auto key = parsed.get<std::string>();
      if (!open.back().insert(key).second) twice = key;
    }
    return true;
  };
  try {
    Json json = Json::parse(text.begin(), text.end(), look);
    if (twice.empty()) return json;
    return absl::InvalidArgumentError(
        absl::StrCat("has \"", twice, "\" twice in one object"));
  } catch (const Json::exception& error) {  // It says nowhere else where.
    return absl::InvalidArgumentError(
        absl::StrCat("is no JSON: ", error.what()));
  }
}

bool Matches(absl::string_view pattern, absl::string_view text) {
  if (pattern == "*") return !text.empty();
  if (absl::ConsumeSuffix(&pattern, "*")) {
    return absl::StartsWith(text, pattern);
  }
  if (absl::ConsumePrefix(&pattern, "*")) return absl::EndsWith(text, pattern);
  return text == pattern;
}

bool MatchesAny(const Patterns& patterns, absl::string_view text) {
  return std::any_of(
      patterns.begin(), patterns.end(),
      [text](const std::string& pattern) { return Matches(pattern, text); });
}

bool NamesAny(const Patterns& patterns, const CertificateNames& caller) {
  const auto named = [&patterns](const std::string& name) {
    return MatchesAny(patterns, name);
  };
  return std::any_of(caller.uris.begin(), caller.uris.end(), named) ||
         std::any_of(caller.dns_names.begin(), caller.dns_names.end(), named) ||
         named(caller.subject);
}

bool AppliesTo(const Rule& rule, const CertificateNames& caller,
               absl::string_view path) {
  return (rule.paths.empty() || MatchesAny(rule.paths, path)) &&
         (!rule.principals || NamesAny(*rule.principals, caller));
}

const Rule* FirstThatApplies(const std::vector<Rule>& rules,
                             const CertificateNames& caller,
                             absl::string_view path) {
  const auto rule =
      std::find_if(rules.begin(), rules.end(), [&](const Rule& candidate) {
        return AppliesTo(candidate, caller, path);
      });
  return rule == rules.end() ? nullptr : &*rule;
}

// Why nobody is named by a certificate that names somebody.
absl::string_view WhyNobody(const CertificateNames& caller) {
  if (caller.uris.size() > 1) {
    return "its certificate has several URIs, and must have one";
  }
  if (caller.of_authority && !caller.uris.empty()) {
    return "its certificate is an authority's, and no caller's";
  }
  return "";
}

}  // namespace

AuthorizationPolicy::AuthorizationPolicy(std::vector<Rule> deny,
                                         std::vector<Rule> allow)
    : deny_(std::move(deny)), allow_(std::move(allow)) {}

absl::StatusOr<AuthorizationPolicy> AuthorizationPolicy::Parse(
    absl::string_view json) {
  ASSIGN_OR_RETURN(const Json policy, ParseJson(json));
  RETURN_IF_ERROR(
      CheckFields(policy, "the policy", {"name", "deny_rules", "allow_rules"}));
  RETURN_IF_ERROR(Name(policy, "the policy").status());
  ASSIGN_OR_RETURN(std::vector<Rule> deny, ParseRules(policy, "deny_rules"));
  ASSIGN_OR_RETURN(std::vector<Rule> allow, ParseRules(policy, "allow_rules"));
  if (allow.empty()) {
    return Wrong("the policy",
                 "has no \"allow_rules\": nobody could call anything");
  }
  return AuthorizationPolicy(std::move(deny), std::move(allow));
}

std::string AuthorizationPolicy::WhyNot(const CertificateNames& caller,
                                        absl::string_view path) const {
  std::string why(WhyNobody(caller));
  if (why.empty()) {
    if (const Rule* const denies = FirstThatApplies(deny_, caller, path)) {
      why = absl::StrCat("the rule \"", denies->name,
                         "\" of the daemon's policy (--authz-policy), of "
                         "deny_rules, denies it");
    } else if (FirstThatApplies(allow_, caller, path) == nullptr) {
      why = "no rule of the daemon's policy (--authz-policy) allows it";
    }
  }
  if (why.empty()) return why;
  return absl::StrCat(BoundedText(caller.Name(), kMostNameBytes),
                      " may not call ", BoundedText(path, kMostNameBytes), ": ",
                      why);
}

}  // namespace wavetune
