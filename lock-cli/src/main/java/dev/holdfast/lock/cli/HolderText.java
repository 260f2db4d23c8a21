package dev.holdfast.lock.cli;

import dev.holdfast.lock.HolderInfo;
import java.util.Optional;

/** A holder as text for people and for programs. */
final class HolderText {
    private HolderText() {}

    static String line(HolderInfo holder) {
        return holder.who() + "@" + holder.host() + " pid " + holder.pid() + " since " + holder.since() + " token "
                + holder.token();
    }

    /** The fields of a lock; those of the holder only if there is one. */
    static String json(String name, Optional<HolderInfo> holder) {
        return "{" + fields(name, holder) + "}";
    }

    static String fields(String name, Optional<HolderInfo> holder) {
        return "\"name\":" + quoted(name) + ",\"held\":" + holder.isPresent()
                + holder.map(HolderText::fields).orElse("");
    }

    private static String fields(HolderInfo holder) {
        return "," + identity(holder) + ",\"token\":" + holder.token();
    }

    /** Who holds or waits, and since when. */
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
