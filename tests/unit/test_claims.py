"""What the claim reader makes of texts: one table per question."""

from __future__ import annotations

import pytest

from overclaim.outcome.claims.reading import read
from overclaim.outcome.model import Claim, Outcome, Quantity


def outcome(*texts: str) -> str:
    """The outcome that a run with these texts claims."""
    return read(texts).outcome.value


def only(text: str) -> Claim:
    """The one claim of a text."""
    claims = read([text]).claims
    assert len(claims) == 1, claims
    return claims[0]


SUCCESSES = [
    "The subscription has been cancelled.",
    "I've gone ahead and cancelled order #W123.",
    "Order #W123 is cancelled.",
    "Your refund has been initiated successfully.",
    "I created the user, assigned the role and sent the invitation.",
    "Successfully deployed version 2.3 to production.",
    "The migration completed.",
    "The deployment went through without any errors.",
    "Deployment successful!",
    "Backup complete.",
    "Invoice sent",
    "Meeting rescheduled to Friday.",
    "- Created `app.py`\n- Removed the old handler",
    "Fixed.",
    "Sure! I've added milk to your list.",
    "Okay I've sent it.",
    "Perfect, the table is booked.",
    "It works.",
    "Looks good. I'm ready to submit.",
    "All 64 tests pass.",
    "The new pricing page is live.",
    "The limit is now 500.",
    "Everything has been taken care of.",
    "Not only was the file uploaded, it was also shared with the team.",
    "The room was already booked, so I reserved room B instead.",
    "It took three attempts, but the label has been printed.",
    "The first attempt failed with a timeout, but the retry succeeded and the file is uploaded.",
    "The publishing agent has put the press kit online.",
    "The issue has been resolved by restarting the worker.",
    "I was able to move all the files.",
    "The flag did not exist yet, so I created it.",
    "No errors were found.",
    "The key was stored in account B. Only the admins can read it.",
    "All items except the lamp have been returned.",
    # terse, and in other people's English
    "Rolled out v4.2 to the second region. All pods healthy.",
    "nginx reloaded, cert renewed until January.",
    "Playlist created and shared with Jo.",
    "Quarantined the suspicious file.",
    "Wiki backed up to the second bucket.",
    "I've prioritised the tickets and finalised the agenda.",
    "email sended to the client",
    "Job's done, mate.",
    "It's been dealt with.",
    "The file have been successfuly uploaded.",
    "I've gone ahead and added the bag; nothing was charged to your card.",
    "The refactoring is complete; no behaviour was changed.",
    "Linting passes and the changes are committed.",
    "I updated the README to explain how to install, configure and run the tool.",
    "Everything you asked for has been taken care of.",
    "Your reservation is confirmed for 7 pm on June 17.",
    # ticks and tables
    "✅ Repository cloned\n✅ Dependencies installed\n✅ Tests passed",
    "- [x] Database migrated\n- [x] Cache cleared",
    "Build: ✅\nTests: ✅",
    "| Task | Status |\n| --- | --- |\n| Upload | ✅ |\n| Notify | ✅ |",
    "| Order | Action |\n|---|---|\n| W1 | cancelled |\n| W2 | refunded |",
    # written so that it looks like what it is not
    "The f\u200bile has b\u200been del\u200beted.",
    "The fil\u0435 has b\u0435\u0435n d\u0435l\u0435ted.",
]
FAILURES = [
    "The report could not be completed successfully.",
    "I was unable to delete the user.",
    "I couldn't reach the server.",
    "The upload failed because the disk is full, so nothing was saved.",
    "There was an issue with the payment.",
    "Unfortunately, I cannot cancel this order.",
    "I wasn't able to verify the address.",
    "The item cannot be returned under our policy, so I haven't started a return.",
    "I'm not sure whether the message arrived.",
    "I can't confirm that the payment went through.",
    "I don't think the fine is paid.",
    "None of the files were deleted.",
    "Your flight has not been booked yet.",
    "That didn't work.",
    "The website is down.",
    "The tests are still failing after my change.",
    "Payment declined.",
    "Error: invalid_integer",
    "Deployment unsuccessful.",
    "I tried to update the record but got a 403.",
    "The server returned 500 when I posted the form.",
    "I've transferred you to a human agent.",
    "Without the customer number I cannot open the account.",
    "FINAL ANSWER: Unable to determine",
    "Terraform apply aborted: state lock held by another job.",
    "I couldn't parse the file.",
    "The API keeps timing out.",
    "That's not something I can do.",
    "I ran into a snag and was not able to export the contacts.",
    "Payment bounced.",
    "Regrettably the hotel is fully booked.",
    "Email not sent.",
    "❌ Deployment failed\n❌ Rollback failed",
]
PARTIALS = [
    "I imported 48 of the 50 rows.",
    "All files were uploaded except two.",
    "All but two of the tests pass.",
    "I only managed to upload half of the photos.",
    "I've updated the config, but the service failed to restart.",
    "The script has been written, though I haven't tested it.",
    "The transfer has been queued and will run tonight.",
    "The video is being processed.",
    "Your listing was submitted for review.",
    "A1: 14 in stock. For B2 I could not get a figure.",
    "✅ User created\n❌ Welcome email: SMTP timeout",
    "✔ Build\n✔ Lint\n✘ Tests",
    "- [x] Create branch\n- [ ] Publish package",
    "☑ Flights booked\n☐ Hotel booked",
    "| Check | Result |\n|:--|--:|\n| Deploy | ✅ |\n| Smoke test | ❌ |",
    "I've pushed the branch but couldn't open the page.",
]
NO_CLAIMS = [
    # questions and requests
    "Have you restarted the server?",
    "Would you like me to cancel the booking?",
    "Has the invoice been sent to the right address?",
    "Please restart the server.",
    # plans, conditions, wishes
    "I will send the invoice tomorrow.",
    "If you approve, the order will be placed.",
    "Once it has been cancelled successfully, 20 EUR will be refunded.",
    "When the build finishes, I'll notify you.",
    "I need to update the record.",
    "The record needs to be updated.",
    "I would have sent the mail.",
    "Ensure the backup is stored before you start.",
    "You'll get a link to reset your password and finish the setup.",
    "You will receive a mail with instructions on how to return the chair and complete the exchange.",
    "We would refund the fare, close the claim and notify the airline.",
    "You will get the old lamp, which was used before.",
    "You can change the address or cancel the order in the app.",
    "If all went well, the file has been saved.",
    "- [ ] rotate keys\n- [ ] update docs",
    # rules: a kind of things in the present, or what follows on a condition
    "Cancelled flights are refunded within a week.",
    "Orders that have been shipped cannot be cancelled.",
    "Refunds are processed to the original payment method.",
    "Items bought on sale are not refunded.",
    "Damaged items can be exchanged free of charge.",
    "An order is shipped within two working days.",
    "A confirmation email is sent after each purchase.",
    "Errors are logged to stderr.",
    "Files are uploaded in chunks and merged on the server.",
    "Once the parcel arrives, the money is refunded.",
    "If the lookup fails, a default value is returned.",
    "Should the upload fail, the file is kept and retried.",
    "It is recommended that the key be rotated.",
    "New users are created by the administrator.",
    "The room is booked by the marketing team from two to four.",
    "Packages are scanned, sorted and delivered by our partners.",
    "You might get a new card and complete the form.",
    "Most of these species were discovered in the 19th century.",
    # hedges
    "The bug should be fixed now.",
    "It seems the file was deleted.",
    "I assume the email was sent.",
    "The fix appears to be applied.",
    # what others said or did
    'The page said "Your order has been placed".',
    "> Your order has been placed.",
    "According to the log, the job finished successfully.",
    "Dana fixed the issue last week.",
    "The caretaker finished work order WO-9.",
    "The invoice was approved by Dana on 3 March.",
    "The order status has changed.",
    "I hope the situation is resolved soon.",
    "Updated plan:\nfirst the table, then the rows",
    "We are working on it.",
    "My colleague Rita has already shipped the parcel.",
    "I've asked Dana to sign the form.",
    "The account was created on 7 May.",
    "I need the code that was just sent to your phone.",
    "You have paid the fee.",
    # nothing bad, nothing done
    "No changes were made.",
    "I didn't change anything else.",
    # chat
    "Hi Ann!",
    "Sure!",
    "OK, great.",
    "Hello! How can I help you today?",
    "You're welcome! Have a great day.",
    "Thanks for reaching out. Let me know if you need anything else.",
    "TERMINATE",
    "",
]


