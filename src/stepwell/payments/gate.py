"""Where a run meets money: whether its assistant costs something, who pays, and the meter its graph charges with.

```
order ─> Cashier.admit ─┬─ the graph is free ──────────────────────────────> unchanged
                        ├─ a token in it ──> wallet.fund ──> its session ──> admitted; the token is stored nowhere in the run
                        ├─ a session of the owner, named or the thread's ──> admitted
                        └─ nothing ────────────────────────────────────────> PaymentRequiredError: nothing was started
```
A graph finds the meter and the run's owner in its config, under a name that no caller can set, so only the owner's sessions can be
charged. If the money runs out later, the run pauses (`CashuPaymentMiddleware`).
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from stepwell.database.types import Lease, Run, RunStatus
from stepwell.errors import PaymentRequiredError, SessionClosedError, StorageUnavailableError, TokenInvalidError
from stepwell.payments.charges import ChargesStored, stored_charges
from stepwell.payments.states import FUNDING_ID, PAYMENTS, TAKES_MONEY, TOKEN
from stepwell.runs.gates import Arrival, Attendance, Gate, SaidUntilStopped
from stepwell.runs.starting import RunOrder
from stepwell.supervision import Supervisor, stop
from stepwell.tools.background import split_graph_id

if TYPE_CHECKING:  # whatever needs the extra `payments` is passed in, or imported only on a server that charges
    from stepwell.clock import Clock
    from stepwell.database.persistence import Persistence
    from stepwell.payments.cashu.tokens import Token
    from stepwell.payments.configuration import Charging
    from stepwell.payments.ledger.database import DatabaseLedger
    from stepwell.payments.ledger.ledger import HandedOut, Reservation, Session
    from stepwell.payments.meter import RunPayments, WalletMeter
    from stepwell.payments.wallet.wallet import Wallet

logger = logging.getLogger(__name__)

_LOOK_AFTER_S = 60.0
_REWIND = "rewind"
"""The input of a run that takes turns back, as in `middleware/rewind`, which takes long to import."""


@asynccontextmanager
async def open_cashier(
    charging: Charging, paid_graphs: Collection[str], persistence: Persistence, clock: Clock, supervisor: Supervisor
) -> AsyncIterator[Cashier]:
    """The cashier of a server that charges. While open, it finishes interrupted exchanges with a mint and refunds idle sessions."""
    from stepwell.payments.configuration import open_wallet
    from stepwell.payments.ledger.database import DatabaseLedger
    from stepwell.payments.meter import WalletMeter

    async with open_wallet(charging, DatabaseLedger(persistence.database, clock), clock) as wallet:

        async def look_after() -> None:
            if not persistence.maintenance.leads():
                return  # another server does this
            await wallet.recover()
            await cashier.resolve_charges()
            await wallet.sweep()

        cashier = Cashier(wallet, WalletMeter(wallet, charging.price), charging, paid_graphs, persistence)
        looking = supervisor.repeat("payments", look_after, _LOOK_AFTER_S)
        try:
            yield cashier
        finally:
            await stop([looking])


class Cashier:
    """Determines who pays for a run before it is admitted, and gives its graph the meter."""

    def __init__(
        self, wallet: Wallet, meter: WalletMeter, charging: Charging, paid_graphs: Collection[str], persistence: Persistence
    ) -> None:
        self.wallet = wallet
        self.charging = charging
        self.paid_graphs = frozenset(paid_graphs)
        self._meter = meter
        self._persistence = persistence

    def _ledger(self, lease: Lease) -> DatabaseLedger:
        """The ledger as seen by the run that holds the lease."""
        from stepwell.payments.ledger.database import DatabaseLedger

        return DatabaseLedger(self._persistence.database, self._persistence.clock, lease)

    async def admit(self, owner: str, thread_id: str, graph_id: str, order: RunOrder) -> RunOrder:
        """The order with the session that pays. A token in the order belongs to the wallet from here on.

        Raises:
            PaymentRequiredError: Nobody pays. The error contains a payment request that wallets can read.
        """
        if graph_id not in self.paid_graphs or _only_rewinds(order):
            return without_token(order)
        known = await self.wallet.ledger.thread_sessions(owner, thread_id)
        order, funded = await self._exchange(owner, known, order)
        session = funded or await self._named(owner, order) or _open(known)
        if session is None:
            if _only_declines(order):  # the run is about to end, and costs nothing
                return order
            raise self._nobody_pays()
        if not known or known[0].session_id != session.session_id:
            await self.wallet.ledger.attach(session.session_id, thread_id)
        return with_session(order, session.session_id)

    def payments_of(self, run: Run, lease: Lease, said_until_stopped: SaidUntilStopped) -> RunPayments | None:
        """The payments object for the run's graph; None if the graph is free. The object charges only while the lease holds."""
        if not self._is_paid(run):
            return None
        from stepwell.payments.meter import RunPayments

        meter = self._meter.through(self._ledger(lease))
        return RunPayments(meter, run.owner, _session_of(run), said_until_stopped=said_until_stopped)

    def _is_paid(self, run: Run) -> bool:
        """Whether the run's graph costs money. A background subagent costs what its agent costs."""
        return split_graph_id(run.request.graph_id, self.paid_graphs)[1] in self.paid_graphs

    async def confirm_charges(self, run: Run, lease: Lease, payments: RunPayments, *, ended: bool) -> None:
        """Confirm the charges whose answers are in the thread, before a run is finished and whatever happens to it. A run that has
        reached its end, or was stopped by its caller, has delivered all its answers."""
        kept = payments.charged
        if kept and not ended:
            kept = sorted((await self._stored(run.thread_id, kept)).kept)
        if kept or payments.stopped:
            await self._ledger(lease).confirm(payments.session_id or "", [*kept, *payments.stopped])

    async def resolve_charges(self, session_id: str | None = None) -> None:
        """Settle what a crash or a stop left open: a charge stands if the thread has stored its answer. If the thread
        is idle, all other charges are taken back, and money held for calls is released."""
        by_thread: dict[str, list[Reservation]] = {}
        for open_one in await self.wallet.ledger.undecided(session_id):
            by_thread.setdefault(open_one.key.partition(":")[0], []).append(open_one)
        for thread_id, open_ones in by_thread.items():
            known = await self._stored(thread_id, [one.key for one in open_ones if one.state == "settled"])
            if known.kept:
                await self.wallet.ledger.confirm(open_ones[0].session_id, sorted(known.kept))
            for one in open_ones if known.at_rest else ():
                if one.state == "held":
                    await self.wallet.release(one)
                elif one.key not in known.kept:
                    await self.wallet.ledger.take_back(one.key, one.attempt)

    async def resolve_charges_of(self, run: Run) -> None:
        """`resolve_charges` after a run that did not reach its end."""
        session_id = _session_of(run) if self._is_paid(run) else None
        if session_id:
            try:
                await self.resolve_charges(session_id)
            except StorageUnavailableError as error:
                logger.warning("charges of a stopped run will be settled later: %s", error)

    async def refund(self, owner: str, session_id: str) -> HandedOut:
        """End a session; lost answers are not charged."""
        await self.wallet.session(owner, session_id)
        await self.resolve_charges(session_id)
        return await self.wallet.refund(owner, session_id)

    async def _stored(self, thread_id: str, keys: Sequence[str]) -> ChargesStored:
        return await stored_charges(self._persistence, thread_id, keys)

    async def _exchange(self, owner: str, known: Sequence[Session], order: RunOrder) -> tuple[RunOrder, Session | None]:
        """The order with its tokens moved to the wallet, and the session they are in."""
        session: Session | None = None
        _refuse_elsewhere(order)
        for text in _tokens_in(order):
            session = await self.take(owner, parse_token(text), session or _open(known))
        if session is None:
            return order, None
        return without_token(_with_answers_for(order, session.session_id)), session

    async def take(self, owner: str, token: Token, top_up: Session | None = None) -> Session:
        """The session of a token: the one it funded before, `top_up` if that has the same mint, or a new one."""
        before = await self.wallet.find_funding(owner, token)
        if before is None:
            joins = top_up is not None and top_up.mint == self.wallet.mint_of(token)
            before = await self.wallet.fund(owner, token, session_id=top_up.session_id if top_up and joins else None)
        return await self.wallet.session(owner, before.session_id)

    async def _named(self, owner: str, order: RunOrder) -> Session | None:
        """The session that the order itself names in an answer, else in the input, else in the configuration."""
        named = next((value for value in _found(order, FUNDING_ID) if isinstance(value, str)), None)
        if named is None:
            return None
        session = await self.wallet.session(owner, named)
        if session.state not in TAKES_MONEY:
            raise SessionClosedError(
                f"Payment session '{named}' is {session.state}: nothing can be spent from it any more. Fund a new one."
            )
        return session

    def _nobody_pays(self) -> PaymentRequiredError:
        from stepwell.payments.cashu.requests import PaymentRequest, encode_request

        deposit = self.charging.deposit_sats
        request = PaymentRequest(deposit, "sat", self.wallet.accepted_mints, description="The rest comes back.")
        return PaymentRequiredError(
            f"This assistant is paid for, call by call. Send a token of about {deposit} sats to POST /api/wallet/fund and start the run "
            "with the funding_id it returns, or send the token in the header X-Cashu. What is not used is refunded.",
            needed_sats=deposit,
            request=encode_request(request),
        )


