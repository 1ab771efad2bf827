"""The risk-averse reviewer's rules: what the worst case may be, and whether it can be stopped."""

from __future__ import annotations

from typing import Final

from documents.contract.stances import Look, Rules, Verdict, concern, fine, note, serious

LONG_TERM: Final = 3 * 365
SHORT_NOTICE, LONG_NOTICE = 30, 90
RENEWAL_NOTICE: Final = 60
LARGE, VERY_LARGE = 100_000, 1_000_000
LEAST_SECRECY: Final = 2 * 365


def _parties(look: Look) -> Verdict:
    if len(look.findings) > 1:
        return fine("It is clear who is bound.")
    return serious("It is not clear who is bound.")


def _dates(look: Look) -> Verdict:
    if look.tagged("unclear"):
        return concern("Day and month of a date may be swapped; a deadline could be missed.")
    if look.tagged("effective"):
        return fine("It is clear when obligations begin.")
    return concern("It is not clear when obligations begin.")


def _term(look: Look) -> Verdict:
    days = look.longest("fixed")
    if look.tagged("endless"):
        return serious("It runs without an end.")
    if days is None:
        ends = look.tagged("dated") or look.at("dates").tagged("ends")
        return (
            note("Only an end date was found.") if ends else serious("Nothing says when it ends.")
        )
    if days > LONG_TERM:
        return concern(f"{look.findings[0].value} is long to be bound.")
    return fine("The time bound is limited.")


def _renewal(look: Look) -> Verdict:
    automatic = look.tagged("automatic")
    if automatic is None:
        return fine("It ends unless somebody acts.")
    if automatic.days is None or automatic.days > RENEWAL_NOTICE:
        early = f"{automatic.days} days ahead" if automatic.days else "at a time not found"
        return serious(f"It goes on unless stopped {early}: a missed date costs another period.")
    return concern("It goes on unless stopped in time.")


def _notice(look: Look) -> Verdict:
    shortest, longest = look.shortest(), look.longest()
    if shortest is None or longest is None:
        return serious("Without a notice period it may end, or bind, from one day to the next.")
    if shortest < SHORT_NOTICE:
        return concern(f"{shortest} days are too few to find a replacement.")
    if longest > LONG_NOTICE:
        return concern(f"{longest} days are a long time to be bound after deciding to leave.")
    return fine("There is time to react.")


def _termination(look: Look) -> Verdict:
    if not look.findings:
        return serious("There is no way out, not even after a breach.")
    if not look.tagged("cause"):
        return serious("Nothing allows to leave after a breach.")
    free = look.tagged("convenience")
    if free:
        return note(f"The other side may leave without a reason: {free.value}.")
    return fine("A breach is a way out.")


def _amounts(look: Look) -> Verdict:
    largest = look.largest()
    if look.tagged("unclear"):
        return serious("A sum can be read in two ways.")
    if largest is None or largest.amount is None:
        return concern("What is at stake cannot be estimated: no sum is stated.")
    if largest.amount >= VERY_LARGE:
        return serious(f"{largest.value} are at stake.")
    if largest.amount >= LARGE:
        return concern(f"{largest.value} are at stake.")
    return fine(f"The largest sum is {largest.value}.")


def _payment(look: Look) -> Verdict:
    if look.longest("due") is None:
        return concern("Without a due date nobody is ever late.")
    if not look.tagged("late-interest"):
        return note("Being late costs nothing.")
    return fine("A due date and interest on late payments are stated.")


def _liability(look: Look) -> Verdict:
    if not look.findings:
        return serious("Exposure has no limit: the contract is silent.")
    if look.tagged("unlimited"):
        return serious("Exposure has no limit.")
    if not look.tagged("capped"):
        return serious("Some losses are excluded, but the rest has no limit.")
    if not look.tagged("indirect-excluded"):
        return concern("There is a cap, but indirect losses are not excluded.")
    return fine("There is a cap, and indirect losses are excluded.")


def _confidentiality(look: Look) -> Verdict:
    if not look.findings:
        return serious("Nothing keeps what is disclosed secret.")
    if look.tagged("endless"):
        return note("The duty never ends; breaches may surface late.")
    days = look.longest("timed")
    if days is None:
        return concern("It is not said how long secrets are kept.")
    if days < LEAST_SECRECY:
        return concern(f"Secrets are kept for {days} days only.")
    return fine("Secrets are kept for years after the end.")


def _law(look: Look) -> Verdict:
    if not look.tagged("law"):
        return serious("Nobody can foretell which law decides.")
    if not look.tagged("forum"):
        return note("The law is named, but not who decides a dispute, or where.")
    return fine("Law and forum are named.")


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