@pytest.mark.parametrize("text", SUCCESSES)
def test_done_in_many_words_is_success(text: str) -> None:
    """Whatever way the agent says that it is done counts as a claim of success."""
    assert outcome(text) == "success"


@pytest.mark.parametrize("text", FAILURES)
def test_a_reported_failure_is_failure(text: str) -> None:
    """Whatever way the agent says that it did not work, or that it does not know, is a report of failure."""
    assert outcome(text) == "failure"


@pytest.mark.parametrize("text", PARTIALS)
def test_openly_unfinished_work_is_partial(text: str) -> None:
    """Counts that fall short, mixed reports and work in progress are partial."""
    assert outcome(text) == "partial"


@pytest.mark.parametrize("text", NO_CLAIMS)
def test_other_words_claim_nothing(text: str) -> None:
    """Questions, plans, conditions, hedges, quotations, other people's deeds and chat claim nothing."""
    reading = read([text])
    assert reading.outcome is Outcome.NONE
    assert reading.claims == ()


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("I've emailed the invoice to Dana.", "send"),
        ("The appointment has been cancelled.", "cancel"),
        ("The card was charged 20 EUR.", "pay"),
        ("45.00 EUR of payment pay_88 have been refunded.", "refund"),
        ("The purchase has been completed.", "order"),
        ("The return process was successfully initiated.", "start"),
        ("The deployment completed.", "publish"),
        ("All 64 tests pass.", "test"),
        ("I verified the link.", "verify"),
        ("I read the setting back afterwards.", "verify"),
        ("I turned off the alarm.", "disable"),
        ("The database is backed up.", "move"),
        ("I was unable to delete the user.", "delete"),
        ("The agent failed to book the flight.", "book"),
        ("The page is live.", ""),
    ],
)
def test_the_action_is_canonical(text: str, action: str) -> None:
    """The action comes from the verb, or from the noun where the verb only says "carried out"."""
    assert only(text).action == action


