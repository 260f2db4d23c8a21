package dev.holdfast.benchmarks.worker;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;

/**
 * The critical sections of a process, for comparison with those of others: on one machine, {@code System.nanoTime} has the same
 * origin in all JVMs (Linux: CLOCK_MONOTONIC). Written under the lock that is measured; a lock that fails to exclude may damage a
 * record, which then shows as an overlap.
 */
public final class Sections {
    private volatile long[] times = new long[1 << 14];
    private int length;

    /**
     * A section of one process.
     *
     * @param process its number
     * @param acquired when {@code lock} returned, by {@code System.nanoTime}
     * @param releasing when {@code unlock} was called
     */
    public record Section(int process, long acquired, long releasing) {}

    void add(long acquired, long releasing) {
        int at = length;
        if (at + 2 > times.length) {
            times = Arrays.copyOf(times, 2 * times.length);
        }
        times[at] = acquired;
        times[at + 1] = releasing;
        length = at + 2;
    }

    void write(Path file) throws IOException {
        try (DataOutputStream out =
                new DataOutputStream(new java.io.BufferedOutputStream(Files.newOutputStream(file)))) {
            out.writeInt(length);
            for (int i = 0; i < length; i++) {
                out.writeLong(times[i]);
            }
        }
    }

    /**
     * Reads what the processes wrote.
     *
     * @param files one a process
     * @return all sections by the time they were entered
     * @throws IOException if a file is damaged
     */
    public static List<Section> read(List<Path> files) throws IOException {
        List<Section> sections = new ArrayList<>();
        for (int process = 0; process < files.size(); process++) {
            try (DataInputStream in =
                    new DataInputStream(new java.io.BufferedInputStream(Files.newInputStream(files.get(process))))) {
                int length = in.readInt();
                for (int i = 0; i < length; i += 2) {
                    sections.add(new Section(process, in.readLong(), in.readLong()));
                }
            }
        }
        sections.sort(Comparator.comparingLong(Section::acquired));
        return sections;
    }
}
