# SPDX-License-Identifier: Apache-2.0
"""``evalsite corpus``: check, show, compare, and JSON Schemas for editors."""

from pathlib import Path

import click

from evalsite.campaign.casebook import CaseBook
from evalsite.cli import output
from evalsite.cli.context import find_project, json_option
from evalsite.cli.reports import REPORTS, CorpusCheckReport, CorpusShowReport
from evalsite.corpus.diff import diff_corpora
from evalsite.corpus.lint import check_corpus
from evalsite.corpus.load import CORPUS_FILE, LoadedCorpus, campaign_files, load_campaign, load_corpus
from evalsite.corpus.schemas import DIALECT, schemas
from evalsite.errors import InputError
from evalsite.judging.graders import reference_findings
from evalsite.retention.policy import check_policy, load_policy
from evalsite.schema.base import Finding, Severity
from evalsite.schema.corpus import BinaryCase
from evalsite.schema.outcome import Trial, TrialKind


@click.group()
def corpus() -> None:
    """Check, show and compare corpora; JSON Schemas for editors."""


@corpus.command()
@click.argument("names", nargs=-1)
@json_option
def check(names: tuple[str, ...], as_json: bool) -> None:  # noqa: FBT001 - click hands flags over by name
    """Check corpora, their campaigns and policies; all of the project's when none is named."""
    folders = [_folder(name) for name in names] if names else _all_folders()
    findings, rows = [], []
    for folder in folders:
        loaded = load_corpus(folder)
        campaigns = [load_campaign(path) for path in campaign_files(folder)]
        found = [*check_corpus(loaded), *_policy_findings(folder, loaded), *_code_findings(loaded)]
        findings.extend(found)
        rows.append(
            (loaded.corpus.name, loaded.corpus.protocol.value, len(loaded.corpus.cases), len(campaigns), len(found))
        )
    if as_json:
        output.say_report(
            CorpusCheckReport,
            {
                "corpora": [
                    dict(zip(("name", "protocol", "cases", "campaigns", "findings"), row, strict=True)) for row in rows
                ],
                "findings": [finding.plain() for finding in findings],
            },
        )
    else:
        output.say_table(("corpus", "protocol", "cases", "campaigns", "findings"), rows)
        for finding in findings:
            output.say(f"{finding.severity.value}: {finding.at}: {finding.message} [{finding.rule or finding.code}]")
    if any(finding.severity is Severity.ERROR for finding in findings):
        raise InputError("expected corpora without errors, see the findings above", rule="corpus check")


@corpus.command()
@click.argument("name")
@json_option
def show(name: str, as_json: bool) -> None:  # noqa: FBT001
    """Show a corpus's cases, their fingerprints and what the candidate would be sent."""
    loaded = load_corpus(_folder(name))
    rows = [
        (case.id, loaded.case_fingerprints[case.id], _prompt_digest(loaded, case.id)) for case in loaded.corpus.cases
    ]
    if as_json:
        keys = ("case_id", "fingerprint", "candidate_message")
        output.say_report(
            CorpusShowReport,
            {
                "name": loaded.corpus.name,
                "version": loaded.corpus.version,
                "protocol": loaded.corpus.protocol.value,
                "fingerprint": loaded.fingerprint,
                "cases": [dict(zip(keys, row, strict=True)) for row in rows],
            },
        )
        return
    output.say_facts(
        {
            "corpus": loaded.corpus.name,
            "version": loaded.corpus.version,
            "title": loaded.corpus.title,
            "protocol": loaded.corpus.protocol.value,
            "fingerprint": loaded.fingerprint,
        }
    )
    output.say()
    output.say_table(("case", "fingerprint", "candidate message"), rows)


@corpus.command()
@click.argument("before")
@click.argument("after")
def diff(before: str, after: str) -> None:
    """Say which cases and fields differ between two corpora."""
    changes = diff_corpora(load_corpus(_folder(before)), load_corpus(_folder(after)))
    for change in changes:
        output.say(str(change))
    output.note(f"{len(changes)} differences")


@corpus.command()
@click.argument("kind", required=False)
def schema(kind: str | None) -> None:
    """Print the JSON Schema of one kind of file or `--json` report; without a kind, list them."""
    reports = {name: {"$schema": DIALECT, **contract.model_json_schema()} for name, contract in REPORTS.items()}
    known = schemas() | reports
    if kind is None:
        for name in known:
            output.say(name)
        return
    if kind not in known:
        raise InputError(f"expected one of {', '.join(known)}, got {kind!a}", at="KIND")
    output.say_json(known[kind])


def _policy_findings(folder: Path, loaded: LoadedCorpus) -> list[Finding]:
    policy = folder / "policy.yaml"
    return check_policy(load_policy(policy), corpus_class=loaded.corpus.data_class) if policy.exists() else []


def _code_findings(loaded: LoadedCorpus) -> tuple[Finding, ...]:
    return reference_findings(loaded.corpus, lambda field: loaded.place(CORPUS_FILE, field))


def _prompt_digest(loaded: LoadedCorpus, case_id: str) -> str | None:
    trial = Trial(kind=TrialKind.CASE, case_id=case_id, repetition=1, polarity=None, dimension=None)
    is_binary = isinstance(next(case for case in loaded.corpus.cases if case.id == case_id), BinaryCase)
    return CaseBook(loaded.snapshot).candidate_question(trial).prompt_digest if is_binary else None


def _folder(name: str) -> Path:
    given = Path(name)
    return given if given.is_dir() else find_project() / "corpora" / name


def _all_folders() -> list[Path]:
    folders = sorted(path for path in (find_project() / "corpora").iterdir() if path.is_dir())
    if not folders:
        raise InputError("expected at least one corpus", at="corpora/")
    return folders