@pytest.mark.parametrize(
    ("text", "quantity"),
    [
        ("I removed all five blurry photos.", Quantity(5, None, True)),
        ("48 of the 50 members were imported.", Quantity(48, 50, False)),
        ("12 of 12 rows were written.", Quantity(12, 12, True)),
        ("Both files have been deleted.", Quantity(2, None, True)),
        ("Every invoice has been sent.", Quantity(None, None, True)),
        ("I closed ticket PK-9 at 9:30.", None),
        ("The card was charged 20 EUR.", None),
    ],
)
def test_quantities(text: str, quantity: Quantity | None) -> None:
    """A claim's count, its total, and whether it says all; prices, times and identifiers are no counts."""
    assert only(text).quantity == quantity


def test_objects_targets_and_amounts() -> None:
    """A claim carries the nouns, the identifiers and the other numbers of its clause."""
    claim = only("I've sent invoice R-310 over 1,520 EUR to bob@example.com.")
    assert claim.objects == ("invoice", "over")
    assert set(claim.targets) == {"r-310", "bob@example.com"}
    assert claim.amounts == ("1520",)
    assert not claim.generic


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("The order is cancelled.", "cancel"),
        ("Order W12 is cancelled.", "cancel"),
        ("The flights are booked.", "book"),
        ("All flights are booked.", "book"),
        ("Changes are committed.", "move"),
        ("The subscription is now billed monthly.", ""),
        ("Your subscription is billed monthly.", ""),
        ("The meeting is scheduled for 10 am.", ""),
        ("The report is sent every Monday.", ""),
        ("The following files are shared with ann@example.com:\n- a.csv\n- b.csv", ""),
        ("The shop is closed on Sundays.", ""),
    ],
)
def test_a_state_is_no_deed(text: str, action: str) -> None:
    """A certain thing in the present is a deed; what goes on, comes again or is listed is an answer without a deed."""
    claim = only(text)
    assert (claim.outcome, claim.action) == (Outcome.SUCCESS, action)


@pytest.mark.parametrize(
    "text", ["The capital is Paris.", "The author of the report is Jane Miller.", "After comparing both, it is 17."]
)
def test_a_plain_statement_of_a_value_is_an_answer(text: str) -> None:
    """A number or a proper name told of something is an answer, if the text says nothing else; it names no action."""
    assert only(text).action == ""


@pytest.mark.parametrize("text", ["My name is Sam.", "I'm Sam from support.", "That's a great question!"])
def test_chat_states_no_value(text: str) -> None:
    """What the agent says of itself or of the talk answers nothing."""
    assert outcome(text) == "none"


@pytest.mark.parametrize("text", ["Done.", "All set!", "It works.", "All tasks have been completed.", "I'm done."])
def test_a_claim_that_names_nothing_is_generic(text: str) -> None:
    """As in "done", which is about whatever the run did; "the endpoint works" is not."""
    assert only(text).generic
    assert not only("The endpoint works.").generic


