#include "cm/messages.h"

#include "mad/field.h"

namespace softrnic::cm {
namespace {

using mad::field;

// IBTA 12.6 (REQ to DREP), 12.8 (LAP, APR), 12.11 (SIDR): name, byte, bit, width.
template <typename M>
struct Fields;

template <>
struct Fields<Req> {
  static constexpr std::array kTable = {
      field<Req, &Req::local_id>("local_id", 0, 0, 32),
      field<Req, &Req::reserved4>("reserved4", 4, 0, 8),
      field<Req, &Req::vendor>("vendor", 5, 0, 24),
      field<Req, &Req::service_id>("service_id", 8, 0, 64),
      field<Req, &Req::ca_guid>("ca_guid", 16, 0, 64),
      field<Req, &Req::reserved24>("reserved24", 24, 0, 32),
      field<Req, &Req::qkey>("qkey", 28, 0, 32),
      field<Req, &Req::qpn>("qpn", 32, 0, 24),
      field<Req, &Req::responder_resources>("responder_resources", 35, 0, 8),
      field<Req, &Req::local_eecn>("local_eecn", 36, 0, 24),
      field<Req, &Req::initiator_depth>("initiator_depth", 39, 0, 8),
      field<Req, &Req::remote_eecn>("remote_eecn", 40, 0, 24),
      field<Req, &Req::remote_response_timeout>("remote_response_timeout", 43, 0, 5),
      field<Req, &Req::transport_service>("transport_service", 43, 5, 2),
      field<Req, &Req::flow_control>("flow_control", 43, 7, 1),
      field<Req, &Req::starting_psn>("starting_psn", 44, 0, 24),
      field<Req, &Req::local_response_timeout>("local_response_timeout", 47, 0, 5),
      field<Req, &Req::retry_count>("retry_count", 47, 5, 3),
      field<Req, &Req::pkey>("pkey", 48, 0, 16),
      field<Req, &Req::mtu>("mtu", 50, 0, 4),
      field<Req, &Req::rdc_exists>("rdc_exists", 50, 4, 1),
      field<Req, &Req::rnr_retry_count>("rnr_retry_count", 50, 5, 3),
      field<Req, &Req::max_cm_retries>("max_cm_retries", 51, 0, 4),
      field<Req, &Req::srq>("srq", 51, 4, 1),
      field<Req, &Req::extended_transport>("extended_transport", 51, 5, 3),
      field<Req, &Req::primary, &PathBlock::local_lid>("primary.local_lid", 52, 0, 16),
      field<Req, &Req::primary, &PathBlock::remote_lid>("primary.remote_lid", 54, 0, 16),
      field<Req, &Req::primary, &PathBlock::local_gid>("primary.local_gid", 56, 0, 128),
      field<Req, &Req::primary, &PathBlock::remote_gid>("primary.remote_gid", 72, 0, 128),
      field<Req, &Req::primary, &PathBlock::flow_label>("primary.flow_label", 88, 0, 20),
      field<Req, &Req::primary, &PathBlock::reserved_rate>("primary.reserved_rate", 90, 4, 6),
      field<Req, &Req::primary, &PathBlock::rate>("primary.rate", 91, 2, 6),
      field<Req, &Req::primary, &PathBlock::traffic_class>("primary.traffic_class", 92, 0, 8),
      field<Req, &Req::primary, &PathBlock::hop_limit>("primary.hop_limit", 93, 0, 8),
      field<Req, &Req::primary, &PathBlock::sl>("primary.sl", 94, 0, 4),
      field<Req, &Req::primary, &PathBlock::subnet_local>("primary.subnet_local", 94, 4, 1),
      field<Req, &Req::primary, &PathBlock::reserved_sl>("primary.reserved_sl", 94, 5, 3),
      field<Req, &Req::primary, &PathBlock::ack_timeout>("primary.ack_timeout", 95, 0, 5),
      field<Req, &Req::primary, &PathBlock::reserved_timeout>("primary.reserved_timeout", 95, 5, 3),
      field<Req, &Req::alternate, &PathBlock::local_lid>("alternate.local_lid", 96, 0, 16),
      field<Req, &Req::alternate, &PathBlock::remote_lid>("alternate.remote_lid", 98, 0, 16),
      field<Req, &Req::alternate, &PathBlock::local_gid>("alternate.local_gid", 100, 0, 128),
      field<Req, &Req::alternate, &PathBlock::remote_gid>("alternate.remote_gid", 116, 0, 128),
      field<Req, &Req::alternate, &PathBlock::flow_label>("alternate.flow_label", 132, 0, 20),
      field<Req, &Req::alternate, &PathBlock::reserved_rate>("alternate.reserved_rate", 134, 4, 6),
      field<Req, &Req::alternate, &PathBlock::rate>("alternate.rate", 135, 2, 6),
      field<Req, &Req::alternate, &PathBlock::traffic_class>("alternate.traffic_class", 136, 0, 8),
      field<Req, &Req::alternate, &PathBlock::hop_limit>("alternate.hop_limit", 137, 0, 8),
      field<Req, &Req::alternate, &PathBlock::sl>("alternate.sl", 138, 0, 4),
      field<Req, &Req::alternate, &PathBlock::subnet_local>("alternate.subnet_local", 138, 4, 1),
      field<Req, &Req::alternate, &PathBlock::reserved_sl>("alternate.reserved_sl", 138, 5, 3),
      field<Req, &Req::alternate, &PathBlock::ack_timeout>("alternate.ack_timeout", 139, 0, 5),
      field<Req, &Req::alternate, &PathBlock::reserved_timeout>("alternate.reserved_timeout", 139, 5, 3),
      field<Req, &Req::private_data>("private_data", 140, 0, 736),
  };
};

template <>
struct Fields<Mra> {
  static constexpr std::array kTable = {
      field<Mra, &Mra::local_id>("local_id", 0, 0, 32),
      field<Mra, &Mra::remote_id>("remote_id", 4, 0, 32),
      field<Mra, &Mra::about>("about", 8, 0, 2),
      field<Mra, &Mra::reserved8>("reserved8", 8, 2, 6),
      field<Mra, &Mra::service_timeout>("service_timeout", 9, 0, 5),
      field<Mra, &Mra::reserved9>("reserved9", 9, 5, 3),
      field<Mra, &Mra::private_data>("private_data", 10, 0, 1776),
  };
};

template <>
struct Fields<Rej> {
  static constexpr std::array kTable = {
      field<Rej, &Rej::local_id>("local_id", 0, 0, 32),
      field<Rej, &Rej::remote_id>("remote_id", 4, 0, 32),
      field<Rej, &Rej::about>("about", 8, 0, 2),
      field<Rej, &Rej::reserved8>("reserved8", 8, 2, 6),
      field<Rej, &Rej::info_length>("info_length", 9, 0, 7),
      field<Rej, &Rej::reserved9>("reserved9", 9, 7, 1),
      field<Rej, &Rej::reason>("reason", 10, 0, 16),
      field<Rej, &Rej::additional_info>("additional_info", 12, 0, 576),
      field<Rej, &Rej::private_data>("private_data", 84, 0, 1184),
  };
};

template <>
struct Fields<Rep> {
  static constexpr std::array kTable = {
      field<Rep, &Rep::local_id>("local_id", 0, 0, 32),
      field<Rep, &Rep::remote_id>("remote_id", 4, 0, 32),
      field<Rep, &Rep::qkey>("qkey", 8, 0, 32),
      field<Rep, &Rep::qpn>("qpn", 12, 0, 24),
      field<Rep, &Rep::vendor_high>("vendor_high", 15, 0, 8),
      field<Rep, &Rep::eecn>("eecn", 16, 0, 24),
      field<Rep, &Rep::vendor_middle>("vendor_middle", 19, 0, 8),
      field<Rep, &Rep::starting_psn>("starting_psn", 20, 0, 24),
      field<Rep, &Rep::vendor_low>("vendor_low", 23, 0, 8),
      field<Rep, &Rep::responder_resources>("responder_resources", 24, 0, 8),
      field<Rep, &Rep::initiator_depth>("initiator_depth", 25, 0, 8),
      field<Rep, &Rep::target_ack_delay>("target_ack_delay", 26, 0, 5),
      field<Rep, &Rep::failover_accepted>("failover_accepted", 26, 5, 2),
      field<Rep, &Rep::flow_control>("flow_control", 26, 7, 1),
      field<Rep, &Rep::rnr_retry_count>("rnr_retry_count", 27, 0, 3),
      field<Rep, &Rep::srq>("srq", 27, 3, 1),
      field<Rep, &Rep::reserved27>("reserved27", 27, 4, 4),
      field<Rep, &Rep::ca_guid>("ca_guid", 28, 0, 64),
      field<Rep, &Rep::private_data>("private_data", 36, 0, 1568),
  };
};

template <>
struct Fields<Rtu> {
  static constexpr std::array kTable = {
      field<Rtu, &Rtu::local_id>("local_id", 0, 0, 32),
      field<Rtu, &Rtu::remote_id>("remote_id", 4, 0, 32),
      field<Rtu, &Rtu::private_data>("private_data", 8, 0, 1792),
  };
};

template <>
struct Fields<Dreq> {
  static constexpr std::array kTable = {
      field<Dreq, &Dreq::local_id>("local_id", 0, 0, 32),
      field<Dreq, &Dreq::remote_id>("remote_id", 4, 0, 32),
      field<Dreq, &Dreq::remote_qpn>("remote_qpn", 8, 0, 24),
      field<Dreq, &Dreq::reserved11>("reserved11", 11, 0, 8),
      field<Dreq, &Dreq::private_data>("private_data", 12, 0, 1760),
  };
};

template <>
struct Fields<Drep> {
  static constexpr std::array kTable = {
      field<Drep, &Drep::local_id>("local_id", 0, 0, 32),
      field<Drep, &Drep::remote_id>("remote_id", 4, 0, 32),
      field<Drep, &Drep::private_data>("private_data", 8, 0, 1792),
  };
};

template <>
struct Fields<Lap> {
  static constexpr std::array kTable = {
      field<Lap, &Lap::local_id>("local_id", 0, 0, 32),
      field<Lap, &Lap::remote_id>("remote_id", 4, 0, 32),
      field<Lap, &Lap::reserved8>("reserved8", 8, 0, 32),
      field<Lap, &Lap::remote_qpn>("remote_qpn", 12, 0, 24),
      field<Lap, &Lap::remote_response_timeout>("remote_response_timeout", 15, 0, 5),
      field<Lap, &Lap::reserved15>("reserved15", 15, 5, 3),
      field<Lap, &Lap::reserved16>("reserved16", 16, 0, 32),
      field<Lap, &Lap::alternate, &PathBlock::local_lid>("alternate.local_lid", 20, 0, 16),
      field<Lap, &Lap::alternate, &PathBlock::remote_lid>("alternate.remote_lid", 22, 0, 16),
      field<Lap, &Lap::alternate, &PathBlock::local_gid>("alternate.local_gid", 24, 0, 128),
      field<Lap, &Lap::alternate, &PathBlock::remote_gid>("alternate.remote_gid", 40, 0, 128),
      field<Lap, &Lap::alternate, &PathBlock::flow_label>("alternate.flow_label", 56, 0, 20),
      field<Lap, &Lap::reserved58>("reserved58", 58, 4, 4),
      field<Lap, &Lap::alternate, &PathBlock::traffic_class>("alternate.traffic_class", 59, 0, 8),
      field<Lap, &Lap::alternate, &PathBlock::hop_limit>("alternate.hop_limit", 60, 0, 8),
      field<Lap, &Lap::alternate, &PathBlock::reserved_rate>("alternate.reserved_rate", 61, 0, 2),
      field<Lap, &Lap::alternate, &PathBlock::rate>("alternate.rate", 61, 2, 6),
      field<Lap, &Lap::alternate, &PathBlock::sl>("alternate.sl", 62, 0, 4),
      field<Lap, &Lap::alternate, &PathBlock::subnet_local>("alternate.subnet_local", 62, 4, 1),
      field<Lap, &Lap::alternate, &PathBlock::reserved_sl>("alternate.reserved_sl", 62, 5, 3),
      field<Lap, &Lap::alternate, &PathBlock::ack_timeout>("alternate.ack_timeout", 63, 0, 5),
      field<Lap, &Lap::alternate, &PathBlock::reserved_timeout>("alternate.reserved_timeout", 63, 5, 3),
      field<Lap, &Lap::private_data>("private_data", 64, 0, 1344),
  };
};

template <>
struct Fields<Apr> {
  static constexpr std::array kTable = {
      field<Apr, &Apr::local_id>("local_id", 0, 0, 32),
      field<Apr, &Apr::remote_id>("remote_id", 4, 0, 32),
      field<Apr, &Apr::info_length>("info_length", 8, 0, 8),
      field<Apr, &Apr::status>("status", 9, 0, 8),
      field<Apr, &Apr::reserved10>("reserved10", 10, 0, 16),
      field<Apr, &Apr::additional_info>("additional_info", 12, 0, 576),
      field<Apr, &Apr::private_data>("private_data", 84, 0, 1184),
  };
};

template <>
struct Fields<SidrReq> {
  static constexpr std::array kTable = {
      field<SidrReq, &SidrReq::request_id>("request_id", 0, 0, 32),
      field<SidrReq, &SidrReq::pkey>("pkey", 4, 0, 16),
      field<SidrReq, &SidrReq::reserved6>("reserved6", 6, 0, 16),
      field<SidrReq, &SidrReq::service_id>("service_id", 8, 0, 64),
      field<SidrReq, &SidrReq::private_data>("private_data", 16, 0, 1728),
  };
};

template <>
struct Fields<SidrRep> {
  static constexpr std::array kTable = {
      field<SidrRep, &SidrRep::request_id>("request_id", 0, 0, 32),
      field<SidrRep, &SidrRep::status>("status", 4, 0, 8),
      field<SidrRep, &SidrRep::info_length>("info_length", 5, 0, 8),
      field<SidrRep, &SidrRep::vendor_high>("vendor_high", 6, 0, 16),
      field<SidrRep, &SidrRep::qpn>("qpn", 8, 0, 24),
      field<SidrRep, &SidrRep::vendor_low>("vendor_low", 11, 0, 8),
      field<SidrRep, &SidrRep::service_id>("service_id", 12, 0, 64),
      field<SidrRep, &SidrRep::qkey>("qkey", 20, 0, 32),
      field<SidrRep, &SidrRep::additional_info>("additional_info", 24, 0, 576),
      field<SidrRep, &SidrRep::private_data>("private_data", 96, 0, 1088),
  };
};

constexpr bool covered(const auto& table) { return mad::covers(table, mad::kDataBytes); }

static_assert(covered(Fields<Req>::kTable) && covered(Fields<Mra>::kTable) && covered(Fields<Rej>::kTable) &&
              covered(Fields<Rep>::kTable) && covered(Fields<Rtu>::kTable) && covered(Fields<Dreq>::kTable) &&
              covered(Fields<Drep>::kTable) && covered(Fields<Lap>::kTable) && covered(Fields<Apr>::kTable) &&
              covered(Fields<SidrReq>::kTable) && covered(Fields<SidrRep>::kTable));

template <typename M>
constexpr Format format(std::string_view name) {
  return {M::kMessage, name, [](Bytes mad) { return to_string(decode<M>(mad)); },
          [](Bytes in, MutableBytes out) {
            mad::encode_fields(Fields<M>::kTable, decode<M>(in), out.subspan(mad::kHeaderBytes));
          }};
}

constexpr Format kFormats[] = {
    format<Req>("REQ"), format<Mra>("MRA"),          format<Rej>("REJ"),          format<Rep>("REP"),
    format<Rtu>("RTU"), format<Dreq>("DREQ"),        format<Drep>("DREP"),        format<Lap>("LAP"),
    format<Apr>("APR"), format<SidrReq>("SIDR_REQ"), format<SidrRep>("SIDR_REP"),
};

}  // namespace

template <typename M>
M decode(Bytes mad) {
  return mad::decode_fields(Fields<M>::kTable, mad.subspan(mad::kHeaderBytes));
}

template <typename M>
mad::Mad encode(const M& message, std::uint64_t transaction, std::uint32_t modifier) {
  mad::Mad out{};
  mad::Header header;
  header.management_class = mad::ManagementClass::communication;
  header.class_version = kClassVersion;
  header.method = mad::Method::send;
  header.transaction = transaction;
  header.attribute = static_cast<std::uint16_t>(M::kMessage);
  header.modifier = modifier;
  mad::encode_header(header, out);
  mad::encode_fields(Fields<M>::kTable, message, MutableBytes(out).subspan(mad::kHeaderBytes));
  return out;
}

template <typename M>
std::string to_string(const M& message) {
  return mad::print_fields(Fields<M>::kTable, message);
}

#define SOFTRNIC_INSTANTIATE(M)                                                         \
  template M decode<M>(Bytes mad);                                                      \
  template mad::Mad encode<M>(const M& message, std::uint64_t, std::uint32_t modifier); \
  template std::string to_string<M>(const M& message);
SOFTRNIC_INSTANTIATE(Req)
SOFTRNIC_INSTANTIATE(Mra)
SOFTRNIC_INSTANTIATE(Rej)
SOFTRNIC_INSTANTIATE(Rep)
SOFTRNIC_INSTANTIATE(Rtu)
SOFTRNIC_INSTANTIATE(Dreq)
SOFTRNIC_INSTANTIATE(Drep)
SOFTRNIC_INSTANTIATE(Lap)
SOFTRNIC_INSTANTIATE(Apr)
SOFTRNIC_INSTANTIATE(SidrReq)
SOFTRNIC_INSTANTIATE(SidrRep)
#undef SOFTRNIC_INSTANTIATE

std::span<const Format> formats() { return kFormats; }

const Format* find_format(std::uint16_t attribute) {
  for (const Format& entry : kFormats) {
    if (static_cast<std::uint16_t>(entry.message) == attribute) return &entry;
  }
  return nullptr;
}

std::string print(Bytes mad) {
  const auto header = mad::parse_header(mad);
  if (!header || header->management_class != mad::ManagementClass::communication) return {};
  const Format* const found = find_format(header->attribute);
  return found == nullptr ? std::string{} : std::string(found->name) + " " + found->print(mad);
}

}  // namespace softrnic::cm
