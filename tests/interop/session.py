"""One server, one client: starts both, collects what they print, ends them, and tells the whole story of a failure."""
import dataclasses

from lab import PATIENCE


@dataclasses.dataclass
class Call:
    """The two programs and when the server is ready: at the first of these that is given (none, or no server: at once)."""
    server: list
    client: list
    ready: str = ""           # what it prints then
    cm_port: int = 0          # the port on which it listens for connections of rdma_cm
    udp_port: int = 0         # the UDP port at which it receives
    port: int = 0             # the TCP port on which it listens
    timeout: float = 60       # seconds the client may take
    env: dict = dataclasses.field(default_factory=dict)
    ends_alone: bool = True   # the server ends by itself with status 0 when the client is done
    last_words: str = ""      # what the one of both may say that does not end well, if the other does


class Session:
    """`call`: a Call, or a case that has its fields."""

    def __init__(self, server_host, client_host, call):
        self.server_host, self.client_host, self._call = server_host, client_host, call
        self.server = self.client = None
        self.witness = None  # whose output tells what was done
        self._explained = ""

    def _fill(self, argv, host):
        values = {"{server}": lambda: self.server_host.address[4], "{server6}": lambda: self.server_host.address[6],
                  "{serverlink}": lambda: self.server_host.address["link"],
                  "{self}": lambda: host.address[4], "{self6}": lambda: host.address[6],
                  "{gid4}": lambda: self._gid(host, 4), "{gid6}": lambda: self._gid(host, 6),
                  "{build}": lambda: str(host.lab.build)}
        filled = []
        for word in argv or []:
            for name, value in values.items():
                if name in word:
                    word = word.replace(name, value())
            filled.append(word)
        return filled

    @staticmethod
    def _gid(host, family):
        index = host.gid_index(family)
        if index is None:
            raise LookupError(f"ibv_devinfo -v on host {host.name} shows no GID for {host.address[family]}")
        return str(index)

    def run(self):
        """None when all went well, else what did not."""
        try:
            failure = self._run()
            if failure:
                self._explained = self._explain()
            return failure
        finally:
            for program in (self.client, self.server):
                if program:
                    program.end()

    def run_until(self, words):
        """The same, for a client that is not to end but to print `words`; it is ended then."""
        client = self.client = self.client_host.start(self._fill(self._call.client, self.client_host), self._call.env)
        said = client.wait_for_output(words, self._call.timeout)
        client.end()
        return None if said else f"the client did not print {words!r}"

    def _run(self):
        try:
            server_argv = self._fill(self._call.server, self.server_host)
            client_argv = self._fill(self._call.client, self.client_host)
        except LookupError as error:
            return str(error)
        if server_argv:
            self.server = self.server_host.start(server_argv, self._call.env)
            failure = self._wait_for_server()
            if failure:
                return failure
        self.client = self.witness = self.client_host.start(client_argv, self._call.env)
        status = self.client.wait(self._call.timeout)
        if status is None:
            return f"the client did not end within {self._call.timeout} s"
        if status != 0 and not self._said_last_words(self.client):
            return f"the client ended with status {status}"
        if status != 0:
            self.witness = self.server
        must_end_well = self._call.ends_alone or status != 0
        return self._end_of_server() if self.server and must_end_well else None

    def _said_last_words(self, program):
        return self._call.last_words and self._call.last_words in program.output()

    def _end_of_server(self):
        status = self.server.wait(PATIENCE)
        if status is None:
            return "the client ended, the server did not"
        if status != 0 and (self.witness is self.server or not self._said_last_words(self.server)):
            return f"the server ended with status {status}"
        return None

    def _wait_for_server(self):
        """None when the server is ready for its client, else what is missing."""
        call = self._call
        if call.ready:
            waited, what = self.server.wait_for_output(call.ready), f"print {call.ready!r}"
        elif call.cm_port:
            waited, what = self.server.wait_for_cm_listener(call.cm_port), f"listen on rdma_cm port {call.cm_port}"
        elif call.udp_port:
            waited, what = self.server.wait_for_udp_socket(call.udp_port), f"bind UDP port {call.udp_port}"
        elif not call.port:
            return None
        else:
            waited, what = self.server.wait_for_listener(call.port), f"listen on TCP port {call.port}"
        if waited:
            return None
        ended = "" if self.server.running else f" and ended with status {self.server.wait(0)}"
        return f"the server did not {what}{ended}"

    def _explain(self):
        texts = []
        for name, host in {h.name: h for h in (self.server_host, self.client_host)}.items():
            for command in ("explain", "stat"):
                try:
                    status, output = host.run(["softrnic", command], timeout=10)
                except OSError as error:
                    status, output = None, str(error)
                texts.append(f"---- softrnic {command} on host {name} (status {status})\n{output.rstrip()}")
        return "\n".join(texts)

    def report(self, longest=4000):
        texts = []
        for role, program in (("server", self.server), ("client", self.client)):
            if program:
                output = program.output().rstrip()
                cut = output if len(output) <= longest else output[:longest // 2] + "\n[…]\n" + output[-longest // 2:]
                texts.append(f"---- {role} on host {program.host.name}: {' '.join(program.shown)} "
                             f"(status {program.process.poll()})\n{cut}")
        if self._explained:
            texts.append(self._explained)
        return "\n".join(texts)