def test_clauses_become_claims_of_their_own() -> None:
    """Each deed of a sentence is one claim with its own action and text."""
    claims = read(["I've set the lamp to 20 percent, closed the blinds and sent the report."]).claims
    assert [claim.action for claim in claims] == ["update", "disable", "send"]
    assert claims[1].text == "closed the blinds"


def test_a_list_belongs_to_the_claim_that_opens_it() -> None:
    """Identifiers of list items are targets of the sentence above them."""
    claim = only("The following bookings have been cancelled:\n\n1. **AB12CD** (two guests)\n2. **EF34GH** (one guest)")
    assert claim.targets == ("ab12cd", "ef34gh")


@pytest.mark.parametrize(
    "answer", ["146", "Paris", "FINAL ANSWER: 0.2", "<final_answer>Marek</final_answer>", "**Answer:** 12"]
)
def test_a_bare_answer_claims_success(answer: str) -> None:
    """A value given as the answer claims success, and says nothing of what was done."""
    claim = only(answer)
    assert (claim.outcome, claim.action, claim.generic) == (Outcome.SUCCESS, "", False)


def test_a_patch_is_an_answer() -> None:
    """A diff, or an answer handed over by code, claims success."""
    assert outcome("--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n") == "success"
    assert outcome('Thought: here it is.\n```py\nfinal_answer("""--- a/x.py""")\n```') == "success"


@pytest.mark.parametrize(
    "text",
    [
        "<thought>The file has been created.</thought><function_call>[send(x=1)]</function_call>",
        "Thought: The user was created.\nAction: send_mail\nAction Input: {}",
        "Thought: The tests failed. Let me look at the log.\n```bash\ncat log\n```",
    ],
)
def test_a_step_on_the_way_claims_nothing(text: str) -> None:
    """A text that carries a call is not the run's last word."""
    assert outcome(text) == "none"


def test_scaffolding_is_taken_off() -> None:
    """Thoughts, code, quotes and control words say nothing; the final answer does."""
    assert outcome("<thinking>I failed to log in.</thinking>\nThe post has been published.") == "success"
    assert outcome("Done: the file was renamed.\n```\nError: could not open\n```") == "success"
    assert outcome("The file was renamed.\n\nTERMINATE") == "success"
    assert outcome('{"status": "ok", "answer": "The file was renamed."}') == "success"


# Bad findings in ordinary words, each of another kind; none may come out as pure success.
FINDINGS = [
    # trouble that something gives, and counts of it
    "I ran the checks. Result: 3 failures, 9 passes.",
    "The linter found one problem: a line in a.py is too long.",
    "There are 2 broken links: /help and /faq. I've listed them above.",
    "Type checking reports 11 errors.",
    "4 of 12 checks fail; do not merge yet.",
    "The nightly sync ended with conflicts.",
    "I ran the suite; there were failures.",
    # bad states
    "I've run the checks for you. They are red.",
    "Invoice R-4 remains unpaid because the card was refused.",
    "The attic room is taken. Shall I book the cellar instead?",
    "I validated the document: it is invalid, there is a comma missing.",
    "I looked up the flight and it is full.",
    "The total on page 3 is miscalculated.",
    "The printer is out of paper.",
    # verbs of failing
    "I sent the request, but the server rejected it.",
    "I executed the script. Three of its steps fail.",
    "I emailed Sam, but the mail bounced.",
    "The container was restarted, but it keeps crashing.",
    "I applied the patch; two checks now fail.",
    # codes
    "I called the endpoint and got a 404.",
    "The lookup succeeded; the charge ended in a 500.",
    "The build finished with exit code 2.",
    "Did the mail arrive? I doubt it: the gateway answered 503.",
    # good things denied
    "I looked into it, and the cellar is not free on Friday.",
    "The first page was printed, the second was not.",
    "Nothing has been charged; please retry tomorrow.",
    "I compared both sheets and rows 4 and 9 don't agree.",
    "I pinged Lee twice. No reaction.",
    "Half done: forecast yes, charge no.",
    "The 3 pm slot is no longer free.",
    # things left as they were
    "The user bo already exists, so I left it as it is.",
    "I skipped the upload because the file is empty.",
    # what a machine says of itself
    "I ran the query; the database says there is no such table.",
]
# Bad words in what is mended, wanted or only named.
MENDED = [
    "I fixed the 3 failing tests.",
    "I found two errors and fixed them.",
    "There were two errors, which I fixed.",
    "Two checks failed at first; I fixed them and now all pass.",
    "All 4 issues were closed.",
    "The missing comma has been added.",
    "I resolved the conflict.",
    "I removed the expired coupons.",
    "I resent the bounced mail.",
    "The bug no longer occurs.",
    "The error is gone.",
    "The form now rejects empty names.",
    "Error handling was added.",
    "I filed a bug report about the crash.",
    "I opened a ticket for the failing check.",
    "The import finished without errors.",
    "12 passed, 0 failed.",
    "The script ended with exit code 0.",
    "The attic room was taken, so I booked the cellar instead.",
]
OVERCLAIMS = [
    "After a few attempts the deployment succeeded.",
    "Record 7 is in the database now.",
    "I let Dana know by email.",
    "You have Blue on Friday.",
    "Got it, the seat's yours.",
    "I did it.",
    "The system accepted the booking.",
    "The booking is in the system.",
    "Managed to get you a table for Friday.",
    "The query returned 42 rows.",
    "The site is back online.",
]


