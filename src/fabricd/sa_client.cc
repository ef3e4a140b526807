#include "fabricd/sa_client.h"

#include <algorithm>

#include "base/reason_id.h"
#include "mad/class_rules.h"

namespace softrnic::fabricd {

SaClient::Token SaClient::ask(std::uint8_t port, mad::Method method, std::uint16_t attribute,
                              std::uint64_t mask, mad::Mad& mad, const Time& time, Handler handler) {
  if (questions_.size() >= kMostQuestions) {
    handler(Unexpected{refuse(ENOMEM, ReasonId::mad_pending_limit, kMostQuestions)});
    return 0;
  }
  do {
    ++last_;
  } while (last_ == 0 || questions_.contains(last_));
  mad::Header header;
  header.management_class = mad::ManagementClass::subnet_administration;
  header.class_version = mad::kSaClassVersion;
  header.method = method;
  header.attribute = attribute;
  header.transaction = std::uint64_t{kAgent} << 32 | last_;
  mad::encode_header(header, mad);
  mad::SaHeader sa;
  sa.component_mask = mask;
  mad::encode(sa, MutableBytes(mad).subspan(mad::kSaHeaderOffset));
  const Token token = last_;
  const TimePoint ends = time.deadline == kNever ? time.now + kPatience : time.deadline;
  questions_[token] = {port, mad, std::move(handler), std::min(time.now + kTimeout, ends), ends};
  send(port, mad);
  return token;
}

bool SaClient::receive(Bytes bytes) {
  const auto header = mad::parse_header(bytes);
  // a question that another host asks of an administrator here has such a number, too
  const bool is_ours = header && mad::is_response(*header) &&
                       header->management_class == mad::ManagementClass::subnet_administration &&
                       header->transaction >> 32 == kAgent;
  if (!is_ours) return false;
  const auto it = questions_.find(static_cast<Token>(header->transaction));
  if (it == questions_.end()) return true;  // late
  const Handler handler = std::move(it->second.handler);
  questions_.erase(it);
  mad::Mad answer{};
  std::copy_n(bytes.begin(), std::min(bytes.size(), answer.size()), answer.begin());
  handler(answer);
  return true;
}

TimePoint SaClient::deadline() const {
  TimePoint due = kNever;
  for (const auto& [token, question] : questions_) due = std::min(due, question.due);
  return due;
}

void SaClient::advance(TimePoint now) {
  for (bool any = true; any;) {
    const auto it = std::find_if(questions_.begin(), questions_.end(),
                                 [now](const auto& entry) { return entry.second.due <= now; });
    any = it != questions_.end();
    if (!any) continue;
    if (now < it->second.ends) {
      repeat(it->second, now);
      continue;
    }
    const Handler handler = std::move(it->second.handler);
    questions_.erase(it);
    handler(Unexpected{refuse(ETIMEDOUT, ReasonId::cma_no_subnet_administrator)});
  }
}

// An administrator at this port answers at once, and the question ends.
void SaClient::repeat(Question& question, TimePoint now) {
  question.due = std::min(now + kTimeout, question.ends);
  const mad::Mad mad = question.mad;
  send(question.port, mad);
}

Failure no_subnet_administrator() { return refuse(ENETUNREACH, ReasonId::cma_no_subnet_administrator); }

}  // namespace softrnic::fabricd
