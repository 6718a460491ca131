package sim

import (
	"encoding/json"
	"testing"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/dtype"
)

// Whole numbers of a constant are those that are written, also where a float64 is too coarse for them.
func TestConstantExact(t *testing.T) {
	var row tensorRow
	if err := json.Unmarshal([]byte(`{"values": [9007199254740993, -9223372036854775808, 1e3]}`), &row); err != nil {
		t.Fatal(err)
	}
	data, err := row.constant(driver.ModelSource{}, dtype.Int64, 3)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"9007199254740993", "-9223372036854775808", "1000"} {
		if got := dtype.Int64.Text(data, i); got != want {
			t.Errorf("value %d is %s, want %s", i+1, got, want)
		}
	}
}
