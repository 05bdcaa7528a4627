# SPDX-License-Identifier: Apache-2.0
"""The words of decision records in the languages that our users write.

Tables only: section headings, metadata keys, status words. A word that stands in no table is not
guessed at. Sources: MADR 2 to 4 with its official German and French templates, Nygard's form, and
public records in Portuguese, Spanish, Chinese, Japanese, Korean and Russian.
"""

from evalsite.decisions.record import StatusNorm

_SECTIONS: dict[str, dict[str, tuple[str, ...]]] = {
    "status": {
        "en": ("status", "state"),
        "fr": ("statut", "état"),
        "es": ("estado",),
        "zh": ("状态",),
        "ja": ("ステータス",),
        "ko": ("상태",),
        "ru": ("статус",),
    },
    "date": {
        "en": ("date",),
        "pt": ("data",),
        "es": ("fecha",),
        "de": ("datum",),
        "zh": ("日期",),
        "ja": ("日付",),
        "ko": ("날짜",),
    },
    "context": {
        "en": ("context", "context and problem statement"),
        "pt": ("contexto", "contexto e definição do problema"),
        "es": ("contexto", "contexto y planteamiento del problema"),
        "fr": ("contexte", "contexte et énoncé du problème"),
        "de": ("kontext", "kontext und problemstellung"),
        "zh": ("背景", "背景和问题陈述"),
        "ja": ("背景と問題提起",),
        "ko": ("상황 및 문제 설명",),
        "ru": ("контекст",),
    },
    "drivers": {
        "en": ("decision drivers", "drivers"),
        "pt": ("direcionadores da decisão", "fatores de decisão"),
        "es": ("impulsores de decisión", "impulsores de la decisión"),
        "fr": ("facteurs de décision",),
        "de": ("entscheidungsfaktoren",),
        "ja": ("意思決定推進者",),
        "ko": ("의사결정 동인",),
    },
    "options": {
        "en": ("considered options", "options considered"),
        "pt": ("opções consideradas",),
        "es": ("opciones consideradas",),
        "fr": ("options considérées", "options envisagées"),
        "de": ("betrachtete optionen",),
        "ja": ("検討対象となるオプション",),
        "ko": ("고려되는 옵션",),
    },
    "outcome": {
        "en": ("decision outcome", "decision"),
        "pt": ("resultado da decisão", "decisão"),
        "es": ("resultado de la decisión", "decisión"),
        "fr": ("résultat de la décision", "décision"),
        "de": ("entscheidung",),
        "zh": ("决策",),
        "ja": ("意思決定結果",),
        "ko": ("결정 결과",),
        "ru": ("решение",),
    },
    "consequences": {
        "en": ("consequences",),
        "pt": ("consequências",),
        "es": ("consecuencias",),
        "fr": ("conséquences",),
        "de": ("konsequenzen",),
        "zh": ("影响",),
        "ru": ("последствия",),
    },
    "positive consequences": {"en": ("positive consequences",)},
    "negative consequences": {"en": ("negative consequences",)},
    "confirmation": {
        "en": ("confirmation", "validation"),
        "pt": ("confirmação",),
        "es": ("confirmación",),
        "de": ("prüfung",),
    },
    "pros and cons": {
        "en": ("pros and cons of the options",),
        "pt": ("prós e contras das opções",),
        "es": ("pros y contras de las opciones",),
        "fr": ("avantages et inconvénients des options",),
        "de": ("vor- und nachteile der optionen",),
    },
    "more": {
        "en": ("more information", "links"),
        "pt": ("mais informações",),
        "es": ("más información",),
        "fr": ("plus d'informations",),
        "de": ("weitere informationen",),
    },
}
_KEYS: dict[str, tuple[str, ...]] = {
    "decision-makers": (
        "decision-makers",
        "decision makers",
        "decision maker(s)",
        "deciders",
        "responsáveis pela decisão",
        "responsables de la decisión",
        "decidentes",
        "décideurs",
        "entscheidende",
        "決定者",
        "결정자",
    ),
    "consulted": ("consulted", "consultés", "beratende"),
    "informed": ("informed", "informés", "informierte"),
    "authors": ("author", "authors", "author(s)"),
    "supersedes": ("supersedes", "replaces"),
    "superseded by": ("superseded by", "superseded-by", "superseded_by", "superceded by", "replaced by"),
    "title": ("title",),
    "number": ("number", "adr", "id", "slug"),
    "lang": ("lang", "language"),
}
_STATUS_WORDS: dict[StatusNorm, tuple[str, ...]] = {
    StatusNorm.DRAFT: ("draft", "brouillon", "rascunho", "borrador", "entwurf", "草案", "draft version"),
    StatusNorm.PROPOSED: (
        *("proposed", "proposal", "pending", "on hold", "in review", "under review", "in discussion", "open"),
        *("proposé", "proposée", "proposto", "proposta", "propuesto", "propuesta", "vorgeschlagen"),
        *("提议", "提案", "제안", "предложено"),
    ),
    StatusNorm.ACCEPTED: (
        *("accepted", "approved", "active", "adopted", "agreed"),
        *("accepté", "acceptée", "approuvé", "approuvée", "aceito", "aceita", "aceite", "aprovado", "aprovada"),
        *("aceptado", "aceptada", "aprobado", "aprobada", "angenommen", "akzeptiert"),
        *("已接受", "已采纳", "承認", "採択", "승인", "принято"),
    ),
    StatusNorm.CONDITIONAL: ("provisional", "conditional", "provisionally accepted", "conditionally accepted", "trial"),
    StatusNorm.REJECTED: (
        *("rejected", "declined", "refused", "not accepted", "not approved"),
        *("rejeté", "rejetée", "refusé", "rejeitado", "rejeitada", "rechazado", "rechazada", "abgelehnt"),
        *("已拒绝", "却下", "거부", "отклонено"),
    ),
    StatusNorm.WITHDRAWN: ("withdrawn", "retracted", "abandoned", "cancelled", "canceled", "retirado", "zurückgezogen"),
    StatusNorm.DEPRECATED: (
        *("deprecated", "obsolete", "retired", "obsoleto", "obsoleta", "obsolète", "déprécié", "dépréciée"),
        *("descontinuado", "veraltet", "已废弃", "已弃用", "非推奨", "폐기", "устарело"),
    ),
    StatusNorm.SUPERSEDED: (
        *("superseded", "superceded", "replaced", "overridden", "partly superseded", "partially superseded"),
        *("remplacé", "remplacée", "substituído", "substituída", "superado", "reemplazado", "reemplazada"),
        *("sustituido", "sustituida", "ersetzt", "abgelöst", "已取代", "已被取代", "置換", "대체", "заменено"),
    ),
    StatusNorm.EXPIRED: ("expired", "expiré", "expirado", "caducado", "abgelaufen"),
}

