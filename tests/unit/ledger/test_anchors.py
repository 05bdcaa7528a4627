# SPDX-License-Identifier: Apache-2.0
"""Anchors: each is checked for what it is, and the verifier's policy alone says which of them count."""

import hashlib
import importlib.util
import re
import shutil
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from support.ledgers import LEDGER, RUN, fixed_key, make_sealed_run
from support.witnesses import (
    ANCHORS,
    PIN,
    TIME_S,
    StampAuthority,
    anchor,
    ledger_of,
    line_of,
    log_key,
    make_witness,
    open_log,
    trusting,
    witness_key,
)

from evalsite.errors import InputError, IntegrityError, UndecidedError
from evalsite.ledger import timestamps
from evalsite.ledger.anchors import Anchors, cosig_bytes, cosig_name, is_anchor, note_text, tag_bytes
from evalsite.ledger.checkpoint import Checkpoint, sign_checkpoint
from evalsite.ledger.cosignature import Cosignature, WitnessKey, cosign, parse_signature_lines, signature_line
from evalsite.ledger.evidence import Cover, Evidence, Policy, covers_of
from evalsite.ledger.timestamps import open_timestamp, order_chain, root_fingerprints
from evalsite.ledger.verify import verify_project, verify_run
from evalsite.schema.checks import Area, Level

MANY = tuple(f"f{number}" for number in range(64))
readable = pytest.mark.skipif(
    importlib.util.find_spec(timestamps.LIBRARY) is None or shutil.which("openssl") is None,
    reason="time stamps need the extra [timestamps] and the openssl command",
)


def findings(report):
    return [finding for check in report.checks if check.step == 24 for finding in check.findings]


class TestWhichWitnessesCount:
    def test_the_policy_decides_not_the_folder(self, project):
        anchor(project, "w1", "w2")
        assert ledger_of(project, Policy()).level is Level.A1
        assert ledger_of(project, trusting("w9")).level is Level.A1
        assert ledger_of(project, trusting("w1")).level is Level.A3
        assert ledger_of(project, trusting("w1", "w2")).level is Level.A4
        assert ledger_of(project, trusting("w1", "w2"), pins={}).level is Level.A0

    def test_the_quorum_is_the_verifiers(self, project):
        anchor(project, "w1", "w2")
        assert ledger_of(project, trusting("w1", quorum=1)).level is Level.A4
        assert ledger_of(project, trusting("w1", "w2", quorum=3)).level is Level.A3
        anchor(project, "w3")
        assert ledger_of(project, trusting("w1", "w2", "w3", quorum=3)).level is Level.A4

    @pytest.mark.parametrize("role", ["root", "runner", "log"])
    def test_a_key_of_the_ledger_is_never_a_witness(self, project, role):
        key = WitnessKey("looks-good", fixed_key(role).public_key)
        log = open_log(project)

        signature = cosign(note_text(log.note), key.name, fixed_key(role), time_s=TIME_S)
        with pytest.raises(IntegrityError, match="key of its own"):
            log.keep_cosignatures(signature_line(signature).encode(), [key])
        log._keep(cosig_name(log.size, key), cosig_bytes(key, signature))
        report = ledger_of(project, Policy(witnesses=(key,), quorum=1))
        assert report.holds(Area.INTEGRITY)
        assert report.level is Level.A1

    def test_one_key_under_two_names_counts_once(self, project):
        anchor(project, "w1")
        log = open_log(project)
        alias = WitnessKey("alias", witness_key("w1").public_key)
        (line,) = parse_signature_lines(line_of("w1", log.note))
        twin = type(line)("alias", alias.key_hash, line.signature)
        log._keep(cosig_name(log.size, alias), cosig_bytes(alias, twin))
        policy = Policy(witnesses=(witness_key("w1"), alias))
        report = ledger_of(project, policy)
        assert report.holds(Area.INTEGRITY)
        assert report.vouched.by == ("alias", "w1")
        assert report.level is Level.A3

    def test_one_witness_twice_counts_once_and_is_kept_once(self, project):
        assert len(anchor(project, "w1")) == 1
        assert anchor(project, "w1", time_s=TIME_S + 9) == []
        assert ledger_of(project, trusting("w1")).level is Level.A3

    def test_64_foreign_cosignatures_lift_nothing(self, project):
        anchor(project, *MANY)
        report = ledger_of(project, trusting("w1"))
        assert [check.checked for check in report.checks if check.step == 24] == [64]
        assert report.holds(Area.INTEGRITY)
        assert report.level is Level.A1
        anchor(project, "w1")
        assert ledger_of(project, trusting("w1")).level is Level.A3

    def test_the_keyrings_own_witness_counts_only_if_the_verifier_says_so(self):

        anchors = Anchors(cosignatures=[(4, Cosignature(witness_key("w1"), TIME_S))])
        raw = [witness_key("w1").public_key]
        assert covers_of(anchors, Policy(), own_keys=[], appointed=raw) == ()
        assert len(covers_of(anchors, Policy(appointed=True), own_keys=[], appointed=raw)) == 1
        assert covers_of(anchors, Policy(appointed=True), own_keys=raw, appointed=raw) == ()


