# SPDX-License-Identifier: Apache-2.0
"""Verify run records without evalsite: the standard library, and a release of `cryptography` that knows ML-DSA.

Written from docs/spec/run-record-v1.md alone: § is a section of it, a step one of its §10. What is not checked is said.
Usage: python verify_without_evalsite.py RUNS_OR_AUDIT_BUNDLE [root fingerprint of each ledger]
Exit 0: the rest holds. 4: integrity fails. 5: incomplete, blobs are gone, or nothing could be decided.
"""

import hashlib
import re
import sys
from collections import Counter
from pathlib import Path

import plain_formats as plain
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from plain_formats import canonical, from64, need, parse, planned_trials, sha, to64, tree

SECOND, STATEMENT, BLOB = "log-ml-dsa-44", "statement.dsse.json", rb"evalsite-blob/v1\n[0-9a-f]{64}\n"
LABELS = r"constants\.frozen|cards\.frozen|labels\.(committed|revealed)|annotators\.aligned|calibration\.recorded"
LACKS, SAYS = [], []  # what completeness and availability lack (exit 5); what a reader must know besides


def files_of(folder):
    """The files of a folder by name. Each is popped where it is checked: what is left has no place here (§2)."""
    need(re.fullmatch(r"[a-z0-9]([a-z0-9._-]{,62}[a-z0-9_-])?", folder.name), f"{folder}: no name")
    found = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        plain = path.is_file() and path.lstat().st_nlink == 1
        need(not path.is_symlink() and (plain or path.is_dir()), f"{path}: no plain file")
        if path.name.startswith(".evalsite-tmp-") or not (plain or any(path.iterdir())):
            LACKS.append(f"{path} is empty, or the remains of an interrupted write")
        elif plain:
            found[path.relative_to(folder).as_posix()] = path.read_bytes()
    return found


def statement(events, leaves, raw):
    """The statement that follows from the record (§7)."""
    first, last, plan = events[0], events[-1], events[0]["plan"]
    record = {"sha256": hashlib.sha256(raw).hexdigest(), "sha512": hashlib.sha512(raw).hexdigest()}
    digests = {f"runs/{first['run']}/events": record}
    digests[f"corpora/{plan['corpus']['name']}"] = {"sha256": plan["corpus"]["fingerprint"][7:]}
    subjects = [{"digest": digest, "name": name} for name, digest in digests.items()]
    for role, about in [(role, plan[role]["identity"]) for role in ("candidate", "judge") if plan[role]]:
        digest = {"sha256": (about["model_digest"] or "").removeprefix("sha256:")}
        subjects += [{"digest": digest, "name": f"{role}:{about['model_name']}"}] if about["model_digest"] else []
    predicate = {key: plan[key] for key in ("mode", "protocol")} | {key: first[key] for key in ("ledger", "run")}
    predicate |= {"openedAt": first["recorded_at"], "closedAt": last["recorded_at"], "planDigest": sha(canonical(plan))}
    predicate |= {"corpus": {key: plan["corpus"][key] for key in ("name", "version")}, "complete": last["complete"]}
    predicate |= {"totals": last["totals"], "tree": {"root": "sha256:" + tree(leaves)[0].hex(), "size": len(leaves)}}
    whole = {"_type": "https://in-toto.io/Statement/v1", "predicateType": "https://evalsite.invalid/run-record/v1"}
    return canonical({**whole, "predicate": predicate, "subject": subjects})


