# SPDX-License-Identifier: Apache-2.0
"""Verify run records without evalsite: the standard library, and `cryptography` for Ed25519.

Written from docs/spec/run-record-v1.md alone; § is a section of it. Usage: python verify_without_evalsite.py
RUNS_OR_BUNDLE [root fingerprint of each ledger]. Exit 0: all holds. 4: integrity fails. 5: incomplete, or blobs gone.
"""

import base64
import hashlib
import json
import re
import stat
import sys
from collections import Counter
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

P, LACKS = 2**255 - 19, []  # what completeness and availability lack: told, and exit 5
ORDER_8 = int.from_bytes(bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"), "little")
ALLOWED = {  # §2
    "trust": r"keyring(/\d{3,}\.dsse\.json)?|(root|runner|log)\.pem|(root|log)\.vkey|allowed_signers",
    "log": r"entries(/\d{3,}\.jsonl)?|checkpoint|checkpoints(/[1-9]\d*\.note)?|anchors(/.+)?",
    "run": r"events(/\d{3,}\.jsonl)?|checkpoint|checkpoints(/[1-9]\d*\.note)?|statement\.dsse\.json|"
    r"proofs(/run-(opened|closed)\.tlog-proof)?|blobs(/([0-9a-f]{2})(/\6[0-9a-f]{62})?)?|quarantine(/\d+\.bin)?",
}
FIELDS = """events/run.opened ledger plan; events/trial.started trial attempt; events/call.recorded call
events/trial.ended trial attempt candidate_call judge_call result; events/run.interrupted cause in_flight
events/run.resumed kept dropped_bytes quarantine environment_changed; events/run.closed complete totals
entries/ledger.opened root_fingerprint; entries/keys.published version envelope; entries/keys.revoked key_id reason
entries/run.opened run opened_leaf plan_digest; entries/run.closed run size root statement"""  # §4, §8
FIELDS = {line.split()[0]: line.split()[1:] for line in re.split("[;\n]", FIELDS)}


def need(holds, what="not as the format says"):
    if not holds:
        raise ValueError(what)


def sha(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def unbase64(text):
    raw = base64.b64decode(text, validate=True)
    need(base64.b64encode(raw).decode() == text, "base64 in another spelling")
    return raw


def ordered(value, depth=0):
    """Keys in the order of UTF-16 code units (RFC 8785 §3.2.3), within the bounds of §1."""
    need(depth < 64 or not isinstance(value, dict | list), "nested too deep")
    need(not isinstance(value, float) and (not isinstance(value, int) or abs(value) < 2**53), "a float, or too great")
    if isinstance(value, dict):
        return {key: ordered(value[key], depth + 1) for key in sorted(value, key=lambda key: key.encode("utf-16-be"))}
    return [ordered(item, depth + 1) for item in value] if isinstance(value, list) else value


def canonical(value):
    return json.dumps(ordered(value), ensure_ascii=False, separators=(",", ":")).encode()


def parse(data, bound=1 << 22):
    """An object from its one spelling; that refuses duplicate keys, NaN, byte order marks and spaces as well."""
    need(len(data) <= bound, "longer than its bound")
    value = json.loads(data)
    need(isinstance(value, dict) and canonical(value) == data, "not canonical JSON")
    return value


def root(leaves):
    """The Merkle tree hash (RFC 6962 §2.1) of leaf hashes."""
    half = 1 << (len(leaves) - 1).bit_length() - 1 if len(leaves) > 1 else 0
    both = b"\x01" + root(leaves[:half]) + root(leaves[half:]) if half else b""
    return hashlib.sha256(both).digest() if half else leaves[0]


def audit_path(index, leaves):
    """The hashes from a leaf to the root (RFC 6962 §2.1.1)."""
    if len(leaves) == 1:
        return []
    half = 1 << (len(leaves) - 1).bit_length() - 1
    left, right = leaves[:half], leaves[half:]
    return [*audit_path(index, left), root(right)] if index < half else [*audit_path(index - half, right), root(left)]


def key_of(raw):
    """An Ed25519 key that may be trusted: canonical, and none of low order (§1)."""
    y = int.from_bytes(raw, "little") % 2**255
    need(len(raw) == 32 and y < P and y not in {0, 1, P - 1, ORDER_8, P - ORDER_8}, "unfit public key")
    return Ed25519PublicKey.from_public_bytes(raw)


def note_id(name, raw):
    return hashlib.sha256(f"{name}\n\x01".encode() + raw).digest()[:4]


def listed(folder, kind):
    """The names of a folder's files (§2); nothing else may stand there."""
    found = []
    for path in folder.rglob("*"):
        name, state = path.relative_to(folder).as_posix(), path.lstat()
        if path.name.startswith(".evalsite-tmp-"):
            LACKS.append(f"{path} is the remains of an interrupted write")
            continue
        is_file = stat.S_ISREG(state.st_mode) and state.st_nlink == 1
        need(is_file or stat.S_ISDIR(state.st_mode), f"{path}: no plain file")
        need(re.fullmatch(ALLOWED[kind], name), f"{path}: does not belong here")
        found += [name] if is_file else []
    return sorted(found, key=lambda name: (len(name), name))


def unsealed(data, kind, keys):
    """The payload of a DSSE envelope (§7) and the key ids that signed it."""
    need(data.endswith(b"\n"), "envelope without newline")
    envelope = parse(data[:-1])
    need(set(envelope) == {"payload", "payloadType", "signatures"} and envelope["payloadType"] == kind, "envelope")
    payload, ids = unbase64(envelope["payload"]), [signature["keyid"] for signature in envelope["signatures"]]
    need(0 < len(ids) <= 16 and len(set(ids)) == len(ids), "no signature, or one key twice")
    for signature in envelope["signatures"]:
        need(set(signature) == {"keyid", "sig"} and signature["keyid"] in keys, "signed by an unknown key")
        signed = f"DSSEv1 {len(kind)} {kind} {len(payload)} ".encode() + payload
        key_of(keys[signature["keyid"]]).verify(unbase64(signature["sig"]), signed)
    return payload, set(ids)


def keyrings(folder, ledger, pins):
    """Steps 1 to 3: all keys by role and id, the digests of the versions' files, and the root keys' ids."""
    names = [name for name in listed(folder, "trust") if name.startswith("keyring/")]
    need(names and names == [f"keyring/{i + 1:03}.dsse.json" for i in range(len(names))], "keyring versions missing")
    roots, keys, now, ring, in_force = {}, {"runner": {}, "log": {}}, {}, {}, []
    for version, data in enumerate([(folder / name).read_bytes() for name in names], 1):
        raw = unbase64(parse(unbase64(parse(data[:-1])["payload"]))["root_public_key"])
        before, roots = dict(list(roots.items())[-1:]), {**roots, sha(raw): raw}
        payload, by = unsealed(data, "application/vnd.evalsite.keyring+json", {**before, sha(raw): raw})
        ring, now = parse(payload), {"root": raw}
        need(by == {*before, sha(raw)}, "a keyring is not signed by its root and the one before")
        need((ring["format"], ring["ledger"], ring["version"]) == ("evalsite/keyring/v1", ledger, version), "keyring")
        for key in ring["keys"]:
            raw, role = unbase64(key["public_key"]), key["role"]
            need((key["key_id"], key["algorithm"]) == (sha(raw), "ed25519") and key_of(raw), "no key of this id")
            need(all(sha(raw) not in keys[other] for other in keys if other != role), "one key in two roles")
            keys.setdefault(role, {})[sha(raw)] = raw
            if role in {"runner", "log"} and not (key["not_after"] or key["revoked_at"]):  # the one in force
                need(role not in now and raw != now["root"] and key["name"] == f"{ledger}/{role}", "keys of a role")
                now[role] = raw
        in_force.append(now["log"])
    need(not pins or set(pins) & set(roots), f"the root key of {ledger} is not a pinned one")
    signers = ""
    for role in ("root", "runner", "log"):  # what follows from the newest keyring, byte for byte
        pem = key_of(now[role]).public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        need((folder / f"{role}.pem").read_bytes() == pem, f"{ledger}: {role}.pem")
        typed, number = base64.b64encode(b"\x01" + now[role]).decode(), note_id(f"{ledger}/{role}", now[role]).hex()
        vkey = f"{ledger}/{role}+{number}+{typed}\n".encode()
        need(role == "runner" or (folder / f"{role}.vkey").read_bytes() == vkey, f"{ledger}: {role}.vkey")
        ssh = key_of(now[role]).public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
        signers += f'{role}@{ledger} namespaces="evalsite-run@v1" {ssh}\n'
    for key in (key for key in ring["keys"] if key["role"] == "runner" and (key["not_after"] or key["revoked_at"])):
        end = re.sub(r"\D", "", min(filter(None, (key["not_after"], key["revoked_at"]))))[:14]
        ssh = key_of(unbase64(key["public_key"])).public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
        signers += f'runner@{ledger} namespaces="evalsite-run@v1",valid-before="{end}Z" {ssh}\n'
    need((folder / "allowed_signers").read_bytes() == signers.encode(), f"{ledger}: allowed_signers")
    return keys, [sha((folder / name).read_bytes()) for name in names], list(roots), in_force


def lines(folder, names, kind, frame, whose):
    """Steps 5, 6, 10, 11: parsed lines, leaf hashes, bytes of all lines, and the bytes of the notes by size."""
    ledger, keys, origin = whose
    notes, parsed, leaves = {}, [], []
    for name in (name for name in names if name.startswith("checkpoints/")):
        text = (folder / name).read_bytes().decode()
        note = re.fullmatch(rf"({re.escape(origin)}\n(\d+)\n(\S+)\n)\n— {re.escape(ledger)}/log (\S+)\n", text)
        need(note and name == f"checkpoints/{note[2]}.note", f"{folder / name}: no checkpoint of {origin}")
        signature = unbase64(note[4])
        signer = [raw for raw in keys["log"].values() if note_id(f"{ledger}/log", raw) == signature[:4]]
        need(len(signer) == 1, f"{folder / name}: signed by an unknown key")
        key_of(signer[0]).verify(signature[4:], note[1].encode())
        notes[int(note[2])] = (text.encode(), unbase64(note[3]))
    newest = (folder / "checkpoint").read_bytes()
    need(newest in [text for text, _ in notes.values()], f"{folder}: checkpoint is none of its notes")
    LACKS.extend([f"{folder}/checkpoint is not the newest"] if newest != notes[max(notes)][0] else [])
    parts = [name for name in names if name.startswith(f"{kind}/")]
    need(parts and parts == [f"{kind}/{i:03}.jsonl" for i in range(len(parts))], f"{folder}: segments missing")
    raws = [(folder / part).read_bytes() for part in parts]
    counts = [raw.count(b"\n") for raw in raws]
    need(all(raw.endswith(b"\n") for raw in raws) and set(counts[:-1]) <= {1024} and counts[-1] <= 1024, "segments")
    for seq, line in enumerate(b"".join(raws)[:-1].split(b"\n")):
        value = parse(line, 1 << (20 if kind == "events" else 16))
        fixed = {**frame, "seq": seq, "prev": "sha256:" + leaves[-1].hex() if leaves else None}
        need(canonical({key: value.get(key) for key in fixed}) == canonical(fixed), f"{folder}: line {seq}: frame")
        fields = ["type", "recorded_at", *FIELDS[f"{kind}/{value['type']}"]]
        need(set(value) == {*fields, *fixed}, f"{folder}: line {seq}: fields")
        need(re.fullmatch(r"\d{4}(-\d\d){2}T\d\d(:\d\d){2}(\.\d{3})?Z", value["recorded_at"]), "time")
        parsed.append(value)
        leaves.append(hashlib.sha256(b"\x00" + line).digest())
    for size, (_, signed) in notes.items():
        need(size <= len(leaves) and root(leaves[:size]) == signed, f"{folder}: not the signed root at size {size}")
    LACKS.extend([f"{folder}: lines behind the signed size"] if max(notes) < len(leaves) else [])
    return parsed, leaves, b"".join(raws), {size: text for size, (text, _) in notes.items()}


def planned_trials(plan):
    """The planned trials (§4), as canonical bytes."""
    empty = {"case_id": "", "dimension": None, "kind": "case", "polarity": None, "repetition": None}
    dimensions = ("faithfulness", "groundedness") if plan["protocol"] == "graded" else (None,)
    ids, rounds = [case["case_id"] for case in plan["cases"]], range(1, plan["repetitions"] + 1)
    made = [empty | {"case_id": i, "repetition": r, "dimension": d} for i in ids for r in rounds for d in dimensions]
    if plan["protocol"] == "binary" and plan["mode"] != "fixture":
        made += [
            empty | {"case_id": i, "kind": "control", "polarity": p} for i in ids for p in ("positive", "negative")
        ]
    return {canonical(one): one["kind"] for one in made}


def in_order(events):
    """Step 12: what may follow what (§4), and the totals."""
    planned, started, flight, ended, calls, resumed = planned_trials(events[0]["plan"]), {}, {}, {}, [], -1
    for seq, event, kind, inner in ((e["seq"], e, e["type"], e.get("call", e)) for e in events):
        need((kind == "run.opened") == (seq == 0) and (kind != "run.closed" or event is events[-1]), f"{kind} at {seq}")
        trial = canonical(inner["trial"]) if "trial" in inner else None
        if kind == "trial.started":
            count, at = started.get(trial, (0, -2))
            need(trial in planned and trial not in flight and trial not in ended, f"trial.started at {seq}")
            need(event["attempt"] == count + 1 and at < resumed + (count == 0), f"attempt at {seq}")
            started[trial], flight[trial] = (count + 1, seq), {"candidate": None, "judge": None}
        elif trial:
            need(trial in flight and inner["attempt"] == started[trial][0], f"{kind} at {seq}: not in flight")
            if kind == "call.recorded":
                need(flight[trial][inner["role"]] is None, f"second call of a role at {seq}")
                flight[trial][inner["role"]] = seq
                calls.append(inner["role"])
            else:
                of = {"candidate": event["candidate_call"], "judge": event["judge_call"]}
                need(flight.pop(trial) == of, f"trial.ended at {seq} names other calls")
                ended[trial] = event["result"]["status"]
        elif kind == "run.interrupted":
            need({canonical(one) for one in event["in_flight"]} <= set(flight), f"in_flight at {seq}")
        elif kind == "run.resumed":
            need(event["kept"] == seq and (event["quarantine"] is None) == (event["dropped_bytes"] == 0), "resumed")
            flight, resumed = {}, seq
        elif kind == "run.closed":
            total = {"attempts": sum(n for n, _ in started.values()), "calls_by_role": Counter(calls)}
            for name, of in (("", "case"), ("controls_", "control")):
                total[f"{name}by_status"] = Counter(how for trial, how in ended.items() if planned[trial] == of)
                total[f"{name}ended"] = total[f"{name}by_status"].total()
                total[f"{name}planned"] = list(planned.values()).count(of)
            both, ours = [event["totals"], event["complete"]], [total, len(ended) == len(planned)]
            need(canonical(both) == canonical(ours), "totals or complete of run.closed")
    LACKS.extend([] if len(ended) == len(planned) else [f"{events[0]['run']}: trials that did not end"])


def statement(events, leaves, raw):
    """The statement that follows from the record (§7)."""
    first, last, plan = events[0], events[-1], events[0]["plan"]
    record = {"sha256": hashlib.sha256(raw).hexdigest(), "sha512": hashlib.sha512(raw).hexdigest()}
    digests = {f"runs/{first['run']}/events": record}
    digests[f"corpora/{plan['corpus']['name']}"] = {"sha256": plan["corpus"]["fingerprint"][7:]}
    subjects = [{"digest": digest, "name": name} for name, digest in digests.items()]
    for role in ("candidate", "judge"):
        about = plan[role]["identity"] if plan[role] else {"model_digest": None}
        if about["model_digest"]:
            digest = about["model_digest"].removeprefix("sha256:")
            subjects.append({"digest": {"sha256": digest}, "name": f"{role}:{about['model_name']}"})
    predicate = {key: plan[key] for key in ("mode", "protocol")} | {key: first[key] for key in ("ledger", "run")}
    predicate |= {"openedAt": first["recorded_at"], "closedAt": last["recorded_at"], "planDigest": sha(canonical(plan))}
    predicate |= {"corpus": {key: plan["corpus"][key] for key in ("name", "version")}, "complete": last["complete"]}
    predicate |= {"totals": last["totals"], "tree": {"root": "sha256:" + root(leaves).hex(), "size": len(leaves)}}
    whole = {"predicateType": "https://evalsite.invalid/run-record/v1", "predicate": predicate, "subject": subjects}
    return canonical({"_type": "https://in-toto.io/Statement/v1", **whole})


def run_holds(folder, log, keys):
    """Steps 9 to 17 of one run; `log` is what `lines` gave of its ledger's log."""
    names, name, ledger = listed(folder, "run"), folder.name, log[0][0]["ledger"]
    frame, whose = {"format": "evalsite/event/v1", "run": name}, (ledger, keys, f"{ledger}/run/{name}")
    events, leaves, raw, notes = lines(folder, names, "events", frame, whose)
    in_order(events)
    closed, logged = events[-1]["type"] == "run.closed", [entry for entry in log[0] if entry.get("run") == name]
    need(1 in notes and (not closed or len(events) in notes), f"{name}: notes missing")
    says = {"opened_leaf": "sha256:" + leaves[0].hex(), "plan_digest": sha(canonical(events[0]["plan"]))}
    if closed and "statement.dsse.json" in names and len(logged) == 2:
        sealed = (folder / "statement.dsse.json").read_bytes()
        payload, _ = unsealed(sealed, "application/vnd.in-toto+json", keys["runner"])
        need(payload == statement(events, leaves, raw), f"{name}: the statement does not follow from the record")
        says |= {"root": "sha256:" + root(leaves).hex(), "size": len(leaves), "statement": sha(payload)}
    else:
        LACKS.append(f"{name}: not closed, stated and logged as closed")
    need(logged or len(events) == 1, f"{name}: not in the log")
    for entry in logged:
        fields = FIELDS[f"entries/{entry['type']}"][1:]
        need(all(entry[field] == says.get(field) for field in fields), f"{name}: the log says otherwise")
        path = f"proofs/{entry['type'].replace('.', '-')}.tlog-proof"
        proof, seq = (folder / path).read_bytes(), entry["seq"]
        size = int(proof.split(b"\n\n", 1)[1].split(b"\n")[1])
        hashes = "".join(base64.b64encode(one).decode() + "\n" for one in audit_path(seq, log[1][:size]))
        spelled = f"c2sp.org/tlog-proof@v1\nindex {seq}\n{hashes}\n".encode() + log[3][size]
        need(seq < size and proof == spelled, f"{path} of {name} proves nothing")
    plan, contents = events[0]["plan"], {n: (folder / n).read_bytes() for n in names if n[:5] in {"blobs", "quara"}}
    named = {plan["corpus"]["snapshot"], *(plan[r]["identity"]["raw"] for r in ("candidate", "judge") if plan[r])}
    named |= {event["call"][key] for event in events if "call" in event for key in ("request", "reply")} - {None}
    torn = {f"quarantine/{e['seq']}.bin": (e["dropped_bytes"], e["quarantine"]) for e in events if e.get("quarantine")}
    for path, content in contents.items():  # §6
        is_blob = sha(content) == f"sha256:{path[9:]}" and re.match(rb"evalsite-blob/v1\n[0-9a-f]{64}\n", content)
        need(is_blob or torn.get(path) == (len(content), sha(content)), f"{folder / path} holds other bytes")
        need(not closed or path in torn or f"sha256:{path[9:]}" in named, f"{folder / path}: no event names it")
    need(set(torn) <= set(contents), f"{name}: quarantined bytes are gone")
    missing = [digest for digest in named - {None} if f"blobs/{digest[7:9]}/{digest[7:]}" not in contents]
    LACKS.extend(f"{name}: blob {digest} is not there" for digest in sorted(missing))


def log_holds(runs, ledger, pins):
    """Steps 1 to 8 of one ledger."""
    keys, rings, roots, in_force = keyrings(runs / "trust" / ledger, ledger, pins)
    folder, frame = runs / "log" / ledger, {"format": "evalsite/log/v1", "ledger": ledger}
    log = lines(folder, listed(folder, "log"), "entries", frame, (ledger, keys, f"{ledger}/log"))
    need(set(log[3]) == set(range(2, max(log[3]) + 1)), f"{ledger}: log notes missing")
    seen, published, places = {}, [], []
    for seq, entry in enumerate(log[0]):
        kind = entry["type"]
        need((kind == "ledger.opened") == (seq == 0) and (seq != 1 or kind == "keys.published"), f"{kind} at {seq}")
        if kind == "keys.published":
            published.append(entry["envelope"])
            places.append(seq)
            need(entry["version"] == len(published), "keyring versions in the log")
        elif "run" in entry:
            need(seen.get(entry["run"]) == {"run.opened": None, "run.closed": "run.opened"}[kind], f"{kind} at {seq}")
            seen[entry["run"]] = kind
    need(published == rings and log[0][0]["root_fingerprint"] == roots[0], f"{ledger}: log and keyrings disagree")
    for size, note in log[3].items():  # a keyring version is in force for notes that cover its entry
        raw = in_force[max(1, sum(place < size for place in places)) - 1]
        number = unbase64(note.decode().rsplit(" ", 1)[1][:-1])[:4]
        need(number == note_id(f"{ledger}/log", raw), f"{ledger}: note {size} is not by the log key in force")
    return log, keys, seen


def main(place, *pins):
    runs = place / "runs" if (place / "runs").is_dir() else place
    try:
        ledgers = {path.name: log_holds(runs, path.name, pins) for path in sorted((runs / "trust").iterdir())}
        need({path.name for path in (runs / "log").iterdir()} == set(ledgers), "a log without keys, or the reverse")
        found = {path.name: path for path in sorted(runs.iterdir()) if path.name not in {"trust", "log"}}
        for path in found.values():
            ledger = json.loads((path / "events/000.jsonl").read_bytes().split(b"\n")[0])["ledger"]
            run_holds(path, *ledgers[ledger][:2])
            print(f"{path.name}: integrity holds under ledger {ledger}")
        absent = {run for _, _, seen in ledgers.values() for run in seen} - set(found)
        need(not absent or (place / "evalsite-bundle.json").exists(), f"runs that a log opened are gone: {absent}")
    except (InvalidSignature, ValueError, LookupError, TypeError, AttributeError, OSError, RecursionError) as exc:
        print(f"INTEGRITY DOES NOT HOLD: {exc or type(exc).__name__}")
        return 4
    LACKS.extend([] if found else ["no run: nothing to verify is not in order"])
    note = f"other runs of this log are not in this bundle: {len(absent)}; " if absent else ""
    print("\n".join([*LACKS, f"{note}evidence: {'A1, root keys pinned' if pins else 'A0, no root key pinned'}"]))
    return 5 if LACKS else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:]))
