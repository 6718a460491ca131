// Package dcmi reads the state of devices that AscendCL does not tell, through the vendor's library libdcmi.so:
// temperature, power, voltage, utilization, memory errors, health and faults. The library comes with the driver
// (npu-smi uses it) and is optional: where it is missing, a reading says so and where it was looked for.
//
// Prototypes, units and codes are those of the vendor's DCMI API reference for the 910B and 910_93 parts (driver 23 to
// 25), compared with the vendor's public header and with his npu-exporter. Nothing here was tried on a real device.
// What is not certain:
//
//   - Whether calls may overlap is not documented: a Reader makes one at a time.
//   - Calls take from 1 to about 60 ms each, by others' measurements on a 910B3; utilization of cores is the slowest.
//   - The logical id of DCMI and AscendCL's before ASCEND_RT_VISIBLE_DEVICES are taken to be one numbering. The vendor
//     says that the variable has no effect on DCMI. Where both libraries tell the physical id too, it must agree.
//   - Parts of the 950 family have functions named dcmiv2_ in place of these, which are not called.
//   - Power of the chip is not supported on cards of the 310P, which tell that of the whole card.
package dcmi
