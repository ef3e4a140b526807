#include "cli/processes.h"

#include <algorithm>
#include <iterator>

#include "base/language.h"
#include "base/reason_words.h"
#include "cli/copy_progress.h"
#include "cli/output.h"
#include "daemon/credentials.h"
#include "rnic/qp_states.h"

namespace softrnic::cli {
namespace {

/// The daemon of all users shows no process to one with capabilities: it cannot see which user namespace they
/// are good for (daemon::Credentials). Silence would say that nothing runs.
void tell_that_nothing_is_shown(control::Client& client) {
  const auto status = client.status();
  if (!status || status->all_users == 0 || !daemon::Credentials::own().has_capabilities()) return;
  complain(in_words(
      language(),
      "softrnicd serves all users and shows no programs to one that has capabilities, as root "
      "has; the data of such programs goes by packets. An ordinary user sees its own",
      "softrnicd 为所有用户服务，不向拥有 capability 的程序（如 root 的程序）显示任何程序；这类程序的数据"
      "以报文传送。普通用户能看到自己的程序"));
}

}  // namespace

bool read_processes(Processes& out) {
  bool failed = false;
  const auto client = connect_daemon(false, failed);
  if (!client) return !failed;
  const auto devices = client->devices();
  const auto pages = client->pages();
  if (!devices || !pages) {
    report(devices ? pages.error() : devices.error());
    return false;
  }
  if (pages->empty()) tell_that_nothing_is_shown(*client);
  for (const auto& device : *devices) out.device_names[device.index] = device.name;
  for (const control::PageFd& page : *pages) {
    const auto reader = control::PageReader::open(page.fd.get());
    if (!reader) continue;  // of another version
    out.processes.push_back({page.pid, printable(page.comm), page.ended_ns, reader->lanes(), reader->qps(),
                             reader->explanations()});
  }
  return true;
}

std::string qp_type_name(unsigned type) { return figure_text("type", type); }

std::string_view qp_state_name(unsigned state) { return rnic::state_name(static_cast<ibv_qp_state>(state)); }

std::span<const PathText> path_texts() {
  using control::PathChoice;
  static constexpr PathText kTexts[control::kPathChoices] = {
      {PathChoice::other_host, "wire", "the peer is not known to be on this host"},
      {PathChoice::direct, "direct", "nothing is in the way"},
      {PathChoice::wire_only, "wire-by-setting",
       "SOFTRNIC_PATH, SOFTRNIC_FAULTS or SOFTRNIC_CAPTURE of this program asks for packets"},
      {PathChoice::not_shared, "wire-by-peer",
       "the peer shares no memory: its settings, its version, no memfd, or it is still asked"},
      {PathChoice::forbidden, "ring-by-kernel",
       "a seccomp filter keeps this program from process_vm_readv and process_vm_writev"},
      {PathChoice::refused, "wire-by-kernel",
       "one of both may not attach to the other: ptrace(2), Yama, namespaces, capabilities"},
      {PathChoice::no_rseq, "ring-by-rseq",
       "this program lacks rseq(2), without which the peer lets nobody at its memory"},
      {PathChoice::by_program, "ring-by-program",
       "the queue pair has a rate limit or an alternate path, which only packets obey"},
      {PathChoice::stream, "tcp",
       "iWARP by TCP: the peer is on another host or of another user, one of both programs has set "
       "SOFTRNIC_PATH, SOFTRNIC_FAULTS or SOFTRNIC_CAPTURE, or there is no connection"}};
  return kTexts;
}

const PathText& xrc_path_text() {
  static constexpr PathText kText = {control::PathChoice::direct, "ring-by-xrc",
                                     "a request of XRC goes by the keys of the SRQ that it names"};
  return kText;
}

const PathText& path_text(const control::PageQpBody& qp) {
  const auto texts = path_texts();
  const PathText& text = texts[qp.path < texts.size() ? qp.path : 0];
  const bool xrc = qp.type == IBV_QPT_XRC_SEND || qp.type == IBV_QPT_XRC_RECV;
  return xrc && text.choice == control::PathChoice::direct ? xrc_path_text() : text;
}

namespace {

using Reasons = std::vector<ExplanationHistory::Entry>;

Reasons entries_of(const ExplanationHistory& history) {
  Reasons out;
  for (const ExplanationHistory::Entry& entry : history.entries())
    if (entry.times != 0) out.push_back(entry);
  return out;
}

void put_errors_first(Reasons& reasons) {
  std::sort(reasons.begin(), reasons.end(), [](const auto& a, const auto& b) {
    const auto rank = [](const Explanation& e) { return std::pair(is_note(e.reason.id), e.time_ns); };
    return rank(a.latest) < rank(b.latest);
  });
}

std::uint64_t latest_time(const Reasons& reasons) {
  std::uint64_t latest = 0;
  for (const ExplanationHistory::Entry& entry : reasons) latest = std::max(latest, entry.latest.time_ns);
  return latest;
}

}  // namespace

std::vector<ExplanationHistory::Entry> reasons_by_qp(const Process& process) {
  std::map<std::uint32_t, ExplanationHistory> remembered;
  for (const Explanation& e : process.explanations) remembered[e.qpn].add(e);
  std::map<std::uint32_t, Reasons> by_qp;
  for (const auto& [qpn, history] : remembered) by_qp[qpn] = entries_of(history);
  for (const control::QpView& qp : process.qps)
    if (!qp.reasons.empty()) by_qp[qp.body.qpn] = qp.reasons;
  std::vector<Reasons> groups;
  for (auto& [qpn, reasons] : by_qp) {
    put_errors_first(reasons);
    groups.push_back(std::move(reasons));
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const Reasons& a, const Reasons& b) { return latest_time(a) < latest_time(b); });
  Reasons out;
  for (const Reasons& reasons : groups) out.insert(out.end(), reasons.begin(), reasons.end());
  return out;
}

}  // namespace softrnic::cli