#: Words that take the force from an acceptance when they stand beside it in the same statement.
DOUBT = (
    *("not", "no", "never", "yet", "until", "unless", "pending", "proposed", "proposal", "draft", "conditional"),
    *("conditionally", "provisional", "provisionally", "tentative", "tentatively", "principle", "partially", "partly"),
    *("reject", "rejected", "withdrawn", "deprecated", "superseded", "superceded", "replaced", "overridden"),
    *("obsolete", "expired", "awaiting", "tbd", "todo", "maybe", "almost", "before", "except", "was", "were"),
    *("formerly", "previously", "no longer", "if", "when", "once", "should", "would", "will", "might", "may"),
    *("pas", "non", "não", "nicht", "noch", "sob", "bajo", "sous", "avant", "antes"),
)
#: Phrases of partial supersession.
PARTIAL = (
    *("partly", "partially", "in part", "some aspects", "em parte", "en parte", "en partie", "teilweise"),
    *("parcialmente", "partiellement"),
)
#: Sections that MADR puts one level below the outcome; they are cut out as sections of their own.
NESTED = frozenset({"consequences", "positive consequences", "negative consequences", "confirmation"})


def _plain(text: str) -> str:
    return " ".join(text.replace("\u2019", "'").casefold().split())


_SECTION_OF = {
    _plain(alias): (name, lang)
    for name, by_lang in reversed(list(_SECTIONS.items()))
    for lang, aliases in reversed(list(by_lang.items()))
    for alias in aliases
}
_KEY_OF = {_plain(alias): (name, None) for name, aliases in _KEYS.items() for alias in aliases} | {
    alias: entry for alias, entry in _SECTION_OF.items() if entry[0] in ("status", "date")
}
#: Longest first, so that ``not accepted`` is found before ``accepted``.
STATUS_WORDS: tuple[tuple[str, StatusNorm], ...] = tuple(
    sorted(
        ((word, norm) for norm, words in _STATUS_WORDS.items() for word in words),
        key=lambda pair: (-len(pair[0]), pair[0]),
    )
)


def section_of(heading: str) -> tuple[str, str] | None:
    """Return canonical name and language of a section heading, or null for any other heading."""
    return _SECTION_OF.get(_plain(heading.strip().rstrip(":\uff1a")))


def key_of(key: str) -> tuple[str, str | None] | None:
    """Return canonical name and language (null: no particular one) of a metadata key."""
    return _KEY_OF.get(_plain(key))
