package display

import "context"

// Lend leaves the terminal to a program that writes to it itself, until back is called: bars and screen are shown again
// then.
func (d *Display) Lend() (back func()) {
	if d.tty() == nil {
		return func() {}
	}
	d.quickly(func() {
		if d.lent++; d.lent > 1 {
			return
		}
		code := d.above()
		if d.open != nil {
			d.open.keys.give()
			code += leaveCodes
		}
		_, _ = d.tty().WriteString(code) // the program will see what is the matter
	})
	return func() {
		d.quickly(func() {
			if d.lent--; d.lent > 0 {
				return
			}
			if s := d.open; s != nil && !s.closed() {
				s.enter()
			}
		})
	}
}

// quickly calls fn with d.writing held, and waits for it no longer than for a terminal that works.
func (d *Display) quickly(fn func()) {
	ctx, cancel := context.WithTimeout(context.Background(), restoreTime)
	defer cancel()
	_ = d.within(ctx, func() error { fn(); return nil })
}
