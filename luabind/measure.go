package luabind

import (
	"context"
	"fmt"

	"npulua/luabind/lua51"
)

// Measure compiles a chunk once, as the next input. The function that it returns runs it as Eval does, but prints
// no values and leaves "_" as it is.
func (e *Evaluator) Measure(chunk string) (run func(context.Context) error, err error) {
	e.chunks++
	input := lua51.CompileInput(withoutEquals(chunk), fmt.Sprintf("input %d", e.chunks))
	if input.Proto == nil {
		return nil, input.Err
	}
	e.in.linker.Link(input.Proto)
	fn := e.in.L.NewFunctionFromProto(input.Proto)
	return func(ctx context.Context) error {
		if ctx.Err() != nil {
			return &InterruptedError{}
		}
		if _, err := e.run(ctx, fn); err != nil {
			return e.withHint(chunk, err)
		}
		return nil
	}, nil
}
