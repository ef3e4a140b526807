// Queries for nodes, ports, links and managers (IBTA 15.2.5.2 – 15.2.5.5, 15.2.5.10, 15.2.5.13, 15.2.5.18).
#pragma once

#include "mad/sa_node_records.h"
#include "subnet/sa_request.h"

namespace softrnic::subnet {

void query_nodes(const SaView& view, const SaRequest& request, SaRecords& out);
void query_ports(const SaView& view, const SaRequest& request, SaRecords& out);
void query_switches(const SaView& view, const SaRequest& request, SaRecords& out);
void query_guids(const SaView& view, const SaRequest& request, SaRecords& out);
void query_links(const SaView& view, const SaRequest& request, SaRecords& out);
/// `own`: of the manager that this administrator belongs to.
void query_managers(const SaView& view, const SaRequest& request, const mad::SmInfo& own, SaRecords& out);

}  // namespace softrnic::subnet
