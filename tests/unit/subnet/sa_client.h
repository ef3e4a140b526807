// A port that asks the subnet administrator, with its own end of RMPP.
#pragma once

#include <optional>
#include <vector>

#include "mad/component_mask.h"
#include "mad/rmpp_receiver.h"
#include "mad/sa_header.h"
#include "simulated_subnet.h"

namespace softrnic::subnet::testing {

struct SaAnswer {
  bool came = false;
  std::uint16_t status = 0xffff;
  mad::Method method{};
  std::uint16_t attribute = 0, attribute_offset = 0;
  std::vector<std::byte> data;

  mad::SaStatus sa() const { return mad::sa_status(status); }
  template <typename R>
  std::vector<R> records() const {
    std::vector<R> all;
    const std::size_t stride = attribute_offset * std::size_t{8};
    for (std::size_t at = 0; stride != 0 && at + mad::kBytesOf<R> <= data.size(); at += stride)
      all.push_back(mad::decode<R>(Bytes(data).subspan(at)));
    return all;
  }
  template <typename R>
  R record() const {
    return mad::decode<R>(data);
  }
};

class SaClient {
 public:
  SaClient(SimulatedSubnet& s, SimPlace place) : subnet(s), host(s.add_endpoint(place)), at(place) {}

  template <typename R>
  SaAnswer ask(mad::Method method, std::uint64_t mask, const R& record, std::uint64_t key = 0,
               std::uint32_t modifier = 0) {
    send(method, mask, record, key, modifier);
    return await();
  }
  template <typename R>
  std::vector<R> table(std::uint64_t mask = 0, const R& record = {}, std::uint64_t key = 0) {
    const SaAnswer answer = ask(mad::Method::get_table, mask, record, key);
    EXPECT_EQ(answer.status, 0);
    return answer.records<R>();
  }

  template <typename R>
  void send(mad::Method method, std::uint64_t mask, const R& record, std::uint64_t key = 0,
            std::uint32_t modifier = 0) {
    mad::Mad mad{};
    mad::Header header;
    header.management_class = mad::ManagementClass::subnet_administration;
    header.class_version = 2;
    header.method = method;
    header.transaction = ++transaction;
    header.attribute = R::kAttribute;
    header.modifier = modifier;
    mad::encode_header(header, mad);
    mad::encode(mad::SaHeader{.sm_key = key, .component_mask = mask},
                std::span(mad).subspan(mad::kSaHeaderOffset));
    mad::encode(record, std::span(mad).subspan(mad::kSaDataOffset));
    send(mad);
  }
  void send(const mad::Mad& mad) { host.send(administrator(), mad); }
  DatagramAddress administrator() { return {.lid = subnet.at(at).info.master_sm_lid, .qpn = Qpn(1)}; }

  SaAnswer await(Duration most = seconds(60)) {
    std::optional<mad::RmppReceiver> receiver;
    for (const TimePoint end = subnet.now + most; subnet.now < end; subnet.run(milliseconds(1))) {
      while (!host.received.empty()) {
        const mad::Mad mad = host.received.front().second;
        host.received.erase(host.received.begin());
        const auto header = mad::parse_header(mad);
        if (header->method == mad::Method::report) {
          reports.push_back(mad);
          if (confirms) confirm(mad);
          continue;
        }
        if (header->transaction != transaction) continue;
        if (!mad::decode_rmpp(mad).active) return answer_of(mad, Bytes(mad).subspan(mad::kSaDataOffset));
        if (!receiver) receiver.emplace(mad::RmppReceiving{.data_offset = mad::kSaDataOffset});
        receiver->receive(mad, subnet.now);
      }
      if (!receiver) continue;
      mad::Mad mad{};
      while (receiver->next(subnet.now, mad)) send(mad);
      if (receiver->state() == mad::RmppReceiver::State::receiving) continue;
      const auto whole = receiver->take_message();
      if (receiver->state() == mad::RmppReceiver::State::failed) return {};
      return answer_of(whole, Bytes(whole).subspan(mad::kSaDataOffset));
    }
    return {};
  }
  /// Only takes what comes.
  void listen(Duration time) {
    ++transaction;
    await(time);
  }
  mad::Notice report(std::size_t i) const {
    return mad::decode<mad::Notice>(Bytes(reports[i]).subspan(mad::kSaDataOffset));
  }
  wire::Gid gid(SimPlace of) const {
    return mad::gid_of(mad::kDefaultSubnetPrefix, mad::Guid(subnet.port_guid(of)));
  }

  SimulatedSubnet& subnet;
  SimulatedSubnet::Host& host;
  SimPlace at;
  std::uint64_t transaction = 100;
  std::vector<mad::Mad> reports;
  bool confirms = true;

 private:
  void confirm(mad::Mad mad) {
    mad[3] = static_cast<std::byte>(mad::Method::report_response);
    send(mad);
  }
  static SaAnswer answer_of(Bytes headers, Bytes data) {
    SaAnswer answer;
    answer.came = true;
    answer.status = load_be16(&headers[4]);
    answer.method = static_cast<mad::Method>(headers[3]);
    answer.attribute = load_be16(&headers[16]);
    answer.attribute_offset =
        mad::decode<mad::SaHeader>(headers.subspan(mad::kSaHeaderOffset)).attribute_offset;
    answer.data.assign(data.begin(), data.end());
    return answer;
  }
};

/// A tree with a manager on host 0 and a client on host 1.
struct SaTree : SimTree {
  explicit SaTree(ManagerOptions options = {}, int leaf_count = 3, int spine_count = 2, int hosts_a_leaf = 2)
      : SimTree(leaf_count, spine_count, hosts_a_leaf), manager(add_manager({0, 1}, std::move(options))) {
    EXPECT_TRUE(run_until_up(manager)) << log({0, 1}).text();
    client.emplace(*this, SimPlace{1, 1});
  }
  Manager& manager;
  std::optional<SaClient> client;
};

}  // namespace softrnic::subnet::testing