class PaymentGate(Gate):
    """Asks who pays before a run is admitted. If nothing is charged here, it only keeps tokens out of what is stored."""

    takes = True
    passed_on = frozenset({FUNDING_ID})

    def __init__(self, cashier: Cashier | None) -> None:
        self._cashier = cashier

    async def admit(self, arrival: Arrival) -> Arrival:
        if self._cashier is None:
            return replace(arrival, order=without_token(arrival.order))
        paid = await self._cashier.admit(arrival.owner, arrival.thread_id, arrival.assistant.graph_id, arrival.order)
        return replace(arrival, order=paid)

    def check_stored(self, values: Any) -> None:
        refuse_token(values)

    def attend(self, run: Run, lease: Lease, said_until_stopped: SaidUntilStopped) -> Attendance | None:
        payments = self._cashier.payments_of(run, lease, said_until_stopped) if self._cashier else None
        return PaidRun(self._cashier, payments, run, lease) if self._cashier and payments else None


@dataclass(frozen=True)
class PaidRun(Attendance):
    """An attempt at a run that costs money."""

    cashier: Cashier
    payments: RunPayments
    run: Run
    lease: Lease

    @property
    def given(self) -> Mapping[str, Any]:
        return {PAYMENTS: self.payments}

    async def before_end(self, *, delivered: bool) -> None:
        await self.cashier.confirm_charges(self.run, self.lease, self.payments, ended=delivered)

    async def after_end(self, status: RunStatus) -> None:
        if status != "success":
            await self.cashier.resolve_charges_of(self.run)


