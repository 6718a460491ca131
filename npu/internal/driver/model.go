package driver

import (
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"npulua/npu/internal/dtype"
)

// Model is a handle of a loaded model; like other handles it is never zero.
type Model uintptr

// Modeler is implemented by a driver that can run offline models (OpModel). A model belongs to the context that
// loaded it, which unloads it when it goes. Its work and weight memory are the driver's.
//
// A run is refused with CodeModelID for a model that is not loaded, CodeModelContext on a stream of another context,
// CodeInvalidParam for another number of operands, CodeBatchSize for a batch that is none of the model's,
// CodeModelExecute for an operand smaller than the batch needs, and CodeStreamCaptured on a stream that records a
// graph. Runs of one model follow each other in the order in which they were queued, on whichever streams: they
// share its work memory. What an operator finds is a fault of the run.
type Modeler interface {
	// LoadModel reads a model into the current context and returns once it can run. CodeModelPath for a file that
	// cannot be read or is empty, CodeModelData for one that is no model, CodeNotSupported for one with sizes that
	// vary other than by a batch. Needs a context.
	LoadModel(src ModelSource) (Model, ModelInfo, error)
	// UnloadModel gives the model's memory back. CodeModelID for one that is not loaded, CodeGraphRunning while a
	// run is queued or running. Needs no context.
	UnloadModel(m Model) error
}

// ModelSource is a file with a model: a path of the host, or one in FS where that is set.
type ModelSource struct {
	Path string
	FS   fs.FS
}

// Name is what a model is called whose file has no name for it: the file, without folder and ending.
func (s ModelSource) Name() string {
	name := path.Base(filepath.ToSlash(s.Path))
	return strings.TrimSuffix(name, path.Ext(name))
}

// ModelInfo describes a model.
type ModelInfo struct {
	Name            string // in the file, else ModelSource.Name
	Inputs, Outputs []ModelTensor
	// Batches are the batch sizes that the model can run with, in ascending order; none: the sizes are fixed.
	Batches []int64
	// WorkBytes and WeightBytes are the device memory that the model takes, beside its operands.
	WorkBytes, WeightBytes int64
}

// ModelTensor is an input or output of a model.
type ModelTensor struct {
	Name  string
	Type  dtype.DType
	Shape []int64 // -1 stands for the batch
	Bytes int64   // with the largest batch
}

// BytesFor is the size with a batch; 0 is that of a model whose sizes are fixed.
func (t ModelTensor) BytesFor(batch int64) int64 {
	n, varies := int64(t.Type.Size()), false
	for _, d := range t.Shape {
		if d < 0 {
			d, varies = batch, true
		}
		n *= d
	}
	if !varies {
		return t.Bytes
	}
	return n
}