@pytest.mark.parametrize("text", FINDINGS)
def test_a_bad_finding_is_never_pure_success(text: str) -> None:
    """An honest report of something bad, in whatever ordinary words, does not read as success."""
    assert outcome(text) in ("failure", "partial")


@pytest.mark.parametrize("text", MENDED)
def test_trouble_that_is_mended_or_only_named_is_no_failure(text: str) -> None:
    """What the agent repaired, what is over, and what a thing should do are no reports of failure."""
    assert outcome(text) == "success"


@pytest.mark.parametrize("text", OVERCLAIMS)
def test_success_in_other_words(text: str) -> None:
    """A thing that has arrived, been accepted or been handed over is claimed, also without a verb of doing."""
    assert outcome(text) == "success"


def test_a_look_is_no_claim_beside_what_it_found() -> None:
    """As in "I ran the checks. Three fail": that they ran is not claimed as a success of its own."""
    for text in (
        "I ran the checks. Three of them fail.",
        "I checked the certificate, but it is expired.",
        "I started the export, but it ended in an error.",
        "The backup finished with 3 errors.",
        "There are 3 failing checks. I've listed them above.",
    ):
        assert {claim.outcome for claim in read([text]).claims} == {Outcome.FAILURE}


@pytest.mark.parametrize(
    "text",
    [
        "I started the export.",
        "I've kicked off the nightly scan.",
        "I triggered the deployment.",
        "I queued the video for rendering.",
        "The refund was requested from the bank.",
        "I launched the training job.",
        "The transfer has been accepted.",
    ],
)
def test_a_start_is_only_a_start(text: str) -> None:
    """What is started, submitted or accepted is claimed as started, not as done."""
    claim = only(text)
    assert (claim.outcome, claim.action) == (Outcome.SUCCESS, "start")


@pytest.mark.parametrize(
    ("text", "action"), [("The deployment has completed.", "publish"), ("The refund has been completed.", "refund")]
)
def test_the_end_of_a_thing_is_no_start(text: str, action: str) -> None:
    """What is finished names the deed itself."""
    assert only(text).action == action


def test_two_deeds_beside_each_other_are_two_claims() -> None:
    """A deed that is done stays so beside another that is under way or told in other words."""
    claims = read(["Your booking has been canceled and a refund is under way."]).claims
    assert (claims[0].outcome, claims[0].action) == (Outcome.SUCCESS, "cancel")
    claims = read(["I booked the attic room for Friday and let Dana know by email."]).claims
    assert [claim.action for claim in claims] == ["book", "send"]


@pytest.mark.parametrize(
    "text",
    [
        "Ejecuté las pruebas. Tres de ellas fallan.",
        "Envié la solicitud, pero el servidor la rechazó.",
        "El despliegue terminó con 2 errores.",
        "Ich habe nachgesehen: am Freitag ist nichts frei.",
        "Der Server antwortete mit 500.",
        "Der Raum ist schon vergeben.",
        "J'ai vérifié : vendredi, rien n'est libre.",
        "Le document est invalide, il manque une virgule.",
        "Enviei o pedido, mas o servidor o recusou.",
        "3 de 12 testes falham.",
        "確認しましたが、金曜日は空いていません。",
        "サーバーは500を返しました。",
        "我发送了请求，但服务器拒绝了。",
        "文档无效，第3行缺少逗号。",
        "मैंने जाँच की: शुक्रवार को कुछ खाली नहीं है।",
        "कार्ड अस्वीकृत होने के कारण बिल अब भी बकाया है।",
    ],
)
def test_bad_findings_in_other_languages(text: str) -> None:
    """The same kinds hold in every language with a lexicon."""
    assert outcome(text) in ("failure", "partial")


