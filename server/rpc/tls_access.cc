#include "server/rpc/tls_access.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/input_file.h"
#include "base/status_macros.h"

namespace wavetune {
namespace {

constexpr size_t kMostPolicyBytes = size_t{1} << 20;
// Between two lines about a certificate that expires.
constexpr absl::Duration kBetweenNotices = absl::Hours(24);

absl::StatusOr<std::shared_ptr<const AuthorizationPolicy>> ParsePolicy(
    const std::string& path, const std::string& text) {
  absl::StatusOr<AuthorizationPolicy> policy = AuthorizationPolicy::Parse(text);
  if (!policy.ok()) return AtPath(policy.status(), path);
  return std::make_shared<const AuthorizationPolicy>(*std::move(policy));
}

std::string TimeText(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", time, absl::UTCTimeZone());
}

}  // namespace

TlsAccess::TlsAccess(Files files, Tell tell)
    : files_(std::move(files)), tell_(std::move(tell)) {}

absl::StatusOr<std::unique_ptr<TlsAccess>> TlsAccess::Open(Files files,
                                                           Tell tell) {
  std::unique_ptr<TlsAccess> access(
      new TlsAccess(std::move(files), std::move(tell)));
  ASSIGN_OR_RETURN(TlsMaterial material, ReadTlsFiles(access->files_.tls));
  access->material_ = {
      1, std::make_shared<const TlsMaterial>(std::move(material))};
  ASSIGN_OR_RETURN(access->policy_text_,
                   ReadOwnInputFile(access->files_.policy, kMostPolicyBytes));
  ASSIGN_OR_RETURN(access->policy_,
                   ParsePolicy(access->files_.policy, access->policy_text_));
  return access;
}

bool TlsAccess::Look(absl::Time now) {
  std::lock_guard lock(look_mutex_);
  const bool other_authorities = LookAtTls(now);
  const bool other_policy = LookAtPolicy();
  SayWhatExpires(now);
  return other_authorities || other_policy;
}

TlsAccess::Material TlsAccess::material() const {
  std::lock_guard lock(mutex_);
  return material_;
}

std::shared_ptr<const AuthorizationPolicy> TlsAccess::policy() const {
  std::lock_guard lock(mutex_);
  return policy_;
}

bool TlsAccess::LookAtTls(absl::Time now) {
  absl::StatusOr<TlsMaterial> read = ReadTlsFiles(files_.tls);
  const Material before = material();
  absl::Status status = read.status();
  // Of two that nobody believes the newer one is as good.
  if (status.ok() && *read != *before.material &&
      CheckValid(*before.material, files_.tls.cert, now).ok()) {
    status = CheckValid(*read, files_.tls.cert, now);
  }
  if (!TellOf(status, &tls_problem_)) return false;
  if (*read == *before.material) return false;
  const bool other_authorities = read->ca != before.material->ca;
  const std::string until = TimeText(read->valid_until);
  {
    std::lock_guard lock(mutex_);
    material_ = {before.generation + 1,
                 std::make_shared<const TlsMaterial>(*std::move(read))};
  }
  next_notice_ = absl::InfinitePast();
  tell_(LogLevel::kInfo,
        absl::StrCat("new connections use the certificate of ", files_.tls.cert,
                     " as it is now, valid until ", until));
  return other_authorities;
}

bool TlsAccess::LookAtPolicy() {
  absl::StatusOr<std::string> text =
      ReadOwnInputFile(files_.policy, kMostPolicyBytes);
  absl::Status status = text.status();
  std::shared_ptr<const AuthorizationPolicy> policy;
  if (text.ok()) {
    auto parsed = ParsePolicy(files_.policy, *text);
    status = parsed.status();
    if (parsed.ok()) policy = *std::move(parsed);
  }
  if (!TellOf(status, &policy_problem_) || *text == policy_text_) return false;
  policy_text_ = *std::move(text);
  {
    std::lock_guard lock(mutex_);
    policy_ = std::move(policy);
  }
  tell_(LogLevel::kInfo, absl::StrCat("calls from now on are judged by ",
                                      files_.policy, " as it is now"));
  return true;
}

void TlsAccess::SayWhatExpires(absl::Time now) {
  const std::shared_ptr<const TlsMaterial> current = material().material;
  const absl::Time until = current->valid_until;
  const absl::Duration notice =
      std::min(kExpiryNotice, (until - current->valid_from) * kExpiryShare);
  if (now < until - notice || now < next_notice_) return;
  next_notice_ = now + kBetweenNotices;
  if (now < until) {
    tell_(LogLevel::kWarning,
          absl::StrCat("the certificate in ", files_.tls.cert, " expires at ",
                       TimeText(until), ": replace it and its key"));
    return;
  }
  tell_(LogLevel::kError,
        absl::StrCat("the certificate in ", files_.tls.cert, " expired at ",
                     TimeText(until),
                     ", and clients refuse it: replace it and its key; no "
                     "restart is needed"));
}

bool TlsAccess::TellOf(const absl::Status& status, std::string* last) {
  const std::string problem(status.message());
  if (!status.ok() && problem != *last) {
    tell_(LogLevel::kWarning,
          absl::StrCat(problem, ". What was read before stays in use"));
  }
  *last = problem;
  return status.ok();
}

}  // namespace wavetune