def in_order(events):
    """Step 12: what may follow what, and the totals (§4)."""
    plan, attempts, flight, ended, calls = events[0]["plan"], Counter(), {}, {}, Counter()
    planned = {canonical(trial): trial["kind"] for trial in planned_trials(plan)}
    fresh = set(planned)  # what may begin: not ended, and not begun since the last run.resumed
    for seq, event in enumerate(events):
        kind, of, where = event["type"], event.get("call", event), f"{event['run']}: {event['type']} at {seq}"
        need((kind == "run.opened") == (seq == 0) and (kind != "run.closed" or event is events[-1]), where)
        trial = canonical(of.get("trial"))
        if kind == "trial.started":
            attempts[trial] += 1
            need(trial in fresh and event["attempt"] == attempts[trial], where)
            fresh.remove(trial)
            flight[trial] = {}
        elif kind in {"call.recorded", "trial.ended"}:
            need(trial in flight and of["attempt"] == attempts[trial], where)
            if kind == "call.recorded":
                need(flight[trial].setdefault(of["role"], seq) == seq, where)
                calls[of["role"]] += 1
            else:
                named = {role: event[f"{role}_call"] for role in ("candidate", "judge")}
                need(named == {"candidate": None, "judge": None, **flight.pop(trial)}, where)
                ended[trial] = event["result"]["status"]
        elif kind == "run.interrupted":
            need({canonical(one) for one in event["in_flight"]} <= set(flight), where)
        elif kind == "run.resumed":
            need(event["kept"] == seq and (event["quarantine"] is None) == (event["dropped_bytes"] == 0), where)
            flight, fresh = {}, set(planned) - set(ended)
        elif kind == "run.closed":
            totals = {"attempts": attempts.total(), "calls_by_role": calls}
            for prefix, of in (("", "case"), ("controls_", "control")):
                statuses = Counter(status for trial, status in ended.items() if planned[trial] == of)
                totals |= {f"{prefix}by_status": statuses, f"{prefix}ended": statuses.total()}
                totals[f"{prefix}planned"] = list(planned.values()).count(of)
            need(event["complete"] is (len(ended) == len(planned)), f"{where}: complete")
            need(canonical(event["totals"]) == canonical(totals), f"{where}: totals")
        else:
            need(kind == "run.opened", where)
    LACKS.extend([] if len(ended) == len(planned) else [f"{events[0]['run']}: trials that did not end"])


