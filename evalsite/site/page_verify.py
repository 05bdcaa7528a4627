# SPDX-License-Identifier: Apache-2.0
"""How a reader verifies a record alone: the literal commands, with the real names and fingerprints."""

from evalsite.schema.outcome import Mode
from evalsite.site import parts
from evalsite.site.catalogue import Catalogue, LedgerView
from evalsite.site.escape import Html, text
from evalsite.site.html import bullets, download, el, join, link, table
from evalsite.site.model import Body, Kind, Page
from evalsite.site.names import relative
from evalsite.site.page_about import levels_table
from evalsite.site.views import RunView

_PATH = Kind.VERIFY.address
_ROOT_SCRIPT = """\
import hashlib, pathlib, sys
def root(leaves):
    if len(leaves) == 1:
        return leaves[0]
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    both = root(leaves[:split]) + root(leaves[split:])
    return hashlib.sha256(b"\\x01" + both).digest()
files = sorted(pathlib.Path(sys.argv[1], "events").glob("*.jsonl"))
lines = [line for file in files for line in file.read_bytes().split(b"\\n")[:-1]]
leaves = [hashlib.sha256(b"\\x00" + line).digest() for line in lines]
print(len(leaves), "sha256:" + root(leaves).hex())"""


def verify_page(catalogue: Catalogue) -> Page:
    """Return the page with the commands."""

    def body() -> Body:
        lead = parts.how_to_read(
            "You need not trust this site: it is generated from signed records, and you can check those yourself, "
            "with this program or without it."
        )
        return Body(
            crumbs=parts.crumbs(_PATH),
            heading=text("Verify it yourself"),
            lead=lead,
            sections=(_needs(catalogue), _with(catalogue), _without(catalogue), _shows()),
        )

    return Page(
        kind=Kind.VERIFY,
        path=_PATH,
        title="Verify it yourself",
        body=body,
        sources=tuple(item.name for item in catalogue.ledgers),
    )


def command(value: str) -> Html:
    """Return a command to copy. Names in it are folder names and digests, which hold no blanks or quotes."""
    return el("pre", el("code", text(value)), class_="es-command")


def _needs(catalogue: Catalogue) -> Html:
    rows = [
        (
            parts.foreign(ledger.name),
            parts.full_digest(ledger.root_fingerprint),
            text(ledger.level.value),
            text(ledger.minimum_level.value),
        )
        for ledger in catalogue.ledgers
    ]
    head = tuple(
        text(name) for name in ("Ledger", "Fingerprint of its root key", "Level of its runs", "Least level by policy")
    )
    items = [
        text("The project's files, with its runs folder, byte for byte."),
        text(
            "The fingerprint of the ledger's root key, from its owner, by another way than this site: a contract, a "
            "printed report, a call. A fingerprint that comes with the files shows only that the files agree with "
            "each other."
        ),
    ]
    return join(
        (bullets(items), table(head, rows, caption="Root keys") if rows else parts.says("There is no ledger yet."))
    )


def _with(catalogue: Catalogue) -> Html:
    pieces = [parts.says("In the project's folder. Every run, and then one run:")]
    example = _example(catalogue.runs).run_id if catalogue.runs else "RUN"
    roots = "".join(f" --root-key {ledger.name}={ledger.root_fingerprint}" for ledger in catalogue.ledgers)
    pieces.append(command(f"evalsite verify{roots}\nevalsite verify {example}{roots}"))
    pieces.append(
        parts.para(
            text("It prints counted checks and ends with 0 when all hold, with "),
            parts.code("4"),
            text(" when something doesn't check out, and with "),
            parts.code("5"),
            text(
                " when the evidence is weaker than the policy asks for. The gate is decided again from the record by:"
            ),
        )
    )
    pieces.append(command(f"evalsite gate {example}"))
    return join(pieces)


def _without(catalogue: Catalogue) -> Html:
    if not catalogue.ledgers:
        return parts.says("As soon as there is a run, the commands for it stand here.")
    return join(_ledger_commands(catalogue, ledger) for ledger in catalogue.ledgers)


