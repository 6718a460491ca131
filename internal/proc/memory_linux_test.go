package proc

import "testing"

func TestMemory(t *testing.T) {
	space, err := Memory("self", "VmSize")
	if err != nil || space <= 0 {
		t.Errorf("VmSize is %d, %v", space, err)
	}
	if private, err := Memory("self", "VmData"); err != nil || private <= 0 || private > space {
		t.Errorf("VmData is %d of %d, %v", private, space, err)
	}
	for _, c := range [][2]string{{"self", "VmNone"}, {"none", "VmSize"}} {
		if n, err := Memory(c[0], c[1]); err == nil {
			t.Errorf("%s of %s is %d", c[1], c[0], n)
		}
	}
	if n := GroupMemory(); n <= 0 {
		t.Errorf("the control groups allow %d B", n)
	}
}
