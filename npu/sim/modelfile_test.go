package sim

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/dtype"
)

// A value of a constant is the number that is written, in whichever notation, or it is refused.
func TestConstantExact(t *testing.T) {
	for _, c := range []struct {
		typ           dtype.DType
		value         string
		want, problem string
	}{
		{typ: dtype.Int64, value: `9007199254740993`, want: "9007199254740993"},
		{typ: dtype.Int64, value: `9007199254740993.0`, want: "9007199254740993"},
		{typ: dtype.Int64, value: `9007199254740993e0`, want: "9007199254740993"},
		{typ: dtype.Int64, value: `-9007199254740993000E-3`, want: "-9007199254740993"},
		{typ: dtype.Int64, value: `0.9007199254740993e+16`, want: "9007199254740993"},
		{typ: dtype.Int64, value: `-9223372036854775808`, want: "-9223372036854775808"},
		{typ: dtype.Int64, value: `"9007199254740993"`, want: "9007199254740993"},
		{typ: dtype.Int64, value: `"-5"`, want: "-5"},
		{typ: dtype.Int64, value: `1e3`, want: "1000"},
		{typ: dtype.Int64, value: `1.5e1`, want: "15"},
		{typ: dtype.Int64, value: `0e999999999`, want: "0"},
		{typ: dtype.Int64, value: `-0.0`, want: "0"},
		{typ: dtype.Int64, value: `1e19`, problem: "int64 holds -9223372036854775808 to 9223372036854775807, got 10000000000000000000"},
		{typ: dtype.Int64, value: `9007199254740993.5`, problem: "int64 cannot hold the fraction 9007199254740993.5"},
		{typ: dtype.Int64, value: `1e-999999999999999999999`, problem: "int64 cannot hold the fraction 1e-999999999999999999999"},
		{typ: dtype.Int64, value: `1.` + strings.Repeat("0", 100) + `1`, problem: "int64 cannot hold the fraction 1.00000000000000000000000000000000000000..."},
		{typ: dtype.Int64, value: `"1e3"`, problem: `int64 takes text of decimal digits, got "1e3"`},
		{typ: dtype.Int64, value: `""`, problem: `int64 takes text of decimal digits, got ""`},
		{typ: dtype.Int64, value: `0.1e-9223372036854775808`, problem: "int64 cannot hold the fraction 0.1e-9223372036854775808"},
		{typ: dtype.Uint64, value: `18446744073709551615.0`, want: "18446744073709551615"},
		{typ: dtype.Uint64, value: `1e19`, want: "10000000000000000000"},
		{typ: dtype.Uint64, value: `"18446744073709551616"`, problem: "uint64 holds 0 to 18446744073709551615, got 18446744073709551616"},
		{typ: dtype.Int32, value: `1.5e1`, want: "15"},
		{typ: dtype.Int32, value: `1e-400`, problem: "int32 cannot hold the fraction 1e-400"},
		{typ: dtype.Int32, value: `7.00000000000000000001`, problem: "int32 cannot hold the fraction 7.00000000000000000001"},
		{typ: dtype.Int32, value: `"7"`, problem: `int32 takes numbers, got the text "7"`},
		{typ: dtype.Int8, value: `3e2`, problem: "int8 holds -128 to 127, got 300"},
		{typ: dtype.Float32, value: `"7"`, problem: `float32 takes numbers, got the text "7"`},
		{typ: dtype.Float32, value: `""`, problem: `float32 takes numbers, got the text ""`},
		{typ: dtype.Float64, value: `1e-400`, want: "0"},
		{typ: dtype.Float64, value: `-0`, want: "-0"},
	} {
		var row tensorRow
		if err := json.Unmarshal([]byte(`{"values": [`+c.value+`]}`), &row); err != nil {
			t.Errorf("%v %s: %v", c.typ, c.value, err)
			continue
		}
		data, err := row.constant(driver.ModelSource{}, c.typ, 1)
		if c.problem != "" {
			if want := "value 1: " + c.problem; fmt.Sprint(err) != want {
				t.Errorf("%v %s: %v, want %s", c.typ, c.value, err, want)
			}
		} else if err != nil {
			t.Errorf("%v %s: %v", c.typ, c.value, err)
		} else if got := c.typ.Text(data, 0); got != c.want {
			t.Errorf("%v %s is %s, want %s", c.typ, c.value, got, c.want)
		}
	}
}
