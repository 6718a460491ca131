package luabind

import "npulua/luabind/lua51"

// Descriptors are the file descriptors that the program was started with; see Options.Inherited.
type Descriptors = lua51.Descriptors

// InheritedDescriptors looks for them. Call it before a session is opened.
func InheritedDescriptors() Descriptors { return lua51.InheritedDescriptors() }
