#include "base/reason_words.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/kernel_drop.h"

namespace softrnic {
namespace {

struct Word {
  std::uint64_t value;
  std::string_view name;
  std::string_view chinese = {};  ///< empty: the name is the same in all languages
};

// enum ibv_qp_state
constexpr Word kStates[] = {{0, "RESET"}, {1, "INIT"}, {2, "RTR"}, {3, "RTS"},
                            {4, "SQD"},   {5, "SQE"},  {6, "ERR"}};
// enum ibv_qp_type
constexpr Word kTypes[] = {{2, "RC"},       {3, "UC"},        {4, "UD"},       {8, "RAW_PACKET"},
                           {9, "XRC_SEND"}, {10, "XRC_RECV"}, {0xff, "DRIVER"}};
// enum ibv_mtu, in bytes
constexpr Word kMtus[] = {{1, "256"}, {2, "512"}, {3, "1024"}, {4, "2048"}, {5, "4096"}};
// enum ibv_mig_state
constexpr Word kMigrationStates[] = {{0, "IBV_MIG_MIGRATED"}, {1, "IBV_MIG_REARM"}, {2, "IBV_MIG_ARMED"}};
// enum ibv_qp_attr_mask
constexpr Word kAttributes[] = {
    {1 << 0, "IBV_QP_STATE"},
    {1 << 1, "IBV_QP_CUR_STATE"},
    {1 << 2, "IBV_QP_EN_SQD_ASYNC_NOTIFY"},
    {1 << 3, "IBV_QP_ACCESS_FLAGS"},
    {1 << 4, "IBV_QP_PKEY_INDEX"},
    {1 << 5, "IBV_QP_PORT"},
    {1 << 6, "IBV_QP_QKEY"},
    {1 << 7, "IBV_QP_AV"},
    {1 << 8, "IBV_QP_PATH_MTU"},
    {1 << 9, "IBV_QP_TIMEOUT"},
    {1 << 10, "IBV_QP_RETRY_CNT"},
    {1 << 11, "IBV_QP_RNR_RETRY"},
    {1 << 12, "IBV_QP_RQ_PSN"},
    {1 << 13, "IBV_QP_MAX_QP_RD_ATOMIC"},
    {1 << 14, "IBV_QP_ALT_PATH"},
    {1 << 15, "IBV_QP_MIN_RNR_TIMER"},
    {1 << 16, "IBV_QP_SQ_PSN"},
    {1 << 17, "IBV_QP_MAX_DEST_RD_ATOMIC"},
    {1 << 18, "IBV_QP_PATH_MIG_STATE"},
    {1 << 19, "IBV_QP_CAP"},
    {1 << 20, "IBV_QP_DEST_QPN"},
    {1 << 25, "IBV_QP_RATE_LIMIT"},
};
// enum ibv_access_flags
constexpr Word kAccess[] = {
    {1 << 0, "IBV_ACCESS_LOCAL_WRITE"},       {1 << 1, "IBV_ACCESS_REMOTE_WRITE"},
    {1 << 2, "IBV_ACCESS_REMOTE_READ"},       {1 << 3, "IBV_ACCESS_REMOTE_ATOMIC"},
    {1 << 4, "IBV_ACCESS_MW_BIND"},           {1 << 5, "IBV_ACCESS_ZERO_BASED"},
    {1 << 6, "IBV_ACCESS_ON_DEMAND"},         {1 << 7, "IBV_ACCESS_HUGETLB"},
    {1 << 8, "IBV_ACCESS_FLUSH_GLOBAL"},      {1 << 9, "IBV_ACCESS_FLUSH_PERSISTENT"},
    {1 << 20, "IBV_ACCESS_RELAXED_ORDERING"},
};
// enum ibv_send_flags
constexpr Word kSendFlags[] = {{1 << 0, "IBV_SEND_FENCE"},
                               {1 << 1, "IBV_SEND_SIGNALED"},
                               {1 << 2, "IBV_SEND_SOLICITED"},
                               {1 << 3, "IBV_SEND_INLINE"},
                               {1 << 4, "IBV_SEND_IP_CSUM"}};
// enum ibv_wr_opcode
constexpr Word kWorkRequests[] = {
    {0, "IBV_WR_RDMA_WRITE"},
    {1, "IBV_WR_RDMA_WRITE_WITH_IMM"},
    {2, "IBV_WR_SEND"},
    {3, "IBV_WR_SEND_WITH_IMM"},
    {4, "IBV_WR_RDMA_READ"},
    {5, "IBV_WR_ATOMIC_CMP_AND_SWP"},
    {6, "IBV_WR_ATOMIC_FETCH_AND_ADD"},
    {7, "IBV_WR_LOCAL_INV"},
    {8, "IBV_WR_BIND_MW"},
    {9, "IBV_WR_SEND_WITH_INV"},
    {10, "IBV_WR_TSO"},
    {11, "IBV_WR_DRIVER1"},
    {14, "IBV_WR_FLUSH"},
    {15, "IBV_WR_ATOMIC_WRITE"},
};
// enum ibv_rereg_mr_flags
constexpr Word kRereg[] = {{1 << 0, "IBV_REREG_MR_CHANGE_TRANSLATION"},
                           {1 << 1, "IBV_REREG_MR_CHANGE_PD"},
                           {1 << 2, "IBV_REREG_MR_CHANGE_ACCESS"}};
// enum ibv_srq_attr_mask
constexpr Word kSrqAttributes[] = {{1 << 0, "IBV_SRQ_MAX_WR"}, {1 << 1, "IBV_SRQ_LIMIT"}};
constexpr Word kObjects[] = {{0, "PD"},
                             {1, "MR"},
                             {2, "CQ"},
                             {3, "completion channel", "完成通道"},
                             {4, "QP"},
                             {5, "SRQ"},
                             {6, "AH"},
                             {7, "rdma_cm_id"},
                             {8, "multicast membership", "组播成员关系"},
                             {9, "completion counter", "完成计数器"},
                             {10, "device context", "设备上下文"},
                             {11, "XRC domain", "XRC 域"},
                             {12, "MW"},
                             {13, "device memory", "设备内存"},
                             {14, "thread domain", "线程域"},
                             {15, "flow", "流"},
                             {16, "counters object", "计数器对象"},
                             {17, "work queue", "工作队列"},
                             {18, "indirection table", "间接表"}};
// enum rdma_cm_event_type
constexpr Word kCmEvents[] = {
    {0, "ADDR_RESOLVED"},      {1, "ADDR_ERROR"},       {2, "ROUTE_RESOLVED"}, {3, "ROUTE_ERROR"},
    {4, "CONNECT_REQUEST"},    {5, "CONNECT_RESPONSE"}, {6, "CONNECT_ERROR"},  {7, "UNREACHABLE"},
    {8, "REJECTED"},           {9, "ESTABLISHED"},      {10, "DISCONNECTED"},  {11, "DEVICE_REMOVAL"},
    {12, "MULTICAST_JOIN"},    {13, "MULTICAST_ERROR"}, {14, "ADDR_CHANGE"},   {15, "TIMEWAIT_EXIT"},
    {16, "ADDRINFO_RESOLVED"}, {17, "ADDRINFO_ERROR"},  {18, "USER"},          {19, "INTERNAL"},
};
constexpr Word kCapFields[] = {{0, "max_send_wr"},  {1, "max_recv_wr"},     {2, "max_send_sge"},
                               {3, "max_recv_sge"}, {4, "max_inline_data"}, {5, "max_wr"},
                               {6, "max_sge"},      {7, "max_num_tags"},    {8, "max_ops"}};
constexpr Word kQuotas[] = {
    {0, "connections", "连接"}, {1, "lanes", "泳道"}, {2, "channels", "事件通道"}, {3, "ids", "id"}};
constexpr Word kLaterVerbs[] = {
#define SOFTRNIC_LATER_VERB(name) {static_cast<std::uint64_t>(LaterVerb::name), "ibv_" #name},
#include "base/later_verbs.def"
#undef SOFTRNIC_LATER_VERB
};
constexpr Word kKernelDropWords[] = {
#define SOFTRNIC_KERNEL_DROP(id, counter, cause, chinese) \
  {static_cast<std::uint64_t>(KernelDrop::id), counter " (" cause ")", counter "（" chinese "）"},
#include "base/kernel_drops.def"
#undef SOFTRNIC_KERNEL_DROP
};

// cm::State, the attributes of CM messages, the reasons and subjects of a REJ, the status of a
// SIDR_REP (IBTA 12.6, 12.11)
constexpr Word kCmStates[] = {
    {0, "IDLE"},       {1, "REQ_SENT"},   {2, "REQ_RCVD"},     {3, "MRA_REQ_SENT"},   {4, "MRA_REQ_RCVD"},
    {5, "REP_SENT"},   {6, "REP_RCVD"},   {7, "MRA_REP_SENT"}, {8, "MRA_REP_RCVD"},   {9, "ESTABLISHED"},
    {10, "DREQ_SENT"}, {11, "DREQ_RCVD"}, {12, "TIMEWAIT"},    {13, "SIDR_REQ_SENT"}, {14, "SIDR_REQ_RCVD"}};
constexpr Word kCmMessages[] = {{0x10, "REQ"},      {0x11, "MRA"},  {0x12, "REJ"},  {0x13, "REP"},
                                {0x14, "RTU"},      {0x15, "DREQ"}, {0x16, "DREP"}, {0x17, "SIDR_REQ"},
                                {0x18, "SIDR_REP"}, {0x19, "LAP"},  {0x1a, "APR"}};
constexpr Word kCmRejects[] = {
#define SOFTRNIC_CM_REJECT(number, name, words, chinese) {number, words, chinese},
#include "base/cm_reject_reasons.def"
#undef SOFTRNIC_CM_REJECT
};
constexpr Word kCmAbout[] = {{0, "REQ"}, {1, "REP"}, {2, "connection", "连接"}};
constexpr Word kSidrStatus[] = {
    {0, "valid", "有效"},          {1, "service ID not supported", "不支持该服务 ID"},
    {2, "rejected", "已拒绝"},     {3, "no queue pair", "没有可用的 QP"},
    {4, "redirected", "已重定向"}, {5, "version not supported", "不支持该版本"}};

constexpr Word kErrors[] = {
#define SOFTRNIC_ERROR(name, chinese) {name, #name, chinese},
#include "base/errors_zh.def"
#undef SOFTRNIC_ERROR
};

// The opcode of a base transport header: service in the top three bits, operation in the others.
constexpr Word kServices[] = {{0, "RC"}, {1, "UC"}, {2, "RD"}, {3, "UD"}, {5, "XRC"}};
constexpr Word kOperations[] = {
    {0x00, "Send First"},
    {0x01, "Send Middle"},
    {0x02, "Send Last"},
    {0x03, "Send Last Immediate"},
    {0x04, "Send Only"},
    {0x05, "Send Only Immediate"},
    {0x06, "RDMA Write First"},
    {0x07, "RDMA Write Middle"},
    {0x08, "RDMA Write Last"},
    {0x09, "RDMA Write Last Immediate"},
    {0x0a, "RDMA Write Only"},
    {0x0b, "RDMA Write Only Immediate"},
    {0x0c, "RDMA Read Request"},
    {0x0d, "RDMA Read Response First"},
    {0x0e, "RDMA Read Response Middle"},
    {0x0f, "RDMA Read Response Last"},
    {0x10, "RDMA Read Response Only"},
    {0x11, "Acknowledge"},
    {0x12, "Atomic Acknowledge"},
    {0x13, "Compare Swap"},
    {0x14, "Fetch Add"},
    {0x16, "Send Last Invalidate"},
    {0x17, "Send Only Invalidate"},
    {0x1c, "Flush"},
    {0x1d, "Atomic Write"},
};
constexpr std::uint64_t kCnp = 0x81;
// cma::Call, by the functions of rdma_cma.h
constexpr Word kCmaCalls[] = {
    {0, "rdma_bind_addr"},
    {1, "rdma_resolve_addr"},
    {2, "rdma_resolve_route"},
    {3, "rdma_connect"},
    {4, "rdma_listen"},
    {5, "rdma_accept"},
    {6, "rdma_reject"},
    {7, "rdma_disconnect"},
    {8, "rdma_notify"},
    {9, "rdma_init_qp_attr"},
    {10, "rdma_join_multicast"},
    {11, "RDMA_OPTION_ID_REUSEADDR"},
    {12, "RDMA_OPTION_ID_AFONLY"},
};
// cma::State, as rdma(8) names them
constexpr Word kCmaStates[] = {
    {0, "IDLE"},           {1, "ADDR_QUERY"},     {2, "ADDR_RESOLVED"}, {3, "ROUTE_QUERY"},
    {4, "ROUTE_RESOLVED"}, {5, "CONNECT"},        {6, "DISCONNECT"},    {7, "ADDR_BOUND"},
    {8, "LISTEN"},         {9, "DEVICE_REMOVAL"}, {10, "DESTROYING"},
};

// The control field of a Terminate message of iWARP, and the opcodes of its messages (RFC 5040 4.3, RFC
// 7306 4)
constexpr Word kTerminateErrors[] = {
#define SOFTRNIC_TERMINATE(number, name, words, chinese, headers) {number, words, chinese},
#include "base/iwarp_terminate.def"
#undef SOFTRNIC_TERMINATE
};
constexpr Word kMpaFrames[] = {{0, "request", "请求"}, {1, "reply", "应答"}};
constexpr Word kRdmapOpcodes[] = {
    {0, "Write"},
    {1, "Read Request"},
    {2, "Read Response"},
    {3, "Send"},
    {4, "Send with Invalidate"},
    {5, "Send with SE"},
    {6, "Send with SE and Invalidate"},
    {7, "Terminate"},
    {8, "Immediate Data"},
    {9, "Immediate Data with SE"},
    {10, "Atomic Request"},
    {11, "Atomic Response"},
};

std::string number(const char* format, std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, format, static_cast<unsigned long long>(value));
  return text;
}

std::string decimal(std::uint64_t figure, std::span<const Word>, Language) { return number("%llu", figure); }
std::string hexadecimal(std::uint64_t figure, std::span<const Word>, Language) {
  return number("0x%llx", figure);
}

const Word* find(std::span<const Word> words, std::uint64_t value) {
  const auto found =
      std::find_if(words.begin(), words.end(), [value](const Word& word) { return word.value == value; });
  return found == words.end() ? nullptr : &*found;
}

std::string one_of(std::uint64_t figure, std::span<const Word> words, Language in) {
  const Word* const word = find(words, figure);
  if (word == nullptr) return number("%llu", figure);
  return std::string(word->chinese.empty() ? word->name : in_words(in, word->name, word->chinese));
}

std::string bits(std::uint64_t figure, std::span<const Word> words, Language) {
  if (figure == 0) return "0";
  std::string out;
  const auto add = [&out](std::string_view part) { out.append(out.empty() ? "" : "|").append(part); };
  for (const Word& word : words) {
    if ((figure & word.value) == 0) continue;
    add(word.name);
    figure &= ~word.value;
  }
  if (figure != 0) add(number("0x%llx", figure));
  return out;
}

std::string packet_opcode(std::uint64_t figure, std::span<const Word>, Language) {
  if (figure == kCnp) return "CNP";
  const Word* const service = find(kServices, figure >> 5);
  const Word* const operation = find(kOperations, figure & 0x1f);
  if (service == nullptr || operation == nullptr) return number("0x%02llx", figure);
  return std::string(service->name) + " " + std::string(operation->name);
}

// Not strerror(), which speaks the language of the program's locale.
std::string error_text(std::uint64_t figure, std::span<const Word> words, Language in) {
  if (const Word* const word = in == Language::chinese ? find(words, figure) : nullptr)
    return std::string(word->chinese) + " " + std::string(word->name);
  const char* text = strerrordesc_np(static_cast<int>(figure));
  return text != nullptr ? text : number("errno %llu", figure);
}

struct Form {
  std::string_view name;
  std::string (*print)(std::uint64_t figure, std::span<const Word> words, Language in);
  std::span<const Word> words;
};

constexpr Form kForms[] = {
    {"", decimal, {}},
    {"x", hexadecimal, {}},
    {"state", one_of, kStates},
    {"type", one_of, kTypes},
    {"mtu", one_of, kMtus},
    {"mig", one_of, kMigrationStates},
    {"attrs", bits, kAttributes},
    {"access", bits, kAccess},
    {"flags", bits, kSendFlags},
    {"wr", one_of, kWorkRequests},
    {"rereg", bits, kRereg},
    {"srq", bits, kSrqAttributes},
    {"object", one_of, kObjects},
    {"cap", one_of, kCapFields},
    {"quota", one_of, kQuotas},
    {"verb", one_of, kLaterVerbs},
    {"kernel_drop", one_of, kKernelDropWords},
    {"opcode", packet_opcode, {}},
    {"errno", error_text, kErrors},
    {"cm_state", one_of, kCmStates},
    {"cm_message", one_of, kCmMessages},
    {"cm_reject", one_of, kCmRejects},
    {"cm_about", one_of, kCmAbout},
    {"sidr", one_of, kSidrStatus},
    {"cm_event", one_of, kCmEvents},
    {"cma_call", one_of, kCmaCalls},
    {"cma_state", one_of, kCmaStates},
    {"terminate", one_of, kTerminateErrors},
    {"rdmap", one_of, kRdmapOpcodes},
    {"mpa", one_of, kMpaFrames},
};

std::string program_text(std::uint64_t first, std::uint64_t second, Language in) {
  char raw[2 * sizeof first];
  std::memcpy(raw, &first, sizeof first);
  std::memcpy(raw + sizeof first, &second, sizeof second);
  const std::string_view name(raw, strnlen(raw, sizeof raw));
  if (name.empty()) return in_words(in, "a program that cannot be seen from here", "从这里看不到的程序");
  std::string out = "'";
  for (const char c : name) {
    const bool plain = c >= 0x20 && c < 0x7f && c != '\\';
    out += plain ? std::string(1, c) : number("\\%03llo", static_cast<unsigned char>(c));
  }
  return out + "'";
}

const Form* find_form(std::string_view name) {
  for (const Form& form : kForms) {
    if (form.name == name) return &form;
  }
  return nullptr;
}

}  // namespace

