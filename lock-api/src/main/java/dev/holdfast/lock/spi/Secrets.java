package dev.holdfast.lock.spi;

import java.util.regex.Pattern;

/** Keeps passwords out of messages. */
public final class Secrets {
    private static final Pattern USER_INFO = Pattern.compile("(?<=://|,)[^/?#@,]*@(?=[^/])|(?<=://)[^/]*@");
    private static final Pattern PARAMETER =
            Pattern.compile("(?i)([?&;][^=&;?]*(?:password|passwd|pwd|secret|token|user)[^=&;]*=)[^&;]*");

    private Secrets() {}

    /**
     * Returns an address without its user information and without the values of parameters that may be secret.
     *
     * @param uri an address of any scheme, well-formed or not
     * @return the address, safe for messages and logs
     */
    public static String redact(String uri) {
        String text = USER_INFO.matcher(uri).replaceAll("***@");
        return PARAMETER.matcher(text).replaceAll("$1***");
    }
}
