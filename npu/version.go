package npu

// Version of npulua.
const Version = "0.1.0"
