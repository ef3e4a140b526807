#!/usr/bin/env python3
"""A remote shell between emulated hosts, where no sshd runs: what mpirun starts its daemons on other hosts with.

    remote_shell.py --serve FOLDER HOST     runs commands on the host that it was started on, until it is ended
    remote_shell.py [OPTION…] HOST WORD…    as ssh: has HOST run the words as a command line; FOLDER is $REMOTE_SHELL

A socket FOLDER/HOST carries the command and the caller's three standard streams; the answer is the exit status.
"""
import os
import pathlib
import socket
import subprocess
import sys
import threading

STREAMS = 3


def run(connection):
    with connection:
        command, streams, _, _ = socket.recv_fds(connection, 1 << 16, STREAMS)
        status = subprocess.run(["sh", "-c", command.decode()], stdin=streams[0], stdout=streams[1], stderr=streams[2], check=False)
        for stream in streams:
            os.close(stream)
        connection.sendall(str(status.returncode % 256).encode())


def serve(folder, host):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(folder / host))
        listener.listen()
        while True:
            threading.Thread(target=run, args=(listener.accept()[0],), daemon=True).start()


def call(folder, host, words):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.connect(str(folder / host))
        socket.send_fds(connection, [" ".join(words).encode()], range(STREAMS))
        return int(connection.recv(16) or 255)


def main():
    if sys.argv[1] == "--serve":
        return serve(pathlib.Path(sys.argv[2]), sys.argv[3])
    words = sys.argv[1:]
    while words[0].startswith("-"):  # of ssh; -o alone has a value
        del words[:2 if words[0] == "-o" else 1]
    return call(pathlib.Path(os.environ["REMOTE_SHELL"]), words[0], words[1:])


sys.exit(main())
