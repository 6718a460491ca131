// Package guard gives memory for tests in which every misuse ends the process at once: an allocation ends at a page that
// cannot be touched, and once it is given back none of its pages can, and nothing else is ever there.
package guard

// align is what addresses are multiples of; that many bytes, less one, may lie between an allocation and the page after it.
const align = 8
