package luabind

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// errnoTexts are errors of files in plain words, after "name".
var errnoTexts = map[syscall.Errno]string{
	syscall.ENOENT:       "does not exist",
	syscall.EACCES:       "no permission",
	syscall.EPERM:        "not permitted",
	syscall.EROFS:        "the file system is read-only",
	syscall.EISDIR:       "is a directory",
	syscall.ENOTDIR:      "is no directory, or a part of its path is none",
	syscall.EEXIST:       "exists already",
	syscall.ENOTEMPTY:    "the directory is not empty",
	syscall.ENOSPC:       "no space is left on the file system",
	syscall.EDQUOT:       "the disk quota is used up",
	syscall.EFBIG:        "too large for the file system or the limit of the process",
	syscall.ENAMETOOLONG: "the name is too long",
	syscall.ELOOP:        "symbolic links go in a circle",
	syscall.EMFILE:       "this process has too many open files",
	syscall.ENFILE:       "the system has too many open files",
	syscall.EXDEV:        "is on another file system: copy and remove instead",
	syscall.EBUSY:        "is in use",
	syscall.ETXTBSY:      "is a program that runs",
	syscall.EIO:          "the device has failed (input/output error)",
	syscall.ENXIO:        "there is no such device, or nobody reads the pipe",
}

// plainErrno is an error of the system in plain words.
func plainErrno(number syscall.Errno) string {
	if text, ok := errnoTexts[number]; ok {
		return text
	}
	return number.Error()
}

// fileReason is an error about a file: its name, and why.
func fileReason(name string, err error) string {
	var number syscall.Errno
	var path *fs.PathError
	switch {
	case errors.As(err, &number):
		return fmt.Sprintf("%q: %s", name, plainErrno(number))
	case errors.As(err, &path):
		err = path.Err
	}
	return fmt.Sprintf("%q: %v", name, err)
}
