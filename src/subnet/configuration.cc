#include "subnet/configuration.h"

#include <algorithm>

#include "mad/attribute_modifier.h"
#include "mad/p_key_table.h"
#include "mad/port_info.h"
#include "mad/switch_info.h"

namespace softrnic::subnet {
namespace {

void keep_p_keys(PhysicalPort& port, const Setting& setting) {
  const auto modifier = mad::decode_modifier<mad::PKeyTableModifier>(setting.modifier);
  const auto table = mad::decode<mad::PKeyTable>(setting.data);
  const std::size_t first = modifier.block * mad::PKeyTable::kBlock;
  for (std::size_t i = 0; i < table.p_keys.size() && first + i < port.p_keys.size(); ++i)
    port.p_keys[first + i] = table.p_keys[i];
}

}  // namespace

void Configuration::apply(SubnetDatabase& database, const Settings& settings) {
  for (const Setting& setting : settings) {
    SmpRequest request;
    request.path = database.subnet.path_to(setting.port);
    request.method = mad::Method::set;
    request.attribute = setting.attribute;
    request.modifier = setting.modifier;
    request.m_key = m_key_for(database.subnet, setting.port, m_key_);
    request.data = setting.data;
    request.target = SmpTarget(setting.port.node.value);
    ++pending_;
    requests_.send(request, [this, &database, setting](const SmpResult& result) {
      --pending_;
      if (result.is_answered()) return take(database, setting, result);
      fail(database, setting, result);
    });
  }
}

void Configuration::take(SubnetDatabase& database, const Setting& setting, const SmpResult& result) {
  Subnet& subnet = database.subnet;
  const bool is_end_port = subnet.is_end_port(setting.port);
  switch (setting.attribute) {
    case mad::PortInfo::kAttribute:
      subnet.at(setting.port).info = result.as<mad::PortInfo>();
      return;
    case mad::SwitchInfo::kAttribute:
      subnet.at(setting.port.node).switch_info = result.as<mad::SwitchInfo>();
      return;
    case mad::PKeyTable::kAttribute:
      if (is_end_port) return keep_p_keys(subnet.at(setting.port), setting);
      break;
    default:
      break;
  }
  sent_.note(subnet.at(subnet.management_port(setting.port)).guid, setting);
}

void Configuration::fail(const SubnetDatabase& database, const Setting& setting, const SmpResult& result) {
  ++failures_;
  events_.notify(event::SettingRefused{database.subnet.name_of(setting.port), setting.attribute,
                                       setting.modifier, result.status});
}

}  // namespace softrnic::subnet
