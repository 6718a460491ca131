package lua51

// Descriptors are the file descriptors, above those of the standard streams, that the program was started with:
// they are for its children too. What libraries open later, such as devices, is not, however they opened it.
type Descriptors map[int]bool

// InheritedDescriptors looks for them. Call it before anything else is opened.
func InheritedDescriptors() Descriptors {
	inherited := Descriptors{}
	for _, fd := range openDescriptors() {
		inherited[fd] = true
	}
	return inherited
}

// Withhold has all descriptors but those in d closed in children that start from now on. A nil d leaves
// everything as it is.
func (d Descriptors) Withhold() {
	if d == nil {
		return
	}
	for _, fd := range openDescriptors() {
		if !d[fd] {
			closeOnExec(fd)
		}
	}
}
