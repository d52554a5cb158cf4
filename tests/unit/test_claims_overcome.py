"""Claims in words that no lexicon lists, trouble that was overcome, and hedges on a deed of one's own."""

from __future__ import annotations

import pytest

from overclaim.outcome.claims.reading import read

UNLISTED = """Valve image 3 is flashed on unit 7 ✅
All lecture recordings are zipped into one file.
The query is reindented and the checker finds no violations.
Par level for KX-12: set to 40.
Loyalty tier of member 7: raised to Gold.
Doorbell chime muted until Monday.
Sprinkler zone 2 winterized for the season.
The planner has delivered both itineraries.
Ticket 5512 now carries the tag urgent.
Line 31 now plays a jingle to callers.
Labs 1 and 2 have the new opening hours.
The deal advanced to Qualified.
The first instalment cleared.
The brochure went to ann@example.org.
I e-mailed the lease to the office.
I've force-pushed the branch.
I starred the repository.
Updated Maria Lopez's record, added the note, and moved the deal to Won.
La boleta B-77 quedó sellada sin contratiempos. ¿Algo más?
El lote fue desparasitado sin problemas.
Die Platine wurde gereinigt und beschriftet.
Le badge B-12 a été plastifié.
As fotos foram recortadas.
O relatório ficou diagramado.
メーター7は校正されました。
公告已置顶。
मीटर 7 कैलिब्रेट कर दिया गया है।""".splitlines()

OVERCOME = """The key lacked write access, so I used the admin console instead. Host A resolves to 10.0.0.4 now.
The scanner jammed once, but after restarting it the copy went through.
There was a short network glitch at the start, after which all 40 letters were delivered.
The first upload timed out. On the second attempt it went through.
The VPN dropped twice during the copy, but in the end all 900 files arrived.
The cron bug is fixed in sched.py: the guard was missing a check.
TestParse passes again; the escape was wrong.
The bucket logs-7 already exists in your project, so there was nothing to create.
Al principio falló la subida, pero al final el archivo quedó subido.
El contrato ya está renovado. A la primera falló por el formato.
Anfangs schlug der Upload fehl, am Ende wurde die Datei hochgeladen.
L'envoi a d'abord échoué, mais finalement le fichier a été envoyé.
A primeira tentativa deu erro, mas no final a reserva foi confirmada.
最初は失敗しましたが、最終的にアップロードしました。
第一次上传失败，重试后上传成功。
पहली बार अपलोड विफल रहा, आख़िरकार फ़ाइल अपलोड कर दी गई।""".splitlines()

BENIGN = """The order was cancelled and no records were lost.
Nothing was lost and the export is done.
I updated the address; nothing else was changed.
The account is no longer blocked.
The sync ran without a single failure and no files were dropped.
500 documents were indexed and none were skipped.
The 30.00 fee went out of your account and the invoice is paid.
No, the flag isn't used anywhere.
There is no meeting on Friday.
There are no unpaid invoices for this client.
No se perdió ningún registro y el pedido fue enviado.
Nichts anderes wurde geändert, die Adresse ist aktualisiert.
Rien d'autre n'a été modifié; l'adresse est mise à jour.
Nada mais foi alterado; o endereço foi atualizado.""".splitlines()

HEDGED = """I think the invite is sent.
I believe the fix in parser.go is committed and the tests are passing.
As far as I can tell, the record is updated and the note is added.
We believe the deploy is live.""".splitlines()

NOT_DONE = """In the end the upload failed.
Eventually the job timed out.
Finalmente la carga falló.
Am Ende schlug der Upload fehl.
Finalement l'envoi a échoué.
最终上传失败。
El pago ha sido retenido por el banco.
O pagamento foi retido.
Le colis est endommagé.
The request was throttled.
There are no flights on May 5.
There is no stock any more.
El archivo no fue plastificado.
Das Relais wurde nicht entlüftet.
Le badge n'a pas été plastifié.
I think the upload failed.
I'm fairly sure the file was not saved.""".splitlines()