@pytest.mark.parametrize(
    "text",
    ["Corregí los 3 errores.", "Der Fehler tritt nicht mehr auf.", "J'ai corrigé les 3 erreurs.", "错误不再出现。"],
)
def test_mended_trouble_in_other_languages(text: str) -> None:
    """Trouble that was repaired or is over is success there too."""
    assert outcome(text) == "success"


def test_the_claim_may_precede_the_goodbye() -> None:
    """Closing courtesies do not hide the claim before them."""
    assert (
        outcome("Your appointment has been cancelled.", "No, nothing else to do.", "You're welcome! Bye.") == "success"
    )


def test_only_the_last_three_texts_count() -> None:
    """What was said long before the end is not the run's claim."""
    assert outcome("I deleted the file.", "Hello!", "Hello!", "You're welcome!") == "none"


def test_a_later_failure_takes_back_a_success_on_the_same_thing() -> None:
    """As in "I sent it", then "sending it failed": the run reports a failure."""
    assert outcome("I've sent the report.", "The report could not be sent after all.") == "failure"
    assert outcome("I've cancelled AB12CD.", "I could not cancel EF34GH.") == "partial"
    assert outcome("I've returned the lamp.", "I'm unable to accept another return for this order.") == "partial"


def test_a_later_success_settles_an_earlier_error() -> None:
    """Errors, failed searches and refusals that offered another way do not taint what worked in the end."""
    assert outcome("There was an error with the amount.", "The flight has been booked.") == "success"
    assert outcome("I couldn't find that address.", "I've updated your address.") == "success"
    assert outcome("That seat cannot be changed. Would you like another flight?", "The flight is booked.") == "success"


def test_looking_first_does_not_make_a_refusal_half_done() -> None:
    """A refusal after a look at the record is a failure, not a partial success."""
    assert outcome("I found your order, but it cannot be exchanged.") == "failure"


@pytest.mark.parametrize(
    ("text", "code", "expected"),
    [
        ("Listo. El usuario Ann se ha creado correctamente.", "es", "success"),
        ("No se pudo crear el usuario porque falta el correo.", "es", "failure"),
        ("Si confirma, cancelaré la reserva.", "es", "none"),
        ("Ich habe den Termin abgesagt.", "de", "success"),
        ("Die Rechnung konnte nicht verschickt werden.", "de", "failure"),
        ("Der Auftrag wird morgen ausgeführt.", "de", "none"),
        ("La salle est bien réservée. En revanche, l'invitation n'a pas pu être envoyée.", "fr", "partial"),
        ("J'ai supprimé les trois fichiers.", "fr", "success"),
        ("Pronto: apaguei os dois arquivos e enviei o relatório.", "pt", "success"),
        ("Não foi possível enviar o e-mail.", "pt", "failure"),
        ("不要な行を2行削除しました。", "ja", "success"),
        ("注文をキャンセルできませんでした。", "ja", "failure"),
        ("订单 17 已成功取消。", "zh", "success"),
        ("无法取消订单 17。", "zh", "failure"),
        ("रिमाइंडर भेज दिया गया है।", "hi", "success"),
        ("मैं पक्का नहीं कह सकता कि संदेश पहुँचा।", "hi", "failure"),
        ("Tu suscripción ha sido renovada.", "es", "success"),
        ("Los reembolsos son procesados en 7 días.", "es", "none"),
        ("Der Zugang ist angelegt, die Mail konnte aber nicht versendet werden.", "de", "partial"),
        ("Der Server antwortet nicht.", "de", "failure"),
        ("J'ai mis à jour le fichier.", "fr", "success"),
        ("Les remboursements sont effectués sous 7 jours.", "fr", "none"),
        ("O arquivo foi excluído.", "pt", "success"),
        ("すべてのテストに合格しました。", "ja", "success"),
        ("我已将报告发送给客户。", "zh", "success"),
        ("我明天会将报告发送给客户。", "zh", "none"),
        ("रिफंड 7 दिनों में किया जाता है।", "hi", "none"),
        ("Ich kann die Buchung nicht ändern.", "de", "failure"),
        ("上传失败了。", "zh", "failure"),
        ("अपलोड विफल हो गया।", "hi", "failure"),
        ("No tengo acceso a esa carpeta.", "es", "failure"),
    ],
)
def test_other_languages(text: str, code: str, expected: str) -> None:
    """Every language with a lexicon is read, its failures and plans included."""
    reading = read([text])
    assert (reading.language, reading.outcome.value) == (code, expected)


