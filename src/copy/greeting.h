// The messages of a connection's first moments, and those that go on beside the data: SEND, at most
// kMaxMessage bytes. docs/copy-protocol.md describes them.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/hmac_sha256.h"
#include "copy/archive.h"

namespace softrnic::copy {

inline constexpr std::uint32_t kMagic = 0x70637273;  ///< "srcp"
inline constexpr std::uint16_t kVersion = 1;
inline constexpr std::size_t kMaxMessage = 512;
inline constexpr std::uint16_t kDefaultPort = 18873;

using Nonce = std::array<std::byte, 32>;

enum class MessageType : std::uint8_t {
  hello = 1,      ///< client: who I am
  challenge = 2,  ///< server: prove that you know the token
  proof = 3,      ///< client: here it is, and this is what I want
  welcome = 4,    ///< server: here is my proof
  refusal = 5,    ///< server: no, for this reason
  credit = 6,     ///< either: so many frames have been taken out of the ring
  ping = 7,
  pong = 8,
  wake = 9,  ///< either: look at your board; or no more than a sign of life
};

/// What the client is going to do.
enum class Role : std::uint8_t { upload = 1, download = 2, ping = 3 };

/// Where a side takes frames: `slots` buffers of `slot_size` bytes, one behind the other.
struct Ring {
  std::uint64_t address = 0;
  std::uint32_t rkey = 0;
  std::uint32_t slot_size = 0;
  std::uint32_t slots = 0;

  std::uint64_t bytes() const { return std::uint64_t{slots} * slot_size; }
  /// Where slot `slot` begins; for `slots` that is the end of the last, where the board is.
  std::uint64_t slot_address(std::uint32_t slot) const { return address + std::uint64_t{slot} * slot_size; }

  template <class Self, class Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.address);
    archive(self.rkey);
    archive(self.slot_size);
    archive(self.slots);
  }
};

/// How the peer reaches a queue pair.
struct QueuePairName {
  std::uint32_t number = 0;
  std::uint32_t psn = 0;  ///< of its first packet

  template <class Self, class Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.number);
    archive(self.psn);
  }
};
inline constexpr std::uint8_t kMaxQueuePairs = 8;

/// The queue pairs of a side: the one of rdma_cm, and those beside it.
struct QueuePairNames {
  std::uint8_t count = 1;  ///< with the first
  std::array<QueuePairName, kMaxQueuePairs - 1> more{};

  template <class Self, class Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.count);
    for (auto& one : self.more) QueuePairName::fields(one, archive);
  }
};

/// What a side can do beyond what its version says; bits.
enum Capability : std::uint64_t {
  kBoards = 1U << 0,  ///< frames are told of by boards; offered and taken when both ends are on one host
  kDirectChoice = 1U << 1,  ///< a job may say whether files go past the page cache
  kQueuePairs = 1U << 2,    ///< QueuePairNames stand behind the fields of proof and welcome
};

struct Hello {
  static constexpr MessageType kType = MessageType::hello;
  std::uint32_t magic = kMagic;
  std::uint16_t version = kVersion;      ///< the highest that the client speaks
  std::uint16_t min_version = kVersion;  ///< the lowest
  std::uint64_t capabilities = 0;
  Nonce nonce{};

  template <class Self, class Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.magic);
    archive(self.version);
    archive(self.min_version);
    archive(self.capabilities);
    archive(self.nonce);
  }
};

struct Challenge {
  static constexpr MessageType kType = MessageType::challenge;
  std::uint16_t version = kVersion;  ///< the one that both will speak
  std::uint64_t capabilities = 0;    ///< those of the client's that the server has too
  Nonce nonce{};

  template <class Self, class Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.version);
    archive(self.capabilities);
    archive(self.nonce);
  }
};

struct Proof {
  static constexpr MessageType kType = MessageType::proof;
  Mac mac{};
  std::uint8_t role = 0;
  Ring ring;  ///< where the client takes frames

  template <class Self, class Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.mac);
    archive(self.role);
    Ring::fields(self.ring, archive);
  }
};

struct Welcome {
  static constexpr MessageType kType = MessageType::welcome;
  Mac mac{};
  Ring ring;  ///< where the server takes frames; for a ping: what may be read

  template <class Self, class Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.mac);
    Ring::fields(self.ring, archive);
  }
};

struct Refusal {
  static constexpr MessageType kType = MessageType::refusal;
  std::string text;

  template <class Self, class Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.text);
  }
};

struct Credit {
  static constexpr MessageType kType = MessageType::credit;
  std::uint64_t taken = 0;  ///< frames since the beginning

  template <class Self, class Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.taken);
  }
};

struct Wake {
  static constexpr MessageType kType = MessageType::wake;

  template <class Self, class Archive>
  static void fields(Self&, Archive&) {}
};

/// A ping or its answer; followed by as many bytes of padding as the user asked for.
struct Echo {
  std::uint64_t serial = 0;

  template <class Self, class Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.serial);
  }
};

/// A message on the wire: its type, then its fields.
struct Message {
  std::array<std::byte, kMaxMessage> bytes{};
  std::size_t size = 0;

  Bytes view() const { return Bytes(bytes).first(size); }
};

template <typename Structure>
Message make_message(const Structure& structure, MessageType type = Structure::kType) {
  Message message;
  message.bytes[0] = static_cast<std::byte>(type);
  message.size = 1 + encode(structure, MutableBytes(message.bytes).subspan(1));
  return message;
}

/// With `behind` behind its fields.
template <typename Structure, typename Other>
Message make_message_with(const Structure& structure, const Other& behind) {
  Message message = make_message(structure);
  message.size += encode(behind, MutableBytes(message.bytes).subspan(message.size));
  return message;
}

inline MessageType type_of(Bytes message) {
  return message.empty() ? MessageType{} : static_cast<MessageType>(message[0]);
}

/// What stands behind the fields of a message that was read. False when there is too little.
template <typename Structure, typename Other>
bool read_behind(Other& behind, const Structure& structure, Bytes message) {
  return decode(behind, message.subspan(1 + size_of(structure)));
}

/// False when it is of another type, or too short.
template <typename Structure>
bool read_message(Structure& structure, Bytes message, MessageType type = Structure::kType) {
  return type_of(message) == type && decode(structure, message.subspan(1));
}

}  // namespace softrnic::copy
