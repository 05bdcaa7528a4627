// SPDX-License-Identifier: Apache-2.0

// Checks notes, inclusion proofs and consistency proofs of a JSON file with Go's own packages, as its
// checksum database uses them. Prints how many of each were accepted; stops at the first that is not.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type signed struct {
	Key  string
	Note []byte
}

type record struct {
	Size, Index int64
	Root        []byte
	Line        []byte
	Proof       [][]byte
}

type extension struct {
	OldSize, NewSize int64
	OldRoot, NewRoot []byte
	Proof            [][]byte
}

type input struct {
	Notes   []signed
	Records []record
	Trees   []extension
}

func main() {
	data, err := os.ReadFile(os.Args[1])
	stop(err)
	var all input
	stop(json.Unmarshal(data, &all))
	for _, one := range all.Notes {
		verifier, err := note.NewVerifier(one.Key)
		stop(err)
		opened, err := note.Open(one.Note, note.VerifierList(verifier))
		stop(err)
		if len(opened.Sigs) != 1 || len(opened.UnverifiedSigs) != 0 {
			stop(fmt.Errorf("signatures: %d and %d unverified", len(opened.Sigs), len(opened.UnverifiedSigs)))
		}
	}
	for _, one := range all.Records {
		stop(tlog.CheckRecord(hashes(one.Proof), one.Size, hash(one.Root), one.Index, tlog.RecordHash(one.Line)))
	}
	for _, one := range all.Trees {
		stop(tlog.CheckTree(hashes(one.Proof), one.NewSize, hash(one.NewRoot), one.OldSize, hash(one.OldRoot)))
	}
	fmt.Printf("%d notes, %d records, %d trees\n", len(all.Notes), len(all.Records), len(all.Trees))
}

func stop(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "refused:", err)
		os.Exit(4)
	}
}

func hash(raw []byte) (out tlog.Hash) {
	if copy(out[:], raw) != len(out) {
		stop(fmt.Errorf("a hash of %d bytes", len(raw)))
	}
	return out
}

func hashes(raw [][]byte) (out []tlog.Hash) {
	for _, one := range raw {
		out = append(out, hash(one))
	}
	return out
}
