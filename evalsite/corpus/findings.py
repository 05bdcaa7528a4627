# SPDX-License-Identifier: Apache-2.0
"""How findings about a corpus are made and ordered."""

from collections.abc import Iterable

from evalsite.schema.base import Finding, Severity


def error(code: str, at: str, *, message: str, rule: str) -> Finding:
    """Return a finding that a corpus must not be released with."""
    return Finding(code=code, severity=Severity.ERROR, at=at, message=message, rule=rule)


def warning(code: str, at: str, *, message: str, rule: str) -> Finding:
    """Return a finding that its author should look at."""
    return Finding(code=code, severity=Severity.WARNING, at=at, message=message, rule=rule)


def ordered(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings by severity, then file, line (as a number) and code."""
    severities = list(Severity)

    def key(finding: Finding) -> tuple[int, str, int, str]:
        file, _, line = finding.at.rpartition(":")
        return severities.index(finding.severity), file, int(line) if line.isdigit() else 0, finding.code

    return sorted(findings, key=key)
