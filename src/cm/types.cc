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
  address.local_lid = path.local_lid;
  address.remote_lid = path.remote_lid;
  address.sl = path.sl;
  return address;
}

}  // namespace softrnic::cm
