package main

import (
	"context"
	"fmt"
	"strings"
)

func dotDevices(s *interactive, _ context.Context, _ string) error { return s.show(s.Devices()) }
func dotStreams(s *interactive, _ context.Context, _ string) error { return s.show(s.Streams()) }
func dotMemory(s *interactive, _ context.Context, _ string) error  { return s.show(s.Memory()) }

// show prints text.
func (s *interactive) show(text string) error {
	_, err := fmt.Fprintln(s.out, strings.TrimRight(text, "\n"))
	return err
}

func dotTrace(s *interactive, _ context.Context, arg string) error {
	switch arg {
	case "on", "off":
		s.traces = arg == "on"
	case "show", "":
		s.showTrace()
	default:
		return fmt.Errorf("usage: .trace on|off|show, got %q", arg)
	}
	return nil
}

// showTrace draws what the streams have done since the last chunk began.
func (s *interactive) showTrace() { _ = s.show(s.Timeline(s.last, s.width())) }
