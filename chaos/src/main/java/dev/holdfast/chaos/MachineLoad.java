package dev.holdfast.chaos;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.OptionalLong;

/**
 * Tells when far more threads want to run on this machine than can: others are at work here, and whatever takes its time says
 * nothing about the locks. For one thread. Without {@code /proc} it never tells.
 */
final class MachineLoad {
    private static final Path FILE = Path.of("/proc/loadavg");
    private static final int RUNNABLE = 3;
    private static final int A_PROCESSOR = 6;
    private static final int SAMPLES = 25;

    private final int most = A_PROCESSOR * Runtime.getRuntime().availableProcessors();
    private int samples;
    private long sum;
    private long startNanos = System.nanoTime();

    /** Looks; after some looks, returns since when there were too many on average. */
    OptionalLong overloadedSince(long nanos) {
        sum += runnable();
        if (++samples < SAMPLES) {
            return OptionalLong.empty();
        }
        long since = startNanos;
        boolean overloaded = sum > (long) most * samples;
        samples = 0;
        sum = 0;
        startNanos = nanos;
        return overloaded ? OptionalLong.of(since) : OptionalLong.empty();
    }

    private static int runnable() {
        try {
            String[] fields = Files.readString(FILE).split(" ");
            return fields.length > RUNNABLE ? Integer.parseInt(fields[RUNNABLE].split("/")[0]) : 0;
        } catch (IOException | NumberFormatException e) {
            return 0;
        }
    }
}
