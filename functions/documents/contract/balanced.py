"""The balanced reviewer's rules: customary, complete, and the same for both sides."""

from __future__ import annotations

from typing import Final

from documents.contract.stances import Look, Rules, Verdict, concern, fine, note, serious

LONG_TERM: Final = 5 * 365
SHORT_NOTICE, LONG_NOTICE = 14, 92
USUAL_PAYMENT, LATE_PAYMENT = 45, 60


def _parties(look: Look) -> Verdict:
    count = len(look.findings)
    if count > 1:
        return fine(f"{count} parties are named.")
    return concern("Only one party could be found.") if count else serious("No party is named.")


def _dates(look: Look) -> Verdict:
    if look.tagged("effective") or look.tagged("dated"):
        return fine("The contract says when it was made or takes effect.")
    return note("It is not said when the contract was made or takes effect.")


def _term(look: Look) -> Verdict:
    days = look.longest("fixed")
    if days is None:
        ends = look.findings or look.at("dates").tagged("ends")
        return note("It runs without a fixed length.") if ends else concern("No term is stated.")
    if days > LONG_TERM:
        return note(f"{look.findings[0].value} is longer than is customary.")
    return fine(f"A term of {look.findings[0].value} is customary.")


def _renewal(look: Look) -> Verdict:
    automatic = look.tagged("automatic")
    if automatic is None:
        return fine("It does not go on by itself.")
    if automatic.days is None:
        return concern("It renews by itself and no way to stop that was found in the clause.")
    if automatic.days > LONG_NOTICE:
        return concern(f"The notice to stop a renewal ({automatic.days} days) is unusually long.")
    return note(f"It renews by itself; {automatic.days} days to stop that are customary.")


def _notice(look: Look) -> Verdict:
    days = [f.days for f in look.findings if f.days is not None]
    if not days:
        return concern("No notice period is stated.")
    if min(days) < SHORT_NOTICE or max(days) > LONG_NOTICE:
        return note("A notice period is outside the customary two weeks to three months.")
    return fine("Notice periods are between two weeks and three months.")


def _termination(look: Look) -> Verdict:
    if not look.findings:
        return concern("No right to terminate early was found.")
    one_sided = look.tagged("one-sided")
    if look.tagged("cause", "either"):
        if one_sided:
            return note(f"Both sides may end it for cause, but: {one_sided.value}.")
        return fine("Either side may end it for cause.")
    if one_sided:
        return concern(f"The right to terminate is one-sided: {one_sided.value}.")
    return note("It may be ended for convenience; nothing is said of ending it for cause.")


def _amounts(look: Look) -> Verdict:
    if not look.findings:
        return note("No sum of money is stated.")
    currencies = sorted({f.currency for f in look.findings})
    if len(currencies) > 1:
        return note(f"Several currencies are used: {', '.join(currencies)}.")
    return fine("Sums are stated in one currency.")


def _payment(look: Look) -> Verdict:
    days = look.longest("due")
    if days is None:
        return concern("It is not said when payments are due.")
    if days > LATE_PAYMENT:
        return concern(f"{days} days to pay are more than the customary {LATE_PAYMENT}.")
    if days > USUAL_PAYMENT:
        return note(f"{days} days to pay are at the long end of what is customary.")
    return fine(f"{look.findings[0].value.capitalize()} is customary.")


def _liability(look: Look) -> Verdict:
    if look.tagged("capped"):
        unlimited = look.tagged("unlimited")
        return (
            note("Capped, but not for everything.") if unlimited else fine("Liability is capped.")
        )
    if look.tagged("unlimited"):
        return concern("Liability is expressly unlimited.")
    if look.findings:
        return concern("Some losses are dealt with, but there is no cap.")
    return serious("Nothing limits liability.")


def _confidentiality(look: Look) -> Verdict:
    if not look.findings:
        return note("There is no duty of confidentiality.")
    if look.tagged("mutual"):
        return fine("Both sides keep what they learn confidential.")
    return note("The duty of confidentiality may bind one side only.")


def _law(look: Look) -> Verdict:
    laws = sum(1 for finding in look.findings if "law" in finding.tags)
    if laws > 1:
        return concern("More than one law is named.")
    return fine("The governing law is named.") if laws else concern("No governing law is named.")


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
