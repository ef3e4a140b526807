// Writes a pcapng capture of an InfiniBand link: one packet of every opcode without and with a GRH, management
// datagrams, flow control packets. For each it prints a line of fields, separated by tabs: the name, then
// FIELD=VALUE as wireshark has to show it.
#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "mad/mad.h"
#include "tests/support/synthetic_infiniband.h"
#include "wire/erf_header.h"
#include "wire/flow_control_packet.h"
#include "wire/pcapng.h"

namespace {

using namespace softrnic;

constexpr std::uint64_t kStart = 1'700'000'000'000'000'000;

struct Writer {
  wire::CaptureBuffer out;
  std::uint64_t time_ns = kStart;

  void packet(wire::ErfType type, Bytes image, Bytes pad, std::string_view comment) {
    time_ns += 1001;
    std::array<std::byte, wire::kErfHeaderBytes> erf;
    wire::encode_erf_header(type, time_ns, image.size() + pad.size(), erf);
    const Bytes pieces[] = {erf, image, pad};
    wire::append_packet(out, {0, time_ns, wire::CaptureDirection::outbound, comment}, pieces);
  }
};

template <typename... Values>
std::string text(const char* format, Values... values) {
  std::array<char, 100> out;
  std::snprintf(out.data(), out.size(), format, values...);
  return out.data();
}
std::string number(std::string_view field, unsigned long long value) {
  return text("\t%.*s=%llu", static_cast<int>(field.size()), field.data(), value);
}

std::string route_fields(const wire::RouteHeaders& route, std::size_t frame) {
  std::string line =
      text("\tinfiniband.lrh.vl=0x%02x", unsigned{route.local.vl}) +
      text("\tinfiniband.lrh.lnh=0x%02x", route.global ? 3U : 2U) + number("infiniband.lrh.lver", 0) +
      number("infiniband.lrh.sl", route.local.sl) + number("infiniband.lrh.dlid", route.local.dlid.value) +
      number("infiniband.lrh.slid", route.local.slid.value) + number("infiniband.lrh.pktlen", frame / 4);
  if (!route.global) return line + "\tinfiniband.grh.ipver=";
  const wire::Grh& grh = *route.global;
  return line + number("infiniband.grh.ipver", 6) + number("infiniband.grh.tclass", grh.traffic_class) +
         number("infiniband.grh.flowlabel", grh.flow_label) + number("infiniband.grh.paylen", frame - 50) +
         number("infiniband.grh.nxthdr", 27) + number("infiniband.grh.hoplmt", grh.hop_limit) +
         "\tinfiniband.grh.sgid=" + grh.sgid.to_string() + "\tinfiniband.grh.dgid=" + grh.dgid.to_string();
}

// Where they lie, and that wireshark takes the last bytes for them: it computes neither.
std::string crc_fields(Bytes frame) {
  const std::byte* const ends = frame.data() + frame.size() - 6;
  return text("\tinfiniband.invariant.crc=0x%08x", load_be32(ends)) +
         text("\tinfiniband.variant.crc=0x%04x", unsigned{load_be16(ends + 4)});
}

void write_frame(Writer& to, std::string_view name, const wire::RouteHeaders& route,
                 const wire::Headers& headers, Bytes payload, const std::string& fields) {
  const auto frame = testing::build_infiniband_frame(route, headers, payload);
  to.packet(wire::ErfType::infiniband, frame, {}, name);
  std::printf("%.*s\t_ws.col.Protocol=InfiniBand%s%s%s\n", static_cast<int>(name.size()), name.data(),
              route_fields(route, frame.size()).c_str(), crc_fields(frame).c_str(), fields.c_str());
}

void write_every_opcode(Writer& to) {
  for (const bool global : {false, true}) {
    for (const wire::OpcodeInfo& info : wire::all_opcodes()) {
      const std::vector<std::byte> payload(testing::sample_payload(info.payload), std::byte{0xa5});
      write_frame(to, info.name, testing::sample_route(global), testing::sample_headers(info.opcode), payload,
                  number("infiniband.bth.opcode", static_cast<unsigned>(info.opcode)));
    }
  }
}

wire::Headers datagram_headers(std::uint32_t qpn, std::uint32_t qkey) {
  wire::Headers headers;
  headers.bth.opcode = wire::Opcode::ud_send_only;
  headers.bth.destination = headers.deth.source = Qpn(qpn);
  headers.deth.qkey = qkey;
  return headers;
}

std::string mad_fields(const mad::Header& header, std::uint32_t qpn, std::uint32_t qkey) {
  return number("infiniband.bth.opcode", 0x64) + text("\tinfiniband.bth.destqp=0x%06x", qpn) +
         text("\tinfiniband.deth.q_key=0x%016x", qkey) + text("\tinfiniband.deth.srcqp=0x%08x", qpn) +
         text("\tinfiniband.mad.mgmtclass=0x%02x", static_cast<unsigned>(header.management_class)) +
         text("\tinfiniband.mad.method=0x%02x", static_cast<unsigned>(header.method)) +
         text("\tinfiniband.mad.transactionid=0x%016llx",
              static_cast<unsigned long long>(header.transaction));
}

// A Get of the subnet manager's at two hops, by directed route: permissive LIDs, VL15, QP0.
void write_smp(Writer& to) {
  wire::RouteHeaders route;
  route.local.vl = wire::kManagementVl;
  route.local.dlid = route.local.slid = wire::kPermissiveLid;
  mad::Header header;
  header.management_class = mad::ManagementClass::subnet_directed_route;
  header.class_version = 1;
  header.method = mad::Method::get;
  header.class_specific = 0x0102;  // hop pointer 1, hop count 2
  header.transaction = 0x1122334455667788;
  header.attribute = 0x0011;  // NodeInfo
  mad::Mad image{};
  mad::encode_header(header, image);
  std::fill_n(image.begin() + 32, 4, std::byte{0xff});  // DrSLID, DrDLID
  write_frame(to, "SMP", route, datagram_headers(0, 0), image,
              mad_fields(header, 0, 0) + "\tinfiniband.smpdirected.hoppointer=0x01" +
                  "\tinfiniband.smpdirected.hopcount=0x02\tinfiniband.smpdirected.drslid=0xffff" +
                  "\tinfiniband.smpdirected.drdlid=0xffff");
}

// A Get of a path record from the subnet administrator, on QP1.
void write_gmp(Writer& to) {
  constexpr std::uint32_t qkey = 0x80010000;
  mad::Header header;
  header.management_class = mad::ManagementClass::subnet_administration;
  header.class_version = 2;
  header.method = mad::Method::get;
  header.transaction = 7;
  header.attribute = 0x0035;  // PathRecord
  mad::Mad image{};
  mad::encode_header(header, image);
  write_frame(to, "GMP", testing::sample_route(false), datagram_headers(1, qkey), image,
              mad_fields(header, 1, qkey));
}

void write_flow_control(Writer& to, const wire::FlowControlPacket& packet) {
  std::array<std::byte, wire::kFlowControlPacketBytes> image;
  wire::encode_flow_control_packet(packet, image);
  const std::string name = to_string(packet);
  to.packet(wire::ErfType::infiniband_link, image, wire::kErfLinkPacketPad, name);
  std::printf("%s\t_ws.col.Protocol=InfiniBand Link%s%s%s%s%s\n", name.c_str(),
              number("infiniband_link.op", static_cast<unsigned>(packet.operation)).c_str(),
              number("infiniband_link.fctbs", packet.fctbs).c_str(),
              number("infiniband_link.vl", packet.vl).c_str(),
              number("infiniband_link.fccl", packet.fccl).c_str(),
              text("\tinfiniband_link.lpcrc=0x%04x", unsigned{load_be16(&image[4])}).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  Writer to;
  wire::append_section(to.out, "softrnic test");
  wire::append_interface(to.out, "link", wire::LinkType::extensible_record);
  write_flow_control(to, {wire::FlowControlOperation::init, 0, 2, 128});
  write_every_opcode(to);
  write_smp(to);
  write_gmp(to);
  write_flow_control(to, {wire::FlowControlOperation::normal, 0xabc, 7, 0xdef});
  std::FILE* file = std::fopen(argv[1], "wb");
  if (file == nullptr) return 1;
  const bool written = std::fwrite(to.out.data(), 1, to.out.size(), file) == to.out.size();
  return std::fclose(file) == 0 && written ? 0 : 1;
}
