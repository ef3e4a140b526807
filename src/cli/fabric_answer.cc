#include "cli/fabric_answer.h"

#include "cli/commands.h"
#include "control/fabric_commands.h"

namespace softrnic::cli {

std::optional<Json> ask_fabric_json(const std::string& fabric, const std::string& command) {
  const auto answer = control::ask_fabric(fabric, command);
  if (!answer) {
    report(answer.error());
    return std::nullopt;
  }
  if (auto json = Json::parse(*answer)) return json;
  complain("the fabric's answer makes no sense");
  return std::nullopt;
}

const Json& value_of(const Json& row, std::string_view key) {
  static const Json null;
  const Json* const value = row.find(key);
  return value == nullptr ? null : *value;
}

std::string text_of(const Json& row, std::string_view key) {
  const Json& value = value_of(row, key);
  if (value.is_null()) return "";
  return value.is_string() ? value.string() : value.to_string();
}

double number_of(const Json& row, std::string_view key) { return value_of(row, key).number(); }

bool is_true(const Json& row, std::string_view key) { return value_of(row, key).truth(); }

std::string endport_text(const Json& endport) {
  std::string text = text_of(endport, "node");
  if (const std::string port = text_of(endport, "port"); port != "0") text += " port " + port;
  const std::string lid = text_of(endport, "lid");
  return printable(text + (lid.empty() ? ", no LID" : ", LID " + lid));
}

std::string link_text(const Json& port) {
  const std::string width = text_of(port, "width"), speed = text_of(port, "speed");
  return printable(width.empty() || speed.empty() ? width + speed : width + " " + speed);
}

std::string peer_text(const Json& port) {
  const Json& peer = value_of(port, "peer");
  if (const std::string fabric = text_of(peer, "fabric"); !fabric.empty())
    return printable("fabric at " + fabric + (is_true(peer, "up") ? ", up" : ", down"));
  return peer.is_null() ? "" : printable(text_of(peer, "node") + " " + text_of(peer, "port"));
}

}  // namespace softrnic::cli
