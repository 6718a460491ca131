package drivertest

import "npulua/npu/internal/driver"

func optionCases() []testCase {
	options := []driver.ContextOption{driver.OptionDeterministic, driver.OptionDebugKernel, driver.OptionStrongConsistency}
	return []testCase{
		{"context option never set: 107021", 0, func(t *tester) {
			for _, o := range options {
				_, err := t.ContextOption(o)
				t.want(driver.CodeOptionNotSet, err, "ContextOption")
			}
		}},
		{"context option that does not exist: 100000", 0, func(t *tester) {
			for _, o := range []driver.ContextOption{-1, 3, 99} {
				_, err := t.ContextOption(o)
				t.want(driver.CodeInvalidParam, err, "ContextOption")
				t.want(driver.CodeInvalidParam, t.SetContextOption(o, 1), "SetContextOption")
			}
		}},
		{"context option: read as it was set, each by itself", 0, func(t *tester) {
			for _, v := range []int64{1, 0} {
				t.must(t.SetContextOption(driver.OptionDeterministic, v), "SetContextOption")
				t.wantOption(driver.OptionDeterministic, v)
			}
			_, err := t.ContextOption(driver.OptionDebugKernel)
			t.want(driver.CodeOptionNotSet, err, "ContextOption of another one")
		}},
		{"context option: each context has its own", 0, func(t *tester) {
			before := t.current()
			t.must(t.SetContextOption(driver.OptionDeterministic, 1), "SetContextOption")
			c := t.context(0)
			_, err := t.ContextOption(driver.OptionDeterministic)
			t.want(driver.CodeOptionNotSet, err, "ContextOption in a new context")
			t.must(t.SetContextOption(driver.OptionDeterministic, 0), "SetContextOption")
			t.setCurrent(before)
			t.wantOption(driver.OptionDeterministic, 1)
			t.setCurrent(c)
			t.wantOption(driver.OptionDeterministic, 0)
		}},
	}
}

func (t *tester) wantOption(o driver.ContextOption, want int64) {
	t.Helper()
	got, err := t.ContextOption(o)
	t.must(err, "ContextOption")
	if got != want {
		t.Errorf("ContextOption(%d) = %d, want %d", o, got, want)
	}
}
