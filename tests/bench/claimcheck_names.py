"""Other names for the tools of claimcheck-bench, to see what a verdict hangs on.

A checker that knows the names of a bench says nothing about the tools of a new user. Three renamings leave less and
less of a name; arguments, results and texts stay as they are, so everything a verdict needs is still in the run:

- vendor: `acme.calendar_create_event`. All words stay; only a list of known names breaks.
- synonyms: `agenda.reserve_appointment`. Each word gives way to another of the same meaning, as another team would have
  named the tool. Who reads the verb loses nothing; who compares stems of the name with stems of the claim loses all.
- neutral: `tool_02`. The name says nothing; what is left are arguments and results. Here silence is a fair answer.
"""

from __future__ import annotations

from tests.bench.claimcheck_traces import Rename

PUBLISHED = "names as published"
SYNONYMS = {
    "calendar.search_slots": "agenda.find_openings",
    "calendar.create_event": "agenda.reserve_appointment",
    "email.send_invite": "mailer.dispatch_invitation",
    "fs.read_file": "disk.load_document",
    "fs.write_file": "disk.save_document",
    "shell.run": "terminal.execute",
    "git.commit": "vcs.check_in_changes",
    "crm.search_contacts": "customers.look_up_people",
    "crm.get_contact": "customers.fetch_person",
    "crm.update_contact": "customers.modify_person",
    "crm.add_note": "customers.append_remark",
    "crm.update_deal_stage": "customers.advance_opportunity",
}
NEUTRAL = {name: f"tool_{number:02}" for number, name in enumerate(sorted(SYNONYMS), 1)}


def vendor(name: str) -> str:
    """Return the name under a vendor's prefix, all its words kept."""
    return "acme." + name.replace(".", "_")


RENAMINGS: dict[str, Rename] = {
    PUBLISHED: str,
    "vendor": vendor,
    "synonyms": SYNONYMS.__getitem__,
    "neutral": NEUTRAL.__getitem__,
}
