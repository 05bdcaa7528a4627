# SPDX-License-Identifier: Apache-2.0
"""What the files of a corpus must say consistently about each other, else it is not loaded.

Ids are compared after NFKC and case folding: ids that a reader, a file system or a URL would take
for the same one are refused rather than told apart.
"""

import unicodedata
from collections.abc import Iterable, Mapping

from evalsite.errors import InputError, shorten
from evalsite.schema.calibration import Criterion, DesignLock
from evalsite.schema.corpus import BinaryCorpus, Corpus, GradedControl, GradedCorpus, Label, LabelSet, controls_of
from evalsite.schema.outcome import Probe, Protocol
from evalsite.schema.plan import CampaignSpec, FixtureEndpointSpec, RoleSpec
from evalsite.yamltext import YamlDocument

_CORPUS_FILE = "corpus.yaml"


def folded(identity: str) -> str:
    """Return the form in which ids are compared: NFKC, case folded, NFKC again."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", identity).casefold())


def check_cases(corpus: Corpus, documents: Mapping[str, YamlDocument]) -> None:
    """Refuse colliding ids, unknown cards, a corpus that translates itself, instructions of the wrong role.

    Raises:
        InputError: The first violation, with its place.
    """
    document = documents[_CORPUS_FILE]
    _refuse_collisions((case.id for case in corpus.cases), document, "cases[{}].id")
    if corpus.translation_of == corpus.name:
        raise document.located(
            InputError("expected another corpus, got this one", at="translation_of", rule="translations")
        )
    has_candidate = corpus.instructions.candidate is not None
    if isinstance(corpus, BinaryCorpus) != has_candidate:
        expected = "text, since the binary protocol has a candidate" if not has_candidate else "null"
        got = "text" if has_candidate else "null"
        message = f"expected {expected}, got {got} for the protocol {corpus.protocol.value}"
        raise document.located(InputError(message, at="instructions.candidate", rule="R9"))
    if isinstance(corpus, GradedCorpus):
        _check_cards(corpus, documents)
    _check_controls(corpus, document)


def check_labels(corpus: Corpus, label_sets: tuple[LabelSet, ...], documents: Mapping[str, YamlDocument]) -> None:
    """Refuse labels of unknown cases, doubled labels, and values that the protocol does not have (R31).

    Raises:
        InputError: The first violation, with its place.
    """
    known = {case.id for case in corpus.cases}
    for label_set in label_sets:
        document = documents[f"labels/{label_set.name}.yaml"]
        seen: set[str] = set()
        dimensions = set()
        for index, label in enumerate(label_set.labels):
            _refuse_unknown(label.case_id, known, document, f"labels[{index}].case_id")
            if label.case_id in seen:
                message = f"expected one label per case and set, got {shorten(label.case_id)} twice"
                raise document.located(InputError(message, at=f"labels[{index}].case_id", rule="labels"))
            seen.add(label.case_id)
            dimensions.add(label.dimension)
            _check_label(label, corpus.protocol, document, index)
            if len(dimensions) > 1:
                message = "expected one dimension per label set, got two: a set holds the labels of one construct"
                raise document.located(InputError(message, at=f"labels[{index}].dimension", rule="R90"))


def check_lock(lock: DesignLock, corpus: Corpus, document: YamlDocument) -> None:
    """Refuse constants without a gate that this corpus can have, or with a threshold that it cannot have (R63, R64).

    Raises:
        InputError: The first violation, with its place.
    """
    graded = {Criterion.FAITHFULNESS, Criterion.GROUNDEDNESS}
    own = graded if isinstance(corpus, GradedCorpus) else {one for one in Criterion if one == corpus.protocol.value}
    if not own & {gate.criterion for gate in lock.gates}:
        message = f"expected constants for {' or '.join(sorted(own))}, which the protocol {corpus.protocol.value} has"
        raise document.located(InputError(message, at="gates", rule="R64"))
    for index, gate in enumerate(lock.gates):
        if (gate.criterion in graded) is (gate.minimum_agreement is None):
            expected = "a least agreement" if gate.criterion in graded else "null"
            message = f"expected {expected} for {gate.criterion.value}"
            raise document.located(InputError(message, at=f"gates[{index}].minimum_agreement", rule="R63"))


def check_campaign(spec: CampaignSpec, corpus: Corpus, document: YamlDocument) -> None:
    """Refuse a campaign that does not fit its corpus.

    Raises:
        InputError: Unknown or doubled case ids, or a candidate where the protocol has none.
    """
    known = {case.id for case in corpus.cases}
    for index, case_id in enumerate(spec.cases or ()):
        _refuse_unknown(case_id, known, document, f"cases[{index}]")
    _refuse_collisions(spec.cases or (), document, "cases[{}]")
    if isinstance(corpus, BinaryCorpus) != (spec.candidate is not None):
        expected = "a candidate" if spec.candidate is None else "null"
        got = "null" if spec.candidate is None else "a candidate"
        message = f"expected {expected} for the protocol {corpus.protocol.value}, got {got}"
        raise document.located(InputError(message, at="candidate", rule="campaign files"))
    _check_replies(spec.candidate, "candidate", known, document)
    _check_replies(spec.judge, "judge", known, document)


def _check_replies(role: RoleSpec | None, name: str, known: set[str], document: YamlDocument) -> None:
    if role is None or not isinstance(role.endpoint, FixtureEndpointSpec):
        return
    for index, reply in enumerate(role.endpoint.replies):
        place = f"{name}.endpoint.replies[{index}]"
        _refuse_unknown(reply.case_id, known, document, f"{place}.case_id")
        if reply.role != name:
            message = f"expected replies of the {name} only, got one of the {reply.role}"
            raise document.located(InputError(message, at=f"{place}.role", rule="campaign files"))


def _check_cards(corpus: GradedCorpus, documents: Mapping[str, YamlDocument]) -> None:
    seen: dict[str, str] = {}
    for card in corpus.cards:
        # File names are ids in lower case, so that only normalisation can still make two ids one.
        if (key := folded(card.id)) in seen:  # pragma: no cover - the id pattern is ASCII
            message = f"expected ids that differ, got {shorten(seen[key])} and {shorten(card.id)}"
            raise documents[f"cards/{card.id.lower()}.yaml"].located(InputError(message, at="id", rule="unique ids"))
        seen[key] = card.id
    known = {card.id for card in corpus.cards}
    document = documents[_CORPUS_FILE]
    for number, case in enumerate(corpus.cases):
        for index, card_id in enumerate(case.cards):
            _refuse_unknown(card_id, known, document, f"cases[{number}].cards[{index}]", what="card")
        _refuse_collisions(case.cards, document, f"cases[{number}].cards[{{}}]")


def _check_controls(corpus: Corpus, document: YamlDocument) -> None:
    """Refuse controls that share an id with a case, cite an unknown card, or have no place to reach for."""
    controls = controls_of(corpus)
    _refuse_collisions((control.id for control in controls), document, "controls[{}].id")
    cases = {folded(case.id) for case in corpus.cases}
    known = {card.id for card in corpus.cards} if isinstance(corpus, GradedCorpus) else set()
    for number, control in enumerate(controls):
        at = f"controls[{number}]"
        if folded(control.id) in cases:
            message = f"expected an id that no case has, got {shorten(control.id)}"
            raise document.located(InputError(message, at=f"{at}.id", rule="unique ids"))
        if (control.probe is Probe.REACH) != (control.place is not None):
            expected = "head, middle or tail" if control.place is None else "null"
            message = f"expected {expected} for the probe {control.probe.value}"
            raise document.located(InputError(message, at=f"{at}.place", rule="controls"))
        for index, card_id in enumerate(control.cards if isinstance(control, GradedControl) else ()):
            _refuse_unknown(card_id, known, document, f"{at}.cards[{index}]", what="card")


def _check_label(label: Label, protocol: Protocol, document: YamlDocument, index: int) -> None:
    graded = protocol is Protocol.GRADED
    if graded != (label.dimension is not None):
        expected = "faithfulness or groundedness" if graded else "null"
        got = "null" if graded else shorten(label.dimension.value if label.dimension else None)
        message = f"expected {expected} for the protocol {protocol.value}, got {got}"
        raise document.located(InputError(message, at=f"labels[{index}].dimension", rule="labels"))
    values, rule = ("0, 1 or 2", "R97") if protocol is Protocol.PAIRWISE else ("0 or 1", "R31")
    if not graded and str(label.value) not in values:
        message = f"expected {values} for the protocol {protocol.value}, got {label.value}"
        raise document.located(InputError(message, at=f"labels[{index}].value", rule=rule))


def _refuse_unknown(identity: str, known: set[str], document: YamlDocument, at: str, *, what: str = "case") -> None:
    if identity in known:
        return
    near = next((other for other in sorted(known) if folded(other) == folded(identity)), None)
    advice = f"did you mean {near}? ids are spelled exactly" if near else f"the {what} ids stand in the corpus"
    message = f"expected a {what} of this corpus, got {shorten(identity)}"
    raise document.located(InputError(message, at=at, rule=f"known {what} ids", advice=advice))


def _refuse_collisions(identities: Iterable[str], document: YamlDocument, at: str) -> None:
    seen: dict[str, str] = {}
    for index, identity in enumerate(identities):
        key = folded(identity)
        if key in seen:
            other = seen[key]
            how = "twice" if other == identity else f"beside {shorten(other)}, the same when case is ignored"
            message = f"expected every id once, got {shorten(identity)} {how}"
            raise document.located(InputError(message, at=at.format(index), rule="unique ids"))
        seen[key] = identity
