package dev.holdfast.lock.jdbc.internal.connection;

import dev.holdfast.lock.jdbc.internal.dialect.LockTable;
import dev.holdfast.lock.spi.LockName;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A JDBC URL and Holdfast's own parameters in it. They are written like the database's: {@code ?holdfast.table=locks&…},
 * or {@code ;holdfast.table=locks} for H2. They are removed before the driver reads the URL.
 */
public final class JdbcUri {
    private static final Pattern OURS = Pattern.compile("(?i)([?&;])holdfast\\.([a-z]+)=([^?&;]*)");

    private final JdbcAddress address;
    private final Map<String, String> parameters = new TreeMap<>();

    public JdbcUri(String given) {
        // Drivers accept their scheme in lower case only.
        String uri = given.regionMatches(true, 0, "jdbc:", 0, 5) ? "jdbc:" + given.substring(5) : given;
        Matcher matcher = OURS.matcher(uri);
        StringBuilder rest = new StringBuilder();
        int question = -1;
        int end = 0;
        while (matcher.find()) {
            rest.append(uri, /* start= */ end, /* end= */ matcher.start());
            if (matcher.group(1).equals("?")) {
                question = rest.length();
            }
            String key = matcher.group(2).toLowerCase(Locale.ROOT);
            if (parameters.put(key, matcher.group(3)) != null) {
                throw new IllegalArgumentException("parameter holdfast." + key + " appears twice in the JDBC URL");
            }
            end = matcher.end();
        }
        rest.append(uri, end, uri.length());
        if (question >= 0 && question < rest.length() && rest.charAt(question) == '&') {
            rest.setCharAt(question, '?'); // the parameter after the removed one is now the first
        }
        address = new JdbcAddress(rest.toString());
        for (String key : parameters.keySet()) {
            if (!key.equals("table")
                    && !key.equals("createtable")
                    && !key.equals("strategy")
                    && !key.equals("notifications")
                    && !key.equals("poolsize")) {
                throw new IllegalArgumentException("parameter holdfast." + key
                        + " in the JDBC URL is unknown; valid parameters are holdfast.table, holdfast.createTable,"
                        + " holdfast.strategy, holdfast.notifications and holdfast.poolSize");
            }
        }
    }

    /** The address for the driver. */
    public JdbcAddress address() {
        return address;
    }

    /** Whether the database runs in this process, so that no administrator creates its tables. */
    public boolean embedded() {
        return address.driver().isEmbedded(address.url());
    }

    public String table() {
        return parameters.getOrDefault("table", strategy().defaultTable().text());
    }

    public boolean createTable() {
        return flag("createTable", embedded());
    }

    public boolean notifications() {
        return flag("notifications", poolSize() >= 3);
    }

    private boolean flag(String parameter, boolean byDefault) {
        String value = parameters.getOrDefault(parameter.toLowerCase(Locale.ROOT), Boolean.toString(byDefault));
        if (!value.equalsIgnoreCase("true") && !value.equalsIgnoreCase("false")) {
            throw new IllegalArgumentException("holdfast." + parameter
                    + " in the JDBC URL must be true or false, but is '" + LockName.printable(value) + "'");
        }
        return Boolean.parseBoolean(value);
    }

    public LockTable strategy() {
        String value = parameters.getOrDefault("strategy", "version");
        for (LockTable strategy : LockTable.values()) {
            if (strategy.name().replace("_", "").equalsIgnoreCase(value.replaceAll("[_-]", ""))) {
                return strategy;
            }
        }
        throw new IllegalArgumentException(
                "holdfast.strategy in the JDBC URL must be version, unique-index, row-lock or session, but is '"
                        + LockName.printable(value) + "'");
    }

    public int poolSize() {
        String value = parameters.getOrDefault("poolsize", "8");
        if (!value.matches("[1-9]\\d{0,2}")) {
            throw new IllegalArgumentException("holdfast.poolSize in the JDBC URL must be from 1 to 999, but is '"
                    + LockName.printable(value) + "'");
        }
        return Integer.parseInt(value);
    }
}
