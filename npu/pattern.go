package npu

import (
	"encoding/binary"
	"math/bits"
)

// Word i of a pattern is a bijective mix of seed and i (the finalizer of SplitMix64), so that no word occurs twice and
// bytes at a wrong place, old bytes and stuck lines of address or data all show.
func patternWord(seed, i uint64) uint64 {
	z := seed + (i+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// SetPattern writes the pattern of seed to a host buffer, whatever its type.
func (b *Buffer) SetPattern(seed uint64) error {
	return b.Write(func(data []byte) error {
		setPattern(data, seed)
		return nil
	})
}

func setPattern(data []byte, seed uint64) {
	n := len(data) / 8
	for i := range n {
		binary.LittleEndian.PutUint64(data[8*i:], patternWord(seed, uint64(i)))
	}
	var last [8]byte
	binary.LittleEndian.PutUint64(last[:], patternWord(seed, uint64(n)))
	copy(data[8*n:], last[:])
}

// Mismatch is how the bytes of a buffer differ from those expected.
type Mismatch struct {
	Bytes, Bits int64 // how many differ
	First       int64 // position of the first byte that does, from 0
	Got, Want   byte  // there
}

// ComparePattern compares a host buffer with the pattern of seed. The zero Mismatch: they are equal.
func (b *Buffer) ComparePattern(seed uint64) (m Mismatch, err error) {
	err = b.Read(func(data []byte) error {
		m = comparePattern(data, seed)
		return nil
	})
	return m, err
}

func comparePattern(data []byte, seed uint64) (m Mismatch) {
	var last [8]byte
	for i := 0; 8*i < len(data); i++ {
		want := patternWord(seed, uint64(i))
		rest := data[8*i:]
		if len(rest) >= 8 {
			if binary.LittleEndian.Uint64(rest) == want {
				continue
			}
			rest = rest[:8]
		}
		binary.LittleEndian.PutUint64(last[:], want)
		for k, got := range rest {
			if got == last[k] {
				continue
			}
			if m.Bytes == 0 {
				m.First, m.Got, m.Want = int64(8*i+k), got, last[k]
			}
			m.Bytes++
			m.Bits += int64(bits.OnesCount8(got ^ last[k]))
		}
	}
	return m
}
