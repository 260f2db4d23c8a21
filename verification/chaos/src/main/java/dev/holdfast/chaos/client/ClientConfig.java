package dev.holdfast.chaos.client;

import dev.holdfast.chaos.history.Operation;
import dev.holdfast.chaos.history.Workload;
import java.nio.file.Path;
import java.util.List;

/**
 * The command line of a client process.
 *
 * @param process its number
 * @param store where the locks are, see {@link Stores}
 * @param folder where it writes its history
 * @param seed of its decisions
 * @param threads how many workers
 * @param names how many locks, the last {@code fifoNames} of them for the threads that wait in order
 * @param fifoNames how many locks have one thread a client
 * @param leaseMillis the lease
 * @param longPercent how many of a hundred holds last about as long as a lease; negative if all are as short as can be
 * @param controlPort of the register
 * @param mutant what is wrong with its locks; {@code none} if nothing is
 * @param workload what its workers do
 */
public record ClientConfig(
        Operation.Process process,
        String store,
        Path folder,
        long seed,
        int threads,
        int names,
        int fifoNames,
        long leaseMillis,
        int longPercent,
        int controlPort,
        String mutant,
        Workload workload) {
    private static final int MAX_CLIENTS = 16;

    /**
     * Writes it as arguments.
     *
     * @return for {@link #parse}
     */
    public List<String> arguments() {
        return List.of(
                "" + process.client(),
                "" + process.incarnation(),
                store,
                folder.toString(),
                "" + seed,
                "" + threads,
                "" + names,
                "" + fifoNames,
                "" + leaseMillis,
                "" + longPercent,
                "" + controlPort,
                mutant,
                workload.word());
    }

    static ClientConfig parse(String[] arguments) {
        return new ClientConfig(
                new Operation.Process(Integer.parseInt(arguments[0]), Integer.parseInt(arguments[1])),
                arguments[2],
                Path.of(arguments[3]),
                Long.parseLong(arguments[4]),
                Integer.parseInt(arguments[5]),
                Integer.parseInt(arguments[6]),
                Integer.parseInt(arguments[7]),
                Long.parseLong(arguments[8]),
                Integer.parseInt(arguments[9]),
                Integer.parseInt(arguments[10]),
                arguments[11],
                Workload.of(arguments[12]));
    }

    /** Whether as much as possible is to happen: no hold lasts, and no client rests. */
    boolean isThroughput() {
        return longPercent < 0;
    }

    /** The number of a bystander's name: behind those of the workers, and behind one of each client that is left to its close. */
    int bystander(int index) {
        return names + MAX_CLIENTS + process.client() * Bystanders.COUNT + index;
    }

    static String lockName(int name) {
        return "chaos/" + name;
    }
}
