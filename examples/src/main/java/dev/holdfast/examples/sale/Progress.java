package dev.holdfast.examples.sale;

import java.io.PrintStream;
import java.util.Locale;
import java.util.concurrent.TimeUnit;

/** Shows how a sale goes: one line that is written over on a terminal, one line a second elsewhere. Not thread-safe. */
final class Progress {

    private static final int BAR = 30;

    private final PrintStream out;
    private final boolean terminal;
    private long nextNanos;
    private boolean open;

    Progress(PrintStream out, boolean terminal) {
        this.out = out;
        this.terminal = terminal;
    }

    void begin(String title) {
        out.println();
        out.println(title);
        nextNanos = 0;
    }

    void show(long ranNanos, int stock, int left, int sold) {
        if (!terminal && ranNanos < nextNanos) {
            return;
        }
        nextNanos = ranNanos + TimeUnit.SECONDS.toNanos(1);
        int filled = (int) ((long) BAR * Math.max(0, left) / stock);
        int oversold = Math.max(0, sold - (stock - left));
        String line = String.format(
                Locale.ROOT,
                "  %4.1f s  shelf [%s%s] %4d left  %5d sold  %5d oversold",
                ranNanos / 1e9,
                "#".repeat(filled),
                ".".repeat(BAR - filled),
                left,
                sold,
                oversold);
        if (terminal) {
            out.print("\r" + line);
            out.flush();
            open = true;
        } else {
            out.println(line);
        }
    }

    void say(String text) {
        end();
        out.println("         " + text);
    }

    void end() {
        if (open) {
            out.println();
            open = false;
        }
    }
}
