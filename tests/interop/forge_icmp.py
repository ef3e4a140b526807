#!/usr/bin/env python3
"""Sends one ICMP message that claims to come from a router: a packet of TARGET's to PEER, of which nobody need have seen any, did
not fit into MTU bytes. As root of its network namespace, on any host that reaches TARGET.

    forge_icmp.py TARGET PEER MTU
"""
import ipaddress
import socket
import struct
import sys

PORT = 4791  # every lane's own socket has it, and what the kernel learns serves all sockets
QUOTED = 4000  # bytes that the packet is said to have had


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total > 0xffff:
        total = (total >> 16) + (total & 0xffff)
    return ~total & 0xffff


def fragmentation_needed(target, peer, mtu):
    """RFC 1191 4: type 3, code 4."""
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, QUOTED, 0, 0x4000, 60, socket.IPPROTO_UDP, 0, target.packed, peer.packed)
    udp = struct.pack("!HHHH", PORT, PORT, QUOTED - len(ip), 0)
    head = struct.pack("!BB", 3, 4)
    rest = struct.pack("!HH", 0, mtu) + ip + udp
    return head + struct.pack("!H", checksum(head + b"\0\0" + rest)) + rest


def packet_too_big(target, peer, mtu):
    """RFC 4443 3.2; the kernel fills in the checksum."""
    ip = struct.pack("!IHBB16s16s", 6 << 28, QUOTED, socket.IPPROTO_UDP, 60, target.packed, peer.packed)
    udp = struct.pack("!HHHH", PORT, PORT, QUOTED, 0)
    return struct.pack("!BBHI", 2, 0, 0, mtu) + ip + udp


def main():
    target, peer = (ipaddress.ip_address(word) for word in sys.argv[1:3])
    mtu = int(sys.argv[3])
    if target.version == 4:
        family, protocol, message = socket.AF_INET, socket.IPPROTO_ICMP, fragmentation_needed(target, peer, mtu)
    else:
        family, protocol, message = socket.AF_INET6, socket.IPPROTO_ICMPV6, packet_too_big(target, peer, mtu)
    with socket.socket(family, socket.SOCK_RAW, protocol) as raw:
        raw.sendto(message, (str(target), 0))


if __name__ == "__main__":
    main()
