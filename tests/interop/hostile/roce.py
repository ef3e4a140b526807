"""RoCEv2 packets made by hand, with the right ICRC: what any user of a host can send.

Clauses are those of the InfiniBand Architecture Specification, volume 1, and its annex A17 (RoCEv2).
"""
import ipaddress
import socket
import struct
import zlib

PORT = 4791
SOL_UDP, UDP_SEGMENT = 17, 103  # linux/udp.h
IP_MTU_DISCOVER, IP_PMTUDISC_DO = 10, 2  # linux/in.h; identification 0, which a train counts up from
SEND_FIRST, SEND_MIDDLE, SEND_LAST = 0, 1, 2  # RC (9.2.1)


def packet(opcode, qpn, psn, payload, pad=0, ask=False):
    """BTH, payload and pad (9.2)."""
    bth = struct.pack("!BBHII", opcode, 0x40 | pad << 4, 0xffff, qpn, ask << 31 | psn & 0xffffff)
    return bth + payload + bytes(pad)


def with_icrc(body, source, destination, position):
    """The packet at `position` of a train; `source` and `destination` are (IPv4 address, port) (A17.3.3)."""
    size = len(body) + 4
    addresses = ipaddress.ip_address(source[0]).packed + ipaddress.ip_address(destination[0]).packed
    ip = struct.pack("!BBHHHBBH", 0x45, 0xff, 28 + size, position, 0x4000, 0xff, 17, 0xffff) + addresses
    udp = struct.pack("!HHHH", source[1], destination[1], 8 + size, 0xffff)
    masked = body[:4] + b"\xff" + body[5:]
    return body + struct.pack("<I", zlib.crc32(b"\xff" * 8 + ip + udp + masked))


class Stranger:
    """A program with a UDP socket, and nothing else."""

    def __init__(self, address):
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO)
        self._socket.bind((address, 0))

    def send_train(self, destination, packets):
        """Packets of one size, the last perhaps shorter, in one datagram that the kernel leaves whole."""
        own, to = self._socket.getsockname(), (destination, PORT)
        whole = [with_icrc(body, own, to, position) for position, body in enumerate(packets)]
        segment = (SOL_UDP, UDP_SEGMENT, struct.pack("H", len(whole[0])))
        self._socket.sendmsg([b"".join(whole)], [segment], 0, to)
