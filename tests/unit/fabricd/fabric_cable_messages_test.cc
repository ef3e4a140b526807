#include "fabricd/fabric_cable_messages.h"

#include <gtest/gtest.h>

#include "tests/sim/rng.h"

namespace softrnic::fabricd {
namespace {

template <typename Message>
Message there_and_back(const Message& message) {
  std::vector<std::byte> out;
  append(out, message);
  const auto parsed = parse_cable_message(out);
  EXPECT_TRUE(parsed);
  const Message* const same = parsed ? std::get_if<Message>(&*parsed) : nullptr;
  EXPECT_NE(same, nullptr);
  return same != nullptr ? *same : Message{};
}

CableNonce nonce_of(int value) {
  CableNonce nonce;
  nonce.fill(static_cast<std::byte>(value));
  return nonce;
}

TEST(CableMessages, OfTheGreeting) {
  EXPECT_EQ(there_and_back(CableChallenge{7, nonce_of(1)}).version, 7);
  EXPECT_EQ(there_and_back(CableChallenge{7, nonce_of(1)}).nonce, nonce_of(1));
  const CableHello hello = there_and_back(CableHello{nonce_of(2), 3, nonce_of(4)});
  EXPECT_EQ(hello.nonce, nonce_of(2));
  EXPECT_EQ(hello.index, 3);
  EXPECT_EQ(hello.proof, nonce_of(4));
  EXPECT_EQ(there_and_back(CableWelcome{15, nonce_of(5)}).index, 15);
  EXPECT_EQ(there_and_back(CableRefusal{"no"}).why, "no");
  EXPECT_EQ(there_and_back(CableRefusal{std::string(9000, 'x')}).why.size(), kMostRefusal);
}

TEST(CableMessages, OfTheLink) {
  const CableLink link = there_and_back(CableLink{{0xfffffffe, 9, true}, {0x1f, 7, 15}});
  EXPECT_EQ(link.status, (fabric::RemoteLinkStatus{0xfffffffe, 9, true}));
  EXPECT_EQ(link.settings, (fabric::LinkSettings{0x1f, 7, 15}));
  const wire::FlowControlPacket credits{wire::FlowControlOperation::init, 4095, 14, 17};
  EXPECT_EQ(there_and_back(credits), credits);
  const std::vector<CableAddress> list = {{0x0a010002, mad::Guid(0x1234)}, {0x0aff0001, mad::Guid(5)}};
  const CableAddresses addresses = there_and_back(CableAddresses{false, list});
  EXPECT_EQ(addresses.list, list);
  EXPECT_FALSE(addresses.first);
}

TEST(CableMessages, APacketIsItsBytes) {
  const std::vector<std::byte> bytes(4220, std::byte{9});
  std::vector<std::byte> out;
  append(out, CablePacket{true, bytes});
  ASSERT_LE(out.size(), kMostCableMessage);
  EXPECT_EQ(load_be16(out.data()), out.size());
  const auto parsed = parse_cable_message(out);
  ASSERT_TRUE(parsed);
  const auto& packet = std::get<CablePacket>(*parsed);
  EXPECT_TRUE(packet.damaged);
  EXPECT_TRUE(std::equal(packet.bytes.begin(), packet.bytes.end(), bytes.begin(), bytes.end()));
}

TEST(CableMessages, OfAnotherLengthAreNone) {
  std::vector<std::vector<std::byte>> all(7);
  append(all[0], CableChallenge{});
  append(all[1], CableHello{});
  append(all[2], CableWelcome{});
  append(all[3], CableLink{});
  append(all[4], wire::FlowControlPacket{});
  append(all[5], CableAddresses{true, {{1, mad::Guid(1)}}});
  append(all[6], CableKeepalive{});
  for (std::vector<std::byte>& message : all) {
    ASSERT_TRUE(parse_cable_message(message));
    message.push_back({});
    EXPECT_FALSE(parse_cable_message(message)) << "the length is another";
    store_be16(message.data(), static_cast<std::uint16_t>(message.size()));
    EXPECT_FALSE(parse_cable_message(message)) << int(message[2]);
    message.resize(message.size() - 2);
    if (message.size() < 3) continue;
    store_be16(message.data(), static_cast<std::uint16_t>(message.size()));
    EXPECT_FALSE(parse_cable_message(message)) << int(message[2]);
  }
}

TEST(CableMessages, ThatMakeNoSenseAreRefused) {
  std::vector<std::byte> link;
  append(link, CableLink{});
  link[3] = link[4] = link[5] = link[6] = std::byte{0};
  EXPECT_FALSE(parse_cable_message(link)) << "epoch 0";
  append(link = {}, CableLink{});
  link[11] = std::byte{2};
  EXPECT_FALSE(parse_cable_message(link)) << "a flag is 0 or 1";
  std::vector<std::byte> challenge;
  append(challenge, CableChallenge{});
  challenge[3] ^= std::byte{1};
  EXPECT_FALSE(parse_cable_message(challenge)) << "no softrnic";
  for (const int type : {0, 10, 255})
    EXPECT_FALSE(parse_cable_message(std::vector{std::byte{0}, std::byte{3}, static_cast<std::byte>(type)}));
  EXPECT_FALSE(parse_cable_message({}));
}

TEST(CableMessages, RandomBytesDoNoHarm) {
  sim::Rng rng(1);
  int understood = 0;
  for (int i = 0; i < 200'000; ++i) {
    std::vector<std::byte> bytes(3 + rng.below(64));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(rng.next());
    store_be16(bytes.data(), static_cast<std::uint16_t>(bytes.size()));
    bytes[2] = static_cast<std::byte>(rng.below(12));
    if (parse_cable_message(bytes)) ++understood;
  }
  EXPECT_GT(understood, 100);
}

TEST(CableToken, IsProvedForOneGreetingAlone) {
  const Mac proof = prove_cable_token("a token of theirs", 'j', nonce_of(1), nonce_of(2), 3);
  EXPECT_TRUE(same_mac(proof, prove_cable_token("a token of theirs", 'j', nonce_of(1), nonce_of(2), 3)));
  EXPECT_FALSE(same_mac(proof, prove_cable_token("a token of others", 'j', nonce_of(1), nonce_of(2), 3)));
  EXPECT_FALSE(same_mac(proof, prove_cable_token("a token of theirs", 'l', nonce_of(1), nonce_of(2), 3)));
  EXPECT_FALSE(same_mac(proof, prove_cable_token("a token of theirs", 'j', nonce_of(9), nonce_of(2), 3)));
  EXPECT_FALSE(same_mac(proof, prove_cable_token("a token of theirs", 'j', nonce_of(1), nonce_of(9), 3)));
  EXPECT_FALSE(same_mac(proof, prove_cable_token("a token of theirs", 'j', nonce_of(1), nonce_of(2), 4)));
}

}  // namespace
}  // namespace softrnic::fabricd
