package luabind

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// glob is filepath.Glob on d, sorted, until ctx ends.
func glob(ctx context.Context, d disk, pattern string) ([]string, error) {
	if len(pattern) > maxPath {
		return nil, syscall.ENAMETOOLONG
	}
	if _, err := filepath.Match(pattern, ""); err != nil {
		return nil, err
	}
	list := expand(ctx, d, pattern)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	slices.Sort(list)
	return list, nil
}

// expand is what a pattern that can be read fits.
func expand(ctx context.Context, d disk, pattern string) []string {
	if !strings.ContainsAny(pattern, `*?[\`) {
		if _, err := d.Lstat(pattern); err != nil {
			return nil
		}
		return []string{pattern}
	}
	dir, base := filepath.Split(pattern)
	switch dir {
	case "":
		dir = "."
	case "/":
	default:
		dir = dir[:len(dir)-1]
	}
	if dir == pattern {
		return nil
	}
	var found []string
	for _, folder := range expand(ctx, d, dir) {
		if info, err := d.Stat(folder); err != nil || !info.IsDir() || ctx.Err() != nil {
			continue
		}
		entries, err := d.ReadDir(folder)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if ok, _ := filepath.Match(base, e.Name()); ok {
				found = append(found, filepath.Join(folder, e.Name()))
			}
		}
	}
	return found
}