class TestWhatIsCovered:
    def test_an_old_cosignature_does_not_cover_a_later_run(self, project):
        anchor(project, "w1", "w2")
        make_sealed_run(project, "run-2")
        policy = trusting("w1", "w2")
        assert verify_run(project, RUN, pins=PIN, policy=policy).run.level is Level.A4
        assert verify_run(project, "run-2", pins=PIN, policy=policy).run.level is Level.A1
        assert ledger_of(project, policy).level is Level.A1
        anchor(project, "w1", time_s=TIME_S + 60)
        later = verify_run(project, "run-2", pins=PIN, policy=policy).run
        assert (later.level, later.vouched.at, later.vouched.by) == (Level.A3, "2026-12-01T09:01:00Z", ("w1",))
        assert verify_run(project, RUN, pins=PIN, policy=policy).run.vouched.at == "2026-12-01T09:00:00Z"

    def test_a_replayed_cosignature_under_another_size_is_found(self, project):
        (name,) = anchor(project, "w1")
        make_sealed_run(project, "run-2")
        old = project / ANCHORS / name.split("/")[1]
        new = old.with_name(old.name.replace("4.", "6.", 1))
        new.write_bytes(old.read_bytes())
        (finding,) = findings(ledger_of(project, trusting("w1")))
        assert finding.at == f"{ANCHORS}/{new.name}"

    def test_a_run_that_is_not_closed_is_vouched_for_by_nobody(self):
        cover = Cover(4, TIME_S, "w1", b"1")
        evidence = Evidence(pinned=True, covers=(cover,), quorum=1)
        assert [evidence.level_of(entry) for entry in (None, 3, 4)] == [Level.A1, Level.A4, Level.A1]
        held = Evidence(pinned=True, held=True, covers=(cover,))
        assert [held.level_of(entry) for entry in (None, 3, 4)] == [Level.A2, Level.A3, Level.A2]

    def test_time_stamps_are_no_witnesses(self):
        stamps = tuple(Cover(4, TIME_S, f"stamp {number}", None) for number in range(3))
        assert Evidence(pinned=True, covers=stamps, quorum=1).level_of(0) is Level.A3


