// Command verify checks what a log publishes with the Go project's own packages for signed
// notes and transparency logs. It exits 0 and prints what it verified, 1 if something does not
// hold, 2 if it was called wrongly.
package main

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type head struct {
	origin string
	tree   tlog.Tree
}

func main() {
	commands := map[string]func(args []string) (string, error){
		"head":        checkHead,
		"witness":     checkWitness,
		"proof":       checkProof,
		"consistency": checkConsistency,
	}
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: verify head|witness|proof|consistency KEY FILE...")
		os.Exit(2)
	}
	verified, err := commands[os.Args[1]](os.Args[2:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(verified)
}

// checkHead verifies a signed tree head: KEY HEAD.
func checkHead(args []string) (string, error) {
	found, err := readHead(args[0], args[1])
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s %d %s", found.origin, found.tree.N, found.tree.Hash), nil
}

// checkWitness verifies a cosignature on a tree head: WITNESS-KEY HEAD.
func checkWitness(args []string) (string, error) {
	verifier, err := newCosignatureVerifier(args[0])
	if err != nil {
		return "", err
	}
	data, err := os.ReadFile(args[1])
	if err != nil {
		return "", err
	}
	opened, err := note.Open(data, note.VerifierList(verifier))
	if err != nil {
		return "", err
	}
	blob, err := base64.StdEncoding.DecodeString(opened.Sigs[0].Base64)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s %d", verifier.name, binary.BigEndian.Uint64(blob[4:12])), nil
}

// checkProof verifies a tlog-proof file of an entry: KEY PROOF ENTRY.
func checkProof(args []string) (string, error) {
	data, err := os.ReadFile(args[1])
	if err != nil {
		return "", err
	}
	entry, err := os.ReadFile(args[2])
	if err != nil {
		return "", err
	}
	top, signed, found := strings.Cut(string(data), "\n\n")
	lines := strings.Split(top, "\n")
	if !found || lines[0] != "c2sp.org/tlog-proof@v1" {
		return "", errors.New("not a tlog-proof")
	}
	lines = lines[1:]
	if len(lines) > 0 && strings.HasPrefix(lines[0], "extra ") {
		lines = lines[1:]
	}
	if len(lines) == 0 || !strings.HasPrefix(lines[0], "index ") {
		return "", errors.New("no index")
	}
	index, err := strconv.ParseInt(strings.TrimPrefix(lines[0], "index "), 10, 64)
	if err != nil {
		return "", err
	}
	path, err := parseHashes(lines[1:])
	if err != nil {
		return "", err
	}
	trusted, err := openHead(args[0], []byte(signed))
	if err != nil {
		return "", err
	}
	leaf := tlog.RecordHash(entry)
	if err := tlog.CheckRecord(path, trusted.tree.N, trusted.tree.Hash, index, leaf); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d %d", index, trusted.tree.N), nil
}

// checkConsistency verifies that one head extends another: KEY OLD-HEAD NEW-HEAD HASHES.
func checkConsistency(args []string) (string, error) {
	older, err := readHead(args[0], args[1])
	if err != nil {
		return "", err
	}
	newer, err := readHead(args[0], args[2])
	if err != nil {
		return "", err
	}
	data, err := os.ReadFile(args[3])
	if err != nil {
		return "", err
	}
	path, err := parseHashes(strings.Fields(string(data)))
	if err != nil {
		return "", err
	}
	err = tlog.CheckTree(path, newer.tree.N, newer.tree.Hash, older.tree.N, older.tree.Hash)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d %d", older.tree.N, newer.tree.N), nil
}

func readHead(key, path string) (head, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return head{}, err
	}
	return openHead(key, data)
}

func openHead(key string, data []byte) (head, error) {
	verifier, err := note.NewVerifier(key)
	if err != nil {
		return head{}, err
	}
	opened, err := note.Open(data, note.VerifierList(verifier))
	if err != nil {
		return head{}, err
	}
	lines := strings.Split(opened.Text, "\n")
	if len(lines) != 4 || lines[3] != "" || lines[0] != verifier.Name() {
		return head{}, errors.New("not a tree head of this log")
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil {
		return head{}, err
	}
	root, err := tlog.ParseHash(lines[2])
	if err != nil {
		return head{}, err
	}
	return head{lines[0], tlog.Tree{N: size, Hash: root}}, nil
}

func parseHashes(lines []string) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, 0, len(lines))
	for _, line := range lines {
		hash, err := tlog.ParseHash(line)
		if err != nil {
			return nil, err
		}
		hashes = append(hashes, hash)
	}
	return hashes, nil
}

// cosignatureVerifier lets note.Open verify signatures of type 4, which the package leaves out.
type cosignatureVerifier struct {
	name string
	hash uint32
	key  ed25519.PublicKey
}

func newCosignatureVerifier(vkey string) (*cosignatureVerifier, error) {
	parts := strings.SplitN(vkey, "+", 3)
	if len(parts) != 3 {
		return nil, errors.New("not a verifier key")
	}
	id, err := hex.DecodeString(parts[1])
	if err != nil || len(id) != 4 {
		return nil, errors.New("not a key id")
	}
	typed, err := base64.StdEncoding.DecodeString(parts[2])
	if err != nil || len(typed) != 1+ed25519.PublicKeySize || typed[0] != 4 {
		return nil, errors.New("not a key of type 4")
	}
	return &cosignatureVerifier{parts[0], binary.BigEndian.Uint32(id), typed[1:]}, nil
}

func (v *cosignatureVerifier) Name() string { return v.name }

func (v *cosignatureVerifier) KeyHash() uint32 { return v.hash }

func (v *cosignatureVerifier) Verify(text, blob []byte) bool {
	if len(blob) != 8+ed25519.SignatureSize {
		return false
	}
	time := binary.BigEndian.Uint64(blob[:8])
	message := fmt.Sprintf("cosignature/v1\ntime %d\n%s", time, text)
	return ed25519.Verify(v.key, []byte(message), blob[8:])
}
