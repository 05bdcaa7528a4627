# SPDX-License-Identifier: Apache-2.0
"""JSON Schemas of the files that authors write, for the completion and checks of their editors.

They are generated from the classes that load the files, so that they cannot say anything else.
What a schema cannot say (ids that must exist, names that must equal the file's) the loader checks.
"""

from typing import Any

from evalsite.schema.base import StrictModel
from evalsite.schema.calibration import DesignLock
from evalsite.schema.corpus import BinaryCorpus, Card, EvidenceCorpus, GradedCorpus, LabelSet, PairwiseCorpus
from evalsite.schema.plan import CampaignSpec

DIALECT = "https://json-schema.org/draft/2020-12/schema"
#: A reserved name that never resolves (RFC 2606): the id names the schema, nothing is fetched.
BASE = "https://evalsite.invalid/schema"
_FILES: dict[str, type[StrictModel]] = {
    "corpus-binary": BinaryCorpus,
    "corpus-evidence": EvidenceCorpus,
    "corpus-graded": GradedCorpus,
    "corpus-pairwise": PairwiseCorpus,
    "card": Card,
    "labels": LabelSet,
    "campaign": CampaignSpec,
    "design-lock": DesignLock,
}


def schemas() -> dict[str, dict[str, Any]]:
    """Return the JSON Schema (draft 2020-12) of each kind of file by name.

    ``corpus-graded`` has no ``cards``: they stand in files of their own.
    """
    found = {}
    for name, model in _FILES.items():
        schema = model.model_json_schema()
        if model is GradedCorpus:
            del schema["properties"]["cards"]
            schema["required"].remove("cards")
            del schema["$defs"]["Card"]
        found[name] = {"$schema": DIALECT, "$id": f"{BASE}/{name}-v1.json", **schema}
    return found
