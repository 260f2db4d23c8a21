package dev.holdfast.lock.cli;

import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.ListedLock;
import dev.holdfast.lock.LockListing;
import dev.holdfast.lock.spi.LockName;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** A page of locks as text for people and for programs. */
final class ListingText {
    private ListingText() {}

    /** A line a lock with its first holder, and one below it for each further holder and each waiter. */
    static List<String> lines(LockListing page) {
        List<String> lines = new ArrayList<>();
        for (ListedLock lock : page.locks()) {
            lines.add(LockName.printable(lock.name()) + "  "
                    + lock.holder().map(HolderText::line).orElse("free"));
            lock.holders().stream().skip(1).forEach(holder -> lines.add("  with: " + HolderText.line(holder)));
            lock.waiters().forEach(waiter -> lines.add("  waits: " + waiter(waiter)));
        }
        if (page.more()) {
            lines.add("… and more: give a longer PREFIX or a higher --limit");
        }
        return lines;
    }

    private static String waiter(HolderInfo waiter) {
        String who = waiter.pid() == 0 ? "unknown" : waiter.who() + "@" + waiter.host() + " pid " + waiter.pid();
        return who + " since " + waiter.since() + HolderText.demand(waiter);
    }

    static String json(LockListing page) {
        return page.locks().stream()
                .map(ListingText::json)
                .collect(Collectors.joining(",", "{\"locks\":[", "],\"more\":" + page.more() + "}"));
    }

    private static String json(ListedLock lock) {
        return lock.waiters().stream()
                .map(waiter -> "{" + HolderText.identity(waiter) + "," + HolderText.demandFields(waiter) + "}")
                .collect(Collectors.joining(
                        ",", "{" + HolderText.fields(lock.name(), lock.holders()) + ",\"waiters\":[", "]}"));
    }
}
