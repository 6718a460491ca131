package lua51

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// token is what the scanner takes for one word of the source: a character by itself, or one of the kinds below.
type token rune

const (
	tokenEnd token = -iota - 1 // end of the source
	tokenName
	tokenNumber
	tokenString
	tokenConcat
	tokenDots
	tokenEqual
	tokenNotEqual
	tokenLessEqual
	tokenGreaterEqual
	tokenAnd
	tokenBreak
	tokenDo
	tokenElse
	tokenElseif
	tokenFalse
	tokenFor
	tokenFunction
	tokenIf
	tokenIn
	tokenLocal
	tokenNil
	tokenNot
	tokenOr
	tokenRepeat
	tokenReturn
	tokenThen
	tokenTrue
	tokenUntil
	tokenWhile
	tokenEndWord // the word end
)

// tokenTexts are the tokens as messages name them.
var tokenTexts = map[token]string{
	tokenEnd: "<eof>", tokenName: "<name>", tokenNumber: "<number>", tokenString: "<string>",
	tokenConcat: "..", tokenDots: "...", tokenEqual: "==", tokenNotEqual: "~=", tokenLessEqual: "<=", tokenGreaterEqual: ">=",
	tokenAnd: "and", tokenBreak: "break", tokenDo: "do", tokenElse: "else", tokenElseif: "elseif", tokenEndWord: "end",
	tokenFalse: "false", tokenFor: "for", tokenFunction: "function", tokenIf: "if", tokenIn: "in", tokenLocal: "local",
	tokenNil: "nil", tokenNot: "not", tokenOr: "or", tokenRepeat: "repeat", tokenReturn: "return", tokenThen: "then",
	tokenTrue: "true", tokenUntil: "until", tokenWhile: "while",
}

// reserved are the words that are no names. goto is one: it begins a statement only where a name follows.
var reserved = func() map[string]token {
	words := make(map[string]token)
	for t, text := range tokenTexts {
		if isAlpha(text[0]) {
			words[text] = t
		}
	}
	return words
}()

// foreignByte is the token of a byte that is part of no character, less the byte.
const foreignByte = token(unicode.MaxRune + 1)

func (t token) String() string {
	if text, ok := tokenTexts[t]; ok {
		return text
	}
	switch {
	case t >= foreignByte:
		return fmt.Sprintf("char(%d)", int(t-foreignByte))
	case unicode.IsPrint(rune(t)):
		return string(rune(t))
	case t < utf8.RuneSelf:
		return fmt.Sprintf("char(%d)", int(t))
	}
	return fmt.Sprintf("U+%04X", int(t))
}
