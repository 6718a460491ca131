package lua51

import (
	"context"
	"errors"
)

// interruption is the error of an operation that was left because the state's context ended.
type interruption struct{ cause error }

func (i interruption) Error() string { return i.cause.Error() }
func (i interruption) Unwrap() error { return i.cause }

func isInterruption(err error) bool {
	var i interruption
	return errors.As(err, &i)
}

// await returns f's result, or an interruption when ctx ends first: then f goes on in the background
// and late, if not nil, gets the result.
func await[T any](ctx context.Context, f func() T, late func(T)) (T, error) {
	if ctx.Done() == nil {
		return f(), nil
	}
	result := make(chan T, 1)
	go func() { result <- f() }()
	select {
	case v := <-result:
		return v, nil
	case <-ctx.Done():
		if late != nil {
			go func() { late(<-result) }()
		}
		var none T
		return none, interruption{ctx.Err()}
	}
}
