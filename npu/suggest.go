package npu

import "npulua/npu/internal/spell"

// Suggest returns `, did you mean "x"?` for the candidate that name was most likely meant to be, or "" where
// none is near: one slip in three letters, whatever their case, or the beginning of a longer word.
func Suggest(name string, candidates []string) string { return spell.Suggest(name, candidates) }
