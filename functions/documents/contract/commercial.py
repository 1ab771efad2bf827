"""The commercial reviewer's rules: price, cash, and the freedom to leave."""

from __future__ import annotations

from typing import Final

from documents.contract.stances import Look, Rules, Verdict, concern, fine, note, serious

LOCK_IN: Final = 24 * 30
LONG_NOTICE, VERY_LONG_NOTICE = 60, 90
PROMPT, SLOW = 30, 60
LONG_SECRECY: Final = 5 * 365


def _parties(look: Look) -> Verdict:
    if look.findings:
        return fine("There is somebody to do business with.")
    return concern("It is not clear whom to invoice.")


def _dates(look: Look) -> Verdict:
    if look.tagged("effective"):
        return fine("It is clear from when on there is revenue.")
    return note("The first day of business is not stated.")


def _term(look: Look) -> Verdict:
    days = look.longest("fixed")
    free = look.at("termination").tagged("convenience")
    if look.tagged("endless"):
        return fine("It runs on, and so does the business.")
    if days is None:
        return note("The length of the business is not stated.")
    if days < LOCK_IN:
        return fine(f"{look.findings[0].value} leave room for a better offer soon.")
    if free is None:
        return serious(f"Locked in for {look.findings[0].value}, whatever prices do.")
    if "one-sided" in free.tags:
        return note(f"{look.findings[0].value} with an exit: {free.value}.")
    return fine(f"{look.findings[0].value}, but either side may leave before.")


def _renewal(look: Look) -> Verdict:
    automatic = look.tagged("automatic")
    if automatic is None:
        return note("Each extension must be negotiated.")
    if automatic.days is not None and automatic.days > LONG_NOTICE:
        return concern(f"A better offer must be at hand {automatic.days} days before the end.")
    return fine("Business goes on without a new negotiation.")


def _notice(look: Look) -> Verdict:
    days = look.longest()
    if days is None:
        return note("How soon one may switch is open to negotiation.")
    if days > VERY_LONG_NOTICE:
        return serious(f"{days} days of paying after deciding to switch.")
    if days > LONG_NOTICE:
        return concern(f"Switching takes {days} days.")
    return fine(f"Switching takes {days} days at most.")


def _termination(look: Look) -> Verdict:
    free = look.tagged("convenience")
    if free is None:
        return concern("Nobody may leave for a better offer.")
    if "one-sided" in free.tags:
        return note(f"Only one side may leave for a better offer: {free.value}.")
    return fine("Either side may leave for a better offer.")


def _amounts(look: Look) -> Verdict:
    if look.largest() is None:
        return serious("There is no price.")
    if len({finding.currency for finding in look.findings}) > 1:
        return concern("Prices are in several currencies: somebody bears the exchange rate.")
    return fine("The price is stated.")


def _payment(look: Look) -> Verdict:
    days = look.longest("due")
    if days is None:
        return serious("Nobody can plan the cash: no due date is stated.")
    if days > SLOW:
        return serious(f"Cash is out for {days} days.")
    if days > PROMPT:
        return concern(f"Cash is out for {days} days; {PROMPT} would do.")
    return fine("Cash comes soon.")


def _liability(look: Look) -> Verdict:
    if look.tagged("unlimited"):
        return serious("Unlimited liability is priced in by whoever bears or insures it.")
    if look.tagged("capped"):
        return fine("A cap keeps the price of the risk known.")
    return concern("The risk has no price: there is no cap.")


def _confidentiality(look: Look) -> Verdict:
    days = look.longest("timed")
    if look.tagged("endless") or (days is not None and days > LONG_SECRECY):
        return note("Keeping secrets for so long has a running cost.")
    return fine("It does not move the price.")


def _law(look: Look) -> Verdict:
    if look.tagged("law"):
        return fine("No reason to haggle.")
    return note("A dispute about the law to apply would cost both sides.")


RULES: Final[Rules] = {
    "parties": _parties,
    "dates": _dates,
    "term": _term,
    "renewal": _renewal,
    "notice": _notice,
    "termination": _termination,
    "amounts": _amounts,
    "payment": _payment,
    "liability": _liability,
    "confidentiality": _confidentiality,
    "law": _law,
}
