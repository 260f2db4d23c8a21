package dev.holdfast.lock.spi;

import dev.holdfast.lock.text.Scheme;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A parsed store address: {@code scheme://[user[:password]@]host[:port][,host[:port]…][/path][?name=value&…][#fragment]}.
 * Immutable.
 *
 * <p><b>Rules.</b> They are the same for all schemes. The scheme's case does not matter. User, password, path, parameters and
 * fragment are percent-decoded as UTF-8 ({@code %40} is {@code @}; a plus sign is a plus sign); hosts are not. Nothing is
 * ignored: unknown parameters, repeated parameters and parts that the backend does not use are refused, so that a misspelling
 * cannot disable the encryption or the certificate that the address requests.
 *
 * <p><b>Secrets.</b> A malformed address often holds a password with a bare {@code /}, {@code ?}, {@code #} or {@code @},
 * which shifts its parts. Therefore messages name the part that is wrong, and repeat nothing of an address except the names
 * of parameters. A bare {@code @} after the hosts is refused unless a user and a port precede it: most likely it ends such a
 * password, whose remainder would be looked up as a host. {@link #toString} returns scheme and hosts only.
 */
public final class LockUri {

    /**
     * A server.
     *
     * @param name a name, an IPv4 address, or an IPv6 address in brackets
     * @param port from 1 to 65535, or 0 if the address has none
     */
    public record Host(String name, int port) {

        /**
         * Returns the server with its port.
         *
         * @param defaultPort used if the address has no port
         * @return {@code name:port}
         */
        public String withPort(int defaultPort) {
            return name + ":" + portOr(defaultPort);
        }

        /**
         * Returns the port.
         *
         * @param defaultPort used if the address has no port
         * @return the port to connect to
         */
        public int portOr(int defaultPort) {
            return port == 0 ? defaultPort : port;
        }
    }

    private static final Pattern HOST =
            Pattern.compile("(\\[[0-9A-Fa-f:.]{2,45}]|[A-Za-z0-9._-]{1,255})(?::(\\d{1,5}))?");
    private static final Pattern PARAMETER = Pattern.compile("[A-Za-z][A-Za-z0-9._-]{0,63}");

    private final String scheme;
    private final @Nullable String user;
    private final @Nullable String password;
    private final List<Host> hosts;
    private final String path;
    private final Map<String, String> parameters;
    private final @Nullable String fragment;

    private LockUri(String uri, Set<String> known) {
        scheme = schemeOf(uri);
        if (!uri.startsWith("//", scheme.length() + 1)) {
            throw malformed("there is no // after the scheme");
        }
        int start = scheme.length() + 3;
        int end = endOf(uri, start, "/?#");
        String authority = uri.substring(start, end);
        String rest = uri.substring(end);
        int at = authority.lastIndexOf('@');
        hosts = hosts(authority.substring(at + 1));
        if (rest.indexOf('@') >= 0 && (at < 0 || hosts.get(hosts.size() - 1).port() == 0)) {
            throw malformed("there is an @ behind the hosts; a / ? # or @ of a user, password or path is written as"
                    + " %2F %3F %23 or %40");
        }
        String login = at < 0 ? null : authority.substring(0, at);
        int colon = login == null ? -1 : login.indexOf(':');
        user = login == null ? null : decoded("user", colon < 0 ? login : login.substring(0, colon));
        password = login == null || colon < 0 ? null : decoded("password", login.substring(colon + 1));
        int hash = rest.indexOf('#');
        fragment = hash < 0 ? null : decoded("part behind the #", rest.substring(hash + 1));
        String beforeHash = hash < 0 ? rest : rest.substring(0, hash);
        int question = beforeHash.indexOf('?');
        path = decoded("path", question < 0 ? beforeHash : beforeHash.substring(0, question));
        parameters = question < 0 ? Map.of() : parameters(beforeHash.substring(question + 1), known);
    }

    /**
     * Parses an address.
     *
     * @param uri the address
     * @param parameters the names of the parameters that its scheme supports; others are refused
     * @return its parts
     * @throws IllegalArgumentException if it is malformed; the message names the part that is wrong without repeating it
     */
    public static LockUri parse(String uri, Set<String> parameters) {
        return new LockUri(uri, parameters);
    }

    /**
     * Returns an address's scheme.
     *
     * @param uri an address of any kind, with or without {@code //}
     * @return the part before the first colon, in lower case
     * @throws IllegalArgumentException if there is none; the message does not repeat the address
     */
    public static String schemeOf(String uri) {
        return Scheme.of(uri);
    }

    /**
     * Returns the scheme.
     *
     * @return the scheme in lower case
     */
    public String scheme() {
        return scheme;
    }

    /**
     * Returns the user.
     *
     * @return the text before the first colon of the user information, possibly empty; absent without user information
     */
    public Optional<String> user() {
        return Optional.ofNullable(user);
    }

    /**
     * Returns the password.
     *
     * @return the text after the first colon of the user information, possibly empty; absent without a colon
     */
    public Optional<String> password() {
        return Optional.ofNullable(password);
    }

    /**
     * Returns the servers.
     *
     * @return the servers in their order, not empty
     */
    public List<Host> hosts() {
        return hosts;
    }

    /**
     * Returns the path.
     *
     * @return the path with its leading slash, or an empty text
     */
    public String path() {
        return path;
    }

    /**
     * Returns the fragment.
     *
     * @return the text after the hash sign; absent without one
     */
    public Optional<String> fragment() {
        return Optional.ofNullable(fragment);
    }

    /**
     * Returns a parameter.
     *
     * @param name one of the names given to {@link #parse}
     * @return its value, possibly empty; absent if it is not given
     */
    public Optional<String> parameter(String name) {
        return Optional.ofNullable(parameters.get(name));
    }

    /**
     * Refuses parameters that require encryption, instead of connecting without it.
     *
     * @param secureScheme the scheme to use for an encrypted connection
     * @param names the parameters
     * @throws IllegalArgumentException if one of them is given
     */
    public void refuseWithoutTls(String secureScheme, String... names) {
        for (String name : names) {
            if (parameters.containsKey(name)) {
                throw malformed("parameter '" + name + "' needs TLS; write " + secureScheme);
            }
        }
    }

    /**
     * Refuses a path, for schemes where it has no meaning; a single slash is allowed.
     *
     * @throws IllegalArgumentException if there is one
     */
    public void refusePath() {
        if (!path.isEmpty() && !path.equals("/")) {
            throw malformed("it has a path, which has no meaning here");
        }
    }

    /**
     * Refuses a fragment, for schemes where it has no meaning.
     *
     * @throws IllegalArgumentException if there is one
     */
    public void refuseFragment() {
        if (fragment != null) {
            throw malformed("it has a part behind a #, which has no meaning here");
        }
    }

    /**
     * Returns an exception for an address that a backend cannot use.
     *
     * @param why the part that is wrong, without repeating it
     * @return an exception whose message names the scheme
     */
    public IllegalArgumentException malformed(String why) {
        return new IllegalArgumentException("the address of scheme '" + scheme + "' is malformed: " + why);
    }

    /** Returns scheme and hosts, for messages. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder(scheme).append("://");
        for (Host host : hosts) {
            text.append(text.charAt(text.length() - 1) == '/' ? "" : ",").append(host.name());
            if (host.port() != 0) {
                text.append(':').append(host.port());
            }
        }
        return text.toString();
    }

    private List<Host> hosts(String list) {
        List<Host> found = new ArrayList<>();
        for (String text : list.split(",", -1)) {
            String which = "host number " + (found.size() + 1);
            if (text.isEmpty()) {
                throw malformed(which + " is missing");
            }
            Matcher matcher = HOST.matcher(text);
            if (!matcher.matches()) {
                throw malformed(which + " is not name:port; a / ? # or @ of a user or password is written as"
                        + " %2F %3F %23 or %40");
            }
            int port = matcher.group(2) == null ? 0 : Integer.parseInt(matcher.group(2));
            if (matcher.group(2) != null && (port < 1 || port > 65_535)) {
                throw malformed("the port of " + which + " is not from 1 to 65535");
            }
            found.add(new Host(matcher.group(1), port));
        }
        return List.copyOf(found);
    }

    private Map<String, String> parameters(String query, Set<String> known) {
        Map<String, String> found = new LinkedHashMap<>();
        if (query.isEmpty()) {
            return found;
        }
        int number = 0;
        for (String pair : query.split("&", -1)) {
            number++;
            int equals = pair.indexOf('=');
            String name = equals < 0 ? pair : pair.substring(0, equals);
            if (!PARAMETER.matcher(name).matches()) {
                throw malformed("parameter number " + number + " is not name=value");
            }
            if (!known.contains(name)) {
                throw malformed("parameter '" + name + "' is unknown; "
                        + (known.isEmpty() ? "it takes none" : "it takes " + String.join(", ", new TreeSet<>(known))));
            }
            if (equals < 0) {
                throw malformed("parameter '" + name + "' has no value; write " + name + "=value");
            }
            if (found.put(name, decoded("parameter '" + name + "'", pair.substring(equals + 1))) != null) {
                throw malformed("parameter '" + name + "' is given twice");
            }
        }
        return found;
    }

    private String decoded(String part, String text) {
        try {
            return PercentCode.decode(text);
        } catch (IllegalArgumentException e) {
            throw malformed("the " + part + ": " + e.getMessage());
        }
    }

    private static int endOf(String text, int from, String stops) {
        int i = from;
        while (i < text.length() && stops.indexOf(text.charAt(i)) < 0) {
            i++;
        }
        return i;
    }
}