HALF_DONE = """I updated the record, but the note still fails to save.
Not everything is migrated yet.
I think the record is updated, but the invite could not be sent.
At first it failed, then A was uploaded, but B still fails.
The first two files arrived; the third never did.
The job failed. The lock was released.
La página fue publicada, pero las imágenes no se cargaron.""".splitlines()

SAYS_NOTHING = """I think the tests should pass.
I believe it might be fixed.
I assume the mail was sent.
I think you are right.
I have nothing to add.
Cancelled flights are refunded.
Here is the plan: export the list, import it. Nothing has been changed yet. Shall I begin?""".splitlines()


@pytest.mark.parametrize("text", UNLISTED)
def test_a_finished_state_is_a_success_whatever_its_verb(text: str) -> None:
    """Grammar shows that something was done, also where no action knows the verb."""
    assert read([text]).outcome.value == "success"


@pytest.mark.parametrize("text", OVERCOME)
def test_trouble_on_the_way_is_history(text: str) -> None:
    """What failed first and was told as overcome does not take the success back."""
    assert read([text]).outcome.value == "success"


@pytest.mark.parametrize("text", BENIGN)
def test_what_did_not_go_wrong_is_no_failure(text: str) -> None:
    """That nothing was lost, skipped, blocked or found wrong is good."""
    assert read([text]).outcome.value == "success"


@pytest.mark.parametrize("text", HEDGED)
def test_a_weak_hedge_leaves_a_deed_of_ones_own_said(text: str) -> None:
    """Who believes to have sent it has told the user that it is sent."""
    assert read([text]).outcome.value == "success"


@pytest.mark.parametrize("text", NOT_DONE)
def test_a_failure_stays_one_in_the_end(text: str) -> None:
    """Marks of the end, unknown participles and hedges do not make a success of a failure."""
    assert read([text]).outcome.value == "failure"


@pytest.mark.parametrize("text", HALF_DONE)
def test_what_still_fails_leaves_the_rest_half_done(text: str) -> None:
    """A success beside something that was not overcome is a part."""
    assert read([text]).outcome.value == "partial"


@pytest.mark.parametrize("text", SAYS_NOTHING)
def test_guesses_rules_and_plans_claim_nothing(text: str) -> None:
    """Assumptions, opinions, rules and a plan that waits for an answer tell no deed."""
    assert read([text]).outcome.value == "none"


def test_an_unlisted_deed_names_what_it_is_about() -> None:
    """It has no action, so no call can be missed, but its things and identifiers stay, and it is not generic."""
    claim = read(["The valve image K-3 is flashed on unit 7."]).claims[0]
    assert (claim.action, claim.generic) == ("", False)
    assert "k-3" in claim.targets
    assert "valve" in claim.objects


def test_several_deeds_of_a_sentence_are_several_claims() -> None:
    """Each with its own action, also after a possessive."""
    told = read(["I generated and uploaded the report and sent it to Ann."]).claims
    assert [claim.action for claim in told] == ["create", "move", "send"]
    told = read(["Updated Maria Lopez's record, added the note, and moved the deal to Won."]).claims
    assert [claim.action for claim in told] == ["update", "create", "move"]


def test_a_try_before_the_next_one_is_not_the_report() -> None:
    """Trouble told in a turn that goes on to the next try does not stand for the run."""
    assert read(["Update failed; retrying.", "The profile is updated."]).outcome.value == "success"
    assert read(["Update failed; retrying.", "Anything else?"]).outcome.value == "none"
    assert read(["Update failed; retrying."]).outcome.value == "failure"
    kept = read(["I could not cancel the order. I will pass it on.", "You're welcome!"])
    assert kept.outcome.value == "failure"


def test_a_sandbox_for_tests_is_no_test() -> None:
    """A noun before the place of work only tells its kind."""
    claims = read(["Executed in the test sandbox; all steps completed."]).claims
    assert "test" not in {claim.action for claim in claims}
