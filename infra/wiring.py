"""Who hands what to whom, and who may do what to which part of the stack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onward.settings import Settings

from infra.access import Access
from infra.function import let_invoke, let_invoke_versions
from infra.live import let_follow_runs
from infra.models import let_ask

if TYPE_CHECKING:
    from infra.stack import OnwardStack


def connect(stack: OnwardStack) -> None:
    """Connect queues, stream, clock and driver with the functions that serve them."""
    driven, outbox = stack.driven, stack.outbox
    outbox.publish(stack.state.runs, stack.publish_outbox)
    outbox.consume(stack.start_run)
    outbox.deliver(stack.notify)
    ending = (driven.execute_step, driven.recover, driven.settle, stack.patrol_function)
    outbox.let_wake(stack.http_api, *ending)
    outbox.let_redrive(stack.http_api)
    stack.driver.let_start(stack.start_run)
    stack.driver.let_look_after(stack.patrol_function)
    stack.driver.let_answer(stack.http_api)
    stack.driver.let_answer(stack.patrol_function)
    outbox.start.grant_send_messages(stack.patrol_function)
    stack.patrol.call(stack.patrol_function, stack.driver)
    stack.live.route(stack.sockets)
    stack.live.let_post(stack.sockets.message, stack.push_events)
    stack.live.let_hang_up(stack.push_events)
    stack.wakes.consume(stack.push_events)
    for waker in (stack.publish_outbox, stack.sockets.message, stack.http_api, *ending):
        stack.wakes.queue.grant_send_messages(waker)


def grant(stack: OnwardStack) -> None:
    """Let each function do with the data what it does, and nothing else."""
    state, driven = stack.state, stack.driven
    # Whoever decides may have to resolve a step's input, and to keep it if it is large.
    deciding = (driven.execute_step, driven.recover, driven.settle, driven.park)
    state.let_commit(stack.http_api, stack.start_run, stack.patrol_function, *deciding)
    state.let_list(stack.http_api)
    state.let_count_active(stack.http_api, stack.start_run, stack.patrol_function)
    state.let_find_due(stack.patrol_function, stack.http_api, stack.notify)
    state.let_read(stack.publish_outbox)
    state.let_mark_deliveries(stack.notify)
    state.let_store(stack.http_api, stack.patrol_function, *deciding)
    state.let_fetch(stack.start_run)
    state.let_forget(stack.patrol_function)
    state.let_remember(stack.http_api, driven.execute_step)
    let_follow_runs(state, stack.sockets, stack.push_events)
    _grant_access(stack)
    state.let_follow(stack.http_api, "Put")
    state.let_follow(stack.patrol_function, "Query")
    let_ask(driven.execute_step, Settings(model_id=stack.context.model).model_names)
    let_invoke(driven.execute_step, stack.run_sandbox)
    let_invoke(stack.http_api, stack.patrol_function)
    let_invoke(stack.http_api, stack.notify)
    let_invoke_versions(stack.patrol_function, driven.execute_step)


def _grant_access(stack: OnwardStack) -> None:
    """Let those ask whether a key opens anything who are shown one, or what it opened.

    And one put the secrets of webhooks, and another sign with them.
    """
    access, sockets = Access(stack.state.access), stack.sockets
    access.let_look_after_keys(stack.http_api)
    access.let_keep_secrets(stack.http_api)
    access.let_sign(stack.notify)
    access.let_ask_for_keys(sockets.authorize, sockets.connect, sockets.message, stack.push_events)