std::string figure_text(std::string_view form, std::uint64_t figure, Language in) {
  const Form* found = find_form(form);
  if (found == nullptr) found = &kForms[0];
  return found->print(figure, found->words, in);
}

std::string figure_text(std::string_view form, std::uint64_t high, std::uint64_t low, Language in) {
  if (form == "program") return program_text(high, low, in);
  if (form != "gid") return figure_text(form, high, in);
  unsigned char raw[16];
  for (int i = 0; i < 8; ++i) {
    raw[i] = static_cast<unsigned char>(high >> (56 - 8 * i));
    raw[i + 8] = static_cast<unsigned char>(low >> (56 - 8 * i));
  }
  const bool ipv4 = high == 0 && low >> 32 == 0xffff;
  char text[INET6_ADDRSTRLEN] = "?";
  inet_ntop(ipv4 ? AF_INET : AF_INET6, ipv4 ? raw + 12 : raw, text, sizeof text);
  return text;
}

std::array<std::uint64_t, 2> program_figures(std::string_view name) {
  std::array<std::uint64_t, 2> figures{};
  std::memcpy(figures.data(), name.data(), std::min(name.size(), sizeof figures));
  return figures;
}

bool is_figure_form(std::string_view form) {
  return form == "gid" || form == "program" || find_form(form) != nullptr;
}

}  // namespace softrnic
