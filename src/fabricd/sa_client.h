// Asks the subnet administrator for what rdma_cm wants to know, by datagrams, as the kernel of a host does.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "base/time.h"
#include "mad/mad.h"
#include "mad/sa_header.h"

namespace softrnic::fabricd {

class SaClient {
 public:
  /// Agents of programs count from 1 (mad/agents.h), and the embedded manager has 0.
  static constexpr std::uint32_t kAgent = 0xfffffffe;
  static constexpr Duration kTimeout = std::chrono::milliseconds(500);
  static constexpr unsigned kRetries = 5;
  static constexpr std::size_t kMostQuestions = 4096;

  /// The answer; nothing: there is none.
  using Handler = std::function<void(const std::optional<mad::Mad>& answer)>;
  using Token = std::uint32_t;

  /// A datagram leaves by a port for its subnet manager.
  std::function<void(std::uint8_t port, const mad::Mad& mad)> send = [](std::uint8_t, const mad::Mad&) {};

  /// Asks with a record, of which `mask` tells what counts. The handler is called once, unless cancelled. 0:
  /// too many wait, and it is not called.
  template <mad::Formatted Record>
  Token ask(std::uint8_t port, mad::Method method, const Record& record, std::uint64_t mask, TimePoint now,
            Handler handler) {
    mad::Mad mad{};
    mad::encode(record, MutableBytes(mad).subspan(mad::kSaDataOffset));
    return ask(port, method, Record::kAttribute, mask, mad, now, std::move(handler));
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
    TimePoint due{};
    unsigned retries_left = kRetries;
  };

  Token ask(std::uint8_t port, mad::Method method, std::uint16_t attribute, std::uint64_t mask, mad::Mad& mad,
            TimePoint now, Handler handler);

  std::map<Token, Question> questions_;
  Token last_ = 0;
};

/// What an answer says; nothing: it was refused.
template <mad::Formatted Record>
std::optional<Record> record_in(const mad::Mad& answer) {
  const auto header = mad::parse_header(answer);
  if (!header || header->status != 0) return std::nullopt;
  return mad::decode<Record>(Bytes(answer).subspan(mad::kSaDataOffset));
}

}  // namespace softrnic::fabricd
