"""Cases in the manner of the suite for what the manual pages of libibverbs say and the suite of this release does not try.

The runner puts this file beside the suite's own; base classes, helpers and bindings are the suite's and pyverbs'.
"""
import errno
import os
import time

import pyverbs.enums as e
import tests.utils as u
from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.mr import MR
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.srq import SrqAttr
from pyverbs.wr import SGE, RecvWR, SendWR
from tests.base import PATH_MTU, RCResources, RDMATestCase, UDResources
from tests.test_shared_pd import get_import_res_class

REMOTE = (e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_REMOTE_READ | e.IBV_ACCESS_REMOTE_ATOMIC)
STATE = e.IBV_QP_STATE


class Connected(RCResources):
    """A reliable connection whose attributes a case may choose."""

    def __init__(self, *args, path_mtu=PATH_MTU, access=REMOTE, reads=1, rnr_retry=7, **more):
        self.path_mtu, self.access, self.reads, self.rnr_retry = path_mtu, access, reads, rnr_retry
        super().__init__(*args, **more)

    def create_mr(self):
        self.mr = MR(self.pd, self.msg_size, self.access)

    def create_qp_attr(self):
        attr = QPAttr(port_num=self.ib_port)
        attr.qp_access_flags = self.access
        return attr

    def attributes(self, index):
        route = GlobalRoute(dgid=self.ctx.query_gid(self.ib_port, self.gid_index), sgid_index=self.gid_index)
        attr = self.create_qp_attr()
        attr.path_mtu = self.path_mtu
        attr.max_dest_rd_atomic = attr.max_rd_atomic = self.reads
        attr.min_rnr_timer, attr.timeout, attr.retry_cnt, attr.rnr_retry = 1, 14, 7, self.rnr_retry
        attr.ah_attr = AHAttr(port_num=self.ib_port, is_global=1, gr=route)
        attr.dest_qp_num, attr.rq_psn, attr.sq_psn = self.rqps_num[index], self.psns[index], self.rpsns[index]
        return attr

    def to_rts(self):
        for index, qp in enumerate(self.qps):
            qp.to_rts(self.attributes(index))


class Unreliable(Connected):
    def create_qp_init_attr(self):
        return QPInitAttr(qp_type=e.IBV_QPT_UC, scq=self.cq, rcq=self.cq, cap=self.create_qp_cap())


class Case(RDMATestCase):
    def setUp(self):
        super().setUp()
        self.iters = 20

    def pair(self, kind=Connected, **options):
        self.client = kind(**self.dev_info, **options)
        self.server = kind(**self.dev_info, **options)
        self.client.pre_run(self.server.psns, self.server.qps_num)
        self.server.pre_run(self.client.psns, self.client.qps_num)
        for one, other in ((self.client, self.server), (self.server, self.client)):
            one.rkey, one.remote_addr = other.mr.rkey, other.mr.buf
        return {"client": self.client, "server": self.server, "iters": self.iters, "gid_idx": self.gid_index,
                "port": self.ib_port}

    def refused(self, number, call, *args, **more):
        with self.assertRaises(PyverbsRDMAError) as caught:
            call(*args, **more)
        self.assertEqual(caught.exception.error_code, number, str(caught.exception))

    def completions(self, cq, count=1):
        """`count` completions, fewer when they do not come within seconds."""
        found, until = [], time.monotonic() + 10
        while len(found) < count and time.monotonic() < until:
            found += cq.poll(count - len(found))[1] or []
        return found

    def status(self, cq, count=1):
        return [wc.status for wc in self.completions(cq, count)]

    def send(self, player, size=None, flags=e.IBV_SEND_SIGNALED, wr_id=0, lkey=None):
        sge = SGE(player.mr.buf, player.msg_size if size is None else size, player.mr.lkey if lkey is None else lkey)
        player.qp.post_send(SendWR(wr_id=wr_id, opcode=e.IBV_WR_SEND, num_sge=1, sg=[sge], send_flags=flags))

    def receive(self, player, size=None, wr_id=0):
        sge = SGE(player.mr.buf, player.mr.length if size is None else size, player.mr.lkey)
        player.qp.post_recv(RecvWR(wr_id=wr_id, num_sge=1, sg=[sge]))


