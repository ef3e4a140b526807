#include "cm/types.h"

namespace softrnic::cm {

mad::Address address_of(const Path& path) {
  mad::Address address;
  address.local = path.local;
  address.remote = path.remote;
  address.interface_index = path.interface_index;
  address.pkey = path.pkey;
  address.traffic_class = path.traffic_class;
  address.hop_limit = path.hop_limit;
  address.flow_label = path.flow_label;
  return address;
}

}  // namespace softrnic::cm