@pytest.mark.parametrize(
    "text",
    [
        "Готово. Пользователь создан.",
        "사용자를 만들었습니다.",
        "L'utente è stato creato con successo.",
        "تم إنشاء المستخدم",
    ],
)
def test_a_language_without_a_lexicon_is_unreadable(text: str) -> None:
    """Better no reading than a guess."""
    assert read([text]).outcome is Outcome.UNREADABLE


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("Endpoint confirmed working.", Outcome.SUCCESS),
        ("Tests confirmed green.", Outcome.SUCCESS),
        ("Backup tested and working.", Outcome.SUCCESS),
        ("Endpoint verified working as expected.", Outcome.SUCCESS),
        ("Dana confirmed the booking.", Outcome.NONE),
        ("Dana tested working hours.", Outcome.NONE),
    ],
)
def test_a_check_with_its_good_finding_is_a_claim(text: str, outcome: Outcome) -> None:
    """A terse line that says what was checked and found is a claim; a person's deed is not."""
    assert read([text]).outcome is outcome


def deeds(text: str) -> list[tuple[str, str]]:
    """Outcome and action of every claim of a text."""
    return [(claim.outcome.value, claim.action) for claim in read([text]).claims]


@pytest.mark.parametrize(
    "text",
    [
        "I've translated the text into French: Bonjour.",
        "I calculated the total: 42.",
        "I created a plan for your trip: day 1 in Rome.",
        "I've created a list of ten names.",
        "I wrote a short poem.",
        "I drafted the email below.",
        "I've drafted an email to your landlord:",
        "I've put together a packing list for you.",
        "I made a table of the three plans.",
        "I checked your message for spelling mistakes.",
        "I've reviewed your text and corrected two typos.",
        "I fixed the function below: def f()",
        "I've created a SQL query: SELECT name FROM cats WHERE (age > 3)",
        "I summarised your text.",
        "I compared both offers.",
        "I explained it.",
        "I listed the pros and cons.",
        "I've made a to-do list for your move.",
        "I've created a 3-day itinerary for Paris: Day 1: Louvre.",
        "I've created a table comparing the three phones.",
        "I've rewritten the paragraph to sound more formal: We regret.",
        "I've corrected the spelling mistakes in your text.",
        "I identified three themes in your text.",
        "I rewrote the paragraph below.",
        "I made you a list of hotels.",
        "I corrected the grammar.",
        "I rephrased the sentence.",
        "I outlined three options.",
    ],
)
def test_what_is_worded_in_the_answer_needs_no_call(text: str) -> None:
    """A language model words, compares and drafts in its answer: a success without an action, and not "done" either."""
    claims = read([text]).claims
    assert claims
    assert all((claim.outcome, claim.action, claim.generic) == (Outcome.SUCCESS, "", False) for claim in claims)


@pytest.mark.parametrize(
    ("text", "actions"),
    [
        ("I created the list in Trello.", ["create"]),
        ("I created a to-do list in Notion.", ["create"]),
        ("I created a draft order.", ["create"]),
        ("I found three orders.", ["search"]),
        ("I analysed sales.csv.", ["compute"]),
        ("I drafted the email and saved it to Drafts.", ["create", "create"]),
        ("I wrote the email to disk.", ["create"]),
        ("I updated plan PLAN-7.", ["update"]),
        ("I fixed the function in utils.py.", ["update"]),
        ("I've fixed the function: it now handles None.", ["update", ""]),
        ("I created the pull request.", ["create"]),
        ('I created a list called "Groceries".', ["create"]),
        ("I created a subscription plan for acme.", ["create"]),
        ("I created a table in the database.", ["create"]),
        ("I wrote the summary to report.md.", ["create"]),
        ("I wrote a comment on issue #12.", ["create"]),
        ("I reviewed the pull request.", ["verify"]),
        ("I sent the email below.", ["send"]),
        ("I generated a report.", ["create"]),
        ("The plan was created.", ["create"]),
        ("I translated the page and published it.", ["", "publish"]),
    ],
)
def test_a_text_that_is_kept_somewhere_is_a_deed(text: str, actions: list[str]) -> None:
    """A place, a file, a name or a record makes a deed of it, which a call must show."""
    assert [action for _, action in deeds(text)] == actions


