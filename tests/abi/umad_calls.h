// The functions of libibumad.so.3 as <infiniband/umad.h> of rdma-core declares them, with its structures: the
// header is not on every host that builds this.
#pragma once

#include <cstddef>
#include <cstdint>

#include "abi/umad/structures.h"

extern "C" {
using softrnic::umad::ib_mad_addr;
using softrnic::umad::ib_user_mad;
using softrnic::umad::umad_ca;
using softrnic::umad::umad_ca_pair;
using softrnic::umad::umad_device_node;
using softrnic::umad::umad_port;
using softrnic::umad::umad_reg_attr;

int umad_init();
int umad_done();
int umad_get_cas_names(char cas[][20], int max);
int umad_get_ca_portguids(const char* ca_name, std::uint64_t* portguids, int max);
int umad_get_ca(const char* ca_name, umad_ca* ca);
int umad_release_ca(umad_ca* ca);
int umad_get_port(const char* ca_name, int portnum, umad_port* port);
int umad_release_port(umad_port* port);
int umad_get_issm_path(const char* ca_name, int portnum, char path[], int max);
int umad_open_port(const char* ca_name, int portnum);
int umad_open_smi_port(const char* ca_name, int portnum);
int umad_close_port(int portid);
void* umad_get_mad(void* umad);
std::size_t umad_size();
int umad_status(void* umad);
ib_mad_addr* umad_get_mad_addr(void* umad);
int umad_set_grh(void* umad, void* mad_addr);
int umad_set_addr_net(void* umad, std::uint16_t dlid, std::uint32_t dqp, int sl, std::uint32_t qkey);
int umad_set_addr(void* umad, int dlid, int dqp, int sl, int qkey);
int umad_set_pkey(void* umad, int pkey_index);
int umad_get_pkey(void* umad);
int umad_send(int portid, int agentid, void* umad, int length, int timeout_ms, int retries);
int umad_recv(int portid, void* umad, int* length, int timeout_ms);
int umad_poll(int portid, int timeout_ms);
int umad_get_fd(int portid);
int umad_register(int portid, int mgmt_class, int mgmt_version, std::uint8_t rmpp_version,
                  long method_mask[2]);
int umad_register_oui(int portid, int mgmt_class, std::uint8_t rmpp_version, std::uint8_t oui[3],
                      long method_mask[2]);
int umad_register2(int port_fd, umad_reg_attr* attr, std::uint32_t* agent_id);
int umad_unregister(int portid, int agentid);
int umad_sort_ca_device_list(umad_device_node** head, std::size_t size);
umad_device_node* umad_get_ca_device_list();
void umad_free_ca_device_list(umad_device_node* head);
int umad_debug(int level);
void umad_addr_dump(ib_mad_addr* addr);
void umad_dump(void* umad);
int umad_get_smi_gsi_pairs(umad_ca_pair cas[], std::size_t max);
int umad_get_smi_gsi_pair_by_ca_name(const char* name, std::uint8_t portnum, umad_ca_pair* pair,
                                     unsigned enforce_smi);
const char* umad_class_str(std::uint8_t mgmt_class);
const char* umad_method_str(std::uint8_t mgmt_class, std::uint8_t method);
const char* umad_common_mad_status_str(std::uint16_t status);
const char* umad_sa_mad_status_str(std::uint16_t status);
const char* umad_attribute_str(std::uint8_t mgmt_class, std::uint16_t attr_id);
}
