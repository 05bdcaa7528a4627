# SPDX-License-Identifier: Apache-2.0
"""Evidence levels in words: what each shows, and what it does not."""

from dataclasses import dataclass

from evalsite.schema.checks import Level


@dataclass(frozen=True, slots=True)
class LevelWords:
    """A level in two words, in one sentence, and what it leaves open."""

    short: str
    long: str
    leaves_open: str


LEVEL_WORDS: dict[Level, LevelWords] = {
    Level.A0: LevelWords(
        "consistent",
        "The files agree with each other. Whoever holds them all could have made them all.",
        "Who made the record, and when.",
    ),
    Level.A1: LevelWords(
        "signed, key pinned",
        "Signed under a root key that the verifier pinned beforehand.",
        "Whether the holder of the key rewrote the record before anybody else saw it, and when it was made.",
    ),
    Level.A2: LevelWords(
        "extends a known head",
        "Extends a head of the log that the verifier already held.",
        "When it was made.",
    ),
    Level.A3: LevelWords(
        "outside time",
        "Somebody outside whom the verifier trusts, a witness or a time stamp authority, signed that the log held it "
        "at a stated time.",
        "Whether other people were shown another log, and whether unlogged runs were made before this one was opened.",
    ),
    Level.A4: LevelWords(
        "witnessed",
        "A quorum of witnesses whom the verifier trusts, with keys that the runner lacks, signed the log's head.",
        "Whether the endpoint returned what it claims, and whether the corpus asks the right questions.",
    ),
}