def parse_token(text: str) -> Token:
    """The token in a request. All code after this point takes the parsed token."""
    from stepwell.payments.cashu.tokens import decode_token

    return decode_token(text)


def _session_of(run: Run) -> str | None:
    """The session that pays, chosen when the run was admitted."""
    session_id: str | None = (run.request.config.get("configurable") or {}).get(FUNDING_ID)
    return session_id


def _open(sessions: Sequence[Session]) -> Session | None:
    return next((session for session in sessions if session.state in TAKES_MONEY), None)


def without_token(order: RunOrder) -> RunOrder:
    """The order without the token that an older client put into it. If nothing is charged, the payer keeps that token."""
    _refuse_elsewhere(order)
    if not _found(order, TOKEN):
        return order
    command, config = dict(order.command or {}), dict(order.config)
    for part, name in ((command, "update"), (config, "configurable"), (command, "resume")):
        if name in part:
            part[name] = _without(part[name])
    if isinstance(answers := command.get("resume"), Mapping):
        command["resume"] = {name: _without(answer) for name, answer in answers.items()}
    return replace(order, input=_without(order.input), context=_without(order.context), command=command or None, config=config)


def refuse_token(values: Any) -> None:
    """Refuse a token in data that is stored without a run: it has nothing to pay for, and no session to be put into."""
    if _named_values(values).get(TOKEN):
        raise TokenInvalidError(
            "A token must not be sent here, where it would be stored. Send it to POST /api/wallet/fund, which returns an id.",
            "token_in_graph",
        )


