// Who may create, join and leave multicast groups, and who is told of them (IBTA 15.2.5.17).
#pragma once

#include "mad/sa_multicast_record.h"
#include "subnet/multicast_groups.h"
#include "subnet/sa_request.h"

namespace softrnic::subnet {

/// A Set: joins a group, or creates it first if the request tells enough of it (o15-0.1.9, o15-0.2.3).
mad::SaStatus join_group(const SaView& view, MulticastGroups& groups, const SaRequest& request,
                         SaRecords& out);
/// A Delete (o15-0.1.14).
mad::SaStatus leave_group(const SaView& view, MulticastGroups& groups, const SaRequest& request,
                          SaRecords& out);
/// Groups; for trusted requests with their members.
void query_groups(const SaView& view, const MulticastGroups& groups, const SaRequest& request,
                  SaRecords& out);

}  // namespace softrnic::subnet
