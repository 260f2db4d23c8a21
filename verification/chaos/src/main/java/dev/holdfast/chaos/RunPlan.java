package dev.holdfast.chaos;

import dev.holdfast.chaos.fault.Profile;
import dev.holdfast.chaos.history.Workload;
import dev.holdfast.chaos.mutant.Mutants;
import java.nio.file.Path;
import java.time.Duration;

/**
 * One run, as it can be repeated.
 *
 * @param backend the cluster's name
 * @param length how long there are faults
 * @param seed of all that is drawn
 * @param profile clients and faults
 * @param mutant what is wrong with the locks
 * @param folder where histories and the report go
 * @param logLevel of the client processes
 * @param faults which faults the profile has, see {@link Profile#with}
 * @param workload what the clients do
 */
public record RunPlan(
        String backend,
        Duration length,
        long seed,
        Profile profile,
        String mutant,
        Path folder,
        String logLevel,
        String faults,
        Workload workload) {

    /** The command that repeats it. */
    String command() {
        return "bin/chaos --backend " + backend
                + (workload == Workload.MUTEX ? "" : " --workload " + workload.word())
                + " --seconds " + length.toSeconds() + " --seed " + seed
                + (profile.clients() == 6 && profile.threads() == 8
                        ? ""
                        : " --clients " + profile.clients() + " --threads " + profile.threads() + " --names "
                                + profile.names())
                + " --lease-millis " + profile.leaseMillis()
                + (profile.longPercent() == Profile.ONLY_SHORT_HOLDS
                        ? " --throughput"
                        : profile.longPercent() == Profile.FEW_LONG_HOLDS || faults.equals(Profile.DEATHS)
                                ? ""
                                : " --long-holds " + profile.longPercent())
                + (faults.equals(Profile.ALL) ? "" : " --faults " + faults)
                + (mutant.equals(Mutants.NONE)
                        ? ""
                        : (backend.equals("memory") ? " --mutant '" : " --broken '") + mutant + "'");
    }
}