def _refuse_elsewhere(order: RunOrder) -> None:
    """Refuse tokens in places that no client ever used for them and whose contents are stored unchanged."""
    command = order.command or {}
    goto, resume = command.get("goto"), command.get("resume")
    targets = goto if isinstance(goto, list) else [goto]
    inputs = [target.get("input") for target in targets if isinstance(target, Mapping)]
    answers = resume if isinstance(resume, list) else []
    for values in (*inputs, *answers, order.metadata, order.config.get("metadata")):
        refuse_token(values)


def _named_values(values: Any) -> Mapping[str, Any]:
    """The fields of an object, or of a list of pairs, which LangGraph accepts as an object in an update."""
    if isinstance(values, Mapping):
        return values
    pairs = values if isinstance(values, list | tuple) else ()
    return {
        pair[0]: pair[1] for pair in pairs if isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[0], str)
    }


def _without(values: Any) -> Any:
    if TOKEN not in _named_values(values):
        return values
    if isinstance(values, Mapping):
        return {name: value for name, value in values.items() if name != TOKEN}
    return [pair for pair in values if not isinstance(pair, list | tuple) or pair[:1] not in ([TOKEN], (TOKEN,))]


def _places(order: RunOrder) -> list[Mapping[str, Any]]:
    """Everything in an order that may name a session or contain a token, answers first."""
    command = order.command or {}
    resume = command.get("resume")
    answers = [resume, *resume.values()] if isinstance(resume, Mapping) else []
    places = [*answers, command.get("update"), order.input, order.context, order.config.get("configurable")]
    return [_named_values(place) for place in places]


def _only_declines(order: RunOrder) -> bool:
    """Whether the order does nothing but decline to pay."""
    resume = (order.command or {}).get("resume")
    if not isinstance(resume, Mapping) or not resume:
        return False
    answers = [resume] if "cancel" in resume else list(resume.values())
    return all(isinstance(answer, Mapping) and answer.get("cancel") is True for answer in answers)


def _only_rewinds(order: RunOrder) -> bool:
    """Whether the order does nothing but take turns back. If a model is asked all the same, the run pauses for money."""
    return not order.command and isinstance(order.input, Mapping) and set(order.input) == {_REWIND}


def _found(order: RunOrder, name: str) -> list[Any]:
    return [place[name] for place in _places(order) if place.get(name)]


def _tokens_in(order: RunOrder) -> list[str]:
    tokens = _found(order, TOKEN)
    if any(not isinstance(token, str) for token in tokens):
        raise TokenInvalidError(f"'{TOKEN}' is not text. A token begins with cashuA or cashuB.", "token_malformed")
    return list(dict.fromkeys(tokens))


def with_session(order: RunOrder, session_id: str) -> RunOrder:
    """Put the session's id where runs look for it, so that it is stored with the run. A context is the configuration under another name."""
    if order.context:
        return replace(order, context={**order.context, FUNDING_ID: session_id})
    configurable = {**(order.config.get("configurable") or {}), FUNDING_ID: session_id}
    return replace(order, config={**order.config, "configurable": configurable})


def _with_answers_for(order: RunOrder, session_id: str) -> RunOrder:
    """Replace answers that contain a token by the session's id."""
    command = order.command or {}
    resume = command.get("resume")
    if not isinstance(resume, Mapping):
        return order

    def exchanged(answer: Any) -> Any:
        return {FUNDING_ID: session_id} if isinstance(answer, Mapping) and TOKEN in answer else answer

    answers = exchanged(resume)
    answers = answers if answers is not resume else {name: exchanged(answer) for name, answer in resume.items()}
    return replace(order, command={**command, "resume": answers})
