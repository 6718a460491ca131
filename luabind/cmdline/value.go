package cmdline

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"npulua/luabind/quantity"
	"npulua/npu"
)

// value reads the text of a value. An error reads "wants ..., got ...".
func (o *Option) value(text string, devices int) (any, error) {
	v, err := o.Kind.parse(text, devices)
	if err != nil {
		var which *deviceError
		if errors.As(err, &which) {
			return nil, err
		}
		return nil, o.unwanted(text, "")
	}
	if f, ok := v.(float64); ok && (o.Min != nil && f < *o.Min || o.Max != nil && f > *o.Max) {
		return nil, o.unwanted(text, "")
	}
	if o.Choices != nil && !slices.ContainsFunc(o.Choices, func(c string) bool {
		x, err := o.Kind.parse(c, devices)
		return err == nil && x == v
	}) {
		return nil, o.unwanted(text, npu.Suggest(text, o.Choices))
	}
	return v, nil
}

func (o *Option) unwanted(text, suggestion string) error {
	want := kinds[o.Kind].want
	if o.Choices != nil {
		want = orList(o.Choices)
	} else if b := o.bounds(); b != "" {
		want += ", " + b
	}
	return fmt.Errorf("wants %s, got %q%s", want, shortened(text), suggestion)
}

// shortened is text that is not too long for a message.
func shortened(text string) string {
	if len(text) > 60 {
		return strings.ToValidUTF8(text[:57], "") + "..."
	}
	return text
}

func orList(words []string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " or " + words[n-1]
	}
	return strings.Join(words, "")
}

// bounds says which numbers are allowed.
func (o *Option) bounds() string {
	switch {
	case o.Min != nil && o.Max != nil:
		return o.Kind.format(*o.Min) + " to " + o.Kind.format(*o.Max)
	case o.Min != nil:
		return o.Kind.format(*o.Min) + " or more"
	case o.Max != nil:
		return "at most " + o.Kind.format(*o.Max)
	}
	return ""
}

var errUnwanted = errors.New("not of the kind")

func (k Kind) parse(text string, devices int) (any, error) {
	switch k {
	case Integer:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n > npu.MaxBytes || n < -npu.MaxBytes {
			return nil, errUnwanted
		}
		return float64(n), nil
	case Number:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsInf(f, 0) || strings.Trim(text, "0123456789.eE+-") != "" {
			return nil, errUnwanted
		}
		return f, nil
	case Seconds:
		return parseSeconds(text)
	case Bytes:
		return parseBytes(text)
	case Devices:
		return parseDevices(text, devices)
	case File:
		if text == "" || strings.ContainsRune(text, 0) {
			return nil, errUnwanted
		}
	}
	return text, nil
}

// Format is a number as a text that the kind reads as the same number.
func (k Kind) Format(f float64) string { return k.format(f) }

func (k Kind) format(f float64) string {
	switch k {
	case Seconds:
		return quantity.ExactDuration(f)
	case Bytes:
		return formatBytes(f)
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// longest time, in seconds: about 31 years.
const longest = 1e9

func parseSeconds(text string) (float64, error) {
	f, err := quantity.ParseSeconds(text)
	if err != nil || f < 0 || f > longest {
		return 0, errUnwanted
	}
	return f, nil
}

// sizeLetters are the prefixes of units; K is 1024, KiB too, and KB 1000.
const sizeLetters = "KMGT"

// parseBytes reads a size; it must come out as a whole number of bytes.
func parseBytes(text string) (float64, error) {
	number := quantity.Digits(text)
	r, ok := new(big.Rat).SetString(number)
	if !ok || len(number) > 40 {
		return 0, errUnwanted
	}
	unit := strings.ToUpper(text[len(number):])
	if unit != "" && unit != "B" {
		power, base := 1+strings.IndexByte(sizeLetters, unit[0]), int64(1024)
		switch unit[1:] {
		case "", "IB":
		case "B":
			base = 1000
		default:
			power = 0
		}
		if power == 0 {
			return 0, errUnwanted
		}
		r.Mul(r, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(base), big.NewInt(int64(power)), nil)))
	}
	if !r.IsInt() || r.Num().Cmp(big.NewInt(npu.MaxBytes)) > 0 {
		return 0, errUnwanted
	}
	return float64(r.Num().Int64()), nil
}

// formatBytes has the largest unit of which f is a multiple: "64M", "1500".
func formatBytes(f float64) string {
	unit := ""
	for i := 0; i < len(sizeLetters) && f >= 1024 && math.Mod(f, 1024) == 0; i++ {
		f, unit = f/1024, sizeLetters[i:i+1]
	}
	return strconv.FormatFloat(f, 'f', -1, 64) + unit
}

// deviceError tells which part of a list of devices is wrong.
type deviceError struct{ text string }

func (e *deviceError) Error() string { return e.text }

// maxDevice bounds lists of devices.
const maxDevice = 1023

// parseDevices reads "all", of count devices, or numbers and ranges with commas, in any order; none may be there twice. A
// device that is not there is no mistake of the user: whoever opens it is told.
func parseDevices(text string, count int) ([]int, error) {
	ids := []int{}
	if text == "all" {
		for id := range max(count, 0) {
			ids = append(ids, id)
		}
		return ids, nil
	}
	seen := make(map[int]bool)
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			to = from
		}
		first, err1 := strconv.ParseUint(from, 10, 16)
		last, err2 := strconv.ParseUint(to, 10, 16)
		if err1 != nil || err2 != nil || first > last {
			return nil, errUnwanted
		}
		for id := int(first); id <= int(last); id++ {
			switch {
			case id > maxDevice:
				return nil, &deviceError{fmt.Sprintf("names device %d: the highest number is %d", id, maxDevice)}
			case seen[id]:
				return nil, &deviceError{fmt.Sprintf("names device %d twice", id)}
			}
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids, nil
}
