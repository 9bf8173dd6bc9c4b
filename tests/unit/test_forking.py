"""Locks and gates beside a fork: what a thread of the parent holds does not stop the child."""

from __future__ import annotations

import threading

from gem_index.common.forking import ForkGate, ForkSafeLock
from gem_index.testing.processes import in_forked_child


def test_a_lock_that_another_thread_holds_is_free_in_the_child():
    lock, held, done = ForkSafeLock(), threading.Event(), threading.Event()

    def hold():
        with lock:
            held.set()
            done.wait(60)

    def use():
        with lock:
            pass

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(60)
    try:
        in_forked_child(use, 20)
    finally:
        done.set()
        thread.join()
    use()


def test_a_fork_waits_for_other_threads_inside_a_gate_but_not_for_its_own():
    order = []
    gate, entered = ForkGate(lambda: order.append("before the fork")), threading.Event()
    inside = threading.Event()

    def pass_through():
        with gate.passing():
            entered.set()
            inside.wait(60)
            order.append("outside")

    thread = threading.Thread(target=pass_through)
    thread.start()
    entered.wait(60)
    threading.Timer(0.2, inside.set).start()

    def enter():
        with gate.passing():
            pass

    with gate.passing(), gate.passing():
        in_forked_child(enter, 20)
    thread.join()
    assert order == ["outside", "before the fork"]
    enter()  # the parent may go on, too