class TestEveryByte:
    def test_a_flipped_byte_in_a_cosignature_is_found_and_named(self, project):
        (name,) = anchor(project, "w1")
        path = project / ANCHORS / name.split("/")[1]
        data = path.read_bytes()
        for index in range(len(data)):
            path.write_bytes(data[:index] + bytes([data[index] ^ 1]) + data[index + 1 :])
            for policy in (trusting("w1"), Policy()):
                report = ledger_of(project, policy)
                assert not report.holds(Area.INTEGRITY), index
                assert {finding.at for finding in findings(report)} == {f"{ANCHORS}/{path.name}"}, index

    @pytest.mark.parametrize(
        "change", [lambda data: data[:-1], lambda data: data + b"\n", lambda data: data + data, lambda _: b""]
    )
    def test_a_cut_or_longer_cosignature_is_found(self, project, change):
        (name,) = anchor(project, "w1")
        path = project / ANCHORS / name.split("/")[1]
        path.write_bytes(change(path.read_bytes()))
        assert len(findings(ledger_of(project, Policy()))) == 1

    def test_names_must_say_what_the_content_says(self, project):
        (name,) = anchor(project, "w1")
        path = project / ANCHORS / name.split("/")[1]
        path.rename(path.with_name(path.name.replace("w1-", "w2-")))
        assert len(findings(ledger_of(project, Policy()))) == 1

    @pytest.mark.parametrize(
        "name", ["note.txt", "4.cosig", "04.w1-00000000.cosig", "0.w1-00000000.cosig", "4.w1.cosig", "4.tsr"]
    )
    def test_other_files_have_no_business_there(self, project, name):
        (project / ANCHORS).mkdir()
        (project / ANCHORS / name).write_bytes(b"x")
        assert not is_anchor(f"anchors/{name}")
        report = verify_project(project, pins=PIN)
        assert "log.unknown" in {finding.code for finding in report.findings()}

    def test_a_link_is_no_anchor(self, project, tmp_path):
        (name,) = anchor(project, "w1")
        path = project / ANCHORS / name.split("/")[1]
        path.rename(tmp_path / "moved")
        path.symlink_to(tmp_path / "moved")
        assert not ledger_of(project, trusting("w1")).holds(Area.INTEGRITY)

    def test_removing_an_anchor_lowers_the_level_and_breaks_nothing(self, project):
        anchor(project, "w1")
        shutil.rmtree(project / ANCHORS)
        report = ledger_of(project, trusting("w1"))
        assert (report.level, report.holds(Area.INTEGRITY)) == (Level.A1, True)

    def test_a_ledger_without_anchors_has_no_such_step(self, project):
        assert 24 not in {check.step for check in ledger_of(project, Policy()).checks}


class TestKeeping:
    def test_a_witness_answers_what_the_log_asks(self, project, tmp_path):
        one = make_witness(tmp_path / "w")
        log = open_log(project)
        reply = one.answer(log.request(0).to_bytes(), time_s=TIME_S)
        ((name, cosignature),) = log.keep_cosignatures(reply.body, [one.key])
        assert (name, cosignature.time_s) == (cosig_name(4, one.key), TIME_S)
        make_sealed_run(project, "run-2")
        log = open_log(project)
        assert log.cosigned_size(one.key) == 4
        assert one.answer(log.request(4).to_bytes(), time_s=TIME_S).status == 200

    def test_a_late_answer_is_kept_under_the_size_that_it_is_about(self, project):
        line = line_of("w1", open_log(project).note)
        make_sealed_run(project, "run-2")
        ((name, _),) = open_log(project).keep_cosignatures(line, [witness_key("w1")])
        assert name.startswith("anchors/4.")

    def test_unknown_and_wrong_lines_are_not_kept(self, project):
        log = open_log(project)
        foreign = b"".join(line_of(name, log.note) for name in MANY[:63])
        with pytest.raises(InputError, match="known witness"):
            log.keep_cosignatures(foreign, [witness_key("w1")])
        kept = log.keep_cosignatures(foreign + line_of("w1", log.note), [witness_key("w1")])
        assert len(kept) == 1

        other = sign_checkpoint(Checkpoint(f"{LEDGER}/log", 4, bytes(32)), f"{LEDGER}/log", fixed_key("log"))
        with pytest.raises(IntegrityError, match="checkpoint of this log"):
            log.keep_cosignatures(line_of("w2", other), [witness_key("w2")])
        for junk in (b"", b"junk\n", foreign + line_of("w1", log.note) * 2):
            with pytest.raises(InputError):
                log.keep_cosignatures(junk, [witness_key("w1")])

    def test_a_witness_that_saw_more_is_a_rollback(self, project):
        with pytest.raises(IntegrityError, match="rolled back"):
            open_log(project).request(5)

    def test_a_broken_log_is_not_anchored(self, project):
        (project / "runs" / "log" / LEDGER / "entries" / "000.jsonl").write_bytes(b"")
        with pytest.raises(IntegrityError):
            open_log(project)


