# SPDX-License-Identifier: Apache-2.0
"""Plans and campaigns that are valid by default; a test overrides the one thing that it is about."""

from typing import Any

from evalsite.schema.plan import Identity, Plan

DIGEST = "sha256:" + "0" * 64


def campaign_value(**changes: Any) -> dict[str, Any]:
    """Return a campaign file's value: two repetitions of all cases on fixtures."""
    role = {"endpoint": {"kind": "fixture"}}
    value = {
        "format": "evalsite/campaign/v1",
        "name": "fixture",
        "title": "A fixture campaign",
        "profile": "default",
        "purpose": "Exercise code and contracts.",
        "repetitions": 2,
        "cases": None,
        "candidate": role,
        "judge": role,
    }
    return {**value, **changes}


def role_plan_value(endpoint: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return one role as planned; a fixture unless told otherwise."""
    endpoint = endpoint or {"kind": "fixture"}
    return {
        "spec": {"endpoint": endpoint},
        "identity": {**dict.fromkeys(Identity.model_fields), "endpoint_kind": endpoint["kind"]},
        "instructions_digest": DIGEST,
        "prompt_version": "1",
        "contract_digest": DIGEST,
    }


def make_plan(**changes: Any) -> Plan:
    """Return a plan of two binary cases, one of them critical, in two repetitions on fixtures."""
    case = {"fingerprint": DIGEST, "critical": False, "expected_action": "assist", "must_refuse": False}
    value = {
        "format": "evalsite/plan/v1",
        "campaign_name": "fixture",
        "campaign_title": "A fixture campaign",
        "campaign_digest": DIGEST,
        "purpose": "Exercise code and contracts.",
        "profile": "default",
        "mode": "fixture",
        "protocol": "binary",
        "corpus": {
            "name": "two-cases",
            "version": "1.0.0",
            "fingerprint": DIGEST,
            "language": "en",
            "data_class": "synthetic",
            "snapshot": DIGEST,
        },
        "cases": [{**case, "case_id": "A"}, {**case, "case_id": "B", "critical": True}],
        "repetitions": 2,
        "candidate": role_plan_value(),
        "judge": role_plan_value(),
        "environment": {
            "evalsite_version": "0.1.0",
            "code_digest": DIGEST,
            "python_version": "3.11.0",
            "platform": "linux",
            "packages": {},
        },
    }
    return Plan.from_value({**value, **changes})
