"""All attacks, by family."""

from tests.grading.attacks import (
    files,
    forgeries,
    names,
    network,
    privileges,
    processes,
    protocol,
    resources,
    traces,
)

FAMILIES = {
    "resources": resources.ATTACKS,
    "files": files.ATTACKS,
    "network": network.ATTACKS,
    "processes": processes.ATTACKS,
    "privileges": privileges.ATTACKS,
    "protocol": protocol.ATTACKS,
    "forgeries": forgeries.ATTACKS,
    "names": names.ATTACKS,
    "traces": traces.ATTACKS,
}
ATTACKS = {attack.name: attack for attacks in FAMILIES.values() for attack in attacks}
# What does not depend on the rung: the checks are in another process on each of them.
SAME_ON_EVERY_RUNG = {
    attack.name for family in ("protocol", "forgeries", "names") for attack in FAMILIES[family]
}
