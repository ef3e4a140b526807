#include "copy/handshake.h"

#include "copy/token.h"

namespace softrnic::copy {
namespace {

Result<Message> next_message(Connection& connection, Deadline deadline, const std::string& peer) {
  for (;;) {
    if (const auto arrival = connection.take()) {
      if (arrival->is_frame) return fail(Trouble::protocol, peer + " sent data before its greeting");
      return arrival->message;
    }
    if (Clock::now() >= deadline)
      return fail(Trouble::unreachable, peer + " said nothing in time", ETIMEDOUT);
    if (const auto stepped = connection.step(deadline); !stepped) return Unexpected{stepped.error()};
  }
}

template <typename Structure>
Result<Structure> expect(Connection& connection, Deadline deadline, const std::string& peer,
                         Message* whole = nullptr) {
  const auto message = next_message(connection, deadline, peer);
  if (!message) return Unexpected{message.error()};
  if (whole != nullptr) *whole = *message;
  Structure structure;
  if (read_message(structure, message->view())) return structure;
  Refusal refusal;
  if (read_message(refusal, message->view()))
    return fail(Trouble::refused, peer + " refuses: " + refusal.text);
  return fail(Trouble::protocol, peer + " does not speak this protocol");
}

bool is_sane(const Ring& ring) {
  return ring.slots >= 2 && ring.slots <= 4096 && ring.slot_size >= kMinSlotSize &&
         ring.slot_size <= kMaxSlotSize;
}

/// What this side offers, or takes.
std::uint64_t capabilities_over(const Connection& connection) {
  return kDirectChoice | (connection.can_have_more() ? std::uint64_t{kQueuePairs} : 0) |
         (connection.is_within_host() ? std::uint64_t{kBoards} : 0);
}

/// More cost processor time and saved none, wherever it was measured: docs/copy-protocol.md.
constexpr std::uint32_t kQueuePairsThatHelp = 1;

template <typename Structure>
Message with_names(const Structure& structure, const Challenge& challenge, const QueuePairNames& names) {
  return (challenge.capabilities & kQueuePairs) != 0 ? make_message_with(structure, names)
                                                     : make_message(structure);
}

template <typename Structure>
Result<QueuePairNames> names_behind(const Structure& structure, const Challenge& challenge,
                                    const Message& message, std::uint8_t most) {
  QueuePairNames names;
  if ((challenge.capabilities & kQueuePairs) == 0) return names;
  if (!read_behind(names, structure, message.view()) || names.count < 1 || names.count > most)
    return fail(Trouble::protocol, "the peer's queue pairs are out of bounds");
  return names;
}

}  // namespace

Result<Greeted> greet_server(Connection& connection, const std::string& token, const Wish& wish,
                             Deadline deadline) {
  static const std::string kPeer = "the server";
  const auto nonce = fresh_nonce();
  if (!nonce) return Unexpected{nonce.error()};
  Hello hello;
  hello.nonce = *nonce;
  hello.capabilities = capabilities_over(connection);
  const auto asked = Clock::now();
  if (const auto sent = connection.send(make_message(hello)); !sent) return Unexpected{sent.error()};
  const auto challenge = expect<Challenge>(connection, deadline, kPeer);
  const auto round_trip = Clock::now() - asked;
  if (!challenge) return Unexpected{challenge.error()};
  if (challenge->version < hello.min_version || challenge->version > hello.version)
    return fail(Trouble::protocol, "the server chose a version that was not offered");
  if ((challenge->capabilities & ~hello.capabilities) != 0)
    return fail(Trouble::protocol, "the server wants what was not offered");
  QueuePairNames names;
  if ((challenge->capabilities & kQueuePairs) != 0)
    names = connection.add_queue_pairs(wish.queue_pairs != 0 ? wish.queue_pairs : kQueuePairsThatHelp);
  Proof proof;
  proof.role = static_cast<std::uint8_t>(wish.role);
  proof.ring = wish.ring;
  proof.mac = prove(token, 'c', hello, *challenge, proof.role, wish.ring, names);
  if (const auto sent = connection.send(with_names(proof, *challenge, names)); !sent)
    return Unexpected{sent.error()};
  Message message;
  const auto welcome = expect<Welcome>(connection, deadline, kPeer, &message);
  if (!welcome) return Unexpected{welcome.error()};
  const auto theirs = names_behind(*welcome, *challenge, message, names.count);
  if (!theirs) return Unexpected{theirs.error()};
  if (!same_mac(welcome->mac, prove(token, 's', hello, *challenge, proof.role, welcome->ring, *theirs)))
    return fail(Trouble::refused, "the server does not know the token itself: it may be an impostor");
  if (!is_sane(welcome->ring)) return fail(Trouble::protocol, "the server's ring is out of bounds");
  if (const auto connected = connection.connect_queue_pairs(names, *theirs); !connected)
    return Unexpected{connected.error()};
  return Greeted{wish.role, challenge->capabilities, welcome->ring, round_trip};
}

Result<Greeted> greet_client(Connection& connection, const std::string& token, Deadline deadline,
                             const std::function<Result<Ring>(Role)>& admit) {
  static const std::string kPeer = "the client";
  const auto hello = expect<Hello>(connection, deadline, kPeer);
  if (!hello) return Unexpected{hello.error()};
  if (hello->magic != kMagic) return fail(Trouble::protocol, "the client speaks another protocol");
  if (hello->min_version > kVersion || hello->version < kVersion)
    return fail(Trouble::protocol, "this server speaks version " + std::to_string(kVersion) +
                                       ", the client " + std::to_string(hello->min_version) + " to " +
                                       std::to_string(hello->version));
  Challenge challenge;
  const auto nonce = fresh_nonce();
  if (!nonce) return Unexpected{nonce.error()};
  challenge.nonce = *nonce;
  challenge.capabilities = hello->capabilities & capabilities_over(connection);
  const auto asked = Clock::now();
  if (const auto sent = connection.send(make_message(challenge)); !sent) return Unexpected{sent.error()};
  Message message;
  const auto proof = expect<Proof>(connection, deadline, kPeer, &message);
  const auto round_trip = Clock::now() - asked;
  if (!proof) return Unexpected{proof.error()};
  const auto theirs = names_behind(*proof, challenge, message, kMaxQueuePairs);
  if (!theirs) return Unexpected{theirs.error()};
  if (!same_mac(proof->mac, prove(token, 'c', *hello, challenge, proof->role, proof->ring, *theirs)))
    return fail(Trouble::refused, "wrong token");
  if (proof->role < 1 || proof->role > 3 || !is_sane(proof->ring))
    return fail(Trouble::protocol, "role or ring out of bounds");
  const auto ring = admit(static_cast<Role>(proof->role));
  if (!ring) return Unexpected{ring.error()};
  const QueuePairNames names = connection.add_queue_pairs(theirs->count);
  if (const auto connected = connection.connect_queue_pairs(names, *theirs); !connected)
    return Unexpected{connected.error()};
  Welcome welcome;
  welcome.ring = *ring;
  welcome.mac = prove(token, 's', *hello, challenge, proof->role, *ring, names);
  if (const auto sent = connection.send(with_names(welcome, challenge, names)); !sent)
    return Unexpected{sent.error()};
  return Greeted{static_cast<Role>(proof->role), challenge.capabilities, proof->ring, round_trip};
}

void turn_away(Connection& connection, const std::string& why, Deadline deadline) {
  Refusal refusal;
  refusal.text = why.substr(0, kMaxMessage - 8);
  if (connection.send(make_message(refusal))) connection.linger(deadline);
  connection.disconnect();
}

}  // namespace softrnic::copy