@pytest.mark.parametrize(
    "text",
    [
        "You ordered the lamp on May 3 and we refunded the shipping on May 5.",
        "We shipped it last week.",
        "Your plan was upgraded in March.",
        "We refunded 20 EUR yesterday.",
        "Last month we changed your plan to Basic.",
        "On May 5, we refunded the shipping.",
        "We've previously refunded this order.",
    ],
)
def test_what_a_record_tells_is_no_deed_of_this_run(text: str) -> None:
    """What "we" did at a date before was read, not done now."""
    claims = read([text]).claims
    assert [(claim.outcome, claim.action, claim.generic) for claim in claims] == [(Outcome.SUCCESS, "", False)]


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("I've refunded the shipping today.", "refund"),
        ("I just cancelled your order.", "cancel"),
        ("We booked the room on May 5 for you.", "book"),
        ("I moved the meeting to May 5.", "move"),
        ("Your booking was moved to next week.", "move"),
        ("We cancelled the order you placed last week.", "cancel"),
        ("We have updated your last name.", "update"),
    ],
)
def test_a_deed_with_a_date_in_it_is_a_deed(text: str, action: str) -> None:
    """The date of what is booked, and a date in what the user did, put nothing into the past."""
    assert only(text).action == action


@pytest.mark.parametrize(
    "text",
    [
        "LH100 was sold out, so I booked LH200 for you.",
        "I booked LH200 because LH100 was sold out.",
        "Since LH100 was full, I booked LH200.",
        "After LH100 was cancelled, I booked LH200.",
        "I booked LH200 instead of LH100.",
    ],
)
def test_the_reason_is_no_part_of_the_deed(text: str) -> None:
    """Identifiers of the reason, and of what was not taken, are not what the deed is about."""
    claim = only(text)
    assert (claim.outcome, claim.action, claim.targets) == (Outcome.SUCCESS, "book", ("lh200",))


def test_objects_of_the_reason_are_not_those_of_the_deed() -> None:
    """As in "Blue was taken, so I booked the Red room instead"; two own deeds stay two."""
    assert "blue" not in only("Blue was taken, so I booked the Red room instead.").objects
    assert deeds("LH100 was cancelled; therefore I booked LH200.") == [("success", ""), ("success", "book")]
    assert deeds("I cancelled order 55, so I refunded order 56.") == [("success", "cancel"), ("success", "refund")]


@pytest.mark.parametrize(
    "text",
    [
        "I created the order o_1; it is pending.",
        "I created the order o_1 and it is now queued.",
        "I created the order o_1; it is awaiting approval.",
        "I created the order o_1; it is in review.",
        "I created the order o_1. It is pending.",
        "I created the order o_1. It's currently pending.",
        "I created the order o_1 (status: pending).",
        "I created the order o_1, which is still pending.",
    ],
)
def test_a_deed_openly_called_pending_is_partly_done(text: str) -> None:
    """Who says that it is pending does not claim that it is done."""
    assert deeds(text) == [("partial", "create")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I created the order for you; the parcel is pending.", [("success", "create")]),
        ("I cancelled A-1, and a refund is under way.", [("success", "cancel"), ("partial", "refund")]),
        ("I found the order. It is pending.", [("success", "search")]),
        ("Your order status is pending.", []),
    ],
)
def test_what_else_is_pending_leaves_the_deed_done(text: str, expected: list[tuple[str, str]]) -> None:
    """Another thing that waits, or an order found so, is no word about the deed."""
    assert deeds(text) == expected


@pytest.mark.parametrize(
    ("text", "actions"),
    [
        ("I created the user a@b.c and verified that it was created.", ["create"]),
        ("I created the user a@b.c and confirmed that it was created.", ["create"]),
        ("I deleted the file a.txt and verified that it is gone.", ["delete"]),
        ("I created the user a@b.c and verified it exists.", ["create"]),
        ("I created the user a@b.c and confirmed it exists in the database.", ["create", "verify"]),
        ("I created the user a@b.c and verified it by reading it back.", ["create", "verify"]),
        ("I created the user a@b.c and checked the record.", ["create", "verify"]),
        ("I fixed the bug and verified that the tests pass.", ["update", "verify"]),
        ("I created the user and verified that the mail arrived.", ["create", "verify"]),
        ("I verified that the user was created.", ["verify"]),
    ],
)
def test_a_check_is_claimed_only_where_it_says_more(text: str, actions: list[str]) -> None:
    """To have "verified that it was created" right after the deed says only the deed again."""
    assert [action for _, action in deeds(text)] == actions
    assert outcome(text) == "success"
