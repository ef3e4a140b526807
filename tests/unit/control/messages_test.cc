#include "control/messages.h"

#include <gtest/gtest.h>

#include "base/reason_id.h"
#include "control/client.h"

namespace softrnic::control {
namespace {

device::DeviceInfo sample_device() {
  device::DeviceInfo device;
  device.kind = device::Kind::iwarp;
  device.index = 7;
  device.name = "soft0";
  device.netdev = "eth0";
  device.interface_index = 3;
  device.guid = 0x0201'02ff'fe03'0405;
  device.port.up = true;
  device.port.netdev_mtu = 9000;
  device.port.active_mtu = 4096;
  device.port.speed_mbps = 100000;
  device.port.gids.resize(8);
  device.port.gids[1] = {wire::Gid::from_ipv4_be(0x0100000a), 3};
  return device;
}

TEST(Messages, DeviceSurvivesTheTrip) {
  const device::DeviceInfo device = sample_device();
  const auto back = from_record(to_record(device));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->kind, device::Kind::iwarp);
  EXPECT_EQ(back->name, "soft0");
  EXPECT_EQ(back->netdev, "eth0");
  EXPECT_EQ(back->index, 7U);
  EXPECT_EQ(back->guid, device.guid);
  EXPECT_EQ(back->port.speed_mbps, 100000U);
  ASSERT_EQ(back->port.gids.size(), 8U);
  EXPECT_EQ(back->port.gids[1].gid, device.port.gids[1].gid);
  EXPECT_EQ(back->port.gids[1].interface_index, 3U);
}

TEST(Messages, InfinibandPortSurvivesTheTrip) {
  device::DeviceInfo device = sample_device();
  device.kind = device::Kind::infiniband;
  device::InfinibandPort& port = device.port.infiniband;
  port = {.state = 4,
          .physical_state = 5,
          .active_width = 2,
          .active_speed = 32,
          .lmc = 7,
          .sm_sl = 3,
          .data_vls = 4,
          .subnet_timeout = 18,
          .lid = wire::Lid(0xbfff),
          .sm_lid = wire::Lid(2),
          .capabilities = 0x12345678,
          .reregistrations = 9,
          .pkeys = {0xffff, 0x8001}};
  const auto back = from_record(to_record(device));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->port.infiniband, port);
  DeviceRecord record = to_record(device);
  record.infiniband.pkey_count = kMaxPkeys + 1;
  EXPECT_FALSE(from_record(record));
  record = to_record(device);
  record.infiniband.lmc = 8;
  EXPECT_FALSE(from_record(record));
}

TEST(Messages, RecordOutOfBoundsIsRefused) {
  DeviceRecord record = to_record(sample_device());
  record.gid_count = kMaxGids + 1;
  EXPECT_FALSE(from_record(record));
  record = to_record(sample_device());
  std::memset(record.name, 'x', sizeof record.name);
  EXPECT_FALSE(from_record(record));
  record = to_record(sample_device());
  std::memset(record.netdev, 'x', sizeof record.netdev);
  EXPECT_FALSE(from_record(record));
}

TEST(Messages, OnlyTheExactMessageParses) {
  auto hello = make_message<Hello>(9);
  hello.pid = 5;
  const auto parsed = parse_message<Hello>(bytes_of(hello));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->header.serial, 9U);
  EXPECT_FALSE(parse_message<TakeLane>(bytes_of(hello)));
  EXPECT_FALSE(parse_message<Hello>(bytes_of(hello).first(sizeof hello - 1)));
  EXPECT_FALSE(parse_message<Hello>(Bytes{}));
  Hello bad = hello;
  bad.header.magic ^= 1;
  EXPECT_FALSE(parse_message<Hello>(bytes_of(bad)));
  bad = hello;
  bad.header.size += 1;
  EXPECT_FALSE(parse_message<Hello>(bytes_of(bad)));
}

TEST(Messages, AnotherVersionIsSeenButNotParsed) {
  auto hello = make_message<Hello>();
  hello.header.version = kProtocolVersion + 1;
  EXPECT_FALSE(parse_message<Hello>(bytes_of(hello)));
  const auto header = peek_header(bytes_of(hello));
  ASSERT_TRUE(header);
  EXPECT_EQ(header->version, kProtocolVersion + 1);
}

TEST(Messages, TextsEndInsideTheirField) {
  char field[8];
  EXPECT_TRUE(put_text(field, "1234567"));
  EXPECT_EQ(text_in(field), "1234567");
  EXPECT_FALSE(put_text(field, "12345678"));
  EXPECT_EQ(text_in(field), "1234567");
  std::memset(field, 'x', sizeof field);
  EXPECT_FALSE(text_in(field));
}

/// A daemon of the same table is told in the language of this process, any other in its own words.
TEST(Messages, RefusalsAreToldInTheLanguageOfTheReader) {
  const Failure failure = refuse(EMFILE, ReasonId::daemon_busy, 9);
  set_language(Language::chinese);
  auto reply = make_message<ErrorReply>();
  put_failure(reply, failure);
  EXPECT_NE(std::string_view(reply.text).find("serves 9 connections"), std::string_view::npos) << reply.text;
  EXPECT_NE(error_in(reply).text.find("正在服务 9 个连接"), std::string::npos) << error_in(reply).text;
  put_text(reply.text, "words of another version");
  EXPECT_EQ(error_in(reply).text, "words of another version");
  reply.text[0] = 0;
  EXPECT_EQ(error_in(reply).text, make_error(failure).text);
  set_language(Language::english);
  EXPECT_EQ(error_in(reply).failure.error, EMFILE);
  EXPECT_EQ(error_in(reply).text, make_error(failure).text);
}

TEST(Messages, EveryErrorHasASentence) {
  const Error error = make_error(refuse(EACCES, ReasonId::daemon_name_taken, 1, 2));
  EXPECT_NE(error.text.find("held by user 1: process 2"), std::string::npos) << error.text;
}

}  // namespace
}  // namespace softrnic::control
