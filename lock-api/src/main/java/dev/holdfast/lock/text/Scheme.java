package dev.holdfast.lock.text;

import java.util.Locale;
import java.util.regex.Pattern;

/** Extracts the scheme of an address and normalises its case. */
public final class Scheme {
    private static final Pattern FORM = Pattern.compile("[A-Za-z][A-Za-z0-9+.-]{0,31}");

    private Scheme() {}

    /**
     * Returns the part before the first colon.
     *
     * @param uri an address of any kind
     * @return the scheme in lower case
     * @throws IllegalArgumentException if there is none; the message does not repeat the address
     */
    public static String of(String uri) {
        int colon = uri.indexOf(':');
        if (colon < 0 || !FORM.matcher(uri.substring(0, colon)).matches()) {
            throw new IllegalArgumentException(
                    "lock URI has no scheme; write it as scheme:address, for example redis://localhost:6379");
        }
        return uri.substring(0, colon).toLowerCase(Locale.ROOT);
    }
}
