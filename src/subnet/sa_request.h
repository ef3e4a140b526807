// A request to the subnet administrator, and the records that answer it (IBTA 15.2, 15.4).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/time.h"
#include "mad/component_mask.h"
#include "mad/mad.h"
#include "mad/sa_header.h"
#include "subnet/database.h"
#include "subnet/datagrams.h"
#include "subnet/options.h"
#include "subnet/settings.h"

namespace softrnic::subnet {

struct SaRequest {
  DatagramAddress from;
  mad::Header header;
  mad::SaHeader sa;
  std::array<std::byte, mad::kSaDataBytes> data{};
  NodePort requester;       ///< an end port of the subnet
  bool is_trusted = false;  ///< knows the SA's key (IBTA 15.4.1)

  bool has(std::uint64_t components) const { return (sa.component_mask & components) == components; }
  bool is_get() const { return header.method == mad::Method::get; }
  template <mad::Formatted R>
  R record() const {
    return mad::decode<R>(data);
  }
};

/// Records as they are sent, up to a limit.
class SaRecords {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{16} << 20;

  template <mad::Formatted R>
  void add(const R& record) {
    stride_ = mad::kRecordStride<R>;
    if (bytes_.size() + stride_ > kMostBytes) {
      is_full_ = true;
      return;
    }
    bytes_.resize(bytes_.size() + stride_);
    mad::encode(record, std::span(bytes_).last(stride_));
    ++count_;
  }

  std::size_t count() const { return count_; }
  /// There are more than can be sent.
  bool is_full() const { return is_full_; }
  /// What the AttributeOffset of the answer says (IBTA 15.2.1.1).
  std::uint16_t attribute_offset() const {
    return count_ == 0 ? std::uint16_t{0} : static_cast<std::uint16_t>(stride_ / 8);
  }
  Bytes bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
  std::size_t stride_ = 0;
  std::size_t count_ = 0;
  bool is_full_ = false;
};

/// What answers are made from.
struct SaView {
  const SubnetDatabase& database;
  const ManagerOptions& options;
  const SentAttributes& sent;

  /// Whether the two share a partition, the least there must be for one to hear of the other (IBTA 15.4.1).
  bool may_see(NodePort requester, NodePort other) const;
  /// The base LID of the port that has this one; other LIDs stay as they are.
  Lid base_lid(Lid lid) const;
  /// The LID that packets for the port, or for the switch it is of, are sent to.
  Lid lid_of(NodePort port) const;
  EndPortId end_port(NodePort port) const {
    return database.topology.end_port_of(database.subnet, database.subnet.management_port(port));
  }
};

/// Adds records that agree with a query in all that it tells.
template <mad::Formatted R>
class SaQuery {
 public:
  SaQuery(const SaRequest& request, SaRecords& out) : mask(request.sa.component_mask), out_(out) {
    wanted = request.record<R>();
  }
  void add(const R& record) {
    if (mad::matches(mask, wanted, record)) take(record);
  }
  /// Without a look at the query.
  void take(const R& record) { out_.add(record); }

  std::uint64_t mask;
  R wanted;

 private:
  SaRecords& out_;
};

// P_Keys (IBTA 10.9.1.1)

/// A P_Key of the source by which it can speak to the destination: at least one of the two is a full member.
/// 0: none.
std::uint16_t common_p_key(const PkeyTable& source, const PkeyTable& destination);
/// The same for one partition; `p_key` with or without membership.
bool share_p_key(const PkeyTable& source, const PkeyTable& destination, std::uint16_t p_key);
/// Whether the port is in the partition, as any member.
bool has_p_key(const PkeyTable& table, std::uint16_t p_key);
constexpr bool is_invalid_p_key(std::uint16_t p_key) { return (p_key & kPartitionMask) == 0; }

}  // namespace softrnic::subnet