class TestTags:
    def raw(self, note):
        head = b"object " + b"1" * 40 + b"\ntype commit\ntag head-4\ntagger a <a@example.org> 1 +0000\n\n"
        return head + note + b"-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----\n"

    def object_id(self, raw, kind="sha1"):
        return hashlib.new(kind, b"tag %d\x00" % len(raw) + raw).hexdigest()

    def test_a_tag_is_kept_and_lifts_nothing(self, project):
        log = open_log(project)
        raw = self.raw(log.note)
        for kind in ("sha1", "sha256"):
            log.keep_tag(self.object_id(raw, kind), raw)
        report = ledger_of(project, Policy())
        assert (report.level, report.holds(Area.INTEGRITY)) == (Level.A1, True)
        assert len(open_log(project).facts.anchors.tags) == 2

    def test_another_message_or_id_is_refused(self, project):
        log = open_log(project)
        raw = self.raw(log.note)
        for object_id, data in (("0" * 40, raw), (self.object_id(raw), raw + b"x")):
            with pytest.raises(IntegrityError):
                log.keep_tag(object_id, data)
        other = self.raw(b"another message\n")
        with pytest.raises(IntegrityError, match="message"):
            log.keep_tag(self.object_id(other), other)
        with pytest.raises(InputError):
            log.keep_tag("main", raw)

    def test_a_flipped_byte_in_a_tag_is_found_and_named(self, project):
        log = open_log(project)
        raw = self.raw(log.note)
        path = project / "runs" / "log" / LEDGER / log.keep_tag(self.object_id(raw), raw)
        data = path.read_bytes()
        assert data == tag_bytes(self.object_id(raw), raw)
        for index in range(0, len(data), 7):
            path.write_bytes(data[:index] + bytes([data[index] ^ 1]) + data[index + 1 :])
            assert {finding.at for finding in findings(ledger_of(project, Policy()))} == {f"{ANCHORS}/{path.name}"}


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return StampAuthority(tmp_path_factory.mktemp("tsa") / "one")