def _example(views: tuple[RunView, ...]) -> RunView:
    """Return the run that the commands name: the newest sealed live run, if there is one."""
    sealed = [view for view in views if view.run.sealed]
    live = [view for view in sealed if view.plan.mode is Mode.LIVE]
    return (live or sealed or list(views))[0]


def _ledger_commands(catalogue: Catalogue, ledger: LedgerView) -> Html:
    view = _example(ledger.runs)
    trust = f"runs/trust/{ledger.name}"
    steps = [
        el("h3", text("Ledger "), parts.foreign(ledger.name)),
        parts.says("1. The root key in the files is the one whose fingerprint you were told:"),
        command(f"cut -d+ -f3- {trust}/root.vkey | base64 -d | tail -c 32 | sha256sum"),
        parts.para(text("It must print "), parts.code(ledger.root_fingerprint.removeprefix("sha256:"))),
        *_run_commands(view, trust),
        *_downloads(catalogue, ledger, view),
    ]
    return el("section", *steps)


def _run_commands(view: RunView, trust: str) -> list[Html]:
    run = view.run
    folder = f"runs/{view.run_id}"
    steps = [
        parts.para(
            text("2. The lines of run "),
            link(relative(view.path, _PATH), parts.foreign(view.run_id)),
            text(" have the root that its checkpoint states (RFC 6962):"),
        ),
        command(f"cat > root.py <<'END'\n{_ROOT_SCRIPT}\nEND\npython3 root.py {folder}"),
        parts.para(text("It must print "), parts.code(f"{run.head.size} {run.head.root}")),
    ]
    if run.head.statement_digest is None:
        return [*steps, parts.says("3. The run isn't closed: there is no signed statement yet.")]
    extract = (
        f"python3 - <<'END'\n"
        f"import base64, json, pathlib\n"
        f'envelope = json.loads(pathlib.Path("{folder}/statement.dsse.json").read_bytes())\n'
        f'payload = base64.b64decode(envelope["payload"])\n'
        f'kind = envelope["payloadType"].encode()\n'
        f'pathlib.Path("payload.json").write_bytes(payload)\n'
        f'pathlib.Path("pae.bin").write_bytes(b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload))\n'
        f'pathlib.Path("statement.sig").write_bytes(base64.b64decode(envelope["signatures"][0]["sig"]))\n'
        f"END\n"
        f"sha256sum payload.json\n"
        f"openssl pkeyutl -verify -pubin -inkey {trust}/runner.pem -rawin -in pae.bin -sigfile statement.sig"
    )
    return [
        *steps,
        parts.says("3. The statement about the run is signed by the ledger's runner key (DSSE, Ed25519, OpenSSL 3):"),
        command(extract),
        parts.para(
            text("The digest must be "),
            parts.code(run.head.statement_digest.removeprefix("sha256:")),
            text(", and OpenSSL must say that the signature verified."),
        ),
    ]


def _downloads(catalogue: Catalogue, ledger: LedgerView, view: RunView) -> list[Html]:
    wanted = [
        f"runs/trust/{ledger.name}/",
        f"runs/log/{ledger.name}/checkpoint",
        f"runs/{view.run_id}/statement.dsse.json",
        f"runs/{view.run_id}/checkpoint",
    ]
    found = sorted(
        name for name in catalogue.given.record if name.startswith(tuple(wanted)) and "/checkpoints/" not in name
    )
    if not found:
        return []
    files = bullets(download(relative(f"record/{name}", _PATH), parts.code(name)) for name in found)
    return [el("details", el("summary", text("These files, from this site")), files, class_="es-details")]


def _shows() -> Html:
    return join(
        (
            parts.says(
                "Integrity, completeness and availability are three verdicts. A verification shows that nothing in "
                "the files was altered since it was signed, that what was planned has exactly one result or none, "
                "and which payloads are there. It doesn't show that an endpoint is what it says, nor that the corpus "
                "asks the right questions."
            ),
            levels_table(),
        )
    )