class Traffic(Case):
    def test_unreliable_sends(self):
        u.traffic(**self.pair(Unreliable))

    def test_unreliable_writes(self):
        self.pair(Unreliable)
        wr, _ = u.get_send_elements(self.client, False, e.IBV_WR_RDMA_WRITE)
        u.send(self.client, wr)
        u.poll_cq(self.client.cq)  # that it was sent says nothing of its arrival
        until = time.monotonic() + 10
        while self.server.mem_read() != b"c" * self.server.msg_size and time.monotonic() < until:
            self.server.cq.poll(1)
        self.assertEqual(self.server.mem_read(), b"c" * self.server.msg_size)

    def test_unreliable_immediate(self):
        u.traffic(**self.pair(Unreliable), is_imm=True)

    def test_immediate(self):
        u.traffic(**self.pair(), is_imm=True)

    def test_writes(self):
        u.rdma_traffic(**self.pair(), send_op=e.IBV_WR_RDMA_WRITE)

    def test_reads(self):
        args = self.pair()
        self.server.mem_write("s" * self.server.msg_size, self.server.msg_size)
        u.rdma_traffic(**args, send_op=e.IBV_WR_RDMA_READ)

    def test_datagrams_with_immediate(self):
        u.traffic(**self.pair(UDResources), is_imm=True)

    def test_each_path_mtu(self):
        active = self.pair()["client"].ctx.query_port(self.ib_port).active_mtu
        for mtu in range(e.IBV_MTU_256, active + 1):
            for size in (255, 4096, 10001):
                u.traffic(**self.pair(path_mtu=mtu, msg_size=size))

    def test_path_mtu_above_the_ports(self):
        active = self.pair()["client"].ctx.query_port(self.ib_port).active_mtu
        if active < e.IBV_MTU_4096:
            self.refused(errno.EINVAL, self.pair, path_mtu=active + 1)

    def test_two_queue_pairs_on_one_shared_queue(self):
        u.traffic(**self.pair(with_srq=True, qp_count=2))

    def test_datagrams_into_a_shared_queue(self):
        u.traffic(**self.pair(UDResources, with_srq=True))

    def test_imported_domain_and_region(self):
        original = Connected(**self.dev_info)
        imported = get_import_res_class(Connected)(os.dup(original.ctx.cmd_fd), original.pd.handle, original.mr.handle,
                                                   original.mr.buf, **self.dev_info)
        self.client, self.server = Connected(**self.dev_info), imported
        self.client.pre_run(self.server.psns, self.server.qps_num)
        self.server.pre_run(self.client.psns, self.client.qps_num)
        self.client.rkey, self.client.remote_addr = imported.mr.rkey, original.mr.buf
        self.server.rkey, self.server.remote_addr = self.client.mr.rkey, self.client.mr.buf
        u.rdma_traffic(self.client, self.server, self.iters, self.gid_index, self.ib_port, send_op=e.IBV_WR_RDMA_WRITE)
        imported.qp.close()
        imported.unimport_resources()
        original.qp.close()
        original.mr.close()  # the original still works as before
        original.pd.close()


