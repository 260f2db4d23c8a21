package dev.holdfast.examples.election;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Draws a run: a row for each process, a column for each bit of time. A column is drawn for the leader in the middle of it,
 * and a term that has no middle in its first column; exact times are what {@link Judge} looks at.
 */
final class Timeline {

    /**
     * The life of a process.
     *
     * @param candidate its number
     * @param pid its process id
     * @param fromMicros when it began to stand
     * @param toMicros when it ended
     */
    record Life(int candidate, long pid, long fromMicros, long toMicros) {}

    /**
     * What was done to a process.
     *
     * @param candidate its number
     * @param sign how it is drawn
     * @param fromMicros when it began
     * @param toMicros when it ended; the same for a moment
     */
    record Mark(int candidate, char sign, long fromMicros, long toMicros) {}

    static final char STANDS = '.';
    static final char LEADS = '#';
    static final char KILLED = 'X';
    static final char RESIGNED = 'y';
    static final char PAUSED = 'p';

    private static final int WIDTH = 78;
    private static final String ROW = "%2d  pid %-8d %s";
    private static final int LABELS = 8;
    private static final long[] STEPS = {1, 2, 5, 10, 20, 60, 120, 300, 600, 1800, 3600};

    private final long fromMicros;
    private final long spanMicros;

    Timeline(long fromMicros, long toMicros) {
        this.fromMicros = fromMicros;
        this.spanMicros = Math.max(1, toMicros - fromMicros);
    }

    /** The lines, none of them longer than 100 characters. */
    List<String> draw(List<Life> lives, List<Term> terms, List<Mark> marks) {
        List<String> lines = new ArrayList<>();
        lines.add(scale(ROW.formatted(1, 1, "").length()));
        for (Life life : lives) {
            char[] row = new char[WIDTH];
            Arrays.fill(row, ' ');
            fill(row, life.fromMicros(), life.toMicros(), STANDS);
            terms.stream().filter(term -> term.candidate() == life.candidate()).forEach(term -> lead(row, term));
            marks.stream()
                    .filter(mark -> mark.candidate() == life.candidate())
                    .forEach(mark -> fill(row, mark.fromMicros(), mark.toMicros(), mark.sign()));
            lines.add(
                    ROW.formatted(life.candidate(), life.pid(), new String(row)).stripTrailing());
        }
        return lines;
    }

    /** A process that was asked to stop before it stood has a life that ends before it begins, and gets one column. */
    private void fill(char[] row, long fromMicros, long toMicros, char sign) {
        Arrays.fill(row, column(fromMicros), column(Math.max(fromMicros, toMicros)) + 1, sign);
    }

    /** Seconds, at the columns where they begin. */
    private String scale(int indent) {
        long seconds = spanMicros / 1_000_000;
        long step = Arrays.stream(STEPS)
                .filter(candidate -> seconds / candidate <= LABELS)
                .findFirst()
                .orElse(seconds / LABELS);
        StringBuilder line = new StringBuilder(" ".repeat(indent));
        for (long second = 0; second * 1_000_000 < spanMicros; second += step) {
            String label = second == 0 ? "0 s" : Long.toString(second);
            int at = indent + column(fromMicros + second * 1_000_000);
            if (at + label.length() <= indent + WIDTH) {
                line.append(" ".repeat(Math.max(0, at - line.length()))).append(label);
            }
        }
        return line.toString();
    }

    private void lead(char[] row, Term term) {
        int first = column(term.firstMicros());
        int last = column(term.lastMicros());
        boolean drawn = false;
        for (int i = first; i <= last; i++) {
            long middle = fromMicros + (2 * i + 1) * spanMicros / (2 * WIDTH);
            if (middle >= term.firstMicros() && middle <= term.lastMicros()) {
                row[i] = LEADS;
                drawn = true;
            }
        }
        if (!drawn) {
            row[first] = LEADS;
        }
    }

    private int column(long micros) {
        return (int) Math.max(0, Math.min(WIDTH - 1, (micros - fromMicros) * WIDTH / spanMicros));
    }
}