@readable
class TestTimestamps:
    def test_a_trusted_time_stamp_reaches_a3_and_another_does_not(self, project, authority, tmp_path):
        log = open_log(project)
        name, stamp = log.keep_timestamp(authority.stamp(log.note), authority.chain, log.size)
        assert is_anchor(name)
        policy = Policy(tsa_roots=root_fingerprints(authority.root))
        report = ledger_of(project, policy)
        assert (report.level, report.holds(Area.INTEGRITY)) == (Level.A3, True)
        assert report.vouched.by == (f"time stamp under {stamp.root}",)
        assert ledger_of(project, Policy()).level is Level.A1
        other = StampAuthority(tmp_path / "other")
        assert ledger_of(project, Policy(tsa_roots=root_fingerprints(other.root))).level is Level.A1

    def test_a_stamp_of_a_certificate_that_expired_since_still_holds(self, project, tmp_path):
        """OpenSSL refuses it at today's time and accepts it at the stamp's; so do we, whatever the day."""
        old = StampAuthority(tmp_path / "tsa")
        log = open_log(project)
        response = old.stamp(log.note)
        stamp = open_timestamp(response, order_chain(old.chain), log.note)
        (old.folder / "data").write_bytes(log.note)
        verify = "ts -verify -data data -in r.tsr -CAfile root.pem -untrusted tsa.pem"
        with pytest.raises(AssertionError):
            old.openssl(f"{verify} -attime {stamp.time_s + 3000 * 86400}")
        old.openssl(f"{verify} -attime {stamp.time_s}")

    def test_the_time_is_the_latest_that_the_stated_accuracy_leaves(self, project, authority):
        """The authority of these tests states an accuracy of one second; OpenSSL prints it and the time apart."""
        log = open_log(project)
        response = authority.stamp(log.note)
        stamp = open_timestamp(response, order_chain(authority.chain), log.note)
        printed = authority.openssl("ts -reply -in r.tsr -text").decode()
        told = re.search(r"Time stamp: (\w+ +\d+ [\d:]+)(?:\.\d+)? (\d+) GMT", printed)
        at = datetime.strptime(f"{told[1]} {told[2]} +0000", "%b %d %H:%M:%S %Y %z")
        assert "Accuracy: 0x01 seconds" in printed
        assert stamp.time_s == at.timestamp() + 1

    @pytest.mark.parametrize(
        ("parts", "expected"),
        [
            (None, timedelta()),
            ((None, None, None), timedelta()),
            ((2, None, None), timedelta(seconds=2)),
            ((None, 500, 250), timedelta(milliseconds=500, microseconds=250)),
        ],
    )
    def test_a_part_of_the_accuracy_that_is_absent_is_zero(self, parts, expected):
        stated = None if parts is None else SimpleNamespace(seconds=parts[0], millis=parts[1], micros=parts[2])
        assert timestamps._accuracy(stated) == expected

    def test_a_certificate_that_was_not_valid_at_the_stamps_time_is_refused(self, project, authority):
        log = open_log(project)
        response = authority.stamp(log.note)
        chain = timestamps._load_chain(order_chain(authority.chain))

        with pytest.raises(IntegrityError, match="valid at the stamp's time"):
            timestamps._check_path(chain, datetime(2040, 1, 1, tzinfo=UTC))
        timestamps._check_path(
            chain, datetime.fromtimestamp(open_timestamp(response, order_chain(authority.chain), log.note).time_s, UTC)
        )

    def test_other_bytes_another_chain_and_an_authority_that_is_none_are_refused(self, project, authority, tmp_path):
        log = open_log(project)
        response = authority.stamp(log.note)
        other = StampAuthority(tmp_path / "other")
        with pytest.raises(IntegrityError):
            open_timestamp(response, order_chain(authority.chain), log.note + b"x")
        with pytest.raises(IntegrityError):
            open_timestamp(response, order_chain(other.chain), log.note)
        crossed = authority.chain.replace(authority.root, other.root)
        with pytest.raises(InputError, match="up to its root"):
            order_chain(crossed)
        with pytest.raises(InputError, match="one certificate of a time stamp authority"):
            order_chain(StampAuthority(tmp_path / "ca", usage="ca").chain)
        for junk in (b"", b"junk", response[:-1]):
            with pytest.raises((InputError, IntegrityError)):
                open_timestamp(junk, order_chain(authority.chain), log.note)
        with pytest.raises(IntegrityError):
            open_timestamp(response, authority.chain, log.note)  # the root's certificate stands first
        with pytest.raises(InputError):
            order_chain(b"no PEM")

    def test_a_flipped_byte_in_a_stamp_or_its_chain_is_found_with_and_without_the_package(
        self, project, authority, monkeypatch
    ):
        log = open_log(project)
        name, _ = log.keep_timestamp(authority.stamp(log.note), authority.chain, log.size)
        for path in (project / "runs" / "log" / LEDGER / name, project / "runs" / "log" / LEDGER / f"{name}.chain.pem"):
            data = path.read_bytes()
            for index in range(0, len(data), 101):
                path.write_bytes(data[:index] + bytes([data[index] ^ 1]) + data[index + 1 :])
                assert {item.at for item in findings(ledger_of(project, Policy()))} == {f"runs/log/{LEDGER}/{name}"}
            path.write_bytes(data)
        monkeypatch.setattr(timestamps, "LIBRARY", "no_such_package")
        path.write_bytes(data[:-1])
        assert len(findings(ledger_of(project, Policy()))) == 1

    def test_without_the_package_a_stamp_counts_for_nothing_and_cannot_be_added(self, project, authority, monkeypatch):
        log = open_log(project)
        response = authority.stamp(log.note)
        log.keep_timestamp(response, authority.chain, log.size)
        monkeypatch.setattr(timestamps, "LIBRARY", "no_such_package")
        report = ledger_of(project, Policy(tsa_roots=root_fingerprints(authority.root)))
        assert (report.level, report.holds(Area.INTEGRITY)) == (Level.A1, True)
        assert open_log(project).facts.anchors.unread == 1
        with pytest.raises(UndecidedError, match="rfc3161-client"):
            log.keep_timestamp(response, authority.chain, 3)

    def test_a_chain_without_its_stamp_is_found(self, project, authority):
        log = open_log(project)
        name, _ = log.keep_timestamp(authority.stamp(log.note), authority.chain, log.size)
        (project / "runs" / "log" / LEDGER / name).unlink()
        assert len(findings(ledger_of(project, Policy()))) == 1
        with pytest.raises(InputError):
            log.keep_timestamp(b"", authority.chain, 99)


def test_the_log_key_is_not_among_the_fixed_witnesses():
    assert log_key().public_key not in {witness_key(name).public_key for name in MANY}
