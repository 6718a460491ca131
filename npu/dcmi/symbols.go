//go:build linux && (amd64 || arm64)

package dcmi

// function is a function of the library; address zero: this one has none of that name.
type function struct {
	address uintptr
	name    string
}

// api are the functions that are called.
type api struct {
	init, version                                   function
	cards, chipsInCard, logicID, fromLogicID, phyID function
	temperature, power, cardPower, voltage          function
	utilization, hbmInfo, eccInfo                   function
	health, faults, faultText                       function
}

// symbol is a row of symbols.
type symbol struct {
	f        *function
	name     string
	required bool // without it the library is of no use
}

// symbols are the functions with their names. Each is int f(...), 0 for success; ids are int.
func (a *api) symbols() []symbol {
	return []symbol{
		{&a.init, "dcmi_init", true},                 // (void)
		{&a.version, "dcmi_get_dcmi_version", false}, // (char *version, unsigned len)

		{&a.cards, "dcmi_get_card_list", false},                            // (int *count, int *ids, int len): at most 64
		{&a.chipsInCard, "dcmi_get_device_id_in_card", false},              // (card, int *chips, int *mcu, int *cpu)
		{&a.logicID, "dcmi_get_device_logic_id", false},                    // (int *logical, card, chip)
		{&a.fromLogicID, "dcmi_get_card_id_device_id_from_logicid", false}, // (int *card, int *chip, unsigned logical)
		{&a.phyID, "dcmi_get_device_phyid_from_logicid", false},            // (unsigned logical, unsigned *physical)

		{&a.temperature, "dcmi_get_device_temperature", false},      // (card, chip, int *): °C
		{&a.power, "dcmi_get_device_power_info", false},             // (card, chip, int *): 0.1 W
		{&a.cardPower, "dcmi_mcu_get_power_info", false},            // (card, int *): 0.1 W
		{&a.voltage, "dcmi_get_device_voltage", false},              // (card, chip, unsigned *): 0.01 V
		{&a.utilization, "dcmi_get_device_utilization_rate", false}, // (card, chip, int type, unsigned *): percent
		{&a.hbmInfo, "dcmi_get_device_hbm_info", false},             // (card, chip, struct dcmi_hbm_info *)
		{&a.eccInfo, "dcmi_get_device_ecc_info", false},             // (card, chip, enum dcmi_device_type, struct dcmi_ecc_info *)
		{&a.health, "dcmi_get_device_health", false},                // (card, chip, unsigned *)
		{&a.faults, "dcmi_get_device_errorcode_v2", false},          // (card, chip, int *count, unsigned *codes, unsigned len): at most 128
		{&a.faultText, "dcmi_get_device_errorcode_string", false},   // (card, chip, unsigned code, unsigned char *text, int len): 256 bytes
	}
}

// bind looks every function up, and returns the names of those without which nothing works.
func (a *api) bind(lookup func(name string) uintptr) (missing []string) {
	for _, s := range a.symbols() {
		s.f.name, s.f.address = s.name, lookup(s.name)
		if s.required && s.f.address == 0 {
			missing = append(missing, s.name)
		}
	}
	return missing
}