class Ledger:
    """One ledger. For each keyring version `versions` holds raw keys in force by role, `keys` all that it lists."""

    def __init__(self, runs, name, pins):  # steps 1 to 3
        self.runs, self.name, self.versions, self.rings, self.keys, self.roots = runs, name, [], [], [], {}
        files = files_of(runs / "trust" / name)
        while data := files.pop(f"keyring/{len(self.rings) + 1:03}.dsse.json", None):
            self.rings.append(sha(data))
            raw = from64(parse(from64(parse(data[:-1])["payload"]))["root_public_key"])
            signers = {**dict(list(self.roots.items())[-1:]), sha(raw): raw}  # this root key, and the one before
            payload, by = plain.unsealed(data, "application/vnd.evalsite.keyring+json", signers)
            ring, now, keys = parse(payload), {"root": raw}, {}
            about = [ring[field] for field in ("format", "ledger", "version")]
            need(about == ["evalsite/keyring/v1", name, len(self.rings)] and by == set(signers), f"{name}: keyring")
            for key in ring["keys"]:
                raw, second = from64(key["public_key"]), key["role"] == "log" and key["algorithm"] == "ml-dsa-44"
                need(key["key_id"] == sha(raw) not in {*keys, sha(now["root"])}, f"{name}: a key's id, or a key twice")
                need((second or key["algorithm"] == "ed25519") and second == (len(raw) > 32), f"{name}: algorithm")
                need(plain.key_of(raw) and re.fullmatch(rf"{name}/{key['role']}(/.+)?", key["name"]), f"{name}: name")
                keys[sha(raw)], slot = key, SECOND if second else key["name"].removeprefix(f"{name}/")
                if not (key["not_after"] or key["revoked_at"]):
                    need(slot not in now, f"{name}: two keys in force")
                    now[slot] = raw
            for old, key in (self.keys[-1] if self.keys else {}).items():
                need(keys[old] == {**keys[old], **{k: v for k, v in key.items() if v}}, f"{name}: a key was changed")
            self.roots[sha(now["root"])] = now["root"]
            self.versions, self.keys = [*self.versions, now], [*self.keys, keys]
        need(self.rings and (not pins or set(pins) & set(self.roots)), f"the root key of {name} is not a pinned one")
        need(files == self.derived(self.versions[-1]), f"{name}: key files that do not follow from the keyring")
        self.check_log()

    def at(self, index):
        """The number of the keyring version that counts for an index of the log (§3)."""
        return sum(place < index for place in self.published)

    def derived(self, now):
        """What follows from the newest keyring, byte for byte (§3)."""
        files, signers, mine = {}, [(role, now[role], "") for role in ("root", "runner", "log")], "evalsite-run@v1"
        for role in [role for role in ("root", "runner", "log", SECOND) if role in now]:
            files[f"{role}.pem"] = plain.pem(now[role])
            vkey = plain.verifier_key(f"{self.name}/{role.split('-')[0]}", plain.typed(now[role]))
            files |= {} if role == "runner" else {f"{role}.vkey": f"{vkey}\n"}
        for key in [key for key in self.keys[-1].values() if key["role"] == "runner"]:
            ends = [re.sub(r"\D", "", time)[:14] for time in (key["not_after"], key["revoked_at"]) if time]
            signers += [("runner", from64(key["public_key"]), f',valid-before="{min(ends)}Z"')] if ends else []
        lines = [f'{role}@{self.name} namespaces="{mine}"{end} {plain.ssh(raw)}\n' for role, raw, end in signers]
        return {name: text.encode() for name, text in (files | {"allowed_signers": "".join(lines)}).items()}

    def signers(self, note, origin, size, leaves):
        """The keyring versions under which a note of this size over these leaves is signed as it must be (§5)."""
        found, text = set(), f"{origin}\n{size}\n{to64(tree(leaves[:size])[0])}\n"
        for number, now in enumerate(self.versions, 1):
            keys = [now[role] for role in ("log", SECOND) if role in now]
            found |= {number} if plain.signed_note(note, text, f"{self.name}/log", keys) else set()
        need(found, f"{origin}: at size {size} not the log's signature of this root, and it alone")
        return found

    def lines(self, files, kind, frame, origin):
        """Steps 5, 6, 10, 11: parsed lines, leaf hashes, bytes of all lines, notes, and under which keys they are."""
        raws, parsed, leaves = [], [], []
        while (raw := files.pop(f"{kind}/{len(raws):03}.jsonl", None)) is not None:
            raws.append(raw)
        counts = [raw.count(b"\n") if raw.endswith(b"\n") else 0 for raw in raws]
        need(set(counts[:-1]) <= {1024} and counts[-1] in range(1, 1025), f"{origin}: segments")
        for seq, line in enumerate(b"".join(raws).split(b"\n")[:-1]):
            parsed.append(parse(line, 1 << (20 if kind == "events" else 16)))
            fixed = {**frame, "seq": seq, "prev": "sha256:" + leaves[-1].hex() if leaves else None}
            need(canonical({key: parsed[-1].get(key) for key in fixed}) == canonical(fixed), f"{origin}: line {seq}")
            need(re.fullmatch(r"\d{4}(-\d\d){2}T\d\d(:\d\d){2}(\.\d{3})?Z", parsed[-1]["recorded_at"]), "time")
            leaves.append(hashlib.sha256(b"\x00" + line).digest())
        sizes = [size for size in range(1, len(leaves) + 1) if f"checkpoints/{size}.note" in files]
        notes = {size: files.pop(f"checkpoints/{size}.note").decode() for size in sizes}
        signers = {size: self.signers(note, origin, size, leaves) for size, note in notes.items()}
        need(files["checkpoint"].decode() in notes.values(), f"{origin}: checkpoint is none of its notes")
        LACKS.extend([f"{origin}: lines behind the signed size"] if sizes[-1] < len(leaves) else [])
        LACKS.extend([f"{origin}: an old checkpoint"] if files.pop("checkpoint").decode() != notes[sizes[-1]] else [])
        return parsed, leaves, b"".join(raws), notes, signers

    def check_log(self):
        """Steps 4 to 8, and 24 as far as no RFC 3161 is needed."""
        files, place = files_of(self.runs / "log" / self.name), f"{self.name}/log"
        frame = {"format": "evalsite/log/v1", "ledger": self.name}
        self.log, self.leaves, _, self.notes, signers = self.lines(files, "entries", frame, place)
        kinds, self.run_entries, revealed = [entry["type"] for entry in self.log], {}, {}
        self.published = [seq for seq, kind in enumerate(kinds) if kind == "keys.published"]
        rings = [(self.log[seq]["version"], self.log[seq]["envelope"]) for seq in self.published]
        need(rings == list(enumerate(self.rings, 1)) and self.published[0] == 1, f"{place}: keyrings that it publishes")
        need(self.log[0]["root_fingerprint"] == next(iter(self.roots)), f"{place}: another root key")
        need(set(self.notes) == set(range(2, max(self.notes) + 1)), f"{place}: notes are missing")
        need(all(self.at(size) in found for size, found in signers.items()), f"{place}: a note not by the key in force")
        for seq, (kind, entry) in enumerate(zip(kinds, self.log, strict=True)):
            if kind in {"run.opened", "run.closed"}:
                of = self.run_entries.setdefault(entry["run"], {})
                need(kind not in of and (kind == "run.opened") == (not of), f"{place}: {kind} at {seq}")
                of[kind] = seq
            elif kind == "keys.revoked":
                need(self.keys[self.at(seq) - 1][entry["key_id"]]["revoked_at"], f"{place}: {kind} at {seq}")
            elif re.fullmatch(LABELS, kind):
                SAYS.append(f"{place}: NOT CHECKED HERE: {kind} at {seq} (§13)")
                revealed |= {f"labels/{entry['commitment']}.json": entry["file"]} if kind == "labels.revealed" else {}
            else:
                need(kind == "keys.published" or (kind, seq) == ("ledger.opened", 0), f"{place}: {kind} at {seq}")
        anchors = {name: files.pop(name) for name in list(files) if name.startswith("anchors/")}
        for name in anchors:
            self.check_anchor(name, anchors)
        LACKS.extend(f"{place}: {name} is not there" for name in revealed.keys() - files.keys())
        need(all(sha(files[name]) == revealed.get(name) for name in files), f"{place}: no place for {sorted(files)}")

    def check_anchor(self, name, anchors):
        """Step 24, but for git and RFC 3161. Whether a cosignature counts, a reader must know."""
        found = re.fullmatch(r"anchors/([1-9]\d*)\.([a-z0-9._-]+)\.(cosig|git-tag|tsr|tsr\.chain\.pem)", name)
        need(found and int(found[1]) in self.notes, f"{self.name}/log: {name}")
        if found[3] == "cosig":
            vkey, line, end = anchors[name].decode().split("\n")
            time = plain.cosigned(self.notes[int(found[1])].split("\n\n")[0] + "\n", vkey, line)
            need(end == "" and found[2].endswith("-" + vkey.split("+")[1]), f"{self.name}/log: {name}")
            SAYS.append(f"{self.name}/log: size {found[1]} cosigned at {time} s since 1970 by {vkey}: do you trust it?")
        else:
            first = name.removesuffix(".chain.pem")
            whole = anchors[first] + anchors.get(f"{first}.chain.pem", b"")
            need(found[2] == sha(whole)[7:23], f"{self.name}/log: {name} holds other bytes")
            SAYS.append(f"{self.name}/log: NOT CHECKED HERE but for its digest: {name}")

    def check_run(self, folder):
        """Steps 9 to 17 of one run."""
        files, name = files_of(folder), folder.name
        frame, logged = {"format": "evalsite/event/v1", "run": name}, self.run_entries.get(name, {})
        events, leaves, raw, notes, signers = self.lines(files, "events", frame, f"{self.name}/run/{name}")
        in_order(events)
        plan, closed, sealed = events[0]["plan"], events[-1]["type"] == "run.closed", files.pop(STATEMENT, None)
        need(1 in notes and (not closed or len(events) in notes), f"{name}: notes are missing")
        need(logged or len(events) == 1, f"{name}: not in the log")
        first, low, last = (self.at(logged.get(f"run.{key}", len(self.log))) for key in ("opened", "opened", "closed"))
        for size, found in signers.items():  # by the log's keys in force while the run was open, never going back
            fitting = {number for number in found if number <= last and (number >= low or size == 1)}
            ends = "run.closed" in logged and size == len(events)
            need(last in fitting if ends else fitting, f"{name}: note {size} is not by the key in force")
            low = max(low, min(fitting))
        says = {"opened_leaf": "sha256:" + leaves[0].hex(), "plan_digest": sha(canonical(plan))}
        if sealed:
            stated, since = statement(events, leaves, raw), last if "run.closed" in logged else first
            keys = {sha(now["runner"]): now["runner"] for now in self.versions[since - 1 : last]}
            payload, by = plain.unsealed(sealed, "application/vnd.in-toto+json", keys)
            need(payload == stated, f"{name}: the statement does not follow from the record")
            says |= {"root": "sha256:" + tree(leaves)[0].hex(), "size": len(leaves), "statement": sha(stated)}
            SAYS.extend(f"{name}: {key} was revoked later" for key in by if self.keys[-1][key]["revoked_at"])
        LACKS.extend([] if sealed and len(logged) == 2 else [f"{name}: not closed, stated and logged as closed"])
        for kind, seq in logged.items():
            entry, path = self.log[seq], f"proofs/{kind.replace('.', '-')}.tlog-proof"
            fields = {"run.opened": ("opened_leaf", "plan_digest"), "run.closed": ("size", "root", "statement")}[kind]
            need(all(entry[field] == says.get(field) for field in fields), f"{name}: the log says otherwise")
            proof = files.pop(path, b"").decode()
            size = int(proof.split("\n\n")[1].split("\n")[1]) if proof else seq + 1
            hashes = "".join(f"{to64(one)}\n" for one in tree(self.leaves[:size], seq)[1])
            spelled = f"c2sp.org/tlog-proof@v1\nindex {seq}\n{hashes}\n{self.notes.get(size)}"
            need(not proof or (seq < size and proof == spelled), f"{name}: {path} proves nothing")
            LACKS.extend([] if proof else [f"{name}: {path} is not there"])
        for seq, event in ((seq, event) for seq, event in enumerate(events) if event.get("quarantine")):
            torn = files.pop(f"quarantine/{seq}.bin")
            need((len(torn), sha(torn)) == (event["dropped_bytes"], event["quarantine"]), f"{name}: quarantine {seq}")
        roles = [plan[role] for role in ("candidate", "judge") if plan[role]]
        named = {plan["corpus"]["snapshot"], *(role["identity"]["raw"] for role in roles)}
        named |= {event["call"][key] for event in events if "call" in event for key in ("request", "reply")}
        paths = {f"blobs/{digest[7:9]}/{digest[7:]}" for digest in named - {None}}  # §6
        LACKS.extend(f"{name}: {path} is not there" for path in sorted(paths - set(files)))
        for path in [path for path in files if path in paths or (path.startswith("blobs/") and not closed)]:
            blob, digits = files[path], sha(files.pop(path))[7:]
            need(re.match(BLOB, blob) and path == f"blobs/{digits[:2]}/{digits}", f"{name}: {path} holds other bytes")
        need(closed or files.pop(f"quarantine/{len(events)}.bin", b"") is not None)  # a resume that was cut short
        need(not files, f"{name}: no place for {sorted(files)}")


