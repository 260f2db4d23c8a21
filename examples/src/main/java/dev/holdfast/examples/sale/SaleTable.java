package dev.holdfast.examples.sale;

import java.io.PrintStream;
import java.util.Locale;

/** Prints two sales side by side. */
final class SaleTable {

    private final PrintStream out;

    SaleTable(PrintStream out) {
        this.out = out;
    }

    void print(SaleResult without, SaleResult with) {
        out.println();
        row("", "without lock", "with lock");
        row("stock", without.stock(), with.stock());
        row("sold", without.sold(), with.sold());
        row("left on the shelf", without.left(), with.left());
        row("oversold", without.oversold(), with.oversold());
        row("seconds", decimal(without.seconds()), decimal(with.seconds()));
        row("acquisitions/s", "-", decimal(with.sold() / with.seconds()) + " (1)");
        row("wait p50", "-", decimal(with.p50Millis()) + " ms (2)");
        row("wait p99", "-", decimal(with.p99Millis()) + " ms (2)");
        row(
                "take-over after SIGKILL",
                "-",
                with.takeOverNanos().isPresent() ? decimal(with.takeOverNanos().getAsLong() / 1e9) + " s (3)" : "none");
        row("stale writes refused", "-", with.refused());
        row("leases lost", "-", with.lost());
        out.println("(1) over the whole sale, the pause after the kill included");
        out.println("(2) without the waits that span the kill");
        out.println(
                "(3) from the kill to the end of the next sale; about the lease (ZooKeeper: its session), and a poll");
        out.println();
    }

    private void row(String title, Object without, Object with) {
        out.printf("%-26s %14s %18s%n", title, without, with);
    }

    private static String decimal(double value) {
        return String.format(Locale.ROOT, "%.2f", value);
    }
}
