#include <algorithm>
#include <ctime>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/processes.h"
#include "cli/suggest.h"

namespace softrnic::cli {
namespace {

struct ExplainOptions {
  std::string reason;
  bool list = false;
  bool history = false;
  int pid = 0;
  std::uint32_t qpn = 0;
};

struct Row {
  const Process* process;
  Explanation explanation;
  std::uint64_t times = 1;
};

const char* kind_of(ReasonId id, Language in) {
  return is_note(id) ? in_words(in, "note", "提示") : in_words(in, "error", "错误");
}

Json table_json(const ReasonText& text) {
  return {{"id", text.id}, {"sentence", text.sentence}, {"cure", text.cure}};
}

void print_table_entry(const ReasonText& text) {
  print_line("{}", strong(text.id));
  print_line("    {}", text.sentence);
  if (!text.cure.empty()) print_line("    -> {}", text.cure);
}

int list_reasons(bool json) {
  Json rows = Json::array();
  for (std::size_t i = 1; i < reason_count(); ++i) {
    const ReasonText& text = reason_text(static_cast<ReasonId>(i));
    if (json) {
      rows.push_back(table_json(text));
    } else {
      print_table_entry(text);
    }
  }
  if (json) print_json(rows);
  return kDone;
}

int show_reason(const std::string& id, bool json) {
  std::vector<std::string> names;
  for (std::size_t i = 1; i < reason_count(); ++i) {
    const ReasonText& text = reason_text(static_cast<ReasonId>(i));
    names.emplace_back(text.id);
    if (text.id != id) continue;
    if (json) {
      print_json(table_json(text));
    } else {
      print_table_entry(text);
    }
    return kDone;
  }
  const std::string meant = nearest(id, names);
  complain(fmt::format(
      "there is no reason '{}'{}", id,
      meant.empty() ? "; see softrnic explain --list" : fmt::format("; did you mean '{}'?", meant)));
  return kUsage;
}

std::string time_text(std::uint64_t time_ns) {
  const auto seconds = static_cast<std::time_t>(time_ns / 1'000'000'000);
  std::tm local{};
  localtime_r(&seconds, &local);
  return fmt::format("{:02}:{:02}:{:02}.{:03}", local.tm_hour, local.tm_min, local.tm_sec,
                     time_ns / 1'000'000 % 1000);
}

Json row_json(const Row& row) {
  const Explanation& e = row.explanation;
  const ReasonText& text = reason_text(e.reason.id);
  Json out = {{"time_ns", e.time_ns},          {"pid", row.process->pid}, {"comm", row.process->comm},
              {"alive", row.process->alive()}, {"lqpn", e.qpn},           {"rqpn", e.peer_qpn}};
  if (e.has_wr_id) out["wr_id"] = e.wr_id;
  out["reason"] = text.id;
  out["kind"] = kind_of(e.reason.id, Language::english);
  out["times"] = row.times;
  out["figures"] = Json::array_of(e.reason.figures);
  out["sentence"] = describe(e.reason);
  out["cure"] = text.cure;
  return out;
}

void print_row(const Row& row) {
  const Explanation& e = row.explanation;
  const Language in = language();
  std::string head =
      fmt::format("{} pid {} comm {}{}", time_text(e.time_ns), row.process->pid, printable(row.process->comm),
                  row.process->alive() ? "" : in_words(in, " (ended)", "（已结束）"));
  if (e.qpn != 0) head += fmt::format(" lqpn {}", e.qpn);
  if (e.peer_qpn != 0) head += fmt::format(" rqpn {}", e.peer_qpn);
  if (e.has_wr_id) head += fmt::format(" wr_id {}", e.wr_id);
  const ReasonText& text = reason_text(e.reason.id);
  const std::string times =
      row.times > 1 ? fmt::format(" ({} {})", row.times, in_words(in, "times", "次")) : "";
  print_line("{} {} {}{}", head, kind_of(e.reason.id, in), strong(text.id), times);
  print_line("    {}", describe(e.reason));
  if (!text.cure.empty()) print_line("    -> {}", text.cure);
}

std::vector<Row> rows_of(const Process& process, bool history) {
  std::vector<Row> rows;
  if (history) {
    for (const Explanation& e : process.explanations) rows.push_back({&process, e});
  } else {
    for (const ExplanationHistory::Entry& entry : reasons_by_qp(process))
      rows.push_back({&process, entry.latest, entry.times});
  }
  return rows;
}

int show_latest(const ExplainOptions& options, bool json) {
  Processes all;
  if (!read_processes(all)) return kFailed;
  std::vector<Row> rows;
  for (const Process& process : all.processes) {
    if (options.pid != 0 && process.pid != options.pid) continue;
    for (const Row& row : rows_of(process, options.history))
      if (options.qpn == 0 || row.explanation.qpn == options.qpn || row.explanation.peer_qpn == options.qpn)
        rows.push_back(row);
  }
  if (options.history)
    std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
      return a.explanation.time_ns < b.explanation.time_ns;
    });
  Json out = Json::array();
  for (const Row& row : rows) {
    if (json) {
      out.push_back(row_json(row));
    } else {
      print_row(row);
    }
  }
  if (json) print_json(out);
  if (rows.empty() && !json)
    complain(in_words(language(), "nothing to explain: no process of this user has had a failure lately",
                      "没有需要解释的：本用户的进程最近没有出现失败"));
  return kDone;
}

}  // namespace

void add_explain(const grammar::Command& softrnic, Context& context) {
  auto options = std::make_shared<ExplainOptions>();
  const grammar::Command command = softrnic.command(
      "explain", "Say why things failed: the latest reasons of every queue pair, errors first");
  command.option("REASON-ID", options->reason, "print the table's text of this reason");
  command.flag("--list", options->list, "print all reasons there are");
  command.flag("-a,--all", options->history,
               "all that is remembered in the order of time, not only the latest of each queue pair");
  command.option("--pid", options->pid, "only this process");
  command.option("--qp", options->qpn, "only this queue pair number, as ours or as the peer's");
  command.footer(
      "Examples:\n  softrnic explain\n  softrnic explain --pid 4711 --all\n  softrnic explain "
      "nak_rkey_range\n"
      "  softrnic explain --list --json");
  command.finally([&context, options] {
    context.chosen = [&context, options] {
      if (options->list) return list_reasons(context.json);
      if (!options->reason.empty()) return show_reason(options->reason, context.json);
      return show_latest(*options, context.json);
    };
  });
}

}  // namespace softrnic::cli