def main(place, *pins):
    runs = place / "runs" if (place / "runs").is_dir() else place
    try:
        need(all(path.is_dir() and not path.is_symlink() for path in (runs, *runs.iterdir())), f"{runs}: no folders")
        ledgers = {path.name: Ledger(runs, path.name, pins) for path in sorted((runs / "trust").iterdir())}
        need({path.name for path in (runs / "log").iterdir()} == set(ledgers), "a log without keys, or the reverse")
        found = {path.name: path for path in sorted(runs.iterdir()) if path.name not in {"trust", "log"}}
        for path in found.values():
            ledger = parse((path / "events/000.jsonl").read_bytes().split(b"\n")[0])["ledger"]
            ledgers[ledger].check_run(path)
            print(f"{path.name}: integrity holds under ledger {ledger}")
        absent = {run for ledger in ledgers.values() for run in ledger.run_entries} - set(found)
        need(not absent or (place / "evalsite-bundle.json").exists(), f"runs that a log opened are gone: {absent}")
    except (UnsupportedAlgorithm, PermissionError) as exc:
        print(f"NOT DECIDED: what this `cryptography` does not know, or a file that may not be read: {exc}")
        return 5
    except (InvalidSignature, ValueError, LookupError, TypeError, AttributeError, OSError, RecursionError) as exc:
        print(f"INTEGRITY DOES NOT HOLD: {exc or type(exc).__name__}")
        return 4
    LACKS.extend([] if found else ["no run: nothing to verify is not in order"])
    SAYS.extend([f"other runs of this log are not in this bundle: {len(absent)}"] if absent else [])
    print("\n".join([*SAYS, *LACKS, f"evidence: {'A1, root keys pinned' if pins else 'A0, no root key pinned'}"]))
    return 5 if LACKS else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:]))
