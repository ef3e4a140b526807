// Asks the subnet administrator for what rdma_cm wants to know, by datagrams, as the kernel of a host does.
#pragma once

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>

#include "base/expected.h"
#include "base/reason.h"
#include "base/time.h"
#include "mad/mad.h"
#include "mad/sa_header.h"

namespace softrnic::fabricd {

/// The datagram of an answer. ETIMEDOUT: there was none in time; ENOMEM: too many questions wait for theirs.
using SaAnswer = Expected<mad::Mad, Failure>;

class SaClient {
 public:
  /// Agents of programs count from 1 (mad/agents.h), and the embedded manager has 0.
  static constexpr std::uint32_t kAgent = 0xfffffffe;
  /// Between the attempts.
  static constexpr Duration kTimeout = std::chrono::milliseconds(500);
  /// Of who does not say how long to ask.
  static constexpr Duration kPatience = std::chrono::seconds(3);
  static constexpr std::size_t kMostQuestions = 4096;

  using Handler = std::function<void(const SaAnswer& answer)>;
  using Token = std::uint32_t;

  /// A datagram leaves by a port for its subnet manager.
  std::function<void(std::uint8_t port, const mad::Mad& mad)> send = [](std::uint8_t, const mad::Mad&) {};

  /// When and how long.
  struct Time {
    TimePoint now;
    TimePoint deadline = kNever;  ///< kNever: for kPatience
  };
  /// Asks with a record, of which `mask` tells what counts. The handler is called once, unless cancelled, and
  /// from within, if the administrator is at this port or the question cannot be asked.
  template <mad::Formatted Record>
  Token ask(std::uint8_t port, mad::Method method, const Record& record, std::uint64_t mask, const Time& time,
            Handler handler) {
    mad::Mad mad{};
    mad::encode(record, MutableBytes(mad).subspan(mad::kSaDataOffset));
    return ask(port, method, Record::kAttribute, mask, mad, time, std::move(handler));
  }
  void cancel(Token token) { questions_.erase(token); }
  /// Its answer is still to come.
  bool waits(Token token) const { return questions_.contains(token); }

  /// False: it is no answer to a question from here.
  bool receive(Bytes mad);
  TimePoint deadline() const;
  void advance(TimePoint now);

 private:
  struct Question {
    std::uint8_t port = 0;
    mad::Mad mad{};
    Handler handler;
    TimePoint due{};  ///< the next attempt, or the end
    TimePoint ends{};
  };

  Token ask(std::uint8_t port, mad::Method method, std::uint16_t attribute, std::uint64_t mask, mad::Mad& mad,
            const Time& time, Handler handler);
  void repeat(Question& question, TimePoint now);

  std::map<Token, Question> questions_;
  Token last_ = 0;
};

/// ENETUNREACH.
Failure no_subnet_administrator();

/// What an answer says. ENETUNREACH: it was refused.
template <mad::Formatted Record>
Expected<Record, Failure> record_in(const SaAnswer& answer) {
  if (!answer) return Unexpected{answer.error()};
  const auto header = mad::parse_header(*answer);
  if (!header || header->status != 0) return Unexpected{no_subnet_administrator()};
  return mad::decode<Record>(Bytes(*answer).subspan(mad::kSaDataOffset));
}

}  // namespace softrnic::fabricd
