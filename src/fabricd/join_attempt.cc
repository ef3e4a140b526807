#include "fabricd/join_attempt.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/random_bytes.h"
#include "fabric/joined_topology.h"

namespace softrnic::fabricd {

JoinAttempt::JoinAttempt(const TcpAddress& to, std::string token, std::uint8_t wanted)
    : token_(std::move(token)), wanted_(wanted) {
  auto socket = begin_to_connect(to);
  if (socket) {
    socket_ = std::move(*socket);
  } else {
    fail(std::strerror(socket.error()));
  }
}

void JoinAttempt::fail(std::string why) {
  why_ = std::move(why);
  state_ = State::failed;
}

void JoinAttempt::advance() {
  if (state_ == State::connecting) return connected();
  const bool is_open = stream_->receive();
  // What follows the welcome is for the cable.
  while (state_ == State::greeting) {
    const auto bytes = stream_->next();
    if (!bytes) break;
    const auto message = parse_cable_message(*bytes);
    if (!message) return fail("what listens there is no fabric");
    take(*message);
  }
  if (state_ != State::greeting) return;
  if (stream_->is_malformed()) return fail("what listens there is no fabric");
  if (!is_open) fail("the fabric has ended the connection");
}

void JoinAttempt::connected() {
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return fail(std::strerror(error));
  stream_ = std::make_unique<MessageStream>(std::move(socket_));
  state_ = State::greeting;
}

void JoinAttempt::take(const CableMessage& message) {
  if (const auto* challenge = std::get_if<CableChallenge>(&message)) return take(*challenge);
  if (const auto* welcome = std::get_if<CableWelcome>(&message)) return take(*welcome);
  const auto* refusal = std::get_if<CableRefusal>(&message);
  fail(refusal != nullptr ? refusal->why : "what listens there is no fabric");
}

void JoinAttempt::take(const CableChallenge& challenge) {
  if (challenge.version != kCableVersion) return fail("the fabric is of another version of softrnic");
  if (std::exchange(challenged_, true)) return fail("the fabric greets twice");
  if (!fill_random(own_)) return fail(std::strerror(errno));
  listeners_ = challenge.nonce;
  stream_->put(CableHello{own_, wanted_, prove_cable_token(token_, 'j', listeners_, own_, wanted_)});
  if (!stream_->flush()) fail("the fabric has ended the connection");
}

void JoinAttempt::take(const CableWelcome& welcome) {
  const Mac proof = prove_cable_token(token_, 'l', listeners_, own_, welcome.index);
  const bool is_index = welcome.index >= 1 && welcome.index <= fabric::kMostJoinedFabrics &&
                        (wanted_ == 0 || welcome.index == wanted_);
  if (!challenged_ || !is_index || !same_mac(welcome.proof, proof))
    return fail("what listens there does not know the token");
  index_ = welcome.index;
  state_ = State::welcome;
}

}  // namespace softrnic::fabricd
