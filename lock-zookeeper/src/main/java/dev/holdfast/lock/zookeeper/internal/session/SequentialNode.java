package dev.holdfast.lock.zookeeper.internal.session;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.OwnerId;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A node in a lock's queue, by its name: {@code <32 hexadecimal digits>-<sequence>}. A shared acquisition has {@code
 * <digits>-r-<sequence>}, two of three permits have {@code <digits>-p2of3-<sequence>}. Other children of the container
 * are ignored: the permits' state, and nodes of other software. Immutable.
 *
 * <p><b>Order.</b> The sequence is the parent's count of creations as a signed 32-bit number. It starts again with a
 * new container, which is created only when there are no acquisitions. At its end the servers repeat the last value or
 * continue with negative ones. {@link #isOrdered} returns whether the sequences of a listing can be trusted. If not,
 * the order is that of the czxids, which costs a request per node.
 *
 * @param name the node's name
 * @param sequence its sequence
 * @param demand what it holds or waits for
 */
public record SequentialNode(String name, int sequence, Demand demand) {

    private static final int OWNER_DIGITS = 32;
    private static final Pattern PERMITS = Pattern.compile("p(\\d{1,7})of(\\d{1,7})");
    private static final int LAST_TRUSTED = Integer.MAX_VALUE - 100_000;

    static final Comparator<SequentialNode> BY_SEQUENCE = Comparator.comparingInt(SequentialNode::sequence);

    /** The start of the names of all nodes of an owner. */
    public static String prefix(OwnerId owner) {
        return owner + "-";
    }

    /** The start of the name of the node that queues for an acquisition. */
    public static String prefix(AcquisitionId acquisition) {
        String start = prefix(acquisition.owner());
        if (acquisition.demand() instanceof Demand.Permits asked) {
            return start + "p" + asked.permits() + "of" + asked.limit() + "-";
        }
        return acquisition.demand() instanceof Demand.Shared ? start + "r-" : start;
    }

    public boolean isForPermits() {
        return demand instanceof Demand.Permits;
    }

    boolean isOf(OwnerId owner) {
        return name.startsWith(prefix(owner));
    }

    /** The nodes of lock clients among the children of a container, sorted by sequence. */
    public static List<SequentialNode> of(List<String> children) {
        List<SequentialNode> sequentialNodes = new ArrayList<>(children.size());
        for (String child : children) {
            parse(child).ifPresent(sequentialNodes::add);
        }
        sequentialNodes.sort(BY_SEQUENCE);
        return sequentialNodes;
    }

    /** Whether the order by sequence is the order of creation, for a list that is sorted by sequence. */
    public static boolean isOrdered(List<SequentialNode> sorted) {
        for (int i = 1; i < sorted.size(); i++) {
            if (sorted.get(i - 1).sequence == sorted.get(i).sequence) {
                return false;
            }
        }
        return sorted.isEmpty()
                || isTrusted(sorted.get(0).sequence) && isTrusted(sorted.get(sorted.size() - 1).sequence);
    }

    /** Whether a sequence is surely a count of creations. */
    public static boolean isTrusted(int sequence) {
        return sequence >= 0 && sequence <= LAST_TRUSTED;
    }

    public static Optional<SequentialNode> parse(String child) {
        if (child.length() < OWNER_DIGITS + 11 || child.charAt(OWNER_DIGITS) != '-') {
            return Optional.empty();
        }
        for (int i = 0; i < OWNER_DIGITS; i++) {
            char c = child.charAt(i);
            if (!(c >= '0' && c <= '9' || c >= 'a' && c <= 'f')) {
                return Optional.empty();
            }
        }
        int start = OWNER_DIGITS + 1;
        Demand demand = Demand.EXCLUSIVE;
        if (Character.isLetter(child.charAt(start))) {
            int end = child.indexOf('-', start);
            Optional<Demand> other = end < 0 ? Optional.empty() : demand(child.substring(start, end));
            if (other.isEmpty()) {
                return Optional.empty();
            }
            demand = other.get();
            start = end + 1;
        }
        boolean negative = start < child.length() && child.charAt(start) == '-';
        int first = start + (negative ? 1 : 0);
        if (child.length() > first + 10 || child.length() == first) {
            return Optional.empty();
        }
        long sequence = 0;
        for (int i = first; i < child.length(); i++) {
            char c = child.charAt(i);
            if (c < '0' || c > '9') {
                return Optional.empty();
            }
            sequence = sequence * 10 + (c - '0');
        }
        long signed = negative ? -sequence : sequence;
        return signed == (int) signed ? Optional.of(new SequentialNode(child, (int) signed, demand)) : Optional.empty();
    }

    private static Optional<Demand> demand(String text) {
        if (text.equals("r")) {
            return Optional.of(Demand.SHARED);
        }
        Matcher permits = PERMITS.matcher(text);
        if (!permits.matches()) {
            return Optional.empty();
        }
        int asked = Integer.parseInt(permits.group(1));
        int limit = Integer.parseInt(permits.group(2));
        return asked < 1 || asked > limit || limit > Demand.MAX_PERMITS
                ? Optional.empty()
                : Optional.of(new Demand.Permits(asked, limit));
    }
}
