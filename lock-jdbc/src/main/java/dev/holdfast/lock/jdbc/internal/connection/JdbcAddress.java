package dev.holdfast.lock.jdbc.internal.connection;

import static dev.holdfast.lock.jdbc.internal.dialect.driver.DatabaseDriver.malformed;

import dev.holdfast.lock.jdbc.internal.dialect.DatabaseDialects;
import dev.holdfast.lock.jdbc.internal.dialect.driver.DatabaseDriver;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A driver's URL, split into a part that may be shown and a part that may not. The first is the URL without user,
 * password and parameters. The second is a set of properties with all of these, decoded as the driver decodes them. A
 * pool, driver or message that repeats the URL therefore reveals no secret.
 *
 * <p>A malformed URL often has a password with an unescaped {@code /}, {@code ?}, {@code #} or {@code @}. A parser then
 * splits it at the wrong place, and part of the password would be looked up as a host. Such a URL is refused with a
 * message that names the malformed part and repeats none of it. Immutable. Has no {@code toString}, since the
 * properties are secret.
 */
public final class JdbcAddress {
    private static final Pattern PREFIX = Pattern.compile("jdbc(?::[A-Za-z0-9.+_-]+)+:");
    private static final Pattern HOSTS =
            Pattern.compile("(?:(?:[A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.%]+])(?::\\d{1,5})?" + "(?:,(?!$)|$))*");
    private static final Pattern PATH = Pattern.compile("(?:/[^/@:#?&;]*)?");
    private static final Pattern NAME = Pattern.compile("[A-Za-z][A-Za-z0-9_.-]*");

    /** A database's name without a host. */
    private static final Pattern HOSTLESS = Pattern.compile("(?:[a-z]+:)+/?[^/@:#?&;=]*");

    /** How MySQL and MariaDB write a host: {@code address=(host=h)(port=1)(user=u)}, or {@code (host=h,user=u)}. */
    private static final Pattern DESCRIBED =
            Pattern.compile("address=(?:\\([^()=,]+=[^()]*\\))+|\\([^()=,]+=[^()]*\\)");

    private static final Pattern DETAIL = Pattern.compile("[(,]([^()=,]+)=([^()=,@/?#:;&]*)(?=[,)])");
    private static final Set<String> DETAILS = Set.of("host", "port", "protocol", "path", "priority", "type");

    private final DatabaseDriver driver;
    private final String url;
    private final Properties properties = new Properties();
    private final Map<String, String> spellings = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
    private final Map<String, Integer> parameters = new LinkedHashMap<>();

    public JdbcAddress(String uri) {
        driver = driver(uri);
        String own = driver.split(uri, this::put);
        url = own != null ? own : split(uri);
    }

    /** The rules of the database's own driver, also where the URL is for one that wraps it. */
    public DatabaseDriver driver() {
        return driver;
    }

    /** Without user, password and parameters. */
    public String url() {
        return url;
    }

    /** A copy of the properties: user, password and parameters. */
    public Properties properties() {
        Properties copy = new Properties();
        copy.putAll(properties);
        return copy;
    }

    /** The names of the parameters after the {@code ?}, with their numbers. */
    Map<String, Integer> parameters() {
        return parameters;
    }

    private static DatabaseDriver driver(String uri) {
        Matcher prefix = PREFIX.matcher(uri.substring(0, Math.max(0, uri.indexOf("//"))));
        String head = prefix.matches() ? prefix.group() : uri;
        String[] parts = head.split(":", -1);
        for (int i = 1;
                parts[0].equals("jdbc") && i < (prefix.matches() ? parts.length : Math.min(parts.length, 2));
                i++) {
            String part = parts[i].toLowerCase(Locale.ROOT).replace("+srv", "");
            DatabaseDriver found = DatabaseDialects.driver(each -> each.scheme().equals(part));
            if (found != null) {
                return found;
            }
        }
        throw malformed("it must begin with "
                + DatabaseDialects.listed(each -> "jdbc:" + each.driver().scheme() + ":"));
    }

    private String split(String uri) {
        int question = uri.indexOf('?');
        String head = question < 0 ? uri : uri.substring(0, question);
        int slashes = head.indexOf("//");
        if (slashes < 0) {
            if (head.indexOf('@') >= 0) {
                throw malformed("there is an @ but no //");
            }
            if (!HOSTLESS.matcher(head).matches()) {
                throw malformed("there is more than a database's name; parameters follow a ?");
            }
            parameters(question < 0 ? "" : uri.substring(question + 1));
            return head;
        }
        int start = slashes + 2;
        int slash = head.indexOf('/', start);
        int end = slash < 0 ? head.length() : slash;
        String hosts = hosts(head.substring(start, end));
        if (!PATH.matcher(head.substring(end)).matches()) {
            throw malformed(
                    "after the hosts there is more than a database's name; a / ? # or @ of a user or password is"
                            + " written as %2F %3F %23 or %40");
        }
        parameters(question < 0 ? "" : uri.substring(question + 1));
        return head.substring(0, start) + hosts + head.substring(end);
    }

    private String hosts(String authority) {
        if (authority.indexOf('(') >= 0) {
            return described(authority);
        }
        int at = authority.indexOf('@');
        if (at >= 0) {
            String login = authority.substring(0, at);
            int colon = login.indexOf(':');
            put("user", decoded("user", colon < 0 ? login : login.substring(0, colon)));
            if (colon >= 0) {
                put("password", decoded("password", login.substring(colon + 1)));
            }
        }
        String hosts = authority.substring(at + 1);
        if (!HOSTS.matcher(hosts).matches()) {
            throw malformed(
                    "the hosts are not host:port,…; user and password stand once, before the first host, with % codes"
                            + " for special characters, or in the parameters user and password");
        }
        return hosts;
    }

    /** Parses hosts with details in parentheses, and takes out the user and the password. */
    private String described(String authority) {
        StringBuilder hosts = new StringBuilder();
        int end = 0;
        for (Matcher host = DESCRIBED.matcher(authority); host.find(); end = host.end()) {
            String between = authority.substring(end, host.start());
            if (!between.equals(end == 0 ? "" : ",")) {
                break;
            }
            hosts.append(between).append(details(host.group()));
        }
        if (end != authority.length()) {
            throw malformed("the hosts are not address=(host=…)(port=…),…");
        }
        return hosts.toString();
    }

    private String details(String host) {
        StringBuilder kept = new StringBuilder();
        int end = host.indexOf('(');
        Matcher detail = DETAIL.matcher(host);
        for (; detail.find() && isNext(host, end, detail.start()); end = detail.end()) {
            String name = detail.group(1).strip().toLowerCase(Locale.ROOT);
            if (name.equals("user") || name.equals("password")) {
                put(name, decoded(name, detail.group(2)));
            } else if (DETAILS.contains(name)) {
                kept.append('(')
                        .append(name)
                        .append('=')
                        .append(detail.group(2))
                        .append(')');
            } else {
                throw malformed(
                        "a detail of a host is none of host, port, protocol, path, priority, type, user, password");
            }
        }
        if (end != host.length() - 1) {
            throw malformed("a detail of a host is not name=value with % codes for special characters");
        }
        return "address=" + kept;
    }

    private static boolean isNext(String host, int end, int start) {
        return start == end || start == end + 1 && host.charAt(end) == ')';
    }

    private void parameters(String text) {
        int number = 0;
        for (String part : text.isEmpty() ? new String[0] : text.split("&", -1)) {
            number++;
            int equals = part.indexOf('=');
            String name = equals < 0 ? part : part.substring(0, equals);
            if (part.isEmpty()) {
                continue;
            }
            if (!NAME.matcher(name).matches() || equals < 0 && !mayBeBare(name)) {
                throw malformed("parameter number " + number + " is not name=value");
            }
            String value = part.substring(equals < 0 ? part.length() : equals + 1);
            if (value.indexOf('@') >= 0 && !name.equals("user") && !name.equals("password")) {
                throw malformed("parameter number " + number
                        + " has an @, as if an unescaped ? of a user or password had begun the"
                        + " parameters; write ? as %3F and @ as %40");
            }
            parameters.put(name, number);
            put(name, driver.decodesParameters() ? decoded("parameter number " + number, value) : value);
        }
    }

    private static boolean mayBeBare(String parameter) {
        return parameter.equals("ssl") || DatabaseDialects.isSwitch(parameter);
    }

    /** Decodes as PostgreSQL's and MySQL's drivers do; MariaDB's takes parameters unchanged. */
    private static String decoded(String what, String text) {
        try {
            return URLDecoder.decode(text, StandardCharsets.UTF_8);
        } catch (IllegalArgumentException e) {
            // Without the cause, whose message contains a part of the text.
            throw malformed("the " + what + " has a % without two hexadecimal digits; write the sign itself as %25");
        }
    }

    /** Compares names without case: most drivers do, and the last of two values would be used. */
    private void put(String name, String value) {
        String given = spellings.putIfAbsent(name, name);
        Object before = properties.put(name, value);
        if (before != null && !before.equals(value) || given != null && !given.equals(name)) {
            throw malformed("user, password or a parameter is given twice");
        }
    }
}
