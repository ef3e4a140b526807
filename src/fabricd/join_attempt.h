// One attempt to join a fabric: a connection, and the greeting of who joins. Does not block.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/expected.h"
#include "fabricd/message_stream.h"
#include "fabricd/tcp_address.h"

namespace softrnic::fabricd {

class JoinAttempt {
 public:
  enum class State : std::uint8_t {
    connecting,  ///< wants to write
    greeting,    ///< wants to read
    welcome,
    failed
  };

  /// `wanted`: the index that it had; 0: none.
  JoinAttempt(const TcpAddress& to, std::string token, std::uint8_t wanted);

  State state() const { return state_; }
  bool is_over() const { return state_ >= State::welcome; }
  /// While it is not over.
  int fd() const { return socket_ ? socket_.get() : stream_->fd(); }
  /// Its socket is ready.
  void advance();

  /// Of a welcome.
  std::uint8_t index() const { return index_; }
  std::unique_ptr<MessageStream> take_stream() { return std::move(stream_); }
  /// Of a failure, as a sentence.
  const std::string& why() const { return why_; }

 private:
  void fail(std::string why);
  void connected();
  void take(const CableMessage& message);
  void take(const CableChallenge& challenge);
  void take(const CableWelcome& welcome);

  const std::string token_;
  const std::uint8_t wanted_;
  State state_ = State::connecting;
  UniqueFd socket_;  ///< until it is connected
  std::unique_ptr<MessageStream> stream_;
  CableNonce listeners_{}, own_{};
  bool challenged_ = false;
  std::uint8_t index_ = 0;
  std::string why_;
};

}  // namespace softrnic::fabricd
