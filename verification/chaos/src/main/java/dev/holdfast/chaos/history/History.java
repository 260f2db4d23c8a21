package dev.holdfast.chaos.history;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Everything that the clients of a run wrote. Instants are nanoseconds since the run's origin.
 *
 * @param operations in the order of their files, of which there is one a process
 * @param starts when each process began
 * @param hiccups when a process was paused
 * @param suspects when renewals or acquisitions failed
 * @param ends how many threads stayed, a process that was closed in order
 */
public record History(
        List<Operation> operations,
        Map<Operation.Process, Long> starts,
        Map<Operation.Process, List<Interval>> hiccups,
        List<Long> suspects,
        Map<Operation.Process, Long> ends) {
    private static final Pattern FILE = Pattern.compile("client-(\\d+)-(\\d+)\\.bin");

    /**
     * Names the file of a process.
     *
     * @param process the process
     * @return a file name
     */
    public static String file(Operation.Process process) {
        return "client-" + process.client() + "-" + process.incarnation() + ".bin";
    }

    /**
     * Reads all files of a folder.
     *
     * @param folder where the clients wrote
     * @param originNanos what instants are counted from
     * @return the history
     * @throws IOException if a file cannot be read
     */
    public static History read(Path folder, long originNanos) throws IOException {
        List<Path> files;
        try (Stream<Path> all = Files.list(folder)) {
            files = all.filter(
                            path -> FILE.matcher(path.getFileName().toString()).matches())
                    .sorted()
                    .toList();
        }
        History history = new History(
                new ArrayList<>(), new TreeMap<>(ORDER), new TreeMap<>(ORDER), new ArrayList<>(), new TreeMap<>(ORDER));
        for (Path file : files) {
            Matcher name = FILE.matcher(file.getFileName().toString());
            if (name.matches()) {
                Operation.Process process =
                        new Operation.Process(Integer.parseInt(name.group(1)), Integer.parseInt(name.group(2)));
                history.add(process, ByteBuffer.wrap(Files.readAllBytes(file)), originNanos);
            }
        }
        return history;
    }

    private static final java.util.Comparator<Operation.Process> ORDER = java.util.Comparator.comparingInt(
                    Operation.Process::client)
            .thenComparingInt(Operation.Process::incarnation);

    private void add(Operation.Process process, ByteBuffer bytes, long origin) {
        Map<Integer, Operation> byNumber = new HashMap<>();
        Map<Integer, Operation.Reentry> inner = new HashMap<>();
        // A process that was killed while it wrote leaves a torn event, at the end.
        while (bytes.remaining() >= EventLog.BYTES) {
            Kind kind = Kind.values()[bytes.get()];
            int code = bytes.get();
            int thread = bytes.get();
            int name = bytes.get();
            int number = bytes.getInt();
            long nanos = bytes.getLong() - origin;
            long value = bytes.getLong();
            switch (kind) {
                case INVOKE -> {
                    Operation operation = new Operation(process, thread, name, OpKind.values()[code], nanos);
                    byNumber.put(number, operation);
                    operations.add(operation);
                }
                case HICCUP ->
                    hiccups.computeIfAbsent(process, any -> new ArrayList<>())
                            .add(new Interval("client " + process + " stood still", nanos, nanos + value));
                case SUSPECT -> suspects.add(nanos);
                case END -> ends.put(process, value);
                case START -> starts.put(process, nanos);
                default -> {
                    Operation operation = byNumber.get(number);
                    if (operation != null) {
                        apply(operation, kind, code, nanos, value, inner, number);
                    }
                }
            }
        }
    }

    private static void apply(
            Operation operation,
            Kind kind,
            int code,
            long nanos,
            long value,
            Map<Integer, Operation.Reentry> inner,
            int number) {
        switch (kind) {
            case ACQUIRED -> {
                operation.acquired = nanos;
                operation.token = value;
                operation.slot = code;
            }
            case FAILED -> {
                operation.failed = nanos;
                operation.failure = Outcome.values()[code];
            }
            case DEMAND -> operation.demand = Demands.demand(value);
            case CONFIRM -> operation.confirmed = Math.max(operation.confirmed, nanos);
            case INVALID -> operation.invalid = operation.invalid == Operation.NEVER ? nanos : operation.invalid;
            case LOST -> {
                operation.lost = operation.lost == Operation.NEVER ? nanos : operation.lost;
                operation.losses++;
            }
            case REENTER_CALL -> inner.put(number, new Operation.Reentry(nanos, Operation.NEVER, 0, Operation.NEVER));
            case REENTER -> {
                Operation.Reentry call = inner.get(number);
                if (call != null) {
                    inner.put(number, new Operation.Reentry(call.call(), nanos, value, Operation.NEVER));
                    operation.reentries.add(inner.get(number));
                }
            }
            case EXIT -> {
                Operation.Reentry open = inner.remove(number);
                if (open != null && operation.reentries.remove(open)) {
                    operation.reentries.add(new Operation.Reentry(open.call(), open.returned(), open.token(), nanos));
                }
            }
            case RELEASE -> operation.release = nanos;
            case RELEASED -> {
                operation.released = nanos;
                operation.releaseOutcome = Outcome.values()[code];
            }
            case PART -> operation.part = Part.of(value);
            case PROBED -> {
                operation.probed = nanos;
                operation.leftHalf = code == 0;
            }
            case TOLD -> operation.told = operation.told == Operation.NEVER ? nanos : operation.told;
            case REVOKED -> operation.revocations++;
            case TOGETHER -> operation.together++;
            case RESTS -> operation.rests = value * 1_000_000;
            case AGE -> operation.renewalAge = Math.max(operation.renewalAge, value);
            default -> {}
        }
    }

    /**
     * The same, with claims that end before the holder saw a loss.
     *
     * @param nanos for how long at most a holder may believe what the store has ended; 0 changes nothing
     * @return this history
     */
    public History noticedLate(long nanos) {
        if (nanos > 0) {
            operations.forEach(operation -> operation.noticedLate(nanos));
        }
        return this;
    }

    /**
     * The same, with claims that end when the server saw the end of a connection and the client did not.
     *
     * @param client whose connections those were; negative for all
     * @param instant when that was
     * @return this history
     */
    public History endedUnseen(int client, long instant) {
        operations.stream()
                .filter(operation -> client < 0 || operation.process.client() == client)
                .forEach(operation -> operation.endedUnseen(instant));
        return this;
    }

    /**
     * Sorts the operations by lock.
     *
     * @return the operations of each lock's number
     */
    public Map<Integer, List<Operation>> byName() {
        Map<Integer, List<Operation>> byName = new TreeMap<>();
        operations.forEach(operation ->
                byName.computeIfAbsent(operation.name, any -> new ArrayList<>()).add(operation));
        return byName;
    }

    /**
     * Counts the acquisitions that returned a lease.
     *
     * @return their number
     */
    public long acquisitions() {
        return operations.stream()
                .filter(operation -> operation.acquired != Operation.NEVER)
                .count();
    }
}