class States(Case):
    def test_wrong_attribute_changes_nothing(self):
        self.pair()
        before, _ = self.server.qp.query(0x1ffffff)
        self.server.qp.modify(QPAttr(qp_state=e.IBV_QPS_SQD), STATE)
        wrong = QPAttr(qp_state=e.IBV_QPS_SQD, port_num=9)
        wrong.timeout, wrong.retry_cnt = 3, 1
        self.refused(errno.EINVAL, self.server.qp.modify, wrong,
                     STATE | e.IBV_QP_PORT | e.IBV_QP_TIMEOUT | e.IBV_QP_RETRY_CNT)
        after, _ = self.server.qp.query(0x1ffffff)
        self.assertEqual((after.timeout, after.retry_cnt, after.port_num), (before.timeout, before.retry_cnt, before.port_num))

    def test_read_resources_are_at_least_what_was_asked_for(self):
        self.pair(reads=12)
        attr, _ = self.server.qp.query(e.IBV_QP_MAX_QP_RD_ATOMIC | e.IBV_QP_MAX_DEST_RD_ATOMIC)
        self.assertGreaterEqual(min(attr.max_rd_atomic, attr.max_dest_rd_atomic), 12)

    def test_drained_queue_says_so_and_goes_on(self):
        args = self.pair()
        attr = QPAttr(qp_state=e.IBV_QPS_SQD)
        attr.en_sqd_async_notify = 1
        self.client.qp.modify(attr, STATE | e.IBV_QP_EN_SQD_ASYNC_NOTIFY)
        event = self.client.ctx.get_async_event()
        self.assertEqual(event.event_type, e.IBV_EVENT_SQ_DRAINED)
        event.ack()
        queried, _ = self.client.qp.query(STATE)
        self.assertEqual((queried.qp_state, queried.sq_draining), (e.IBV_QPS_SQD, 0))
        self.receive(self.server)
        self.send(self.client)
        self.assertEqual(self.client.cq.poll(1)[0], 0)  # posted, not begun
        self.client.qp.modify(QPAttr(qp_state=e.IBV_QPS_RTS), STATE)
        u.poll_cq(self.client.cq)
        u.poll_cq(self.server.cq)
        u.traffic(**args)

    def test_error_flushes_in_order(self):
        self.pair()
        for number in range(3):
            self.receive(self.server, wr_id=number)
        self.server.qp.modify(QPAttr(qp_state=e.IBV_QPS_ERR), STATE)
        self.send(self.server, wr_id=7)
        self.receive(self.server, wr_id=8)
        done = [(wc.wr_id, wc.status) for wc in self.completions(self.server.cq, 5)]
        self.assertEqual(sorted(done), [(number, e.IBV_WC_WR_FLUSH_ERR) for number in (0, 1, 2, 7, 8)])
        self.assertEqual([number for number, _ in done if number != 7], [0, 1, 2, 8])

    def test_reset_forgets_and_starts_anew(self):
        args = self.pair()
        for player in (self.client, self.server):
            self.receive(player)
            player.qp.modify(QPAttr(qp_state=e.IBV_QPS_RESET), STATE)
            self.assertEqual(player.cq.poll(1)[0], 0)
        for player in (self.client, self.server):
            player.to_rts()
        u.traffic(**args)

    def test_failing_datagram_stops_the_send_queue_only(self):
        args = self.pair(UDResources)
        wr = SendWR(opcode=e.IBV_WR_SEND, num_sge=1, sg=[SGE(self.client.mr.buf, 10, self.client.mr.lkey + 0x1000)])
        handle = u.get_global_ah(self.client, self.gid_index, self.ib_port)
        wr.set_wr_ud(handle, self.server.qp.qp_num, UDResources.UD_QKEY)
        self.client.qp.post_send(wr)
        self.assertEqual(self.status(self.client.cq), [e.IBV_WC_LOC_PROT_ERR])
        self.assertEqual(self.client.qp.query(STATE)[0].qp_state, e.IBV_QPS_SQE)
        self.client.qp.modify(QPAttr(qp_state=e.IBV_QPS_RTS), STATE)
        u.traffic(**args)

    def test_privileged_qkey(self):
        player = UDResources(**self.dev_info)
        player.qp.modify(QPAttr(qp_state=e.IBV_QPS_RESET), STATE)
        attr = QPAttr(port_num=self.ib_port)
        attr.qkey = 0x80000000
        player.qp.to_init(attr)
        self.assertEqual(player.qp.query(e.IBV_QP_QKEY)[0].qkey, 0x80000000)


class Refusals(Case):
    def test_unreliable_connection_on_a_shared_queue(self):
        player = Connected(**self.dev_info, with_srq=True)
        init = QPInitAttr(qp_type=e.IBV_QPT_UC, scq=player.cq, rcq=player.cq, srq=player.srq, cap=QPCap())
        self.refused(errno.EINVAL, QP, player.pd, init)

    def test_objects_of_another_context(self):
        one, other = Connected(**self.dev_info), Connected(**self.dev_info, with_srq=True)
        foreign_cq = QPInitAttr(qp_type=e.IBV_QPT_RC, scq=other.cq, rcq=one.cq, cap=QPCap())
        self.refused(errno.EINVAL, QP, one.pd, foreign_cq)
        foreign_srq = QPInitAttr(qp_type=e.IBV_QPT_RC, scq=one.cq, rcq=one.cq, srq=other.srq, cap=QPCap())
        self.refused(errno.EINVAL, QP, one.pd, foreign_srq)

    def test_sizes(self):
        player = Connected(**self.dev_info)
        self.refused(errno.EINVAL, CQ, player.ctx, 0)
        self.refused(errno.EINVAL, CQ, player.ctx, 10, None, None, player.ctx.num_comp_vectors)
        self.refused(errno.EINVAL, MR, player.pd, 100, e.IBV_ACCESS_REMOTE_WRITE)

    def test_shared_queue_limits(self):
        player = Connected(**self.dev_info, with_srq=True)
        size = player.srq.query().max_wr
        self.refused(errno.EINVAL, player.srq.modify, SrqAttr(srq_limit=size + 1), e.IBV_SRQ_LIMIT)
        self.refused(errno.EINVAL, player.srq.modify, SrqAttr(max_wr=size), 0x80)


