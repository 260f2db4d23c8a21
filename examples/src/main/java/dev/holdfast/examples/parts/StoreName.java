package dev.holdfast.examples.parts;

import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** What to call a store on the screen. */
public final class StoreName {

    private StoreName() {}

    /**
     * Returns enough to recognise the store, without its credentials.
     *
     * @param uri its address; null for the database file that a demo makes
     * @return its scheme, such as {@code redis} or {@code jdbc:postgresql}
     */
    public static String of(@Nullable String uri) {
        if (uri == null) {
            return "an H2 database file";
        }
        String[] parts = uri.split(":", 3);
        return (parts[0].equals("jdbc") && parts.length > 2 ? "jdbc:" + parts[1] : parts[0]).toLowerCase(Locale.ROOT);
    }
}
