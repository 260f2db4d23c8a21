package dev.holdfast.lock.cli;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.HolderInfo;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** A holder as text for people and for programs. */
final class HolderText {
    private HolderText() {}

    static String line(HolderInfo holder) {
        return holder.who() + "@" + holder.host() + " pid " + holder.pid() + " since " + holder.since() + " token "
                + holder.token() + demand(holder);
    }

    /** The demand as the end of a line; empty for an exclusive lock. */
    static String demand(HolderInfo holder) {
        String slot = holder.slot() == 0 ? "" : " slot " + holder.slot() + ",";
        return holder.demand() instanceof Demand.Exclusive ? "" : slot + " " + holder.demand();
    }

    /** The fields of a lock. */
    static String json(String name, List<HolderInfo> holders) {
        return "{" + fields(name, holders) + "}";
    }

    static String fields(String name, List<HolderInfo> holders) {
        return holders.stream()
                .map(holder ->
                        "{" + identity(holder) + ",\"token\":" + holder.token() + "," + demandFields(holder) + "}")
                .collect(Collectors.joining(
                        ",", "\"name\":" + quoted(name) + ",\"held\":" + !holders.isEmpty() + ",\"holders\":[", "]"));
    }

    /** The fields of the demand. */
    static String demandFields(HolderInfo holder) {
        String kind = "\"demand\":" + quoted(holder.demand().kind().name().toLowerCase(Locale.ROOT));
        if (holder.demand() instanceof Demand.Permits permits) {
            return kind + ",\"permits\":" + permits.permits() + ",\"limit\":" + permits.limit()
                    + (holder.slot() == 0 ? "" : ",\"slot\":" + holder.slot());
        }
        return kind;
    }

    /** The identity of a holder or waiter, and its time. */
    static String identity(HolderInfo holder) {
        return "\"who\":" + quoted(holder.who()) + ",\"host\":" + quoted(holder.host()) + ",\"pid\":" + holder.pid()
                + ",\"since\":" + quoted(holder.since().toString());
    }

    /** A JSON string. */
    static String quoted(String text) {
        StringBuilder json = new StringBuilder("\"");
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\') {
                json.append('\\').append(c);
            } else if (c < ' ' || c > '~') {
                json.append(String.format("\\u%04x", (int) c));
            } else {
                json.append(c);
            }
        }
        return json.append('"').toString();
    }
}