class SharedQueue(Case):
    def test_resize(self):
        player = Connected(**self.dev_info, with_srq=True)
        wanted = min(player.srq.query().max_wr * 2, player.ctx.query_device().max_srq_wr)
        player.srq.modify(SrqAttr(max_wr=wanted), e.IBV_SRQ_MAX_WR)
        self.assertGreaterEqual(player.srq.query().max_wr, wanted)

    def test_limit_tells_once(self):
        self.pair(with_srq=True)
        for _ in range(10):
            self.server.srq.post_recv(u.get_recv_wr(self.server))
        self.server.srq.modify(SrqAttr(srq_limit=7), e.IBV_SRQ_LIMIT)
        self.assertEqual(self.server.srq.query().srq_limit, 7)
        for _ in range(4):
            self.send(self.client)
            u.poll_cq(self.client.cq)
            u.poll_cq(self.server.cq)
        event = self.server.ctx.get_async_event()
        event.ack()
        self.assertEqual(event.event_type, e.IBV_EVENT_SRQ_LIMIT_REACHED)
        self.assertEqual(self.server.srq.query().srq_limit, 0)  # no longer armed


class Completions(Case):
    def test_overrun_is_an_event(self):
        self.pair()
        small = CQ(self.server.ctx, 1)
        init = QPInitAttr(qp_type=e.IBV_QPT_RC, scq=small, rcq=small, cap=QPCap(max_recv_wr=64))
        qp = QP(self.server.pd, init, QPAttr(port_num=self.ib_port))
        for number in range(small.cqe + 1):
            qp.post_recv(RecvWR(wr_id=number, num_sge=1, sg=[SGE(0, 0, 0)]))
        qp.modify(QPAttr(qp_state=e.IBV_QPS_ERR), STATE)
        event = self.server.ctx.get_async_event()
        event.ack()
        self.assertEqual(event.event_type, e.IBV_EVENT_CQ_ERR)

    def test_resize_below_what_waits(self):
        self.pair()
        for _ in range(3):
            self.receive(self.server)
        self.server.qp.modify(QPAttr(qp_state=e.IBV_QPS_ERR), STATE)
        self.refused(errno.EINVAL, self.server.cq.resize, 2)
        self.server.cq.resize(3)
        self.assertEqual(self.status(self.server.cq, 3), [e.IBV_WC_WR_FLUSH_ERR] * 3)


class Errors(Case):
    def test_no_receive_posted(self):
        self.pair(rnr_retry=1)
        self.send(self.client)
        self.assertEqual(self.status(self.client.cq), [e.IBV_WC_RNR_RETRY_EXC_ERR])

    def test_receive_too_short(self):
        self.pair()
        self.receive(self.server, size=10)
        self.send(self.client)
        self.assertEqual(self.status(self.server.cq), [e.IBV_WC_LOC_LEN_ERR])
        self.assertEqual(self.status(self.client.cq), [e.IBV_WC_REM_INV_REQ_ERR])

    def test_unknown_lkey(self):
        self.pair()
        self.send(self.client, lkey=self.client.mr.lkey + 0x1000)
        self.assertEqual(self.status(self.client.cq), [e.IBV_WC_LOC_PROT_ERR])
        self.assertEqual(self.client.qp.query(STATE)[0].qp_state, e.IBV_QPS_ERR)

    def test_datagram_longer_than_the_mtu(self):
        self.pair(UDResources, msg_size=8192)
        wr, _ = u.get_send_elements(self.client, False)
        u.send(self.client, wr, ah=u.get_global_ah(self.client, self.gid_index, self.ib_port))
        self.assertEqual(self.status(self.client.cq), [e.IBV_WC_LOC_LEN_ERR])

    def test_atomic_access_taken_away_and_given_back(self):
        args = self.pair(msg_size=8)
        states = [(player, player.qp.query(0x1ffffff)[0]) for player in (self.client, self.server)]
        self.server.mr.rereg(flags=e.IBV_REREG_MR_CHANGE_ACCESS, access=e.IBV_ACCESS_LOCAL_WRITE)
        for player, other in ((self.client, self.server), (self.server, self.client)):
            player.raddr, player.remote_addr = other.mr.buf, other.mr.buf
        with self.assertRaisesRegex(PyverbsRDMAError, "Remote access error"):
            u.atomic_traffic(**args, send_op=e.IBV_WR_ATOMIC_FETCH_AND_ADD)
        for player, attr in states:
            player.qp.modify(QPAttr(qp_state=e.IBV_QPS_RESET), STATE)
        for player, attr in states:
            player.qp.to_rts(attr)
        self.server.mr.rereg(flags=e.IBV_REREG_MR_CHANGE_ACCESS, access=REMOTE)
        u.atomic_traffic(**args, send_op=e.IBV_WR_ATOMIC_FETCH_AND_ADD)
