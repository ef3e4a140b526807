#include "wire/infiniband_frame.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

#include "tests/support/ibta_packets.h"
#include "tests/support/synthetic_infiniband.h"
#include "wire/crc32.h"

namespace softrnic::wire {
namespace {

using FrameBytes = std::vector<std::byte>;

FrameBytes sample_infiniband_frame(bool global, Opcode opcode = Opcode::rc_write_only,
                                   std::size_t payload = 77) {
  return testing::build_infiniband_frame(testing::sample_route(global), testing::sample_headers(opcode),
                                         FrameBytes(payload, std::byte{0xa5}));
}

InfinibandFrameError infiniband_error_of(Bytes frame) {
  const auto parsed = parse_infiniband_frame(frame);
  EXPECT_FALSE(parsed.has_value());
  return parsed ? InfinibandFrameError{} : parsed.error();
}

TEST(InfinibandFrame, ReadsTheSamplePackets) {
  const auto packet = testing::ibta_local_packet();
  const auto frame = parse_infiniband_frame(packet);
  ASSERT_TRUE(frame.has_value());
  EXPECT_EQ(frame->route.local.vl, 7);
  EXPECT_EQ(frame->route.local.sl, 1);
  EXPECT_EQ(frame->route.local.dlid, Lid(0x375c));
  EXPECT_EQ(frame->route.local.slid, Lid(0x17d2));
  EXPECT_FALSE(frame->route.global.has_value());
  EXPECT_EQ(frame->packet.headers.bth.opcode, Opcode::rc_write_only);
  EXPECT_EQ(frame->packet.headers.reth.length, 14U);
  EXPECT_EQ(frame->packet.payload.size(), 14U);
  EXPECT_EQ(frame->packet.payload.data(), &packet[36]);
  EXPECT_EQ(frame->icrc_at, 52U);
  EXPECT_EQ(frame->vcrc_at, 56U);

  const auto global = parse_infiniband_frame(testing::ibta_global_packet());
  ASSERT_TRUE(global.has_value());
  ASSERT_TRUE(global->route.global.has_value());
  EXPECT_EQ(global->route.global->hop_limit, 16);
  EXPECT_EQ(global->route.global->payload_length, 48);
  EXPECT_EQ(global->route.global->sgid.to_string(), "::125:0:0:0:26");
  EXPECT_EQ(global->packet.payload.size(), 14U);
}

TEST(InfinibandFrame, CrcsOfTheSamplePacketsAreRight) {
  for (const auto& packet : {testing::ibta_local_packet(), testing::ibta_global_packet()}) {
    EXPECT_TRUE(has_right_icrc(packet));
    EXPECT_TRUE(has_right_vcrc(packet));
    const auto frame = parse_infiniband_frame(packet);
    ASSERT_TRUE(frame.has_value());
    const FrameBytes again =
        testing::build_infiniband_frame(frame->route, frame->packet.headers, frame->packet.payload);
    EXPECT_EQ(again, packet);
  }
}

TEST(InfinibandFrame, OfEveryOpcodeIsReadAsItWasWritten) {
  for (const bool global : {false, true}) {
    for (const OpcodeInfo& info : all_opcodes()) {
      const std::size_t size = testing::sample_payload(info.payload);
      const FrameBytes image = sample_infiniband_frame(global, info.opcode, size);
      ASSERT_EQ(image.size(), infiniband_frame_bytes(testing::sample_route(global), info.opcode, size));
      const auto frame = parse_infiniband_frame(image);
      ASSERT_TRUE(frame.has_value()) << info.name << ": " << name_of(frame.error());
      EXPECT_TRUE(has_right_icrc(image)) << info.name;
      EXPECT_TRUE(has_right_vcrc(image)) << info.name;
      EXPECT_EQ(frame->packet.info, &info);
      EXPECT_EQ(frame->packet.payload.size(), size);
      EXPECT_EQ(frame->route.local.bytes_before_vcrc(), image.size() - kVcrcBytes);
      EXPECT_EQ(frame->route.global.has_value(), global);
      const FrameBytes again =
          testing::build_infiniband_frame(frame->route, frame->packet.headers, frame->packet.payload);
      EXPECT_EQ(again, image) << info.name;
    }
  }
}

// What a Get of the subnet manager is: 256 bytes to QP0 by VL15, 290 on the link.
TEST(InfinibandFrame, CarriesManagementDatagrams) {
  RouteHeaders route;
  route.local.vl = kManagementVl;
  route.local.dlid = route.local.slid = kPermissiveLid;
  Headers headers;
  headers.bth.opcode = Opcode::ud_send_only;
  const FrameBytes image = testing::build_infiniband_frame(route, headers, FrameBytes(256));
  ASSERT_EQ(image.size(), 290U);
  const auto frame = parse_infiniband_frame(image);
  ASSERT_TRUE(frame.has_value());
  EXPECT_EQ(frame->route.local.packet_length, 0x48);
  EXPECT_EQ(frame->packet.payload.size(), 256U);
}

TEST(InfinibandFrame, PiecesOfThePayloadDoNotMatter) {
  FrameBytes payload(301);
  for (std::size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<std::byte>(i * 7);
  const RouteHeaders route = testing::sample_route(true);
  const Headers headers = testing::sample_headers(Opcode::uc_send_only);
  const FrameBytes whole = testing::build_infiniband_frame(route, headers, payload);
  for (std::size_t at = 0; at <= payload.size(); ++at) {
    const Bytes pieces[] = {Bytes(payload).first(at), Bytes(), Bytes(payload).subspan(at)};
    FrameBytes out(whole.size());
    ASSERT_EQ(encode_infiniband_frame(route, headers, pieces, out), whole.size());
    ASSERT_EQ(out, whole);
  }
}

TEST(InfinibandFrame, IsNotWrittenWhereItDoesNotFit) {
  const RouteHeaders route = testing::sample_route(false);
  const Headers headers = testing::sample_headers(Opcode::rc_send_only);
  const FrameBytes payload(8192);
  const auto written = [&](std::size_t size, std::size_t room) {
    const std::unique_ptr<std::byte[]> out(new std::byte[room]);
    const Bytes pieces[] = {Bytes(payload).first(size)};
    return encode_infiniband_frame(route, headers, pieces, MutableBytes(out.get(), room));
  };
  EXPECT_EQ(written(16, 42), 42U);
  for (std::size_t room = 0; room < 42; ++room) EXPECT_EQ(written(16, room), 0U);
  // The largest that 11 bits of PktLen can tell is 8188 bytes, of which 24 are LRH, BTH and ICRC.
  EXPECT_EQ(written(8164, 9000), 8190U);
  EXPECT_EQ(written(8165, 9000), 0U);
  EXPECT_EQ(written(8192, 9000), 0U);
  FrameBytes out(100);
  EXPECT_EQ(encode_infiniband_headers(route, headers, ~std::size_t{0}, out), 0U);
  EXPECT_EQ(encode_infiniband_headers(route, headers, 16, MutableBytes(out).first(19)), 0U);
  EXPECT_EQ(encode_infiniband_headers(route, headers, 16, MutableBytes(out).first(20)), 20U);
}

TEST(InfinibandFrame, EveryLengthButTheRightOneIsRefused) {
  for (const bool global : {false, true}) {
    FrameBytes image = sample_infiniband_frame(global, Opcode::ud_send_only, 64);
    const std::size_t right = image.size();
    image.resize(right + 8);
    for (std::size_t size = 0; size <= image.size(); ++size) {
      if (size == right) continue;
      const std::unique_ptr<std::byte[]> exact(new std::byte[size]);
      std::copy_n(image.begin(), size, exact.get());
      ASSERT_EQ(infiniband_error_of(Bytes(exact.get(), size)),
                size < 10 ? InfinibandFrameError::too_short : InfinibandFrameError::bad_packet_length);
    }
  }
}

// The lengths agree with each other, but are too small for the headers.
TEST(InfinibandFrame, TooShortForItsHeaders) {
  struct {
    bool global;
    std::size_t words;
    InfinibandFrameError error;
  } const cases[] = {
      {false, 2, InfinibandFrameError::too_short},
      {false, 5, InfinibandFrameError::too_short},  // LRH and less than BTH and ICRC
      {true, 2, InfinibandFrameError::too_short},
      {true, 11, InfinibandFrameError::too_short},  // less than the GRH
      {true, 12, InfinibandFrameError::too_short},
      {true, 15, InfinibandFrameError::too_short},  // less than BTH and ICRC behind it
      {false, 6, InfinibandFrameError::too_short},
      {true, 16, InfinibandFrameError::too_short},  // a BTH whose opcode has more headers
  };
  for (const auto& each : cases) {
    FrameBytes image = sample_infiniband_frame(each.global);
    image[4] = std::byte{0};
    image[5] = static_cast<std::byte>(each.words);
    image[13] = static_cast<std::byte>(4 * each.words - 48);  // PayLen, where there is a GRH
    if (each.global) image[12] = std::byte{0};
    image.resize(4 * each.words + kVcrcBytes);
    EXPECT_EQ(infiniband_error_of(image), each.error) << each.words;
  }
}

TEST(InfinibandFrame, EachBadFieldHasItsError) {
  struct {
    bool global;
    std::size_t at;
    unsigned value;
    InfinibandFrameError error;
  } const cases[] = {
      {false, 0, 0x31, InfinibandFrameError::bad_link_version},
      {false, 1, 0x50, InfinibandFrameError::not_iba},
      {false, 1, 0x51, InfinibandFrameError::not_iba},
      {false, 5, 0xff, InfinibandFrameError::bad_packet_length},
      {true, 8, 0x42, InfinibandFrameError::bad_grh_version},
      {true, 13, 0xff, InfinibandFrameError::bad_grh_length},
      {true, 14, 0x11, InfinibandFrameError::bad_grh_next_header},
      {false, 8, 0xff, InfinibandFrameError::unknown_opcode},
      {true, 48, 0xff, InfinibandFrameError::unknown_opcode},
      {false, 9, 0x41, InfinibandFrameError::bad_transport_version},
  };
  for (const auto& each : cases) {
    FrameBytes image = sample_infiniband_frame(each.global);
    image[each.at] = static_cast<std::byte>(each.value);
    EXPECT_EQ(infiniband_error_of(image), each.error) << name_of(each.error);
    EXPECT_NE(name_of(each.error), "");
  }
  FrameBytes padded = sample_infiniband_frame(false, Opcode::rc_send_only, 0);
  padded[9] = std::byte{0x50};  // a pad of one byte where there is no payload
  EXPECT_EQ(infiniband_error_of(padded), InfinibandFrameError::bad_pad);
  EXPECT_EQ(name_of(InfinibandFrameError{200}), "");
}

// The LRH's VL, the BTH's FECN, BECN and reserved bits; with a GRH all of the LRH, traffic class, flow label
// and hop limit (IBTA 7.8.1).
TEST(InfinibandFrame, TheIcrcCoversWhatDoesNotChangeOnTheWay) {
  for (const bool global : {false, true}) {
    const FrameBytes good = sample_infiniband_frame(global);
    const std::size_t bth = global ? 48 : 8;
    for (std::size_t bit = 0; bit < 8 * (good.size() - kVcrcBytes); ++bit) {
      const std::size_t byte = bit / 8;
      const bool is_lnh = byte == 1 && bit % 8 < 2;  // says where the BTH is, and so what is covered
      if (is_lnh) continue;
      bool masked = byte == bth + 4 || (byte == 0 && bit % 8 >= 4);
      if (global) {
        masked = masked || byte < 8 || (byte >= 9 && byte < 12) || byte == 15 || (byte == 8 && bit % 8 < 4);
      }
      FrameBytes changed = good;
      changed[byte] ^= static_cast<std::byte>(1U << bit % 8);
      ASSERT_EQ(has_right_icrc(changed), masked) << byte << " " << bit % 8;
      ASSERT_FALSE(has_right_vcrc(changed)) << bit;
      renew_vcrc(changed);
      ASSERT_TRUE(has_right_vcrc(changed));
    }
  }
}

TEST(InfinibandFrame, RandomBytesHaveNoCrcAndAreRefusedOrRead) {
  std::mt19937 random(5);
  for (int round = 0; round < 20000; ++round) {
    const std::size_t size = random() % 120;
    const std::unique_ptr<std::byte[]> exact(new std::byte[size]);
    for (std::size_t i = 0; i < size; ++i) exact[i] = static_cast<std::byte>(random());
    const MutableBytes bytes(exact.get(), size);
    if (size >= 10 && round % 2 == 0) {  // past the first checks
      bytes[0] &= std::byte{0xf0};
      bytes[4] = std::byte{0};
      bytes[5] = static_cast<std::byte>(size / 4);
    }
    EXPECT_FALSE(has_right_icrc(bytes));
    const auto frame = parse_infiniband_frame(bytes);
    if (frame) {
      EXPECT_LE(frame->packet.payload.size(), size);
    }
  }
}

TEST(InfinibandFrame, HasWordsForPeople) {
  const auto frame = parse_infiniband_frame(sample_infiniband_frame(true, Opcode::uc_send_only, 5));
  ASSERT_TRUE(frame.has_value());
  EXPECT_EQ(to_string(*frame),
            "VL 3 SL 5 LID 0x0011 > 0x0022, IBA global, 18 words, GID fe80::1 > fe80::2, UC Send Only "
            "QP=0x012345 PSN=11259375 AckReq SE payload=5");
}

}  // namespace
}  // namespace softrnic::wire
